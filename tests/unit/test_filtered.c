/* SPDX-License-Identifier: MIT */
/* Filtered rows that a job leaves for later jobs: those neither read nor filter, and give the bits of a job that does. */
#include "arrays.h"
#include "recon/fbp/fbp_filtered.h"

#include <string.h>

typedef float volume[ROWS * COLUMNS * COLUMNS];

static void fill(unsigned seed) {
    for (int i = 0; i < PIXELS; i++) {
        seed = seed * 1664525u + 1013904223u;
        lines[i] = (float)(seed >> 8) / (float)(1 << 24);
    }
}

static qb_scan *scan_of_lines(void) {
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    const qb_scan_options about = {.quantity = QB_LINE_INTEGRAL, .keep_all_views = true};
    qb_scan *scan;
    assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, &about, NULL, &scan));
    return scan;
}

static void run(qb_scan *scan, qb_tool_filtered *kept, const char *rows, const char *option, const char *value,
                volatile sig_atomic_t *cancel, float *out) {
    const bool region = option && strcmp(option, "region") == 0;
    const int64_t ny = region && strncmp(value, "0:", 2) == 0 ? 1 : COLUMNS, nx = region && ny == COLUMNS ? 1 : COLUMNS;
    const qb_tensor to = dense(out, QB_F32, ROWS, ny, nx);
    const qb_output_options output = {.array = &to};
    const qb_env env = {.struct_size = sizeof env, .threads = 2, .device = "cpu", .cancel = cancel};
    qb_fbp_options options = fbp_options();
    qb_job *job;
    for (int i = 0; i < ROWS * COLUMNS * COLUMNS; i++) out[i] = NAN;
    if (option) assert_ok(qb_params_set(qb_fbp_params, &options, option, value));
    assert_ok(qb_fbp_plan(scan, NULL, &options, &output, NULL, &env, &job));
    if (kept) assert_ok(qb_tool_filtered_use(kept, rows, job));
    const qb_status status = qb_job_run(job, &env, NULL);
    assert_int_equal(status, cancel && *cancel ? QB_CANCELLED : QB_OK);
    qb_job_destroy(job);
    qb_params_clear(qb_fbp_params, &options);
}

/* The options that change, and whether they change the filtered rows. */
static const struct {
    const char *option, *value;
    bool filters;
} rows[] = {{"center", "25.5", false},    {"region", "7:8,0:48", false}, {"region", "0:48,9:10", false},
            {"filter", "hann:0.5", true}, {"pad", "zero", true},         {"tilt", "2", true}};

static void rows_are_taken_where_they_are_the_same(void **state) {
    static volume wanted, made;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *option = rows[i].option, *value = rows[i].value;
        const bool region = strcmp(option, "region") == 0;
        const size_t bytes = region ? ROWS * COLUMNS * sizeof(float) : sizeof wanted;
        qb_tool_filtered *kept;
        assert_ok(qb_tool_filtered_create(1 << 24, &kept));
        fill(1);
        qb_scan *scan = scan_of_lines();
        run(scan, NULL, NULL, option, value, NULL, wanted);
        run(scan, kept, "a", NULL, NULL, NULL, made);
        if (rows[i].filters) { /* the rows are filtered again, from the numbers that are there */
            run(scan, kept, "a", option, value, NULL, made);
            assert_memory_equal(made, wanted, bytes);
        }
        fill(2);
        run(scan, kept, "a", option, value, NULL, made); /* nothing is read: the numbers are those of before */
        assert_memory_equal(made, wanted, bytes);
        run(scan, kept, "b", option, value, NULL, made); /* other rows, by the caller's word */
        run(scan, NULL, NULL, option, value, NULL, wanted);
        assert_memory_equal(made, wanted, bytes);
        qb_scan_close(scan);
        qb_tool_filtered_destroy(kept);
    }
}

static void a_job_that_was_stopped_leaves_nothing_wrong(void **state) {
    static volume wanted, made;
    volatile sig_atomic_t cancel = 1;
    qb_tool_filtered *kept;
    (void)state;
    fill(3);
    qb_scan *scan = scan_of_lines();
    assert_ok(qb_tool_filtered_create(1 << 24, &kept));
    run(scan, NULL, NULL, NULL, NULL, NULL, wanted);
    run(scan, kept, "a", NULL, NULL, &cancel, made);
    run(scan, kept, "a", NULL, NULL, NULL, made);
    assert_memory_equal(made, wanted, sizeof made);
    qb_scan_close(scan);
    qb_tool_filtered_destroy(kept);
}

static void rows_that_do_not_fit_are_not_kept(void **state) {
    static volume wanted, made;
    qb_tool_filtered *kept;
    (void)state;
    fill(4);
    qb_scan *scan = scan_of_lines();
    assert_ok(qb_tool_filtered_create(VIEWS * ROWS * COLUMNS, &kept)); /* a quarter of what they need */
    run(scan, kept, "a", NULL, NULL, NULL, made);
    fill(5);
    run(scan, kept, "a", NULL, NULL, NULL, made);
    run(scan, NULL, NULL, NULL, NULL, NULL, wanted);
    assert_memory_equal(made, wanted, sizeof made);
    qb_scan_close(scan);
    qb_tool_filtered_destroy(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_taken_where_they_are_the_same),
        cmocka_unit_test(a_job_that_was_stopped_leaves_nothing_wrong),
        cmocka_unit_test(rows_that_do_not_fit_are_not_kept),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
