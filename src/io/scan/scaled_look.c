/* SPDX-License-Identifier: MIT */
/* Did a program scale every view by itself to 0..1? Then each view has one number 0 and one number 1, which no beam makes. The first
 * view of another scan says so after a few rows. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { VIEWS = 4 };

/* Whether all numbers of a view are within 0..1 and reach both; where air is 1 in many pixels, it is clipped. */
static qb_status look(qb_scan *scan, size_t view, char *raw, float *line, bool *scaled) {
    const double MANY = 0.02;
    const qb_scan_info *info = &scan->info;
    size_t zeros = 0, ones = 0;
    *scaled = false;
    for (size_t row = 0; row < info->rows; row++) {
        const qb_status status = qb_scan_read(scan, view, view + 1, row, row + 1, raw);
        if (status != QB_OK) return status;
        qb_convert_to_float(raw, info->dtype, info->columns, line);
        for (size_t i = 0; i < info->columns; i++) {
            if (!(line[i] >= 0 && line[i] <= 1)) return QB_OK;
            zeros += line[i] == 0;
            ones += line[i] == 1;
        }
    }
    *scaled = zeros && ones && (double)ones < MANY * (double)(info->rows * info->columns);
    return QB_OK;
}

qb_status qb__scan_look_at_scales(qb_scan *scan) {
    const qb_scan_info *info = &scan->info;
    char *raw = NULL;
    float *line = NULL;
    bool scaled = true;
    qb_status status = QB_OK;
    if (!qb_dtype_is_float(info->dtype) || info->quantity == QB_COUNTS || *scan->refused) return QB_OK;
    if (scan->parts.data.source->computes || qb__scan_on_device(scan) || info->views < VIEWS) return QB_OK;
    QB__TRY(qb__alloc(info->columns, qb_dtype_size(info->dtype), &raw));
    QB__TRY(qb__alloc(info->columns, sizeof *line, &line));
    for (size_t i = 0; i < VIEWS && scaled; i++)
        QB__TRY(look(scan, i * (info->views - 1) / (VIEWS - 1), raw, line, &scaled));
    if (scaled)
        qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS,
                    "each view spans exactly 0 to 1: a program scaled every view by itself, and values are lost; give "
                    "the views as they were before" QB__CODE("views-scaled"));
out:
    qb__free(raw);
    qb__free(line);
    return status;
}
