/* SPDX-License-Identifier: MIT */
/* The detector rows of a slab, the chunks, and the stage that reads them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/fdk/fdk.h"

enum {
    READ_VIEWS = 16,
    READ_BYTES = 64 << 20
}; /* views and bytes of a reading task: so many views, or more to reach so many bytes */

/* The grid of ranks if each view is filtered by one rank of a column; else NULL. */
static const qb__cut_grid *column_of(const qb__fdk *fdk, const qb__cut *cut) { return fdk->alone ? NULL : cut->grid; }

static qb__rows raw_of(const qb__fdk *fdk, qb__bp_cone_window rows) {
    qb__rows raw = {rows.r0, rows.r1};
    if (fdk->resampled)
        qb__virtual_detector_rows(&fdk->virtual_detector, rows.r0, rows.r1, QB__RESAMPLE_MARGIN, &raw.first, &raw.end);
    return raw;
}

/* Reach of slice z over all views. It is stored, because the search for a cut asks for the same slices repeatedly. */
static qb__reach reach_of(const qb__fdk *fdk, const qb__rows_problem *of, size_t z) {
    if (isnan(fdk->reach[z].low)) fdk->reach[z] = qb__reach_of_slice(of, z);
    return fdk->reach[z];
}

static qb__bp_cone_window rows_of(const qb__fdk *fdk, size_t z0, size_t z1) {
    const qb__bp_cone_problem *p = &fdk->problem;
    const qb__rows_problem of = {p->views, p->matrix, p->nx, p->ny, p->rows};
    if (z0 >= z1) return (qb__bp_cone_window){0, 0};
    const qb__rows rows = qb__rows_between(&of, reach_of(fdk, &of, z0), reach_of(fdk, &of, z1 - 1));
    return (qb__bp_cone_window){rows.first, rows.end};
}

static qb__fdk_window window_of(const qb__fdk *fdk, size_t z0, size_t z1) {
    qb__fdk_window w = {.z0 = z0, .z1 = z1, .rows = rows_of(fdk, z0, z1)};
    w.raw = raw_of(fdk, w.rows);
    return w;
}

/* Extend `rows` so that they include `more`. */
static void widen(qb__bp_cone_window *rows, qb__bp_cone_window more) {
    if (more.r0 == more.r1) return;
    if (rows->r0 == rows->r1) *rows = more;
    *rows = (qb__bp_cone_window){qb__smaller(rows->r0, more.r0), qb__larger(rows->r1, more.r1)};
}

/* Window of slices first <= z < end in the order of a cut; half[]: the windows of its two parts. */
static qb__fdk_window window_of_both(const qb__fdk *fdk, bool paired, size_t first, size_t end,
                                     qb__fdk_window half[2]) {
    const qb__runs runs = qb__mirrored_runs(fdk->problem.nz, paired, first, end);
    qb__fdk_window all;
    for (int i = 0; i < 2; i++) {
        half[i] = window_of(fdk, runs.of[i].first, runs.of[i].end);
        if (paired && half[i].rows.r0 == half[i].rows.r1) half[i].raw = (qb__rows){0, 0};
    }
    all = half[half[0].rows.r0 == half[0].rows.r1]; /* a part that sees some rows, if there is one */
    all.z0 = first, all.z1 = end;
    widen(&all.rows, half[1].rows);
    if (paired && all.rows.r0 < all.rows.r1) all.raw = raw_of(fdk, all.rows);
    return all;
}

/* If no voxel sees any row, return all rows: nothing is read in either case. */
void qb__fdk_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1) {
    const qb__fdk *fdk = plan;
    qb__fdk_window half[2];
    const size_t z = fdk->region.first[2] + first;
    const qb__fdk_window w = window_of_both(fdk, fdk->paired, z, z + count, half);
    const bool some = w.rows.r1 > w.rows.r0;
    *row0 = some ? w.raw.first : 0;
    *row1 = some ? w.raw.end : fdk->info->rows;
}

/* Allocate the windows. A rank may have no slices, and a row of ranks may have one slab more than slices. */
qb_status qb__fdk_windows(qb__fdk *fdk, const qb_env *env) {
    const size_t ranks = (size_t)qb__comm_count(qb__comm_of(env)), slabs = fdk->region.whole.n[2] + 3;
    qb_status status;
    QB__TRY(qb__alloc(slabs, sizeof *fdk->window, &fdk->window));
    QB__TRY(qb__alloc(2 * slabs, sizeof *fdk->half, &fdk->half));
    QB__TRY(qb__alloc(slabs, sizeof *fdk->reach, &fdk->reach));
    for (size_t z = 0; z < slabs; z++) fdk->reach[z] = (qb__reach){NAN, NAN};
    if (ranks < 2) goto out;
    QB__TRY(qb__alloc(slabs + 4 * ranks, sizeof *fdk->all, &fdk->all));
    QB__TRY(qb__alloc(slabs + 4 * ranks, sizeof *fdk->run, &fdk->run));
    QB__TRY(qb__alloc(slabs, sizeof *fdk->runs, &fdk->runs));
    QB__TRY(qb__alloc(slabs, sizeof *fdk->edge, &fdk->edge));
out:
    return status;
}

/* Add a window to the runs of rows. Windows that touch become one run. Insertion sort is enough, because runs are few
 * and nearly sorted. */
static void join(const qb__fdk *fdk, qb__fdk_window *run, size_t *count, const qb__fdk_window *more) {
    size_t at = *count, end;
    if (more->rows.r0 == more->rows.r1) return;
    while (at > 0 && run[at - 1].rows.r0 > more->rows.r0) at--;
    if (at > 0 && run[at - 1].rows.r1 >= more->rows.r0) {
        at--;
    } else {
        memmove(run + at + 1, run + at, ((*count)++ - at) * sizeof *run);
        run[at] = *more;
    }
    run[at].rows.r1 = qb__larger(run[at].rows.r1, more->rows.r1);
    for (end = at + 1; end < *count && run[end].rows.r0 <= run[at].rows.r1; end++)
        run[at].rows.r1 = qb__larger(run[at].rows.r1, run[end].rows.r1);
    memmove(run + at + 1, run + end, (*count - end) * sizeof *run);
    *count -= end - at - 1;
    run[at].raw = raw_of(fdk, run[at].rows);
}

/* Find the windows of all rows of ranks, because this rank filters for them too. */
static void slabs_of_all(qb__fdk *fdk, const qb__cut *cut) {
    const size_t rows = (size_t)cut->grid->rows;
    for (size_t slab = 0; slab < cut->slabs; slab++) fdk->runs[slab] = 0;
    for (size_t row = 0; row < rows; row++) {
        qb__cut_row(cut->grid, (int)row, cut->thickness, cut->slabs, fdk->edge);
        for (size_t slab = 0; slab < cut->slabs; slab++) {
            qb__fdk_window *window = &fdk->all[row * cut->slabs + slab];
            *window = window_of(fdk, fdk->edge[slab], fdk->edge[slab + 1]);
            join(fdk, fdk->run + slab * rows, &fdk->runs[slab], window);
        }
    }
}

/* Number of rows that are read for a window: storage chunks are unpacked as a whole. */
static double stored_rows(const qb_scan_info *info, qb__rows raw) {
    const size_t piece = qb__larger(1, info->chunk_rows), first = raw.first / piece * piece;
    return (double)(qb__smaller(qb__round_up(raw.end, piece), info->rows) - first);
}

/* Update the sizes by the runs of a slab. together: the runs form one block of a device. */
static void measure(qb__fdk *fdk, const qb__fdk_window *run, size_t runs, bool together) {
    size_t rows = 0, raw_rows = 0, all = 0;
    for (const qb__fdk_window *w = run; w < run + runs; w++) {
        const size_t own = w->rows.r1 - w->rows.r0, raw = w->raw.end - w->raw.first;
        if (own == 0) continue;
        all += raw;
        rows = together ? rows + own : qb__larger(rows, own);
        raw_rows = together ? all : qb__larger(raw_rows, raw);
        fdk->rows += (double)own;
        fdk->stored_rows += stored_rows(fdk->info, w->raw);
    }
    fdk->window_rows = qb__larger(fdk->window_rows, rows);
    fdk->raw_rows = qb__larger(fdk->raw_rows, raw_rows);
    fdk->read_rows = qb__larger(fdk->read_rows, all);
    fdk->rows_read += all;
}

static void keep_rows(qb__fdk *fdk, const qb__cut *cut) {
    const bool paired = qb__fdk_paired(cut);
    fdk->keep = (qb__fdk_window){0};
    for (size_t slab = 0; slab < cut->slabs; slab++)
        for (size_t i = 0; i < (paired ? 2 : 1); i++)
            widen(&fdk->keep.rows, paired ? fdk->half[2 * slab + i].rows : fdk->window[slab].rows);
    if (fdk->keep.rows.r0 < fdk->keep.rows.r1) fdk->keep.raw = raw_of(fdk, fdk->keep.rows);
    fdk->window_rows = qb__larger(1, fdk->keep.rows.r1 - fdk->keep.rows.r0);
    fdk->rows_read = fdk->keep.raw.end - fdk->keep.raw.first;
    fdk->raw_rows = fdk->read_rows = qb__larger(1, fdk->rows_read);
    fdk->filtered_rows = (double)(fdk->keep.rows.r1 - fdk->keep.rows.r0);
    fdk->stored_rows = stored_rows(fdk->info, fdk->keep.raw);
}

void qb__fdk_slabs(qb__fdk *fdk, const qb__cut *cut, const size_t *edge, size_t turns) {
    const qb__cut_grid *grid = column_of(fdk, cut);
    const bool paired = qb__fdk_paired(cut);
    const size_t z0 = fdk->region.first[2];
    fdk->turns = turns;
    if (grid) slabs_of_all(fdk, cut);
    fdk->window_rows = fdk->raw_rows = fdk->read_rows = 1;
    fdk->rows_read = 0;
    fdk->rows = fdk->stored_rows = 0;
    for (size_t slab = 0; slab < cut->slabs; slab++) {
        fdk->window[slab] = window_of_both(fdk, paired, z0 + edge[slab], z0 + edge[slab + 1], fdk->half + 2 * slab);
        if (grid)
            measure(fdk, fdk->run + slab * (size_t)grid->rows, fdk->runs[slab], false);
        else
            measure(fdk, paired ? fdk->half + 2 * slab : &fdk->window[slab], paired ? 2 : 1, paired);
    }
    fdk->filtered_rows = fdk->rows;
    fdk->slab_rows = fdk->window_rows;
    if (qb__fdk_kept(cut)) keep_rows(fdk, cut);
}

qb_status qb__fdk_open(void *plan, const qb__cut *cut) {
    qb__fdk *fdk = plan;
    fdk->cut = *cut;
    qb__free(fdk->came);
    fdk->came = NULL;
    return qb__fdk_kept(cut) ? qb__alloc(cut->blocks, sizeof *fdk->came, &fdk->came) : QB_OK;
}

qb__fdk_piece qb__fdk_piece_of(const qb__fdk *fdk, size_t chunk) {
    size_t slab = chunk / fdk->cut.blocks, block = chunk % fdk->cut.blocks;
    const qb__fdk_window *need = &fdk->window[slab];
    qb__fdk_piece p = {.z0 = need->z0,
                       .z1 = need->z1,
                       .view0 = fdk->cut.all_views.first + block * fdk->cut.views,
                       .turns = fdk->turns,
                       .need = need,
                       .first = block == 0};
    p.view1 = qb__smaller(p.view0 + fdk->cut.views, fdk->cut.all_views.end);
    return p;
}

int qb__fdk_ranks(const qb__fdk *fdk) {
    const qb__cut_grid *grid = column_of(fdk, &fdk->cut);
    return grid ? grid->rows : 1;
}

static size_t share(const qb__fdk *fdk, const qb__fdk_piece *p, int row, size_t *first) {
    size_t count;
    qb__cut_rank(p->view1 - p->view0, 1, qb__fdk_ranks(fdk), row, first, &count);
    return count;
}

size_t qb__fdk_share_views(const qb__fdk *fdk, const qb__fdk_piece *piece, int row) {
    size_t first;
    return share(fdk, piece, row, &first);
}

qb__fdk_piece qb__fdk_share_of(const qb__fdk *fdk, size_t chunk) {
    qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    size_t first;
    if (!column_of(fdk, &fdk->cut)) return p;
    const size_t count = share(fdk, &p, fdk->cut.grid->row, &first);
    p.view0 += first;
    p.view1 = p.view0 + count;
    return p;
}

size_t qb__fdk_needs(const qb__fdk *fdk, size_t chunk, const qb__fdk_window **need) {
    const size_t slab = chunk / fdk->cut.blocks;
    const bool paired = qb__fdk_paired(&fdk->cut);
    *need = paired ? fdk->half + 2 * slab : &fdk->window[slab];
    return paired ? 2 : 1;
}

size_t qb__fdk_runs(const qb__fdk *fdk, size_t chunk, const qb__fdk_window **run) {
    const size_t slab = chunk / fdk->cut.blocks;
    if (qb__fdk_kept(&fdk->cut)) {
        *run = &fdk->keep;
        return fdk->came[chunk % fdk->cut.blocks] == slab + 1;
    }
    if (!column_of(fdk, &fdk->cut)) return qb__fdk_needs(fdk, chunk, run);
    *run = fdk->run + slab * (size_t)fdk->cut.grid->rows;
    return fdk->runs[slab];
}

const qb__fdk_window *qb__fdk_window_of(const qb__fdk *fdk, size_t chunk, int row) {
    const size_t slab = chunk / fdk->cut.blocks;
    return fdk->cut.grid ? &fdk->all[(size_t)row * fdk->cut.slabs + slab] : &fdk->window[slab];
}

size_t qb__fdk_raw_offset(const qb__fdk *fdk, const qb__fdk_window *run, size_t number, size_t views) {
    size_t rows = 0;
    for (size_t i = 0; i < number; i++) rows += run[i].raw.end - run[i].raw.first;
    return rows * views * qb__fdk_raw_row(fdk);
}

size_t qb__fdk_raw_row(const qb__fdk *fdk) { return fdk->info->columns * qb_dtype_size(fdk->info->dtype); }

/* Views per reading task. Storage chunks with several rows are unpacked once per block. */
static size_t read_views(const qb__fdk *fdk) {
    const size_t view = fdk->raw_rows * qb__fdk_raw_row(fdk);
    return fdk->info->chunk_rows > 1 ? fdk->cut.views : qb__larger(READ_VIEWS, READ_BYTES / view);
}

/* Number of reading tasks for one run of rows. */
static size_t tasks_of_run(const qb__fdk *fdk, const qb__fdk_piece *p) {
    return p->turns * qb__ceil_div(p->view1 - p->view0, read_views(fdk));
}

void qb__fdk_delegate_reading(qb__fdk *fdk, bool left) { fdk->left = left; }

/* Reading is the first stage to process a chunk: it also reads the rows that its slab needs first. (Not always slab 0,
 * because --resume skips some.) */
static void note_first(qb__fdk *fdk, size_t chunk) {
    size_t *came = &fdk->came[chunk % fdk->cut.blocks];
    if (*came == 0) *came = chunk / fdk->cut.blocks + 1;
}

static size_t read_tasks(void *self, size_t chunk) {
    qb__fdk *fdk = self;
    if (qb__fdk_kept(&fdk->cut)) note_first(fdk, chunk);
    if (fdk->left) return 1;
    const qb__fdk_piece p = qb__fdk_share_of(fdk, chunk);
    const qb__fdk_window *run;
    return qb__larger(1, qb__fdk_runs(fdk, chunk, &run) * tasks_of_run(fdk, &p));
}

/* A task reads some views of one run of rows. */
static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in;
    const qb__fdk *fdk = self;
    const qb__fdk_piece p = qb__fdk_share_of(fdk, chunk);
    const qb__fdk_window *run;
    if (fdk->left || qb__fdk_runs(fdk, chunk, &run) == 0) return QB_OK;
    const size_t number = task / tasks_of_run(fdk, &p);
    char *to = (char *)out + qb__fdk_raw_offset(fdk, run, number, qb__fdk_piece_views(&p));
    run += number, task %= tasks_of_run(fdk, &p);
    const size_t range = p.view1 - p.view0, step = read_views(fdk), each = qb__ceil_div(range, step);
    const size_t from = task % each * step, count = qb__smaller(step, range - from);
    const size_t at = task / each * range + from, first = qb__fdk_piece_view(fdk, &p, at);
    const size_t rows = run->raw.end - run->raw.first;
    if (rows == 0) return QB_OK;
    return qb_scan_read(fdk->scan, first, first + count, run->raw.first, run->raw.end,
                        to + at * rows * qb__fdk_raw_row(fdk));
}

int qb__fdk_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    const qb__fdk *fdk = plan;
    const qb__cut_grid *grid = column_of(fdk, cut);
    const size_t ranks = grid ? (size_t)grid->rows : 1, row = qb__fdk_raw_row(fdk);
    const size_t all = qb__run_count(cut->all_views) * fdk->turns;
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slots,
                            .slot_bytes = qb__ceil_div(cut->views * fdk->turns, ranks) * fdk->read_rows * row,
                            .reads = (double)fdk->rows_read * (double)qb__ceil_div(all, ranks) * (double)row,
                            .first = qb__fdk_kept(cut) ? cut->blocks : 0, /* the other slabs read nothing */
                            .tasks = read_tasks,
                            .run = read_run};
    return 1;
}
