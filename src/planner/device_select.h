/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>

#include "base/json.h"
#include "device/device.h"
#include "quickbeam/env.h"

enum { QB__DEVICES_MAX = 16 };

/* The devices that env->device names; none: the CPU. */
typedef struct qb__device_set {
    int count;
    bool named;    /* the user named the devices: a failure to use them is an error */
    int sharing;   /* largest number of processes of this job on this machine that share a device */
    size_t held;   /* bytes of the first device that the job's preparation holds */
    double opened; /* seconds for opening: finding the library, creating a context */
    qb__device *device[QB__DEVICES_MAX];
    /* While the set is watched: */
    const qb_env *env; /* receives the messages; NULL = not watched */
    atomic_bool told;
    qb__builds before[QB__DEVICES_MAX];
} qb__device_set;

/* True if env names a device, or the CPU. */
bool qb__device_is_named(const qb_env *env);
bool qb__device_is_asked(const qb_env *env); /* true if env names a device other than the CPU */
/* Open the devices. auto: the first CUDA device, else the first OpenCL GPU, else the CPU; an OpenCL device that is the
 * CPU must be named. Several ranks of a machine that ask for "cuda" or "opencl" take the devices in turn, and share
 * them if there are more ranks than devices. QB_NO_DEVICE, with the reason, for a named device that is not
 * available. */
qb_status qb__device_set_open(const qb_env *env, qb__device_set *set);
void qb__device_set_close(qb__device_set *set); /* also ends the watch */

/* Watch the set: env->log gets a message when the first kernel is compiled. The set and env must stay until the watch
 * ends. Then the number of compiled kernels and their time are logged and added to `report` (may be NULL) as "compile":
 * {kernels, seconds, folder}. */
void qb__compile_watch(qb__device_set *set, const qb_env *env);
void qb__compile_done(qb__device_set *set, cJSON *report);
