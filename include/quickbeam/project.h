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

/* Forward projection A of a volume along the rays of any geometry, and its exact transpose, for
 * iterative methods. Volumes are float [z][y][x] in 1/mm, projections float [view][row][column],
 * line integrals without a unit: A multiplies by lengths in mm.
 *
 * Joseph's method: a ray is sampled where it crosses the planes of voxels of its main axis,
 * bilinearly between voxel centres, what is outside the volume counting as zero; the sum is
 * multiplied by the ray's length between two planes. Both directions use the same weights, so that
 * <A x, y> = <x, A' y> to rounding. The same bits come out for any number of threads. */
typedef struct qb_projector qb_projector;

/* kernel: a variant's id (qb devices lists them), NULL = the fastest for this CPU. geometry and
 * grid are copied. env's threads and device count (auto: the CPU; a device that is named computes, in slabs
 * where the volume is too large for it, within max_vram); may be NULL. QB_BAD_INPUT with the view and the number for
 * a source inside the volume, a part of the volume behind a source, and a volume of which no view's
 * detector sees anything; QB_BAD_ARGUMENT for an empty or too large volume or a kernel that there
 * is not; QB_UNSUPPORTED for one that this CPU, or this device, cannot run; QB_NO_DEVICE; QB_NO_MEMORY. */
QB_API qb_status qb_projector_create(const qb_geometry *geometry, const qb_grid *grid, const char *kernel,
                                     const qb_env *env, qb_projector **projector);
QB_API void qb_projector_destroy(qb_projector *projector); /* NULL-safe */

/* projections = A volume for views first <= view < end, `first` first. Besides its arguments it
 * holds copies of 126 slices of the volume and of 16 views (more while they fit into 256 MiB). Calls
 * for one projector from several threads wait for each other. QB_NO_MEMORY, QB_BAD_ARGUMENT for views that there are not, and where
 * line integrals are not finite (the result is there all the same); QB_CANCELLED. env's cancel; may be NULL. */
QB_API qb_status qb_projector_forward(qb_projector *projector, const float *volume, size_t first, size_t end,
                                      const qb_env *env, float *projections);
/* volume = A' projections over the views first <= view < end; with `accumulate`, volume += that.
 * The same bits as all views at once come out when blocks of views are accumulated in ascending
 * order, on a device blocks that begin at a multiple of 32 views. */
QB_API qb_status qb_projector_adjoint(qb_projector *projector, const float *projections, size_t first, size_t end,
                                      bool accumulate, const qb_env *env, float *volume);

/* The same of arrays in any memory, of any strides: float32, the volume [z][y][x] as the grid has it, the projections
 * [view][row][column] of those views alone. Where the projector computes on the CUDA device that an array is on, the
 * array is used in place, and nothing of it passes through the host; others that are not dense in the host's
 * memory pass through a copy there. What is queued on the stream of an array in a device's memory comes before; the
 * result is there on return. A dimension in front makes both a batch, of as many volumes as projections, one behind the other: they are
 * done together, with the bits of one by one. Also QB_BAD_ARGUMENT for arrays of other types and shapes or that overlap. */
QB_API qb_status qb_projector_forward_tensor(qb_projector *projector, const qb_tensor *volume, size_t first, size_t end,
                                             const qb_env *env, const qb_tensor *projections);
QB_API qb_status qb_projector_adjoint_tensor(qb_projector *projector, const qb_tensor *projections, size_t first,
                                             size_t end, bool accumulate, const qb_env *env, const qb_tensor *volume);

/* How sum(weights * A volume) changes with the vectors of the views first <= view < end, for calibration:
 * gradient[view - first] holds the derivatives with respect to source, detector, u and v of qb_view, x y z each, per mm (of a
 * parallel beam's direction: per unit). weights [view][row][column] of those views, both in host memory; computed in double
 * precision on the CPU, by the derivative of the same sum that A is. QB_UNSUPPORTED for a curved detector; QB_CANCELLED. */
QB_API qb_status qb_projector_gradient(qb_projector *projector, const float *volume, const float *weights, size_t first,
                                       size_t end, const qb_env *env, double (*gradient)[4][3]);

/* Which kernel was chosen. */
QB_API const char *qb_projector_kernel(const qb_projector *projector);

#ifdef __cplusplus
}
#endif
#endif
