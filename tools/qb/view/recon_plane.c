/* SPDX-License-Identifier: MIT */
/* Computes one plane of the volume, as a job of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "recon.h"
#include "recon/plane.h"

/* What one job makes: the voxels first to first + n - 1 of the grid, along x, y, z. */
typedef struct part {
    view_recon *r;
    const view_grid *grid;
    size_t first[3], n[3];
    qb_scan *scan;       /* scan that the job reads */
    const qb_scan *real; /* the same scan as it lies in the file */
    bool kept;           /* `scan` holds line integrals in memory */
    const view_changes *changes;
    bool whole;
    const qb_tool_plane *plane; /* plane through that volume; NULL: the job makes the volume itself */
} part;

static const view_grid *grid_of(const view_recon *r, view_level level) {
    return level == VIEW_WHOLE ? &r->grid : &r->rough_grid;
}

void view_recon_shape(const view_recon *r, view_level level, size_t axis, size_t shape[2]) {
    const size_t *n = grid_of(r, level)->n;
    shape[0] = axis == 0 ? n[1] : n[2];
    shape[1] = axis == 2 ? n[1] : n[0];
}

static void set(qb_numbers *numbers, int count, const double *values) {
    numbers->count = count;
    for (int i = 0; i < count; i++) numbers->value[i] = values[i];
}

static view_level level_of(const part *p) { return p->whole ? VIEW_WHOLE : VIEW_ROUGH; }

/* Position of the middle of a part along an axis, in mm. */
static double middle_of(const part *p, int i) {
    const double shift = (double)p->first[i] + 0.5 * ((double)p->n[i] - 1) - 0.5 * ((double)p->grid->n[i] - 1);
    return shift * p->grid->voxel[i] + p->grid->offset[i];
}

static void set_grid(const part *p, int count, qb_numbers *size, qb_numbers *offset) {
    double n[3], middle[3];
    for (int i = 0; i < 3; i++) n[i] = (double)p->n[i], middle[i] = middle_of(p, i);
    set(size, count, n);
    set(offset, count, middle);
}

/* Keeps the size of the volume as it was planned: with an axis off the middle, the default size depends on the axis. */
static void set_whole(const part *p, qb_numbers *size) {
    const size_t *n = p->grid->n;
    set(size, 3, (const double[3]){(double)n[0], (double)n[1], (double)n[2]});
}

void view_recon_set_grid(const view_recon *r, view_level level, qb_fbp_options *fbp) {
    const part p = {.grid = grid_of(r, level), .n = {grid_of(r, level)->n[0], grid_of(r, level)->n[1], 1}};
    if (level == VIEW_WHOLE) {
        set_whole(&p, &fbp->size);
        return;
    }
    set_grid(&p, 2, &fbp->size, &fbp->offset);
    if (qb_scan_describe(r->rough)->pixel_size > 0) fbp->voxel = p.grid->voxel[0];
}

/* ---- parallel beams: slices are detector rows ---- */

/* Row of the rough scan in which a slice of the whole grid lies. */
static size_t row_of(const view_recon *r, size_t z) {
    const qb_scan_info *info = qb_scan_describe(r->scan), *rough = qb_scan_describe(r->rough);
    const double pixel = info->pixel_size > 0 ? info->pixel_v : 1, up = (double)z - 0.5 * ((double)r->grid.n[2] - 1);
    const double row = (up * r->grid.voxel[2] + r->grid.offset[2]) / pixel + 0.5 * ((double)info->rows - 1);
    const double at = floor((row + 0.5) / (double)r->bin), last = (double)rough->rows - 1;
    return (size_t)(at < 0 ? 0 : at > last ? last : at);
}

qb_status view_recon_aim(const qb_scan *real, qb_fbp_options *fbp) {
    const qb_scan_info *info = qb_scan_describe(real);
    char column[48], *end;
    if (!fbp->center) return QB_OK;
    const double whole = strtod(fbp->center, &end), each = (double)info->bin[0];
    snprintf(column, sizeof column, "%.9g", (whole - (double)info->window[0] + 0.5) / each - 0.5);
    return qb_params_set(qb_fbp_params, fbp, "center", column);
}

static qb_status run_fbp(const part *p, view_options_of *made, const qb_output_options *output, const qb_env *env) {
    qb_job *job = NULL;
    char slices[64], region[128];
    qb_fbp_options *fbp = &made->fbp;
    if (p->whole) set_whole(p, &fbp->size);
    if (!p->whole) set_grid(p, 2, &fbp->size, &fbp->offset);
    if (!p->whole && qb_scan_describe(p->real)->pixel_size > 0) fbp->voxel = p->grid->voxel[0];
    snprintf(region, sizeof region, "%zu:%zu,%zu:%zu", p->first[0], p->first[0] + p->n[0], p->first[1],
             p->first[1] + p->n[1]);
    snprintf(slices, sizeof slices, "%zu:%zu", p->first[2], p->first[2] + p->n[2]);
    qb_status status = qb_params_set(qb_fbp_params, fbp, "slices", slices);
    if (status == QB_OK && p->whole) status = qb_params_set(qb_fbp_params, fbp, "kernel", p->r->kernel);
    if (status == QB_OK && p->whole) status = qb_params_set(qb_fbp_params, fbp, "region", region);
    if (status == QB_OK && p->kept) status = view_recon_aim(p->real, fbp);
    if (status == QB_OK) status = qb_fbp_plan(p->scan, p->kept ? NULL : &made->prep, fbp, output, "qb view", env, &job);
    if (status == QB_OK) status = view_filtered_run(p->r, level_of(p), p->changes, p->kept, p->n[2] > 1, job, env);
    qb_job_destroy(job);
    return status;
}

/* ---- cones ---- */

static qb_status run_volume(const part *p, const qb_geometry *geometry, view_options_of *made,
                            const qb_output_options *output, const qb_env *env) {
    const qb_prep_options *prep = p->kept ? NULL : &made->prep;
    char region[192];
    qb_job *job = NULL;
    qb_status status = QB_OK;
    snprintf(region, sizeof region, "%zu:%zu,%zu:%zu,%zu:%zu", p->first[0], p->first[0] + p->n[0], p->first[1],
             p->first[1] + p->n[1], p->first[2], p->first[2] + p->n[2]);
    if (p->whole) status = qb_params_set(qb_fdk_params, &made->fdk, "kernel", p->r->kernel);
    if (status == QB_OK && p->whole) status = qb_params_set(qb_fdk_params, &made->fdk, "region", region);
    if (status == QB_OK) status = qb_fdk_plan(p->scan, geometry, prep, &made->fdk, output, "qb view", env, &job);
    if (status == QB_OK) status = view_filtered_run(p->r, level_of(p), p->changes, p->kept, false, job, env);
    qb_job_destroy(job);
    return status;
}

static qb_status run_fdk(const part *p, view_options_of *made, const qb_output_options *output, const qb_env *env) {
    const qb_scan_info *info = qb_scan_describe(p->real);
    const qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    qb_geometry geometry = {0};
    if (p->whole) {
        set_whole(p, &made->fdk.size);
    } else {
        set_grid(p, 3, &made->fdk.size, &made->fdk.offset);
        set(&made->fdk.voxels, 3, p->grid->voxel);
        made->fdk.voxel = 0;
    }
    qb_status status = qb_scan_geometry(info, &made->geometry, &detector, env, &geometry);
    if (status == QB_OK && p->plane)
        status = qb_tool_fdk_plane(p->scan, &geometry, p->kept ? NULL : &made->prep, &made->fdk, p->plane, env,
                                   output->array->data);
    else if (status == QB_OK)
        status = run_volume(p, &geometry, made, output, env);
    qb_geometry_destroy(&geometry);
    return status;
}

/* ---- all beams ---- */

static void note_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    view_progress *p = user;
    (void)what;
    pthread_mutex_lock(&p->lock);
    snprintf(p->what, sizeof p->what, "computing a slice");
    p->share = total ? (double)done / (double)total : 0;
    pthread_mutex_unlock(&p->lock);
}

static qb_status run(view_recon *r, const part *p, const view_changes *changes, const volatile sig_atomic_t *gone,
                     float *out) {
    const qb_tensor array = qb_tensor_f32(out, p->n[2], p->n[1], p->n[0]);
    const qb_output_options output = {.array = &array, .clip = r->c->options.output.clip};
    const qb_env env = {.struct_size = sizeof env,
                        .threads = r->c->env.threads,
                        .max_ram = r->c->env.max_ram,
                        .device = "cpu",
                        .progress = p->whole ? note_progress : NULL,
                        .user = &r->sharp,
                        .cancel = gone};
    view_options_of made;
    qb_status status = view_options_make(r->c, r->cone, changes, &made);
    if (status != QB_OK) return status;
    status = r->cone ? run_fdk(p, &made, &output, &env) : run_fbp(p, &made, &output, &env);
    view_options_clear(&made);
    return status;
}

/* Copies rows to the slices of the rough grid: slices and rows lie at the same places only where both begin
 * together. */
static void spread_rows(const view_recon *r, const float *rows, size_t points, float *out) {
    for (size_t k = 0; k < r->rough_grid.n[2]; k++) {
        const size_t middle = k * r->bin + (r->bin - 1) / 2, last = r->grid.n[2] - 1;
        memcpy(out + k * points, rows + row_of(r, middle < last ? middle : last) * points, points * sizeof *out);
    }
}

static qb_status rough_plane(view_recon *r, part *p, const view_changes *changes, size_t axis, size_t index,
                             const volatile sig_atomic_t *gone, float *out) {
    const size_t rows = qb_scan_describe(r->rough)->rows, points = axis == 2 ? p->n[1] : p->n[0];
    float *made = NULL;
    qb_status status;
    if (!r->cone) {
        p->first[2] = axis == 0 ? row_of(r, index) : 0;
        p->n[2] = axis == 0 ? 1 : rows;
        if (axis && !(made = malloc(rows * points * sizeof *made))) return QB_NO_MEMORY;
    }
    status = run(r, p, changes, gone, made ? made : out);
    if (status == QB_OK && made) spread_rows(r, made, points, out);
    free(made);
    const size_t count = p->n[0] * p->n[1] * (made ? r->rough_grid.n[2] : p->n[2]);
    for (size_t i = 0; status == QB_OK && i < count; i++) out[i] *= (float)r->rough_scale;
    return status;
}

/* Computes a plane from the views that have come so far, which are line integrals in memory. */
static qb_status live_plane(view_recon *r, part *p, const view_changes *changes, const volatile sig_atomic_t *gone,
                            float *out) {
    view_taken *taken;
    qb_status status = view_live_take(r->live, &taken);
    if (status != QB_OK) return status;
    p->real = p->scan = taken->scan;
    p->kept = true;
    status = run(r, p, changes, gone, out);
    view_live_give(taken);
    return status;
}

qb_status view_recon_plane(view_recon *r, const view_changes *changes, view_level level, size_t axis, size_t index,
                           const volatile sig_atomic_t *gone, float *out) {
    const int across = axis == 0 ? 2 : axis == 1 ? 1 : 0;
    part p = {.r = r, .grid = grid_of(r, level), .whole = level == VIEW_WHOLE, .changes = changes};
    if (axis == 0 && view_changes_ask_tv(changes)) return view_recon_tv(r, changes, level, index, gone, out);
    qb_status status = p.whole ? view_device_plane(r, changes, axis, index, out) : QB_UNSUPPORTED;
    if (status != QB_UNSUPPORTED && status != QB_NO_MEMORY) return status;
    for (int i = 0; i < 3; i++) p.n[i] = p.grid->n[i];
    p.n[across] = 1;
    p.first[across] = p.whole ? index : index / r->bin;
    if (r->live) return live_plane(r, &p, changes, gone, out);
    p.real = p.whole ? r->scan : r->rough;
    p.scan = p.whole ? r->scan : view_kept_take(r, changes);
    p.kept = !p.whole && p.scan;
    if (!p.scan) p.scan = r->rough;
    status = p.whole ? run(r, &p, changes, gone, out) : rough_plane(r, &p, changes, axis, index, gone, out);
    if (p.kept) view_kept_release(r);
    return status;
}

qb_status view_recon_cone(view_recon *r, const view_changes *changes, const qb_tool_plane *plane, float *out) {
    part p = {.r = r, .grid = grid_of(r, r->rough ? VIEW_ROUGH : VIEW_WHOLE), .whole = !r->rough, .plane = plane};
    memcpy(p.n, p.grid->n, sizeof p.n);
    if (r->live) return live_plane(r, &p, changes, plane->gone, out);
    p.real = r->rough ? r->rough : r->scan;
    p.scan = r->rough ? view_kept_take(r, changes) : r->scan;
    p.kept = r->rough && p.scan;
    if (!p.scan) p.scan = r->rough;
    const qb_status status = run(r, &p, changes, plane->gone, out);
    if (p.kept) view_kept_release(r);
    return status;
}
