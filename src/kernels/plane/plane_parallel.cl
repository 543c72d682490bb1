/* SPDX-License-Identifier: MIT */
/* One plane of a parallel-beam volume in any direction: an item sums one point over all views. Points of a warp are
 * neighbours, so that their columns are, too. Rows are already filtered. BETWEEN 1: a point lies between two detector
 * rows. */
#ifndef BETWEEN
#define BETWEEN 0
#endif
#define WIDE 32
#define ITEMS 256
#define AT_ONCE 256

typedef struct plane_view {
    float ax, ay, h0, weight;
    ulong at; /* elements before the view's first row */
} plane_view;

/* Columns outside the detector read as zero. */
FUNCTION float column_of(GLOBAL const float *row, int column, int columns) {
    return (uint)column < (uint)columns ? row[column] : 0.0f;
}

FUNCTION float between(GLOBAL const float *row, int column, float share, int columns) {
    const float a = column_of(row, column, columns), b = column_of(row, column + 1, columns);
    return FMA(share, b - a, a);
}

KERNEL GROUPS_OF(ITEMS, 4) void plane_parallel(GLOBAL const float *RESTRICT rows,
                                               GLOBAL const plane_view *RESTRICT views, int count, int columns,
                                               int row_count, int stride, GLOBAL float *RESTRICT out, int lines,
                                               int points, float4 origin, float4 down, float4 right) {
    LOCAL plane_view line[AT_ONCE];
    const int j = (int)(group_id(0) * WIDE + local_id(0) % WIDE);
    const int i = (int)(group_id(1) * (ITEMS / WIDE) + local_id(0) / WIDE);
    const float x = origin.x + (float)i * down.x + (float)j * right.x;
    const float y = origin.y + (float)i * down.y + (float)j * right.y;
    const float place = origin.z + (float)i * down.z + (float)j * right.z;
    const int last = row_count - 1;
    int row = (int)place;
    if (row < 0) row = 0;
    if (row > last) row = last;
    const int next = row < last ? row + 1 : last;
    const float share = place - (float)row;
    float sum = 0.0f;
    for (int first = 0; first < count; first += AT_ONCE) {
        const int some = count - first < AT_ONCE ? count - first : AT_ONCE;
        BARRIER();
        if ((int)local_id(0) < some) line[local_id(0)] = views[first + (int)local_id(0)];
        BARRIER();
        for (int v = 0; v < some; v++) {
            const float h = FMA(line[v].ax, x, FMA(line[v].ay, y, line[v].h0));
            const float low = floor(h);
            GLOBAL const float *from = rows + line[v].at;
            float value = between(from + (ulong)row * (ulong)stride, (int)low, h - low, columns);
#if BETWEEN
            const float above = between(from + (ulong)next * (ulong)stride, (int)low, h - low, columns);
            value = FMA(share, above - value, value);
#endif
            sum = FMA(line[v].weight, value, sum);
        }
    }
    if (i < lines && j < points) out[(ulong)i * (ulong)points + (ulong)j] = sum;
}
