/* SPDX-License-Identifier: MIT */
/* The values of a sweep: A:B:STEP or a list of words, alone or in braces within a text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

enum { MOST = 1000, ROOM = 96 };

/* Reads three numbers with colons between them. The locale of the command is "C", so the decimal separator is a
 * point. */
static bool read_range(const char *text, size_t length, double range[3]) {
    char copy[ROOM], *at = copy;
    if (length >= sizeof copy) return false;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    for (int i = 0; i < 3; i++) {
        char *end;
        range[i] = strtod(at, &end);
        if (end == at || !isfinite(range[i]) || *end != (i < 2 ? ':' : '\0')) return false;
        at = end + 1;
    }
    return true;
}

bool sweep_is_range(const char *text) {
    double range[3];
    return text && read_range(text, strlen(text), range);
}

/* The smallest number of decimals that represents all values; -1: more than nine. */
static int decimals(double first, double step) {
    double ten = 1;
    for (int n = 0; n <= 9; n++, ten *= 10)
        if (fabs(first * ten - round(first * ten)) < 1e-3 && fabs(step * ten - round(step * ten)) < 1e-3) return n;
    return -1;
}

static qb_status add(sweep_values *v, const char *flag, const char *before, size_t before_length, const char *value,
                     const char *after) {
    const size_t room = before_length + strlen(value) + strlen(after) + 1;
    if (v->count == MOST) return complain(QB_BAD_ARGUMENT, "--%s: more than %d values; take a larger step", flag, MOST);
    char **more = realloc(v->text, (v->count + 1) * sizeof *more);
    if (more) v->text = more;
    if (!more || !(v->text[v->count] = malloc(room)))
        return complain(QB_NO_MEMORY, "--%s: no memory for its values", flag);
    snprintf(v->text[v->count++], room, "%.*s%s%s", (int)before_length, before, value, after);
    return QB_OK;
}

typedef struct place {
    const char *before, *after;
    size_t before_length;
} place;

static qb_status add_range(sweep_values *v, const char *flag, const double range[3], const place *p) {
    const int digits = decimals(range[0], range[2]);
    const double steps = (range[1] - range[0]) / range[2];
    qb_status status = QB_OK;
    if (!(range[2] > 0) || !(range[1] >= range[0]) || !(steps < MOST))
        return complain(QB_BAD_ARGUMENT, "--%s %g:%g:%g: A:B:STEP needs A <= B, a STEP above 0, and at most %d values",
                        flag, range[0], range[1], range[2], MOST);
    const size_t count = (size_t)floor(steps + 1e-6) + 1;
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        char value[ROOM];
        const double at = range[0] + (double)i * range[2];
        if (digits < 0)
            snprintf(value, sizeof value, "%.9g", at);
        else
            snprintf(value, sizeof value, "%.*f", digits, at);
        status = add(v, flag, p->before, p->before_length, value, p->after);
    }
    return status;
}

static qb_status add_list(sweep_values *v, const char *flag, const char *list, size_t length, const place *p) {
    qb_status status = QB_OK;
    for (const char *at = list, *end = list + length; status == QB_OK && at <= end;) {
        char value[ROOM];
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if (stop == at || stop - at >= ROOM)
            return complain(QB_BAD_ARGUMENT, "--%s: a value is empty, or longer than %d letters", flag, ROOM - 1);
        snprintf(value, sizeof value, "%.*s", (int)(stop - at), at);
        status = add(v, flag, p->before, p->before_length, value, p->after);
        at = stop + 1;
    }
    return status;
}

qb_status sweep_values_parse(const char *flag, const char *text, sweep_values *v) {
    const char *equals = strchr(text, '=');
    double range[3];
    *v = (sweep_values){0};
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof v->name || !equals[1])
        return complain(QB_BAD_ARGUMENT, "--%s %s: give OPTION=A:B:STEP, like center=500:520:2, or OPTION=VALUE,VALUE",
                        flag, text);
    snprintf(v->name, sizeof v->name, "%.*s", (int)(equals - text), text);
    const char *values = equals + 1, *open = strchr(values, '{'), *shut = open ? strchr(open, '}') : NULL;
    if (open && !shut) return complain(QB_BAD_ARGUMENT, "--%s %s: the brace { is not closed", flag, text);
    const char *first = open ? open + 1 : values;
    const size_t length = open ? (size_t)(shut - first) : strlen(first);
    const place p = {
        .before = values, .before_length = open ? (size_t)(open - values) : 0, .after = open ? shut + 1 : ""};
    return read_range(first, length, range) ? add_range(v, flag, range, &p) : add_list(v, flag, first, length, &p);
}

void sweep_values_clear(sweep_values *v) {
    for (size_t i = 0; i < v->count; i++) free(v->text[i]);
    free(v->text);
    *v = (sweep_values){0};
}
