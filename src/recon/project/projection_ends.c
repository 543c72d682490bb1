/* SPDX-License-Identifier: MIT */
/* Checks the ends of the volume. It fades out over half a slice beyond the middle of its last slice, so rays there are
 * too weak. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/io.h"
#include "recon/project/projection.h"

/* Mean absolute value of a slice, from a few of its rows. */
static qb_status mean_of(const qb__projection *p, size_t z, void *raw, float *row, double *mean) {
    enum { ROWS = 16 };
    const qb__source *source = p->source;
    const size_t *n = p->grid.n, rows = n[1] < ROWS ? n[1] : ROWS;
    *mean = 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t y = (2 * i + 1) * n[1] / (2 * rows);
        const qb__region region = {z, 1, 1, y, y + 1};
        QB__OR_RETURN(source->read((qb__source *)source, &region, raw));
        qb_convert_to_float(raw, source->dtype, n[0], row);
        for (size_t x = 0; x < n[0]; x++) *mean += fabs((double)row[x]) / (double)(rows * n[0]);
    }
    return QB_OK;
}

/* Number of rows whose rays cross the axis beyond the middle of the last slice, on one side. */
static double rows_beyond(const qb__projection *p, const qb_geometry_info *about, double side) {
    const double rows = (double)p->scan.rows, pitch = about->field_height / rows;
    const double outer = side * about->field_z + 0.5 * (rows - 1) * pitch;
    const double last = side * p->grid.offset[2] + 0.5 * (double)(p->grid.n[2] - 1) * p->grid.voxel[2];
    const double ROUNDING = 0.02; /* tolerance in rows */
    return pitch > 0 ? fmin(ceil((outer - last) / pitch - ROUNDING), rows) : 0;
}

qb_status qb__projection_ends(const qb__projection *p, const qb_env *env) {
    const double PART = 0.02; /* share of the middle slice */
    const size_t columns = p->grid.n[0], last = p->grid.n[2] - 1;
    qb_geometry_info about = {.struct_size = sizeof about};
    void *raw = NULL;
    float *row = NULL;
    double beyond[2], middle, end, rows = 0;
    if (qb_geometry_describe(&p->scan.geometry, &about) != QB_OK) return QB_OK;
    for (int side = 0; side < 2; side++) beyond[side] = rows_beyond(p, &about, side ? 1 : -1);
    if (!(beyond[0] > 0 || beyond[1] > 0)) return QB_OK;
    qb_status status;
    QB__TRY(qb__alloc(columns, qb_dtype_size(p->source->dtype), &raw));
    QB__TRY(qb__alloc(columns, sizeof *row, &row));
    QB__TRY(mean_of(p, last / 2, raw, row, &middle));
    for (int side = 0; side < 2; side++) {
        if (!(beyond[side] > 0)) continue;
        QB__TRY(mean_of(p, side ? last : 0, raw, row, &end));
        if (end > PART * middle) rows += beyond[side];
    }
    if (rows > 0)
        qb__warn(env,
                 "%.0f of %zu rows look past the middle of a last slice that is not empty: there values fall to 0; "
                 "give a taller volume or --detector NU,NV" QB__CODE("project-ends"),
                 rows, p->scan.rows);
out:
    QB__FREE(raw, row);
    return status;
}
