/* SPDX-License-Identifier: MIT */
/* Mistakes that a program can make with the library. It gets QB_BAD_ARGUMENT and the reason, never a crash or a
 * deadlock. */
#include <pthread.h>

#include "base/hash.h"
#include "io_files.h"
#include "quickbeam/quickbeam.h"

static void put_scan(const char *path) {
    double angles[12];
    float data[12 * 4 * 16];
    for (int i = 0; i < 12; i++) angles[i] = 3.14159265358979 * i / 12;
    for (int i = 0; i < 12 * 4 * 16; i++) data[i] = (float)(i % 7);
    qb_stack stack = {.dtype = QB_F32, .shape = {12, 4, 16}, .angles = angles, .quantity = "line_integral"};
    assert_ok(put_stack(path, &stack, data));
}

static qb_scan *open_scan(void) {
    qb_scan *scan;
    put_scan(in_folder("s.npy"));
    assert_ok(qb_scan_open(in_folder("s.npy"), NULL, NULL, &scan));
    return scan;
}

/* Checks that `call` is refused with these words. */
#define assert_refused(call, words)                                                                                    \
    do {                                                                                                               \
        assert_status(call, QB_BAD_ARGUMENT);                                                                          \
        if (!strstr(qb_detail(), words)) fail_msg("%s: %s", #call, qb_detail());                                       \
    } while (0)

static qb_status plan(qb_scan *scan, const qb_fbp_options *fbp) {
    qb_output_options output;
    qb_job *job;
    assert_ok(qb_params_init(qb_output_params, &output));
    assert_ok(qb_params_set(qb_output_params, &output, "output", in_folder("v.npy")));
    qb_status status = qb_fbp_plan(scan, NULL, fbp, &output, NULL, NULL, &job);
    assert_true((status == QB_OK) == (job != NULL));
    qb_job_destroy(job);
    qb_params_clear(qb_output_params, &output);
    return status;
}

static void values_out_of_range(void **state) {
    (void)state;
    qb_scan *scan = open_scan();
    qb_fbp_options good, bad;
    assert_ok(qb_params_init(qb_fbp_params, &good));
    assert_ok(plan(scan, &good));
    assert_ok(plan(scan, NULL));
    const qb_fbp_options zeroed = {0};
    assert_ok(plan(scan, &zeroed)); /* texts that are NULL have their defaults */
    bad = good, bad.voxel = NAN;
    assert_refused(plan(scan, &bad), "--voxel nan");
    bad = good, bad.voxel = INFINITY;
    assert_refused(plan(scan, &bad), "--voxel inf");
    bad = good, bad.voxel = -1;
    assert_refused(plan(scan, &bad), "--voxel -1");
    bad = good, bad.hu = -0.02;
    assert_refused(plan(scan, &bad), "--hu -0.02");
    bad = good, bad.pad = (qb_pad)99;
    assert_refused(plan(scan, &bad), "--pad: 99");
    bad = good, bad.interp = (qb_interp)-1;
    assert_refused(plan(scan, &bad), "--interp: -1");
    bad = good, bad.accuracy = (qb_accuracy)7;
    assert_refused(plan(scan, &bad), "--accuracy: 7");
    bad = good, bad.size.count = 9;
    assert_refused(plan(scan, &bad), "--size: a list of 9");
    bad = good, bad.size = (qb_numbers){2, {16, NAN}};
    assert_refused(plan(scan, &bad), "--size nan");
    bad = good, bad.struct_size = 3;
    assert_refused(plan(scan, &bad), "3 bytes");
    qb_output_options output;
    assert_ok(qb_params_init(qb_output_params, &output));
    assert_ok(qb_params_set(qb_output_params, &output, "output", in_folder("v.npy")));
    output.dtype = (qb_dtype)77;
    qb_job *job;
    assert_refused(qb_fbp_plan(scan, NULL, NULL, &output, NULL, NULL, &job), "--dtype: 77");
    qb_scan *other;
    const qb_scan_options as = {.as = 12};
    assert_refused(qb_scan_open(in_folder("s.npy"), &as, NULL, &other), "--as: 12");
    qb_prep_options prep;
    assert_ok(qb_params_init(qb_prep_params, &prep));
    prep.transmission_floor = NAN;
    output.dtype = QB_F32;
    assert_refused(qb_fbp_plan(scan, &prep, NULL, &output, NULL, NULL, &job), "--transmission-floor nan");
    qb_params_clear(qb_prep_params, &prep);
    qb_scan_close(scan);
    qb_params_clear(qb_output_params, &output);
    qb_params_clear(qb_fbp_params, &good);
}

static void nothing_given(void **state) {
    (void)state;
    qb_scan *scan = open_scan(), *other;
    qb_job *job;
    qb_array array;
    qb_geometry geometry;
    qb_writer *writer;
    char byte;
    double angles[12] = {0};
    assert_refused(qb_scan_open(NULL, NULL, NULL, &other), "path is NULL");
    assert_refused(qb_scan_open("x", NULL, NULL, NULL), "is NULL");
    assert_refused(qb_fbp_plan(NULL, NULL, NULL, NULL, NULL, NULL, &job), "scan is NULL");
    assert_refused(qb_fdk_plan(scan, NULL, NULL, NULL, NULL, NULL, NULL, &job), "geometry is NULL");
    assert_refused(qb_job_run(NULL, NULL, NULL), "job is NULL");
    assert_refused(qb_scan_read(scan, 0, 1, 0, 1, NULL), "out is NULL");
    assert_refused(qb_array_load(NULL, NULL, &array, NULL), "path is NULL");
    assert_refused(qb_array_create((qb_dtype)50, 1, 1, 1, &array), "dtype 50");
    assert_refused(qb_writer_create(in_folder("w.npy"), NULL, &writer), "stack is NULL");
    qb_stack stack = small_stack((qb_dtype)-3);
    assert_refused(qb_writer_create(in_folder("w.npy"), &stack, &writer), "dtype -3");
    stack = small_stack(QB_U8), stack.beam = (qb_beam)9;
    assert_refused(qb_writer_create(in_folder("w.npy"), &stack, &writer), "beam 9");
    assert_refused(qb_writer_commit(NULL, NULL), "writer is NULL");
    assert_refused(qb_writer_write(NULL, 0, 1, &byte), "writer is NULL");
    assert_refused(qb_geometry_make(NULL, 12, angles, NULL, NULL, &geometry), "detector");
    assert_refused(qb_scan_geometry(qb_scan_describe(scan), NULL, NULL, NULL, &geometry), "detector");
    const qb_geometry none = {.beam = QB_BEAM_CONE, .views = 3, .rows = 2, .columns = 2};
    qb_geometry_info info = {.struct_size = sizeof info};
    assert_refused(qb_geometry_describe(&none, &info), "without views");
    assert_refused(qb_compare(NULL, NULL, NULL), "is NULL");
    qb_array_info about = {.struct_size = 5};
    qb_center_result axis = {.struct_size = 1 << 20};
    info.struct_size = 9;
    assert_refused(qb_geometry_describe(&none, &info), "a qb_geometry_info of 9 bytes");
    assert_refused(qb_array_describe("x", NULL, &about), "a qb_array_info of 5 bytes");
    assert_refused(qb_center_find((qb_scan *)&none, NULL, NULL, NULL, &axis), "a qb_center_result of 1048576 bytes");
    assert_refused(qb_simulate(NULL, NULL, NULL), "phantom is NULL");
    assert_string_equal(qb_dtype_name((qb_dtype)99), "unknown");
    assert_string_equal(qb_beam_name((qb_beam)99), "unknown");
    assert_string_equal(qb_quantity_name((qb_quantity)99), "unknown");
    assert_int_equal(qb_dtype_size((qb_dtype)99), 0);
    qb_scan_close(scan);
}

/* ---- callbacks ---- */

typedef struct caller {
    qb_scan *scan;
    qb_env *env;
    int calls, depth;
    qb_status read, compute;
    char words[200];
} caller;

static void call_again(void *user, qb_log_level level, const char *text) {
    (void)level, (void)text;
    caller *c = user;
    if (c->depth++ == 0) {
        float value;
        qb_center_result found = {.struct_size = sizeof found};
        qb_scan *scan;
        c->calls++;
        c->read = qb_scan_read(c->scan, 0, 1, 0, 1, (float[16]){0});
        if (c->read == QB_OK) c->read = qb_scan_open(in_folder("s.npy"), NULL, c->env, &scan);
        if (c->read == QB_OK) qb_scan_close(scan);
        qb_convert_to_float((float[]){1}, QB_F32, 1, &value);
        c->compute = qb_center_find(c->scan, NULL, NULL, c->env, &found);
        snprintf(c->words, sizeof c->words, "%s", qb_detail());
    }
    c->depth--;
}

static void a_callback_calls_the_library(void **state) {
    (void)state;
    qb_scan *scan = open_scan();
    caller c = {.scan = scan, .read = QB_INTERNAL, .compute = QB_INTERNAL};
    qb_env env = {.threads = 2, .log = call_again, .user = &c};
    c.env = &env;
    qb_output_options output;
    qb_fbp_options fbp;
    qb_job *job;
    assert_ok(qb_params_init(qb_output_params, &output));
    assert_ok(qb_params_init(qb_fbp_params, &fbp));
    assert_ok(qb_params_set(qb_fbp_params, &fbp, "center", "7.5"));
    assert_ok(qb_params_set(qb_output_params, &output, "output", in_folder("v.npy")));
    alarm(900); /* a deadlock fails the test */
    assert_ok(qb_fbp_plan(scan, NULL, &fbp, &output, NULL, &env, &job));
    assert_ok(qb_job_run(job, &env, NULL));
    alarm(0);
    qb_job_destroy(job);
    assert_true(c.calls > 0);
    assert_ok(c.read);
    assert_status(c.compute, QB_BAD_ARGUMENT);
    assert_non_null(strstr(c.words, "from within a log or progress callback"));
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    qb_scan_close(scan);
}

/* Callbacks of two environments may run at the same time. Callbacks of one environment never do. */
typedef struct meeting {
    pthread_barrier_t *both;
    int inside, most;
    qb_scan *scan;
    bool wait;
} meeting;

static void meet(void *user, qb_log_level level, const char *text) {
    (void)level, (void)text;
    meeting *m = user;
    if (__atomic_add_fetch(&m->inside, 1, __ATOMIC_SEQ_CST) > m->most) m->most = m->inside;
    /* would never return if the callbacks of both had to wait for each other */
    if (m->wait) pthread_barrier_wait(m->both);
    m->wait = false;
    __atomic_sub_fetch(&m->inside, 1, __ATOMIC_SEQ_CST);
}

static void *run_job(void *user) {
    meeting *m = user;
    char name[512];
    snprintf(name, sizeof name, "%s/v%p.npy", test_folder, user);
    qb_env env = {.threads = 2, .log = meet, .user = m};
    qb_output_options output;
    qb_job *job;
    qb_fbp_options fbp;
    if (qb_params_init(qb_output_params, &output) != QB_OK || qb_params_init(qb_fbp_params, &fbp) != QB_OK) return NULL;
    qb_params_set(qb_fbp_params, &fbp, "center", "7.5");
    qb_params_set(qb_output_params, &output, "output", name);
    qb_status status = qb_fbp_plan(m->scan, NULL, &fbp, &output, NULL, &env, &job);
    if (status == QB_OK) status = qb_job_run(job, &env, NULL);
    qb_job_destroy(job);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    return status == QB_OK ? m : NULL;
}

static void environments_do_not_wait_for_each_other(void **state) {
    (void)state;
    pthread_barrier_t both;
    pthread_t thread[2];
    pthread_barrier_init(&both, NULL, 2);
    qb_scan *scan = open_scan();
    meeting m[2] = {{&both, 0, 0, scan, true}, {&both, 0, 0, scan, true}};
    alarm(900);
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, run_job, &m[i]);
    for (int i = 0; i < 2; i++) {
        void *done;
        pthread_join(thread[i], &done);
        assert_ptr_equal(done, &m[i]);
        assert_int_equal(m[i].most, 1);
    }
    alarm(0);
    pthread_barrier_destroy(&both);
    qb_scan_close(scan);
}

/* ---- jobs that run already ---- */

typedef struct nested {
    qb_job *job;
    qb_scan *scan;
    const qb_env *env;
    int calls;
    qb_status again, other;
    char words[200];
} nested;

static qb_status run_from_slab(void *user, const qb_slab *slab);

static qb_status plan_into(qb_scan *scan, const char *name, nested *user, const qb_env *env, qb_job **job) {
    qb_output_options output;
    qb_fbp_options fbp;
    assert_ok(qb_params_init(qb_output_params, &output));
    assert_ok(qb_params_init(qb_fbp_params, &fbp));
    assert_ok(qb_params_set(qb_fbp_params, &fbp, "center", "7.5"));
    assert_ok(qb_params_set(qb_output_params, &output, "output", in_folder(name)));
    if (user) output.slab = run_from_slab, output.slab_user = user;
    qb_status status = qb_fbp_plan(scan, NULL, &fbp, &output, NULL, env, job);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    return status;
}

/* Tries to run the job again while it runs, and to destroy it. Neither may happen. Then runs another job of the same
 * scan. */
static qb_status run_from_slab(void *user, const qb_slab *slab) {
    (void)slab;
    nested *n = user;
    qb_job *other;
    if (n->calls++) return QB_OK;
    n->again = qb_job_run(n->job, n->env, NULL);
    snprintf(n->words, sizeof n->words, "%s", qb_detail());
    qb_job_destroy(n->job);
    n->other = plan_into(n->scan, "other.npy", NULL, n->env, &other);
    if (n->other == QB_OK) n->other = qb_job_run(other, n->env, NULL);
    qb_job_destroy(other);
    return QB_OK;
}

static void a_job_runs_once_at_a_time(void **state) {
    (void)state;
    const qb_env env = {.threads = 2, .device = "cpu"};
    nested n = {.scan = open_scan(), .env = &env, .again = QB_OK, .other = QB_INTERNAL};
    alarm(900);
    assert_ok(plan_into(n.scan, "v.npy", &n, &env, &n.job));
    assert_ok(qb_job_run(n.job, &env, NULL));
    alarm(0);
    assert_status(n.again, QB_BAD_ARGUMENT);
    assert_non_null(strstr(n.words, "runs already"));
    assert_ok(n.other);
    n.calls = 1; /* the job can run again */
    assert_ok(qb_job_run(n.job, &env, NULL));
    qb_job_destroy(n.job);
    qb_scan_close(n.scan);
    /* Both jobs list all files that they read, though they read the same files at the same time. */
    char *told[2];
    assert_ok(qb_provenance_load(in_folder("v.npy"), &told[0]));
    assert_ok(qb_provenance_load(in_folder("other.npy"), &told[1]));
    const char *at[2] = {strstr(told[0], "\"projections\""), strstr(told[1], "\"projections\"")};
    if (qb__hash_known()) {
        assert_true(at[0] && at[1]);
        assert_memory_equal(at[0], at[1], (size_t)(strchr(at[0], '}') - at[0]));
    }
    qb_text_free(told[0]);
    qb_text_free(told[1]);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(values_out_of_range),          IN_FOLDER(nothing_given),
        IN_FOLDER(a_callback_calls_the_library), IN_FOLDER(environments_do_not_wait_for_each_other),
        IN_FOLDER(a_job_runs_once_at_a_time),
    };
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}
