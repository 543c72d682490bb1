/* SPDX-License-Identifier: MIT */
/* Cone-beam back-projection for any 3x4 matrices. A group owns a tile of voxels, an item a line of STEPS of them, whose
 * sums stay in registers for all views of a launch.
 *
 * TEXTURED: images are textures. Lines run along z; the lanes of a warp own patches of PATCH x (32 / PATCH) lines,
 * which fall on few pixels from any direction. Otherwise images are in memory, transposed: neighbours in a detector
 * column are neighbours in memory. Lines run along x, and the lanes of a warp own 32 of them above each other, which
 * read 32 neighbouring rows of one or two columns: one or two cache lines per read.
 *
 * Single precision is not enough for the coordinates of wide detectors. So each tile and view has a pixel (u0, v0) near
 * the middle of what the tile sees, and coordinates are relative to it:
 *     u - u0 = ((m0 - u0 m2) . x) / (m2 . x),   x from the tile's first voxel.
 * These constants are computed with twice the digits, by one item per view, for BATCH views at a time. A half is
 * subtracted, so that adding and subtracting 1.5 x 2^23 rounds down.
 *
 * Tiles count from the grid's first voxel, and a tile that is cut off computes what a whole one does: the bits do not
 * depend on slabs, windows of rows or blocks of views. */
#include "bp_cone_sums.clh"
#ifndef TEXTURED
#define TEXTURED 0
#endif
#ifndef STEPS
#define STEPS 16
#endif
#ifndef PATCH
#define PATCH 16
#endif
#ifndef BATCH
#define BATCH 32
#endif
#ifndef GROUPS
#define GROUPS 4 /* groups per multiprocessor */
#endif
#if TEXTURED
#define TILE_X 16
#define TILE_Y 16
#define TILE_Z STEPS
#define AXIS 2
#else
#define TILE_X STEPS
#define TILE_Y 8
#define TILE_Z 32
#define AXIS 0
#endif
#define ITEMS 256
#define PAD 2 /* zeros around every image */
#define ROUND 12582912.0f
#define ROUND_BITS 0x4b400000u

/* Constants of a tile and a view: numerators and denominator of u - u0 - 1/2 and v - v0 - 1/2, linear in the voxel; the
 * limits of both; the position of pixel (u0, v0) in the images. */
typedef struct qb_tile_view {
    float u[4], v[4], w[4];
    float u_low, u_high, v_low, v_high;
    float x, y; /* position in the texture */
    uint start;
    int kind;
} qb_tile_view;
enum { QB_INSIDE, QB_EDGE, QB_OUTSIDE };

FUNCTION float within(float value, float low, float high) { return fmin(fmax(value, low), high); }

typedef struct qb_box {
    int x0, y0, z0, x1, y1, z1; /* the tile's voxels in the slab; x1 is one more than the last */
    int tile_z;                 /* start of the tile */
} qb_box;

/* Range that the corners of the box see, relative to the base, without the half. */
FUNCTION int kind_of(LOCAL_POINTER const qb_tile_view *t, qb_box box, int x0, int y0, bool whole) {
    float u_least = 1e30f, u_most = -1e30f, v_least = 1e30f, v_most = -1e30f;
    for (int corner = 0; corner < 8; corner++) {
        const float x = (float)((corner & 1 ? box.x1 - 1 : box.x0) - x0);
        const float y = (float)((corner & 2 ? box.y1 - 1 : box.y0) - y0);
        const float z = (float)((corner & 4 ? box.z1 - 1 : box.z0) - box.tile_z);
        const float w = FMA(t->w[0], x, FMA(t->w[1], y, FMA(t->w[2], z, t->w[3])));
        const float u = FMA(t->u[0], x, FMA(t->u[1], y, FMA(t->u[2], z, t->u[3]))) / w;
        const float v = FMA(t->v[0], x, FMA(t->v[1], y, FMA(t->v[2], z, t->v[3]))) / w;
        u_least = fmin(u_least, u), u_most = fmax(u_most, u);
        v_least = fmin(v_least, v), v_most = fmax(v_most, v);
    }
    const float far = 0.01f; /* larger than rounding errors */
    if (u_most < t->u_low - far || u_least > t->u_high + far || v_most < t->v_low - far || v_least > t->v_high + far)
        return QB_OUTSIDE;
    return whole && u_least > t->u_low + far && u_most < t->u_high - far && v_least > t->v_low + far &&
                   v_most < t->v_high - far
               ? QB_INSIDE
               : QB_EDGE;
}

/* Images have `columns` columns and the rows r0 to r1 of `rows`. */
FUNCTION void look(GLOBAL const float *m, qb_box box, int x0, int y0, bool whole, int columns, int r0, int r1,
                   int pitch, LOCAL_POINTER qb_tile_view *t) {
    const float x = (float)x0, y = (float)y0, z = (float)box.tile_z;
    const float2 u = at_voxel(m, 0, x, y, z), v = at_voxel(m, 1, x, y, z), w = at_voxel(m, 2, x, y, z);
    /* The centre of the tile's part inside the grid, for any slab: the same base for all slabs. */
    const float mx = 0.5f * (float)(box.x1 - 1 - x0), my = 0.5f * (float)(box.y1 - 1 - y0);
    const float mw = FMA(m[8], mx, FMA(m[9], my, w.x));
    const float mu = FMA(m[0], mx, FMA(m[1], my, u.x)) / mw;
    const float mv = FMA(m[4], mx, FMA(m[5], my, v.x)) / mw;
    const float u0 = FLOOR(within(mu, -8.0f, (float)columns + 8.0f));
    const float v0 = FLOOR(within(mv, -1048576.0f, 1048576.0f));
    float of_u[4], of_v[4];
    from_base(m, 0, u0 + 0.5f, u, w, of_u);
    from_base(m, 1, v0 + 0.5f, v, w, of_v);
    for (int i = 0; i < 4; i++) t->u[i] = of_u[i], t->v[i] = of_v[i];
    for (int i = 0; i < 3; i++) t->w[i] = m[8 + i];
    t->w[3] = w.x;
    t->u_low = -1.5f - u0, t->u_high = (float)columns - 0.5f - u0;
    t->v_low = (float)r0 - 1.5f - v0, t->v_high = (float)r1 - 0.5f - v0;
    t->x = u0 + (float)(PAD + 1), t->y = v0 + (float)(PAD + 1 - r0);
    t->start = (uint)((int)u0 + PAD) * (uint)pitch + (uint)((int)v0 - r0 + PAD) - ROUND_BITS * (uint)(pitch + 1);
    t->kind = kind_of(t, box, x0, y0, whole);
}

/* ---- one voxel and view ---- */

#if TEXTURED
#define IMAGES TEXTURE_LAYERED(images)
#else
#define IMAGES GLOBAL const float *RESTRICT images
#endif

FUNCTION float between(GLOBAL const float *image, uint start, int pitch, float u, float v) {
    const float tu = u + ROUND, tv = v + ROUND;
    const float fu = u - (tu - ROUND) + 0.5f, fv = v - (tv - ROUND) + 0.5f;
    const uint at = (uint)AS_INT(tu) * (uint)pitch + (uint)AS_INT(tv) + start;
    GLOBAL const float *first = image + at, *second = first + pitch; /* two addresses, not four */
    const float a = first[0], b = first[1], c = second[0], d = second[1];
    const float left = FMA(fv, b - a, a), right = FMA(fv, d - c, c);
    return FMA(fu, right - left, left);
}

#if TEXTURED
/* The first row of a window would change the rounding of the sum: 10 bits of the fraction, more than a texture unit
 * uses, keep it exact. */
#define EXACT 12288.0f
#define PIXEL(u, v) TEXTURE_READ1_LAYER(images, (u) + tile_x, ((v) + EXACT - EXACT) + tile_y, view)
#else
#define PIXEL(u, v) between(image, start, pitch, u, v)
#endif

/* images: [view of the block][height][pitch], PAD zeros on all sides, the window's rows from r0 on; matrix: [view of
 * the scan][24]; out: slice z0 of the slab is at out_at. */
KERNEL GROUPS_OF(ITEMS, GROUPS) void bp_cone_matrix(IMAGES, GLOBAL const float *RESTRICT matrix, int first, int views,
                                                    int columns, int r0, int r1, int pitch, int height,
                                                    GLOBAL float *RESTRICT out, ulong out_at, int nx, int ny, int z0,
                                                    int z1, int more) {
    LOCAL qb_tile_view batch[BATCH];
    const int item = (int)local_id(0), lane = item % 32, patch = item / 32;
    const int x0 = (int)group_id(0) * TILE_X, y0 = (int)group_id(1) * TILE_Y;
#if TEXTURED
    const int dx = patch % (TILE_X / PATCH) * PATCH + lane % PATCH, dz = 0;
    const int dy = patch / (TILE_X / PATCH) * (32 / PATCH) + lane / PATCH;
#else
    const int dx = 0, dy = patch, dz = lane;
#endif
    qb_box box;
    box.tile_z = (z0 / TILE_Z + (int)group_id(2)) * TILE_Z;
    box.x0 = x0, box.x1 = x0 + TILE_X < nx ? x0 + TILE_X : nx;
    box.y0 = y0, box.y1 = y0 + TILE_Y < ny ? y0 + TILE_Y : ny;
    box.z0 = box.tile_z > z0 ? box.tile_z : z0;
    box.z1 = box.tile_z + TILE_Z < z1 ? box.tile_z + TILE_Z : z1;
    const bool whole = box.x1 - x0 == TILE_X && box.y1 - y0 == TILE_Y && box.z1 - box.z0 == TILE_Z;
    const ulong slice = (ulong)nx * (ulong)ny;
    const int x = x0 + dx, y = y0 + dy, z = box.tile_z + dz;
    /* Steps of the line that are in the slab. */
    const bool inside = x < nx && y < ny && (AXIS == 2 || (z >= z0 && z < z1));
    const int from = !inside ? STEPS : AXIS == 2 ? box.z0 - z : 0;
    const int to = AXIS == 2 ? box.z1 - z : nx - x < STEPS ? nx - x : STEPS;
    const ulong step = AXIS == 2 ? slice : 1;
    GLOBAL float *line = out + out_at + (ulong)y * (ulong)nx + (ulong)x;
    line = z >= z0 ? line + (ulong)(z - z0) * slice : line - (ulong)(z0 - z) * slice;
    float sum[STEPS];
    UNROLL for (int i = 0; i < STEPS; i++) sum[i] = more && i >= from && i < to ? line[(ulong)i * step] : 0.0f;

    for (int begin = 0; begin < views; begin += BATCH) {
        const int count = views - begin < BATCH ? views - begin : BATCH;
        BARRIER();
        if (item < count)
            look(matrix + 24 * (ulong)(first + begin + item), box, x0, y0, whole, columns, r0, r1, pitch, &batch[item]);
        BARRIER();
        for (int k = 0; k < count; k++) {
            LOCAL_POINTER const qb_tile_view *t = &batch[k];
            if (t->kind == QB_OUTSIDE) continue;
            const float px = (float)dx, py = (float)dy, pz = (float)dz;
            const float u = FMA(t->u[0], px, FMA(t->u[1], py, FMA(t->u[2], pz, t->u[3])));
            const float v = FMA(t->v[0], px, FMA(t->v[1], py, FMA(t->v[2], pz, t->v[3])));
            const float w = FMA(t->w[0], px, FMA(t->w[1], py, FMA(t->w[2], pz, t->w[3])));
            const float u_step = t->u[AXIS], v_step = t->v[AXIS], w_step = t->w[AXIS];
#if TEXTURED
            const float tile_x = t->x, tile_y = t->y;
            const int view = begin + k;
#else
            GLOBAL const float *image = images + (ulong)(begin + k) * (ulong)pitch * (ulong)height;
            const uint start = t->start;
#endif
            if (t->kind == QB_INSIDE) {
                UNROLL for (int i = 0; i < STEPS; i++) {
                    const float r = RECIPROCAL(FMA(w_step, (float)i, w));
                    const float at_u = MUL(FMA(u_step, (float)i, u), r);
                    const float at_v = MUL(FMA(v_step, (float)i, v), r);
                    sum[i] = FMA(MUL(r, r), PIXEL(at_u, at_v), sum[i]);
                }
            } else {
                UNROLL for (int i = 0; i < STEPS; i++) {
                    const float r = RECIPROCAL(FMA(w_step, (float)i, w));
                    const float at_u = within(MUL(FMA(u_step, (float)i, u), r), t->u_low, t->u_high);
                    const float at_v = within(MUL(FMA(v_step, (float)i, v), r), t->v_low, t->v_high);
                    sum[i] = FMA(MUL(r, r), PIXEL(at_u, at_v), sum[i]);
                }
            }
        }
    }
    UNROLL for (int i = 0; i < STEPS; i++) if (i >= from && i < to) line[(ulong)i * step] = sum[i];
}
