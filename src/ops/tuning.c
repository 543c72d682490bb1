/* SPDX-License-Identifier: MIT */
#include "ops/tuning.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "ops/tuning_shipped.h"

enum { FILE_MAX = 4 << 20 };

static size_t class_of(size_t n, size_t most) {
    size_t c = 1;
    while (c < n && c < most) c *= 2;
    return c;
}

static size_t slices_class(const qb__tuning_key *key) {
    return class_of(key->slices, 128);
}

static size_t columns_class(const qb__tuning_key *key) {
    return class_of(key->columns, 1 << 20);
}

const char *qb__tuning_path(void) {
    static _Thread_local char path[1024];
    const char *own = getenv("QB_TUNING"), *config = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    path[0] = 0;
    if (own)
        snprintf(path, sizeof path, "%s", own);
    else if (config && *config)
        snprintf(path, sizeof path, "%s/quickbeam/tuning.json", config);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/.config/quickbeam/tuning.json", home);
    return path;
}

/* The whole file as JSON; NULL when it is absent or broken. */
static cJSON *load(void) {
    struct stat about; /* a pipe would be waited for */
    if (stat(qb__tuning_path(), &about) != 0 || !S_ISREG(about.st_mode)) return NULL;
    FILE *file = fopen(qb__tuning_path(), "rb");
    if (!file) return NULL;
    char *text = NULL;
    cJSON *root = NULL;
    if (qb__alloc(FILE_MAX + 1, 1, &text) == QB_OK) {
        size_t n = fread(text, 1, FILE_MAX, file);
        text[n] = 0;
        root = cJSON_Parse(text);
    }
    qb__free(text);
    fclose(file);
    if (root && !cJSON_IsArray(root)) {
        cJSON_Delete(root);
        root = NULL;
    }
    return root;
}

static double number(const cJSON *row, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static bool is_text(const cJSON *row, const char *name, const char *value) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsString(item) && strcmp(item->valuestring, value) == 0;
}

static bool same_kernel(const cJSON *row, const qb__tuning_key *key) {
    return is_text(row, "device", key->device) && is_text(row, "kernel", key->variant);
}

enum { TOO_FAR = 1000, FEW_SLICES = 8 };

/* Steps of two between shape classes; slices weigh more, since they choose the layout. What was
 * measured with many slices says nothing of a few. */
static int distance(double slices, double columns, const qb__tuning_key *key) {
    int steps = 0;
    double mine = (double)slices_class(key);
    if ((mine < FEW_SLICES || slices < FEW_SLICES) && mine != slices) return TOO_FAR;
    for (double a = (double)slices_class(key), b = slices; a > b || b > a; steps += 4)
        (a > b ? (b *= 2) : (a *= 2));
    for (double a = (double)columns_class(key), b = columns; a > b || b > a; steps++)
        (a > b ? (b *= 2) : (a *= 2));
    return steps;
}

static bool power_of_two(double n) {
    return n >= 1 && n <= 1 << 20 && ((size_t)n & ((size_t)n - 1)) == 0 && n == (double)(size_t)n;
}

static bool read_entry(const cJSON *row, qb__tuning_entry *entry) {
    const cJSON *values = cJSON_GetObjectItemCaseSensitive(row, "values");
    memset(entry, 0, sizeof *entry);
    entry->giga_updates = number(row, "giga_updates_per_second");
    if (!(entry->giga_updates > 0) || !cJSON_IsArray(values) ||
        cJSON_GetArraySize(values) > QB__TUNING_VALUES)
        return false;
    int i = 0;
    const cJSON *value;
    cJSON_ArrayForEach(value, values) entry->values[i++] = value->valueint;
    return true;
}

static int find_in_file(const qb__tuning_key *key, qb__tuning_entry *entry) {
    int least = TOO_FAR;
    cJSON *root = load();
    const cJSON *row;
    cJSON_ArrayForEach(row, root) {
        double slices = number(row, "slices"), columns = number(row, "columns");
        qb__tuning_entry found;
        if (!same_kernel(row, key) || !power_of_two(slices) || !power_of_two(columns)) continue;
        int d = distance(slices, columns, key);
        if (d < least && read_entry(row, &found)) least = d, *entry = found;
    }
    cJSON_Delete(root);
    return least;
}

bool qb__tuning_find(const qb__tuning_key *key, qb__tuning_entry *entry) {
    int least = find_in_file(key, entry);
    if (least < TOO_FAR) return true;
    for (size_t i = 0; i < qb__tuning_shipped_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_shipped_rows[i];
        if (strcmp(row->key.device, key->device) || strcmp(row->key.variant, key->variant))
            continue;
        int d = distance((double)row->key.slices, (double)row->key.columns, key);
        if (d < least) least = d, *entry = row->entry;
    }
    return least < TOO_FAR || qb__tuning_paper_find(key, slices_class(key) < FEW_SLICES, entry);
}

static cJSON *new_row(const qb__tuning_key *key, const qb__tuning_entry *entry) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "device", key->device);
    cJSON_AddStringToObject(row, "kernel", key->variant);
    cJSON_AddNumberToObject(row, "slices", (double)slices_class(key));
    cJSON_AddNumberToObject(row, "columns", (double)columns_class(key));
    cJSON_AddItemToObject(row, "values", cJSON_CreateIntArray(entry->values, QB__TUNING_VALUES));
    cJSON_AddNumberToObject(row, "giga_updates_per_second", entry->giga_updates);
    return row;
}

static void make_folders(const char *path) {
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(folder,
              0777); /* what is there already stays; what fails shows when the file is opened */
        *at = '/';
    }
}

static qb_status save(const cJSON *root) {
    const char *path = qb__tuning_path();
    char temporary[1100];
    if (!*path)
        return qb__fail(QB_IO, "there is no home to keep tuning.json in: set QB_TUNING=FILE");
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    char *text = cJSON_Print(root);
    if (!text) return qb__fail(QB_NO_MEMORY, "no memory for %s", path);
    FILE *file = fopen(temporary, "wb");
    bool ok = file && fputs(text, file) >= 0;
    if (file && fclose(file) != 0) ok = false;
    cJSON_free(text);
    if (ok && rename(temporary, path) == 0) return QB_OK;
    int error = errno;
    unlink(temporary);
    return qb__fail_errno(error, "writing", path);
}

/* Reading, changing and writing belong together: two programs that tune at once must not lose one
 * another's rows. A lock on the file itself would go with it when the new one takes its name. */
static int lock_file(void) {
    char name[1100];
    if (!*qb__tuning_path()) return -1;
    make_folders(qb__tuning_path());
    snprintf(name, sizeof name, "%s.lock", qb__tuning_path());
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    return fd; /* without a lock we write all the same, as file systems without locks need it */
}

qb_status qb__tuning_store(const qb__tuning_key *key, const qb__tuning_entry *entry) {
    int lock = lock_file();
    cJSON *root = load();
    if (!root) root = cJSON_CreateArray();
    for (int i = cJSON_GetArraySize(root) - 1; i >= 0; i--) {
        const cJSON *row = cJSON_GetArrayItem(root, i);
        if (same_kernel(row, key) && number(row, "slices") == (double)slices_class(key) &&
            number(row, "columns") == (double)columns_class(key))
            cJSON_DeleteItemFromArray(root, i);
    }
    cJSON_AddItemToArray(root, new_row(key, entry));
    qb_status status = save(root);
    cJSON_Delete(root);
    if (lock >= 0) close(lock);
    return status;
}
