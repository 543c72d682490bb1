/* SPDX-License-Identifier: MIT */
#include "planner/storage.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/memory.h"
#include "io/formats.h"
#include "planner/tuning.h"

static const char write_name[] = "write_bytes_per_second", read_name[] = "read_bytes_per_second";

/* "/a/b" -> "/a" -> "/" */
static void go_up(char *path) {
    char *slash = strrchr(path, '/');
    slash[slash == path] = 0;
}

/* The mount point of the file system for a file at `path`; false if its folder does not exist. */
static bool mounted_at(const char *path, char mount[PATH_MAX]) {
    char above[PATH_MAX];
    struct stat here, next;
    char *folder = qb__is_folder(path) ? qb__strdup(path) : qb__folder_of(path);
    bool there = folder && realpath(folder, mount) && stat(mount, &here) == 0;
    qb__free(folder);
    while (there && mount[1]) {
        snprintf(above, sizeof above, "%s", mount);
        go_up(above);
        if (stat(above, &next) != 0 || next.st_dev != here.st_dev) break;
        snprintf(mount, PATH_MAX, "%s", above);
    }
    return there;
}

/* The file may hold anything. */
static bool take(const cJSON *row, const char *name, double rate[QB__STORAGE_STEPS]) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(row, name), *number;
    int n = 0;
    cJSON_ArrayForEach(number, list) {
        if (n == QB__STORAGE_STEPS || !cJSON_IsNumber(number) ||
            !(number->valuedouble >= 1e5 && number->valuedouble <= 1e13))
            return false;
        rate[n++] = number->valuedouble;
    }
    return n == QB__STORAGE_STEPS;
}

static bool is_of(const cJSON *row, const char *mount) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(row, "storage");
    return cJSON_IsString(name) && strcmp(name->valuestring, mount) == 0;
}

bool qb__storage_find(const char *path, qb__storage *storage) {
    char mount[PATH_MAX] = "";
    bool found = false, there = path;
    const cJSON *rows = qb__tuning_borrow(), *row;
    cJSON_ArrayForEach(row, rows) {
        if (!there || !cJSON_GetObjectItemCaseSensitive(row, "storage")) continue;
        /* searched only when needed, because it takes several system calls */
        if (!*mount) there = mounted_at(path, mount);
        if (there && is_of(row, mount))
            found = take(row, write_name, storage->write) && take(row, read_name, storage->read);
    }
    qb__tuning_return();
    return found;
}

/* ---- what is listed ---- */

/* Built-in rates. Files in memory: the slower of two hosts with an H200 and 16 cores, in whole jobs, with new files
 * (the other one read 23 GB/s). Disks: an estimate that only needs to be right within a factor of two. */
static const qb__storage in_memory = {{2e9, 4e9, 7e9, 12e9, 18e9}, {3e9, 6e9, 9e9, 13e9, 16e9}},
                         on_disk = {{1e9, 1e9, 1e9, 1e9, 1e9}, {1.5e9, 1.5e9, 1.5e9, 1.5e9, 1.5e9}};

/* The folder may not exist yet. */
bool qb__storage_in_memory(const char *path) {
    enum { TMPFS = 0x01021994, RAMFS = (int)0x858458f6 };
    struct statfs about;
    char *at = qb__strdup(path);
    int failed = -1;
    while (at && (failed = statfs(at, &about)) != 0 && strcmp(at, ".") != 0 && strcmp(at, "/") != 0) {
        char *above = qb__folder_of(at);
        qb__free(at);
        at = above;
    }
    qb__free(at);
    return failed == 0 && ((int)about.f_type == TMPFS || (int)about.f_type == RAMFS);
}

const char *qb__storage_of(const char *path, qb__storage *storage) {
    if (qb__storage_find(path, storage)) return "measured";
    const bool memory = path && qb__storage_in_memory(path);
    *storage = memory ? in_memory : on_disk;
    return memory ? "listed of files in memory" : "listed";
}

static cJSON *new_row(const char *mount, const qb__storage *storage) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "storage", mount);
    cJSON_AddItemToObject(row, write_name, cJSON_CreateDoubleArray(storage->write, QB__STORAGE_STEPS));
    cJSON_AddItemToObject(row, read_name, cJSON_CreateDoubleArray(storage->read, QB__STORAGE_STEPS));
    return row;
}

qb_status qb__storage_store(const char *path, const qb__storage *storage, const qb_env *env) {
    char mount[PATH_MAX];
    cJSON *rows = NULL;
    if (!*qb__tuning_path() || !mounted_at(path, mount)) return QB_OK;
    int lock = qb__tuning_lock(env);
    qb_status status = qb__tuning_read(&rows);
    if (status == QB_OK) {
        for (cJSON *row = rows->child, *next; row; row = next) {
            next = row->next;
            if (is_of(row, mount)) cJSON_Delete(cJSON_DetachItemViaPointer(rows, row));
        }
        cJSON_AddItemToArray(rows, new_row(mount, storage));
        status = qb__tuning_write(rows);
    }
    cJSON_Delete(rows);
    qb__tuning_unlock(lock);
    return status;
}

size_t qb__storage_pays(const double rate[QB__STORAGE_STEPS]) {
    double most = 0;
    int step = 0;
    for (int i = 0; i < QB__STORAGE_STEPS; i++) most = rate[i] > most ? rate[i] : most;
    while (rate[step] < 0.9 * most) step++;
    return (size_t)1 << step;
}

double qb__storage_rate(const double rate[QB__STORAGE_STEPS], size_t threads) {
    int step = 0;
    while (step + 1 < QB__STORAGE_STEPS && (size_t)2 << step <= threads) step++;
    return rate[step];
}
