/* SPDX-License-Identifier: MIT */
/* Angles that Nikon cabinets store in files of their own next to the settings: NAME.ang with lines `1: 0.05` or
 * `1<tab>0.05`, and NAME_ctdata.txt or _ctdata.txt with lines `1<tab>0.05<tab>TIME`, below some header lines. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/vendor/vendor.h"

enum { TEXT_MOST = 64 << 20 };

/* The angle of a line that begins with the number `number`. */
static bool angle_of(const char *line, size_t number, double *angle) {
    char *end;
    const char *begin = line + strspn(line, " \t");
    if (!isdigit((unsigned char)*begin) || strtoull(begin, &end, 10) != number) return false;
    const char *at = end + strspn(end, ": \t,;");
    if (at == end) return false;
    char word[40];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " \t\r\n;"), at);
    return qb__setting_number(word, angle) && fabs(*angle) <= 1e6;
}

/* Lines are counted from 1, in some versions from 0. */
static size_t read_lines(const char *text, size_t views, double *degrees) {
    size_t count = 0, first = 1;
    double angle;
    for (const char *line = text; *line && count < views;) {
        if (count == 0 && angle_of(line, 0, &angle)) first = 0;
        if (angle_of(line, first + count, &angle)) degrees[count++] = angle;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return count;
}

static qb_status read_file(const char *path, size_t views, qb__notes *notes, double **degrees) {
    qb__text text = {0};
    qb_status status;
    QB__TRY(qb__text_read(path, TEXT_MOST, &text));
    qb__text_narrow(&text);
    QB__TRY(qb__alloc(views, sizeof **degrees, degrees));
    const size_t count = text.data ? read_lines(text.data, views, *degrees) : 0;
    if (count == views) goto out;
    qb__free(*degrees);
    *degrees = NULL;
    qb__note(notes, "%s has angles of %zu of %zu views: the angles of the settings are used" QB__CODE("two-angles"),
             path, count, views);
out:
    qb__text_clear(&text);
    return status;
}

qb_status qb__nikon_angles(const qb__ini *ini, const char *name, size_t views, qb__notes *notes, char *file,
                           size_t size, double **degrees) {
    static const char *const endings[] = {".ang", "_ctdata.txt", NULL};
    char other[300];
    qb_status status = QB_OK;
    *degrees = NULL, *file = 0;
    for (int i = 0; i < 3 && status == QB_OK && !*degrees; i++) {
        snprintf(other, sizeof other, "%s%s", endings[i] ? name : "", endings[i] ? endings[i] : "_ctdata.txt");
        status = qb__vendor_path(ini, other, file, size);
        if (status == QB_OK && access(file, F_OK) == 0) status = read_file(file, views, notes, degrees);
    }
    return status;
}
