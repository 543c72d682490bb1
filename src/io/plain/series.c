/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/tiff/tiff_write.h"

static bool is_ours(const qb__series *series, const char *name) {
    size_t n = strlen(name), p = strlen(series->prefix), s = strlen(series->suffix);
    return n > p + s && strncmp(name, series->prefix, p) == 0 && strcmp(name + n - s, series->suffix) == 0 &&
           strspn(name + p, "0123456789") == n - p - s;
}

static bool in_range(const qb__series *series, const char *name, size_t first, size_t count) {
    unsigned long long number = strtoull(name + strlen(series->prefix), NULL, 10);
    return number >= first && number - first < count;
}

/* Files of the same series are replaced one by one; anything else in the given folder is probably a mistake. */
static qb_status check_folder(const qb__series *series) {
    DIR *folder = opendir(series->folder);
    if (!folder) return qb__fail_errno(errno, "opening the folder", series->folder);
    qb_status status = QB_OK;
    for (struct dirent *entry; status == QB_OK && (entry = readdir(folder));)
        if (entry->d_name[0] != '.' && !is_ours(series, entry->d_name))
            status = qb__fail(QB_BAD_ARGUMENT,
                              "%s holds other files (%s): give a new folder, or a pattern such as "
                              "%s/%s%%05d.tif",
                              series->folder, entry->d_name, series->folder, series->prefix);
    closedir(folder);
    return status;
}

/* Other images in the folder would be removed together with the older ones. */
static qb_status check_member(const qb__series *series, const char *name) {
    char path[QB__NAME_ROOM];
    const bool fits = (size_t)snprintf(path, sizeof path, "%s/%s", series->folder, name) < sizeof path;
    return fits ? qb__member_check(path) : QB_OK;
}

/* Parts of a series may be written one after another, so other images of the series may exist; but a run that replaces
 * some images of an older, longer series must replace all. */
static qb_status check_older(const qb__series *series, size_t first, size_t count) {
    DIR *folder = opendir(series->folder);
    char stale[256] = "";
    size_t replaced = 0, kept = 0;
    qb_status status = QB_OK;
    if (!folder) return qb__fail_errno(errno, "opening the folder", series->folder);
    for (struct dirent *entry; status == QB_OK && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        if (!is_ours(series, name)) continue;
        bool ours = in_range(series, name, first, count);
        if (ours) status = check_member(series, name);
        replaced += ours;
        kept += !ours;
        if (!ours) snprintf(stale, sizeof stale, "%s", name);
    }
    closedir(folder);
    if (status != QB_OK || !replaced || !kept) return status;
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s holds %zu images of an older series that would stay among the new ones, like "
                    "%s (the new are %zu to %zu): remove them, or give another name",
                    series->folder, kept, stale, first, first + count - 1);
}

qb_status qb__series_protect_inputs(const char *path, const char *word, size_t first, size_t count,
                                    const qb__inputs *inputs) {
    qb__series series = {0};
    char name[QB__NAME_ROOM];
    qb_status status = qb__series_split(path, word, &series);
    DIR *folder = status == QB_OK ? opendir(series.folder) : NULL;
    for (struct dirent *entry; status == QB_OK && folder && (entry = readdir(folder));) {
        if (!is_ours(&series, entry->d_name) || !in_range(&series, entry->d_name, first, count)) continue;
        if ((size_t)snprintf(name, sizeof name, "%s/%s", series.folder, entry->d_name) < sizeof name)
            status = qb__inputs_protect(inputs, name);
        if (status == QB_OK) status = check_member(&series, entry->d_name);
    }
    if (folder) closedir(folder);
    qb__series_release(&series);
    return status;
}

/* `file` is identified by its target, whether it exists or not. */
static qb_status holds_target(const qb__series *series, size_t first, size_t count, const char *target, bool *holds) {
    const char *name = qb__last_part(target);
    if (!is_ours(series, name) || !in_range(series, name, first, count)) return QB_OK;
    char *folder = qb__folder_of(target);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", target);
    qb_status status = qb__same_file(folder, series->folder, holds);
    qb__free(folder);
    return status;
}

qb_status qb__series_holds(const char *path, const char *word, size_t first, size_t count, const char *file,
                           bool *holds) {
    qb__series series = {0};
    char *target = NULL;
    *holds = false;
    qb_status status = qb__series_split(path, word, &series);
    if (status == QB_OK) status = qb__target_of(file, &target);
    if (status == QB_OK) status = holds_target(&series, first, count, target, holds);
    qb__free(target);
    qb__series_release(&series);
    return status;
}

qb_status qb__series_meet(const char *a, const char *word_a, const char *b, const char *word_b, bool *meet) {
    qb__series x = {0}, y = {0};
    *meet = false;
    qb_status status = qb__series_split(a, word_a, &x);
    if (status == QB_OK) status = qb__series_split(b, word_b, &y);
    if (status == QB_OK && strcmp(x.prefix, y.prefix) == 0 && strcmp(x.suffix, y.suffix) == 0)
        status = qb__same_file(x.folder, y.folder, meet);
    qb__series_release(&x);
    qb__series_release(&y);
    return status;
}

qb_status qb__series_begin(const char *path, const char *word, size_t first, size_t count, qb__publication *set,
                           qb__series *series) {
    bool pattern = qb__has_number(path) && !qb__is_folder(path);
    qb_status status = qb__series_split(path, word, series);
    if (status != QB_OK) return status;
    if (strlen(path) > QB__NAME_ROOM - 512) return qb__fail(QB_BAD_ARGUMENT, "%s is too long a name", path);
    char label[QB__NAME_ROOM];
    qb__series_label_of(series, label);
    bool there = access(series->folder, F_OK) == 0;
    if (there && !pattern) status = check_folder(series);
    if (there && status == QB_OK) status = check_older(series, first, count);
    return status == QB_OK ? qb__publication_folder(set, series->folder, label, &series->part) : status;
}
