/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_CASE_BP_CONE_H
#define KERNELCHECK_CASE_BP_CONE_H

#include "cpu/bp_cone/bp_cone.h"
#include "kernelcheck.h"

/* A source, a detector and a grid, in mm; the source turns about z. */
typedef struct cone_setup {
    double sod, sdd, pitch_u, pitch_v;
    double voxel[3], offset[3];        /* of the grid's middle */
    double detector_u, detector_v;     /* of the detector's middle, in pixels */
    double source_z;                   /* of source and detector */
    double from, sweep;                /* angles */
    double tilt, roll, wobble, jitter; /* radians, radians, relative, pixels: random for each view */
    bool flip;                         /* rows are numbered downwards */
} cone_setup;

/* A problem with its storage and white-noise images. */
typedef struct cone_scan {
    qb__bp_cone_problem problem;
    double (*matrix)[12];
    float *images;  /* [views][rows][columns] */
    float *largest; /* [views] */
    /* number of voxels with the same coordinates, and so with the same errors of coordinates: 1 or more */
    size_t alike;
} cone_scan;

cone_scan cone_scan_new(size_t views, size_t columns, size_t rows, size_t nx, size_t ny, size_t nz);
void cone_scan_place(cone_scan *s, const cone_setup *setup, rng *r);
void cone_scan_fill(cone_scan *s, rng *r);
void cone_scan_free(cone_scan *s);

const float *cone_image(const cone_scan *s, size_t view);
size_t cone_log_uniform(rng *r, size_t low, size_t high);
/* Distances for which the source stays outside the grid's ball at every angle. */
cone_setup cone_random_setup(rng *r, const qb__bp_cone_problem *problem, bool circular);
/* Whether voxels from all parts of the brick keep the class's bounds, compared to the oracle. */
typedef double cone_value(const void *context, size_t x, size_t y, size_t z);
bool cone_accurate(const cone_scan *s, qb_accuracy accuracy, const qb__bp_cone_brick *b, cone_value *value,
                   const void *context, rng *r, bool quick, outcome *o);
bool cone_is_circular(const qb__bp_cone_variant *v);

bool bp_cone_bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m);

#endif
