/* SPDX-License-Identifier: MIT */
/* Spreading a volume over the views on a device; the CPU filters the result. */
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/method.h"

typedef struct block {
    const float *lines;
    size_t first, image; /* view of task 0; floats of a view */
    qb__finish_view *finish;
    void *context;
} block;

static void finish_view(void *context, size_t task, int worker) {
    const block *b = context;
    b->finish(b->context, b->first + task, b->lines + task * b->image, worker);
}

static qb_status spread_all(const qb__transposing *t, const qb__spread_problem *p, qb__spread *spread, size_t views,
                            block *b) {
    float *lines = NULL;
    qb_status status;
    QB__TRY(qb__alloc(views, b->image * sizeof *lines, &lines));
    b->lines = lines;
    for (b->first = 0; b->first < p->views; b->first += views) {
        const size_t count = qb__smaller(views, p->views - b->first);
        QB__TRY(qb__check_cancel(t->env));
        QB__TRY(qb__spread_views(spread, b->first, b->first + count, lines));
        qb__pool_for(t->pool, count, finish_view, b);
        qb__progress(t->env, "transpose", b->first + count, p->views);
    }
out:
    qb__free(lines);
    return status;
}

qb_status qb__transpose_on_device(const qb__transposing *t, const qb__spread_problem *problem, qb__finish_view *finish,
                                  void *context, bool *done) {
    const size_t views = qb__spread_block(problem);
    qb__spread *spread;
    *done = false;
    if (!t->device || !qb__spread_possible(problem)) return QB_OK;
    qb_status status = qb__spread_open(t->device, problem, views, t->volume, &spread);
    if (status == QB_NO_MEMORY) {
        qb__info(t->env, "the transpose has no room on the device: the CPU computes it");
        return QB_OK;
    }
    if (status != QB_OK) return status;
    block b = {.image = problem->rows * problem->columns, .finish = finish, .context = context};
    status = spread_all(t, problem, spread, views, &b);
    qb__spread_close(spread);
    *done = status == QB_OK;
    return status;
}
