/* SPDX-License-Identifier: MIT */
/* Rows prepared and filtered in double precision. Tests compare devices with them. */
#ifndef QB_TESTS_FILTER_ORACLE_H
#define QB_TESTS_FILTER_ORACLE_H

#include <complex.h>

#include "filter_trial.h"
#include "ops/filter.h"
#include "ops/window.h"
#include "prep/spectrum.h"

/* A Fourier transform in place. roots[k] is exp(-2 pi i k/(count step)). */
static void transform(double complex *values, size_t count, const double complex *roots, size_t step) {
    size_t p = 2;
    if (count == 1) return;
    while (count % p) p++;
    size_t m = count / p;
    double complex *parts = test_malloc(count * sizeof *parts);
    for (size_t i = 0; i < count; i++) parts[i % p * m + i / p] = values[i];
    for (size_t r = 0; r < p; r++) transform(parts + r * m, m, roots, step * p);
    for (size_t k = 0; k < count; k++) {
        values[k] = 0;
        for (size_t r = 0; r < p; r++) values[k] += parts[r * m + k % m] * roots[r * k % count * step];
    }
    test_free(parts);
}

static double *response_of(const trial *t, size_t length) {
    double *response = test_malloc((length / 2 + 1) * sizeof *response);
    qb__window window;
    assert_ok(qb__window_parse(t->spec, &window));
    assert_ok(qb__ramp(length, response));
    for (size_t k = 0; k <= length / 2; k++)
        response[k] = (window.ramp ? response[k] / 0.7 : 1) * qb__window_at(&window, 2 * (double)k / (double)length);
    qb__window_clear(&window);
    return response;
}

/* The row with its continuation beyond both ends, computed by the CPU's code. That code has tests of its own. */
static float *continued(const qb__filter_spectrum *filter, const double *line) {
    size_t length = 2 * filter->half, end = filter->left + filter->columns;
    float *samples = test_malloc(length * sizeof *samples);
    for (size_t c = 0; c < filter->columns; c++) samples[filter->left + c] = (float)line[c];
    qb__extend(filter->pad, samples + filter->left, filter->columns, filter->left, length - end);
    return samples;
}

static void filter_line(const qb__filter_spectrum *filter, const double *response, double *line, double weight) {
    size_t length = 2 * filter->half;
    if (filter->identity) {
        for (size_t c = 0; c < filter->columns; c++) line[c] *= weight;
        return;
    }
    double complex *z = test_malloc(length * sizeof *z), *roots = test_malloc(length * sizeof *z);
    float *samples = continued(filter, line);
    for (size_t i = 0; i < length; i++) {
        roots[i] = cexp(-2 * M_PI * I * (double)i / (double)length);
        z[i] = samples[i];
    }
    for (size_t c = 0; c < filter->columns; c++) z[filter->left + c] = line[c];
    transform(z, length, roots, 1);
    for (size_t k = 0; k < length; k++) z[k] = conj(z[k] * response[k <= length / 2 ? k : length - k]) / (double)length;
    transform(z, length, roots, 1);
    for (size_t c = 0; c < filter->columns; c++) line[c] = creal(z[filter->left + c]) * weight;
    test_free(z);
    test_free(roots);
    test_free(samples);
}

#define ALUMINIUM "al,120,cu:0.5,at:60"

/* The line integral that a beam of one energy would have measured. Beyond -ln 1e-6 the slope of that place is kept. */
static double aluminium(double p) {
    static qb__spectrum s;
    const double END = 14, STEP = 1e-3, THIN = 1e-6;
    if (s.bins == 0) assert_ok(qb__spectrum_parse("--spectrum", ALUMINIUM, &s));
    if (p < 0) return p * qb__spectrum_length(&s, THIN) / THIN * s.reference;
    if (p < END) return qb__spectrum_length(&s, p) * s.reference;
    const double last = qb__spectrum_length(&s, END), before = qb__spectrum_length(&s, END - STEP);
    return s.reference * (last + (p - END) * (last - before) / STEP);
}

/* The sum of a column's entries for a view. */
static double stripe_of(const trial *t, const scan *s, size_t view, size_t row, size_t c) {
    const size_t room = qb__courses_room(t->columns);
    double sum = 0;
    for (size_t i = 0; i < room && s->courses[row * room + i].column >= 0; i++) {
        const qb__course *one = &s->courses[row * room + i];
        if ((size_t)one->column == c && (double)view >= (double)one->first && (double)view < (double)one->end)
            sum += (double)one->start + (double)one->slope * ((double)view - (double)one->first);
    }
    return sum;
}

/* The line integrals of a row in double. Gaps are bridged and columns are added, as before the filter. Single precision
 * decides where it clamps, so this starts from the same floats. */
static void line_of(const trial *t, const scan *s, size_t view, size_t row, const void *raw, double *line) {
    float *numbers = test_malloc(t->columns * sizeof *numbers);
    size_t columns = t->columns;
    qb_convert_to_float(raw, t->dtype, columns, numbers);
    for (size_t c = 0; c < columns; c++) {
        bool gains = t->quantity != QB_LINE_INTEGRAL && t->gain, dead = false;
        double value = (double)numbers[c];
        if (t->dark) value = (double)(numbers[c] - s->dark[row * columns + c]);
        if (gains) {
            value *= (double)s->gain[row * columns + c];
            dead = s->gain[row * columns + c] == 0;
            double change = t->modes ? (double)s->drift[view * (t->modes + 1)] : 1;
            for (size_t k = 0; k < t->modes; k++)
                change += (double)s->drift[view * (t->modes + 1) + k + 1] *
                          (double)s->mode[(k * t->rows + row) * columns + c];
            value /= fmax(change, 1e-3);
        }
        if (t->quantity != QB_LINE_INTEGRAL) {
            if (t->air) value /= (double)s->air[view];
            if (value > 1000) value = NAN; /* no beam is so much brighter than its flat */
            line[c] = isfinite(value) ? -log(fmax(value, 1e-6)) : NAN;
        } else {
            if (fabs(value) > 1e12) value = NAN; /* no object is so opaque */
            line[c] = value;
        }
        if (t->courses) line[c] -= stripe_of(t, s, view, row, c);
        if (t->hardening == 2) line[c] = aluminium(line[c]);
        if (t->hardening == 1) line[c] += 0.05 * pow(line[c], 2) - 0.002 * pow(line[c], 3);
        if (dead || !isfinite(value)) line[c] = NAN;
    }
    for (size_t c = 0; c < columns; c++) {
        if (!isnan(line[c])) continue;
        size_t end = c;
        while (end < columns && isnan(line[end])) end++;
        double left = c > 0 ? line[c - 1] : end < columns ? line[end] : 0;
        double right = end < columns ? line[end] : left, n = (double)(end - c + 1);
        for (size_t i = c; i < end; i++) line[i] = left + (right - left) * (double)(i - c + 1) / n;
        c = end;
    }
    test_free(numbers);
    if (!t->share) return;
    memmove(line + t->before, line, columns * sizeof *line);
    for (size_t c = 0; c < columns; c++) {
        line[t->before + c] *= (double)s->share[(t->share_rows ? row * columns : 0) + c];
        if (t->view_share) line[t->before + c] *= (double)s->view_share[view * columns + c];
    }
    for (size_t c = 0; c < t->before; c++) line[c] = 0;
    for (size_t c = 0; c < t->after; c++) line[t->before + columns + c] = 0;
}

#endif
