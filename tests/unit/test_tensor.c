/* SPDX-License-Identifier: MIT */
/* Arrays in the place of files give the same values, with any strides and types. */
#include "arrays.h"

/* ---- sources ---- */

static void one_call_gives_the_bits_of_files(void **state) {
    (void)state;
    qb_array expected;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    fbp_by_files(lines, QB_F32, false, "float32", &expected);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options options = fbp_options();
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    assert_memory_equal(volume, expected.data, qb_array_count(&expected) * sizeof(float));
    assert_close(volume[2 * COLUMNS * COLUMNS + 24 * COLUMNS + 27], 0.15, 0.002);
    qb_params_clear(qb_fbp_params, &options);
    qb_array_destroy(&expected);
    free(volume);
}

/* The default finds the axis. */
static void defaults_do(void **state) {
    (void)state;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    assert_ok(qb_fbp(&from, angles, 0.5, &to, NULL, NULL));
    assert_close(volume[2 * COLUMNS * COLUMNS + 24 * COLUMNS + 27], 0.15, 0.01);
    free(volume);
}

/* [column][view][row], backwards in view and column, with every second element: all by strides. */
static void any_strides_are_read(void **state) {
    (void)state;
    float *stored = malloc(2 * PIXELS * sizeof *stored);
    float *plain = calloc(ROWS * COLUMNS * COLUMNS, sizeof *plain);
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    for (int i = 0; i < 2 * PIXELS; i++) stored[i] = NAN;
    for (int v = 0; v < VIEWS; v++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                stored[2 * (((COLUMNS - 1 - c) * VIEWS + VIEWS - 1 - v) * ROWS + r)] =
                    lines[(v * ROWS + r) * COLUMNS + c];
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(plain, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options options = fbp_options();
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    from = (qb_tensor){.data = stored + 2 * (((COLUMNS - 1) * VIEWS + VIEWS - 1) * ROWS),
                       .memory = QB_MEMORY_CUDA_HOST, /* read like any other memory */
                       .dtype = QB_F32,
                       .ndim = 4,
                       .shape = {1, VIEWS, ROWS, COLUMNS},
                       .strides = {7, -2 * ROWS, 2, -2 * VIEWS * ROWS}};
    to.data = volume;
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    assert_memory_equal(volume, plain, ROWS * COLUMNS * COLUMNS * sizeof(float));
    qb_params_clear(qb_fbp_params, &options);
    free(stored);
    free(plain);
    free(volume);
}

/* Counts with flats (several frames) and darks (one, of two dimensions), with plan and run. Then the same stored as
 * sinograms. */
static void counts_and_fields_are_arrays_too(void **state) {
    (void)state;
    qb_array expected;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    uint16_t *sinograms = malloc(sizeof counts);
    fbp_by_files(counts, QB_U16, true, "float32", &expected);
    for (int i = 0; i < PIXELS; i++) {
        int v = i / (ROWS * COLUMNS), r = i / COLUMNS % ROWS, c = i % COLUMNS;
        sinograms[(r * VIEWS + v) * COLUMNS + c] = counts[i];
    }
    for (int as = 0; as < 2; as++) {
        qb_tensor from =
            as ? dense(sinograms, QB_U16, ROWS, VIEWS, COLUMNS) : dense(counts, QB_U16, VIEWS, ROWS, COLUMNS);
        qb_tensor flat = dense(flats, QB_U16, 2, ROWS, COLUMNS);
        qb_tensor dark = {.data = darks, .dtype = QB_U16, .ndim = 2, .shape = {ROWS, COLUMNS}};
        qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
        qb_fbp_options options = fbp_options();
        qb_scan_options about;
        qb_output_options output;
        qb_scan *scan;
        qb_job *job;
        const char *report;
        assert_ok(qb_params_init(qb_scan_params, &about));
        assert_ok(qb_params_set(qb_scan_params, &about, "as", as ? "sinogram" : "projections"));
        about.pixel_size = 0.5;
        assert_ok(qb_params_init(qb_output_params, &output));
        output.array = &to;
        assert_ok(qb_scan_from_tensor(&from, angles, &flat, &dark, &about, NULL, &scan));
        const qb_scan_info *info = qb_scan_describe(scan);
        assert_string_equal(info->path, as ? "array of 5 x 60 x 48 uint16" : "array of 60 x 5 x 48 uint16");
        assert_int_equal(info->flats, 2);
        assert_int_equal(info->darks, 1);
        assert_int_equal(info->quantity, QB_COUNTS);
        assert_ok(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job));
        assert_ok(qb_job_run(job, NULL, &report));
        assert_non_null(strstr(report, "\"array of 5 x 48 x 48 float32\""));
        assert_memory_equal(volume, expected.data, qb_array_count(&expected) * sizeof(float));
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_params_clear(qb_scan_params, &about);
        qb_params_clear(qb_output_params, &output);
        qb_params_clear(qb_fbp_params, &options);
    }
    qb_array_destroy(&expected);
    free(sinograms);
    free(volume);
}

/* ---- sinks ---- */

/* Each type, written into [y][z][x] with gaps. The values are those of the file, and nothing beside them is written. */
static void any_strides_and_types_are_written(void **state) {
    (void)state;
    static const struct {
        qb_dtype dtype;
        const char *name;
    } types[] = {{QB_F32, "float32"}, {QB_F16, "float16"}, {QB_U16, "uint16"}, {QB_U8, "uint8"}};
    enum { GAP = 3, LINE = COLUMNS * 2 + GAP };
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        qb_array expected;
        fbp_by_files(lines, QB_F32, false, types[k].name, &expected);
        size_t element = qb_dtype_size(types[k].dtype), room = (size_t)COLUMNS * ROWS * LINE * element;
        unsigned char *volume = malloc(room);
        memset(volume, 0xa5, room);
        qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
        qb_tensor to = dense(volume + element, types[k].dtype, ROWS, COLUMNS, COLUMNS);
        to.strides[0] = LINE, to.strides[1] = ROWS * LINE, to.strides[2] = 2;
        qb_fbp_options options = fbp_options();
        qb_output_options output = {.array = &to};
        if (!qb_dtype_is_float(types[k].dtype)) output.range = (qb_numbers){2, {0, 0.3}};
        qb_scan_options about = {.pixel_size = 0.5};
        qb_scan *scan;
        qb_job *job;
        assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, &about, NULL, &scan));
        assert_ok(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job));
        assert_ok(qb_job_run(job, NULL, NULL));
        const unsigned char *value = expected.data;
        for (size_t y = 0; y < COLUMNS; y++)
            for (size_t z = 0; z < ROWS; z++)
                for (size_t x = 0; x < LINE; x++) {
                    const unsigned char *at = volume + ((y * ROWS + z) * LINE + x) * element;
                    const unsigned char untouched[4] = {0xa5, 0xa5, 0xa5, 0xa5};
                    bool written = x % 2 == 1 && x < 2 * COLUMNS;
                    const unsigned char *want =
                        written ? value + ((z * COLUMNS + y) * COLUMNS + x / 2) * element : untouched;
                    assert_memory_equal(at, want, element);
                }
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_params_clear(qb_fbp_params, &options);
        qb_array_destroy(&expected);
        free(volume);
    }
}

/* One row and one slice: [view][column] -> [y][x]. Without a pixel size, values are per pixel. */
static void two_dimensions_are_a_slice(void **state) {
    (void)state;
    float all[COLUMNS * COLUMNS], one[COLUMNS * COLUMNS];
    qb_fbp_options options = fbp_options();
    qb_tensor from = dense(lines + 2 * COLUMNS, QB_F32, VIEWS, 1, COLUMNS);
    qb_tensor to = dense(all, QB_F32, 1, COLUMNS, COLUMNS);
    from.strides[0] = ROWS * COLUMNS, from.strides[1] = COLUMNS, from.strides[2] = 1;
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    from = (qb_tensor){.data = lines + 2 * COLUMNS,
                       .dtype = QB_F32,
                       .ndim = 2,
                       .shape = {VIEWS, COLUMNS},
                       .strides = {ROWS * COLUMNS, 1}};
    to = (qb_tensor){.data = one, .dtype = QB_F32, .ndim = 2, .shape = {COLUMNS, COLUMNS}};
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    assert_memory_equal(one, all, sizeof all);
    assert_ok(qb_fbp(&from, angles, 0, &to, &options, NULL));
    assert_close(one[24 * COLUMNS + 27], 0.5 * all[24 * COLUMNS + 27], 1e-6);
    qb_params_clear(qb_fbp_params, &options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_gives_the_bits_of_files),
        cmocka_unit_test(defaults_do),
        cmocka_unit_test(any_strides_are_read),
        cmocka_unit_test(counts_and_fields_are_arrays_too),
        cmocka_unit_test(any_strides_and_types_are_written),
        cmocka_unit_test(two_dimensions_are_a_slice),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
