/* SPDX-License-Identifier: MIT */
/* --hardening two. Before the main run, the same job reconstructs a coarse draft of the volume, corrected as if
 * everything were the light material. The dense voxels of the draft are then projected along the scan's rays. This
 * gives the length of each ray in the dense material (prep/dense.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/parallel.h"
#include "io/scan/scan.h"
#include "recon/draft_segments.h"
#include "recon/reconstruction.h"
#include "recon/reconstruction_parts.h"

typedef struct draft {
    const qb__reconstruction *r;
    qb__planner *planner;
    qb_env env;
    qb_prep_options prep;
    void *options;
    qb_output_options output;
    size_t bin;
    qb_grid grid;
    float *volume; /* [z][y][x] 1/mm */
    qb__segments segments;
} draft;

/* Number of pixels per draft voxel along each axis. Voxels of two pixels take an eighth of the time, and paths change
 * slowly within them. Small scans take one pixel, because they are fast anyway. */
static size_t bin_of(size_t columns) {
    enum { FINE = 256, MOST = 512 };
    size_t bin = columns < FINE ? 1 : 2;
    while (columns / bin > MOST) bin *= 2;
    return bin;
}

/* True if the draft keeps the detector rows: slices are rows, which are read one by one, or the geometry is a stack of
 * fans. */
static bool by_rows(const qb__reconstruction *r) {
    const qb_geometry *g = r->decision.turn.geometry;
    return !g || g->apart || g->rows == 1;
}

static double axis_of(const qb__reconstruction *r) {
    const qb__decision *d = &r->decision;
    return d->axis && (d->axis_stated || d->axis_found) ? *d->axis : NAN;
}

qb_status qb__draft_check(const qb__reconstruction *r) {
    const qb__decision *d = &r->decision;
    if (!r->dense || d->turn.geometry || d->begin_seconds > 0 || !isnan(axis_of(r))) return QB_OK;
    return qb__fail(QB_UNSUPPORTED, "--hardening two: of parallel rays takes --center, but no --tilt or geometry file");
}

/* ---- options ---- */

static bool is_of_grid(const char *name) {
    static const char *const names[] = {"size",    "voxel", "offset", "like",      "region", "hu",     "resume",
                                        "outside", "start", "prox",   "reference", "circle", "voxels", "grid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static qb_status set(const draft *d, const char *name, const char *value) {
    const qb_param *row = qb_param_find(d->r->method->params, name);
    return row ? qb_param_set(row, d->options, value) : QB_OK;
}

/* The options of the main job, except that the draft covers the whole volume. */
static qb_status take_options(draft *d) {
    const qb__reconstruction *r = d->r;
    char text[4096], base[QB__TWO_TEXT];
    QB__OR_RETURN(qb__alloc(1, qb_params_size(r->method->params), &d->options));
    QB__OR_RETURN((qb_params_init)(r->method->params, d->options, qb_params_size(r->method->params)));
    for (const qb_param *row = r->method->params; row->name; row++) {
        const bool whole = strcmp(row->name, "slices") == 0 && !by_rows(r);
        if (whole || is_of_grid(row->name) || !qb_param_get(row, r->options, text, sizeof text)) continue;
        QB__OR_RETURN(qb_param_set(row, d->options, text));
    }
    QB__OR_RETURN(set(d, "outside", "zero"));
    if (!r->decision.turn.geometry) {
        qb__print(text, sizeof text, "%.12g", qb__column_whole(r->task.info, axis_of(r)));
        QB__OR_RETURN(set(d, "center", text));
    }
    QB__OR_RETURN(qb_params_copy(qb_prep_params, &r->prep, &d->prep));
    QB__OR_RETURN(qb__two_base(r->prep.hardening, base));
    return qb_params_set(qb_prep_params, &d->prep, "hardening", base);
}

/* Set the options for the same volume in larger voxels. fine: the method's default grid. */
static qb_status make_coarse(draft *d, const qb_grid *fine) {
    const qb_param *row = qb_param_find(d->r->method->params, "voxel");
    char text[128];
    const size_t each[3] = {d->bin, d->bin, by_rows(d->r) ? 1 : d->bin};
    size_t n[3];
    double voxel[3];
    for (int i = 0; i < 3; i++) n[i] = qb__ceil_div(fine->n[i], each[i]), voxel[i] = (double)each[i] * fine->voxel[i];
    if (d->bin == 1) return QB_OK;
    qb__print(text, sizeof text, each[2] == 1 ? "%zu,%zu" : "%zu,%zu,%zu", n[0], n[1], n[2]);
    qb_status status = set(d, "size", text);
    const bool one = !row || row->type != QB_PARAM_NUMBERS;
    qb__print(text, sizeof text, one ? "%.12g" : "%.12g,%.12g,%.12g", voxel[0], voxel[1], voxel[2]);
    return status == QB_OK ? set(d, "voxel", text) : status;
}

/* ---- the run ---- */

static qb_status keep(void *user, const qb_slab *slab) {
    draft *d = user;
    const size_t slice = slab->shape[1] * slab->shape[2];
    memcpy(d->volume + slab->first * slice, slab->data, slab->count * slice * sizeof *d->volume);
    return QB_OK;
}

static qb_status plan(draft *d, qb_job **job) {
    const qb__reconstruction *r = d->r;
    const qb__request request = {.scan = (qb_scan *)r->job.scan,
                                 .input = r->input,
                                 .more = r->task.more,
                                 .read = r->job.inputs.also[1],
                                 .prep = &d->prep,
                                 .options = d->options,
                                 .output = &d->output,
                                 .silent = true};
    const qb_status status = d->planner(r->method, &request, &d->env, job);
    if (status == QB_OK) d->grid = ((qb__reconstruction *)*job)->decision.subject.grid;
    return status;
}

static qb_status run_draft(draft *d) {
    qb_job *job = NULL;
    qb_status status;
    QB__TRY(plan(d, &job));
    const qb_grid fine = d->grid;
    QB__TRY(make_coarse(d, &fine));
    qb_job_destroy(job);
    QB__TRY(plan(d, &job));
    QB__TRY(qb__alloc(d->grid.n[0] * d->grid.n[1], d->grid.n[2] * sizeof *d->volume, &d->volume));
    QB__TRY(qb_job_run(job, &d->env, NULL));
out:
    qb_job_destroy(job);
    return status;
}

/* ---- paths ---- */

/* The scan's rays, on a detector with pixels as large as the draft's voxels. The caller destroys *g. */
static qb_status coarse_rays(const draft *d, const qb__dense_paths *p, qb_geometry *g) {
    const qb__reconstruction *r = d->r;
    const qb_geometry *given = r->decision.turn.geometry;
    const qb_scan_info *info = r->task.info;
    const size_t views = given ? given->views : info->views;
    const double wide = (double)p->bin[0], high = (double)p->bin[1];
    qb_status status;
    if (!given) {
        status = qb_geometry_parallel(views, info->angles, p->rows, p->columns, wide * info->pixel_size,
                                      (axis_of(r) - 0.5 * (wide - 1)) / wide, g);
        if (status == QB_OK) qb__parallel_set_rows(g, info->pixel_v * (double)p->step);
        return status;
    }
    *g = (qb_geometry){.beam = given->beam,
                       .views = views,
                       .rows = p->rows,
                       .columns = p->columns,
                       .radius = given->radius,
                       .apart = given->apart};
    status = qb__alloc(views, sizeof *g->view, &g->view);
    for (size_t v = 0; status == QB_OK && v < views; v++) {
        const qb_view *from = &given->view[v];
        g->view[v] = *from;
        for (int k = 0; k < 3; k++) {
            g->view[v].detector[k] += 0.5 * (wide - 1) * from->u[k] + 0.5 * (high - 1) * from->v[k];
            g->view[v].u[k] *= wide, g->view[v].v[k] *= high;
        }
    }
    return status;
}

/* Store the path lengths of a view as integers: 65535 is the longest path of the view, and *scale is the length of one
 * unit. */
static void pack(const float *length, size_t count, uint16_t *path, float *scale) {
    float most = 0;
    for (size_t i = 0; i < count; i++) most = fmaxf(most, length[i]);
    *scale = most / UINT16_MAX;
    for (size_t i = 0; most > 0 && i < count; i++)
        path[i] = (uint16_t)lrintf(fmaxf(length[i], 0) / most * (float)UINT16_MAX);
}

static qb_status pack_all(const draft *d, qb_projector *projector, size_t views, qb__dense_paths *p) {
    enum { BLOCK_BYTES = 16 << 20 };
    const size_t image = p->rows * p->columns,
                 block = qb__smaller(views, qb__larger(16, BLOCK_BYTES / (image * sizeof(float))));
    float *lengths = NULL;
    qb_status status;
    QB__TRY(qb__alloc(views, image * sizeof *p->path, &p->path));
    QB__TRY(qb__alloc(views, sizeof *p->scale, &p->scale));
    QB__TRY(qb__alloc(block, image * sizeof *lengths, &lengths));
    for (size_t v = 0; v < views; v += block) {
        const size_t end = qb__smaller(v + block, views);
        qb__progress(d->r->running.env, "paths in the dense material", v, views);
        QB__TRY(qb_projector_forward(projector, d->volume, v, end, &d->env, lengths));
        for (size_t i = v; i < end; i++) pack(lengths + (i - v) * image, image, p->path + i * image, &p->scale[i]);
    }
out:
    qb__free(lengths);
    return status;
}

static qb_status find_paths(draft *d, qb__dense_paths *p) {
    qb_geometry rays = {0};
    qb_grid grid = d->grid;
    qb_projector *projector = NULL;
    qb_status status;
    QB__TRY(coarse_rays(d, p, &rays));
    /* slices are detector rows here: both are centred at z = 0 */
    if (!d->r->decision.turn.geometry) grid.offset[2] = 0;
    d->segments = (qb__segments){.dense = d->r->dense, .paths = p, .rays = &rays, .grid = &grid};
    QB__TRY(qb__segments_find(&d->segments, d->volume, &d->env));
    if (d->segments.share == 0) goto out;
    QB__TRY(qb_projector_create(&rays, &grid, NULL, &d->env, &projector));
    status = pack_all(d, projector, rays.views, p);
out:
    qb_projector_destroy(projector);
    qb_geometry_destroy(&rays);
    return status;
}

static void tell(const draft *d, const qb_env *env) {
    const double MUCH = 0.5, above = qb__dense_materials(d->r->dense)->above;
    if (d->segments.share == 0)
        qb__warn(env,
                 "--hardening two: no voxel of the draft lies above %.4g/mm: one material is corrected; check its two, "
                 "or give above:MU" QB__CODE("no-dense-part"),
                 above);
    else if (d->segments.share > MUCH)
        qb__warn(env,
                 "--hardening two: %.3g %% of the draft's voxels lie above %.4g/mm, as the dense material: give a "
                 "higher above:MU, or check --quantity" QB__CODE("no-dense-part"),
                 100 * d->segments.share, above);
    else
        qb__info(
            env,
            "--hardening two: %.3g %% of the draft's voxels lie above %.4g/mm; they hold %.3g times as much of the "
            "dense material as it shows (%s, misfit %.2g %%)",
            100 * d->segments.share, above, d->segments.scale, d->segments.even ? "even" : "by value",
            100 * d->segments.misfit);
}

static void report(const draft *d, cJSON *json) {
    cJSON *entry = cJSON_AddObjectToObject(json, "two_materials");
    const qb__segments *s = &d->segments;
    cJSON_AddNumberToObject(entry, "above", qb__dense_materials(d->r->dense)->above);
    cJSON_AddNumberToObject(entry, "dense_share", s->share);
    if (s->share == 0) return;
    cJSON_AddNumberToObject(entry, "scale", s->scale);
    cJSON_AddBoolToObject(entry, "even", s->even);
    cJSON_AddNumberToObject(entry, "misfit", s->misfit);
}

/* Bytes of the paths, which stay in memory, and of the draft and its dense voxels, which exist while paths are
 * computed. */
size_t qb__draft_bytes(const qb__reconstruction *r) {
    const qb_scan_info *info = r->task.info;
    if (!r->dense) return 0;
    const size_t bin = bin_of(info->columns), high = by_rows(r) ? 1 : bin, *shape = r->decision.stack.shape;
    const size_t rows = r->decision.turn.geometry ? qb__ceil_div(info->rows, high) : shape[0];
    return info->views * rows * qb__ceil_div(info->columns, bin) * sizeof(uint16_t) +
           2 * qb__ceil_div(shape[0], high) * qb__ceil_div(shape[1], bin) * qb__ceil_div(shape[2], bin) * sizeof(float);
}

/* Forecast seconds of the draft, if the main run takes `seconds`. */
double qb__draft_seconds(const qb__reconstruction *r, double seconds) {
    return !r->dense ? 0 : bin_of(r->task.info->columns) > 1 ? 0.8 * seconds : 2 * seconds;
}

qb_status qb__draft_run(qb__reconstruction *r, qb__planner *planner, const qb_env *env) {
    const qb_scan_info *info = r->task.info;
    if (!r->dense) return QB_OK;
    draft d = {.r = r, .planner = planner, .env = *env, .bin = bin_of(info->columns)};
    qb__dense_paths p = {.bin = {d.bin, by_rows(r) ? 1 : d.bin}, .row0 = r->decision.row0, .step = 1};
    qb_status status = qb__draft_check(r);
    if (status != QB_OK) return status;
    d.env.ranks = NULL;
    d.env.log = NULL; /* the main run prints all messages */
    d.env.writes = NULL;
    d.output = (qb_output_options){.output = "/dev/null", .dtype = QB_F32, .slab = keep, .slab_user = &d};
    QB__TRY(take_options(&d));
    QB__TRY(run_draft(&d));
    p.columns = qb__ceil_div(info->columns, p.bin[0]);
    p.rows = qb__ceil_div(info->rows, p.bin[1]);
    if (r->decision.turn.geometry)
        p.row0 = 0;
    else
        p.rows = d.grid.n[2], p.step = qb__larger(1, r->decision.row_step);
    QB__TRY(find_paths(&d, &p));
    tell(&d, env);
    report(&d, r->job.report);
    if (p.path) qb__dense_give(r->dense, &p);
    p = (qb__dense_paths){0};
out:
    QB__FREE(p.path, p.scale);
    if (d.options) qb_params_clear(r->method->params, d.options);
    qb__free(d.options);
    qb_params_clear(qb_prep_params, &d.prep);
    qb__free(d.volume);
    return status;
}
