/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_SYSTEM_MATRIX_H
#define QB_OPS_SYSTEM_MATRIX_H

#include "base/pool.h"
#include "cpu/icd/icd.h"
#include "quickbeam/geometry.h"
#include "quickbeam/recon.h"

/* The system matrix of slices of a parallel beam or a fan, by columns: what a voxel adds to every ray. The same
 * for all slices. Computed where it is needed, or once and kept: as floats, or in 8 bits of the
 * column's largest entry (then an entry is exact to 1/510 of that). */
typedef struct qb__system_matrix {
    const qb__icd_variant *variant;
    qb__footprints footprints;
    size_t nx, ny;
    qb_mbir_matrix kind;
    double *rays;    /* ax, ay, h0; of a fan wx, wy, w0; of a bent detector c0 */
    float *shapes;   /* half, flat, rise, bend of the views; not of a fan */
    uint32_t *slot;  /* [(ny + 2) (nx + 2)] where a pixel's column is kept */
    uint16_t *first; /* [slot][stride] */
    float *scale;    /* [slot] of the bytes */
    uint8_t *bytes;  /* [slot][taps][stride], entries in 8 bits; NULL with `floats` */
    float *floats;
    const char *cache;    /* the caller's: a folder where kept columns are looked for and left; NULL = none */
    bool cached;          /* these came from there */
    char cache_told[400]; /* what is worth a warning about it; "" */
} qb__system_matrix;

size_t qb__system_matrix_rays(const qb__system_matrix *matrix); /* rows of `rays` */

/* The shadows of the grid's pixels, which must be square, up to `radius` voxels from its middle; nothing is kept yet. A
 * cone's geometry is that of a fan (geometry/fan_plane.h). QB_UNSUPPORTED for what qb__parallel_rows refuses and for oblong
 * pixels, QB_BAD_INPUT for voxels that reach to a source. Release with destroy, also on failure. */
qb_status qb__system_matrix_create(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                   const qb__icd_variant *variant, qb__system_matrix *matrix);
/* Bytes that `pixels` columns take when they are kept. */
size_t qb__system_matrix_bytes(const qb__system_matrix *matrix, qb_mbir_matrix kind, size_t pixels);
/* Room for the columns of these pixels, by bytes or floats: QB_NO_MEMORY says how much that is, and what to do. */
qb_status qb__system_matrix_room(qb__system_matrix *matrix, qb_mbir_matrix kind, const uint32_t *pixels, size_t count);
/* The columns themselves; who keeps a matrix goes by qb__matrix_keep (ops/matrix_cache.h). */
qb_status qb__system_matrix_fill(qb__system_matrix *matrix, const uint32_t *pixels, size_t count, qb__pool *pool);
/* qb__icd_problem's fetch; its store is the matrix. */
void qb__system_matrix_fetch(const qb__icd_problem *problem, uint32_t pixel, const qb__icd_column *column);
void qb__system_matrix_destroy(qb__system_matrix *matrix);

#endif
