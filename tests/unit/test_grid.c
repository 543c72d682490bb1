/* SPDX-License-Identifier: MIT */
/* Grids from options and files, whether a geometry sees them, and the values that files contain. */
#include "io_files.h"

#include "base/memory.h"
#include "quickbeam/device.h"
#include "quickbeam/geometry.h"

static const qb_grid usual = {{8, 10, 6}, {0.5, 0.5, 0.25}, {0, 0, 0}};

static qb_geometry circle(size_t views, double turn) {
    double angles[64];
    qb_geometry geometry;
    assert_true(views <= 64);
    for (size_t i = 0; i < views; i++) angles[i] = turn * (double)i / (double)views;
    assert_ok(qb_geometry_cone(views, angles, 24, 32, 1.6, 1.6, 500, 800, 0, 0, &geometry));
    return geometry;
}

static void options_change_what_they_name(void **state) {
    (void)state;
    qb_grid grid = usual;
    assert_ok(qb_grid_make(&(qb_grid_options){0}, &grid));
    assert_memory_equal(&grid, &usual, sizeof grid);
    qb_grid_options options = {.size = {1, {20}}, .voxel = 2, .offset = {3, {1, 2, 3}}};
    assert_ok(qb_grid_make(&options, &grid));
    assert_true(grid.n[0] == 20 && grid.n[1] == 20 && grid.n[2] == 6);
    assert_true(grid.voxel[2] == 2 && grid.offset[1] == 2 && grid.offset[2] == 3);
    options.size = (qb_numbers){4, {1, 2, 3, 4}};
    assert_status(qb_grid_make(&options, &grid), QB_BAD_ARGUMENT);
    options.size = (qb_numbers){1, {2.5}};
    assert_status(qb_grid_make(&options, &grid), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "2.5"));
}

/* The slices that remain keep their place in space. */
static void slices_keep_their_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t first, n, step;
    } cases[] = {{NULL, 0, 6, 1}, {"2:5", 2, 3, 1}, {"1:6:2", 1, 3, 2}, {"-2:", 4, 2, 1}, {"3", 3, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        qb_grid grid = usual;
        size_t first;
        grid.offset[2] = 7;
        assert_ok(qb_grid_slices(cases[i].text, &grid, &first));
        assert_true(first == cases[i].first && grid.n[2] == cases[i].n);
        for (size_t k = 0; k < grid.n[2]; k++) {
            double z = ((double)k - 0.5 * ((double)grid.n[2] - 1)) * grid.voxel[2] + grid.offset[2];
            double want = ((double)(first + k * cases[i].step) - 2.5) * usual.voxel[2] + 7;
            assert_close(z, want, 1e-12);
        }
    }
    qb_grid grid = usual;
    size_t first;
    assert_status(qb_grid_slices("4:9", &grid, &first), QB_BAD_ARGUMENT);
}

static qb_status put_volume(const char *path, qb_dtype dtype, double low, double high, const void *values) {
    qb_stack stack = {.dtype = dtype,
                      .shape = {6, 10, 8},
                      .voxel = {0.5, 0.5, 0.25},
                      .offset = {1, -2, 3.5},
                      .units = "1/mm",
                      .quantity = "attenuation",
                      .scale_low = low,
                      .scale_high = high,
                      .description = "test"};
    qb_writer *writer;
    qb_status status = qb_writer_create(path, &stack, &writer);
    if (status != QB_OK) return status;
    assert_ok(qb_writer_write(writer, 0, 6, values));
    return qb_writer_commit(writer, "{}");
}

static const char *const kinds[] = {"v.mha", "v.npy", "v.raw", "v.h5", "v.tif", "v/"};
enum { KINDS = sizeof kinds / sizeof kinds[0], VALUES = 6 * 10 * 8 };

static void files_give_their_grid_back(void **state) {
    (void)state;
    static const float values[VALUES];
    for (size_t i = 0; i < KINDS; i++) {
        qb_grid grid;
        qb_status status = put_volume(in_folder(kinds[i]), QB_F32, 0, 0, values);
        if (status == QB_UNSUPPORTED) continue;
        assert_ok(status);
        status = qb_grid_load(in_folder(kinds[i]), &grid);
        if (status == QB_UNSUPPORTED) continue; /* TIFF can be written without its library, but not read */
        assert_ok(status);
        assert_true(grid.n[0] == 8 && grid.n[1] == 10 && grid.n[2] == 6);
        for (int j = 0; j < 3; j++) assert_close(grid.voxel[j], usual.voxel[j], 1e-9);
        assert_close(grid.offset[0], 1, 1e-9);
        assert_close(grid.offset[1], -2, 1e-9);
        assert_close(grid.offset[2], 3.5, 1e-9);
    }
}

static void integers_stand_for_values(void **state) {
    (void)state;
    static float values[VALUES];
    uint16_t words[VALUES];
    for (int i = 0; i < VALUES; i++) values[i] = (float)(-0.25 + 0.001 * i);
    qb_convert_from_float(values, VALUES, QB_U16, -0.25, 0.25, words);
    assert_int_equal(qb_count_outside(values, VALUES, QB_U16, -0.25, 0.25), 0);
    for (size_t i = 0; i < KINDS; i++) {
        qb_array array;
        qb_status status = put_volume(in_folder(kinds[i]), QB_U16, -0.25, 0.25, words);
        if (status == QB_OK) status = qb_array_load_values(in_folder(kinds[i]), NULL, &array, NULL);
        if (status == QB_UNSUPPORTED) continue;
        assert_ok(status);
        assert_int_equal(array.dtype, QB_F32);
        for (int k = 0; k < VALUES; k++) assert_close(((const float *)array.data)[k], values[k], 0.51 * 0.5 / 65535);
        qb_array_destroy(&array);
        assert_ok(qb_array_load(in_folder(kinds[i]), NULL, &array, NULL));
        assert_int_equal(array.dtype, QB_U16);
        qb_array_destroy(&array);
    }
}

static void what_does_not_fit_is_counted(void **state) {
    (void)state;
    const float values[] = {-1, 0, 0.5f, 1, 1.001f, 2, NAN, INFINITY, -INFINITY, 65504, 65530, -7e4f};
    enum { N = sizeof values / sizeof values[0] };
    uint16_t half[N];
    float back[N];
    assert_int_equal(qb_count_outside(values, N, QB_F32, 0, 1), 0);
    assert_int_equal(qb_count_outside(values, N, QB_U8, 0, 1), 8); /* 1.001 rounds to 1 */
    assert_int_equal(qb_count_outside(values, N, QB_U16, 0, 1), 9);
    assert_int_equal(qb_count_outside(values, N, QB_F16, 0, 0), 5);
    qb_convert_from_float(values, N, QB_F16, 0, 0, half);
    qb_convert_to_float(half, QB_F16, N, back);
    assert_true(isnan(back[6]) && back[7] == 65504 && back[8] == -65504);
    assert_true(back[9] == 65504 && back[10] == 65504 && back[11] == -65504 && back[2] == 0.5f);
}

static void refused(const qb_geometry *geometry, const qb_grid *grid, const char *says) {
    assert_status(qb_geometry_check_grid(geometry, grid), QB_BAD_INPUT);
    if (!strstr(qb_detail(), says)) fail_msg("'%s' does not say '%s'", qb_detail(), says);
}

static void volumes_out_of_sight(void **state) {
    (void)state;
    qb_geometry g = circle(16, 6.283185307179586);
    assert_ok(qb_geometry_check_grid(&g, &usual));
    qb_grid grid = usual;
    grid.offset[2] = 60; /* the rows end at 12 pixels of 1.6 mm, divided by the magnification: 12 mm */
    refused(&g, &grid, "no view sees any");
    grid = usual;
    grid.offset[0] = 40;
    refused(&g, &grid, "mm from the axis");
    grid.offset[0] = 498;
    refused(&g, &grid, "view 4: the source is");
    grid = usual;
    for (int j = 0; j < 3; j++) grid.voxel[j] = 200;
    refused(&g, &grid, "inside the volume");
    g.view[3].u[0] *= 1000, g.view[3].u[1] *= 1000;
    refused(&g, &usual, "view 3: a pixel of 1600 mm");
    qb_geometry_destroy(&g);
}

/* One allocation after another fails. The call says so and leaves nothing behind. */
static void memory_runs_out(void **state) {
    (void)state;
    static const char *const endings[] = {"g.json", "g.xml", "g.txt"};
    const qb_detector detector = {.rows = 24, .columns = 32, .pixel_u = 1.6, .pixel_v = 1.6};
    qb_geometry g = circle(16, 6.283185307179586);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const char *path = in_folder(endings[i]);
        assert_ok(qb_geometry_save(path, &g));
        qb_status status = QB_NO_MEMORY;
        for (size_t k = 1; status != QB_OK && k < 200; k++) {
            qb_geometry read = {0};
            qb__fail_allocation(k);
            status = qb_geometry_load(path, &detector, NULL, &read);
            qb__fail_allocation(0);
            if (status == QB_UNSUPPORTED) break; /* built without expat */
            if (status != QB_OK) assert_status(status, QB_NO_MEMORY);
            if (status != QB_OK) assert_null(read.view);
            qb_geometry_destroy(&read);
        }
        assert_true(status == QB_OK || status == QB_UNSUPPORTED);
    }
    for (size_t k = 1; k < 200; k++) {
        char *report = NULL;
        qb__fail_allocation(k);
        qb_status status = qb_geometry_report(&g, &usual, &report);
        if (status == QB_OK) status = qb_geometry_picture(in_folder("g.svg"), &g, &usual);
        qb__fail_allocation(0);
        qb_text_free(report);
        if (status == QB_OK || status == QB_UNSUPPORTED) break;
        assert_status(status, QB_NO_MEMORY);
        assert_true(k < 199);
    }
    qb_geometry_destroy(&g);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_change_what_they_name),
        cmocka_unit_test(slices_keep_their_place),
        IN_FOLDER(files_give_their_grid_back),
        IN_FOLDER(integers_stand_for_values),
        cmocka_unit_test(what_does_not_fit_is_counted),
        cmocka_unit_test(volumes_out_of_sight),
        IN_FOLDER(memory_runs_out),
    };
    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
