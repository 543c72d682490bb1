/* SPDX-License-Identifier: MIT */
/* Raw files of bliss, ESRF's control system: a group for each scan of a sequence: 1.1 darks, 2.1 flats, 3.1 views, ...
 * Each has `title` (or technique/image_key) and a detector's stack under instrument/NAME/data; motors are under
 * measurement. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"

enum { SCANS = 512 };
typedef enum kind { VIEWS, FLATS, DARKS, OTHER } kind;

typedef struct scan {
    char group[24], data[300];
    double number; /* 12.1 */
    kind kind;
} scan;

typedef struct sequence {
    scan scan[SCANS];
    size_t count;
} sequence;

/* The length of "/12.1" in "/12.1/instrument/pcoedge/data"; 0 for other paths. */
static size_t group_of(const char *path) {
    size_t n = 1 + strspn(path + 1, "0123456789");
    if (n == 1 || path[n] != '.') return 0;
    const size_t m = strspn(path + n + 1, "0123456789");
    return m && path[n + 1 + m] == '/' && n + 1 + m < 20 ? n + 1 + m : 0;
}

static kind kind_of(hid_t file, const char *name, const char *group) {
    static const struct {
        const char *begins;
        kind kind;
    } titles[] = {{"projections", VIEWS}, {"ascan rot", VIEWS}, {"fscan", VIEWS}, {"reference images", FLATS},
                  {"flat", FLATS},        {"ref", FLATS},       {"dark", DARKS}};
    char path[64], title[128];
    double *key;
    size_t count;
    snprintf(path, sizeof path, "%s/technique/image_key", group);
    if (qb__h5_exists(file, path) && qb__h5_numbers(file, name, path, 16, &key, &count) == QB_OK) {
        const double first = count == 1 ? key[0] : 3;
        qb__free(key);
        return first == 0 ? VIEWS : first == 1 ? FLATS : first == 2 ? DARKS : OTHER;
    }
    snprintf(path, sizeof path, "%s/title", group);
    if (!qb__h5_text(file, path, NULL, title, sizeof title)) return OTHER;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strncasecmp(title, titles[i].begins, strlen(titles[i].begins)) == 0) return titles[i].kind;
    return OTHER;
}

static int by_number(const void *a, const void *b) {
    const scan *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* The detector's stack of each group; under instrument rather than its link under measurement. */
static void list_scans(hid_t file, const char *name, const qb__h5_map *map, sequence *s) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < map->arrays.count && s->count < SCANS; i++) {
            const char *path = map->arrays.text[i];
            const size_t n = group_of(path);
            const char *below = pass ? "/measurement/" : "/instrument/";
            size_t shape[3];
            int rank;
            bool known = false;
            if (!n || strncmp(path + n, below, strlen(below)) != 0 || strlen(path) >= sizeof s->scan->data) continue;
            if (!qb__h5_shape(file, path, &rank, shape) || rank != 3) continue;
            for (size_t j = 0; j < s->count; j++)
                known = known || (strncmp(s->scan[j].group, path, n) == 0 && !s->scan[j].group[n]);
            if (known) continue;
            scan *one = &s->scan[s->count++];
            snprintf(one->group, sizeof one->group, "%.*s", (int)n, path);
            snprintf(one->data, sizeof one->data, "%s", path);
            one->number =
                (double)strtoul(path + 1, NULL, 10) + 1e-4 * (double)strtoul(strchr(one->group, '.') + 1, NULL, 10);
            one->kind = kind_of(file, name, one->group);
        }
    qsort(s->scan, s->count, sizeof *s->scan, by_number);
}

static size_t count_kind(const sequence *s, kind which) {
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) n += s->scan[i].kind == which;
    return n;
}

static qb_status open_kind(hid_t file, const char *name, const sequence *s, kind which, qb__frames *out) {
    qb__frames *part;
    size_t n = 0;
    if (!count_kind(s, which)) return QB_OK;
    qb_status status = qb__alloc(s->count, sizeof *part, &part);
    for (size_t i = 0; i < s->count && status == QB_OK; i++) {
        if (s->scan[i].kind != which) continue;
        status = qb__h5_source(file, name, s->scan[i].data, &part[n].source);
        if (status != QB_OK) break;
        part[n].count = part[n].source->shape[0];
        n++;
    }
    if (status == QB_OK) status = qb__frames_join(part, n, out);
    for (size_t i = 0; i < n; i++) qb__frames_release(&part[i]);
    qb__free(part);
    return status;
}

/* The rotation angles of a group, as many as images; false if there is no known motor. */
static bool find_motor(hid_t file, const char *group, size_t frames, char path[128]) {
    static const char *const motors[] = {"rotm",     "mhsrot", "hsrot",     "mrsrot", "hrsrot", "srot",
                                         "srot_eh2", "diffrz", "hrrz_trig", "rot",    "somega"};
    static const char *const places[] = {"measurement/%s", "instrument/%s/data", "instrument/%s/value",
                                         "instrument/positioners/%s"};
    size_t shape[3];
    int rank;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t m = 0; m < sizeof motors / sizeof *motors; m++) {
            char place[64];
            snprintf(place, sizeof place, places[p], motors[m]);
            snprintf(path, 128, "%s/%s", group, place);
            if (qb__h5_shape(file, path, &rank, shape) && rank == 1 && shape[2] == frames) return true;
        }
    return false;
}

/* Angles of all groups of views, one after the other. */
static qb_status read_angles(hid_t file, const char *name, const sequence *s, qb__scan_parts *parts) {
    double *all;
    size_t used = 0;
    qb_status status = qb__alloc(parts->data.count, sizeof *all, &all);
    for (size_t i = 0; i < s->count && status == QB_OK; i++) {
        char path[128];
        int rank;
        size_t shape[3];
        if (s->scan[i].kind != VIEWS || !qb__h5_shape(file, s->scan[i].data, &rank, shape)) continue;
        if (!find_motor(file, s->scan[i].group, shape[0], path)) goto out; /* reported when angles are needed */
        status = qb__h5_angles(file, name, path, parts);
        if (status != QB_OK || used + parts->angle_count > parts->data.count) goto out;
        memcpy(all + used, parts->angles, parts->angle_count * sizeof *all);
        used += parts->angle_count;
    }
out:
    qb__free(parts->angles);
    parts->angles = NULL;
    parts->angle_count = 0;
    if (status != QB_OK || used != parts->data.count) {
        if (status != QB_OK)
            qb__note(&parts->notes, "the angles cannot be used: %s" QB__CODE("angles-unreadable"), qb_detail());
        qb__free(all);
        return status == QB_NO_MEMORY ? status : QB_OK;
    }
    parts->angles = all;
    parts->angle_count = used;
    return QB_OK;
}

/* Each sequence begins with a group without images. */
static size_t count_sequences(hid_t file) {
    static const char *const begins[] = {"tomo:",     "fulltomo",    "fullturn", "halfturn", "sequence_of_scans",
                                         "multitomo", "backandforth"};
    size_t found = 0;
    for (int k = 1; k <= SCANS; k++) {
        char path[32], title[64];
        snprintf(path, sizeof path, "/%d.1/title", k);
        if (!qb__h5_text(file, path, NULL, title, sizeof title)) continue;
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
            found += strncmp(title, begins[i], strlen(begins[i])) == 0;
    }
    return found;
}

static qb_status open_sequence(hid_t file, const char *name, const qb__h5_map *map, sequence **out) {
    sequence *s;
    *out = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *s, &s));
    list_scans(file, name, map, s);
    const size_t sequences = s->count ? count_sequences(file) : 0;
    if (s->count && count_kind(s, OTHER) < s->count && sequences < 2) {
        *out = s;
        return QB_OK;
    }
    qb__free(s);
    if (sequences > 1)
        return qb__fail(QB_BAD_INPUT,
                        "%s holds %zu sequences of scans: give --dataset /N.1/... of the views, and --flats and "
                        "--darks FILE:/N.1/...",
                        name, sequences);
    return qb__fail(QB_NOT_FOUND, "%s: no groups 1.1, 2.1, ... of a sequence", name);
}

qb_status qb__bliss_fields(hid_t file, const char *name, const qb__h5_map *map, bool dark, qb__frames *out) {
    sequence *s;
    QB__OR_RETURN(open_sequence(file, name, map, &s));
    qb_status status = open_kind(file, name, s, dark ? DARKS : FLATS, out);
    if (status == QB_OK && !out->count)
        status = qb__fail(QB_BAD_INPUT, "%s: the title of none of its %zu groups says %s", name, s->count,
                          dark ? "dark" : "flat");
    qb__free(s);
    return status;
}

qb_status qb__bliss_scan(hid_t file, const char *name, const qb__h5_map *map, qb__scan_parts *parts) {
    sequence *s;
    qb_status status = open_sequence(file, name, map, &s);
    if (status != QB_OK) return status;
    QB__TRY(open_kind(file, name, s, VIEWS, &parts->data));
    if (!parts->data.count)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s: the title of none of its %zu groups says projections: give --dataset", name,
                         s->count));
    QB__TRY(open_kind(file, name, s, FLATS, &parts->flats));
    QB__TRY(open_kind(file, name, s, DARKS, &parts->darks));
    parts->format = "ESRF raw HDF5";
    QB__TRY(read_angles(file, name, s, parts));
    for (size_t i = 0; i < s->count; i++) {
        char pixel[64];
        if (s->scan[i].kind != VIEWS) continue;
        snprintf(pixel, sizeof pixel, "%s/technique/optic/sample_pixel_size", s->scan[i].group);
        qb__h5_pixel(file, name, (const char *const[]){pixel, NULL}, parts);
        break;
    }
    if (count_kind(s, OTHER))
        qb__note(&parts->notes,
                 "%zu of %zu groups are neither views, flats nor darks by their titles: left out" QB__CODE(
                     "frames-left-out"),
                 count_kind(s, OTHER), s->count);
out:
    qb__free(s);
    return status;
}
