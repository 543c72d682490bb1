/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_VARIANTS_H
#define QB_PLANNER_VARIANTS_H

#include "base/variant.h"
#include "device/device.h"

/* The one table of operations and of their kernels: choosing, qb devices, qb tune, the tuning file, kernelcheck and
 * variantcheck are loops over it. A new kernel is there as soon as its file's table has it; a new operation is a file
 * operation_<name>.c, its row here and in variants.c, and its case in kernelcheck. */
typedef struct qb__operation_row {
    const char *whose; /* whom its kernels serve: "a cone beam's" */
    const char *verb;  /* the verb that takes them: "fdk" */
    const char *does;  /* "back-projects this cone beam" */
    bool interps;      /* rows differ in interpolation */
    /* The i-th kernel of the CPU, of devices, best first; NULL behind the last. */
    const qb__variant *(*cpu)(size_t i), *(*devices)(size_t i);
    /* Updates of one slice of the problem, or of the whole problem if it is not done by slices. */
    double (*updates)(const void *problem);
    /* How many times as long as by its rate a row of the CPU takes where the problem does not suit it; NULL: always once. */
    double (*longer)(const qb__variant *row, const void *problem);
    /* Of a device's row: how many times as long an update takes, by the model, as in the problem of that many columns that qb tune
     * measures; NULL: as long. */
    double (*unlike)(const qb__device_info *device, const qb__variant *row, const void *problem, const int *values);
    /* Where in a problem the size_t is that says how wide a row of the detector is: with the slices, the shape class
     * that measurements are kept by. */
    size_t columns_at;
    /* A problem that suits every kernel, for what a kernel says against a device. Released with forget. */
    qb_status (*usual)(void **problem);
    void (*forget)(void *problem); /* NULL-safe */
    /* Plans a device's row for it, compiling all that work would take, and lets go of it again. */
    qb_status (*plan)(qb__device *device, const qb__variant *row, const void *usual, const int *values);
} qb__operation_row;

extern const qb__operation_row qb__operation_bp_parallel, qb__operation_bp_cone, qb__operation_project_joseph,
    qb__operation_icd;

const qb__operation_row *qb__operation_of(qb__operation operation);
size_t qb__columns_of(qb__operation operation, const void *problem);

/* A row's cpu or devices, from what counts and returns the operation's own table: HEAD is .head where that holds rows,
 * ->head where it holds pointers to them. */
#define QB__TABLE(name, table, HEAD)                                                                                   \
    static const qb__variant *name(size_t i) {                                                                         \
        size_t count;                                                                                                  \
        (void)table(&count);                                                                                           \
        return i < count ? &table(&count)[i] HEAD : NULL;                                                              \
    }

/* The i-th kernel of the CPU, or of devices, that computes the operation, best first; NULL behind the
 * last. A row whose features this CPU lacks is there too. */
const qb__variant *qb__variant_at(qb__operation operation, bool devices, size_t i);
/* The kernel of that name; NULL when there is none. */
const qb__variant *qb__variant_named(const char *id);

#endif
