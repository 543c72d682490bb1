/* SPDX-License-Identifier: MIT */
/* --zingers SIGMA: single bright pixels, as X-rays that hit the camera itself make them. A pixel of transmission t is one if
 *   t - u > SIGMA sqrt(var u)   and   t - u > u - l   and   t - u > 0.01 u,
 * u being the second largest and l the smallest of its eight neighbours. A bright edge or a bright line has at least two bright
 * neighbours everywhere but at its ends, and fine structure makes u - l large, so that neither is taken for a zinger, while two zingers
 * side by side are found. What is found takes the median of its neighbours. Only bright pixels are corrected (Vo et al., Opt. Express
 * 29 (2021) 17849), and in transmissions, lest what the detector's pixels differ by be taken for zingers; the variance of a transmission
 * follows from that of the number,
 *   var u = gain^2 (base + slope n),   n = u / gain + dark.
 * A detector of one row: the two neighbours on either side. */
#include "base/sort.h"
#include "prep/prep.h"
#include "prep/step.h"

enum { BLOCK = 256 };

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options && options->zingers > 0;
}

static inline float larger(float a, float b) { return a > b ? a : b; }
static inline float smaller(float a, float b) { return a < b ? a : b; }
/* Nothing is darker than no light, and what is no number is no neighbour either. */
static inline float light(float t) { return t > 0 ? t : 0; }

/* Of the neighbours of a block of pixels. */
typedef struct around {
    float second[BLOCK], least[BLOCK];
} around;

/* The larger and the smaller of a column's pixels above and below, and of all three the two largest and the smallest. */
typedef struct columns {
    float high[BLOCK + 2], low[BLOCK + 2], most[BLOCK + 2], next[BLOCK + 2], least[BLOCK + 2];
} columns;

static void sort_columns(const float *row, size_t stride, size_t count, columns *s) {
    const float *above = row - stride - 1, *here = row - 1, *below = row + stride - 1;
    for (size_t i = 0; i < count + 2; i++) {
        const float a = light(above[i]), b = light(here[i]), c = light(below[i]);
        const float high = larger(a, c), low = smaller(a, c);
        s->high[i] = high;
        s->low[i] = low;
        s->most[i] = larger(high, b);
        s->next[i] = larger(low, smaller(high, b));
        s->least[i] = smaller(low, b);
    }
}

static void look_at_eight(const float *row, size_t stride, size_t count, around *a) {
    columns s;
    sort_columns(row, stride, count, &s);
    for (size_t i = 0; i < count; i++) {
        const float left = s.most[i], right = s.most[i + 2], low = larger(s.next[i], s.next[i + 2]);
        const float most = larger(left, right), next = larger(smaller(left, right), low);
        a->second[i] = larger(smaller(most, s.high[i + 1]), larger(next, s.low[i + 1]));
        a->least[i] = smaller(smaller(s.least[i], s.least[i + 2]), s.low[i + 1]);
    }
}

static void look_at_four(const float *row, size_t count, around *of) {
    for (size_t i = 0; i < count; i++, row++) {
        const float a = light(row[-2]), b = light(row[-1]), c = light(row[1]), d = light(row[2]);
        of->second[i] = larger(smaller(larger(a, b), larger(c, d)), larger(smaller(a, b), smaller(c, d)));
        of->least[i] = smaller(smaller(a, b), smaller(c, d));
    }
}

/* Into found[] 1 where there is a zinger; how many. */
static int compare(const qb__near *in, const float *row, size_t at, size_t count, const around *a, int *found) {
    const float sigma = (float)in->options->zingers, square = sigma * sigma, share = 0.01f;
    int sum = 0;
    for (size_t i = 0; i < count; i++) {
        const float gain = in->gain ? in->gain[at + i] : 1, dark = in->dark ? in->dark[at + i] : 0;
        const float base = light(in->noise[0] + in->noise[1] * dark), u = a->second[i];
        const float noise = square * (gain * (gain * base + in->noise[1] * u));
        const float above = row[i] - u, structure = larger(share * u, u - a->least[i]);
        found[i] = above > structure && above * above > noise;
        sum += found[i];
    }
    return sum;
}

static float median_around(const qb__near *in, const float *row) {
    float cells[8];
    size_t n = 0;
    if (in->alone) {
        const float four[4] = {light(row[-2]), light(row[-1]), light(row[1]), light(row[2])};
        for (; n < 4; n++) cells[n] = four[n];
    } else {
        for (int r = -1; r <= 1; r++)
            for (int c = -1; c <= 1; c++)
                if (r || c) cells[n++] = light(row[r * (ptrdiff_t)in->stride + c]);
    }
    qb__sort_floats(cells, n);
    return 0.5f * (cells[n / 2 - 1] + cells[n / 2]);
}

static uint64_t near(const qb__near *in, float *out) {
    uint64_t all = 0;
    for (size_t r = 0; r < in->rows; r++) {
        for (size_t c = 0; c < in->columns; c += BLOCK) {
            const size_t count = in->columns - c < BLOCK ? in->columns - c : BLOCK;
            const float *row = in->cells + r * in->stride + c;
            float *made = out + r * in->stride + c;
            around a;
            int found[BLOCK];
            if (in->alone)
                look_at_four(row, count, &a);
            else
                look_at_eight(row, in->stride, count, &a);
            const int zingers = compare(in, row, r * in->columns + c, count, &a, found);
            for (size_t i = 0; i < count; i++) made[i] = row[i];
            for (size_t i = 0; zingers && i < count; i++)
                if (found[i]) made[i] = median_around(in, row + i);
            all += (uint64_t)zingers;
        }
    }
    return all;
}

static void define(const qb_prep_options *options, qb__macros *macros) {
    const float sigma = (float)options->zingers;
    qb__macros_add_float(macros, "ZINGERS", sigma * sigma);
}

const qb__step qb__step_zingers = {.name = "zingers",
                                   .scope = QB__SCOPE_VIEW,
                                   .wanted = wanted,
                                   .near = near,
                                   .define = define,
                                   .margin = 1,
                                   .changed = "zingers"};
