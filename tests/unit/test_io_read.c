/* SPDX-License-Identifier: MIT */
#include "base/hash.h"
#include "base/memory.h"
#include "io/digest.h"
#include "io/formats.h"
#include "io/scan/scan.h"
#include "io_files.h"

static const char *const files[] = {"a.h5", "a.tif", "a.mha", "a.npy", "a.nrrd"};

/* Two flats, two darks and four views, as quickbeam itself writes them. */
static qb_status put_scan(const char *path, qb_dtype dtype) {
    static double angles[4] = {0.0, 0.5, 1.0, 1.5};
    char data[120 * 8];
    fill_bytes(data, sizeof data, 3);
    qb_array fields;
    qb_status status = qb_array_create(dtype, 2, 5, 6, &fields);
    if (status != QB_OK) return status;
    memset(fields.data, 1, 60 * qb_dtype_size(dtype));
    qb_stack stack = small_stack(dtype);
    stack.units = stack.quantity = "counts";
    stack.angles = angles;
    stack.flats = stack.darks = &fields;
    status = put_stack(path, &stack, data);
    qb_array_destroy(&fields);
    return status;
}

static void scan_comes_back(void **state) {
    (void)state;
    char want[240], got[240];
    fill_bytes(want, sizeof want, 3);
    qb_scan *scan;
    if (put_scan(in_folder("s.h5"), QB_U16) == QB_UNSUPPORTED) skip();
    assert_ok(qb_scan_open(in_folder("s.h5"), NULL, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_string_equal(info->format, "DataExchange HDF5");
    assert_true(info->views == 4 && info->rows == 5 && info->columns == 6);
    assert_true(info->flats == 2 && info->darks == 2 && info->dtype == QB_U16);
    assert_true(info->quantity == QB_COUNTS && info->chunk_rows == 1 && isnan(info->center));
    assert_close(info->pixel_size, 0.5, 1e-12);
    for (int i = 0; i < 4; i++) assert_close(info->angles[i], 0.5 * i, 1e-12);
    assert_ok(qb_scan_read(scan, 1, 3, 2, 4, got));
    for (int v = 1; v < 3; v++) assert_memory_equal(got + (v - 1) * 24, want + v * 60 + 24, 24);
    float flat[12], dark[12];
    assert_ok(qb_scan_fields(scan, 1, 3, flat, dark));
    for (int i = 0; i < 12; i++) assert_true(flat[i] == 257.0f && dark[i] == 257.0f);
    assert_status(qb_scan_read(scan, 3, 5, 0, 1, got), QB_BAD_ARGUMENT);
    assert_status(qb_scan_read(scan, 0, 1, 0, 6, got), QB_BAD_ARGUMENT);
    assert_ok(qb_scan_inspect(scan, NULL));
    qb_scan_close(scan);
    qb_scan_close(NULL);
}

/* The same array read as views and as sinograms, and only some views of both. */
static void sinograms_are_turned(void **state) {
    (void)state;
    unsigned char data[120], got[120];
    qb_stack stack = small_stack(QB_U8);
    for (unsigned i = 0; i < 120; i++) data[i] = (unsigned char)i;
    assert_ok(put_stack(in_folder("a.npy"), &stack, data));
    qb_scan_options options = {.as = QB_IMAGE_SINOGRAM, .angles = "0:180", .views = "1:5:2"};
    qb_scan *scan;
    assert_ok(qb_scan_open(in_folder("a.npy"), &options, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_true(info->views == 2 && info->rows == 4 && info->columns == 6);
    assert_close(info->angles[1], 3.14159265358979 * 3 / 5, 1e-9);
    assert_ok(qb_scan_read(scan, 0, 2, 1, 4, got));
    for (unsigned v = 0; v < 2; v++)
        for (unsigned r = 0; r < 3; r++)
            assert_memory_equal(got + (v * 3 + r) * 6, data + (r + 1) * 30 + (1 + 2 * v) * 6, 6);
    qb_scan_close(scan);
    options.as = QB_IMAGE_PROJECTION;
    options.views = "-3:";
    assert_ok(qb_scan_open(in_folder("a.npy"), &options, NULL, &scan));
    assert_int_equal(qb_scan_describe(scan)->views, 3);
    assert_ok(qb_scan_read(scan, 2, 3, 0, 5, got));
    assert_memory_equal(got, data + 90, 30);
    qb_scan_close(scan);
}

/* A broken copy may end at any byte. Every length gives an error that names the file, never a crash or wrong data. */
static void truncated_files(void **state) {
    (void)state;
    qb_stack stack = small_stack(QB_F32);
    char data[480];
    fill_bytes(data, sizeof data, 4);
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
        const char *path = in_folder(files[f]);
        size_t bytes;
        qb_array array;
        if (put_stack(path, &stack, data) == QB_UNSUPPORTED) continue;
        if (qb_array_load(path, NULL, &array, NULL) == QB_UNSUPPORTED) continue;
        qb_array_destroy(&array);
        char *whole = get_file(path, &bytes);
        size_t step = getenv("QB_QUICK") ? 37 : 7;
        for (size_t n = 0; n < bytes; n += n < 200 || bytes - n < 100 ? 1 : step) {
            put_file(path, whole, n);
            qb_status status = qb_array_load(path, NULL, &array, NULL);
            if (status == QB_OK) { /* the missing bytes were not needed */
                if (array.shape[0] != 4) fail_msg("%s cut at %zu of %zu: %zu images", path, n, bytes, array.shape[0]);
                assert_memory_equal(array.data, data, sizeof data);
                qb_array_destroy(&array);
                continue;
            }
            assert_true(status == QB_BAD_INPUT || status == QB_UNSUPPORTED);
            assert_non_null(strstr(qb_detail(), "a."));
        }
        free(whole);
        remove(path);
    }
}

static void open_fails(const char *path, qb_status expected, const char *words) {
    qb_array array;
    assert_status(qb_array_load(path, NULL, &array, NULL), expected);
    if (!strstr(qb_detail(), words)) fail_msg("\"%s\" does not say \"%s\"", qb_detail(), words);
}

static void bad_files_say_why(void **state) {
    (void)state;
    static const char fortran[] = "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': True, "
                                  "'shape': (2, 3), }                 \n";
    static const char huge[] = "\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, "
                               "'shape': (99999999999, 3), }       \n";
    static const char overflow[] = "\x93NUMPY\x01\x00\x4d\x00{'descr': '<f4', 'fortran_order': False, "
                                   "'shape': (4294967296,4294967296,4)}\n"; /* 2^66 values, which is zero in 64 bits */
    static const char mha[] = "NDims = 3\nDimSize = 4 4 4\nElementType = MET_FLOAT\n"
                              "CompressedData = True\nElementDataFile = LOCAL\n";
    put_file(in_folder("f.npy"), fortran, sizeof fortran - 1);
    /* the header can be read, but the values are not there */
    open_fails(in_folder("f.npy"), QB_BAD_INPUT, "do not fit");
    put_file(in_folder("h.npy"), huge, sizeof huge - 1);
    open_fails(in_folder("h.npy"), QB_BAD_INPUT, "99999999999");
    put_file(in_folder("o.npy"), overflow, sizeof overflow - 1);
    open_fails(in_folder("o.npy"), QB_BAD_INPUT, "4294967296 x 4294967296 x 4 float32 from byte 87 on do not fit");
    put_file(in_folder("c.mha"), mha, sizeof mha - 1);
#ifdef QB_HAVE_ZLIB
    open_fails(in_folder("c.mha"), QB_BAD_INPUT, "compressed data end too early");
#else
    open_fails(in_folder("c.mha"), QB_UNSUPPORTED, "compressed");
#endif
    put_file(in_folder("r.raw"), mha, sizeof mha - 1);
    open_fails(in_folder("r.raw"), QB_BAD_INPUT, "--shape");
    put_file(in_folder("strange"), mha + 10, 40);
    open_fails(in_folder("strange"), QB_UNSUPPORTED, "neither");
    open_fails(in_folder("none.npy"), QB_NOT_FOUND, "none.npy");
#ifdef QB_HAVE_TIFF
    open_fails(in_folder(""), QB_NOT_FOUND, "holds no image");
#endif
}

/* Rows are hashed while they are read, in pieces of several views or of some rows of one. */
static void rows_are_hashed_as_read(void **state) {
    (void)state;
    enum { VIEWS = 5, WIDE = 1000, MOST = 700 };
    static const size_t heights[] = {90, MOST};
    static unsigned short data[VIEWS * MOST * WIDE], got[VIEWS * MOST * WIDE];
    if (!qb__hash_known()) skip();
    fill_bytes((char *)data, sizeof data, 8);
    for (int i = 0; i < 2; i++) {
        const size_t rows = heights[i], row0 = 1, first = 3, end = rows - 2, bytes = WIDE * sizeof *data;
        const qb_stack stack = {.dtype = QB_U16, .shape = {VIEWS, rows, WIDE}};
        qb__digest want = {0}, seen = {0};
        qb_scan *scan;
        assert_ok(put_stack(in_folder("h.npy"), &stack, data));
        assert_ok(qb_scan_open(in_folder("h.npy"), NULL, NULL, &scan));
        assert_ok(qb__digest_begin(&want, VIEWS, rows, bytes, first, end));
        qb__digest_add(&want, 0, VIEWS, 0, rows, data, 1);
        for (size_t threads = 1; threads < 5; threads += 3) {
            scan->parts.data.source->threads = threads;
            assert_ok(qb__digest_begin(&seen, VIEWS, rows, bytes, first, end));
            qb__digest_attach(&scan->digests, &seen);
            assert_ok(qb__scan_read_hashed(scan, 0, VIEWS, row0, rows, first, end, got));
            qb__digest_detach(&scan->digests, &seen);
            for (size_t v = 0; v < VIEWS; v++)
                assert_memory_equal(got + v * (rows - row0) * WIDE, data + (v * rows + row0) * WIDE,
                                    (rows - row0) * bytes);
            assert_true(qb__digest_whole(&seen) && seen.sum == want.sum);
        }
        qb_scan_close(scan);
        qb__digest_release(&want);
        qb__digest_release(&seen);
    }
}

/* Rows are read in any order, in any pieces and any number of times. Each row counts once, and all must have been
 * read. */
static void digests_count_rows_once(void **state) {
    (void)state;
    enum { IMAGES = 3, ROWS = 4, BYTES = 5 };
    char data[IMAGES * ROWS * BYTES];
    qb__digest all = {0}, some = {0};
    if (!qb__hash_known()) skip();
    fill_bytes(data, sizeof data, 6);
    assert_ok(qb__digest_begin(&all, IMAGES, ROWS, BYTES, 0, ROWS));
    qb__digest_add(&all, 0, IMAGES, 0, ROWS, data, 2);
    assert_true(qb__digest_whole(&all));
    assert_ok(qb__digest_begin(&some, IMAGES, ROWS, BYTES, 0, ROWS));
    for (size_t image = IMAGES; image-- > 0;)
        for (size_t row = 0; row < ROWS; row++) { /* each row but the last, twice */
            assert_false(qb__digest_whole(&some));
            const size_t rows = row + 1 < ROWS ? 2 : 1;
            qb__digest_add(&some, image, image + 1, row, row + rows, data + (image * ROWS + row) * BYTES, 1);
            qb__digest_add(&some, image, image + 1, row, row + 1, data + (image * ROWS + row) * BYTES, 1);
            if (image == 0 && row + 2 >= ROWS) break;
        }
    assert_true(qb__digest_whole(&some) && some.sum == all.sum);
    /* Two digests of one scan. Each receives what is added while it is in the list. */
    qb__digest first = {0}, second = {0}, *list = NULL;
    assert_ok(qb__digest_begin(&first, IMAGES, ROWS, BYTES, 0, ROWS));
    assert_ok(qb__digest_begin(&second, IMAGES, ROWS, BYTES, 0, ROWS));
    qb__digest_detach(&list, &second);
    qb__digest_attach(&list, &first);
    qb__digests_add(&list, 0, 1, 0, ROWS, data, ROWS, 1);
    qb__digest_attach(&list, &second);
    qb__digests_add(&list, 1, IMAGES, 0, ROWS, data + ROWS * BYTES, ROWS, 1);
    qb__digest_detach(&list, &first);
    assert_true(qb__digest_whole(&first) && !qb__digest_whole(&second));
    assert_ok(qb__digest_begin(&first, IMAGES, ROWS, BYTES, 0, ROWS));
    qb__digests_add(&list, 0, IMAGES, 0, 1, data, ROWS, 1); /* some rows of each image */
    qb__digests_add(&list, 0, IMAGES, 1, ROWS, data + BYTES, ROWS, 2);
    assert_true(first.left == IMAGES * ROWS && qb__digest_whole(&second) && second.sum == all.sum);
    qb__digest_detach(&list, &second);
    assert_null(list);
    qb__digest_release(&first);
    qb__digest_release(&second);
    qb__digest_release(&all);
    qb__digest_release(&some);
}

static void raw_with_a_shape(void **state) {
    (void)state;
    unsigned char data[3 + 2 * 3 * 4 * 2], got[48];
    fill_bytes(data, sizeof data, 5);
    put_file(in_folder("r.raw"), data, sizeof data);
    qb_scan_options options = {.shape = "2,3,4:uint16big:3", .angles = "0:180"};
    qb_scan *scan;
    assert_ok(qb_scan_open(in_folder("r.raw"), &options, NULL, &scan));
    assert_ok(qb_scan_read(scan, 0, 2, 0, 3, got));
    for (size_t i = 0; i < 48; i++) assert_int_equal(got[i], data[3 + (i ^ 1)]);
    qb_scan_close(scan);
    static const char *const wrong[] = {"2,3:uint16",   "2,3,4", "2,3,4:int7", "-2,3,4:uint8", "2,3,4:uint8:x",
                                        "2,3,4:uint8:", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.shape = (char *)wrong[i];
        assert_status(qb_scan_open(in_folder("r.raw"), &options, NULL, &scan), QB_BAD_ARGUMENT);
        assert_null(scan);
    }
    options.shape = "2,3,5:uint16";
    assert_status(qb_scan_open(in_folder("r.raw"), &options, NULL, &scan), QB_BAD_INPUT);
}

static void stacks_must_agree(void **state) {
    (void)state;
    char data[480] = {0};
    qb_stack stack = small_stack(QB_U16);
    qb_array array;
    assert_ok(put_stack(in_folder("s/"), &stack, data));
    if (qb_array_load(in_folder("s"), NULL, &array, NULL) == QB_UNSUPPORTED) skip();
    qb_array_destroy(&array);
    stack.shape[0] = 1;
    stack.first = 7;
    stack.shape[2] = 5;
    assert_ok(put_stack(in_folder("s/slice_%05d.tif"), &stack, data));
    open_fails(in_folder("s"), QB_BAD_INPUT, "slice_00007.tif is 5 x 5 uint16");
    stack.dtype = QB_U8;
    stack.shape[2] = 6;
    assert_int_equal(unlink(in_folder("s/slice_00007.tif")), 0);
    assert_ok(put_stack(in_folder("s/slice_%05d.tif"), &stack, data));
    open_fails(in_folder("s"), QB_BAD_INPUT, "5 x 6 uint8");
    assert_ok(put_stack(in_folder("s/flat_%05d.tif"), &stack, data));
    open_fails(in_folder("s"), QB_BAD_INPUT, "more than one series");
    open_fails(in_folder("s/nothing_*.tif"), QB_NOT_FOUND, "nothing_");
    assert_ok(qb_array_load(in_folder("s/flat_*.tif"), NULL, &array, NULL));
    assert_int_equal(array.shape[0], 1);
    qb_array_destroy(&array);
}

static void natural_order(void **state) {
    (void)state;
    assert_true(qb__natural_compare("a9.tif", "a10.tif") < 0);
    assert_true(qb__natural_compare("a010.tif", "a9.tif") > 0);
    assert_true(qb__natural_compare("a1b2", "a1b10") < 0);
    assert_int_equal(qb__natural_compare("x", "x"), 0);
    assert_true(qb__natural_compare("x", "x1") < 0);
    unsigned char data[12 * 4], got[12 * 4];
    for (unsigned i = 0; i < sizeof data; i++) data[i] = (unsigned char)i;
    qb_stack stack = small_stack(QB_U8);
    memcpy(stack.shape, (size_t[]){12, 2, 2}, sizeof stack.shape);
    assert_ok(put_stack(in_folder("n_%d.tif"), &stack, data));
    qb_array array;
    if (qb_array_load(in_folder("n_%d.tif"), NULL, &array, NULL) == QB_UNSUPPORTED) skip();
    memcpy(got, array.data, sizeof got);
    qb_array_destroy(&array);
    assert_memory_equal(got, data, sizeof data);
}

/* The mean of many flats takes a while, so it can be stopped too. */
static void opening_is_cancelled(void **state) {
    (void)state;
    volatile sig_atomic_t stop = 1;
    qb_scan *scan;
    if (put_scan(in_folder("s.h5"), QB_U16) == QB_UNSUPPORTED) skip();
    assert_status(qb_scan_open(in_folder("s.h5"), NULL, &(qb_env){.cancel = &stop}, &scan), QB_CANCELLED);
    assert_null(scan);
}

/* Each allocation fails in turn while a scan is opened. */
static void memory_runs_out(void **state) {
    (void)state;
    static const char *const scans[] = {"s.h5", "s.npy", "s.mha", "s/"};
    for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++) {
        qb_scan *scan = NULL;
        qb_status status = put_scan(in_folder(scans[i]), QB_U16);
        if (status == QB_UNSUPPORTED) continue;
        status = QB_NO_MEMORY;
        for (size_t k = 1; status != QB_OK && k < 600; k++) {
            qb__fail_allocation(k);
            status = qb_scan_open(in_folder(scans[i]), NULL, NULL, &scan);
            qb__fail_allocation(0);
            if (status == QB_UNSUPPORTED) break;
            if (status == QB_OK)
                qb_scan_close(scan);
            else
                assert_null(scan);
        }
        assert_true(status == QB_OK || status == QB_UNSUPPORTED);
    }
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(scan_comes_back),         IN_FOLDER(sinograms_are_turned), IN_FOLDER(truncated_files),
        IN_FOLDER(bad_files_say_why),       IN_FOLDER(raw_with_a_shape),     IN_FOLDER(stacks_must_agree),
        IN_FOLDER(natural_order),           IN_FOLDER(memory_runs_out),      cmocka_unit_test(digests_count_rows_once),
        IN_FOLDER(rows_are_hashed_as_read), IN_FOLDER(opening_is_cancelled),
    };
    return cmocka_run_group_tests_name("io_read", tests, NULL, NULL);
}
