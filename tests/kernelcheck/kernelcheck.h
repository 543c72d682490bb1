/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_H
#define KERNELCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct options {
    uint64_t seed;
    int threads; /* trials at a time; with --bench, threads that share one problem */
    size_t size; /* of the one benchmark problem; 0: a few */
    bool quick, json;
} options;

/* Short text, made by case files. */
typedef struct text {
    char s[256];
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

/* A table of variants that the library holds. */
typedef struct kernel_table {
    size_t (*count)(void);
    const char *(*id)(size_t variant);
    bool (*runs_here)(size_t variant);
    /* Trials take seconds (compiling for a CPU through OpenCL): a tenth of them must do. NULL = none. */
    bool (*costly)(size_t variant);
} kernel_table;

/* One kernel: all the variants of its table whose id begins with `id` and a dot. A variant is named by
 * its index in the table. */
typedef struct kernel_case {
    const kernel_table *table;
    const char *id;
    /* One random trial. Returns false and says why when the variant breaks its contract. */
    bool (*check)(size_t variant, uint64_t seed, bool quick, outcome *o);
    /* The benchmark problem number `problem`; false when there are no more. */
    bool (*bench)(size_t variant, size_t problem, const options *o, measurement *m);
} kernel_case;

extern const kernel_table bp_parallel_table;
extern const kernel_case bp_parallel_linear_case, bp_parallel_nearest_case;
extern const kernel_table bp_device_table;
extern const kernel_case bp_device_linear_case, bp_device_nearest_case, bp_device_oversample_case;
extern const kernel_table bp_cone_table;
extern const kernel_case bp_cone_circular_case, bp_cone_matrix_case;
extern const kernel_table bp_cone_device_table;
extern const kernel_case bp_cone_device_matrix_case;
extern const kernel_table project_joseph_table;
extern const kernel_case project_joseph_case;
extern const kernel_table icd_table;
extern const kernel_case icd_case;

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

/* By a clock that only runs forward. */

#endif
