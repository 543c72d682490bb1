/* SPDX-License-Identifier: MIT */
/* Saves the state of a reconstruction of any geometry after some of its passes, as a slab of all slices of this rank
 * (mbir_checkpoint.h). */
#include <stdio.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/mbir/mbir_cone.h"

/* Find the identity of the job. The data are not hashed if no checkpoint is asked for or can be made. Each rank
 * hashes its own views. */
static qb_status tell_job(qb__mbir_keep *k) {
    const qb__mbir *m = &k->cone->m;
    const qb__iterative *it = &k->cone->it;
    const size_t lines = k->views * m->info->rows * m->info->columns;
    char hash[20];
    if (k->job) return QB_OK;
    cJSON *json = qb__mbir_job_of(m, k->kernel, k->kernel);
    uint64_t sum = qb__hash(it->rays->view, it->rays->views * sizeof *it->rays->view, 0);
    if (it->rays->radius > 0) sum = qb__hash(&it->rays->radius, sizeof it->rays->radius, sum);
    sum = qb__hash(k->lines, lines * sizeof(float), sum);
    if (m->measured.weights.data)
        sum = qb__hash(m->measured.weights.data, qb__iterative_equations(it) * sizeof(float), sum);
    for (int i = 0; i < QB__MBIR_IMAGES; i++)
        if (m->images.image[i].data.data)
            sum = qb__hash(m->images.image[i].data.data, qb_array_count(&m->images.image[i].data) * sizeof(float), sum);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)sum);
    cJSON_AddStringToObject(json, "data", hash);
    if (it->ranks > 1) cJSON_AddNumberToObject(json, "ranks", (double)it->ranks);
    return qb__json_text(json, "a checkpoint's job", &k->job);
}

/* The slab for a checkpoint. Its trace only says how many passes were made; the solver saves its own trace. Ranks
 * without slices have slabs after the last one. */
static qb_status slab_of(qb__mbir_keep *k, const qb__solve_state *state, qb__checkpoint_slab *slab) {
    const qb__iterative *it = &k->cone->it;
    const int most = k->cone->m.options->equits;
    QB__OR_RETURN(tell_job(k));
    if (!k->trace) QB__OR_RETURN(qb__alloc((size_t)most, sizeof *k->trace, &k->trace));
    for (int i = 0; i < most; i++) k->trace[i].equits = i + 1;
    *slab = (qb__checkpoint_slab){.first = it->slices.first + (qb__iterative_kept(it) ? 0 : it->rank),
                                  .slices = qb__iterative_kept_slices(it),
                                  .image = it->grid.n[0] * it->grid.n[1],
                                  .job = k->job,
                                  .trace = k->trace,
                                  .turns = *state->iterations,
                                  .most = most,
                                  .state = state};
    return QB_OK;
}

static qb_status resume(void *self, const qb__solve_state *state, bool *resumed) {
    qb__mbir_keep *k = self;
    qb__checkpoint *keep = &k->cone->m.keep;
    qb__checkpoint_slab slab;
    qb__checkpoint_found found;
    qb_status status;
    if (!keep->halo && !(keep->resume && keep->lock >= 0)) return QB_OK;
    QB__TRY(slab_of(k, state, &slab));
    QB__TRY(qb__checkpoint_look(keep, &slab, &found));
    *resumed = found == QB__FOUND_TURNING;
    if (*resumed) status = qb__checkpoint_load(keep, &slab);
out:
    return status;
}

static void passed(void *self, const qb__solve_state *state) {
    qb__mbir_keep *k = self;
    qb__checkpoint *keep = &k->cone->m.keep;
    qb__checkpoint_slab slab;
    if (!keep->halo && !qb__checkpoint_due(keep)) return;
    if (slab_of(k, state, &slab) == QB_OK) qb__checkpoint_swept(keep, &slab);
}

void qb__mbir_cone_keeper(qb__iterative_run *r, const qb__linear *a, qb__solve_keep *keep) {
    qb__mbir_cone *cone = (qb__mbir_cone *)r->it;
    const qb_mbir_options *o = cone->m.options;
    if (!cone->m.output || !qb__hash_known() || !(o->resume || o->checkpoint > 0)) return;
    cone->keep.views = a->views;
    cone->keep.cone = cone;
    cone->keep.lines = r->lines;
    cone->keep.kernel = a->kernel;
    *keep = (qb__solve_keep){&cone->keep, resume, passed};
}

qb_status qb__mbir_cone_keep_open(qb__mbir_cone *cone, const qb__running *run) {
    qb__mbir *m = &cone->m;
    const qb_mbir_options *o = m->options;
    const bool alone = cone->it.ranks < 2;
    if (!alone) QB__OR_RETURN(qb__icd_halo_create(run->ranks->in_row, m->grid.n[2], &m->halo));
    return qb__checkpoint_open(m->output, o->resume, o->checkpoint, false, alone ? NULL : m->measured.job,
                               alone ? NULL : &m->halo, run->env, &m->keep);
}

void qb__mbir_cone_keep_close(qb__mbir_cone *cone, bool named) {
    if (named) qb__checkpoint_drop(&cone->m.keep);
    qb__checkpoint_close(&cone->m.keep);
    qb__icd_halo_release(&cone->m.halo);
    cJSON_free(cone->keep.job);
    qb__free(cone->keep.trace);
    cone->keep = (qb__mbir_keep){0};
}
