/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/env.h"

/* A RabbitCT data set (.rct) in either layout: the original one, with references after the views in the same file, and
 * the newer one without. Images are already filtered and weighted. All numbers are little-endian. */
typedef struct qb__rabbitct {
    size_t columns, rows, views;
    float hu[2];      /* HU = hu[0] f + hu[1], for f > 0, else 0 */
    bool original;    /* the layout */
    size_t reference; /* the largest L with a reference in the file; 0 = none */
    char *path;
    int fd;
} qb__rabbitct;

/* QB_BAD_INPUT if the header and the size of the file contradict each other. */
qb_status qb__rabbitct_open(const char *path, qb__rabbitct *set);
void qb__rabbitct_close(qb__rabbitct *set); /* NULL-safe, also after a failed open */

/* Matrix: 12 doubles, column by column, of world coordinates in mm; image[rows][columns], or NULL. QB_BAD_INPUT if a
 * number of the matrix is not finite. Thread-safe. */
qb_status qb__rabbitct_view(const qb__rabbitct *set, size_t view, double matrix[12], float *image);

/* The reference volume, size^3 values in HU, from the file or, in the newer layout, from Reference<L>.vol in the same
 * folder; QB_NOT_FOUND if neither has that size. */
qb_status qb__rabbitct_reference(const qb__rabbitct *set, size_t size, uint16_t *out);
/* A reference volume from a file without other data. */
qb_status qb__rabbitct_volume(const char *path, size_t size, uint16_t *out);

/* True for the benchmark's sizes 128, 256, 512 and 1024. */
bool qb__rabbitct_is_size(size_t size);

/* The 3x4 matrix, row by row, of voxel indices; voxel i is at origin + i voxel on every axis. */
void qb__rabbitct_to_indices(const double world[12], double voxel, double origin, double out[12]);
/* The same for the cube of size^3 voxels with sides of 256 mm, centred on the origin. */
void qb__rabbitct_matrix(const double world[12], size_t size, double out[12]);

/* A voxel as the benchmark defines it: whole HU from 0 to 4095. */
double qb__rabbitct_hu(const float hu[2], double value);

/* A data set being written. The original layout is one file; the newer one a folder, created if needed, with
 * RabbitInput.rct, RabbitGeometry.rct (only the matrices) and Reference<L>.vol. */
typedef struct qb__rabbitct_writer qb__rabbitct_writer;

/* All files have temporary names until the commit. `set` gives columns, rows, views, hu and layout. */
qb_status qb__rabbitct_writer_create(const char *path, const qb__rabbitct *set, const qb_env *env,
                                     qb__rabbitct_writer **writer);
/* Write the next view. */
qb_status qb__rabbitct_writer_view(qb__rabbitct_writer *writer, const double matrix[12], const float *image);
/* After the last view: smaller references first; `values` are the next `count` of size^3. */
qb_status qb__rabbitct_writer_reference(qb__rabbitct_writer *writer, size_t size, const uint16_t *values, size_t count);
qb_status qb__rabbitct_writer_commit(qb__rabbitct_writer *writer); /* destroys it, also after a failure */
void qb__rabbitct_writer_abort(qb__rabbitct_writer *writer);       /* leaves nothing; NULL-safe */
