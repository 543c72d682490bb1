/* SPDX-License-Identifier: MIT */
/* Every public function gets what no program should give it: NULL for each pointer in turn, structs of zeros, numbers
 * that are NaN or infinite, enums out of range. Each call fails with words, or does nothing. None crashes. */
#include "io_files.h"

#include <math.h>

#include "bench/bench_options.h"
#include "io/guard/guard.h"
#include "planner/cluster_plan.h"
#include "quickbeam/compare.h"
#include "quickbeam/descent.h"
#include "quickbeam/device.h"
#include "quickbeam/project.h"
#include "quickbeam/quickbeam.h"
#include "quickbeam/ranks.h"
#include "quickbeam/simple.h"
#include "quickbeam/simulate.h"

enum { VIEWS = 12, ROWS = 4, COLUMNS = 16, COUNT = VIEWS * ROWS * COLUMNS };

static float numbers[2 * COUNT];
static double angles[VIEWS];
static char *text;

/* Checks that the call is refused with words. */
#define no(call)                                                                                                       \
    do {                                                                                                               \
        const qb_status came = (call);                                                                                 \
        if (came == QB_OK) fail_msg("%s was accepted", #call);                                                         \
        if (!*qb_detail()) fail_msg("%s says nothing", #call);                                                         \
    } while (0)

static qb_geometry cone(void) {
    qb_geometry g;
    assert_ok(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 1, 1, 100, 200, 0, 0, &g));
    return g;
}

static qb_tensor tensor(int64_t n0, int64_t n1, int64_t n2) {
    return (qb_tensor){.data = numbers, .memory = QB_MEMORY_CPU, .ndim = 3, .dtype = QB_F32, .shape = {n0, n1, n2}};
}

static qb_scan *open_scan(void) {
    const qb_tensor t = tensor(VIEWS, ROWS, COLUMNS);
    qb_scan *scan;
    assert_ok(qb_scan_from_tensor(&t, angles, NULL, NULL, NULL, NULL, &scan));
    return scan;
}

/* Fills bad[] with invalid geometries: no views, views missing, a number that is no number, an unknown beam, or too
 * strong a bend. */
static size_t no_geometries(qb_geometry *bad, const qb_geometry *good, qb_view views[VIEWS]) {
    for (int i = 0; i < 6; i++) bad[i] = *good;
    memcpy(views, good->view, VIEWS * sizeof *views);
    views[3].u[1] = NAN;
    bad[0] = (qb_geometry){0};
    bad[1].view = NULL;
    bad[2].view = views;
    bad[3].beam = (qb_beam)77;
    bad[4].radius = NAN;
    bad[5].radius = 2;
    return 6;
}

static size_t no_grids(qb_grid bad[4], const qb_grid *good) {
    for (int i = 0; i < 4; i++) bad[i] = *good;
    bad[0] = (qb_grid){0};
    bad[1].voxel[1] = NAN;
    bad[2].offset[2] = INFINITY;
    bad[3].n[0] = bad[3].n[1] = bad[3].n[2] = (size_t)1 << 40;
    return 4;
}

/* ---- arrays and numbers ---- */

static void arrays(void **state) {
    (void)state;
    qb_dtype dtype;
    qb_array good = {.dtype = QB_F32, .shape = {2, 8, 8}, .data = numbers}, hollow = good, unknown = good, made;
    qb_comparison found = {.struct_size = sizeof found};
    hollow.data = NULL, hollow.dtype = QB_U8, unknown.dtype = (qb_dtype)99;
    assert_false(qb_dtype_parse(NULL, &dtype) || qb_dtype_parse("uint8", NULL) || qb_dtype_parse("", &dtype));
    assert_false(qb_dtype_is_float((qb_dtype)1000000));
    assert_int_equal(qb_array_count(NULL), 0);
    no(qb_array_create(QB_F32, 1, 1, 1, NULL));
    no(qb_array_create(QB_F64, (size_t)1 << 61, 1, 1, &made));
    no(qb_array_to_float(NULL));
    no(qb_array_to_float(&hollow));
    no(qb_array_to_float(&unknown));
    no(qb_compare(&good, NULL, &found));
    no(qb_compare(&good, &good, NULL));
    no(qb_compare(&hollow, &good, &found));
    no(qb_compare(&good, &unknown, &found));
    qb_array_destroy(NULL);
    qb_convert_from_float(NULL, 0, QB_U8, 0, 1, NULL);
    qb_convert_from_float(numbers, 4, (qb_dtype)99, 0, 1, numbers);
    qb_convert_from_float(numbers, 4, QB_U8, NAN, NAN, (char[4]){0});
    qb_convert_to_float(numbers, (qb_dtype)77, 4, numbers);
    assert_int_equal(qb_count_outside(NULL, 0, QB_U8, 0, 1), 0);
}

static void names(void **state) {
    (void)state;
    for (int i = -2; i < 100; i += 100) {
        assert_string_equal(qb_interp_name((qb_interp)i), "unknown");
        assert_string_equal(qb_accuracy_name((qb_accuracy)i), "unknown");
        assert_string_equal(qb_problem_name((qb_problem)i), "unknown");
        assert_string_equal(qb_beam_name((qb_beam)i), "unknown");
        assert_non_null(qb_status_text((qb_status)i));
    }
    assert_non_null(qb_format_line((size_t)-1));
    qb_text_free(NULL);
    no(qb_library_path_set((qb_library)99, "x"));
    no(qb_devices_describe(NULL, NULL));
    no(qb_tool_bench("fbp", NULL, NULL, NULL, NULL));
    no(qb_tool_cluster_plan(NULL, NULL, NULL, &text));
    no(qb_tool_cluster_plan(&(qb_tool_cluster_problem){1, 1, 1, {1, 1, 1}}, NULL, NULL, NULL));
    no(qb_tool_cluster_plan(&(qb_tool_cluster_problem){1, 1, 1, {1, 1, 1}}, NULL, NULL, &text));
    no(qb_tool_bench("nonsense", NULL, NULL, NULL, &text));
    no(qb_tune(NULL, NULL, NULL));
    no(qb_machine_measure(NULL, 3, NULL));
    no(qb_machine_measure((const char *const[]){NULL}, 1, NULL));
}

/* ---- options ---- */

static void options(void **state) {
    (void)state;
    qb_fbp_options fbp, wild;
    char small[2] = "x";
    assert_ok(qb_params_init(qb_fbp_params, &fbp));
    assert_int_equal(qb_params_size(NULL), 0);
    no((qb_params_init)(NULL, &fbp, sizeof fbp));
    no((qb_params_init)(qb_fbp_params, NULL, sizeof fbp));
    no((qb_params_init)(qb_fbp_params, &wild, 3));
    no(qb_params_copy(NULL, &fbp, &wild));
    no(qb_params_copy(qb_fbp_params, &fbp, NULL));
    no(qb_params_set(NULL, &fbp, "center", "1"));
    no(qb_params_set(qb_fbp_params, NULL, "center", "1"));
    no(qb_params_set(qb_fbp_params, &fbp, NULL, "1"));
    no(qb_params_set(qb_fbp_params, &fbp, "voxel", NULL));
    no(qb_params_set(qb_fbp_params, &fbp, "size", "1,2,3,4,5,6,7,8,9"));
    no(qb_param_set(NULL, &fbp, "1"));
    no(qb_param_set(qb_fbp_params, NULL, "1"));
    assert_null(qb_param_find(NULL, "x"));
    assert_null(qb_param_find(qb_fbp_params, NULL));
    assert_false(qb_param_get(NULL, &fbp, small, 2) || qb_param_get(qb_fbp_params, NULL, small, 2) ||
                 qb_param_get(qb_fbp_params, &fbp, NULL, 0));
    memset(&wild, 0x55, sizeof wild); /* what a program may have left there: unknown enums and counts */
    wild.struct_size = sizeof wild;
    for (const qb_param *row = qb_fbp_params; row->name; row++) {
        char value[200];
        if (row->type == QB_PARAM_TEXT || row->type == QB_PARAM_LIST) continue;
        qb_param_get(row, &wild, value, sizeof value);
        qb_param_get(row, &wild, small, sizeof small);
        assert_true(strlen(value) < sizeof value && strlen(small) < sizeof small);
    }
    qb_params_clear(NULL, &fbp);
    qb_params_clear(qb_fbp_params, NULL);
    qb_params_clear(qb_fbp_params, &fbp);
}

/* ---- geometries and grids ---- */

static void geometries(void **state) {
    (void)state;
    qb_geometry good = cone(), bad[6], made;
    qb_geometry_info info = {.struct_size = sizeof info};
    qb_view views[VIEWS];
    qb_grid grid, grids[4];
    size_t first;
    double offset;
    qb_grid_default(&good, &grid);
    for (size_t i = 0; i < no_geometries(bad, &good, views); i++) {
        qb_grid usual;
        qb_grid_default(&bad[i], &usual);
        no(qb_geometry_describe(&bad[i], &info));
        no(qb_geometry_report(&bad[i], NULL, &text));
        no(qb_geometry_save(in_folder("g.json"), &bad[i]));
        no(qb_geometry_picture(in_folder("g.svg"), &bad[i], NULL));
        no(qb_geometry_check_grid(&bad[i], &grid));
    }
    for (size_t i = 0; i < no_grids(grids, &grid); i++) {
        no(qb_geometry_report(&good, &grids[i], &text));
        no(qb_geometry_picture(in_folder("g.svg"), &good, &grids[i]));
        no(qb_geometry_check_grid(&good, &grids[i]));
    }
    qb_grid_default(NULL, &grids[0]);
    qb_grid_default(&good, NULL);
    assert_int_equal(grids[0].n[0], 0);
    no(qb_geometry_parallel(VIEWS, NULL, ROWS, COLUMNS, 1, 7, &made));
    no(qb_geometry_parallel(VIEWS, angles, ROWS, COLUMNS, NAN, 7, &made));
    no(qb_geometry_parallel(VIEWS, angles, ROWS, COLUMNS, 1, 7, NULL));
    no(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 1, 1, 300, 200, 0, 0, &made));
    no(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 1, 1, 100, 200, NAN, 0, &made));
    no(qb_geometry_check_grid(&good, NULL));
    no(qb_geometry_describe(&good, NULL));
    no(qb_geometry_report(&good, NULL, NULL));
    no(qb_geometry_load(NULL, NULL, NULL, &made));
    no(qb_geometry_load("/dev/zero", NULL, NULL, &made));
    no(qb_geometry_load("/", NULL, NULL, NULL));
    no(qb_geometry_can_save(NULL));
    no(qb_detector_offset_parse("1,2", 1, 1, NULL, &offset));
    no(qb_detector_offset_parse("1,2", 1, 1, &offset, NULL));
    no(qb_grid_make(NULL, NULL));
    no(qb_grid_load(NULL, &grid));
    no(qb_grid_slices("0:2", NULL, &first));
    no(qb_grid_slices("0:2", &grid, NULL));
    qb_geometry_destroy(NULL);
    qb_geometry_destroy(&good);
}

/* ---- files ---- */

static void files(void **state) {
    (void)state;
    qb_array fields = {.dtype = QB_U16, .shape = {2, 5, 6}}, made;
    qb_stack stack = small_stack(QB_U16);
    qb_writer *writer;
    stack.flats = &fields;
    no(qb_writer_create(in_folder("w.h5"), &stack, &writer)); /* there is no data */
    fields.data = numbers, fields.dtype = (qb_dtype)60;
    no(qb_writer_create(in_folder("w.h5"), &stack, &writer));
    fields.dtype = QB_U8;
    no(qb_writer_create(in_folder("w.h5"), &stack, &writer));
    fields.dtype = QB_U16, fields.shape[2] = 7;
    no(qb_writer_create(in_folder("w.h5"), &stack, &writer));
    stack = small_stack(QB_U16);
    stack.darks = &fields;
    no(qb_writer_create(in_folder("w.h5"), &stack, &writer));
    stack.darks = NULL;
    no(qb_writer_create(NULL, &stack, &writer));
    no(qb_writer_create(in_folder("w.npy"), &stack, NULL));
    no(qb_array_load_values(NULL, NULL, &made, NULL));
    no(qb_array_load_values("x", NULL, NULL, NULL));
    no(qb_array_describe("x", NULL, NULL));
    no(qb_provenance_load("x", NULL));
    no(qb_preview_write(in_folder("p.png"), NULL, 4, 4, 0, 1));
    no(qb_preview_write(in_folder("p.png"), numbers, (size_t)1 << 40, (size_t)1 << 40, 0, 1));
    no(qb_file_write(NULL, "x"));
    no(qb_file_write(in_folder("x.txt"), NULL));
    no(qb_tool_guard_try(NULL, NULL));
    qb_writer_abort(NULL);
    assert_int_equal(count_files(test_folder), 0);
}

/* ---- scans ---- */

static void scans(void **state) {
    (void)state;
    qb_scan *scan = open_scan(), *other;
    qb_tensor good = tensor(VIEWS, ROWS, COLUMNS), none = {0}, made;
    const qb_env env = {.struct_size = 5};
    size_t a, b, c;
    no(qb_scan_from_tensor(NULL, angles, NULL, NULL, NULL, NULL, &other));
    no(qb_scan_from_tensor(&good, angles, NULL, NULL, NULL, NULL, NULL));
    no(qb_scan_from_tensor(&good, angles, &none, NULL, NULL, NULL, &other));
    no(qb_scan_from_tensor(&good, angles, NULL, NULL, NULL, &env, &other));
    no(qb_tensor_from_dlpack(NULL, NULL, &made));
    no(qb_tensor_from_dlpack((char[64]){0}, NULL, &made));
    no(qb_tensor_from_dlpack((char[64]){0}, NULL, NULL));
    no(qb_scan_inspect(NULL, NULL));
    no(qb_scan_check(NULL, NULL));
    no(qb_scan_check(scan, &env));
    no(qb_scan_fields(NULL, 0, 1, numbers, numbers));
    no(qb_range_parse("0:1", "x", 3, NULL, &b, &c));
    no(qb_range_parse("0:1", "x", 3, &a, &b, NULL));
    no(qb_range_parse("9", NULL, 3, &a, &b, &c));
    no(qb_angles_parse("0:180", 3, NULL));
    assert_null(qb_scan_describe(NULL));
    assert_string_equal(qb_scan_problem(NULL, 0), "");
    assert_string_equal(qb_scan_problem(scan, (size_t)-1), "");
    assert_int_equal(qb_scan_problem_kind(NULL, 0), QB_PROBLEM_OTHER);
    qb_scan_close(NULL);
    qb_scan_close(scan);
}

/* ---- jobs ---- */

static void jobs(void **state) {
    (void)state;
    qb_scan *scan = open_scan();
    qb_geometry good = cone(), bad[6];
    qb_tensor volume = tensor(ROWS, COLUMNS, COLUMNS), lines = tensor(VIEWS, ROWS, COLUMNS);
    qb_view views[VIEWS];
    qb_output_options out = {.array = &volume};
    qb_env env = {.struct_size = 5};
    qb_job *job;
    for (size_t i = 0; i < no_geometries(bad, &good, views); i++) {
        no(qb_fdk_plan(scan, &bad[i], NULL, NULL, &out, NULL, NULL, &job));
        no(qb_sirt_plan(scan, &bad[i], NULL, NULL, &out, NULL, NULL, &job));
        no(qb_cgls_plan(scan, &bad[i], NULL, NULL, &out, NULL, NULL, &job));
        no(qb_project_array_plan(&volume, NULL, &bad[i], NULL, &out, NULL, NULL, &job));
        no(qb_fdk(&lines, &bad[i], &volume, NULL, NULL));
        no(qb_project(&volume, NULL, &bad[i], &lines, NULL, NULL));
    }
    no(qb_fbp_plan(scan, NULL, NULL, &out, NULL, &env, &job));
    no(qb_fbp_plan(scan, NULL, NULL, NULL, NULL, NULL, &job));
    no(qb_fbp_plan(scan, NULL, NULL, &out, NULL, NULL, NULL));
    no(qb_fdk_plan(NULL, &good, NULL, NULL, &out, NULL, NULL, &job));
    no(qb_sirt_plan(NULL, &good, NULL, NULL, &out, NULL, NULL, &job));
    no(qb_sirt_plan(scan, &good, NULL, NULL, &out, NULL, NULL, NULL));
    no(qb_cgls_plan(NULL, &good, NULL, NULL, &out, NULL, NULL, &job));
    no(qb_mbir_plan(NULL, NULL, NULL, NULL, &out, NULL, NULL, &job));
    no(qb_mbir_plan(scan, NULL, NULL, NULL, &out, NULL, NULL, NULL));
    no(qb_project_plan(NULL, NULL, NULL, &out, NULL, NULL, &job));
    no(qb_project_array_plan(NULL, NULL, &good, NULL, &out, NULL, NULL, &job));
    no(qb_project_array_plan(&volume, NULL, NULL, NULL, &out, NULL, NULL, &job));
    no(qb_project_array_plan(&volume, NULL, &good, NULL, &out, NULL, NULL, NULL));
    no(qb_center_find(scan, NULL, NULL, &env, &(qb_center_result){0}));
    no(qb_fbp(&lines, angles, NAN, &volume, NULL, NULL));
    no(qb_fbp(&lines, angles, 1, NULL, NULL, NULL));
    no(qb_mbir(&lines, NULL, 1, NULL, &volume, NULL, NULL));
    no(qb_mbir(&lines, angles, 1, NULL, NULL, NULL, NULL));
    no(qb_sirt(&lines, NULL, 1, NULL, &volume, NULL, NULL));
    no(qb_cgls(&lines, angles, 1, &good, &volume, NULL, NULL));
    no(qb_tv(NULL, angles, 1, NULL, &volume, NULL, NULL));
    no(qb_center(&lines, NULL, NULL, NULL, &(qb_center_result){0}));
    no(qb_center(&lines, angles, NULL, NULL, NULL));
    no(qb_center(NULL, angles, NULL, NULL, &(qb_center_result){0}));
    no(qb_simulate("disc", NULL, NULL));
    no(qb_convert(NULL, NULL, &(qb_convert_options){0}, NULL, NULL));
    no(qb_convert(scan, NULL, NULL, NULL, NULL));
    no(qb_convert(scan, NULL, &(qb_convert_options){0}, NULL, NULL));
    no(qb_convert(scan, NULL, &(qb_convert_options){.output = "x.npy", .array = &(qb_tensor){0}}, NULL, NULL));
    no(qb_convert(scan, NULL, &(qb_convert_options){.array = &(qb_tensor){0}}, NULL, NULL));
    no(qb_job_transpose(NULL, NULL, NULL, NULL));
    no(qb_convert_report(scan, NULL, &(qb_convert_options){.output = "x.npy"}, NULL, NULL, NULL));
    assert_null(qb_job_plan(NULL));
    qb_job_destroy(NULL);
    qb_geometry_destroy(&good);
    qb_scan_close(scan);
}

/* ---- operators ---- */

static void projectors(void **state) {
    (void)state;
    qb_geometry good = cone(), bad[6];
    qb_view views[VIEWS];
    qb_grid grid, grids[4];
    qb_projector *p, *other;
    qb_grid_default(&good, &grid);
    for (size_t i = 0; i < no_geometries(bad, &good, views); i++)
        no(qb_projector_create(&bad[i], &grid, NULL, NULL, &other));
    for (size_t i = 0; i < no_grids(grids, &grid); i++) no(qb_projector_create(&good, &grids[i], NULL, NULL, &other));
    no(qb_projector_create(&good, &grid, "nonsense", NULL, &other));
    no(qb_projector_create(&good, &grid, NULL, NULL, NULL));
    assert_ok(qb_projector_create(&good, &grid, NULL, NULL, &p));
    no(qb_projector_forward(p, NULL, 0, 1, NULL, numbers));
    no(qb_projector_forward(p, numbers, 0, VIEWS + 1, NULL, numbers));
    no(qb_projector_adjoint(NULL, numbers, 0, 1, false, NULL, numbers));
    no(qb_projector_adjoint(p, numbers, 0, 1, false, NULL, NULL));
    assert_null(qb_projector_kernel(NULL));
    qb_projector_destroy(NULL);
    qb_projector_destroy(p);
    qb_geometry_destroy(&good);
    int rank = 7;
    assert_false(qb_ranks_launched(NULL, NULL) || qb_ranks_launched(&rank, NULL));
    assert_int_equal(rank, 0);
    no(qb_ranks_open(NULL));
    qb_ranks_close(NULL);
}

static void quadratics(void **state) {
    (void)state;
    float x[4] = {0}, y[3] = {1, 2, 3}, value[4] = {1, 1, 1, 1};
    const size_t first[5] = {0, 1, 2, 3, 4};
    const uint32_t row[4] = {0, 1, 2, 0};
    const qb_quadratic good = {.matrix = {3, 4, first, row, value}, .y = y};
    qb_quadratic bad[6];
    for (int i = 0; i < 6; i++) bad[i] = good;
    bad[0].matrix.first = NULL;
    bad[1].matrix.row = NULL;
    bad[2].matrix.value = NULL;
    bad[3].y = NULL;
    bad[4].stop = NAN;
    bad[5].matrix.rows = 0;
    for (int i = 0; i < 6; i++) no(qb_quadratic_descend(&bad[i], x, NULL, NULL));
    no(qb_quadratic_descend(NULL, x, NULL, NULL));
    no(qb_quadratic_descend(&good, NULL, NULL, NULL));
    assert_ok(qb_quadratic_descend(&good, x, NULL, NULL));
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    for (int i = 0; i < VIEWS; i++) angles[i] = 0.25 * i;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays),
        cmocka_unit_test(names),
        cmocka_unit_test(options),
        IN_FOLDER(geometries),
        IN_FOLDER(files),
        cmocka_unit_test(scans),
        cmocka_unit_test(jobs),
        cmocka_unit_test(projectors),
        cmocka_unit_test(quadratics),
    };
    return cmocka_run_group_tests_name("misuse_calls", tests, NULL, NULL);
}
