/* SPDX-License-Identifier: MIT */
/* Each allocation for the report fails once. Either the report is complete or the job fails. */
#include "arrays.h"

#include <cjson/cJSON.h>
#include <stdatomic.h>

static atomic_int left; /* allocations until one fails; below 1: none fails any more */

static void *give(size_t bytes) { return atomic_fetch_sub(&left, 1) == 1 ? NULL : malloc(bytes); }

/* Counts the list elements and numbers in the report's part on convergence. */
static int parts_of(const char *report) {
    int count = 0;
    assert_non_null(report);
    for (const char *at = strstr(report, "convergence"); at && *at && strncmp(at, "stages", 6) != 0; at++)
        count += *at == ',';
    return count;
}

/* Descends with independent slices, two turns each. */
static qb_status descend(int nth, int *parts) {
    qb_scan_options about = {.quantity = QB_LINE_INTEGRAL, .pixel_size = 0.5};
    qb_prep_options prep;
    qb_mbir_options options;
    qb_output_options output;
    qb_scan *scan;
    qb_job *job = NULL;
    const char *report = NULL;
    const qb_env env = {.threads = 1, .device = "cpu"};
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    static const char *const set[][2] = {
        {"center", "22.75"}, {"size", "16"}, {"equits", "2"}, {"neighbours", "1,0.7,0"}, {"checkpoint", "0"}};
    assert_ok(qb_params_init(qb_prep_params, &prep));
    assert_ok(qb_params_init(qb_mbir_params, &options));
    assert_ok(qb_params_init(qb_output_params, &output));
    for (int i = 0; i < 5; i++) assert_ok(qb_params_set(qb_mbir_params, &options, set[i][0], set[i][1]));
    assert_ok(qb_params_set(qb_output_params, &output, "output", path_of("out.npy")));
    assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, &about, NULL, &scan));
    assert_ok(qb_mbir_plan(scan, NULL, &prep, &options, &output, "mbir", &env, &job));
    atomic_store(&left, nth);
    const qb_status status = qb_job_run(job, &env, &report);
    if (status == QB_OK) *parts = parts_of(report);
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_params_clear(qb_prep_params, &prep);
    qb_params_clear(qb_mbir_params, &options);
    qb_params_clear(qb_output_params, &output);
    return status;
}

static void a_descent_is_told_whole_or_fails(void **state) {
    (void)state;
    cJSON_Hooks hooks = {give, free};
    int whole = 0, parts = 0, failed = 0;
    cJSON_InitHooks(&hooks);
    assert_ok(descend(0, &whole));
    assert_true(whole > 6);
    for (int nth = 1; nth <= 3000; nth += 3) {
        const qb_status status = descend(nth, &parts);
        const bool reached = atomic_load(&left) <= 0;
        /* Where the last text finds no memory, the text printed before the output got its name is used. */
        if (reached && status != QB_OK) assert_status(status, QB_NO_MEMORY);
        if (status == QB_OK) assert_int_equal(parts, whole);
        failed += reached;
        if (reached) continue;
        assert_ok(status);
        break;
    }
    assert_in_range(failed, 20, 2999);
    cJSON_InitHooks(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_descent_is_told_whole_or_fails)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
