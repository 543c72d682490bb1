/* SPDX-License-Identifier: MIT */
#include "dist/nccl.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"
#include "device/library.h"

/* The part of NCCL's binary interface that is used, unchanged since 2.14, which introduced non-blocking
 * initialisation. */
typedef struct unique_id {
    char bytes[128];
} unique_id;

typedef struct config { /* the first fields of NCCL's structure; the others keep their defaults */
    size_t size;
    unsigned magic, version;
    int blocking;
} config;

enum { SUCCESS = 0, IN_PROGRESS = 7, INT8 = 0, OLDEST = 21400, MAGIC = (int)0xcafebeef };

/* X(field, symbol, result, arguments) */
#define SYMBOLS(X)                                                                                                     \
    X(version, "ncclGetVersion", int, (int *))                                                                         \
    X(text, "ncclGetErrorString", const char *, (int))                                                                 \
    X(make_id, "ncclGetUniqueId", int, (unique_id *))                                                                  \
    X(join, "ncclCommInitRankConfig", int, (void **, int, unique_id, int, config *))                                   \
    X(state, "ncclCommGetAsyncError", int, (void *, int *))                                                            \
    X(leave, "ncclCommDestroy", int, (void *))                                                                         \
    X(give_up, "ncclCommAbort", int, (void *))                                                                         \
    X(group, "ncclGroupStart", int, (void))                                                                            \
    X(group_end, "ncclGroupEnd", int, (void))                                                                          \
    X(send, "ncclSend", int, (const void *, size_t, int, int, void *, void *))                                         \
    X(receive, "ncclRecv", int, (void *, size_t, int, int, void *, void *))

static struct {
#define FIELD(field, symbol, result, arguments) result(*field) arguments;
    SYMBOLS(FIELD)
#undef FIELD
} api;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[QB__NCCL_WORDS], named[32];

struct qb__nccl {
    qb__comm *comm;
    qb__device *device;
    void *own;
    int trouble; /* result of the initialisation */
};

static void open_once(void) {
#define NAME(field, symbol, result, arguments) symbol,
    static const char *const symbols[] = {SYMBOLS(NAME)}, *const files[] = {"libnccl.so.2", NULL};
#undef NAME
    const char *absent;
    char why[512];
    int version = 0;
    void *library = qb__library_open("QB_LIBNCCL", files, why, sizeof why);
    if (!library)
        snprintf(missing, sizeof missing, "%.190s", why);
    else if (!qb__library_symbols(library, symbols, sizeof symbols / sizeof *symbols, &api, &absent))
        snprintf(missing, sizeof missing, "NCCL is older than 2.14: it lacks %.100s", absent);
    else if (api.version(&version) != SUCCESS || version < OLDEST)
        snprintf(missing, sizeof missing, "NCCL says that it is of version %d, 2.14 is needed", version);
    snprintf(named, sizeof named, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

const char *qb__nccl_version(void) { return named; }

/* ---- who can ---- */

typedef struct member {
    char host[64], why[QB__NCCL_WORDS];
    unsigned char identity[16];
} member;

static void look(const qb__comm *comm, const qb__device *device, member *mine) {
    const qb__device_info *info = qb__device_info_of(device);
    static const unsigned char unknown[sizeof info->identity];
    *mine = (member){.host = ""};
    memcpy(mine->host, comm->host, sizeof mine->host);
    memcpy(mine->identity, info->identity, sizeof mine->identity);
    if (info->api != QB__API_CUDA) {
        snprintf(mine->why, sizeof mine->why, "NCCL is for CUDA devices");
        return;
    }
    pthread_once(&once, open_once);
    snprintf(mine->why, sizeof mine->why, "%s", missing);
    if (!*missing && memcmp(info->identity, unknown, sizeof unknown) == 0)
        snprintf(mine->why, sizeof mine->why, "the driver does not say which device is which");
}

/* The same result on all ranks. */
static bool all_can(const qb__comm *comm, const member *all, char *why) {
    for (int i = 0; i < comm->count; i++) {
        if (!*all[i].why) continue;
        snprintf(why, QB__NCCL_WORDS, "%.199s", all[i].why);
        return false;
    }
    for (int i = 1; i < comm->count; i++) {
        for (int k = 0; k < i; k++) {
            if (memcmp(all[i].identity, all[k].identity, sizeof all->identity) != 0) continue;
            snprintf(why, QB__NCCL_WORDS, "NCCL wants a device for each rank, and two have the same one on %.60s",
                     all[i].host);
            return false;
        }
    }
    return true;
}

/* ---- joining ---- */

typedef struct ticket {
    unique_id id;
    int result;
} ticket;

static int begin(qb__nccl *nccl, const ticket *all) {
    config how = {sizeof how, (unsigned)MAGIC, OLDEST, 0};
    if (qb__device_enter(nccl->device) != QB_OK) return -1;
    const int result = api.join(&nccl->own, nccl->comm->count, all->id, nccl->comm->rank, &how);
    qb__device_leave(nccl->device);
    return result;
}

qb_status qb__nccl_begin(qb__comm *comm, qb__device *device, qb__nccl **out, char why[QB__NCCL_WORDS]) {
    member mine, *all = NULL;
    qb__nccl *nccl = NULL;
    ticket first = {.result = SUCCESS};
    *out = NULL;
    look(comm, device, &mine);
    qb_status status = qb__alloc((size_t)comm->count, sizeof *all, &all);
    if (status == QB_OK) status = qb__alloc(1, sizeof *nccl, &nccl);
    status = qb__comm_gather(comm, status, &mine, sizeof mine, all);
    if (status != QB_OK || !all_can(comm, all, why)) goto out;
    if (comm->rank == 0) first.result = api.make_id(&first.id);
    status = qb__comm_bcast(comm, QB_OK, 0, &first, sizeof first);
    if (status != QB_OK) goto out;
    *nccl = (qb__nccl){.comm = comm, .device = device, .trouble = first.result};
    if (first.result == SUCCESS) nccl->trouble = begin(nccl, &first);
    *out = nccl;
    nccl = NULL;
out:
    QB__FREE(nccl, all);
    return status;
}

/* Wait for a non-blocking call: returns its result, or that it did not end within `seconds`. */
static int settle(const qb__nccl *nccl, double seconds) {
    const struct timespec pause = {0, 200000};
    const double soon = 1e-3; /* most calls end within this time */
    const double from = qb__now();
    int state = IN_PROGRESS;
    while (api.state(nccl->own, &state) == SUCCESS && state == IN_PROGRESS) {
        if (qb__comm_warned(nccl->comm) || qb__now() - from > seconds) return IN_PROGRESS;
        if (qb__now() - from < soon)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
    return state;
}

static const char *words_of(int result) {
    return result == IN_PROGRESS ? "it takes too long" : result == -1 ? "the device cannot be used" : api.text(result);
}

/* State of a rank's initialisation. */
typedef struct progress {
    int state, late;
} progress;

/* The worst state of all ranks: failed; waited too long; not ready; SUCCESS. */
static progress worst(const progress *all, int count) {
    progress one = {.state = SUCCESS};
    for (int i = 0; i < count; i++) {
        if (all[i].state == SUCCESS) continue;
        if (all[i].state != IN_PROGRESS || all[i].late) return (progress){all[i].state, 1};
        one.state = IN_PROGRESS;
    }
    return one;
}

/* If a rank fails, tell the others at once, because they would wait for it. */
qb_status qb__nccl_join(qb__nccl **own, char why[QB__NCCL_WORDS]) {
    const double PATIENCE = 20, from = qb__now();
    qb__nccl *nccl = *own;
    progress mine = {.state = nccl->trouble}, of_all = {.state = IN_PROGRESS}, *all = NULL;
    qb_status status = qb__alloc((size_t)nccl->comm->count, sizeof *all, &all);
    while (status == QB_OK && of_all.state == IN_PROGRESS && !of_all.late) {
        if (mine.state == SUCCESS || mine.state == IN_PROGRESS) mine.state = settle(nccl, 0.05);
        mine.late = qb__now() - from > PATIENCE;
        status = qb__comm_gather(nccl->comm, QB_OK, &mine, sizeof mine, all);
        if (status == QB_OK) of_all = worst(all, nccl->comm->count);
    }
    qb__free(all);
    if (status == QB_OK && of_all.state == SUCCESS) return QB_OK;
    snprintf(why, QB__NCCL_WORDS, "NCCL cannot connect the devices: %.150s", words_of(of_all.state));
    qb__nccl_give_up(nccl);
    *own = NULL;
    return status;
}

/* ---- transfers ---- */

static char *address(const qb__nccl_part *part) {
    return (char *)(uintptr_t)qb__memory_native(part->memory) + part->offset;
}

static int pass(const qb__nccl *nccl, void *stream, const qb__nccl_part *out, const qb__nccl_part *in) {
    const int mine = nccl->comm->rank, count = nccl->comm->count;
    int result = api.group();
    for (int step = 1; step < count && result == SUCCESS; step++) {
        const int to = (mine + step) % count, from = (mine + count - step) % count;
        if (out[to].bytes) result = api.send(address(&out[to]), out[to].bytes, INT8, to, nccl->own, stream);
        if (result == SUCCESS && in[from].bytes)
            result = api.receive(address(&in[from]), in[from].bytes, INT8, from, nccl->own, stream);
    }
    const int ended = api.group_end();
    if (result != SUCCESS) return result;
    return ended == SUCCESS || ended == IN_PROGRESS ? settle(nccl, 20) : ended;
}

qb_status qb__nccl_exchange(qb__nccl *nccl, qb__queue *queue, const qb__nccl_part *out, const qb__nccl_part *in) {
    QB__OR_RETURN(qb__device_enter(nccl->device));
    const int result = pass(nccl, (void *)(uintptr_t)qb__queue_native(queue), out, in);
    qb__device_leave(nccl->device);
    if (result == IN_PROGRESS && qb__comm_warned(nccl->comm)) return qb__fail(QB_CANCELLED, "another rank has failed");
    return result == SUCCESS ? QB_OK
                             : qb__fail(QB_NO_DEVICE, "NCCL cannot send what is to be summed: %s", words_of(result));
}

/* ---- the end ---- */

static void end(qb__nccl *nccl, int (*by)(void *)) {
    if (nccl->own && qb__device_enter(nccl->device) == QB_OK) {
        by(nccl->own);
        qb__device_leave(nccl->device);
    }
    qb__free(nccl);
}

void qb__nccl_close(qb__nccl *nccl) {
    if (nccl) end(nccl, api.leave);
}

void qb__nccl_give_up(qb__nccl *nccl) {
    if (nccl) end(nccl, api.give_up);
}
