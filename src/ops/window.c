/* SPDX-License-Identifier: MIT */
#include "ops/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/number.h"

static double box(double x) { return x * 0 + 1; }
static double shepp_logan(double x) {
    double a = M_PI / 2 * x;
    return a > 0 ? sin(a) / a : 1;
}
static double cosine(double x) { return cos(M_PI / 2 * x); }
static double hann(double x) { return 0.5 + 0.5 * cos(M_PI * x); }
static double hamming(double x) { return 0.54 + 0.46 * cos(M_PI * x); }
static double blackman(double x) { return 0.42 + 0.5 * cos(M_PI * x) + 0.08 * cos(2 * M_PI * x); }
static double parzen(double x) { return x <= 0.5 ? 1 - 6 * x * x * (1 - x) : 2 * (1 - x) * (1 - x) * (1 - x); }
/* Order 4: 1/sqrt(2) of the amplitude at the cut-off; the only window that extends beyond the cut-off. */
static double butterworth(double x) { return 1 / sqrt(1 + pow(x, 8)); }

static const struct {
    const char *name;
    double (*value)(double x);
    bool ramp, open;
} windows[] = {
    {"ramp", box, true, false},      {"shepp-logan", shepp_logan, true, false}, {"cosine", cosine, true, false},
    {"hann", hann, true, false},     {"hamming", hamming, true, false},         {"blackman", blackman, true, false},
    {"parzen", parzen, true, false}, {"butterworth", butterworth, true, true},  {"none", box, false, false},
};
#define NAMES "ramp, shepp-logan, cosine, hann, hamming, blackman, parzen, butterworth, none"

static qb_status parse_cutoff(const char *spec, const char *text, double *cutoff) {
    char *end;
    *cutoff = qb__strtod(text, &end);
    if (end == text || *end || !(*cutoff > 0 && *cutoff <= 1))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--filter %s: the cut-off %s must be a number above 0 and at most 1 (the "
                        "Nyquist frequency)",
                        spec, *text ? text : "after the colon");
    return QB_OK;
}

static qb_status add_value(qb__window *window, size_t *space, double value) {
    if (window->count == *space) {
        double *more;
        size_t wanted = *space ? 2 * *space : 256;
        QB__OR_RETURN(qb__alloc(wanted, sizeof *more, &more));
        if (window->count) memcpy(more, window->table, window->count * sizeof *more);
        qb__free(window->table);
        window->table = more;
        *space = wanted;
    }
    window->table[window->count++] = value;
    return QB_OK;
}

/* Numbers separated by white space or commas; # begins a comment. */
static qb_status parse_line(const char *path, size_t number, char *line, qb__window *window, size_t *space) {
    static const char apart[] = " \t\r\n,;";
    line[strcspn(line, "#")] = 0;
    for (char *at = line + strspn(line, apart); *at; at += strspn(at, apart)) {
        char *end;
        double value = qb__strtod(at, &end);
        if (end == at || !isfinite(value) || (*end && !strchr(apart, *end)))
            return qb__fail(QB_BAD_INPUT, "%s:%zu: \"%.20s\" is not a number", path, number, at);
        QB__OR_RETURN(add_value(window, space, value));
        at = end;
    }
    return QB_OK;
}

/* Pipes and devices may have no end. */
static FILE *open_regular(const char *path) {
    struct stat what;
    if (stat(path, &what) != 0 || !S_ISREG(what.st_mode)) return NULL;
    qb__input_seen(path, &what);
    return fopen(path, "r");
}

static qb_status read_file(FILE *file, const char *path, qb__window *window) {
    size_t space = 0, number = 0, size = 0;
    char *line = NULL;
    qb_status status = QB_OK;
    while (getline(&line, &size, file) >= 0) QB__TRY(parse_line(path, ++number, line, window, &space));
    if (ferror(file))
        status = qb__fail(QB_IO, "reading %s failed", path);
    else if (window->count < 2)
        status = qb__fail(QB_BAD_INPUT, "%s: a window needs at least two values, from 0 to Nyquist", path);
out:
    free(line);
    return status;
}

enum { MOST_BYTES = 64 << 20 }; /* largest window file that is hashed */

static qb_status open_file(const char *spec, qb__window *window) {
    char *path = qb__strdup(spec), *colon;
    if (!path) return qb__fail(QB_NO_MEMORY, "--filter %s: no memory", spec);
    qb_status status;
    qb__inputs files = {0};
    qb__inputs_begin(&files);
    FILE *file = open_regular(path);
    if (!file && (colon = strrchr(path, ':'))) {
        *colon = 0;
        file = open_regular(path);
        if (file) QB__TRY(parse_cutoff(spec, colon + 1, &window->cutoff));
    }
    status = file ? read_file(file, path, window)
                  : qb__fail(QB_BAD_ARGUMENT,
                             "--filter %s: neither a filter (%s; each may be followed by :CUTOFF) "
                             "nor a file that can be read",
                             spec, NAMES);
out:
    qb__inputs_end(&files);
    if (status == QB_OK) status = qb__inputs_hash(&files, MOST_BYTES);
    qb__inputs_release(&files);
    if (file) fclose(file);
    qb__free(path);
    return status;
}

qb_status qb__window_parse(const char *spec, qb__window *window) {
    *window = (qb__window){.ramp = true, .cutoff = 1};
    if (!spec || !*spec) return qb__fail(QB_BAD_ARGUMENT, "--filter: is one of %s", NAMES);
    size_t length = strcspn(spec, ":");
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        if (strlen(windows[i].name) != length || strncmp(spec, windows[i].name, length) != 0) continue;
        window->value = windows[i].value;
        window->ramp = windows[i].ramp;
        window->open = windows[i].open;
        return spec[length] ? parse_cutoff(spec, spec + length + 1, &window->cutoff) : QB_OK;
    }
    qb_status status = open_file(spec, window);
    if (status != QB_OK) qb__window_clear(window);
    return status;
}

void qb__window_clear(qb__window *window) {
    qb__free(window->table);
    *window = (qb__window){0};
}

double qb__window_at(const qb__window *window, double frequency) {
    double x = frequency / window->cutoff;
    if (x > 1 && !window->open) return 0;
    if (window->value) return window->value(x);
    double at = x * (double)(window->count - 1);
    size_t i = (size_t)at;
    if (i >= window->count - 1) return window->table[window->count - 1];
    double part = at - (double)i;
    return (1 - part) * window->table[i] + part * window->table[i + 1];
}
