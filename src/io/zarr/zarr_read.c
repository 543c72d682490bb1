/* SPDX-License-Identifier: MIT */
/* An array of a Zarr folder as a stack of images. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/layer/gather.h"
#include "io/zarr/zarr.h"

/* One read(): the chunks that the region touches, layers x rows of chunks x columns of chunks. */
typedef struct sweep {
    const qb__zarr *zarr;
    const qb__region *region;
    char *out;
    size_t layers, downs, acrosses, threads; /* numbers of chunks; of threads */
    char *memory;                            /* per worker: a chunk as stored, and unpacked */
} sweep;

static size_t stored_most(const qb__zarr_array *a) { return qb__codec_most(a->codec, qb__zarr_bytes(a)) + 4096; }

size_t qb__zarr_read_memory(const qb__zarr_array *a) { return qb__round_up(stored_most(a), 64) + qb__zarr_bytes(a); }

static uint64_t word_at(const unsigned char *from) {
    uint64_t value = 0;
    for (int i = 8; i-- > 0;) value = value << 8 | from[i];
    return value;
}

/* ---- position of a chunk ---- */

/* Read the entry of a chunk in the index of a shard. *bytes 0: the chunk does not exist. */
static qb_status find_in_shard(const qb__zarr_array *a, const char *path, int fd, uint64_t size, size_t number,
                               uint64_t *at, uint64_t *bytes) {
    const uint64_t chunks = qb__zarr_chunks(a), index = 16 * chunks + (a->index_checked ? 4 : 0);
    unsigned char entry[16];
    if (size < index)
        return qb__fail(
            QB_BAD_INPUT,
            "%s has %llu bytes, and the index of its %llu chunks alone has %llu: it is incomplete, copy it again", path,
            (unsigned long long)size, (unsigned long long)chunks, (unsigned long long)index);
    const uint64_t from = (a->index_first ? 0 : size - index) + 16 * (uint64_t)number;
    QB__OR_RETURN(qb__pread_all(fd, path, entry, sizeof entry, from));
    *at = word_at(entry), *bytes = word_at(entry + 8);
    if (*at == UINT64_MAX && *bytes == UINT64_MAX) *bytes = 0;
    if (*bytes == 0 || (*at <= size && *bytes <= size - *at)) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s: its index puts chunk %zu at byte %llu, and the file has %llu: it is incomplete, copy it again",
                    path, number, (unsigned long long)*at, (unsigned long long)size);
}

static qb_status check_chunk(const qb__zarr_array *a, const char *path, const unsigned char *raw, uint64_t *bytes) {
    if (!a->checked) return QB_OK;
    if (*bytes < 4)
        return qb__fail(QB_BAD_INPUT, "%s: a chunk of %llu bytes has no checksum", path, (unsigned long long)*bytes);
    *bytes -= 4;
    const unsigned char *sum = raw + *bytes;
    const uint32_t want = (uint32_t)sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;
    return qb__crc32c(raw, *bytes) == want
               ? QB_OK
               : qb__fail(QB_BAD_INPUT, "%s: the checksum of a chunk is wrong: it is damaged, copy it again", path);
}

/* Read the stored bytes of a chunk; *bytes 0: it does not exist. */
static qb_status fetch(const qb__zarr_array *a, const char *path, size_t number, char *raw, uint64_t *bytes) {
    struct stat about;
    uint64_t at = 0;
    *bytes = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? QB_OK : qb__fail_errno(errno, "opening", path);
    qb_status status = fstat(fd, &about) == 0 ? QB_OK : qb__fail_errno(errno, "reading", path);
    if (status == QB_OK && !S_ISREG(about.st_mode)) status = qb__fail(QB_BAD_INPUT, "%s is not a file", path);
    if (status == QB_OK) qb__input_seen(path, &about);
    if (status == QB_OK) *bytes = (uint64_t)about.st_size;
    if (status == QB_OK && a->sharded) status = find_in_shard(a, path, fd, *bytes, number, &at, bytes);
    if (status == QB_OK && *bytes > stored_most(a))
        status = qb__fail(QB_BAD_INPUT, "%s: a chunk of %zu bytes is stored in %llu, which is too many: it is damaged",
                          path, qb__zarr_bytes(a), (unsigned long long)*bytes);
    if (status == QB_OK && *bytes) status = qb__pread_all(fd, path, raw, *bytes, at);
    if (status == QB_OK && *bytes) status = check_chunk(a, path, (const unsigned char *)raw, bytes);
    if (status == QB_OK && !*bytes && !a->sharded)
        status = qb__fail(QB_BAD_INPUT, "%s is empty: copy it again, or remove it where nothing was stored", path);
    close(fd);
    return status;
}

/* ---- from chunks to images ---- */

/* Position in the region of its first image with an index of at least `image`. */
static size_t index_from(const qb__region *region, size_t image) {
    if (image <= region->first) return 0;
    return qb__smaller(qb__ceil_div(image - region->first, region->step), region->count);
}

/* Copy the part of a chunk that lies in the region; `chunk` NULL: fill it with the array's fill value. */
static void place_chunk(const sweep *s, const size_t at[3], const char *chunk) {
    const qb__zarr_array *a = &s->zarr->array;
    const qb__region *region = s->region;
    const size_t size = qb_dtype_size(a->dtype), rows = region->row1 - region->row0;
    const size_t run = qb__smaller(a->chunk[2], a->shape[2] - at[2]), end = index_from(region, at[0] + a->chunk[0]);
    const size_t row0 = qb__larger(region->row0, at[1]), row1 = qb__smaller(region->row1, at[1] + a->chunk[1]);
    for (size_t i = index_from(region, at[0]); i < end; i++) {
        const size_t image = region->first + i * region->step - at[0];
        for (size_t row = row0; row < row1; row++) {
            char *to = s->out + ((i * rows + row - region->row0) * a->shape[2] + at[2]) * size;
            if (chunk)
                qb__copy_out(to, chunk + ((image * a->chunk[1] + row - at[1]) * a->chunk[2]) * size, run * size);
            else
                for (size_t k = 0; k < run; k++) memcpy(to + k * size, s->zarr->fill, size);
        }
    }
    qb__copied_out();
}

/* Images closer together than a chunk's thickness touch every layer between them; others touch one each. */
static size_t layer_of(const sweep *s, size_t n) {
    const size_t thick = s->zarr->array.chunk[0];
    if (s->region->step <= thick) return s->region->first / thick + n;
    return (s->region->first + n * s->region->step) / thick;
}

static qb_status read_chunk(void *context, size_t piece, size_t worker) {
    const sweep *s = context;
    const qb__zarr_array *a = &s->zarr->array;
    size_t turn;
    const size_t layer = qb__layer_turn(piece, s->layers, s->downs * s->acrosses, s->threads, &turn);
    const size_t across = turn % s->acrosses, down = turn / s->acrosses;
    const size_t at[3] = {layer_of(s, layer) * a->chunk[0], (s->region->row0 / a->chunk[1] + down) * a->chunk[1],
                          across * a->chunk[2]};
    char *raw = s->memory + worker * qb__zarr_read_memory(a), *chunk = raw + qb__round_up(stored_most(a), 64);
    char name[4096];
    size_t file[3], number = 0;
    uint64_t bytes;
    for (int i = 0; i < 3; i++) {
        file[i] = at[i] / a->file[i];
        number = number * (a->file[i] / a->chunk[i]) + at[i] % a->file[i] / a->chunk[i];
    }
    qb__zarr_name(a, s->zarr->folder, file, name, sizeof name);
    qb_status status = fetch(a, name, number, raw, &bytes);
    if (status != QB_OK) return status;
    if (bytes) status = qb__codec_unpack(a->codec, name, qb_dtype_size(a->dtype), raw, bytes, chunk, qb__zarr_bytes(a));
    if (status != QB_OK) return status;
    if (bytes && a->swap) qb__swap_bytes(chunk, qb__zarr_bytes(a) / qb_dtype_size(a->dtype), qb_dtype_size(a->dtype));
    place_chunk(s, at, bytes ? chunk : NULL);
    return QB_OK;
}

enum { HUGE_PAGE = 2 << 20 };

/* Write to a page, so that the kernel makes it. */
static qb_status touch(void *context, size_t piece, size_t worker) {
    const sweep *s = context;
    (void)worker;
    ((volatile char *)s->out)[piece * HUGE_PAGE] = 0;
    return QB_OK;
}

qb_status qb__zarr_read(qb__source *source, const qb__region *region, void *out) {
    const qb__zarr *zarr = (const qb__zarr *)source;
    const qb__zarr_array *a = &zarr->array;
    const size_t last = region->first + (region->count - 1) * region->step;
    sweep s = {.zarr = zarr, .region = region, .out = out};
    s.layers = region->step <= a->chunk[0] ? last / a->chunk[0] - region->first / a->chunk[0] + 1 : region->count;
    s.downs = (region->row1 - 1) / a->chunk[1] - region->row0 / a->chunk[1] + 1;
    s.acrosses = qb__ceil_div(a->shape[2], a->chunk[2]);
    const size_t pieces = s.layers * s.downs * s.acrosses, threads = qb__smaller(source->threads, pieces);
    s.threads = threads;
    qb_status status = qb__alloc(threads, qb__zarr_read_memory(a), &s.memory);
    /* Threads of one layer would wait for the same pages. */
    const size_t bytes = region->count * (region->row1 - region->row0) * a->shape[2] * qb_dtype_size(a->dtype);
    if (status == QB_OK && s.layers < threads) status = qb__share(threads, bytes / HUGE_PAGE, touch, &s);
    if (status == QB_OK) status = qb__share(threads, pieces, read_chunk, &s);
    qb__free(s.memory);
    return status;
}
