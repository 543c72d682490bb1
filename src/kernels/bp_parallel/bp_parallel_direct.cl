/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection for CPUs (section 6.10): the standard algorithm without textures and without a copy in
 * local memory, which is ordinary memory there. An item owns BLOCK x BLOCK pixels of SLICES slices, the vector. It
 * takes VIEWS views at a time, so that the few bins that a block needs from them stay in the first-level cache while
 * the sums stay in registers. VIEWS = 1 is the paper's common step through the views.
 *
 * The coordinate is 64-bit fixed point with 32 fraction bits, as on the CPU. */
#ifndef INTERP
#define INTERP 0 /* 0 linear, 1 nearest, 2 oversampled by 4 */
#endif
#ifndef SLICES
#define SLICES 8
#endif
#ifndef BLOCK
#define BLOCK 8
#endif
#ifndef VIEWS
#define VIEWS 16
#endif
#define STORED JOIN(FLOATS_, SLICES)
#define UNPACK JOIN(UNPACK_FLOATS_, SLICES)
#define OVER (INTERP == 2 ? 4 : 1)

/* See bp_parallel_alu.cl: nearest has half a column added; oversampled lines count samples. */
typedef struct fixed_line {
    LONG a, b, c, low;
} fixed_line;

FUNCTION void add_edge(float *sum, GLOBAL const STORED *row, int column, int columns, float weight) {
    float v[SLICES];
    if ((uint)column >= (uint)columns) return;
    UNPACK(v, row[column]);
    UNROLL for (int s = 0; s < SLICES; s++) sum[s] = FMA(weight, v[s], sum[s]);
}

/* One pixel, one view. */
FUNCTION void add(float *sum, GLOBAL const STORED *row, LONG h, int columns) {
    const int sample = (int)(h >> 32);
#if INTERP == 1
    add_edge(sum, row, sample, columns, 1.0f);
#else
    const int column = INTERP == 2 ? sample >> 2 : sample;
    const float fraction = INTERP == 2 ? 0.25f * (float)(sample & 3) : (float)(uint)h * 2.3283064365386963e-10f;
    if (column >= 0 && column < columns - 1) {
        float v[SLICES], next[SLICES];
        UNPACK(v, row[column]), UNPACK(next, row[column + 1]);
        UNROLL for (int s = 0; s < SLICES; s++) sum[s] += FMA(fraction, next[s] - v[s], v[s]);
    } else {
        add_edge(sum, row, column, columns, 1.0f - fraction);
        add_edge(sum, row, column + 1, columns, fraction);
    }
#endif
}

KERNEL GROUPS_OF(1, 1) void bp_parallel_direct(GLOBAL const STORED *RESTRICT packed,
                                               GLOBAL const fixed_line *RESTRICT lines, int views, int columns,
                                               GLOBAL float *RESTRICT out, ulong out_at, int nx, int ny, int slices) {
    const int x0 = (int)group_id(0) * BLOCK, y0 = (int)group_id(1) * BLOCK;
    const int group = (int)group_id(2);
    float sum[BLOCK][BLOCK][SLICES];
    for (int y = 0; y < BLOCK; y++)
        for (int x = 0; x < BLOCK; x++) UNROLL for (int s = 0; s < SLICES; s++) sum[y][x][s] = 0.0f;
    packed += (ulong)group * (ulong)views * (ulong)columns;

    for (int first = 0; first < views; first += VIEWS) {
        const int count = views - first < VIEWS ? views - first : VIEWS;
        GLOBAL const STORED *row = packed + (ulong)first * (ulong)columns;
        LONG start[VIEWS];
        for (int p = 0; p < count; p++) {
            const fixed_line line = lines[first + p];
            start[p] = line.a * x0 + line.b * y0 + line.c;
        }
        for (int y = 0; y < BLOCK; y++)
            for (int x = 0; x < BLOCK; x++) {
                float here[SLICES];
                UNROLL for (int s = 0; s < SLICES; s++) here[s] = sum[y][x][s];
                for (int p = 0; p < count; p++)
                    add(here, row + (ulong)p * (ulong)columns,
                        start[p] + lines[first + p].a * x + lines[first + p].b * y, columns);
                UNROLL for (int s = 0; s < SLICES; s++) sum[y][x][s] = here[s];
            }
    }
    for (int y = 0; y < BLOCK && y0 + y < ny; y++)
        for (int x = 0; x < BLOCK && x0 + x < nx; x++)
            for (int s = 0; s < SLICES && group * SLICES + s < slices; s++)
                out[out_at + ((ulong)(group * SLICES + s) * (ulong)ny + (ulong)(y0 + y)) * (ulong)nx +
                    (ulong)(x0 + x)] = sum[y][x][s];
}
