/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SIMPLE_H
#define QUICKBEAM_SIMPLE_H

#include "quickbeam/recon.h"
#include "quickbeam/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call, from array to array. The arrays are the caller's, of any strides, and must not overlap;
 * options and env may be NULL: all defaults, all cores, silent. Each call is a plan and a run of
 * recon.h, with its errors and the same values as from files; what it says goes to env->log. Several
 * may run at once, in threads of their own. What a failed call has written into the result stays.
 *
 * Numbers that are counts of a detector need flat and dark fields: qb_scan_from_tensor. */

/* Filtered back-projection of line integrals [view][row][column] ([view][column]: one row) into
 * volume [z][y][x] ([y][x]: one slice), float32 or float16, or uint16 or uint8 of a range that the
 * middle slice suggests. angles[views] in radians; pixel_size in mm: values come out in 1/mm, or with
 * 0 in 1/pixel. The volume has as many slices as there are rows, and any number of voxels along x and
 * y, as large as pixels, about the axis; or what options say. The axis is found (options->center =
 * "auto"). */
QB_API qb_status qb_fbp(const qb_tensor *projections, const double *angles, double pixel_size, const qb_tensor *volume,
                        const qb_fbp_options *options, const qb_env *env);

/* Cone-beam reconstruction after Feldkamp, Davis and Kress, in 1/mm, along the rays of `geometry`,
 * which has the projections' views, rows and columns. The volume, float32 or float16, has voxels as
 * large as pixels appear at the axis, about the origin, or what options say. */
QB_API qb_status qb_fdk(const qb_tensor *projections, const qb_geometry *geometry, const qb_tensor *volume,
                        const qb_fdk_options *options, const qb_env *env);

/* qb_sirt and the other solvers of solvers.h, and model-based reconstruction: of line integrals [view][row][column] into
 * volume [z][y][x], float32 or float16. The rays are a parallel beam's (angles, pixel_size and
 * options->center, as in qb_fbp) or those of `geometry` (a fan's for qb_mbir), which makes up for angles and pixel_size:
 * give either angles or geometry, and NULL for the other. With options->prox_array one call of qb_mbir is the proximal map
 * of the data, for plug and play: both arrays of the options may be the volume's. */
#define QB_SOLVER_CALL(name, summary, example)                                                                         \
    QB_API qb_status qb_##name(const qb_tensor *projections, const double *angles, double pixel_size,                  \
                               const qb_geometry *geometry, const qb_tensor *volume,                                   \
                               const qb_iterative_options *options, const qb_env *env);
QB_SOLVERS(QB_SOLVER_CALL)
#undef QB_SOLVER_CALL
QB_API qb_status qb_mbir(const qb_tensor *projections, const double *angles, double pixel_size,
                         const qb_geometry *geometry, const qb_tensor *volume, const qb_mbir_options *options,
                         const qb_env *env);

/* The rotation axis of line integrals [view][row][column] of a parallel beam: result->column, and what each finder says.
 * result->struct_size is the caller's to set. QB_BAD_INPUT where no finder has a clue; *result is filled then, too. */
QB_API qb_status qb_center(const qb_tensor *projections, const double *angles, const qb_center_options *options,
                           const qb_env *env, qb_center_result *result);

/* Line integrals of volume [z][y][x] in 1/mm along the rays of `geometry`, into projections
 * [view][row][column], float32 or float16. grid says where the voxels are; NULL: as large as pixels
 * appear at the axis, about the origin. */
QB_API qb_status qb_project(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                            const qb_tensor *projections, const qb_project_options *options, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
