/* SPDX-License-Identifier: MIT */
/* What icd_tiles.cl needs before and after its sweeps: data in lanes, images, the cost. */
#include "icd_tiles.clh"

/* ---- data ---- */

/* lines[view][slice][column] of views from view0 on, or weights over `largest` -> lanes: the error, or roots of weights
 * as half floats; both are 0 for NaN, which was not measured. rule: qb__icd_weighting; negative: no weights. Lane l of
 * group g is slice g * SLICES + l or, if slices are neighbours, l * groups + g. */
enum { TRANSMISSION = 1, TRANSMISSION_ROOT, EMISSION, GIVEN, MEASURED };

#if QB_CUDA
#define EXP(a) expf(a)
#else
#define EXP(a) exp(a)
#endif

#define LOST(y) ((AS_INT(y) & 0x7fffffff) > 0x7f800000) /* NaN, for any floating-point mode of the compiler */

FUNCTION float weigh(float y, int rule, float scale) {
    if (rule == TRANSMISSION) return EXP(-y);
    if (rule == TRANSMISSION_ROOT) return EXP(-0.5f * y);
    if (rule == EMISSION) return 1.0f / ((y < 0.0f ? -y : y) + 0.1f);
    return rule == MEASURED ? 1.0f : y * scale;
}

KERNEL void icd_load(GLOBAL const float *RESTRICT lines, int view0, int views, int slices, int columns, int groups,
                     int rule, float scale, GLOBAL float *RESTRICT error, GLOBAL half_bits *RESTRICT root) {
    int item = (int)local_id(0), lane = item % SLICES, part = item / SLICES, parts = (int)local_size(0) / SLICES;
    int view = view0 + (int)group_id(1), group = (int)group_id(2), row = columns + 2 * COLUMNS;
#if JOINED
    int slice = lane * groups + group;
#else
    int slice = group * SLICES + lane;
#endif
    size_t line = (((size_t)group * (size_t)views + (size_t)view) * (size_t)row + COLUMNS) * SLICES + (size_t)lane;
    GLOBAL const float *from =
        lines + ((size_t)group_id(1) * (size_t)slices + (size_t)(slice < slices ? slice : 0)) * (size_t)columns;
    int end = ((int)group_id(0) + 1) * 32;
    for (int c = (int)group_id(0) * 32 + part; c < end && c < columns; c += parts) {
        float y = slice < slices ? from[c] : 0.0f;
        size_t to = line + (size_t)c * SLICES;
        int is = slice < slices && !LOST(y);
        if (rule != GIVEN) error[to] = is ? y : 0.0f;
        if (rule > 0) STORE_HALF(is ? SQRT(weigh(y, rule, scale)) : 0.0f, to, root);
    }
}

/* The mean weight of a group's slices: mean[group][view][column]. */
KERNEL void icd_mean(GLOBAL const half_bits *RESTRICT root, int views, int columns, GLOBAL float *RESTRICT mean) {
    int column = (int)global_id(0), view = (int)group_id(1), group = (int)group_id(2);
    if (column >= columns) return;
    size_t at =
        ((size_t)group * (size_t)views + (size_t)view) * (size_t)(columns + 2 * COLUMNS) + COLUMNS + (size_t)column;
    float sum = 0.0f;
    for (int l = 0; l < SLICES; l++) {
        float r = LOAD_HALF(at * SLICES + (size_t)l, root);
        sum += r * r;
    }
    mean[((size_t)group * (size_t)views + (size_t)view) * (size_t)columns + (size_t)column] = sum;
}

/* share[group][tile][i][j] = (A' w A)ij over the root of (A' w A)ii (A' w A)jj, with the mean weight w, from every
 * `apart`-th view. One group of items per tile: WARPS views at a time. */
KERNEL GROUPS_OF(ITEMS, 2) void icd_share(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes,
                                          float area, int views, int stride, int columns,
                                          GLOBAL const int *RESTRICT corner, int tiles, int apart,
                                          GLOBAL const float *RESTRICT mean, GLOBAL float *RESTRICT share) {
    enum { PAIRS = (VOXELS * VOXELS + ITEMS - 1) / ITEMS };
    LOCAL float table[WARPS][TABLE], weight[WARPS][COLUMNS], own[VOXELS];
    int item = (int)local_id(0), lane = item % 32, warp = item / 32;
    int tile = (int)group_id(0), group = (int)group_id(1);
    qb_beam beam = {rays, shapes, stride, columns, area};
    int x0 = corner[tile] & 0xffff, y0 = corner[tile] >> 16;
    float sum[PAIRS];
    for (int n = 0; n < PAIRS; n++) sum[n] = 0.0f;
    for (int base = 0; base < views; base += WARPS * apart) {
        int view = base + warp * apart;
        BARRIER();
        if (view < views) {
            int first = make_table(beam, view, x0, y0, lane, 0, table[warp]);
            for (int c = lane; c < COLUMNS; c += 32) {
                int column = first + c;
#if WEIGHTED
                weight[warp][c] =
                    column >= 0 && column < columns
                        ? mean[((size_t)group * (size_t)views + (size_t)view) * (size_t)columns + (size_t)column]
                        : 0.0f;
#else
                weight[warp][c] = 1.0f;
#endif
            }
        }
        BARRIER();
        int left = (views - base + apart - 1) / apart, count = left < WARPS ? left : WARPS;
        for (int n = 0; n < PAIRS; n++) {
            int pair = item + n * ITEMS;
            if (pair >= VOXELS * VOXELS) break;
            int i = pair / VOXELS, j = pair % VOXELS;
            for (int v = 0; v < count; v++)
                for (int c = 0; c < COLUMNS; c++)
                    sum[n] = FMA(weight[v][c], table[v][c * VOXELS + i] * table[v][c * VOXELS + j], sum[n]);
        }
    }
    for (int n = 0; n < PAIRS; n++) {
        int pair = item + n * ITEMS;
        if (pair < VOXELS * VOXELS && pair / VOXELS == pair % VOXELS) own[pair / VOXELS] = sum[n];
    }
    BARRIER();
    for (int n = 0; n < PAIRS; n++) {
        int pair = item + n * ITEMS;
        if (pair >= VOXELS * VOXELS) break;
        float both = own[pair / VOXELS] * own[pair % VOXELS];
        share[((size_t)group * (size_t)tiles + (size_t)tile) * VOXELS * VOXELS + (size_t)pair] =
            both > 0.0f ? sum[n] / SQRT(both) : 0.0f;
    }
}

/* ---- images ---- */

#define TILE_OF(place, group) picked[picked_at + (group) * (int)group_count(0) + (place)]

/* out[group][pixel][SLICES] of a batch's voxels from the sums of icd_theta; limited from below by `least`. */
KERNEL void icd_collect(GLOBAL const float *RESTRICT partial, int chunks, GLOBAL const int *RESTRICT picked,
                        int picked_at, GLOBAL const int *RESTRICT corner, GLOBAL const uchar *RESTRICT inside, int nx,
                        int ny, float least, GLOBAL float *RESTRICT out) {
    int lane = (int)local_id(0), at = (int)group_id(0), group = (int)group_id(1), tile = TILE_OF(at, group);
    if (tile < 0) return;
    size_t spot = (size_t)group * group_count(0) + (size_t)at, image = (size_t)(nx + 2) * (size_t)(ny + 2);
    for (int j = 0; j < VOXELS; j++) {
        int ix = (corner[tile] & 0xffff) + j % WIDE, iy = (corner[tile] >> 16) + j / WIDE;
        size_t pixel = (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1);
        if (ix >= nx || iy >= ny || !inside[pixel]) continue;
        float sum = 0.0f;
        for (int k = 0; k < chunks; k++)
            sum += partial[((spot * (size_t)chunks + (size_t)k) * VOXELS + (size_t)j) * SLICES + (size_t)lane];
        out[((size_t)group * image + pixel) * SLICES + (size_t)lane] = largest(sum, least);
    }
}

/* steps[group][place][voxel][SLICES] = x, for icd_apply. */
KERNEL void icd_lift(GLOBAL const float *RESTRICT x, GLOBAL const int *RESTRICT picked, int picked_at,
                     GLOBAL const int *RESTRICT corner, int nx, int ny, GLOBAL float *RESTRICT steps,
                     GLOBAL int *RESTRICT moved) {
    int lane = (int)local_id(0), at = (int)group_id(0), group = (int)group_id(1), tile = TILE_OF(at, group);
    if (tile < 0) return;
    size_t spot = (size_t)group * group_count(0) + (size_t)at, image = (size_t)(nx + 2) * (size_t)(ny + 2);
    for (int j = 0; j < VOXELS; j++) {
        int ix = (corner[tile] & 0xffff) + j % WIDE, iy = (corner[tile] >> 16) + j / WIDE;
        size_t pixel = (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1);
        steps[(spot * VOXELS + (size_t)j) * SLICES + (size_t)lane] =
            ix < nx && iy < ny ? x[((size_t)group * image + pixel) * SLICES + (size_t)lane] : 0.0f;
    }
    if (lane == 0) moved[spot] = 1;
}

/* x = value in the lanes with slices, inside. */
KERNEL void icd_fill(GLOBAL float *RESTRICT x, GLOBAL const uchar *RESTRICT inside, int pixels, int groups, int slices,
                     float value) {
    int lane = (int)local_id(0), pixel = (int)group_id(0), group = (int)group_id(1);
#if JOINED
    int slice = lane * groups + group;
#else
    int slice = group * SLICES + lane;
#endif
    x[((size_t)group * (size_t)pixels + (size_t)pixel) * SLICES + (size_t)lane] =
        inside[pixel] && slice < slices ? value : 0.0f;
}

/* x of one slice = image[y][x], limited from below by `least`, inside. */
KERNEL void icd_put(GLOBAL const float *RESTRICT image, GLOBAL const uchar *RESTRICT inside, int nx, int ny, int group,
                    int lane, float least, GLOBAL float *RESTRICT x) {
    int ix = (int)global_id(0), iy = (int)group_id(1);
    if (ix >= nx) return;
    size_t pixel = (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1),
           base = (size_t)group * (size_t)(nx + 2) * (size_t)(ny + 2);
    if (inside[pixel])
        x[(base + pixel) * SLICES + (size_t)lane] = largest(image[(size_t)iy * (size_t)nx + (size_t)ix], least);
}

/* image[y][x] of one slice. */
KERNEL void icd_image(GLOBAL const float *RESTRICT x, int nx, int ny, int group, int lane, float scale,
                      GLOBAL float *RESTRICT image) {
    int ix = (int)global_id(0), iy = (int)group_id(1);
    if (ix >= nx) return;
    size_t pixel =
        (size_t)group * (size_t)(nx + 2) * (size_t)(ny + 2) + (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1);
    image[(size_t)iy * (size_t)nx + (size_t)ix] = scale * x[pixel * SLICES + (size_t)lane];
}

/* ---- cost ---- */

/* sums[group][view] = sum w e^2. */
KERNEL GROUPS_OF(ITEMS, 1) void icd_misfit(GLOBAL const float *RESTRICT error, GLOBAL const half_bits *RESTRICT root,
                                           int views, int columns, GLOBAL float *RESTRICT sums) {
    LOCAL float all[ITEMS];
    int item = (int)local_id(0), view = (int)group_id(0), group = (int)group_id(1);
    size_t line = (((size_t)group * (size_t)views + (size_t)view) * (size_t)(columns + 2 * COLUMNS) + COLUMNS) * SLICES;
    float sum = 0.0f;
    for (int i = item; i < columns * SLICES; i += ITEMS) {
        float e = error[line + (size_t)i];
#if WEIGHTED
        e *= LOAD_HALF(line + (size_t)i, root);
#endif
        sum = FMA(e, e, sum);
    }
    all[item] = sum;
    for (int n = ITEMS / 2; n > 0; n /= 2) {
        BARRIER();
        if (item < n) all[item] += all[item + n];
    }
    if (item == 0) sums[(size_t)group * (size_t)views + (size_t)view] = all[0];
}

/* sums[group][tile]: the prior's cost of pairs of a tile's voxels with those to the right, below and in the next
 * slice. */
KERNEL void icd_rough(GLOBAL const float *RESTRICT x, GLOBAL const uchar *RESTRICT inside, int nx, int ny, int groups,
                      int slices, GLOBAL const int *RESTRICT corner, qb_surrogate b, float nearest, float diagonal,
                      float interslice, GLOBAL float *RESTRICT sums) {
    LOCAL float all[SLICES];
    int lane = (int)local_id(0), tile = (int)group_id(0), group = (int)group_id(1), row = nx + 2;
    int step[4] = {1, row, row + 1, row - 1};
    qb_slab slab = {x, inside, nx, ny, groups, slices};
    size_t base = pixel_at(slab, group, -1, -1);
    float sum = 0.0f, after = has_after(lane * groups + group, slices) ? interslice : 0.0f;
    for (int j = 0; j < VOXELS; j++) {
        int ix = (corner[tile] & 0xffff) + j % WIDE, iy = (corner[tile] >> 16) + j / WIDE;
        size_t pixel = pixel_at(slab, 0, ix, iy);
        if (ix >= nx || iy >= ny || !inside[pixel]) continue;
        float own = x[(base + pixel) * SLICES + (size_t)lane];
        for (int n = 0; n < 4; n++) {
            size_t other = pixel + (size_t)step[n];
            float value = x[(base + other) * SLICES + (size_t)lane];
            if (inside[other]) sum += (n & 2 ? diagonal : nearest) * rho_of(b, own - value);
        }
#if JOINED
        sum += after * rho_of(b, own - x_after(slab, group, lane, pixel));
#endif
    }
    all[lane] = sum;
    for (int n = SLICES / 2; n > 0; n /= 2) {
        BARRIER();
        if (lane < n) all[lane] += all[lane + n];
    }
    if (lane == 0) sums[(size_t)group * (size_t)((int)group_count(0)) + (size_t)tile] = all[0];
}
