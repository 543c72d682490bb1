/* SPDX-License-Identifier: MIT */
/* Flats and darks from an HDF5 file given for them: another scan, a stack of images, a dataset of a file, or the means
 * of tomoscan and nabu ("reduced": /ENTRY/flats/0, /ENTRY/flats/1500, an image each). */
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#ifdef QB_HAVE_HDF5
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "io/guard/guard_reader.h"
#include "io/hdf5/hdf5.h"

static qb_status open_stack(hid_t file, const char *name, const char *path, qb__frames *out) {
    const qb_status status = qb__h5_source(file, name, path, &out->source);
    if (status == QB_OK) out->count = out->source->shape[0];
    return status;
}

/* True if PATH is a direct child of GROUP with a number as its name. */
static bool is_numbered_child(const char *path, const char *group) {
    const size_t n = strlen(group);
    if (strncmp(path, group, n) != 0 || path[n] != '/') return false;
    const size_t digits = strspn(path + n + 1, "0123456789");
    return digits && !path[n + 1 + digits];
}

/* All images of a group of means; QB_NOT_FOUND if there is none. */
static qb_status open_means(hid_t file, const char *name, const char *group, const qb__h5_map *map, qb__frames *out) {
    qb__frames *part;
    size_t n = 0;
    qb_status status = qb__alloc(map->arrays.count + 1, sizeof *part, &part);
    for (size_t i = 0; i < map->arrays.count && status == QB_OK; i++) {
        if (!is_numbered_child(map->arrays.text[i], group)) continue;
        status = open_stack(file, name, map->arrays.text[i], &part[n]);
        n += status == QB_OK;
    }
    if (status == QB_OK)
        status = n ? qb__frames_join(part, n, out) : qb__fail(QB_NOT_FOUND, "%s:%s holds no images", name, group);
    for (size_t i = 0; i < n; i++) qb__frames_release(&part[i]);
    qb__free(part);
    return status;
}

/* The first group "flats" or "darks" of means in the file, below `below`. */
static qb_status find_means(hid_t file, const char *name, const char *below, bool dark, const qb__h5_map *map,
                            qb__frames *out) {
    const char *end = dark ? "/darks/" : "/flats/";
    for (size_t i = 0; i < map->arrays.count; i++) {
        const char *path = map->arrays.text[i], *at = strstr(path, end);
        char group[600];
        if (!at || strncmp(path, below, strlen(below)) != 0) continue;
        snprintf(group, sizeof group, "%.*s", (int)(at - path + (ptrdiff_t)strlen(end) - 1), path);
        const qb_status status = open_means(file, name, group, map, out);
        if (status != QB_NOT_FOUND) return status;
    }
    return qb__fail(QB_NOT_FOUND, "%s has no group %s of images", name, dark ? "darks" : "flats");
}

/* Open fields in a group by their name, else the group's data. */
static qb_status open_exchange(hid_t file, const char *name, const char *group, bool dark, qb__frames *out) {
    static const char *const children[] = {"data_white", "data_dark", "theta", "data"};
    char path[4][620];
    bool there[4];
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "%.590s/%s", group, children[i]);
        there[i] = qb__h5_exists(file, path[i]);
    }
    if (there[dark]) return open_stack(file, name, path[dark], out);
    if (there[!dark] || (there[2] && there[3]))
        return qb__fail(QB_BAD_INPUT, "%s:%s is a scan without %s: name the dataset that is meant, as in %s:%s", name,
                        group, children[dark], name, path[3]);
    if (there[3]) return open_stack(file, name, path[3], out);
    return qb__fail(QB_NOT_FOUND, "%s:%s holds neither %s nor data", name, group, children[dark]);
}

static qb_status only_array(hid_t file, const char *name, const char *below, const qb__h5_map *map, qb__frames *out) {
    const char *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < map->arrays.count; i++)
        if (strncmp(map->arrays.text[i], below, strlen(below)) == 0) {
            found = map->arrays.text[i];
            count++;
        }
    if (count == 1) return open_stack(file, name, found, out);
    return qb__fail(QB_BAD_INPUT, "%s holds %zu arrays: name one of them, as in %s:%s", name, count, name,
                    found ? found : "/entry/data");
}

/* Open fields in the named group, or in the file. */
static qb_status of_group(hid_t file, const char *name, const char *group, bool dark, const qb__h5_map *map,
                          qb__frames *out) {
    qb_status status = qb__nxtomo_fields(file, name, *group ? group : NULL, map, dark, out);
    if (status == QB_NOT_FOUND && !*group && map->exchanges.count)
        status = open_exchange(file, name, map->exchanges.text[0], dark, out);
    if (status == QB_NOT_FOUND && *group) status = open_exchange(file, name, group, dark, out);
    if (status == QB_NOT_FOUND) status = find_means(file, name, group, dark, map, out);
    if (status == QB_NOT_FOUND && *group) status = open_means(file, name, group, map, out);
    if (status == QB_NOT_FOUND && !*group) status = qb__bliss_fields(file, name, map, dark, out);
    if (status == QB_NOT_FOUND) status = only_array(file, name, group, map, out);
    return status;
}

static qb_status find_fields(hid_t file, const char *name, const char *dataset, bool dark, const qb__h5_map *map,
                             qb__frames *out) {
    char group[600];
    if (!dataset) return of_group(file, name, "", dark, map, out);
    if (!qb__h5_exists(file, dataset)) return qb__fail(QB_NOT_FOUND, "%s:%s is not there", name, dataset);
    if (strlen(dataset) >= sizeof group)
        return qb__fail(QB_UNSUPPORTED, "%s: the path in the file has %zu characters, which is too long", name,
                        strlen(dataset));
    snprintf(group, sizeof group, "%s", dataset);
    for (size_t n = strlen(group); n > 0 && group[n - 1] == '/';) group[--n] = 0;
    H5O_info_t info;
    const bool is_group =
        H5Oget_info_by_name2(file, dataset, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && info.type == H5O_TYPE_GROUP;
    if (is_group) return of_group(file, name, group, dark, map, out);
    const qb_status status = qb__nxtomo_fields(file, name, group, map, dark, out); /* the frames selected by its key */
    return status == QB_NOT_FOUND ? open_stack(file, name, group, out) : status;
}

qb_status qb__hdf5_fields(const char *path, const char *dataset, bool dark, qb__frames *out) {
    hid_t file;
    qb__h5_map map = {0};
    *out = (qb__frames){0};
    QB__OR_RETURN(qb__guard_prove(path, dataset));
    qb__h5_enter();
    qb_status status = qb__h5_open(path, &file);
    if (status != QB_OK) goto leave;
    status = qb__h5_walk(file, path, &map);
    if (status == QB_OK) status = find_fields(file, path, dataset, dark, &map, out);
    qb__h5_map_release(&map);
    H5Fclose(file);
leave:
    status = qb__h5_judge(status, path);
    qb__h5_leave();
    if (status != QB_OK) qb__frames_release(out);
    return status;
}

/* Follow a path that may be relative to the group of its attribute. */
static bool follow(hid_t file, char *path, size_t size, const char *attribute) {
    char next[300];
    if (!qb__h5_text(file, *path ? path : "/", attribute, next, sizeof next) || !*next) return false;
    const size_t n = next[0] == '/' ? 0 : strlen(path);
    snprintf(path + n, size - n, "%s%s", next[0] == '/' ? "" : "/", next);
    return qb__h5_exists(file, path);
}

bool qb__h5_default(hid_t file, char *path, size_t size) {
    int rank;
    size_t shape[3];
    path[0] = 0;
    for (int depth = 0; depth < 8 && follow(file, path, size, "default"); depth++) continue;
    if (*path && !qb__h5_shape(file, path, &rank, shape) && !follow(file, path, size, "signal")) return false;
    return *path && qb__h5_shape(file, path, &rank, shape) && rank >= 2;
}
#else
qb_status qb__hdf5_fields(const char *path, const char *dataset, bool dark, qb__frames *out) {
    (void)dataset, (void)dark;
    *out = (qb__frames){0};
    return qb__fail(QB_UNSUPPORTED, "%s: this build reads no HDF5", path);
}
#endif
