/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_PROJECT_H
#define QUICKBEAM_PROJECT_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forward projection A of a volume along the rays of any geometry, and its exact transpose, for iterative methods.
 * Volumes are float [z][y][x] in 1/mm, projections float [view][row][column], line integrals without a unit: A
 * multiplies by lengths in mm.
 *
 * Joseph's method: a ray is sampled where it crosses the voxel planes of its main axis, by bilinear interpolation
 * between voxel centres, with 0 outside the volume; the sum is multiplied by the ray's length between two planes. Both
 * directions use the same weights, so that <A x, y> = <x, A' y> to rounding. The bits do not depend on the number of
 * threads. */
typedef struct qb_projector qb_projector;

/* kernel: id of a variant (see qb devices), NULL = the fastest. geometry and grid are copied. env (may be NULL): its
 * threads, device and max_vram are used. Auto is the CPU; a named device works in slabs if the volume is too large for
 * it. QB_BAD_INPUT, with the view and the number, for a source inside the volume, a part of the volume behind a source,
 * or a volume that no view sees; QB_BAD_ARGUMENT for an empty or too large volume or an unknown kernel; QB_UNSUPPORTED
 * for a kernel that this CPU or device cannot run; QB_NO_DEVICE; QB_NO_MEMORY. */
QB_API qb_status qb_projector_create(const qb_geometry *geometry, const qb_grid *grid, const char *kernel,
                                     const qb_env *env, qb_projector **projector);
QB_API void qb_projector_destroy(qb_projector *projector); /* NULL-safe */

/* projections = A volume for the views first <= view < end; projections[0] is view `first`. Extra memory: copies of 126
 * slices and of 16 views (more if they fit into 256 MiB). Calls for one projector from several threads wait for each
 * other. env (may be NULL): only `cancel` is used. QB_BAD_ARGUMENT for views out of range, and if line integrals are
 * not finite (the result is written nevertheless); QB_NO_MEMORY; QB_CANCELLED. */
QB_API qb_status qb_projector_forward(qb_projector *projector, const float *volume, size_t first, size_t end,
                                      const qb_env *env, float *projections);
/* volume = A' projections for the views first <= view < end; with `accumulate`, volume += A' projections. Blocks of
 * views that are accumulated in ascending order give the bits of all views at once; on a device, blocks must begin at a
 * multiple of 32 views. */
QB_API qb_status qb_projector_adjoint(qb_projector *projector, const float *projections, size_t first, size_t end,
                                      bool accumulate, const qb_env *env, float *volume);

/* The same for float32 arrays in any memory with any strides: volume [z][y][x] of the grid's shape, projections
 * [view][row][column] of the views first .. end - 1. An array on the CUDA device of the projector is used in place,
 * without a copy in host memory; other arrays that are not dense in host memory are copied there. The call waits for
 * work queued on the stream of a device's array; the result is complete on return. An additional first dimension makes
 * a batch of as many volumes as projections; the bits are those of single calls. Also QB_BAD_ARGUMENT for arrays of
 * other types or shapes, or that overlap. */
QB_API qb_status qb_projector_forward_tensor(qb_projector *projector, const qb_tensor *volume, size_t first, size_t end,
                                             const qb_env *env, const qb_tensor *projections);
QB_API qb_status qb_projector_adjoint_tensor(qb_projector *projector, const qb_tensor *projections, size_t first,
                                             size_t end, bool accumulate, const qb_env *env, const qb_tensor *volume);

/* Gradient of sum(weights * A volume) with respect to the geometry of the views first <= view < end, for calibration:
 * gradient[view - first] has the derivatives by source, detector, u and v of qb_view (x, y, z each), per mm; those by
 * the direction of a parallel beam have no unit. weights [view][row][column] of these views; both arrays in host
 * memory. Computed in double precision on the CPU as the exact derivative of A. QB_UNSUPPORTED for a curved detector;
 * QB_CANCELLED. */
QB_API qb_status qb_projector_gradient(qb_projector *projector, const float *volume, const float *weights, size_t first,
                                       size_t end, const qb_env *env, double (*gradient)[4][3]);

/* Id of the kernel that is used. */
QB_API const char *qb_projector_kernel(const qb_projector *projector);

#ifdef __cplusplus
}
#endif
#endif
