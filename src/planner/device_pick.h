/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_DEVICE_PICK_H
#define QB_PLANNER_DEVICE_PICK_H

#include "geometry/partition.h"
#include "planner/choose.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"

/* Which device and kernel serve a job, for whoever computes on one: engines, operators. Open, admit, choose; the
 * device's numbers and words then come from here, whatever the operation. */
typedef struct qb__device_pick {
    qb__device_set set;
    qb__device *device;    /* the first of the set; NULL: none is asked for, or there is none */
    qb__question question; /* its problem is borrowed and must stay where it is */
    qb__choice choice;
    qb__device_costs costs;
    bool compiled; /* the kernel's programs are in the cache */
} qb__device_pick;

/* The devices that env means. *named: the user insists on them. Release with close, also after a failure. */
qb_status qb__device_pick_open(qb__device_pick *pick, const qb_env *env, bool *named);
/* Whether a job goes there; `why` not, beside what `kernel` (--kernel, or NULL) says: NULL = no reason. QB_UNSUPPORTED
 * or, for a device that was named, QB_BAD_ARGUMENT with the reason. Whoever names a kernel insists on it. */
qb_status qb__device_pick_admit(const qb__device_pick *pick, const char *kernel, const char *why, const qb_env *env,
                                bool *named);
/* Why a method of one device does not run where more are named; NULL: they are not. */
const char *qb__device_pick_several(const qb__device_pick *pick);
/* The kernel that answers the question (its device is set here), and what the device costs. */
qb_status qb__device_pick_choose(qb__device_pick *pick, const qb__question *question);
void qb__device_pick_close(qb__device_pick *pick);

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

/* When a job begins, and once it is over (report NULL: it failed): compiling is told, and that it need not be again is
 * noted. */
void qb__device_pick_begin(qb__device_pick *pick, const qb_env *env);
void qb__device_pick_done(qb__device_pick *pick, cJSON *report);

#endif
