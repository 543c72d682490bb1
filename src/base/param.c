/* SPDX-License-Identifier: MIT */
#include "base/params.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "quickbeam/array.h"
#include "quickbeam/version.h"

/* A choice is stored as an int. */
static_assert(sizeof(qb_dtype) == sizeof(int), "enums must be as large as int");

static void *field(const qb_param *row, void *options) { return (char *)options + row->offset; }

static bool is_text(const qb_param *row) { return row->type == QB_PARAM_TEXT || row->type == QB_PARAM_LIST; }

static size_t field_size(const qb_param *row) {
    switch (row->type) {
    case QB_PARAM_FLAG: return sizeof(bool);
    case QB_PARAM_INT:
    case QB_PARAM_CHOICE:
    case QB_PARAM_DTYPE: return sizeof(int);
    case QB_PARAM_BYTES: return sizeof(size_t);
    case QB_PARAM_DOUBLE: return sizeof(double);
    case QB_PARAM_TEXT:
    case QB_PARAM_LIST: return sizeof(char *);
    case QB_PARAM_NUMBERS: return sizeof(qb_numbers);
    }
    return 0;
}

static qb_status refuse(const qb_param *row, const char *value, const char *why) {
    return qb__fail(QB_BAD_ARGUMENT, "--%s %s: %s", row->name, value ? value : "", why);
}

static bool parse_double(const char *text, const char **end, double *number) {
    char *stop;
    *number = qb__strtod(text, &stop);
    *end = stop;
    return stop != text && isfinite(*number);
}

/* The message of a list names the number that is wrong. */
static qb_status refuse_number(const qb_param *row, const char *value) {
    const char *end;
    double number;
    if (!parse_double(value, &end, &number) || *end != ',') return refuse(row, value, "is not a number");
    return qb__fail(QB_BAD_ARGUMENT, "--%s %s: give one number (%s), not a list: %.*s", row->name, value, row->meta,
                    (int)strcspn(row->help, ";"), row->help);
}

static bool parse_bytes(const char *text, size_t *bytes) {
    static const char units[] = "KMGT";
    const char *end;
    double number;
    if (!parse_double(text, &end, &number) || number < 0) return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        number = ldexp(number, 10 * (int)(unit - units + 1));
        end++;
        if (*end == 'i') end++;
    }
    if (*end == 'B') end++;
    if (*end || number >= 0x1p63) return false;
    *bytes = (size_t)number;
    return true;
}

/* Index of the choice; -1 = none. */
static int parse_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    int index = 0;
    for (const char *at = choices; length && at; index++) {
        const char *bar = strchr(at, '|');
        size_t n = bar ? (size_t)(bar - at) : strlen(at);
        if (n == length && strncmp(at, value, n) == 0) return index;
        at = bar ? bar + 1 : NULL;
    }
    return -1;
}

/* A number for which a word may stand: NAN, or 0 for whole numbers. */
static bool is_word(const qb_param *row, const char *value) {
    return row->choices && (row->type == QB_PARAM_DOUBLE || row->type == QB_PARAM_INT) &&
           strcmp(row->choices, value) == 0;
}

static qb_status in_range(const qb_param *row, const char *value, double number) {
    if (row->min >= row->max || (number >= row->min && number <= row->max)) return QB_OK;
    char why[96];
    snprintf(why, sizeof why, "must lie in %g..%g", row->min, row->max);
    return refuse(row, value, why);
}

static qb_status set_numbers(const qb_param *row, void *options, const char *value) {
    qb_numbers numbers = {0};
    for (const char *at = value; *at;) {
        const char *end;
        if (numbers.count == 8 || !parse_double(at, &end, &numbers.value[numbers.count]) || (*end && *end != ','))
            return refuse(row, value, "is not a list of numbers like 1,2.5");
        QB__OR_RETURN(in_range(row, value, numbers.value[numbers.count++]));
        if (*end == ',' && !end[1]) return refuse(row, value, "ends in a comma");
        at = *end ? end + 1 : end;
    }
    if (numbers.count == 0) return refuse(row, value, "needs at least one number");
    memcpy(field(row, options), &numbers, sizeof numbers);
    return QB_OK;
}

enum { FEW_BYTES = 1000 }; /* a size below this was probably meant with a unit */

static qb_status set_bytes(const qb_param *row, void *options, const char *value) {
    size_t bytes;
    const bool bare = *value && !isalpha((unsigned char)value[strlen(value) - 1]);
    if (!parse_bytes(value, &bytes)) return refuse(row, value, "is not a size like 512M or 8G");
    if (bare && bytes < FEW_BYTES && qb__strtod(value, NULL) != 0)
        return qb__fail(QB_BAD_ARGUMENT, "--%s %s means %s bytes: give a unit, such as %sG", row->name, value, value,
                        value);
    memcpy(field(row, options), &bytes, sizeof bytes);
    return QB_OK;
}

static qb_status set_text(const qb_param *row, void *options, const char *value) {
    char *copy = qb__strdup(value);
    if (!copy) return qb__fail(QB_NO_MEMORY, "--%s: no memory for its value", row->name);
    char **slot = field(row, options);
    qb__free(*slot);
    *slot = copy;
    return QB_OK;
}

static bool is_on_by_default(const qb_param *row) { return row->initial && strcmp(row->initial, "true") == 0; }

static qb_status set_flag(const qb_param *row, void *options, const char *value) {
    bool on = !value || strcmp(value, "true") == 0;
    if (!on && strcmp(value, "false") != 0) return refuse(row, value, "is neither true nor false");
    *(bool *)field(row, options) = on != is_on_by_default(row);
    return QB_OK;
}

/* True if a field of 0 means a default that is not 0. */
static bool zero_is_default(const qb_param *row) {
    if (row->type == QB_PARAM_INT) return row->initial && strcmp(row->initial, "0") != 0;
    return row->type == QB_PARAM_DOUBLE && row->initial &&
           (is_word(row, row->initial) || qb__strtod(row->initial, NULL) != 0);
}

/* Value of the field for a number. */
static double stored(const qb_param *row, double number) {
    return number == 0 && zero_is_default(row) ? QB_ZERO : number;
}

/* A whole number and its field: 0 is stored as -1 if a field of 0 means another default. */
static int stored_whole(const qb_param *row, long whole) {
    return whole == 0 && zero_is_default(row) ? -1 : (int)whole;
}
static int whole_of(const qb_param *row, int held) { return held == -1 && zero_is_default(row) ? 0 : held; }

static qb_status set_choice(const qb_param *row, void *options, const char *value) {
    int index = parse_choice(row->choices, value);
    char why[256];
    snprintf(why, sizeof why, "is none of %s", row->choices);
    qb_dtype dtype = QB_U8;
    if (index < 0 || (row->type == QB_PARAM_DTYPE && !qb_dtype_parse(value, &dtype))) return refuse(row, value, why);
    *(int *)field(row, options) = row->type == QB_PARAM_DTYPE ? (int)dtype : (int)row->min + index;
    return QB_OK;
}

qb_status qb_param_set(const qb_param *row, void *options, const char *value) {
    QB__NEED(row);
    QB__NEED(options);
    size_t size = *(const size_t *)options;
    if (size && row->offset + field_size(row) > size)
        return refuse(row, value, "the struct of the caller, which is older, has no such field");
    if (row->type == QB_PARAM_FLAG) return set_flag(row, options, value);
    if (!value || !*value) return refuse(row, value, "needs a value");
    const char *end;
    double number;
    qb_status status;
    switch (row->type) {
    case QB_PARAM_FLAG: break;
    case QB_PARAM_INT: {
        char *stop;
        if (is_word(row, value)) {
            *(int *)field(row, options) = 0;
            return QB_OK;
        }
        errno = 0;
        long whole = strtol(value, &stop, 10);
        if (errno || *stop || whole < INT_MIN || whole > INT_MAX) return refuse(row, value, "is not a whole number");
        if ((status = in_range(row, value, (double)whole)) != QB_OK) return status;
        *(int *)field(row, options) = stored_whole(row, whole);
        return QB_OK;
    }
    case QB_PARAM_BYTES: return set_bytes(row, options, value);
    case QB_PARAM_DOUBLE:
        if (is_word(row, value)) {
            *(double *)field(row, options) = NAN;
            return QB_OK;
        }
        if (!parse_double(value, &end, &number) || *end) return refuse_number(row, value);
        if ((status = in_range(row, value, number)) != QB_OK) return status;
        *(double *)field(row, options) = stored(row, number);
        return QB_OK;
    case QB_PARAM_TEXT:
    case QB_PARAM_LIST: return set_text(row, options, value);
    case QB_PARAM_CHOICE:
    case QB_PARAM_DTYPE: return set_choice(row, options, value);
    case QB_PARAM_NUMBERS: return set_numbers(row, options, value);
    }
    return qb__fail(QB_INTERNAL, "--%s has no type", row->name);
}

/* %g if it reads back the same value, else all digits. */
static void print_double(double number, char *text, size_t size) {
    number += 0.0; /* removes the sign of QB_ZERO */
    qb__print(text, size, "%g", number);
    if (qb__strtod(text, NULL) != number) qb__print(text, size, "%.17g", number);
}

static void print_bytes(size_t bytes, char *text, size_t size) {
    snprintf(text, size, "%zu%s", bytes, bytes && bytes < FEW_BYTES ? "B" : "");
}

/* Name of a choice by its number, if there is one. */
static const char *choice_at(const qb_param *row, int number) {
    const char *at = row->choices;
    for (int i = number - (int)row->min; i > 0 && at; i--) {
        at = strchr(at, '|');
        if (at) at++;
    }
    return at && number >= (int)row->min ? at : "";
}

/* True if the field is 0 and means the default. */
static bool is_unset(const qb_param *row, const void *options) {
    const void *at = (const char *)options + row->offset;
    switch (row->type) {
    case QB_PARAM_TEXT:
    case QB_PARAM_LIST: return !*(const char *const *)at;
    case QB_PARAM_NUMBERS: return ((const qb_numbers *)at)->count == 0;
    case QB_PARAM_DOUBLE: return *(const double *)at == 0 && !signbit(*(const double *)at);
    case QB_PARAM_INT: return *(const int *)at == 0;
    case QB_PARAM_BYTES: return *(const size_t *)at == 0;
    case QB_PARAM_CHOICE: return *(const int *)at == 0 && row->min > 0; /* otherwise 0 is one of the choices */
    case QB_PARAM_DTYPE:
    case QB_PARAM_FLAG: break;
    }
    return false;
}

bool qb_param_get(const qb_param *row, const void *options, char *text, size_t size) {
    if (!row || !options || !text || size == 0) return false;
    const void *at = (const char *)options + row->offset;
    size_t has = *(const size_t *)options;
    text[0] = 0;
    if (has && row->offset + field_size(row) > has) return false;
    if (row->initial && !is_text(row) && is_unset(row, options)) return snprintf(text, size, "%s", row->initial) >= 0;
    switch (row->type) {
    case QB_PARAM_FLAG: {
        const bool on = *(const unsigned char *)at != is_on_by_default(row);
        snprintf(text, size, "%s", on ? "true" : "false");
        break;
    }
    case QB_PARAM_INT: snprintf(text, size, "%d", whole_of(row, *(const int *)at)); break;
    case QB_PARAM_BYTES: print_bytes(*(const size_t *)at, text, size); break;
    case QB_PARAM_DOUBLE:
        if (row->choices && isnan(*(const double *)at))
            snprintf(text, size, "%s", row->choices);
        else
            print_double(*(const double *)at, text, size);
        break;
    case QB_PARAM_TEXT:
    case QB_PARAM_LIST:
        if (!*(char *const *)at) return false;
        snprintf(text, size, "%s", *(char *const *)at);
        break;
    case QB_PARAM_CHOICE: {
        const char *from = choice_at(row, *(const int *)at);
        snprintf(text, size, "%.*s", (int)strcspn(from, "|"), from);
        break;
    }
    case QB_PARAM_DTYPE: snprintf(text, size, "%s", qb_dtype_name(*(const qb_dtype *)at)); break;
    case QB_PARAM_NUMBERS: {
        const qb_numbers *numbers = at;
        size_t used = 0;
        for (int i = 0; i < numbers->count && i < 8 && used + 32 < size; i++) {
            if (i) text[used++] = ',';
            print_double(numbers->value[i], text + used, size - used);
            used += strlen(text + used);
        }
        return numbers->count > 0;
    }
    }
    return true;
}

/* ---- whole structs, which may be older or newer than this library ---- */

enum { MOST_BYTES = 1 << 16 }; /* larger than any struct of options */

static const qb_param *end_of(const qb_param *table) {
    while (table->name) table++;
    return table;
}

size_t qb_params_size(const qb_param *table) { return table ? end_of(table)->offset : 0; }

static size_t first_size(const qb_param *table) { return (size_t)end_of(table)->min; }

static bool reaches(const qb_param *row, size_t size) { return row->offset + field_size(row) <= size; }

static qb_status check_size(const qb_param *table, size_t size) {
    if (size >= table->offset + field_size(table) && size <= MOST_BYTES) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "a struct of %zu bytes cannot hold the options %s, ...: fill it with "
                    "qb_params_init before its fields are set",
                    size, table->name);
}

/* Number of bytes of the struct that its owner knows. */
static size_t size_of(const qb_param *table, const void *options) {
    size_t size = *(const size_t *)options;
    return size ? size : first_size(table);
}

void qb_params_clear(const qb_param *table, void *options) {
    if (!options) return;
    for (const qb_param *row = table; row && row->name; row++) {
        if (!is_text(row) || !reaches(row, size_of(table, options))) continue;
        char **slot = field(row, options);
        qb__free(*slot);
        *slot = NULL;
    }
}

qb_status(qb_params_init)(const qb_param *table, void *options, size_t size) {
    QB__NEED(table);
    QB__NEED(options);
    qb_status status = check_size(table, size);
    if (status != QB_OK) return status;
    memset(options, 0, size);
    *(size_t *)options = size;
    for (const qb_param *row = table; row->name; row++) {
        if (!row->initial || !reaches(row, size)) continue;
        status = qb_param_set(row, options, row->initial);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

/* Fields that a newer caller has set but this library does not know must not be ignored. */
static qb_status check_rest(const qb_param *table, const char *options, size_t from, size_t to) {
    for (; from < to; from++) {
        if (options[from])
            return qb__fail(QB_UNSUPPORTED,
                            "options after %s, ... are set that libquickbeam %s does not know: "
                            "it is older than the program",
                            table->name, qb_version());
    }
    return QB_OK;
}

static qb_status set_default(const qb_param *row, void *options) {
    if (!row->initial) return QB_OK;
    if (!is_text(row)) return qb_param_set(row, options, row->initial);
    *(const char **)field(row, options) = row->initial;
    return QB_OK;
}

static size_t count_choices(const char *choices) {
    size_t n = 1;
    for (; *choices; choices++) n += *choices == '|';
    return n;
}

/* The caller's struct may hold any values: refuse what qb_param_set would have refused. 0 means the default. */
static qb_status check_field(const qb_param *row, const void *options) {
    const void *at = (const char *)options + row->offset;
    double numbers[8];
    int count = 1;
    char text[64];
    switch (row->type) {
    case QB_PARAM_TEXT:
    case QB_PARAM_LIST:
    case QB_PARAM_BYTES: return QB_OK;
    case QB_PARAM_FLAG: return *(const unsigned char *)at <= 1 ? QB_OK : refuse(row, "", "is neither true nor false");
    case QB_PARAM_CHOICE:
    case QB_PARAM_DTYPE: {
        int value = *(const int *)at;
        double index = (double)value - row->min;
        bool good = row->type == QB_PARAM_CHOICE ? index >= 0 && index < (double)count_choices(row->choices)
                                                 : parse_choice(row->choices, qb_dtype_name((qb_dtype)value)) >= 0;
        return good ? QB_OK
                    : qb__fail(QB_BAD_ARGUMENT, "--%s: %d stands for none of %s", row->name, value, row->choices);
    }
    case QB_PARAM_INT:
        if (row->choices && *(const int *)at == 0) return QB_OK;
        numbers[0] = whole_of(row, *(const int *)at);
        break;
    case QB_PARAM_DOUBLE:
        numbers[0] = *(const double *)at;
        if (row->choices && isnan(numbers[0])) return QB_OK;
        break;
    case QB_PARAM_NUMBERS: {
        const qb_numbers *list = at;
        count = list->count;
        if (count < 0 || count > 8)
            return qb__fail(QB_BAD_ARGUMENT, "--%s: a list of %d numbers; 0 to 8 are possible", row->name, count);
        memcpy(numbers, list->value, sizeof numbers);
        break;
    }
    }
    for (int i = 0; i < count; i++) {
        qb__print(text, sizeof text, "%g", numbers[i]);
        if (!isfinite(numbers[i])) return refuse(row, text, "is not a number");
        if (numbers[i] == 0 && !row->initial && row->type != QB_PARAM_NUMBERS) continue;
        QB__OR_RETURN(in_range(row, text, numbers[i]));
    }
    return QB_OK;
}

qb_status qb__params_view(const qb_param *table, const void *from, void *to) {
    size_t known = qb_params_size(table), has = from ? size_of(table, from) : 0;
    qb_status status = from ? check_size(table, has) : QB_OK;
    memset(to, 0, known);
    if (status == QB_OK) status = check_rest(table, from, known, has);
    if (status != QB_OK) return status;
    if (from) memcpy(to, from, has < known ? has : known);
    *(size_t *)to = known;
    for (const qb_param *row = table; row->name && status == QB_OK; row++)
        if (!reaches(row, has) || is_unset(row, to)) status = set_default(row, to);
    for (const qb_param *row = table; row->name && status == QB_OK; row++) status = check_field(row, to);
    if (status != QB_OK) memset(to, 0, known);
    return status;
}

qb_status qb_params_copy(const qb_param *table, const void *from, void *to) {
    QB__NEED(table);
    QB__NEED(to);
    qb_status status = qb__params_view(table, from, to);
    if (status != QB_OK) return status;
    for (const qb_param *row = table; row->name; row++) {
        if (!is_text(row)) continue;
        char **slot = field(row, to), *text = *slot;
        *slot = qb__strdup(text);
        if (text && !*slot) status = qb__fail(QB_NO_MEMORY, "--%s: no memory for its value", row->name);
    }
    return status;
}

const qb_param *qb_param_find(const qb_param *table, const char *name) {
    for (const qb_param *row = table; row && name && row->name; row++) {
        if (strcmp(row->name, name) == 0) return row;
    }
    return NULL;
}

qb_status qb_params_set(const qb_param *table, void *options, const char *name, const char *value) {
    QB__NEED(table);
    QB__NEED(options);
    QB__NEED(name);
    const qb_param *row = qb_param_find(table, name);
    if (row) return qb_param_set(row, options, value);
    return qb__fail(QB_BAD_ARGUMENT, "there is no option %s: the options are %s, ...", name, table->name);
}
