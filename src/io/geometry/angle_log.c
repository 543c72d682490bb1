/* SPDX-License-Identifier: MIT */
/* Angles in instrument logs that name the angle in each line. Example from IMAT at ISIS: "Projection:  1  angle: 0.3152
 * Monitor 3 before: ...". Values may also be separated by commas. Lines above the first line with an angle are the
 * header. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/geometry/angle_list.h"

/* The number behind "angle:" in the line that starts at `line`. */
static bool find_angle(const char *line, double *angle) {
    static const char name[] = "angle:";
    const size_t n = sizeof name - 1;
    const char *end = line + strcspn(line, "\r\n");
    for (const char *at = line; end - at > (ptrdiff_t)n; at++) {
        if (strncasecmp(at, name, n) != 0) continue;
        char *stop;
        *angle = qb__strtod(at + n + strspn(at + n, " \t"), &stop);
        return stop > at + n && stop <= end && isfinite(*angle) && (stop == end || strchr(" \t,;", *stop));
    }
    return false;
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\r\n");
    return line + (line[0] == '\r' && line[1] == '\n') + (*line != 0);
}

static bool is_blank(const char *line) {
    return line[strspn(line, " \t")] == '\r' || line[strspn(line, " \t\r")] == '\n';
}

bool qb__angle_list_is_log(const char *text) {
    enum { HEADERS = 32 };
    double angle;
    for (int i = 0; i < HEADERS && *text; i++, text = next_line(text))
        if (find_angle(text, &angle)) return true;
    return false;
}

qb_status qb__angle_list_log(qb__angle_list *list, const char *text) {
    size_t room = 1, number = 0;
    double angle;
    for (const char *line = text; *line; line = next_line(line)) room++;
    const qb_status status = qb__alloc(room, sizeof *list->values, &list->values);
    if (status != QB_OK) return status;
    for (const char *line = text; *line; line = next_line(line)) {
        number++;
        if (find_angle(line, &angle))
            list->values[list->count++] = angle;
        else if (list->count && !is_blank(line) && line[strspn(line, " \t")])
            return qb__fail(QB_BAD_INPUT, "%s: line %zu has no number behind \"angle:\", as the lines above it have",
                            list->path, number);
    }
    snprintf(list->how, sizeof list->how, "behind \"angle:\" in each line");
    return QB_OK;
}
