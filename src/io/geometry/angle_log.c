/* SPDX-License-Identifier: MIT */
/* Angles in instrument logs that name the angle in each line. Example from IMAT at ISIS: "Projection:  1  angle: 0.3152
 * Monitor 3 before: 4577907  Monitor 3 after: 4720271". Values may also be separated by commas. The monitor counts on,
 * so a view's beam is the difference of its two numbers. Lines above the first line with an angle are the
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

/* The number behind a name such as "angle:" in the line that starts at `line`. */
static bool find_number(const char *line, const char *name, double *number) {
    const size_t n = strlen(name);
    const char *end = line + strcspn(line, "\r\n");
    for (const char *at = line; end - at > (ptrdiff_t)n; at++) {
        if (strncasecmp(at, name, n) != 0) continue;
        char *stop;
        *number = qb__strtod(at + n + strspn(at + n, " \t"), &stop);
        return stop > at + n && stop <= end && isfinite(*number) && (stop == end || strchr(" \t,;", *stop));
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

static bool has_word(const char *line, const char *word) {
    const size_t n = strlen(word);
    const char *end = line + strcspn(line, "\r\n");
    for (; end - line >= (ptrdiff_t)n; line++)
        if (strncasecmp(line, word, n) == 0) return true;
    return false;
}

/* IMAT calls flats "Radiography" and darks "Dark Field" where it calls views "Projection". */
static bool is_of_a_field(const char *line) {
    return !has_word(line, "projection") &&
           (has_word(line, "radiography") || has_word(line, "flat") || has_word(line, "dark"));
}

/* Names of folders may hold these words too: they tell lines apart only where some lines are without. */
static bool has_views(const char *text) {
    double angle;
    for (const char *line = text; *line; line = next_line(line))
        if (!is_of_a_field(line) && find_number(line, "angle:", &angle)) return true;
    return false;
}

bool qb__angle_list_is_log(const char *text) {
    enum { HEADERS = 32 };
    double angle;
    for (int i = 0; i < HEADERS && *text; i++, text = next_line(text))
        if (find_number(text, "angle:", &angle)) return true;
    return false;
}

qb_status qb__angle_list_log(qb__angle_list *list, const char *text) {
    size_t room = 1, number = 0, fields = 0;
    double angle, before, after;
    bool counted = true;
    const bool apart = has_views(text);
    for (const char *line = text; *line; line = next_line(line)) room++;
    qb_status status = qb__alloc(room, sizeof *list->values, &list->values);
    if (status == QB_OK) status = qb__alloc(room, sizeof *list->counts, &list->counts);
    if (status != QB_OK) return status;
    for (const char *line = text; *line; line = next_line(line)) {
        number++;
        if (apart && is_of_a_field(line))
            fields++;
        else if (find_number(line, "angle:", &angle)) {
            counted = counted && find_number(line, "before:", &before) && find_number(line, "after:", &after);
            list->counts[list->count] = after - before;
            list->values[list->count++] = angle;
        } else if (list->count && !is_blank(line) && line[strspn(line, " \t")])
            return qb__fail(QB_BAD_INPUT,
                            "%s: line %zu has no number after \"angle:\", and the lines above it have one", list->path,
                            number);
    }
    if (!counted) {
        qb__free(list->counts);
        list->counts = NULL;
    }
    snprintf(list->how, sizeof list->how, "after \"angle:\" in each line");
    if (fields)
        snprintf(list->how, sizeof list->how, "after \"angle:\", without the lines of %zu flats and darks", fields);
    return QB_OK;
}
