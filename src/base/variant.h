/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "quickbeam/kernel.h"

/* The head of every kernel row of the CPU and of devices, for every operation: what is needed to list it, to choose it
 * and to explain why it cannot be used. The fields for computing follow in the row of the operation
 * (cpu/bp_cone/bp_cone.h, kernels/bp_parallel/bp_parallel_device.h, ...). planner/variants.c collects the rows. */

typedef enum qb__operation {
    QB__BP_PARALLEL,    /* problem: qb__bp_parallel_problem */
    QB__BP_CONE,        /* qb__bp_cone_problem */
    QB__PROJECT_JOSEPH, /* qb__joseph_problem */
    QB__ICD,            /* qb__icd_size */
    QB__OPERATIONS
} qb__operation;

enum { QB__PARAMETERS_MAX = 12, QB__PARAMETER_VALUES_MAX = 8 };

/* A parameter that the tuner may choose: a macro of the kernel's source and its legal values; the first is the default.
 * A parameter with one value distinguishes this row from others of its family and is not tuned. */
typedef struct qb__kernel_parameter {
    const char *name;
    int count, values[QB__PARAMETER_VALUES_MAX];
} qb__kernel_parameter;

/* How the work of a kernel is divided into groups that load, wait and compute, for the model of what a multiprocessor
 * can overlap. All 0: the kernel never waits. */
typedef struct qb__kernel_groups {
    double count;           /* work groups of a launch */
    double items;           /* items (threads) of a group */
    double local_bytes;     /* shared memory of a group */
    double registers;       /* registers of an item, if the compiler is not limited */
    double registers_least; /* below this number of registers, sums are spilled */
    double sums;            /* sums that an item keeps in registers */
    int blocks;             /* groups per multiprocessor that the kernel asks for; 0 = none */
    double round;           /* updates of a group between two waits */
    double wait;            /* clocks of one wait: barriers, memory latency */
} qb__kernel_groups;

/* Operations and bytes of one update, by functional unit. */
typedef struct qb__kernel_cost {
    double texels;       /* texture fetches (of any width up to 8 bytes; 16 bytes count four) */
    double local_bytes;  /* shared memory */
    double arithmetic;   /* fp32 lane instructions: FMA, add, convert, integer */
    double tensor_flops; /* operations of dense matrix products */
    double l2_bytes, memory_bytes;
    double texture_apart; /* share of the texture engine's time in which other units are idle */
    double launches;      /* launches per pass */
    qb__kernel_groups groups;
} qb__kernel_cost;

struct qb__device_info;

typedef struct qb__variant {
    const char *id; /* "bp_parallel_linear.avx512": the operation, then the implementation */
    qb__operation operation;
    qb_interp interp;     /* linear if the operation has no other */
    qb_accuracy accuracy; /* error bound of the kernel (devices: on GPUs) */
    uint32_t features;    /* CPU: QB__CPU_... flags, all needed */
    unsigned apis;        /* devices: QB__API_... flags; 0 = a CPU kernel */
    double speed;         /* CPU: giga-updates/s of one core, the planner's built-in rate */
    const char *method;   /* devices: "Algorithm 6: shared-memory cache" */
    unsigned step;        /* slices of a pass are padded to a multiple of this; 0: no padding */
    unsigned most;        /* most slices of a pass; 0 = no limit */
    bool named_only;      /* used only if --kernel names it: kernels of papers, for study */
    qb__kernel_parameter parameters[QB__PARAMETERS_MAX]; /* devices: parameters, ended by name NULL */

    /* NULL if the kernel can compute the problem (on that device, with these values of its parameters); else the reason
     * in a few words ("needs compute capability 8.0"). CPU features and the device's API are checked before. May be
     * NULL: it can compute every problem. */
    const char *(*unusable)(const struct qb__device_info *device, const void *problem, const int *values);
    /* Devices: cost of an update if a pass has this number of slices. */
    void (*cost)(const void *problem, unsigned slices, const int *values, qb__kernel_cost *cost);
} qb__variant;

/* Why a CPU row cannot compute the problem; NULL if it can. CPU features are not checked. */
static inline const char *qb__variant_refuses(const qb__variant *variant, const void *problem) {
    return variant->unusable ? variant->unusable(NULL, problem, NULL) : NULL;
}

/* The relative L2 error that an accuracy class promises, for white noise against double precision. */
double qb__accuracy_bound(qb_accuracy accuracy);
/* Slices of a pass, padded as the variant needs. */
unsigned qb__variant_padded(const qb__variant *variant, size_t slices);
/* Number of parameters of a variant; number of combinations of values; the n-th combination. */
int qb__parameter_count(const qb__variant *variant);
size_t qb__parameter_combinations(const qb__variant *variant);
void qb__parameter_combination(const qb__variant *variant, size_t n, int *values);
/* True if each value is a legal value of its parameter. */
bool qb__parameters_legal(const qb__variant *variant, const int *values);
/* {"PIXELS": 16, ...} */
cJSON *qb__parameters_json(const qb__variant *variant, const int *values);
