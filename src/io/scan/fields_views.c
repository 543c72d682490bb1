/* SPDX-License-Identifier: MIT */
/* Detects flats or darks that are views of the scan: the first, the middle and the last frame are compared. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"

/* The same image at the same position, in any file. */
static qb_status is_view(qb_scan *scan, const qb__frames *fields, size_t frame, char *both, bool *same) {
    const qb_scan_info *info = &scan->info;
    const size_t bytes = info->rows * info->columns * qb_dtype_size(info->dtype);
    const qb__region region = {frame, 1, 1, 0, info->rows};
    size_t view = 0;
    *same = false;
    while (view < info->views && qb__scan_stored(scan, view) != frame) view++;
    if (view == info->views) return QB_OK;
    QB__OR_RETURN(qb__frames_read(fields, &region, both));
    QB__OR_RETURN(qb__scan_read_stored(scan, view, view + 1, 0, info->rows, both + bytes));
    /* not if it has one value everywhere */
    *same = memcmp(both, both + bytes, bytes) == 0 && memcmp(both, both + 1, bytes - 1) != 0;
    return QB_OK;
}

qb_status qb__scan_tell_views(qb_scan *scan, const char *option, const qb__frames *fields, const bool *bad) {
    const qb_scan_info *info = &scan->info;
    char *both = NULL;
    bool same = false;
    size_t frame = 0;
    qb_status status;
    if (*scan->refused || info->quantity != QB_COUNTS || fields->source->dtype != info->dtype) return QB_OK;
    QB__TRY(qb__alloc(2 * info->rows * info->columns, qb_dtype_size(info->dtype), &both));
    for (size_t i = 0; i < 3 && !same; i++) {
        frame = i * (fields->count - 1) / 2;
        if (!bad[frame]) QB__TRY(is_view(scan, fields, frame, both, &same));
    }
    if (same)
        qb__note_of(&scan->parts.notes, QB_PROBLEM_FIELDS,
                    "--%s: frame %zu is view %zu itself: what the views share vanishes; give frames without the "
                    "object, or --exclude" QB__CODE("fields-are-views"),
                    option, frame, frame);
out:
    qb__free(both);
    return status;
}
