/* SPDX-License-Identifier: MIT */
/* Conversion of volumes and projections between the layout of files and that of the kernels (project_joseph.clh).
 * Groups of TILE x TILE, 256 items. Volumes of a batch lie one behind the other in both layouts, and so do
 * projections. */
#include "project_joseph.clh"
#define TILE 32
#define ITEMS 256
#define MOST 3.402823466e+38f /* largest finite number */

/* plain: slices of ny x nx -> lines of the whole slab, with zeros around; `carry`: the float of a line with the last
 * slice of the slab before, which moves in front of slice 0; 0 = none. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_pack(GLOBAL const float *RESTRICT plain, ulong plain_at, int nx, int ny,
                                                    int slices, int line, int carry, GLOBAL float *packed) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j0 = (int)local_id(0) / TILE;
    const int x0 = (int)group_id(0) * TILE - EDGE, y = (int)group_id(1) - EDGE;
    float before = 0.0f;
    plain += (ulong)group_id(2) * ((ulong)slices * (ulong)ny * (ulong)nx);
    packed += (ulong)group_id(2) * slab_floats(nx, ny, line);
    const int own = x0 + (int)local_id(0); /* column of the item, used by the first 32 items only */
    const ulong first = (ulong)(y + EDGE) * (ulong)(nx + 2 * EDGE) + EDGE;
    if (carry && (int)local_id(0) < TILE && own < nx + EDGE)
        before = packed[(ulong)((LONG)first + own) * (ulong)line + (ulong)carry];
    for (int z0 = 0; z0 < line; z0 += TILE) {
        BARRIER();
        for (int j = j0; j < TILE; j += ITEMS / TILE) {
            const int x = x0 + i, z = z0 + j - FRONT;
            float value = 0.0f;
            if (x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < slices)
                value = plain[plain_at + ((ulong)z * (ulong)ny + (ulong)y) * (ulong)nx + (ulong)x];
            tile[j][i] = value;
        }
        BARRIER();
#if FRONT
        if (z0 == 0 && (int)local_id(0) < TILE) tile[FRONT - 1][local_id(0)] = before;
#endif
        BARRIER();
        for (int j = j0; j < TILE; j += ITEMS / TILE) {
            const int x = x0 + j, z = z0 + i;
            if (x < nx + EDGE && z < line) packed[(ulong)((LONG)first + x) * (ulong)line + (ulong)z] = tile[i][j];
        }
    }
}

/* Slices of a slab -> plain. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_unpack(GLOBAL const float *RESTRICT packed, int nx, int ny, int slices,
                                                      int line, float scale, GLOBAL float *RESTRICT plain,
                                                      ulong plain_at) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j0 = (int)local_id(0) / TILE;
    const int tiles = (slices + TILE - 1) / TILE, z0 = ((int)group_id(2) % tiles) * TILE;
    const int x0 = (int)group_id(0) * TILE, y = (int)group_id(1);
    packed += (ulong)((int)group_id(2) / tiles) * slab_floats(nx, ny, line);
    plain += (ulong)((int)group_id(2) / tiles) * ((ulong)slices * (ulong)ny * (ulong)nx);
    for (int j = j0; j < TILE; j += ITEMS / TILE)
        if (x0 + j < nx && z0 + i < slices)
            tile[j][i] = packed[((ulong)(y + EDGE) * (ulong)(nx + 2 * EDGE) + (ulong)(x0 + j + EDGE)) * (ulong)line +
                                (ulong)(FRONT + z0 + i)];
    BARRIER();
    for (int j = j0; j < TILE; j += ITEMS / TILE)
        if (x0 + i < nx && z0 + j < slices)
            plain[plain_at + ((ulong)(z0 + j) * (ulong)ny + (ulong)y) * (ulong)nx + (ulong)(x0 + i)] =
                MUL(tile[i][j], scale);
}

/* images [view][row][column] -> columns of rays with zeros around. odd[odd_at + view] = 1 if a value is not finite,
 * unless odd_at < 0. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_columns(GLOBAL const float *RESTRICT images, ulong images_at, int rows,
                                                       int columns, int stride, GLOBAL float *RESTRICT rays,
                                                       ulong rays_at, GLOBAL int *RESTRICT odd, int odd_at) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j0 = (int)local_id(0) / TILE;
    const int c0 = (int)group_id(0) * TILE, r0 = (int)group_id(1) * TILE - FRONT;
    const ulong view = group_id(2);
    for (int j = j0; j < TILE; j += ITEMS / TILE) {
        const int c = c0 + i, r = r0 + j;
        float value = 0.0f;
        if (c < columns && r >= 0 && r < rows)
            value = images[images_at + (view * (ulong)rows + (ulong)r) * (ulong)columns + (ulong)c];
        if (odd_at >= 0 && !(fabs(value) <= MOST)) odd[odd_at + (int)view] = 1;
        tile[j][i] = value;
    }
    BARRIER();
    for (int j = j0; j < TILE; j += ITEMS / TILE) {
        const int c = c0 + j, r = r0 + i + FRONT;
        if (c < columns && r < stride)
            rays[rays_at + (view * (ulong)columns + (ulong)c) * (ulong)stride + (ulong)r] = tile[i][j];
    }
}

KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_images(GLOBAL const float *RESTRICT rays, int rows, int columns,
                                                      int stride, GLOBAL float *RESTRICT images, ulong images_at,
                                                      GLOBAL int *RESTRICT odd, int odd_at) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j0 = (int)local_id(0) / TILE;
    const int c0 = (int)group_id(0) * TILE, r0 = (int)group_id(1) * TILE;
    const ulong view = group_id(2);
    for (int j = j0; j < TILE; j += ITEMS / TILE)
        if (c0 + j < columns && r0 + i < rows)
            tile[j][i] = rays[(view * (ulong)columns + (ulong)(c0 + j)) * (ulong)stride + (ulong)(FRONT + r0 + i)];
    BARRIER();
    for (int j = j0; odd_at >= 0 && j < TILE; j += ITEMS / TILE)
        if (c0 + j < columns && r0 + i < rows && !(fabs(tile[j][i]) <= MOST)) odd[odd_at + (int)view] = 1;
    for (int j = j0; j < TILE; j += ITEMS / TILE)
        if (c0 + i < columns && r0 + j < rows)
            images[images_at + (view * (ulong)rows + (ulong)(r0 + j)) * (ulong)columns + (ulong)(c0 + i)] = tile[i][j];
}

/* Lines [y][x] -> [x][y], for textures of the planes along x. */
KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_turn(GLOBAL const float *RESTRICT packed, int across, int down, int line,
                                                    GLOBAL float *RESTRICT out) {
    const ulong x = group_id(0), y = group_id(1);
    for (int z = (int)local_id(0); z < line; z += ITEMS)
        out[(x * (ulong)down + y) * (ulong)line + (ulong)z] = packed[(y * (ulong)across + x) * (ulong)line + (ulong)z];
}
