/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_VARIANTS_H
#define QB_PLANNER_VARIANTS_H

#include "base/variant.h"

/* The one table of operations and of their kernels: choosing, qb devices, qb tune, the tuning file and
 * kernelcheck are loops over it. A new kernel is there as soon as its file's table has it; a new
 * operation adds a row here. */
typedef struct qb__operation_row {
    const char *whose; /* whom its kernels serve: "a cone beam's" */
    const char *verb;  /* the verb that takes them: "fdk" */
    const char *does;  /* "back-projects this cone beam" */
    bool interps;      /* rows differ in interpolation */
    /* Of one slice of the problem (a whole problem where it is not done by slices). */
    double (*updates)(const void *problem);
    /* Of a row of the detector: with the slices, the shape class that measurements are kept by. */
    size_t (*columns)(const void *problem);
    /* A problem that suits every kernel, for what a kernel says against a device; NULL where none
     * runs on devices. Released with forget. */
    qb_status (*usual)(void **problem);
    void (*forget)(void *problem); /* NULL-safe */
} qb__operation_row;

const qb__operation_row *qb__operation_of(qb__operation operation);

/* The i-th kernel of the CPU, or of devices, that computes the operation, best first; NULL behind the
 * last. A row whose features this CPU lacks is there too. */
const qb__variant *qb__variant_at(qb__operation operation, bool devices, size_t i);
/* The kernel of that name; NULL when there is none. */
const qb__variant *qb__variant_named(const char *id);

#endif
