/* SPDX-License-Identifier: MIT */
/* Slices of which nothing was measured: a gap between detector modules, dead rows. */
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fdk/fdk.h"

static bool all_lost(const bool *lost_rows, size_t row, size_t end) {
    while (row < end && lost_rows[row]) row++;
    return row == end;
}

qb_status qb__fdk_find_lost(qb__fdk *fdk) {
    const bool *lost_rows = fdk->scan->lost_rows;
    size_t lost = 0;
    if (!lost_rows) return QB_OK;
    const qb_status status = qb__alloc(fdk->grid.n[2], sizeof *fdk->lost, &fdk->lost);
    for (size_t z = 0; status == QB_OK && z < fdk->grid.n[2]; z++) {
        size_t first, end;
        qb__fdk_rows(fdk, z, 1, &first, &end);
        lost += fdk->lost[z] = all_lost(lost_rows, first, end);
    }
    if (lost) return status;
    qb__free(fdk->lost);
    fdk->lost = NULL;
    return status;
}
