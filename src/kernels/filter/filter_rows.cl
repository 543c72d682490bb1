/* SPDX-License-Identifier: MIT */
/* Prepares and filters detector rows: raw numbers are read once, filtered rows are written once. ITEMS work items hold
 * a row in registers, VALUES complex numbers each, and exchange them through local memory between the passes of the
 * transform. A work group has GROUP_ROWS rows.
 *
 * As on the CPU (ops/filter.c), a padded row of 2 HALF samples is stored as HALF complex numbers, and the spectrum is
 * scaled in pairs Z[k], Z[HALF-k]. The passes with radices RADIX0.. come first (Stockham's order: each pass reads j + r
 * HALF/radix and leaves the numbers sorted), then the pass RADIX_LAST. Its butterfly j yields the frequencies j + r
 * HALF/RADIX_LAST. One work item has this butterfly and butterfly HALF/RADIX_LAST - j, so it holds whole pairs, scales
 * them, and begins the inverse transform with the same numbers. The inverse transform is the forward transform with
 * real and imaginary parts swapped. */
#ifndef LINE
#define LINE LOCAL_POINTER
#endif
#ifndef HALF
#define HALF 64
#define RADIX0 8
#define RADIX1 1 /* 1: this pass does not exist */
#define RADIX2 1
#define RADIX3 1
#define RADIX_LAST 8
#define ITEMS 4 /* work items of a row */
#endif
#ifndef GROUP_ROWS
#define GROUP_ROWS 1
#endif
#ifndef GROUPS_RESIDENT
#define GROUPS_RESIDENT 1 /* groups that a multiprocessor should hold at once; limits the registers */
#endif
#ifndef PAD
#define PAD 0  /* continuation of the row, as in extend.clh */
#define LEFT 0 /* number of continued samples before the row */
#endif

#include "extend.clh"
#include "fft.clh"
#include "prepare_rows.clh"

#define DIVIDE_UP(a, b) (((a) + (b)-1) / (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
/* Number of butterflies of an item, and of the values in them. */
#define TURNS(radix) DIVIDE_UP(HALF / (radix), ITEMS)
#define PAIR_TURNS (2 * DIVIDE_UP(HALF / (RADIX_LAST) / 2, ITEMS))
#define HELD(radix) (TURNS(radix) * (radix))
#define VALUES MOST(MOST(MOST(HELD(RADIX0), HELD(RADIX1)), MOST(HELD(RADIX2), HELD(RADIX3))), PAIR_TURNS *RADIX_LAST)
/* One unused place after every 16 numbers, so that strides of any radix use all banks of local memory. */
#define PLACE(i) ((i) + (i) / 16)
#define ROOM ((HALF + HALF / 16 + 2) / 2 * 2)

/* Place of number first + r step. If first and r step do not carry into the sixteens, the compiler knows the offset. */
FUNCTION uint place(const uint first, const int r, const int step, const int carries) {
    return carries ? PLACE(first + r * step) : PLACE(first) + PLACE(r * step);
}

/* Number of the item's b-th butterfly, and whether it exists. In the last pass they form pairs j, HALF/radix - j.
 * Butterfly 0 and the middle one, which are their own partners, share the first pair. */
FUNCTION uint butterfly(const uint item, const int b, const int radix, const int paired) {
    uint t = item + b / 2 * ITEMS;
    if (!paired) return item + b * ITEMS;
    if (b % 2 == 0) return t;
    return t == 0 ? HALF / radix / 2 : HALF / radix - t;
}
FUNCTION int exists(const uint item, const int b, const int radix, const int paired) {
    const int all = paired ? HALF / radix / 2 : HALF / radix;
    return all % ITEMS == 0 || item + (paired ? b / 2 : b) * ITEMS < all;
}

/* A pass: fetch() loads the values of a butterfly from local memory, transform() transforms them, keep() stores them.
 * `done` is the product of the radices of the earlier passes. */
FUNCTION void fetch(float2 *v, LOCAL_POINTER const float2 *s, const uint item, const int radix, const int paired) {
    UNROLL for (int b = 0; b < (paired ? PAIR_TURNS : TURNS(radix)); b++) {
        uint j = butterfly(item, b, radix, paired);
        if (!exists(item, b, radix, paired)) continue;
        UNROLL for (int r = 0; r < radix; r++) v[b * radix + r] = s[place(j, r, HALF / radix, HALF / radix % 16)];
    }
}

FUNCTION void transform(float2 *v, GLOBAL const float2 *roots, const uint item, const int radix, const int done,
                        const int paired) {
    UNROLL for (int b = 0; b < (paired ? PAIR_TURNS : TURNS(radix)); b++) {
        uint j = butterfly(item, b, radix, paired);
        if (!exists(item, b, radix, paired)) continue;
        if (done > 1) turn(v + b * radix, roots[j % done * (HALF / (done * radix))], radix);
        dft(v + b * radix, radix);
    }
}

FUNCTION void keep(const float2 *v, LOCAL_POINTER float2 *s, const uint item, const int radix, const int done,
                   const int paired) {
    const int block = done * radix;
    const int carries = done % 16 && (16 % done || (block % 16 && 16 % block));
    UNROLL for (int b = 0; b < (paired ? PAIR_TURNS : TURNS(radix)); b++) {
        uint j = butterfly(item, b, radix, paired);
        uint first = j / done * block + j % done;
        if (!exists(item, b, radix, paired)) continue;
        UNROLL for (int r = 0; r < radix; r++) s[place(first, r, done, carries)] = v[b * radix + r];
    }
}

/* The first barrier waits until all items have stored their values, the second until all have loaded theirs. */
#define PASS(radix, done, paired)                                                                                      \
    do {                                                                                                               \
        BARRIER();                                                                                                     \
        fetch(v, s, item, radix, paired);                                                                              \
        BARRIER();                                                                                                     \
        transform(v, roots, item, radix, done, paired);                                                                \
    } while (0)

/* A compile-time constant: whether the r-th values of the first pass are columns in all items. */
#define ALL_INSIDE(r) (2 * (r) * (HALF / RADIX0) >= LEFT && 2 * ((r) + 1) * (HALF / RADIX0) <= LEFT + COLUMNS)

/* Fits the ellipse, which needs sums over the whole row. The sums of the items are stored behind the row. */
FUNCTION void fit_ellipse(LOCAL_POINTER float *line, const uint item, ellipse *first, ellipse *last) {
    LOCAL_POINTER float *parts = line + COLUMNS;
    float sums[ELLIPSE_SUMS];
    ellipse_sums(line, COLUMNS, (int)item, ITEMS, sums);
    for (int i = 0; i < ELLIPSE_SUMS; i++) parts[ELLIPSE_SUMS * item + i] = sums[i];
    for (int n = ITEMS; n > 1;) {
        int rest = (n + 1) / 2;
        BARRIER();
        for (int i = 0; item + rest < n && i < ELLIPSE_SUMS; i++)
            parts[ELLIPSE_SUMS * item + i] += parts[ELLIPSE_SUMS * (item + rest) + i];
        n = rest;
    }
    BARRIER();
    for (int i = 0; i < ELLIPSE_SUMS; i++) sums[i] = parts[i];
    ellipse_fit(sums, COLUMNS, first, last);
}

FUNCTION void fetch_line(float2 *v, LOCAL_POINTER float *line, const uint item) {
    const int step = HALF / RADIX0;
    ellipse first, last;
    first.level = first.slope = first.quadratic = 0.0f;
    last = first;
    if (PAD == ELLIPSE) fit_ellipse(line, item, &first, &last);
    UNROLL for (int b = 0; b < TURNS(RADIX0); b++) {
        if (!exists(item, b, RADIX0, 0)) continue;
        UNROLL for (int r = 0; r < RADIX0; r++) {
            int at = 2 * ((int)butterfly(item, b, RADIX0, 0) + r * step) - LEFT;
            if (PAD == ZERO && 2 * r * step >= COLUMNS)
                v[b * RADIX0 + r] = complex_of(0.0f, 0.0f);
            else if (LEFT % 2 == 0 && (ALL_INSIDE(r) || (at >= 0 && at + 1 < COLUMNS)))
                v[b * RADIX0 + r] = *(LOCAL_POINTER const float2 *)(line + at);
            else
                v[b * RADIX0 + r] = complex_of(sample_of(line, at, COLUMNS, PAD, first, last),
                                               sample_of(line, at + 1, COLUMNS, PAD, first, last));
        }
    }
}

FUNCTION void scale_own(float2 *a, float4 c) { *a = scaled(a->x, a->y, c); }
FUNCTION void scale_pair(float2 *a, float2 *b, float4 c) {
    float2 one = scaled(a->x, b->y, c), two = scaled(a->y, b->x, c);
    *a = complex_of(one.x, two.x);
    *b = complex_of(two.y, one.y);
}

/* Scales the first pair of butterflies: frequencies r HALF/radix, and those half a step higher. */
FUNCTION void scale_first(float2 *a, float2 *b, GLOBAL const float4 *coefficients) {
    const int radix = RADIX_LAST, step = HALF / RADIX_LAST;
    scale_own(a, coefficients[0]);
    if (radix % 2 == 0) scale_own(a + radix / 2, coefficients[HALF / 2]);
    if (radix % 2 == 1) scale_own(b + radix / 2, coefficients[HALF / 2]);
    UNROLL for (int r = 1; r < (radix + 1) / 2; r++) scale_pair(a + r, a + radix - r, coefficients[r * step]);
    UNROLL for (int r = 0; r < radix / 2; r++) scale_pair(b + r, b + radix - 1 - r, coefficients[r * step + step / 2]);
}

FUNCTION void scale_all(float2 *v, GLOBAL const float4 *coefficients, const uint item) {
    const int radix = RADIX_LAST, step = HALF / RADIX_LAST;
    UNROLL for (int p = 0; p < PAIR_TURNS / 2; p++) {
        float2 *a = v + 2 * p * radix, *b = a + radix;
        uint j = item + p * ITEMS;
        if (!exists(item, 2 * p, radix, 1)) continue;
        if (j == 0) {
            scale_first(a, b, coefficients);
            continue;
        }
        UNROLL for (int r = 0; r < radix; r++) {
            if (2 * r < radix) /* scale_pair() needs the lower frequency first */
                scale_pair(a + r, b + radix - 1 - r, coefficients[j + r * step]);
            else
                scale_pair(b + radix - 1 - r, a + r, coefficients[HALF - j - r * step]);
        }
    }
}

FUNCTION void swap_parts(float2 *v) { UNROLL for (int i = 0; i < VALUES; i++) v[i] = complex_of(v[i].y, v[i].x); }

/* Writes the values of the last pass, whose parts are still swapped, to their columns. in_twos: two columns at a
 * time. */
FUNCTION void write_line(const float2 *v, GLOBAL float *out, const float weight, const uint item, const int in_twos) {
    const int step = HALF / RADIX0, twos = in_twos && LEFT % 2 == 0 && COLUMNS % 2 == 0;
    UNROLL for (int b = 0; b < TURNS(RADIX0); b++) {
        if (!exists(item, b, RADIX0, 0)) continue;
        UNROLL for (int r = 0; r < RADIX0; r++) {
            int c = 2 * ((int)butterfly(item, b, RADIX0, 0) + r * step) - LEFT;
            if (2 * r * step - LEFT >= COLUMNS) continue;
            float x = v[b * RADIX0 + r].y * weight, y = v[b * RADIX0 + r].x * weight;
            int one = ALL_INSIDE(r) || (c >= 0 && c < COLUMNS);
            int other = ALL_INSIDE(r) || (c + 1 >= 0 && c + 1 < COLUMNS);
            if (twos) {
                if (one) *(GLOBAL float2 *)(out + c) = complex_of(x, y);
                continue;
            }
            if (one) out[c] = x;
            if (other) out[c + 1] = y;
        }
    }
}

#define DONE1 (RADIX0 * RADIX1)
#define DONE2 (DONE1 * RADIX2)
#define DONE3 (DONE2 * RADIX3)

/* Transforms samples n = j + r HALF/RADIX0 to frequencies, in pairs of butterflies. */
FUNCTION void forth(float2 *v, LOCAL_POINTER float2 *s, GLOBAL const float2 *roots, const uint item) {
    transform(v, roots, item, RADIX0, 1, 0);
    keep(v, s, item, RADIX0, 1, 0);
    if (RADIX1 > 1) {
        PASS(RADIX1, RADIX0, 0);
        keep(v, s, item, RADIX1, RADIX0, 0);
    }
    if (RADIX2 > 1) {
        PASS(RADIX2, DONE1, 0);
        keep(v, s, item, RADIX2, DONE1, 0);
    }
    if (RADIX3 > 1) {
        PASS(RADIX3, DONE2, 0);
        keep(v, s, item, RADIX3, DONE2, 0);
    }
    PASS(RADIX_LAST, DONE3, 1);
}

FUNCTION void back(float2 *v, LOCAL_POINTER float2 *s, GLOBAL const float2 *roots, const uint item) {
    transform(v, roots, item, RADIX_LAST, 1, 1);
    keep(v, s, item, RADIX_LAST, 1, 1);
    if (RADIX3 > 1) {
        PASS(RADIX3, HALF / DONE3, 0);
        keep(v, s, item, RADIX3, HALF / DONE3, 0);
    }
    if (RADIX2 > 1) {
        PASS(RADIX2, HALF / DONE2, 0);
        keep(v, s, item, RADIX2, HALF / DONE2, 0);
    }
    if (RADIX1 > 1) {
        PASS(RADIX1, HALF / DONE1, 0);
        keep(v, s, item, RADIX1, HALF / DONE1, 0);
    }
    PASS(RADIX0, HALF / RADIX0, 0);
}

/* Arguments as in prepare_rows; roots[k] = exp(-2 pi i k/HALF). */
KERNEL GROUPS_OF(ITEMS *GROUP_ROWS, GROUPS_RESIDENT) void filter_rows(
    GLOBAL const raw_number *RESTRICT raw, GLOBAL const float *RESTRICT dark, GLOBAL const float *RESTRICT gain,
    GLOBAL const float *RESTRICT mode, GLOBAL const float *RESTRICT drift, GLOBAL const course *RESTRICT courses,
    GLOBAL const float *RESTRICT air, GLOBAL const float *RESTRICT weights, GLOBAL const float *RESTRICT share,
    GLOBAL const float *RESTRICT view_share, GLOBAL const float2 *RESTRICT roots,
    GLOBAL const float4 *RESTRICT coefficients, GLOBAL float *RESTRICT out, GLOBAL uint *RESTRICT counts,
    ulong raw_first, ulong raw_view, ulong raw_slice, ulong out_first, ulong out_view, ulong out_slice, uint rows,
    uint slices, uint view0, uint row0, uint row_step, ulong apart, float bound, int in_fours,
    int in_twos LOCAL_DYNAMIC_ARGUMENT(float4, shared_fours)) {
    /* aligned for float4: ROOM numbers for each of GROUP_ROWS rows, then FOUND words */
    LOCAL_DYNAMIC(float4, shared_fours);
    LOCAL_POINTER float2 *shared = (LOCAL_POINTER float2 *)shared_fours;
    LOCAL_POINTER int *found = (LOCAL_POINTER int *)(shared + GROUP_ROWS * ROOM);
    const uint slot = local_id(0) / ITEMS, item = local_id(0) - slot * ITEMS; /* PoCL 3.1 compiles % wrongly here */
    LOCAL_POINTER float2 *s = shared + slot * ROOM;
    LOCAL_POINTER int *line = (LOCAL_POINTER int *)s;
    uint row = group_id(0) * GROUP_ROWS + slot;
    int mine[FOUND] = {0, 0, 0, 0}, spare = row >= rows; /* spare: a slot of the last group without a row */
    if (spare) row = rows - 1;
    uint v_index = row / slices, slice = row % slices;
    ulong at = (ulong)row0 + (ulong)slice * row_step, field = at * RAW_COLUMNS;
    float2 v[VALUES];

    for (int i = (int)local_id(0); i < FOUND; i += ITEMS * GROUP_ROWS) found[i] = 0;
    BARRIER();
    integrals(raw + ROW_AT(raw_first, v_index, raw_view, slice, raw_slice), dark + field, gain + field, mode + field,
              apart, drift + (ulong)(view0 + v_index) * (DRIFT + 1), courses + at * COURSES, view0 + v_index,
              LOGARITHM && HAS_AIR ? air[view0 + v_index] : 1.0f, bound, 1.0f, in_fours, item, line + BEFORE, mine);
    for (int i = 0; i < FOUND; i++) {
        if (mine[i] && !spare) ATOMIC_ADD(found + i, mine[i]);
    }
    BARRIER();
    if (found[NOT_FINITE] + found[DEAD] + found[SATURATED] != 0) repair(line + BEFORE, item);
    if (HAS_SHARE) {
        share_out(line, share, view_share, field, view0 + v_index, item);
        BARRIER();
    }
    if (local_id(0) == 0) add_found(counts, found);

    fetch_line(v, (LOCAL_POINTER float *)s, item);
    BARRIER();
    forth(v, s, roots, item);
    scale_all(v, coefficients, item);
    swap_parts(v);
    back(v, s, roots, item);
    if (spare) return;
    GLOBAL float *to = out + ROW_AT(out_first, v_index, out_view, slice, out_slice);
    write_line(v, to, weights[view0 + v_index], item, in_twos);
}
