/* SPDX-License-Identifier: MIT */
#include "io/hdf5/hdf5_own.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_places.h"
#include "io/layer/gather.h"
#include "io/layer/ordered.h"

/* ---- format ---- */

/* Thin chunks, because most programs read slice by slice; half a MiB of float32, of which h5py's cache of 1 MiB holds
 * two. */
static void cut(const size_t shape[3], qb__h5_packed *p) {
    static const size_t side[3] = {8, 128, 128};
    for (int i = 0; i < 3; i++) p->chunk[i] = qb__ceil_div(shape[i], qb__ceil_div(shape[i], side[i]));
    p->chunk[0] = qb__smaller(shape[0], side[0]); /* slabs end at multiples of it */
    p->down = qb__ceil_div(shape[1], p->chunk[1]);
    p->across = qb__ceil_div(shape[2], p->chunk[2]);
}

qb_status qb__h5_packed_plan(const qb_stack *stack, qb__h5_packed *p) {
    *p = (qb__h5_packed){.list = -1, .spool = {.fd = -1}};
    qb_status status = qb__codec_named(stack->compress, &p->codec);
    if (p->codec == QB__CODEC_GZIP) p->codec = QB__CODEC_ZLIB; /* HDF5's deflate has no gzip header */
    if (p->codec == QB__CODEC_BITSHUFFLE) p->codec = QB__CODEC_BITSHUFFLE_LZ4;
    p->shuffle = p->codec == QB__CODEC_ZLIB || p->codec == QB__CODEC_ZSTD || p->codec == QB__CODEC_LZ4;
    if (status == QB_OK) status = qb__codec_needs(p->codec, "--compress");
    cut(stack->shape, p);
    p->spool.layers = qb__ceil_div(stack->shape[0], p->chunk[0]);
    return status;
}

static size_t numbers_of(const qb__h5_packed *p) { return p->chunk[0] * p->chunk[1] * p->chunk[2]; }

static size_t worker_memory(const qb__h5_packed *p, size_t size) {
    return qb__round_up((p->shuffle ? 2 : 1) * numbers_of(p) * size, 64);
}

size_t qb__h5_packed_memory(const qb__h5_packed *p, qb_dtype dtype) {
    const size_t size = qb_dtype_size(dtype);
    return worker_memory(p, size) + qb__ordered_memory(qb__codec_most(p->codec, numbers_of(p) * size));
}

/* Filters that HDF5 may lack: stored as optional, with all parameters that their plug-ins would set. */
hid_t qb__h5_packed_layout(const qb__h5_packed *p, qb_dtype dtype) {
    enum { BLOSC = 32001, LZ4 = 32004, BITSHUFFLE = 32008, ZSTANDARD = 32015 };
    const unsigned size = (unsigned)qb_dtype_size(dtype), bytes = (unsigned)numbers_of(p) * size;
    const unsigned blosc[] = {2, 2, size, bytes, 5, 1, 1}, shuffled[] = {0, 5, size, 0, 2}, level = QB__CODEC_LEVEL;
    const hsize_t chunk[] = {p->chunk[0], p->chunk[1], p->chunk[2]};
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    bool good = H5Pset_chunk(plist, 3, chunk) >= 0 && H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER) >= 0 &&
                H5Pset_alloc_time(plist, H5D_ALLOC_TIME_INCR) >= 0;
    if (p->shuffle) good = good && H5Pset_shuffle(plist) >= 0;
    switch (p->codec) {
    case QB__CODEC_ZLIB: good = good && H5Pset_deflate(plist, level) >= 0; break;
    case QB__CODEC_ZSTD: good = good && H5Pset_filter(plist, ZSTANDARD, H5Z_FLAG_OPTIONAL, 1, &level) >= 0; break;
    case QB__CODEC_BLOSC: good = good && H5Pset_filter(plist, BLOSC, H5Z_FLAG_OPTIONAL, 7, blosc) >= 0; break;
    case QB__CODEC_LZ4: good = good && H5Pset_filter(plist, LZ4, H5Z_FLAG_OPTIONAL, 1, &bytes) >= 0; break;
    default: good = good && H5Pset_filter(plist, BITSHUFFLE, H5Z_FLAG_OPTIONAL, 5, shuffled) >= 0;
    }
    if (good) return plist;
    H5Pclose(plist);
    return H5I_INVALID_HID;
}

/* ---- temporary files ---- */

static qb_status no_name(const qb_writer *writer) {
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
}

static qb_status open_files(qb_writer *writer, qb__h5_packed *p, bool fresh) {
    char *images = qb__join(p->folder, "images"), *list = qb__join(p->folder, "list");
    qb_status status = images && list ? QB_OK : no_name(writer);
    if (status == QB_OK)
        status = qb__spool_open(images, writer->stack.shape[0], writer->image_bytes, p->chunk[0], writer->path, fresh,
                                &p->spool);
    if (status == QB_OK) {
        p->list = open(list, O_RDWR | O_CLOEXEC | (fresh ? O_CREAT | O_TRUNC : 0), 0666);
        if (p->list < 0) status = qb__fail_errno(errno, "opening", list);
    }
    QB__FREE(images, list);
    return status;
}

/* Find the end of the file: after what HDF5 wrote, or after what a killed run left. */
static qb_status find_tail(qb_writer *writer, qb__h5_packed *p) {
    struct stat about;
    if (fstat(writer->fd, &about) != 0) return qb__fail_errno(errno, "writing", writer->path);
    p->tail = (uint64_t)about.st_size;
    return QB_OK;
}

qb_status qb__h5_packed_open(qb_writer *writer, qb__h5_packed *p) {
    char *staging = qb__folder_of(writer->part);
    p->folder = staging ? qb__join(staging, "packed") : NULL;
    qb__free(staging);
    if (!p->folder) return no_name(writer);
    if (!writer->taken_up && mkdir(p->folder, 0777) != 0) return qb__fail_errno(errno, "creating", p->folder);
    const qb_status status = find_tail(writer, p);
    return status == QB_OK ? open_files(writer, p, !writer->taken_up) : status;
}

qb_status qb__h5_packed_join(qb_writer *writer, qb__h5_packed *p, const qb__writer_location *place) {
    p->joined = true;
    p->folder = qb__strdup(place->fresh);
    return p->folder ? open_files(writer, p, false) : no_name(writer);
}

void qb__h5_packed_release(qb__h5_packed *p) {
    qb__spool_close(&p->spool);
    if (p->list >= 0) close(p->list);
    p->list = -1;
    QB__FREE(p->folder, p->memory);
    p->folder = p->memory = NULL;
}

/* ---- layers ---- */

/* Some layers, whose chunks are packed together, so that threads wait only at their end. */
typedef struct layers {
    qb_writer *writer;
    qb__h5_packed *packed;
    qb__chunk_images images; /* of all layers */
    qb__h5_place *places;    /* places of the chunks */
} layers;

static size_t chunks_of_layer(const qb__h5_packed *p) { return p->down * p->across; }

static qb_status pack_chunk(void *context, size_t piece, size_t worker, char *out, size_t *length) {
    const layers *l = context;
    const qb__h5_packed *p = l->packed;
    const size_t size = l->images.size, numbers = numbers_of(p), bytes = numbers * size;
    const size_t layer = piece / chunks_of_layer(p), down = piece / p->across % p->down, across = piece % p->across;
    char *chunk = p->memory + worker * worker_memory(p, size), *planes = p->shuffle ? chunk + bytes : chunk;
    qb__chunk_images images = l->images;
    images.data += layer * p->chunk[0] * images.stride;
    images.count = qb__smaller(p->chunk[0], images.count - layer * p->chunk[0]);
    qb__gather(&images, p->chunk, down * p->chunk[1], across * p->chunk[2], chunk);
    if (p->shuffle) qb__planes(chunk, numbers, size, (unsigned char *)planes);
    return qb__codec_pack(p->codec, l->writer->path, size, planes, bytes, out, length);
}

static qb_status place_chunk(void *context, size_t piece, size_t length) {
    const layers *l = context;
    l->places[piece] = (qb__h5_place){l->packed->tail, length};
    l->packed->tail += length;
    return QB_OK;
}

static qb_status store_chunk(void *context, size_t piece, const char *packed, size_t length) {
    const layers *l = context;
    return qb__pwrite_all(l->writer->fd, l->writer->path, packed, length, l->places[piece].at);
}

/* Layers first..first + count - 1, whose images are `stride` bytes apart. */
static qb_status write_chunks(qb_writer *writer, qb__h5_packed *p, size_t first, size_t count, const char *data,
                              size_t stride) {
    const size_t *n = writer->stack.shape, size = qb_dtype_size(writer->stack.dtype), chunks = chunks_of_layer(p);
    const size_t images = qb__smaller(count * p->chunk[0], n[0] - first * p->chunk[0]), pieces = count * chunks;
    layers l = {writer, p, {data, stride, images, n[1], n[2], size}, NULL};
    const qb__ordered work = {
        pieces, qb__codec_most(p->codec, numbers_of(p) * size), 1, &l, pack_chunk, place_chunk, store_chunk};
    const uint64_t from = p->tail;
    qb_status status;
    QB__TRY(qb__alloc(pieces, sizeof *l.places, &l.places));
    if (!p->memory) QB__TRY(qb__alloc(writer->threads, qb__h5_packed_memory(p, writer->stack.dtype), &p->memory));
    if (!p->threads) p->threads = writer->threads;
    QB__TRY(qb__pack_in_order(&work, p->threads, p->memory + p->threads * worker_memory(p, size)));
    const size_t bytes = pieces * sizeof *l.places;
    QB__TRY(qb__pwrite_all(p->list, writer->path, l.places, bytes, first * chunks * (uint64_t)sizeof *l.places));
    qb__start_writeback(writer->fd, from, (size_t)(p->tail - from));
out:
    qb__free(l.places);
    return status;
}

typedef struct packing {
    qb_writer *writer;
    qb__h5_packed *packed;
} packing;

/* `data` NULL: one layer from the spool, which keeps its images until the chunks are on the disk. */
static qb_status pack_layers(void *context, size_t first, size_t count, const char *data) {
    const packing *both = context;
    qb_writer *writer = both->writer;
    qb__h5_packed *p = both->packed;
    const qb__spool *spool = &p->spool;
    const bool spooled = !data;
    const char *mapped = NULL;
    qb_status status;
    if (spooled) QB__TRY(qb__spool_map(spool, first, &mapped));
    QB__TRY(write_chunks(writer, p, first, count, spooled ? mapped : data,
                         spooled ? qb__spool_stride(spool) : spool->image));
    if (spooled && (fdatasync(writer->fd) != 0 || fdatasync(p->list) != 0))
        QB__TRY(qb__fail_writing(errno, writer->path));
    for (size_t i = first; i < first + count; i++)
        QB__TRY(qb__spool_mark(spool, i, spooled ? QB__SPOOL_FLUSHED : QB__SPOOL_PACKED));
out:
    qb__spool_unmap(spool, mapped);
    if (status == QB_OK && spooled) qb__spool_drop(spool, first);
    return status;
}

qb_status qb__h5_packed_write(qb_writer *writer, qb__h5_packed *p, size_t first, size_t end, const void *data) {
    if (p->joined) return qb__spool_put(&p->spool, first, end, data);
    return qb__spool_write(&p->spool, writer->written, first, end, data, pack_layers, &(packing){writer, p});
}

/* Pack the layers of which this process had only some images. */
qb_status qb__h5_packed_finish(qb_writer *writer, qb__h5_packed *p) {
    qb_status status = QB_OK;
    for (size_t i = 0; i < p->spool.layers && status == QB_OK; i++) {
        qb__layer_state state;
        status = qb__spool_state(&p->spool, i, &state);
        if (status == QB_OK && state == QB__SPOOL_OPEN) status = pack_layers(&(packing){writer, p}, i, 1, NULL);
    }
    return status;
}

/* Call it with the lock; negative: it cannot be opened. */
static hid_t open_set(const qb_writer *writer, hid_t *file) {
    *file = H5Fopen(writer->part, H5F_ACC_RDONLY, H5P_DEFAULT);
    return *file < 0 ? *file : H5Dopen2(*file, "/exchange/data", H5P_DEFAULT);
}

qb_status qb__h5_packed_header(const qb_writer *writer, uint64_t *header, uint64_t *chunks) {
    hid_t file;
    hsize_t count = 0;
    qb_status status = QB_OK;
    qb__h5_enter();
    const hid_t set = open_set(writer, &file), space = set < 0 ? set : H5Dget_space(set);
    *header = set < 0 ? HADDR_UNDEF : qb__h5_header(set);
    if (*header == HADDR_UNDEF || H5Dget_num_chunks(set, space, &count) < 0)
        status = qb__h5_fail(QB_IO, writer->path, "it cannot be read back");
    if (space >= 0) H5Sclose(space);
    if (set >= 0) H5Dclose(set);
    if (file >= 0) H5Fclose(file);
    qb__h5_leave();
    *chunks = count;
    return status;
}

/* Remove temporary files. */
static void remove_files(const qb__h5_packed *p) {
    static const char *const names[] = {"images", "list"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *name = qb__join(p->folder, names[i]);
        if (name) unlink(name);
        qb__free(name);
    }
    rmdir(p->folder);
}

qb_status qb__h5_packed_index(qb_writer *writer, qb__h5_packed *p) {
    uint64_t header, chunks;
    qb_status status;
    QB__TRY(qb__h5_packed_header(writer, &header, &chunks));
    QB__TRY(qb__h5_index_put(writer->fd, writer->path, header, p));
    QB__TRY(qb__h5_packed_header(writer, &header, &chunks));
    if (chunks != qb__h5_packed_chunks(p))
        status = qb__fail(QB_INTERNAL, "%s: HDF5 finds %llu of its %zu chunks", writer->path,
                          (unsigned long long)chunks, qb__h5_packed_chunks(p));
    else
        remove_files(p);
out:
    return status;
}
