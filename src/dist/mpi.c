/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* sched_getaffinity */
/* libquickbeam_mpi*.so: transport of ranks by MPI. These objects are opened (mpi_find.c) only in processes that a
 * launcher has started. The threads of a job never block inside MPI: every transfer is started and then tested with
 * growing pauses, so that a waiting rank takes little CPU time. */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dist/mpi.h"

enum { PIECE = 1 << 30, NOTICE = 1, WATCH_NS = 50000000, JOINING_S = 20 }; /* counts of MPI are ints */

typedef struct world world;
struct world {
    MPI_Comm all, notices;
    pthread_mutex_t *lock, own; /* MPI_THREAD_SERIALIZED: one lock for a comm and all its parts */
    MPI_Request *requests;      /* [2 * count] running requests */
    world *whole;               /* the comm that this is a part of; NULL: none */
    pthread_t watch;
    bool watched, broken, joined; /* joined: the time of MPI's own start counts as work of the other ranks */
    _Atomic bool warned, closing;
    _Atomic int heard;
    _Atomic bool tells;
    MPI_Request *told; /* [count] requests of the notices that this rank sent; NULL = none */
    int rank, count;
};

static world *whole_of(world *w) { return w->whole ? w->whole : w; }

static bool failed(qb__comm *comm, int error) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    if (error == MPI_SUCCESS) return false;
    whole_of(comm->own)->broken = true;
    MPI_Error_string(error, text, &n);
    snprintf(comm->trouble, sizeof comm->trouble, "%.250s", text);
    return true;
}

static void pause_for(long nanoseconds) {
    const struct timespec time = {0, nanoseconds};
    nanosleep(&time, NULL);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* How to wait: test without pause until that time, then sleep at most so long between two tests. If MPI cannot copy
 * from process to process, which many containers forbid, a transfer proceeds only inside a test, by 32 KiB each. So
 * tests are frequent for as long as the bytes may take. With pauses up to a millisecond, 2 GB took half a minute. */
typedef struct patience {
    double until;
    long longest; /* ns */
} patience;

static patience for_bytes(size_t bytes) {
    enum { FEW = 1 << 16 };
    static const double slow = 5e8; /* bytes per second */
    return (patience){seconds() + (double)bytes / slow, bytes > FEW ? 100000 : 1000000};
}

static bool wait_for(qb__comm *comm, int error, MPI_Request *request, patience asked) {
    enum { EAGER = 100 };
    world *w = comm->own;
    long pause = 10000;
    int done = 0;
    const double from = seconds();
    for (int turn = 0; error == MPI_SUCCESS && !done; turn++) {
        pthread_mutex_lock(w->lock);
        error = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(w->lock);
        if (done || error != MPI_SUCCESS) break;
        if (turn < EAGER || seconds() < asked.until) {
            sched_yield();
            continue;
        }
        pause_for(pause);
        if (pause < asked.longest) pause += pause / 2;
        if (whole_of(w)->joined || seconds() - from < JOINING_S) continue;
        snprintf(comm->trouble, sizeof comm->trouble, "not all of them have come within %d seconds", JOINING_S);
        return false;
    }
    return !failed(comm, error);
}

/* ---- transfers ---- */

static bool gather(qb__comm *comm, const void *mine, size_t bytes, void *all) {
    world *w = comm->own;
    MPI_Request request;
    pthread_mutex_lock(w->lock);
    const int error = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, w->all, &request);
    pthread_mutex_unlock(w->lock);
    return wait_for(comm, error, &request, for_bytes(bytes * (size_t)comm->count));
}

typedef enum way { BCAST, SEND, RECEIVE } way;

static bool pass(qb__comm *comm, way how, int peer, void *data, size_t bytes) {
    world *w = comm->own;
    for (size_t at = 0; at < bytes; at += PIECE) {
        char *piece = (char *)data + at;
        const int n = (int)(bytes - at < PIECE ? bytes - at : PIECE);
        MPI_Request request;
        pthread_mutex_lock(w->lock);
        const int error = how == BCAST  ? MPI_Ibcast(piece, n, MPI_BYTE, peer, w->all, &request)
                          : how == SEND ? MPI_Isend(piece, n, MPI_BYTE, peer, 0, w->all, &request)
                                        : MPI_Irecv(piece, n, MPI_BYTE, peer, 0, w->all, &request);
        pthread_mutex_unlock(w->lock);
        if (!wait_for(comm, error, &request, for_bytes((size_t)n))) return false;
    }
    return true;
}

static bool bcast(qb__comm *comm, int from, void *data, size_t bytes) { return pass(comm, BCAST, from, data, bytes); }

static bool send(qb__comm *comm, int to, const void *data, size_t bytes) {
    return pass(comm, SEND, to, (void *)data, bytes);
}

static bool receive(qb__comm *comm, int from, void *data, size_t bytes) {
    return pass(comm, RECEIVE, from, data, bytes);
}

/* ---- parts ---- */

static int begin_piece(world *w, bool out, int peer, const qb__comm_part *part, size_t at, int *begun, size_t *bytes,
                       bool *more) {
    if (at >= part->bytes) return MPI_SUCCESS;
    const size_t left = part->bytes - at;
    const int n = (int)(left < PIECE ? left : PIECE);
    MPI_Request *request = &w->requests[(*begun)++];
    *bytes += (size_t)n;
    *more = *more || left > PIECE;
    pthread_mutex_lock(w->lock);
    const int error = out ? MPI_Isend((char *)part->data + at, n, MPI_BYTE, peer, 1, w->all, request)
                          : MPI_Irecv((char *)part->data + at, n, MPI_BYTE, peer, 1, w->all, request);
    pthread_mutex_unlock(w->lock);
    return error;
}

/* Every rank begins with its next neighbour, so that not all send to the first rank at once. */
static bool exchange(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in) {
    world *w = comm->own;
    const int mine = comm->rank, count = comm->count;
    bool more = true;
    if (out[mine].bytes) memcpy(in[mine].data, out[mine].data, out[mine].bytes);
    for (size_t at = 0; more; at += PIECE) {
        int begun = 0, error = MPI_SUCCESS;
        size_t bytes = 0;
        more = false;
        for (int step = 1; step < count && error == MPI_SUCCESS; step++) {
            const int from = (mine + count - step) % count, to = (mine + step) % count;
            error = begin_piece(w, false, from, &in[from], at, &begun, &bytes, &more);
            if (error == MPI_SUCCESS) error = begin_piece(w, true, to, &out[to], at, &begun, &bytes, &more);
        }
        if (failed(comm, error)) return false;
        const patience asked = for_bytes(bytes);
        for (int i = 0; i < begun; i++)
            if (!wait_for(comm, MPI_SUCCESS, &w->requests[i], asked)) return false;
    }
    return true;
}

static bool split(qb__comm *comm, int colour, qb__comm *part) {
    world *w = comm->own, *own = calloc(1, sizeof *own);
    MPI_Request *requests = calloc(2 * (size_t)comm->count, sizeof *requests);
    if (!own || !requests) {
        snprintf(comm->trouble, sizeof comm->trouble, "no memory");
        free(requests);
        free(own);
        return false;
    }
    part->own = own;
    own->requests = requests;
    own->lock = w->lock;
    own->whole = w;
    pthread_mutex_lock(w->lock);
    const int error = MPI_Comm_split(w->all, colour, comm->rank, &own->all);
    pthread_mutex_unlock(w->lock);
    if (failed(comm, error)) {
        free(requests);
        free(own);
        return false;
    }
    MPI_Comm_set_errhandler(own->all, MPI_ERRORS_RETURN);
    MPI_Comm_rank(own->all, &part->rank);
    MPI_Comm_size(own->all, &part->count);
    return true;
}

/* ---- notices of failure ---- */

static char notice; /* message of one byte without content */

static void warn(qb__comm *comm) {
    world *w = whole_of(comm->own);
    if (atomic_exchange(&w->tells, true)) return;
    /* without memory the others notice at the next exchange */
    if (!(w->told = calloc((size_t)w->count, sizeof *w->told))) return;
    pthread_mutex_lock(w->lock);
    for (int i = 0; i < w->count; i++) {
        w->told[i] = MPI_REQUEST_NULL;
        if (i != w->rank) MPI_Isend(&notice, 1, MPI_BYTE, i, NOTICE, w->notices, &w->told[i]);
    }
    pthread_mutex_unlock(w->lock);
}

static bool warned(qb__comm *comm) { return atomic_load_explicit(&whole_of(comm->own)->warned, memory_order_relaxed); }

/* Notices that have arrived. */
static void listen(world *w) {
    int there = 1;
    while (there) {
        MPI_Status from;
        char byte;
        pthread_mutex_lock(w->lock);
        if (MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, w->notices, &there, &from) != MPI_SUCCESS) there = 0;
        if (there) MPI_Recv(&byte, 1, MPI_BYTE, from.MPI_SOURCE, NOTICE, w->notices, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(w->lock);
        if (!there) return;
        atomic_fetch_add(&w->heard, 1);
        atomic_store(&w->warned, true);
    }
}

static void *watch(void *own) {
    world *w = own;
    while (!atomic_load(&w->closing)) {
        listen(w);
        pause_for(WATCH_NS);
    }
    return NULL;
}

/* ---- create and destroy ---- */

/* Receive everything that others sent and wait for everything that was sent, so that MPI ends without running
 * transfers. If a rank is lost, this is skipped. */
static void close_world(qb__comm *comm, int warnings) {
    world *w = comm->own;
    if (w->whole) {
        if (!w->whole->broken) MPI_Comm_free(&w->all);
        free(w->requests);
        free(w);
        return;
    }
    atomic_store(&w->closing, true);
    if (w->watched) pthread_join(w->watch, NULL);
    if (w->broken) MPI_Abort(w->all, 1);
    while (atomic_load(&w->heard) < warnings) {
        listen(w);
        pause_for(100000);
    }
    for (int i = 0; w->told && i < w->count; i++) MPI_Wait(&w->told[i], MPI_STATUS_IGNORE);
    MPI_Barrier(w->all); /* no rank ends before all have printed their messages */
    MPI_Comm_free(&w->notices);
    MPI_Comm_free(&w->all);
    MPI_Finalize();
    pthread_mutex_destroy(&w->own);
    free(w->told);
    free(w->requests);
    free(w);
}

/* Machine of a rank. */
typedef struct place {
    char host[64];
    cpu_set_t cpus;
} place;

static bool find_neighbours(qb__comm *comm) {
    place mine = {.host = "?"}, *all = calloc((size_t)comm->count, sizeof *all);
    CPU_ZERO(&mine.cpus);
    gethostname(mine.host, sizeof mine.host - 1);
    sched_getaffinity(0, sizeof mine.cpus, &mine.cpus);
    snprintf(comm->host, sizeof comm->host, "%s", mine.host);
    if (!all) snprintf(comm->trouble, sizeof comm->trouble, "no memory");
    const bool good = all && gather(comm, &mine, sizeof mine, all);
    for (int i = 0; good && i < comm->count; i++) {
        if (strcmp(all[i].host, mine.host) != 0) continue;
        comm->at += i < comm->rank;
        comm->here++;
        comm->sharing += CPU_EQUAL(&all[i].cpus, &mine.cpus) != 0;
    }
    free(all);
    return good;
}

static const qb__comm_calls calls = {gather, bcast, send, receive, exchange, split, warn, warned, close_world};

/* MPI_Comm_dup would wait for ever for a rank that died after MPI began. */
static bool copy(qb__comm *comm, MPI_Comm *mine) {
    MPI_Request request;
    const int error = MPI_Comm_idup(MPI_COMM_WORLD, mine, &request);
    return wait_for(comm, error, &request, for_bytes(0));
}

static bool begin(qb__comm *comm, const int launched) {
    world *w = comm->own;
    int given;
    pthread_mutex_init(&w->own, NULL);
    w->lock = &w->own;
    if (failed(comm, MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given))) return false;
    if (given < MPI_THREAD_SERIALIZED) {
        snprintf(comm->trouble, sizeof comm->trouble, "this MPI library lets one thread alone call it");
        return false;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!copy(comm, &w->all) || !copy(comm, &w->notices)) return false;
    MPI_Comm_set_errhandler(w->all, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(w->notices, MPI_ERRORS_RETURN);
    MPI_Comm_rank(w->all, &comm->rank);
    MPI_Comm_size(w->all, &comm->count);
    if (comm->count != launched) {
        snprintf(comm->trouble, sizeof comm->trouble,
                 "the launcher has started %d processes, and MPI knows of %d: it is another MPI's launcher", launched,
                 comm->count);
        return false;
    }
    w->rank = comm->rank, w->count = comm->count;
    if (!(w->requests = calloc(2 * (size_t)w->count, sizeof *w->requests))) {
        snprintf(comm->trouble, sizeof comm->trouble, "no memory");
        return false;
    }
    w->watched = pthread_create(&w->watch, NULL, watch, w) == 0;
    w->joined = find_neighbours(comm);
    return w->joined;
}

__attribute__((visibility("default"))) bool qb_mpi_open(size_t bytes, qb__comm *comm);

bool qb_mpi_open(size_t bytes, qb__comm *comm) {
    if (bytes != sizeof *comm) {
        snprintf(comm->trouble, sizeof comm->trouble, "libquickbeam_mpi*.so is of another build");
        return false;
    }
    world *w = calloc(1, sizeof *w);
    if (!w) {
        snprintf(comm->trouble, sizeof comm->trouble, "no memory");
        return false;
    }
    comm->own = w;
    comm->calls = &calls;
    return begin(comm, comm->count);
}
