/* SPDX-License-Identifier: MIT */
/* Slices without any measured value, or with less than half of them: a gap between detector modules, dead rows. */
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fdk/fdk.h"

static bool all_lost(const bool *lost_rows, size_t row, size_t end) {
    while (row < end && lost_rows[row]) row++;
    return row == end;
}

/* Rows of a resampled detector are interpolated: they count as lost if all rows that they read are lost. */
static bool is_lost(const qb__fdk *fdk, size_t z) {
    const double MOST = 0.5;
    const bool *lost_rows = fdk->scan->lost_rows;
    size_t first, end;
    qb__fdk_rows(fdk, z, 1, &first, &end); /* also finds the range */
    if (all_lost(lost_rows, first, end)) return true;
    return !fdk->resampled && qb__reach_share(fdk->reach[fdk->region.first[2] + z], lost_rows, fdk->info->rows) >= MOST;
}

qb_status qb__fdk_find_lost(qb__fdk *fdk) {
    size_t lost = 0;
    if (!fdk->scan->lost_rows) return QB_OK;
    const qb_status status = qb__alloc(fdk->grid.n[2], sizeof *fdk->lost, &fdk->lost);
    for (size_t z = 0; status == QB_OK && z < fdk->grid.n[2]; z++) lost += fdk->lost[z] = is_lost(fdk, z);
    if (lost) return status;
    qb__free(fdk->lost);
    fdk->lost = NULL;
    return status;
}
