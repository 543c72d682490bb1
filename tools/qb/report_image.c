/* SPDX-License-Identifier: MIT */
/* Writes pictures of the report as JSON: the values as 16 bits each, in base64. */
#include <math.h>
#include <stdlib.h>

#include "report_html.h"

enum { SIDE = 768 };

static char *base64(const unsigned char *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(count / 3 * 4 + 5), *at = text;
    if (!text) return NULL;
    for (size_t i = 0; i < count; i += 3) {
        const unsigned three = (unsigned)bytes[i] << 16 | (i + 1 < count ? (unsigned)bytes[i + 1] << 8 : 0) |
                               (i + 2 < count ? bytes[i + 2] : 0);
        *at++ = digits[three >> 18];
        *at++ = digits[three >> 12 & 63];
        *at++ = i + 1 < count ? digits[three >> 6 & 63] : '=';
        *at++ = i + 2 < count ? digits[three & 63] : '=';
    }
    *at = 0;
    return text;
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Mean of the finite values of a block; NaN where there is none. */
static float mean(const float *values, const image *m, size_t x0, size_t y0, size_t step) {
    double sum = 0;
    size_t count = 0;
    for (size_t y = y0; y < y0 + step && y < m->high; y++)
        for (size_t x = x0; x < x0 + step && x < m->wide; x++)
            if (isfinite(values[y * m->wide + x])) sum += values[y * m->wide + x], count++;
    return count ? (float)(sum / (double)count) : NAN;
}

/* The largest value of a block. For kinds of pixels a mean has no meaning, and a rare kind must stay visible. */
static float most(const float *values, const image *m, size_t x0, size_t y0, size_t step) {
    float top = 0;
    for (size_t y = y0; y < y0 + step && y < m->high; y++)
        for (size_t x = x0; x < x0 + step && x < m->wide; x++) top = fmaxf(top, values[y * m->wide + x]);
    return top;
}

/* The median of the finite values of up to five columns; NAN where there are none. Columns without a signal and single
 * bright pixels vanish. */
static float median_of_row(const float *row, size_t wide, size_t x) {
    float five[5];
    size_t n = 0;
    for (size_t i = x > 2 ? x - 2 : 0; i <= x + 2 && i < wide; i++)
        if (isfinite(row[i])) five[n++] = row[i];
    qsort(five, n, sizeof *five, ascending);
    return n ? five[n / 2] : NAN;
}

/* The values between which grey levels lie: all but the smallest and the largest half percent. */
static void find_window(const float *values, size_t wide, size_t high, double window[2]) {
    float *sorted = malloc(wide * high * sizeof *sorted);
    size_t n = 0;
    for (size_t y = 0; sorted && y < high; y++)
        for (size_t x = 0; x < wide; x++) {
            const float value = median_of_row(values + y * wide, wide, x);
            if (isfinite(value)) sorted[n++] = value;
        }
    if (n) {
        qsort(sorted, n, sizeof *sorted, ascending);
        window[0] = sorted[n / 200], window[1] = sorted[n - 1 - n / 200];
    }
    free(sorted);
}

/* Adds the values as 16-bit little-endian numbers from 0 (smallest value) to 65534 (largest value); 65535 stands for
 * NaN and infinity. */
static void add_values(cJSON *json, const float *values, size_t wide, size_t rows) {
    const size_t count = wide * rows;
    unsigned char *bytes = malloc(2 * count);
    double low = INFINITY, high = -INFINITY, window[2] = {0, 0};
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) low = fmin(low, values[i]), high = fmax(high, values[i]);
    if (low > high) low = high = 0;
    find_window(values, wide, rows, window);
    for (size_t i = 0; bytes && i < count; i++) {
        const double share = high > low ? ((double)values[i] - low) / (high - low) : 0;
        const unsigned v = isfinite(values[i]) ? (unsigned)(share * 65534 + 0.5) : 65535;
        bytes[2 * i] = (unsigned char)(v & 255), bytes[2 * i + 1] = (unsigned char)(v >> 8);
    }
    char *text = bytes ? base64(bytes, 2 * count) : NULL;
    cJSON_AddNumberToObject(json, "low", low);
    cJSON_AddNumberToObject(json, "high_value", high);
    cJSON_AddItemToObject(json, "window", cJSON_CreateDoubleArray(window, 2));
    cJSON_AddStringToObject(json, "data", text ? text : "");
    free(bytes);
    free(text);
}

void add_image(cJSON *list, const float *values, const image *m) {
    const size_t longest = m->wide > m->high ? m->wide : m->high, side = m->side ? m->side : SIDE,
                 step = (longest + side - 1) / side;
    const size_t wide = (m->wide + step - 1) / step, high = (m->high + step - 1) / step;
    float *small = values ? malloc(wide * high * sizeof *small) : NULL;
    if (!small) return;
    for (size_t y = 0; y < high; y++)
        for (size_t x = 0; x < wide; x++)
            small[y * wide + x] = (m->kinds ? most : mean)(values, m, x * step, y * step, step);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "title", m->title);
    cJSON_AddStringToObject(json, "units", m->units);
    cJSON_AddItemToObject(json, "axes", cJSON_CreateStringArray(m->axes, 2));
    cJSON_AddNumberToObject(json, "wide", (double)wide);
    cJSON_AddNumberToObject(json, "high", (double)high);
    cJSON_AddNumberToObject(json, "step", (double)step);
    cJSON_AddNumberToObject(json, "mm", m->mm * (double)step);
    cJSON_AddBoolToObject(json, "up", m->up);
    if (m->kinds) cJSON_AddBoolToObject(json, "kinds", true);
    add_values(json, small, wide, high);
    cJSON_AddItemToArray(list, json);
    free(small);
}
