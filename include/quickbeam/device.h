/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_DEVICE_H
#define QUICKBEAM_DEVICE_H

#include "quickbeam/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What can compute here, with its measured rates: a JSON object {"devices": [...]}, released with
 * qb_text_free. Measuring takes about a second. */
QB_API qb_status qb_devices_describe(const qb_env *env, char **json);
QB_API void qb_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
