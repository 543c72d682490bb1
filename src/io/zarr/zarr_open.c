/* SPDX-License-Identifier: MIT */
/* Finds which array of a Zarr folder is meant, and what its group states about it. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/geometry/unit_words.h"
#include "io/publish/paths.h"
#include "io/zarr/zarr.h"
#include "quickbeam/io.h"

/* ---- groups ---- */

static const cJSON *multiscale_of(const cJSON *attributes) {
    const cJSON *ome = cJSON_GetObjectItemCaseSensitive(attributes, "ome");
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(ome ? ome : attributes, "multiscales"), 0);
}

/* Find the only array of a group that does not name one. */
static qb_status only_array(const char *folder, char *name, size_t room) {
    char inside[4096];
    size_t found = 0;
    DIR *list = opendir(folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        qb__zarr_array a;
        bool is_array;
        cJSON *attributes;
        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(inside, sizeof inside, "%s/%s", folder, entry->d_name) >= sizeof inside)
            continue;
        if (!qb__is_folder(inside) || !qb__is_zarr(inside)) continue;
        if (qb__zarr_load(inside, &a, &is_array, &attributes) == QB_OK && is_array && ++found == 1)
            snprintf(name, room, "%s", entry->d_name);
        cJSON_Delete(attributes);
    }
    if (list) closedir(list);
    if (found == 1) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s holds %zu arrays and does not say which is the volume: give its path by --dataset", folder,
                    found);
}

/* Join paths inside a group, which must not lead out of it. */
static qb_status join_inside(const char *folder, const char *inside, char **path) {
    while (*inside == '/') inside++;
    const char *up = strstr(inside, "..");
    if (!*inside || (up && (up[2] == 0 || up[2] == '/')))
        return qb__fail(QB_BAD_INPUT, "%s: '%.80s' is not the path of an array in it", folder, inside);
    *path = qb__join(folder, inside);
    return *path ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", folder);
}

/* ---- what is said of it ---- */

/* Read the last three numbers of a transformation of that kind, or as many as there are. */
static bool numbers_of(const cJSON *list, const char *kind, double out[3]) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "type"));
        const cJSON *numbers = cJSON_GetObjectItemCaseSensitive(item, kind);
        const int n = cJSON_GetArraySize(numbers);
        if (!type || strcmp(type, kind) != 0 || !numbers) continue;
        if (n < 1) out[0] = out[1] = out[2] = NAN;
        for (int i = 0; i < 3 && i < n; i++) out[2 - i] = cJSON_GetNumberValue(cJSON_GetArrayItem(numbers, n - 1 - i));
        return true;
    }
    return false;
}

static const cJSON *dataset_of(const cJSON *multiscale, const char *inside) {
    const cJSON *item, *list = cJSON_GetObjectItemCaseSensitive(multiscale, "datasets");
    while (inside && *inside == '/') inside++;
    cJSON_ArrayForEach(item, list) {
        const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "path"));
        if (path && (!inside || strcmp(path, inside) == 0)) return item;
    }
    return NULL;
}

static const char *name_of(const cJSON *axes, int i) {
    const cJSON *axis = i >= 0 ? cJSON_GetArrayItem(axes, i) : NULL;
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(axis, "name"));
    return name ? name : cJSON_IsString(axis) ? axis->valuestring : "";
}

/* The last three axes: z, y, x. Some programs write x, y, z. */
static void look_at_axes(const cJSON *axes, qb__source *source) {
    const int n = cJSON_GetArraySize(axes);
    const char *const names[3] = {name_of(axes, n - 3), name_of(axes, n - 2), name_of(axes, n - 1)};
    unsigned seen = 0;
    for (int i = 0; i < 3; i++)
        if (strlen(names[i]) == 1 && strchr("xyz", *names[i])) seen |= 1u << (*names[i] - 'x');
    if (strcmp(names[0], "z") == 0) qb__source_is_volume(source);
    if (seen != 7 || (*names[0] == 'z' && *names[1] == 'y')) return;
    qb__source_is_volume(source);
    snprintf(source->trouble, sizeof source->trouble,
             "its axes are called %s, %s, %s, and are read as stored, as z, y, x: the image may be turned or "
             "mirrored" QB__CODE("axes-turned"),
             names[0], names[1], names[2]);
}

/* Set lengths of axes with a known unit; z is the last but two. The transformations of all levels follow those of the
 * level. */
static void apply_multiscale(const cJSON *multiscale, const cJSON *dataset, qb__source *source) {
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(multiscale, "axes");
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(dataset, "coordinateTransformations");
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(multiscale, "coordinateTransformations");
    double scale[3] = {1, 1, 1}, more[3] = {1, 1, 1}, first[3] = {0}, moved[3] = {0};
    look_at_axes(axes, source);
    if (!numbers_of(own, "scale", scale)) return;
    numbers_of(all, "scale", more);
    const bool placed = numbers_of(own, "translation", first) + numbers_of(all, "translation", moved) > 0;
    const int n = cJSON_GetArraySize(axes);
    for (int i = 0; i < 3; i++) {
        const cJSON *axis = n - 3 + i >= 0 ? cJSON_GetArrayItem(axes, n - 3 + i) : NULL;
        const char *unit = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(axis, "unit"));
        const double mm = unit ? qb__length_unit(unit) : 0, voxel = scale[i] * more[i] * mm;
        if (scale[i] * more[i] == 0 || !isfinite(scale[i] * more[i]))
            snprintf(source->trouble, sizeof source->trouble,
                     "its scale along %c is %s, not a length: it is not used, give --voxel or --pixel-size" QB__CODE(
                         "pixel-size-unusable"),
                     "zyx"[i], scale[i] * more[i] == 0 ? "0" : "no number");
        if (voxel == 0 || !isfinite(voxel)) continue;
        source->voxel[2 - i] = fabs(voxel);
        source->turned |= voxel < 0;
        if (placed && isfinite(first[i]) && isfinite(moved[i]))
            source->offset[2 - i] = (first[i] * more[i] + moved[i]) * mm + 0.5 * ((double)source->shape[i] - 1) * voxel;
    }
}

static void fill_with(qb__zarr *z) {
    const qb_dtype dtype = z->array.dtype;
    const double fill = z->array.fill;
    const float value = (float)fill;
    const int64_t whole = isfinite(fill) && fabs(fill) < 1e15 ? (int64_t)fill : 0;
    if (dtype == QB_F64)
        memcpy(z->fill, &fill, sizeof fill);
    else if (qb_dtype_is_float(dtype))
        qb_convert_from_float(&value, 1, dtype, 0, 1, z->fill);
    else
        memcpy(z->fill, &whole, qb_dtype_size(dtype));
}

/* A copy that was interrupted lacks files of chunks, as does an array of which parts were never stored. At most `LOOKS`
 * files are looked for, spread over the array. */
static void look_for_files(qb__zarr *z) {
    enum { LOOKS = 4096 };
    const qb__zarr_array *a = &z->array;
    char name[4096];
    size_t count[3], missing = 0;
    for (int i = 0; i < 3; i++) count[i] = qb__ceil_div(a->shape[i], a->file[i]);
    const size_t all = count[0] * count[1] * count[2], looks = qb__smaller(all, LOOKS);
    for (size_t i = 0; i < looks; i++) {
        const size_t n = (size_t)((double)i * (double)all / (double)looks);
        const size_t at[3] = {n / (count[1] * count[2]), n / count[2] % count[1], n % count[2]};
        qb__zarr_name(a, z->folder, at, name, sizeof name);
        if (access(name, F_OK) != 0 && errno == ENOENT) missing++;
    }
    if (missing == 0 || z->base.trouble[0]) return;
    qb__print(z->base.trouble, sizeof z->base.trouble,
              "%zu of %zu files of chunks %sare missing: they read as the fill value %g" QB__CODE("unwritten-chunks"),
              missing, looks, looks < all ? "looked for " : "", a->fill);
}

/* ---- opening ---- */

static void release_zarr(qb__source *source) { qb__free(((qb__zarr *)source)->folder); }

/* Make the source of the array. The rest of our own notes is for the scan. */
static qb_status make_source(const char *path, const char *folder, const qb__zarr_array *a, qb__zarr **out) {
    qb__zarr *z;
    QB__OR_RETURN(qb__source_create(sizeof *z, "Zarr", path, &z));
    z->array = *a;
    z->base.dtype = a->dtype;
    memcpy(z->base.shape, a->shape, sizeof a->shape);
    memcpy(z->base.chunk, a->chunk, sizeof a->chunk);
    z->base.cache_each = qb__zarr_read_memory(a);
    z->base.read = qb__zarr_read;
    z->base.release = release_zarr;
    z->folder = qb__strdup(folder);
    fill_with(z);
    *out = z;
    if (z->folder) return QB_OK;
    qb__source_close(&z->base);
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
}

/* Files of bioformats2raw hold their images in groups 0, 1, ...; the first one. NULL: it is none. */
static char *first_image(const char *path, const cJSON *attributes) {
    const cJSON *ome = cJSON_GetObjectItemCaseSensitive(attributes, "ome");
    if (!cJSON_GetObjectItemCaseSensitive(ome ? ome : attributes, "bioformats2raw.layout")) return NULL;
    char *first = qb__join(path, "0");
    if (first && qb__is_folder(first) && qb__is_zarr(first)) return first;
    qb__free(first);
    return NULL;
}

/* Open the array. *notes, which may be NULL: what this program wrote about it; the caller deletes it. `inner_image`: it is an
 * image of bioformats2raw, which holds no images of its own. */
static qb_status open_noted(const char *path, const char *how, bool inner_image, qb__source **out, cJSON **notes) {
    qb__zarr_array a;
    bool is_array;
    cJSON *attributes = NULL, *inner = NULL, *own = NULL;
    char *folder = NULL, name[256] = "";
    qb__zarr *z = NULL;
    const cJSON *multiscale = NULL, *dataset = NULL;
    qb_status status;
    *out = NULL;
    QB__TRY(qb__zarr_load(path, &a, &is_array, &attributes));
    if (is_array) {
        QB__TRY(make_source(path, path, &a, &z));
    } else {
        multiscale = multiscale_of(attributes);
        folder = multiscale || how ? NULL : first_image(path, attributes);
        if (folder) {
            status = inner_image
                         ? qb__fail(QB_BAD_INPUT,
                                    "%s is an image of bioformats2raw, and states images of its own: give the path "
                                    "of an array by --dataset",
                                    path)
                         : open_noted(folder, NULL, true, out, notes);
            goto out;
        }
        dataset = dataset_of(multiscale, how);
        const char *inside = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(dataset, "path"));
        if (how) inside = how;
        if (!inside) QB__TRY(only_array(path, name, sizeof name));
        QB__TRY(join_inside(path, inside ? inside : name, &folder));
        QB__TRY(qb__zarr_load(folder, &a, &is_array, &inner));
        if (!is_array)
            QB__TRY(qb__fail(QB_BAD_INPUT, "%s is a group of Zarr, not an array: give the path of one by --dataset",
                             folder));
        QB__TRY(make_source(path, folder, &a, &z));
        if (dataset) apply_multiscale(multiscale, dataset, &z->base);
    }
    look_for_files(z);
    own = cJSON_DetachItemFromObjectCaseSensitive(attributes, "quickbeam");
    if (own && dataset && dataset == cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(multiscale, "datasets"), 0))
        qb__sidecar_take(own, &z->base);
    *out = &z->base;
    if (notes) *notes = own, own = NULL;
out:
    cJSON_Delete(own);
    cJSON_Delete(attributes);
    cJSON_Delete(inner);
    qb__free(folder);
    return status;
}

qb_status qb__zarr_open(const char *path, const char *how, qb__source **source) {
    return open_noted(path, how, false, source, NULL);
}

qb_status qb__zarr_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    cJSON *notes = NULL;
    qb_status status = open_noted(path, options ? options->dataset : NULL, false, &parts->data.source, &notes);
    if (status == QB_OK) status = qb__sidecar_parts(notes, path, parts);
    cJSON_Delete(notes);
    return status;
}

qb_status qb__zarr_provenance(const char *path, cJSON **object) {
    qb__zarr_array a;
    bool is_array;
    cJSON *attributes;
    *object = NULL;
    const qb_status status = qb__zarr_load(path, &a, &is_array, &attributes);
    cJSON *own = cJSON_GetObjectItemCaseSensitive(attributes, "quickbeam");
    if (own) *object = cJSON_DetachItemFromObject(own, "provenance");
    cJSON_Delete(attributes);
    return status;
}
