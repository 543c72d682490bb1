/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SIMPLE_H
#define QUICKBEAM_SIMPLE_H

#include "quickbeam/recon.h"
#include "quickbeam/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each function does a whole task in one call, from array to array. The arrays belong to the caller, may have any
 * strides and must not overlap. options and env may be NULL: defaults, all cores, no messages. Each call plans and runs
 * a job of recon.h, with the same errors, values and messages (env->log). Several calls may run at once in their own
 * threads. After a failed call the result may be incomplete.
 *
 * Detector counts need flat and dark fields: use qb_scan_from_tensor. */

/* Filtered back-projection of line integrals [view][row][column] ([view][column]: one row) into volume [z][y][x]
 * ([y][x]: one slice). The volume is float32 or float16, or uint16 or uint8 with the value range of the middle slice.
 * angles[views] in radians. pixel_size in mm gives values in 1/mm, 0 gives 1/pixel. Unless options say otherwise, the
 * volume has one slice per row, and voxels of the pixel size along x and y, in any number. It is centred on the axis,
 * which is searched (options->center = "auto"). */
QB_API qb_status qb_fbp(const qb_tensor *projections, const double *angles, double pixel_size, const qb_tensor *volume,
                        const qb_fbp_options *options, const qb_env *env);

/* Cone-beam reconstruction after Feldkamp, Davis and Kress, in 1/mm. `geometry` must have the views, rows and columns
 * of the projections. volume: float32 or float16. Unless options say otherwise, the voxel size is the pixel size
 * divided by the magnification, and the volume is centred on the origin. */
QB_API qb_status qb_fdk(const qb_tensor *projections, const qb_geometry *geometry, const qb_tensor *volume,
                        const qb_fdk_options *options, const qb_env *env);

/* qb_sirt and the other solvers of solvers.h, and model-based reconstruction (qb_mbir): of line integrals
 * [view][row][column] into volume [z][y][x], float32 or float16. Give either angles (a parallel beam, with pixel_size
 * and options->center as in qb_fbp) or `geometry` (any that the qb_NAME_plan of recon.h accepts); the other is NULL.
 * With `geometry`, pixel_size is not used. With options->prox_array one call of qb_mbir is the proximal map of the data
 * term, for plug and play; both arrays in the options may be the array of the volume. */
#define QB_SOLVER_CALL(name, summary, example)                                                                         \
    QB_API qb_status qb_##name(const qb_tensor *projections, const double *angles, double pixel_size,                  \
                               const qb_geometry *geometry, const qb_tensor *volume,                                   \
                               const qb_iterative_options *options, const qb_env *env);
QB_SOLVERS(QB_SOLVER_CALL)
#undef QB_SOLVER_CALL
QB_API qb_status qb_mbir(const qb_tensor *projections, const double *angles, double pixel_size,
                         const qb_geometry *geometry, const qb_tensor *volume, const qb_mbir_options *options,
                         const qb_env *env);

/* Search for the rotation axis in line integrals [view][row][column] of a parallel beam. *result holds the column of
 * the axis and the result of each method. The caller sets result->struct_size. QB_BAD_INPUT if no method has a result;
 * *result is filled in this case, too. */
QB_API qb_status qb_center(const qb_tensor *projections, const double *angles, const qb_center_options *options,
                           const qb_env *env, qb_center_result *result);

/* Line integrals of volume [z][y][x] in 1/mm along the rays of `geometry`, into projections [view][row][column],
 * float32 or float16. grid: the grid of the volume; NULL = voxels of the pixel size divided by the magnification,
 * centred on the origin. */
QB_API qb_status qb_project(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                            const qb_tensor *projections, const qb_project_options *options, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
