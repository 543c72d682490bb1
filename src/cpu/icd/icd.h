/* SPDX-License-Identifier: MIT */
#ifndef QB_CPU_ICD_ICD_H
#define QB_CPU_ICD_ICD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"

/* Iterative coordinate descent, 16 slices at a time: the contract of every CPU variant. The cost
 *
 *   1/2 sum_i w_i (y_i - (A x)_i)^2 + sum_pairs b_st rho(x_s - x_t)
 *
 * is lowered voxel by voxel (Bouman and Sauer, IEEE Trans. Image Process. 5 (1996) 480), with the
 * q-generalised Gaussian Markov random field of Thibault et al. (Med. Phys. 34 (2007) 4526)
 *
 *   rho(d) = |d|^p / (p sigma^p) * r / (1 + r),  r = |d / (T sigma)|^(q - p)
 *
 * whose quadratic surrogate at the present difference (Yu et al., IEEE Trans. Image Process. 20
 * (2011) 161) makes each step a division and the cost fall monotonically. Below |d| = sigma / 1000,
 * rho goes on as that surrogate, so that q < 2 has no pole.
 *
 * A voxel's column of A is the same in all slices, so slices lie side by side: a lane is a slice,
 * every sum stays in its lane, and no bit depends on which slices keep it company. */
enum { QB__ICD_LANES = 16, QB__ICD_SIDE = 16 };

/* Where voxels cast their shadows in a parallel beam: the strip integral over a detector column of
 * the chord through a square pixel, a trapezoid blurred by the column's aperture, exactly. Views are
 * padded to `stride`, a multiple of 16, where nothing is cast. */
typedef struct qb__footprints {
    size_t views, stride, columns, taps; /* taps: columns that a shadow touches at most */
    const double *ax, *ay, *h0;          /* [stride] its middle is ax ix + ay iy + h0 columns */
    const float *half, *flat;            /* [stride] columns from the middle to where it ends, falls */
    const float *rise, *curvature;       /* [stride] 1 / its longer side; 1 / (2 longer shorter) */
    float area;                          /* area of a pixel over a column's width, mm; of a fan: the side of a pixel */
    /* A fan beam, unless NULL: [stride] the middle is (ax ix + ay iy + h0) / (wx ix + wy iy + w0), and half to bend are NULL.
     * Its shadow is that of a parallel beam whose rays run as that through the voxel's middle does and whose columns lie as
     * far apart there: with a and b for what one voxel over and one down move it, a trapezoid a + b wide at the bottom and
     * |a - b| at the top, as high as that ray is long in the voxel, side * hypot(a, b) / max(a, b). These are separable
     * footprints (Long, Fessler, Balter, IEEE Trans. Med. Imaging 29 (2010) 1839) to the first order of a voxel's side over
     * its distance from the source; a tenth of that share of the largest entry is what entries are off by, at most. */
    const double *wx, *wy, *w0;
    /* Of a detector that is bent about the source, unless 0: columns a radian. What is above is then the tangent of a
     * ray's angle from that to column c0[view], and the middle c0 + per_radian atan(...). */
    double per_radian;
    const double *c0; /* [stride] */
    double steepest;  /* of a fan: columns that a voxel over and a voxel down are, at most, taken together, up to
                         QB__ICD_SIDE voxels beyond those that may change */
} qb__footprints;

/* A voxel's column of A: tap[k * stride + view] belongs to detector column first[view] + k - taps,
 * 0 <= first[view] <= columns + taps: rows of data are padded with `taps` columns on both sides.
 * Taps beyond the detector are zero but for rounding. */
typedef struct qb__icd_column {
    int32_t *first; /* [stride] */
    float *tap;     /* [taps][stride], 64-byte aligned */
} qb__icd_column;

/* The prior, as the kernels want it. */
typedef struct qb__icd_prior {
    double p, q, t, sigma;
    double nearest, diagonal, interslice; /* b of each of 4, 4 and 2 neighbours */
    /* b of each of 8 and 8 neighbours in the slices before and after, across an edge and a corner; coordinate descent has none. */
    double edge, corner;
} qb__icd_prior;

/* What all slices share. Pixels are numbered (iy + 1) * (nx + 2) + ix + 1: one more on every side. */
typedef struct qb__icd_problem {
    qb__footprints footprints;
    size_t nx, ny;
    const uint8_t *inside; /* [(ny + 2) (nx + 2)] 1 = may change; the rest is none's neighbour */
    qb__icd_prior prior;
    bool positive; /* no voxel below zero */
    /* A voxel's column, computed or from a store; any thread. */
    void (*fetch)(const struct qb__icd_problem *problem, uint32_t pixel, const qb__icd_column *column);
    const void *store; /* fetch's own */
} qb__icd_problem;

/* 16 slices: [view][columns + 2 taps][16] and [pixel][16]; lanes without a slice are zero. */
typedef struct qb__icd_group {
    float *error;        /* y - A x */
    const float *weight; /* w; NULL = 1 */
    float *x;
    const float *curve; /* theta2 = sum A^2 w; a voxel with 0 meets no ray and stays */
    /* x of the slices before and after each lane's, at the same index, and b; NULL = no such prior. `after` alone
     * may be any image that voxels are pulled toward. */
    const float *before, *after;
    float before_b[QB__ICD_LANES], after_b[QB__ICD_LANES];
} qb__icd_group;

/* Sums over what was visited, lane by lane. */
typedef struct qb__icd_moved {
    double change[QB__ICD_LANES]; /* sum |x' - x| */
    uint64_t updates;             /* voxels, lanes not counted */
} qb__icd_moved;

/* ---- one slice, SuperVoxel by SuperVoxel ---- */

/* Of slices that are few, voxels of squares of QB__ICD_SIDE a side are updated in a buffer of what they touch (Algorithm 2 of
 * Wang et al., PPoPP 2017): of each view as many columns as any of its voxels' shadows needs, shadows computed view by
 * view in vectors, and four entries of a view at a time multiplied. */

/* What all SuperVoxels share. */
typedef struct qb__icd_bands {
    const qb__footprints *footprints;
    size_t width, taps;            /* columns of a view of the buffer; entries of a voxel and view, a multiple of 4 */
    const float *ax, *ay;          /* [stride] columns that one voxel over, one row down are; not of a fan */
    const float *rise, *curvature; /* [stride] the shadows', times their area; not of a fan */
} qb__icd_bands;

/* A SuperVoxel's: view v's columns lie around column middle[v] of the detector, at[v] columns before the middle of
 * the SuperVoxel. Buffers are [stride][width]; of views behind the last they hold zeros. */
typedef struct qb__icd_band {
    double x, y;     /* its middle, in voxels */
    const float *at; /* [stride] */
    /* Of a fan, else NULL: [stride] dx over and dy down of the middle is (at + ax dx + ay dy) / (1 + wx dx + wy dy), of a
     * bent detector at + per_radian atan((ax dx + ay dy) / (1 + wx dx + wy dy)). */
    const float *ax, *ay, *wx, *wy;
    float *error;        /* w (y - A x); of back(): lines; of subtract(): gets - A x */
    const float *weight; /* w */
} qb__icd_band;

/* A slice's images, numbered as its pixels. */
typedef struct qb__icd_slice {
    float *x, *curve;
    float *toward; /* image toward which voxels are pulled as toward a neighbour of weight toward_b; NULL = none */
    float toward_b;
} qb__icd_slice;

typedef struct qb__icd_band_moved {
    double change; /* sum |x' - x| */
    uint64_t updates;
} qb__icd_band_moved;

/* pixels[count] are the SuperVoxel's; scratch as of qb__icd_band_scratch_bytes, 64-byte aligned. */
typedef struct qb__icd_band_kernel {
    void (*update)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                   const qb__icd_slice *slice, const uint32_t *pixels, size_t count, bool skip,
                   qb__icd_band_moved *moved, void *scratch);
    /* x = A lines; curve = sum A^2 w; error -= A x */
    void (*back)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                 const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch);
    void (*curve)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                  const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch);
    void (*subtract)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                     const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch);
    /* The prior's part of the cost of pairs of these pixels with those at the right and below, and with what they are
     * pulled toward. */
    double (*prior)(const qb__icd_problem *problem, const qb__icd_slice *slice, const uint32_t *pixels, size_t count);
} qb__icd_band_kernel;

size_t qb__icd_band_scratch_bytes(const qb__icd_bands *bands);

/* ---- the rows of the table ---- */

typedef struct qb__icd_variant {
    qb__variant head; /* an update is an entry of A times a slice; accuracy as the solution's */

    /* The column of the pixel ix, iy. */
    void (*footprint)(const qb__footprints *footprints, double ix, double iy, const qb__icd_column *column);
    /* tap[i] = scale * bytes[i]; count is a multiple of 16. */
    void (*unpack)(const uint8_t *bytes, float scale, size_t count, float *tap);
    /* Update pixels[count] in this order; with `skip` not where a lane is zero among zeros, and not at
     * all where all lanes are. scratch: scratch_bytes, 64-byte aligned. */
    void (*update)(const qb__icd_problem *problem, const qb__icd_group *group, const uint32_t *pixels, size_t count,
                   bool skip, qb__icd_moved *moved, void *scratch);
    /* curve[pixel] = sum A^2 w. */
    void (*curve)(const qb__icd_problem *problem, const float *weight, const uint32_t *pixels, size_t count,
                  float *curve, void *scratch);
    /* x[pixel] = sum A lines. */
    void (*back)(const qb__icd_problem *problem, const float *lines, const uint32_t *pixels, size_t count, float *x,
                 void *scratch);
    /* lines -= A x of these pixels. */
    void (*subtract)(const qb__icd_problem *problem, const float *x, const uint32_t *pixels, size_t count, float *lines,
                     void *scratch);
    /* The prior's part of the cost, lane by lane added to cost[16]: pairs of these pixels with those
     * at the right, below and after them. */
    void (*prior)(const qb__icd_problem *problem, const qb__icd_group *group, const uint32_t *pixels, size_t count,
                  double *cost);
    qb__icd_band_kernel band;
} qb__icd_variant;

/* The problem that the planner chooses a kernel for. */
typedef struct qb__icd_size {
    size_t views, columns, pixels, taps;
    bool joined; /* slices know of each other */
    bool pulled; /* voxels are pulled toward an image */
    bool fan;
    bool repeatable; /* nothing may be left to chance */
} qb__icd_size;

/* All variants built in, fastest first; a row whose features the CPU lacks is listed too. */
const qb__icd_variant *qb__icd_variants(size_t *count);
size_t qb__icd_scratch_bytes(const qb__footprints *footprints);

/* ---- the double-precision oracle (ref/) ---- */

/* The entry of A for a detector column, exactly. */
double qb__footprint_reference(const qb__footprints *footprints, size_t view, double ix, double iy, double column);
/* The surrogate's coefficient rho'(d) / d. */
double qb__icd_surrogate_reference(const qb__icd_prior *prior, double d);

/* Algorithm 1 in double, one voxel of one slice at a time, in any order; with A as fetched or, where
 * `exact`, by qb__footprint_reference. Data are [view][slice][column], x is [slice][pixel]. */
typedef struct qb__icd_oracle {
    const qb__icd_problem *problem; /* its fetch is called with a column of the oracle's user */
    bool exact;
    qb__icd_column column;
    size_t slices;
    const double *weight;
    double *error; /* y - A x, kept up to date */
    double *x;
} qb__icd_oracle;
/* Returns |x' - x|. */
double qb__icd_reference_update(const qb__icd_oracle *oracle, size_t slice, uint32_t pixel);
/* error -= A x */
void qb__icd_reference_subtract(const qb__icd_oracle *oracle);
double qb__icd_reference_cost(const qb__icd_oracle *oracle);

#endif
