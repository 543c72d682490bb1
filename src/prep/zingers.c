/* SPDX-License-Identifier: MIT */
/* --zingers SIGMA: single bright pixels, caused by X-rays that hit the camera itself. A pixel of transmission t is one
 * if
 *   t - u > SIGMA sqrt(var u)   and   t - u > u - l   and   t - u > 0.01 u,
 * where u is the second largest and l the smallest of its eight neighbours. A bright edge or line has at least two
 * bright neighbours everywhere except at its ends, and fine structure makes u - l large, so neither is taken for a
 * zinger. Two neighbouring zingers are still found. A zinger is replaced by the median of its neighbours. Only bright
 * pixels are corrected (Vo et al., Opt. Express 29 (2021) 17849). Transmissions are compared, because in raw numbers
 * the different gains of pixels could be taken for zingers. The variance of a transmission follows from that of the
 * number,
 *   var u = gain^2 (base + slope n),   n = u / gain + dark.
 * If the detector has one row, the neighbours are the two pixels on either side.
 *
 * --zingers-in time: u is the second largest and l the smallest of five columns in the views before and after. Where an
 * edge passes, more than one of them are as bright as the pixel. For other details that move by two columns a view, u -
 * l is a bound from the image's own gradient. The pixel gets the mean of its values before and after, each limited to
 * u. */
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "cpu/features.h"
#include "prep/neighbours.h"

enum { BLOCK = 256 /* columns that the loop handles at once */ };

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options && (options->zingers > 0 || options->zingers_in == QB_ZINGERS_IN_TIME);
}

static bool by_views(const qb_prep_options *options) { return options->zingers_in == QB_ZINGERS_IN_TIME; }

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    if (!(options->zingers > 0))
        return qb__fail(QB_BAD_ARGUMENT, "--zingers-in time: it is not said what a zinger is: give --zingers 8, too");
    const double far = by_views(options) ? qb__near_too_far(info) : 0;
    if (far > 0)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "%s: --zingers-in time: details move by up to %.3g columns from view to view, more than 2.5: leave "
            "it out, so that pixels are compared within a view",
            info->path, far);
    return QB_OK;
}

/* Negative transmissions and NaN count as 0. */
static inline float light(float t) { return t > 0 ? t : 0; }

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

static void copy_rows(const qb__near *in, float *out) {
    for (size_t r = 0; r < in->rows; r++)
        memcpy(out + r * in->stride, in->cells + r * in->stride, in->columns * sizeof *out);
}

static float smaller(float a, float b) { return a < b ? a : b; }

static float mean_in_time(const qb__near *in, size_t c) {
    const float before = light(in->before[c]), after = light(in->after[c]);
    float cells[10];
    for (size_t i = 0; i < 5; i++) {
        cells[i] = light(in->before[(ptrdiff_t)(c + i) - 2]);
        cells[i + 5] = light(in->after[(ptrdiff_t)(c + i) - 2]);
    }
    qb__sort_floats(cells, 10);
    return 0.5f * (smaller(before, cells[8]) + smaller(after, cells[8]));
}

static int find(const qb__lines *loops, const qb__near *in, const float *row, size_t c, size_t at, size_t count,
                int *found) {
    const float sigma = (float)in->options->zingers;
    const float *gain = in->gain ? in->gain + at : NULL, *dark = in->dark ? in->dark + at : NULL;
    if (in->before)
        return loops->zingers_in_time(row + c, in->before + c, in->after + c, gain, dark, in->noise, sigma, count,
                                      found);
    return loops->zingers(row + c, in->alone ? 0 : in->stride, gain, dark, in->noise, sigma, count, found);
}

static uint64_t near(const qb__near *in, float *out) {
    const qb__lines *loops = qb__lines_choose(qb__cpu_features());
    uint64_t all = 0;
    for (size_t r = 0; r < in->rows; r++) {
        const float *row = in->cells + r * in->stride;
        for (size_t c = 0; c < in->columns; c += BLOCK) {
            const size_t count = qb__smaller(in->columns - c, BLOCK), at = r * in->columns + c;
            int found[BLOCK];
            const int zingers = find(loops, in, row, c, at, count, found);
            if (zingers && !all) copy_rows(in, out);
            for (size_t i = 0; zingers && i < count; i++)
                if (found[i])
                    out[r * in->stride + c + i] = in->before ? mean_in_time(in, c + i) : median_around(in, row + c + i);
            all += (uint64_t)zingers;
        }
    }
    return all;
}

static void define(const qb_prep_options *options, qb__macros *macros) {
    const float sigma = (float)options->zingers;
    qb__macros_add_float(macros, "ZINGERS", sigma * sigma);
    qb__macros_add(macros, "IN_TIME", by_views(options));
}

const qb__step qb__step_zingers = {.name = "zingers",
                                   .scope = QB__SCOPE_VIEW,
                                   .wanted = wanted,
                                   .check = check,
                                   .by_views = by_views,
                                   .near = near,
                                   .define = define,
                                   .margin = 1,
                                   .changed = "zingers",
                                   .option = {QB__STEP_OPTION(zingers), QB__STEP_OPTION(zingers_in)}};
