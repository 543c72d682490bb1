/* SPDX-License-Identifier: MIT */
/* The folder of the benchmarks' files. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "bench/bench_io.h"

qb_status qb__bench_folder_create(qb__bench_folder *folder) {
    const char *tmp = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/quickbeam-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (mkdtemp(folder->path)) return QB_OK;
    return qb__fail_errno(errno, "creating a folder like", folder->path);
}

qb_status qb__bench_folder_in(const char *folder, qb__bench_folder *made) {
    const int n = snprintf(made->path, sizeof made->path, "%s/.quickbeam-measure-XXXXXX", folder);
    if (n >= (int)sizeof made->path) return qb__fail(QB_BAD_ARGUMENT, "%s: the name is too long", folder);
    if (mkdtemp(made->path)) return QB_OK;
    return qb__fail_errno(errno, "creating a folder in", folder);
}

void qb__bench_file(const qb__bench_folder *folder, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s", folder->path, name);
}

void qb__bench_folder_remove(const qb__bench_folder *folder) {
    DIR *list = opendir(folder->path);
    char path[sizeof folder->path + sizeof((struct dirent *)0)->d_name + 1];
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        if (entry->d_name[0] == '.' && strspn(entry->d_name, ".") == strlen(entry->d_name)) continue;
        qb__bench_file(folder, entry->d_name, path, sizeof path);
        unlink(path);
    }
    if (list) closedir(list);
    rmdir(folder->path);
}
