/* SPDX-License-Identifier: MIT */
/* Converts filtered rows to images with PAD zeros on all sides and after the window, `height` times `pitch` pixels per
 * view: by rows or, TRANSPOSED, by columns. Groups of TILE x TILE pixels. */
#ifndef TRANSPOSED
#define TRANSPOSED 0
#endif
#define PAD 2
#define TILE 16

KERNEL GROUPS_OF(TILE *TILE, 1) void bp_cone_pack(GLOBAL const float *RESTRICT rows, ulong rows_at, ulong view_stride,
                                                  int row_stride, int columns, int count, GLOBAL float *RESTRICT images,
                                                  int pitch, int height) {
    LOCAL float tile[TILE][TILE + 1];
    const int i = (int)local_id(0) % TILE, j = (int)local_id(0) / TILE;
    const int along = (int)group_id(0) * TILE, down = (int)group_id(1) * TILE;
    const ulong view = group_id(2);
    const int column = (TRANSPOSED ? down : along) + i - PAD, row = (TRANSPOSED ? along : down) + j - PAD;
    float value = 0.0f;
    if (column >= 0 && column < columns && row >= 0 && row < count)
        value = rows[rows_at + view * view_stride + (ulong)row * (ulong)row_stride + (ulong)column];
#if TRANSPOSED
    tile[j][i] = value;
    BARRIER();
    value = tile[i][j];
#endif
    if (along + i < pitch && down + j < height)
        images[(view * (ulong)height + (ulong)(down + j)) * (ulong)pitch + (ulong)(along + i)] = value;
}
