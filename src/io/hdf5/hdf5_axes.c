/* SPDX-License-Identifier: MIT */
/* Axes that stand next to an array: HyperSpy's groups axis-0, axis-1, ..., and the coordinates of NeXus' NXtomoproc. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"

enum { NAME = 640 };

/* An axis of HyperSpy: value = offset + scale * index, in units. */
typedef struct axis {
    double scale, offset;
    char units[32];
} axis;

static bool read_axis(hid_t file, const char *folder, int number, char name[NAME], axis *a) {
    snprintf(name, NAME, "%.600s/axis-%d", folder, number);
    a->offset = 0;
    if (!qb__h5_number(file, name, "scale", &a->scale) || !isfinite(a->scale) || a->scale == 0) return false;
    qb__h5_number(file, name, "offset", &a->offset);
    return qb__h5_text(file, name, "units", a->units, sizeof a->units);
}

static qb_status put_angles(const axis *a, double unit, const char *name, qb__scan_parts *parts) {
    const size_t count = parts->data.count;
    const qb_status status = parts->angles ? QB_OK : qb__alloc(count, sizeof *parts->angles, &parts->angles);
    if (status != QB_OK || parts->angle_count) return status;
    for (size_t i = 0; i < count; i++) parts->angles[i] = (a->offset + a->scale * (double)i) * unit;
    parts->angle_count = count;
    parts->angle_unit = unit;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", name);
    return QB_OK;
}

/* The first axis in a unit of angle: a tilt series; three lengths: a volume. */
static qb_status take_hyperspy(hid_t file, const char *folder, const int kept[3], qb__scan_parts *parts) {
    qb__source *source = parts->data.source;
    char name[NAME];
    int lengths = 0;
    qb_status status = QB_OK;
    for (int i = 0; i < 3 && status == QB_OK; i++) {
        axis a;
        if (kept[i] < 0 || !read_axis(file, folder, kept[i], name, &a)) continue;
        const double mm = qb__length_unit(a.units), radians = qb__angle_unit(a.units);
        lengths += mm > 0;
        if (mm > 0) source->voxel[2 - i] = fabs(a.scale) * mm;
        if (i == 0 && radians > 0) status = put_angles(&a, radians, name, parts);
    }
    if (lengths == 3) qb__source_is_volume(source);
    return status;
}

/* The size of voxels along dimension `i` of the array; NXtomoproc has [x][y][z]. */
static void take_coordinates(hid_t file, const char *name, const char *folder, int i, qb__source *source) {
    char path[NAME], units[32];
    size_t shape[3], count;
    int rank;
    double *values;
    snprintf(path, sizeof path, "%.600s/%c", folder, "xyz"[i]);
    if (!qb__h5_shape(file, path, &rank, shape) || shape[2] != source->shape[i] || shape[2] < 2) return;
    if (!qb__h5_text(file, path, "units", units, sizeof units) || !(qb__length_unit(units) > 0)) return;
    if (qb__h5_numbers(file, name, path, source->shape[i], &values, &count) != QB_OK) return;
    const double step = fabs(values[count - 1] - values[0]) / (double)(count - 1) * qb__length_unit(units);
    if (isfinite(step) && step > 0) source->voxel[2 - i] = step;
    qb__free(values);
}

qb_status qb__h5_axes(hid_t file, const char *name, const char *path, qb__scan_parts *parts) {
    const char *slash = strrchr(path, '/');
    char folder[NAME], entry[NAME], definition[32];
    size_t shape[3];
    int rank;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    snprintf(entry, sizeof entry, "/%.*s/definition", (int)strcspn(path + (*path == '/'), "/"), path + (*path == '/'));
    if (!qb__h5_shape(file, path, &rank, shape)) return QB_OK;
    int kept[3];
    char text[160];
    hid_t set = qb__h5_dataset(file, path);
    if (set < 0 || qb__h5_dimensions(set, kept, text, sizeof text) < 1) kept[0] = kept[1] = kept[2] = -1;
    if (set >= 0) H5Dclose(set);
    const qb_status status = take_hyperspy(file, folder, kept, parts);
    if (status != QB_OK || !qb__h5_text(file, entry, NULL, definition, sizeof definition)) return status;
    if (rank != 3 || strcmp(definition, "NXtomoproc") != 0) return status;
    qb__source_is_volume(parts->data.source);
    for (int i = 0; i < 3; i++) take_coordinates(file, name, folder, i, parts->data.source);
    return QB_OK;
}
