/* SPDX-License-Identifier: MIT */
#include "io/digest.h"

#include <pthread.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/share.h"

size_t qb__digest_bytes(size_t images, size_t rows) {
    return qb__hash_known() ? images * rows / 8 + sizeof(uint64_t) : 0;
}

void qb__digest_release(qb__digest *digest) {
    qb__free((void *)digest->seen);
    digest->seen = NULL;
}

qb_status qb__digest_begin(qb__digest *digest, size_t images, size_t rows, size_t row_bytes, size_t row0, size_t row1) {
    qb__digest_release(digest);
    if (!qb__hash_known()) return QB_OK;
    digest->rows = rows;
    digest->row0 = row0, digest->row1 = row1;
    digest->bytes = row_bytes;
    digest->left = images * (row1 - row0);
    digest->sum = 0;
    return qb__alloc(images * rows / 64 + 1, sizeof(uint64_t), &digest->seen);
}

void qb__digest_except(qb__digest *digest, size_t image0, size_t image1) {
    qb__digest_except_rows(digest, image0, image1, digest->row0, digest->row1);
}

void qb__digest_except_rows(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1) {
    for (size_t image = image0; digest->seen && image < image1; image++) {
        for (size_t place = image * digest->rows + row0; place < image * digest->rows + row1; place++)
            digest->seen[place / 64] |= (uint64_t)1 << place % 64;
        digest->left -= row1 - row0;
    }
}

bool qb__digest_whole(const qb__digest *digest) { return digest->seen && digest->left == 0; }

/* Lines of one read: those of image0's rows row0 <= row < row1, then those of the next image, `apart` lines later. */
typedef struct {
    qb__digest *digest;
    size_t image0, row0, rows, apart, count, piece; /* number of lines; lines per piece */
    const char *data;
} lines;

static qb_status add_piece(void *context, size_t piece, size_t worker) {
    const lines *l = context;
    qb__digest *digest = l->digest;
    (void)worker;
    const size_t end = qb__smaller((piece + 1) * l->piece, l->count);
    uint64_t sum = 0;
    size_t added = 0;
    for (size_t i = piece * l->piece; i < end; i++) {
        const size_t image = i / l->rows, line = i % l->rows, row = l->row0 + line;
        if (row < digest->row0 || row >= digest->row1) continue;
        const size_t place = (l->image0 + image) * digest->rows + row;
        const uint64_t bit = (uint64_t)1 << place % 64;
        if (atomic_fetch_or(&digest->seen[place / 64], bit) & bit) continue;
        sum += qb__hash(l->data + (image * l->apart + line) * digest->bytes, digest->bytes, place);
        added++;
    }
    atomic_fetch_add(&digest->sum, sum);
    atomic_fetch_sub(&digest->left, added);
    return QB_OK;
}

static void add_lines(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                      size_t apart, size_t threads) {
    if (!digest->seen) return;
    lines l = {digest, image0, row0, row1 - row0, apart, (image1 - image0) * (row1 - row0), 0, data};
    l.piece = qb__larger(1, ((size_t)1 << 20) / digest->bytes); /* smaller pieces are not worth a thread */
    qb__share(threads, qb__ceil_div(l.count, l.piece), add_piece, &l);
}

void qb__digest_add(qb__digest *digest, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                    size_t threads) {
    add_lines(digest, image0, image1, row0, row1, data, row1 - row0, threads);
}

/* ---- digests of one scan ---- */

/* Protects the lists only; not held while hashing. */
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;

void qb__digest_attach(qb__digest **list, qb__digest *digest) {
    pthread_mutex_lock(&lists);
    digest->next = *list;
    digest->leaves = false;
    *list = digest;
    pthread_mutex_unlock(&lists);
}

void qb__digest_detach(qb__digest **list, qb__digest *digest) {
    pthread_mutex_lock(&lists);
    digest->leaves = true;
    while (digest->adding) pthread_cond_wait(&added, &lists);
    while (*list && *list != digest) list = &(*list)->next;
    if (*list) *list = digest->next;
    pthread_mutex_unlock(&lists);
}

/* A digest that is being added to stays in its list until that is done, so that its successor can be found. */
void qb__digests_add(qb__digest **list, size_t image0, size_t image1, size_t row0, size_t row1, const void *data,
                     size_t apart, size_t threads) {
    pthread_mutex_lock(&lists);
    for (qb__digest *digest = *list; digest; digest = digest->next) {
        if (digest->leaves) continue;
        digest->adding++;
        pthread_mutex_unlock(&lists);
        add_lines(digest, image0, image1, row0, row1, data, apart, threads);
        pthread_mutex_lock(&lists);
        if (--digest->adding == 0) pthread_cond_broadcast(&added);
    }
    pthread_mutex_unlock(&lists);
}
