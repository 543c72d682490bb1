/* SPDX-License-Identifier: MIT */
#include "geometry/grid.h"

#include <math.h>
#include <stddef.h>

#include "base/status.h"
#include "geometry/matrix.h"

#define FIELD(name) offsetof(qb_grid_options, name)
const qb_param qb_grid_params[] = {
    {"size", QB_PARAM_NUMBERS, FIELD(size), "NX[,NY[,NZ]]", NULL, NULL, 1, 65536,
     "voxels of the volume; default: detector columns, columns, rows", 0},
    {"voxel", QB_PARAM_DOUBLE, FIELD(voxel), "MM", NULL, NULL, 0, 1e6,
     "voxel in mm; default: a detector pixel as it appears at the axis", 0},
    {"offset", QB_PARAM_NUMBERS, FIELD(offset), "X,Y,Z", NULL, NULL, -1e9, 1e9,
     "where the middle of the volume lies, in mm", 0},
    {0},
};
#undef FIELD

qb_status qb_grid_make(const qb_grid_options *options, qb_grid *grid) {
    const qb_numbers *size = &options->size, *offset = &options->offset;
    if (size->count > 3 || offset->count > 3)
        return qb__fail(QB_BAD_ARGUMENT, "--%s takes at most three numbers, not %d",
                        size->count > 3 ? "size" : "offset",
                        size->count > 3 ? size->count : offset->count);
    for (int i = 0; i < 3; i++) {
        double n = i < size->count ? size->value[i] : 0;
        if (n != floor(n)) return qb__fail(QB_BAD_ARGUMENT, "--size %g is not a whole number", n);
        if (i < size->count) grid->n[i] = (size_t)n;
        if (options->voxel > 0) grid->voxel[i] = options->voxel;
        if (i < offset->count) grid->offset[i] = offset->value[i];
    }
    if (size->count == 1) grid->n[1] = grid->n[0];
    return QB_OK;
}

double qb__grid_field(const qb_grid *grid) {
    double side = fmin((double)grid->n[0] * grid->voxel[0], (double)grid->n[1] * grid->voxel[1]);
    return 0.5 * side + hypot(grid->offset[0], grid->offset[1]);
}

/* The columns and rows on which the box of a grid falls. */
typedef struct shadow {
    double column[2], row[2];
} shadow;

static shadow shadow_of(const qb__matrix *on_grid, const qb_grid *grid) {
    shadow s = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}};
    for (int corner = 0; corner < 8; corner++) {
        double p[3];
        qb__matrix_at_corner(on_grid, grid, corner, p);
        s.column[0] = fmin(s.column[0], p[0] / p[2]);
        s.column[1] = fmax(s.column[1], p[0] / p[2]);
        s.row[0] = fmin(s.row[0], p[1] / p[2]);
        s.row[1] = fmax(s.row[1], p[1] / p[2]);
    }
    return s;
}

static bool meets(const double range[2], size_t n) {
    return range[0] < (double)n && range[1] > -1;
}

qb_status qb__grid_check_seen(const qb_geometry *geometry, const qb_grid *grid) {
    shadow first = {0};
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix world, on_grid;
        qb_status status = qb__matrix_of_view(geometry->beam, &geometry->view[i], &world);
        if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
        qb__matrix_on_grid(&world, grid, &on_grid);
        shadow box = shadow_of(&on_grid, grid);
        if (i == 0) first = box;
        if (meets(box.column, geometry->columns) && meets(box.row, geometry->rows)) return QB_OK;
    }
    return qb__fail(
        QB_BAD_INPUT,
        "no view sees any of the volume: in view 0 it falls on columns %.5g to %.5g and "
        "rows %.5g to %.5g of a detector of %zu x %zu; check --offset, --voxel and the "
        "units of the geometry",
        first.column[0], first.column[1], first.row[0], first.row[1], geometry->columns,
        geometry->rows);
}
