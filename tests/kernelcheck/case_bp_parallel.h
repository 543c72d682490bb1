/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_CASE_BP_PARALLEL_H
#define KERNELCHECK_CASE_BP_PARALLEL_H

#include "cpu/bp_parallel/bp_parallel.h"
#include "kernelcheck.h"

/* A problem with its storage and white-noise sinograms. */
typedef struct scan {
    qb__bp_parallel_problem problem;
    double *ax, *ay, *h0;
    float *rows;    /* [slices][views][columns] */
    float *largest; /* [slices] */
    unsigned slices;
} scan;

scan scan_new(size_t views, size_t columns, size_t nx, size_t ny, unsigned slices);
void scan_fill(scan *s, rng *r); /* fills in rows, with another amplitude for each slice, and `largest` */
void scan_free(scan *s);

const float *scan_row(const scan *s, unsigned slice, size_t view);
double scan_reference(const scan *s, qb_interp interp, unsigned slice, size_t x, size_t y);

/* Random angles, pitch, shifts and region of interest. Some coordinates lie exactly on columns, or half way between
 * two. */
void scan_aim(rng *r, scan *s);

/* The number of independent errors among nx x ny pixels. */
size_t scan_independent(const scan *s, size_t nx, size_t ny);

/* Errors of sampled voxels, in units of the noise. */
typedef struct errors {
    size_t distinct, views; /* number of independent errors among the sampled voxels; views of the problem */
    double error2, norm2, worst;
    size_t samples, seen; /* all samples; samples that some view reaches: the others show nothing */
} errors;
void errors_add(errors *e, double got, double want);
/* Whether the errors keep the class's bounds; if not, o->why says by how much. */
bool errors_within(const errors *e, qb_accuracy accuracy, outcome *o);

/* giga-updates/s of the scalar CPU variant with one thread; 0 if there is none. */
double bp_parallel_scalar_speed(qb_interp interp);

bool bp_parallel_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m);

#endif
