/* SPDX-License-Identifier: MIT */
/* NRRD (teem.sourceforge.net/nrrd/format.html): lines "key: value" until an empty one, then the data, or the name of a
 * data file, or of one for each image: a list, or a pattern with the first number, the last and the step. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/codec/gzip_file.h"
#include "io/formats.h"
#include "io/geometry/unit_words.h"
#include "io/hdf5/external.h"
#include "io/writer.h"

enum { HEADER_MOST = 65536, FILES_MOST = 1000000 };

static const struct {
    const char *name; /* the first name of a type is written */
    qb_dtype dtype;
} types[] = {
    {"uint8", QB_U8},      {"uchar", QB_U8},           {"unsigned char", QB_U8}, {"uint8_t", QB_U8},
    {"int8", QB_I8},       {"signed char", QB_I8},     {"int8_t", QB_I8},        {"uint16", QB_U16},
    {"ushort", QB_U16},    {"unsigned short", QB_U16}, {"uint16_t", QB_U16},     {"unsigned short int", QB_U16},
    {"int16", QB_I16},     {"short", QB_I16},          {"signed short", QB_I16}, {"int16_t", QB_I16},
    {"short int", QB_I16}, {"uint32", QB_U32},         {"uint", QB_U32},         {"unsigned int", QB_U32},
    {"uint32_t", QB_U32},  {"int32", QB_I32},          {"int", QB_I32},          {"signed int", QB_I32},
    {"int32_t", QB_I32},   {"float", QB_F32},          {"double", QB_F64},
};
enum { TYPES = sizeof types / sizeof types[0] };

typedef struct header {
    const char *path;
    qb__plain layout;
    size_t dims, skip_lines;
    long long skip_bytes;
    double spacing[3], first[3];
    double unit[3];   /* mm; 0: unknown */
    char unknown[24]; /* a unit that is no length; "" */
    bool typed, shaped, packed, placed, turned, down;
    char file[512];
    qb__notes files; /* of a list or pattern, as the header names them */
    char refused[96];
} header;

static void set_type(header *h, const char *value) {
    for (size_t i = 0; i < TYPES; i++)
        if (strcasecmp(types[i].name, value) == 0) h->layout.dtype = types[i].dtype, h->typed = true;
}

static void set_dims(header *h, const char *value) { h->dims = strtoul(value, NULL, 10); }

/* Set the sizes; the fastest axis comes first. */
static void set_sizes(header *h, const char *value) {
    for (size_t i = 0; i < 3; i++) {
        char *end;
        h->layout.shape[2 - i] = 1;
        if (i >= h->dims) continue;
        h->layout.shape[2 - i] = strtoull(value, &end, 10);
        if (end == value) return;
        value = end;
    }
    h->shaped = h->dims >= 1 && h->dims <= 3;
}

static void set_spacings(header *h, const char *value) { qb__read_numbers(value, 0, 3, h->spacing, NULL); }

/* Set the steps along each axis from (a,b,c) (d,e,f) (g,h,i). */
static void set_directions(header *h, const char *value) {
    for (int axis = 0; axis < 3 && value && (value = strchr(value, '(')); axis++, value++) {
        double step[3] = {0};
        const int n = qb__read_numbers(value + 1, ',', 3, step, NULL);
        double length = 0;
        for (int i = 0; i < n; i++) length += step[i] * step[i];
        h->spacing[axis] = sqrt(length);
        if (axis == 2 && step[2] < 0) h->down = true, step[2] = -step[2];
        h->turned |= fabs(step[axis] - h->spacing[axis]) > 1e-6 * h->spacing[axis];
    }
}

static void set_origin(header *h, const char *value) {
    h->placed = *value == '(' && qb__read_numbers(value + 1, ',', 3, h->first, NULL) == 3;
}

/* One word for each axis, such as "mm" "mm" "um"; one that is empty or ??? says nothing. Axes
 * without a word have the last one. */
static void set_units(header *h, const char *value) {
    int axis = 0;
    for (; axis < 3 && *value; axis++) {
        char word[24];
        value += strspn(value, " ");
        const bool quoted = *value == '"';
        const size_t n = strcspn(value + quoted, quoted ? "\"" : " ");
        snprintf(word, sizeof word, "%.*s", (int)qb__smaller(n, sizeof word - 1), value + quoted);
        value += quoted + n;
        value += *value == '"';
        if (!*word || strcmp(word, "???") == 0 || strcmp(word, "none") == 0) continue;
        h->unit[axis] = qb__length_unit(word);
        if (!(h->unit[axis] > 0)) h->unit[axis] = 0, memcpy(h->unknown, word, sizeof word);
    }
    for (; axis > 0 && axis < 3; axis++) h->unit[axis] = h->unit[axis - 1];
}

static void set_endian(header *h, const char *value) { h->layout.swap = strcasecmp(value, "big") == 0; }

static void set_encoding(header *h, const char *value) {
    h->packed = strcasecmp(value, "gzip") == 0 || strcasecmp(value, "gz") == 0;
    if (!h->packed && strcasecmp(value, "raw") != 0)
        snprintf(h->refused, sizeof h->refused, "its encoding is %.24s: save it as raw or gzip", value);
}

static void set_skip_lines(header *h, const char *value) { h->skip_lines = strtoul(value, NULL, 10); }
static void set_skip_bytes(header *h, const char *value) { h->skip_bytes = strtoll(value, NULL, 10); }
static void set_file(header *h, const char *value) { snprintf(h->file, sizeof h->file, "%.511s", value); }

static const struct {
    const char *key;
    void (*set)(header *h, const char *value);
} keys[] = {
    {"type", set_type},
    {"dimension", set_dims},
    {"sizes", set_sizes},
    {"spacings", set_spacings},
    {"space directions", set_directions},
    {"space origin", set_origin},
    {"space units", set_units},
    {"units", set_units},
    {"endian", set_endian},
    {"encoding", set_encoding},
    {"line skip", set_skip_lines},
    {"lineskip", set_skip_lines},
    {"byte skip", set_skip_bytes},
    {"byteskip", set_skip_bytes},
    {"data file", set_file},
    {"datafile", set_file},
};

static void set_key(header *h, char *line) {
    char *colon = strchr(line, ':');
    if (*line == '#' || !colon || colon[1] == '=') return; /* a comment, or a user's own key */
    *colon = 0;
    char *value = colon + 1;
    while (isspace((unsigned char)*value)) value++;
    for (size_t n = strlen(value); n && isspace((unsigned char)value[n - 1]);) value[--n] = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcasecmp(line, keys[i].key) == 0) keys[i].set(h, value);
}

static qb_status parse(header *h, char *text, size_t bytes) {
    size_t at = 0;
    bool whole = false;
    while (at < bytes && !whole) {
        char *line = text + at, *end = memchr(line, '\n', bytes - at);
        if (!end) break;
        *end = 0;
        at = (size_t)(end + 1 - text);
        whole = !*line || strcmp(line, "\r") == 0;
        if (strncasecmp(h->file, "LIST", 4) == 0 && !whole)
            qb__note(&h->files, "%.*s", (int)strcspn(line, "\r"), line);
        else
            set_key(h, line);
    }
    h->layout.offset = at;
    if (memcmp(text, "NRRD000", 7) != 0) return qb__fail(QB_BAD_INPUT, "%s does not begin like an NRRD file", h->path);
    if (!whole && !*h->file)
        return qb__fail(QB_BAD_INPUT, "%s: no empty line ends its header within %d bytes", h->path, HEADER_MOST);
    if (*h->refused) return qb__fail(QB_UNSUPPORTED, "%s: %s", h->path, h->refused);
    if (!h->shaped)
        return qb__fail(QB_UNSUPPORTED, "%s: dimension %zu and sizes do not give one to three numbers", h->path,
                        h->dims);
    if (!h->typed) return qb__fail(QB_UNSUPPORTED, "%s: its type is not supported", h->path);
    if (!h->skip_lines && (h->skip_bytes == 0 || !h->packed) && h->skip_bytes >= -1) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "%s: lines to be skipped before its data, or bytes of packed data, are not supported", h->path);
}

static qb_status read_header(header *h) {
    uint64_t bytes;
    char *text = NULL;
    QB__OR_RETURN(qb__file_size(h->path, &bytes));
    const size_t n = bytes < HEADER_MOST ? (size_t)bytes : HEADER_MOST;
    const int fd = open(h->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", h->path);
    qb_status status = qb__alloc(n + 8, 1, &text);
    if (status == QB_OK) status = qb__pread_all(fd, h->path, text, n, 0);
    if (status == QB_OK) status = parse(h, text, n);
    qb__free(text);
    close(fd);
    return status;
}

/* A separate data file, which has no header. */
static qb_status name_file(const header *h, const char *name, char *file, size_t size) {
    const char *slash = strrchr(h->path, '/');
    snprintf(file, size, "%.*s%s", slash && name[0] != '/' ? (int)(slash + 1 - h->path) : 0, h->path, name);
    return qb__external_check(h->path, file);
}

/* The names that a pattern such as "view%03d.raw 0 99 1" stands for. */
static qb_status list_pattern(header *h) {
    const char *percent = strchr(h->file, '%'), *letter = percent ? strchr(percent, 'd') : NULL;
    const size_t digits = percent && letter ? strspn(percent + 1, "0123456789") : 0;
    long long range[3];
    const char *end = letter ? letter + strcspn(letter, " \t") : NULL;
    if (!letter || digits > 2 || letter != percent + 1 + digits ||
        sscanf(end, "%lld %lld %lld", &range[0], &range[1], &range[2]) != 3 || range[0] < 0 || range[1] < range[0] ||
        range[1] >= FILES_MOST || range[2] < 1 || range[2] >= FILES_MOST ||
        (range[1] - range[0]) / range[2] >= (long long)h->layout.shape[0])
        return qb__fail(QB_BAD_INPUT, "%s: `data file: %s` is no pattern with its first and last number and the step",
                        h->path, h->file);
    const int width = atoi(percent + 1);
    for (long long i = range[0]; i <= range[1]; i += range[2])
        qb__note(&h->files, percent[1] == '0' ? "%.*s%0*lld%.*s" : "%.*s%*lld%.*s", (int)(percent - h->file), h->file,
                 width, i, (int)(end - letter - 1), letter + 1);
    return QB_OK;
}

/* The data in several files. */
static qb_status open_files(header *h, qb__source **source) {
    qb__notes files = {0};
    char file[4096];
    qb_status status = h->packed || h->skip_bytes < 0
                           ? qb__fail(QB_UNSUPPORTED, "%s: packed data in several files", h->path)
                       : h->files.count || !strchr(h->file, '%') ? QB_OK
                                                                 : list_pattern(h);
    for (size_t i = 0; i < h->files.count && status == QB_OK; i++) {
        status = name_file(h, h->files.text[i], file, sizeof file);
        if (status == QB_OK) qb__note(&files, "%s", file);
    }
    h->layout.offset = (uint64_t)h->skip_bytes;
    if (status == QB_OK) return qb__raw_files_open(h->path, &files, &h->layout, source);
    qb__notes_release(&files);
    return status;
}

static qb_status open_data(header *h, qb__source **source) {
    char file[4096];
    qb_status status = QB_OK;
    snprintf(file, sizeof file, "%s", h->path);
    if (strncasecmp(h->file, "LIST", 4) == 0 || strchr(h->file, '%')) return open_files(h, source);
    if (*h->file) h->layout.offset = 0, status = name_file(h, h->file, file, sizeof file);
    if (h->skip_bytes > 0) h->layout.offset += (uint64_t)h->skip_bytes;
    if (status == QB_OK && h->skip_bytes == -1) status = qb__plain_at_end(file, &h->layout, "sizes");
    return status == QB_OK ? (h->packed ? qb__packed_open : qb__plain_open)(file, &h->layout, source) : status;
}

qb_status qb__nrrd_open(const char *path, const char *how, qb__source **source) {
    header h = {.path = path, .layout = {.format = "NRRD", .longer = "its sizes do not fit"}, .unit = {1, 1, 1}};
    (void)how;
    *source = NULL;
    qb_status status = read_header(&h);
    if (status == QB_OK) status = open_data(&h, source);
    qb__notes_release(&h.files);
    if (status != QB_OK) return status;
    bool lost = false;
    for (int i = 0; i < 3; i++) {
        const double mm = h.spacing[i] * h.unit[i];
        lost |= h.spacing[i] > 0 && !(h.unit[i] > 0);
        if (!(mm > 0) || !isfinite(mm)) continue;
        (*source)->voxel[i] = mm;
        if (h.placed && isfinite(h.first[i]))
            (*source)->offset[i] = (i == 2 && h.down ? -h.first[i] : h.first[i]) * h.unit[i] +
                                   0.5 * ((double)h.layout.shape[2 - i] - 1) * mm;
    }
    qb__printable(h.unknown);
    if (lost)
        snprintf(
            (*source)->trouble, sizeof(*source)->trouble,
            "its unit \"%s\" is no known length, so that the sizes it is for are not used: correct it to mm" QB__CODE(
                "metadata-unusable"),
            h.unknown);
    (*source)->turned = h.turned;
    (*source)->z_down = h.down;
    status = qb__sidecar_apply(path, *source);
    return qb__source_give(status, *source, source);
}

static const char *type_name(qb_dtype dtype) {
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) return types[i].name;
    return NULL;
}

/* Resuming is refused if the images are already compressed: compression comes last, so no image can be added after
 * it. Numbers that begin like gzip by chance are refused, too. */
static qb_status check_kept(const qb_writer *writer) {
    static const unsigned char gzip[] = {0x1f, 0x8b, 8};
    unsigned char head[sizeof gzip];
    if (!qb__packs(writer)) return QB_OK;
    const qb_status status = qb__pread_all(writer->fd, writer->path, head, sizeof head, writer->data_offset);
    if (status != QB_OK || memcmp(head, gzip, sizeof gzip) != 0) return status;
    return qb__fail(QB_BAD_INPUT, "%s, kept by an earlier run, is complete: remove it to start again", writer->part);
}

static qb_status begin_nrrd(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    char text[1024];
    double d[3], first[3];
    if (!type_name(s->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "%s: NRRD has no %s; use .h5, .npy or .tif, or another --dtype", writer->path,
                        qb_dtype_name(s->dtype));
    for (int i = 0; i < 3; i++) {
        d[i] = s->voxel[i] > 0 ? s->voxel[i] : 1;
        first[i] = s->offset[i] - 0.5 * ((double)s->shape[2 - i] - 1) * d[i];
    }
    if (s->z_down) first[2] = 0 - first[2];
    const int n =
        qb__print(text, sizeof text,
                  "NRRD0005\ntype: %s\ndimension: 3\nspace dimension: 3\nsizes: %zu %zu %zu\nspace directions: "
                  "(%.12g,0,0) (0,%.12g,0) (0,0,%.12g)\nspace origin: (%.12g,%.12g,%.12g)\n%sendian: "
                  "little\nencoding: %s\n\n",
                  type_name(s->dtype), s->shape[2], s->shape[1], s->shape[0], d[0], d[1], s->z_down ? -d[2] : d[2],
                  first[0], first[1], first[2], s->voxel[0] > 0 ? "space units: \"mm\" \"mm\" \"mm\"\n" : "",
                  qb__packs(writer) ? "gzip" : "raw");
    if (n < 0 || (size_t)n >= sizeof text) return qb__fail(QB_BAD_ARGUMENT, "%s: too long a header", writer->path);
    writer->data_offset = (uint64_t)n;
    return writer->taken_up ? check_kept(writer) : qb__pwrite_all(writer->fd, writer->path, text, (size_t)n, 0);
}

static qb_status finish_nrrd(qb_writer *writer, const char *provenance) {
    const size_t head = (size_t)writer->data_offset;
    char text[1024];
    uint64_t bytes;
    if (qb__packs(writer)) {
        QB__OR_RETURN(qb__pread_all(writer->fd, writer->path, text, head, 0));
        QB__OR_RETURN(qb__pack_part(writer, head, QB__STREAM_GZIP, &bytes));
        QB__OR_RETURN(qb__pwrite_all(writer->fd, writer->path, text, head, 0));
    }
    return qb__write_sidecar(writer, provenance);
}

/* While it is made, the compressed file exists next to the uncompressed one, so it needs its own space. */
static size_t overhead_nrrd(const qb_writer *writer) {
    return 4096 + (qb__packs(writer) ? writer->stack.shape[0] * writer->image_bytes : 0);
}

const qb__writer_kind qb__nrrd_writer = {.begin = begin_nrrd,
                                         .finish = finish_nrrd,
                                         .overhead = overhead_nrrd,
                                         .resumes = true,
                                         .keeps_angles = true,
                                         .packs = " gzip "};
