/* SPDX-License-Identifier: MIT */
/* Forward projection after Joseph (cpu/project_joseph/project_joseph.h). An item follows RAYS rays, 32 rows apart,
 * through a slab of the volume, plane by plane; the lanes of a warp are neighbouring rows, so they read neighbours in
 * memory. A group has 32 x RAYS rows of COLUMNS columns in VIEWS views.
 *
 * Positions are relative to whole numbers that are computed anew, with twice the digits, every CHUNK planes. Rays take
 * their samples from low to high z, and a sample belongs to the slab that has both of its slices; the last slice of the
 * slab before is stored in front of it. So slabs, from low to high, add the same numbers in the same order as the whole
 * volume.
 *
 * TEXTURED: the planes are images, one set per axis, with linear filtering. */
#ifndef RAYS
#define RAYS 2
#endif
#ifndef COLUMNS
#define COLUMNS 4
#endif
#ifndef VIEWS
#define VIEWS 4
#endif
#ifndef CHUNK
#define CHUNK 32
#endif
#ifndef GROUPS
#define GROUPS 3
#endif
#ifndef TEXTURED
#define TEXTURED 0
#endif
#ifndef WIDE
#define WIDE 0 /* the slab has more floats than 32 bits can count */
#endif
#include "project_joseph.clh"
#if !VERTICAL
#undef RAYS
#define RAYS 1
#endif
#define ITEMS (32 * COLUMNS * VIEWS)

#if WIDE
typedef ulong place;
#else
typedef uint place;
#endif

/* A number along a ray: from + k step in plane k. */
typedef struct qb_course {
    float2 from, step;
} qb_course;

/* The volume seen along an axis: floats from plane to plane and along b and c; sizes in voxels. */
typedef struct qb_way {
    int plane, neighbour, above;
    int planes, most_b;
    int low_c, end_c; /* the slab holds the samples with low_c <= floor(c) < end_c */
    int low_k, end_k; /* the slab holds the planes low_k <= k < end_k */
    place start;      /* position of voxel 0 of plane 0 in slice 0 of the grid */
} qb_way;

/* The same with planes counted from the last one. */
FUNCTION qb_course turned(qb_course a, bool down, int planes) {
    qb_course t;
    if (!down) return a;
    t.from = plus_times(a.from, (float)(planes - 1), a.step), t.step = minus(a.step);
    return t;
}

/* Planes with low < from + k step < high, and perhaps one more. */
FUNCTION void narrow(qb_course of, float low, float high, float *first, float *last) {
    const float size = fmax(fabs(of.step.x), 1e-20f), d = of.step.x < 0.0f ? -size : size;
    const float a = (low - of.from.x) / d, b = (high - of.from.x) / d;
    *first = fmax(*first, fmin(a, b) - 1.0f);
    *last = fmin(*last, fmax(a, b) + 1.0f);
}

/* True if all positions of a chunk that begins at `from` with step `step` are well inside. */
FUNCTION bool stays(float from, float step, float low, float high) {
    const float end = FMA((float)(CHUNK - 1), step, from);
    return fmin(from, end) > low + 0.01f && fmax(from, end) < high - 0.01f;
}

#if VERTICAL
FUNCTION qb_course climb_of(GLOBAL const float *fan, int row) {
    qb_course c;
    c.from = plus_times(pair_at(fan, 2), (float)row, pair_at(fan, 4));
    c.step = plus_times(pair_at(fan, 3), (float)row, pair_at(fan, 5));
    return c;
}
#define CLIMB(i) climb_of(fan, row + 32 * (i))
#define LENGTH(i) vertical_length(fan, (float)(row + 32 * (i)), vz)
#else
#define CLIMB(i) only_c
#define LENGTH(i) only_length
#endif

#if TEXTURED
/* Ten bits of the fraction, more than a texture unit uses, keep it exact, so that the start of a slab does not change
 * the bits. */
#define EXACT 12288.0f
#define IMAGES TEXTURE_LAYERED(images_x), TEXTURE_LAYERED(images_y)
#define FETCH(c, b, k)                                                                                                 \
    (axis == 0 ? TEXTURE_READ1_LAYER(images_x, (c), (b), (k)) : TEXTURE_READ1_LAYER(images_y, (c), (b), (k)))
#else
#define IMAGES GLOBAL const float *RESTRICT volume
#define TOGETHER (RAYS < 4 ? 4 / RAYS : 1)
FUNCTION void read_four(GLOBAL const float *RESTRICT volume, place at, int neighbour, int above, float *to) {
    GLOBAL const float *p = volume + at, *q = p + neighbour;
    to[0] = p[0], to[1] = p[above], to[2] = q[0], to[3] = q[above];
}

FUNCTION float between(const float *four, float fb, float fc) {
    const float near = FMA(fc, four[1] - four[0], four[0]), far = FMA(fc, four[3] - four[2], four[2]);
    return FMA(fb, far - near, near);
}
#endif

/* records: of view first_view on. sums: of the block's views, from float sums_at on; views, columns and rows are apart,
 * across and down floats apart. Slabs of a batch, and their sums, lie one behind the other. Slab z0 <= z < z1 of nz
 * slices, lines of `line` floats. With `more`, sums are continued; with the last slab they are multiplied by the rays'
 * lengths. odd[odd_at + view] = 1 if a value is not finite, unless odd_at < 0. */
#define MOST 3.402823466e+38f /* largest finite number */
KERNEL GROUPS_OF(ITEMS, GROUPS) void project_joseph_forward(IMAGES, GLOBAL const float *RESTRICT records,
                                                            int first_view, int views, int columns, int rows, int nx,
                                                            int ny, int nz, int z0, int z1, int line,
                                                            GLOBAL float *RESTRICT sums, ulong sums_at, ulong apart,
                                                            int across, int down, float vx, float vy, float vz,
                                                            int more, GLOBAL int *RESTRICT odd, int odd_at) {
    const int lane = (int)local_id(0) % 32, warp = (int)local_id(0) / 32;
    const int column = (int)group_id(0) * COLUMNS + warp % COLUMNS;
    const int view = (int)group_id(1) * VIEWS + warp / COLUMNS;
    const int tall = (rows + 32 * RAYS - 1) / (32 * RAYS);
    const int row = ((int)group_id(2) % tall) * 32 * RAYS + lane;
    const ulong image = (ulong)((int)group_id(2) / tall) * (ulong)views + (ulong)view; /* index in the batch */
    if (column >= columns || view >= views || row >= rows) return;
    const bool last = z1 == nz;
    const int own = rows - row > 32 * (RAYS - 1) ? RAYS : (rows - row + 31) / 32; /* number of existing rays */
    qb_course all_b;
#if VERTICAL
    GLOBAL const float *fan = records + ((ulong)(first_view + view) * (ulong)columns + (ulong)column) * RECORD;
    const int axis = (int)fan[12];
    all_b.from = pair_at(fan, 0), all_b.step = pair_at(fan, 1);
#else
    GLOBAL const float *at_view = records + (ulong)(first_view + view) * RECORD;
    float2 along[3], from[3];
    for (int j = 0; j < 3; j++) {
        along[j] = component(at_view, 0, j, (float)column, (float)row);
        from[j] = component(at_view, 9, j, (float)column, (float)row);
    }
    const int axis = axis_of(along);
    const float2 main = axis == 0 ? along[0] : axis == 1 ? along[1] : along[2];
    const float2 origin = axis == 0 ? from[0] : axis == 1 ? from[1] : from[2];
    const float only_length = length_of(along, axis, vx, vy, vz);
    all_b.step = over(axis == 0 ? along[1] : along[0], main);
    all_b.from = plus(axis == 0 ? from[1] : from[0], minus(times(origin, all_b.step)));
    qb_course only_c;
    only_c.step = over(axis == 2 ? along[1] : along[2], main);
    only_c.from = plus(axis == 2 ? from[1] : from[2], minus(times(origin, only_c.step)));
#endif
    const int step_y = (nx + 2 * EDGE) * line;
    qb_way way;
    way.planes = axis == 0 ? nx : axis == 1 ? ny : nz;
    way.most_b = axis == 0 ? ny : nx;
    way.plane = axis == 0 ? line : axis == 1 ? step_y : 1;
    way.neighbour = axis == 0 ? step_y : line;
    way.above = !VERTICAL && axis == 2 ? step_y : 1;
    way.low_c = axis == 2 ? -1 : z0 - 1;
    way.end_c = axis == 2 ? ny : last ? nz : z1 - 1;
    way.low_k = axis < 2 || z0 == 0 ? 0 : z0 - 1;
    way.end_k = axis < 2 ? way.planes : last ? nz : z1 - 1;
    /* The start is not added to the pointer: a kernel argument needs no instruction, otherwise the kernel takes a fifth
     * more time. */
    way.start = (place)EDGE * (place)(step_y + line) + (place)(FRONT - z0) +
                (place)((int)group_id(2) / tall) * (place)slab_floats(nx, ny, line);
    GLOBAL float *out = sums + sums_at + image * apart + (ulong)column * (ulong)across + (ulong)row * (ulong)down;
    int falls = 0; /* one bit per ray */
    UNROLL for (int i = 0; i < RAYS; i++) if (axis < 2 && CLIMB(i).step.x < 0.0f) falls |= 1 << i;
    /* First the rays that rise, then those that fall: usually all are of one kind. */
    for (int fall = 0; fall < 2; fall++) {
        int some = -1;
        UNROLL for (int i = RAYS - 1; i >= 0; i--) if (i < own && (falls >> i & 1) == fall) some = i;
        if (some < 0) continue;
        const qb_course to_b = turned(all_b, fall, way.planes);
        qb_course to_c[RAYS];
        float sum[RAYS];
        float first = 1e9f, end = -1e9f;
        /* Items without a ray repeat the work of another item. */
        UNROLL for (int i = 0; i < RAYS; i++) {
            const bool mine = i < own && (falls >> i & 1) == fall;
            to_c[i] = turned(CLIMB(mine ? i : some), fall, way.planes);
            sum[i] = more && mine ? out[32 * i * down] : 0.0f;
            float low = (float)(fall ? 0 : way.low_k), high = (float)((fall ? way.planes : way.end_k) - 1);
            narrow(to_b, -1.0f, (float)way.most_b, &low, &high);
            narrow(to_c[i], (float)way.low_c, (float)way.end_c, &low, &high);
            first = fmin(first, low), end = fmax(end, high);
        }
        const int from_chunk = first <= end ? (int)FLOOR(first / (float)CHUNK) : 0;
        const int to_chunk = first <= end ? (int)FLOOR(end / (float)CHUNK) : -1;
        const int plane = fall ? -way.plane : way.plane;
        for (int chunk = from_chunk; chunk <= to_chunk; chunk++) {
            const int k0 = chunk * CHUNK;
            const place start = way.start + (place)(fall ? way.planes - 1 - k0 : k0) * (place)way.plane;
            float b, c[RAYS];
            const int whole_b = floor_of(plus_times(to_b.from, (float)k0, to_b.step), &b);
            int whole_c[RAYS];
            bool inside = k0 >= way.low_k && k0 + CHUNK <= way.end_k &&
                          stays((float)whole_b + b, to_b.step.x, -1.0f, (float)way.most_b);
            UNROLL for (int i = 0; i < RAYS; i++) {
                whole_c[i] = floor_of(plus_times(to_c[i].from, (float)k0, to_c[i].step), &c[i]);
                inside = inside && stays((float)whole_c[i] + c[i], to_c[i].step.x, (float)way.low_c, (float)way.end_c);
            }
            if (inside) {
                place here = start + (place)(whole_b - ROUND_BITS) * (place)way.neighbour;
#if TEXTURED
                UNROLL_BY(4) for (int j = 0; j < CHUNK; j++) {
                    const float at_b = FMA((float)j, to_b.step.x, b);
                    const float texel_b = (at_b + EXACT - EXACT) + ((float)(whole_b + EDGE) + 0.5f);
                    const int k = (fall ? way.planes - 1 - k0 - j : k0 + j) + EDGE;
                    UNROLL for (int i = 0; i < RAYS; i++) {
                        const float at_c = FMA((float)j, to_c[i].step.x, c[i]);
                        sum[i] += FETCH((at_c + EXACT - EXACT) + ((float)(whole_c[i] - z0 + FRONT) + 0.5f), texel_b, k);
                    }
                }
#else
                /* The loads of TOGETHER planes start before any of them is used. */
                for (int j = 0; j < CHUNK; j += TOGETHER) {
                    float fb[TOGETHER], fc[TOGETHER][RAYS], four[TOGETHER][RAYS][4];
                    UNROLL for (int t = 0; t < TOGETHER; t++) {
                        const float at_b = FMA((float)(j + t), to_b.step.x, b), up_b = DOWN(at_b);
                        const place line_at =
                            here + (place)t * (place)plane + (place)AS_INT(up_b) * (place)way.neighbour;
                        fb[t] = at_b - (up_b - ROUND);
                        UNROLL for (int i = 0; i < RAYS; i++) {
                            const float at_c = FMA((float)(j + t), to_c[i].step.x, c[i]), up_c = DOWN(at_c);
                            const place at =
                                line_at + (place)(AS_INT(up_c) + (whole_c[i] - ROUND_BITS)) * (place)way.above;
                            fc[t][i] = at_c - (up_c - ROUND);
                            read_four(volume, at, way.neighbour, way.above, four[t][i]);
                        }
                    }
                    UNROLL for (int t = 0; t < TOGETHER; t++) {
                        UNROLL for (int i = 0; i < RAYS; i++) sum[i] += between(four[t][i], fb[t], fc[t][i]);
                    }
                    here += (place)TOGETHER * (place)plane;
                }
#endif
            } else {
                for (int j = 0; j < CHUNK; j++) {
                    const float at_b = FMA((float)j, to_b.step.x, b);
                    const float up_b = DOWN(at_b);
                    const int ib = whole_b + (AS_INT(up_b) - ROUND_BITS);
                    const int k = fall ? way.planes - 1 - k0 - j : k0 + j;
                    if (k < way.low_k || k >= way.end_k || ib < -1 || ib >= way.most_b) continue;
                    UNROLL for (int i = 0; i < RAYS; i++) {
                        const float at_c = FMA((float)j, to_c[i].step.x, c[i]), up_c = DOWN(at_c);
                        const int ic = whole_c[i] + (AS_INT(up_c) - ROUND_BITS);
                        if (ic < way.low_c || ic >= way.end_c) continue;
#if TEXTURED
                        sum[i] += FETCH((at_c + EXACT - EXACT) + ((float)(whole_c[i] - z0 + FRONT) + 0.5f),
                                        (at_b + EXACT - EXACT) + ((float)(whole_b + EDGE) + 0.5f), k + EDGE);
#else
                        const float fb = at_b - (up_b - ROUND), fc = at_c - (up_c - ROUND);
                        const place at = way.start + (place)k * (place)way.plane + (place)ib * (place)way.neighbour +
                                         (place)ic * (place)way.above;
                        float four[4];
                        read_four(volume, at, way.neighbour, way.above, four);
                        sum[i] += between(four, fb, fc);
#endif
                    }
                }
            }
        }
        UNROLL for (int i = 0; i < RAYS; i++) {
            if (i >= own || (falls >> i & 1) != fall) continue;
            const float value = last ? sum[i] * LENGTH(i) : sum[i];
            out[32 * i * down] = value;
            if (odd_at >= 0 && !(fabs(value) <= MOST)) odd[odd_at + (int)group_id(2) / tall * views + view] = 1;
        }
    }
}
