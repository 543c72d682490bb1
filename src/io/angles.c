/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "geometry/units.h"
#include "io/formats.h"
#include "io/source.h"
#include "quickbeam/scan.h"

/* A list of angles is a small file; a picture given by mistake is not. */
enum { TEXT_MOST = 256 << 20, MOST = 1 << 24 };
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
    double unit; /* radians of one, 0 = nobody says */
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

/* Does a header name a unit, as a word of its own? */
static double unit_in(const char *line) {
    static const struct {
        const char *word;
        double unit;
    } words[] = {{"deg", degree}, {"degree", degree}, {"degrees", degree},
                 {"rad", 1},      {"radian", 1},      {"radians", 1}};
    for (const char *at = line; *at;) {
        size_t n = 0;
        while (isalpha((unsigned char)at[n])) n++;
        for (size_t i = 0; n && i < sizeof words / sizeof words[0]; i++)
            if (strlen(words[i].word) == n && strncasecmp(at, words[i].word, n) == 0)
                return words[i].unit;
        at += n ? n : 1;
    }
    return 0;
}

/* Lines before the first number are headers; after it each line must have one. */
static qb_status read_column(table *t, char *text) {
    size_t room = 1, number = 0;
    for (char *c = text; *c; c++) room += *c == '\n';
    qb_status status = qb__alloc(room, sizeof *t->values, &t->values);
    for (char *line; status == QB_OK && (line = next_line(&text));) {
        double value;
        number++;
        if (!t->count && !(t->unit > 0)) t->unit = unit_in(line);
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

/* More than eight numbers within a little over 2 pi may be either. */
static bool may_be_either(size_t count, double low, double high) {
    enum { FEW = 8 };
    const double TURN = 6.5;
    return count > FEW && high != low && fabs(high - low) < TURN;
}

bool qb__angles_doubtful(const char *text, size_t views) {
    double from, to;
    size_t n;
    return parse_span(text, &from, &to, &n) && may_be_either(views, from, to);
}

static qb_status check_unit(const table *t, const char *text) {
    double low = t->values[0], high = t->values[0];
    for (size_t i = 1; i < t->count; i++) {
        low = fmin(low, t->values[i]);
        high = fmax(high, t->values[i]);
    }
    if (t->unit > 0 || !may_be_either(t->count, low, high)) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "--angles %s: %zu numbers from %g to %g without a unit: degrees or radians? Give "
                    "--angle-unit deg or rad, or put :deg or :rad behind",
                    text, t->count, low, high);
}

/* A text file's column, or an HDF5 dataset. */
static qb_status read_numbers(table *t, const char *rest, const char **lines) {
    char *content = NULL, dataset[512];
    qb_status status = QB_OK;
    if (*rest == '/') {
        double unit;
        size_t n = strcspn(rest, ":");
        if (n >= sizeof dataset)
            return qb__fail(QB_BAD_ARGUMENT, "--angles: a dataset of %zu characters", n);
        memcpy(dataset, rest, n);
        dataset[n] = 0;
        *lines = rest[n] ? rest + n + 1 : NULL;
        qb__inputs files = {0};
        qb__inputs_begin(&files);
        status = qb__hdf5_angles(t->path, dataset, MOST, &t->values, &t->count, &unit);
        qb__inputs_end(&files);
        if (status == QB_OK) /* not a whole scan */
            status = qb__inputs_hash(&files, 2 * t->count * sizeof *t->values + (1 << 20));
        qb__inputs_release(&files);
        if (!(t->unit > 0)) t->unit = unit;
        if (status == QB_OK && !t->count)
            status = qb__fail(QB_BAD_INPUT, "%s:%s is empty", t->path, dataset);
        return status;
    }
    if (!split_choice(rest, &t->column, lines))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--angles %s:%s: %s is not COLUMN, A:B, A:B:S or COLUMN:A:B:S, nor a dataset "
                        "of HDF5, /PATH",
                        t->path, rest, rest);
    status = qb__read_text(t->path, TEXT_MOST, &content);
    if (status == QB_OK && strncmp(content, "\x89HDF", 4) == 0)
        status = qb__fail(QB_BAD_ARGUMENT, "%s is HDF5: say which dataset, as in %s:/exchange/theta",
                          t->path, t->path);
    if (status == QB_OK) status = read_column(t, content);
    qb__free(content);
    return status;
}

static qb_status from_file(const char *text, double unit, size_t views, double *radians) {
    const char *rest, *lines = NULL;
    char *path = split_file(text, &rest);
    if (!path) return qb__fail(QB_NOT_FOUND, "--angles %s is neither FROM:TO[:N] nor a file", text);
    table t = {.path = path, .unit = unit};
    size_t first, end, step;
    qb_status status;
    QB__TRY(read_numbers(&t, rest, &lines));
    QB__TRY(check_unit(&t, text));
    QB__TRY(qb_range_parse(lines, path, t.count, &first, &end, &step));
    size_t n = (end - first + step - 1) / step;
    if (n != views) {
        status = qb__fail(QB_BAD_INPUT,
                          "--angles %s gives %zu angles (%zu lines in the file) for "
                          "%zu views",
                          text, n, t.count, views);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        radians[i] = t.values[first + i * step] * (t.unit > 0 ? t.unit : degree);
    status = qb__angles_check(radians, n);
    if (status != QB_OK) status = qb__fail_in(status, "--angles %s", text);
out:
    qb__free(t.values);
    qb__free(path);
    return status;
}

static qb_status parse(const char *text, double unit, size_t views, double *radians) {
    double from, to;
    size_t n;
    if (!parse_span(text, &from, &to, &n)) return from_file(text, unit, views, radians);
    if (n && n != views)
        return qb__fail(QB_BAD_INPUT, "--angles %s gives %zu angles for %zu views", text, n, views);
    if (!(unit > 0)) unit = degree;
    if (fabs(from) * unit > QB__MOST_DEGREES * degree || fabs(to) * unit > QB__MOST_DEGREES * degree)
        return qb__fail(QB_BAD_ARGUMENT, "--angles %s: angles beyond %g degrees", text,
                        QB__MOST_DEGREES);
    for (size_t i = 0; i < views; i++)
        radians[i] = (from + (to - from) * (double)i / (double)views) * unit;
    return QB_OK;
}

qb_status qb_angles_parse(const char *text, size_t views, double *radians) {
    QB__NEED(text);
    QB__NEED(radians);
    static const struct {
        const char *end;
        double unit;
    } ends[] = {{":deg", degree}, {":rad", 1}};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t m = strlen(ends[i].end);
        if (n <= m || strcmp(text + n - m, ends[i].end) != 0) continue;
        char *rest = qb__strdup(text);
        if (!rest) return qb__fail(QB_NO_MEMORY, "--angles: no memory for its text");
        rest[n - m] = 0;
        qb_status status = parse(rest, ends[i].unit, views, radians);
        qb__free(rest);
        return status;
    }
    return parse(text, 0, views, radians);
}
