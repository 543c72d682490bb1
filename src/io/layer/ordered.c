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
    pthread_cond_t stored; /* the next piece may use it */
} buffer;

typedef struct ordered {
    const qb__ordered *work;
    size_t count, next; /* the next piece to get its place */
    size_t storing;     /* threads that store */
    buffer *buffers;
    pthread_mutex_t lock;
    bool failed;
} ordered;

static buffer *buffer_of(const ordered *o, size_t piece) { return &o->buffers[piece % o->count]; }

/* Waits for the buffer of a piece. NULL: another thread has failed. */
static buffer *take_buffer(ordered *o, size_t piece) {
    buffer *b = buffer_of(o, piece);
    pthread_mutex_lock(&o->lock);
    while (b->piece != piece && !o->failed) pthread_cond_wait(&b->stored, &o->lock);
    const bool good = !o->failed;
    pthread_mutex_unlock(&o->lock);
    return good ? b : NULL;
}

/* Stores all pieces whose turn has come, unless others do already. Call it with the lock, which is released while a
 * piece is stored. */
static qb_status store_ready(ordered *o) {
    const qb__ordered *w = o->work;
    qb_status status = QB_OK;
    if (o->storing >= w->files) return QB_OK; /* they look again before they stop */
    o->storing++;
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
        pthread_cond_signal(&b->stored);
    }
    o->storing--;
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
        for (size_t i = 0; i < o->count; i++) pthread_cond_signal(&o->buffers[i].stored);
    }
    pthread_mutex_unlock(&o->lock);
    return status;
}

size_t qb__ordered_memory(size_t most) { return BUFFERS * qb__round_up(most, 64); }

qb_status qb__pack_in_order(const qb__ordered *work, size_t threads, char *memory) {
    const size_t each = qb__round_up(work->most, 64);
    ordered o = {.work = work, .count = BUFFERS * qb__smaller(threads, work->pieces)};
    if (!work->pieces) return QB_OK;
    QB__OR_RETURN(qb__alloc(o.count, sizeof *o.buffers, &o.buffers));
    pthread_mutex_init(&o.lock, NULL);
    for (size_t i = 0; i < o.count; i++) {
        o.buffers[i] = (buffer){.piece = i, .data = memory + i * each};
        pthread_cond_init(&o.buffers[i].stored, NULL);
    }
    const qb_status status = qb__share(threads, work->pieces, pack_piece, &o);
    for (size_t i = 0; i < o.count; i++) pthread_cond_destroy(&o.buffers[i].stored);
    pthread_mutex_destroy(&o.lock);
    qb__free(o.buffers);
    return status;
}
