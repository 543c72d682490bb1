/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/hdf5/external.h"
#include "io/mbirct/mbirct.h"
#include "io/plain/source.h"

enum { SIDE_MOST = 1 << 24, ANGLE_ROOM = 64 };

bool qb__mbirct_is(const char *line, const char *name) {
    for (; *name; name++, line++)
        if (tolower((unsigned char)*line) != tolower((unsigned char)*name)) return false;
    return true;
}

const char *qb__mbirct_find(const char *text, const char *name) {
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        if (!qb__mbirct_is(line, name)) continue;
        const char *at = line + strlen(name);
        at += strspn(at, " \t");
        if (*at == ':') return at + 1 + strspn(at + 1, " \t");
    }
    return NULL;
}

qb_status qb__mbirct_number(const char *path, const char *text, const char *name, double low, double high,
                            double *value) {
    const char *at = qb__mbirct_find(text, name);
    char *end;
    if (!at) return qb__fail(QB_BAD_INPUT, "%s has no line `%s: ...`: are these parameters of sv-mbirct?", path, name);
    *value = qb__strtod(at, &end);
    const bool whole = end > at && (*end == 0 || isspace((unsigned char)*end));
    if (whole && *value >= low && *value <= high) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: %s is %.*s, which should be a number from %g to %g", path, name,
                    (int)qb__smaller(strcspn(at, "\r\n"), 40), at, low, high);
}

qb_status qb__mbirct_count(const char *path, const char *text, const char *name, size_t *value) {
    double n = 0;
    qb_status status = qb__mbirct_number(path, text, name, 1, 1e9, &n);
    if (status == QB_OK && n != floor(n))
        return qb__fail(QB_BAD_INPUT, "%s: %s is %g, which should be a whole number", path, name, n);
    if (status == QB_OK) *value = (size_t)n;
    return status;
}

/* Find the list of angles: in the folder of the parameters, unless its path is absolute. */
static qb_status find_list(const char *path, const char *text, char *list, size_t size) {
    const char *at = qb__mbirct_find(text, "ViewAngleList");
    size_t n = at ? strcspn(at, "\r\n") : 0;
    while (n && isspace((unsigned char)at[n - 1])) n--;
    if (!n || n >= QB__MBIRCT_NAME) return qb__fail(QB_BAD_INPUT, "%s has no line `ViewAngleList: FILE`", path);
    const char *slash = strrchr(path, '/');
    const int folder = slash && *at != '/' ? (int)(slash - path) + 1 : 0;
    snprintf(list, size, "%.*s%.*s", folder, path, (int)n, at);
    return qb__external_check(path, list);
}

/* Read one angle per line. Their angles are ours minus a quarter turn: they use y cos - x sin, and a fan's source at
 * (cos, sin). */
qb_status qb__mbirct_angles(const char *path, const char *text, size_t views, double *radians, char *from,
                            size_t size) {
    char name[2 * QB__MBIRCT_NAME], *list = NULL;
    size_t count = 0;
    qb_status status;
    QB__TRY(find_list(path, text, name, sizeof name));
    QB__TRY(qb__read_text(name, qb__smaller(SIDE_MOST, views * ANGLE_ROOM), &list));
    char *next = list;
    for (; count < views; count++) {
        char *end;
        const double angle = qb__strtod(next, &end);
        if (end == next) break;
        radians[count] = angle + M_PI / 2;
        next = end;
    }
    next += strspn(next, " \t\r\n");
    if (count != views || *next)
        status = qb__fail(QB_BAD_INPUT, "%s: after %zu numbers comes %.20s, but %s states %zu views", name, count,
                          *next ? next : "nothing", path, views);
    snprintf(from, size, "%.150s", name);
out:
    qb__free(list);
    return status;
}

/* ---- the beam ---- */

static const struct {
    const char *name;
    qb__mbirct_kind kind;
} beams[] = {{"parallel", QB__MBIRCT_PARALLEL},
             {"3DPARALLEL", QB__MBIRCT_PARALLEL}, /* name before fan beams were supported */
             {"fan-curved", QB__MBIRCT_CURVED},
             {"fan-flat", QB__MBIRCT_FLAT}};
enum { BEAMS = sizeof beams / sizeof beams[0] };

static qb_status kind_of(const char *path, const char *text, qb__mbirct_kind *kind) {
    const char *at = qb__mbirct_find(text, "Geometry");
    const size_t n = at ? strcspn(at, " \t\r\n") : 0;
    size_t i = 0;
    *kind = QB__MBIRCT_PARALLEL;
    if (!n) return QB_OK;
    while (i < BEAMS && !(strlen(beams[i].name) == n && qb__mbirct_is(at, beams[i].name))) i++;
    if (i == BEAMS)
        return qb__fail(QB_UNSUPPORTED, "%s: Geometry is %.*s, which should be parallel, fan-curved or fan-flat", path,
                        (int)qb__smaller(n, 40), at);
    *kind = beams[i].kind;
    return QB_OK;
}

qb_status qb__mbirct_beam_of(const char *path, const char *text, qb__mbirct_beam *beam) {
    double magnification;
    *beam = (qb__mbirct_beam){.offset = 0};
    QB__OR_RETURN(kind_of(path, text, &beam->kind));
    if (qb__mbirct_find(text, "CenterOffset"))
        QB__OR_RETURN(qb__mbirct_number(path, text, "CenterOffset", -1e9, 1e9, &beam->offset));
    if (beam->kind == QB__MBIRCT_PARALLEL) return QB_OK;
    QB__OR_RETURN(qb__mbirct_number(path, text, "DistSourceDetector", 1e-9, 1e9, &beam->sdd));
    QB__OR_RETURN(qb__mbirct_number(path, text, "Magnification", 1, 1e9, &magnification));
    beam->sod = beam->sdd / magnification;
    return QB_OK;
}
