/* SPDX-License-Identifier: MIT */
/* Work that is no pipeline also stops when it is told to, and leaves nothing: simulations, their truth, and sweeps. */
#include "io_files.h"
#include "quickbeam/quickbeam.h"
#include "quickbeam/simulate.h"
#include "recon/sweep.h"

/* Listens to the progress of `stage` and stops the work when only `left` of its units remain. */
typedef struct stopper {
    volatile sig_atomic_t stop;
    const char *stage;
    uint64_t left;
    int after; /* calls since the stop */
} stopper;

static void note(void *user, const char *what, uint64_t done, uint64_t total) {
    stopper *s = user;
    s->after += s->stop;
    if (strcmp(what, s->stage) == 0 && total - done <= s->left) s->stop = 1;
}

static qb_env listening(stopper *s) {
    return (qb_env){.threads = 2, .device = "cpu", .user = s, .progress = note, .cancel = &s->stop};
}

static qb_status simulate(const char *truth, const qb_env *env) {
    qb_simulate_options options;
    assert_ok(qb_params_init(qb_simulate_params, &options));
    assert_ok(qb_params_set(qb_simulate_params, &options, "detector", "32,8"));
    assert_ok(qb_params_set(qb_simulate_params, &options, "views", "12"));
    assert_ok(qb_params_set(qb_simulate_params, &options, "pixel-size", "1"));
    assert_ok(qb_params_set(qb_simulate_params, &options, "output", in_folder("s.npy")));
    if (truth) assert_ok(qb_params_set(qb_simulate_params, &options, "truth", in_folder(truth)));
    qb_status status = qb_simulate("disc", &options, env);
    qb_params_clear(qb_simulate_params, &options);
    return status;
}

static void simulations(void **state) {
    (void)state;
    for (int truth = 0; truth < 2; truth++) {
        stopper s = {.stop = 1, .stage = ""};
        const qb_env env = listening(&s);
        assert_status(simulate(truth ? "t.npy" : NULL, &env), QB_CANCELLED);
        assert_int_equal(s.after, 0); /* nothing more was done */
    }
    stopper s = {.stage = "truth"};
    const qb_env env = listening(&s);
    assert_status(simulate("t.npy", &env), QB_CANCELLED);
    assert_true(s.stop && s.after == 0);
    assert_int_equal(count_files(test_folder), 0);
    assert_ok(simulate("t.npy", NULL));
}

static void sweeps(void **state) {
    (void)state;
    stopper s = {.stage = "sweep", .left = 2};
    const qb_env env = listening(&s);
    const qb_scan_options as = {.quantity = QB_LINE_INTEGRAL};
    const char *const values[] = {"14", "15", "16", "17"};
    char folder[512];
    snprintf(folder, sizeof folder, "%s", in_folder("w/"));
    const qb_output_options output = {.output = folder};
    const qb_tool_sweep_plan plan = {"center", values, 4, &output, "test"};
    qb_tool_sweep *sweep;
    qb_scan *scan;
    assert_ok(simulate(NULL, NULL));
    const size_t before = count_files(test_folder);
    assert_ok(qb_scan_open(in_folder("s.npy"), &as, NULL, &scan));
    assert_ok(qb_tool_sweep_create(&plan, &env, &sweep));
    const qb_output_options none = qb_tool_sweep_output(sweep);
    qb_status status = QB_OK;
    for (int i = 0; status == QB_OK && i < 4; i++) {
        const qb_fbp_options fbp = {.center = values[i]};
        qb_job *job;
        assert_ok(qb_fbp_plan(scan, NULL, &fbp, &none, NULL, &env, &job));
        status = qb_tool_sweep_add(sweep, job, &env, NULL);
        qb_job_destroy(job);
    }
    assert_int_equal(status, QB_CANCELLED);
    assert_true(s.stop && s.after == 0);
    qb_tool_sweep_destroy(sweep);
    assert_int_equal(count_files(test_folder), before);
    qb_scan_close(scan);
}

/* Rings are removed in blocks of rows. The block that was reported before the stop is the last one. */
static void rings(void **state) {
    (void)state;
    enum { VIEWS = 16, ROWS = 40, COLUMNS = 16 };
    static float lines[VIEWS * ROWS * COLUMNS], volume[ROWS * COLUMNS * COLUMNS];
    stopper s = {.stage = "finding rings", .left = ROWS};
    const qb_env env = listening(&s);
    const qb_tensor in = {.data = lines, .ndim = 3, .dtype = QB_F32, .shape = {VIEWS, ROWS, COLUMNS}};
    qb_tensor out = {.data = volume, .ndim = 3, .dtype = QB_F32, .shape = {ROWS, COLUMNS, COLUMNS}};
    const qb_scan_options as = {.quantity = QB_LINE_INTEGRAL, .angles = "0:180"};
    const qb_output_options output = {.array = &out};
    qb_prep_options prep;
    qb_fbp_options fbp;
    qb_scan *scan;
    qb_job *job;
    assert_ok(qb_scan_from_tensor(&in, NULL, NULL, NULL, &as, NULL, &scan));
    assert_ok(qb_params_init(qb_prep_params, &prep));
    assert_ok(qb_params_set(qb_prep_params, &prep, "rings", "sort"));
    assert_ok(qb_params_init(qb_fbp_params, &fbp));
    assert_ok(qb_params_set(qb_fbp_params, &fbp, "center", "7.5"));
    assert_ok(qb_fbp_plan(scan, &prep, &fbp, &output, NULL, &env, &job));
    assert_status(qb_job_run(job, &env, NULL), QB_CANCELLED);
    assert_true(s.stop && s.after == 0);
    qb_job_destroy(job);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_prep_params, &prep);
    qb_scan_close(scan);
}

int main(void) {
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {IN_FOLDER(simulations), IN_FOLDER(sweeps), cmocka_unit_test(rings)};
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
