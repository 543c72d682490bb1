/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Several threads pack pieces, and the packed pieces are stored one after the other in the order of their numbers, so
 * that a file does not depend on the threads. No thread waits for its turn: a piece that is packed too early waits in
 * one of a few buffers, and the thread that packs the missing piece stores it too. */
typedef struct qb__ordered {
    size_t pieces, most; /* most: the bytes of the longest packed piece */
    /* How many threads may store at a time: the number of files, at most. The operating system lets one thread write to
     * a file at a time, and threads that wait for it could pack. */
    size_t files;
    void *context;
    qb_status (*pack)(void *context, size_t piece, size_t worker, char *out, size_t *bytes);
    /* Decides where the piece is stored. Called for one piece after the other, never for two at a time. */
    qb_status (*place)(void *context, size_t piece, size_t bytes);
    /* Stores it there; up to `files` threads may store different pieces at a time. */
    qb_status (*store)(void *context, size_t piece, const char *packed, size_t bytes);
} qb__ordered;

/* memory: qb__ordered_memory(work->most) for each thread. */
qb_status qb__pack_in_order(const qb__ordered *work, size_t threads, char *memory);
size_t qb__ordered_memory(size_t most);
