/* SPDX-License-Identifier: MIT */
#include "job/job.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "io/scan/scan.h"

static void add_hash(cJSON *to, const char *name, uint64_t hash) {
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    cJSON_AddStringToObject(to, name, text);
}

static void add_values(cJSON *to, const char *name, const void *values, size_t bytes) {
    if (values) add_hash(to, name, qb__hash(values, bytes, 0));
}

void qb__content_add(cJSON *content, const char *name, const void *values, size_t bytes) {
    if (qb__hash_known()) add_values(content, name, values, bytes);
}

void qb__content_add_hash(cJSON *content, const char *name, uint64_t hash) {
    if (qb__hash_known()) add_hash(content, name, hash);
}

void qb__content_add_images(cJSON *content, const char *name, const qb__digest *digest) {
    if (qb__digest_whole(digest)) add_hash(content, name, digest->sum);
}

static void add_scan(cJSON *to, const qb_scan *scan, const qb__digest *digest) {
    const qb_scan_info *info = &scan->info;
    const size_t pixels = info->rows * info->columns;
    if (qb__digest_whole(digest)) {
        cJSON *rows = cJSON_AddObjectToObject(to, "projections");
        cJSON_AddNumberToObject(rows, "first_row", (double)digest->row0);
        cJSON_AddNumberToObject(rows, "last_row", (double)digest->row1 - 1);
        add_hash(rows, "xxh3", digest->sum);
    }
    add_values(to, "flats", scan->flat, pixels * sizeof *scan->flat);
    add_values(to, "darks", scan->dark, pixels * sizeof *scan->dark);
    add_values(to, "angles", scan->angles, info->views * sizeof *scan->angles);
}

cJSON *qb__content(const cJSON *content, const qb_scan *scan, const qb__digest *digest) {
    if (!qb__hash_known()) return NULL;
    cJSON *told = cJSON_Duplicate(content, true);
    if (told && scan) add_scan(told, scan, digest);
    if (told && !told->child) {
        cJSON_Delete(told);
        return NULL;
    }
    return qb__json_kept(told);
}
