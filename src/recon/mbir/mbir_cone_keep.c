/* SPDX-License-Identifier: MIT */
/* Saves the state of a reconstruction of any geometry after some of its passes, as a slab of all slices
 * (mbir_checkpoint.h). All ranks have the same state: rank 0 saves it, reads it again, and sends it to the others. */
#include <stdio.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/mbir/mbir_cone.h"

/* Each rank hashes its own views. */
static qb_status hash_of_ranks(const qb__mbir_keep *k, uint64_t *sum) {
    const size_t ranks = k->cone->it.ranks;
    uint64_t *all;
    if (!k->comm) return QB_OK;
    qb_status status = qb__alloc(ranks, sizeof *all, &all);
    status = qb__comm_gather(k->comm, status, sum, sizeof *sum, all);
    if (status == QB_OK) *sum = qb__hash(all, ranks * sizeof *all, 0);
    qb__free(all);
    return status;
}

/* Find the identity of the job. The data are not hashed if no checkpoint is asked for or can be made. Collective over
 * ranks. */
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
            sum = qb__hash(m->images.image[i].data.data, qb__iterative_kept(it) * sizeof(float), sum);
    const qb_status status = hash_of_ranks(k, &sum);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)sum);
    cJSON_AddStringToObject(json, "data", hash);
    if (k->comm) cJSON_AddNumberToObject(json, "ranks", (double)it->ranks);
    const qb_status written = qb__json_text(json, "a checkpoint's job", &k->job);
    return status == QB_OK ? written : status;
}

/* The slab for a checkpoint. Its trace only says how many passes were made; the solver saves its own trace. */
static qb_status slab_of(qb__mbir_keep *k, const qb__solve_state *state, qb__checkpoint_slab *slab) {
    const int most = k->cone->m.options->equits;
    qb_status status;
    QB__TRY(tell_job(k));
    if (!k->trace) QB__TRY(qb__alloc((size_t)most, sizeof *k->trace, &k->trace));
    for (int i = 0; i < most; i++) k->trace[i].equits = i + 1;
    *slab = (qb__checkpoint_slab){.slices = k->cone->m.grid.n[2],
                                  .image = k->cone->m.grid.n[0] * k->cone->m.grid.n[1],
                                  .job = k->job,
                                  .trace = k->trace,
                                  .turns = *state->iterations,
                                  .most = most,
                                  .state = state};
out:
    return status;
}

/* A state that rank 0 reads, and sends piece by piece to all ranks. */
typedef struct shared {
    qb__comm *comm;
    const qb__solve_state *state;
    qb__vector_piece piece;
    void *to;
} shared;

static qb_status share_piece(void *self, void *data, size_t bytes) {
    const shared *s = self;
    return qb__comm_bcast(s->comm, s->piece ? s->piece(s->to, data, bytes) : QB_OK, 0, data, bytes);
}

static qb_status pass_shared(void *self, bool into, qb__vector_piece piece, void *to) {
    shared *s = self;
    s->piece = piece, s->to = to;
    qb_status status = qb__comm_bcast(s->comm, QB_OK, 0, s->state->iterations, sizeof *s->state->iterations);
    return status == QB_OK ? s->state->pass(s->state->self, into, share_piece, s) : status;
}

static qb_status load(qb__mbir_keep *k, qb__checkpoint_slab *slab) {
    shared s = {.comm = k->comm, .state = slab->state};
    const qb__solve_state all = {&s, pass_shared, slab->state->iterations};
    if (!k->comm) return qb__checkpoint_load(&k->cone->m.keep, slab);
    slab->state = &all;
    const bool reads = k->cone->it.rank == 0;
    return qb__agree(k->comm, reads ? qb__checkpoint_load(&k->cone->m.keep, slab) : pass_shared(&s, true, NULL, NULL));
}

static qb_status resume(void *self, const qb__solve_state *state, bool *resumed) {
    qb__mbir_keep *k = self;
    qb__checkpoint *keep = &k->cone->m.keep;
    qb__checkpoint_slab slab;
    qb__checkpoint_found found = QB__FOUND_NOTHING;
    qb_status status = QB_OK;
    const bool looks = keep->resume && keep->lock >= 0;
    if (k->comm || looks) QB__TRY(slab_of(k, state, &slab));
    if (looks) status = qb__checkpoint_look(keep, &slab, &found);
    QB__TRY(qb__comm_bcast(k->comm, status, 0, &found, sizeof found));
    *resumed = found == QB__FOUND_TURNING;
    if (*resumed) QB__TRY(load(k, &slab));
out:
    return status;
}

static void passed(void *self, const qb__solve_state *state) {
    qb__mbir_keep *k = self;
    qb__checkpoint_slab slab;
    if (!qb__checkpoint_due(&k->cone->m.keep)) return;
    if (slab_of(k, state, &slab) == QB_OK) qb__checkpoint_swept(&k->cone->m.keep, &slab);
}

void qb__mbir_cone_keeper(qb__iterative_run *r, const qb__linear *a, qb__solve_keep *keep) {
    qb__mbir_cone *cone = (qb__mbir_cone *)r->it;
    const qb_mbir_options *o = cone->m.options;
    if (!cone->m.output || !qb__hash_known() || !(o->resume || o->checkpoint > 0)) return;
    cone->keep.comm = r->run->ranks ? r->run->ranks->in_row : NULL;
    cone->keep.views = a->views;
    cone->keep.cone = cone;
    cone->keep.lines = r->lines;
    cone->keep.kernel = a->kernel;
    *keep = (qb__solve_keep){&cone->keep, resume, passed};
}

qb_status qb__mbir_cone_keep_open(qb__mbir_cone *cone, const qb_env *env) {
    const qb__mbir *m = &cone->m;
    const qb_mbir_options *o = m->options;
    if (cone->it.rank > 0) return QB_OK;
    return qb__checkpoint_open(m->output, o->resume, o->checkpoint, false, NULL, NULL, env, &cone->m.keep);
}

void qb__mbir_cone_keep_close(qb__mbir_cone *cone, bool named) {
    if (named) qb__checkpoint_drop(&cone->m.keep);
    qb__checkpoint_close(&cone->m.keep);
    cJSON_free(cone->keep.job);
    qb__free(cone->keep.trace);
    cone->keep = (qb__mbir_keep){0};
}
