/* SPDX-License-Identifier: MIT */
/* Phase retrieval along rows. phase_lines converts numbers to transmissions, phase_forth transforms the rows of blocks,
 * and after phase_columns.cl phase_back transforms them back to numbers. Two neighbouring blocks of a view are the real
 * and the imaginary part of one plane. The filter is real and even, so it does not mix them. */
#ifndef LENGTH
#define COLUMNS 40
#define HEIGHT 64 /* rows of a plane */
#define LEFT 12   /* columns added before the first one of the detector */
#endif
#ifndef HAS_FLAT
#define HAS_FLAT 1
#define HAS_STUCK 1
#endif

#include "fft_lines.clh"
#include "prepare_rows.clh"

/* Fields of the detector: dark, 1 / (flat - dark), flat - dark, and 1 for invalid pixels (stuck). */
#define FIELDS                                                                                                         \
    GLOBAL const float *RESTRICT dark, GLOBAL const float *RESTRICT gain, GLOBAL const float *RESTRICT beam,           \
        GLOBAL const uchar *RESTRICT stuck, GLOBAL const float *RESTRICT mode, GLOBAL const float *RESTRICT drift

/* Factor by which the flat of this view differs (io/scan/drift.h). */
FUNCTION float changed(GLOBAL const float *mode, GLOBAL const float *weight, ulong at, ulong apart) {
    float sum = weight[0];
    for (int k = 0; k < DRIFT; k++) sum += weight[k + 1] * mode[(ulong)k * apart + at];
    return sum > 1e-3f ? sum : 1e-3f;
}

/* The transmission of pixel `at`; LOST if it is invalid. */
FUNCTION float seen(raw_number raw, ulong at, FIELDS, ulong apart, float top, float most) {
    float t = number(raw);
    int lost = AS_INT(t) >= AS_INT(top);
#if HAS_DARK
    t -= dark[at];
#endif
#if HAS_FLAT
    const float factor = gain[at];
    lost |= AS_INT(factor) <= 0;
    t *= factor;
    if (DRIFT) t /= changed(mode, drift, at, apart);
#endif
#if HAS_STUCK
    lost |= stuck[at] != 0;
#endif
    lost |= (AS_INT(t) & 0x7fffffff) >= AS_INT(most);
    return lost ? AS_FLOAT(LOST) : t;
}
#define SEEN(c) seen(from[c], at + (ulong)(c), dark, gain, beam, stuck, mode, weight, apart, top, most)
#define NONE(t) IS_LOST(AS_INT(t))

/* Both `raw`, after its first `skip` views, and `lines` hold rows row0 <= row < row0 + rows of each view. good: 1 if a
 * row has a valid pixel. A group handles one row. */
KERNEL void phase_lines(GLOBAL const raw_number *RESTRICT raw, FIELDS, GLOBAL float *RESTRICT lines,
                        GLOBAL int *RESTRICT good, uint skip, uint view0, uint row0, uint rows, ulong apart, float top,
                        float most) {
    LOCAL int lost;
    const int item = (int)local_id(0), items = (int)local_size(0);
    const uint group = group_id(0), view = group / rows, row = row0 + group - view * rows;
    GLOBAL const raw_number *from = raw + ((ulong)skip * rows + group) * COLUMNS;
    GLOBAL const float *weight = drift + (ulong)(view0 + skip + view) * (DRIFT + 1);
    GLOBAL float *line = lines + (ulong)group * COLUMNS;
    const ulong at = (ulong)row * COLUMNS;
    int mine = 0;
    if (item == 0) lost = 0;
    BARRIER();
    for (int c = item; c < COLUMNS; c += items) {
        const float t = SEEN(c);
        line[c] = t;
        mine += NONE(t);
    }
    if (mine) ATOMIC_ADD(&lost, mine);
    BARRIER_ALL();
    if (item == 0) good[group] = lost < COLUMNS;
    if (lost == 0 || lost == COLUMNS) return;
    /* The item that has the first pixel of a run of invalid ones fills the whole run, linearly between the
     * neighbours. */
    for (int c = item; c < COLUMNS; c += items) {
        int end = c + 1;
        if (!NONE(SEEN(c)) || (c > 0 && NONE(SEEN(c - 1)))) continue;
        while (end < COLUMNS && NONE(SEEN(end))) end++;
        const float left = c > 0 ? line[c - 1] : line[end], right = end < COLUMNS ? line[end] : left;
        const float step = (right - left) / (float)(end - c + 1);
        for (int i = c; i < end; i++) line[i] = left + step * (float)(i - c + 1);
    }
}

/* Number of the detector row that is used as row r of a block with rows first <= row < end; -1: none. Rows beyond `end`
 * or the detector repeat the last one. A row without valid pixels is replaced by the next lower row number with valid
 * pixels, or else by the next higher one. */
FUNCTION int row_of(GLOBAL const int *good, int first, int end, int r, int row0, int detector) {
    const int low = first > 0 ? first : 0, high = end < detector ? end : detector;
    int at = first + r < low ? low : first + r >= high ? high - 1 : first + r;
    const int begin = at;
    while (at >= low && !good[at - row0]) at--;
    if (at >= low) return at;
    for (at = begin + 1; at < high; at++)
        if (good[at - row0]) return at;
    return -1;
}

/* Blocks 2 (pair0 + p) and 2 (pair0 + p) + 1 of each view, of `step` rows each with `margin` rows on both sides, become
 * planes[view][p][HEIGHT][LENGTH]. A group handles one row of a plane. */
KERNEL GROUPS_OF(ITEMS, 1) void phase_forth(GLOBAL const float *RESTRICT lines, GLOBAL const int *RESTRICT good,
                                            GLOBAL const float2 *RESTRICT roots, GLOBAL float2 *RESTRICT planes,
                                            uint pair0, uint pairs, uint step, uint margin, uint row0, uint rows,
                                            uint detector LOCAL_DYNAMIC_ARGUMENT(float2, s)) {
    LOCAL_DYNAMIC(float2, s);
    const uint item = local_id(0), plane = group_id(0) / HEIGHT, r = group_id(0) - plane * HEIGHT, view = plane / pairs;
    GLOBAL const float *part[2];
    float2 v[VALUES];
    for (uint k = 0; k < 2; k++) {
        const uint begin = (2 * (pair0 + plane - view * pairs) + k) * step;
        const int at = begin < detector ? row_of(good + (ulong)view * rows, (int)begin - (int)margin,
                                                 (int)(begin + step + margin), (int)r, (int)row0, (int)detector)
                                        : -1;
        part[k] = at < 0 ? 0 : lines + ((ulong)view * rows + (ulong)(at - (int)row0)) * COLUMNS;
    }
    UNROLL for (int b = 0; b < TURNS(RADIX0); b++) {
        if (!EXISTS(item, b, RADIX0)) continue;
        UNROLL for (int k = 0; k < RADIX0; k++) {
            int c = (int)FIRST_PLACE(item, b, k) - LEFT;
            c = c < 0 ? 0 : c >= COLUMNS ? COLUMNS - 1 : c;
            v[b * RADIX0 + k] = complex_of(part[0] ? part[0][c] : 0.0f, part[1] ? part[1][c] : 0.0f);
        }
    }
    forth(v, s, roots, item);
    GLOBAL float2 *to = planes + (ulong)group_id(0) * LENGTH;
    UNROLL for (int b = 0; b < TURNS(RADIX_LAST); b++) {
        if (!EXISTS(item, b, RADIX_LAST)) continue;
        UNROLL for (int k = 0; k < RADIX_LAST; k++) to[LAST_PLACE(item, b, k)] = v[b * RADIX_LAST + k];
    }
}

/* Writes rows first <= row < end of each view to `out`, after `skip` views as in `raw`. */
KERNEL GROUPS_OF(ITEMS, 1) void phase_back(GLOBAL const raw_number *RESTRICT raw, FIELDS,
                                           GLOBAL const float2 *RESTRICT roots, GLOBAL const float2 *RESTRICT planes,
                                           GLOBAL float *RESTRICT out, uint pair0, uint pairs, uint step, uint margin,
                                           uint skip, uint view0, uint row0, uint rows, uint first, uint end,
                                           ulong apart, float top, float most,
                                           float offset LOCAL_DYNAMIC_ARGUMENT(float2, s)) {
    LOCAL_DYNAMIC(float2, s);
    const uint item = local_id(0), plane = group_id(0) / step, r = group_id(0) - plane * step, view = plane / pairs;
    const uint block = 2 * (pair0 + plane - view * pairs), upper = block * step + r, lower = upper + step;
    const int has_upper = upper >= first && upper < end, has_lower = lower >= first && lower < end;
    GLOBAL const float2 *plane_row = planes + ((ulong)plane * HEIGHT + margin + r) * LENGTH;
    GLOBAL const float *weight = drift + (ulong)(view0 + skip + view) * (DRIFT + 1);
    float2 v[VALUES];
    if (!has_upper && !has_lower) return;
    UNROLL for (int b = 0; b < TURNS(RADIX_LAST); b++) {
        if (!EXISTS(item, b, RADIX_LAST)) continue;
        UNROLL for (int k = 0; k < RADIX_LAST; k++) {
            const float2 z = plane_row[LAST_PLACE(item, b, k)];
            v[b * RADIX_LAST + k] = complex_of(z.y, z.x);
        }
    }
    back(v, s, roots, item);
    for (int k = 0; k < 2; k++) {
        const uint row = k ? lower : upper;
        if (!(k ? has_lower : has_upper)) continue;
        GLOBAL const raw_number *from = raw + ((ulong)(skip + view) * rows + (row - row0)) * COLUMNS;
        GLOBAL float *to = out + ((ulong)(skip + view) * (end - first) + (row - first)) * COLUMNS;
        const ulong at = (ulong)row * COLUMNS;
        UNROLL for (int b = 0; b < TURNS(RADIX0); b++) {
            if (!EXISTS(item, b, RADIX0)) continue;
            UNROLL for (int i = 0; i < RADIX0; i++) {
                const int c = (int)FIRST_PLACE(item, b, i) - LEFT;
                float t = (k ? v[b * RADIX0 + i].x : v[b * RADIX0 + i].y) + offset;
                if (c < 0 || c >= COLUMNS) continue;
#if HAS_FLAT
                if (DRIFT) t *= changed(mode, weight, at + (ulong)c, apart);
                t *= beam[at + (ulong)c];
#endif
#if HAS_DARK
                t += dark[at + (ulong)c];
#endif
                to[c] = NONE(SEEN(c)) ? AS_FLOAT(LOST) : t;
            }
        }
    }
}
