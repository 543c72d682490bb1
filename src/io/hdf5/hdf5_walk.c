/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"

/* Identity of an object: its file, for external links, and its address there. */
typedef struct spot {
    unsigned long file;
    haddr_t address;
    bool used;
} spot;

/* Groups that several links lead to are visited once: a hash table that is at least half empty. */
typedef struct walk {
    qb__h5_map *map;
    hid_t group;      /* the group whose links are visited */
    const char *path; /* its path, "" for the root */
    int level;
    spot *seen;
    size_t seen_count, seen_room;
    qb_status status;
    const char *name;
} walk;

static bool ends_with(const char *path, const char *name) {
    size_t n = strlen(path), m = strlen(name);
    return n > m && path[n - m - 1] == '/' && strcmp(path + n - m, name) == 0;
}

static bool says_rotation(hid_t group, const char *child, const char *path) {
    char kind[32];
    if (strstr(path, "rotation_angle") || strstr(path, "theta")) return true;
    return qb__h5_text(group, child, "transformation_type", kind, sizeof kind) && strcmp(kind, "rotation") == 0;
}

/* True for what no image is in a file of MATLAB 7.3, where all have two axes at least: vectors, texts, cells, and what
 * the cells refer to. */
static bool is_matlab_part(hid_t group, const char *child, const char *path, const size_t shape[3]) {
    char class[32];
    if (strncmp(path, "/#", 2) == 0) return true;
    if (!qb__h5_text(group, child, "MATLAB_class", class, sizeof class)) return false;
    return qb__h5_is_list(shape) || strcmp(class, "cell") == 0 || strcmp(class, "char") == 0;
}

/* Note a dataset: `child` of the group, whose full path is `path`. */
static void look_at_dataset(hid_t group, const char *child, const char *path, qb__h5_map *map) {
    char text[64];
    int rank = 0;
    size_t shape[3];
    if (ends_with(path, "definition")) {
        if (!qb__h5_text(group, child, NULL, text, sizeof text) || strcmp(text, "NXtomo") != 0) return;
        qb__note(&map->entries, "%.*s", (int)(strlen(path) - strlen("/definition")), path);
        return;
    }
    const bool images = qb__h5_shape(group, child, &rank, shape);
    if (ends_with(path, "pixel_mask") && (!images || rank < 2)) {
        if (!*map->odd_mask) snprintf(map->odd_mask, sizeof map->odd_mask, "%.255s", path);
        return;
    }
    if (!images) {
        if (rank > 3 && !*map->first_deep) snprintf(map->first_deep, sizeof map->first_deep, "%.255s", path);
        return;
    }
    const bool key = ends_with(path, "image_key") || ends_with(path, "image_key_control");
    const bool list =
        rank == 1 || (qb__h5_is_list(shape) && (key || ends_with(path, "rotation_angle") || ends_with(path, "theta")));
    if (!list && ends_with(path, "pixel_mask")) {
        qb__note(&map->masks, "%s", path);
    } else if (!list) {
        if (rank >= 2 && !is_matlab_part(group, child, path, shape)) qb__note(&map->arrays, "%s", path);
    } else if (key)
        qb__note(&map->keys, "%s", path);
    else if (says_rotation(group, child, path))
        qb__note(&map->angles, "%s", path);
}

static void look_at_group(hid_t group, const char *path, qb__h5_map *map) {
    if (strncmp(path, "/exchange", 9) != 0 || strchr(path + 1, '/')) return;
    if (qb__h5_exists(group, "data")) qb__note(&map->exchanges, "%s", path);
}

static size_t slot_of(const spot *table, size_t room, const spot *one) {
    size_t at = (size_t)((one->address ^ one->file << 40) * 0x9e3779b97f4a7c15u >> 17) % room;
    while (table[at].used && (table[at].file != one->file || table[at].address != one->address)) at = (at + 1) % room;
    return at;
}

/* *again if the object was visited before; else it is stored. */
static qb_status keep_spot(walk *w, const H5O_info_t *object, bool *again) {
    if (2 * w->seen_count >= w->seen_room) {
        size_t room = 2 * w->seen_room + 64;
        spot *wider;
        QB__OR_RETURN(qb__alloc(room, sizeof *wider, &wider));
        for (size_t i = 0; i < w->seen_room; i++)
            if (w->seen[i].used) wider[slot_of(wider, room, &w->seen[i])] = w->seen[i];
        qb__free(w->seen);
        w->seen = wider;
        w->seen_room = room;
    }
    spot one = {object->fileno, object->addr, true};
    size_t at = slot_of(w->seen, w->seen_room, &one);
    *again = w->seen[at].used;
    w->seen_count += !*again;
    w->seen[at] = one;
    return QB_OK;
}

static herr_t visit(hid_t id, const char *child, const H5L_info_t *link, void *user);

static void walk_group(walk *w, hid_t group, const char *path) {
    walk outer = *w;
    w->group = group;
    w->path = path;
    w->level++;
    hsize_t at = 0;
    herr_t failed = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, visit, w);
    if (failed < 0 && w->status == QB_OK) w->status = qb__h5_fail(QB_BAD_INPUT, w->name, "going through its groups");
    w->group = outer.group;
    w->path = outer.path;
    w->level = outer.level;
}

/* Only hard links lead down: others would visit the same objects twice. */
static void enter(walk *w, const char *child, const char *path, const H5O_info_t *object) {
    bool again = false;
    if (w->level == QB__H5_LEVELS) {
        w->map->deeper++;
        return;
    }
    w->status = object->rc > 1 ? keep_spot(w, object, &again) : QB_OK;
    if (w->status != QB_OK || again) return;
    hid_t inner = H5Gopen2(w->group, child, H5P_DEFAULT);
    if (inner < 0) {
        w->status = qb__h5_fail(QB_BAD_INPUT, w->name, path);
        return;
    }
    look_at_group(inner, path, w->map);
    walk_group(w, inner, path);
    H5Gclose(inner);
}

static void note_dangling(walk *w, const char *path) {
    if (w->map->dangling++ == 0) snprintf(w->map->first_dangling, sizeof w->map->first_dangling, "%.255s", path);
}

static herr_t visit(hid_t id, const char *child, const H5L_info_t *link, void *user) {
    (void)id;
    walk *w = user;
    char path[1024];
    if (++w->map->links > QB__H5_LINKS) return 1; /* ends the walk, on all levels */
    if ((size_t)snprintf(path, sizeof path, "%s/%s", w->path, child) >= sizeof path) return 0;
    int before = qb__h5_fault(0);
    bool there = qb__h5_exists(w->group, child);
    int found = qb__h5_fault(before);
    /* A file that may not be read counts as missing until it is needed. */
    if (!before && link->type != H5L_TYPE_EXTERNAL) qb__h5_fault(found);
    if (!there) {
        note_dangling(w, path);
        return 0;
    }
    H5O_info_t object;
    if (H5Oget_info_by_name2(w->group, child, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return 0;
    if (object.type == H5O_TYPE_DATASET) look_at_dataset(w->group, child, path, w->map);
    if (object.type == H5O_TYPE_GROUP && link->type == H5L_TYPE_HARD) enter(w, child, path, &object);
    return w->status != QB_OK ? -1 : w->map->links > QB__H5_LINKS;
}

qb_status qb__h5_walk(hid_t file, const char *name, qb__h5_map *map) {
    *map = (qb__h5_map){0};
    walk w = {.map = map, .name = name};
    H5O_info_t object;
    bool again;
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root < 0 || H5Oget_info2(root, &object, H5O_INFO_BASIC) < 0)
        w.status = qb__h5_fail(QB_BAD_INPUT, name, "opening its root");
    if (w.status == QB_OK) w.status = keep_spot(&w, &object, &again);
    if (w.status == QB_OK) walk_group(&w, root, "");
    if (root >= 0) H5Gclose(root);
    qb__free(w.seen);
    if (w.status != QB_OK) return w.status;
    if (map->arrays.lost || map->keys.lost || map->entries.lost || map->exchanges.lost || map->angles.lost ||
        map->masks.lost)
        return qb__fail(QB_NO_MEMORY, "%s: no memory for the names in it", name);
    return QB_OK;
}

void qb__h5_map_release(qb__h5_map *map) {
    qb__notes_release(&map->entries);
    qb__notes_release(&map->keys);
    qb__notes_release(&map->angles);
    qb__notes_release(&map->arrays);
    qb__notes_release(&map->masks);
    qb__notes_release(&map->exchanges);
}
