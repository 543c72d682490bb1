/* SPDX-License-Identifier: MIT */
/* Finds slices that hardly any ray has measured: in a cone beam, those that see dead detector rows. If slices are
 * detector rows, the scan itself knows them. */

#include "base/memory.h"
#include "base/status.h"
#include "geometry/partition_cone.h"
#include "io/scan/scan.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

qb_status qb__iterative_find_lost(const qb__iterative *it, bool **lost) {
    const double MOST = 0.95;
    const bool *lost_rows = it->scan ? it->scan->lost_rows : NULL;
    const qb__rows_problem of = {it->info->views, (const double(*)[12])it->projector->matrices, it->grid.n[0],
                                 it->grid.n[1], it->info->rows};
    if (!lost_rows || it->geometry == &it->own) return QB_OK;
    const qb_status status = qb__alloc(it->asked.n[2], sizeof **lost, lost);
    for (size_t z = 0; status == QB_OK && z < it->asked.n[2]; z++)
        (*lost)[z] = qb__reach_share(qb__reach_of_slice(&of, z + it->beyond[0]), lost_rows, it->info->rows) >= MOST;
    return status;
}
