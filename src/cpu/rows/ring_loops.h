/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Numbers that may be read, and are finite, beyond the ends of the lines of doubles below. */
enum { QB__RING_ENDS = 16 };
enum { QB__RING_MOST = 16 /* largest number of values that middles() and deviations() take */, QB__RING_LANES = 16 };
/* What middles() takes of three second differences k: k[0], (k[-1] - 2 k[0] + k[1]) / 6, or (k[-1] - k[0]) / 2. */
typedef enum qb__ring_measure { QB__RING_KINK, QB__RING_HEIGHT, QB__RING_STEP } qb__ring_measure;

/* The inner loops of --rings (prep/rings.h) over the columns of a row, for one set of CPU features. All sets give the
 * same bits, since no value depends on other columns than its own. None may be NaN. */
typedef struct qb__ring_loops {
    /* sum += line */
    void (*add)(const float *line, size_t columns, double *sum);
    /* sum += weight * line */
    void (*add_weighted)(const float *line, size_t columns, double weight, double *sum);
    /* sum[c] += |line[c - 1] - 2 line[c] + line[c + 1]| for all but the first and the last column */
    void (*add_kinks)(const float *line, size_t columns, double *sum);
    /* out[c] = median of the nine values in[c], in[c + apart], ... */
    void (*median9)(const double *in, size_t apart, size_t columns, double *out);
    /* out[c] = in[c + 7] - median of in[c] to in[c + 14] */
    void (*less_median15)(const float *in, size_t columns, float *out);
    /* Sorts the `count` values of each of 16 columns; -0 comes before 0. */
    void (*sort)(float (*values)[QB__RING_LANES], size_t count);
    /* For the values v of `count` lines, `apart` numbers from one to the next, less their trend over the lines: the
     * mean of the middle three fifths, and its standard error from the median distance from the median. */
    void (*middles)(const double *kinks, size_t apart, size_t count, qb__ring_measure measure, size_t columns,
                    double *middle, double *error);
    /* The height of a stripe one column wide by its second differences (prep/rings_partial.c). */
    void (*heights)(const double *kinks, size_t columns, double *height);
    /* The change over QB__RING_MOST lines in the height of a stripe one column wide at in[c] (prep/rings_courses.c) that
     * explains most, and how much: box[c] = 32 first + end of the lines inside a box, at least `shortest` inside and
     * outside, or -1 for a trend. Reads two numbers before and after each line, too. */
    void (*changes)(const double *in, size_t apart, size_t shortest, size_t columns, double *size, double *box);
    /* squares[c]: sum of the squared distances of `count` lines from their median. */
    void (*deviations)(const double *lines, size_t apart, size_t count, size_t columns, double *squares);
} qb__ring_loops;

extern const qb__ring_loops qb__ring_loops_scalar, qb__ring_loops_avx2, qb__ring_loops_avx512;
/* The fastest set for this CPU. */
const qb__ring_loops *qb__ring_loops_here(void);
