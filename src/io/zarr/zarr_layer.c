/* SPDX-License-Identifier: MIT */
/* A layer of an array: all files with the same number along z. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/layer/gather.h"
#include "io/layer/ordered.h"
#include "io/plain/source.h"
#include "io/publish/paths.h"
#include "io/zarr/zarr.h"

enum { NAME = 4096, AT_ONCE = 8 /* files that are written at a time */ };

/* A file that is being written. */
typedef struct output {
    int fd; /* -1: not opened yet, or closed */
    uint64_t tail;
    size_t left; /* chunks that are not stored yet */
    char *index; /* for each chunk where it begins and how long it is */
} output;

typedef struct layer {
    const qb__zarr_array *array;
    const char *folder, *path;
    size_t number;
    qb__chunk_images images;
    size_t across, count; /* number of files along x; of all */
    char *memory;         /* per worker: a chunk */
    size_t chunks;        /* number of chunks in a file */
    output *files;
    pthread_mutex_t lock; /* of `left` */
    qb__zarr_more more;
    size_t every; /* one piece of so many is of `more`, until they are done */
} layer;

/* Whether a piece is of `more`; *number: which of them, or which chunk. */
static bool is_more(const layer *l, size_t piece, size_t *number) {
    const size_t before = qb__smaller(piece / l->every, l->more.count);
    const bool more = before < l->more.count && piece % l->every == l->every - 1;
    *number = more ? before : piece - before;
    return more;
}

/* The file of a chunk; *chunk: which of the file's. Neighbours are in different files, so that threads do not wait. */
static size_t file_of(const layer *l, size_t number, size_t *chunk) {
    return qb__layer_turn(number, l->count, l->chunks, AT_ONCE, chunk);
}

static size_t most(const qb__zarr_array *a) { return qb__codec_most(a->codec, qb__zarr_bytes(a)); }

size_t qb__zarr_layer_memory(const qb__zarr_array *a) { return qb__zarr_bytes(a) + qb__ordered_memory(most(a)); }

static size_t index_bytes(const qb__zarr_array *a) { return a->sharded ? qb__zarr_chunks(a) * 16 + 4 : 0; }

static void put_word(char *to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) to[i] = (char)(value >> 8 * i);
}

/* Packs a chunk; its length is 0 if it lies outside the array. */
static qb_status pack_chunk(const layer *l, size_t piece, size_t worker, char *out, size_t *length) {
    const qb__zarr_array *a = l->array;
    const size_t bytes = qb__zarr_bytes(a), wide = a->file[2] / a->chunk[2];
    size_t chunk;
    const size_t file = file_of(l, piece, &chunk);
    const size_t row = file / l->across * a->file[1] + chunk / wide * a->chunk[1],
                 column = file % l->across * a->file[2] + chunk % wide * a->chunk[2];
    const bool packed = a->codec != QB__CODEC_NONE;
    char *memory = packed ? l->memory + worker * bytes : out;
    *length = 0;
    if (row >= a->shape[1] || column >= a->shape[2]) return QB_OK;
    qb__gather(&l->images, a->chunk, row, column, memory);
    *length = bytes;
    return packed ? qb__codec_pack(a->codec, l->path, qb_dtype_size(a->dtype), memory, bytes, out, length) : QB_OK;
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

static void name_file(const layer *l, size_t file, char name[NAME], char fresh[NAME]) {
    const size_t at[3] = {l->number, file / l->across, file % l->across};
    qb__zarr_name(l->array, l->folder, at, name, NAME);
    snprintf(fresh, NAME, "%.*s/" QB__ZARR_FRESH "%ld-%zu-%zu-%zu", NAME - 100, l->folder, (long)getpid(), at[0], at[1],
             at[2]);
}

/* A file has a temporary name until it is complete. If the process dies before, the file is removed when the writer
 * finishes. */
static qb_status open_file(layer *l, size_t file) {
    output *f = &l->files[file];
    char name[NAME], fresh[NAME];
    name_file(l, file, name, fresh);
    QB__OR_RETURN(make_folders(name, strlen(l->folder), l->path));
    f->fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0) return qb__fail_errno(errno, "creating", l->path);
    f->left = qb__zarr_chunks(l->array);
    return QB_OK;
}

static qb_status close_file(layer *l, size_t file) {
    output *f = &l->files[file];
    const size_t bytes = index_bytes(l->array);
    char name[NAME], fresh[NAME];
    qb_status status = QB_OK;
    name_file(l, file, name, fresh);
    if (bytes) put_word(f->index + bytes - 4, qb__crc32c(f->index, bytes - 4), 4);
    if (bytes) status = qb__pwrite_all(f->fd, l->path, f->index, bytes, f->tail);
    if (status == QB_OK && rename(fresh, name) != 0) status = qb__fail_errno(errno, "writing", l->path);
    if (status == QB_OK) qb__start_writeback(f->fd, 0, 0);
    if (close(f->fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", l->path);
    f->fd = -1;
    if (status != QB_OK) unlink(fresh);
    return status;
}

/* After a failure: files that are not complete. */
static void remove_files(layer *l, size_t files) {
    char name[NAME], fresh[NAME];
    for (size_t i = 0; i < files; i++) {
        if (l->files[i].fd < 0) continue;
        name_file(l, i, name, fresh);
        close(l->files[i].fd);
        unlink(fresh);
    }
}

/* In a file the chunks follow each other. */
static qb_status place_chunk(layer *l, size_t piece, size_t length) {
    size_t chunk;
    const size_t file = file_of(l, piece, &chunk);
    output *f = &l->files[file];
    const qb_status status = chunk == 0 ? open_file(l, file) : QB_OK;
    if (status != QB_OK || !l->array->sharded) return status;
    put_word(f->index + 16 * chunk, length ? f->tail : UINT64_MAX, 8);
    put_word(f->index + 16 * chunk + 8, length ? length : UINT64_MAX, 8);
    f->tail += length;
    return QB_OK;
}

static uint64_t start_of(const layer *l, size_t file, size_t chunk) {
    uint64_t at = 0;
    for (size_t i = 8; l->array->sharded && i-- > 0;)
        at = at << 8 | (unsigned char)l->files[file].index[16 * chunk + i];
    return at;
}

static qb_status store_chunk(layer *l, size_t piece, const char *packed, size_t length) {
    size_t chunk;
    const size_t file = file_of(l, piece, &chunk);
    output *f = &l->files[file];
    QB__OR_RETURN(length ? qb__pwrite_all(f->fd, l->path, packed, length, start_of(l, file, chunk)) : QB_OK);
    pthread_mutex_lock(&l->lock);
    const bool whole = --f->left == 0;
    pthread_mutex_unlock(&l->lock);
    return whole ? close_file(l, file) : QB_OK;
}

static qb_status pack_piece(void *context, size_t piece, size_t worker, char *out, size_t *length) {
    const layer *l = context;
    size_t number;
    *length = 0;
    if (is_more(l, piece, &number)) return l->more.run(l->more.context, number, worker);
    return pack_chunk(l, number, worker, out, length);
}

static qb_status place_piece(void *context, size_t piece, size_t length) {
    size_t number;
    return is_more(context, piece, &number) ? QB_OK : place_chunk(context, number, length);
}

static qb_status store_piece(void *context, size_t piece, const char *packed, size_t length) {
    size_t number;
    return is_more(context, piece, &number) ? QB_OK : store_chunk(context, number, packed, length);
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
                             const void *data, size_t stride, size_t threads, char *memory, const qb__zarr_more *more) {
    const size_t count = qb__smaller(a->file[0], a->shape[0] - number * a->file[0]);
    const size_t files = files_across(a) * qb__ceil_div(a->shape[1], a->file[1]);
    layer l = {.array = a,
               .folder = folder,
               .path = path,
               .number = number,
               .images = {data, stride, count, a->shape[1], a->shape[2], qb_dtype_size(a->dtype)},
               .across = files_across(a),
               .count = files,
               .memory = memory,
               .chunks = qb__zarr_chunks(a)};
    if (more) l.more = *more;
    const qb__ordered work = {files * l.chunks + l.more.count,
                              most(a),
                              qb__smaller(files, AT_ONCE),
                              &l,
                              pack_piece,
                              place_piece,
                              store_piece};
    char *indices = NULL;
    qb_status status;
    l.every = work.pieces / qb__larger(l.more.count, 1);
    pthread_mutex_init(&l.lock, NULL);
    QB__TRY(qb__alloc(files, sizeof *l.files, &l.files));
    QB__TRY(qb__alloc(files, index_bytes(a) + 1, &indices));
    for (size_t i = 0; i < files; i++) l.files[i] = (output){.fd = -1, .index = indices + i * index_bytes(a)};
    status = qb__pack_in_order(&work, threads, memory + threads * qb__zarr_bytes(a));
    if (status != QB_OK) remove_files(&l, files);
out:
    pthread_mutex_destroy(&l.lock);
    QB__FREE(l.files, indices);
    return status;
}
