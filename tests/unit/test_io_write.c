/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "io_files.h"

static const char *const names[] = {"a.h5", "a.tif",      "a.mha",  "a.npy",      "a.nrrd", "a.raw",
                                    "a/",   "a_%03d.tif", "a.zarr", "a.nii",      "a.vol",  "p.h5",
                                    "z.h5", "a.mrc",      "z.mha",  "a_%03d.dcm", "a.mhd",  "z.mhd"};
enum { NAMES = sizeof names / sizeof names[0] };

/* Some options for the stack: one file is an HDF5 file over several files, another is compressed. */
static void choose(qb_stack *stack, const char *name) {
    stack->parts = strstr(name, "p.h5") ? 3 : 0;
    stack->compress = strstr(name, "z.h5") || strstr(name, "z.mh") ? "gzip" : NULL;
}

/* True where the format lacks the type. MetaImage and others have no float16, and MRC has few types. */
static bool has_not(const char *name, qb_dtype type) {
    if (strstr(name, ".dcm")) return type != QB_U16 && type != QB_I16;
    if (strstr(name, ".mrc")) return type == QB_U8 || type == QB_U32 || type == QB_I32 || type == QB_F64;
    return type == QB_F16 &&
           (strstr(name, ".mh") || strstr(name, ".nrrd") || strstr(name, ".nii") || strstr(name, ".vol"));
}

static void every_format_and_type(void **state) {
    (void)state;
    char data[120 * 8];
    fill_bytes(data, sizeof data, 1);
    for (size_t n = 0; n < NAMES; n++) {
        for (qb_dtype type = QB_F32; type <= QB_F64; type++) {
            qb_stack stack = small_stack(type);
            char name[32];
            snprintf(name, sizeof name, "%s_%s", qb_dtype_name(type), names[n]);
            choose(&stack, name);
            if (has_not(name, type)) {
                assert_status(put_stack(in_folder(name), &stack, data), QB_BAD_ARGUMENT);
                continue;
            }
            if (!can_write(in_folder(name), &stack)) continue;
            assert_ok(put_stack(in_folder(name), &stack, data));
            qb_array array;
            double voxel[3];
            qb_status status = qb_array_load(in_folder(name), NULL, &array, voxel);
            if (status == QB_UNSUPPORTED) continue;
            assert_ok(status);
            assert_int_equal(array.dtype, type);
            assert_memory_equal(array.shape, stack.shape, sizeof stack.shape);
            assert_memory_equal(array.data, data, 120 * qb_dtype_size(type));
            for (int i = 0; i < 3; i++) assert_close(voxel[i], stack.voxel[i], 1e-9);
            qb_array_destroy(&array);
        }
    }
}

static void slabs_in_any_order(void **state) {
    (void)state;
    char data[4 * 30 * 2];
    fill_bytes(data, sizeof data, 2);
    qb_stack stack = small_stack(QB_U16);
    for (size_t n = 0; n < NAMES; n++) {
        qb_writer *writer;
        qb_array array;
        choose(&stack, names[n]);
        if (!can_write(in_folder(names[n]), &stack)) continue;
        assert_ok(qb_writer_create(in_folder(names[n]), &stack, &writer));
        assert_ok(qb_writer_write(writer, 3, 4, data + 3 * 60));
        assert_ok(qb_writer_write(writer, 0, 2, data));
        assert_ok(qb_writer_write(writer, 2, 3, data + 2 * 60));
        assert_status(qb_writer_write(writer, 3, 5, data), QB_BAD_ARGUMENT);
        assert_ok(qb_writer_commit(writer, NULL));
        if (qb_array_load(in_folder(names[n]), NULL, &array, NULL) == QB_UNSUPPORTED) continue;
        assert_memory_equal(array.data, data, sizeof data);
        qb_array_destroy(&array);
    }
}

/* A writer that is aborted, or whose data are not complete, leaves no file, hidden or not. */
static void abort_leaves_nothing(void **state) {
    (void)state;
    char data[120 * 2] = {0};
    qb_stack stack = small_stack(QB_U16);
    for (size_t n = 0; n < NAMES; n++) {
        qb_writer *writer;
        choose(&stack, names[n]);
        if (!can_write(in_folder(names[n]), &stack)) continue;
        assert_ok(qb_writer_create(in_folder(names[n]), &stack, &writer));
        assert_ok(qb_writer_write(writer, 0, 4, data));
        assert_true(access(in_folder("a.h5"), F_OK) != 0);
        qb_writer_abort(writer);
        assert_int_equal(count_files(test_folder), 0);
        assert_ok(qb_writer_create(in_folder(names[n]), &stack, &writer));
        assert_ok(qb_writer_write(writer, 0, 3, data));
        assert_status(qb_writer_commit(writer, ""), QB_BAD_ARGUMENT);
        assert_non_null(strstr(qb_detail(), "3 of 4"));
        assert_int_equal(count_files(test_folder), 0);
        /* As many images as declared would be written, but here some are missing. */
        assert_ok(qb_writer_create(in_folder(names[n]), &stack, &writer));
        assert_ok(qb_writer_write(writer, 0, 2, data));
        assert_status(qb_writer_write(writer, 0, 2, data), QB_BAD_ARGUMENT);
        assert_non_null(strstr(qb_detail(), "image 0"));
        assert_status(qb_writer_commit(writer, ""), QB_BAD_ARGUMENT);
        assert_non_null(strstr(qb_detail(), "2 of 4 images were written, image 2"));
        assert_int_equal(count_files(test_folder), 0);
    }
    qb_writer_abort(NULL);
}

static void old_files_stay_until_commit(void **state) {
    (void)state;
    char before[120 * 2] = {1}, after[120 * 2] = {2};
    qb_stack stack = small_stack(QB_U16);
    for (size_t n = 0; n < NAMES; n++) {
        qb_writer *writer;
        qb_array array;
        choose(&stack, names[n]);
        if (!can_write(in_folder(names[n]), &stack)) continue;
        assert_ok(put_stack(in_folder(names[n]), &stack, before));
        assert_ok(qb_writer_create(in_folder(names[n]), &stack, &writer));
        assert_ok(qb_writer_write(writer, 0, 4, after));
        if (qb_array_load(in_folder(names[n]), NULL, &array, NULL) != QB_UNSUPPORTED) {
            assert_memory_equal(array.data, before, sizeof before);
            qb_array_destroy(&array);
        }
        assert_ok(qb_writer_commit(writer, ""));
        if (qb_array_load(in_folder(names[n]), NULL, &array, NULL) == QB_UNSUPPORTED) continue;
        assert_memory_equal(array.data, after, sizeof after);
        qb_array_destroy(&array);
    }
}

static void strange_folders_are_refused(void **state) {
    (void)state;
    char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    put_file(in_folder("thesis.doc"), "x", 1);
    assert_status(put_stack(test_folder, &stack, data), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "thesis.doc"));
    assert_int_equal(count_files(test_folder), 1);
    assert_ok(put_stack(in_folder("b_%d.tif"), &stack, data));
    assert_int_equal(count_files(test_folder), 5);
    assert_status(put_stack(in_folder("b_%d_%d.tif"), &stack, data), QB_BAD_ARGUMENT);
    assert_status(put_stack(in_folder("b_%s.tif"), &stack, data), QB_BAD_ARGUMENT);
    assert_status(put_stack(in_folder("none/b.npy"), &stack, data), QB_IO);
    assert_status(put_stack(in_folder("none/b/"), &stack, data), QB_IO);
    assert_status(put_stack(in_folder("b.xyz"), &stack, data), QB_BAD_ARGUMENT);
    stack.shape[1] = 0;
    assert_status(put_stack(in_folder("b.npy"), &stack, data), QB_BAD_ARGUMENT);
    stack.shape[1] = SIZE_MAX / 2;
    assert_status(put_stack(in_folder("b.npy"), &stack, data), QB_BAD_ARGUMENT);
    assert_int_equal(count_files(test_folder), 5);
}

static void numbers_in_names(void **state) {
    (void)state;
    char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    stack.first = 98;
    assert_ok(put_stack(in_folder("s/"), &stack, data));
    assert_int_equal(access(in_folder("s/slice_00098.tif"), F_OK), 0);
    assert_int_equal(access(in_folder("s/slice_00101.tif"), F_OK), 0);
    stack.quantity = "counts";
    assert_ok(put_stack(in_folder("v/"), &stack, data));
    assert_int_equal(access(in_folder("v/view_00098.tif"), F_OK), 0);
}

/* More than any disk holds. */
/* A folder of parts is replaced as a whole, so no older part remains in it. Other formats have no parts. */
static void parts_of_older_volumes(void **state) {
    (void)state;
    char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    stack.parts = 4;
    if (!can_write(in_folder("p.h5"), &stack)) return;
    assert_ok(put_stack(in_folder("p.h5"), &stack, data));
    assert_int_equal(count_files(test_folder), 2);
    assert_int_equal(count_files(in_folder("p.h5.parts")), 4);
    stack.parts = 3;
    assert_status(put_stack(in_folder("p.h5"), &stack, data), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "03.h5, which is none of the 3 parts"));
    stack.parts = 4;
    assert_ok(put_stack(in_folder("p.h5"), &stack, data));
    assert_int_equal(count_files(in_folder("p.h5.parts")), 4);
    put_file(in_folder("p.h5.parts/notes.txt"), "x", 1);
    assert_status(put_stack(in_folder("p.h5"), &stack, data), QB_BAD_ARGUMENT);
    assert_int_equal(remove(in_folder("p.h5.parts/notes.txt")), 0);
    /* A missing part gives an error. It is not read as zeros. */
    qb_array array;
    assert_int_equal(remove(in_folder("p.h5.parts/02.h5")), 0);
    assert_status(qb_array_load(in_folder("p.h5"), NULL, &array, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "p.h5.parts/02.h5, which is missing"));
    assert_status(put_stack(in_folder("p.npy"), &stack, data), QB_BAD_ARGUMENT);
    stack.parts = QB_PARTS_MOST + 1;
    assert_status(put_stack(in_folder("q.h5"), &stack, data), QB_BAD_ARGUMENT);
    assert_int_equal(count_files(test_folder), 2);
}

static void too_large_for_the_disk(void **state) {
    (void)state;
    qb_stack stack = small_stack(QB_F32);
    stack.shape[0] = (size_t)1 << 40;
    stack.shape[1] = stack.shape[2] = 1024;
    for (size_t n = 0; n < NAMES; n++) {
        qb_writer *writer;
        choose(&stack, names[n]);
        if (!can_write(in_folder(names[n]), &stack)) continue;
        assert_status(qb_writer_create(in_folder(names[n]), &stack, &writer), QB_NO_SPACE);
        assert_non_null(strstr(qb_detail(), "MB free"));
        assert_int_equal(count_files(test_folder), 0);
    }
}

/* The disk fills up while writing. A limit on file sizes takes its place. It runs in a child because the limit cannot
 * be lifted again. */
static void full_while_writing(void **state) {
    (void)state;
    qb_stack stack = small_stack(QB_F32);
    stack.shape[1] = stack.shape[2] = 256;
    size_t bytes = 4 * 256 * 256 * sizeof(float);
    for (size_t n = 0; n < NAMES; n++) {
        choose(&stack, names[n]);
        stack.dtype = has_not(names[n], QB_F32) ? QB_I16 : QB_F32;
        if (!can_write(in_folder(names[n]), &stack)) continue;
        pid_t child = fork();
        if (child == 0) {
            signal(SIGXFSZ, SIG_IGN);
            struct rlimit limit = {100000, 100000};
            setrlimit(RLIMIT_FSIZE, &limit);
            void *data = calloc(1, bytes);
            qb_status status = put_stack(in_folder(names[n]), &stack, data);
            free(data);
            _exit(status == QB_NO_SPACE ? 0 : 1 + (int)status);
        }
        int how;
        waitpid(child, &how, 0);
        assert_int_equal(how, 0);
        assert_int_equal(count_files(test_folder), 0);
    }
}

/* A commit that fails at its very end has failed. */
static void name_taken_by_a_folder(void **state) {
    (void)state;
    char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    qb_writer *writer;
    assert_ok(qb_writer_create(in_folder("c.npy"), &stack, &writer));
    assert_ok(qb_writer_write(writer, 0, 4, data));
    assert_int_equal(mkdir(in_folder("c.npy"), 0777), 0);
    assert_status(qb_writer_commit(writer, ""), QB_IO);
    assert_int_equal(rmdir(in_folder("c.npy")), 0);
    assert_int_equal(count_files(in_folder("")), 0);
}

/* Each allocation fails in turn. Nothing is left behind and nothing leaks. */
static void memory_runs_out(void **state) {
    (void)state;
    char data[240] = {0};
    double angles[4] = {0, 1, 2, 3};
    qb_stack stack = small_stack(QB_U8);
    for (size_t n = 0; n < NAMES; n++) {
        choose(&stack, names[n]);
        const bool slices = strstr(names[n], ".dcm") != NULL;
        stack.quantity = slices ? "attenuation" : "counts";
        stack.angles = slices ? NULL : angles;
        stack.dtype = slices ? QB_I16 : has_not(names[n], QB_U8) ? QB_I8 : QB_U8;
        if (!can_write(in_folder(names[n]), &stack)) continue;
        qb_status status = QB_NO_MEMORY;
        for (size_t k = 1; status != QB_OK && k < 400; k++) {
            qb__fail_allocation(k);
            status = put_stack(in_folder(names[n]), &stack, data);
            qb__fail_allocation(0);
            if (status != QB_OK && status != QB_NO_MEMORY)
                fail_msg("%s, allocation %zu: %s: %s", names[n], k, qb_status_text(status), qb_detail());
            if (status != QB_OK) assert_int_equal(count_files(test_folder), 0);
        }
        assert_int_equal(status, QB_OK);
        drop_folder(NULL);
        mkdir(test_folder, 0777);
    }
}

static void preview(void **state) {
    (void)state;
    enum { NX = 5000, NY = 300 };
    float *image = malloc(NX * NY * sizeof *image);
    assert_non_null(image);
    for (size_t i = 0; i < NX * NY; i++) image[i] = (float)(i % NX);
    image[0] = NAN;
    qb_status status = qb_preview_write(in_folder("p.png"), image, NX, NY, 0.0, 0.0);
    if (status == QB_UNSUPPORTED) {
        free(image);
        skip();
    }
    assert_int_equal(status, QB_OK);
    size_t bytes;
    char *png = get_file(in_folder("p.png"), &bytes);
    assert_memory_equal(png, "\x89PNG", 4);
    assert_int_equal((unsigned char)png[18] << 8 | (unsigned char)png[19], NX / 3);
    assert_int_equal((unsigned char)png[22] << 8 | (unsigned char)png[23], NY / 3);
    free(png);
    assert_status(qb_preview_write(in_folder("no/p.png"), image, NX, NY, 0, 1), QB_NOT_FOUND);
    assert_status(qb_preview_write(in_folder("p.png"), image, 0, NY, 0, 1), QB_BAD_ARGUMENT);
    assert_int_equal(count_files(test_folder), 1);
    free(image);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_format_and_type),
        IN_FOLDER(slabs_in_any_order),
        IN_FOLDER(abort_leaves_nothing),
        IN_FOLDER(old_files_stay_until_commit),
        IN_FOLDER(strange_folders_are_refused),
        IN_FOLDER(numbers_in_names),
        IN_FOLDER(parts_of_older_volumes),
        IN_FOLDER(too_large_for_the_disk),
        IN_FOLDER(full_while_writing),
        IN_FOLDER(name_taken_by_a_folder),
        IN_FOLDER(memory_runs_out),
        IN_FOLDER(preview),
    };
    return cmocka_run_group_tests_name("io_write", tests, NULL, NULL);
}
