/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"

enum { FRAMES_MOST = 1 << 24 };

/* The frames of an NXtomo entry, or of a Diamond file without one. */
typedef struct place {
    char entry[300]; /* "" if no group is an NXtomo */
    char group[300]; /* contains data and image_key */
    char key[340];
    size_t shape[3], keys;
    int score;
} place;

static bool is_below(const char *path, const char *group) {
    size_t n = strlen(group);
    return strncmp(path, group, n) == 0 && (path[n] == '/' || path[n] == 0 || n <= 1);
}

/* An image_key counts if a stack of frames is in the same group. */
static bool judge(hid_t file, const char *key, const char *entry, const char *below, place *out) {
    char data[340];
    int rank;
    size_t keys[3];
    const char *slash = strrchr(key, '/');
    *out = (place){0};
    if (strlen(key) >= sizeof out->group || strlen(entry) >= sizeof out->entry) return false;
    snprintf(out->key, sizeof out->key, "%s", key);
    snprintf(out->group, sizeof out->group, "%.*s", (int)(slash - key), key);
    snprintf(data, sizeof data, "%s/data", out->group);
    if (!qb__h5_shape(file, key, &rank, keys) || !qb__h5_shape(file, data, &rank, out->shape) || rank != 3)
        return false;
    out->keys = keys[0] * keys[1] * keys[2]; /* (N,1) is a list, too */
    if (below && !is_below(key, below) && !is_below(data, below)) return false;
    out->score = 1;
    if (*entry && is_below(key, entry)) {
        out->score += 4;
        snprintf(out->entry, sizeof out->entry, "%s", entry);
    }
    if (strstr(key, "/instrument/")) out->score += 2;
    return true;
}

/* Choose the best place; notes list the others. */
static bool find_place(hid_t file, const char *below, const qb__h5_map *map, place *best, qb__notes *notes) {
    char first[300] = "";
    *best = (place){0};
    const bool named = !below && qb__h5_text(file, "/", "default", first + 1, sizeof first - 1) && first[1];
    if (named) first[0] = first[1] == '/' ? 0 : '/';
    const char *chosen = *first ? first : first + 1; /* NeXus' default entry */
    for (size_t i = 0; i < map->keys.count; i++) {
        const char *key = map->keys.text[i], *entry = "";
        if (strstr(key, "image_key_control")) continue;
        for (size_t j = 0; j < map->entries.count && !*entry; j++)
            if (is_below(key, map->entries.text[j])) entry = map->entries.text[j];
        place one;
        if (!judge(file, key, entry, below, &one)) continue;
        if (named && is_below(key, chosen)) one.score += 8;
        if (one.keys == one.shape[0]) one.score += 16;
        if (one.score > best->score) *best = one;
    }
    if (map->entries.count > 1 && !below && !named)
        qb__note(notes, "%zu NXtomo entries: %s is read; --dataset picks another" QB__CODE("several-scans"),
                 map->entries.count, *best->entry ? best->entry : best->group);
    return best->score > 0;
}

typedef struct key_kind {
    int key;
    qb__frames *frames;
} key_kind;

/* ESRF marks alignment frames with -1 in image_key_control; they are not projections. */
static qb_status apply_control(hid_t file, const char *name, const place *at, double *keys, size_t count,
                               qb__notes *notes) {
    char path[400];
    double *control;
    size_t n, alignment = 0;
    snprintf(path, sizeof path, "%s/image_key_control", at->group);
    int there = qb__h5_look(file, path);
    if (there == 0) return QB_OK;
    if (there < 0)
        return qb__fail(QB_BAD_INPUT,
                        "%s:%s is a broken link, so that projections cannot be told from other frames: restore the "
                        "file that it names",
                        name, path);
    QB__OR_RETURN(qb__h5_numbers(file, name, path, FRAMES_MOST, &control, &n));
    if (n != count)
        qb__note(notes, "%s has %zu numbers for %zu frames: it is not used" QB__CODE("image-key"), path, n, count);
    for (size_t i = 0; n == count && i < n; i++) {
        if (control[i] != -1.0 || keys[i] != 0.0) continue;
        keys[i] = 3.0;
        alignment++;
    }
    if (alignment)
        qb__note(notes, "%zu alignment frames (image_key_control -1) are left out" QB__CODE("alignment-frames"),
                 alignment);
    qb__free(control);
    return QB_OK;
}

static qb_status sort_frames(const double *keys, size_t count, qb__scan_parts *parts) {
    const key_kind kinds[] = {{0, &parts->data}, {1, &parts->flats}, {2, &parts->darks}};
    size_t known = 0;
    for (size_t k = 0; k < 3; k++) {
        qb__frames *frames = kinds[k].frames;
        QB__OR_RETURN(qb__alloc(count, sizeof *frames->index, &frames->index));
        for (size_t i = 0; i < count; i++)
            if (keys[i] == kinds[k].key) frames->index[frames->count++] = i;
        known += frames->count;
    }
    for (size_t i = 0; i < count; i++) known += keys[i] == 3.0;
    if (known < count)
        qb__note(&parts->notes,
                 "%zu frames have an image_key other than 0, 1, 2 or 3: they are left out" QB__CODE("image-key"),
                 count - known);
    return QB_OK;
}

/* Flats and darks are other frames of the same array, opened again so that each owns its own. */
static qb_status open_frames(hid_t file, const char *name, const char *data, qb__scan_parts *parts) {
    qb__frames *all[] = {&parts->data, &parts->flats, &parts->darks};
    for (size_t k = 0; k < 3; k++) {
        if (all[k]->count == 0) {
            qb__frames_release(all[k]);
            continue;
        }
        QB__OR_RETURN(qb__h5_source(file, name, data, &all[k]->source));
    }
    return QB_OK;
}

/* Find the angles: at the standard's paths, else in any dataset that is a rotation by its name with an angle per
 * frame. */
static bool find_angles(hid_t file, const place *at, const qb__h5_map *map, size_t projections, char path[700],
                        bool *guessed) {
    static const char *const children[] = {"sample/rotation_angle", "data/rotation_angle"};
    int rank;
    size_t shape[3];
    *guessed = false;
    for (size_t i = 0; i < 2 && *at->entry; i++) {
        snprintf(path, 700, "%s/%s", at->entry, children[i]);
        if (qb__h5_shape(file, path, &rank, shape) && qb__h5_is_list(shape)) return true;
    }
    snprintf(path, 700, "%s/rotation_angle", at->group);
    if (qb__h5_shape(file, path, &rank, shape) && qb__h5_is_list(shape)) return true;
    const char *best = NULL;
    for (size_t i = 0; i < map->angles.count; i++) {
        const char *found = map->angles.text[i];
        if (!qb__h5_shape(file, found, &rank, shape) || rank != 1) continue;
        if (shape[2] != at->shape[0] && shape[2] != projections) continue;
        if (*at->entry && !is_below(found, at->entry)) continue;
        bool positioner = strstr(found, "/instrument/") || strstr(found, "/sample/");
        if (!best || (positioner && !strstr(best, "/instrument/"))) best = found;
    }
    *guessed = best != NULL;
    if (best) snprintf(path, 700, "%s", best);
    return best != NULL;
}

/* Select the angles of the projections from those of the frames. */
static void keep_projections(qb__scan_parts *parts, size_t frames) {
    if (parts->angle_count == parts->data.count) return;
    if (parts->angle_count != frames) return; /* a wrong number is reported when angles are compared */
    for (size_t i = 0; i < parts->data.count; i++) parts->angles[i] = parts->angles[parts->data.index[i]];
    parts->angle_count = parts->data.count;
}

static void read_angles(hid_t file, const char *name, const place *at, const qb__h5_map *map, qb__scan_parts *parts) {
    char path[700];
    bool guessed;
    if (!find_angles(file, at, map, parts->data.count, path, &guessed)) return;
    if (qb__h5_angles(file, name, path, parts) != QB_OK) {
        qb__note(&parts->notes, "%s cannot be used: %s" QB__CODE("angles-unusable"), path, qb_detail());
        return;
    }
    if (guessed)
        qb__note(&parts->notes, "no rotation_angle: angles are taken from %s by its name" QB__CODE("angles-guessed"),
                 path);
    keep_projections(parts, at->shape[0]);
}

/* Find the views, flats and darks among the frames, and open them. */
static qb_status open_kinds(hid_t file, const char *name, const char *below, const qb__h5_map *map, bool views,
                            place *at, qb__scan_parts *parts) {
    if (!find_place(file, below, map, at, &parts->notes))
        return qb__fail(QB_NOT_FOUND, "%s: no image_key next to a stack of frames", name);
    if (at->keys != at->shape[0])
        return qb__fail(
            QB_BAD_INPUT,
            "%s: %s has %zu numbers for %zu frames, so that views cannot be told from other frames: correct the file",
            name, at->key, at->keys, at->shape[0]);
    char data[400];
    double *keys;
    size_t count;
    qb_status status = qb__h5_numbers(file, name, at->key, FRAMES_MOST, &keys, &count);
    if (status != QB_OK) return status;
    snprintf(data, sizeof data, "%s/data", at->group);
    QB__TRY(apply_control(file, name, at, keys, count, &parts->notes));
    QB__TRY(sort_frames(keys, count, parts));
    if (views && parts->data.count == 0)
        status = qb__fail(QB_BAD_INPUT, "%s:%s: none of its %zu frames is a projection", name, at->key, count);
    else
        status = open_frames(file, name, data, parts);
out:
    qb__free(keys);
    return status;
}

qb_status qb__nxtomo_fields(hid_t file, const char *name, const char *below, const qb__h5_map *map, bool dark,
                            qb__frames *out) {
    place at;
    qb__scan_parts parts = {0};
    qb_status status = open_kinds(file, name, below, map, false, &at, &parts);
    qb__frames *own = dark ? &parts.darks : &parts.flats;
    if (status == QB_OK && !own->count)
        status = qb__fail(QB_BAD_INPUT, "%s:%s: none of its %zu frames is a %s (image_key %d)", name, at.key, at.keys,
                          dark ? "dark" : "flat", dark ? 2 : 1);
    if (status == QB_OK) status = qb__nxtomo_mirror(file, name, at.group, &parts);
    if (status == QB_OK) {
        *out = *own;
        *own = (qb__frames){0};
    }
    qb__scan_parts_release(&parts);
    return status;
}

/* NXtomo before its version 2, and NXtomophase: flats, darks and views are arrays of detectors of their own. QB_NOT_FOUND:
 * the entry is of another form. */
static qb_status scan_of_detectors(hid_t file, const char *name, const char *entry, const qb__h5_map *map,
                                   qb__scan_parts *parts) {
    static const char *const groups[] = {"sample", "bright_field", "dark_field"};
    qb__frames *const all[] = {&parts->data, &parts->flats, &parts->darks};
    char path[700], group[690];
    qb_status status = QB_OK;
    for (int i = 0; i < 3 && status == QB_OK; i++) {
        snprintf(path, sizeof path, "%.600s/instrument/%s/data", entry, groups[i]);
        if (i == 0 && !qb__h5_exists(file, path)) return qb__fail(QB_NOT_FOUND, "%s has no %s", name, path);
        if (!qb__h5_exists(file, path)) continue;
        status = qb__h5_source(file, name, path, &all[i]->source);
        if (status == QB_OK) all[i]->count = all[i]->source->shape[0];
    }
    if (status != QB_OK) return status;
    parts->format = "NXtomo HDF5";
    snprintf(path, sizeof path, "%.600s/sample/rotation_angle", entry);
    if (qb__h5_exists(file, path) && qb__h5_angles(file, name, path, parts) != QB_OK)
        qb__note(&parts->notes, "%s cannot be used: %s" QB__CODE("angles-unusable"), path, qb_detail());
    snprintf(group, sizeof group, "%.600s/instrument/sample", entry);
    status = qb__h5_mask(file, name, group, map, parts);
    return status == QB_OK ? qb__nxtomo_detector(file, name, entry, group, parts) : status;
}

qb_status qb__nxtomo_scan(hid_t file, const char *name, const char *below, const qb__h5_map *map,
                          qb__scan_parts *parts) {
    place at;
    qb_status status = open_kinds(file, name, below, map, true, &at, parts);
    if (status == QB_NOT_FOUND && map->entries.count == 1)
        return scan_of_detectors(file, name, map->entries.text[0], map, parts);
    if (status != QB_OK) return status;
    parts->format = *at.entry ? "NXtomo HDF5" : "NeXus HDF5 with image_key";
    read_angles(file, name, &at, map, parts);
    status = qb__h5_mask(file, name, at.key, map, parts);
    if (status == QB_OK) status = qb__nxtomo_detector(file, name, at.entry, at.group, parts);
    if (status == QB_OK) qb__nxtomo_sample(file, name, at.entry, at.group, at.keys, parts);
    return status;
}
