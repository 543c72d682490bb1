/* SPDX-License-Identifier: MIT */
#include "io/scan_digest.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/share.h"

size_t qb__scan_digest_bytes(const qb_scan_info *info) {
    return qb__hash_known() ? info->views * info->rows / 8 + sizeof(uint64_t) : 0;
}

void qb__scan_digest_release(qb__scan_digest *digest) {
    qb__free((void *)digest->seen);
    digest->seen = NULL;
}

qb_status qb__scan_digest_begin(qb__scan_digest *digest, const qb_scan_info *info, size_t row0, size_t row1) {
    qb__scan_digest_release(digest);
    if (!qb__hash_known()) return QB_OK;
    digest->views = info->views, digest->rows = info->rows;
    digest->row0 = row0, digest->row1 = row1;
    digest->bytes = info->columns * qb_dtype_size(info->dtype);
    digest->left = info->views * (row1 - row0);
    digest->sum = 0;
    return qb__alloc(info->views * info->rows / 64 + 1, sizeof(uint64_t), &digest->seen);
}

/* Lines of one read: those of view0's rows row0 <= row < row1, then of the next view's. */
typedef struct {
    qb__scan_digest *digest;
    size_t view0, row0, rows, count, piece; /* lines; lines a piece */
    const char *data;
} lines;

static qb_status add_piece(void *context, size_t piece, size_t worker) {
    const lines *l = context;
    qb__scan_digest *digest = l->digest;
    (void)worker;
    const size_t end = qb__smaller((piece + 1) * l->piece, l->count);
    uint64_t sum = 0;
    size_t added = 0;
    for (size_t i = piece * l->piece; i < end; i++) {
        const size_t row = l->row0 + i % l->rows;
        if (row < digest->row0 || row >= digest->row1) continue;
        const size_t place = (l->view0 + i / l->rows) * digest->rows + row;
        const uint64_t bit = (uint64_t)1 << place % 64;
        if (atomic_fetch_or(&digest->seen[place / 64], bit) & bit) continue;
        sum += qb__hash(l->data + i * digest->bytes, digest->bytes, place);
        added++;
    }
    atomic_fetch_add(&digest->sum, sum);
    atomic_fetch_sub(&digest->left, added);
    return QB_OK;
}

void qb__scan_digest_add(qb__scan_digest *digest, size_t view0, size_t view1, size_t row0,
                         size_t row1, const void *data, size_t threads) {
    if (!digest->seen) return;
    lines l = {digest, view0, row0, row1 - row0, (view1 - view0) * (row1 - row0), 0, data};
    l.piece = qb__larger(1, ((size_t)1 << 20) / digest->bytes); /* less is not worth a thread */
    qb__share(threads, qb__ceil_div(l.count, l.piece), add_piece, &l);
}

static void add_hash(cJSON *to, const char *name, uint64_t hash) {
    char text[20];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    cJSON_AddStringToObject(to, name, text);
}

static void add_array(cJSON *to, const char *name, const void *values, size_t bytes) {
    if (values) add_hash(to, name, qb__hash(values, bytes, 0));
}

cJSON *qb__scan_digest_tell(const qb__scan_digest *digest, const qb_scan_info *info, const float *flat,
                            const float *dark, const double *angles) {
    const size_t pixels = info->rows * info->columns;
    if (!qb__hash_known()) return NULL;
    cJSON *told = cJSON_CreateObject();
    if (digest->seen && digest->left == 0) {
        cJSON *rows = cJSON_AddObjectToObject(told, "projections");
        cJSON_AddNumberToObject(rows, "first_row", (double)digest->row0);
        cJSON_AddNumberToObject(rows, "last_row", (double)digest->row1 - 1);
        add_hash(rows, "xxh3", digest->sum);
    }
    add_array(told, "flats", flat, pixels * sizeof *flat);
    add_array(told, "darks", dark, pixels * sizeof *dark);
    add_array(told, "angles", angles, info->views * sizeof *angles);
    return told;
}
