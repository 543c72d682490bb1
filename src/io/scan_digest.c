/* SPDX-License-Identifier: MIT */
#include "io/scan_digest.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/memory.h"
#include "io/scan.h"

size_t qb__scan_digest_bytes(const qb_scan_info *info) {
    return qb__hash_known() ? info->views * info->rows / 8 + sizeof(uint64_t) : 0;
}

void qb__scan_digest_release(qb__scan_digest *digest) {
    qb__free((void *)digest->seen);
    digest->seen = NULL;
}

qb_status qb__scan_digest_begin(qb_scan *scan, size_t row0, size_t row1) {
    const qb_scan_info *info = &scan->info;
    qb__scan_digest *digest = &scan->digest;
    qb__scan_digest_release(digest);
    if (!qb__hash_known()) return QB_OK;
    digest->views = info->views, digest->rows = info->rows;
    digest->row0 = row0, digest->row1 = row1;
    digest->bytes = info->columns * qb_dtype_size(info->dtype);
    digest->left = info->views * (row1 - row0);
    digest->sum = 0;
    return qb__alloc(info->views * info->rows / 64 + 1, sizeof(uint64_t), &digest->seen);
}

void qb__scan_digest_add(qb__scan_digest *digest, size_t view0, size_t view1, size_t row0,
                         size_t row1, const void *data) {
    const char *line = data;
    if (!digest->seen) return;
    for (size_t view = view0; view < view1; view++) {
        for (size_t row = row0; row < row1; row++, line += digest->bytes) {
            if (row < digest->row0 || row >= digest->row1) continue;
            const size_t place = view * digest->rows + row;
            const uint64_t bit = (uint64_t)1 << place % 64;
            if (atomic_fetch_or(&digest->seen[place / 64], bit) & bit) continue;
            atomic_fetch_add(&digest->sum, qb__hash(line, digest->bytes, place));
            atomic_fetch_sub(&digest->left, 1);
        }
    }
}

static void add_hash(cJSON *to, const char *name, uint64_t hash) {
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    cJSON_AddStringToObject(to, name, text);
}

static void add_array(cJSON *to, const char *name, const void *values, size_t bytes) {
    if (values) add_hash(to, name, qb__hash(values, bytes, 0));
}

cJSON *qb__scan_digest_tell(const qb_scan *scan) {
    const qb__scan_digest *digest = &scan->digest;
    const size_t pixels = scan->info.rows * scan->info.columns;
    if (!qb__hash_known()) return NULL;
    cJSON *told = cJSON_CreateObject();
    if (digest->seen && digest->left == 0) {
        cJSON *rows = cJSON_AddObjectToObject(told, "projections");
        cJSON_AddNumberToObject(rows, "first_row", (double)digest->row0);
        cJSON_AddNumberToObject(rows, "last_row", (double)digest->row1 - 1);
        add_hash(rows, "xxh3", digest->sum);
    }
    add_array(told, "flats", scan->flat, pixels * sizeof *scan->flat);
    add_array(told, "darks", scan->dark, pixels * sizeof *scan->dark);
    add_array(told, "angles", scan->angles, scan->info.views * sizeof *scan->angles);
    return told;
}
