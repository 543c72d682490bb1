/* SPDX-License-Identifier: MIT */
/* Corrects numbers by their neighbours in the same view, or in the views before and after: steps of scope
 * QB__SCOPE_VIEW (prep/step.h). The operations and their order are those of the CPU, so that the bits are the same. A
 * group handles one row of a view. */
#include "prepare_rows.clh"

/* A product must not become part of an FMA, because the CPU rounds it. */
#if QB_CUDA
#define MUL(a, b) __fmul_rn(a, b)
#else
#pragma OPENCL FP_CONTRACT OFF
#define MUL(a, b) ((a) * (b))
#endif

#ifndef STEP /* near_rows.c defines STEP, and the macro of the wanted step */
#define ZINGERS 64.0f
#endif
#ifndef IN_TIME
#define IN_TIME 0 /* 1: zingers are found from the views before and after */
#endif
#ifndef ALONE
#define ALONE 0 /* 1: the detector has one row */
#endif

/* Mirrors an index beyond the ends of n rows or columns: row -1 is row 1. */
FUNCTION int mirrored(int i, int n) {
    while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
    return n > 1 ? i : 0;
}

FUNCTION float light(float t) { return t > 0.0f ? t : 0.0f; }

/* Rounds to the nearest whole number, and halves to even. */
FUNCTION float whole(float value) {
    const float big = 8388608.0f;
    if (value >= big || value <= -big) return value;
    return value >= 0.0f ? (value + big) - big : (value - big) + big;
}

FUNCTION float between(float value, float least, float most) {
    return value < least ? least : value > most ? most : value;
}

/* Stores a value as a number of the scan's type. */
FUNCTION void put(float value, GLOBAL raw_number *to) {
#if RAW == 0
    *to = (raw_number)between(whole(value), 0.0f, 255.0f);
#elif RAW == 1
    *to = (raw_number)between(whole(value), -128.0f, 127.0f);
#elif RAW == 2
    *to = (raw_number)between(whole(value), 0.0f, 65535.0f);
#elif RAW == 3
    *to = (raw_number)between(whole(value), -32768.0f, 32767.0f);
#elif RAW == 4
    const float number = between(whole(value), 0.0f, 4294967296.0f);
    *to = number >= 4294967296.0f ? 0xffffffffu : (raw_number)number;
#elif RAW == 5
    const float number = between(whole(value), -2147483648.0f, 2147483648.0f);
    *to = number >= 2147483648.0f ? 0x7fffffff : (raw_number)number;
#elif RAW == 6
    STORE_HALF(value, 0, to);
#else
    *to = (raw_number)value;
#endif
}

typedef struct pixels {
    /* rows above, here, below; IN_TIME: the row in the view before, this view, the view after */
    GLOBAL const raw_number *row[3];
    ulong field[3]; /* index at which the fields of each row begin */
    int beyond;     /* index in row[] of the row that is not on the detector; -1: both are */
    GLOBAL const float *dark, *gain;
} pixels;

FUNCTION float transmission(const pixels *p, int r, int c) {
    float t = number(p->row[r][c]);
#if HAS_DARK
    t -= p->dark[p->field[r] + (ulong)c];
#endif
#if HAS_GAIN
    t = MUL(t, p->gain[p->field[r] + (ulong)c]);
#endif
    return t;
}

/* A pixel of the row above or below. Beyond the detector it is the larger one of the mirrored row's pixel and of this
 * row's, which is at most 1.25 times as bright as the darker of its neighbours. */
FUNCTION float next_row(const pixels *p, int r, int c) {
    const float other = transmission(p, r, c);
    if (r != p->beyond) return other;
    const float here = transmission(p, 1, c);
    const float left = transmission(p, 1, mirrored(c - 1, COLUMNS));
    const float right = transmission(p, 1, mirrored(c + 1, COLUMNS));
    const float most = MUL(1.25f, left < right ? left : right), along = here > most ? most : here;
    return along > other ? along : other;
}

#if IN_TIME
#define AROUND 10 /* the same pixel in the view before and in the view after come first */
FUNCTION void neighbours(const pixels *p, int c, float *of) {
    for (int i = 0; i < 5; i++) {
        const int at = mirrored(c + (i + 1) / 2 * (i % 2 ? -1 : 1), COLUMNS);
        of[2 * i] = light(transmission(p, 0, at));
        of[2 * i + 1] = light(transmission(p, 2, at));
    }
}
#elif ALONE
#define AROUND 4
FUNCTION void neighbours(const pixels *p, int c, float *of) {
    of[0] = light(transmission(p, 1, mirrored(c - 2, COLUMNS)));
    of[1] = light(transmission(p, 1, mirrored(c - 1, COLUMNS)));
    of[2] = light(transmission(p, 1, mirrored(c + 1, COLUMNS)));
    of[3] = light(transmission(p, 1, mirrored(c + 2, COLUMNS)));
}
#else
#define AROUND 8
FUNCTION void neighbours(const pixels *p, int c, float *of) {
    const int left = mirrored(c - 1, COLUMNS), right = mirrored(c + 1, COLUMNS);
    of[0] = light(next_row(p, 0, left));
    of[1] = light(next_row(p, 0, c));
    of[2] = light(next_row(p, 0, right));
    of[3] = light(transmission(p, 1, left));
    of[4] = light(transmission(p, 1, right));
    of[5] = light(next_row(p, 2, left));
    of[6] = light(next_row(p, 2, c));
    of[7] = light(next_row(p, 2, right));
}
#endif

/* Median of an even number of values: the mean of the two in the middle. */
FUNCTION float median(float *of) {
    for (int i = 1; i < AROUND; i++)
        for (int k = i; k > 0 && of[k - 1] > of[k]; k--) {
            const float lower = of[k];
            of[k] = of[k - 1];
            of[k - 1] = lower;
        }
    return 0.5f * (of[AROUND / 2 - 1] + of[AROUND / 2]);
}

/* ---- steps: whether the pixel changes, and its new transmission ---- */

FUNCTION int corrected(const pixels *p, int c, float base, float slope, float *value) {
#ifdef ZINGERS /* prep/zingers.c; the value is the square of SIGMA */
    float of[AROUND], most = 0.0f, u = 0.0f, least;
    const float gain = HAS_GAIN ? p->gain[p->field[1] + (ulong)c] : 1.0f;
    const float dark = HAS_DARK ? p->dark[p->field[1] + (ulong)c] : 0.0f;
    neighbours(p, c, of);
    least = of[0];
    for (int i = 0; i < AROUND; i++) {
        const float smaller = of[i] < most ? of[i] : most;
        u = u > smaller ? u : smaller;
        most = of[i] > most ? of[i] : most;
        least = of[i] < least ? of[i] : least;
    }
    const float own = light(base + MUL(slope, dark));
    const float noise = MUL((float)ZINGERS, MUL(gain, MUL(gain, own) + MUL(slope, u)));
    const float above = transmission(p, 1, c) - u, share = MUL(0.01f, u);
    if (!(above > (share > u - least ? share : u - least)) || !(MUL(above, above) > noise)) return 0;
    *value = IN_TIME ? 0.5f * ((of[0] < u ? of[0] : u) + (of[1] < u ? of[1] : u)) : median(of);
    return 1;
#else
    return 0;
#endif
}

/* raw holds rows first <= row < end of each view, out holds rows row0 <= row < row0 + slices. Changes of rows own0 <= row
 * < own1 are counted. */
KERNEL void near_rows(GLOBAL const raw_number *RESTRICT raw, GLOBAL const float *RESTRICT dark,
                      GLOBAL const float *RESTRICT gain, GLOBAL const float *RESTRICT beam,
                      GLOBAL const uint *RESTRICT pairs, GLOBAL raw_number *RESTRICT out, GLOBAL uint *RESTRICT counts,
                      uint first, uint end, uint row0, uint slices, uint rows, uint own0, uint own1, float base,
                      float slope) {
    LOCAL int changed;
    const int item = (int)local_id(0);
    const uint group = group_id(0), view = group / slices, row = row0 + group % slices;
    pixels p;
    int mine = 0;
    for (int r = 0; r < 3; r++) {
        const uint at = IN_TIME ? row : (uint)mirrored((int)row + r - 1, (int)rows);
        const uint from = IN_TIME && r != 1 ? pairs[2 * view + (uint)(r / 2)] : view;
        p.row[r] = raw + ((ulong)from * (end - first) + (at - first)) * COLUMNS;
        p.field[r] = (ulong)at * COLUMNS;
    }
    p.beyond = row == 0 ? 0 : row + 1 == rows ? 2 : -1;
    p.dark = dark;
    p.gain = gain;
    if (item == 0) changed = 0;
    BARRIER();
    for (int c = item; c < COLUMNS; c += (int)local_size(0)) {
        GLOBAL raw_number *to = out + (ulong)group * COLUMNS + (ulong)c;
        float value;
        *to = p.row[1][c];
        if (!corrected(&p, c, base, slope, &value)) continue;
        const float scaled = HAS_GAIN ? MUL(value, beam[p.field[1] + (ulong)c]) : value;
        put(HAS_DARK ? scaled + dark[p.field[1] + (ulong)c] : scaled, to);
        mine += row >= own0 && row < own1;
    }
    if (mine) ATOMIC_ADD(&changed, mine);
    BARRIER();
    if (item == 0 && changed && ATOMIC_ADD(counts, (uint)changed) > 0xffffffffu - (uint)changed)
        ATOMIC_ADD(counts + 1, 1u);
}
