/* SPDX-License-Identifier: MIT */
/* Cone-beam back-projection for exactly circular orbits: one fetch serves several voxels.
 *
 * Along z, u and w of a voxel are constant. TURNS views that are 360 / TURNS degrees apart see, in the same pixel,
 * TURNS voxels that are rotated by the same angles. With MIRROR, rows above and below the source's plane are mirror
 * images, and so are slices. So a cell of the packed images holds the VALUES pixels of these views and rows. They are
 * interpolated at once, with one set of coordinates, for VALUES voxels. An item owns voxels of one quarter (half, all)
 * of the grid and one side of the mirror; it keeps the sums of their rotated and mirrored copies too. It visits each of
 * the TURNS views of a cell, which permutes the voxels that the values belong to.
 *
 * TEXTURED: images are textures of half floats with linear filtering. Lines of STEPS voxels run along z; the lanes of a
 * warp own patches of PATCH x (32 / PATCH) lines. Otherwise cells are in memory, with neighbours in a detector column
 * side by side. The lanes of a warp own 32 voxels above each other: they share u and w and read neighbouring cells. An
 * item owns STEPS such voxels, 32 apart, of each of COLUMNS lines.
 *
 * Coordinates are relative to a pixel (u0, v0) near each tile, as in bp_cone_matrix.cl. Height counts from the mirror
 * outwards, k >= 0, in the direction of rising rows; without a mirror from one end of the grid. The bits do not depend
 * on slabs, windows of rows or blocks of views. */
#ifndef TEXTURED
#define TEXTURED 0
#endif
#ifndef PATCH
#define PATCH 8
#endif
#include "bp_cone_circular.clh"

#if TEXTURED
#define TILE_X 16
#define TILE_Y 16
#define TILE_Z STEPS
#define STEP_Z 1
#else
#define TILE_X (COLUMNS == 4 ? 8 : 4)
#define TILE_Y (8 * COLUMNS / TILE_X)
#define TILE_Z (32 * STEPS)
#define STEP_Z 32
#endif

#if TEXTURED
#define IMAGES TEXTURE_LAYERED(images)
#else
#define IMAGES GLOBAL const CELL *RESTRICT images
#endif

#if TEXTURED
/* The first row of a window would change the rounding of the sum: 10 bits of the fraction keep it exact. */
#define EXACT 12288.0f
#define READ(read) read(images, at_u + t->x, (at_v + EXACT - EXACT) + t->y, base)
#endif

/* Adds one view to a line of an item's voxels. */
FUNCTION void add_line(IMAGES, LOCAL_POINTER const qb_tile_view *t, int base, int pitch, float px, float py, float pz,
                       float scale, int turn, bool edge, float sum[STEPS][VALUES]) {
    const float r = RECIPROCAL(FMA(t->w[0], px, FMA(t->w[1], py, t->w[2])));
    const float v0 = MUL(FMA(t->v[0], px, FMA(t->v[1], py, t->v[3])), r), v_step = MUL(t->v[2], r);
    const float weight = MUL(MUL(r, r), scale);
    float at_u = MUL(FMA(t->u[0], px, FMA(t->u[1], py, t->u[2])), r);
    if (edge) at_u = within(at_u, t->u_low, t->u_high);
#if !TEXTURED
    const float tu = at_u + ROUND, fu = at_u - (tu - ROUND) + 0.5f;
    const uint column = (uint)AS_INT(tu) * (uint)pitch + t->start;
#endif
    UNROLL for (int i = 0; i < STEPS; i++) {
        float at_v = FMA(v_step, pz + (float)(i * STEP_Z), v0);
        if (edge) at_v = within(at_v, t->v_low, t->v_high);
#if TEXTURED
        float cell[VALUES];
#if VALUES == 4
        UNPACK_FLOATS_4(cell, READ(TEXTURE_READ4_LAYER));
#elif VALUES == 2
        UNPACK_FLOATS_2(cell, READ(TEXTURE_READ2_LAYER));
#else
        cell[0] = READ(TEXTURE_READ1_LAYER);
#endif
        UNROLL for (int c = 0; c < VALUES; c++) {
            const int to = VOXEL(c, turn);
            sum[i][to] = FMA(weight, cell[c], sum[i][to]);
        }
#else
        const float tv = at_v + ROUND, fv = at_v - (tv - ROUND) + 0.5f;
        GLOBAL const CELL *one = images + (column + (uint)AS_INT(tv)), *next = one + pitch;
        add_cells(one[0], one[1], next[0], next[1], fu, 1.0f - fv, fv, weight, turn, sum[i]);
#endif
    }
}

/* images: cells [base view of the block][height][pitch], PAD zeros on all sides, rows r0 to r1; matrix: [view of the
 * scan][24], on x, y, k; scale: [views / TURNS] factor of a base view's cells. The block has `bases` base views from
 * base0 on, and the `apart`-th view after each. Heights k0 <= k < k1 are computed. */
KERNEL GROUPS_OF(ITEMS, GROUPS) void bp_cone_circular(IMAGES, GLOBAL const float *RESTRICT matrix,
                                                      GLOBAL const float *RESTRICT scale, int base0, int bases,
                                                      int apart, int columns, int r0, int r1, int pitch, int height,
                                                      GLOBAL float *RESTRICT out, ulong out_at, int nx, int ny, int z0,
                                                      int z1, int gap0, int gap1, int first, int way, int twice,
                                                      int back, int k0, int k1, int more) {
    LOCAL qb_tile_view batch[VIEWS];
    const int item = (int)local_id(0), lane = item % 32, warp = item / 32;
    const int x0 = (int)group_id(0) * TILE_X, y0 = (int)group_id(1) * TILE_Y;
    const qb_slab slab = slab_of(nx, ny, z0, z1, gap0, gap1, first, way, twice, back);
    const qb_box box = box_of(nx, ny, x0, y0, TILE_X, TILE_Y, TILE_Z, k0, k1);
    const bool whole = box.x1 - x0 == TILE_X && box.y1 - y0 == TILE_Y && box.z1 - box.z0 == TILE_Z;
    int dx[COLUMNS], dy[COLUMNS];
#if TEXTURED
    const int dz = 0;
    dx[0] = warp % (TILE_X / PATCH) * PATCH + lane % PATCH;
    dy[0] = warp / (TILE_X / PATCH) * (32 / PATCH) + lane / PATCH;
#else
    const int dz = lane;
    UNROLL for (int c = 0; c < COLUMNS; c++) dx[c] = (8 * c + warp) % TILE_X, dy[c] = (8 * c + warp) / TILE_X;
#endif
    out += out_at;
    float sum[COLUMNS][STEPS][VALUES];
    UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int i = 0; i < STEPS; i++)
        UNROLL for (int n = 0; n < VALUES; n++) {
        const LONG at = more ? place_of(slab, x0 + dx[c], y0 + dy[c], box.tile_z + dz + i * STEP_Z, n) : -1;
        sum[c][i][n] = at >= 0 ? out[at] : 0.0f;
    }

    for (int begin = 0; begin < bases * TURNS; begin += VIEWS) {
        const int count = bases * TURNS - begin < VIEWS ? bases * TURNS - begin : VIEWS;
        BARRIER();
        if (item < count) {
            const int base = base0 + (begin + item) / TURNS, turn = (begin + item) % TURNS;
            look(matrix + 24 * (ulong)(base + turn * apart), box, x0, y0, whole, columns, r0, r1, pitch, &batch[item]);
        }
        BARRIER();
        for (int k = 0; k < count; k += TURNS) {
            const int base = (begin + k) / TURNS;
            const float share = scale[base0 + base];
#if !TEXTURED
            GLOBAL const CELL *image = images + (ulong)base * (ulong)pitch * (ulong)height;
#else
#define image TEXTURE_PASS(images)
#endif
            UNROLL for (int turn = 0; turn < TURNS; turn++) {
                LOCAL_POINTER const qb_tile_view *t = &batch[k + turn];
                if (t->kind == QB_OUTSIDE) continue;
                UNROLL for (int c = 0; c < COLUMNS;
                            c++) if (QB_CUDA && t->kind == QB_INSIDE) /* elsewhere this halves the time to compile */
                    add_line(image, t, base, pitch, (float)dx[c], (float)dy[c], (float)dz, share, turn, false, sum[c]);
                else add_line(image, t, base, pitch, (float)dx[c], (float)dy[c], (float)dz, share, turn, true, sum[c]);
            }
        }
    }
    UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int i = 0; i < STEPS; i++)
        UNROLL for (int n = 0; n < VALUES; n++) {
        const LONG at = place_of(slab, x0 + dx[c], y0 + dy[c], box.tile_z + dz + i * STEP_Z, n);
        if (at >= 0) out[at] = sum[c][i][n];
    }
}
