/* SPDX-License-Identifier: MIT */
/* Forward projection after Joseph, and its adjoint, of few slices whose rays each stay at one height, slice by slice.
 * Volumes have the layout of project_joseph.clh, but a line along z holds only the slab's slices, and a column of rays
 * only its rows.
 *
 * Forward: an item follows one ray through one slice; lanes are neighbouring columns, which read neighbours in memory:
 * rays along x read a copy of the slab with x and y exchanged. Then rows add the slices between which they lie.
 * Adjoint: rows are first added to the slices. Then a group has a tile of one slice, 32 x (8 STEPS) voxels, whose sums
 * stay in registers, and every voxel gathers from the columns that cross its plane less than a voxel away. Positions
 * are relative to the tile.
 *
 * courses: for each view and column, the ray's crossing with plane 0 and its movement per plane, two floats each.
 * lengths: of a ray between two planes, in mm; negative if its main axis is y. heights: for each view and row, the
 * slice at or below it and the weight of the slice above. spans: for each view and slice, the first row that touches
 * it, and the end. */
#ifndef STEPS
#define STEPS 4
#endif
#ifndef CHUNK
#define CHUNK 32
#endif
/* Parallel rays: the distance of columns is constant in a view. */
#ifndef EVEN
#define EVEN 1
#endif
/* Columns that a voxel checks, and columns that may touch a tile, with TAPS zeros on both sides. */
#ifndef TAPS
#define TAPS 2
#endif
#ifndef CAP
#define CAP 64
#endif
#include "project_joseph.clh"
#define ITEMS 256
#define TILE 32
#define ACROSS 64 /* rays of a view in a group of the forward kernel */
#define TALL (8 * STEPS)
#define BATCH (512 / CAP)
#define EACH (ITEMS / BATCH)
#define PAD TAPS

/* [y][x][z] -> [x][y][z], with all zeros around. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_flat_turn(GLOBAL const float *RESTRICT slab, int across, int down,
                                                         int line, GLOBAL float *RESTRICT turned) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j0 = (int)local_id(0) / TILE, z = (int)group_id(2);
    const int x0 = (int)group_id(0) * TILE, y0 = (int)group_id(1) * TILE;
    for (int j = j0; j < TILE; j += ITEMS / TILE)
        if (x0 + i < across && y0 + j < down) tile[j][i] = slab[((y0 + j) * across + x0 + i) * line + z];
    BARRIER();
    for (int j = j0; j < TILE; j += ITEMS / TILE)
        if (x0 + j < across && y0 + i < down) turned[((x0 + j) * down + y0 + i) * line + z] = tile[i][j];
}

/* Planes with -1 < from + k step < most, and perhaps one more on both sides. */
FUNCTION int2 planes_inside(float2 from, float2 step, float most, int planes) {
    const float size = fmax(fabs(step.x), 1e-20f), d = step.x < 0.0f ? -size : size;
    const float a = (-1.0f - from.x) / d, b = (most - from.x) / d, last = (float)(planes - 1);
    int2 range;
    range.x = (int)FLOOR(fmin(fmax(fmin(a, b) - 1.0f, 0.0f), last + 1.0f));
    range.y = (int)FLOOR(fmin(fmax(fmax(a, b) + 1.0f, -1.0f), last));
    return range;
}

/* sums[view][column][slice of the slab], for slices z0 <= z < z0 + slices of nz, which lines hold. */
KERNEL GROUPS_OF(ITEMS, 4) void project_joseph_flat_forward(
    GLOBAL const float *RESTRICT slab, GLOBAL const float *RESTRICT turned, GLOBAL const float4 *RESTRICT courses,
    GLOBAL const float *RESTRICT lengths, GLOBAL const int *RESTRICT spans, int first_view, int views, int columns,
    int nx, int ny, int nz, int z0, int slices, int line, GLOBAL float *RESTRICT sums) {
    const int item = (int)local_id(0), ray = (int)group_id(0) * ACROSS + item % ACROSS;
    const int view = (int)group_id(1) * (ITEMS / ACROSS) + item / ACROSS, column = ray / slices, z = ray % slices;
    if (column >= columns || view >= views) return;
    GLOBAL const int *span = spans + 2 * ((first_view + view) * nz + z0 + z);
    if (span[0] >= span[1]) return;
    const ulong at = (ulong)(first_view + view) * (ulong)columns + (ulong)column;
    const float4 course = courses[at];
    const bool along_y = lengths[at] < 0.0f;
    const float2 from = FLOAT2(course.x, course.y), step = FLOAT2(course.z, course.w);
    const int planes = along_y ? ny : nx, most = along_y ? nx : ny, pitch = (most + 2 * EDGE) * line;
    GLOBAL const float *image = (along_y ? slab : turned) + (EDGE * (pitch + line) + z);
    const int2 range = planes_inside(from, step, (float)most, planes);
    float sum = 0.0f;
    for (int k0 = range.x / CHUNK * CHUNK; k0 <= range.y; k0 += CHUNK) {
        float b;
        const int whole = floor_of(plus_times(from, (float)k0, step), &b);
        const float end = FMA((float)(CHUNK - 1), step.x, b), low = fmin(b, end), high = fmax(b, end);
        GLOBAL const float *plane = image + k0 * pitch + whole * line;
        if (k0 + CHUNK <= planes && (float)whole + low > -0.99f && (float)whole + high < (float)most - 0.01f) {
            UNROLL_BY(8) for (int j = 0; j < CHUNK; j++) {
                const float place = FMA((float)j, step.x, b), below = DOWN(place), share = place - (below - ROUND);
                GLOBAL const float *p = plane + (j * pitch + (AS_INT(below) - ROUND_BITS) * line);
                const float one = p[0], two = p[line];
                sum = ADD(sum, FMA(share, two - one, one));
            }
        } else {
            for (int j = 0; j < CHUNK && k0 + j < planes; j++) {
                const float place = FMA((float)j, step.x, b), below = DOWN(place), share = place - (below - ROUND);
                const int voxel = AS_INT(below) - ROUND_BITS;
                if (whole + voxel < -1 || whole + voxel >= most) continue;
                GLOBAL const float *p = plane + (j * pitch + voxel * line);
                const float one = p[0], two = p[line];
                sum = ADD(sum, FMA(share, two - one, one));
            }
        }
    }
    sums[((ulong)view * (ulong)columns + (ulong)column) * (ulong)slices + (ulong)z] = sum;
}

/* rays[view][column][row] = interpolation of the slab's slices or, with `more`, += that; times the lengths if the slab
 * is the `last`. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_flat_rows(GLOBAL const float *RESTRICT sums,
                                                         GLOBAL const float *RESTRICT lengths,
                                                         GLOBAL const float *RESTRICT heights, int first_view,
                                                         int columns, int rows, int z0, int slices, int more, int last,
                                                         GLOBAL float *RESTRICT rays) {
    const int ray = (int)group_id(0) * ITEMS + (int)local_id(0), view = (int)group_id(1);
    const int column = ray / rows, row = ray % rows;
    if (column >= columns) return;
    const ulong at = (ulong)view * (ulong)columns + (ulong)column;
    GLOBAL const float *height = heights + 2 * ((first_view + view) * rows + row);
    GLOBAL float *own = rays + at * (ulong)rows + (ulong)row;
    const int below = (int)height[0] - z0;
    float sum = more ? *own : 0.0f;
    for (int i = 0; i < 2; i++) {
        const float share = i ? height[1] : 1.0f - height[1];
        const int z = below + i;
        if (z >= 0 && z < slices && share > 0.0f) sum = FMA(share, sums[at * (ulong)slices + (ulong)z], sum);
    }
    *own = last ? MUL(sum, fabs(lengths[(ulong)first_view * (ulong)columns + at])) : sum;
}

/* values[view][slice][column] = contribution of rows to the slices of a slab, times the lengths. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_flat_values(GLOBAL const float *RESTRICT rays,
                                                           GLOBAL const float *RESTRICT lengths,
                                                           GLOBAL const float *RESTRICT heights,
                                                           GLOBAL const int *RESTRICT spans, int first_view,
                                                           int columns, int rows, int nz, int z0, int slices,
                                                           GLOBAL float *RESTRICT values) {
    const int column = (int)group_id(0) * ITEMS + (int)local_id(0), z = (int)group_id(1), view = (int)group_id(2);
    if (column >= columns) return;
    const ulong at = (ulong)view * (ulong)columns + (ulong)column;
    GLOBAL const int *span = spans + 2 * ((first_view + view) * nz + z0 + z);
    float sum = 0.0f;
    for (int row = span[0]; row < span[1]; row++) {
        GLOBAL const float *height = heights + 2 * ((first_view + view) * rows + row);
        const int below = (int)height[0] - z0;
        const float share = below == z ? 1.0f - height[1] : below == z - 1 ? height[1] : 0.0f;
        if (share > 0.0f) sum = FMA(share, rays[at * (ulong)rows + (ulong)row], sum);
    }
    values[((ulong)view * (ulong)slices + (ulong)z) * (ulong)columns + (ulong)column] =
        MUL(sum, fabs(lengths[(ulong)first_view * (ulong)columns + at]));
}

/* The column of a point: a quotient of two functions linear in x and y, {n0, nx, ny, d0, dx, dy}. */
FUNCTION float column_at(GLOBAL const float *view, float x, float y) {
    return FMA(y, view[2], FMA(x, view[1], view[0])) / FMA(y, view[5], FMA(x, view[4], view[3]));
}

/* The columns that touch a tile: the first one, and their number. */
FUNCTION int2 columns_of(GLOBAL const float *view, int x0, int y0, int nx, int ny, int c0, int c1) {
    float low = 1e9f, high = -1e9f;
    for (int i = 0; i < 4; i++) {
        const int x = i & 1 ? x0 + TILE : x0 - 1, y = i & 2 ? y0 + TALL : y0 - 1;
        const float c = column_at(view, (float)(x < nx ? x : nx), (float)(y < ny ? y : ny));
        low = fmin(low, c), high = fmax(high, c);
    }
    int2 found;
    found.x = (int)FLOOR(fmin(fmax(low - 0.1f, (float)c0), (float)c1));
    const int end = (int)FLOOR(fmin(fmax(high + 1.1f, (float)c0), (float)c1)), room = CAP - 2 * PAD;
    found.y = end - found.x < 0 ? 0 : end - found.x > room ? room : end - found.x;
    return found;
}

/* runs: {view, main axis, first column, end}. Views of `values` begin at first_view. Tiles from number tile_y on;
 * voxels y < y1. Rays that touch a voxel are at most `reach` columns from it. */
KERNEL GROUPS_OF(ITEMS, 4) void project_joseph_flat_back(
    GLOBAL const float *RESTRICT values, GLOBAL const float4 *RESTRICT courses, GLOBAL const float *RESTRICT points,
    GLOBAL const int *RESTRICT runs, int run0, int run_count, int first_view, int columns, int slices, int nx, int ny,
    int tile_y, int y1, int line, float reach, GLOBAL float *RESTRICT slab, int more) {
#if EVEN
    LOCAL float table[BATCH][CAP];
    /* column 0 in plane 0 of the tile, change per plane, change per column, 1 / that */
    LOCAL_ALIGNED float4 heads[BATCH];
#else
    LOCAL_ALIGNED float4 table[BATCH][CAP]; /* position in plane 0 of the tile, change per plane, value */
    LOCAL_ALIGNED float4 heads[BATCH][2];   /* fan: the coefficients for the column of a voxel in the tile */
#endif
    LOCAL int kinds[BATCH][2]; /* main axis, columns */
    const int item = (int)local_id(0), lane = item % TILE, warp = item / TILE, slot = item / EACH, own = item % EACH;
    const int x0 = (int)group_id(0) * TILE, y0 = (tile_y + (int)group_id(1)) * TALL, z = (int)group_id(2);
    const int x = x0 + lane;
    GLOBAL float *voxel =
        slab + ((ulong)(y0 + warp + EDGE) * (ulong)(nx + 2 * EDGE) + (ulong)(x + EDGE)) * (ulong)line + (ulong)z;
    const ulong eight = (ulong)8 * (ulong)(nx + 2 * EDGE) * (ulong)line;
    float sum[STEPS];
    UNROLL for (int i = 0; i < STEPS; i++) sum[i] =
        more && x < nx && y0 + warp + 8 * i < y1 ? voxel[(ulong)i * eight] : 0.0f;
    for (int from = 0; from < run_count; from += BATCH) {
        const int count = run_count - from < BATCH ? run_count - from : BATCH;
        BARRIER();
        if (slot < count) {
            GLOBAL const int *run = runs + 4 * (run0 + from + slot);
            GLOBAL const float *view = points + 8 * (ulong)run[0];
            const int axis = run[1];
            const int2 some = columns_of(view, x0, y0, nx, ny, run[2], run[3]);
            const float plane = (float)(axis ? y0 : x0), place = (float)(axis ? x0 : y0);
            GLOBAL const float4 *course = courses + ((ulong)run[0] * (ulong)columns + (ulong)some.x);
            GLOBAL const float *value =
                values + (((ulong)(run[0] - first_view) * (ulong)slices + (ulong)z) * (ulong)columns + (ulong)some.x);
            for (int i = own; i < some.y + 2 * PAD; i += EACH) {
                const int c = i - PAD;
                const bool real = c >= 0 && c < some.y;
#if EVEN
                table[slot][i] = real ? value[c] : 0.0f;
#else
                float4 entry = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
                if (real) {
                    const float4 way = course[c];
                    const float2 b =
                        plus(plus_times(FLOAT2(way.x, way.y), plane, FLOAT2(way.z, way.w)), FLOAT2(-place, 0.0f));
                    entry = FLOAT4(b.x + b.y, way.z, value[c], 0.0f);
                }
                table[slot][i] = entry;
#endif
            }
            if (own == 0) {
                kinds[slot][0] = axis, kinds[slot][1] = some.y;
#if EVEN
                const float4 way = some.y > 0 ? course[0] : FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
                const float2 b =
                    plus(plus_times(FLOAT2(way.x, way.y), plane, FLOAT2(way.z, way.w)), FLOAT2(-place, 0.0f));
                heads[slot] = FLOAT4(b.x + b.y, way.z, view[6], view[7]);
#else
                const float first = (float)some.x, fx = (float)x0, fy = (float)y0;
                const float n = FMA(fy, view[2], FMA(fx, view[1], view[0]));
                const float d = FMA(fy, view[5], FMA(fx, view[4], view[3]));
                heads[slot][0] =
                    FLOAT4(FMA(-first, d, n), FMA(-first, view[4], view[1]), FMA(-first, view[5], view[2]), d);
                heads[slot][1] = FLOAT4(view[4], view[5], 0.0f, 0.0f);
#endif
            }
        }
        BARRIER();
        for (int r = 0; r < count; r++) {
            const int axis = kinds[r][0];
            const float last = (float)kinds[r][1];
#if EVEN
            const float4 head = heads[r];
            const float apart = fabs(head.z);
#else
            const float4 head = heads[r][0], more_of_it = heads[r][1];
#endif
            UNROLL for (int i = 0; i < STEPS; i++) {
                const float px = (float)lane, py = (float)(warp + 8 * i);
                const float b = axis ? px : py, k = axis ? py : px;
#if EVEN
                const float t = MUL(ADD(b, -FMA(k, head.y, head.x)), head.w);
                const float near = fmin(fmax(t, -0.5f * (float)TAPS), last + (0.5f * (float)TAPS - 1.0f));
                const float whole = FLOOR(near), share = near - whole;
                LOCAL_POINTER const float *entry = &table[r][(int)whole + (PAD - TAPS / 2 + 1)];
                UNROLL for (int o = 0; o < TAPS; o++) {
                    const float hat = FMA(-fabs(share - (float)(o - TAPS / 2 + 1)), apart, 1.0f);
                    sum[i] = FMA(UNIT(hat), entry[o], sum[i]);
                }
#else
                const float n = FMA(py, head.z, FMA(px, head.y, head.x));
                const float d = FMA(py, more_of_it.y, FMA(px, more_of_it.x, head.w));
                const float first = FLOOR(FMA(n, RECIPROCAL(d), -reach)) + 1.0f;
                const int begin = (int)fmin(fmax(first, -(float)TAPS), last) + PAD;
                UNROLL for (int o = 0; o < TAPS; o++) {
                    const float4 entry = table[r][begin + o];
                    const float hat = 1.0f - fabs(FMA(k, entry.y, entry.x) - b);
                    sum[i] = FMA(UNIT(hat), entry.z, sum[i]);
                }
#endif
            }
        }
    }
    UNROLL for (int i = 0; i < STEPS; i++) if (x < nx && y0 + warp + 8 * i < y1) voxel[(ulong)i * eight] = sum[i];
}
