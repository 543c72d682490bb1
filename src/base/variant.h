/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_VARIANT_H
#define QB_BASE_VARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "quickbeam/kernel.h"

/* What every kernel row begins with, the CPU's and the devices', of any operation: all that is needed to
 * list it, to choose it and to say why not. What it computes with follows in the operation's own row
 * (cpu/bp_cone/bp_cone.h, kernels/bp_parallel/bp_parallel_device.h, ...). The rows are gathered in
 * planner/variants.c. */

typedef enum qb__operation {
    QB__BP_PARALLEL,    /* problem: qb__bp_parallel_problem */
    QB__BP_CONE,        /* qb__bp_cone_problem */
    QB__PROJECT_JOSEPH, /* qb__joseph_problem */
    QB__ICD,            /* qb__icd_size */
    QB__OPERATIONS
} qb__operation;

enum { QB__PARAMETERS_MAX = 12, QB__PARAMETER_VALUES_MAX = 8 };

/* What a tuner may choose: a macro of the kernel's source, its legal values, the first the default.
 * With one legal value it is what tells this row from its family's others, and nothing to tune. */
typedef struct qb__kernel_parameter {
    const char *name;
    int count, values[QB__PARAMETER_VALUES_MAX];
} qb__kernel_parameter;

/* How a kernel's work is cut into groups that load, wait and compute in turns, for what a
 * multiprocessor can have under way at once. All zero: it never waits. */
typedef struct qb__kernel_groups {
    double count;           /* work groups of a launch */
    double items;           /* items of a group */
    double local_bytes;     /* shared memory of a group */
    double registers;       /* registers of an item, if the compiler is not limited */
    double registers_least; /* registers below which sums are spilled */
    double sums;            /* sums of an item */
    int blocks;             /* groups that a multiprocessor is asked to hold, 0 for no wish */
    double round;           /* updates of a group between two waits */
    double wait;            /* clocks of one: barriers, trips to memory */
} qb__kernel_groups;

/* Operations and bytes of one update, by the unit that does them. */
typedef struct qb__kernel_cost {
    double texels;       /* texture fetches (of any width up to 8 bytes; 16 bytes count four) */
    double local_bytes;  /* shared memory */
    double arithmetic;   /* fp32 lane instructions: FMA, add, convert, integer */
    double tensor_flops; /* operations of dense matrix products */
    double l2_bytes, memory_bytes;
    double texture_apart; /* share of the texture engine's time in which other units rest */
    double launches;      /* launches of a pass */
    qb__kernel_groups groups;
} qb__kernel_cost;

struct qb__device_info;

typedef struct qb__variant {
    const char *id; /* "bp_parallel_linear.avx512": the operation's mathematics, the way of doing it */
    qb__operation operation;
    qb_interp interp;     /* linear where the operation knows no other */
    qb_accuracy accuracy; /* the bound that it keeps (devices: on GPUs) */
    uint32_t features;    /* the CPU's: QB__CPU_..., all needed */
    unsigned apis;        /* devices': QB__API_... or-ed; 0 = the CPU's */
    double speed;         /* the CPU's: giga-updates/s of one core, the planner's listed rate */
    const char *method;   /* devices': "Algorithm 6: shared-memory cache" */
    unsigned step;        /* slices of a pass are padded to a multiple of this; 0: one by one */
    unsigned most;        /* most slices of a pass; 0 = no limit */
    bool named_only;      /* runs only where --kernel names it: kernels of papers, for study */
    qb__kernel_parameter parameters[QB__PARAMETERS_MAX]; /* devices'; ended by name NULL */

    /* NULL when it can compute the problem, on that device where it is a device's and with these values of
     * its parameters; else why not, in a few words ("needs compute capability 8.0"). Whether the CPU has
     * the features and the device the api has been asked before. May be NULL: it always can. */
    const char *(*unusable)(const struct qb__device_info *device, const void *problem, const int *values);
    /* Devices': what an update costs when so many slices are passed at a time. */
    void (*cost)(const void *problem, unsigned slices, const int *values, qb__kernel_cost *cost);
} qb__variant;

/* Why the CPU's row cannot compute the problem; NULL when it can. Its features are not looked at. */
static inline const char *qb__variant_refuses(const qb__variant *variant, const void *problem) {
    return variant->unusable ? variant->unusable(NULL, problem, NULL) : NULL;
}

/* The relative L2 error that a class promises, of white noise against double precision. */
double qb__accuracy_bound(qb_accuracy accuracy);
/* Slices of a pass, padded to what the variant wants. */
unsigned qb__variant_padded(const qb__variant *variant, size_t slices);
/* How many parameters a variant has; how many combinations of values; the n-th combination. */
int qb__parameter_count(const qb__variant *variant);
size_t qb__parameter_combinations(const qb__variant *variant);
void qb__parameter_combination(const qb__variant *variant, size_t n, int *values);
/* Whether each value is one of those that its parameter may have. */
bool qb__parameters_legal(const qb__variant *variant, const int *values);
/* {"PIXELS": 16, ...} */
cJSON *qb__parameters_json(const qb__variant *variant, const int *values);

#endif
