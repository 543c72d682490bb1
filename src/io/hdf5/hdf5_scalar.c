/* SPDX-License-Identifier: MIT */
/* Single numbers and flags in HDF5 files, and reasons why an existing one is not used. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"

/* A number that is stored as text. */
static bool read_text(hid_t file, const char *path, double *value) {
    char text[64], *end;
    if (!qb__h5_text(file, path, NULL, text, sizeof text)) return false;
    *value = qb__strtod(text, &end);
    return end > text && !end[strspn(end, " ")];
}

/* The number of a dataset, or of a list in which all are nearly the same; false with the reason. */
static bool read_first(hid_t file, const char *name, const char *path, double *value, char why[QB__H5_WHY]) {
    enum { MOST = 1 << 20 };
    const double SAME = 1e-3; /* relative: readings of one motor or monochromator */
    double *values, low = INFINITY, high = -INFINITY;
    size_t count = 1;
    const bool numbers = qb__h5_numbers(file, name, path, MOST, &values, &count) == QB_OK;
    if (!numbers && !read_text(file, path, value)) {
        snprintf(why, QB__H5_WHY, "%.120s holds no number", path);
        return false;
    }
    if (numbers) {
        *value = count ? values[0] : NAN;
        for (size_t i = 0; i < count; i++) low = fmin(low, values[i]), high = fmax(high, values[i]);
        qb__free(values);
    }
    if (!isfinite(*value))
        snprintf(why, QB__H5_WHY, "%.120s is %s", path, count ? "NaN or infinite" : "empty");
    else if (high - low > SAME * fabs(*value))
        snprintf(why, QB__H5_WHY, "%.120s holds %zu numbers from %g to %g, not one", path, count, low, high);
    return !*why;
}

qb__h5_found qb__h5_scalar(hid_t file, const char *name, const char *path, const qb__h5_kind *kind, double *value,
                           char why[QB__H5_WHY]) {
    char units[32];
    *value = NAN;
    *why = 0;
    if (!qb__h5_exists(file, path)) return QB__H5_ABSENT;
    if (!read_first(file, name, path, value, why)) return QB__H5_WRONG;
    if (!kind) return QB__H5_GOOD;
    if (kind->any_sign) *value = fabs(*value);
    const bool stated = qb__h5_text(file, path, "units", units, sizeof units) && *units;
    qb__printable(units);
    if (!(*value > 0)) {
        snprintf(why, QB__H5_WHY, "%.120s is %g, not more than 0", path, *value);
        return *value < 0 ? QB__H5_WRONG : QB__H5_UNSET;
    }
    const double factor = stated ? kind->unit(units) : 0;
    if (!stated)
        snprintf(why, QB__H5_WHY, "%.120s is %g without a unit", path, *value);
    else if (!(factor > 0))
        snprintf(why, QB__H5_WHY, "%.120s is %g \"%s\", no known %s", path, *value, units, kind->name);
    *value *= factor;
    return !stated ? QB__H5_UNSET : factor > 0 ? QB__H5_GOOD : QB__H5_WRONG;
}

bool qb__h5_again(const char *const *paths, size_t i) {
    size_t k = 0;
    while (k < i && strcmp(paths[k], paths[i]) != 0) k++;
    return k < i;
}

double qb__h5_first_of(hid_t file, const char *name, const char *const *paths, const qb__h5_kind *kind,
                       qb__notes *notes, char why[QB__H5_WHY]) {
    *why = 0;
    for (size_t i = 0; paths[i]; i++) {
        char reason[QB__H5_WHY];
        double value;
        if (qb__h5_again(paths, i)) continue;
        const qb__h5_found found = qb__h5_scalar(file, name, paths[i], kind, &value, reason);
        if (found == QB__H5_GOOD) return value;
        if (*reason) memcpy(why, reason, QB__H5_WHY);
        if (found == QB__H5_WRONG) qb__note(notes, "%s: it is not used" QB__CODE("metadata-unusable"), reason);
    }
    return 0;
}

bool qb__h5_flag(hid_t file, const char *name, const char *path, qb__notes *notes) {
    static const char *const words[] = {"false", "0", "no", "true", "1", "yes"};
    char text[32], why[QB__H5_WHY];
    double value;
    if (qb__h5_scalar(file, name, path, NULL, &value, why) == QB__H5_ABSENT) return false;
    if (!*why) return value != 0;
    if (qb__h5_text(file, path, NULL, text, sizeof text))
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strcasecmp(text, words[i]) == 0) return i > 2;
    qb__printable(text);
    qb__note(notes, "%s is \"%s\", neither true nor false: it is not used" QB__CODE("metadata-unusable"), path, text);
    return false;
}
