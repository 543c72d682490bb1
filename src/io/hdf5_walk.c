/* SPDX-License-Identifier: MIT */
#ifdef QB_HAVE_HDF5
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/hdf5.h"

/* A file may hold more links than anybody will ever wait for. */
enum { LINKS_MOST = 200000 };

static bool ends_with(const char *path, const char *name) {
    size_t n = strlen(path), m = strlen(name);
    return n > m && path[n - m - 1] == '/' && strcmp(path + n - m, name) == 0;
}

static bool says_rotation(hid_t file, const char *path) {
    char kind[32];
    if (strstr(path, "rotation_angle") || strstr(path, "theta")) return true;
    return qb__h5_text(file, path, "transformation_type", kind, sizeof kind) &&
           strcmp(kind, "rotation") == 0;
}

static void look_at_dataset(hid_t file, const char *path, qb__h5_map *map) {
    char text[64];
    int rank;
    size_t shape[3];
    if (ends_with(path, "definition")) {
        if (!qb__h5_text(file, path, NULL, text, sizeof text) || strcmp(text, "NXtomo") != 0)
            return;
        qb__note(&map->entries, "%.*s", (int)(strlen(path) - strlen("/definition")), path);
        return;
    }
    if (!qb__h5_shape(file, path, &rank, shape)) return;
    if (rank >= 2) qb__note(&map->arrays, "%s", path);
    if (rank != 1) return;
    if (ends_with(path, "image_key") || ends_with(path, "image_key_control"))
        qb__note(&map->keys, "%s", path);
    else if (says_rotation(file, path))
        qb__note(&map->angles, "%s", path);
}

static void look_at_group(hid_t file, const char *path, qb__h5_map *map) {
    char data[1100];
    if (strncmp(path, "/exchange", 9) != 0 || strchr(path + 1, '/')) return;
    snprintf(data, sizeof data, "%s/data", path);
    if (qb__h5_exists(file, data)) qb__note(&map->exchanges, "%s", path);
}

typedef struct walk {
    hid_t file;
    qb__h5_map *map;
} walk;

static herr_t visit(hid_t root, const char *name, const H5L_info_t *link, void *user) {
    (void)root;
    walk *w = user;
    char path[1024];
    if (++w->map->links > LINKS_MOST) return 1;
    if ((size_t)snprintf(path, sizeof path, "/%s", name) >= sizeof path) return 0;
    if (!qb__h5_exists(w->file, path)) {
        if (w->map->dangling++ == 0)
            snprintf(w->map->first_dangling, sizeof w->map->first_dangling, "%.255s", path);
        return 0;
    }
    H5O_info_t object;
    if (H5Oget_info_by_name2(w->file, path, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return 0;
    if (object.type == H5O_TYPE_DATASET) look_at_dataset(w->file, path, w->map);
    if (object.type == H5O_TYPE_GROUP && link->type == H5L_TYPE_HARD)
        look_at_group(w->file, path, w->map);
    return 0;
}

qb_status qb__h5_walk(hid_t file, const char *name, qb__h5_map *map) {
    *map = (qb__h5_map){0};
    walk w = {file, map};
    if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &w) < 0)
        return qb__h5_fail(QB_BAD_INPUT, name, "going through its groups");
    if (map->arrays.lost || map->keys.lost || map->entries.lost || map->exchanges.lost)
        return qb__fail(QB_NO_MEMORY, "%s: no memory for the names in it", name);
    return QB_OK;
}

void qb__h5_map_release(qb__h5_map *map) {
    qb__notes_release(&map->entries);
    qb__notes_release(&map->keys);
    qb__notes_release(&map->angles);
    qb__notes_release(&map->arrays);
    qb__notes_release(&map->exchanges);
}
#else
typedef int qb__no_hdf5;
#endif
