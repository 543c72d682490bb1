/* SPDX-License-Identifier: MIT */
/* The adjoint of project_joseph_forward.cl for upright geometries: every voxel gathers, so nothing is atomic and the
 * bits do not depend on the order. One launch takes the columns of rays of one axis; in a plane of that axis, every
 * column crosses between two lines of voxels along z.
 *
 * A warp owns LINES lines of one plane, 32 x STEPS voxels long, whose sums stay in registers; a group has PLANES
 * planes. For each column, once for both lines, an item gathers for each voxel the row that crosses nearest to it and
 * REACH rows on either side, with their hat functions (half-width 1), or the two rows around it if rows are a voxel or
 * more apart: other rows do not reach it. The two lines share the result.
 *
 * Positions are relative to the tile's first voxel and to a row near its middle. Their numbers are computed with twice
 * the digits once per tile and column, CAP columns for BATCH runs of columns at a time. Tiles count from the grid's
 * first voxel, and the last one may be taller or less tall (qb__joseph_tiles): the bits do not depend on slabs. */
#ifndef LINES
#define LINES 8
#endif
#ifndef STEPS
#define STEPS 4
#endif
#ifndef REACH
#define REACH 1
#endif
#ifndef CAP
#define CAP 32
#endif
#ifndef GROUPS
#define GROUPS 4
#endif
/* If WINDOW is not 0, rows of that many floats of at most STAGED columns, all that a tile may read, are copied to local
 * memory. */
#ifndef WINDOW
#define WINDOW 0
#endif
#ifndef STAGED
#define STAGED CAP
#endif
#include "project_joseph.clh"
/* Address of the row that the bits of a number name; row j relative to it. For local memory CUDA's compiler is given
 * the address itself, because it would otherwise read a slow register again and again. */
#if WINDOW && QB_CUDA
#define INSIDE(up) (up)
#define TAP_AT uint
#define TAP(up) (4u * (uint)AS_INT(up) + (uint)AS_INT(s.w))
#define ROW(tap, j) local_float(tap, 4 * (j))
FUNCTION float local_float(uint address, int bytes) {
    float value;
    asm("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address + (uint)bytes));
    return value;
}
#else
#if WINDOW
#define INSIDE(up) (up)
#define TAP_AT LOCAL_POINTER const float *
#define TAP(up) (copied + (int)((uint)AS_INT(s.w) + (uint)AS_INT(up)))
#else
#define INSIDE(up) fmin(fmax(up, least), most)
#define TAP_AT GLOBAL const float *
#define TAP(up) (rays + ((uint)AS_INT(s.w) + (uint)AS_INT(up)))
#endif
#define ROW(tap, j) (tap)[j]
#endif
#define PLANES 8
#define ITEMS (32 * PLANES)
#define BATCH (ITEMS / CAP)
#define SEARCHES ((BATCH + PLANES - 1) / PLANES) /* searches of a warp */
#define NOTED 32                                 /* columns at a time */

/* A column of rays seen from a tile, in eight numbers: in plane k it crosses at b = b0 + k db lines, and row r0 + r at
 * z = (z0 + k dz) + r (dr + k ddr) voxels: {b0, db, z0, dz}, {dr, ddr, -4 - r0, position of row r0 among the rays, or
 * among those copied, as a whole number minus ROUND_BITS}. For copies: start of the column's floats among the rays, and
 * the first of them that is copied. */
/* A run of columns of one view: `step` 1 or -1 makes b ascend. */
typedef struct qb_run {
    int view, first, count, step;
} qb_run;

/* True if a column of a run, or its end, is above the first line in some plane of the tile. */
FUNCTION bool is_above(GLOBAL const float *fans, qb_run run, int m, float plane0, float b) {
    if (m >= run.count) return true;
    GLOBAL const float *fan = fans + (LONG)(run.first + run.step * m) * RECORD;
    return fmax(FMA(plane0, fan[2], fan[0]), FMA(plane0 + (float)(PLANES - 1), fan[2], fan[0])) > b;
}

/* 1 / a, accurate to half an ulp, because the result is multiplied by a tile's length. */
FUNCTION float inverse_of(float a) {
    const float r = RECIPROCAL(a);
    return FMA(FMA(-a, r, 1.0f), r, r);
}

FUNCTION void look(GLOBAL const float *fan, float k, float line0, float z0, int rows, uint column_at, int number,
                   LOCAL_POINTER float4 *to, LOCAL_POINTER int *copy) {
    const float2 b = plus(plus_times(pair_at(fan, 0), k, pair_at(fan, 1)), FLOAT2(-line0, 0.0f));
    const float2 z = plus_times(pair_at(fan, 2), k, pair_at(fan, 3));
    const float2 dr = plus_times(pair_at(fan, 4), k, pair_at(fan, 5));
    const float middle = (z0 + 16.0f * STEPS - z.x) / dr.x;
    const float row = FLOOR(fmin(fmax(middle, 0.0f), (float)rows));
    const float2 from = plus(plus_times(z, row, dr), FLOAT2(-z0, 0.0f));
    const float at_z = from.x + from.y, climb = FMA(row, fan[10], fan[6]);
    int where = FRONT + (int)row;
#if WINDOW
    const float end_z = FMA((float)(PLANES - 1), climb, at_z), end_dr = FMA((float)(PLANES - 1), fan[10], dr.x);
    const float tall = (float)(32 * STEPS - 1);
    const float first = fmin(fmin(-at_z / dr.x, (tall - at_z) / dr.x), fmin(-end_z / end_dr, (tall - end_z) / end_dr));
    const int begin = (where + (int)FLOOR(first) - REACH - 1) & ~3;
    copy[0] = (int)column_at, copy[1] = begin;
    where += number * WINDOW - begin;
#else
    where += (int)column_at;
#endif
    to[0] = FLOAT4(b.x + b.y, fan[2], at_z, climb);
    to[1] = FLOAT4(dr.x, fan[10], -4.0f - row, AS_FLOAT((int)((uint)where - ROUND_BITS)));
}

/* True if a column crosses lines of the tile, or lines before them. */
FUNCTION bool crosses(float4 t) { return fmin(t.x, FMA((float)(PLANES - 1), t.y, t.x)) < (float)LINES; }

/* The same seen from plane k of the tile, computed once for all lanes: the crossing between two lines of voxels, and
 * its hat functions: {b, its fraction, the row at voxel 0, rows per voxel}, {voxels per row, 1 minus that, 1 minus the
 * fraction, position of row r0 as above, or, with addresses, four times that plus the start of the copy}. */
FUNCTION void note(LOCAL_POINTER const float4 *column, float k, LOCAL_POINTER const float *copied,
                   LOCAL_POINTER float4 *to) {
    const float4 t = column[0], s = column[1];
    const float b = FMA(k, t.y, t.x), share = b - FLOOR(b);
    const float apart = FMA(k, s.y, s.x), wide = fabs(apart), inverse = inverse_of(apart);
#if WINDOW && QB_CUDA
    const float where = AS_FLOAT((int)(4u * (uint)AS_INT(s.w) + (uint)__cvta_generic_to_shared(copied)));
#else
    const float where = s.w;
#endif
    to[0] = FLOAT4(b, share, -FMA(k, t.w, t.z) * inverse, inverse);
    to[1] = FLOAT4(wide, 1.0f - wide, 1.0f - share, where);
}

/* rays: of the block's views, with zeros around; fans: of the scan's view first_view on. runs: {view of the block,
 * first column, columns, 1 or -1}. Slab z0 <= z < z1, in `layers` tiles from voxel bottom on; up to `lines` and `planes` voxels along the other axes, with
 * these distances in floats, in tiles from number tile_line, tile_plane on. Rays and slabs of a batch are rays_apart
 * and slab_apart floats apart. */
KERNEL GROUPS_OF(ITEMS, GROUPS) void project_joseph_back(
    GLOBAL const float *RESTRICT rays, GLOBAL const float *RESTRICT fans, int first_view,
    GLOBAL const int *RESTRICT runs, int run0, int run_count, int longest, int columns, int rows, int stride,
    int tile_line, int lines, int tile_plane, int planes, int line_step, int plane_step, int z0, int z1, int bottom,
    int layers, int start, GLOBAL float *RESTRICT slab, int more, ulong rays_apart, ulong slab_apart) {
    LOCAL_ALIGNED float4 batch[BATCH * CAP][2];
    LOCAL_ALIGNED float4 notes[PLANES][NOTED][2];
    LOCAL int base[BATCH], width[BATCH], length[BATCH], copies[BATCH * CAP][2];
#if WINDOW
    LOCAL_ALIGNED float4 staged[STAGED * (WINDOW / 4)];
    LOCAL_POINTER const float *copied = (LOCAL_POINTER const float *)staged;
#else
    LOCAL_POINTER const float *copied = 0;
#endif
    const int item = (int)local_id(0), lane = item % 32, warp = item / 32;
    const int line0 = (tile_line + (int)group_id(0)) * LINES, plane0 = (tile_plane + (int)group_id(1)) * PLANES;
    const int tile_z = bottom + (int)group_id(2) % layers * (32 * STEPS);
    rays += (ulong)((int)group_id(2) / layers) * rays_apart;
    slab += (ulong)((int)group_id(2) / layers) * slab_apart;
    const int plane = plane0 + warp;
    const bool real = plane < planes;
    const float k = (float)warp, place = (float)lane, span = (float)(rows + 5);
    GLOBAL float *own = slab + (ulong)start + (ulong)plane * (ulong)plane_step + (ulong)line0 * (ulong)line_step;
    float sum[LINES][STEPS];
    UNROLL for (int y = 0; y < LINES; y++) {
        UNROLL for (int i = 0; i < STEPS; i++) {
            const int z = tile_z + lane + 32 * i;
            const bool there = more && real && line0 + y < lines && z >= z0 && z < z1;
            sum[y][i] = there ? own[y * line_step + (z - z0)] : 0.0f;
        }
    }
    for (int from = 0; from < run_count; from += BATCH) {
        const int count = run_count - from < BATCH ? run_count - from : BATCH;
        /* base + 1: the first column of the run above the tile's first line, between base and base + width. */
        BARRIER();
        if (item < count) length[item] = 0, base[item] = -1, width[item] = runs[4 * (run0 + from + item) + 2] + 1;
        for (int left = longest; left > 1; left = (left + 31) / 32) {
            BARRIER();
            int found[SEARCHES], narrower[SEARCHES];
            UNROLL for (int i = 0; i < SEARCHES; i++) {
                const int n = warp + PLANES * i;
                found[i] = -2;
                if (n >= count) continue;
                GLOBAL const int *r = runs + 4 * (run0 + from + n);
                qb_run run;
                run.view = r[0], run.first = r[1], run.count = r[2], run.step = r[3];
                GLOBAL const float *of_view = fans + (ulong)(first_view + run.view) * (ulong)columns * RECORD;
                const int part = (width[n] + 31) / 32, low = base[n] + lane * part, high = low + part;
                const float b = (float)line0 - 1.01f, k = (float)plane0;
                if (low < base[n] + width[n] && (low < 0 || !is_above(of_view, run, low, k, b)) &&
                    is_above(of_view, run, high, k, b))
                    found[i] = low, narrower[i] = part;
            }
            BARRIER();
            UNROLL for (int i = 0; i < SEARCHES; i++) if (found[i] > -2) base[warp + PLANES * i] = found[i],
                                                                                              width[warp + PLANES * i] =
                                                                                                  narrower[i];
        }
        BARRIER();
        const int own_run = item / CAP, number = item % CAP;
        if (own_run < count) {
            GLOBAL const int *r = runs + 4 * (run0 + from + own_run);
            const int m = base[own_run] + 1 + number, column = r[1] + r[3] * m;
            const uint at = (uint)(r[0] * columns + column);
            batch[item][0] = FLOAT4(1e9f, 0.0f, 0.0f, 0.0f);
            if (m < r[2])
                look(fans + ((ulong)(first_view + r[0]) * (ulong)columns + (ulong)column) * RECORD, (float)plane0,
                     (float)line0, (float)tile_z, rows, at * (uint)stride, number, batch[item], copies[item]);
        }
        BARRIER();
        if (own_run < count && crosses(batch[item][0]) && (number == CAP - 1 || !crosses(batch[item + 1][0])))
            length[own_run] = number + 1;
        BARRIER();
        for (int n = 0; n < count; n++) {
#if WINDOW
            for (int c = warp; c < length[n]; c += PLANES) {
                const int begin = copies[n * CAP + c][1];
                GLOBAL const float4 *of_column =
                    (GLOBAL const float4 *)(rays + ((LONG)(uint)copies[n * CAP + c][0] + begin));
                for (int q = lane; q < WINDOW / 4; q += 32) {
                    const int at = begin + 4 * q;
                    staged[c * (WINDOW / 4) + q] =
                        at >= 0 && at < stride ? of_column[q] : FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
                }
            }
#endif
            for (int first = 0; first < length[n]; first += NOTED) {
                const int end = length[n] - first < NOTED ? length[n] - first : NOTED;
                if (lane < end) note(batch[n * CAP + first + lane], k, copied, notes[warp][lane]);
                BARRIER();
                int e = 0;
                while (real && e < end && !(notes[warp][e][0].x > -1.0f)) e++;
                UNROLL for (int y = -1; y < LINES; y++) {
                    while (real && e < end) {
                        const float4 t = notes[warp][e][0];
                        if (!(t.x < (float)(y + 1))) break;
                        const float4 s = notes[warp][e][1];
                        const float share = t.y, rest = s.z, inverse = t.w, wide = s.x, left = s.y;
                        const float low = FMA(place, inverse, t.z);
#if !WINDOW
                        const float least = batch[n * CAP + first + e][1].z + ROUND, most = least + span;
#endif
                        /* The voxel's position among the rows, its distance from the nearest row, and the values of the
                         * hat functions there; outside the detector there are zeros. */
                        float value[STEPS];
                        if (wide >= 1.0f) {
                            UNROLL for (int i = 0; i < STEPS; i++) {
                                const float x = i ? FMA((float)(32 * i), inverse, low) : low, up = INSIDE(DOWN(x));
                                TAP_AT tap = TAP(up);
                                const float off = x - (up - ROUND);
                                value[i] = MUL(UNIT(FMA(-wide, off, 1.0f)), ROW(tap, 0));
                                value[i] = FMA(UNIT(FMA(wide, off, left)), ROW(tap, 1), value[i]);
                            }
                        } else {
                            float off[STEPS];
                            TAP_AT tap[STEPS];
                            UNROLL for (int i = 0; i < STEPS; i++) {
                                const float x = i ? FMA((float)(32 * i), inverse, low) : low, up = INSIDE(x + ROUND);
                                tap[i] = TAP(up), off[i] = (up - ROUND) - x;
                                value[i] = MUL(UNIT(FMA(-wide, fabs(off[i]), 1.0f)), ROW(tap[i], 0));
                                value[i] = FMA(UNIT(FMA(-wide, off[i], left)), ROW(tap[i], 1), value[i]);
                                value[i] = FMA(UNIT(FMA(wide, off[i], left)), ROW(tap[i], -1), value[i]);
                            }
#if REACH > 1
                            /* More distant rows, if they are close enough: the same for all lanes. */
                            for (int j = 2; j <= REACH && wide * (float)(2 * j - 1) < 2.001f; j++) {
                                const float less = FMA(-(float)j, wide, 1.0f);
                                UNROLL for (int i = 0; i < STEPS; i++) {
                                    value[i] = FMA(UNIT(FMA(-wide, off[i], less)), ROW(tap[i], j), value[i]);
                                    value[i] = FMA(UNIT(FMA(wide, off[i], less)), ROW(tap[i], -j), value[i]);
                                }
                            }
#endif
                        }
                        UNROLL for (int i = 0; i < STEPS; i++) {
                            if (y >= 0) sum[y < 0 ? 0 : y][i] = FMA(rest, value[i], sum[y < 0 ? 0 : y][i]);
                            if (y + 1 < LINES)
                                sum[y + 1 < LINES ? y + 1 : 0][i] =
                                    FMA(share, value[i], sum[y + 1 < LINES ? y + 1 : 0][i]);
                        }
                        e++;
                    }
                }
                BARRIER();
            }
        }
    }
    UNROLL for (int y = 0; y < LINES; y++) {
        UNROLL for (int i = 0; i < STEPS; i++) {
            const int z = tile_z + lane + 32 * i;
            if (real && line0 + y < lines && z >= z0 && z < z1) own[y * line_step + (z - z0)] = sum[y][i];
        }
    }
}
