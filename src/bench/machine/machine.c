/* SPDX-License-Identifier: MIT */
/* Rates of this machine for the forecasts of plans: small jobs in memory, long enough to be accurate; the processor
 * time of their stages gives the rates of planner/rates.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "bench/bench_io.h"
#include "bench/bench_parts.h"
#include "bench/machine/machine_parts.h"
#include "center/center.h"
#include "geometry/parallel.h"
#include "io/writer.h"
#include "planner/choose.h"
#include "planner/rates.h"
#include "planner/storage.h"
#include "planner/tuning.h"
#include "prep/prepare.h"
#include "quickbeam/device.h"
#include "quickbeam/recon.h"

enum { COLUMNS = 256, ROWS = 64, FEW = 32, VIEWS = 360, SIDE = 256, CUBE = 128 };
static const double pi = 3.14159265358979, sure = 0.1; /* seconds of a job */

typedef struct machine {
    qb_env env; /* without messages */
    cJSON *rates;
    unsigned short *count; /* [VIEWS][ROWS][COLUMNS] */
    unsigned short *flat;  /* [CUBE][CUBE], or [ROWS][COLUMNS] */
    double angle[VIEWS];
    void *result;                /* result of any job */
    size_t views, rows, columns; /* size of the current job, whose angles are spaced evenly over half a turn */
    double updates;              /* views times voxels */
    qb_geometry geometry;        /* used for a cone beam only */
} machine;

/* ---- the scan ---- */

/* Some discs with a little noise, so that an axis can be found. */
static void fill(machine *m) {
    static const double disc[][3] = {{0.3, 0.5, 0.1}, {0.25, 2.2, 0.07}, {0.1, 4, 0.15}, {0.35, 5, 0.05}};
    for (size_t v = 0; v < VIEWS; v++) {
        const double angle = pi * (double)v / VIEWS;
        for (size_t c = 0; c < COLUMNS; c++) {
            double path = 0;
            for (size_t d = 0; d < sizeof disc / sizeof disc[0]; d++) {
                const double from = ((double)c - (COLUMNS - 1) / 2.0) / COLUMNS - disc[d][0] * cos(angle - disc[d][1]);
                path += sqrt(fmax(disc[d][2] * disc[d][2] - from * from, 0));
            }
            for (size_t r = 0; r < ROWS; r++)
                m->count[(v * ROWS + r) * COLUMNS + c] =
                    (unsigned short)(50000 * exp(-3 * path) + (double)((v * 31 + c * 17 + r * 7) % 101));
        }
    }
    for (size_t i = 0; i < CUBE * CUBE; i++) m->flat[i] = 50000;
}

static qb_tensor tensor(void *data, qb_dtype dtype, size_t a, size_t b, size_t c) {
    return (qb_tensor){.data = data,
                       .memory = QB_MEMORY_CPU,
                       .ndim = 3,
                       .dtype = dtype,
                       .shape = {(int64_t)a, (int64_t)b, (int64_t)c}};
}

static qb_status open_scan(machine *m, qb_scan **scan) {
    const qb_tensor counts = tensor(m->count, QB_U16, m->views, m->rows, m->columns);
    const qb_tensor flat = tensor(m->flat, QB_U16, 1, m->rows, m->columns);
    qb_scan_options options;
    for (size_t v = 0; v < m->views; v++) m->angle[v] = pi * (double)v / (double)m->views;
    QB__OR_RETURN(qb_params_init(qb_scan_params, &options));
    options.pixel_size = 1;
    options.quantity = QB_COUNTS;
    const qb_status status = qb_scan_from_tensor(&counts, m->angle, &flat, NULL, &options, &m->env, scan);
    qb_params_clear(qb_scan_params, &options);
    return status;
}

/* ---- jobs ---- */

/* A method: how it is planned, and which rates its report gives. */
typedef struct trial {
    const qb_param *params;
    size_t views, most;                 /* number of views at first, and at most */
    size_t rows, columns, slices, side; /* sizes of the detector and of the result */
    const char *const (*option)[2];     /* options of the method, ended by NULL */
    qb_dtype dtype;
    qb_status (*plan)(machine *m, qb_scan *scan, void *options, const qb_output_options *output, qb_job **job);
    void (*learn)(machine *m, const cJSON *plan, const cJSON *report);
} trial;

typedef union any_options {
    qb_fbp_options fbp;
    qb_fdk_options fdk;
    qb_iterative_options iterative;
} any_options;

static double stage_cpu(const cJSON *report, const char *name) {
    const cJSON *stage;
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(report, "stages")) {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(stage, "name")), name) == 0)
            return qb__bench_number(stage, "cpu_seconds");
    }
    return 0;
}

static void know(machine *m, const char *name, double work, double seconds) {
    qb__machine_know(m->rates, name, work, seconds);
}

static void know_kernel(machine *m, const cJSON *report, double work, double seconds) {
    know(m, cJSON_GetStringValue(cJSON_GetObjectItem(report, "kernel")), work, seconds);
}

static qb_status run_job(machine *m, const trial *t, qb_scan *scan, double *seconds) {
    const qb_tensor result = tensor(m->result, t->dtype, t->slices, t->side, t->side);
    any_options options;
    qb_output_options output;
    qb_job *job = NULL;
    const char *text;
    qb_status status;
    qb_params_init(t->params, &options);
    qb_params_init(qb_output_params, &output);
    output.array = &result;
    QB__TRY(qb_param_set(qb_param_find(qb_output_params, "dtype"), &output, qb_dtype_name(t->dtype)));
    if (t->dtype != QB_F32) QB__TRY(qb_param_set(qb_param_find(qb_output_params, "range"), &output, "0,1"));
    for (size_t i = 0; t->option[i][0]; i++)
        QB__TRY(qb_param_set(qb_param_find(t->params, t->option[i][0]), &options, t->option[i][1]));
    QB__TRY(t->plan(m, scan, &options, &output, &job));
    *seconds = qb__now();
    QB__TRY(qb_job_run(job, &m->env, &text));
    *seconds = qb__now() - *seconds;
    cJSON *plan = cJSON_Parse(qb_job_plan(job)), *report = cJSON_Parse(text);
    t->learn(m, plan, report);
    cJSON_Delete(plan);
    cJSON_Delete(report);
out:
    qb_job_destroy(job);
    qb_params_clear(t->params, &options);
    qb_params_clear(qb_output_params, &output);
    qb_geometry_destroy(&m->geometry);
    return status;
}

/* Increase the views until the job is long enough; then run it once more. */
static qb_status try_job(machine *m, const trial *t) {
    double seconds = 0;
    int again = 2;
    for (size_t views = t->views; again > 0;) {
        qb_scan *scan = NULL;
        m->views = views, m->rows = t->rows, m->columns = t->columns;
        m->updates = (double)(views * t->slices * t->side * t->side);
        qb_status status = open_scan(m, &scan);
        if (status == QB_OK) status = run_job(m, t, scan, &seconds);
        qb_scan_close(scan);
        if (status != QB_OK) return status;
        if (views == t->most || seconds >= sure) again -= seconds > 3 * sure ? 2 : 1;
        if (seconds >= sure) continue;
        const double wanted = (double)views * fmin(fmax(1.3 * sure / seconds, 1.5), 16);
        views = wanted < (double)t->most ? (size_t)wanted : t->most;
    }
    return QB_OK;
}

/* ---- fbp ---- */

static qb_status plan_fbp(machine *m, qb_scan *scan, void *options, const qb_output_options *output, qb_job **job) {
    return qb_fbp_plan(scan, NULL, options, output, "qb plan", &m->env, job);
}

static void learn_fbp(machine *m, const cJSON *plan, const cJSON *report) {
    const double padded = qb__bench_number(plan, "fft_length") * (double)(m->rows * m->views);
    know_kernel(m, report, m->updates, stage_cpu(report, "back-project"));
    know(m, QB__RATE_FILTER, padded, stage_cpu(report, "filter"));
    know(m, QB__RATE_CONVERT, (double)ROWS * SIDE * SIDE, stage_cpu(report, "convert"));
}

/* ---- fdk ---- */

static qb_status plan_fdk(machine *m, qb_scan *scan, void *options, const qb_output_options *output, qb_job **job) {
    QB__OR_RETURN(qb_geometry_cone(m->views, m->angle, CUBE, CUBE, 1, 1, 2 * CUBE, 3 * CUBE, 0, 0, &m->geometry));
    return qb_fdk_plan(scan, &m->geometry, NULL, options, output, "qb plan", &m->env, job);
}

static void learn_fdk(machine *m, const cJSON *plan, const cJSON *report) {
    (void)plan;
    know_kernel(m, report, m->updates, stage_cpu(report, "back-project"));
    know(m, QB__RATE_FILTER_CONE, (double)m->views * CUBE * CUBE, stage_cpu(report, "filter"));
}

/* ---- sirt: the projector and its adjoint ---- */

static qb_status plan_sirt(machine *m, qb_scan *scan, void *options, const qb_output_options *output, qb_job **job) {
    return qb_sirt_plan(scan, NULL, NULL, options, output, "qb plan", &m->env, job);
}

static void learn_sirt(machine *m, const cJSON *plan, const cJSON *report) {
    (void)plan;
    know_kernel(m, report, 2.0 * SIDE * (double)(m->views * m->rows * m->columns), stage_cpu(report, "sirt"));
}

/* ---- the others ---- */

static qb_status try_axis(machine *m) {
    qb_center_options options;
    qb_center_result result = {0};
    qb_scan *scan = NULL;
    m->views = VIEWS / 2, m->rows = ROWS, m->columns = COLUMNS;
    qb_status status = qb_params_init(qb_center_params, &options);
    if (status == QB_OK) status = open_scan(m, &scan);
    if (status == QB_OK) {
        const double from = qb__now_process();
        status = qb_center_find(scan, NULL, &options, &m->env, &result);
        if (status == QB_BAD_INPUT) status = QB_OK; /* the time was measured nevertheless */
        know(m, QB__RATE_AXIS, qb__center_work(qb_scan_describe(scan), NULL), qb__now_process() - from);
    }
    qb_params_clear(qb_center_params, &options);
    qb_scan_close(scan);
    return status;
}

static qb_status try_rings(machine *m, const char *method, const char *rate) {
    qb_prep_options options;
    qb__prepare *prepare = NULL;
    qb_scan *scan = NULL;
    m->views = VIEWS, m->rows = ROWS, m->columns = COLUMNS;
    qb_status status = qb_params_init(qb_prep_params, &options);
    if (status == QB_OK) status = qb_params_set(qb_prep_params, &options, "rings", method);
    if (status == QB_OK) status = open_scan(m, &scan);
    if (status == QB_OK) {
        const double from = qb__now_process();
        status = qb__prepare_create(scan, &options, &(qb__prepared){.row1 = ROWS}, &m->env, &prepare);
        know(m, rate, (double)m->views * ROWS * COLUMNS, qb__now_process() - from);
    }
    qb__prepare_destroy(prepare);
    qb_params_clear(qb_prep_params, &options);
    qb_scan_close(scan);
    return status;
}

/* ---- all of it ---- */

static const char *const of_fbp[][2] = {{"center", "middle"}, {0}};
static const char *const of_fbp_high[][2] = {{"center", "middle"}, {"accuracy", "high"}, {0}};
static const char *const of_fdk[][2] = {{"size", "128,128,128"}, {"allow-limited", "true"}, {0}};
static const char *const of_sirt[][2] = {{"center", "middle"}, {"iterations", "1"}, {0}};

#define PARALLEL ROWS, COLUMNS, ROWS, SIDE
static const trial trials[] = {
    {qb_fbp_params, 48, VIEWS, PARALLEL, of_fbp_high, QB_F32, plan_fbp, learn_fbp},
    {qb_fbp_params, 48, VIEWS, PARALLEL, of_fbp, QB_U16, plan_fbp, learn_fbp},
    {qb_fdk_params, 24, VIEWS / 2, CUBE, CUBE, CUBE, CUBE, of_fdk, QB_F32, plan_fdk, learn_fdk},
    {qb_sirt_params, 12, VIEWS, FEW, COLUMNS, FEW, SIDE, of_sirt, QB_F32, plan_sirt, learn_sirt},
};

static qb_status measure(machine *m) {
    qb_status status;
    QB__TRY(qb__alloc((size_t)VIEWS * ROWS, COLUMNS * sizeof *m->count, &m->count));
    QB__TRY(qb__alloc(CUBE, CUBE * sizeof *m->flat, &m->flat));
    QB__TRY(qb__alloc(ROWS, SIDE * SIDE * sizeof(float), &m->result));
    fill(m);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) QB__TRY(try_job(m, &trials[i]));
    QB__TRY(qb__machine_icd(m->rates, &m->env));
    QB__TRY(try_axis(m));
    QB__TRY(try_rings(m, "sort", QB__RATE_SORT));
    QB__TRY(try_rings(m, "wavelet", QB__RATE_WAVELET));
out:
    QB__FREE(m->count, m->flat, m->result);
    return status;
}

static qb_status measure_machine(const qb_env *env) {
    machine m = {.env = env ? *env : (qb_env){0}, .rates = cJSON_CreateObject()};
    m.env.log = NULL;
    m.env.progress = NULL;
    m.env.device = "cpu";
    m.env.threads = 0;
    m.env.max_ram = 0;
    qb_status status = measure(&m);
    if (status == QB_OK) status = qb__rates_store(m.rates, env);
    cJSON_Delete(m.rates);
    return status;
}

/* A storage that cannot be written to is not measured. */
static qb_status measure_storage(const char *path, const qb_env *env) {
    enum { BYTES = 32 << 20 };
    qb__storage known;
    if (!path || qb__storage_find(path, &known)) return QB_OK;
    char *folder = qb__folder_of(path);
    if (!folder) return qb__fail(QB_NO_MEMORY, "no memory for a name");
    qb_status status = qb__storage_measure(folder, BYTES, 0.5, env);
    qb__free(folder);
    return status;
}

qb_status qb_machine_measure(const char *const *paths, size_t count, const qb_env *env) {
    qb_status status = QB_OK;
    for (size_t i = 0; i < count; i++) {
        QB__NEED(paths);
        QB__NEED(paths[i]);
    }
    if (!*qb__tuning_path() || qb__tuning_check() != QB_OK) return QB_OK;
    const double from = qb__now();
    bool first = !qb__rates_known();
    if (first) {
        qb__info(env, "this machine is measured once, for the forecasts of plans: some seconds");
        status = measure_machine(env);
    }
    for (size_t i = 0; i < count && status == QB_OK; i++)
        if (measure_storage(paths[i], env) != QB_OK) qb__log(env, QB_LOG_DEBUG, "%s", qb_detail());
    if (status != QB_OK && status != QB_CANCELLED) {
        qb__warn(env, "this machine cannot be measured (%s): plans use listed rates" QB__CODE("machine-unmeasured"),
                 qb_detail());
        return QB_OK;
    }
    if (status == QB_OK && first) qb__info(env, "it took %.1f s; kept in %s", qb__now() - from, qb__tuning_path());
    return status;
}
