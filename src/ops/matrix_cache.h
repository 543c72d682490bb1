/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_MATRIX_CACHE_H
#define QB_OPS_MATRIX_CACHE_H

#include "ops/system_matrix.h"

/* Kept columns in a file of the folder matrix->cache, FOLDER/mbir-HASH.matrix: the hash is that of all they follow
 * from, the geometry, the grid, the voxels and how they are kept. A file is read only if it says the same of itself, has
 * every byte, and their checksum; it appears whole. */

/* Keep the columns of these pixels; nothing to do on the fly. Of a matrix with a cache: from there if it has them, else
 * computed and left there. What was wrong with a file, or with writing it, is said in matrix->cache_told: the matrix is
 * computed then. As qb__system_matrix_room, and QB_UNSUPPORTED for a cache in a build that cannot hash. */
qb_status qb__matrix_keep(qb__system_matrix *matrix, qb_mbir_matrix kind, const uint32_t *pixels, size_t count,
                          qb__pool *pool);

#endif
