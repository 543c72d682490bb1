/* SPDX-License-Identifier: MIT */
#include "io/hdf5/hdf5_chunks.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/layer/gather.h"
#include "io/plain/source.h"

/* Codecs make incompressible data a little longer, but never by this factor. */
size_t qb__h5_chunks_most(const qb__h5_chunks *chunks) { return chunks->bytes + chunks->bytes / 8 + 4096; }

static bool is_packed(const qb__h5_chunks *chunks) { return chunks->codec != QB__CODEC_NONE; }

size_t qb__h5_chunks_memory(const qb__h5_chunks *chunks) {
    enum { OWN = 64 << 10 }; /* memory of the codec itself */
    return qb__h5_chunks_most(chunks) + (is_packed(chunks) ? chunks->bytes + OWN : 0);
}

/* The filter as one of our codecs; NONE: unknown, or this build lacks the library. */
static qb__codec_kind codec_of(H5Z_filter_t filter, const unsigned *value, size_t values, size_t size) {
    enum { WITH_LZ4 = 2 };
    static const struct {
        H5Z_filter_t filter;
        qb__codec_kind codec;
    } known[] = {{H5Z_FILTER_DEFLATE, QB__CODEC_ZLIB},
                 {32001, QB__CODEC_BLOSC},
                 {32004, QB__CODEC_LZ4},
                 {32008, QB__CODEC_BITSHUFFLE_LZ4},
                 {32015, QB__CODEC_ZSTD}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].filter != filter || !qb__codec_has(known[i].codec)) continue;
        /* Bitshuffle's parameters name the size of numbers and the codec. */
        if (known[i].codec == QB__CODEC_BITSHUFFLE_LZ4 && (values < 5 || value[2] != size || value[4] != WITH_LZ4))
            continue;
        return known[i].codec;
    }
    return QB__CODEC_NONE;
}

bool qb__h5_chunks_known(hid_t plist, const size_t chunk[3], size_t size, qb__h5_chunks *chunks) {
    unsigned options = 0;
    *chunks = (qb__h5_chunks){.places = {.fd = -1}};
    int filters = H5Pget_nfilters(plist);
    if (!qb__mul(chunk[0], chunk[1], chunk[2], &chunks->bytes) || !qb__mul(chunks->bytes, size, 1, &chunks->bytes) ||
        chunks->bytes > (size_t)1 << 31)
        return false;
    if (filters < 0 || H5Pget_chunk_opts(plist, &options) < 0 || options) return false;
    for (int i = 0; i < filters; i++) {
        unsigned flags, value[8] = {0}, config;
        size_t values = 8;
        char name[8];
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &values, value, sizeof name, name, &config);
        if (filter == H5Z_FILTER_SHUFFLE && i == 0 && values == 1 && value[0] == size) {
            chunks->shuffle = true;
            chunks->shuffle_at = i;
            continue;
        }
        chunks->codec = i == filters - 1 ? codec_of(filter, value, values, size) : QB__CODEC_NONE;
        chunks->codec_at = i;
        if (!is_packed(chunks)) return false;
    }
    return true;
}

/* One read(): the chunks that the region touches: layers of images x rows of chunks x columns of chunks. */
typedef struct sweep {
    const qb__h5_chunks *chunks;
    hid_t set;
    int rank;
    const qb__source *source;
    const qb__region *region;
    char *out;
    size_t size, layers, downs, acrosses; /* bytes of a number; numbers of chunks */
    size_t threads;
    char *memory; /* per worker: a chunk as stored, and unpacked */
} sweep;

static qb_status bad_chunk(const sweep *s, const hsize_t at[3], const char *why) {
    return qb__fail(QB_BAD_INPUT, "%s: the chunk at image %llu, row %llu, column %llu cannot be read: %s",
                    s->source->path, (unsigned long long)at[0], (unsigned long long)at[1], (unsigned long long)at[2],
                    why);
}

/* Get the stored chunk; the lock is held only for this. */
static qb_status fetch_locked(const sweep *s, const hsize_t at[3], char *raw, size_t *bytes, uint32_t *mask) {
    hsize_t stored = 0;
    const hsize_t *place = at + 3 - s->rank;
    if (H5Dget_chunk_storage_size(s->set, place, &stored) < 0) return bad_chunk(s, at, "its size is unknown");
    if (stored == 0 || stored > qb__h5_chunks_most(s->chunks))
        return bad_chunk(s, at, "its stored size is not possible");
    *bytes = (size_t)stored;
    if (H5Dread_chunk(s->set, H5P_DEFAULT, place, mask, raw) >= 0) return QB_OK;
    return qb__h5_fail(QB_BAD_INPUT, s->source->path, "a chunk cannot be read");
}

/* Another process reads it. */
static qb_status fetch_told(const sweep *s, const hsize_t at[3], char *raw, size_t *bytes, uint32_t *mask) {
    const uint64_t place[3] = {at[0], at[1], at[2]};
    qb_status status =
        qb__guard_reader_chunk(s->chunks->reader, place, qb__h5_chunks_most(s->chunks), raw, bytes, mask);
    if (status != QB_OK) return qb__fail_in(status, "%s", s->source->path);
    return *bytes ? QB_OK : bad_chunk(s, at, "its stored size is not possible");
}

static qb_status fetch_placed(const sweep *s, const hsize_t at[3], char *raw, size_t *bytes, uint32_t *mask) {
    const size_t *chunk = s->source->chunk;
    const qb__h5_places *p = &s->chunks->places;
    const qb__h5_stored *from =
        &p->stored[(at[0] / chunk[0] * p->down + at[1] / chunk[1]) * p->across + at[2] / chunk[2]];
    *bytes = from->bytes;
    *mask = from->mask;
    return qb__pread_all(p->fd, s->source->path, raw, from->bytes, from->at);
}

static qb_status fetch(const sweep *s, const hsize_t at[3], char *raw, size_t *bytes, uint32_t *mask) {
    if (s->chunks->places.stored) return fetch_placed(s, at, raw, bytes, mask);
    if (s->chunks->reader) return fetch_told(s, at, raw, bytes, mask);
    qb__h5_enter();
    qb_status status = qb__h5_judge(fetch_locked(s, at, raw, bytes, mask), s->source->path);
    qb__h5_leave();
    return status;
}

static qb_status unpack(const sweep *s, const hsize_t at[3], char *raw, size_t bytes, bool packed, char *to,
                        const char **chunk) {
    *chunk = raw;
    if (packed) {
        const size_t plain = s->chunks->bytes;
        if (qb__codec_unpack(s->chunks->codec, s->source->path, s->size, raw, bytes, to, plain) != QB_OK)
            return bad_chunk(s, at, "it does not unpack to a chunk's length");
        *chunk = to;
        return QB_OK;
    }
    return bytes == s->chunks->bytes ? QB_OK : bad_chunk(s, at, "it is not as long as a chunk");
}

/* Position in the region of its first image with an index of at least `image`; at most region->count. */
static size_t index_from(const qb__region *region, size_t image) {
    if (image <= region->first) return 0;
    return qb__smaller(qb__ceil_div(image - region->first, region->step), region->count);
}

/* Joins the bytes of shuffled numbers in a buffer that stays in the cache, and writes them past the cache: the result
 * is not read soon. */
static void copy_shuffled(const char *chunk, size_t numbers, size_t size, size_t from, size_t count, char *to) {
    unsigned char joined[4096];
    const size_t most = sizeof joined / size;
    for (size_t done = 0; done < count; done += most) {
        const size_t n = qb__smaller(most, count - done);
        qb__from_planes((const unsigned char *)chunk, numbers, size, from + done, n, joined);
        qb__copy_out(to + done * size, joined, n * size);
    }
}

/* Copy the part of a chunk that lies in the region. */
static void place(const sweep *s, const hsize_t at[3], const char *chunk, bool shuffled) {
    const qb__source *source = s->source;
    const qb__region *region = s->region;
    const size_t *shape = source->chunk, columns = source->shape[2], rows = region->row1 - region->row0;
    const size_t numbers = s->chunks->bytes / s->size, run = qb__smaller(shape[2], columns - at[2]);
    const size_t row0 = qb__larger(region->row0, at[1]), row1 = qb__smaller(region->row1, at[1] + shape[1]);
    const size_t end = index_from(region, at[0] + shape[0]);
    for (size_t i = index_from(region, at[0]); i < end; i++) {
        const size_t image = region->first + i * region->step - at[0];
        for (size_t row = row0; row < row1; row++) {
            const size_t from = (image * shape[1] + row - at[1]) * shape[2];
            char *to = s->out + ((i * rows + row - region->row0) * columns + at[2]) * s->size;
            if (shuffled)
                copy_shuffled(chunk, numbers, s->size, from, run, to);
            else
                qb__copy_out(to, chunk + from * s->size, run * s->size);
        }
    }
    qb__copied_out();
}

/* Images closer together than a chunk's thickness touch every layer between them; others touch one each. */
static size_t layer_of(const sweep *s, size_t n) {
    const size_t thick = s->source->chunk[0];
    if (s->region->step <= thick) return s->region->first / thick + n;
    return (s->region->first + n * s->region->step) / thick;
}

static qb_status read_chunk(void *context, size_t piece, size_t worker) {
    const sweep *s = context;
    const qb__h5_chunks *chunks = s->chunks;
    const size_t *shape = s->source->chunk;
    size_t number;
    const size_t layer = qb__layer_turn(piece, s->layers, s->downs * s->acrosses, s->threads, &number);
    const size_t across = number % s->acrosses, down = number / s->acrosses;
    const hsize_t at[3] = {layer_of(s, layer) * shape[0], (s->region->row0 / shape[1] + down) * shape[1],
                           across * shape[2]};
    char *raw = s->memory + worker * qb__h5_chunks_memory(chunks), *to = raw + qb__h5_chunks_most(chunks);
    const char *chunk;
    size_t bytes = 0;
    uint32_t mask;
    QB__OR_RETURN(fetch(s, at, raw, &bytes, &mask));
    QB__OR_RETURN(unpack(s, at, raw, bytes, is_packed(chunks) && !(mask >> chunks->codec_at & 1), to, &chunk));
    place(s, at, chunk, chunks->shuffle && !(mask >> chunks->shuffle_at & 1));
    return QB_OK;
}

qb_status qb__h5_chunks_read(const qb__h5_chunks *chunks, hid_t set, int rank, const qb__source *source,
                             const qb__region *region, void *out) {
    const size_t *shape = source->chunk, last = region->first + (region->count - 1) * region->step;
    sweep s = {chunks, set, rank, source, region, out, qb_dtype_size(source->dtype), 0, 0, 0, 1, NULL};
    s.layers = region->step <= shape[0] ? last / shape[0] - region->first / shape[0] + 1 : region->count;
    s.downs = (region->row1 - 1) / shape[1] - region->row0 / shape[1] + 1;
    s.acrosses = qb__ceil_div(source->shape[2], shape[2]);
    const size_t pieces = s.layers * s.downs * s.acrosses;
    size_t threads = qb__smaller(source->threads, pieces);
    /* Small chunks: do not use more threads than are worth starting. */
    threads = qb__smaller(threads, 1 + pieces * chunks->bytes / (QB__PIECE_LEAST / 4));
    s.threads = threads;
    qb_status status = qb__alloc(threads, qb__h5_chunks_memory(chunks), &s.memory);
    if (status == QB_OK) status = qb__share(threads, pieces, read_chunk, &s);
    qb__free(s.memory);
    return status;
}
