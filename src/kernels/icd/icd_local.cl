/* SPDX-License-Identifier: MIT */
/* Iterative coordinate descent of single slices, SuperVoxel by SuperVoxel, with buffers in local memory: after
 * Algorithm 3 of Wang et al. (PPoPP 2017), for devices whose local memory holds a buffer.
 *
 *   icd_update   one group of items per SuperVoxel: loads the buffer, updates its voxels, stores the buffer
 *   icd_return   one group per view: adds the changes of a batch's buffers to the errors, in order
 *
 * An item owns views. It computes its part of a voxel's theta1 and, when the step is known, applies the step to the
 * same views: nothing is atomic, and the only wait between voxels is for the sum. AT_ONCE voxels, SIDE / 2 apart, share
 * that wait. For each of them, 32 more items compute the sum and the step; they evaluate the prior while the others
 * work on the views. Nothing depends on the order of groups: the same bits in every run.
 *
 * Data are [slice][view][WIDTH + columns + WIDTH], images [slice][pixel], with pixels numbered (iy + 1) (nx + 2) + ix +
 * 1. Weights are stored as half floats of their square root. */
#ifndef OWNERS
#define OWNERS 256 /* items that own views */
#endif
#ifndef EACH
#define EACH 3 /* views per owner */
#endif
#ifndef AT_ONCE
#define AT_ONCE 1
#endif
#ifndef PULLED
#define PULLED 0 /* voxels are pulled toward an image */
#endif
#ifndef AHEAD
#define AHEAD 1 /* the next voxel's entries are computed while waiting for the step */
#endif
#include "icd_buffers.clh"

#define ITEMS (OWNERS + 32 * AT_ONCE)
#define ROWS_AT_ONCE 8                /* rows of the buffer that are loaded together */
#define PARTS_X (AT_ONCE > 2 ? 2 : 1) /* each of the voxels at once is in a different part of the SuperVoxel */
#define PARTS_Y (AT_ONCE / PARTS_X)
#define PART_WIDE (SIDE / PARTS_X)
#define PART_HIGH (SIDE / PARTS_Y)
#define ROUNDS (PART_WIDE * PART_HIGH)

/* The k-th voxel of a round: rounds go through a part in alternating directions. */
FUNCTION int voxel_of(int round, int k) {
    int y = round / PART_WIDE, x = round % PART_WIDE;
    x = (y & 1) ? PART_WIDE - 1 - x : x;
    return (y + k / PARTS_X * PART_HIGH) * SIDE + x + k % PARTS_X * PART_WIDE;
}

FUNCTION int spot_of(int voxel) { return (voxel / SIDE + 1) * (SIDE + 2) + voxel % SIDE + 1; }

/* Whether it may change; with `skip`, not if all is zero. */
FUNCTION int awake_at(LOCAL_POINTER const float *near, LOCAL_POINTER const int *may, int skip, int spot) {
    int zeros = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) zeros += near[spot + y * (SIDE + 2) + x] == 0.0f;
    return may[spot] && !(skip && zeros == 9);
}

typedef struct qb_footprints {
    float tap[AT_ONCE * EACH * TAPS];
    int first[AT_ONCE * EACH];
} qb_footprints;

FUNCTION void cast(const qb_look *look, int round, qb_footprints *s) {
    UNROLL
    for (int k = 0; k < AT_ONCE; k++) {
        int voxel = voxel_of(round, k);
        float x = (float)(voxel % SIDE), y = (float)(voxel / SIDE);
        UNROLL
        for (int n = 0; n < EACH; n++)
            s->first[k * EACH + n] = footprint_in_buffer(look[n], x, y, s->tap + (k * EACH + n) * TAPS);
    }
}

/* The neighbours' pull on the voxel at `spot`: slope and curvature. */
FUNCTION float2 pull_of(LOCAL_POINTER const float *near, LOCAL_POINTER const int *may, qb_surrogate b, float nearest,
                        float diagonal, int spot, int n) {
    int other = spot + (n / 3 - 1) * (SIDE + 2) + n % 3 - 1;
    float d = near[spot] - near[other];
    float c = n != 4 && may[other] ? ((n & 1) ? nearest : diagonal) * surrogate_of(b, d) : 0.0f;
    return FLOAT2(c * d, c);
}

#if QB_CUDA
FUNCTION float sum_of_warp(float value) {
    for (int n = 16; n > 0; n /= 2) value += SHUFFLE_XOR(value, n);
    return value;
}
#endif

#if PULLED
FUNCTION float2 pull_toward(qb_surrogate b, float weight, float d) {
    float c = weight * surrogate_of(b, d);
    return FLOAT2(c * d, c);
}
#endif

/* What is known of a voxel before theta1: it moves to old + (theta1 - slope) * per. */
typedef struct qb_wish {
    float old, slope, per;
    int awake;
} qb_wish;

/* Computed by 32 items together. On CUDA all of them have the result, elsewhere only the first. With PULLED the voxel
 * is pulled to `toward` with the weight pull_b. */
FUNCTION qb_wish wish_of(LOCAL_POINTER const float *near, LOCAL_POINTER const int *may, qb_surrogate b, float nearest,
                         float diagonal, float pull_b, float toward, int skip, float theta2, int spot, int lane) {
    qb_wish w;
    float2 pull = FLOAT2(0.0f, 0.0f);
#if QB_CUDA
    int n = lane < 9 ? lane : 4, zero = near[spot + (n / 3 - 1) * (SIDE + 2) + n % 3 - 1] == 0.0f;
    pull = pull_of(near, may, b, nearest, diagonal, spot, n);
#if PULLED
    if (lane == 9) pull = pull_toward(b, pull_b, near[spot] - toward);
#endif
    pull = FLOAT2(sum_of_warp(pull.x), sum_of_warp(pull.y));
    w.awake = may[spot] && !(skip && __all_sync(0xffffffffu, zero));
#else
    for (int n = 0; n < 9 && lane == 0; n++) pull += pull_of(near, may, b, nearest, diagonal, spot, n);
#if PULLED
    pull += pull_toward(b, pull_b, near[spot] - toward);
#endif
    w.awake = awake_at(near, may, skip, spot);
#endif
    w.awake = w.awake && theta2 > 0.0f;
    w.old = near[spot];
    w.slope = pull.x;
    w.per = w.awake ? 1.0f / (theta2 + pull.y) : 0.0f;
    return w;
}

/* stats[stats_at + ...][slice][SuperVoxel]: |x' - x|, |x'|, updated voxels; left[slice][place][view][WIDTH]: the
 * buffer. */
KERNEL GROUPS_OF(ITEMS, 1) void icd_update(
    GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes, float area, int views, int stride,
    int columns, GLOBAL const float *RESTRICT error, GLOBAL const half_bits *RESTRICT root,
    GLOBAL const int *RESTRICT picked, int picked_at, GLOBAL const int *RESTRICT corner, int supervoxels,
    GLOBAL float *x, GLOBAL const uchar *RESTRICT inside, GLOBAL const float *RESTRICT curve, int nx, int ny,
    qb_surrogate b, float nearest, float diagonal, GLOBAL const float *RESTRICT toward, float pull, int positive,
    int skip, GLOBAL float *RESTRICT left, GLOBAL int *RESTRICT moved, GLOBAL float4 *RESTRICT stats,
    int stats_at LOCAL_DYNAMIC_ARGUMENT(float2, buffer)) {
    LOCAL_DYNAMIC(float2, buffer); /* errors and weights */
    LOCAL float near[AROUND], curves[SIDE * SIDE], steps[AT_ONCE], sums[AT_ONCE * OWNERS], all[3 * AT_ONCE];
    LOCAL float goals[PULLED ? SIDE * SIDE : 1];
    LOCAL int may[AROUND], listed;
    LOCAL ushort list[ROUNDS];
    LOCAL uchar flags[ROUNDS];
    int item = (int)local_id(0), lane = item % 32, warp = item / 32, own = item < OWNERS, k = warp - OWNERS / 32;
    int at = (int)group_id(0), places = (int)group_count(0), slice = (int)group_id(1);
    int which = SUPERVOXEL_OF(at, slice), rows = columns + 2 * WIDTH;
    if (which < 0) return;
    LOCAL_POINTER short *bases = (LOCAL_POINTER short *)(buffer + views * WIDTH);
    qb_beam beam = {rays, shapes, stride, columns, area};
    int x0 = corner[which] & 0xffff, y0 = corner[which] >> 16;
    size_t image = (size_t)slice * (size_t)(nx + 2) * (size_t)(ny + 2), spot = (size_t)(slice * places + at);

    /* load the image, and find the rounds */
    for (int i = item; i < AROUND; i += ITEMS) {
        int ix = x0 - 1 + i % (SIDE + 2), iy = y0 - 1 + i / (SIDE + 2), there = ix <= nx && iy <= ny;
        size_t pixel = there ? (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1) : 0;
        near[i] = there ? x[image + pixel] : 0.0f;
        may[i] = there ? inside[pixel] : 0;
    }
    for (int i = item; i < SIDE * SIDE; i += ITEMS) {
        int ix = x0 + i % SIDE, iy = y0 + i / SIDE, there = ix < nx && iy < ny;
#if PULLED
        goals[i] = there ? toward[image + (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1)] : 0.0f;
#endif
        curves[i] = there ? curve[image + (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1)] : 0.0f;
    }
    BARRIER();
    for (int r = item; r < ROUNDS; r += ITEMS) {
        int any = 0;
        for (int n = 0; n < AT_ONCE; n++) {
            int here = spot_of(voxel_of(r, n));
            any |= awake_at(near, may, skip, here);
        }
        flags[r] = any != 0;
    }
    BARRIER();
    for (int r = item; r < ROUNDS; r += ITEMS) {
        int before = 0;
        for (int i = 0; i < r; i++) before += flags[i];
        if (flags[r]) list[before] = (ushort)r;
        if (r == ROUNDS - 1) listed = before + flags[r];
    }
    for (int v = item; v < views; v += ITEMS) { bases[v] = (short)begin_of(beam, v, which, corner[which]); }
    BARRIER();
    int count = listed;
    if (!count) {
        if (item == 0) {
            moved[spot] = 0;
            stats[(size_t)stats_at + (size_t)slice * (size_t)supervoxels + (size_t)which] =
                FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        return;
    }

    /* load the buffer */
    for (int c = lane; c < WIDTH; c += 32)
        for (int v0 = warp; v0 < views; v0 += ROWS_AT_ONCE * (ITEMS / 32)) {
            float e[ROWS_AT_ONCE], w[ROWS_AT_ONCE];
            UNROLL
            for (int n = 0; n < ROWS_AT_ONCE; n++) {
                int v = v0 + n * (ITEMS / 32);
                if (v >= views) continue;
                size_t from =
                    ((size_t)slice * (size_t)views + (size_t)v) * (size_t)rows + (size_t)(bases[v] + WIDTH + c);
                e[n] = error[from];
                w[n] = LOAD_HALF(from, root);
            }
            UNROLL
            for (int n = 0; n < ROWS_AT_ONCE; n++) {
                int v = v0 + n * (ITEMS / 32);
                if (v >= views) continue;
                buffer[v * WIDTH + c] = FLOAT2(e[n], w[n] * w[n]);
            }
        }
    qb_look look[EACH];
    UNROLL
    for (int n = 0; n < EACH; n++) {
        int v = item + n * OWNERS;
#if FAN
        v = own && v < views ? v : 0;
        look[n] = look_from(beam, v, bases[v], corner[which]);
#else
        LONG middle = 0;
        look[n] = look_at(beam, own && v < views ? v : 0);
        if (own && v < views) place(beam, v, x0, y0, &middle);
        look[n].h = (float)middle * (1.0f / 4294967296.0f);
#endif
    }
    BARRIER();

    /* compute round by round */
    qb_footprints now;
    if (own) cast(look, list[0], &now);
    float changed = 0.0f, size = 0.0f, updated = 0.0f, kept[EACH * TAPS];
    for (int i = 0; i < count; i++) {
        int round = list[i], here = spot_of(voxel_of(round, own ? 0 : k));
        qb_wish wish;
        if (own) {
            UNROLL
            for (int m = 0; m < AT_ONCE; m++) {
                float theta[EACH], sum = 0.0f;
                UNROLL
                for (int n = 0; n < EACH; n++) {
                    int v = item + n * OWNERS, from = v * WIDTH + now.first[m * EACH + n];
                    theta[n] = 0.0f;
                    if (v >= views) continue;
                    UNROLL
                    for (int t = 0; t < TAPS; t++) {
                        float2 both = buffer[from + t];
                        theta[n] = FMA(now.tap[(m * EACH + n) * TAPS + t] * both.y, both.x, theta[n]);
                        if (AT_ONCE == 1) kept[n * TAPS + t] = both.x;
                    }
                }
                UNROLL
                for (int n = 0; n < EACH; n++) sum += theta[n];
                sums[m * OWNERS + item] = sum;
            }
        } else {
            wish = wish_of(near, may, b, nearest, diagonal, pull, PULLED ? goals[voxel_of(round, k)] : 0.0f, skip,
                           curves[voxel_of(round, k)], here, lane);
        }
        BARRIER();
#if !QB_CUDA
        for (int n = OWNERS; n > 1;) {
            int half_of = (n + 1) / 2;
            for (int j = item; j < AT_ONCE * half_of; j += ITEMS) {
                int to = j % half_of, m = j / half_of;
                if (to + half_of < n) sums[m * OWNERS + to] += sums[m * OWNERS + to + half_of];
            }
            n = half_of;
            BARRIER();
        }
#endif
        if (!own) {
            float theta = 0.0f;
#if QB_CUDA
            UNROLL
            for (int n = 0; n < OWNERS / 32; n++) theta += sums[k * OWNERS + lane + n * 32];
            theta = sum_of_warp(theta);
#else
            theta = sums[k * OWNERS];
#endif
            if (lane == 0) {
                float next = FMA(theta - wish.slope, wish.per, wish.old);
                next = wish.awake ? (positive ? largest(next, 0.0f) : next) : wish.old;
                steps[k] = next - wish.old;
                near[here] = next;
                changed += next > wish.old ? next - wish.old : wish.old - next;
                size += next < 0.0f ? -next : next;
                updated += wish.awake ? 1.0f : 0.0f;
            }
        }
#if AHEAD
        qb_footprints then = now;
        if (own && i + 1 < count) cast(look, list[i + 1], &then);
#endif
        BARRIER();
        if (own) {
            UNROLL
            for (int m = 0; m < AT_ONCE; m++) {
                float step = steps[m];
                if (step == 0.0f) continue;
                UNROLL
                for (int n = 0; n < EACH; n++) {
                    int v = item + n * OWNERS, from = v * WIDTH + now.first[m * EACH + n];
                    if (v >= views) continue;
                    UNROLL
                    for (int t = 0; t < TAPS; t++) {
                        float e = AT_ONCE == 1 ? kept[n * TAPS + t] : buffer[from + t].x;
                        buffer[from + t].x = FMA(-now.tap[(m * EACH + n) * TAPS + t], step, e);
                    }
                }
            }
#if AHEAD
            now = then;
#else
            if (i + 1 < count) cast(look, list[i + 1], &now);
#endif
        }
    }

    /* store the result */
    if (!own && lane == 0) {
        all[k] = changed;
        all[AT_ONCE + k] = size;
        all[2 * AT_ONCE + k] = updated;
    }
    BARRIER();
    for (int i = item; i < views * WIDTH; i += ITEMS) left[spot * (size_t)(views * WIDTH) + (size_t)i] = buffer[i].x;
    for (int i = item; i < SIDE * SIDE; i += ITEMS) {
        int here = spot_of(i);
        if (may[here])
            x[image + (size_t)(y0 + i / SIDE + 1) * (size_t)(nx + 2) + (size_t)(x0 + i % SIDE + 1)] = near[here];
    }
    if (item > 0) return;
    float4 sum = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int n = 0; n < AT_ONCE; n++) {
        sum.x += all[n];
        sum.y += all[AT_ONCE + n];
        sum.z += all[2 * AT_ONCE + n];
    }
    moved[spot] = sum.x != 0.0f;
    stats[(size_t)stats_at + (size_t)slice * (size_t)supervoxels + (size_t)which] = sum;
}
