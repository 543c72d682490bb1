/* SPDX-License-Identifier: MIT */
#include "job/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "io/scan/scan.h"

/* Files by name, size and times: a program that changes a file may reset its modification time, but not that of its
 * inode. */
static void add_files(const qb__inputs *list, uint64_t *hash, uint64_t *bytes) {
    for (size_t i = 0; list && i < list->count; i++) {
        const qb__input *file = &list->file[i];
        struct stat about;
        if (i > 0 && file->inode == file[-1].inode && file->device == file[-1].device) continue;
        /* the kernel that was chosen by this file is a part of the job's identity */
        if (file->advice) continue;
        if (stat(file->path, &about) != 0) continue; /* the job will fail when it reads this file */
        const int64_t what[] = {(int64_t)about.st_ino, (int64_t)about.st_size,        (int64_t)about.st_mtim.tv_sec,
                                about.st_mtim.tv_nsec, (int64_t)about.st_ctim.tv_sec, about.st_ctim.tv_nsec};
        *hash = qb__hash(what, sizeof what, *hash);
        *bytes += (uint64_t)about.st_size;
    }
    for (int i = 0; list && i < 2; i++) add_files(list->also[i], hash, bytes);
}

void qb__job_add_hash(cJSON *json, const char *name, uint64_t hash) {
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    cJSON_AddStringToObject(json, name, text);
}

/* Hash a sample of the array's numbers, because one file may hold several arrays, and --shape sets where an array
 * begins. */
static qb_status add_sample(cJSON *json, qb_scan *scan) {
    const qb_scan_info *info = &scan->info;
    const size_t bytes = info->columns * qb_dtype_size(qb__scan_dtype(scan)), row = info->rows / 2;
    uint64_t hash = 0;
    char *line;
    qb_status status = qb__alloc(bytes, 1, &line);
    for (size_t i = 0; status == QB_OK && i < 3; i++) {
        const size_t view = i * (info->views - 1) / 2;
        status = qb__scan_read_stored(scan, view, view + 1, row, row + 1, line);
        if (status == QB_OK) hash = qb__hash(line, bytes, hash);
    }
    qb__free(line);
    qb__job_add_hash(json, "sampled_data", hash);
    return status;
}

void qb__job_add_files(cJSON *json, const char *path, const qb__inputs *inputs) {
    uint64_t hash = 0, bytes = 0;
    char *name = qb__absolute(path);
    add_files(inputs, &hash, &bytes);
    if (name) cJSON_AddStringToObject(json, "input", name);
    qb__free(name);
    cJSON_AddNumberToObject(json, "input_bytes", (double)bytes);
    qb__job_add_hash(json, "input_files", hash);
}

qb_status qb__job_add_input(cJSON *json, qb_scan *scan, const char *path, const qb__inputs *inputs) {
    const size_t pixels = scan->info.rows * scan->info.columns * sizeof(float);
    uint64_t hash;
    qb__job_add_files(json, path, inputs);
    if (scan->info.image) cJSON_AddStringToObject(json, "images", scan->info.image);
    cJSON_AddStringToObject(json, "quantity", qb_quantity_name(scan->info.quantity));
    hash = qb__hash(scan->angles, scan->angles ? scan->info.views * sizeof *scan->angles : 0, 0);
    hash = qb__hash(scan->flat, scan->flat ? pixels : 0, hash);
    hash = qb__hash(scan->dark, scan->dark ? pixels : 0, hash);
    qb__job_add_hash(json, "angles_and_fields", qb__drift_hash(scan->drift, hash));
    return add_sample(json, scan);
}
