/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "device/device.h"

/* The table of all operations and their kernels. Choosing, qb devices, qb tune, the tuning file, kernelcheck and
 * variantcheck are loops over it. A new kernel only needs a row in the table of its file. A new operation needs a file
 * operation_<name>.c, a row here and in variants.c, and its case in kernelcheck. */
typedef struct qb__operation_row {
    const char *whose; /* text for messages: "a cone beam's" */
    const char *verb;  /* verb that uses the kernels: "fdk" */
    const char *does;  /* "back-projects this cone beam" */
    bool interps;      /* rows differ in interpolation */
    /* The i-th kernel of the CPU, of devices, best first; NULL after the last. */
    const qb__variant *(*cpu)(size_t i), *(*devices)(size_t i);
    /* Updates of one slice of the problem, or of the whole problem if it is not computed by slices. */
    double (*updates)(const void *problem);
    /* Slow-down of a CPU row relative to its rate if the problem does not suit it; NULL: always 1. */
    double (*longer)(const qb__variant *row, const void *problem);
    /* Device rows: cost of an update by the model, relative to the problem of the same number of columns that qb tune
     * measures; NULL: 1. */
    double (*unlike)(const qb__device_info *device, const qb__variant *row, const void *problem, const int *values);
    /* Offset of the size_t in the problem that holds the number of columns; with the slices it gives the shape class of
     * measurements. */
    size_t columns_at;
    /* A problem that suits every kernel, to find what a kernel needs from a device. Released with forget. */
    qb_status (*usual)(void **problem);
    void (*forget)(void *problem); /* NULL-safe */
    /* Plan a device row for it, compiling everything that the work would need, and release it again. */
    qb_status (*plan)(qb__device *device, const qb__variant *row, const void *usual, const int *values);
} qb__operation_row;

extern const qb__operation_row qb__operation_bp_parallel, qb__operation_bp_cone, qb__operation_project_joseph,
    qb__operation_icd;

const qb__operation_row *qb__operation_of(qb__operation operation);
size_t qb__columns_of(qb__operation operation, const void *problem);

/* Functions of a row's `cpu` or `devices` entry from the function that counts and returns the operation's table. HEAD
 * is .head if the table holds rows, ->head if it holds pointers. */
#define QB__TABLE(name, table, HEAD)                                                                                   \
    static const qb__variant *name(size_t i) {                                                                         \
        size_t count;                                                                                                  \
        (void)table(&count);                                                                                           \
        return i < count ? &table(&count)[i] HEAD : NULL;                                                              \
    }

/* The i-th kernel of the CPU, or of devices, for the operation, best first; NULL after the last. Includes rows whose
 * features this CPU lacks. */
const qb__variant *qb__variant_at(qb__operation operation, bool devices, size_t i);
/* The kernel with that name; NULL if there is none. */
const qb__variant *qb__variant_named(const char *id);
