/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* nftw */
/* qb bench io: writing and reading compressed volumes, compared with the codec alone on the same chunks and number of
 * threads. Codec and files take turns, and the median of the ratios counts, so that a busy computer slows both; the
 * ratios of processor time do not contain the disk. */
#include "bench/bench_io.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/codec/codec.h"
#include "io/layer/gather.h"
#include "io/plain/source.h"
#include "io/publish/paths.h"
#include "io/zarr/zarr.h"
#include "quickbeam/io.h"

enum { ROUNDS = 5 };

/* A container with a codec: chunks of the size that its writer makes, with shuffled bytes if it does that. */
typedef struct packing {
    const char *container, *compress;
    qb__codec_kind codec;
    size_t numbers;
    bool planes;
} packing;

static const packing packings[] = {
    {"h5", "gzip", QB__CODEC_ZLIB, 8 * 128 * 128, true},
    {"h5", "zstd", QB__CODEC_ZSTD, 8 * 128 * 128, true},
    {"h5", "blosc", QB__CODEC_BLOSC, 8 * 128 * 128, false},
    {"h5", "bitshuffle", QB__CODEC_BITSHUFFLE_LZ4, 8 * 128 * 128, false},
    {"h5", "lz4", QB__CODEC_LZ4, 8 * 128 * 128, true},
    {"zarr", "gzip", QB__CODEC_GZIP, 64 * 64 * 64, false},
    {"zarr", "zstd", QB__CODEC_ZSTD, 64 * 64 * 64, false},
    {"zarr", "blosc", QB__CODEC_BLOSC, 64 * 64 * 64, false},
    {"zarr", "bitshuffle", QB__CODEC_BITSHUFFLE, 64 * 64 * 64, false},
};

/* The codec alone, from memory to memory. */
typedef struct alone {
    const packing *how;
    const float *values;
    char *packed, *out; /* [chunk] packed data, and unpacked data */
    size_t *length, most;
    char *room; /* [worker] */
    size_t each;
    const char *path; /* of the file of packed data */
    int fd;
} alone;

static qb_status pack_one(void *context, size_t piece, size_t worker) {
    alone *a = context;
    const size_t bytes = a->how->numbers * sizeof(float);
    const void *from = a->values + piece * a->how->numbers;
    char *planes = a->room + worker * a->each;
    if (a->how->planes) qb__planes(from, a->how->numbers, sizeof(float), (unsigned char *)planes), from = planes;
    return qb__codec_pack(a->how->codec, "bench", sizeof(float), from, bytes, a->packed + piece * a->most,
                          &a->length[piece]);
}

static qb_status unpack_one(void *context, size_t piece, size_t worker) {
    const alone *a = context;
    char *to = a->out + piece * a->each, *planes = a->how->planes ? a->room + worker * a->each : to;
    const qb_status status = qb__codec_unpack(a->how->codec, "bench", sizeof(float), a->packed + piece * a->most,
                                              a->length[piece], planes, a->each);
    if (status == QB_OK && a->how->planes)
        qb__from_planes((unsigned char *)planes, a->how->numbers, sizeof(float), 0, a->how->numbers,
                        (unsigned char *)to);
    return status;
}

static uint64_t place_of(const alone *a, size_t piece) {
    uint64_t at = 0;
    for (size_t i = 0; i < piece; i++) at += a->length[i];
    return at;
}

static qb_status store_one(void *context, size_t piece, size_t worker) {
    const alone *a = context;
    (void)worker;
    return qb__pwrite_all(a->fd, a->path, a->packed + piece * a->most, a->length[piece], place_of(a, piece));
}

static qb_status load_one(void *context, size_t piece, size_t worker) {
    const alone *a = context;
    (void)worker;
    return qb__pread_all(a->fd, a->path, a->packed + piece * a->most, a->length[piece], place_of(a, piece));
}

/* Write the packed data into a plain file until it is on the disk: what the storage alone does. */
static qb_status store_all(alone *a, size_t chunks, size_t threads) {
    a->fd = open(a->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (a->fd < 0) return qb__fail_errno(errno, "creating", a->path);
    const qb_status status = qb__share(threads, chunks, store_one, a);
    return status == QB_OK && fsync(a->fd) != 0 ? qb__fail_errno(errno, "writing", a->path) : status;
}

enum { PACK, UNPACK, STORE, LOAD, TASKS, WALL = 0, CPU };

/* Starts a measurement of wall and processor time, or ends it. */
static void start(double seconds[2]) {
    seconds[WALL] = -qb__now();
    seconds[CPU] = -qb__now_process();
}

static void stop(double seconds[2]) {
    seconds[WALL] += qb__now();
    seconds[CPU] += qb__now_process();
}

/* Seconds of packing and unpacking once, into new memory, as for files. */
static qb_status time_once(alone *a, size_t chunks, size_t threads, double seconds[TASKS][2], double *ratio) {
    double packed = 0;
    qb_status status;
    start(seconds[PACK]);
    QB__TRY(qb__alloc(chunks, a->most, &a->packed));
    QB__TRY(qb__share(threads, chunks, pack_one, a));
    stop(seconds[PACK]);
    start(seconds[UNPACK]);
    QB__TRY(qb__alloc(chunks, a->each, &a->out));
    QB__TRY(qb__share(threads, chunks, unpack_one, a));
    stop(seconds[UNPACK]);
    start(seconds[STORE]);
    QB__TRY(store_all(a, chunks, threads));
    stop(seconds[STORE]);
    start(seconds[LOAD]);
    QB__TRY(qb__share(threads, chunks, load_one, a));
    stop(seconds[LOAD]);
    for (size_t i = 0; i < chunks; i++) packed += (double)a->length[i];
    *ratio = (double)(chunks * a->each) / packed;
out:
    if (a->fd >= 0) close(a->fd), unlink(a->path);
    a->fd = -1;
    QB__FREE(a->packed, a->out);
    a->packed = a->out = NULL;
    return status;
}

/* Numbers that are packed for each of the volume: a pyramid has further levels, and chunks at an edge are filled up. */
static double packed_share(const packing *how, const qb_array *volume) {
    const qb_stack stack = {
        .dtype = QB_F32, .shape = {volume->shape[0], volume->shape[1], volume->shape[2]}, .quantity = "attenuation"};
    qb__zarr_array level[QB__ZARR_LEVELS];
    if (strcmp(how->container, "zarr") != 0) return 1;
    const int levels = qb__zarr_levels(&stack, 3, how->codec, level);
    double all = 0;
    for (int i = 0; i < levels; i++) {
        double chunks = 1;
        for (int j = 0; j < 3; j++) chunks *= ceil((double)level[i].shape[j] / (double)level[i].chunk[j]);
        all += chunks * (double)qb__zarr_bytes(&level[i]) / sizeof(float);
    }
    return all / (double)qb_array_count(volume);
}

static qb_status time_alone(const packing *how, const char *path, const qb_array *volume, double seconds[TASKS][2],
                            double *ratio) {
    const size_t chunks = qb_array_count(volume) / how->numbers, threads = qb__share_threads();
    alone a = {.how = how, .values = volume->data, .each = how->numbers * sizeof(float), .path = path, .fd = -1};
    qb_status status;
    a.most = qb__codec_most(how->codec, a.each);
    QB__TRY(qb__alloc(chunks, sizeof *a.length, &a.length));
    QB__TRY(qb__alloc(threads, a.each, &a.room));
    QB__TRY(time_once(&a, chunks, threads, seconds, ratio));
    const double rest = (double)qb_array_count(volume) / (double)(chunks * how->numbers);
    for (int clock = WALL; clock <= CPU; clock++) {
        seconds[PACK][clock] *= rest * packed_share(how, volume);
        seconds[STORE][clock] *= rest * packed_share(how, volume);
        seconds[UNPACK][clock] *= rest; /* reading takes the first level alone */
        seconds[LOAD][clock] *= rest;
    }
out:
    QB__FREE(a.length, a.room);
    return status;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about, (void)kind, (void)where;
    return remove(path);
}

/* Remove a file, or a folder with all its files. */
static void remove_output(const char *path) {
    enum { OPEN = 16 };
    nftw(path, remove_one, OPEN, FTW_DEPTH | FTW_PHYS);
}

static qb_status time_files(const packing *how, const char *path, const qb_array *volume, double seconds[2][2]) {
    const qb_stack stack = {.dtype = QB_F32,
                            .shape = {volume->shape[0], volume->shape[1], volume->shape[2]},
                            .units = "1/mm",
                            .quantity = "attenuation",
                            .compress = how->compress};
    qb_array back = {0};
    qb_writer *writer;
    qb_status status;
    start(seconds[PACK]);
    QB__TRY(qb_writer_create(path, &stack, &writer));
    status = qb_writer_write(writer, 0, volume->shape[0], volume->data);
    if (status == QB_OK)
        status = qb_writer_commit(writer, "{}");
    else
        qb_writer_abort(writer);
    if (status != QB_OK) goto out;
    stop(seconds[PACK]);
    start(seconds[UNPACK]);
    QB__TRY(qb_array_load(path, NULL, &back, NULL));
    stop(seconds[UNPACK]);
    if (memcmp(back.data, volume->data, qb_array_count(volume) * sizeof(float)) != 0)
        status = qb__fail(QB_INTERNAL, "%s did not come back as written", path);
    remove_output(path);
out:
    qb_array_destroy(&back);
    return status;
}

/* Of all rounds, each of writing and reading. */
typedef struct rounds {
    double files[2][ROUNDS], codec[2][ROUNDS], storage[2][ROUNDS], share[2][2][ROUNDS], slower[2][ROUNDS];
} rounds;

static qb_status time_rounds(const packing *how, const char *path, const qb_array *volume, rounds *all, double *ratio) {
    qb_status status = QB_OK;
    for (int round = 0; round < ROUNDS && status == QB_OK; round++) {
        double codec[TASKS][2], files[2][2];
        status = time_alone(how, path, volume, codec, ratio);
        if (status == QB_OK) status = time_files(how, path, volume, files);
        for (int i = 0; i < 2 && status == QB_OK; i++) {
            all->codec[i][round] = codec[i][WALL];
            all->files[i][round] = files[i][WALL];
            all->storage[i][round] = codec[STORE + i][WALL];
            all->slower[i][round] = fmax(codec[i][WALL], codec[STORE + i][WALL]) / files[i][WALL];
            for (int clock = WALL; clock <= CPU; clock++)
                all->share[i][clock][round] = codec[i][clock] / files[i][clock];
        }
    }
    return status;
}

static void name_of(const packing *how, char name[32]) { snprintf(name, 32, "%s_%s", how->container, how->compress); }

static void add_row(cJSON *result, const packing *how, double gigabytes, rounds *all, double ratio) {
    static const char *const names[2][6] = {
        {"write_gigabytes_per_second", "codec_packs_gigabytes_per_second", "write_share_of_codec",
         "write_share_of_codec_cpu", "storage_takes_gigabytes_per_second", "write_share_of_codec_or_disk"},
        {"read_gigabytes_per_second", "codec_unpacks_gigabytes_per_second", "read_share_of_codec",
         "read_share_of_codec_cpu", "storage_gives_gigabytes_per_second", "read_share_of_codec_or_disk"}};
    char name[32];
    name_of(how, name);
    cJSON *row = cJSON_AddObjectToObject(result, name);
    for (int i = 0; i < 2; i++) {
        cJSON_AddNumberToObject(row, names[i][0], gigabytes / qb__median(all->files[i], ROUNDS));
        cJSON_AddNumberToObject(row, names[i][1], gigabytes / qb__median(all->codec[i], ROUNDS));
        for (int clock = WALL; clock <= CPU; clock++)
            cJSON_AddNumberToObject(row, names[i][2 + clock], qb__median(all->share[i][clock], ROUNDS));
        /* as numbers of the volume that their packed data stand for; then of the slower of both */
        cJSON_AddNumberToObject(row, names[i][4], gigabytes / qb__median(all->storage[i], ROUNDS));
        cJSON_AddNumberToObject(row, names[i][5], qb__median(all->slower[i], ROUNDS));
    }
    cJSON_AddNumberToObject(row, "compression", ratio);
}

/* Values with 10 random bits, about as many as a volume of real counts has without noise. */
static void round_values(qb_array *volume) {
    enum { STEPS = 256 };
    float *value = volume->data;
    for (size_t i = 0; i < qb_array_count(volume); i++) value[i] = roundf(value[i] * STEPS) / STEPS;
}

qb_status qb__bench_packed(const char *folder, const char *only, qb_array *volume, cJSON *result) {
    const double gigabytes = (double)qb_array_count(volume) * sizeof(float) * 1e-9;
    qb_status status = QB_OK;
    bool found = !only;
    round_values(volume);
    for (size_t i = 0; i < sizeof packings / sizeof *packings && status == QB_OK; i++) {
        const packing *how = &packings[i];
        char path[640], name[32];
        double ratio = 0;
        rounds all;
        name_of(how, name);
        if (only && strcmp(only, name) != 0) continue;
        found = true;
        if (!qb__codec_has(how->codec) || qb_array_count(volume) < how->numbers) continue;
        snprintf(path, sizeof path, "%s/packed.%s", folder, how->container);
        status = time_rounds(how, path, volume, &all, &ratio);
        if (status == QB_OK) add_row(result, how, gigabytes, &all, ratio);
    }
    return found ? status : qb__fail(QB_BAD_ARGUMENT, "--kernel %s: give h5_zstd, zarr_blosc or another row", only);
}
