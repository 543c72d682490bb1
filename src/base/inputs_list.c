/* SPDX-License-Identifier: MIT */
/* The list of a job's input files for its provenance. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/status.h"

char *qb__absolute(const char *path) {
    char folder[PATH_MAX], *whole = NULL;
    if (*path == '/' || !getcwd(folder, sizeof folder)) return qb__strdup(path);
    while (strncmp(path, "./", 2) == 0) path += 2;
    const size_t bytes = strlen(folder) + strlen(path) + 2;
    if (qb__alloc(bytes, 1, &whole) == QB_OK) snprintf(whole, bytes, "%s/%s", folder, path);
    return whole;
}

typedef struct entry {
    const qb__input *input;
    char *path;    /* absolute path */
    size_t folder; /* number of characters of its folder */
} entry;

static size_t count_of(const qb__inputs *inputs) {
    size_t count = inputs->count;
    for (int i = 0; i < 2; i++)
        if (inputs->also[i]) count += count_of(inputs->also[i]);
    return count;
}

static bool collect(const qb__inputs *inputs, entry *entries, size_t *count) {
    for (size_t i = 0; i < inputs->count; i++) {
        char *path = qb__absolute(inputs->file[i].path);
        if (!path) return false;
        const char *slash = strrchr(path, '/');
        entries[(*count)++] = (entry){&inputs->file[i], path, slash ? (size_t)(slash - path) : 0};
    }
    for (int i = 0; i < 2; i++)
        if (inputs->also[i] && !collect(inputs->also[i], entries, count)) return false;
    return true;
}

static int by_path(const void *a, const void *b) { return strcmp(((const entry *)a)->path, ((const entry *)b)->path); }

/* Number of files from `at` on that lie in one folder and have different names. */
static size_t in_folder(const entry *entries, size_t at, size_t count) {
    size_t end = at + 1;
    while (end < count && entries[end].folder == entries[at].folder &&
           strncmp(entries[end].path, entries[at].path, entries[at].folder) == 0)
        end++;
    return end - at;
}

static void add_file(cJSON *list, const entry *file) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "path", file->path);
    cJSON_AddNumberToObject(object, "bytes", (double)file->input->bytes);
    if (file->input->hashed) {
        char text[20];
        snprintf(text, sizeof text, "%016" PRIx64, file->input->hash);
        cJSON_AddStringToObject(object, "xxh3", text);
    }
    cJSON_AddItemToArray(list, object);
}

static void add_folder(cJSON *list, const entry *files, size_t count) {
    double bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += (double)files[i].input->bytes;
    cJSON *object = cJSON_CreateObject();
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s/", (int)files->folder, files->path);
    cJSON_AddStringToObject(object, "path", folder);
    cJSON_AddNumberToObject(object, "files", (double)count);
    cJSON_AddNumberToObject(object, "bytes", bytes);
    cJSON_AddItemToArray(list, object);
}

static cJSON *tell(entry *entries, size_t count) {
    enum { MANY = 16 };
    cJSON *list = cJSON_CreateArray();
    qsort(entries, count, sizeof *entries, by_path);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || by_path(&entries[kept - 1], &entries[i]) != 0) {
            const entry moved = entries[kept];
            entries[kept++] = entries[i];
            entries[i] = moved;
        }
    }
    for (size_t i = 0, n; i < kept; i += n) {
        n = in_folder(entries, i, kept);
        if (n > MANY)
            add_folder(list, &entries[i], n);
        else
            for (size_t k = 0; k < n; k++) add_file(list, &entries[i + k]);
    }
    return list;
}

cJSON *qb__inputs_list(const qb__inputs *inputs) {
    const size_t room = count_of(inputs);
    size_t count = 0;
    entry *entries;
    cJSON *list = NULL;
    if (qb__alloc(room + 1, sizeof *entries, &entries) == QB_OK && collect(inputs, entries, &count))
        list = tell(entries, count);
    for (size_t i = 0; i < count; i++) qb__free(entries[i].path);
    qb__free(entries);
    return qb__json_kept(list);
}
