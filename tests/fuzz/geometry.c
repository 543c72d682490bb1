/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "quickbeam/device.h"
#include "quickbeam/geometry.h"

static const char *scratch(const char *ending) {
    static char path[256];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/qb-fuzz-%ld%s", folder, (long)getpid(), ending);
    return path;
}

/* A geometry that was read can be described and checked, and written and read again. */
static void use(const qb_geometry *geometry) {
    static const char *const endings[] = {".again.json", ".again.xml", ".again.txt"};
    qb_grid grid;
    char *report;
    qb_grid_default(geometry, &grid);
    if (qb_geometry_report(geometry, &grid, &report) == QB_OK) qb_text_free(report);
    qb_detector detector = {.rows = geometry->rows, .columns = geometry->columns};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        qb_geometry again;
        const char *path = scratch(endings[i]);
        if (qb_geometry_save(path, geometry) != QB_OK) continue;
        qb_status status = qb_geometry_load(path, &detector, NULL, &again);
        if (status == QB_OK && again.views != geometry->views) abort();
        if (status != QB_OK && i == 0) abort(); /* JSON keeps everything */
        if (status == QB_OK) qb_geometry_destroy(&again);
        remove(path);
    }
}

void fuzz_geometry(const uint8_t *data, size_t size) {
    static const qb_detector given = {.rows = 6, .columns = 8, .pixel_u = 0.5, .pixel_v = 0.5};
    const char *path = scratch(".geometry");
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
    for (int known = 0; known < 2; known++) {
        qb_geometry geometry;
        if (qb_geometry_load(path, known ? &given : NULL, NULL, &geometry) != QB_OK) continue;
        if (geometry.views <= 64) use(&geometry);
        qb_geometry_destroy(&geometry);
    }
    remove(path);
}

bool fuzz_geometry_seed(const char *ending, const char *path) {
    static const double angles[] = {0.0, 0.7, 1.4, 2.9};
    char made[256]; /* next to it, so that the rename stays in one file system */
    snprintf(made, sizeof made, "%s%s", path, ending);
    qb_geometry geometry;
    if (qb_geometry_cone(4, angles, 6, 8, 0.5, 0.5, 100, 150, 0.2, -0.1, &geometry) != QB_OK) return false;
    bool good = qb_geometry_save(made, &geometry) == QB_OK && rename(made, path) == 0;
    qb_geometry_destroy(&geometry);
    return good;
}

bool fuzz_text_seed(const char *text, const char *path) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fputs(text, file);
    return fclose(file) == 0;
}
