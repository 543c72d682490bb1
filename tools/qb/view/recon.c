/* SPDX-License-Identifier: MIT */
/* Plans what stays the same while a scan is looked at: the volume, its rough level and the kernel. */
#include "live.h"
#include "query.h"
#include "recon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUGH_SIDE = 512, ROUGH_VIEWS = 800, FEW_THREADS = 8 };

/* ---- options that the command line leaves open ---- */

static void note_given(cli *c, const qb_param *row) {
    for (int i = 0; i < c->given_count; i++)
        if (c->given[i] == row) return;
    if (c->given_count < GIVEN_MAX) c->given[c->given_count++] = row;
}

static double middle_column(const qb_scan_info *info) { return 0.5 * ((double)info->whole_columns - 1); }

/* Searches the axis. Where none is found and none was asked for, it is the middle column, and is moved on the page. */
static qb_status search_axis(view_recon *r, double *column) {
    cli *c = r->c;
    const qb_fbp_options *fbp = &c->options.fbp;
    const qb_center_options how = {.method = fbp->center, .search = fbp->search, .tilt = fbp->tilt};
    qb_center_result found = {.struct_size = sizeof found};
    char why[400];
    const qb_status status = qb_center_find(r->scan, &c->options.prep, &how, &c->env, &found);
    finish_progress();
    *column = found.column;
    if (status != QB_BAD_INPUT || fbp->center) return status;
    *column = middle_column(qb_scan_describe(r->scan));
    view_why(status, why, sizeof why);
    snprintf(r->note, sizeof r->note, "%s. The axis is the middle column, %g: move it on the page", why, *column);
    c->env.log(NULL, QB_LOG_WARNING, r->note);
    return QB_OK;
}

/* Finds the axis as a number, so that all pictures and the shown command use the same axis. */
static qb_status settle_axis(view_recon *r) {
    cli *c = r->c;
    const qb_scan_info *info = qb_scan_describe(r->scan);
    qb_fbp_options *fbp = &c->options.fbp;
    char column[64], *end = NULL;
    double value = fbp->center ? strtod(fbp->center, &end) : NAN;
    if (!fbp->center && info->center_holds) value = info->center;
    if (fbp->center && strcmp(fbp->center, "stated") == 0) value = info->center;
    if (fbp->center && strcmp(fbp->center, "middle") == 0) value = middle_column(info);
    if (fbp->center && end > fbp->center && !*end) return QB_OK;
    if (isnan(value) || (fbp->center && end > fbp->center)) {
        const qb_status status = search_axis(r, &value);
        if (status != QB_OK) return status;
    }
    snprintf(column, sizeof column, "%.3f", value);
    note_given(c, qb_param_find(qb_fbp_params, "center"));
    return qb_params_set(qb_fbp_params, fbp, "center", column);
}

/* Sets the offset of the detector in mm, also where only the file states it. */
static qb_status settle_offset(cli *c, qb_scan *scan) {
    const qb_scan_info *info = qb_scan_describe(scan);
    qb_geometry_options *geometry = &c->options.geometry;
    double u = 0, v = 0;
    char text[64];
    qb_status status = find_offset(c, scan, c->options.cone.center);
    if (status == QB_OK && geometry->offset)
        status = qb_detector_offset_parse(geometry->offset, info->pixel_size / (double)info->bin[0],
                                          info->pixel_v / (double)info->bin[1], &u, &v);
    else if (status == QB_OK && !isnan(info->detector_offset[0]))
        u = info->detector_offset[0], v = info->detector_offset[1];
    if (status != QB_OK || (u == 0 && v == 0)) return status;
    snprintf(text, sizeof text, "%.9g,%.9g", u, v);
    return qb_params_set(qb_geometry_params, geometry, "detector-offset", text);
}

static qb_status settle(view_recon *r) {
    cli *c = r->c;
    const char *file = r->cone ? c->options.geometry.geometry : c->options.fbp.geometry;
    r->fixed = (file && strcmp(file, "parallel") != 0) || (r->cone && qb_scan_describe(r->scan)->geometry_from);
    if (r->fixed) return QB_OK;
    return r->cone ? settle_offset(c, r->scan) : settle_axis(r);
}

/* ---- the volume ---- */

static void three(const cJSON *plan, const char *name, double out[3]) {
    for (int i = 0; i < 3; i++) {
        const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItem(plan, name), i);
        out[i] = one ? one->valuedouble : 0;
    }
}

static qb_status read_plan(view_recon *r, const char *json) {
    double n[3];
    cJSON *plan = cJSON_Parse(json);
    if (!plan) return complain(QB_NO_MEMORY, "no memory for the plan");
    three(plan, "size", n);
    three(plan, "voxel", r->grid.voxel);
    three(plan, "offset", r->grid.offset);
    for (int i = 0; i < 3; i++) r->grid.n[i] = (size_t)n[i];
    snprintf(r->kernel, sizeof r->kernel, "%s", text(plan, "kernel"));
    snprintf(r->units, sizeof r->units, "%s", text(plan, "units"));
    cJSON_Delete(plan);
    return QB_OK;
}

/* Plans the command's job on the CPU. All pictures use its grid and its kernel. */
static qb_status plan_whole(view_recon *r) {
    cli *c = r->c;
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const qb_output_options output = {.output = r->output};
    const qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    qb_geometry geometry = {0};
    qb_job *job = NULL;
    qb_status status = QB_OK;
    qb_env env = c->env;
    env.device = "cpu";
    if (r->cone) status = qb_scan_geometry(info, &c->options.geometry, &detector, &env, &geometry);
    if (status == QB_OK && r->cone)
        status = qb_fdk_plan(r->scan, &geometry, &c->options.prep, &c->options.fdk, &output, "qb view", &env, &job);
    else if (status == QB_OK)
        status = qb_fbp_plan(r->scan, &c->options.prep, &c->options.fbp, &output, "qb view", &env, &job);
    if (status == QB_OK) status = read_plan(r, qb_job_plan(job));
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    return status;
}

/* ---- the rough level ---- */

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* A draft must come soon: with few threads it uses fewer views. */
static size_t most_views(const cli *c) {
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const long threads = c->env.threads > 0 ? c->env.threads : cpus;
    return threads < FEW_THREADS ? ROUGH_VIEWS / 2 : ROUGH_VIEWS;
}

qb_status view_recon_reopen(const view_recon *r, size_t bin, const char *rows, qb_scan **scan) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const qb_env quiet = {.struct_size = sizeof quiet, .threads = r->c->env.threads, .max_ram = r->c->env.max_ram};
    qb_scan_options wanted;
    char bins[48], views[48], crop[128];
    const size_t step = bin > 1 ? info->views / most_views(r->c) : 1;
    qb_status status = qb_params_copy(qb_scan_params, &r->c->options.scan, &wanted);
    if (status != QB_OK) return status;
    snprintf(bins, sizeof bins, "%zux%zu", bin * info->bin[0], bin * info->bin[1]);
    snprintf(views, sizeof views, "0:%zu:%zu", info->stored, step);
    status = qb_params_set(qb_scan_params, &wanted, "bin", bins);
    if (status == QB_OK && step > 1 && !wanted.views) status = qb_params_set(qb_scan_params, &wanted, "views", views);
    snprintf(crop, sizeof crop, "%zu:%zu,%s", info->window[0], info->window[0] + info->columns * info->bin[0],
             rows ? rows : "");
    if (status == QB_OK && rows) status = qb_params_set(qb_scan_params, &wanted, "crop", crop);
    if (status == QB_OK) status = qb_scan_open(r->c->argument[0], &wanted, &quiet, scan);
    qb_params_clear(qb_scan_params, &wanted);
    return status;
}

static void plan_rough(view_recon *r) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const double each = (double)r->bin, unit = info->pixel_size > 0 || r->cone ? 1 : each;
    for (int i = 0; i < 3; i++) {
        const view_grid *of = &r->grid;
        const size_t n = (of->n[i] + r->bin - 1) / r->bin;
        r->rough_grid.n[i] = n;
        r->rough_grid.voxel[i] = of->voxel[i] * each / unit;
        r->rough_grid.offset[i] =
            (of->offset[i] + 0.5 * ((double)(n * r->bin) - (double)of->n[i]) * of->voxel[i]) / unit;
    }
    r->rough_scale = 1 / unit;
}

static qb_status make_rough(view_recon *r) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const size_t side = larger(larger(info->columns, info->rows), larger(r->grid.n[0], r->grid.n[1]));
    const size_t least = info->rows < info->columns ? info->rows : info->columns;
    r->bin = (side + ROUGH_SIDE - 1) / ROUGH_SIDE;
    if (r->bin > least) r->bin = larger(1, least); /* A detector of few rows cannot be binned further */
    qb_status status = r->bin > 1 ? view_recon_reopen(r, r->bin, NULL, &r->rough) : QB_OK;
    if (status != QB_OK || r->bin == 1) return status;
    plan_rough(r);
    return view_kept_open(r);
}

/* ---- opening and closing ---- */

static qb_status check_options(const view_recon *r) {
    const cli *c = r->c;
    const char *slices = r->cone ? c->options.fdk.slices : c->options.fbp.slices;
    const char *like = r->cone ? c->options.fdk.like : c->options.fbp.like;
    if (slices || like)
        return complain(QB_BAD_ARGUMENT, "--reconstruct shows the whole volume: leave --%s out",
                        slices ? "slices" : "like");
    if (c->options.output.dtype != QB_F32 || c->options.output.denoise)
        return complain(QB_BAD_ARGUMENT, "--reconstruct shows float32 values: leave --%s out",
                        c->options.output.denoise ? "denoise" : "dtype");
    return QB_OK;
}

static void init(view_recon *r, cli *c) {
    r->c = c, r->bin = 1;
    r->output = c->options.output.output ? c->options.output.output : "volume.h5";
    pthread_mutex_init(&r->lock, NULL);
    pthread_mutex_init(&r->sharp.lock, NULL);
    pthread_mutex_init(&r->one_sharp, NULL);
    pthread_mutex_init(&r->lock_checked, NULL);
    view_planes_init(&r->planes);
    view_job_init(&r->job);
}

/* Opens a running scan. The axis is the middle column until it is moved on the page. */
qb_status view_recon_open_live(cli *c, bool cone, struct view_live *live, view_recon **recon) {
    view_recon *r = calloc(1, sizeof *r);
    char middle[32];
    *recon = r;
    if (!r) return QB_NO_MEMORY;
    init(r, c);
    r->live = live;
    r->cone = cone;
    qb_status status = view_live_scan(live, &r->scan);
    if (status != QB_OK) return status;
    snprintf(middle, sizeof middle, "%.1f", 0.5 * ((double)qb_scan_describe(r->scan)->columns - 1));
    if (!c->options.fbp.center) status = qb_params_set(qb_fbp_params, &c->options.fbp, "center", middle);
    /* The first views are few and cover a small range of angles: warnings about that say nothing about the scan. */
    const qb_env env = c->env;
    c->env.log = NULL;
    if (status == QB_OK) status = plan_whole(r);
    c->env = env;
    if (status == QB_OK) status = view_device_open(r);
    return status == QB_OK && !r->cone ? view_filtered_open(r) : status;
}

qb_status view_recon_open(cli *c, bool cone, qb_scan *scan, view_recon **recon) {
    view_recon *r = calloc(1, sizeof *r);
    *recon = r;
    if (!r) {
        qb_scan_close(scan);
        return QB_NO_MEMORY;
    }
    init(r, c);
    r->cone = cone, r->scan = scan;
    qb_status status = check_options(r);
    if (status == QB_OK) status = settle(r);
    if (status == QB_OK) status = plan_whole(r);
    if (status == QB_OK) status = view_device_open(r);
    if (status == QB_OK && !view_device_computes(r)) status = make_rough(r);
    if (status == QB_OK && !r->cone && !r->kept.started) status = view_kept_open(r);
    if (status == QB_OK && !r->cone) status = view_filtered_open(r);
    return status;
}

void view_recon_close(view_recon *r) {
    if (!r) return;
    view_job_close(&r->job);
    view_planes_clear(&r->planes);
    view_device_close(r);
    view_kept_close(r);
    view_filtered_close(r);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->sharp.lock);
    pthread_mutex_destroy(&r->one_sharp);
    pthread_mutex_destroy(&r->lock_checked);
    qb_scan_close(r->rough);
    qb_scan_close(r->scan);
    free(r->about);
    free(r);
}
