/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/guard/guard_reader.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"
#include "io/text.h"

static bool is_group(hid_t file, const char *path) {
    H5O_info_t info;
    return qb__h5_exists(file, path) && H5Oget_info_by_name2(file, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           info.type == H5O_TYPE_GROUP;
}

static void append_names(char *text, size_t size, const qb__notes *names) {
    for (size_t i = 0; i < names->count && i < 6; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, " %s", names->text[i]);
    }
}

/* Angles in the same file as an array without metadata, one per image; and axes that the file names in another
 * order. */
static void take_neighbours(hid_t file, const char *name, const char *path, const qb__h5_map *map, qb_image as,
                            qb__scan_parts *parts) {
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    size_t shape[3];
    int rank;
    char first[40];
    for (size_t i = 0; i < map->angles.count && !parts->angles; i++) {
        const char *found = map->angles.text[i];
        if (strncmp(found, path, folder) != 0 || strchr(found + folder, '/')) continue;
        if (!qb__h5_shape(file, found, &rank, shape) || rank != 1 || shape[2] != parts->data.count) continue;
        if (qb__h5_angles(file, name, found, parts) != QB_OK)
            qb__note(&parts->notes, "%s cannot be used: %s" QB__CODE("angles-unusable"), found, qb_detail());
    }
    if (as != QB_IMAGE_SINOGRAM && qb__h5_text(file, path, "dim0", first, sizeof first) &&
        strcmp(first, "vertical") == 0)
        qb__note(&parts->notes,
                 "%s calls its first axis vertical: these are sinograms, give --as sinogram" QB__CODE("sinogram-order"),
                 path);
}

/* An NXtomo entry without the kinds of its frames: all are projections, if there is only one stack. */
static bool is_lone_stack(const qb__h5_map *map) {
    return map->arrays.count == 1 && map->keys.count == 0 && map->dangling == 0;
}

static void take_angles_of_entry(hid_t file, const char *name, const char *entry, qb__scan_parts *parts) {
    char path[700];
    size_t shape[3];
    int rank;
    snprintf(path, sizeof path, "%.600s/sample/rotation_angle", entry);
    qb__note(&parts->notes,
             "%.200s is an NXtomo without image_key: all frames are taken for projections" QB__CODE("no-image-key"),
             entry);
    if (parts->angles || !qb__h5_shape(file, path, &rank, shape) || rank != 1) return;
    if (qb__h5_angles(file, name, path, parts) != QB_OK)
        qb__note(&parts->notes, "%s cannot be used: %s" QB__CODE("angles-unusable"), path, qb_detail());
}

/* An array without metadata: if there are several, the user must choose. */
static qb_status plain_array(hid_t file, const char *name, const char *path, const qb__h5_map *map, qb_image as,
                             qb__scan_parts *parts) {
    char chosen[600];
    if (!path && map->arrays.count > 1 && qb__h5_default(file, chosen, sizeof chosen)) path = chosen;
    const qb__notes *arrays = map->arrays.count ? &map->arrays : &map->masks;
    if (!path && arrays->count != 1) {
        char names[400] = "";
        append_names(names, sizeof names, arrays);
        if (arrays->count == 0 && *map->first_deep)
            return qb__fail_in(qb__h5_refuse_shape(file, map->first_deep, map->first_deep), "%s", name);
        if (arrays->count == 0) return qb__fail(QB_BAD_INPUT, "%s holds no array of two or three dimensions", name);
        return qb__fail(QB_BAD_INPUT, "%s holds %zu arrays: choose one by --dataset:%s", name, arrays->count, names);
    }
    if (!path) path = arrays->text[0];
    QB__OR_RETURN(qb__h5_source(file, name, path, &parts->data.source));
    parts->format = "HDF5";
    parts->data.count = parts->data.source->shape[0];
    const qb_status status = qb__h5_axes(file, name, path, parts);
    snprintf(parts->quantity, sizeof parts->quantity, "%s", parts->data.source->quantity);
    take_neighbours(file, name, path, map, as, parts);
    return status;
}

/* True if the images of `parts` have as many rows and columns as those of an array. */
static bool has_size_of(hid_t file, const char *path, const qb__scan_parts *parts) {
    const size_t *own = parts->data.source->shape;
    size_t shape[3];
    int rank;
    return qb__h5_shape(file, path, &rank, shape) && rank == 3 && shape[1] == own[1] && shape[2] == own[2];
}

/* Another array than the scan's, by --dataset: its images are of the scan's detector if they have the same size. */
static qb_status take_detector(hid_t file, const char *name, const char *path, const qb__h5_map *map,
                               qb__scan_parts *parts) {
    char group[600], data[700];
    if (parts->pixel_size > 0 || parts->data.source->voxel[0] > 0) return QB_OK;
    for (size_t i = 0; i < map->entries.count; i++) {
        const char *entry = map->entries.text[i];
        const size_t n = strlen(entry);
        if (strncmp(path, entry, n) != 0 || path[n] != '/') continue;
        snprintf(group, sizeof group, "%.*s", (int)(strrchr(path, '/') - path), path);
        snprintf(data, sizeof data, "%.600s/instrument/detector/data", entry);
        return has_size_of(file, data, parts) ? qb__nxtomo_detector(file, name, entry, group, parts) : QB_OK;
    }
    snprintf(data, sizeof data, "%.600s/data", map->exchanges.count ? map->exchanges.text[0] : "");
    if (map->exchanges.count && has_size_of(file, data, parts)) qb__exchange_detector(file, name, parts);
    return QB_OK;
}

/* --dataset GROUP/data or GROUP: the group decides the layout. */
static qb_status named_scan(hid_t file, const char *name, const qb_scan_options *options, const qb__h5_map *map,
                            qb__scan_parts *parts) {
    const char *dataset = options->dataset;
    char group[600], data[620];
    if (strlen(dataset) >= 580)
        return qb__fail(QB_UNSUPPORTED, "%s: --dataset has %zu characters; at most 579 are possible", name,
                        strlen(dataset));
    if (!qb__h5_exists(file, dataset)) return qb__fail(QB_NOT_FOUND, "%s: --dataset %s is not there", name, dataset);
    snprintf(group, sizeof group, "%s", dataset);
    size_t n = strlen(group);
    while (n > 1 && group[n - 1] == '/') group[--n] = 0;
    if (!is_group(file, group)) {
        char *slash = strrchr(group, '/');
        if (!slash || slash == group || strcmp(slash, "/data") != 0) {
            const qb_status status = plain_array(file, name, dataset, map, options->as, parts);
            return status == QB_OK ? take_detector(file, name, dataset, map, parts) : status;
        }
        *slash = 0;
    }
    qb_status status = qb__nxtomo_scan(file, name, group, map, parts);
    if (status != QB_NOT_FOUND) return status;
    snprintf(data, sizeof data, "%s/data", group);
    if (!qb__h5_exists(file, data))
        return qb__fail(QB_NOT_FOUND, "%s: %s holds no scan: neither image_key nor data", name, dataset);
    return qb__exchange_scan(file, name, group, options, parts);
}

static qb_status find_scan(hid_t file, const char *name, const qb_scan_options *options, const qb__h5_map *map,
                           qb__scan_parts *parts) {
    if (options && options->dataset) return named_scan(file, name, options, map, parts);
    if (map->exchanges.count) {
        if (map->exchanges.count > 1)
            qb__note(&parts->notes,
                     "%zu exchange groups: %s is read; --dataset picks another" QB__CODE("several-scans"),
                     map->exchanges.count, map->exchanges.text[0]);
        return qb__exchange_scan(file, name, map->exchanges.text[0], options, parts);
    }
    qb_status status = qb__nxtomo_scan(file, name, NULL, map, parts);
    if (status != QB_NOT_FOUND) return status;
    if (map->entries.count && is_lone_stack(map)) {
        status = plain_array(file, name, NULL, map, options->as, parts);
        if (status == QB_OK) take_angles_of_entry(file, name, map->entries.text[0], parts);
        return status;
    }
    if (map->entries.count && *map->first_deep)
        return qb__fail_in(qb__h5_refuse_shape(file, map->first_deep, map->first_deep), "%s", name);
    if (map->entries.count)
        return qb__fail(
            QB_BAD_INPUT,
            "%s:%s is an NXtomo without image_key next to its data; %zu links are broken%s%s. Give --dataset", name,
            map->entries.text[0], map->dangling, map->dangling ? ", the first " : "", map->first_dangling);
    status = qb__bliss_scan(file, name, map, parts);
    if (status != QB_NOT_FOUND) return status;
    status = plain_array(file, name, NULL, map, options->as, parts);
    if (status == QB_OK || map->dangling == 0) return status;
    return qb__fail_in(status, "%zu links are broken, the first is %s", map->dangling, map->first_dangling);
}

/* True if a dataset can grow; and its first dimension. */
static bool may_grow(hid_t file, const char *path, size_t *first) {
    hsize_t now[H5S_MAX_RANK] = {0}, most[H5S_MAX_RANK] = {0};
    const hid_t set = qb__h5_dataset(file, path), space = set < 0 ? set : H5Dget_space(set);
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, now, most);
    bool grows = rank < 1;
    for (int i = 0; i < rank; i++) grows |= most[i] != now[i];
    *first = (size_t)now[0];
    if (space >= 0) H5Sclose(space);
    if (set >= 0) H5Dclose(set);
    return grows;
}

/* True if all views of a file that is being written are there: its arrays cannot grow, or are as long as a list of
 * angles that cannot grow. */
static bool has_all_views(hid_t file, const qb__h5_map *map) {
    size_t first = 0, longest = 0, listed;
    bool grows = false;
    for (size_t i = 0; i < map->arrays.count; i++) {
        grows |= may_grow(file, map->arrays.text[i], &first);
        longest = qb__larger(longest, first);
    }
    for (size_t i = 0; i < map->angles.count && grows; i++)
        grows = may_grow(file, map->angles.text[i], &listed) || listed != longest;
    return !grows;
}

qb_status qb__hdf5_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    hid_t file;
    qb__h5_map map = {0};
    qb_status status = qb__guard_prove(path, options ? options->dataset : NULL);
    if (status != QB_OK) return status;
    qb__h5_enter();
    status = qb__h5_open(path, &file);
    if (status != QB_OK) goto leave;
    QB__TRY(qb__h5_walk(file, path, &map));
    QB__TRY(find_scan(file, path, options, &map, parts));
    QB__TRY(qb__h5_mask(file, path, options && options->dataset ? options->dataset : "", &map, parts));
    if (qb__h5_being_written(file) && !has_all_views(file, &map))
        qb__note(&parts->notes,
                 "the file is being written: views that come later are not read" QB__CODE("being-written"));
    if (map.dangling)
        qb__note(&parts->notes, "%zu of %zu links are broken, the first is %s" QB__CODE("broken-links"), map.dangling,
                 map.links, map.first_dangling);
    if (map.links > QB__H5_LINKS)
        qb__note(&parts->notes,
                 "more than %d links: the others are not searched; give --dataset" QB__CODE("large-file-tree"),
                 QB__H5_LINKS);
    if (map.deeper)
        qb__note(
            &parts->notes,
            "%zu groups lie deeper than %d levels: they are not searched; give --dataset" QB__CODE("large-file-tree"),
            map.deeper, QB__H5_LEVELS);
out:
    qb__h5_map_release(&map);
    H5Fclose(file);
leave:
    status = qb__h5_judge(status, path);
    qb__h5_leave();
    return status;
}

/* Open a whole array: the dataset asked for, else /exchange/data, else the only one. */
qb_status qb__hdf5_open(const char *path, const char *dataset, qb__source **source) {
    hid_t file;
    qb__h5_map map = {0};
    *source = NULL;
    qb_status status = qb__guard_prove(path, dataset);
    if (status != QB_OK) return status;
    qb__h5_enter();
    status = qb__h5_open(path, &file);
    if (status != QB_OK) goto leave;
    if (!dataset && qb__h5_exists(file, "/exchange/data")) dataset = "/exchange/data";
    if (!dataset) {
        QB__TRY(qb__h5_walk(file, path, &map));
        qb__scan_parts parts = {0};
        status = plain_array(file, path, NULL, &map, QB_IMAGE_AUTO, &parts);
        *source = parts.data.source;
        parts.data.source = NULL;
        qb__scan_parts_release(&parts);
    } else {
        status = qb__h5_source(file, path, dataset, source);
    }
out:
    qb__h5_map_release(&map);
    H5Fclose(file);
leave:
    status = qb__h5_judge(status, path);
    qb__h5_leave();
    return qb__source_give(status, *source, source);
}

qb_status qb__hdf5_provenance(const char *path, cJSON **object) {
    enum { MOST = 64 << 20 }; /* geometries of many views; unused pages of the buffer cost nothing */
    struct stat about;
    hid_t file;
    char *text = NULL;
    bool found = false;
    *object = NULL;
    qb_status status = qb__guard_prove(path, NULL);
    const size_t room = stat(path, &about) == 0 && about.st_size < MOST ? (size_t)about.st_size + 1 : MOST;
    if (status == QB_OK) status = qb__alloc(room, 1, &text);
    if (status != QB_OK) return status;
    qb__h5_enter();
    status = qb__h5_open(path, &file);
    if (status == QB_OK) {
        found = qb__h5_text(file, "/process/quickbeam/provenance", NULL, text, room);
        H5Fclose(file);
    }
    status = qb__h5_judge(status, path);
    qb__h5_leave();
    if (status == QB_OK && found) status = qb__provenance_parse(text, object);
    qb__free(text);
    return status;
}
