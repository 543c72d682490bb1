/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_DEVICE_PICK_H
#define QB_PLANNER_DEVICE_PICK_H

#include "geometry/partition.h"
#include "planner/choose.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"

/* Which device and kernel serve a job, for whoever computes on one: engines, operators. Admit, choose; the
 * device's numbers and words then come from here, whatever the operation. */
typedef struct qb__device_pick {
    qb__device_set *set;   /* borrowed from the caller, who opened it */
    qb__device *device;    /* the first of the set; NULL where the set is empty */
    qb__question question; /* its problem is borrowed and must stay where it is */
    qb__choice choice;
    qb__device_costs costs;
    bool compiled; /* the kernel's programs are in the cache */
} qb__device_pick;

/* On the first device of a set. */
static inline qb__device_pick qb__device_pick_of(qb__device_set *set) {
    return (qb__device_pick){.set = set, .device = set->count > 0 ? set->device[0] : NULL};
}
/* Whether a job goes to these devices; `why` not, NULL = no reason; `kernel`: --kernel, or NULL. QB_UNSUPPORTED
 * or, for a device that was named, QB_BAD_ARGUMENT with the reason. */
qb_status qb__device_pick_admit(const qb__device_pick *pick, const char *kernel, const char *why, const qb_env *env);
/* Why a method of one device does not run where more are named; NULL: they are not. */
const char *qb__device_pick_several(const qb__device_pick *pick);
/* The kernel that answers the question (its device is set here), and what the device costs. */
qb_status qb__device_pick_choose(qb__device_pick *pick, const qb__question *question);

/* Bytes of each device that a job may take. */
size_t qb__device_pick_cap(const qb__device_pick *pick, const qb_env *env);
/* Of the host's memory, where so many of the devices' are taken. */
size_t qb__device_pick_host_bytes(const qb__device_pick *pick, size_t device_bytes);
/* Seconds before the first chunk when so many programs have to be there. */
double qb__device_pick_start(const qb__device_pick *pick, int programs);

/* What engines say when even the least does not fit: `what` ("even one slice needs") so many bytes, `remedy` helps. As
 * qb__engine's no_room. */
qb_status qb__device_no_room(size_t bytes, const qb__room *cap, const char *what, const char *remedy,
                             const qb_env *env);
/* `more`: behind the kernel's name. */
void qb__device_pick_report(const qb__device_pick *pick, const char *more, const qb_env *env);
void qb__device_pick_describe(const qb__device_pick *pick, size_t device_bytes, cJSON *plan);

/* Once a job has succeeded, whose set was watched: what was compiled goes into the report, and that it need not be again is
 * noted. */
void qb__device_pick_done(const qb__device_pick *pick, cJSON *report);

#endif
