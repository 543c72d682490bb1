/* SPDX-License-Identifier: MIT */
/* The frame's work if several ranks share a job. Each rank makes a run of slices as if it were alone with them; values
 * that depend on the whole scan are computed by the ranks with the data, and sent to all. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "planner/device_select.h"
#include "prep/pixel_key.h"
#include "recon/reconstruction_parts.h"

/* ---- shares ---- */

static qb_status check(const qb__reconstruction *r, const qb_env *env) {
    const qb__decision *d = &r->decision;
    const char *verb = r->method->verb;
    if (!r->method->rows && !d->summed)
        return qb__fail(QB_UNSUPPORTED, "qb %s cannot run as %d processes: start it once, without mpirun", verb,
                        r->comm->count);
    if (d->together)
        return qb__fail(QB_UNSUPPORTED, "qb %s cannot share its slices among %d processes: %s", verb, r->comm->count,
                        d->together);
    if (r->output.array)
        return qb__fail(QB_UNSUPPORTED, "an array is in the memory of one process: %d ranks write a file",
                        r->comm->count);
    if (!qb__device_is_asked(env)) return QB_OK;
    if (strstr(env->device, ":all"))
        return qb__fail(QB_UNSUPPORTED, "--device %s: several ranks take a device each: give --device %.*s",
                        env->device, (int)strcspn(env->device, ":"), env->device);
    return QB_OK;
}

/* ---- grids ---- */

static qb_status parse_grid(const char *text, int ranks, int *rows, int *columns) {
    *rows = ranks, *columns = 1;
    if (strcmp(text, "auto") == 0) return QB_OK;
    int used = 0;
    if (sscanf(text, "%6dx%6d%n", rows, columns, &used) != 2 || text[used] || *rows < 1 || *columns < 1)
        return qb__fail(QB_BAD_ARGUMENT, "--grid %s: give auto, or ROWSxCOLUMNS as 4x2", text);
    if ((long)*rows * *columns == ranks) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--grid %s is for %ld processes, there %s %d: mpirun -n %ld starts so many", text,
                    (long)*rows * *columns, ranks == 1 ? "is" : "are", ranks, (long)*rows * *columns);
}

/* More rows save memory and transfers, and give the bits of one rank: columns are used only if asked for, or if there
 * are many more ranks than slices. */
static qb_status arrange(qb__reconstruction *r) {
    const qb__decision *d = &r->decision;
    int rows, columns;
    r->share.ranks = r->task.ranks = NULL;
    if (!d->grid && !d->summed) return QB_OK;
    qb_status status = QB_OK;
    if (d->summed)
        rows = 1, columns = qb__comm_count(r->comm);
    else
        status = parse_grid(d->grid, qb__comm_count(r->comm), &rows, &columns);
    if (!d->summed && status == QB_OK && (size_t)columns > r->task.info->views)
        status = qb__fail(QB_BAD_ARGUMENT, "--grid %s: %zu views cannot be shared by %d columns", d->grid,
                          r->task.info->views, columns);
    if (!r->comm) return status;
    QB__FREE(r->share.parts, r->share.staged);
    r->share.parts = NULL;
    r->share.staged = NULL;
    if (status == QB_OK) status = qb__alloc(2 * (size_t)columns, sizeof *r->share.parts, &r->share.parts);
    if (status == QB_OK && columns > 1 && !d->summed)
        status = qb__alloc((size_t)columns, QB__SUM_PIECE, &r->share.staged);
    status = qb__comm_arrange(r->comm, status, rows, columns, &r->share.ranks);
    if (status != QB_OK) return status;
    r->task.ranks = r->share.ranks;
    const qb__comm_grid *ranks = r->share.ranks;
    r->share.grid = (qb__cut_grid){.rows = rows,
                                   .columns = columns,
                                   .row = ranks->row,
                                   .column = ranks->column,
                                   .slices = d->stack.shape[0],
                                   .grain = d->grain ? d->grain : 1,
                                   .view_grain = d->view_grain ? d->view_grain : 1};
    return QB_OK;
}

/* The slices of one part (of all ranks, or of the rows of a grid), and the detector rows that these need; none if it
 * has no slices. */
static size_t share_of(const qb__reconstruction *r, int part, size_t *count, size_t *row0, size_t *row1) {
    const qb__decision *d = &r->decision;
    const int parts = r->share.ranks ? r->share.grid.rows : r->comm->count;
    size_t first;
    qb__cut_rank(d->stack.shape[0], d->grain ? d->grain : 1, parts, part, &first, count);
    *row0 = *row1 = r->share.row1;
    if (*count) r->method->rows(r->plan, first, *count, row0, row1);
    return first;
}

/* Rows go up or down with the slices, or outwards for mirrored slices; a window may overlap the previous one at either
 * end, or contain it. */
static void skip_former(qb__reconstruction *r, int part) {
    size_t count, row0, row1;
    if (part == 0) return;
    share_of(r, part - 1, &count, &row0, &row1);
    if (row1 <= r->share.own0 || row0 >= r->share.own1) return;
    if (row0 > r->share.own0 && row1 < r->share.own1)
        r->share.gap0 = row0, r->share.gap1 = row1;
    else if (row0 <= r->share.own0)
        r->share.own0 = row1 < r->share.own1 ? row1 : r->share.own1;
    else
        r->share.own1 = row0;
}

/* The rows that this rank reads in a pass over all rows, which all ranks share. */
static void own_rows(qb__reconstruction *r) {
    size_t first, count;
    qb__cut_rank(r->share.row1 - r->share.row0, 1, r->comm->count, r->comm->rank, &first, &count);
    r->share.own0 = r->share.row0 + first;
    r->share.own1 = r->share.own0 + count;
}

/* On devices a row of ranks reads the rows of its slabs independently. */
static void own_window(qb__reconstruction *r) {
    size_t count;
    share_of(r, r->share.grid.row, &count, &r->share.own0, &r->share.own1);
    skip_former(r, r->share.grid.row);
}

qb_status qb__ranks_share(qb__reconstruction *r, const qb_env *env) {
    qb__decision *d = &r->decision;
    r->share.row0 = d->row0, r->share.row1 = d->row1;
    r->share.first = 0, r->share.count = d->of_views ? 0 : d->stack.shape[0];
    r->share.own0 = d->row0, r->share.own1 = d->row1;
    r->share.gap0 = r->share.gap1 = d->row0;
    r->share.cap_of = NULL;
    r->share.view0 = 0, r->share.views = r->task.info ? r->task.info->views : 0;
    qb_status status = r->comm ? check(r, env) : QB_OK;
    if (status == QB_OK) status = arrange(r);
    if (status != QB_OK || !r->comm) return status;
    if (r->share.ranks) {
        const qb__cut_grid *grid = &r->share.grid;
        qb__cut_rank(grid->slices, grid->grain, grid->rows, grid->row, &r->share.first, &r->share.count);
        if (d->summed) /* otherwise the rank of a column that reads a view is decided on the way */
            qb__cut_rank(r->share.views, grid->view_grain, grid->columns, grid->column, &r->share.view0,
                         &r->share.views);
        else if (qb__prepare_reads_all(r->task.info, &r->prep))
            own_rows(r);
        else if (qb__device_is_asked(env))
            own_window(r);
        return QB_OK;
    }
    r->share.first = share_of(r, r->comm->rank, &r->share.count, &d->row0, &d->row1);
    r->share.own0 = d->row0, r->share.own1 = d->row1;
    skip_former(r, r->comm->rank);
    return QB_OK;
}

/* The smallest cap fits everywhere: with the same memory a rank may need more than another, whose slabs need fewer
 * rows. */
qb_status qb__ranks_cut(qb__reconstruction *r) {
    const uint64_t mine[3] = {r->pick.cut.thickness, r->pick.cut.views, r->pick.cut.slots};
    uint64_t least[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX}, *all = NULL;
    if (!r->share.ranks) return QB_OK;
    qb_status status = qb__alloc((size_t)r->comm->count, sizeof mine, &all);
    status = qb__comm_gather(r->comm, status, mine, sizeof mine, all);
    for (size_t i = 0; status == QB_OK && i < 3 * (size_t)r->comm->count; i++)
        if (all[i] < least[i % 3]) least[i % 3] = all[i];
    qb__free(all);
    if (status != QB_OK) return status;
    r->pick.cut.thickness = (size_t)least[0];
    r->pick.cut.slots = (unsigned)least[2];
    qb__cut_views(&qb__chosen(r)->offer.space, (size_t)least[1], &r->pick.cut);
    qb__engines_settle(r);
    return QB_OK;
}

/* ---- the same plan ---- */

/* Values that must be equal on all ranks, so that the volume is consistent. */
typedef struct plan {
    size_t shape[3], row0, row1, grain;
    char kernel[64], host[64];
} plan;

static plan plan_of(qb__reconstruction *r) {
    const qb__decision *d = &r->decision;
    plan p = {.row0 = r->share.row0, .row1 = r->share.row1, .grain = d->grain};
    memcpy(p.shape, d->stack.shape, sizeof p.shape);
    snprintf(p.host, sizeof p.host, "%s", r->comm->host);
    if (r->candidates) snprintf(p.kernel, sizeof p.kernel, "%s", r->pick.facts.kernel->id);
    return p;
}

qb_status qb__ranks_agree(qb__reconstruction *r, qb_status mine) {
    if (!r->comm) return mine;
    plan first = {.row0 = 0};
    const plan own = mine == QB_OK ? plan_of(r) : first;
    if (r->comm->rank == 0) first = own;
    qb_status status = qb__comm_bcast(r->comm, mine, 0, &first, sizeof first);
    if (status == QB_OK && strcmp(first.kernel, own.kernel) != 0)
        status = qb__fail(QB_UNSUPPORTED,
                          "it would compute with %s, and rank 0, on %s, with %s: name one that all machines have with "
                          "--kernel",
                          own.kernel, first.host, first.kernel);
    else if (status == QB_OK && (memcmp(first.shape, own.shape, sizeof own.shape) != 0 || first.row0 != own.row0 ||
                                 first.row1 != own.row1 || first.grain != own.grain))
        status = qb__fail(QB_BAD_INPUT, "it would make another volume than rank 0, on %s: do both read the same scan?",
                          first.host);
    return qb__agree(r->comm, status);
}

/* ---- sums ---- */

/* Lost values of all ranks. */
static qb_status first_place(qb__reconstruction *r, uint64_t *place) {
    const size_t ranks = (size_t)qb__comm_count(r->comm);
    uint64_t *all = NULL;
    qb_status status = qb__alloc(ranks, sizeof *all, &all);
    status = qb__comm_gather(r->comm, status, place, sizeof *place, all);
    for (size_t i = 0; status == QB_OK && i < ranks; i++) *place = qb__pixel_key_first(*place, all[i]);
    qb__free(all);
    return status;
}

qb_status qb__ranks_sum(qb__reconstruction *r, qb_status mine, qb__prep_counts *sum) {
    qb__digest *digest = r->task.scan ? &r->job.digest : NULL;
    uint64_t numbers[8] = {sum->clamped, sum->not_finite, sum->dead, sum->values, sum->saturated, [7] = sum->placed},
             place = sum->place;
    if (!r->comm) return mine;
    if (digest) {
        numbers[5] = digest->sum;
        numbers[6] = r->share.views * (r->share.own1 - r->share.own0 - (r->share.gap1 - r->share.gap0)) - digest->left;
    }
    qb_status status = qb__comm_sum(r->comm, mine, numbers, 8);
    if (status == QB_OK && numbers[1]) status = first_place(r, &place);
    if (status != QB_OK) return status;
    *sum = (qb__prep_counts){.clamped = numbers[0],
                             .not_finite = numbers[1],
                             .dead = numbers[2],
                             .values = numbers[3],
                             .saturated = numbers[4],
                             .placed = numbers[7],
                             .place = place};
    if (digest && digest->seen) {
        digest->row0 = r->share.row0, digest->row1 = r->share.row1;
        digest->sum = numbers[5];
        /* Each row once, or there is no digest. */
        digest->left = r->task.info->views * (r->share.row1 - r->share.row0) - numbers[6];
    }
    return QB_OK;
}

/* ---- the report ---- */

static qb_status add_report(void *context, int from, const void *data, size_t bytes) {
    cJSON *one = cJSON_ParseWithLength(data, bytes), *list = context;
    if (!one) return qb__fail(QB_NO_MEMORY, "no memory for the report of rank %d", from);
    cJSON_AddItemToArray(list, one);
    return QB_OK;
}

/* Forecast and measured time of each stage, as if it were alone with all threads, and the share that was hidden behind
 * others: the iFDK paper's delta (section 4.1.4), for all stages. */
static void add_terms(qb__reconstruction *r, cJSON *report) {
    const qb__pipeline_report *ran = &r->times;
    qb__stage stages[QB__STAGES_MAX];
    double forecast[QB__STAGES_MAX], sum = 0;
    size_t chunks;
    if (ran->stages == 0 || !(ran->wall_seconds > 0)) return;
    const int count = qb__engines_stages(r, stages, &chunks);
    qb__play_stages(stages, count, chunks, r->task.threads, forecast, NULL);
    cJSON *terms = cJSON_AddArrayToObject(report, "terms");
    for (int i = 0; i < count && i < ran->stages; i++) {
        const double took =
            stages[i].blocking ? ran->stage[i].busy_seconds : ran->stage[i].cpu_seconds / r->task.threads;
        cJSON *term = cJSON_CreateObject();
        cJSON_AddStringToObject(term, "name", stages[i].name);
        cJSON_AddNumberToObject(term, "forecast_seconds", forecast[i]);
        cJSON_AddNumberToObject(term, "seconds", took);
        cJSON_AddItemToArray(terms, term);
        sum += took;
    }
    cJSON_AddNumberToObject(report, "overlap", sum / ran->wall_seconds);
}

qb_status qb__ranks_report(qb__reconstruction *r, qb_status mine) {
    cJSON *report = r->job.report;
    if (!r->comm) return mine;
    const qb__comm_grid *ranks = r->share.ranks;
    const int grid[2] = {ranks ? ranks->rows : r->comm->count, ranks ? ranks->columns : 1};
    const qb__chunks *chunks = r->volume.chunks;
    size_t slices = 0;
    for (size_t i = 0; i < chunks->count; i++) slices += qb__runs_count(&chunks->chunk[i].images);
    char *text = NULL;
    if (mine == QB_OK && !qb__idle(r)) add_terms(r, report);
    const qb__device_pick *pick = r->pick.facts.pick;
    cJSON_AddStringToObject(report, "host", r->comm->host);
    if (!qb__idle(r)) cJSON_AddStringToObject(report, "device", pick ? qb__device_info_of(pick->device)->spec : "cpu");
    cJSON_AddNumberToObject(report, "first_slice", (double)chunks->first);
    cJSON_AddNumberToObject(report, "slices", (double)slices);
    if (r->comm->rank > 0 && mine == QB_OK) mine = qb__json_text(cJSON_Duplicate(report, true), "the report", &text);
    cJSON *others = NULL;
    if (r->comm->rank == 0) {
        cJSON_AddNumberToObject(report, "ranks", r->comm->count);
        cJSON_AddItemToObject(report, "grid", cJSON_CreateIntArray(grid, 2));
        others = cJSON_AddArrayToObject(report, "other_ranks");
    }
    mine = qb__comm_collect(r->comm, mine, text, text ? strlen(text) : 0, add_report, others);
    cJSON_free(text);
    return mine;
}
