/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/partition.h"
#include "planner/choose.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"

/* Choice of device and kernel for a job of an engine or operator: check that a device may be used, then choose the
 * kernel. The numbers and texts about the device are made here for every operation. */
typedef struct qb__device_pick {
    qb__device_set *set;   /* borrowed from the caller, who opened it */
    qb__device *device;    /* the first of the set; NULL if the set is empty */
    qb__question question; /* the problem in it is borrowed and must stay where it is */
    qb__choice choice;
    qb__device_costs costs;
    bool compiled; /* the kernel's programs are in the cache */
} qb__device_pick;

/* Use the first device of a set. */
static inline qb__device_pick qb__device_pick_of(qb__device_set *set) {
    return (qb__device_pick){.set = set, .device = set->count > 0 ? set->device[0] : NULL};
}
/* Check that the job may use these devices; `why`: the engine's reason against, NULL = none; `kernel`: --kernel, or
 * NULL. QB_UNSUPPORTED or, for a named device, QB_BAD_ARGUMENT with the reason. */
qb_status qb__device_pick_admit(const qb__device_pick *pick, const char *kernel, const char *why, const qb_env *env);
/* Why a method for one device cannot run if more are named; NULL: only one is named. */
const char *qb__device_pick_several(const qb__device_pick *pick);
/* Choose the kernel for the question (its device is set here), and get the costs of the device. */
qb_status qb__device_pick_choose(qb__device_pick *pick, const qb__question *question);

/* Memory of each device, in bytes, that a job may take. */
size_t qb__device_pick_cap(const qb__device_pick *pick, const qb_env *env);
/* Host memory that a job takes if it takes so much of each device's memory. */
size_t qb__device_pick_host_bytes(const qb__device_pick *pick, size_t device_bytes);
/* Seconds before the first chunk if this number of programs must be available. */
double qb__device_pick_start(const qb__device_pick *pick, int programs);

/* The error if even the smallest job does not fit: `what` ("even one slice needs") with the bytes, and the `remedy`. As
 * qb__engine's no_room. */
qb_status qb__device_no_room(size_t bytes, const qb__room *cap, const char *what, const char *remedy,
                             const qb_env *env);
/* `more`: text after the kernel's name. */
void qb__device_pick_report(const qb__device_pick *pick, const char *more, const qb_env *env);
void qb__device_pick_describe(const qb__device_pick *pick, size_t device_bytes, cJSON *plan);

/* After a successful job with a watched set: add compiled kernels to the report, and note that they are in the
 * cache. */
void qb__device_pick_done(const qb__device_pick *pick, cJSON *report);
