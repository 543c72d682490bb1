/* SPDX-License-Identifier: MIT */
/* The order of images in many files. Their names hold one number or several: an index, an angle, a date. The number
 * that counts the files, without repetition, decides; if two do and disagree, the user must choose. */
#include "io/formats.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"

enum { NUMBERS = 48, DIGITS = 18 };

/* A number in a name. A '-' or '+' before it may be its sign, unless a letter or a digit precedes that. */
typedef struct number {
    size_t sign, begin, end; /* positions in the name */
    unsigned long long value;
    bool minus;
} number;

static bool next_number(const char *name, size_t from, number *n) {
    size_t at = from;
    while (name[at] && !isdigit((unsigned char)name[at])) at++;
    if (!name[at]) return false;
    n->end = at + strspn(name + at, "0123456789");
    if (n->end - at > DIGITS) at = n->end - DIGITS; /* earlier digits count as text */
    n->begin = n->sign = at;
    const bool signed_ = at > from && (name[at - 1] == '-' || name[at - 1] == '+');
    if (signed_ && (at == 1 || !isalnum((unsigned char)name[at - 2]))) n->sign = at - 1;
    n->minus = n->sign < at && name[n->sign] == '-';
    n->value = strtoull(name + at, NULL, 10);
    return true;
}

/* True if the names are equal except for their numbers. */
static bool alike(const char *a, const char *b) {
    size_t i = 0, j = 0;
    for (;;) {
        number m, n;
        const bool one = next_number(a, i, &m), other = next_number(b, j, &n);
        if (one != other) return false;
        if (!one) return strcasecmp(a + i, b + j) == 0; /* .tif and .TIF are equal */
        if (m.sign - i != n.sign - j || strncmp(a + i, b + j, m.sign - i) != 0) return false;
        i = m.end;
        j = n.end;
    }
}

/* The n-th number of all names. */
typedef struct column {
    long long *value; /* [files] */
    bool *minus;
    size_t begin, end, width; /* position in the first name; number of digits in all names, 0 if it differs */
    bool varies, counts;
    long long step; /* the smallest difference between consecutive ones */
} column;

typedef struct table {
    column column[NUMBERS];
    size_t columns, files;
    char **name;
} table;

static void release(table *t) {
    for (size_t k = 0; k < NUMBERS; k++) QB__FREE(t->column[k].value, t->column[k].minus);
}

static qb_status begin_column(column *c, const number *n, size_t files) {
    c->begin = n->begin;
    c->end = n->end;
    c->width = n->end - n->begin;
    qb_status status = qb__alloc(files, sizeof *c->value, &c->value);
    return status == QB_OK ? qb__alloc(files, sizeof *c->minus, &c->minus) : status;
}

static qb_status fill(table *t) {
    for (size_t i = 0; i < t->files; i++) {
        number n;
        for (size_t k = 0, from = 0; k < NUMBERS && next_number(t->name[i], from, &n); k++, from = n.end) {
            column *c = &t->column[k];
            QB__OR_RETURN(i ? QB_OK : begin_column(c, &n, t->files));
            t->columns = k + 1;
            if (c->width != n.end - n.begin) c->width = 0;
            c->value[i] = (long long)n.value;
            c->minus[i] = n.minus;
        }
    }
    return QB_OK;
}

/* "12.5" is one number if all names have the same number of digits after the point. */
static void join_decimals(table *t) {
    static const long long tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    enum { MOST = sizeof tens / sizeof *tens - 1 };
    for (size_t k = 0; k + 1 < t->columns; k++) {
        column *whole = &t->column[k], *part = &t->column[k + 1];
        const char between = t->name[0][whole->end];
        bool fits =
            part->begin == whole->end + 1 && (between == '.' || between == ',') && part->width && part->width <= MOST;
        for (size_t i = 0; i < t->files; i++) fits = fits && whole->value[i] < tens[MOST];
        for (size_t i = 0; fits && i < t->files; i++) {
            whole->value[i] = whole->value[i] * tens[part->width] + part->value[i];
            part->value[i] = 0;
        }
        if (!fits) continue;
        whole->end = part->end;
        k++;
    }
}

/* Decide about signs: if all numbers have a dash before them, the dash separates words; if only some have it, it is a
 * sign. */
static void apply_signs(column *c, size_t files) {
    size_t minus = 0;
    for (size_t i = 0; i < files; i++) minus += c->minus[i];
    for (size_t i = 0; i < files && minus < files; i++)
        if (c->minus[i]) c->value[i] = -c->value[i];
}

static int compare_values(const void *a, const void *b) {
    const long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

/* Judge a column of numbers: they count the files if they are distinct and evenly spaced, except for some gaps. */
static qb_status judge(column *c, size_t files) {
    long long *sorted;
    QB__OR_RETURN(qb__alloc(files, sizeof *sorted, &sorted));
    memcpy(sorted, c->value, files * sizeof *sorted);
    qsort(sorted, files, sizeof *sorted, compare_values);
    c->varies = sorted[files - 1] != sorted[0];
    c->step = c->varies ? sorted[files - 1] - sorted[0] : 1;
    for (size_t i = 1; i < files; i++)
        c->step = sorted[i] - sorted[i - 1] < c->step ? sorted[i] - sorted[i - 1] : c->step;
    c->counts = c->varies && c->step > 0 && 3 * ((sorted[files - 1] - sorted[0]) / c->step) < 4 * (long long)files;
    qb__free(sorted);
    return QB_OK;
}

typedef struct entry {
    long long value;
    size_t index;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                                : (x->index > y->index) - (x->index < y->index);
}

static void sort_entries(const column *c, size_t files, entry *entries) {
    for (size_t i = 0; i < files; i++) entries[i] = (entry){c ? c->value[i] : (long long)i, i};
    qsort(entries, files, sizeof *entries, compare_entries);
}

/* True if both columns give the files the same order. */
static bool same_order(const column *a, const column *b, size_t files, entry *scratch) {
    sort_entries(a, files, scratch);
    for (size_t i = 1; i < files; i++)
        if (b->value[scratch[i].index] <= b->value[scratch[i - 1].index]) return false;
    return true;
}

/* Suggest a pattern: the first name with a pattern for the varying number, such as GR_*_%04d.tif. */
static void suggest(const table *t, char *text, size_t size) {
    size_t last = 0, used = 0, at = 0;
    const char *name = t->name[0];
    for (size_t k = 0; k < t->columns; k++)
        if (t->column[k].varies) last = k;
    const char *slash = strrchr(name, '/');
    if (slash) at = (size_t)(slash - name) + 1;
    for (size_t k = 0; k < t->columns && used < size; k++) {
        const column *c = &t->column[k];
        if (!c->varies || c->begin < at) continue;
        used += (size_t)snprintf(text + used, size - used, "%.*s", (int)(c->begin - at), name + at);
        if (used < size)
            used += (size_t)(k < last   ? snprintf(text + used, size - used, "*")
                             : c->width ? snprintf(text + used, size - used, "%%0%zud", c->width)
                                        : snprintf(text + used, size - used, "%%d"));
        at = c->end;
    }
    if (used < size) snprintf(text + used, size - used, "%s", name + at);
}

static qb_status refuse(const char *path, const table *t, const char *why) {
    char pattern[300];
    const char *a = strrchr(t->name[0], '/'), *b = strrchr(t->name[t->files - 1], '/');
    suggest(t, pattern, sizeof pattern);
    return qb__fail(
        QB_BAD_INPUT,
        "%s: %s in its files' names, %s to %s: give a pattern whose %%d is the number that counts, such as %s", path,
        why, a ? a + 1 : t->name[0], b ? b + 1 : t->name[t->files - 1], pattern);
}

/* Find the column that decides the order; NULL: none varies. */
static qb_status decide(const char *path, const qb__counter *counter, table *t, entry *scratch, column **which) {
    column *found = NULL;
    size_t varying = 0, by_one = 0;
    *which = NULL;
    for (size_t k = 0; k < t->columns; k++) {
        column *c = &t->column[k];
        QB__OR_RETURN(judge(c, t->files));
        if (counter->end ? c->end == counter->end : counter->begin && c->begin == counter->begin) *which = c;
        varying += c->varies;
        by_one += c->counts && c->step == 1;
    }
    if (!*which && !varying && t->files > 1) *which = t->column; /* 1 and 01 are reported when they are sorted */
    if (*which || !varying) return QB_OK;
    for (size_t k = 0; k < t->columns; k++) {
        column *c = &t->column[k];
        if (!(varying == 1 ? c->varies : c->counts && (by_one != 1 || c->step == 1))) continue;
        if (found && !same_order(found, c, t->files, scratch)) return refuse(path, t, "two numbers count");
        if (!found) found = c;
    }
    if (!found) return refuse(path, t, "several numbers vary and none counts up");
    *which = found;
    return QB_OK;
}

static qb_status check_alike(const char *path, const qb__notes *files) {
    for (size_t i = 1; i < files->count; i++) {
        if (alike(files->text[0], files->text[i])) continue;
        const char *a = strrchr(files->text[0], '/'), *b = strrchr(files->text[i], '/');
        return qb__fail(QB_BAD_INPUT,
                        "%s holds more than one series of images, %s and %s: give a pattern such as name_%%04d.tif",
                        path, a ? a + 1 : files->text[0], b ? b + 1 : files->text[i]);
    }
    return QB_OK;
}

/* Sort the names by their numbers; 01 and 1 are the same number. */
static qb_status sort(const char *path, const table *t, const column *c, entry *entries, qb__notes *files,
                      long long *numbers) {
    char **names;
    qb_status status = qb__alloc(t->files, sizeof *names, &names);
    if (status != QB_OK) return status;
    memcpy(names, files->text, t->files * sizeof *names);
    sort_entries(c, t->files, entries);
    for (size_t i = 0; i < t->files; i++) {
        files->text[i] = names[entries[i].index];
        if (numbers) numbers[i] = entries[i].value;
        if (c && i && status == QB_OK && entries[i].value == entries[i - 1].value)
            status = qb__fail(QB_BAD_INPUT, "%s: %s and %s have the same number %lld: which comes first?", path,
                              names[entries[i - 1].index], names[entries[i].index], entries[i].value);
    }
    qb__free(names);
    return status;
}

qb_status qb__list_order(const char *path, const qb__counter *counter, qb__notes *files, long long *numbers) {
    table t = {.files = files->count, .name = files->text};
    column *which = NULL;
    entry *entries = NULL;
    qb_status status;
    QB__TRY(check_alike(path, files));
    QB__TRY(qb__alloc(files->count, sizeof *entries, &entries));
    QB__TRY(fill(&t));
    join_decimals(&t);
    for (size_t k = 0; k < t.columns; k++) apply_signs(&t.column[k], t.files);
    QB__TRY(decide(path, counter, &t, entries, &which));
    status = sort(path, &t, which, entries, files, numbers);
out:
    qb__free(entries);
    release(&t);
    return status;
}
