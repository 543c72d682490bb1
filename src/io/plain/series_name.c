/* SPDX-License-Identifier: MIT */
/* Names of the files of a series. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "io/tiff/tiff_write.h"

void qb__series_release(qb__series *series) {
    QB__FREE(series->folder, series->prefix, series->suffix);
    *series = (qb__series){0};
}

static char *copy_part(const char *text, size_t n) {
    char *copy;
    if (qb__alloc(n + 1, 1, &copy) != QB_OK) return NULL;
    memcpy(copy, text, n);
    return copy;
}

/* PREFIX%05dSUFFIX, with one number in it. */
static qb_status split_pattern(const char *path, qb__series *series) {
    const char *name = qb__last_part(path);
    const char *percent = strchr(name, '%');
    char *end = (char *)percent + 1;
    series->digits = 0;
    if (percent[1] == '0') series->digits = (int)strtol(percent + 1, &end, 10);
    if (*end != 'd' || series->digits > 18 || strchr(end, '%'))
        return qb__fail(QB_BAD_ARGUMENT, "%s needs one number like %%05d in its name", path);
    series->folder = qb__folder_of(path);
    series->prefix = copy_part(name, (size_t)(percent - name));
    series->suffix = qb__strdup(end + 1);
    return QB_OK;
}

static qb_status split_folder(const char *path, const char *word, qb__series *series) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    series->folder = copy_part(path, n);
    series->prefix = qb__strdup(word);
    series->suffix = qb__strdup(".tif");
    series->digits = 5;
    return QB_OK;
}

qb_status qb__series_split(const char *path, const char *word, qb__series *series) {
    bool pattern = qb__has_number(path) && !qb__is_folder(path);
    qb_status status = pattern ? split_pattern(path, series) : split_folder(path, word, series);
    if (status == QB_OK && (!series->folder || !series->prefix || !series->suffix))
        status = qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    return status;
}

void qb__series_label_of(const qb__series *series, char label[QB__NAME_ROOM]) {
    snprintf(label, QB__NAME_ROOM, "%s%%d%s", series->prefix, series->suffix);
}

qb_status qb__series_label(const char *path, const char *word, char label[QB__NAME_ROOM]) {
    qb__series series = {0};
    const qb_status status = qb__series_split(path, word, &series);
    if (status == QB_OK) qb__series_label_of(&series, label);
    qb__series_release(&series);
    return status;
}

qb_status qb__series_join(const char *path, const char *word, const char *part, qb__series *series) {
    const qb_status status = qb__series_split(path, word, series);
    series->part = part;
    return status;
}

void qb__series_name(const qb__series *series, size_t number, char name[QB__NAME_ROOM]) {
    snprintf(name, QB__NAME_ROOM, "%s/%s%0*zu%s", series->part, series->prefix, series->digits, number, series->suffix);
}
