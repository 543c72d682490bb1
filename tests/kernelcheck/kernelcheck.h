/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_H
#define KERNELCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/variant.h"
#include "device/device.h"

typedef struct options {
    uint64_t seed;
    int threads; /* trials at a time; with --bench, threads that share one problem */
    size_t size; /* of the one benchmark problem; 0: a few */
    bool quick, json;
    bool brief; /* of what iterates a few turns, its end not asked for */
} options;

/* Short text, made by case files. */
typedef struct text {
    char s[512];
} text;

typedef struct outcome {
    text why;              /* empty when all is well */
    double share_of_bound; /* the largest error as a part of what is allowed */
} outcome;

typedef struct measurement {
    text problem;                   /* "1024x1024 pixels, 1024 views, 64 slices" */
    text parameters;                /* a JSON object; empty = it has none */
    double giga_updates_per_second; /* all threads together */
    double pack_gigabytes_per_second;
    double scalar;  /* the same by the scalar variant, one thread */
    double ceiling; /* the same if nothing but loads or arithmetic took time */
    double rel_l2;
} measurement;

/* How the kernels of one operation are checked, the CPU's or the devices'; which there are, and where they run, the
 * planner's own table says (subjects.c). `device`: NULL on the CPU. */
typedef struct kernel_case {
    /* One random trial. Returns false and says why when the variant breaks its contract. */
    bool (*check)(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o);
    /* The benchmark problem number `problem`; false when there are no more. */
    bool (*bench)(const qb__variant *row, qb__device *device, size_t problem, const options *o, measurement *m);
} kernel_case;

/* A kernel, and where it is to run. */
typedef struct subject {
    const qb__variant *row;
    qb__device *device;
    const kernel_case *test; /* NULL: there is none */
    char id[80];             /* of devices ID@DEVICE */
    bool here;               /* it runs */
    bool costly;             /* a trial takes seconds (compiling for a CPU through OpenCL): a tenth of them must do */
} subject;
/* All kernels of the CPU and of each device found; count in *count. Lives as long as the process. */
const subject *subjects(size_t *count);

/* random.c: a small generator with a state per trial. */
typedef struct rng {
    uint64_t state;
} rng;
uint64_t rng_bits(rng *r);
double rng_uniform(rng *r, double low, double high);
double rng_normal(rng *r);
size_t rng_below(rng *r, size_t n); /* 0 .. n - 1 */

/* guarded.c: 64-byte aligned memory between canaries, filled with NaN. */
typedef struct guarded {
    void *data;
    size_t bytes;
} guarded;
guarded guarded_new(size_t bytes);
bool guarded_intact(const guarded *g);
void guarded_free(guarded *g);

/* ceiling.c: what one core can do right now, in 1e9 single-precision lanes a second, with the
 * widest vectors up to `bits`. */
double ceiling_fma(int bits);
double ceiling_load(int bits);

#endif
