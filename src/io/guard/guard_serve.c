/* SPDX-License-Identifier: MIT */
/* The process in which the library of a format reads images for another process: see guard_reader.h. It may crash here. */
#include "io/guard/guard.h"

#include "io/guard/guard_reader.h"

#ifdef QB__GUARD
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#ifdef QB_HAVE_HDF5
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"
#endif
#include "quickbeam/io.h"

enum { IN, OUT, SECONDS = 20, WORDS_MOST = 2000 };

static bool take(void *out, size_t bytes) {
    for (char *to = out; bytes;) {
        const ssize_t got = read(IN, to, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        bytes -= (size_t)got;
    }
    return true;
}

static bool put(const void *data, size_t bytes) {
    for (const char *from = data; bytes;) {
        const ssize_t sent = write(OUT, from, bytes);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        from += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

/* The limit counts from now on; the caller's hard limit stays. */
static void limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0 || now.rlim_cur == RLIM_INFINITY) return;
    now.rlim_cur = most < now.rlim_max ? most : now.rlim_max;
    setrlimit(resource, &now);
}

static rlim_t seconds_used(void) {
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) : 0;
}

static bool answer_with(const qb__guard_answer *answer, const void *data) {
    return put(answer, sizeof *answer) && put(data, answer->bytes);
}

static bool refuse(qb_status status) {
    const char *words = qb_detail();
    const size_t length = strlen(words);
    const qb__guard_answer answer = {.status = status, .words = length < WORDS_MOST ? length : WORDS_MOST};
    return put(&answer, sizeof answer) && put(words, answer.words);
}

static bool give_images(qb__source *source, const qb__guard_question *asked) {
    const qb__region region = {asked->first, asked->count, asked->step, asked->row0, asked->row1};
    const size_t images = source->shape[0], rows = source->shape[1];
    size_t bytes = 0;
    char *data = NULL;
    bool good = region.count && region.step && region.first < images &&
                (region.count - 1) <= (images - 1 - region.first) / region.step && region.row0 < region.row1 &&
                region.row1 <= rows &&
                qb__mul(region.count, region.row1 - region.row0, qb__source_row_bytes(source), &bytes);
    qb_status status =
        good ? qb__alloc(bytes, 1, &data) : qb__fail(QB_BAD_ARGUMENT, "%s: no such images", source->path);
    if (status == QB_OK) status = source->read(source, &region, data);
    good = status == QB_OK ? answer_with(&(qb__guard_answer){.bytes = bytes}, data) : refuse(status);
    qb__free(data);
    return good;
}

#ifdef QB_HAVE_HDF5
/* The chunk as stored. (H5Dget_chunk_info_by_coord would give its position, but in 1.10 it searches all chunks for
 * each.) */
static bool give_chunk(hid_t set, int rank, const qb__guard_question *asked) {
    const hsize_t at[3] = {asked->at[0], asked->at[1], asked->at[2]}, *place = at + 3 - rank;
    qb__guard_answer answer = {0};
    hsize_t bytes = 0;
    char *data = NULL;
    qb__h5_enter();
    qb_status status = QB_OK;
    if (H5Dget_chunk_storage_size(set, place, &bytes) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, "a chunk", "its size");
    else if (bytes > asked->most)
        status = qb__fail(QB_BAD_INPUT, "a chunk of %llu bytes is not possible", (unsigned long long)bytes);
    if (status == QB_OK) status = qb__alloc((size_t)bytes, 1, &data);
    if (status == QB_OK && bytes && H5Dread_chunk(set, H5P_DEFAULT, place, &answer.mask, data) < 0)
        status = qb__h5_fail(QB_BAD_INPUT, "a chunk", "it cannot be read");
    status = qb__h5_judge(status, "a chunk");
    qb__h5_leave();
    answer.bytes = bytes;
    const bool good = status == QB_OK ? answer_with(&answer, data) : refuse(status);
    qb__free(data);
    return good;
}

/* Reopen the dataset, for the positions of its chunks. */
static qb_status open_set(const char *path, const char *dataset, qb__source **source, hid_t *set, int *rank) {
    hid_t file;
    size_t shape[3];
    qb__h5_enter();
    qb_status status = qb__h5_open(path, &file);
    if (status == QB_OK) {
        status = qb__h5_source(file, path, dataset, source);
        *set = qb__h5_dataset(file, dataset);
        if (!qb__h5_shape(file, dataset, rank, shape)) *rank = 3;
        H5Fclose(file);
    }
    status = qb__h5_judge(status, path);
    qb__h5_leave();
    return status;
}

static void close_set(hid_t set) {
    qb__h5_enter();
    if (set >= 0) H5Dclose(set);
    qb__h5_leave();
}
#else
typedef int64_t hid_t;

static bool give_chunk(hid_t set, int rank, const qb__guard_question *asked) {
    (void)set, (void)rank, (void)asked;
    return false;
}

static qb_status open_set(const char *path, const char *dataset, qb__source **source, hid_t *set, int *rank) {
    (void)dataset, (void)source, (void)set, (void)rank;
    return qb__fail(QB_UNSUPPORTED, "%s: this build cannot read HDF5", path);
}

static void close_set(hid_t set) { (void)set; }
#endif

static bool serve(qb_status opened, qb__source *source, hid_t set, int rank, const qb__guard_question *asked) {
    if (opened != QB_OK) return refuse(opened);
    limit(RLIMIT_CPU, seconds_used() + SECONDS);
    return asked->kind == QB__GUARD_CHUNK && set >= 0 ? give_chunk(set, rank, asked) : give_images(source, asked);
}

qb_status qb_tool_guard_serve(const char *path, const char *dataset) {
    QB__NEED(path);
    QB__NEED(dataset);
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_IGN); /* the asking process decides */
    qb__source *source = NULL;
    hid_t set = -1;
    int rank = 3;
    struct rlimit memory;
    qb_external_allow(true); /* the asking process has checked */
#ifdef QB_HAVE_HDF5
    qb__h5_mapped_is_known = true;
#endif
    qb__fits_meaning meaning;
    const bool fits = strcmp(dataset, QB__GUARD_PACKED_FITS) == 0;
    const qb_status status =
        fits ? qb__fits_packed_open(path, &source, &meaning) : open_set(path, dataset, &source, &set, &rank);
    /* Chunks may be large. */
    if (source && getrlimit(RLIMIT_AS, &memory) == 0) limit(RLIMIT_AS, memory.rlim_cur + 4 * source->cache);
    for (qb__guard_question asked; take(&asked, sizeof asked);)
        if (!serve(status, source, set, rank, &asked)) break;
    close_set(set);
    qb__source_close(source);
    return QB_OK;
}
#else
#include "base/status.h"

qb_status qb_tool_guard_serve(const char *path, const char *dataset) {
    QB__NEED(path);
    (void)dataset;
    return qb__fail(QB_UNSUPPORTED, "%s: this build cannot read HDF5", path);
}
#endif
