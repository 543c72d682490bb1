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
    size_t size; /* of the one benchmark problem; 0: a few sizes */
    bool quick, json;
    bool brief; /* iterative kernels make only a few turns, and convergence is not checked */
} options;

/* Short text, written by case files. */
typedef struct text {
    char s[512];
} text;

typedef struct outcome {
    text why;              /* empty if all is well */
    double share_of_bound; /* largest error as a fraction of the bound */
} outcome;

typedef struct measurement {
    text problem;                   /* "1024x1024 pixels, 1024 views, 64 slices" */
    text parameters;                /* a JSON object; empty = no parameters */
    double giga_updates_per_second; /* of all threads together */
    double pack_gigabytes_per_second;
    double scalar;  /* the same for the scalar variant with one thread */
    double ceiling; /* the same if only loads or only arithmetic took time */
    double rel_l2;
} measurement;

/* How kernels of one operation are checked, those of the CPU or of devices. The planner's own table says which kernels
 * there are, and where they run (subjects.c). `device`: NULL on the CPU. */
typedef struct kernel_case {
    /* Makes one random trial. Returns false with the reason if the variant breaks its contract. */
    bool (*check)(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o);
    /* Makes the benchmark problem number `problem`; false if there are no more. */
    bool (*bench)(const qb__variant *row, qb__device *device, size_t problem, const options *o, measurement *m);
} kernel_case;

/* A kernel, and the place where it runs. */
typedef struct subject {
    const qb__variant *row;
    qb__device *device;
    const kernel_case *test; /* NULL: there is none */
    char id[80];             /* for devices ID@DEVICE */
    bool here;               /* it runs here */
    /* a trial takes seconds (compiling for a CPU through OpenCL): only a tenth of the trials are made */
    bool costly;
} subject;
/* All kernels of the CPU and of each device found; *count gets their number. Lives as long as the process. */
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

/* ceiling.c: the present speed of one core, in 1e9 single-precision lanes per second, with the widest vectors up to
 * `bits`. */
double ceiling_fma(int bits);
double ceiling_load(int bits);

#endif
