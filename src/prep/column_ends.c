/* SPDX-License-Identifier: MIT */
/* The rows at either end of the detector hold something: the object goes on above or below. */
#include "prep/column_ends.h"

bool qb__column_end_held(const qb__lines_look *lines, double top) {
    size_t full = 0, all = 0;
    for (size_t n = 0; n < QB__SAMPLE_LINES; n++) {
        const qb__line_levels *l = &lines->levels[n];
        all += l->looked;
        full += l->looked && l->high > 0.1 * top && l->high > 5 * l->noise && l->high > qb__least_object;
    }
    return all && 8 * full > all;
}

const char *qb__column_ends_words(unsigned held) {
    return held == 3 ? "at both ends" : held == 1 ? "at row 0" : "at the last row";
}
