/* SPDX-License-Identifier: MIT */
/* Cone-beam back-projection for any 3x4 matrices, voxel by voxel: the configurations of Papenhausen, Zheng and Mueller,
 * "GPU-Accelerated Back-Projection Revisited", and RTK's kernel as Chen et al. (SC 2019) compare with it. An item owns
 * voxels of one line along z, every (LANES x groups)th; a launch adds several views to all of them.
 *
 * PREFETCH: a voxel is read before the views are added and not afterwards, which hides the latency of the read. Without
 * it, a launch has one view. */
#include "bp_cone_plain.clh"
#ifndef PREFETCH
#define PREFETCH 0
#endif
#ifndef LANES
#define LANES 4
#endif
#define SIDE 16 /* a group owns SIDE x SIDE x LANES voxels at a time */

/* images: the first image of the launch is `image0` of the texture; out: slice z0 of the slab is at out_at. */
KERNEL GROUPS_OF(SIDE *SIDE *LANES, 1) void bp_cone_plain(IMAGES, MATRICES, int first, int views, int image0,
                                                          int columns, int r0, int r1, int pitch, int height,
                                                          GLOBAL float *out, ulong out_at, int nx, int ny, int nz,
                                                          int z0, int z1, int more) {
    const int item = (int)local_id(0);
    const int x = (int)group_id(0) * SIDE + item % SIDE, y = (int)group_id(1) * SIDE + item / SIDE % SIDE;
    const int lane = (int)group_id(2) * LANES + item / (SIDE * SIDE), lanes = (int)group_count(2) * LANES;
    const float px = from_middle(x, nx), py = from_middle(y, ny);
    qb_frame f;
    f.columns = columns, f.r0 = r0, f.r1 = r1, f.pitch = pitch, f.height = height;
    if (x >= nx || y >= ny) return;
    for (int z = z0 + lane; z < z1; z += lanes) {
        GLOBAL float *voxel = out + out_at + ((ulong)(z - z0) * (ulong)ny + (ulong)y) * (ulong)nx + (ulong)x;
        const float pz = from_middle(z, nz);
#if PREFETCH
        float sum = more ? *voxel : 0.0f;
#endif
        for (int i = 0; i < views; i++) {
            const float r = RECIPROCAL(AT(i, 2, px, py, pz));
            const float u = MUL(AT(i, 0, px, py, pz), r), v = MUL(AT(i, 1, px, py, pz), r);
            const float value = pixel(IMAGES_PASS, image0 + i, f, u, v);
#if PREFETCH
            sum = FMA(MUL(r, r), value, sum);
#else
            *voxel = FMA(MUL(r, r), value, more ? *voxel : 0.0f);
#endif
        }
#if PREFETCH
        *voxel = sum;
#endif
    }
}
