/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_DEVICE_H
#define QUICKBEAM_DEVICE_H

#include "quickbeam/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What can compute here, with its measured rates: a JSON object {"devices": [...], "missing": [...]},
 * released with qb_text_free; "missing" says what keeps CUDA or OpenCL away and which package brings
 * it. Measuring takes about a second a device. */
QB_API qb_status qb_devices_describe(const qb_env *env, char **json);
QB_API void qb_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
