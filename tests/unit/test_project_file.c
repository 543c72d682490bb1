/* SPDX-License-Identifier: MIT */
/* A projection as a job. A failed allocation gives an error and no file. The file that it writes is a scan. */
#include "io_files.h"

#include "base/memory.h"
#include "quickbeam/recon.h"
#include "quickbeam/simulate.h"

static void make_volume(const char *path) {
    float values[12 * 10 * 8];
    for (size_t i = 0; i < 12 * 10 * 8; i++) values[i] = (float)(i % 7);
    qb_stack stack = {
        .dtype = QB_F32, .shape = {12, 10, 8}, .voxel = {1, 1, 1}, .units = "1/mm", .quantity = "attenuation"};
    qb_writer *writer;
    assert_ok(qb_writer_create(path, &stack, &writer));
    assert_ok(qb_writer_write(writer, 0, 12, values));
    assert_ok(qb_writer_commit(writer, NULL));
}

/* The files that the program itself reads and writes. */
static const char *const *reads;
static const qb_sidecar *writes;

static qb_status project(const char *volume, const char *output, const char *geometry) {
    qb_geometry_options place;
    qb_project_options options;
    qb_output_options out;
    memset(&place, 0, sizeof place);
    memset(&options, 0, sizeof options);
    memset(&out, 0, sizeof out);
    qb_env env = {.threads = 2, .max_ram = (size_t)256 << 20, .reads = reads, .writes = writes};
    qb_job *job = NULL;
    const char *report;
    qb_status status = qb_params_init(qb_geometry_params, &place);
    if (status == QB_OK) status = qb_params_init(qb_project_params, &options);
    if (status == QB_OK) status = qb_params_init(qb_output_params, &out);
    options.views = 9;
    place.sod = 100, place.sdd = 150;
    if (status == QB_OK) status = qb_param_set(qb_param_find(qb_output_params, "output"), &out, output);
    if (status == QB_OK && geometry)
        status = qb_param_set(qb_param_find(qb_project_params, "geometry-out"), &options, geometry);
    if (status == QB_OK) status = qb_project_plan(volume, &place, &options, &out, "the command", &env, &job);
    if (status == QB_OK) status = qb_job_run(job, &env, &report);
    qb_job_destroy(job);
    qb_params_clear(qb_geometry_params, &place);
    qb_params_clear(qb_project_params, &options);
    qb_params_clear(qb_output_params, &out);
    return status;
}

static void what_it_writes_is_a_scan(void **state) {
    (void)state;
    char volume[512], output[512], geometry[512];
    snprintf(volume, sizeof volume, "%s", in_folder("volume.npy"));
    snprintf(output, sizeof output, "%s", in_folder("lines.npy"));
    snprintf(geometry, sizeof geometry, "%s", in_folder("lines.json"));
    make_volume(volume);
    assert_ok(project(volume, output, geometry));
    qb_scan *scan;
    qb_scan_options how = {0};
    assert_ok(qb_scan_open(output, &how, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_int_equal(info->quantity, QB_LINE_INTEGRAL);
    assert_int_equal(info->views, 9);
    assert_int_equal(info->rows, 12);
    assert_int_equal(info->columns, 10);
    assert_true(fabs(info->pixel_size - 1.5) < 1e-9);
    assert_true(fabs(info->angles[8] - 8 * 2 * 3.14159265358979 / 9) < 1e-9);
    qb_scan_close(scan);
    qb_geometry g;
    assert_ok(qb_geometry_load(geometry, NULL, NULL, &g));
    assert_int_equal(g.views, 9);
    qb_geometry_destroy(&g);
}

/* An output may not replace a file that the program reads. This process does what the command line does. */
static void outputs_spare_what_is_read(void **state) {
    (void)state;
    char volume[512], output[512], other[512];
    snprintf(volume, sizeof volume, "%s", in_folder("volume3.npy"));
    snprintf(output, sizeof output, "%s", in_folder("lines3.npy"));
    snprintf(other, sizeof other, "%s", in_folder("other3.npy"));
    make_volume(volume);
    assert_status(project(volume, volume, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "volume3.npy"));
    assert_int_equal(link(volume, other), 0);
    assert_status(project(volume, other, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "other3.npy"));
    char config[512];
    snprintf(config, sizeof config, "%s", in_folder("saved.cfg"));
    const char *const list[] = {output, NULL};
    const qb_sidecar result[] = {{output, NULL}, {NULL, NULL}}, input[] = {{other, "x"}, {NULL, NULL}},
                     saved[] = {{config, "a configuration\n"}, {NULL, NULL}};
    reads = list;
    assert_status(project(volume, output, NULL), QB_BAD_ARGUMENT);
    reads = NULL, writes = result;
    assert_status(project(volume, output, NULL), QB_BAD_ARGUMENT);
    writes = input;
    assert_status(project(volume, output, NULL), QB_BAD_ARGUMENT);
    assert_int_not_equal(access(output, F_OK), 0);
    /* The saved settings appear together with the output. */
    writes = saved;
    assert_ok(project(volume, output, NULL));
    writes = NULL;
    assert_int_equal(access(output, F_OK), 0);
    assert_int_equal(access(config, F_OK), 0);
}

static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    char volume[512], output[512];
    snprintf(volume, sizeof volume, "%s", in_folder("volume2.npy"));
    snprintf(output, sizeof output, "%s", in_folder("lines2.npy"));
    make_volume(volume);
    size_t n = 0;
    for (size_t left = 0; left == 0 && n < 300;) {
        qb__fail_allocation(++n);
        qb_status status = project(volume, output, NULL);
        left = qb__fail_allocation(0);
        if (status == QB_OK) { /* the job did less at a time, or no allocation was left to fail */
            assert_int_equal(unlink(output), 0);
            continue;
        }
        assert_status(status, QB_NO_MEMORY);
        assert_int_not_equal(access(output, F_OK), 0);
    }
    if (!(n > 40 && n < 300)) fail_msg("%zu allocations", n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_writes_is_a_scan),
        cmocka_unit_test(outputs_spare_what_is_read),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
