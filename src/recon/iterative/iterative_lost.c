/* SPDX-License-Identifier: MIT */
/* Finds slices that hardly any ray has measured: in a cone beam, those that see dead detector rows. If slices are
 * detector rows, the scan itself knows them. */

#include "base/memory.h"
#include "base/status.h"
#include "geometry/grid.h"
#include "geometry/partition.h"
#include "io/scan/scan.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

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
