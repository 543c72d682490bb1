/* SPDX-License-Identifier: MIT */
/* Zeroed options mean the same as NULL and as what qb_params_init fills in: for all structs of options and in all
 * calls. */
#include "arrays.h"
#include "base/params.h"

typedef union any {
    size_t struct_size;
    unsigned char bytes[4096];
} any;

#define TABLE(name, type)                                                                                              \
    { "qb_" #name "_params", qb_##name##_params, sizeof(type) }
#define SOLVER_TABLE(name, summary, example) TABLE(name, qb_iterative_options),
static const struct {
    const char *name;
    const qb_param *table;
    size_t size;
} tables[] = {
    TABLE(scan, qb_scan_options),         TABLE(prep, qb_prep_options),
    TABLE(output, qb_output_options),     TABLE(fbp, qb_fbp_options),
    TABLE(fdk, qb_fdk_options),           QB_SOLVERS(SOLVER_TABLE) TABLE(mbir, qb_mbir_options),
    TABLE(project, qb_project_options),   TABLE(convert, qb_convert_options),
    TABLE(center, qb_center_options),     TABLE(simulate, qb_simulate_options),
    TABLE(geometry, qb_geometry_options), TABLE(grid, qb_grid_options),
    TABLE(tune, qb_tune_options),
};
enum { TABLES = sizeof tables / sizeof *tables };

/* ---- the structs ---- */

static void same_values(const char *name, const qb_param *table, const void *a, const void *b) {
    char one[512], other[512];
    for (const qb_param *row = table; row->name; row++) {
        const bool has = qb_param_get(row, a, one, sizeof one);
        if (has != qb_param_get(row, b, other, sizeof other) || strcmp(one, other) != 0)
            fail_msg("%s, --%s: %s and %s", name, row->name, one, other);
    }
}

static void zeroed_structs_are_the_defaults(void **state) {
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        const qb_param *table = tables[i].table;
        any by_null, by_zeros, by_size, by_init, given = {0};
        assert_int_equal(qb_params_size(table), tables[i].size);
        assert_true(tables[i].size <= sizeof given);
        assert_ok(qb__params_view(table, NULL, &by_null));
        assert_ok(qb__params_view(table, &given, &by_zeros));
        given.struct_size = tables[i].size;
        assert_ok(qb__params_view(table, &given, &by_size));
        assert_ok((qb_params_init)(table, &given, tables[i].size));
        assert_ok(qb__params_view(table, &given, &by_init));
        same_values(tables[i].name, table, &by_null, &by_zeros);
        same_values(tables[i].name, table, &by_null, &by_size);
        same_values(tables[i].name, table, &by_null, &by_init);
        qb_params_clear(table, &given);
    }
}

/* A field that is 0 reads as its default, before anything has resolved the struct. */
static void zeroed_fields_read_as_the_defaults(void **state) {
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        any zeros = {.struct_size = tables[i].size};
        char text[512];
        for (const qb_param *row = tables[i].table; row->name; row++) {
            const bool is_text = row->type == QB_PARAM_TEXT || row->type == QB_PARAM_LIST;
            if (!row->initial || is_text) continue;
            assert_true(qb_param_get(row, &zeros, text, sizeof text));
            if (strcmp(text, row->initial) != 0) fail_msg("%s, --%s: %s", tables[i].name, row->name, text);
        }
    }
}

/* Where 0 is allowed and is not the default, a program can still give 0. It stays 0 through calls that call others. */
static void the_number_0_can_be_said(void **state) {
    (void)state;
    size_t count = 0;
    for (size_t i = 0; i < TABLES; i++) {
        for (const qb_param *row = tables[i].table; row->name; row++) {
            const bool whole = row->type == QB_PARAM_INT, ranged = row->min < row->max;
            char text[64];
            any given = {.struct_size = tables[i].size}, once, twice;
            if ((!whole && row->type != QB_PARAM_DOUBLE) || (ranged && (row->min > 0 || row->max < 0))) continue;
            assert_ok(qb_param_set(row, &given, "0"));
            assert_true(qb_param_get(row, &given, text, sizeof text));
            assert_string_equal(text, "0");
            assert_ok(qb__params_view(tables[i].table, &given, &once));
            assert_ok(qb__params_view(tables[i].table, &once, &twice));
            assert_true(qb_param_get(row, &twice, text, sizeof text));
            assert_string_equal(text, "0");
            if (!row->initial || strcmp(row->initial, "0") == 0) continue;
            count++;
            if (whole) assert_true(row->min == 0); /* -1 stands for 0 */
            if (!whole) assert_true(*(double *)(twice.bytes + row->offset) == 0);
        }
    }
    assert_true(count >= 5);
    const qb_fbp_options never = {.checkpoint = QB_ZERO};
    qb_fbp_options seen;
    assert_ok(qb__params_view(qb_fbp_params, &never, &seen));
    assert_true(seen.checkpoint == 0);
}

/* ---- the calls ---- */

/* How options are passed. */
enum { BY_NULL, BY_ZEROS, BY_INIT, WAYS };

static const void *options_of(int way, const qb_param *table, any *room) {
    memset(room, 0, sizeof *room);
    if (way == BY_INIT) assert_ok((qb_params_init)(table, room, qb_params_size(table)));
    return way == BY_NULL ? NULL : room;
}

enum { N = 40, NZ = ROWS, MOST = PIXELS };
typedef struct result {
    size_t count;
    float value[MOST];
} result;

static qb_geometry parallel_rays(void) {
    qb_geometry g;
    assert_ok(qb_geometry_parallel(VIEWS, angles, ROWS, COLUMNS, 0.5, 22.75, &g));
    return g;
}

static qb_tensor projections(void) { return qb_tensor_f32(lines, VIEWS, ROWS, COLUMNS); }

static qb_tensor volume_of(result *r) {
    r->count = NZ * N * N;
    return qb_tensor_f32(r->value, NZ, N, N);
}

static void by_fbp(int way, result *r) {
    any room;
    const qb_tensor from = projections(), to = volume_of(r);
    assert_ok(qb_fbp(&from, angles, 0.5, &to, options_of(way, qb_fbp_params, &room), NULL));
    if (way == BY_INIT) qb_params_clear(qb_fbp_params, &room);
}

static void by_fdk(int way, result *r) {
    any room;
    const qb_tensor from = projections(), to = volume_of(r);
    assert_ok(qb_fdk(&from, &circle, &to, options_of(way, qb_fdk_params, &room), NULL));
    if (way == BY_INIT) qb_params_clear(qb_fdk_params, &room);
}

#define BY(name, ...)                                                                                                  \
    static void by_##name(int way, result *r) {                                                                        \
        any room;                                                                                                      \
        const qb_tensor from = projections(), to = volume_of(r);                                                       \
        assert_ok(qb_##name(&from, angles, 0.5, NULL, &to, options_of(way, qb_##name##_params, &room), NULL));         \
        if (way == BY_INIT) qb_params_clear(qb_##name##_params, &room);                                                \
    }
QB_SOLVERS(BY)
BY(mbir)

static void by_projection(int way, result *r) {
    any room;
    static float half[NZ * N * N];
    for (int i = 0; i < NZ * N * N; i++) half[i] = (float)(i % 7) * 0.01f;
    const qb_tensor from = qb_tensor_f32(half, NZ, N, N), to = qb_tensor_f32(r->value, VIEWS, ROWS, COLUMNS);
    r->count = PIXELS;
    assert_ok(qb_project(&from, NULL, &circle, &to, options_of(way, qb_project_params, &room), NULL));
    if (way == BY_INIT) qb_params_clear(qb_project_params, &room);
}

static void by_center(int way, result *r) {
    any room;
    const qb_tensor from = projections();
    qb_center_result found = {0};
    assert_ok(qb_center(&from, angles, options_of(way, qb_center_params, &room), NULL, &found));
    r->count = 2;
    r->value[0] = (float)found.column, r->value[1] = (float)found.confidence;
    assert_close(found.column, 22.75, 0.3);
    if (way == BY_INIT) qb_params_clear(qb_center_params, &room);
}

/* A file of counts, its fields, their preparation, and the file that is written. */
static void by_files(int way, result *r) {
    any of_scan, of_prep, of_fbp, of_output;
    qb_scan *scan;
    qb_job *job;
    qb_array volume;
    options_of(way == BY_NULL ? BY_ZEROS : way, qb_output_params, &of_output);
    assert_ok(qb_params_set(qb_output_params, &of_output, "output", path_of("zeroed.npy")));
    assert_ok(qb_scan_open(path_of("counts.h5"), options_of(way, qb_scan_params, &of_scan), NULL, &scan));
    assert_ok(qb_fbp_plan(scan, options_of(way, qb_prep_params, &of_prep), options_of(way, qb_fbp_params, &of_fbp),
                          (const qb_output_options *)&of_output, "test", NULL, &job));
    assert_ok(qb_job_run(job, NULL, NULL));
    qb_job_destroy(job);
    qb_scan_close(scan);
    assert_ok(qb_array_load(path_of("zeroed.npy"), NULL, &volume, NULL));
    assert_int_equal(volume.dtype, QB_F32);
    r->count = qb_array_count(&volume);
    assert_true(r->count <= MOST);
    memcpy(r->value, volume.data, r->count * sizeof(float));
    qb_array_destroy(&volume);
    qb_params_clear(qb_output_params, &of_output);
    if (way != BY_INIT) return;
    qb_params_clear(qb_scan_params, &of_scan);
    qb_params_clear(qb_prep_params, &of_prep);
    qb_params_clear(qb_fbp_params, &of_fbp);
}

static void load(const char *path, result *r) {
    qb_array array;
    assert_ok(qb_array_load(path, NULL, &array, NULL));
    assert_ok(qb_array_to_float(&array));
    r->count = qb_array_count(&array);
    assert_true(r->count <= MOST);
    memcpy(r->value, array.data, r->count * sizeof(float));
    qb_array_destroy(&array);
}

static void by_conversion(int way, result *r) {
    any of_prep, room;
    qb_scan *scan;
    options_of(way == BY_NULL ? BY_ZEROS : way, qb_convert_params, &room);
    assert_ok(qb_params_set(qb_convert_params, &room, "output", path_of("lines.npy")));
    assert_ok(qb_scan_open(path_of("counts.h5"), NULL, NULL, &scan));
    assert_ok(
        qb_convert(scan, options_of(way, qb_prep_params, &of_prep), (const qb_convert_options *)&room, NULL, NULL));
    qb_scan_close(scan);
    load(path_of("lines.npy"), r);
    qb_params_clear(qb_convert_params, &room);
    if (way == BY_INIT) qb_params_clear(qb_prep_params, &of_prep);
}

static void by_simulation(int way, result *r) {
    any room;
    options_of(way == BY_NULL ? BY_ZEROS : way, qb_simulate_params, &room); /* the output must be given */
    assert_ok(qb_params_set(qb_simulate_params, &room, "output", path_of("made.h5")));
    assert_ok(qb_params_set(qb_simulate_params, &room, "detector", "32,4"));
    assert_ok(qb_simulate("disc", (const qb_simulate_options *)&room, NULL));
    load(path_of("made.h5"), r);
    qb_params_clear(qb_simulate_params, &room);
}

static void by_geometry(int way, result *r) {
    any room, of_grid;
    const qb_detector detector = {.rows = ROWS, .columns = COLUMNS, .pixel_u = 0.5, .pixel_v = 0.5};
    qb_geometry made;
    qb_grid grid;
    options_of(way == BY_NULL ? BY_ZEROS : way, qb_geometry_params, &room); /* distances must be given */
    assert_ok(qb_params_set(qb_geometry_params, &room, "sod", "100"));
    assert_ok(qb_params_set(qb_geometry_params, &room, "sdd", "150"));
    assert_ok(qb_geometry_make((const qb_geometry_options *)&room, VIEWS, angles, &detector, NULL, &made));
    qb_grid_default(&made, &grid);
    assert_ok(qb_grid_make(options_of(way, qb_grid_params, &of_grid), &grid));
    r->count = 6;
    for (int i = 0; i < 3; i++) r->value[i] = (float)grid.n[i], r->value[3 + i] = (float)grid.voxel[i];
    assert_close(grid.voxel[0], 1 / 3.0, 1e-9);
    qb_geometry_destroy(&made);
    qb_params_clear(qb_geometry_params, &room);
    if (way == BY_INIT) qb_params_clear(qb_grid_params, &of_grid);
}

static void write_counts(void) {
    qb_array flat = {QB_U16, {2, ROWS, COLUMNS}, flats}, dark = {QB_U16, {1, ROWS, COLUMNS}, darks};
    const qb_stack stack = {.dtype = QB_U16,
                            .shape = {VIEWS, ROWS, COLUMNS},
                            .angles = angles,
                            .quantity = "counts",
                            .units = "",
                            .voxel = {0.5, 0.5, 0},
                            .flats = &flat,
                            .darks = &dark};
    qb_writer *writer;
    assert_ok(qb_writer_create(path_of("counts.h5"), &stack, &writer));
    assert_ok(qb_writer_write(writer, 0, VIEWS, counts));
    assert_ok(qb_writer_commit(writer, "{}"));
}

#define CALL_BY(name, summary, example) {#name, by_##name},

static void zeroed_calls_give_the_bits_of_null(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*run)(int way, result *r);
    } calls[] = {{"fbp", by_fbp},
                 {"fdk", by_fdk},
                 QB_SOLVERS(CALL_BY){"mbir", by_mbir},
                 {"project", by_projection},
                 {"center", by_center},
                 {"files", by_files},
                 {"convert", by_conversion},
                 {"simulate", by_simulation},
                 {"geometry", by_geometry}};
    static result made[WAYS];
    write_counts();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        double sum = 0;
        for (int way = 0; way < WAYS; way++) {
            memset(&made[way], 0, sizeof made[way]);
            calls[i].run(way, &made[way]);
            if (memcmp(&made[way], &made[0], sizeof made[0]) != 0)
                fail_msg("%s: other bits with %s", calls[i].name, way == BY_ZEROS ? "zeros" : "qb_params_init");
        }
        for (size_t k = 0; k < made[0].count; k++) sum += fabs((double)made[0].value[k]);
        assert_true(sum > 0);
    }
}

/* One field is set and the others are 0. The result is that of qb_params_init: edge padding and normal accuracy. Both
 * matter for a truncated disc. */
static void one_field_is_enough(void **state) {
    (void)state;
    enum { WIDE = 128, TURN = 90 };
    static float rows[TURN * WIDE], by_hand[WIDE * WIDE], by_table[WIDE * WIDE], other[WIDE * WIDE];
    double turn[TURN];
    for (int v = 0; v < TURN; v++) {
        turn[v] = M_PI * v / TURN;
        for (int c = 0; c < WIDE; c++) rows[v * WIDE + c] = (float)(0.02 * 2 * sqrt(80 * 80 - pow(c - 63.5, 2)));
    }
    const qb_tensor from = qb_tensor_f32(rows, TURN, 1, WIDE), one = qb_tensor_f32(by_hand, 1, WIDE, WIDE),
                    two = qb_tensor_f32(by_table, 1, WIDE, WIDE), three = qb_tensor_f32(other, 1, WIDE, WIDE);
    const qb_fbp_options options = {.center = "63.5"}, zero = {.center = "63.5", .pad = QB_PAD_ZERO};
    qb_fbp_options filled;
    assert_ok(qb_fbp(&from, turn, 1, &one, &options, NULL));
    assert_ok(qb_params_init(qb_fbp_params, &filled));
    assert_int_equal(filled.pad, QB_PAD_EDGE);
    assert_int_equal(filled.accuracy, QB_ACCURACY_NORMAL);
    assert_ok(qb_params_set(qb_fbp_params, &filled, "center", "63.5"));
    assert_ok(qb_fbp(&from, turn, 1, &two, &filled, NULL));
    assert_memory_equal(by_hand, by_table, sizeof by_hand);
    assert_ok(qb_fbp(&from, turn, 1, &three, &zero, NULL));
    const int middle = 64 * WIDE + 64;
    assert_true(fabs((double)other[middle] - (double)by_hand[middle]) > 0.001);
    qb_params_clear(qb_fbp_params, &filled);
}

/* ---- simple calls ---- */

/* A disc of 0.05/mm in slice 0. Rays are given by angles and by a geometry. */
static void every_solver_has_a_simple_call(void **state) {
    (void)state;
    typedef qb_status solve(const qb_tensor *, const double *, double, const qb_geometry *, const qb_tensor *,
                            const qb_iterative_options *, const qb_env *);
    static const struct {
        solve *run;
        int iterations;
    } solvers[] = {{qb_sirt, 100}, {qb_cgls, 20}, {qb_tv, 300}};
    static result r;
    qb_geometry rays = parallel_rays();
    const qb_tensor from = projections(), to = volume_of(&r);
    const size_t disc = (N / 2) * N + N / 2 + 4;
    for (size_t i = 0; i < 3; i++) {
        const qb_iterative_options axis = {.center = "22.75", .iterations = solvers[i].iterations};
        memset(&r, 0, sizeof r);
        assert_ok(solvers[i].run(&from, angles, 0.5, NULL, &to, &axis, NULL));
        r.count = NZ * N * N;
        assert_close(r.value[disc], 0.05, 0.005);
        r.value[disc] = 0;
        assert_ok(solvers[i].run(&from, NULL, 0, &rays, &to, NULL, NULL));
        assert_close(r.value[disc], 0.05, 0.005);
        assert_status(solvers[i].run(&from, angles, 0.5, &rays, &to, NULL, NULL), QB_BAD_ARGUMENT);
        assert_non_null(strstr(qb_detail(), "geometry"));
        assert_status(solvers[i].run(&from, NULL, 0.5, NULL, &to, NULL, NULL), QB_BAD_ARGUMENT);
    }
    qb_geometry_destroy(&rays);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_structs_are_the_defaults),
        cmocka_unit_test(zeroed_fields_read_as_the_defaults),
        cmocka_unit_test(the_number_0_can_be_said),
        cmocka_unit_test(zeroed_calls_give_the_bits_of_null),
        cmocka_unit_test(one_field_is_enough),
        cmocka_unit_test(every_solver_has_a_simple_call),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
