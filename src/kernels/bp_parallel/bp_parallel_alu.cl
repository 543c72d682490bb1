/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection by arithmetic on rows cached in shared memory. A group owns an area of AREA x AREA
 * pixels. For VIEWS views at a time it copies the bins that the area needs into shared memory; then every thread sums
 * PIXELS pixels of a column (rows STEP apart).
 *
 * A view's bins begin at an integer column, the base, computed in 64-bit fixed point with 32 fraction bits. The
 * remaining coordinate is small, so its error in single precision is 1e-5 columns (linear); nearest and oversampled
 * coordinates stay 64-bit and exact.
 *
 * DIFFERENCE caches for bin k the pair (v - k d, d), d = next - v: a pixel at h then takes one multiply-add, v + (h -
 * k) d = (v - k d) + h d, without computing the fraction. */
#ifndef INTERP
#define INTERP 0 /* 0 linear, 1 nearest, 2 oversampled by 4 */
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef HALF
#define HALF 0 /* 1: bins cached in half precision; 2: arithmetic in half precision too */
#endif
#ifndef WIDTH
#define WIDTH 0 /* slices that are cached together; 0: all, fewer: divided into several */
#endif
#ifndef DIFFERENCE
/* 1: a thread caches neighbouring bins and reuses the last; 2: it loads twice */
#define DIFFERENCE 0
#endif
#if WIDTH == 0
#undef WIDTH
#define WIDTH SLICES
#endif
#ifndef WRITE64
#define WRITE64 0 /* a thread caches two bins at once */
#endif
#ifndef AREA
#define AREA 32
#endif
#ifndef PIXELS
#define PIXELS 4 /* 4, 8 (AREA 32 and 64), 16 (AREA 64) */
#endif
#ifndef VIEWS
#define VIEWS 8
#endif
#ifndef ROUND
#define ROUND 1 /* linear: 0 floor and convert; 1 floating-point rounding; 2 and indexing */
#endif
#ifndef CACHE
#define CACHE 2 /* base (0), and turn (1), both for many views ahead (2), or base + x turn (3) */
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef BINS
#define BINS (AREA * 3 / 2 * (INTERP == 2 ? 4 : 1)) /* cached bins of a view */
#endif
#ifndef TEXTURE_SHARE
#define TEXTURE_SHARE 0 /* number of areas out of 8 that use the texture unit instead */
#endif
#ifndef BALANCE
#define BALANCE 0 /* chosen by the area's number (0), or kept in proportion on each multiprocessor (1) */
#endif

/* Whether loops over views and pixels are unrolled: needed on GPUs (sums in registers); compilers for CPUs take minutes
 * for it. */
#ifndef UNROLLED
#define UNROLLED 1
#endif
#if UNROLLED
#define UNROLL_LONG UNROLL
#else
#define UNROLL_LONG
#endif
#define THREADS (AREA * AREA / PIXELS)
#define STEP (THREADS / AREA)
#define TEAM (AREA == 32 ? 16 : 32) /* threads that cache a view */
#define TEAMS (THREADS / TEAM)
#define AHEAD (THREADS < 256 ? THREADS : 256)
#define PARTS (SLICES / WIDTH)
#define SCALARS (WIDTH * (DIFFERENCE ? 2 : 1)) /* numbers in a cached element */
#define OVER (INTERP == 2 ? 4 : 1)

#if HALF
#define STORED JOIN(HALVES_, SLICES)
#define UNPACK_STORED JOIN(UNPACK_HALVES_, SLICES)
#else
#define STORED JOIN(FLOATS_, SLICES)
#define UNPACK_STORED JOIN(UNPACK_FLOATS_, SLICES)
#endif
#if WIDTH == 1 && DIFFERENCE
#define COUNT 2
#elif WIDTH == 2 && DIFFERENCE
#define COUNT 4
#elif WIDTH == 4 && DIFFERENCE
#define COUNT 8
#else
#define COUNT WIDTH
#endif
#if HALF
#define ELEMENT JOIN(HALVES_, COUNT)
#define UNPACK JOIN(UNPACK_HALVES_, COUNT)
#define PACK JOIN(PACK_HALVES_, COUNT)
#define ELEMENT_BYTES (2 * COUNT)
#else
#define ELEMENT JOIN(FLOATS_, COUNT)
#define UNPACK JOIN(UNPACK_FLOATS_, COUNT)
#define PACK JOIN(PACK_FLOATS_, COUNT)
#define ELEMENT_BYTES (4 * COUNT)
#endif
#define FIXED_UNIT 2.3283064365386963e-10f /* 2^-32 */
#define FETCH JOIN(JOIN(TEXTURE_READ, SLICES), _LAYER)
#define UNPACK_TEXEL JOIN(UNPACK_FLOATS_, SLICES)

#if INTERP == 0
#define COORDINATE float
#define MOVED(from, step, n) FMA(step, (float)(n), from)
#else
#define COORDINATE LONG
#define MOVED(from, step, n) ((from) + (step) * (n))
#endif

/* A view: column of pixel (0,0), step in x and in y, and how far below an area's corner its lowest coordinate is; in
 * 2^-32 columns (samples if oversampled), with half a column added for nearest. The table is padded with zeros to a
 * multiple of 256 views. */
typedef struct fixed_line {
    LONG a, b, c, low;
} fixed_line;

/* The first cached bin of a view, and the position of the area's corner relative to it. One bin below the lowest is
 * cached too: rounding may read it, with weight zero. */
typedef struct area_line {
    int first;
    COORDINATE base, a, b;
} area_line;

FUNCTION area_line line_in_area(fixed_line line, int x0, int y0) {
    LONG corner = line.a * x0 + line.b * y0 + line.c;
    area_line at;
    at.first = (int)((corner + line.low) >> 32) - 1;
    corner -= (LONG)at.first << 32;
#if INTERP == 0
    at.base = (float)corner * FIXED_UNIT;
    at.a = (float)line.a * FIXED_UNIT, at.b = (float)line.b * FIXED_UNIT;
#else
    at.base = corner, at.a = line.a, at.b = line.b;
#endif
    return at;
}

#include "bp_parallel_alu_cache.clh"
#include "bp_parallel_alu_pixel.clh"
#if TEXTURE_SHARE
#include "bp_parallel_alu_texture.clh"
#endif

FUNCTION int z_order_x(int i) { return (i & 1) | (i >> 1 & 2); }
FUNCTION int z_order_y(int i) { return (i >> 1 & 1) | (i >> 2 & 2); }

KERNEL GROUPS_OF(THREADS, BLOCKS) void bp_parallel_alu(GLOBAL const STORED *RESTRICT packed,
                                                       GLOBAL const fixed_line *RESTRICT lines, int views, int columns,
                                                       GLOBAL const float *RESTRICT undo, ulong undo_at,
                                                       GLOBAL float *RESTRICT out, ulong out_at, int nx, int ny,
                                                       int slices
#if TEXTURE_SHARE
                                                       ,
                                                       TEXTURE_LAYERED(sinogram), GLOBAL int *next, int areas_x,
                                                       int areas_y, int areas
#endif
) {
    LOCAL_ALIGNED ELEMENT cache[PARTS * VIEWS * BINS];
    const int item = (int)local_id(0), team = item / TEAM, member = item % TEAM;
    /* 16 threads cover 4x4 pixels along a Z-order curve; such squares form rows. */
    const int square = item >> 4;
    const int x = square % (AREA / 4) * 4 + z_order_x(item & 15);
    const int y = square / (AREA / 4) * 4 + z_order_y(item & 15);
#if TEXTURE_SHARE
    LOCAL int taken[1];
    LOCAL area_line seen[64];
#if BALANCE
    if (item == 0) taken[0] = take_area(next, areas);
    BARRIER();
    const int number = taken[0];
#else
    const int number = (int)group_id(0);
#endif
    /* Each group of slices has a multiple of eight area numbers, so that an area's method is the same in all. */
    const int plane = (areas_x * areas_y + 7) / 8 * 8, area = number % plane;
    if (number >= areas || area >= areas_x * areas_y) return;
    const int by_texture = number % 8 < TEXTURE_SHARE;
    const int x0 = area % areas_x * AREA, y0 = area / areas_x * AREA, group = number / plane;
#else
    const int x0 = (int)group_id(0) * AREA, y0 = (int)group_id(1) * AREA, group = (int)group_id(2);
#endif

    float sum[PIXELS][SLICES];
    UNROLL_LONG for (int q = 0; q < PIXELS; q++) UNROLL for (int s = 0; s < SLICES; s++) sum[q][s] = 0.0f;

#if CACHE == 2
    LOCAL area_line ahead[AHEAD];
#elif CACHE == 3
    LOCAL COORDINATE base_of[VIEWS][AREA], turn_y[VIEWS];
#else
    LOCAL COORDINATE base_of[VIEWS];
#if CACHE == 1
    LOCAL COORDINATE turn_x[VIEWS], turn_y[VIEWS];
#endif
#endif
    packed += (ulong)group * (ulong)views * (ulong)columns;

#if TEXTURE_SHARE
    if (by_texture) {
        for (int first = 0; first < views; first += 64) {
            BARRIER();
            if (item < 64) seen[item] = line_in_area(lines[first + item], x0, y0);
            BARRIER();
            const int end = views - first < 64 ? views - first : 64;
            for (int p = 0; p < end; p++) {
                const area_line at = seen[p];
                const COORDINATE h = MOVED(MOVED(at.base, at.a, x), at.b, y);
                UNROLL_LONG for (int q = 0; q < PIXELS; q++)
                    add_texel(sum[q], TEXTURE_PASS(sinogram), MOVED(h, at.b, q * STEP), at.first, first + p, group);
            }
        }
    } else
#endif
        for (int first = 0; first < views; first += VIEWS) {
            BARRIER();
#if CACHE == 2
            if (first % AHEAD == 0) {
                if (item < AHEAD) ahead[item] = line_in_area(lines[first + item], x0, y0);
                BARRIER();
            }
#endif
            for (int round = 0; round < VIEWS; round += TEAMS) {
                const int wanted = round + team < VIEWS;
                const int p = wanted ? round + team : 0, view = first + p;
                GLOBAL const STORED *row = view < views ? packed + (ulong)view * (ulong)columns : 0;
#if CACHE == 2
                const int first_bin = ahead[view % AHEAD].first;
#else
            const area_line at = line_in_area(lines[view], x0, y0);
            const int first_bin = at.first;
#if CACHE == 3
            for (int i = wanted ? member : AREA; i < AREA; i += TEAM) base_of[p][i] = MOVED(at.base, at.a, i);
            if (wanted && member == 0) turn_y[p] = at.b;
#else
            if (wanted && member == 0) base_of[p] = at.base;
#if CACHE == 1
            if (wanted && member == 0) turn_x[p] = at.a, turn_y[p] = at.b;
#endif
#endif
#endif
                cache_view(cache + p * BINS, row, first_bin, columns, member, wanted);
            }
            BARRIER();
#if HALF == 2
            SUM partial[PIXELS][SUMS];
            UNROLL_LONG for (int q = 0; q < PIXELS; q++) UNROLL for (int s = 0; s < SUMS; s++) partial[q][s] = 0;
#endif
            UNROLL_LONG for (int p = 0; p < VIEWS; p++) {
#if CACHE == 2
                const area_line at = ahead[first % AHEAD + p];
                const COORDINATE h = MOVED(MOVED(at.base, at.a, x), at.b, y), turn = at.b;
#elif CACHE == 3
            const COORDINATE turn = turn_y[p], h = MOVED(base_of[p][x], turn, y);
#else
#if CACHE == 1
            const COORDINATE turn_of_x = turn_x[p], turn = turn_y[p];
#elif INTERP == 0
            const COORDINATE turn_of_x = (float)lines[first + p].a * FIXED_UNIT;
            const COORDINATE turn = (float)lines[first + p].b * FIXED_UNIT;
#else
            const COORDINATE turn_of_x = lines[first + p].a, turn = lines[first + p].b;
#endif
            const COORDINATE h = MOVED(MOVED(base_of[p], turn_of_x, x), turn, y);
#endif
                LOCAL_POINTER const ELEMENT *row = cache + p * BINS;
                UNROLL_LONG for (int q = 0; q < PIXELS; q++)
#if HALF == 2
                    add(partial[q], row, MOVED(h, turn, q * STEP));
#else
                add(sum[q], row, MOVED(h, turn, q * STEP));
#endif
            }
#if HALF == 2
            UNROLL_LONG for (int q = 0; q < PIXELS; q++) UNROLL for (int s = 0; s < SUMS; s++) {
                float two[2];
                UNPACK_HALVES_2(two, partial[q][s]);
                sum[q][2 * s] += two[0], sum[q][2 * s + 1] += two[1];
            }
#endif
        }

    const int x_out = x0 + x;
    if (x_out >= nx) return;
    UNROLL_LONG for (int q = 0; q < PIXELS; q++) UNROLL for (int s = 0; s < SLICES; s++) {
        const int z = group * SLICES + s, y_out = y0 + y + q * STEP;
        if (z >= slices || y_out >= ny) continue;
        out[out_at + ((ulong)z * (ulong)ny + (ulong)y_out) * (ulong)nx + (ulong)x_out] =
            HALF ? sum[q][s] * undo[undo_at + (ulong)z] : sum[q][s];
    }
}
