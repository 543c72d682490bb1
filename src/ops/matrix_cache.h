/* SPDX-License-Identifier: MIT */
#pragma once

#include "ops/system_matrix.h"

/* Kept columns in a file of the folder matrix->cache, FOLDER/mbir-HASH.matrix. The hash covers everything that the
 * columns depend on: the geometry, the grid, the voxels and the storage format. A file is read only if its header
 * agrees and its size and checksum are right; it appears only when it is complete. */

/* Keep the columns of these pixels; does nothing on the fly. If the matrix has a cache folder, they are read from
 * there, or computed and stored there. Problems with the file are described in matrix->cache_told; the matrix is then
 * computed. Errors of qb__system_matrix_room, and QB_UNSUPPORTED for a cache in a build without hashes. */
qb_status qb__matrix_keep(qb__system_matrix *matrix, qb_mbir_matrix kind, const uint32_t *pixels, size_t count,
                          qb__pool *pool);
