/* SPDX-License-Identifier: MIT */
/* Phase retrieval along columns: LANES columns of a plane are transformed, multiplied by the transfer function of
 * prep/phase_filter.c, and transformed back in place. */
#ifndef LENGTH
#define LANES 4
#endif
#ifndef UNSHARP
#define UNSHARP 1 /* multiply by 1 + unsharp (1 - G), where G is a Gaussian mean */
#define SPREAD 1  /* divide by 1 - share G, where G is the transform of the scatter kernel */
#endif

#include "fft_lines.clh"

/* column[width] and row[LENGTH]: the transfer function is scale / (column + row). The means have the same sizes and are
 * products of both. Layout: planes[..][LENGTH][width]. */
KERNEL GROUPS_OF(ITEMS *LANES,
                 1) void phase_columns(GLOBAL float2 *RESTRICT planes, GLOBAL const float2 *RESTRICT roots,
                                       GLOBAL const float *RESTRICT column, GLOBAL const float *RESTRICT row,
                                       GLOBAL const float *RESTRICT mean_column, GLOBAL const float *RESTRICT mean_row,
                                       GLOBAL const float *RESTRICT spread_column,
                                       GLOBAL const float *RESTRICT spread_row, uint width, float scale, float unsharp,
                                       float share LOCAL_DYNAMIC_ARGUMENT(float2, shared)) {
    LOCAL_DYNAMIC(float2, shared);
    const uint groups = (width + LANES - 1) / LANES, plane = group_id(0) / groups;
    const uint item = local_id(0) / LANES, lane = local_id(0) - item * LANES; /* PoCL 3.1 compiles % wrongly here */
    const uint at = (group_id(0) - plane * groups) * LANES + lane, inside = at < width, x = inside ? at : width - 1;
    GLOBAL float2 *line = planes + (ulong)plane * LENGTH * width + x;
    LOCAL_POINTER float2 *s = shared + lane;
    float2 v[VALUES];
    UNROLL for (int b = 0; b < TURNS(RADIX0); b++) {
        if (!EXISTS(item, b, RADIX0)) continue;
        UNROLL for (int k = 0; k < RADIX0; k++) v[b * RADIX0 + k] = line[(ulong)FIRST_PLACE(item, b, k) * width];
    }
    forth(v, s, roots, item);
    UNROLL for (int b = 0; b < TURNS(RADIX_LAST); b++) {
        if (!EXISTS(item, b, RADIX_LAST)) continue;
        UNROLL for (int k = 0; k < RADIX_LAST; k++) {
            const uint y = LAST_PLACE(item, b, k);
            const float2 z = v[b * RADIX_LAST + k];
            float factor = scale / (column[x] + row[y]);
            if (UNSHARP) factor *= 1.0f + unsharp * (1.0f - mean_row[y] * mean_column[x]);
            if (SPREAD) factor /= 1.0f - share * spread_row[y] * spread_column[x];
            /* real and imaginary parts swapped, for the inverse transform */
            v[b * RADIX_LAST + k] = complex_of(z.y * factor, z.x * factor);
        }
    }
    back(v, s, roots, item);
    UNROLL for (int b = 0; b < TURNS(RADIX0); b++) {
        if (!EXISTS(item, b, RADIX0) || !inside) continue;
        UNROLL for (int k = 0; k < RADIX0; k++) {
            const float2 z = v[b * RADIX0 + k];
            line[(ulong)FIRST_PLACE(item, b, k) * width] = complex_of(z.y, z.x);
        }
    }
}
