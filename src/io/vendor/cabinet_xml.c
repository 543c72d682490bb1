/* SPDX-License-Identifier: MIT */
/* The common part of scanners' XML files: numbers, and images in a folder next to the file. */
#include "io/vendor/vendor.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "io/vendor/ini.h"

static qb_status take_number(const char *path, const char *text, const qb__tag_entry *e, double *out) {
    char words[64];
    double number;
    *out = NAN;
    if (!qb__tag_text(text, NULL, e->key, words, sizeof words)) {
        if (!e->needed) return QB_OK;
        return qb__fail(QB_BAD_INPUT, "%s has no <%s>, which is needed to reconstruct", path, e->key);
    }
    if (qb__setting_number(words, &number) && number >= e->low && number <= e->high) {
        *out = number;
        return QB_OK;
    }
    return qb__fail(QB_BAD_INPUT, "%s: <%s> is '%.60s', which should be a number from %g to %g", path, e->key, words,
                    e->low, e->high);
}

qb_status qb__tag_entries(const char *path, const char *text, const qb__tag_entry *entries, size_t count, void *out) {
    qb_status status = QB_OK;
    for (size_t i = 0; i < count && status == QB_OK; i++)
        status = take_number(path, text, &entries[i], (double *)(void *)((char *)out + entries[i].at));
    return status;
}

/* Open the raw files of the folder. If nothing states the number of rows, it is that of the first file. */
static qb_status open_raw(const qb__vendor *v, const char *folder, qb__source **source) {
    qb__plain layout = {.format = "raw series", .dtype = QB_U16, .shape = {0, v->rows, v->columns}};
    qb__notes files = {0};
    uint64_t bytes;
    layout.swap = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
    layout.longer = "check that the images have the size in the settings";
    qb_status status = qb__list_images(folder, " .raw ", &files);
    if (status == QB_OK && !v->rows) status = qb__file_size(files.text[0], &bytes);
    if (status == QB_OK && !v->rows) layout.shape[1] = (size_t)(bytes / 2 / v->columns);
    layout.shape[0] = files.count;
    qb__notes_release(&files);
    return status == QB_OK ? qb__raw_series_open(folder, &layout, source) : status;
}

static bool holds_raw(const char *folder) {
    bool found = false;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && !found && (entry = readdir(open));) {
        const char *dot = strrchr(entry->d_name, '.');
        found = dot && strcasecmp(dot, ".raw") == 0;
    }
    if (open) closedir(open);
    return found;
}

/* The entry of `place` with that name, in upper or lower case. */
static void find_folder(const char *place, const char *folder, char *path, size_t size) {
    DIR *open = opendir(place);
    snprintf(path, size, "%s/%s", place, folder);
    for (struct dirent *entry; open && (entry = readdir(open));)
        if (strcasecmp(entry->d_name, folder) == 0) snprintf(path, size, "%s/%s", place, entry->d_name);
    if (open) closedir(open);
}

qb_status qb__cabinet_images(const qb__vendor *v, const char *folder, qb__scan_parts *parts) {
    char path[QB__VENDOR_NAME];
    char *place = qb__folder_of(v->path);
    if (!place) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", v->path);
    find_folder(place, folder, path, sizeof path);
    qb__free(place);
    if (!qb__is_folder(path))
        return qb__fail(QB_NOT_FOUND, "%s: its images are missing: put them into a folder %s next to it", v->path,
                        folder);
    return holds_raw(path) ? open_raw(v, path, &parts->data.source) : qb__source_open(path, NULL, &parts->data.source);
}
