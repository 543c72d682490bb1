/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/units.h"
#include "io/geometry/angle_list.h"
#include "io/formats.h"
#include "io/scan/scan.h"
#include "io/plain/source.h"
#include "io/text.h"
#include "io/geometry/unit_words.h"
#include "quickbeam/scan.h"

/* A list of angles is a small file; a picture given by mistake is not. */
enum { TEXT_MOST = 256 << 20, MOST = 1 << 24 };
static const double degree = 3.14159265358979323846 / 180.0;

static bool number_at(const char *text, char **end, double *number) {
    *number = qb__strtod(text, end);
    return *end != text && isfinite(*number);
}

/* Parse FROM:TO[:N]; false if the text does not have this form. */
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

/* Split a text into the longest beginning that names a file, and the rest without its colon, which selects a part of
 * the file. */
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

/* Split a selection: one field is a column, two or three are lines, four are both. */
static bool split_choice(const char *rest, size_t *column, const char **lines) {
    size_t colons = 0;
    for (const char *c = rest; *c; c++) colons += *c == ':';
    *lines = colons == 3 ? strchr(rest, ':') + 1 : colons ? rest : NULL;
    *column = 0;
    if (!*rest || colons == 1 || colons == 2) return true;
    char *end;
    unsigned long long n = strtoull(rest, &end, 10);
    *column = (size_t)n;
    if (colons == 3 && end == rest) return true; /* an empty column means the only one */
    return colons <= 3 && end != rest && n >= 1 && n < 10000 && (*end == 0 || *end == ':') &&
           isdigit((unsigned char)*rest);
}

bool qb__angles_doubtful(const char *text, size_t views) {
    double from, to;
    size_t n;
    return parse_span(text, &from, &to, &n) && qb__angles_may_be_either(views, from, to);
}

/* Refuse numbers without a unit that may be degrees or radians, and numbers that contradict their unit. */
static qb_status check_unit(const qb__angle_list *list, const char *text, bool sure) {
    double low = list->values[0], high = list->values[0];
    for (size_t i = 1; i < list->count; i++) {
        low = fmin(low, list->values[i]);
        high = fmax(high, list->values[i]);
    }
    if (!(list->unit > 0) && qb__angles_may_be_either(list->count, low, high))
        return qb__fail(QB_BAD_INPUT,
                        "--angles %s: %zu numbers from %g to %g without a unit: degrees or radians? Give --angle-unit "
                        "deg or rad, or write :deg or :rad after it",
                        text, list->count, low, high);
    if (list->unit == 1 && !sure && qb__angles_like_degrees(list->values, list->count))
        return qb__fail(QB_BAD_INPUT,
                        "--angles %s: %g to %g, stated in radians, are %.3g turns: they are probably degrees, give "
                        "--angle-unit deg or rad",
                        text, low, high, (high - low) / (2 * M_PI));
    return QB_OK;
}

static qb_status read_hdf5(qb__angle_list *list, const char *dataset) {
    double unit;
    qb__inputs files = {0};
    qb__inputs_begin(&files);
    qb_status status =
        qb__hdf5_angles(list->path, dataset, MOST, &list->values, &list->count, list->unit > 0 ? NULL : &unit);
    qb__inputs_end(&files);
    if (status == QB_OK) /* only the angles are hashed, not a whole scan */
        status = qb__inputs_hash(&files, 2 * list->count * sizeof *list->values + (1 << 20));
    qb__inputs_release(&files);
    if (status == QB_OK && !(list->unit > 0)) list->unit = unit;
    if (status == QB_OK && !list->count) status = qb__fail(QB_BAD_INPUT, "%s:%s is empty", list->path, dataset);
    return status;
}

static qb_status read_dataset(qb__angle_list *list, const char *rest, const char **lines) {
    char dataset[512];
    const size_t n = strcspn(rest, ":");
    if (n >= sizeof dataset)
        return qb__fail(QB_BAD_ARGUMENT, "--angles: the name of the dataset has %zu characters, which is too long", n);
    memcpy(dataset, rest, n);
    dataset[n] = 0;
    *lines = rest[n] ? rest + n + 1 : NULL;
    const qb__format *format;
    const bool matlab = qb__format_to_read(list->path, &format) == QB_OK && format->open == qb__mat_open;
    return matlab ? qb__angle_list_mat(list, dataset) : read_hdf5(list, dataset);
}

/* Convert the file to ASCII. Of UTF-16, such as Windows' "Unicode text", only ASCII characters are kept, which numbers
 * need. */
static qb_status plain_text(const char *path, char *text, size_t length) {
    qb__text whole = {.data = text, .length = length, .room = length + 1};
    qb__text_narrow(&whole);
    if (strlen(text) == whole.length) return QB_OK;
    const bool wide = length > 3 && (!text[1] || !text[0]) && (!text[3] || !text[2]);
    return qb__fail(QB_BAD_INPUT, "%s %s: angles are read from plain text (UTF-8), NPY and HDF5", path,
                    strncmp(text, "PK\3\4", 4) == 0 ? "is a ZIP archive, as .npz and .xlsx are"
                    : wide                          ? "is UTF-16 or UTF-32 without the mark of UTF-16"
                                                    : "holds bytes that no text has");
}

static qb_status read_text_or_npy(qb__angle_list *list, const char *rest, const char **lines) {
    if (!split_choice(rest, &list->column, lines))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--angles %s:%s: %s is not COLUMN, A:B, A:B:S or COLUMN:A:B:S, nor a dataset "
                        "of HDF5, /PATH",
                        list->path, rest, rest);
    char *text;
    size_t length;
    qb_status status = qb__read_whole(list->path, TEXT_MOST, &text, &length);
    if (status == QB_OK && strncmp(text, "\x93NUMPY", 6) == 0) {
        qb__free(text);
        return qb__angle_list_npy(list);
    }
    const bool hdf5 = status == QB_OK && strncmp(text, "\x89HDF", 4) == 0;
    if (hdf5 || (status == QB_OK && strncmp(text, "MATLAB ", 7) == 0 && strlen(text) < length))
        status = qb__fail(QB_BAD_ARGUMENT, "%s is %s: say which %s, as in %s:%s", list->path,
                          hdf5 ? "HDF5" : "a MATLAB file", hdf5 ? "dataset" : "variable", list->path,
                          hdf5 ? "/exchange/theta" : "/theta");
    if (status == QB_OK) status = plain_text(list->path, text, length);
    if (status == QB_OK)
        status = !list->column && qb__angle_list_is_log(text) ? qb__angle_list_log(list, text)
                                                              : qb__angle_list_text(list, text);
    qb__free(text);
    return status;
}

static qb_status wrong_count(const qb__angle_list *list, const char *text, size_t n, size_t views) {
    const char *more = list->row ? ", as one row" : "";
    const char *remedy = n > views ? "; choose lines by FILE:A:B:S, one for each view"
                                   : "; give one angle for each stored view, also for those that --views leaves out";
    if (n == views + 1 && list->values[0] == (double)views)
        remedy = "; the first is their number: FILE:1: leaves it out";
    return qb__fail(QB_BAD_INPUT, "--angles %s gives %zu angles (%zu numbers in the file%s) for %zu views%s", text, n,
                    list->count, more, views, remedy);
}

static qb_status tell(const qb__angle_list *list, size_t first, size_t step, size_t views, qb__angles_said *said) {
    if (!said) return QB_OK;
    snprintf(said->how, sizeof said->how, "%s", list->how);
    if (*list->doubt)
        snprintf(said->doubt, sizeof said->doubt,
                 "%.80s: line %zu, \"%s\", is no number and was left out" QB__CODE("angle-line"), list->path,
                 list->doubt_line, list->doubt);
    if (!list->counts) return QB_OK;
    const qb_status status = qb__alloc(views, sizeof *said->counts, &said->counts);
    for (size_t i = 0; status == QB_OK && i < views; i++) said->counts[i] = list->counts[first + i * step];
    return status;
}

/* Read angles from a file. radians NULL: only count them in *views. */
static qb_status from_file(const char *text, double unit, size_t *views, double *radians, qb__angles_said *said) {
    const char *rest, *lines = NULL;
    char *path = split_file(text, &rest);
    if (!path) return qb__fail(QB_NOT_FOUND, "--angles %s is neither FROM:TO[:N] nor a file", text);
    qb__angle_list list = {.path = path, .unit = unit};
    size_t first, end, step;
    qb_status status;
    QB__TRY(*rest == '/' ? read_dataset(&list, rest, &lines) : read_text_or_npy(&list, rest, &lines));
    QB__TRY(check_unit(&list, text, unit > 0));
    QB__TRY(qb_range_parse(lines, path, list.count, &first, &end, &step));
    size_t n = (end - first + step - 1) / step;
    if (!radians) {
        *views = n;
        goto out;
    }
    if (n != *views) {
        status = wrong_count(&list, text, n, *views);
        goto out;
    }
    for (size_t i = 0; i < n; i++) radians[i] = list.values[first + i * step] * (list.unit > 0 ? list.unit : degree);
    status = qb__angles_check(radians, n);
    if (status != QB_OK)
        status = qb__fail_in(status, "--angles %s", text);
    else
        status = tell(&list, first, step, n, said);
out:
    QB__FREE(list.values, list.counts, path);
    return status;
}

static qb_status parse(const char *text, double unit, size_t *views, double *radians, qb__angles_said *said) {
    double from, to;
    size_t n;
    if (!parse_span(text, &from, &to, &n)) return from_file(text, unit, views, radians, said);
    if (!radians) *views = n;
    if (n && n != *views) return qb__fail(QB_BAD_INPUT, "--angles %s gives %zu angles for %zu views", text, n, *views);
    if (!(unit > 0)) unit = degree;
    if (fabs(from) * unit > QB__MOST_DEGREES * degree || fabs(to) * unit > QB__MOST_DEGREES * degree)
        return qb__fail(QB_BAD_ARGUMENT, "--angles %s: angles beyond %g degrees", text, QB__MOST_DEGREES);
    for (size_t i = 0; radians && i < *views; i++)
        radians[i] = (from + (to - from) * (double)i / (double)*views) * unit;
    return QB_OK;
}

static qb_status read_or_count(const char *text, size_t *views, double *radians, qb__angles_said *said) {
    static const struct {
        const char *end;
        double unit;
    } ends[] = {{":deg", degree}, {":rad", 1}};
    size_t n = strlen(text);
    if (said) *said = (qb__angles_said){0};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t m = strlen(ends[i].end);
        if (n <= m || strcmp(text + n - m, ends[i].end) != 0) continue;
        char *rest = qb__strdup(text);
        if (!rest) return qb__fail(QB_NO_MEMORY, "--angles: no memory for its text");
        rest[n - m] = 0;
        qb_status status = parse(rest, ends[i].unit, views, radians, said);
        qb__free(rest);
        return status;
    }
    return parse(text, 0, views, radians, said);
}

qb_status qb__angles_read(const char *text, size_t views, double *radians, qb__angles_said *said) {
    return read_or_count(text, &views, radians, said);
}

qb_status qb_angles_count(const char *text, size_t *count) {
    QB__NEED(text);
    QB__NEED(count);
    *count = 0;
    return read_or_count(text, count, NULL, NULL);
}

qb_status qb_angles_parse(const char *text, size_t views, double *radians) {
    QB__NEED(text);
    QB__NEED(radians);
    return qb__angles_read(text, views, radians, NULL);
}
