/* SPDX-License-Identifier: MIT */
/* Division of volumes into bricks, and copying voxels to and from them. */
#include "project_joseph.h"
#include "base/memory.h"

#include <string.h>

/* Windows read beyond the last line. */
enum { TAIL = 64, TILE = 16 };

void qb__joseph_cut(const size_t n[3], size_t side[3], size_t count[3]) {
    static const size_t most[3] = {QB__JOSEPH_SIDE, QB__JOSEPH_SIDE, QB__JOSEPH_DEPTH};
    for (int j = 0; j < 3; j++) {
        size_t pieces = (n[j] + most[j] - 1) / most[j];
        side[j] = (n[j] + pieces - 1) / pieces;
        count[j] = (n[j] + side[j] - 1) / side[j];
    }
}

size_t qb__joseph_floats(const size_t n[3], size_t *stride) {
    *stride = (n[2] + 2 + 15) / 16 * 16;
    return (n[0] + 2) * (n[1] + 2) * *stride + TAIL;
}

/* Transpose a row of the brick (x and z), in tiles that fit into the first-level cache. */
static void pack_row(const qb__joseph_brick *b, const float *from, size_t slice, float *to) {
    for (size_t z0 = 0; z0 < b->n[2]; z0 += TILE) {
        const size_t z1 = qb__smaller(z0 + TILE, b->n[2]);
        for (size_t x0 = 0; x0 < b->n[0]; x0 += TILE) {
            const size_t x1 = qb__smaller(x0 + TILE, b->n[0]);
            for (size_t x = x0; x < x1; x++)
                for (size_t z = z0; z < z1; z++) to[x * b->stride + z] = from[z * slice + x];
        }
    }
}

void qb__joseph_pack(const qb__joseph_brick *b, const float *slab, size_t z0, size_t nx, size_t ny) {
    size_t stride, floats = qb__joseph_floats(b->n, &stride);
    memset(b->data, 0, floats * sizeof(float));
    if (!slab) return;
    for (size_t y = 0; y < b->n[1]; y++) {
        const float *from = slab + ((b->at[2] - z0) * ny + b->at[1] + y) * nx + b->at[0];
        float *to = b->data + ((y + 1) * (b->n[0] + 2) + 1) * b->stride + 1;
        pack_row(b, from, nx * ny, to);
    }
}

void qb__joseph_unpack(const qb__joseph_brick *b, float *slab, size_t z0, size_t nx, size_t ny) {
    for (size_t y = 0; y < b->n[1]; y++) {
        float *to = slab + ((b->at[2] - z0) * ny + b->at[1] + y) * nx + b->at[0];
        const float *from = b->data + ((y + 1) * (b->n[0] + 2) + 1) * b->stride + 1;
        for (size_t z = 0; z < b->n[2]; z++)
            for (size_t x = 0; x < b->n[0]; x++) to[z * nx * ny + x] = from[x * b->stride + z];
    }
}
