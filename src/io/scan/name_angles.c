/* SPDX-License-Identifier: MIT */
#include "io/scan/scan.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"

enum { DIGITS = 64, STEPS = 100000 };

/* Length of a number that begins here: sign, digits, a point or comma, digits; 0: none. */
static size_t number_at(const char *text, double *value) {
    char digits[DIGITS];
    size_t n = *text == '-' || *text == '+', before = n;
    while (isdigit((unsigned char)text[n])) n++;
    const bool whole = n > before;
    if ((text[n] == '.' || text[n] == ',') && isdigit((unsigned char)text[n + 1]))
        for (n++; isdigit((unsigned char)text[n]);) n++;
    if (n >= sizeof digits || (!whole && n == before)) return 0;
    snprintf(digits, sizeof digits, "%.*s", (int)n, text);
    for (char *c = digits; *c; c++)
        if (*c == ',') *c = '.';
    *value = qb__strtod(digits, NULL);
    return n;
}

/* Match the whole name. *steps: remaining trials, a limit for patterns with many stars. */
static bool fits(const char *pattern, const char *name, double *value, int *steps) {
    if ((*steps)-- <= 0) return false;
    if (*pattern == 0) return *name == 0;
    if (*pattern == '*') {
        for (;; name++) {
            if (fits(pattern + 1, name, value, steps)) return true;
            if (!*name) return false;
        }
    }
    if (strncmp(pattern, "{}", 2) == 0) {
        const size_t n = number_at(name, value);
        const double here = *value;
        if (!n || !fits(pattern + 2, name + n, value, steps)) return false;
        *value = here;
        return true;
    }
    return *pattern == *name && fits(pattern + 1, name + 1, value, steps);
}

static qb_status read_names(const qb__notes *files, const char *pattern, double *angles) {
    for (size_t i = 0; i < files->count; i++) {
        const char *name = qb__last_part(files->text[i]);
        int steps = STEPS;
        double value = NAN;
        if (!fits(pattern, name, &value, &steps))
            return qb__fail(QB_BAD_INPUT, "--angles-from-names %.80s does not fit the name %.120s", pattern, name);
        angles[i] = value;
    }
    return QB_OK;
}

qb_status qb__angles_of_names(const char *path, const char *pattern, size_t views, double *angles) {
    const char *first = strstr(pattern, "{}");
    const qb__format *format;
    qb__notes files = {0};
    if (!first || strstr(first + 2, "{}"))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--angles-from-names %.80s: give a name with one {} for the angle and * for what else differs",
                        pattern);
    qb_status status = qb__format_to_read(path, &format);
    if (status == QB_OK) status = qb__list_images(path, format->extensions, &files);
    if (status == QB_OK && files.count != views)
        status = qb__fail(
            QB_BAD_INPUT,
            "--angles-from-names: %s has %zu views in %zu files; one file for each view is needed, else give --angles",
            path, views, files.count);
    if (status == QB_OK) status = read_names(&files, pattern, angles);
    qb__notes_release(&files);
    return status;
}
