/* SPDX-License-Identifier: MIT */
/* Iterative coordinate descent on devices: many slices at once, tiles of a few voxels at a time.
 *
 * A voxel's column of the system matrix is the same in all slices, so the items of a warp are slices, PER each. The
 * voxels of a tile overlap in all views: data that are read for one of them serve all, from registers. A batch of
 * tiles, scattered over the slice, takes three steps:
 *
 *   icd_theta    theta1 = A' w e of every voxel of the batch's tiles, views in parallel
 *   icd_solve    updates a tile voxel by voxel, each with the change of theta1 by the ones before it:
 *                (A' w A) between two voxels of a tile, with the mean weight of the group's slices
 *   icd_apply    e -= A step, view by view; a column belongs to one item, which takes the tiles in order
 *
 * The mean weight only affects the size of steps: theta1 is exact when a tile begins, and so is the limit of the
 * descent. Nothing depends on the order of items: the same bits in every run.
 *
 * Data are [group][view][COLUMNS + columns + COLUMNS][SLICES], images [group][pixel][SLICES], with pixels numbered (iy
 * + 1) (nx + 2) + ix + 1. Weights are stored as half floats of their square root. */
#include "icd_tiles.clh"

#define VECTOR JOIN(FLOATS_, PER)
#define HALVES JOIN(HALVES_, PER)
#define UNPACK JOIN(UNPACK_FLOATS_, PER)
#define UNPACK_HALF JOIN(UNPACK_HALVES_, PER)
#define PACK JOIN(PACK_FLOATS_, PER)

/* The tile of a group at a place of a batch; negative: none. */
#define TILE_OF(place, group) picked[picked_at + (group) * (int)group_count(0) + (place)]

/* ---- skipping zeros ---- */

/* True if a voxel of a tile, or a neighbour, is not zero in these lanes. */
FUNCTION int tile_awake(qb_slab s, int group, int x0, int y0, int item) {
    int any = 0;
    for (int i = item; i < (WIDE + 2) * (HIGH + 2) * SLICES; i += ITEMS) {
        int lane = i % SLICES, x = x0 - 1 + i / SLICES % (WIDE + 2), y = y0 - 1 + i / SLICES / (WIDE + 2);
        if (x > s.nx || y > s.ny) continue;
        any |= s.x[pixel_at(s, group, x, y) * SLICES + lane] != 0.0f;
#if JOINED
        int slice = lane * s.groups + group;
        if (has_before(slice, s.slices)) any |= x_before(s, group, lane, pixel_at(s, 0, x, y)) != 0.0f;
        if (has_after(slice, s.slices)) any |= x_after(s, group, lane, pixel_at(s, 0, x, y)) != 0.0f;
#endif
    }
    return any;
}

/* ---- theta ---- */

/* partial[group][place][chunk][voxel][SLICES]: sums over the chunk's views. mode 0: A' w e; 1: (A^2)' w; 2: A' e. With
 * `skip`, tiles that are all zero are not computed and not written. */
enum { THETA, CURVE, BACK };

KERNEL GROUPS_OF(ITEMS, 2) void icd_theta(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes,
                                          float area, int views, int stride, int columns,
                                          GLOBAL const float *RESTRICT error, GLOBAL const half_bits *RESTRICT root,
                                          GLOBAL const int *RESTRICT picked, int picked_at,
                                          GLOBAL const int *RESTRICT corner, GLOBAL const float *RESTRICT x,
                                          GLOBAL const uchar *RESTRICT inside, int nx, int ny, int groups, int slices,
                                          int mode, int skip, GLOBAL float *RESTRICT partial) {
    LOCAL_ALIGNED float table[2][WARPS][TABLE];
    LOCAL_ALIGNED float sums[WARPS * 4 * SLICES];
    LOCAL int awake;
    int item = (int)local_id(0), lane = item % 32, warp = item / 32;
    int at = (int)group_id(0), chunk = (int)group_id(1), chunks = (int)group_count(1), group = (int)group_id(2);
    int tile = TILE_OF(at, group);
    if (tile < 0) return;
    qb_beam beam = {rays, shapes, stride, columns, area};
    qb_slab slab = {x, inside, nx, ny, groups, slices};
    int x0 = corner[tile] & 0xffff, y0 = corner[tile] >> 16;
    if (item == 0) awake = !skip;
    BARRIER();
    if (skip && tile_awake(slab, group, x0, y0, item)) awake = 1;
    BARRIER();
    int from = awake ? (int)((LONG)views * chunk / chunks) : 0;
    int to = awake ? (int)((LONG)views * (chunk + 1) / chunks) : 0;
    int row = columns + 2 * COLUMNS;
    float theta[VOXELS * PER];
    UNROLL
    for (int i = 0; i < VOXELS * PER; i++) theta[i] = 0.0f;
    for (int base = from, turn = 0; base < to; base += WARPS, turn ^= 1) {
        int view = base + warp, first = 0;
        LOCAL_POINTER float *own = table[turn][warp];
        if (view < to) first = make_table(beam, view, x0, y0, lane, mode == CURVE, own);
        BARRIER();
        if (view >= to) continue;
        size_t line = (((size_t)group * (size_t)views + (size_t)view) * (size_t)row + (size_t)(first + COLUMNS)) * 32 +
                      (size_t)lane;
        float value[COLUMNS * PER];
        UNROLL
        for (int c = 0; c < COLUMNS; c++) {
            float e[PER], w[PER];
            UNROLL
            for (int p = 0; p < PER; p++) e[p] = w[p] = 1.0f;
            if (mode != CURVE) UNPACK(e, ((GLOBAL const VECTOR *)error)[line + (size_t)c * 32]);
#if WEIGHTED
            if (mode != BACK) UNPACK_HALF(w, ((GLOBAL const HALVES *)root)[line + (size_t)c * 32]);
            UNROLL
            for (int p = 0; p < PER; p++) w[p] *= w[p];
#endif
            UNROLL
            for (int p = 0; p < PER; p++) value[c * PER + p] = e[p] * w[p];
        }
        UNROLL
        for (int c = 0; c < COLUMNS; c++) {
            UNROLL
            for (int j = 0; j < VOXELS / 4; j++) {
                float w[4];
                UNPACK_FLOATS_4(w, ((LOCAL_POINTER const float4 *)own)[c * (VOXELS / 4) + j]);
                UNROLL
                for (int k = 0; k < 4 * PER; k++)
                    theta[4 * j * PER + k] = FMA(w[k / PER], value[c * PER + k % PER], theta[4 * j * PER + k]);
            }
        }
    }
    size_t out = (((size_t)group * group_count(0) + (size_t)at) * (size_t)chunks + (size_t)chunk) * VOXELS;
    UNROLL
    for (int j = 0; j < VOXELS; j += 4) {
        BARRIER();
        UNROLL
        for (int k = 0; k < 4 * PER; k++)
            sums[(warp * 4 + k / PER) * SLICES + lane * PER + k % PER] = theta[j * PER + k];
        BARRIER();
        for (int i = item; i < 4 * SLICES && awake; i += ITEMS) {
            float sum = 0.0f;
            for (int w = 0; w < WARPS; w++) sum += sums[w * 4 * SLICES + i];
            partial[(out + (size_t)j) * SLICES + (size_t)i] = sum;
        }
    }
}

/* ---- solve ---- */

typedef struct qb_pull {
    float slope, curve;
} qb_pull;

FUNCTION void pull_to(qb_surrogate b, float weight, float d, qb_pull *sum) {
    float c = weight * surrogate_of(b, d);
    sum->slope += c * d;
    sum->curve += c;
}

/* Sums of all lanes, the same for any number of items; every item gets the result. */
FUNCTION float sum_lanes(LOCAL_POINTER float *all, int lane, float value) {
    BARRIER();
    all[lane] = value;
    for (int n = SLICES / 2; n > 0; n /= 2) {
        BARRIER();
        if (lane < n) all[lane] += all[lane + n];
    }
    BARRIER();
    return all[0];
}

enum { ACROSS = WIDE + 2, AROUND = (WIDE + 2) * (HIGH + 2) };

/* A tile with its neighbours, for one slice per item: loaded at once into nearby memory. */
#define NEAR(i) near[(i)*SLICES + lane]

/* The pull of the neighbours in the slice on the voxel at `at` of near; *any: one of them is not zero. */
FUNCTION qb_pull pull_of(LOCAL_POINTER const float *near, LOCAL_POINTER const int *may, qb_surrogate b, float nearest,
                         float diagonal, int lane, int at, float x, int *any) {
    qb_pull sum = {0.0f, 0.0f};
    UNROLL
    for (int n = 0; n < 9; n++) {
        int other = at + (n / 3 - 1) * ACROSS + n % 3 - 1;
        float value = NEAR(other), weight = (n & 1) ? nearest : diagonal;
        if (n == 4) continue;
        *any |= value != 0.0f;
        pull_to(b, may[other] ? weight : 0.0f, x - value, &sum);
    }
    return sum;
}

/* One item per slice. share[group][tile][voxel][voxel]: A' w A of two voxels over the root of that of each with itself.
 * stats[group][tile]: |x' - x|, |x'|, updated voxels. steps[group][place][voxel][SLICES]. */
KERNEL GROUPS_OF(SLICES,
                 1) void icd_solve(GLOBAL float *x, GLOBAL const uchar *RESTRICT inside, int nx, int ny, int groups,
                                   int slices, GLOBAL const float *RESTRICT curve, GLOBAL const float *RESTRICT partial,
                                   int chunks, GLOBAL const float *RESTRICT share, int tiles,
                                   GLOBAL const int *RESTRICT picked, int picked_at, GLOBAL const int *RESTRICT corner,
                                   qb_surrogate b, float nearest, float diagonal, float interslice, int positive,
                                   int skip, GLOBAL float *RESTRICT steps, GLOBAL int *RESTRICT moved,
                                   GLOBAL float4 *RESTRICT stats) {
    LOCAL float near[AROUND * SLICES], slopes[VOXELS * SLICES], curves[VOXELS * SLICES], all[SLICES];
    LOCAL float shares[VOXELS * VOXELS];
    LOCAL int may[AROUND], updated[VOXELS];
#if JOINED
    LOCAL float before[VOXELS * SLICES], after[VOXELS * SLICES];
#endif
    int lane = (int)local_id(0), at = (int)group_id(0), group = (int)group_id(1);
    int tile = TILE_OF(at, group);
    if (tile < 0) return;
    qb_slab slab = {x, inside, nx, ny, groups, slices};
    int x0 = corner[tile] & 0xffff, y0 = corner[tile] >> 16, slice = lane * groups + group;
    size_t spot = (size_t)group * group_count(0) + (size_t)at;
    size_t entry = ((size_t)group * (size_t)tiles + (size_t)tile) * VOXELS * VOXELS;
    UNROLL
    for (int i = 0; i < AROUND; i++) {
        int ix = x0 - 1 + i % ACROSS, iy = y0 - 1 + i / ACROSS;
        NEAR(i) = ix <= nx && iy <= ny ? x[pixel_at(slab, group, ix, iy) * SLICES + (size_t)lane] : 0.0f;
    }
    UNROLL
    for (int j = 0; j < VOXELS; j++) {
        int ix = x0 + j % WIDE, iy = y0 + j / WIDE, there = ix < nx && iy < ny;
        size_t pixel = there ? pixel_at(slab, 0, ix, iy) : 0;
        curves[j * SLICES + lane] = there ? curve[pixel_at(slab, group, ix, iy) * SLICES + (size_t)lane] : 0.0f;
#if JOINED
        before[j * SLICES + lane] = has_before(slice, slices) ? x_before(slab, group, lane, pixel) : 0.0f;
        after[j * SLICES + lane] = has_after(slice, slices) ? x_after(slab, group, lane, pixel) : 0.0f;
#endif
        float slope = 0.0f;
        for (int k = 0; k < chunks; k++)
            slope += partial[((spot * (size_t)chunks + (size_t)k) * VOXELS + (size_t)j) * SLICES + (size_t)lane];
        slopes[j * SLICES + lane] = slope;
    }
    for (int i = lane; i < AROUND; i += SLICES) {
        int ix = x0 - 1 + i % ACROSS, iy = y0 - 1 + i / ACROSS;
        may[i] = ix <= nx && iy <= ny ? inside[pixel_at(slab, 0, ix, iy)] : 0;
    }
    for (int i = lane; i < VOXELS * VOXELS; i += SLICES) shares[i] = share[entry + (size_t)i];
    for (int j = lane; j < VOXELS; j += SLICES) updated[j] = 0;
    BARRIER();
    float taken[VOXELS], changed = 0.0f, size = 0.0f, some = 0.0f;
    UNROLL
    for (int j = 0; j < VOXELS; j++) taken[j] = 0.0f;
    UNROLL_BY(1)
    for (int y = 0; y < HIGH; y++) {
        UNROLL_BY(1)
        for (int i = 0; i < WIDE; i++) {
            /* alternating directions */
            int j = y * WIDE + ((y & 1) ? WIDE - 1 - i : i), here = (y + 1) * ACROSS + j % WIDE + 1;
            float old = NEAR(here), theta2 = curves[j * SLICES + lane], root = SQRT(theta2), less = 0.0f;
            int awake = !skip || old != 0.0f;
            qb_pull prior = pull_of(near, may, b, nearest, diagonal, lane, here, old, &awake);
#if JOINED
            float first = before[j * SLICES + lane], last = after[j * SLICES + lane];
            awake |= first != 0.0f || last != 0.0f;
            pull_to(b, has_before(slice, slices) ? interslice : 0.0f, old - first, &prior);
            pull_to(b, has_after(slice, slices) ? interslice : 0.0f, old - last, &prior);
#endif
            UNROLL
            for (int k = 0; k < VOXELS; k++) less = FMA(shares[j * VOXELS + k], taken[k], less);
            float next = old + (slopes[j * SLICES + lane] - root * less - prior.slope) / (theta2 + prior.curve);
            next = positive ? largest(next, 0.0f) : next;
            awake = awake && may[here];
            next = awake && theta2 > 0.0f ? next : old;
            float step = next - old;
            if (awake) updated[j] = 1;
            NEAR(here) = next;
            UNROLL
            for (int k = 0; k < VOXELS; k++) taken[k] = k == j ? (awake ? root * step : 0.0f) : taken[k];
            steps[(spot * VOXELS + (size_t)j) * SLICES + (size_t)lane] = step;
            changed += step < 0.0f ? -step : step;
            size += next < 0.0f ? -next : next;
            some = step != 0.0f ? 1.0f : some;
        }
    }
    for (int j = 0; j < VOXELS; j++) {
        int here = (j / WIDE + 1) * ACROSS + j % WIDE + 1;
        if (may[here]) x[pixel_at(slab, group, x0 + j % WIDE, y0 + j / WIDE) * SLICES + (size_t)lane] = NEAR(here);
    }
    changed = sum_lanes(all, lane, changed);
    size = sum_lanes(all, lane, size);
    some = sum_lanes(all, lane, some);
    if (lane > 0) return;
    int count = 0;
    for (int j = 0; j < VOXELS; j++) count += updated[j];
    moved[spot] = some > 0.0f;
    stats[(size_t)group * (size_t)tiles + (size_t)tile] = FLOAT4(changed, size, (float)count, 0.0f);
}

/* ---- apply ---- */

#define AT_ONCE (8192 / TABLE) /* tiles whose entries are held at a time */

/* error -= A steps of a batch: one group of items per view and group of slices. */
KERNEL GROUPS_OF(ITEMS, 2) void icd_apply(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes,
                                          float area, int views, int stride, int columns,
                                          GLOBAL const int *RESTRICT picked, int picked_at, int places,
                                          GLOBAL const int *RESTRICT corner, GLOBAL const float *RESTRICT steps,
                                          GLOBAL const int *RESTRICT moved, GLOBAL float *error) {
    LOCAL_ALIGNED float table[AT_ONCE][TABLE];
    LOCAL int begin[AT_ONCE];
    int item = (int)local_id(0), lane = item % 32, warp = item / 32;
    int view = (int)group_id(0), group = (int)group_id(1);
    qb_beam beam = {rays, shapes, stride, columns, area};
    int row = columns + 2 * COLUMNS, low = row * warp / WARPS, high = row * (warp + 1) / WARPS;
    GLOBAL VECTOR *line =
        (GLOBAL VECTOR *)error + ((size_t)group * (size_t)views + (size_t)view) * (size_t)row * 32 + (size_t)lane;
    for (int base = 0; base < places; base += AT_ONCE) {
        BARRIER();
        for (int n = warp; n < AT_ONCE; n += WARPS) {
            int at = base + n, tile = at < places ? picked[picked_at + group * places + at] : -1;
            int first = -1;
            if (tile >= 0 && moved[group * places + at])
                first = COLUMNS + make_table(beam, view, corner[tile] & 0xffff, corner[tile] >> 16, lane, 0, table[n]);
            if (lane == 0) begin[n] = first;
        }
        BARRIER();
        for (int n = 0; n < AT_ONCE; n++) {
            int first = begin[n];
            if (first < 0 || first >= high || first + COLUMNS <= low) continue;
            float step[VOXELS * PER];
            size_t from = ((size_t)(group * places + base + n)) * VOXELS * 32 + (size_t)lane;
            UNROLL
            for (int j = 0; j < VOXELS; j++)
                UNPACK(step + j * PER, ((GLOBAL const VECTOR *)steps)[from + (size_t)j * 32]);
            int c0 = first < low ? low - first : 0, c1 = first + COLUMNS > high ? high - first : COLUMNS;
            /* all columns are on their way before the first is needed */
            float e[COLUMNS][PER];
            UNROLL
            for (int c = 0; c < COLUMNS; c++)
                if (c >= c0 && c < c1) UNPACK(e[c], line[(size_t)(first + c) * 32]);
            UNROLL
            for (int c = 0; c < COLUMNS; c++) {
                if (c < c0 || c >= c1) continue;
                UNROLL
                for (int j = 0; j < VOXELS / 4; j++) {
                    float w[4];
                    UNPACK_FLOATS_4(w, ((LOCAL_POINTER const float4 *)table[n])[c * (VOXELS / 4) + j]);
                    UNROLL
                    for (int k = 0; k < 4 * PER; k++)
                        e[c][k % PER] = FMA(-w[k / PER], step[4 * j * PER + k], e[c][k % PER]);
                }
                line[(size_t)(first + c) * 32] = PACK(e[c]);
            }
        }
    }
}
