/* SPDX-License-Identifier: MIT */
/* NCCL without GPUs: the ranks are processes or threads of one machine, whose device memory is host memory
 * (mock_cuda.c). They leave what they send in files of a folder. Nothing blocks: joining and receiving are complete
 * when ncclCommGetAsyncError finds them complete. MOCK_NCCL_FAIL=CALL:RANK (init, send) makes that call fail on that
 * rank. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    SYSTEM_ERROR = 2,
    INVALID_ARGUMENT = 4,
    INVALID_USAGE = 5,
    IN_PROGRESS = 7,
    MOST = 64,
    FOLDER = 100
};

typedef struct unique_id {
    char folder[128];
} unique_id;

typedef struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
} config;

typedef struct transfer {
    struct communicator *own;
    int peer; /* sends are done before the group ends */
    void *to;
    size_t bytes;
    unsigned number;
} transfer;

typedef struct communicator {
    char folder[FOLDER];
    int rank, count, joined, state;
    unsigned sent[MOST], received[MOST];
    transfer waits[MOST];
    int waiting;
} communicator;

static _Thread_local int depth;

static int fails(const char *call, int rank) {
    const char *asked = getenv("MOCK_NCCL_FAIL");
    char own[32];
    snprintf(own, sizeof own, "%s:%d", call, rank);
    return asked && strcmp(asked, own) == 0;
}

EXPORT int ncclGetVersion(int *version) {
    const char *said = getenv("MOCK_NCCL_VERSION");
    *version = said ? atoi(said) : 22703;
    return SUCCESS;
}

EXPORT const char *ncclGetErrorString(int result) {
    return result == SYSTEM_ERROR    ? "unhandled system error (played)"
           : result == INVALID_USAGE ? "invalid usage (played)"
                                     : "other (played)";
}

EXPORT int ncclGetUniqueId(unique_id *id) {
    const char *base = getenv("TMPDIR");
    memset(id, 0, sizeof *id);
    snprintf(id->folder, FOLDER, "%.60s/mock-nccl-XXXXXX", base ? base : "/tmp");
    return mkdtemp(id->folder) ? SUCCESS : SYSTEM_ERROR;
}

static int there(const char *path) { return access(path, F_OK) == 0; }

static void clear(const char *folder) {
    DIR *list = opendir(folder);
    char path[400];
    for (struct dirent *one; list && (one = readdir(list));) {
        snprintf(path, sizeof path, "%s/%s", folder, one->d_name);
        unlink(path);
    }
    if (list) closedir(list);
    rmdir(folder);
}

/* The last rank removes the folder. */
static int end(communicator *own) {
    char path[200];
    snprintf(path, sizeof path, "%s/left-%d", own->folder, own->rank);
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
    int gone = 0;
    for (int i = 0; i < own->count; i++) {
        snprintf(path, sizeof path, "%s/left-%d", own->folder, i);
        gone += there(path);
    }
    if (gone == own->count) clear(own->folder);
    free(own);
    return SUCCESS;
}

EXPORT int ncclCommInitRankConfig(void **out, int count, unique_id id, int rank, config *how) {
    char path[200];
    if (how->magic != 0xcafebeef || how->version < 21400 || how->size < sizeof *how || how->blocking || count > MOST)
        return INVALID_ARGUMENT;
    communicator *own = calloc(1, sizeof *own);
    if (!own) return SYSTEM_ERROR;
    *own = (communicator){.rank = rank, .count = count, .state = IN_PROGRESS};
    memcpy(own->folder, id.folder, FOLDER);
    own->folder[FOLDER - 1] = 0;
    snprintf(path, sizeof path, "%s/rank-%d", own->folder, rank);
    if (fails("init", rank)) {
        end(own);
        return SYSTEM_ERROR;
    }
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
    *out = own;
    return IN_PROGRESS;
}

static int all_joined(const communicator *own) {
    for (int i = 0; i < own->count; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/rank-%d", own->folder, i);
        if (!there(path)) return 0;
    }
    return 1;
}

static int take(const transfer *t) {
    char path[200];
    struct stat about;
    snprintf(path, sizeof path, "%s/%d-%d-%u", t->own->folder, t->peer, t->own->rank, t->number);
    if (stat(path, &about) != 0) return IN_PROGRESS;
    FILE *file = fopen(path, "r");
    const int whole = file && (size_t)about.st_size == t->bytes && fread(t->to, 1, t->bytes, file) == t->bytes;
    if (file) fclose(file);
    unlink(path);
    return whole ? SUCCESS : INVALID_USAGE;
}

EXPORT int ncclCommGetAsyncError(void *comm, int *state) {
    communicator *own = comm;
    if (!own->joined && all_joined(own)) own->joined = 1, own->state = SUCCESS;
    int left = 0;
    for (int i = 0; i < own->waiting; i++) {
        const int result = take(&own->waits[i]);
        if (result == IN_PROGRESS)
            own->waits[left++] = own->waits[i];
        else if (result != SUCCESS)
            own->state = result;
    }
    own->waiting = left;
    *state = own->state != SUCCESS ? own->state : left ? IN_PROGRESS : SUCCESS;
    return SUCCESS;
}

EXPORT int ncclCommDestroy(void *comm) {
    communicator *own = comm;
    return own->waiting || !own->joined ? INVALID_USAGE : end(own);
}

EXPORT int ncclCommAbort(void *comm) { return end(comm); }

EXPORT int ncclGroupStart(void) {
    depth++;
    return SUCCESS;
}

EXPORT int ncclGroupEnd(void) { return depth-- > 0 ? IN_PROGRESS : INVALID_USAGE; }

EXPORT int ncclSend(const void *from, size_t bytes, int type, int peer, void *comm, void *stream) {
    communicator *own = comm;
    char path[200], part[208];
    if (type != 0 || peer < 0 || peer >= own->count || !stream || !own->joined || depth == 0) return INVALID_ARGUMENT;
    if (fails("send", own->rank)) return SYSTEM_ERROR;
    snprintf(path, sizeof path, "%s/%d-%d-%u", own->folder, own->rank, peer, own->sent[peer]++);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    const int whole = file && fwrite(from, 1, bytes, file) == bytes;
    if (file) fclose(file);
    return whole && rename(part, path) == 0 ? SUCCESS : SYSTEM_ERROR;
}

EXPORT int ncclRecv(void *to, size_t bytes, int type, int peer, void *comm, void *stream) {
    communicator *own = comm;
    if (type != 0 || peer < 0 || peer >= own->count || !stream || !own->joined || depth == 0 || own->waiting == MOST)
        return INVALID_ARGUMENT;
    own->waits[own->waiting++] = (transfer){own, peer, to, bytes, own->received[peer]++};
    return SUCCESS;
}
