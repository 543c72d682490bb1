/* SPDX-License-Identifier: MIT */
/* The report of a descent, with a warning if it had not converged. */
#include "recon/mbir/mbir_descent.h"

#include <math.h>

#include "base/log.h"
#include "base/status.h"
#include "base/warning.h"

static const double worth_telling = 0.01; /* share of the cost above which the rest is reported */

const char *qb__mbir_units(const qb__mbir *m) {
    return qb__volume_units(m->options->hu, m->rays || m->info->pixel_size > 0);
}

/* ---- a slab ---- */

static void note_coarse(const qb__mbir_descent *d, cJSON *slab) {
    cJSON *levels = d->coarsely ? cJSON_AddArrayToObject(slab, "coarse") : NULL;
    for (size_t i = d->m->coarse.levels; levels && i-- > 0;) {
        cJSON *level = cJSON_CreateObject();
        cJSON_AddNumberToObject(level, "side", ldexp(1, (int)i + 1));
        cJSON_AddNumberToObject(level, "equits", d->coarse.came[i].equits);
        cJSON_AddStringToObject(level, "stopped", d->coarse.came[i].stopped);
        cJSON_AddNumberToObject(level, "remaining", d->coarse.came[i].rest);
        if (!cJSON_AddItemToArray(levels, level)) cJSON_Delete(level);
    }
}

static void note_reference(const qb__mbir_descent *d, const qb__checkpoint_slab *of, cJSON *slab) {
    cJSON *rmse = qb__mbir_has_reference(d->m) ? cJSON_AddArrayToObject(slab, "rmse") : NULL;
    for (int i = 0; rmse && i < of->turns; i++) cJSON_AddItemToArray(rmse, cJSON_CreateNumber(d->trace[i].rmse));
}

/* Forecast decrease of the cost, also of the levels: an error that remains from a level does not show in the decrease
 * of the cost later. */
static double rest_of(const qb__mbir_descent *d, const qb__checkpoint_slab *of) {
    double rest = of->turns ? d->trace[of->turns - 1].rest : 0;
    for (size_t i = 0; d->coarsely && i < d->m->coarse.levels; i++) rest = fmax(rest, d->coarse.came[i].rest);
    return rest;
}

/* Runs on the stage's thread: check allocation failures here, because the flag is per thread. */
qb_status qb__mbir_note_slab(qb__mbir_descent *d, size_t first, const qb__checkpoint_slab *of) {
    cJSON *slab = cJSON_CreateObject();
    cJSON *equits = cJSON_AddArrayToObject(slab, "equits"), *change = cJSON_AddArrayToObject(slab, "change"),
          *cost = cJSON_AddArrayToObject(slab, "cost");
    cJSON_AddNumberToObject(slab, "first_slice", (double)first);
    cJSON_AddNumberToObject(slab, "slices", (double)of->slices);
    cJSON_AddStringToObject(slab, "stopped", of->stopped ? of->stopped : "early");
    const double rest = rest_of(d, of);
    cJSON_AddNumberToObject(slab, "remaining", rest);
    if (rest > worth_telling) d->unfinished++;
    if (of->turns) d->change = fmax(d->change, d->trace[of->turns - 1].change);
    d->rest = fmax(d->rest, rest);
    note_coarse(d, slab);
    qb__mbir_masked_note(&d->masked, slab);
    qb__mbir_truncation_note(&d->truncation, slab);
    for (int i = 0; equits && change && cost && i < of->turns; i++) {
        cJSON_AddItemToArray(equits, cJSON_CreateNumber(d->trace[i].equits));
        cJSON_AddItemToArray(change, cJSON_CreateNumber(d->trace[i].change));
        cJSON_AddItemToArray(cost, cJSON_CreateNumber(d->trace[i].cost));
    }
    note_reference(d, of, slab);
    if (!cJSON_AddItemToArray(d->slabs, slab)) cJSON_Delete(slab);
    return qb__json_whole("the report of a descent");
}

/* ---- the whole ---- */

/* The forecast means nothing after few equits, because the cost may still fall by any amount. */
void qb__mbir_warn_of_rest(const qb_env *env, int equits, double rest, double change, int enough, const char * or) {
    if (rest < 0.995)
        qb__warn(env,
                 "mbir stopped after %d equits, but the cost is forecast to fall by another %.2g %%: give --equits "
                 "%d%s" QB__CODE("mbir-not-converged"),
                 equits, 100 * rest, enough, or);
    else
        qb__warn(
            env,
            "mbir stopped after %d equits, too few to forecast the cost; the image changed by %.2g %% in the last: "
            "give --equits %d%s" QB__CODE("mbir-not-converged"),
            equits, 100 * change, enough, or);
}

/* A loop around proximal maps stops each of them early on purpose, so there is no warning. */
static void warn_of_rest(const qb__mbir_descent *d) {
    const qb__mbir *m = d->m;
    if (d->unfinished && !m->images.proximal)
        qb__mbir_warn_of_rest(d->run->env, m->settings.equits, d->rest, d->change, 4 * m->settings.equits,
                              m->coarse.levels || m->images.begins_with ? "" : ", or --coarse 2");
}

qb_status qb__mbir_descent_finish(void *state, cJSON *report, qb__prep_counts *counts) {
    (void)counts;
    qb__mbir_descent *d = state;
    warn_of_rest(d);
    cJSON *json = cJSON_AddObjectToObject(report, "convergence");
    cJSON_AddNumberToObject(json, d->m->images.proximal ? "sigma_p" : "sigma_x",
                            d->m->images.proximal ? d->m->measured.sigmas.p : d->m->measured.sigmas.x);
    cJSON_AddNumberToObject(json, "sigma_y", d->m->measured.sigmas.y);
    if (d->m->measured.sigmas.rms > 0) {
        cJSON_AddNumberToObject(json, "snr_db", 20 * log10(d->m->measured.sigmas.rms / d->m->measured.sigmas.y));
        cJSON_AddNumberToObject(json, "noise", d->m->measured.sigmas.noise);
    }
    if (d->m->measured.sigmas.left_out) {
        cJSON_AddNumberToObject(json, "sigmas_without", (double)d->m->measured.sigmas.left_out);
        cJSON_AddNumberToObject(json, "sigmas_of", (double)d->m->measured.sigmas.of);
    }
    if (qb__mbir_has_reference(d->m)) cJSON_AddStringToObject(json, "rmse_units", qb__mbir_units(d->m));
    cJSON_AddItemToObject(json, "slabs", d->slabs);
    if (d->m->matrix.cache) cJSON_AddBoolToObject(json, "matrix_from_cache", d->m->matrix.cached);
    if (d->m->keep.slabs) cJSON_AddNumberToObject(json, "slabs_resumed", (double)d->m->keep.slabs);
    if (d->m->keep.equits > 0) cJSON_AddNumberToObject(json, "resumed_at_equits", d->m->keep.equits);
    d->slabs = NULL;
    return QB_OK;
}
