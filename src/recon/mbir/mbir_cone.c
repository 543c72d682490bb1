/* SPDX-License-Identifier: MIT */
/* qb mbir for any geometry: passes its options to the iterative solver. */
#include "recon/mbir/mbir_cone.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/check.h"
#include "recon/mbir/mbir.h"

/* ---- the report ---- */

static const char *units_of(const qb__mbir *m) { return qb__volume_units(m->options->hu, true); }

static void warn_of_rest(const qb__mbir_cone *cone, const qb__solved *solved, const qb_env *env) {
    const double worth_telling = 0.01;
    if (strcmp(solved->stopped, "equits") != 0 || !(solved->rest > worth_telling) || cone->m.images.proximal) return;
    const int tens = (int)ceil((solved->iterations + solved->more) / 10);
    qb__mbir_warn_of_rest(env, solved->iterations, solved->rest, solved->trace[solved->iterations - 1].change,
                          10 * tens > solved->iterations ? 10 * tens : solved->iterations + 10, "");
}

/* Report in the same form as a coordinate descent with a single slab. */
static void report_descent(const qb__iterative_run *r, cJSON *json) {
    const qb__mbir_cone *cone = (const qb__mbir_cone *)r->it;
    const qb__mbir *m = &cone->m;
    const qb__solved *solved = &r->solved;
    const double scale = m->options->hu > 0 ? 1000 / m->options->hu : 1;
    cJSON *slab = cJSON_CreateObject(), *equits = cJSON_AddArrayToObject(slab, "equits");
    cJSON *change = cJSON_AddArrayToObject(slab, "change"), *cost = cJSON_AddArrayToObject(slab, "cost");
    cJSON *seconds = cJSON_AddArrayToObject(slab, "seconds");
    cJSON *rmse = qb__mbir_has_reference(m) ? cJSON_AddArrayToObject(slab, "rmse") : NULL;
    warn_of_rest(cone, solved, r->run->env);
    cJSON_AddNumberToObject(json, m->images.proximal ? "sigma_p" : "sigma_x",
                            m->images.proximal ? m->measured.sigmas.p : m->measured.sigmas.x);
    cJSON_AddNumberToObject(json, "sigma_y", m->measured.sigmas.y);
    if (m->measured.sigmas.rms > 0) {
        cJSON_AddNumberToObject(json, "snr_db", 20 * log10(m->measured.sigmas.rms / m->measured.sigmas.y));
        cJSON_AddNumberToObject(json, "noise", m->measured.sigmas.noise);
    }
    if (rmse) cJSON_AddStringToObject(json, "rmse_units", units_of(m));
    if (m->keep.equits > 0) cJSON_AddNumberToObject(json, "resumed_at_equits", m->keep.equits);
    if (cone->start_seconds > 0) cJSON_AddNumberToObject(json, "start_seconds", cone->start_seconds);
    cJSON_AddNumberToObject(json, "subsets", (double)(r->it->subsets ? r->it->subsets : 1));
    cJSON_AddNumberToObject(slab, "first_slice", 0);
    cJSON_AddNumberToObject(slab, "slices", (double)m->grid.n[2]);
    cJSON_AddStringToObject(slab, "stopped", solved->stopped);
    cJSON_AddNumberToObject(slab, "remaining", solved->rest);
    if (r->lost) cJSON_AddNumberToObject(slab, "not_measured", (double)r->lost);
    for (int i = 0; i < solved->iterations; i++) {
        cJSON_AddItemToArray(equits, cJSON_CreateNumber(i + 1));
        cJSON_AddItemToArray(change, cJSON_CreateNumber(solved->trace[i].change));
        cJSON_AddItemToArray(cost, cJSON_CreateNumber(solved->trace[i].cost));
        cJSON_AddItemToArray(seconds, cJSON_CreateNumber(solved->trace[i].seconds));
        if (rmse) cJSON_AddItemToArray(rmse, cJSON_CreateNumber(scale * solved->trace[i].rmse));
    }
    cJSON *slabs = cJSON_AddArrayToObject(json, "slabs");
    if (!cJSON_AddItemToArray(slabs, slab)) cJSON_Delete(slab);
}

/* ---- decisions ---- */

/* Refuse options that only coordinate descent has. */
static qb_status check_options(const qb_mbir_options *options) {
    static const struct {
        const char *name, *why;
    } idle[] = {
        {"matrix", "no matrix is kept"},         {"matrix-cache", "no matrix is kept"},
        {"zero-skip", "all voxels are updated"}, {"seed", "voxels have no order"},
        {"coarse", "it begins with qb fdk"},     {"roi", "give a --size"},
        {"slices", "all slices share the rays"}, {"center", "move the axis by --detector-offset"},
    };
    qb_mbir_options usual;
    qb_status status = qb__params_view(qb_mbir_params, NULL, &usual);
    for (size_t i = 0; status == QB_OK && i < sizeof idle / sizeof *idle; i++) {
        const qb_param *row = qb_param_find(qb_mbir_params, idle[i].name);
        char asked[128] = "", initial[128] = "";
        qb_param_get(row, options, asked, sizeof asked);
        qb_param_get(row, &usual, initial, sizeof initial);
        if (strcmp(asked, initial) != 0)
            status = qb__fail(QB_BAD_ARGUMENT, "--%s is for parallel and fan beams, not for this cone: %s",
                              idle[i].name, idle[i].why);
    }
    return status;
}

/* Copy the options that the iterative methods have, too. */
static void translate(const qb_mbir_options *o, qb_iterative_options *to) {
    *to = (qb_iterative_options){.struct_size = sizeof *to,
                                 .iterations = o->equits,
                                 .nonneg = !o->no_positivity,
                                 .size = o->size,
                                 .voxel = o->voxel,
                                 .hu = o->hu,
                                 .kernel = o->kernel};
}

/* The detector and its pixel size, for the scales of the cost. */
static qb_status decide_detector(qb__mbir_cone *cone) {
    qb__mbir *m = &cone->m;
    qb_grid usual;
    qb_grid_default(cone->it.geometry, &usual);
    m->pixel = usual.voxel[0];
    m->grid = cone->it.asked;
    m->rows = m->info->rows;
    m->grain = 1;
    return qb__geometry_copy(cone->it.geometry, &m->geometry);
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision) {
    qb__mbir_cone *cone = plan;
    qb__mbir *m = &cone->m;
    qb__task inner = *task;
    qb_status status;
    m->scan = task->scan;
    m->info = task->info;
    m->options = task->options;
    m->prep = task->prep;
    m->rays = task->more;
    m->keep.lock = -1;
    m->any = true;
    QB__TRY(check_options(m->options));
    QB__TRY(qb__mbir_prior_decide(m));
    QB__TRY(qb__mbir_weights_decide(m));
    QB__TRY(qb__mbir_start_number(m));
    translate(m->options, &cone->options);
    inner.options = &cone->options;
    cone->it.model = &cone->model;
    cone->it.link = &cone->link;
    cone->it.report = report_descent;
    cone->it.keeper = qb__mbir_cone_keeper;
    m->output = task->output->array ? NULL : task->output->output;
    cone->it.alone = m->options->prox || m->options->prox_array; /* a proximal map has no slices beyond its volume */
    cone->it.more_lines = m->terms.weights_file ? 1 : 0;
    QB__TRY(qb__iterative_decide(&qb__solver_mbir, &inner, &cone->it, env, json, decision));
    QB__TRY(decide_detector(cone));
    QB__TRY(qb__mbir_images_decide(m, qb__iterative_shares_slices(&cone->it) ? qb__comm_of(env) : NULL, env));
    cone->it.more_unknowns = (m->images.proximal ? 1 : 0) + (qb__mbir_has_reference(m) ? 1 : 0);
    decision->more += qb__mbir_images_bytes(m) + qb__iterative_unknowns(&cone->it) * sizeof(float) +
                      (m->terms.weights_file ? qb__iterative_equations(&cone->it) * sizeof(float) : 0);
    if (!m->terms.weights_file && strncmp(m->options->weights, "transmission", 12) == 0)
        decision->levels.opaque = m->options->weights;
    decision->levels.negative = m->options->no_positivity;
out:
    return status;
}

/* ---- what the data say ---- */

static qb_status check_weights(const qb__mbir *m) {
    const size_t columns = m->info->columns, image = m->info->rows * columns;
    const float *w = m->measured.weights.data;
    for (size_t i = 0; w && i < m->info->views * image; i++)
        if (!isfinite(w[i]) || w[i] < 0)
            return qb__fail(QB_BAD_INPUT,
                            "the weight of view %zu, row %zu, column %zu is %g: weights are numbers from 0 up",
                            i / image, i % image / columns, i % columns, (double)w[i]);
    return QB_OK;
}

/* Warn of outliers among the line integrals from which the scales were computed. With transmission weights, large
 * values have almost no weight. */
static void warn_of_far(const qb__mbir *m, const qb_env *env) {
    const qb__icd_weighting rule = m->settings.weighting;
    if (!m->measured.sigmas.left_out || m->terms.weights_file || rule == QB__WEIGH_TRANSMISSION ||
        rule == QB__WEIGH_TRANSMISSION_ROOT)
        return;
    qb__warn(env,
             "%zu of %zu line integrals are beyond %.4g, far from the others: they leave streaks; set them to NaN, or "
             "their weight to 0 (--weights FILE)" QB__CODE("far-values"),
             m->measured.sigmas.left_out, m->measured.sigmas.of, m->measured.sigmas.limit);
}

static qb_status measure(void *plan, const qb__running *run) {
    qb__mbir_cone *cone = plan;
    qb__mbir *m = &cone->m;
    qb_status status;
    if (run->device && run->ranks)
        QB__TRY(qb__iterative_link_begin(&cone->it, run->ranks->in_row, run->device, &cone->link));
    QB__TRY(qb__mbir_measure(m, run));
    QB__TRY(check_weights(m));
    QB__TRY(qb__mbir_cone_keep_open(cone, run));
    warn_of_far(m, run->env);
    const bool by_fdk = !m->images.begins_with && !m->terms.is_number;
    const size_t first = cone->it.slices.first;
    if (by_fdk) QB__TRY(qb__mbir_cone_start(cone, run));
    qb__icd_prior prior = m->settings.prior;
    prior.sigma = m->measured.sigmas.x;
    if (m->images.proximal) prior = (qb__icd_prior){.p = 2, .q = 2, .t = 1, .sigma = 1};
    cone->model = (qb__solve_model){.prior = prior,
                                    .pull = m->images.proximal ? 1 / (m->measured.sigmas.p * m->measured.sigmas.p) : 0,
                                    .rule = m->settings.weighting,
                                    .sigma_y = m->measured.sigmas.y,
                                    .weights = m->measured.weights.data,
                                    .toward = qb__mbir_image_at(m, &m->images.image[QB__MBIR_TOWARD], first),
                                    .start = by_fdk ? cone->start : qb__mbir_image_at(m, m->images.begins_with, first),
                                    .constant = m->terms.constant,
                                    .reference = qb__mbir_image_at(m, &m->images.image[QB__MBIR_REFERENCE], first),
                                    .stop = m->options->stop / 100};
out:
    return status;
}

/* ---- the row ---- */

static void close_all(void *plan, bool named) {
    qb__mbir_cone *cone = plan;
    qb_array_destroy(&cone->m.measured.weights);
    qb__mbir_images_release(&cone->m);
    qb__mbir_cone_keep_close(cone, named);
    qb__nccl_give_up(cone->link.nccl);
    cone->link = (qb__iterative_link){.nccl = NULL};
    qb__free(cone->start);
    cone->start = NULL;
}

static void release(void *plan) {
    qb__mbir_cone *cone = plan;
    qb_geometry_destroy(&cone->m.geometry);
    qb__iterative_release(&cone->it);
}

static const qb__engine *const engines[] = {&qb__iterative_cpu, &qb__iterative_device, NULL};

const qb__method qb__mbir_cone_method = {
    .verb = "mbir",
    .params = qb_mbir_params,
    .plan_bytes = sizeof(qb__mbir_cone),
    .engines = engines,
    .decide = decide,
    .stages = qb__iterative_stages,
    .facts = qb__iterative_facts,
    .release = release,
    .begin = qb__iterative_begin,
    .measure = measure,
    .open = qb__iterative_open,
    .close = close_all,
};
