/* SPDX-License-Identifier: MIT */
#include "io/publish/paths.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

static const char *const headers[] = {"zarr.json", ".zarray", ".zgroup"};

bool qb__is_zarr(const char *folder) {
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        char *name = qb__join(folder, headers[i]);
        const bool there = name && access(name, F_OK) == 0;
        qb__free(name);
        if (there) return true;
    }
    return false;
}

static bool is_empty(const char *folder) {
    DIR *list = opendir(folder);
    bool empty = list;
    for (struct dirent *entry; empty && (entry = readdir(list));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (list) closedir(list);
    return empty;
}

qb_status qb__store_check(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) return QB_OK;
    if (!S_ISDIR(about.st_mode))
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s exists and is not a folder, and Zarr is one: remove it, or give another name", path);
    if (qb__is_zarr(path) || is_empty(path)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s is a folder that holds other files than Zarr: remove it, or give another name",
                    path);
}
