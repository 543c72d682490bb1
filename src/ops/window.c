/* SPDX-License-Identifier: MIT */
#include "ops/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static const double pi = 3.14159265358979323846;

static double ram_lak(double x) { return (void)x, 1.0; }
static double shepp_logan(double x) { return x == 0 ? 1.0 : sin(pi * x / 2) / (pi * x / 2); }
static double cosine(double x) { return cos(pi * x / 2); }
static double hann(double x) { return 0.5 + 0.5 * cos(pi * x); }
static double hamming(double x) { return 0.54 + 0.46 * cos(pi * x); }
static double blackman(double x) { return 0.42 + 0.5 * cos(pi * x) + 0.08 * cos(2 * pi * x); }
static double parzen(double x) {
    return x < 0.5 ? 1 - 6 * x * x * (1 - x) : 2 * (1 - x) * (1 - x) * (1 - x);
}
/* Fourth order, half the power at the cut-off; the only one that reaches beyond it. */
static double butterworth(double x) { return 1 / sqrt(1 + pow(x, 8)); }

static const struct {
    const char *name;
    double (*shape)(double x);
} windows[] = {
    {"ramp", ram_lak},       {"shepp-logan", shepp_logan}, {"cosine", cosine},
    {"hann", hann},          {"hamming", hamming},         {"blackman", blackman},
    {"parzen", parzen},      {"butterworth", butterworth}, {"none", NULL},
};

static qb_status unknown(const char *spec) {
    return qb__fail(QB_BAD_ARGUMENT,
                    "--filter %s is neither a file nor one of ramp, shepp-logan, cosine, hann, "
                    "hamming, blackman, parzen, butterworth, none (a cut-off follows a colon: "
                    "hann:0.8)",
                    spec);
}

static qb_status read_file(const char *path, qb__window *window) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "re");
    if (!file) return unknown(path);
    qb_status status = qb__alloc(MOST, sizeof(double), &window->values);
    double value;
    while (status == QB_OK && window->count < MOST && fscanf(file, "%lf", &value) == 1) {
        if (!isfinite(value))
            status = qb__fail(QB_BAD_INPUT, "%s: value %zu is not finite", path, window->count + 1);
        window->values[window->count++] = value;
    }
    if (status == QB_OK && (!feof(file) || window->count < 2))
        status = qb__fail(QB_BAD_INPUT,
                          "%s: a filter file holds 2 to %d numbers from zero to Nyquist; stopped after %zu",
                          path, MOST, window->count);
    fclose(file);
    return status;
}

qb_status qb__window_parse(const char *spec, qb__window *window) {
    *window = (qb__window){.ramp = true, .cutoff = 1.0};
    const char *colon = strrchr(spec, ':');
    size_t length = colon ? (size_t)(colon - spec) : strlen(spec);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        if (strlen(windows[i].name) != length || strncmp(spec, windows[i].name, length) != 0) continue;
        window->shape = windows[i].shape;
        window->ramp = windows[i].shape != NULL;
        if (!colon) return QB_OK;
        char *end;
        window->cutoff = strtod(colon + 1, &end);
        if (end == colon + 1 || *end || !(window->cutoff > 0) || !(window->cutoff <= 1))
            return qb__fail(QB_BAD_ARGUMENT,
                            "--filter %s: the cut-off is a fraction of Nyquist, above 0 and at most 1",
                            spec);
        return QB_OK;
    }
    qb_status status = read_file(spec, window);
    if (status != QB_OK) qb__window_clear(window);
    return status;
}

void qb__window_clear(qb__window *window) {
    qb__free(window->values);
    window->values = NULL;
}

double qb__window_at(const qb__window *window, double frequency) {
    if (window->values) {
        double at = frequency * (double)(window->count - 1);
        size_t i = (size_t)at;
        if (i >= window->count - 1) return window->values[window->count - 1];
        double part = at - (double)i;
        return (1 - part) * window->values[i] + part * window->values[i + 1];
    }
    if (!window->shape) return 1.0;
    double x = frequency / window->cutoff;
    return x <= 1 || window->shape == butterworth ? window->shape(x) : 0.0;
}
