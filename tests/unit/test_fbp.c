/* SPDX-License-Identifier: MIT */
/* The whole reconstruction through the public interface: its values, several threads, and allocations that fail. */
#include "check.h"

#include <dirent.h>
#include <unistd.h>

#include "base/memory.h"
#include "quickbeam/quickbeam.h"

enum { VIEWS = 90, ROWS = 21, COLUMNS = 64 };

static char folder[] = "/tmp/qb-fbp-XXXXXX";
static char scan_path[64], volume_path[64];

/* Writes the line integrals of a disc of 0.05/mm with a radius of 20 pixels, centred at (6, -3) pixels. A pixel is 0.5
 * mm, and the axis is at column 30.25. */
static void write_scan(void) {
    double angles[VIEWS];
    float *rows = malloc(sizeof(float) * ROWS * COLUMNS);
    qb_writer *writer;
    for (int v = 0; v < VIEWS; v++) angles[v] = M_PI * v / VIEWS;
    qb_stack stack = {.dtype = QB_F32,
                      .shape = {VIEWS, ROWS, COLUMNS},
                      .angles = angles,
                      .quantity = "line_integral",
                      .units = "",
                      .voxel = {0.5, 0.5, 0}};
    assert_ok(qb_writer_create(scan_path, &stack, &writer));
    for (int v = 0; v < VIEWS; v++) {
        double s0 = 30.25 + 6 * cos(angles[v]) - 3 * sin(angles[v]);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double d = 0; /* the mean over the pixel */
            for (int k = 0; k < 8; k++) {
                double s = i % COLUMNS - s0 + (k - 3.5) / 8;
                d += s * s < 400 ? 2 * sqrt(400 - s * s) / 8 : 0;
            }
            rows[i] = (float)(0.05 * 0.5 * d * (1 + i / COLUMNS % 3));
        }
        assert_ok(qb_writer_write(writer, (size_t)v, (size_t)v + 1, rows));
    }
    assert_ok(qb_writer_commit(writer, "{}"));
    free(rows);
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(scan_path, sizeof scan_path, "%s/scan.h5", folder);
    snprintf(volume_path, sizeof volume_path, "%s/volume.npy", folder);
    write_scan();
    return 0;
}

static int files_in_folder(void) {
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return count;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static qb_status reconstruct(const char *settings[][2], const qb_env *env) {
    qb_scan_options scan_options;
    qb_prep_options prep;
    qb_fbp_options fbp;
    qb_output_options output;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status = qb_params_init(qb_scan_params, &scan_options);
    memset(&prep, 0, sizeof prep);
    memset(&fbp, 0, sizeof fbp);
    memset(&output, 0, sizeof output);
    if (status == QB_OK) status = qb_params_init(qb_prep_params, &prep);
    if (status == QB_OK) status = qb_params_init(qb_fbp_params, &fbp);
    if (status == QB_OK) status = qb_params_init(qb_output_params, &output);
    if (status == QB_OK) status = qb_param_set(qb_param_find(qb_output_params, "output"), &output, volume_path);
    for (int i = 0; status == QB_OK && settings && settings[i][0]; i++) {
        const qb_param *row = qb_param_find(qb_fbp_params, settings[i][0]);
        status = row ? qb_param_set(row, &fbp, settings[i][1])
                     : qb_param_set(qb_param_find(qb_output_params, settings[i][0]), &output, settings[i][1]);
    }
    if (status == QB_OK) status = qb_scan_open(scan_path, &scan_options, env, &scan);
    if (status == QB_OK) status = qb_fbp_plan(scan, &prep, &fbp, &output, "test", env, &job);
    if (status == QB_OK) status = qb_job_run(job, env, NULL);
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_params_clear(qb_scan_params, &scan_options);
    qb_params_clear(qb_prep_params, &prep);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    return status;
}

static void load(qb_array *volume) {
    assert_ok(qb_array_load(volume_path, NULL, volume, NULL));
    assert_ok(qb_array_to_float(volume));
}

static const char *plain[][2] = {{"center", "30.25"}, {0}};

static void a_disc_comes_back(void **state) {
    (void)state;
    qb_array volume;
    assert_ok(reconstruct(plain, NULL));
    load(&volume);
    assert_int_equal(volume.shape[0], ROWS);
    const float *values = volume.data;
    for (int z = 0; z < ROWS; z++) {
        double inside = 0, outside = 0;
        int in = 0, out = 0;
        for (int i = 0; i < COLUMNS * COLUMNS; i++) {
            double x = i % COLUMNS - (COLUMNS - 1) / 2.0 - 6, y = i / COLUMNS - (COLUMNS - 1) / 2.0 + 3;
            double r = hypot(x, y), value = values[z * COLUMNS * COLUMNS + i];
            if (r < 17) inside += value, in++;
            if (r > 23 && hypot(x + 6, y - 3) < 30) outside += value, out++;
        }
        assert_close(inside / in, 0.05 * (1 + z % 3), 0.05 * (1 + z % 3) * 0.005);
        assert_close(outside / out, 0, 0.05 * (1 + z % 3) * 0.02);
    }
    qb_array_destroy(&volume);
}

/* The bits are the same however the work is cut. */
static void bits_do_not_depend_on_cuts(void **state) {
    (void)state;
    qb_array first, other;
    assert_ok(reconstruct(plain, &(qb_env){.threads = 1}));
    load(&first);
    for (int k = 0; k < 6; k++) {
        size_t tight = qb__resident_bytes() + ((size_t)(7 + k) << 20);
        qb_env env = {.threads = 1 + k % 3, .max_ram = k < 3 ? 0 : tight};
        assert_ok(reconstruct(plain, &env));
        load(&other);
        assert_memory_equal(first.data, other.data, qb_array_count(&first) * sizeof(float));
        qb_array_destroy(&other);
    }
    qb_array_destroy(&first);
}

/* One allocation after another fails. Either the status says so and no file looks finished, or the job does less at a
 * time and the volume is the same. The loop ends when no allocation is left to fail. */
static void memory_runs_out(void **state) {
    (void)state;
    qb_array whole, other;
    assert_ok(reconstruct(plain, &(qb_env){.threads = 2}));
    load(&whole);
    unlink(volume_path);
    int before = files_in_folder();
    size_t n = 1, survived = 0;
    for (size_t left = 0; left == 0; n++) {
        qb__fail_allocation(n);
        qb_status status = reconstruct(plain, &(qb_env){.threads = 2});
        left = qb__fail_allocation(0);
        if (status == QB_OK) {
            load(&other);
            assert_memory_equal(whole.data, other.data, qb_array_count(&whole) * sizeof(float));
            qb_array_destroy(&other);
            unlink(volume_path);
            survived += left == 0;
            continue;
        }
        assert_int_equal(left, 0);
        if (status != QB_NO_MEMORY) fail_msg("allocation %zu: %s: %s", n, qb_status_text(status), qb_detail());
        assert_true(strlen(qb_detail()) > 0);
        assert_int_equal(files_in_folder(), before);
        assert_true(n < 1000);
    }
    assert_true(n > 40 && survived > 0 && survived < n / 2);
    qb_array_destroy(&whole);
}

static void cancelled_runs_leave_nothing(void **state) {
    (void)state;
    unlink(volume_path);
    int before = files_in_folder();
    volatile sig_atomic_t stop = 1;
    qb_env env = {.threads = 2, .cancel = &stop};
    assert_status(reconstruct(plain, &env), QB_CANCELLED);
    assert_int_equal(files_in_folder(), before);
}

static void refusals(void **state) {
    (void)state;
    const char *bad[][2][2] = {
        {{"center", "64"}, {0}},       {{"center", "-1"}, {0}},   {{"center", "1:2"}, {0}},
        {{"center", "sideways"}, {0}}, {{"slices", "5:99"}, {0}}, {{"filter", "hahn"}, {0}},
        {{"kernel", "none"}, {0}},     {{"range", "0,1"}, {0}},   {{"size", "1.5"}, {0}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_status(reconstruct(bad[i], NULL), QB_BAD_ARGUMENT);
    assert_status(reconstruct(plain, &(qb_env){.max_ram = 1}), QB_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disc_comes_back), cmocka_unit_test(bits_do_not_depend_on_cuts),
        cmocka_unit_test(memory_runs_out),   cmocka_unit_test(cancelled_runs_leave_nothing),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
