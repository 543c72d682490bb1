/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/text.h"
#include "io/writer.h"
#include "quickbeam/geometry.h"

/* PATH.json: metadata that NPY and raw files cannot hold. */
enum { SIDECAR_MOST = 64 << 20, HEX = 17 };
static const double degree = 3.14159265358979323846 / 180.0;

static void add_angles(cJSON *object, const qb_stack *stack) {
    if (!stack->angles) return;
    cJSON *list = cJSON_AddArrayToObject(object, "angles_degrees");
    for (size_t i = 0; list && i < stack->shape[0]; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(stack->angles[i] / degree));
}

static void add_stack(cJSON *object, const qb_stack *stack) {
    double shape[3];
    for (int i = 0; i < 3; i++) shape[i] = (double)stack->shape[i];
    cJSON_AddStringToObject(object, "writer", "quickbeam");
    cJSON_AddItemToObject(object, "shape", cJSON_CreateDoubleArray(shape, 3));
    cJSON_AddStringToObject(object, "dtype", qb_dtype_name(stack->dtype));
    cJSON_AddStringToObject(object, "byte_order", "little");
    cJSON_AddStringToObject(object, "axes", qb__stack_is_projections(stack) ? "view,row,column" : "z,y,x");
    cJSON_AddStringToObject(object, "quantity", stack->quantity);
    cJSON_AddStringToObject(object, "units", stack->units);
    if (*stack->description) cJSON_AddStringToObject(object, "description", stack->description);
    cJSON_AddItemToObject(object, "voxel_mm", cJSON_CreateDoubleArray(stack->voxel, 3));
    cJSON_AddItemToObject(object, "offset_mm", cJSON_CreateDoubleArray(stack->offset, 3));
    if (stack->z_down) cJSON_AddTrueToObject(object, "z_down");
    cJSON_AddNumberToObject(object, "first", (double)stack->first);
    double scale[2] = {stack->scale_low, stack->scale_high};
    if (scale[1] > scale[0]) cJSON_AddItemToObject(object, "scale", cJSON_CreateDoubleArray(scale, 2));
    if (stack->beam) cJSON_AddStringToObject(object, "beam", qb_beam_name(stack->beam));
    add_angles(object, stack);
}

/* Hash of the data file's size and of pieces of it, in hexadecimal; "" without xxhash, or if the file is none that can be
 * read. It ties the .json to its file: another one of the same shape has other numbers. False if the disk fails. */
static bool hash_pieces(int fd, char hex[HEX]) {
    enum { PIECES = 33, PIECE = 4096 }; /* an odd number, so that one is in the middle */
    char piece[PIECE];
    struct stat about;
    *hex = 0;
    if (!qb__hash_known() || fd < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return true;
    uint64_t hash = (uint64_t)about.st_size;
    for (off_t i = 0; i < PIECES; i++) {
        const off_t last = about.st_size > PIECE ? about.st_size - PIECE : 0;
        const ssize_t got = pread(fd, piece, PIECE, last / (PIECES - 1) * i);
        if (got < 0) return errno == EBADF; /* only open for writing */
        hash = qb__hash(piece, (size_t)got, hash);
    }
    snprintf(hex, HEX, "%016llx", (unsigned long long)hash);
    return true;
}

static qb_status print_stack(const qb_writer *writer, const char *hash, const char *provenance, char **text) {
    *text = NULL;
    cJSON *object = cJSON_CreateObject();
    add_stack(object, &writer->stack);
    if (*hash) cJSON_AddStringToObject(object, "data_hash", hash);
    cJSON *parsed = *provenance ? cJSON_Parse(provenance) : NULL;
    if (parsed)
        cJSON_AddItemToObject(object, "provenance", parsed);
    else if (*provenance == '{') /* the parser does not tell the reason */
        qb__json_kept(NULL);
    else if (*provenance)
        cJSON_AddStringToObject(object, "provenance", provenance);
    char *printed = cJSON_Print(object);
    cJSON_Delete(object);
    if (printed) *text = qb__strdup(printed);
    cJSON_free(printed);
    return *text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for the provenance, or it is no JSON object");
}

qb_status qb__stack_json(const qb_writer *writer, const char *provenance, char **text) {
    return print_stack(writer, "", provenance, text);
}

qb_status qb__write_sidecar(qb_writer *writer, const char *provenance) {
    char name[4096], hash[HEX], *text;
    const char *fresh;
    if ((size_t)snprintf(name, sizeof name, "%s.json", writer->path) >= sizeof name)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", writer->path);
    if (!hash_pieces(writer->fd, hash)) return qb__fail_errno(errno, "reading back", writer->path);
    QB__OR_RETURN(print_stack(writer, hash, provenance, &text));
    qb_status status = qb__publication_file(writer->set, name, &fresh);
    if (status == QB_OK) status = qb__write_fresh(fresh, name, text, strlen(text));
    qb__free(text);
    return status;
}

/* Read PATH.json next to the data; NULL if there is none, or one that is not ours; `source`, which may be NULL, then
 * warns of one that is no object. Only a missing file counts as
 * absent: if it cannot be read, its information must not be guessed. */
static qb_status load(const char *path, qb__source *source, cJSON **object) {
    char name[4096], *text;
    struct stat about;
    *object = NULL;
    if ((size_t)snprintf(name, sizeof name, "%s.json", path) >= sizeof name) return QB_OK;
    if (stat(name, &about) != 0) {
        if (errno == ENOENT || errno == ENAMETOOLONG) return QB_OK;
        return qb__fail_errno(errno, "opening", name);
    }
    QB__OR_RETURN(qb__read_text(name, SIDECAR_MOST, &text));
    const qb_status status = qb__json_parse(text, object);
    qb__free(text);
    if (status == QB_BAD_INPUT)
        return qb__fail(
            QB_BAD_INPUT,
            "%s, which describes %s, is not valid JSON: correct it, or remove it and give --shape and --quantity", name,
            path);
    if (status != QB_OK) return qb__fail_in(status, "%s", name);
    if (!cJSON_IsObject(*object) && source && !*source->trouble)
        qb__print(source->trouble, sizeof source->trouble,
                  "%s is no JSON object, so not of this program: it is not used" QB__CODE("metadata-unusable"), name);
    const char *writer = cJSON_GetStringValue(cJSON_GetObjectItem(*object, "writer"));
    if (writer && strcmp(writer, "quickbeam") == 0) return QB_OK;
    cJSON_Delete(*object);
    *object = NULL;
    return QB_OK;
}

static void get_numbers(const cJSON *object, const char *key, int n, double *out) {
    const cJSON *list = cJSON_GetObjectItem(object, key);
    for (int i = 0; i < n; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        if (cJSON_IsNumber(item)) out[i] = item->valuedouble;
    }
}

static void get_voxel(const cJSON *object, double voxel[3]) {
    const cJSON *list = cJSON_GetObjectItem(object, "voxel_mm");
    for (int i = 0; i < 3; i++) {
        double mm = cJSON_GetNumberValue(cJSON_GetArrayItem(list, i));
        if (isfinite(mm) && mm > 0.0) voxel[i] = mm;
    }
}

static bool is_other_file(const char *path, const cJSON *object) {
    const char *stated = cJSON_GetStringValue(cJSON_GetObjectItem(object, "data_hash"));
    char hex[HEX] = "";
    const int fd = stated ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    hash_pieces(fd, hex);
    if (fd >= 0) close(fd);
    return *hex && strcmp(hex, stated) != 0;
}

/* If the data file was replaced by another program, the .json of the old one stays next to it. */
static qb_status check_same(const char *path, const cJSON *object, qb__source *source) {
    enum { COPIED = 60 }; /* seconds within which both files are copied */
    char name[4096];
    struct stat data, sidecar;
    const cJSON *list = cJSON_GetObjectItem(object, "shape");
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItem(object, "dtype"));
    const size_t *n = source->shape;
    bool same = !list || cJSON_GetArraySize(list) == 3;
    for (int i = 0; i < 3; i++) same &= !list || cJSON_GetNumberValue(cJSON_GetArrayItem(list, i)) == (double)n[i];
    if (!same) {
        char stated[100] = "of no size";
        cJSON_PrintPreallocated((cJSON *)list, stated, sizeof stated, false);
        return qb__fail(
            QB_BAD_INPUT,
            "%s.json states the shape %.60s, and %s holds [%zu,%zu,%zu]: remove the .json, and give --quantity", path,
            stated, path, n[0], n[1], n[2]);
    }
    if (dtype && strcmp(dtype, qb_dtype_name(source->dtype)) != 0)
        return qb__fail(QB_BAD_INPUT,
                        "%s.json describes %s numbers, and %s holds %s: remove the .json, and give --quantity", path,
                        dtype, path, qb_dtype_name(source->dtype));
    snprintf(name, sizeof name, "%s.json", path);
    if (stat(path, &data) == 0 && stat(name, &sidecar) == 0 &&
        (data.st_mtime > sidecar.st_mtime + COPIED || is_other_file(path, object)))
        snprintf(source->trouble, sizeof source->trouble,
                 "the file was changed after its .json, or is another one: check that the units, the quantity and the "
                 "angles in the .json are still right" QB__CODE("older-json"));
    return QB_OK;
}

void qb__sidecar_take(const cJSON *object, qb__source *source) {
    const char *quantity = cJSON_GetStringValue(cJSON_GetObjectItem(object, "quantity"));
    if (quantity) snprintf(source->quantity, sizeof source->quantity, "%s", quantity);
    const char *units = cJSON_GetStringValue(cJSON_GetObjectItem(object, "units"));
    if (units) snprintf(source->units, sizeof source->units, "%s", units);
    const char *beam = cJSON_GetStringValue(cJSON_GetObjectItem(object, "beam"));
    if (beam) source->beam = qb__beam_named(beam);
    get_voxel(object, source->voxel);
    source->z_down = cJSON_IsTrue(cJSON_GetObjectItem(object, "z_down"));
    get_numbers(object, "offset_mm", 3, source->offset);
    get_numbers(object, "scale", 2, source->scale);
}

qb_status qb__sidecar_apply(const char *path, qb__source *source) {
    cJSON *object;
    qb_status status = load(path, source, &object);
    if (status != QB_OK || !object) return status;
    status = check_same(path, object, source);
    if (status == QB_OK) qb__sidecar_take(object, source);
    cJSON_Delete(object);
    return status;
}

qb_status qb__sidecar_provenance(const char *path, cJSON **found) {
    cJSON *object;
    *found = NULL;
    qb_status status = load(path, NULL, &object);
    if (object) *found = cJSON_DetachItemFromObject(object, "provenance");
    cJSON_Delete(object);
    return status;
}

qb_status qb__sidecar_shape(const char *path, char *shape, size_t size) {
    cJSON *object;
    shape[0] = 0;
    qb_status status = load(path, NULL, &object);
    if (status != QB_OK || !object) return status;
    const cJSON *list = cJSON_GetObjectItem(object, "shape");
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItem(object, "dtype"));
    double n[3];
    for (int i = 0; i < 3; i++) n[i] = cJSON_GetNumberValue(cJSON_GetArrayItem(list, i));
    if (dtype && n[0] >= 1 && n[1] >= 1 && n[2] >= 1 && n[0] < 1e15 && n[1] < 1e15 && n[2] < 1e15)
        snprintf(shape, size, "%.0f,%.0f,%.0f:%s", n[0], n[1], n[2], dtype);
    cJSON_Delete(object);
    return QB_OK;
}

qb_status qb__sidecar_parts(const cJSON *object, const char *from, qb__scan_parts *parts) {
    qb_status status = QB_OK;
    parts->data.count = parts->data.source->shape[0];
    parts->pixel_size = parts->data.source->voxel[0];
    parts->pixel_v = parts->data.source->voxel[1];
    memcpy(parts->quantity, parts->data.source->quantity, sizeof parts->quantity);
    snprintf(parts->pixel_from, sizeof parts->pixel_from, "%.105s", from);
    const cJSON *list = cJSON_GetObjectItem(object, "angles_degrees"), *item;
    int n = cJSON_GetArraySize(list);
    if (n > 0) status = qb__alloc((size_t)n, sizeof(double), &parts->angles);
    if (n > 0 && status == QB_OK) {
        cJSON_ArrayForEach(item, list) parts->angles[parts->angle_count++] = cJSON_GetNumberValue(item) * degree;
        snprintf(parts->angles_from, sizeof parts->angles_from, "%.105s", from);
    }
    return status;
}

qb_status qb__sidecar_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    char from[110];
    cJSON *object;
    qb_status status = qb__source_open(path, options ? options->shape : NULL, &parts->data.source);
    if (status == QB_OK) status = load(path, NULL, &object);
    if (status != QB_OK) return status;
    snprintf(from, sizeof from, "%.100s%s", path, object ? ".json" : "");
    status = qb__sidecar_parts(object, from, parts);
    cJSON_Delete(object);
    return status;
}
