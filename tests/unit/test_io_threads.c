/* SPDX-License-Identifier: MIT */
/* Several threads read and write the same as one. */
#include <threads.h>
#include <time.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/formats.h"
#include "io_files.h"
#ifdef QB_HAVE_HDF5
#include <hdf5.h>
#endif

/* ---- sharing ---- */

typedef struct tally {
    _Atomic int done[100], worker[8];
    size_t bad;
    long wait; /* ns that each piece behind the bad one takes, so that the failure is noticed meanwhile */
} tally;

static qb_status count_piece(void *context, size_t piece, size_t worker) {
    tally *t = context;
    t->done[piece]++;
    t->worker[worker]++;
    if (piece > t->bad) thrd_sleep(&(struct timespec){.tv_nsec = t->wait}, NULL);
    if (piece != t->bad) return QB_OK;
    return qb__fail(QB_NO_SPACE, "piece %zu", piece);
}

static void pieces_are_shared(void **state) {
    (void)state;
    for (size_t threads = 1; threads <= 8; threads++) {
        tally t = {.bad = SIZE_MAX};
        assert_ok(qb__share(threads, 100, count_piece, &t));
        for (int i = 0; i < 100; i++) assert_int_equal(t.done[i], 1);
        for (size_t w = threads; w < 8; w++) assert_int_equal(t.worker[w], 0);
        for (long wait = 5000000; wait < 999999999; wait *= 3) { /* a busy machine may notice it late */
            t = (tally){.bad = 30, .wait = wait};
            assert_status(qb__share(threads, 100, count_piece, &t), QB_NO_SPACE);
            assert_string_equal(qb_detail(), "piece 30");
            if (t.done[99] == 0) break;
        }
        assert_int_equal(t.done[99], 0);
    }
    assert_ok(qb__share(4, 0, count_piece, NULL));
}

/* ---- files ---- */

enum { IMAGES = 40, ROWS = 160, COLUMNS = 300, VALUES = IMAGES * ROWS * COLUMNS };

static void fill(uint16_t *values) {
    for (size_t i = 0; i < VALUES; i++) values[i] = (uint16_t)(i * 2654435761u >> 13 & 0x3ff);
}

static const qb__region regions[] = {
    {0, IMAGES, 1, 0, ROWS}, {3, 30, 1, 7, 140}, {1, 13, 3, 0, ROWS}, {2, 4, 11, 50, 159}, {39, 1, 1, 0, ROWS},
};

/* Reads any region with any number of threads. */
static void check_regions(qb__source *source, const uint16_t *values) {
    uint16_t *got = calloc(VALUES, sizeof *got);
    static const size_t threads[] = {1, 2, 7};
    assert_non_null(got);
    for (size_t k = 0; k < 3 * sizeof regions / sizeof regions[0]; k++) {
        const qb__region *r = &regions[k / 3];
        const size_t run = (r->row1 - r->row0) * COLUMNS;
        source->threads = threads[k % 3];
        memset(got, 0xff, VALUES * sizeof *got);
        assert_ok(source->read(source, r, got));
        for (size_t i = 0; i < r->count; i++)
            if (memcmp(got + i * run, values + ((r->first + i * r->step) * ROWS + r->row0) * COLUMNS,
                       run * sizeof *got) != 0)
                fail_msg("%s: image %zu of region %zu by %zu threads", source->path, i, k / 3, source->threads);
        for (size_t i = r->count * run; i < VALUES; i++) assert_int_equal(got[i], 0xffff);
    }
    free(got);
}

/* Writes with several threads, in slabs of odd sizes. */
static void put_slabs(const char *path, const qb_stack *stack, const uint16_t *values) {
    static const size_t edge[] = {0, 17, 18, IMAGES};
    qb_writer *writer;
    assert_ok(qb_writer_create(path, stack, &writer));
    writer->threads = 5;
    for (int i = 0; i < 3; i++)
        assert_ok(qb_writer_write(writer, edge[i], edge[i + 1], values + edge[i] * ROWS * COLUMNS));
    assert_ok(qb_writer_commit(writer, "{}"));
}

static void files_are_written_and_read(void **state) {
    (void)state;
    static const char *const names[] = {"a.npy", "a.mha", "a.tif", "a_%03d.tif", "a.h5", "p.h5"};
    uint16_t *values = calloc(VALUES, sizeof *values);
    assert_non_null(values);
    fill(values);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const qb_stack stack = {.dtype = QB_U16,
                                .shape = {IMAGES, ROWS, COLUMNS},
                                .units = "",
                                .quantity = "attenuation",
                                .parts = strcmp(names[i], "p.h5") == 0 ? 7 : 1};
        qb__source *source;
        if (!can_write(in_folder(names[i]), &stack)) continue;
        put_slabs(in_folder(names[i]), &stack, values);
        assert_ok(qb__source_open(in_folder(names[i]), NULL, &source));
        assert_true(source->threads >= 1 && source->threads <= QB__SHARE_MOST);
        check_regions(source, values);
        const qb_env env = {.threads = 1};
        qb__source_limit(source, &env);
        assert_int_equal(source->threads, 1);
        qb__source_close(source);
    }
    free(values);
}

/* A file that ends too early stops all threads that read it. The message is that of the file. */
static void short_files(void **state) {
    (void)state;
    uint16_t *values = calloc(VALUES, sizeof *values);
    const qb_stack stack = {.dtype = QB_U16, .shape = {IMAGES, ROWS, COLUMNS}, .units = "", .quantity = "attenuation"};
    qb__source *source;
    assert_non_null(values);
    assert_ok(put_stack(in_folder("a.npy"), &stack, values));
    assert_ok(qb__source_open(in_folder("a.npy"), NULL, &source));
    assert_int_equal(truncate(in_folder("a.npy"), 3000000), 0);
    source->threads = 5;
    assert_status(source->read(source, &regions[0], values), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "a.npy is incomplete: it ends at byte"));
    qb__source_close(source);
    free(values);
}

#ifdef QB_HAVE_HDF5
typedef enum filters { PLAIN, DEFLATE, SHUFFLED, SHUFFLE, CHECKED } filters;

static void put_chunks(const char *name, filters how, const hsize_t chunk[3], const uint16_t *values) {
    const hsize_t shape[3] = {IMAGES, ROWS, COLUMNS};
    hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, shape, NULL);
    H5Pset_chunk(create, 3, chunk);
    if (how == SHUFFLED || how == SHUFFLE) H5Pset_shuffle(create);
    if (how == DEFLATE || how == SHUFFLED) H5Pset_deflate(create, 1);
    if (how == CHECKED) H5Pset_fletcher32(create);
    hid_t set = H5Dcreate2(file, "data", H5T_STD_U16LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (how == DEFLATE) { /* this chunk says that no filter was applied */
        const hsize_t at[3] = {0, 0, 0};
        uint16_t *raw = calloc(chunk[0] * chunk[1] * chunk[2], sizeof *raw);
        for (hsize_t i = 0; i < chunk[0] * chunk[1]; i++)
            memcpy(raw + i * chunk[2], values + (i / chunk[1] * ROWS + i % chunk[1]) * COLUMNS, chunk[2] * sizeof *raw);
        assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 1, at, chunk[0] * chunk[1] * chunk[2] * 2, raw) >= 0);
        free(raw);
    }
    H5Dclose(set);
    H5Pclose(create);
    H5Sclose(space);
    H5Fclose(file);
}

/* Chunks of every filter that end beyond the data or are needed only in part. HDF5 unpacks what we cannot. */
static void chunks_are_unpacked(void **state) {
    (void)state;
    static const hsize_t chunks[][3] = {{1, ROWS, COLUMNS}, {5, 48, 125}, {7, 160, 300}};
    uint16_t *values = calloc(VALUES, sizeof *values);
    assert_non_null(values);
    fill(values);
    for (filters how = PLAIN; how <= CHECKED; how++)
        for (int i = how == SHUFFLED ? 0 : 1; i < (how == SHUFFLED ? 3 : 2); i++) {
            qb__source *source;
            put_chunks("c.h5", how, chunks[i], values);
            assert_ok(qb__source_open(in_folder("c.h5"), NULL, &source));
#ifdef QB_HAVE_ZLIB
            assert_int_equal(source->cache_each > 0, how != CHECKED);
#endif
            check_regions(source, values);
            qb__source_close(source);
        }
    free(values);
}

/* A chunk that is no gzip data is named. HDF5 itself says only that a filter failed. */
static void broken_chunks(void **state) {
    (void)state;
    static const hsize_t chunk[] = {4, ROWS, COLUMNS}, at[] = {8, 0, 0};
    uint16_t *values = calloc(VALUES, sizeof *values);
    qb__source *source;
    assert_non_null(values);
    put_chunks("b.h5", SHUFFLED, chunk, values);
    hid_t file = H5Fopen(in_folder("b.h5"), H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, "data", H5P_DEFAULT);
    for (unsigned short_one = 0; short_one < 2; short_one++) {
        /* First a zlib header of two bytes with bad data, then no zlib data at all. */
        static const unsigned char two[] = {0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0, 1};
        static const unsigned char rubbish[] = "rubbish, not deflated";
        assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, at, short_one ? sizeof two : sizeof rubbish,
                                   short_one ? two : rubbish) >= 0);
        H5Fflush(file, H5F_SCOPE_LOCAL);
        assert_ok(qb__source_open(in_folder("b.h5"), NULL, &source));
        if (source->cache_each) {
            source->threads = 3;
            assert_status(source->read(source, &regions[0], values), QB_BAD_INPUT);
            assert_non_null(strstr(qb_detail(), "the chunk at image 8, row 0, column 0"));
        }
        qb__source_close(source);
    }
    H5Dclose(set);
    H5Fclose(file);
    free(values);
}

/* Memory for unpacking is requested beforehand, within what --max-ram leaves. If there is too little, the read fails
 * like any other. */
static void unpacking_has_a_limit(void **state) {
    (void)state;
    static const hsize_t chunk[] = {10, ROWS, COLUMNS};
    uint16_t *values = calloc(VALUES, sizeof *values);
    qb__source *source;
    assert_non_null(values);
    put_chunks("m.h5", SHUFFLED, chunk, values);
    assert_ok(qb__source_open(in_folder("m.h5"), NULL, &source));
    if (source->cache_each) {
        const qb_env env = {.max_ram = 16 * (2 * source->cache_each + 1)};
        source->threads = 9;
        qb__source_limit(source, &env);
        assert_int_equal(source->threads, 2);
        assert_true(qb__source_held(source) >= 2 * source->cache_each);
        qb__fail_allocation(1);
        assert_status(source->read(source, &regions[0], values), QB_NO_MEMORY);
        qb__fail_allocation(0);
    }
    qb__source_close(source);
    free(values);
}
#endif

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_shared),
        IN_FOLDER(files_are_written_and_read),
        IN_FOLDER(short_files),
#ifdef QB_HAVE_HDF5
        IN_FOLDER(chunks_are_unpacked),
        IN_FOLDER(broken_chunks),
        IN_FOLDER(unpacking_has_a_limit),
#endif
    };
    return cmocka_run_group_tests_name("io_threads", tests, NULL, NULL);
}
