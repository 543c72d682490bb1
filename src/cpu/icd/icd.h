/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"

/* Iterative coordinate descent for 16 slices at a time: interface of all CPU variants. The cost
 *
 *   1/2 sum_i w_i (y_i - (A x)_i)^2 + sum_pairs b_st rho(x_s - x_t)
 *
 * is reduced voxel by voxel (Bouman and Sauer, IEEE Trans. Image Process. 5 (1996) 480), with the q-generalised
 * Gaussian Markov random field of Thibault et al. (Med. Phys. 34 (2007) 4526)
 *
 *   rho(d) = |d|^p / (p sigma^p) * r / (1 + r),  r = |d / (T sigma)|^(q - p)
 *
 * Its quadratic surrogate at the present difference (Yu et al., IEEE Trans. Image Process. 20 (2011) 161) makes each
 * step a division and the cost fall monotonically. Below |d| = sigma / 1000, rho is replaced by that surrogate, so that
 * q < 2 has no pole.
 *
 * A voxel's column of A is the same in all slices. So a lane of a vector is a slice, every sum stays in its lane, and
 * the bits of a slice do not depend on the other slices. */
enum { QB__ICD_LANES = 16, QB__ICD_SIDE = 16 };

/* Footprints of voxels in a parallel beam: the exact integral over a detector column of the chords through a square
 * pixel, which is a trapezoid convolved with the column's aperture. Views are padded to `stride`, a multiple of 16;
 * padding views have no footprint. */
typedef struct qb__footprints {
    size_t views, stride, columns, taps; /* taps: largest number of columns of a footprint */
    const double *ax, *ay, *h0;          /* [stride] its centre is ax ix + ay iy + h0 columns */
    /* [stride] columns from the centre to the end of the slope, and of the flat top */
    const float *half, *flat;
    const float *rise, *curvature; /* [stride] 1 / its longer side; 1 / (2 longer shorter) */
    float area;                    /* area of a pixel over a column's width, mm; fan: the side of a pixel */
    /* Fan beam, unless NULL: [stride] the centre is (ax ix + ay iy + h0) / (wx ix + wy iy + w0), and half to bend are
     * NULL. The footprint is that of a parallel beam with the direction of the ray through the voxel's centre and with
     * the distance of columns there: with a and b the movements for one voxel along x and along y, a trapezoid a + b
     * wide at the bottom and |a - b| at the top, with the height side * hypot(a, b) / max(a, b), the length of that ray
     * in the voxel. These are separable footprints (Long, Fessler, Balter, IEEE Trans. Med. Imaging 29 (2010) 1839) to
     * first order in the voxel's side over its distance from the source; the error of entries is at most a tenth of
     * that ratio, relative to the largest entry. */
    const double *wx, *wy, *w0;
    /* Detector curved about the source, unless 0: columns per radian. The values above then give the tangent of a ray's
     * angle from that of column c0[view], and the centre is c0 + per_radian atan(...). */
    double per_radian;
    const double *c0; /* [stride] */
    /* fan: largest movement in columns for one voxel along x and one along y together, up to QB__ICD_SIDE voxels beyond
     * those that may change */
    double steepest;
} qb__footprints;

/* A voxel's column of A. tap[k * stride + view] belongs to detector column first[view] + k - taps, with 0 <=
 * first[view] <= columns + taps: rows of data are padded with `taps` columns on both sides. Taps outside the detector
 * are zero except for rounding. */
typedef struct qb__icd_column {
    int32_t *first; /* [stride] */
    float *tap;     /* [taps][stride], 64-byte aligned */
} qb__icd_column;

/* The prior, in the form for the kernels. */
typedef struct qb__icd_prior {
    double p, q, t, sigma;
    double nearest, diagonal, interslice; /* b of each of 4, 4 and 2 neighbours */
    /* b of each of 8 and 8 neighbours in the slices before and after, across an edge and a corner; not used by
     * coordinate descent. */
    double edge, corner;
} qb__icd_prior;

/* Parameters that all slices share. Pixels are numbered (iy + 1) * (nx + 2) + ix + 1, with one more pixel on every
 * side. */
typedef struct qb__icd_problem {
    qb__footprints footprints;
    size_t nx, ny;
    const uint8_t *inside; /* [(ny + 2) (nx + 2)] 1 = may change; other pixels are nobody's neighbour */
    qb__icd_prior prior;
    bool positive; /* keep voxels >= 0 */
    /* Return a voxel's column, computed or from a store; thread-safe. */
    void (*fetch)(const struct qb__icd_problem *problem, uint32_t pixel, const qb__icd_column *column);
    const void *store; /* data of fetch */
} qb__icd_problem;

/* Arrays for 16 slices: [view][columns + 2 taps][16] and [pixel][16]; lanes without a slice are zero. */
typedef struct qb__icd_group {
    float *error;        /* y - A x */
    const float *weight; /* w; NULL = 1 */
    float *x;
    const float *curve; /* theta2 = sum A^2 w; a voxel with 0 is crossed by no ray and does not change */
    /* x of the slices before and after, at the same index, and b; NULL = no such prior. If only `after` is set, it may
     * be any image toward which voxels are pulled. */
    const float *before, *after;
    float before_b[QB__ICD_LANES], after_b[QB__ICD_LANES];
    bool woven; /* the slices before and after are the lanes beside: of each voxel, even lanes step before odd ones */
} qb__icd_group;

/* Sums over the visited voxels, per lane. */
typedef struct qb__icd_moved {
    double change[QB__ICD_LANES]; /* sum |x' - x| */
    uint64_t updates;             /* voxels; lanes are not counted, but woven even and odd ones apart */
} qb__icd_moved;

/* ---- one slice, SuperVoxel by SuperVoxel ---- */

/* For few slices: the voxels of squares of side QB__ICD_SIDE are updated in a buffer of the data that they touch
 * (Algorithm 2 of Wang et al., PPoPP 2017): for each view as many columns as the footprints of its voxels need.
 * Footprints are computed for several views at once in vectors, and four entries of a view are multiplied at a time. */

/* Parameters that all SuperVoxels share. */
typedef struct qb__icd_bands {
    const qb__footprints *footprints;
    size_t width, taps;            /* columns of a view in the buffer; entries per voxel and view, a multiple of 4 */
    const float *ax, *ay;          /* [stride] movement in columns for one voxel along x, and along y; not for a fan */
    const float *rise, *curvature; /* [stride] those of the footprints, times their area; not for a fan */
} qb__icd_bands;

/* A SuperVoxel: the columns of view v are centred on column middle[v] of the detector, at[v] columns before the centre
 * of the SuperVoxel. Buffers are [stride][width], with zeros for padding views. */
typedef struct qb__icd_band {
    double x, y;     /* centre of the SuperVoxel, in voxels */
    const float *at; /* [stride] */
    /* Fan, else NULL: [stride] the offset of a voxel dx and dy from the centre is (at + ax dx + ay dy) / (1 + wx dx +
     * wy dy), on a curved detector at + per_radian atan((ax dx + ay dy) / (1 + wx dx + wy dy)). */
    const float *ax, *ay, *wx, *wy;
    float *error;        /* w (y - A x); for back(): line integrals; for subtract(): gets - A x */
    const float *weight; /* w */
} qb__icd_band;

/* Images of a slice, in the numbering of its pixels. */
typedef struct qb__icd_slice {
    float *x, *curve;
    float *toward; /* image toward which voxels are pulled as toward a neighbour of weight toward_b; NULL = none */
    float toward_b;
} qb__icd_slice;

typedef struct qb__icd_band_moved {
    double change; /* sum |x' - x| */
    uint64_t updates;
} qb__icd_band_moved;

/* The functions take pixels[count] of the SuperVoxel, and scratch of qb__icd_band_scratch_bytes, 64-byte aligned. */
typedef struct qb__icd_band_kernel {
    void (*update)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                   const qb__icd_slice *slice, const uint32_t *pixels, size_t count, bool skip,
                   qb__icd_band_moved *moved, void *scratch);
    /* x = A' y with the line integrals in `error`; curve = sum A^2 w; error -= A x */
    void (*back)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                 const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch);
    void (*curve)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                  const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch);
    void (*subtract)(const qb__icd_problem *problem, const qb__icd_bands *bands, const qb__icd_band *band,
                     const qb__icd_slice *slice, const uint32_t *pixels, size_t count, void *scratch);
    /* The prior's cost of the pairs of these pixels with those to the right and below, and with the image toward which
     * they are pulled. */
    double (*prior)(const qb__icd_problem *problem, const qb__icd_slice *slice, const uint32_t *pixels, size_t count);
} qb__icd_band_kernel;

size_t qb__icd_band_scratch_bytes(const qb__icd_bands *bands);

/* ---- the rows of the table ---- */

typedef struct qb__icd_variant {
    qb__variant head; /* an update is an entry of A times a slice; the accuracy is that of the solution */

    /* Compute the column of pixel (ix, iy). */
    void (*footprint)(const qb__footprints *footprints, double ix, double iy, const qb__icd_column *column);
    /* tap[i] = scale * bytes[i]; count is a multiple of 16. */
    void (*unpack)(const uint8_t *bytes, float scale, size_t count, float *tap);
    /* Update pixels[count] in this order. With `skip`, a voxel that is zero among zeros is not changed in its lane, and
     * not visited if this holds in all lanes. scratch: scratch_bytes, 64-byte aligned. */
    void (*update)(const qb__icd_problem *problem, const qb__icd_group *group, const uint32_t *pixels, size_t count,
                   bool skip, qb__icd_moved *moved, void *scratch);
    /* curve[pixel] = sum A^2 w. */
    void (*curve)(const qb__icd_problem *problem, const float *weight, const uint32_t *pixels, size_t count,
                  float *curve, void *scratch);
    /* x[pixel] = sum A' lines; unless NULL, curve[pixel] as by curve() without weights. */
    void (*back)(const qb__icd_problem *problem, const float *lines, const uint32_t *pixels, size_t count, float *x,
                 float *curve, void *scratch);
    /* lines -= A x of these pixels. */
    void (*subtract)(const qb__icd_problem *problem, const float *x, const uint32_t *pixels, size_t count, float *lines,
                     void *scratch);
    /* The prior's cost, added per lane to cost[16]: pairs of these pixels with those to the right, below, and in the
     * next slice. */
    void (*prior)(const qb__icd_problem *problem, const qb__icd_group *group, const uint32_t *pixels, size_t count,
                  double *cost);
    qb__icd_band_kernel band;
} qb__icd_variant;

/* The problem that the planner chooses a kernel for. */
typedef struct qb__icd_size {
    size_t views, columns, pixels, taps;
    bool joined; /* slices are neighbours of each other */
    bool pulled; /* voxels are pulled toward an image */
    bool fan;
    bool repeatable; /* the bits must be the same in every run */
} qb__icd_size;

/* All variants of this build, fastest first, including those whose features the CPU lacks. */
const qb__icd_variant *qb__icd_variants(size_t *count);
size_t qb__icd_scratch_bytes(const qb__footprints *footprints);

/* ---- the double-precision oracle (ref/) ---- */

/* The exact entry of A for a detector column. */
double qb__footprint_reference(const qb__footprints *footprints, size_t view, double ix, double iy, double column);
/* The surrogate's coefficient rho'(d) / d. */
double qb__icd_surrogate_reference(const qb__icd_prior *prior, double d);

/* Algorithm 1 in double precision, one voxel of one slice at a time, in any order; with A as fetched or, if `exact`,
 * from qb__footprint_reference. Data are [view][slice][column], x is [slice][pixel]. */
typedef struct qb__icd_oracle {
    const qb__icd_problem *problem; /* the fetch function in it is called with a column of the oracle's caller */
    bool exact;
    qb__icd_column column;
    size_t slices;
    const double *weight;
    double *error; /* y - A x, updated with every step */
    double *x;
} qb__icd_oracle;
/* Returns |x' - x|. */
double qb__icd_reference_update(const qb__icd_oracle *oracle, size_t slice, uint32_t pixel);
/* error -= A x */
void qb__icd_reference_subtract(const qb__icd_oracle *oracle);
double qb__icd_reference_cost(const qb__icd_oracle *oracle);
