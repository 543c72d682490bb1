/* SPDX-License-Identifier: MIT */
/* Filters rows that do not fit into local memory: the steps of filter_rows.cl as separate launches in device memory,
 * one for each pass of the transform. Work items are in groups of 128 along the first axis of the grid, rows along the
 * second. */
#define LINE GLOBAL
#include "extend.clh"
#include "fft.clh"

#define GROUP 128
#define ITEM (group_id(0) * GROUP + local_id(0))
#define ROW ((ulong)group_id(1))

/* fits[row][2]: the ellipse at both ends of lines[row][columns]. A group handles one row. */
KERNEL void long_ellipse(GLOBAL const float *lines, GLOBAL ellipse *fits, int columns) {
    LOCAL float parts[GROUP * ELLIPSE_SUMS];
    int item = (int)local_id(0);
    float sums[ELLIPSE_SUMS];
    ellipse_sums(lines + ROW * (ulong)columns, columns, item, GROUP, sums);
    for (int i = 0; i < ELLIPSE_SUMS; i++) parts[ELLIPSE_SUMS * item + i] = sums[i];
    for (int n = GROUP / 2; n > 0; n /= 2) {
        BARRIER();
        for (int i = 0; item < n && i < ELLIPSE_SUMS; i++)
            parts[ELLIPSE_SUMS * item + i] += parts[ELLIPSE_SUMS * (item + n) + i];
    }
    if (item > 0) return;
    ellipse first, last;
    for (int i = 0; i < ELLIPSE_SUMS; i++) sums[i] = parts[i];
    ellipse_fit(sums, columns, &first, &last);
    fits[2 * ROW] = first;
    fits[2 * ROW + 1] = last;
}

/* lines[row][columns] -> z[row][half], pairs of samples of the padded row. `fits` is for the ellipse. */
KERNEL void long_pad(GLOBAL const float *lines, GLOBAL const ellipse *fits, GLOBAL float2 *z, uint half_length,
                     int columns, int left, int pad) {
    uint n = ITEM;
    if (n >= half_length) return;
    GLOBAL const float *line = lines + ROW * (ulong)columns;
    ellipse first, last;
    first.level = first.slope = first.quadratic = 0.0f;
    last = first;
    if (pad == ELLIPSE) {
        first = fits[2 * ROW];
        last = fits[2 * ROW + 1];
    }
    int at = 2 * (int)n - left;
    z[ROW * half_length + n] =
        complex_of(sample_of(line, at, columns, pad, first, last), sample_of(line, at + 1, columns, pad, first, last));
}

FUNCTION void pass(GLOBAL const float2 *from, GLOBAL float2 *to, GLOBAL const float2 *roots, uint half_length,
                   uint done, const int radix) {
    uint j = ITEM, step = half_length / (uint)radix;
    float2 v[LONGEST_DFT];
    if (j >= step) return;
    UNROLL for (int r = 0; r < radix; r++) v[r] = from[j + (uint)r * step];
    if (done > 1) turn(v, roots[j % done * (step / done)], radix);
    dft(v, radix);
    uint first = j / done * done * (uint)radix + j % done;
    UNROLL for (int r = 0; r < radix; r++) to[first + (uint)r * done] = v[r];
}

/* One pass of Stockham's transform; `done`: the product of the radices of the earlier passes. */
KERNEL void long_pass(GLOBAL const float2 *from, GLOBAL float2 *to, GLOBAL const float2 *roots, uint half_length,
                      uint done, int radix) {
    from += ROW * half_length;
    to += ROW * half_length;
    if (radix == 2) pass(from, to, roots, half_length, done, 2);
    if (radix == 3) pass(from, to, roots, half_length, done, 3);
    if (radix == 4) pass(from, to, roots, half_length, done, 4);
    if (radix == 5) pass(from, to, roots, half_length, done, 5);
    if (radix == 8) pass(from, to, roots, half_length, done, 8);
    if (radix == 10) pass(from, to, roots, half_length, done, 10);
    if (radix == 15) pass(from, to, roots, half_length, done, 15);
    if (radix == 16) pass(from, to, roots, half_length, done, 16);
}

/* In place. Leaves real and imaginary parts swapped, so that the forward transform also does the inverse. */
KERNEL void long_scale(GLOBAL float2 *z, GLOBAL const float4 *coefficients, uint half_length) {
    uint k = ITEM;
    if (k > half_length / 2) return;
    z += ROW * half_length;
    float4 c = coefficients[k];
    if (k == 0 || k == half_length / 2) {
        float2 own = scaled(z[k].x, z[k].y, c);
        z[k] = complex_of(own.y, own.x);
        return;
    }
    float2 a = z[k], b = z[half_length - k];
    float2 one = scaled(a.x, b.y, c), two = scaled(a.y, b.x, c);
    z[k] = complex_of(two.x, one.x);
    z[half_length - k] = complex_of(one.y, two.y);
}

/* Writes the columns of z[row][half], whose parts are still swapped: row of view view0 + v and slice s, times
 * weights[view0 + v], to out[first + v view_stride + s slice_stride]. */
KERNEL void long_crop(GLOBAL const float2 *z, GLOBAL float *out, GLOBAL const float *weights, uint half_length,
                      int columns, int left, uint slices, uint view0, ulong first, ulong view_stride,
                      ulong slice_stride) {
    int c = (int)ITEM, sample = c + left;
    uint row = group_id(1), v = row / slices;
    if (c >= columns) return;
    float2 two = z[ROW * half_length + (uint)(sample / 2)];
    out[first + (ulong)v * view_stride + (ulong)(row % slices) * slice_stride + (ulong)c] =
        (sample % 2 ? two.x : two.y) * weights[view0 + v];
}
