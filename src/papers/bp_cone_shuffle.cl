/* SPDX-License-Identifier: MIT */
/* Cone-beam back-projection of exact circles as in Chen et al. (iFDK, SC 2019), Listing 1. On such an orbit u and 1 / w
 * are constant along z, so each lane of a warp computes those of one of up to 32 views for the line of voxels that all
 * its lanes work on, and passes them on by a shuffle (OpenCL: through local memory). MIRROR: rows and slices on one
 * side of the source's plane are the mirror image of those on the other, so that one v serves two voxels.
 *
 * During the computation the volume has z fastest, in lines[y][x][z]; bp_cone_turn transposes it there and back. */
#include "bp_cone_plain.clh"
#ifndef MIRROR
#define MIRROR 1
#endif
#define WARP 32
#define WARPS 8 /* warps of a group: neighbours along x */
#define TILE 16

#if QB_CUDA
#define SHARED (void)0
#define SHARE(u, r) (void)0
#define FROM_LANE(value, i) __shfl_sync(0xffffffffu, value, i)
#else
#define SHARED LOCAL float2 shared[WARPS * WARP]
#define SHARE(u, r) shared[item] = FLOAT2(u, r), BARRIER()
#endif

/* Lanes are heights h0 + i < h1: slice middle + height, and, mirrored, slice twice_z - that. Lines have slices z0 to
 * z1; their first row of the grid is y0. */
KERNEL GROUPS_OF(WARP *WARPS, 1) void bp_cone_shuffle(IMAGES, MATRICES, int first, int views, int image0, int columns,
                                                      int r0, int r1, int pitch, int height, GLOBAL float *lines,
                                                      int nx, int ny, int nz, int y0, int z0, int z1, int h0, int h1,
                                                      int middle, int twice_z, int twice_row, int more) {
    SHARED;
    const int item = (int)local_id(0), lane = item % WARP, warp = item / WARP;
    const int h = h0 + (int)group_id(0) * WARP + lane, x = (int)group_id(1) * WARPS + warp, row = (int)group_id(2);
    const int z = middle + h, other = twice_z - z, slices = z1 - z0;
    const float px = from_middle(x < nx ? x : nx - 1, nx), py = from_middle(y0 + row, ny), pz = from_middle(z, nz);
    const bool mine = x < nx && h < h1 && z >= z0 && z < z1;
    const bool others = MIRROR && x < nx && h < h1 && other != z && other >= z0 && other < z1;
    GLOBAL float *line = lines + ((ulong)row * (ulong)nx + (ulong)x) * (ulong)slices;
    qb_frame f;
    f.columns = columns, f.r0 = r0, f.r1 = r1, f.pitch = pitch, f.height = height;
    float lane_u = 0.0f, lane_r = 0.0f;
    if (lane < views) {
        lane_r = RECIPROCAL(AT(lane, 2, px, py, 0.0f));
        lane_u = MUL(AT(lane, 0, px, py, 0.0f), lane_r);
    }
    SHARE(lane_u, lane_r);
    float sum = mine && more ? line[z - z0] : 0.0f, mirrored = others && more ? line[other - z0] : 0.0f;
    for (int i = 0; i < views; i++) {
#if QB_CUDA
        const float u = FROM_LANE(lane_u, i), r = FROM_LANE(lane_r, i);
#else
        const float2 both = shared[warp * WARP + i];
        const float u = both.x, r = both.y;
#endif
        const float v = MUL(AT(i, 1, px, py, pz), r), weight = MUL(r, r);
        sum = FMA(weight, pixel(IMAGES_PASS, image0 + i, f, u, v), sum);
#if MIRROR
        mirrored = FMA(weight, pixel(IMAGES_PASS, image0 + i, f, u, (float)twice_row - v), mirrored);
#endif
    }
    if (mine) line[z - z0] = sum;
    if (others) line[other - z0] = mirrored;
}

/* Transpose slab[z][y][x], from row y0 on, to lines[y][x][z], or back. */
KERNEL GROUPS_OF(TILE *TILE, 1) void bp_cone_turn(GLOBAL float *slab, ulong slab_at, GLOBAL float *lines, int nx,
                                                  int ny, int y0, int slices, int back) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j = (int)local_id(0) / TILE;
    const int x0 = (int)group_id(0) * TILE, s0 = (int)group_id(1) * TILE, row = (int)group_id(2);
    const int x = x0 + i, s = s0 + j, line_x = x0 + j, line_s = s0 + i;
    GLOBAL float *in_slab = slab + slab_at + ((ulong)s * (ulong)ny + (ulong)(y0 + row)) * (ulong)nx + (ulong)x;
    GLOBAL float *in_line = lines + ((ulong)row * (ulong)nx + (ulong)line_x) * (ulong)slices + (ulong)line_s;
    const bool of_slab = x < nx && s < slices, of_line = line_x < nx && line_s < slices;
    if (back && of_line) tile[j][i] = *in_line;
    if (!back && of_slab) tile[j][i] = *in_slab;
    BARRIER();
    if (back && of_slab) *in_slab = tile[i][j];
    if (!back && of_line) *in_line = tile[i][j];
}
