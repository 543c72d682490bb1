/* SPDX-License-Identifier: MIT */
/* Jobs over ranks give the bits of one rank. If one of them fails anywhere, all end with its error. */
#include "ranks_here.h"

#include "quickbeam/quickbeam.h"

enum { VIEWS = 12, ROWS = 7, COLUMNS = 24 };

static char folder[] = "/tmp/qb-ranks-XXXXXX";
static char scan_path[64];

static int setup(void **state) {
    (void)state;
    double angles[VIEWS];
    float rows[ROWS * COLUMNS];
    qb_writer *writer;
    assert_non_null(mkdtemp(folder));
    snprintf(scan_path, sizeof scan_path, "%s/scan.npy", folder);
    for (int v = 0; v < VIEWS; v++) angles[v] = M_PI * v / VIEWS;
    const qb_stack stack = {.dtype = QB_F32,
                            .shape = {VIEWS, ROWS, COLUMNS},
                            .angles = angles,
                            .quantity = "line_integral",
                            .units = "",
                            .voxel = {0.5, 0.5, 0}};
    assert_ok(qb_writer_create(scan_path, &stack, &writer));
    for (int v = 0; v < VIEWS; v++) {
        for (int i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)((v * 31 + i * 17) % 101) / 101;
        assert_ok(qb_writer_write(writer, (size_t)v, (size_t)v + 1, rows));
    }
    assert_ok(qb_writer_commit(writer, "{}"));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

typedef struct job_options {
    const char *output, *dtype, *rings, *grid; /* grid: of a cone beam; NULL = a parallel beam */
    bool iterates;                             /* run cgls on a parallel beam */
    const char *start, *bad; /* run coordinate descent from the volume `start`; rank `odd` starts from `bad` instead */
    int odd;
    const char *neighbours; /* for the descent; NULL: slices do not depend on each other */
    const char *size;       /* of the volume of a cone beam */
    size_t max_ram;
    int slabs; /* result: the number of slabs */
} job_options;

/* How many ranks warned that they use a smaller cut. */
static _Atomic int made_smaller;

static void hear(void *user, qb_log_level level, const char *text) {
    (void)user;
    if (level == QB_LOG_WARNING && strstr(text, "ranks had no room for")) atomic_fetch_add(&made_smaller, 1);
}

static qb_status plan_cone(qb_scan *scan, const qb_prep_options *prep, const qb_output_options *output,
                           const job_options *asked, qb_geometry *geometry, const qb_env *env, qb_job **job) {
    qb_fdk_options fdk = {0};
    double angles[VIEWS];
    qb_status status;
    for (int i = 0; i < VIEWS; i++) angles[i] = 2 * M_PI * i / VIEWS;
    QB__TRY(qb_params_init(qb_fdk_params, &fdk));
    QB__TRY(qb_params_set(qb_fdk_params, &fdk, "grid", asked->grid));
    QB__TRY(qb_params_set(qb_fdk_params, &fdk, "size", asked->size));
    QB__TRY(qb_params_set(qb_fdk_params, &fdk, "voxel", "0.1"));
    QB__TRY(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 0.5, 0.5, 40, 60, 0, 0, geometry));
    status = qb_fdk_plan(scan, geometry, prep, &fdk, output, "test", env, job);
out:
    qb_params_clear(qb_fdk_params, &fdk);
    return status;
}

static qb_status plan_cgls(qb_scan *scan, const qb_prep_options *prep, const qb_output_options *output,
                           const qb_env *env, qb_job **job) {
    qb_iterative_options cgls = {0};
    qb_status status;
    QB__TRY(qb_params_init(qb_cgls_params, &cgls));
    QB__TRY(qb_params_set(qb_cgls_params, &cgls, "center", "11.3"));
    QB__TRY(qb_params_set(qb_cgls_params, &cgls, "iterations", "3"));
    QB__TRY(qb_params_set(qb_cgls_params, &cgls, "nonneg", "true"));
    status = qb_cgls_plan(scan, NULL, prep, &cgls, output, "test", env, job);
out:
    qb_params_clear(qb_cgls_params, &cgls);
    return status;
}

static qb_status plan_mbir(qb_scan *scan, const qb_prep_options *prep, const qb_output_options *output,
                           const char *start, const char *neighbours, const qb_env *env, qb_job **job) {
    qb_mbir_options mbir = {0};
    qb_status status;
    QB__TRY(qb_params_init(qb_mbir_params, &mbir));
    QB__TRY(qb_params_set(qb_mbir_params, &mbir, "center", "11.3"));
    QB__TRY(qb_params_set(qb_mbir_params, &mbir, "neighbours", neighbours ? neighbours : "1,1,0"));
    QB__TRY(qb_params_set(qb_mbir_params, &mbir, "equits", "1"));
    QB__TRY(qb_params_set(qb_mbir_params, &mbir, "start", start));
    status = qb_mbir_plan(scan, NULL, prep, &mbir, output, "test", env, job);
out:
    qb_params_clear(qb_mbir_params, &mbir);
    return status;
}

static qb_status reconstruct(qb__comm *comm, void *context) {
    job_options *asked = context;
    const qb_env env = {.struct_size = sizeof env, .threads = 1, .ranks = comm, .max_ram = asked->max_ram, .log = hear};
    qb_geometry geometry = {0};
    qb_scan_options scan_options = {0};
    qb_prep_options prep = {0};
    qb_fbp_options fbp = {0};
    qb_output_options output = {0};
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status;
    QB__TRY(qb_params_init(qb_scan_params, &scan_options));
    QB__TRY(qb_params_init(qb_prep_params, &prep));
    QB__TRY(qb_params_init(qb_fbp_params, &fbp));
    QB__TRY(qb_params_init(qb_output_params, &output));
    QB__TRY(qb_params_set(qb_output_params, &output, "output", asked->output));
    QB__TRY(qb_params_set(qb_output_params, &output, "dtype", asked->dtype));
    if (asked->grid && strcmp(asked->dtype, "uint8") == 0)
        QB__TRY(qb_params_set(qb_output_params, &output, "range", "-1,1"));
    QB__TRY(qb_params_set(qb_prep_params, &prep, "rings", asked->rings));
    QB__TRY(qb_params_set(qb_fbp_params, &fbp, "center", "11.3"));
    QB__TRY(qb_scan_open(scan_path, &scan_options, &env, &scan));
    if (asked->start)
        QB__TRY(plan_mbir(scan, &prep, &output,
                          asked->bad && qb_ranks_rank(comm) == asked->odd ? asked->bad : asked->start,
                          asked->neighbours, &env, &job));
    else if (asked->iterates)
        QB__TRY(plan_cgls(scan, &prep, &output, &env, &job));
    else if (asked->grid)
        QB__TRY(plan_cone(scan, &prep, &output, asked, &geometry, &env, &job));
    else
        QB__TRY(qb_fbp_plan(scan, &prep, &fbp, &output, "test", &env, &job));
    const char *slabs = strstr(qb_job_plan(job), "\"chunks\":");
    if (qb_ranks_rank(comm) == 0) asked->slabs = slabs ? atoi(slabs + 9) : 0;
    status = qb_job_run(job, &env, NULL);
out:
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_geometry_destroy(&geometry);
    qb_params_clear(qb_scan_params, &scan_options);
    qb_params_clear(qb_prep_params, &prep);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    return status;
}

static void load(const char *path, qb_array *volume) { assert_ok(qb_array_load(path, NULL, volume, NULL)); }

static void the_same_bits_for_any_number(void **state) {
    (void)state;
    static const char *const dtypes[] = {"float32", "uint8"}, *const rings[] = {"sort", "keep"};
    char one[80], many[80], words[1024];
    snprintf(one, sizeof one, "%s/one.npy", folder);
    snprintf(many, sizeof many, "%s/many.npy", folder);
    for (int kind = 0; kind < 2; kind++) {
        qb_array a, b;
        job_options asked = {.output = one, .dtype = dtypes[kind], .rings = rings[kind]};
        assert_ok(reconstruct(NULL, &asked));
        load(one, &a);
        asked.output = many;
        for (int count = 2; count <= MOST; count++) {
            assert_ok(together(count, reconstruct, &asked, words));
            load(many, &b);
            assert_int_equal(qb_array_count(&a), qb_array_count(&b));
            assert_memory_equal(a.data, b.data, qb_array_count(&a) * qb_dtype_size(a.dtype));
            qb_array_destroy(&b);
        }
        qb_array_destroy(&a);
    }
}

/* Runs the job with less memory, so that it is cut into slabs. What a process needs grows a little from run to run, so
 * several limits are tried. */
static void in_slabs(int count, job_options *asked) {
    char words[1024];
    qb_status status = QB_BAD_ARGUMENT;
    asked->max_ram = 1;
    for (int turn = 0; status == QB_BAD_ARGUMENT && turn < 40; turn++) {
        double number;
        status = together(count, reconstruct, asked, words);
        if (status == QB_OK) break;
        const char *needs = strstr(words, "need ");
        assert_true(needs && sscanf(needs, "need %lf", &number) == 1);
        asked->max_ram = (size_t)((number + 0.4 + 0.1 * turn) * 1048576);
    }
    assert_ok(status);
    asked->max_ram = 0;
}

static double worst_of(const qb_array *a, const qb_array *b) {
    const float *x = a->data, *y = b->data;
    double error = 0, all = 0;
    assert_int_equal(qb_array_count(a), qb_array_count(b));
    for (size_t i = 0; i < qb_array_count(a); i++) {
        error += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
        all += (double)y[i] * y[i];
    }
    return sqrt(error / all);
}

/* Grids of any rows and columns. With all views in one column the bits are those of one rank. Otherwise the sums are
 * close to those. They have the same bits in every run, with slabs of any thickness. */
static void cones_in_grids(void **state) {
    (void)state;
    static const int grids[][2] = {{1, 3}, {2, 2}, {3, 2}, {5, 1}, {1, 2}, {2, 1}, {2, 3}, {4, 1}, {1, 6}, {6, 1}};
    const char *quick = getenv("QB_QUICK");
    const int count = quick && *quick == '1' ? 4 : 10;
    char one[80], many[80], words[1024], grid[16];
    snprintf(one, sizeof one, "%s/one.npy", folder);
    snprintf(many, sizeof many, "%s/many.npy", folder);
    qb_array alone, first, again;
    job_options asked = {.output = one, .dtype = "float32", .rings = "keep", .grid = "auto", .size = "40,42,90"};
    int cut = 0;
    assert_ok(reconstruct(NULL, &asked));
    load(one, &alone);
    asked.output = many;
    asked.grid = grid;
    for (int i = 0; i < count; i++) {
        const int ranks = grids[i][0] * grids[i][1];
        snprintf(grid, sizeof grid, "%dx%d", grids[i][0], grids[i][1]);
        assert_ok(together(ranks, reconstruct, &asked, words));
        load(many, &first);
        const double error = worst_of(&first, &alone);
        assert_true(grids[i][1] == 1 ? error == 0 : error > 0 && error < 1e-6);
        if (i < 4) {
            in_slabs(ranks, &asked);
            load(many, &again);
            assert_memory_equal(first.data, again.data, qb_array_count(&first) * sizeof(float));
            qb_array_destroy(&again);
            cut += asked.slabs > 1;
        }
        qb_array_destroy(&first);
    }
    assert_true(cut > 1);
    static const char *const refused[][2] = {{"2x2", "--grid 2x2 is for 4 processes, there are 3"},
                                             {"3", "give auto, or ROWSxCOLUMNS"},
                                             {"3x1x", "ROWSxCOLUMNS"}};
    for (int i = 0; i < 3; i++) {
        snprintf(grid, sizeof grid, "%s", refused[i][0]);
        assert_status(together(3, reconstruct, &asked, words), QB_BAD_ARGUMENT);
        assert_non_null(strstr(words, refused[i][1]));
    }
    snprintf(grid, sizeof grid, "2x1");
    assert_status(reconstruct(NULL, &asked), QB_BAD_ARGUMENT);
    qb_array_destroy(&alone);
}

/* The ranks share the views, and the volume passes from rank to rank. The bits are those of one rank. */
static void iterations_by_any_number(void **state) {
    (void)state;
    char one[80], many[80], words[1024];
    snprintf(one, sizeof one, "%s/one.npy", folder);
    snprintf(many, sizeof many, "%s/many.npy", folder);
    job_options asked = {.output = one, .dtype = "float32", .rings = "sort", .iterates = true};
    qb_array a, b;
    assert_ok(reconstruct(NULL, &asked));
    load(one, &a);
    asked.output = many;
    for (int count = 2; count <= MOST; count++) {
        assert_ok(together(count, reconstruct, &asked, words));
        load(many, &b);
        assert_memory_equal(a.data, b.data, qb_array_count(&a) * sizeof(float));
        qb_array_destroy(&b);
    }
    qb_array_destroy(&a);
}

static void write_volume(const char *path, float odd) {
    float voxels[ROWS * COLUMNS * COLUMNS];
    qb_writer *writer;
    const qb_stack stack = {.dtype = QB_F32,
                            .shape = {ROWS, COLUMNS, COLUMNS},
                            .quantity = "attenuation",
                            .units = "1/mm",
                            .voxel = {0.5, 0.5, 0.5}};
    for (size_t i = 0; i < sizeof voxels / sizeof voxels[0]; i++) voxels[i] = 0.01f;
    voxels[COLUMNS + 3] = odd;
    assert_ok(qb_writer_create(path, &stack, &writer));
    assert_ok(qb_writer_write(writer, 0, ROWS, voxels));
    assert_ok(qb_writer_commit(writer, "{}"));
}

/* The rank with the first slice fails when it loads its slices of the image. The others learn of it where the sigmas of
 * all rows are exchanged, so none waits. */
static void one_cannot_use_its_image(void **state) {
    (void)state;
    char good[80], bad[80], out[80], words[1024];
    snprintf(good, sizeof good, "%s/good.npy", folder);
    snprintf(bad, sizeof bad, "%s/bad.npy", folder);
    snprintf(out, sizeof out, "%s/descent.npy", folder);
    write_volume(good, 0.01f);
    write_volume(bad, NAN);
    job_options asked = {.output = out, .dtype = "float32", .rings = "keep", .start = good};
    for (int count = 2; count <= 3; count++) {
        asked.bad = NULL;
        assert_ok(together(count, reconstruct, &asked, words));
        assert_int_equal(unlink(out), 0);
        asked.bad = bad;
        assert_status(together(count, reconstruct, &asked, words), QB_BAD_INPUT);
        assert_non_null(strstr(words, "voxel 0, 1, 3 (z, y, x) is nan"));
        assert_int_not_equal(access(out, F_OK), 0);
    }
}

/* One rank has no memory at some moment. All must end with that error, none may wait for ever, and nothing that looks
 * finished may be left. */
static void memory_may_be_out(int ranks, job_options asked, int step, int quick_step) {
    char path[80], words[1024];
    snprintf(path, sizeof path, "%s/none.npy", folder);
    asked.output = path;
    const char *quick = getenv("QB_QUICK");
    int failures = 0;
    if (quick && *quick == '1') step = quick_step;
    for (size_t n = 2 * (size_t)ranks + 1;; n += (size_t)step) { /* the allocations before these belong to together() */
        unlink(path);
        qb__fail_allocation(n);
        const qb_status status = together(ranks, reconstruct, &asked, words);
        const size_t left = qb__fail_allocation(0);
        assert_true(status == QB_OK || status == QB_NO_MEMORY);
        assert_int_equal(access(path, F_OK) == 0, status == QB_OK);
        failures += status != QB_OK;
        if (status != QB_OK && left)
            print_message("out of memory after %zu of %zu allocations: %s\n", n - left, n, words);
        assert_true(status == QB_OK || left == 0);
        if (left) break; /* the run had fewer allocations than that */
    }
    assert_true(failures > 5);
}

static void memory_may_be_out_anywhere(void **state) {
    (void)state;
    memory_may_be_out(3, (job_options){.dtype = "uint8", .rings = "sort"}, 2, 13);
}

static void memory_may_be_out_in_a_grid(void **state) {
    (void)state;
    memory_may_be_out(4, (job_options){.dtype = "uint8", .rings = "keep", .grid = "2x2", .size = "6,7,9"}, 17, 31);
}

static void memory_may_be_out_in_iterations(void **state) {
    (void)state;
    memory_may_be_out(3, (job_options){.dtype = "float32", .rings = "keep", .iterates = true}, 11, 29);
}

static void memory_may_be_out_in_a_descent(void **state) {
    (void)state;
    char good[80];
    snprintf(good, sizeof good, "%s/good.npy", folder);
    write_volume(good, 0.01f);
    memory_may_be_out(3, (job_options){.dtype = "float32", .rings = "keep", .start = good}, 13, 37);
    memory_may_be_out(3, (job_options){.dtype = "float32", .rings = "keep", .start = good, .neighbours = "1,1,1"}, 13,
                      37);
}

/* When one rank has too little room, all ranks do less at a time. The slabs are smaller and the bits are the same. */
static void a_smaller_cut_for_all(void **state) {
    (void)state;
    char path[80], words[1024];
    snprintf(path, sizeof path, "%s/less.npy", folder);
    job_options asked = {.output = path, .dtype = "float32", .rings = "keep", .grid = "2x1", .size = "6,7,40"};
    qb_array whole, less;
    int cut = 0;
    assert_ok(together(2, reconstruct, &asked, words));
    load(path, &whole);
    /* Which rank makes the n-th allocation is a matter of chance. So every third one fails, then each one, until two of
     * them were room for slabs. */
    for (size_t n = 5, step = 3, left = 0, rounds = 0; cut < 2 && rounds < 50; n = left ? 5 : n + step) {
        if (left) step = 1, rounds++;
        atomic_store(&made_smaller, 0);
        qb__fail_allocation(n);
        const qb_status status = together(2, reconstruct, &asked, words);
        left = qb__fail_allocation(0);
        if (status != QB_OK || left) continue;
        load(path, &less);
        assert_memory_equal(whole.data, less.data, qb_array_count(&whole) * sizeof(float));
        qb_array_destroy(&less);
        cut += atomic_load(&made_smaller) > 0;
    }
    assert_true(cut == 2);
    qb_array_destroy(&whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_for_any_number),   cmocka_unit_test(cones_in_grids),
        cmocka_unit_test(iterations_by_any_number),       cmocka_unit_test(one_cannot_use_its_image),
        cmocka_unit_test(a_smaller_cut_for_all),          cmocka_unit_test(memory_may_be_out_in_iterations),
        cmocka_unit_test(memory_may_be_out_in_a_descent), cmocka_unit_test(memory_may_be_out_in_a_grid),
        cmocka_unit_test(memory_may_be_out_anywhere)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
