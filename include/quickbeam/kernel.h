/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_KERNEL_H
#define QUICKBEAM_KERNEL_H

#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a value between two pixel centres is read. Auto is what the kernel that is named does, else
 * linear. */
typedef enum qb_interp {
    QB_INTERP_AUTO,
    QB_INTERP_LINEAR,
    QB_INTERP_NEAREST,
    QB_INTERP_OVERSAMPLE /* available on devices only */
} qb_interp;
QB_API const char *qb_interp_name(qb_interp interp); /* "linear" */

/* Bound of the relative L2 error of back-projection compared to double precision, on white noise: 5e-5, 1e-3, 6e-3. A
 * class also allows the kernels of the classes with a smaller bound. */
typedef enum qb_accuracy { QB_ACCURACY_HIGH = -1, QB_ACCURACY_NORMAL = 0, QB_ACCURACY_FAST = 1 } qb_accuracy;
QB_API const char *qb_accuracy_name(qb_accuracy accuracy); /* "high" */

#ifdef __cplusplus
}
#endif
#endif
