/* SPDX-License-Identifier: MIT */
/* qb bench ifdk: the fifteen problems of the iFDK paper's Table 4 (Chen et al., SC 2019), back-projection alone, data
 * on the device; with --ladder by each kernel of that table, and by the planner's choice. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "bench/trial/trial.h"
#include "cpu/bp_cone/bp_cone.h"
#include "planner/choose.h"
#include "planner/device_select.h"
#include "planner/tuning.h"

enum { K = 1024 };

/* Name, pixels a side, voxels along x and y, and along z; each from 1k views. */
static const struct problem {
    const char *name;
    size_t pixels, nx, nz;
} problems[] = {
    {"512-128", 512, 128, 128},  {"512-256", 512, 256, 256}, {"512-512", 512, 512, 512},  {"512-1k", 512, K, K},
    {"512-2k", 512, K, 2 * K},   {"1k-128", K, 128, 128},    {"1k-256", K, 256, 256},     {"1k-512", K, 512, 512},
    {"1k-1k", K, K, K},          {"1k-2k", K, K, 2 * K},     {"2k-128", 2 * K, 128, 128}, {"2k-256", 2 * K, 256, 256},
    {"2k-512", 2 * K, 512, 512}, {"2k-1k", 2 * K, K, K},     {"2k-2k", 2 * K, K, 2 * K},
};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

/* The kernels of Table 4, as it names them, then the planner's choice. */
static const char *const paper[] = {"bp_cone_matrix.rtk-32",  "bp_cone_circular.bp-tex",  "bp_cone_circular.tex-tran",
                                    "bp_cone_circular.bp-l1", "bp_cone_circular.l1-tran", NULL};
enum { PAPER = sizeof paper / sizeof paper[0] };

typedef struct bench {
    const qb_tool_bench_options *options;
    qb__device *device;
    cJSON *list;
    double least; /* GUPS */
} bench;

static cJSON *add_row(bench *b, const char *name, const qb__bp_cone_problem *p) {
    const double voxels = (double)(p->nx * p->ny) * (double)p->nz;
    const double pixels = (double)(p->columns * p->rows) * (double)p->views;
    char text[96];
    cJSON *row = cJSON_CreateObject();
    snprintf(text, sizeof text, "%zu^2 x %zu -> %zu^2 x %zu", p->columns, p->views, p->nx, p->nz);
    cJSON_AddItemToArray(b->list, row);
    cJSON_AddStringToObject(row, "name", name);
    cJSON_AddStringToObject(row, "problem", text);
    cJSON_AddNumberToObject(row, "alpha", pixels / voxels);
    return row;
}

static void add_result(bench *b, cJSON *row, const qb__bp_cone_problem *p, const qb__choice *choice,
                       const qb__trial_result *r) {
    const double gups = (double)(p->nx * p->ny) * (double)p->nz * (double)p->views / r->seconds / 0x1p30;
    cJSON_AddStringToObject(row, "kernel", choice->variant->id);
    cJSON_AddItemToObject(row, "parameters", qb__parameters_json(choice->variant, choice->values));
    cJSON_AddNumberToObject(row, "seconds_median", r->seconds);
    cJSON_AddNumberToObject(row, "packing_seconds", r->pack_seconds);
    cJSON_AddNumberToObject(row, "gups", gups);
    cJSON_AddNumberToObject(row, "share_of_prediction", choice->predicted / r->seconds);
    cJSON_AddNumberToObject(row, "rel_l2", r->rel_l2);
    if (b->least == 0 || gups < b->least) b->least = gups;
}

/* One of all problems that does not fit, or a kernel that does not serve, is said in its row and passed over. */
static qb_status passed_over(const bench *b, qb_status status, cJSON *row) {
    const bool fits = status != QB_NO_MEMORY, serves = status != QB_UNSUPPORTED;
    if (status == QB_OK || (fits && serves) || (!fits && b->options->problem) || (!serves && !b->options->ladder))
        return status;
    cJSON_AddStringToObject(row, "not_run", qb_detail());
    return QB_OK;
}

static qb_status solve_by(bench *b, const char *name, qb__trial *trial, const char *id,
                          const qb__bp_cone_problem *sizes) {
    cJSON *row = add_row(b, name, sizes);
    qb__trial_result found;
    qb__choice choice;
    qb_status status = qb__bench_choose(trial, b->options, id, &choice);
    if (status == QB_OK) status = qb__trial_run(trial, choice.variant, choice.values, 1, b->options->repeat, &found);
    if (status == QB_OK) add_result(b, row, sizes, &choice, &found);
    if (status == QB_UNSUPPORTED || status == QB_NO_MEMORY) cJSON_AddStringToObject(row, "kernel", id ? id : "auto");
    return passed_over(b, status, row);
}

static qb_status solve(bench *b, const char *name, const qb__bp_cone_problem *p, const qb_env *env) {
    const qb__trial_sizes sizes = {p->views, p->columns, p->rows, p->nx, p->ny, p->nz, false};
    qb__trial *trial = NULL;
    qb_status status = qb__trial_create(QB__BP_CONE, b->device, &sizes, &trial);
    if (status != QB_OK) return passed_over(b, status, add_row(b, name, p));
    if (!b->options->ladder) status = solve_by(b, name, trial, b->options->kernel, p);
    for (int i = 0; b->options->ladder && i < PAPER && status == QB_OK; i++) {
        status = qb__check_cancel(env);
        if (status == QB_OK) status = solve_by(b, name, trial, paper[i], p);
    }
    qb__trial_destroy(trial);
    return status;
}

/* 1k means --size: all sides and the number of views shrink or grow together. */
static size_t scaled(size_t n, size_t k) { return n * k / K ? n * k / K : 1; }

static bool is_asked_for(const bench *b, const struct problem *p) {
    return !b->options->problem || strcmp(b->options->problem, p->name) == 0;
}

static qb_status solve_all(bench *b, size_t k, const qb_env *env) {
    qb_status status = QB_OK;
    for (int i = 0; i < PROBLEMS && status == QB_OK; i++) {
        const struct problem *p = &problems[i];
        const size_t pixels = scaled(p->pixels, k), nx = scaled(p->nx, k);
        status = qb__check_cancel(env);
        if (status == QB_OK && is_asked_for(b, p))
            status =
                solve(b, p->name,
                      &(qb__bp_cone_problem){
                          .views = k, .columns = pixels, .rows = pixels, .nx = nx, .ny = nx, .nz = scaled(p->nz, k)},
                      env);
        qb__progress(env, "problems", (uint64_t)i + 1, PROBLEMS);
    }
    return status;
}

static qb_status check(const bench *b) {
    const qb_tool_bench_options *o = b->options;
    if (o->size.count != 1 || o->size.value[0] < 8)
        return qb__fail(QB_BAD_ARGUMENT, "--size: ifdk takes one number from 8, what its problems' 1k stands for");
    for (int i = 0; i < PROBLEMS; i++)
        if (is_asked_for(b, &problems[i])) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--problem %s: there are 512, 1k, 2k - 128, 256, 512, 1k, 2k: 512-128 to 2k-2k",
                    o->problem);
}

qb_status qb__bench_ifdk(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {.options = options};
    qb__device_set set;
    qb_status status = check(&b);
    if (status != QB_OK) return status;
    status = qb__device_set_open(env, &set);
    if (status != QB_OK) return status;
    if (set.count == 0) return qb__fail(QB_NO_DEVICE, "ifdk computes on devices: --device cuda or opencl");
    b.device = set.device[0];
    qb__tuning_warn(env);
    qb__compile_watch(&set, env);
    cJSON_AddStringToObject(result, "device", qb__device_info_of(b.device)->name);
    b.list = cJSON_AddArrayToObject(result, "problems");
    status = solve_all(&b, (size_t)options->size.value[0], env);
    cJSON_AddNumberToObject(result, "gups_least", b.least);
    qb__compile_done(&set, result);
    qb__device_set_close(&set);
    return status;
}
