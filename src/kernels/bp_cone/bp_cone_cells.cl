/* SPDX-License-Identifier: MIT */
/* Converts filtered rows to the cells of bp_cone_circular.cl: TURNS views and, with MIRROR, the mirrored rows, become
 * neighbours, with PAD zeros on all sides. TRANSPOSED: neighbours in a detector column are neighbours in memory; SPLIT:
 * the detector's even rows first, then the odd ones. Groups of TILE x TILE cells. */
#ifndef TRANSPOSED
#define TRANSPOSED 1
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#ifndef HALF
#define HALF 0
#endif
#include "bp_cone_packing.clh"
#define PAD 2
#define TILE 16
#define MOST 65504.0f /* largest half float */
#if HALF
#define CELL JOIN(HALVES_, VALUES)
#define PACK JOIN(PACK_HALVES_, VALUES)
#else
#define CELL JOIN(FLOATS_, VALUES)
#define PACK JOIN(PACK_FLOATS_, VALUES)
#endif

/* rows: w0 to w1 of a block's views: its `bases` base views, then the views one turn later, ...; for a slab in two
 * parts also rows v0 to v1, which begin elsewhere. cells: rows r0 to r1. `twice`: sum of the numbers of two mirrored
 * rows. scale: [base view] divisor of a cell's values. beyond: largest magnitude that does not fit into a half float,
 * as bits; such values are limited to the largest half float. */
KERNEL GROUPS_OF(TILE *TILE, 1) void bp_cone_cells(GLOBAL const float *RESTRICT rows, ulong rows_at, ulong view_stride,
                                                   int row_stride, int bases, int columns, int w0, int w1,
                                                   ulong more_at, ulong more_stride, int v0, int v1, int twice, int r0,
                                                   int r1, GLOBAL const float *RESTRICT scale, int base0,
                                                   GLOBAL int *RESTRICT beyond, GLOBAL CELL *RESTRICT cells, int pitch,
                                                   int height) {
    LOCAL float tile[VALUES][TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j = (int)local_id(0) / TILE;
    const int along = (int)group_id(0) * TILE, down = (int)group_id(1) * TILE;
    const int base = (int)group_id(2);
    const int column = (TRANSPOSED ? down : along) + i - PAD, place = (TRANSPOSED ? along : down) + j;
#if SPLIT
    const int half_pitch = pitch / 2, odd = place >= half_pitch;
    const int row = r0 - (r0 & 1) - PAD + 2 * (place - odd * half_pitch) + odd;
#else
    const int row = r0 + place - PAD;
#endif
    const float share = HALF ? 1.0f / scale[base0 + base] : 1.0f;
    float cell[VALUES];
    UNROLL for (int n = 0; n < VALUES; n++) {
        const int r = n % SIDES ? twice - row : row;
        const ulong view = (ulong)base + (ulong)(n / SIDES) * (ulong)bases;
        float value = 0.0f;
        if (column >= 0 && column < columns && row >= r0 && row < r1) {
            if (r >= w0 && r < w1)
                value = rows[rows_at + view * view_stride + (ulong)(r - w0) * (ulong)row_stride + (ulong)column];
            else if (r >= v0 && r < v1)
                value = rows[more_at + view * more_stride + (ulong)(r - v0) * (ulong)row_stride + (ulong)column];
        }
        if (HALF) {
            const float scaled = value * share;
            if (!(fabs(scaled) <= MOST)) ATOMIC_MAX(beyond, AS_INT(value) & 0x7fffffff);
            value = fmin(fmax(scaled, -MOST), MOST);
        }
        cell[n] = value;
    }
#if TRANSPOSED
    UNROLL for (int n = 0; n < VALUES; n++) tile[n][j][i] = cell[n];
    BARRIER();
    UNROLL for (int n = 0; n < VALUES; n++) cell[n] = tile[n][i][j];
#endif
    if (along + i < pitch && down + j < height)
        cells[((ulong)base * (ulong)height + (ulong)(down + j)) * (ulong)pitch + (ulong)(along + i)] = PACK(cell);
}
