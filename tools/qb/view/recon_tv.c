/* SPDX-License-Identifier: MIT */
/* A slice of a parallel beam by qb tv, from the detector row in which the slice lies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recon.h"

static void note_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    view_progress *p = user;
    (void)what;
    pthread_mutex_lock(&p->lock);
    snprintf(p->what, sizeof p->what, "computing a slice by tv");
    p->share = total ? (double)done / (double)total : 0;
    pthread_mutex_unlock(&p->lock);
}

/* Opens the detector row of one slice, as wide as the scan of the volume. */
static qb_status open_row(view_recon *r, size_t bin, size_t index, qb_scan **scan) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const double pixel = info->pixel_size > 0 ? info->pixel_v : 1,
                 up = (double)index - 0.5 * ((double)r->grid.n[2] - 1);
    const double row = round((up * r->grid.voxel[2] + r->grid.offset[2]) / pixel + 0.5 * ((double)info->rows - 1));
    const size_t at = row < 0 ? 0 : (size_t)row < info->rows ? (size_t)row : info->rows - 1;
    const size_t high = bin < info->rows ? bin : info->rows, last = info->rows - high;
    const size_t first = at / bin * bin < last ? at / bin * bin : last, each = info->bin[1];
    char rows[64];
    snprintf(rows, sizeof rows, "%zu:%zu", info->window[1] + first * each, info->window[1] + (first + high) * each);
    return view_recon_reopen(r, bin, rows, scan);
}

static void take_grid(const view_recon *r, view_level level, qb_iterative_options *tv) {
    const view_grid *g = level == VIEW_WHOLE ? &r->grid : &r->rough_grid;
    tv->size = (qb_numbers){.count = 3, .value = {(double)g->n[0], (double)g->n[1], 1}};
    tv->offset = (qb_numbers){.count = 3, .value = {g->offset[0], g->offset[1], 0}};
    if (qb_scan_describe(r->scan)->pixel_size > 0) tv->voxel = g->voxel[0];
    if (level == VIEW_WHOLE) return;
    tv->gap = 1e-2; /* A draft may stop early */
    tv->iterations = 100;
}

qb_status view_recon_tv(view_recon *r, const view_changes *changes, view_level level, size_t index,
                        const volatile sig_atomic_t *gone, float *out) {
    const view_grid *g = level == VIEW_WHOLE ? &r->grid : &r->rough_grid;
    const qb_tensor array = qb_tensor_f32(out, 1, g->n[1], g->n[0]);
    const qb_output_options output = {.array = &array, .clip = r->c->options.output.clip};
    const qb_env env = {.struct_size = sizeof env,
                        .threads = r->c->env.threads,
                        .max_ram = r->c->env.max_ram,
                        .device = "cpu",
                        .progress = note_progress,
                        .user = &r->sharp,
                        .cancel = gone};
    view_options_of made;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    if (r->live || r->fixed) return complain(QB_BAD_ARGUMENT, "tv is for scans that are over, without a geometry file");
    qb_status status = view_options_make(r->c, false, changes, &made);
    if (status != QB_OK) return status;
    if (made.fbp.tilt != 0) status = complain(QB_BAD_ARGUMENT, "qb tv has no --tilt: set the tilt to 0, or tv to none");
    if (status == QB_OK && made.prep.paganin && strcmp(made.prep.paganin, "none") != 0)
        status = complain(QB_BAD_ARGUMENT,
                          "a slice by tv is of one row, and --paganin needs its neighbours: set one to none");
    take_grid(r, level, &made.tv);
    if (status == QB_OK) status = open_row(r, level == VIEW_WHOLE ? 1 : r->bin, index, &scan);
    if (status == QB_OK) status = qb_tv_plan(scan, NULL, &made.prep, &made.tv, &output, "qb view", &env, &job);
    if (status == QB_OK) status = qb_job_run(job, &env, NULL);
    for (size_t i = 0; status == QB_OK && level != VIEW_WHOLE && i < g->n[0] * g->n[1]; i++)
        out[i] *= (float)r->rough_scale;
    qb_job_destroy(job);
    qb_scan_close(scan);
    view_options_clear(&made);
    return status;
}
