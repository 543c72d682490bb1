/* SPDX-License-Identifier: MIT */
#include "prepare_rows.clh"

/* Reads the raw row of view view0 + v and slice s at raw[raw_first + v raw_view + s raw_slice] and writes its line
 * integrals, times weights[view0 + v], to out[out_first + v out_view + s out_slice]. Its fields are those of detector
 * row row0 + s row_step. share: [RAW_COLUMNS] if HAS_SHARE, with SHARE_ROWS one row for each row of the fields.
 * view_share: [views][RAW_COLUMNS] if HAS_VIEW_SHARE. */
KERNEL void prepare_rows(GLOBAL const raw_number *RESTRICT raw, GLOBAL const float *RESTRICT dark,
                         GLOBAL const float *RESTRICT gain, GLOBAL const float *RESTRICT mode,
                         GLOBAL const float *RESTRICT drift, GLOBAL const course *RESTRICT courses,
                         GLOBAL const float *RESTRICT air, GLOBAL const float *RESTRICT weights,
                         GLOBAL const float *RESTRICT share, GLOBAL const float *RESTRICT view_share, GLOBAL float *out,
                         GLOBAL uint *RESTRICT counts, ulong raw_first, ulong raw_view, ulong raw_slice,
                         ulong out_first, ulong out_view, ulong out_slice, uint slices, uint view0, uint row0,
                         uint row_step, ulong apart, float bound, int in_fours, int weighted) {
    LOCAL int found[FOUND];
    int item = (int)local_id(0), mine[FOUND] = {0, 0, 0, 0};
    uint row = group_id(0), v = row / slices, s = row % slices;
    ulong at = (ulong)row0 + (ulong)s * row_step, field = at * RAW_COLUMNS;
    LINE int *line = (LINE int *)(out + ROW_AT(out_first, v, out_view, s, out_slice));
    for (int i = item; i < FOUND; i += ITEMS) found[i] = 0;
    BARRIER_ALL();
    integrals(raw + ROW_AT(raw_first, v, raw_view, s, raw_slice), dark + field, gain + field, mode + field, apart,
              drift + (ulong)(view0 + v) * (DRIFT + 1), courses + at * COURSES, view0 + v,
              LOGARITHM && HAS_AIR ? air[view0 + v] : 1.0f, bound, weighted ? weights[view0 + v] : 1.0f, in_fours, item,
              line + BEFORE, mine);
    for (int i = 0; i < FOUND; i++) {
        if (mine[i]) ATOMIC_ADD(found + i, mine[i]);
    }
    BARRIER_ALL();
    if (found[NOT_FINITE] + found[DEAD] + found[SATURATED] != 0) repair(line + BEFORE, item);
    if (HAS_SHARE) share_out(line, share, view_share, field, view0 + v, item);
    if (item == 0) add_found(counts, found);
}
