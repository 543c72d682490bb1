/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "cpu/icd/icd.h"
#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/recon.h"

/* The system matrix of slices of a parallel or fan beam, by columns: the contribution of a voxel to every ray, the same
 * for all slices. It is computed on the fly, or once and kept: as floats, or in 8 bits scaled by the column's largest
 * entry (then exact to 1/510 of that). */
typedef struct qb__system_matrix {
    const qb__icd_variant *variant;
    qb__footprints footprints;
    size_t nx, ny;
    qb_mbir_matrix kind;
    double *rays;    /* ax, ay, h0; fan: wx, wy, w0; curved detector also c0 */
    float *shapes;   /* half, flat, rise, bend of the views; not for a fan */
    uint32_t *slot;  /* [(ny + 2) (nx + 2)] index of a pixel's kept column */
    uint16_t *first; /* [slot][stride] */
    float *scale;    /* [slot] scale of the bytes */
    uint8_t *bytes;  /* [slot][taps][stride], entries in 8 bits; NULL if `floats` is used */
    float *floats;
    const qb_env *env;    /* cancels what is computed with columns, set by the caller; NULL = none */
    const char *cache;    /* folder for kept columns, set by the caller; NULL = none */
    bool cached;          /* the columns were read from there */
    char cache_told[400]; /* warning about the cache; "" = none */
} qb__system_matrix;

size_t qb__system_matrix_rays(const qb__system_matrix *matrix); /* number of rows of `rays` */

/* The footprints of the grid's pixels, which must be square, up to `radius` voxels from the centre; no column is kept
 * yet. The geometry of a cone must be that of a fan (geometry/fan.h). QB_UNSUPPORTED for what qb__parallel_rows
 * refuses and for pixels that are not square, QB_BAD_INPUT for voxels that reach to a source. Release with destroy,
 * also after a failure. */
qb_status qb__system_matrix_create(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                   const qb__icd_variant *variant, qb__system_matrix *matrix);
/* Bytes of `pixels` kept columns. */
size_t qb__system_matrix_bytes(const qb__system_matrix *matrix, qb_mbir_matrix kind, size_t pixels);
/* Allocate the columns of these pixels, as bytes or floats: QB_NO_MEMORY with the amount and the remedy. */
qb_status qb__system_matrix_room(qb__system_matrix *matrix, qb_mbir_matrix kind, const uint32_t *pixels, size_t count);
/* Compute the columns; QB_CANCELLED if the run is cancelled meanwhile. Callers that keep a matrix use qb__matrix_keep
 * (ops/system_matrix.h). */
qb_status qb__system_matrix_fill(qb__system_matrix *matrix, const uint32_t *pixels, size_t count, qb__pool *pool);
/* The `fetch` of qb__icd_problem; its store is the matrix. */
void qb__system_matrix_fetch(const qb__icd_problem *problem, uint32_t pixel, const qb__icd_column *column);
void qb__system_matrix_destroy(qb__system_matrix *matrix);

/* Kept columns in a file of the folder matrix->cache, FOLDER/mbir-HASH.matrix. The hash covers everything that the
 * columns depend on: the geometry, the grid, the voxels and the storage format. A file is read only if its header
 * agrees and its size and checksum are right; it appears only when it is complete. */

/* Keep the columns of these pixels; does nothing on the fly. If the matrix has a cache folder, they are read from
 * there, or computed and stored there. Problems with the file are described in matrix->cache_told; the matrix is then
 * computed. Errors of qb__system_matrix_room, and QB_UNSUPPORTED for a cache in a build without hashes. */
qb_status qb__matrix_keep(qb__system_matrix *matrix, qb_mbir_matrix kind, const uint32_t *pixels, size_t count,
                          qb__pool *pool);
