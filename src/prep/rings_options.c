/* SPDX-License-Identifier: MIT */
/* --rings METHOD:snr=S,large=N,small=N */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "prep/rings.h"

#define METHODS "keep, auto, sort, wavelet, titarenko, raven, double-flat, fit, large, dead or all"

enum { ALL = QB__RINGS_DEAD | QB__RINGS_COURSES | QB__RINGS_LARGE | QB__RINGS_NARROW | QB__RINGS_WAVELET };

static const qb__rings_how methods[] = {
    {"keep", 0, 3, 61, 15, NULL, 0},
    {"sort", QB__RINGS_NARROW | QB__RINGS_SORT, 3, 61, 15, NULL, 0},
    {"wavelet", QB__RINGS_NARROW | QB__RINGS_WAVELET, 3, 61, 15, NULL, 0},
    {"titarenko", QB__RINGS_NARROW | QB__RINGS_PROFILE, 3, 61, 15, qb__rings_titarenko, 0},
    {"raven", QB__RINGS_NARROW | QB__RINGS_PROFILE, 3, 61, 15, qb__rings_raven, 0},
    {"double-flat", QB__RINGS_NARROW | QB__RINGS_PROFILE, 3, 61, 15, qb__rings_double_flat, 0},
    {"fit", QB__RINGS_NARROW | QB__RINGS_PROFILE, 3, 61, 15, qb__rings_fit, 0},
    {"large", QB__RINGS_NARROW | QB__RINGS_LARGE, 3, 61, 15, NULL, 0},
    {"dead", QB__RINGS_DEAD, 3, 61, 15, NULL, 0},
    {"all", ALL, 3, 61, 15, NULL, 0},
    {"auto", ALL, 3, 61, 15, NULL, 0},
};

/* KEY=NUMBER at `from`, up to a comma or the end. */
static qb_status parse_size(const char *text, const char *from, bool given[3], qb__rings_how *how) {
    static const struct {
        const char *key;
        double least, most;
    } keys[] = {{"snr=", 1, 100}, {"large=", 9, 1001}, {"small=", 3, 301}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t length = strlen(keys[i].key);
        if (strncmp(from, keys[i].key, length) != 0) continue;
        char *end;
        const double value = qb__strtod(from + length, &end);
        if (end == from + length || (*end && *end != ',')) break;
        if (given[i])
            return qb__fail(QB_BAD_ARGUMENT, "--rings %s: %.*s is given twice: leave one out", text, (int)length - 1,
                            keys[i].key);
        given[i] = true;
        const bool whole = i == 0 || fabs(fmod(value, 2) - 1) < 1e-9;
        if (!(value >= keys[i].least && value <= keys[i].most) || !whole)
            return qb__fail(QB_BAD_ARGUMENT, "--rings %s: %s takes %s from %g to %g", text, keys[i].key,
                            i ? "an odd number of columns" : "a number", keys[i].least, keys[i].most);
        if (i == 0) how->snr = value;
        if (i == 1) how->large = (size_t)(value + 0.5);
        if (i == 2) how->small = (size_t)(value + 0.5);
        return QB_OK;
    }
    return qb__fail(QB_BAD_ARGUMENT, "--rings %s: give snr=NUMBER, large=COLUMNS or small=COLUMNS after the colon",
                    text);
}

/* The nearest odd number of binned columns, at least `least`. */
static size_t binned(size_t columns, size_t bin, size_t least) {
    const size_t odd = columns / bin / 2 * 2 + 1;
    return bin < 2 ? columns : odd > least ? odd : least;
}

qb_status qb__rings_parse(const char *text, size_t bin, qb__rings_how *how) {
    const size_t length = text ? strcspn(text, ":") : 0;
    *how = methods[0];
    if (!text) return QB_OK;
    size_t i = 0;
    const size_t count = sizeof methods / sizeof *methods;
    while (i < count && (strlen(methods[i].name) != length || strncmp(text, methods[i].name, length) != 0)) i++;
    if (i == count) return qb__fail(QB_BAD_ARGUMENT, "--rings %s: give " METHODS, text);
    *how = methods[i];
    bool given[3] = {false};
    for (const char *at = text + length; *at;) {
        qb_status status = parse_size(text, at + 1, given, how);
        if (status != QB_OK) return status;
        at += 1 + strcspn(at + 1, ",");
    }
    how->large = binned(how->large, bin, 9);
    how->small = binned(how->small, bin, 3);
    return QB_OK;
}
