/* SPDX-License-Identifier: MIT */
/* Work is stopped at the n-th moment at which the library asks whether it should stop. Tests that include this are
 * linked with --wrap for qb__cancelled and qb__check_cancel. So n is exact and no clock is involved. */
#ifndef QB_TESTS_INTERRUPTED_H
#define QB_TESTS_INTERRUPTED_H

#include <stdatomic.h>

#include "base/log.h"
#include "io_files.h"
#include "quickbeam/quickbeam.h"
#include "quickbeam/simulate.h"

#ifndef MOMENTS
#define MOMENTS 16 /* how many moments are tried for each job, spread over the whole run */
#endif

static volatile sig_atomic_t stop;
/* how often the library has asked so far; at which question the job is stopped, 0 = never */
static atomic_long looks, moment;

static void look(const qb_env *env) {
    if (!env || env->cancel != &stop) return;
    if (atomic_fetch_add(&looks, 1) + 1 == atomic_load(&moment)) __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

bool __real_qb__cancelled(const qb_env *env);
qb_status __real_qb__check_cancel(const qb_env *env);
bool __wrap_qb__cancelled(const qb_env *env);
qb_status __wrap_qb__check_cancel(const qb_env *env);

bool __wrap_qb__cancelled(const qb_env *env) {
    look(env);
    return __real_qb__cancelled(env);
}

qb_status __wrap_qb__check_cancel(const qb_env *env) {
    look(env);
    return __real_qb__check_cancel(env);
}

/* ---- jobs ---- */

enum { SETTINGS = 8 };

typedef qb_status plan_in_geometry(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                                   const void *options, const qb_output_options *output, const qb_env *env,
                                   qb_job **job);

/* A method, the files of the folder that it reads, and the options that are set. */
typedef struct job_case {
    const char *name, *scan, *geometry; /* geometry: NULL for a parallel beam */
    plan_in_geometry *plan;
    const qb_param *params;
    const char *set[SETTINGS][2];
    bool resumes;
} job_case;

typedef union any_options {
    qb_mbir_options mbir;
    qb_fbp_options fbp;
    qb_fdk_options fdk;
    qb_iterative_options iterative;
} any_options;

static qb_status load_geometry(const char *name, qb_geometry *geometry) {
    *geometry = (qb_geometry){0};
    return name ? qb_geometry_load(in_folder(name), NULL, NULL, geometry) : QB_OK;
}

static qb_status run_once(const job_case *c, const char *device, const char *out, bool resume) {
    const qb_env env = {.threads = 1, .device = device, .cancel = &stop};
    char angles[] = "0:180", degrees[] = "0:360";
    const qb_scan_options about = {
        .angles = c->geometry ? degrees : angles, .pixel_size = 1, .quantity = QB_TRANSMISSION};
    any_options options;
    qb_geometry geometry;
    qb_prep_options prep;
    qb_output_options output;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    assert_ok(load_geometry(c->geometry, &geometry));
    assert_ok(qb_params_init(qb_prep_params, &prep));
    assert_ok(qb_params_init(qb_output_params, &output));
    assert_ok((qb_params_init)(c->params, &options, qb_params_size(c->params)));
    for (int i = 0; i < SETTINGS && c->set[i][0]; i++)
        assert_ok(qb_params_set(c->params, &options, c->set[i][0], c->set[i][1]));
    if (c->resumes) assert_ok(qb_params_set(c->params, &options, "checkpoint", "1e-9"));
    if (resume) assert_ok(qb_params_set(c->params, &options, "resume", "true"));
    assert_ok(qb_params_set(qb_output_params, &output, "output", out));
    qb_status status = qb_scan_open(in_folder(c->scan), &about, &env, &scan);
    if (status == QB_OK) status = c->plan(scan, c->geometry ? &geometry : NULL, &prep, &options, &output, &env, &job);
    if (status == QB_OK) status = qb_job_run(job, &env, NULL);
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_geometry_destroy(&geometry);
    qb_params_clear(c->params, &options);
    qb_params_clear(qb_output_params, &output);
    qb_params_clear(qb_prep_params, &prep);
    return status;
}

#define PLAN_IN_GEOMETRY(verb)                                                                                         \
    static qb_status verb(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,                     \
                          const void *options, const qb_output_options *output, const qb_env *env, qb_job **job) {     \
        return qb_##verb##_plan(scan, geometry, prep, options, output, #verb, env, job);                               \
    }
PLAN_IN_GEOMETRY(fdk)
PLAN_IN_GEOMETRY(sirt)
PLAN_IN_GEOMETRY(cgls)

static qb_status fbp(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep, const void *options,
                     const qb_output_options *output, const qb_env *env, qb_job **job) {
    (void)geometry;
    return qb_fbp_plan(scan, prep, options, output, "fbp", env, job);
}

static qb_status mbir(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep, const void *options,
                      const qb_output_options *output, const qb_env *env, qb_job **job) {
    return qb_mbir_plan(scan, geometry, prep, options, output, "mbir", env, job);
}

/* Runs the job and stops it when the library asks for the n-th time. `seen` receives how often it asked. */
static qb_status run_until(long n, const job_case *c, const char *device, const char *out, bool resume, long *seen) {
    stop = 0;
    atomic_store(&looks, 0);
    atomic_store(&moment, n);
    const qb_status status = run_once(c, device, out, resume);
    if (seen) *seen = atomic_load(&looks);
    return status;
}

static void check_same(const char *out, const char *whole) {
    size_t n, wanted;
    char *got = get_file(out, &n), *want = get_file(whole, &wanted);
    assert_int_equal(n, wanted);
    assert_memory_equal(got, want, n);
    free(got);
    free(want);
    remove(out);
}

/* Stops the job at question n. It must return QB_CANCELLED and leave no output file. A second run, which goes on from
 * the checkpoint where there is one, must then give the same bits as `whole`. */
static void stop_at(long n, const job_case *c, const char *device, const char *whole) {
    char out[512];
    strcpy(out, in_folder("out.npy"));
    const qb_status status = run_until(n, c, device, out, false, NULL);
    if (status != QB_OK) {
        assert_status(status, QB_CANCELLED);
        assert_int_equal(access(out, F_OK), -1);
        assert_ok(run_until(0, c, device, out, c->resumes, NULL));
    }
    check_same(out, whole);
}

/* Stops the job again and again, each time after `each` questions, and resumes it every time. */
static void stop_often(long each, const job_case *c, const char *device, const char *whole) {
    enum { MOST = 40 };
    char out[512];
    strcpy(out, in_folder("out.npy"));
    qb_status status = QB_CANCELLED;
    for (int i = 0; status == QB_CANCELLED && i < MOST; i++)
        status = run_until(i + 1 < MOST ? each : 0, c, device, out, true, NULL);
    assert_ok(status);
    check_same(out, whole);
}

static void interrupt(const job_case *c, const char *device) {
    char whole[512];
    long all;
    strcpy(whole, in_folder("whole.npy"));
    assert_ok(run_until(0, c, device, whole, false, &all));
    print_message("%s: %ld looks\n", c->name, all);
    assert_true(all > 4);
    for (long i = 0; i < MOMENTS; i++) stop_at(1 + i * (all - 1) / (MOMENTS - 1), c, device, whole);
    if (c->resumes) stop_often(all * 2 / 5 + 1, c, device, whole);
    remove(whole);
}

/* ---- what they read ---- */

static void make_scan(const char *name, const char *const set[][2]) {
    qb_simulate_options options;
    assert_ok(qb_params_init(qb_simulate_params, &options));
    for (int i = 0; set[i][0]; i++) assert_ok(qb_params_set(qb_simulate_params, &options, set[i][0], set[i][1]));
    assert_ok(qb_params_set(qb_simulate_params, &options, "output", in_folder(name)));
    assert_ok(qb_simulate("disc", &options, NULL));
    qb_params_clear(qb_simulate_params, &options);
}

/* Simulates a parallel beam of 35 slices, a cone beam, and a fan beam of one row. */
static int make_scans(void **state) {
    if (make_folder(state) != 0) return -1;
    const char *const parallel[][2] = {{"detector", "24,35"}, {"views", "16"}, {"pixel-size", "1"}, {NULL, NULL}};
    const char *const cone[][2] = {{"geometry", "cone"},
                                   {"sod", "60"},
                                   {"sdd", "90"},
                                   {"detector", "24,16"},
                                   {"views", "24"},
                                   {"pixel-size", "1"},
                                   {"geometry-out", in_folder("cone.json")},
                                   {NULL, NULL}};
    const char *const fan[][2] = {{"geometry", "cone"},
                                  {"sod", "60"},
                                  {"sdd", "90"},
                                  {"detector", "24,1"},
                                  {"views", "24"},
                                  {"pixel-size", "1"},
                                  {"geometry-out", in_folder("fan.json")},
                                  {NULL, NULL}};
    make_scan("s.npy", parallel);
    make_scan("cone.npy", cone);
    make_scan("fan.npy", fan);
    return 0;
}

#endif
