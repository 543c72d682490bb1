/* SPDX-License-Identifier: MIT */
/* Spreading a volume over the views, on a device or the CPU; the CPU filters the result. */
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/method.h"

typedef struct block {
    const qb__transpose_work *work;
    char *scratch;       /* [thread][work->bytes] */
    size_t first, image; /* view of task 0; floats of a view */
    const float *lines;  /* from the device; NULL: the CPU spreads */
} block;

static void transpose_view(void *context, size_t task, int worker) {
    const block *b = context;
    char *scratch = b->scratch + (size_t)worker * b->work->bytes;
    if (b->lines)
        b->work->finish(b->work->context, b->first + task, b->lines + task * b->image, scratch);
    else
        b->work->spread(b->work->context, b->first + task, scratch);
}

/* `lines`: room for the views that the device spreads at a time. */
static qb_status all_views(const qb__transposing *t, block *b, qb__spread *spread, size_t most, float *lines) {
    const size_t views = b->work->views;
    b->lines = lines;
    for (b->first = 0; b->first < views; b->first += most) {
        const size_t count = qb__smaller(most, views - b->first);
        QB__OR_RETURN(qb__check_cancel(t->env));
        if (spread) QB__OR_RETURN(qb__spread_views(spread, b->first, b->first + count, lines));
        qb__pool_for(t->pool, count, transpose_view, b);
        qb__progress(t->env, "transpose", b->first + count, views);
    }
    return QB_OK;
}

static qb_status on_device(const qb__transposing *t, block *b, bool *done) {
    const qb__spread_problem *problem = b->work->problem;
    if (!t->device || !qb__spread_possible(problem)) return QB_OK;
    const size_t views = qb__spread_block(problem);
    float *lines = NULL;
    qb__spread *spread;
    qb_status status = qb__spread_open(t->device, problem, views, t->volume, &spread);
    if (status == QB_NO_MEMORY) {
        qb__info(t->env, "the transpose has no room on the device: the CPU computes it");
        return QB_OK;
    }
    if (status != QB_OK) return status;
    b->image = problem->rows * problem->columns;
    status = qb__alloc(views, b->image * sizeof *lines, &lines);
    if (status == QB_OK) status = all_views(t, b, spread, views, lines);
    qb__free(lines);
    qb__spread_close(spread);
    *done = true;
    return status;
}

qb_status qb__transpose_views(const qb__transposing *t, const qb__transpose_work *work) {
    block b = {.work = work};
    bool done = false;
    qb_status status = qb__alloc((size_t)qb__pool_threads(t->pool), work->bytes, &b.scratch);
    if (status == QB_OK) status = on_device(t, &b, &done);
    if (status == QB_OK && !done) status = all_views(t, &b, NULL, work->block, NULL);
    qb__free(b.scratch);
    return status;
}
