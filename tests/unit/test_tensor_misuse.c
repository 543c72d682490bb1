/* SPDX-License-Identifier: MIT */
/* Arrays that cannot exist, allocations that fail, and programs of another version. */
#include "arrays.h"

#include "base/memory.h"

static void refusals(void **state) {
    (void)state;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options options = fbp_options();
#define REFUSED(status, word, field, ...)                                                                              \
    do {                                                                                                               \
        qb_tensor a = from, b = to;                                                                                    \
        (field) = __VA_ARGS__;                                                                                         \
        assert_status(qb_fbp(&a, angles, 0.5, &b, &options, NULL), status);                                            \
        if (!strstr(qb_detail(), word)) fail_msg("%s: not in: %s", word, qb_detail());                                 \
    } while (0)
    REFUSED(QB_BAD_ARGUMENT, "no array", a.data, NULL);
    REFUSED(QB_BAD_ARGUMENT, "not aligned", a.data, (char *)a.data + 1);
    REFUSED(QB_BAD_ARGUMENT, "0 dimensions", a.ndim, 0);
    REFUSED(QB_BAD_ARGUMENT, "5 dimensions", b.ndim, 5);
    REFUSED(QB_BAD_ARGUMENT, "shape[1] is 0", a.shape[1], 0);
    REFUSED(QB_BAD_ARGUMENT, "shape[2] is -48", b.shape[2], -COLUMNS);
    REFUSED(QB_BAD_ARGUMENT, "beyond what", a.shape[0], INT64_MAX);
    REFUSED(QB_BAD_ARGUMENT, "beyond what", a.strides[0], INT64_MIN);
    REFUSED(QB_BAD_ARGUMENT, "several elements", b.strides[2], 1);
    REFUSED(QB_BAD_ARGUMENT, "no qb_dtype", a.dtype, (qb_dtype)77);
    REFUSED(QB_UNSUPPORTED, "kind 8", a.memory, (qb_memory)8);
    REFUSED(QB_UNSUPPORTED, "is of int16", b.dtype, QB_I16);
    REFUSED(QB_BAD_ARGUMENT, "overlaps", b.data, lines);
    REFUSED(QB_BAD_ARGUMENT, "the result is 5 x 48 x 48 float32", b.shape[0], 4);
    assert_status(qb_fbp(&from, NULL, 0.5, &to, &options, NULL), QB_BAD_ARGUMENT);
    assert_status(qb_params_set(qb_fbp_params, &options, "centre", "1"), QB_BAD_ARGUMENT);
    /* A sweep needs a folder for its pictures. A file and an array are two outputs. */
    qb_output_options output = {.array = &to, .output = "/tmp/volume.h5"};
    qb_scan *scan;
    qb_job *job;
    assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, NULL, NULL, &scan));
    assert_status(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job), QB_BAD_ARGUMENT);
    output.output = NULL;
    assert_ok(qb_params_set(qb_fbp_params, &options, "center", "20:24:1"));
    assert_status(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "sweep"));
    qb_scan_close(scan);
    /* What geometry and volume state must not be given again. */
    qb_tensor lines_out = dense(volume, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor cube = dense(lines, QB_F32, 4, 8, 8);
    qb_project_options project = {.views = 3};
    qb_grid grid = {.n = {8, 8, 5}, .voxel = {1, 1, 1}};
    assert_status(qb_project(&cube, NULL, &circle, &lines_out, &project, NULL), QB_BAD_ARGUMENT);
    assert_status(qb_project(&cube, &grid, &circle, &lines_out, NULL, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "5 x 8 x 8"));
    qb_params_clear(qb_fbp_params, &options);
    free(volume);
}

static void memory_runs_out(void **state) {
    (void)state;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    float *sums = calloc(PIXELS, sizeof *sums);
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    const qb_tensor back = dense(sums, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_fbp_options options = fbp_options();
    for (int call = 0; call < 3; call++) {
        size_t n = 1;
        for (;; n++) {
            qb__fail_allocation(n);
            qb_env env = {.threads = 1};
            qb_status status = call == 0   ? qb_fbp(&from, angles, 0.5, &to, &options, &env)
                               : call == 1 ? qb_fdk(&from, &circle, &to, NULL, &env)
                                           : qb_project(&to, NULL, &circle, &back, NULL, &env);
            if (qb__fail_allocation(0)) break; /* no allocation was left to fail */
            assert_true(n < 1000);
            if (status == QB_OK) continue; /* the job did less at a time */
            assert_status(status, QB_NO_MEMORY);
            assert_true(strlen(qb_detail()) > 0);
        }
        assert_true(n > 15);
    }
    qb_params_clear(qb_fbp_params, &options);
    free(volume);
    free(sums);
}

/* A program compiled when the options ended with `pad`. Nothing of its own stands behind its struct. */
static void an_older_program_reconstructs(void **state) {
    (void)state;
    typedef struct older {
        size_t struct_size;
        char *center, *slices, *filter;
        qb_pad pad;
    } older;
    older *options = malloc(sizeof *options);
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    float *expected = calloc(ROWS * COLUMNS * COLUMNS, sizeof *expected);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(expected, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options whole = fbp_options();
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &whole, NULL));
    assert_ok(qb_params_init(qb_fbp_params, options));
    assert_ok(qb_params_set(qb_fbp_params, options, "center", "22.75"));
    to.data = volume;
    assert_ok(qb_fbp(&from, angles, 0.5, &to, (const qb_fbp_options *)options, NULL));
    assert_memory_equal(volume, expected, ROWS * COLUMNS * COLUMNS * sizeof *volume);
    qb_params_clear(qb_fbp_params, options);
    qb_params_clear(qb_fbp_params, &whole);
    free(options);
    free(volume);
    free(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(an_older_program_reconstructs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
