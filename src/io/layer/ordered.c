/* SPDX-License-Identifier: MIT */
#include "io/layer/ordered.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"

enum { BUFFERS = 2 }; /* for each thread */

/* A buffer serves the pieces buffer, buffer + count, buffer + 2 count, ... */
typedef struct buffer {
    size_t piece, bytes; /* the piece that may use it now */
    bool packed;         /* and waits to be stored */
    char *data;
} buffer;

typedef struct ordered {
    const qb__ordered *work;
    size_t count, next; /* the next piece to get its place */
    buffer *buffers;
    pthread_mutex_t lock;
    pthread_cond_t stored;
    bool failed;
} ordered;

static buffer *buffer_of(const ordered *o, size_t piece) { return &o->buffers[piece % o->count]; }

/* Waits for the buffer of a piece. NULL: another thread has failed. */
static buffer *take_buffer(ordered *o, size_t piece) {
    buffer *b = buffer_of(o, piece);
    pthread_mutex_lock(&o->lock);
    while (b->piece != piece && !o->failed) pthread_cond_wait(&o->stored, &o->lock);
    const bool good = !o->failed;
    pthread_mutex_unlock(&o->lock);
    return good ? b : NULL;
}

/* Stores all pieces whose turn has come. Call it with the lock, which is released while a piece is stored. */
static qb_status store_ready(ordered *o) {
    const qb__ordered *w = o->work;
    qb_status status = QB_OK;
    for (buffer *b; status == QB_OK && !o->failed && o->next < w->pieces; b->piece += o->count) {
        const size_t piece = o->next;
        b = buffer_of(o, piece);
        if (!b->packed || b->piece != piece) break;
        status = w->place(w->context, piece, b->bytes);
        if (status != QB_OK) break;
        o->next++;
        b->packed = false;
        pthread_mutex_unlock(&o->lock);
        status = w->store(w->context, piece, b->data, b->bytes);
        pthread_mutex_lock(&o->lock);
        pthread_cond_broadcast(&o->stored);
    }
    return status;
}

static qb_status pack_piece(void *context, size_t piece, size_t worker) {
    ordered *o = context;
    const qb__ordered *w = o->work;
    buffer *b = take_buffer(o, piece);
    if (!b) return QB_OK; /* the other thread reports its failure */
    qb_status status = w->pack(w->context, piece, worker, b->data, &b->bytes);
    pthread_mutex_lock(&o->lock);
    b->packed = status == QB_OK;
    if (status == QB_OK) status = store_ready(o);
    if (status != QB_OK) {
        o->failed = true;
        pthread_cond_broadcast(&o->stored);
    }
    pthread_mutex_unlock(&o->lock);
    return status;
}

size_t qb__ordered_memory(size_t most) { return BUFFERS * (qb__round_up(most, 64) + sizeof(buffer)); }

qb_status qb__pack_in_order(const qb__ordered *work, size_t threads) {
    const size_t each = qb__round_up(work->most, 64);
    ordered o = {.work = work, .count = BUFFERS * qb__smaller(threads, work->pieces)};
    char *memory = NULL;
    qb_status status;
    if (!work->pieces) return QB_OK;
    pthread_mutex_init(&o.lock, NULL);
    pthread_cond_init(&o.stored, NULL);
    QB__TRY(qb__alloc(o.count, sizeof *o.buffers, &o.buffers));
    QB__TRY(qb__alloc(o.count, each, &memory));
    for (size_t i = 0; i < o.count; i++) o.buffers[i] = (buffer){.piece = i, .data = memory + i * each};
    QB__TRY(qb__share(threads, work->pieces, pack_piece, &o));
out:
    pthread_mutex_destroy(&o.lock);
    pthread_cond_destroy(&o.stored);
    qb__free(o.buffers);
    qb__free(memory);
    return status;
}
