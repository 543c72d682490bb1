/* SPDX-License-Identifier: MIT */
/* Converts line integrals of a cone beam to the rows that are filtered. For a tilted or curved detector (RESAMPLED),
 * rows of the virtual detector are interpolated (see geometry/virtual_detector.c and ops/resample.c). Each pixel is
 * multiplied by its weight (geometry/cone_weights.c), and zeros are added on both sides. A group makes one row and
 * keeps it in the output buffer meanwhile. Positions on the detector are computed in double precision, as on the CPU:
 * in single precision they would be wrong by a thousandth of a pixel. */
#define LINE GLOBAL
#ifndef COLUMNS
#define COLUMNS 64  /* columns of a row without the added zeros */
#define BEFORE 0    /* zeros added before the row */
#define WIDTH 64    /* columns of a row with the added zeros */
#define MEASURED 64 /* columns of the line integrals */
#define DETECTOR_ROWS 64
#define RESAMPLED 1
#define CURVED 0
#define VERTICAL 1   /* 1: fan angles are constant along a detector column */
#define REDUNDANCY 0 /* qb_redundancy */
#define SHARES 64    /* per view of a scan with gaps: columns of a vertical detector, else ascending fan angles */
#define PAD 0
#define ITEMS 64
#define TAPS 8
#define PHASES 512
#endif
/* Only repair() of prepare_rows.clh is used, so its shares are switched off. */
#define HAS_SHARE 0
#define SHARE_ROWS 0
#define HAS_VIEW_SHARE 0
#define RAW_COLUMNS COLUMNS

#include "extend.clh"
#include "prepare_rows.clh"

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

enum { NONE, PARKER, WANG, GAPS }; /* qb_redundancy */
#define PI 3.14159265358979323846f

/* ---- positions on the detector ---- */

/* map[9]; for a curved detector 7 more numbers: the column where its plane is tangent, mm per column along the arc,
 * radius, x, depth and row of the source, and RESIDUE, a term of curve() that is the same for all pixels. */
enum { MAP = 9, TOUCH = 9, PITCH, RADIUS, SOURCE_X, DEPTH, ROW, RESIDUE, MAP_NUMBERS };

typedef struct place {
    double column, row;
} place;

/* As qb__curve_pixel in geometry/curve.c. */
FUNCTION place curve(GLOBAL const double *RESTRICT m, place at) {
    double dx = (at.column - m[TOUCH]) * m[PITCH] - m[SOURCE_X], dz = m[DEPTH], rest = m[RADIUS] - m[DEPTH];
    double a = dx * dx + dz * dz, b = m[SOURCE_X] * dx + rest * dz;
    double t = (sqrt(b * b - a * m[RESIDUE]) - b) / a;
    double arc = atan2(m[SOURCE_X] + t * dx, rest + t * dz);
    at.column = m[TOUCH] + arc * m[RADIUS] / m[PITCH];
    at.row = m[ROW] + t * (at.row - m[ROW]);
    return at;
}

FUNCTION place place_of(GLOBAL const double *RESTRICT m, double x, double y) {
    place at;
    double w = m[6] * x + m[7] * y + m[8];
    at.column = (m[0] * x + m[1] * y + m[2]) / w;
    at.row = (m[3] * x + m[4] * y + m[5]) / w;
    if (CURVED) at = curve(m, at);
    return at;
}

/* ---- interpolation between pixels ---- */

#define SLACK 1e-9 /* as in cpu/rows/resample_row.h */

/* Weights of the taps for a position that lies the fraction `part` of a pixel after the middle tap. */
FUNCTION void taps_at(GLOBAL const float *RESTRICT taps, double part, float *w) {
    float at = (float)part * PHASES;
    int phase = (int)at;
    float rest = at - (float)phase;
    GLOBAL const float *a = taps + phase * TAPS;
    UNROLL for (int k = 0; k < TAPS; k++) w[k] = a[k] + rest * (a[TAPS + k] - a[k]);
}

FUNCTION int within(int i, int first, int end) { return i < first ? first : i >= end ? end - 1 : i; }

/* `image` holds the rows raw0 <= row < raw_end of the view. */
FUNCTION float read_at(GLOBAL const float *RESTRICT image, GLOBAL const float *RESTRICT taps, place at, int raw0,
                       int raw_end) {
    double left = floor(at.column), below = floor(at.row);
    int column = (int)left - (TAPS / 2 - 1), row = (int)below - (TAPS / 2 - 1);
    float wx[TAPS], wy[TAPS], sum = 0.0f;
    int c[TAPS];
    taps_at(taps, at.column - left, wx);
    taps_at(taps, at.row - below, wy);
    UNROLL for (int j = 0; j < TAPS; j++) c[j] = within(column + j, 0, MEASURED);
    for (int k = 0; k < TAPS; k++) {
        GLOBAL const float *cells = image + (ulong)(within(row + k, raw0, raw_end) - raw0) * MEASURED;
        float part = 0.0f;
        UNROLL for (int j = 0; j < TAPS; j++) part += wx[j] * cells[c[j]];
        sum += wy[k] * part;
    }
    return sum;
}

/* Interpolates one row; pixels that were not measured are LOST. */
FUNCTION void resample(GLOBAL const float *RESTRICT image, GLOBAL const float *RESTRICT taps,
                       GLOBAL const double *RESTRICT map, uint row, int raw0, int raw_end, int item, GLOBAL int *line,
                       LOCAL_POINTER int *ends) {
    int first = COLUMNS, end = 0;
    for (int c = item; c < COLUMNS; c += ITEMS) {
        place at = place_of(map, (double)c, (double)row);
        int inside = raw0 < raw_end && at.column >= -0.5 - SLACK && at.column <= MEASURED - 0.5 + SLACK &&
                     at.row >= -0.5 - SLACK && at.row <= DETECTOR_ROWS - 0.5 + SLACK;
        line[c] = inside ? AS_INT(read_at(image, taps, at, raw0, raw_end)) : LOST;
        if (!inside) continue;
        first = first < c ? first : c;
        end = c + 1;
    }
    if (first < COLUMNS) ATOMIC_MIN(ends, first);
    if (end > 0) ATOMIC_MAX(ends + 1, end);
}

/* ---- continuation beyond the measured columns ---- */

/* Adds the sums of all items, in local memory: parts[ITEMS][ELLIPSE_SUMS]. */
FUNCTION void sum_up(float *sums, LOCAL_POINTER float *parts, int item) {
    for (int i = 0; i < ELLIPSE_SUMS; i++) parts[ELLIPSE_SUMS * item + i] = sums[i];
    for (int n = ITEMS; n > 1;) {
        int rest = (n + 1) / 2;
        BARRIER_ALL();
        for (int i = 0; item + rest < n && i < ELLIPSE_SUMS; i++)
            parts[ELLIPSE_SUMS * item + i] += parts[ELLIPSE_SUMS * (item + rest) + i];
        n = rest;
    }
    BARRIER_ALL();
    for (int i = 0; i < ELLIPSE_SUMS; i++) sums[i] = parts[i];
}

/* Fills gaps within the row, and continues it before column `first` and from column `end` on, as --pad says. A row
 * without measured pixels becomes zero. All items must call it. */
FUNCTION void continue_row(GLOBAL int *bits, int first, int end, LOCAL_POINTER float *parts, int item) {
    GLOBAL float *line = (GLOBAL float *)bits;
    ellipse one, other;
    const int columns = end - first;
    one.level = one.slope = one.quadratic = 0.0f;
    other = one;
    for (int c = item; c < COLUMNS; c += ITEMS)
        if (c < first || c >= end) line[c] = 0.0f;
    BARRIER_ALL();
    repair(bits, item);
    if (columns <= 0 || columns == COLUMNS) return;
    if (PAD == ELLIPSE) {
        float sums[ELLIPSE_SUMS];
        ellipse_sums(line + first, columns, item, ITEMS, sums);
        sum_up(sums, parts, item);
        ellipse_fit(sums, columns, &one, &other);
    }
    for (int c = item; c < COLUMNS; c += ITEMS)
        if (c < first || c >= end) line[c] = sample_of(line + first, c - first, columns, PAD, one, other);
    BARRIER_ALL();
}

/* ---- weights ---- */

/* Numbers of a view: from the source to the first pixel, and the steps along columns and rows, in mm. Each has three
 * components: horizontal and towards growing columns, horizontal and towards the axis, up. With these axes small fan
 * angles do not suffer from cancellation. BETA: angle of the source; PLANE: distance of the detector plane. */
enum { FIRST = 0, U = 3, V = 6, BETA = 9, PLANE, VIEW_NUMBERS = 12 };

FUNCTION float squared_sine(float quarters) {
    float s = sin(0.25f * PI * quarters);
    return s * s;
}

/* As parker() and wang() in geometry/cone_weights.c, which explains them. */
FUNCTION float redundancy(float beta, float gamma, float span, float low, float high) {
    if (REDUNDANCY == PARKER) {
        float delta = 0.5f * (span - PI);
        if (beta < 0.0f || beta > span) return 0.0f;
        if (beta < 2.0f * (delta - gamma)) return squared_sine(beta / (delta - gamma));
        if (beta > PI - 2.0f * gamma) return squared_sine((span - beta) / (delta + gamma));
        return 1.0f;
    }
    if (REDUNDANCY == WANG) {
        float overlap = -low < high ? -low : high, x = (high > -low ? gamma : -gamma) / overlap;
        return x <= -1.0f ? 0.0f : x >= 1.0f ? 1.0f : 0.5f * (1.0f + sin(0.5f * PI * x));
    }
    return 0.5f;
}

FUNCTION float share_at(GLOBAL const float *RESTRICT shares, float gamma, float low, float high) {
    float at = (gamma - low) * ((float)(SHARES - 1) / (high - low));
    at = at < 0.0f ? 0.0f : at > (float)(SHARES - 1) ? (float)(SHARES - 1) : at;
    const int left = (int)at < SHARES - 1 ? (int)at : SHARES - 2;
    return shares[left] + (at - (float)left) * (shares[left + 1] - shares[left]);
}

FUNCTION float weight_of(GLOBAL const float *RESTRICT v, GLOBAL const float *RESTRICT shares, float column, float row,
                         float span, float low, float high) {
    float fx = v[FIRST] + row * v[V], fy = v[FIRST + 1] + row * v[V + 1], fz = v[FIRST + 2] + row * v[V + 2];
    float x = fx + column * v[U], y = fy + column * v[U + 1], z = fz + column * v[U + 2];
    float gamma = 0.0f, scale = 1.0f;
    if (REDUNDANCY != NONE && !(REDUNDANCY == GAPS && VERTICAL)) gamma = atan2(-x, y);
    if (!VERTICAL) {
        float across = fx * v[U + 1] - fy * v[U];
        scale = v[PLANE] * sqrt(v[U] * v[U] + v[U + 1] * v[U + 1]) / (across < 0.0f ? -across : across);
    }
    float share;
    if (REDUNDANCY == GAPS)
        share = VERTICAL ? shares[(int)column] : share_at(shares, gamma, low, high);
    else
        share = redundancy(v[BETA], gamma, span, low, high);
    return share * scale * y / sqrt(x * x + y * y + z * z);
}

/* ---- rows ---- */

/* lines[view - view0][row - raw0][MEASURED] -> out[view - view0][row - row0][WIDTH], with `rows` rows per view from
 * row0 on. views, maps and shares hold all views of the scan. */
KERNEL void cone_rows(GLOBAL const float *RESTRICT lines, GLOBAL const float *RESTRICT taps,
                      GLOBAL const double *RESTRICT maps, GLOBAL const float *RESTRICT views,
                      GLOBAL const float *RESTRICT shares, GLOBAL float *out, uint rows, uint view0, uint row0,
                      uint raw0, uint raw_end, float span, float low, float high) {
    LOCAL int ends[2];
    LOCAL float parts[RESAMPLED && PAD == ELLIPSE ? ITEMS * ELLIPSE_SUMS : 1];
    const int item = (int)local_id(0);
    const uint v = group_id(0) / rows, row = row0 + group_id(0) % rows;
    GLOBAL const float *image = lines + (ulong)v * (raw_end - raw0) * MEASURED;
    GLOBAL float *whole = out + (ulong)group_id(0) * WIDTH, *line = whole + BEFORE;
    GLOBAL const float *view = views + (ulong)(view0 + v) * VIEW_NUMBERS;
    if (RESAMPLED) {
        if (item == 0) ends[0] = COLUMNS, ends[1] = 0;
        BARRIER_ALL();
        resample(image, taps, maps + (ulong)(view0 + v) * MAP_NUMBERS, row, (int)raw0, (int)raw_end, item,
                 (GLOBAL int *)line, ends);
        BARRIER_ALL();
        continue_row((GLOBAL int *)line, ends[0], ends[1], parts, item);
    }
    for (int c = item; c < WIDTH; c += ITEMS) {
        if (c < BEFORE || c >= BEFORE + COLUMNS) {
            whole[c] = 0.0f;
            continue;
        }
        float value = RESAMPLED ? whole[c] : image[(ulong)(row - raw0) * MEASURED + (ulong)(c - BEFORE)];
        whole[c] = value * weight_of(view, shares + (ulong)(view0 + v) * SHARES, (float)(c - BEFORE), (float)row, span,
                                     low, high);
    }
}
