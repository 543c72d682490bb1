/* SPDX-License-Identifier: MIT */
/* Parallel-beam back-projection with textures, 1, 2 or 4 slices per fetch (interleaved sinograms); a layer of the
 * texture is a group of slices.
 *
 * Without options: one thread per pixel, areas of 16x16. ZORDER maps each 16 threads to 4x4 pixels along a Z-order
 * curve, so that neighbours fetch neighbours. TOGETHER = 4 assigns four views at once to four teams of 64 threads, each
 * thread with 4 pixels of every fourth view, and reduces the four partial sums through shared memory (REDUCE 0) or
 * shuffles (REDUCE 1). The constants of the views come from global memory (0), constant memory (1) or a cache of 256
 * views in shared memory (2), where they are also relative to the area, exact for any detector width.
 *
 * Nearest: the column in 64-bit fixed point, 32 fraction bits, exactly as on the CPU. */
#ifndef INTERP
#define INTERP 0 /* 0 linear, 1 nearest */
#endif
#ifndef SLICES
#define SLICES 1
#endif
#ifndef HALF
#define HALF 0 /* slices are scaled for half precision */
#endif
#ifndef ZORDER
#define ZORDER 1
#endif
#ifndef PIXELS
#define PIXELS 1 /* pixels of a thread; 4 if TOGETHER is 4 */
#endif
#ifndef TOGETHER
#define TOGETHER 1
#endif
#ifndef REDUCE
#define REDUCE 0
#endif
#ifndef CONSTANTS
#define CONSTANTS 0
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif

#define THREADS 256
#define AREA 16
#define ROWS (AREA / TOGETHER) /* rows of pixels that all threads cover at once */
#define HEIGHT (TOGETHER > 1 ? AREA : AREA * PIXELS)
#define CACHED 256
#define UNPACK JOIN(UNPACK_FLOATS_, SLICES)
#define FIXED_UNIT 2.3283064365386963e-10f /* 2^-32 */
#define FETCH JOIN(JOIN(TEXTURE_READ, SLICES), _LAYER)

/* A view: column of pixel (0,0), step in x and in y. Fixed point with 32 fraction bits; or float, with pixel (0,0)
 * replaced by the image's centre and half a texel added. */
typedef struct fixed_line {
    LONG a, b, c, unused;
} fixed_line;
#if INTERP == 0
typedef float4 line_of_view;
#define COORDINATE float
#define X(line) (line).x
#define Y(line) (line).y
#define START(line) (line).z
#else
typedef fixed_line line_of_view;
#define COORDINATE LONG
#define X(line) (line).a
#define Y(line) (line).b
#define START(line) (line).c
#endif

/* As many views of constants as fit into kernel arguments; more need several launches. */
#define CHUNK (INTERP == 0 ? 240 : 120)
typedef struct constants {
    line_of_view line[CHUNK];
} constants;

FUNCTION COORDINATE moved(COORDINATE from, COORDINATE step, float n) {
#if INTERP == 0
    return FMA(step, n, from);
#else
    return from + step * (LONG)n;
#endif
}

FUNCTION void add(float *sum, TEXTURE_LAYERED(sinogram), COORDINATE h, int view, int layer) {
    float v[4];
#if INTERP == 0
    UNPACK(v, FETCH(sinogram, h, (float)view + 0.5f, layer));
#else
    UNPACK(v, FETCH(sinogram, (float)(int)(h >> 32) + 0.5f, (float)view + 0.5f, layer));
#endif
    UNROLL for (int s = 0; s < SLICES; s++) sum[s] += v[s];
}

FUNCTION int z_order_x(int i) { return (i & 1) | (i >> 1 & 2); }
FUNCTION int z_order_y(int i) { return (i >> 1 & 1) | (i >> 2 & 2); }

KERNEL GROUPS_OF(THREADS, BLOCKS) void bp_parallel_texture(TEXTURE_LAYERED(sinogram),
#if CONSTANTS == 1 && HAS_CONSTANT_POINTERS
                                                           CONSTANT_POINTER const line_of_view *lines,
#elif CONSTANTS == 1
                                                           const constants chunk,
#elif CONSTANTS == 2
                                                           GLOBAL const fixed_line *RESTRICT lines,
#else
                                                           GLOBAL const line_of_view *RESTRICT lines,
#endif
                                                           int view0, int views, GLOBAL const float *RESTRICT undo,
                                                           ulong undo_at, GLOBAL float *RESTRICT out, ulong out_at,
                                                           int nx, int ny, int slices) {
#if CONSTANTS == 1 && !HAS_CONSTANT_POINTERS
    const line_of_view *lines = chunk.line;
#endif
    /* The pixel in the area, and the team. */
    const int item = (int)local_id(0);
#if TOGETHER > 1 || ZORDER
    const int in_square = item & 15, square = item >> 4;
    const int x_in_area = (square & 3) * 4 + z_order_x(in_square);
    const int y_in_area = (TOGETHER > 1 ? 0 : (square >> 2) * 4) + z_order_y(in_square);
#else
    const int x_in_area = item & 15, y_in_area = item >> 4;
#endif
    const int team = TOGETHER > 1 ? item >> 6 : 0;
    const int x0 = (int)group_id(0) * AREA, y0 = (int)group_id(1) * HEIGHT, layer = (int)group_id(2);

    float sum[PIXELS][SLICES];
    UNROLL for (int q = 0; q < PIXELS; q++) UNROLL for (int s = 0; s < SLICES; s++) sum[q][s] = 0.0f;

#if CONSTANTS == 2
    const float x = (float)x_in_area, y = (float)y_in_area;
    LOCAL line_of_view cached[CACHED];
    for (int first = 0; first < views; first += CACHED) {
        fixed_line line = lines[first + item]; /* the table is padded to whole caches */
        LONG corner = line.a * x0 + line.b * y0 + line.c;
        BARRIER();
#if INTERP == 0
        cached[item] = FLOAT4((float)line.a * FIXED_UNIT, (float)line.b * FIXED_UNIT,
                              (float)(corner + ((LONG)1 << 31)) * FIXED_UNIT, 0.0f);
#else
        line.c = corner;
        cached[item] = line;
#endif
        BARRIER();
        const int end = views - first < CACHED ? views - first : CACHED;
        for (int p = team; p < end; p += TOGETHER) {
            const line_of_view at = cached[p];
            const int view = view0 + first + p;
#else
#if INTERP == 0
    const float x = (float)(x0 + x_in_area) - 0.5f * (float)(nx - 1);
    const float y = (float)(y0 + y_in_area) - 0.5f * (float)(ny - 1);
#else
    const float x = (float)(x0 + x_in_area), y = (float)(y0 + y_in_area);
#endif
    {
        UNROLL_BY(8) for (int p = team; p < views; p += TOGETHER) {
            const line_of_view at = lines[p];
            const int view = view0 + p;
#endif
            const COORDINATE h = moved(moved(START(at), X(at), x), Y(at), y);
            UNROLL for (int q = 0; q < PIXELS; q++)
                add(sum[q], TEXTURE_PASS(sinogram), moved(h, Y(at), (float)(q * ROWS)), view, layer);
        }
    }

    /* Write the sums of pixel (x_in_area, y_in_area + q * ROWS) to out. */
#if TOGETHER > 1
    /* Add the teams' sums: 64 pixels at a time, with 4 threads per pixel, and write whole rows. */
    LOCAL float partial[SLICES][64][TOGETHER + 1];
    LOCAL float result[SLICES][AREA][AREA + 1];
    const int pixel = item >> 2, part = item & 3;
    UNROLL for (int q = 0; q < PIXELS; q++) {
        BARRIER();
        UNROLL for (int s = 0; s < SLICES; s++) partial[s][y_in_area * AREA + x_in_area][team] = sum[q][s];
        BARRIER();
        UNROLL for (int s = 0; s < SLICES; s++) {
#if REDUCE == 1
            float value = partial[s][pixel][part];
            value += SHUFFLE_XOR(value, 2);
            value += SHUFFLE_XOR(value, 1);
            if (part == 0) result[s][q * ROWS + pixel / AREA][pixel % AREA] = value;
#else
            for (int i = 2; i >= 1; i /= 2) {
                if (part < i) partial[s][pixel][part] += partial[s][pixel][part + i];
                BARRIER();
            }
            if (part == 0) result[s][q * ROWS + pixel / AREA][pixel % AREA] = partial[s][pixel][0];
#endif
        }
    }
    BARRIER();
#define WRITTEN 1
    const int x_out = x0 + (item & 15), y_out = y0 + (item >> 4);
#define VALUE(q, s) result[s][item >> 4][item & 15]
#else
#define WRITTEN PIXELS
    const int x_out = x0 + x_in_area, y_out = y0 + y_in_area;
#define VALUE(q, s) sum[q][s]
#endif
    if (x_out >= nx) return;
    UNROLL for (int q = 0; q < WRITTEN; q++) UNROLL for (int s = 0; s < SLICES; s++) {
        const int z = layer * SLICES + s, y_at = y_out + q * ROWS;
        if (z >= slices || y_at >= ny) continue;
        GLOBAL float *to = out + out_at + ((ulong)z * (ulong)ny + (ulong)y_at) * (ulong)nx + (ulong)x_out;
        float value = HALF ? VALUE(q, s) * undo[undo_at + (ulong)z] : VALUE(q, s);
        *to = view0 > 0 ? *to + value : value;
    }
}
