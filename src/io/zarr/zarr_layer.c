/* SPDX-License-Identifier: MIT */
/* A layer of an array: all files with the same number along z. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/layer/gather.h"
#include "io/publish/paths.h"
#include "io/zarr/zarr.h"

typedef struct layer {
    const qb__zarr_array *array;
    const char *folder, *path;
    size_t number;
    qb__images images;
    size_t across; /* number of files along x */
    char *memory;
} layer;

static size_t most(const qb__zarr_array *a) { return qb__codec_most(a->codec, qb__zarr_bytes(a)); }

size_t qb__zarr_layer_memory(const qb__zarr_array *a) {
    return qb__zarr_bytes(a) + most(a) + (a->sharded ? qb__zarr_chunks(a) * 16 + 8 : 0) + 64;
}

static void put_word(char *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (char)(value >> 8 * i);
}

/* Write a file: its chunks one after the other, then for each chunk where it begins and how long it is. */
static qb_status put_file(const layer *l, int fd, size_t down, size_t across, char *memory) {
    const qb__zarr_array *a = l->array;
    const size_t bytes = qb__zarr_bytes(a), chunks = qb__zarr_chunks(a), wide = a->file[2] / a->chunk[2];
    char *packed = memory + bytes, *index = packed + most(a);
    uint64_t at = 0;
    qb_status status = QB_OK;
    for (size_t i = 0; i < chunks && status == QB_OK; i++) {
        const size_t row = down * a->file[1] + i / wide * a->chunk[1],
                     column = across * a->file[2] + i % wide * a->chunk[2];
        size_t length = 0;
        const bool outside = row >= a->shape[1] || column >= a->shape[2];
        if (!outside) {
            qb__gather(&l->images, a->chunk, row, column, memory);
            const char *from = a->codec == QB__CODEC_NONE ? memory : packed;
            length = bytes;
            if (a->codec != QB__CODEC_NONE)
                status = qb__codec_pack(a->codec, l->path, qb_dtype_size(a->dtype), memory, bytes, packed, &length);
            if (status == QB_OK) status = qb__pwrite_all(fd, l->path, from, length, at);
        }
        if (!a->sharded) continue;
        put_word(index + 16 * i, outside ? UINT64_MAX : at, 8);
        put_word(index + 16 * i + 8, outside ? UINT64_MAX : length, 8);
        at += length;
    }
    if (status != QB_OK || !a->sharded) return status;
    put_word(index + 16 * chunks, qb__crc32c(index, 16 * chunks), 4);
    return qb__pwrite_all(fd, l->path, index, 16 * chunks + 4, at);
}

/* Make all folders of a file's name. */
static qb_status make_folders(const char *name, size_t from, const char *path) {
    char part[4096];
    snprintf(part, sizeof part, "%s", name);
    for (char *slash = strchr(part + from + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return qb__fail_errno(errno, "creating", path);
        *slash = '/';
    }
    return QB_OK;
}

/* Write a file under a temporary name, which is renamed when it is complete. If the process dies before, the file is
 * removed when the writer finishes. */
static qb_status write_file(void *context, size_t piece, size_t worker) {
    const layer *l = context;
    const size_t at[3] = {l->number, piece / l->across, piece % l->across};
    char name[4096], fresh[4096 + 64];
    qb__zarr_name(l->array, l->folder, at, name, sizeof name);
    snprintf(fresh, sizeof fresh, "%s/" QB__ZARR_FRESH "%ld-%zu-%zu-%zu", l->folder, (long)getpid(), at[0], at[1],
             at[2]);
    qb_status status = make_folders(name, strlen(l->folder), l->path);
    if (status != QB_OK) return status;
    const int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return qb__fail_errno(errno, "creating", l->path);
    status = put_file(l, fd, at[1], at[2], l->memory + worker * qb__zarr_layer_memory(l->array));
    if (status == QB_OK && rename(fresh, name) != 0) status = qb__fail_errno(errno, "writing", l->path);
    if (status == QB_OK) qb__start_writeback(fd, 0, 0);
    if (close(fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", l->path);
    if (status != QB_OK) unlink(fresh);
    return status;
}

static size_t files_across(const qb__zarr_array *a) { return qb__ceil_div(a->shape[2], a->file[2]); }

static qb_status sync_file(void *context, size_t piece, size_t worker) {
    const layer *l = context;
    const size_t at[3] = {l->number, piece / l->across, piece % l->across};
    char name[4096];
    (void)worker;
    qb__zarr_name(l->array, l->folder, at, name, sizeof name);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    const int error = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0) close(fd);
    return error ? qb__fail_errno(error, "writing", l->path) : QB_OK;
}

qb_status qb__zarr_sync_layer(const qb__zarr_array *a, const char *folder, const char *path, size_t number,
                              size_t threads) {
    layer l = {.array = a, .folder = folder, .path = path, .number = number, .across = files_across(a)};
    return qb__share(threads, l.across * qb__ceil_div(a->shape[1], a->file[1]), sync_file, &l);
}

qb_status qb__zarr_put_layer(const qb__zarr_array *a, const char *folder, const char *path, size_t number,
                             const void *data, size_t stride, size_t threads) {
    const size_t count = qb__smaller(a->file[0], a->shape[0] - number * a->file[0]);
    const qb__images images = {data, stride, count, a->shape[1], a->shape[2], qb_dtype_size(a->dtype)};
    layer l = {a, folder, path, number, images, files_across(a), NULL};
    const size_t files = l.across * qb__ceil_div(a->shape[1], a->file[1]);
    threads = qb__smaller(threads, files);
    qb_status status = qb__alloc(threads, qb__zarr_layer_memory(a), &l.memory);
    if (status == QB_OK) status = qb__share(threads, files, write_file, &l);
    qb__free(l.memory);
    return status;
}
