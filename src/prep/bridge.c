/* SPDX-License-Identifier: MIT */
/* Columns without a value are counted and filled by linear interpolation between the good columns around them. At a
 * row's end, without a second neighbour, the row is continued by --pad, else by the good value; saturated columns there
 * are air. */
#include <math.h>
#include <string.h>

#include "ops/filter.h"
#include "prep/pixel_key.h"
#include "prep/prep.h"
#include "prep/step.h"

static bool always(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info, (void)options;
    return true;
}

static bool is_full(float value) {
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits == QB__LINE_FULL;
}

/* Fill columns first..end-1, which are NaN. At an end that --pad will continue, only saturated columns get a value. */
static void bridge(qb_pad ends, float *out, size_t columns, size_t first, size_t end) {
    float left = first > 0 ? out[first - 1] : end < columns ? out[end] : 0;
    float right = end < columns ? out[end] : left;
    const bool at_end = first == 0 || end == columns;
    for (size_t i = first; i < end; i++) {
        if (at_end && is_full(out[i])) {
            out[i] = 0;
            continue;
        }
        if (at_end && ends != QB_PAD_EDGE && end - first < columns) continue;
        float part = (float)(i - first + 1) / (float)(end - first + 1);
        out[i] = (1 - part) * left + part * right;
    }
}

/* Treat the last measured pixel as the end of the detector: beyond it the row is continued as --pad says. */
static void continue_row(qb_pad ends, float *out, size_t columns) {
    size_t first = 0, end = columns;
    while (first < columns && isnan(out[first])) first++;
    while (end > first && isnan(out[end - 1])) end--;
    if (first < end && (first > 0 || end < columns)) qb__extend(ends, out + first, end - first, first, columns - end);
}

static void count_lost(const qb__prep *prep, const qb__line *line, size_t column) {
    qb__prep_counts *counts = line->counts;
    const uint64_t place = qb__pixel_key(line->view, prep->row0 + line->row, column);
    counts->not_finite++;
    counts->placed += place != 0;
    counts->place = qb__pixel_key_first(counts->place, place);
}

static void run(const qb__prep *prep, qb__line *line, size_t column, size_t columns, const float *in, float *out) {
    const bool lines = prep->quantity == QB_LINE_INTEGRAL;
    const float *gain = !lines && prep->gain ? prep->gain + line->row * columns : NULL;
    const float *dark = lines && prep->dark ? prep->dark + line->row * columns : NULL;
    (void)column, (void)in;
    const bool ends = line->lost && !prep->keep_lost && prep->ends != QB_PAD_EDGE;
    for (size_t i = 0; line->lost && i < columns; i++) {
        size_t first = i;
        for (; i < columns && isnan(out[i]); i++) {
            if ((gain && gain[i] == 0) || (dark && isnan(dark[i])))
                line->counts->dead++;
            else if (is_full(out[i]))
                line->counts->saturated++;
            else
                count_lost(prep, line, i);
        }
        if (i > first && !prep->keep_lost) bridge(prep->ends, out, columns, first, i);
    }
    if (ends) continue_row(prep->ends, out, columns);
    line->lost = 0;
}

const qb__step qb__step_bridge = {.name = "bridge", .scope = QB__SCOPE_ROW, .wanted = always, .run = run};
