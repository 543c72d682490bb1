/* SPDX-License-Identifier: MIT */
/* NAME.vol holds only numbers; a text file next to it describes them: NAME.vgi (VGStudio), NAME.vol.info (PyHST) or
 * NAME.pcr (phoenix). The reader accepts the name of the data or of the text. The writer writes the first two texts. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/geometry/unit_words.h"
#include "io/hdf5/external.h"
#include "io/publish/publication.h"
#include "io/text.h"
#include "io/writer.h"

enum { TEXT_MOST = 1 << 20, NAME = 4096 };

/* What the text file states. */
typedef struct notes {
    double size[3], voxel[3], unit; /* x, y, z; unit: mm, or 0 */
    double skip;
    char file[512], type[64];
    int bits;
    bool swap, info, pcr;
} notes;

/* ---- reading ---- */

static char *trim(char *text) {
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) text[--n] = 0;
    return text;
}

static void set_info(notes *n, const char *key, const char *value) {
    static const char *const sizes[] = {"NUM_X", "NUM_Y", "NUM_Z"};
    const double number = qb__strtod(value, NULL);
    for (int i = 0; i < 3; i++)
        if (strcasecmp(key, sizes[i]) == 0) n->size[i] = number;
    if (strcasecmp(key, "voxelSize") == 0)
        for (int i = 0; i < 3; i++) n->voxel[i] = number;
    if (strcasecmp(key, "BYTEORDER") == 0) n->swap = strcasecmp(value, "HIGHBYTEFIRST") == 0;
}

/* Keeps the first value of each key: later ones belong to other files and objects. */
static void set_vgi(notes *n, const char *key, const char *value) {
    if (strcasecmp(key, "size") == 0 && n->size[0] == 0) qb__read_numbers(value, 0, 3, n->size, NULL);
    if (strcasecmp(key, "resolution") == 0 && n->voxel[0] == 0) qb__read_numbers(value, 0, 3, n->voxel, NULL);
    if (strcasecmp(key, "unit") == 0 && n->unit == 0) n->unit = qb__length_unit(value);
    if (strcasecmp(key, "SkipHeader") == 0) n->skip = qb__strtod(value, NULL);
    if (strcasecmp(key, "Name") == 0 && !*n->file) snprintf(n->file, sizeof n->file, "%s", value);
    if (strcasecmp(key, "datatype") == 0) snprintf(n->type, sizeof n->type, "%s", value);
    if (strcasecmp(key, "BitsPerElement") == 0) n->bits = atoi(value);
}

static void set_pcr(notes *n, const char *key, const char *value) {
    static const char *const sizes[] = {"Volume_SizeX", "Volume_SizeY", "Volume_SizeZ"};
    static const struct {
        const char *code, *type;
        int bits;
    } formats[] = {{"1", "unsigned integer", 8}, {"5", "unsigned integer", 16}, {"10", "float", 32}};
    double number;
    if (!qb__setting_number(value, &number)) return;
    for (int i = 0; i < 3; i++)
        if (strcasecmp(key, sizes[i]) == 0) n->size[i] = number;
    if (strcasecmp(key, "VoxelSizeRec") == 0)
        for (int i = 0; i < 3; i++) n->voxel[i] = number;
    if (strcasecmp(key, "Format") != 0) return;
    snprintf(n->type, sizeof n->type, "Format=%.20s", value);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(value, formats[i].code) != 0) continue;
        snprintf(n->type, sizeof n->type, "%s", formats[i].type);
        n->bits = formats[i].bits;
    }
}

static qb_status read_notes(const char *path, notes *n) {
    char *text;
    QB__OR_RETURN(qb__read_text(path, TEXT_MOST, &text));
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *equals = strchr(line, '=');
        if (!equals || *line == '!' || *line == '#') continue;
        *equals = 0;
        (n->info ? set_info : n->pcr ? set_pcr : set_vgi)(n, trim(line), trim(equals + 1));
    }
    qb__free(text);
    if (n->info) n->unit = 1e-3; /* PyHST counts in micrometres */
    return QB_OK;
}

static bool ends_in(const char *path, const char *ending) {
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && strcasecmp(path + n - m, ending) == 0;
}

/* Finds the text file from the data file, or the data file from the text file. */
static qb_status find_files(const char *path, char text[NAME], char data[NAME], bool *info, bool *pcr) {
    const int whole = (int)strlen(path);
    snprintf(text, NAME, "%s", path);
    snprintf(data, NAME, "%s", path);
    *info = ends_in(path, ".info");
    if (*info) snprintf(data, NAME, "%.*s", whole - 5, path);
    *pcr = ends_in(path, ".pcr");
    if (*pcr || ends_in(path, ".vgi")) snprintf(data, NAME, "%.*s.vol", whole - 4, path);
    if (*info || *pcr || ends_in(path, ".vgi")) return QB_OK;
    snprintf(text, NAME, "%s.info", path);
    *info = access(text, R_OK) == 0;
    if (*info) return QB_OK;
    snprintf(text, NAME, "%.*s.pcr", whole - 4, path);
    *pcr = access(text, R_OK) == 0;
    snprintf(text, NAME, "%.*s.vgi", whole - 4, path);
    if (access(text, R_OK) == 0) *pcr = false;
    if (*pcr) snprintf(text, NAME, "%.*s.pcr", whole - 4, path);
    if (access(text, R_OK) == 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s: its description, %s or %s.info, is missing: put it into the same folder, or rename the data "
                    "to .raw and give --shape",
                    path, text, path);
}

/* The type of the numbers. VGI names it. PyHST does not: the file size gives 1, 2 or 4 bytes per number. */
static qb_status type_of(const char *path, const notes *n, size_t numbers, uint64_t bytes, qb_dtype *dtype) {
    static const struct {
        const char *word;
        int bits;
        qb_dtype dtype;
    } known[] = {{"float", 32, QB_F32},
                 {"float", 64, QB_F64},
                 {"unsigned integer", 8, QB_U8},
                 {"unsigned integer", 16, QB_U16},
                 {"unsigned integer", 32, QB_U32},
                 {"integer", 8, QB_I8},
                 {"integer", 16, QB_I16},
                 {"integer", 32, QB_I32},
                 {"signed integer", 8, QB_I8},
                 {"signed integer", 16, QB_I16},
                 {"signed integer", 32, QB_I32}};
    *dtype = bytes == numbers ? QB_U8 : bytes / 2 == numbers ? QB_U16 : QB_F32;
    if (n->info) return QB_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].bits != n->bits || strcasecmp(known[i].word, n->type) != 0) continue;
        *dtype = known[i].dtype;
        return QB_OK;
    }
    return qb__fail(QB_UNSUPPORTED, "%s: its data type '%s' of %d bits is not supported", path, n->type, n->bits);
}

qb_status qb__vol_open(const char *path, const char *how, qb__source **source) {
    char text[NAME], data[NAME];
    notes n = {.bits = 0};
    qb__plain plain = {.longer = "its .vgi, .vol.info or .pcr file does not fit"};
    uint64_t bytes;
    size_t numbers;
    qb_status status;
    (void)how;
    *source = NULL;
    QB__TRY(find_files(path, text, data, &n.info, &n.pcr));
    QB__TRY(read_notes(text, &n));
    plain.format = n.info ? "PyHST volume" : n.pcr ? "phoenix volume" : "VGStudio volume";
    if (*n.file && ends_in(path, ".vgi")) {
        const char *slash = strrchr(path, '/');
        snprintf(data, NAME, "%.*s%s", slash && *n.file != '/' ? (int)(slash + 1 - path) : 0, path, n.file);
        QB__TRY(qb__external_check(path, data));
    }
    for (int i = 0; i < 3; i++) plain.shape[2 - i] = n.size[i] >= 1 && n.size[i] < 1e9 ? (size_t)n.size[i] : 0;
    if (!qb__mul(plain.shape[0], plain.shape[1], plain.shape[2], &numbers) || !numbers)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s does not say how many voxels there are along x, y and z", text));
    if (!(n.skip >= 0 && n.skip < 1e15)) n.skip = 0;
    QB__TRY(qb__file_size(data, &bytes));
    QB__TRY(type_of(text, &n, numbers, bytes, &plain.dtype));
    plain.offset = (uint64_t)n.skip;
    plain.swap = n.swap;
    QB__TRY(qb__plain_open(data, &plain, source));
    for (int i = 0; i < 3; i++) {
        const double mm = n.voxel[i] * (n.unit > 0 ? n.unit : 1);
        if (mm > 0 && isfinite(mm)) (*source)->voxel[i] = mm;
    }
    QB__TRY(qb__sidecar_apply(data, *source));
    qb__source_is_volume(*source);
out:
    return qb__source_give(status, *source, source);
}

/* ---- writing ---- */

static qb_status begin_vol(qb_writer *writer) {
    if (!ends_in(writer->path, ".vol"))
        return qb__fail(QB_BAD_ARGUMENT, "%s: give NAME.vol; .vgi and .vol.info are written with it", writer->path);
    if (writer->stack.dtype == QB_F16)
        return qb__fail(QB_BAD_ARGUMENT, "%s: .vol has no float16; use .h5, .npy or .tif, or another --dtype",
                        writer->path);
    if (strlen(writer->path) + sizeof ".info" > NAME)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", writer->path);
    writer->data_offset = 0;
    return QB_OK;
}

enum { VGI, INFO };

static bool also_vol(const char *path, size_t number, char *name, size_t room) {
    if (number > INFO || !ends_in(path, ".vol")) return false;
    if (number == VGI) snprintf(name, room, "%.*s.vgi", (int)strlen(path) - 4, path);
    if (number == INFO) snprintf(name, room, "%s.info", path);
    return true;
}

static qb_status put_text(qb_writer *writer, const char *name, const char *text, int length, size_t room) {
    const char *fresh;
    if (length < 0 || (size_t)length >= room) return qb__fail(QB_BAD_ARGUMENT, "%s: too long a name", writer->path);
    const qb_status status = qb__publication_file(writer->set, name, &fresh);
    return status == QB_OK ? qb__write_fresh(fresh, name, text, (size_t)length) : status;
}

static qb_status put_vgi(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    const double d[3] = {s->voxel[0] > 0 ? s->voxel[0] : 1, s->voxel[1] > 0 ? s->voxel[1] : 1,
                         s->voxel[2] > 0 ? s->voxel[2] : 1};
    const int bits = 8 * (int)qb_dtype_size(s->dtype);
    const char *type = qb_dtype_is_float(s->dtype)         ? "float"
                       : qb_dtype_name(s->dtype)[0] == 'u' ? "unsigned integer"
                                                           : "signed integer";
    char name[NAME], text[2 * NAME];
    also_vol(writer->path, VGI, name, sizeof name);
    const int length = qb__print(
        text, sizeof text,
        "{volume1}\n[representation]\nsize = %zu %zu %zu\ndatatype = %s\nbitsperelement = %d\n[file1]\nSkipHeader = 0\n"
        "FileFormat = raw\nSize = %zu %zu %zu\nName = %s\nDatatype = %s\nBitsPerElement = %d\n{volumeprimitive12}\n"
        "[geometry]\nresolution = %.9g %.9g %.9g\nunit = mm\n",
        s->shape[2], s->shape[1], s->shape[0], type, bits, s->shape[2], s->shape[1], s->shape[0],
        qb__last_part(writer->path), type, bits, d[0], d[1], d[2]);
    return put_text(writer, name, text, length, sizeof text);
}

static qb_status put_info(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    char name[NAME], text[512];
    also_vol(writer->path, INFO, name, sizeof name);
    const int length = qb__print(text, sizeof text,
                                 "! PyHST_SLAVE VOLUME INFO FILE\nNUM_X = %zu\nNUM_Y = %zu\nNUM_Z = %zu\n"
                                 "voxelSize = %.9g\nBYTEORDER = LOWBYTEFIRST\n",
                                 s->shape[2], s->shape[1], s->shape[0], 1000 * s->voxel[0]);
    return put_text(writer, name, text, length, sizeof text);
}

/* PyHST knows the type only by its size in bytes, so its text is written only for the three types that type_of()
 * returns for it. */
static qb_status finish_vol(qb_writer *writer, const char *provenance) {
    const qb_dtype dtype = writer->stack.dtype;
    qb_status status = put_vgi(writer);
    if (status == QB_OK && (dtype == QB_F32 || dtype == QB_U16 || dtype == QB_U8)) status = put_info(writer);
    return status == QB_OK ? qb__write_sidecar(writer, provenance) : status;
}

const qb__writer_kind qb__vol_writer = {
    .also = also_vol, .begin = begin_vol, .finish = finish_vol, .resumes = true, .keeps_angles = true};
