/* SPDX-License-Identifier: MIT */
/* qb bench io: rates of the temporary folder's storage with 1, 2, 4, ... threads. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_io.h"
#include "io/plain/source.h"
#include "io/writer.h"
#include "planner/storage.h"
#include "planner/tuning.h"

enum { BLOCK = 4 << 20, ROUNDS = 3, NAME = 640 };

typedef struct sweep {
    const qb__bench_folder *folder;
    size_t bytes, files; /* bytes of all files; number of files, for reading: pieces of one file */
    char *data;          /* [files][BLOCK] */
} sweep;

static void name_of(const sweep *s, size_t file, char name[NAME]) {
    char part[32];
    snprintf(part, sizeof part, "part%zu", file);
    qb__bench_file(s->folder, part, name, NAME);
}

/* Write a new file until it is on the disk, as a job's outputs are. */
static qb_status write_one(void *context, size_t file, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const size_t bytes = s->bytes / s->files;
    char name[NAME];
    name_of(s, file, name);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return qb__fail_errno(errno, "creating", name);
    qb_status status = QB_OK;
    for (size_t at = 0; at < bytes && status == QB_OK; at += BLOCK)
        status = qb__pwrite_all(fd, name, s->data + file * BLOCK, qb__smaller(BLOCK, bytes - at), at);
    if (status == QB_OK && fsync(fd) != 0) status = qb__fail_errno(errno, "writing", name);
    close(fd);
    return status;
}

/* Read a block of the one file. */
static qb_status read_one(void *context, size_t piece, size_t worker) {
    const sweep *s = context;
    char name[NAME];
    name_of(s, 0, name);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", name);
    const size_t at = piece * BLOCK;
    qb_status status = qb__pread_all(fd, name, s->data + worker * BLOCK, qb__smaller(BLOCK, s->bytes - at), at);
    close(fd);
    return status;
}

static void remove_all(const sweep *s) {
    char name[NAME];
    for (size_t i = 0; i < s->files; i++) {
        name_of(s, i, name);
        unlink(name);
    }
}

static qb_status measure(sweep *s, size_t threads, double *write, double *read) {
    double writing[ROUNDS], reading[ROUNDS];
    qb_status status = QB_OK;
    for (int i = 0; i < ROUNDS && status == QB_OK; i++) {
        s->files = threads;
        writing[i] = qb__now();
        status = qb__share(threads, threads, write_one, s);
        writing[i] = qb__now() - writing[i];
        remove_all(s);
        s->files = 1;
        if (status == QB_OK) status = write_one(s, 0, 0);
        reading[i] = qb__now();
        if (status == QB_OK) status = qb__share(threads, qb__ceil_div(s->bytes, BLOCK), read_one, s);
        reading[i] = qb__now() - reading[i];
        remove_all(s);
    }
    if (status != QB_OK) return status;
    *write = (double)s->bytes / qb__median(writing, ROUNDS);
    *read = (double)s->bytes / qb__median(reading, ROUNDS);
    return QB_OK;
}

/* Measures the rate for rising numbers of threads. When the time is over, the last rate is used for more threads. */
static qb_status measure_all(sweep *s, double seconds, qb__storage *storage) {
    const double end = qb__now() + seconds;
    for (int i = 0; i < QB__STORAGE_STEPS; i++) {
        if (i > 0 && qb__now() > end) {
            storage->write[i] = storage->write[i - 1];
            storage->read[i] = storage->read[i - 1];
            continue;
        }
        QB__OR_RETURN(measure(s, (size_t)1 << i, &storage->write[i], &storage->read[i]));
    }
    return QB_OK;
}

qb_status qb__storage_measure(const char *folder, size_t bytes, double seconds, const qb_env *env) {
    qb__bench_folder at;
    sweep s = {.folder = &at, .bytes = bytes};
    qb__storage storage;
    const size_t most = (size_t)1 << (QB__STORAGE_STEPS - 1);
    qb_status status = qb__bench_folder_in(folder, &at);
    if (status != QB_OK) return status;
    QB__TRY(qb__alloc(most, BLOCK, &s.data));
    memset(s.data, 1, most * BLOCK);
    QB__TRY(measure_all(&s, seconds, &storage));
    status = qb__storage_store(folder, &storage, env);
out:
    qb__free(s.data);
    qb__bench_folder_remove(&at);
    return status;
}

qb_status qb__bench_storage(const qb__bench_folder *folder, size_t bytes, const qb_env *env, cJSON *result) {
    sweep s = {.folder = folder, .bytes = bytes};
    qb__storage storage;
    const size_t most = (size_t)1 << (QB__STORAGE_STEPS - 1);
    qb_status status = qb__alloc(most, BLOCK, &s.data);
    if (status != QB_OK) return status;
    memset(s.data, 1, most * BLOCK);
    cJSON *list = cJSON_AddArrayToObject(result, "storage");
    QB__TRY(measure_all(&s, INFINITY, &storage));
    for (int i = 0; i < QB__STORAGE_STEPS; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "threads", (double)(1 << i));
        cJSON_AddNumberToObject(row, "write_files_gigabytes_per_second", storage.write[i] * 1e-9);
        cJSON_AddNumberToObject(row, "read_file_gigabytes_per_second", storage.read[i] * 1e-9);
        cJSON_AddItemToArray(list, row);
    }
    cJSON_AddNumberToObject(result, "files_that_pay", (double)qb__storage_pays(storage.write));
    QB__TRY(qb__storage_store(folder->path, &storage, env));
    if (*qb__tuning_path()) qb__info(env, "kept in %s, for plans of what is written there", qb__tuning_path());
out:
    qb__free(s.data);
    return status;
}
