/* SPDX-License-Identifier: MIT */
/* The plan of a model-based reconstruction: axis, grid, prior, weights, start, kernel. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "center/center.h"
#include "geometry/check.h"
#include "geometry/grid.h"
#include "geometry/parallel.h"
#include "io/scan/scan.h"
#include "planner/choose.h"
#include "recon/mbir/mbir.h"
#include "recon/mbir/mbir_coarse.h"

static qb_status check_scan(const qb__mbir *m) {
    const qb_scan_info *info = m->info;
    if (m->rays) return QB_OK;
    if (info->beam == QB_BEAM_CONE)
        return qb__fail(QB_BAD_INPUT,
                        "%s states that its beam is a cone: give its geometry, -g FILE or --sod and --sdd", info->path);
    if (!info->angles) return qb__scan_lacks_angles(info);
    return QB_OK;
}

/* ---- the axis ---- */

static qb_status decide_center(qb__mbir *m, const qb_env *env) {
    if (m->rays) return QB_OK; /* the geometry of a fan states the axis */
    qb__center_report(m->options->center, m->info, env);
    if (!m->looked) return qb__center_asked(m->options->center, m->info, &m->center);
    m->center = m->found;
    return QB_OK;
}

qb_status qb__mbir_begin(void *plan, const qb_env *env, cJSON *report, bool *anew) {
    qb__mbir *m = plan;
    if (!isnan(m->center)) return QB_OK;
    const qb_center_options options = {.method = m->options->center};
    qb_status status = qb__center_seek(m->scan, m->prep, &options, env, report, &m->found);
    if (status != QB_OK) return status;
    *anew = m->looked = true;
    return QB_OK;
}

/* ---- the grid ---- */

static qb_status parallel_grid(qb__mbir *m, const qb_env *env) {
    const qb_scan_info *info = m->info;
    const qb_mbir_options *options = m->options;
    const bool known = info->pixel_size > 0;
    const double pixel = known ? info->pixel_size : 1;
    if (!known && options->hu > 0) return qb__fail(QB_BAD_ARGUMENT, "--hu needs the pixel size: give --pixel-size MM");
    qb__scan_warn_pixel(info, env);
    qb__half_fan fan;
    qb_status status = qb__half_fan_of_views(info->views, info->angles, info->columns, m->center, m->center, &fan);
    if (status != QB_OK) return status;
    m->grid = (qb_grid){.n = {qb__half_fan_width(&fan), qb__half_fan_width(&fan), info->rows},
                        .voxel = {pixel, pixel, known ? info->pixel_v : 1}};
    if (fan.used && !options->size.count && !(options->voxel > 0)) {
        char text[160];
        qb__half_fan_report(&fan, m->center, text, sizeof text);
        qb__info(env, "%s", text);
    }
    return QB_OK;
}

/* Decide where ranks divide the slices: anywhere if each rank can read its neighbours' slices, else between whole
 * groups. */
static qb_status share_slices(qb__mbir *m, qb__comm *comm, qb__decision *decision) {
    const size_t slices = m->grid.n[2], ranks = (size_t)qb__comm_count(comm);
    const bool joined = ranks > 1 && slices > 1 && m->settings.prior.interslice > 0;
    decision->grain = m->grain = joined ? 1 : QB__ICD_LANES;
    if (!joined) return QB_OK;
    decision->together =
        slices < ranks
            ? "there are fewer slices, and neighbours share a prior: --neighbours 1,0.7071,0 takes each by itself"
            : NULL;
    if (decision->together) return QB_OK;
    m->settings.halo = &m->halo;
    return qb__icd_halo_create(comm, slices, &m->halo);
}

size_t qb__mbir_all(const qb__mbir *m) { return m->settings.halo ? m->halo.tallest : m->grid.n[2]; }

static qb_status decide_grid(qb__mbir *m, const qb_env *env, cJSON *json, qb__decision *decision) {
    const qb_mbir_options *options = m->options;
    const bool known = m->rays || m->info->pixel_size > 0;
    qb_grid *grid = &m->grid;
    qb_status status = m->rays ? qb__mbir_fan_grid(m, env) : parallel_grid(m, env);
    if (status != QB_OK) return status;
    m->pixel = grid->voxel[0];
    const double thick = grid->voxel[2];
    if (options->size.count > 0)
        for (int j = 0; j < 2; j++) grid->n[j] = (size_t)options->size.value[options->size.count > 1 ? j : 0];
    if (options->voxel > 0) status = qb__voxel_check(options->voxel, grid->voxel[0]);
    if (status != QB_OK) return status;
    if (options->voxel > 0) grid->voxel[0] = grid->voxel[1] = options->voxel;
    status = qb_grid_slices(options->slices, grid, &m->first_row);
    if (status != QB_OK) return status;
    if (fabs(grid->voxel[2] - thick) > 1e-9 * thick)
        return qb__fail(QB_BAD_ARGUMENT, "--slices %s: neighbours count here, so slices must be adjacent: give A:B",
                        options->slices);
    m->settings.radius =
        options->roi > 0 ? options->roi / grid->voxel[0] : (double)qb__larger(grid->n[0], grid->n[1]) / 2;
    if (options->size.count > 2 && options->size.value[2] != (double)grid->n[2])
        return qb__fail(QB_BAD_ARGUMENT, "--size takes NX,NY here: slices are detector rows, --slices A:B");
    if (m->rays) status = qb__mbir_fan_rows(m, env, json, &m->geometry);
    if (status == QB_OK) status = share_slices(m, qb__comm_of(env), decision);
    if (status != QB_OK) return status;
    decision->hu = options->hu;
    decision->keep_lost = true;
    decision->row0 = m->first_row;
    decision->row1 = m->first_row + grid->n[2];
    decision->subject.grid = *grid;
    decision->subject.units = qb__volume_units(options->hu, known);
    decision->stack = (qb_stack){.shape = {grid->n[2], grid->n[1], grid->n[0]},
                                 .units = decision->subject.units,
                                 .quantity = options->hu > 0 ? "Hounsfield" : "attenuation",
                                 .first = m->first_row,
                                 .description = "quickbeam, model-based"};
    for (int j = 0; known && j < 3; j++) {
        decision->stack.voxel[j] = grid->voxel[j];
        decision->stack.offset[j] = grid->offset[j];
    }
    return QB_OK;
}

/* ---- start ---- */

static qb_status decide_start(qb__mbir *m, const qb_env *env, qb__decision *decision) {
    const char *text = m->options->start;
    const size_t views = m->info->views;
    qb__angle_report report;
    qb_status status = QB_OK;
    const bool fan = m->rays != NULL;
    if (!fan) {
        QB__TRY(qb__alloc(views, sizeof *m->theta, &m->theta));
        QB__TRY(qb__angle_weights(views, m->info->angles, m->theta, &report));
        qb__warn_limited(report.coverage, 180, env);
        qb__print(decision->angles, sizeof decision->angles, "%s", report.text);
    }
    if (fan) qb__warn_geometry(m->rays, env);
    if (m->options->start_array) return QB_OK;
    if (strcmp(text, "fbp") == 0 && fan) return qb__mbir_fan_filter(m, env);
    if (strcmp(text, "fbp") == 0) return qb__filter_create("hann", QB_PAD_EDGE, m->info->columns, m->pixel, &m->filter);
    status = qb__mbir_start_number(m);
out:
    return status;
}

static qb_status decide_kernel(qb__mbir *m, const qb_env *env) {
    const double center = isnan(m->center) ? ((double)m->info->columns - 1) / 2 : m->center;
    const char *kernel = m->options->kernel;
    qb__choice choice;
    qb_status status;
    const qb__icd_size size = {.views = m->info->views,
                               .columns = m->info->columns,
                               .pixels = qb__icd_pixels(m->grid.n[0], m->grid.n[1], m->settings.radius),
                               .taps = 4};
    const qb__question question = {.operation = QB__ICD,
                                   .problem = &size,
                                   .slices = m->grid.n[2],
                                   .interp = QB_INTERP_LINEAR,
                                   .accuracy = QB_ACCURACY_HIGH,
                                   .id = kernel && qb__kernel_of_device(kernel) ? NULL : kernel};
    if (!size.pixels)
        return qb__fail(QB_BAD_ARGUMENT, "--roi %g mm holds no voxel of %g mm", m->options->roi, m->grid.voxel[0]);
    QB__TRY(qb__choose(&question, &choice));
    m->variant = (const qb__icd_variant *)choice.variant;
    if (!m->rays)
        QB__TRY(qb_geometry_parallel(m->info->views, m->info->angles, m->info->rows, m->info->columns, m->pixel, center,
                                     &m->geometry));
    QB__TRY(qb__system_matrix_create(&m->geometry, &m->grid, m->settings.radius, m->variant, &m->matrix));
    qb__info(env, "%zu line integrals, %zu voxels, %zu entries a voxel and view",
             m->info->views * m->info->columns * m->grid.n[2], size.pixels * m->grid.n[2], m->matrix.footprints.taps);
out:
    return status;
}

qb_status qb__mbir_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision) {
    qb__mbir *m = plan;
    qb_status status;
    m->scan = task->scan;
    m->rays = task->more;
    m->info = task->info;
    m->options = task->options;
    m->prep = task->prep;
    m->output = task->output->array ? NULL : task->output->output;
    m->keep.lock = -1;
    m->settings = (qb__icd_settings){.positive = !m->options->no_positivity,
                                     .skip = !m->options->no_zero_skip,
                                     .equits = m->options->equits,
                                     .stop = m->options->stop / 100,
                                     .seed = (uint64_t)m->options->seed};
    QB__TRY(check_scan(m));
    QB__TRY(decide_center(m, env));
    QB__TRY(qb__mbir_prior_decide(m));
    QB__TRY(decide_grid(m, env, json, decision));
    m->rows = m->grid.n[2];
    QB__TRY(qb__mbir_weights_decide(m));
    QB__TRY(decide_start(m, env, decision));
    QB__TRY(qb__mbir_images_decide(m, qb__comm_of(env), env));
    if (m->images.proximal) m->settings.skip = false; /* a zero that the data raise must be visited */
    QB__TRY(decide_kernel(m, env));
    if (!m->terms.weights_file) /* a file has the weights of all values */
        QB__TRY(qb__truncation_check_size(&m->geometry, &m->grid, m->options->roi > 0 ? m->options->roi : INFINITY,
                                          &decision->ends));
    decision->axis_found = m->looked;
    decision->axis_stated = !m->rays && !isnan(m->center);
    decision->axis = &m->center;
    decision->turn = (qb__turn_asked){.radians = m->rays ? NULL : m->info->angles, .geometry = m->rays};
    if (!m->terms.weights_file && strncmp(m->options->weights, "transmission", 12) == 0)
        decision->levels.opaque = m->options->weights;
    decision->levels.negative = m->options->no_positivity;
    /* the CPU may choose another */
    m->kind = m->options->matrix == QB_MATRIX_AUTO ? QB_MATRIX_FLY : m->options->matrix;
    if (m->options->matrix_cache && m->options->matrix == QB_MATRIX_FLY)
        status = qb__fail(QB_BAD_ARGUMENT, "--matrix fly keeps no matrix: leave --matrix-cache %s out",
                          m->options->matrix_cache);
    if (status != QB_OK) goto out;
    m->matrix.cache = m->options->matrix_cache;
    m->settings.supervoxels =
        m->kind == QB_MATRIX_FLY && !m->matrix.cache && qb__icd_stack_slicewise(&m->settings, m->grid.n[2]);
    QB__TRY(qb__mbir_coarse_decide(m));
    if (isnan(m->center)) decision->begin_seconds = qb__center_seconds(m->info, m->options->center, task->threads);
    decision->more = m->info->views * (sizeof(double) * 4 + sizeof(float) * 4);
    if (!isnan(m->center) && !m->rays) cJSON_AddNumberToObject(json, "column", qb__column_whole(m->info, m->center));
out:
    return status;
}

qb_status qb__mbir_open(void *plan, const qb__cut *cut) {
    ((qb__mbir *)plan)->cut = *cut;
    return QB_OK;
}

void qb__mbir_facts(void *plan, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    const qb__mbir *m = plan;
    qb__fact_number(facts, NULL, "entries_per_view", (double)m->matrix.footprints.taps);
    qb__fact_number(facts, NULL, "forecast_equits", qb__mbir_equits(m));
}

void qb__mbir_release(void *plan) {
    qb__mbir *m = plan;
    qb__system_matrix_destroy(&m->matrix);
    qb__mbir_coarse_release(m);
    qb__filter_destroy(m->filter);
    qb__mbir_fan_release(m);
    qb__icd_halo_release(&m->halo);
    qb_geometry_destroy(&m->geometry);
    qb__free(m->theta);
    m->filter = NULL;
    m->theta = NULL;
}
