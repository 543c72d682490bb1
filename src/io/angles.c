/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "geometry/units.h"
#include "io/source.h"
#include "quickbeam/scan.h"

/* A list of angles is a small file; a picture given by mistake is not. */
enum { TEXT_MOST = 256 << 20 };
static const double degree = 3.14159265358979323846 / 180.0;

static bool number_at(const char *text, char **end, double *number) {
    *number = qb__strtod(text, end);
    return *end != text && isfinite(*number);
}

/* FROM:TO[:N]; false when it is not of this form. */
static bool parse_span(const char *text, double *from, double *to, size_t *n) {
    char *end;
    double number;
    if (!number_at(text, &end, from) || *end != ':') return false;
    if (!number_at(end + 1, &end, to)) return false;
    *n = 0;
    if (!*end) return true;
    if (*end != ':' || !number_at(end + 1, &end, &number) || *end) return false;
    if (number < 1 || number > 1e9 || number != floor(number)) return false;
    *n = (size_t)number;
    return true;
}

/* Tabulators part columns that may be empty, so do commas and semicolons; else any white space. */
static char separator_of(const char *line) {
    static const char choices[] = "\t;,";
    for (const char *c = choices; *c; c++)
        if (strchr(line, *c)) return *c;
    return 0;
}

/* The text of a column, counted from 1; NULL when the line has fewer. */
static const char *column_of(const char *line, size_t column) {
    char separator = separator_of(line);
    const char *at = line;
    if (!separator) at += strspn(at, " ");
    for (size_t i = 1; i < column && at; i++) {
        at = separator ? strchr(at, separator) : strpbrk(at, " ");
        if (at) at += separator ? 1 : strspn(at, " ");
    }
    return at && *at ? at : NULL;
}

static size_t count_columns(const char *line) {
    size_t n = 0;
    while (column_of(line, n + 1)) n++;
    return n;
}

/* Is the column a number, and nothing but a number? */
static bool number_in(const char *line, size_t column, double *number) {
    const char *at = column_of(line, column);
    char *end;
    if (!at) return false;
    while (*at == ' ' || *at == '"') at++;
    if (!number_at(at, &end, number)) return false;
    while (*end == ' ' || *end == '"') end++;
    return *end == 0 || *end == separator_of(line) || (end > at && end[-1] == ' ');
}

typedef struct table {
    const char *path;
    double *values;
    size_t count, column;
} table;

static char *next_line(char **at) {
    char *line = *at;
    if (!*line) return NULL;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] == '\n');
    line[n] = 0;
    if (n && line[n - 1] == '\r') line[n - 1] = 0;
    return line;
}

static bool is_blank(const char *line) {
    return line[strspn(line, " \t;,")] == 0 || *line == '#';
}

/* Lines before the first number are headers; after it each line must have one. */
static qb_status read_column(table *t, char *text) {
    size_t room = 1, number = 0;
    for (char *c = text; *c; c++) room += *c == '\n';
    qb_status status = qb__alloc(room, sizeof *t->values, &t->values);
    for (char *line; status == QB_OK && (line = next_line(&text));) {
        double value;
        number++;
        if (is_blank(line)) continue;
        if (number_in(line, t->column ? t->column : 1, &value)) {
            if (!t->column && count_columns(line) > 1)
                return qb__fail(QB_BAD_ARGUMENT, "%s has %zu columns: say which, as in %s:2",
                                t->path, count_columns(line), t->path);
            t->values[t->count++] = value;
        } else if (t->count) {
            return qb__fail(QB_BAD_INPUT, "%s: line %zu has no number in column %zu", t->path,
                            number, t->column ? t->column : 1);
        } else if (!t->column && count_columns(line) > 1 && number_in(line, 2, &value)) {
            return qb__fail(QB_BAD_ARGUMENT, "%s has several columns: say which, as in %s:2",
                            t->path, t->path);
        }
    }
    if (status == QB_OK && !t->count)
        status = qb__fail(QB_BAD_INPUT, "%s has no numbers in column %zu", t->path,
                          t->column ? t->column : 1);
    return status;
}

/* The longest beginning that names a file; the rest, without its colon, is what to take from it. */
static char *split_file(const char *text, const char **rest) {
    char *path = qb__strdup(text);
    *rest = "";
    for (size_t n = path ? strlen(path) : 0; n > 0;) {
        if (access(path, F_OK) == 0) return path;
        while (n > 0 && text[n - 1] != ':') n--;
        if (n == 0) break;
        *rest = text + n;
        path[--n] = 0;
    }
    qb__free(path);
    return NULL;
}

/* One field is a column, two or three are lines, four are both. */
static bool split_choice(const char *rest, size_t *column, const char **lines) {
    size_t colons = 0;
    for (const char *c = rest; *c; c++) colons += *c == ':';
    *lines = colons == 3 ? strchr(rest, ':') + 1 : colons ? rest : NULL;
    *column = 0;
    if (!*rest || colons == 1 || colons == 2) return true;
    char *end;
    unsigned long long n = strtoull(rest, &end, 10);
    *column = (size_t)n;
    if (colons == 3 && end == rest) return true; /* an empty column is the only one */
    return colons <= 3 && end != rest && n >= 1 && n < 10000 && (*end == 0 || *end == ':') &&
           isdigit((unsigned char)*rest);
}

static qb_status from_file(const char *text, size_t views, double *radians) {
    const char *rest, *lines;
    char *path = split_file(text, &rest), *content = NULL;
    if (!path) return qb__fail(QB_NOT_FOUND, "--angles %s is neither FROM:TO[:N] nor a file", text);
    table t = {.path = path};
    size_t first, end, step;
    qb_status status = QB_OK;
    if (!split_choice(rest, &t.column, &lines)) {
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--angles %s: %s is not COLUMN, A:B, A:B:S or "
                          "COLUMN:A:B:S",
                          text, rest);
        goto out;
    }
    QB__TRY(qb__read_text(path, TEXT_MOST, &content));
    QB__TRY(read_column(&t, content));
    QB__TRY(qb_range_parse(lines, path, t.count, &first, &end, &step));
    size_t n = (end - first + step - 1) / step;
    if (n != views) {
        status = qb__fail(QB_BAD_INPUT,
                          "--angles %s gives %zu angles (%zu lines in the file) for "
                          "%zu views",
                          text, n, t.count, views);
        goto out;
    }
    for (size_t i = 0; i < n; i++) radians[i] = t.values[first + i * step] * degree;
    status = qb__angles_check(radians, n);
    if (status != QB_OK) status = qb__fail_in(status, "--angles %s", text);
out:
    qb__free(t.values);
    qb__free(content);
    qb__free(path);
    return status;
}

qb_status qb_angles_parse(const char *text, size_t views, double *radians) {
    double from, to;
    size_t n;
    if (!parse_span(text, &from, &to, &n)) return from_file(text, views, radians);
    if (n && n != views)
        return qb__fail(QB_BAD_INPUT, "--angles %s gives %zu angles for %zu views", text, n, views);
    if (fabs(from) > QB__MOST_DEGREES || fabs(to) > QB__MOST_DEGREES)
        return qb__fail(QB_BAD_ARGUMENT, "--angles %s: angles beyond %g degrees", text,
                        QB__MOST_DEGREES);
    for (size_t i = 0; i < views; i++)
        radians[i] = (from + (to - from) * (double)i / (double)views) * degree;
    return QB_OK;
}
