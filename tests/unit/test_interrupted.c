/* SPDX-License-Identifier: MIT */
/* Every method on the CPU is stopped at many moments. It returns QB_CANCELLED and leaves no file. From what it kept,
 * --resume gives the bits of a run that was not stopped. A function that returns numbers returns all of them or
 * QB_CANCELLED. */
#include "interrupted.h"

static const job_case cases[] = {
    {"mbir, slices of their own in slabs",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"neighbours", "1,0.7,0"}, {"equits", "3"}, {"stop", "0"}, {"center", "11.5"}},
     true},
    {"mbir, one stack",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"neighbours", "1,0.7,1"}, {"equits", "4"}, {"stop", "0"}, {"center", "11.5"}},
     true},
    {"mbir, SuperVoxels",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"slices", "3:5"}, {"equits", "4"}, {"stop", "0"}, {"center", "11.5"}},
     true},
    {"mbir, coarse voxels first",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"slices", "0:20"}, {"coarse", "1"}, {"equits", "3"}, {"stop", "0"}, {"center", "11.5"}},
     true},
    {"mbir, a kept matrix",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"slices", "0:2"}, {"matrix", "bytes"}, {"equits", "3"}, {"stop", "0"}, {"center", "11.5"}},
     true},
    {"mbir, a fan", "fan.npy", "fan.json", mbir, qb_mbir_params, {{"equits", "3"}, {"stop", "0"}}, true},
    {"fbp", "s.npy", NULL, fbp, qb_fbp_params, {{"center", "11.5"}}, true},
    {"fdk", "cone.npy", "cone.json", fdk, qb_fdk_params, {{NULL, NULL}}, true},
    {"sirt", "cone.npy", "cone.json", sirt, qb_sirt_params, {{"iterations", "3"}}, false},
    {"cgls", "cone.npy", "cone.json", cgls, qb_cgls_params, {{"iterations", "3"}}, false},
};

static void methods(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) interrupt(&cases[i], "cpu");
}

/* ---- what returns numbers ---- */

/* Stops `call` at each of many questions whether to stop. It must fail, or its result must equal that of a call that
 * was not stopped. */
static void stop_call(const char *name, qb_status (*call)(const qb_env *env, void *result), size_t bytes) {
    enum { TIMES = 40, MOST = 1 << 16 };
    static char want[MOST], got[MOST];
    const qb_env env = {.threads = 2, .device = "cpu", .cancel = &stop};
    assert_true(bytes <= MOST);
    stop = 0;
    atomic_store(&looks, 0);
    atomic_store(&moment, 0);
    assert_ok(call(&env, want));
    const long all = atomic_load(&looks);
    print_message("%s: %ld looks\n", name, all);
    for (long i = 0; i < TIMES && all > 0; i++) {
        stop = 0;
        atomic_store(&looks, 0);
        atomic_store(&moment, 1 + i * (all - 1) / (TIMES - 1));
        const qb_status status = call(&env, got);
        if (status == QB_OK)
            assert_memory_equal(got, want, bytes);
        else
            assert_status(status, QB_CANCELLED);
    }
}

static qb_status find_axis(const qb_env *env, void *result) {
    char angles[] = "0:180";
    const qb_scan_options about = {.angles = angles, .pixel_size = 1, .quantity = QB_TRANSMISSION};
    qb_center_result found = {.struct_size = sizeof found};
    qb_scan *scan = NULL;
    qb_status status = qb_scan_open(in_folder("s.npy"), &about, env, &scan);
    if (status == QB_OK) status = qb_center_find(scan, NULL, NULL, env, &found);
    const double numbers[2] = {found.column, found.confidence};
    memcpy(result, numbers, sizeof numbers);
    qb_scan_close(scan);
    return status;
}

enum { N = 12, VOXELS = N * N * N };

static qb_status through_projector(const qb_env *env, void *result, bool back) {
    static float from[24 * 24 * 16], to[24 * 24 * 16];
    const qb_grid grid = {.n = {N, N, N}, .voxel = {1, 1, 1}};
    qb_geometry geometry;
    qb_projector *projector = NULL;
    qb_status status = qb_geometry_load(in_folder("cone.json"), NULL, NULL, &geometry);
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) from[i] = (float)(i % 7);
    if (status == QB_OK) status = qb_projector_create(&geometry, &grid, NULL, env, &projector);
    if (status == QB_OK)
        status = back ? qb_projector_adjoint(projector, from, 0, 24, false, env, to)
                      : qb_projector_forward(projector, from, 0, 24, env, to);
    memcpy(result, to, VOXELS * sizeof *to);
    qb_projector_destroy(projector);
    qb_geometry_destroy(&geometry);
    return status;
}

static qb_status project(const qb_env *env, void *result) { return through_projector(env, result, false); }
static qb_status project_back(const qb_env *env, void *result) { return through_projector(env, result, true); }

/* The matrix is diagonal, so one pass solves it. */
static qb_status descend(const qb_env *env, void *result) {
    enum { COLUMNS = 5 };
    const uint32_t row[COLUMNS] = {0, 1, 2, 3, 4};
    const size_t first[COLUMNS + 1] = {0, 1, 2, 3, 4, 5};
    const float value[COLUMNS] = {1, 2, 3, 4, 5}, y[COLUMNS] = {1, 4, 9, 16, 25};
    const qb_quadratic q = {.matrix = {.rows = COLUMNS, .columns = COLUMNS, .first = first, .row = row, .value = value},
                            .y = y};
    float x[COLUMNS] = {0};
    const qb_status status = qb_quadratic_descend(&q, x, NULL, env);
    memcpy(result, x, sizeof x);
    return status;
}

static void calls(void **state) {
    (void)state;
    stop_call("center", find_axis, 2 * sizeof(double));
    stop_call("projection", project, VOXELS * sizeof(float));
    stop_call("its adjoint", project_back, VOXELS * sizeof(float));
    stop_call("descent", descend, 5 * sizeof(float));
}

/* ---- what writes files ---- */

static qb_status to_file(bool simulated, const qb_env *env) {
    char angles[] = "0:180";
    const qb_scan_options about = {.angles = angles, .pixel_size = 1, .quantity = QB_TRANSMISSION};
    qb_simulate_options simulate;
    qb_convert_options convert;
    qb_scan *scan = NULL;
    if (simulated) {
        assert_ok(qb_params_init(qb_simulate_params, &simulate));
        assert_ok(qb_params_set(qb_simulate_params, &simulate, "detector", "24,5"));
        assert_ok(qb_params_set(qb_simulate_params, &simulate, "views", "16"));
        assert_ok(qb_params_set(qb_simulate_params, &simulate, "output", in_folder("out.npy")));
        const qb_status status = qb_simulate("disc", &simulate, env);
        qb_params_clear(qb_simulate_params, &simulate);
        return status;
    }
    assert_ok(qb_params_init(qb_convert_params, &convert));
    assert_ok(qb_params_set(qb_convert_params, &convert, "output", in_folder("out.npy")));
    qb_status status = qb_scan_open(in_folder("s.npy"), &about, env, &scan);
    if (status == QB_OK) status = qb_convert(scan, NULL, &convert, NULL, env);
    qb_scan_close(scan);
    qb_params_clear(qb_convert_params, &convert);
    return status;
}

static void files(void **state) {
    (void)state;
    const qb_env env = {.threads = 1, .device = "cpu", .cancel = &stop};
    for (int simulated = 0; simulated < 2; simulated++) {
        stop = 0;
        atomic_store(&looks, 0);
        atomic_store(&moment, 0);
        assert_ok(to_file(simulated, &env));
        assert_int_equal(rename(in_folder("out.npy"), in_folder("whole.npy")), 0);
        const long all = atomic_load(&looks);
        assert_true(all > 0);
        for (long n = 1; n <= all; n++) {
            stop = 0;
            atomic_store(&looks, 0);
            atomic_store(&moment, n);
            const qb_status status = to_file(simulated, &env);
            if (status == QB_OK) {
                check_same(in_folder("out.npy"), in_folder("whole.npy"));
            } else {
                assert_status(status, QB_CANCELLED);
                assert_int_equal(access(in_folder("out.npy"), F_OK), -1);
            }
        }
    }
}

int main(void) {
#define ON_SCANS(name) cmocka_unit_test_setup_teardown(name, make_scans, drop_folder)
    const struct CMUnitTest tests[] = {ON_SCANS(methods), ON_SCANS(calls), ON_SCANS(files)};
    return cmocka_run_group_tests_name("interrupted", tests, NULL, NULL);
}
