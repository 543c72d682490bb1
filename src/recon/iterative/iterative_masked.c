/* SPDX-License-Identifier: MIT */
/* Masked line integrals come as NaN. They become -0, which marks them for the solver: weight 0. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/grid.h"
#include "geometry/partition.h"
#include "io/scan/scan.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

typedef struct marking {
    float *lines;
    size_t view;    /* number of line integrals of a view */
    uint64_t *lost; /* [view] */
} marking;

static void count_view(void *context, size_t view, int worker) {
    (void)worker;
    const marking *m = context;
    const float *line = m->lines + view * m->view;
    uint64_t lost = 0;
    for (size_t i = 0; i < m->view; i++) lost += isnan(line[i]) != 0;
    m->lost[view] = lost;
}

static void mark_view(void *context, size_t view, int worker) {
    (void)worker;
    const marking *m = context;
    float *line = m->lines + view * m->view;
    for (size_t i = 0; i < m->view; i++) line[i] = isnan(line[i]) ? -0.0f : line[i] == 0 ? 0.0f : line[i];
}

qb_status qb__iterative_fill_masked(qb__iterative_run *r, size_t views, float *lines) {
    const qb__iterative *it = r->it;
    qb__pool *pool = it->projector->pool;
    marking m = {.lines = lines, .view = it->info->rows * it->info->columns};
    r->lost = 0;
    if (!views) return QB_OK;
    QB__OR_RETURN(qb__alloc(views, sizeof *m.lost, &m.lost));
    qb__pool_for(pool, views, count_view, &m);
    for (size_t view = 0; view < views; view++) r->lost += m.lost[view];
    if (r->lost) qb__pool_for(pool, views, mark_view, &m);
    qb__free(m.lost);
    return QB_OK;
}

/* Finds slices that hardly any ray has measured: in a cone beam, those that see dead detector rows. If slices are
 * detector rows, the scan itself knows them. */

qb_status qb__iterative_find_lost(const qb__iterative *it, bool **lost) {
    const double MOST = 0.95;
    const bool *lost_rows = it->scan ? it->scan->lost_rows : NULL;
    qb__matrix *matrices = NULL;
    qb_status status;
    if (!lost_rows || it->geometry == &it->own) return QB_OK;
    QB__TRY(qb__alloc(it->info->views, sizeof *matrices, &matrices));
    QB__TRY(qb__matrices_on_grid(it->geometry, &it->asked, matrices));
    QB__TRY(qb__alloc(it->asked.n[2], sizeof **lost, lost));
    const qb__rows_problem of = {it->info->views, (const double(*)[12])matrices, it->asked.n[0], it->asked.n[1],
                                 it->info->rows};
    for (size_t z = 0; z < it->asked.n[2]; z++)
        (*lost)[z] = qb__reach_share(qb__reach_of_slice(&of, z), lost_rows, it->info->rows) >= MOST;
out:
    qb__free(matrices);
    return status;
}
