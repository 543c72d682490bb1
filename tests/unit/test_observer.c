/* SPDX-License-Identifier: MIT */
/* An observer of slabs sees each image once, in order, as it is written. It may end the job. */
#include "io_files.h"

#include <string.h>

#include "base/memory.h"
#include "quickbeam/quickbeam.h"

enum { VIEWS = 40, ROWS = 320, COLUMNS = 32, IMAGE = COLUMNS * COLUMNS };

static float lines[VIEWS * ROWS * COLUMNS];
static double angles[VIEWS];

typedef struct watcher {
    unsigned char seen[ROWS * IMAGE * sizeof(float)];
    size_t next, calls, stop; /* stop: after how many images it ends the job; 0 = never */
    qb_dtype dtype;
    double low, high;
} watcher;

static qb_status watch(void *user, const qb_slab *slab) {
    watcher *w = user;
    const size_t image = IMAGE * qb_dtype_size(slab->dtype);
    assert_int_equal(slab->struct_size, sizeof *slab);
    assert_int_equal(slab->first, w->next);
    assert_true(slab->count > 0 && slab->first + slab->count <= ROWS);
    assert_true(slab->shape[0] == ROWS && slab->shape[1] == COLUMNS && slab->shape[2] == COLUMNS);
    assert_string_equal(slab->units, "1/mm");
    memcpy(w->seen + slab->first * image, slab->data, slab->count * image);
    w->next += slab->count;
    w->calls++;
    w->dtype = slab->dtype;
    w->low = slab->scale_low, w->high = slab->scale_high;
    return w->stop && w->next >= w->stop ? QB_CANCELLED : QB_OK;
}

static void make_lines(void) {
    for (int v = 0; v < VIEWS; v++) angles[v] = M_PI * v / VIEWS;
    for (int i = 0; i < VIEWS * ROWS * COLUMNS; i++) {
        const double s = i % COLUMNS - 15.5;
        lines[i] = s * s < 100 ? (float)(sqrt(100 - s * s) * (1 + i / COLUMNS % ROWS) * 1e-3) : 0;
    }
}

/* Reconstructs with --dtype, into a folder or an array. Returns the status of the job. */
static qb_status reconstruct(watcher *w, const char *dtype, const char *path, qb_tensor *to) {
    const qb_tensor from = {.data = lines, .dtype = QB_F32, .ndim = 3, .shape = {VIEWS, ROWS, COLUMNS}};
    qb_scan_options about;
    qb_fbp_options fbp;
    qb_output_options output;
    qb_scan *scan;
    qb_job *job = NULL;
    make_lines();
    assert_ok(qb_params_init(qb_scan_params, &about));
    assert_ok(qb_params_init(qb_fbp_params, &fbp));
    assert_ok(qb_params_init(qb_output_params, &output));
    about.pixel_size = 0.5;
    assert_ok(qb_params_set(qb_fbp_params, &fbp, "center", "15.5"));
    assert_ok(qb_params_set(qb_output_params, &output, "dtype", dtype));
    if (dtype[0] == 'u') assert_ok(qb_params_set(qb_output_params, &output, "range", "-0.01,0.05"));
    if (path) assert_ok(qb_params_set(qb_output_params, &output, "output", path));
    output.array = to;
    output.slab = watch;
    output.slab_user = w;
    assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, &about, NULL, &scan));
    qb_status status = qb_fbp_plan(scan, NULL, &fbp, &output, "test", NULL, &job);
    if (status == QB_OK) status = qb_job_run(job, NULL, NULL);
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_params_clear(qb_scan_params, &about);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    return status;
}

static void slabs_are_what_is_written(void **state) {
    (void)state;
    static const struct {
        const char *name;
        qb_dtype dtype;
    } types[] = {{"float32", QB_F32}, {"float16", QB_F16}, {"uint16", QB_U16}, {"uint8", QB_U8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        static float volume[ROWS * IMAGE];
        static watcher w;
        qb_tensor to = {.data = volume, .dtype = types[i].dtype, .ndim = 3, .shape = {ROWS, COLUMNS, COLUMNS}};
        w = (watcher){0};
        memset(volume, 0xff, sizeof volume);
        assert_ok(reconstruct(&w, types[i].name, NULL, &to));
        assert_int_equal(w.next, ROWS);
        assert_true(w.calls >= 2);
        assert_int_equal(w.dtype, types[i].dtype);
        assert_memory_equal(w.seen, volume, ROWS * IMAGE * qb_dtype_size(types[i].dtype));
        if (types[i].name[0] == 'u') assert_true(w.low == -0.01 && w.high == 0.05);
    }
}

static void one_may_end_the_job(void **state) {
    (void)state;
    static watcher w;
    struct stat about;
    w = (watcher){.stop = 1};
    assert_status(reconstruct(&w, "float32", in_folder("v.h5"), NULL), QB_CANCELLED);
    assert_non_null(strstr(qb_detail(), "ended the job at images 0 to"));
    assert_int_equal(w.calls, 1);
    assert_true(stat(in_folder("v.h5"), &about) != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slabs_are_what_is_written, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(one_may_end_the_job, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
