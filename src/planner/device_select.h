/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_DEVICE_SELECT_H
#define QB_PLANNER_DEVICE_SELECT_H

#include <stdatomic.h>

#include "base/json.h"
#include "device/device.h"
#include "quickbeam/env.h"

enum { QB__DEVICES_MAX = 16 };

/* The devices that env->device means; none = the CPU. */
typedef struct qb__device_set {
    int count;
    bool named;    /* the user named them: failing to use them is an error */
    int sharing;   /* processes of this job on this machine that take the same device, at most */
    size_t held;   /* bytes that the job's preparation holds on the first of them */
    double opened; /* seconds that opening them took: finding the library, a context */
    qb__device *device[QB__DEVICES_MAX];
    /* While it is watched: */
    const qb_env *env; /* whom to tell; NULL = not watched */
    atomic_bool told;
    qb__builds before[QB__DEVICES_MAX];
} qb__device_set;

/* Whether env insists on a device, or on the CPU. */
bool qb__device_is_named(const qb_env *env);
bool qb__device_is_asked(const qb_env *env); /* on a device, then, that is not the CPU */
/* auto takes the first CUDA device, else the first OpenCL GPU, else the CPU: an OpenCL device that
 * is the CPU itself must be named. Of several ranks on a machine, each takes the next one of "cuda" or "opencl", and they
 * begin again where there are more ranks than devices. QB_NO_DEVICE for a named device that is not there, and why. */
qb_status qb__device_set_open(const qb_env *env, qb__device_set *set);
void qb__device_set_close(qb__device_set *set); /* ends the watch, too */

/* From here on env is told that kernels are being compiled, once, when the first is; the set must
 * stay where it is, and env there, until the watch ends: then how many they were and how long it
 * took. That goes into `report`, unless it is NULL, as "compile": {kernels, seconds, folder}. */
void qb__compile_watch(qb__device_set *set, const qb_env *env);
void qb__compile_done(qb__device_set *set, cJSON *report);

#endif
