/* SPDX-License-Identifier: MIT */
#include "plane.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits for one plane: bytes read from disk, for a plane and for a draft; values held in memory. */
static const double READ_MOST = 1e9, READ_DRAFT = 64e6;
enum { BAND = 1 << 21 };

static void in_plane(size_t axis, size_t across[2]) {
    across[0] = axis == 0 ? 1 : 0;
    across[1] = axis == 2 ? 1 : 2;
}

__attribute__((format(printf, 2, 3))) static qb_status refuse(char *words, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(words, VIEW_WORDS, format, args);
    va_end(args);
    return QB_BAD_ARGUMENT;
}

qb_status view_plane_check(const qb_array_info *info, const view_plane *plane, char words[VIEW_WORDS]) {
    size_t across[2];
    if (plane->axis > 2 || plane->how >= VIEW_HOWS) return refuse(words, "there is no such plane");
    in_plane(plane->axis, across);
    const size_t n = info->shape[plane->axis], step = plane->step;
    if (plane->index >= n || plane->thick < 1 || plane->thick > n - plane->index)
        return refuse(words, "planes %zu to %zu are asked for, of %zu", plane->index, plane->index + plane->thick, n);
    for (int j = 0; j < 2; j++) {
        const size_t most = info->shape[across[j]];
        if (step < 1 || plane->count[j] < 1 || plane->first[j] >= most ||
            plane->count[j] > (most - plane->first[j] + step - 1) / step)
            return refuse(words, "the part reaches beyond the plane's %zu lines or points", most);
    }
    if (plane->count[0] > VIEW_VALUES_MOST / plane->count[1])
        return refuse(words, "%zu x %zu values are too many at once: give a larger step", plane->count[0],
                      plane->count[1]);
    return QB_OK;
}

/* How much of a plane is read. */
typedef struct reading {
    size_t points; /* points read of each line */
    size_t lines;  /* lines read of each block of `step` lines, from its middle */
    size_t every;  /* only every n-th line of the result is computed; the lines between repeat it */
} reading;

/* Plans the reading. A line across columns needs all rows of an image; other lines need one row. */
static reading plan_reading(const qb_array_info *info, const view_plane *plane) {
    size_t across[2];
    in_plane(plane->axis, across);
    const size_t wide = info->shape[across[1]] - plane->first[1], asked = plane->count[1] * plane->step;
    const size_t points = asked < wide ? asked : wide;
    const double bytes = (double)info->shape[2] * (double)qb_dtype_size(info->dtype) *
                         (plane->axis == 2 ? (double)points : 1) * (double)plane->thick;
    /* Lines that may be read for each line of the result */
    const double fit = (plane->draft ? READ_DRAFT : READ_MOST) / bytes / (double)plane->count[0];
    const size_t lines = fit < 1 ? 1 : fit < (double)plane->step ? (size_t)fit : plane->step;
    return (reading){points, lines, fit < 1 ? (size_t)ceil(1 / fit) : 1};
}

/* Reads lines line0 to line0 + lines - 1 of plane `index`, as they are stored: [lines][points]. */
static qb_status read_band(const view_stack *stack, const view_plane *plane, size_t index, size_t line0, size_t lines,
                           size_t points, float *out) {
    size_t across[2], first[3], count[3];
    const size_t step[3] = {1, 1, 1};
    in_plane(plane->axis, across);
    first[plane->axis] = index;
    count[plane->axis] = 1;
    first[across[0]] = line0;
    count[across[0]] = lines;
    first[across[1]] = plane->first[1];
    count[across[1]] = points;
    return stack->read(stack->user, first, count, step, out);
}

/* Mean of the measured values of a block. */
static float mean_of(const float *values, size_t lines, size_t points, size_t pitch) {
    double sum = 0;
    size_t found = 0;
    for (size_t y = 0; y < lines; y++) {
        for (size_t x = 0; x < points; x++) {
            const float v = values[y * pitch + x];
            if (!isfinite(v)) continue;
            sum += (double)v;
            found++;
        }
    }
    return found ? (float)(sum / (double)found) : NAN;
}

/* Adds one plane to the result. seen[i] counts the earlier planes in which point i was measured. */
static void join(view_how how, const float *from, size_t count, unsigned *seen, float *to) {
    for (size_t i = 0; i < count; i++) {
        const float v = from[i];
        if (isnan(v)) continue;
        const unsigned before = seen[i]++;
        to[i] = before == 0       ? v
                : how == VIEW_MAX ? fmaxf(to[i], v)
                : how == VIEW_MIN ? fminf(to[i], v)
                                  : to[i] + (v - to[i]) / (float)(before + 1);
    }
}

/* Reduces the lines of a band to `rows` lines of the result, `under` lines of the band for each. */
static void reduce(const view_plane *plane, const reading *of, const float *band, size_t lines, size_t under,
                   size_t rows, float *out) {
    const size_t step = plane->step, points = of->points;
    for (size_t r = 0; r < rows; r++, out += plane->count[1]) {
        const size_t high = lines - r * under < under ? lines - r * under : under;
        if (step == 1) memcpy(out, band + r * points, points * sizeof *out);
        for (size_t i = 0; step > 1 && i < plane->count[1]; i++) {
            const size_t width = points - i * step < step ? points - i * step : step;
            out[i] = mean_of(band + r * under * points + i * step, high, width, points);
        }
    }
}

static qb_status read_one(const view_stack *stack, const view_plane *plane, const reading *of, size_t index,
                          float *band, float *out) {
    const qb_array_info *info = stack->info;
    size_t across[2];
    in_plane(plane->axis, across);
    const size_t step = plane->step, end = info->shape[across[0]], wide = plane->count[1];
    const bool whole = of->lines == step && of->every == 1;
    const size_t fit = BAND / (of->points * step), rows = !whole || fit < 1 ? 1 : fit;
    for (size_t row = 0; row < plane->count[0]; row += whole ? rows : of->every) {
        const size_t left = plane->count[0] - row, made = rows < left ? rows : left;
        const size_t block = plane->first[0] + row * step, into = block + (step - of->lines) / 2;
        const size_t line0 = whole ? block : into < end ? into : end - 1;
        const size_t want = whole ? made * step : of->lines, lines = want < end - line0 ? want : end - line0;
        const qb_status status = read_band(stack, plane, index, line0, lines, of->points, band);
        if (status != QB_OK) return status;
        reduce(plane, of, band, lines, whole ? step : of->lines, made, out + row * wide);
        for (size_t r = 1; r < of->every && row + r < plane->count[0]; r++)
            memcpy(out + (row + r) * wide, out + row * wide, wide * sizeof *out);
    }
    return QB_OK;
}

qb_status view_plane_read(const view_stack *stack, const view_plane *asked, float *out) {
    const qb_array_info *info = stack->info;
    size_t across[2];
    in_plane(asked->axis, across);
    const size_t high = info->shape[across[0]], wide = info->shape[across[1]], most = high > wide ? high : wide;
    view_plane part = *asked;
    const view_plane *plane = &part;
    if (part.step > most) part.step = most;
    const reading of = plan_reading(info, plane);
    const size_t size = plane->count[0] * plane->count[1], block = of.points * (part.step < high ? part.step : high);
    const size_t held = BAND > block ? BAND : block;
    const bool several = plane->thick > 1;
    float *band = malloc(held * sizeof *band), *one = several ? malloc(size * sizeof *one) : NULL;
    unsigned *seen = several ? calloc(size, sizeof *seen) : NULL;
    qb_status status = band && (!several || (one && seen)) ? QB_OK : QB_NO_MEMORY;
    for (size_t i = 0; several && i < size; i++) out[i] = NAN;
    for (size_t k = 0; status == QB_OK && k < plane->thick; k++) {
        status = read_one(stack, plane, &of, plane->index + k, band, several ? one : out);
        if (status == QB_OK && several) join(plane->how, one, size, seen, out);
    }
    free(band);
    free(one);
    free(seen);
    return status;
}
