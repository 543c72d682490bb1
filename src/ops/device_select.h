/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_DEVICE_SELECT_H
#define QB_OPS_DEVICE_SELECT_H

#include "device/device.h"
#include "quickbeam/env.h"

enum { QB__DEVICES_MAX = 16 };

/* The devices that env->device means; none = the CPU. */
typedef struct qb__device_set {
    int count;
    bool named; /* the user named them: failing to use them is an error */
    qb__device *device[QB__DEVICES_MAX];
} qb__device_set;

/* auto takes the first CUDA device, else the first OpenCL GPU, else the CPU: an OpenCL device that
 * is the CPU itself must be named. QB_NO_DEVICE for a named device that is not there, and why. */
qb_status qb__device_set_open(const qb_env *env, qb__device_set *set);
void qb__device_set_close(qb__device_set *set);

#endif
