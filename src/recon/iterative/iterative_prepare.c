/* SPDX-License-Identifier: MIT */
/* Parts that the engines of the iterative methods share: blocks of views are prepared into one buffer of all line
 * integrals, a solver runs on them, and the report says how it converged. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

enum { READ_VIEWS = 16, MANY_VIEWS = 64 };

/* ---- reading: blocks of views, all rows ---- */

static size_t raw_view(const qb__iterative *it) {
    return it->info->rows * it->info->columns * qb_dtype_size(it->info->dtype);
}

static size_t first_view(const qb__iterative *it, size_t chunk) {
    return it->cut.all_views.first + chunk * it->cut.views;
}

static size_t end_view(const qb__iterative *it, size_t chunk) {
    return qb__smaller(first_view(it, chunk) + it->cut.views, it->cut.all_views.end);
}

static size_t read_tasks(void *self, size_t chunk) {
    if (qb__iterative_views(self, &((const qb__iterative *)self)->cut) == 0) return 0;
    return qb__ceil_div(end_view(self, chunk) - first_view(self, chunk), READ_VIEWS);
}

static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in;
    const qb__iterative *it = self;
    const size_t first = first_view(it, chunk) + task * READ_VIEWS;
    const size_t end = qb__smaller(first + READ_VIEWS, end_view(it, chunk));
    return qb_scan_read(it->scan, first, end, 0, it->info->rows, (char *)out + task * READ_VIEWS * raw_view(it));
}

int qb__iterative_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slots,
                            .slot_bytes = cut->views * raw_view(plan),
                            .tasks = read_tasks,
                            .run = read_run};
    return 1;
}

/* ---- preparation ---- */

static size_t prepare_tasks(void *self, size_t chunk) {
    const qb__iterative *it = ((const qb__iterative_run *)self)->it;
    return qb__iterative_views(it, &it->cut) ? end_view(it, chunk) - first_view(it, chunk) : 0;
}

static size_t place_of(const qb__iterative *it, size_t view) {
    return it->place ? it->place[view] : view - it->cut.all_views.first;
}

static qb_status prepare_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const qb__iterative_run *r = self;
    const qb__iterative *it = r->it;
    const size_t view = first_view(it, chunk) + task, rows = it->info->rows;
    qb__prepare_view(r->run->prepare, view, 0, rows, (const char *)in + task * raw_view(it),
                     (float *)out + place_of(it, view) * rows * it->info->columns, &r->run->counts[worker]);
    return QB_OK;
}

qb__stage qb__iterative_prepare_stage(qb__iterative_run *r, const qb__cut *cut) {
    return (qb__stage){.name = "prepare",
                       .self = r,
                       .slots = 1,
                       .gather = cut->blocks,
                       .slot_bytes = qb__iterative_lines(r->it, cut) * sizeof(float),
                       .forecast = (double)qb__iterative_lines(r->it, cut) / (double)cut->blocks / QB__PREPARED,
                       .tasks = prepare_tasks,
                       .run = prepare_run};
}

/* ---- the cut: all of the volume, blocks of views are only read ---- */

static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    (void)cut;
    const qb__iterative *it = ((const qb__iterative_run *)state)->it;
    if (before == 0) return qb__smaller(MANY_VIEWS, qb__ceil_div(it->info->views, it->ranks));
    return before / 2;
}

qb__cut_space qb__iterative_space(const qb__iterative_run *r, qb__room cap) {
    const qb__iterative *it = r->it;
    return (qb__cut_space){.slices = it->asked.n[2],
                           .views = it->info->views,
                           .layers = {.thickness = 1},
                           .most = it->asked.n[2],
                           .thinner = qb__thinner_never,
                           .views_after = views_after,
                           .engine = r,
                           .cap = cap,
                           .views_stream = true};
}

/* ---- iterations ---- */

qb__linear qb__iterative_linear(const qb__iterative *it, size_t views, const qb__linear *calls) {
    qb__linear a = *calls;
    a.unknowns = qb__iterative_unknowns(it);
    a.kept = it->asked.n[0] * it->asked.n[1] * it->asked.n[2];
    a.equations = views * it->info->rows * it->info->columns;
    a.crossing = qb__iterative_crossing(it);
    a.views = views;
    a.subset = it->subset;
    a.all_subset = it->all_subset;
    a.all_views = it->info->views;
    a.subsets = it->subset ? it->subsets : 0;
    if (!qb__iterative_shares_slices(it)) return a;
    a.halo = qb__iterative_halo;
    a.own_slices[0] = it->neighbour[0];
    a.own_slices[1] = it->grid.n[2] - it->neighbour[1];
    return a;
}

qb_status qb__iterative_solve(qb__iterative_run *r, const qb__linear *a, const qb__vectors *vectors, void *data,
                              void *volume) {
    const qb_iterative_options *o = r->it->options;
    qb__solve_options options = {.given = o,
                                 .iterations = o->iterations,
                                 .tolerance = o->tolerance,
                                 .relaxation = o->relaxation,
                                 .nonneg = o->nonneg,
                                 .gap = o->gap,
                                 .model = r->it->model};
    qb__solve_keep keep = {0};
    if (r->it->keeper) r->it->keeper(r, a, &keep);
    if (keep.self) options.keep = &keep;
    qb__free(r->solved.trace);
    qb_status status = qb__iterative_regularisation(o, &options.lambda, &options.weigh_by);
    if (status == QB_OK) status = qb__alloc((size_t)o->iterations, sizeof *r->solved.trace, &r->solved.trace);
    if (status != QB_OK) return status;
    qb__linear system = *a;
    system.holes = r->lost > 0;
    r->vectors = vectors;
    return r->it->solver->run(&system, &options, vectors, r->run->env, data, volume, &r->solved);
}

qb_status qb__iterative_solve_here(qb__iterative_run *r, const qb__linear *a, float *data, float *x) {
    const double hu = r->it->options->hu;
    qb__vectors vectors = {0};
    qb_status status;
    QB__TRY(qb__vectors_create(r->it->projector->pool, qb__larger(a->unknowns, a->equations), r->it->grid.n, &vectors));
    for (size_t i = 0; i < a->unknowns; i++) x[i] = 0;
    QB__TRY(qb__iterative_solve(r, a, &vectors, data, x));
    if (hu > 0) qb__vector_scale(&vectors, QB__UNKNOWNS, 1000 / hu, x, a->unknowns); /* the output subtracts 1000 */
    qb__iterative_keep(r->it, x);
out:
    qb__vectors_destroy(&vectors);
    return status;
}

qb_status qb__iterative_load_here(const qb__iterative *it, size_t views, qb__vector_kind kind, const float *numbers,
                                  bool only_kept, float *vector) {
    const size_t image = it->info->rows * it->info->columns, slice = it->grid.n[0] * it->grid.n[1];
    for (size_t z = 0; kind == QB__UNKNOWNS && qb__iterative_kept(it) && z < it->grid.n[2]; z++) {
        memcpy(vector + z * slice, qb__iterative_slice_of(it, numbers, z), slice * sizeof *vector);
        for (size_t i = 0; only_kept && qb__iterative_is_beyond(it, z) && i < slice; i++) vector[z * slice + i] = NAN;
    }
    for (size_t view = 0; kind == QB__EQUATIONS && view < views; view++)
        memcpy(vector + view * image, qb__iterative_view_of(it, numbers, view), image * sizeof *vector);
    return QB_OK;
}

size_t qb__iterative_here_bytes(const qb__iterative *it, const qb__cut *cut) {
    const size_t unknowns = qb__iterative_unknowns(it), equations = qb__iterative_lines(it, cut);
    return (qb__iterative_unknown_vectors(it) * unknowns + qb__iterative_line_vectors(it) * equations) * sizeof(float) +
           3 * sizeof(double) * qb__vector_blocks(qb__larger(unknowns, equations)) +
           (size_t)it->options->iterations * sizeof(qb__solve_trace);
}

qb_status qb__iterative_report(const qb__iterative_run *r, cJSON *report, qb__prep_counts *counts) {
    (void)counts; /* the CPU prepared the values, and has counted them */
    const qb__solved *solved = &r->solved;
    cJSON *json = cJSON_AddObjectToObject(report, "convergence");
    if (r->it->report) {
        r->it->report(r, json);
        qb__iterative_note_truncation(r, json);
        return qb__json_whole("the report of a reconstruction");
    }
    cJSON *residual = cJSON_CreateArray(), *change = cJSON_CreateArray();
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"lambda", solved->lambda}, {"gap", solved->gap}, {"noise", solved->noise}, {"strength", solved->strength}};
    cJSON_AddNumberToObject(json, "iterations", solved->iterations);
    cJSON_AddStringToObject(json, "stopped", solved->stopped);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!isnan(numbers[i].value)) cJSON_AddNumberToObject(json, numbers[i].name, numbers[i].value);
    for (int i = 0; i < solved->iterations; i++) {
        cJSON_AddItemToArray(residual, cJSON_CreateNumber(solved->trace[i].residual));
        cJSON_AddItemToArray(change, cJSON_CreateNumber(solved->trace[i].change));
    }
    cJSON_AddItemToObject(json, "residual", residual);
    cJSON_AddItemToObject(json, "change", change);
    qb__iterative_note_truncation(r, json);
    return QB_OK;
}

void qb__iterative_forget(qb__iterative_run *r) {
    qb__iterative_exchange_destroy(r);
    QB__FREE(r->solved.trace, r->numbers, r->received, r->sent, r->parts);
    r->solved = (qb__solved){0};
    r->numbers = NULL, r->received = r->sent = NULL, r->parts = NULL;
    r->run = NULL;
    r->vectors = NULL;
}
