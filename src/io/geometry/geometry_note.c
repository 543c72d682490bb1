/* SPDX-License-Identifier: MIT */
/* RTK's XML and lists of matrices do not describe the pixels; files of quickbeam do so in a comment. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "geometry/check.h"
#include "geometry/vector.h"
#include "io/geometry/geometry_file.h"

static const char before[] = "for projections of ";

void qb__geometry_add_note(const qb_geometry *geometry, qb__text *text) {
    const qb_view *view = geometry->view;
    qb__text_add(text, "%s%zu x %zu pixels, %.15g x %.15g mm apart, their origin at -spacing (n - 1) / 2", before,
                 geometry->columns, geometry->rows, qb__norm(view->u), qb__norm(view->v));
}

static bool skip(const char **at, const char *word) {
    size_t n = strlen(word);
    bool there = strncmp(*at, word, n) == 0;
    if (there) *at += n;
    return there;
}

static bool count(const char **at, size_t *out) {
    char *end;
    if (!isdigit((unsigned char)**at)) return false;
    unsigned long long n = strtoull(*at, &end, 10);
    *at = end;
    *out = (size_t)n;
    return n >= 1 && n <= QB__GEOMETRY_MOST_PIXELS;
}

static bool length(const char **at, double *out) {
    char *end;
    *out = qb__strtod(*at, &end);
    bool good = end != *at && *out > 0 && *out < 1e6;
    *at = end;
    return good;
}

bool qb__geometry_read_note(const char *text, qb_detector *detector) {
    const char *at = text;
    for (int line = 0; line < 8 && *at; line++) {
        size_t n = strcspn(at, "\n");
        bool comment = at[0] == '#' || strncmp(at, "<!--", 4) == 0;
        const char *next = at + n + (at[n] == '\n');
        if (comment) {
            at += strspn(at, "#<!- ");
            qb_detector d = {0};
            if (skip(&at, before) && count(&at, &d.columns) && skip(&at, " x ") && count(&at, &d.rows) &&
                skip(&at, " pixels, ") && length(&at, &d.pixel_u) && skip(&at, " x ") && length(&at, &d.pixel_v)) {
                *detector = d;
                return true;
            }
        }
        at = next;
    }
    return false;
}
