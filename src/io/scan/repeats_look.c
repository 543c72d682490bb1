/* SPDX-License-Identifier: MIT */
/* Detects views with the numbers of the view before: the stage or the camera stood still, or a program filled a gap. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

/* The usual angular step; 0: there are no angles. */
static double usual_step(const double *angles, size_t count, double *scratch) {
    if (!angles || count < 2) return 0;
    for (size_t i = 1; i < count; i++) scratch[i - 1] = fabs(angles[i] - angles[i - 1]);
    qb__sort(scratch, count - 1);
    return scratch[(count - 1) / 2];
}

/* The samples are equal, and so are the numbers of the middle row. */
static qb_status repeats(qb_scan *scan, const qb__frame *frame, size_t view, char *raw, bool *same) {
    const size_t row = scan->info.rows / 2, bytes = scan->info.columns * qb_dtype_size(scan->info.dtype);
    *same = frame->step.size == 0 && frame->step.spread == 0 && frame->least < frame->most; /* false for NaN */
    if (!*same) return QB_OK;
    const qb_status status = qb_scan_read(scan, view - 1, view + 1, row, row + 1, raw);
    *same = status == QB_OK && memcmp(raw, raw + bytes, bytes) == 0;
    return status;
}

qb_status qb__scan_find_repeats(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count) {
    enum { LEAST_OTHERS = 4 };
    const double NO_STEP = 0.25, NO_NOISE = 1e-4;
    const double *angles = scan->info.angles;
    qb__finding finding = {.code = QB__CODE("views-repeated"), .what = "views", .of = count, .done = "kept"};
    char *raw = NULL;
    bool *which = NULL, same;
    double *scratch = NULL;
    size_t others = 0;
    qb_status status = QB_OK;
    if (qb__scan_on_device(scan) || count < 3) return QB_OK;
    QB__TRY(qb__alloc(2 * scan->info.columns, qb_dtype_size(scan->info.dtype), &raw));
    QB__TRY(qb__alloc(scan->stored, sizeof *which, &which));
    QB__TRY(qb__alloc(count, sizeof *scratch, &scratch));
    const double usual = usual_step(angles, count, scratch);
    for (size_t i = 1; i < count; i++) {
        if (bad[i] || bad[i - 1] || (angles && fabs(angles[i] - angles[i - 1]) < NO_STEP * usual)) continue;
        QB__TRY(repeats(scan, &frames[i], i, raw, &same));
        if (!same) {
            if (!isnan(frames[i].step.spread)) scratch[others++] = (double)frames[i].step.spread;
            continue;
        }
        which[qb__scan_stored(scan, i)] = true;
        finding.count++;
    }
    if (!finding.count || others < LEAST_OTHERS) goto out;
    qb__sort(scratch, others);
    if (scratch[others / 2] < NO_NOISE) goto out; /* a round object without noise */
    qb__frame_list_words(which, scan->stored, finding.which, sizeof finding.which);
    qb__scan_find(scan, &finding, QB_PROBLEM_FRAMES,
                  "views %s (%zu of %zu) repeat the view before them: the stage or the camera stood still; give "
                  "--exclude or their angles%s",
                  finding.which, finding.count, count, finding.code);
out:
    QB__FREE(raw, which, scratch);
    return status;
}
