/* SPDX-License-Identifier: MIT */
/* Views of another gain, or another beam, than most. */
#include <math.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan/frame_list.h"
#include "io/scan/frame_steps.h"
#include "io/scan/scan.h"

/* At a gap of the angles an object may look otherwise, and bad views say nothing. scratch[count]. */
static void skip_steps(const double *angles, const unsigned char *bad, size_t count, double *scratch, bool *skip) {
    for (size_t i = 1; angles && i < count; i++) scratch[i - 1] = fabs(angles[i] - angles[i - 1]);
    if (angles && count > 1) qb__sort(scratch, count - 1);
    const double usual = angles && count > 1 ? scratch[(count - 1) / 2] : 0;
    for (size_t i = 0; i < count; i++) {
        skip[i] = i == 0 || bad[i] || bad[i - 1];
        if (angles && i && fabs(angles[i] - angles[i - 1]) > 1.5 * usual) skip[i] = true;
    }
}

static void tell(qb_scan *scan, const bool *other, size_t others, size_t count, double factor) {
    char which[160];
    qb__frame_list_words(other, scan->stored, which, sizeof which);
    if (scan->info.quantity == QB_LINE_INTEGRAL)
        qb__print(scan->gains, sizeof scan->gains,
                  "line integrals of views %s (%zu of %zu) are %.3g times those of the views around them: scale them, "
                  "or leave them out by --exclude",
                  which, others, count, factor);
    else
        qb__print(scan->gains, sizeof scan->gains,
                  "views %s (%zu of %zu) are %.3g times as bright as the views around them: give --air auto, or leave "
                  "them out by --exclude",
                  which, others, count, factor);
}

qb_status qb__scan_find_gains(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count) {
    bool *skip = NULL, *chosen = NULL;
    double *level = NULL, *scratch = NULL, most = 0;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof *skip, &skip));
    QB__TRY(qb__alloc(scan->stored, sizeof *chosen, &chosen));
    QB__TRY(qb__alloc(count, sizeof *level, &level));
    QB__TRY(qb__alloc(count, sizeof *scratch, &scratch));
    skip_steps(scan->info.angles, bad, count, scratch, skip);
    const size_t others = qb__frame_levels(frames, skip, count, level, scratch);
    for (size_t i = 0; others && i < count; i++) {
        if (level[i] == 0) continue;
        chosen[qb__scan_stored(scan, i)] = true;
        if (fabs(level[i]) > fabs(most)) most = level[i];
    }
    if (others) tell(scan, chosen, others, count, exp(most));
out:
    qb__free(skip);
    qb__free(chosen);
    qb__free(level);
    qb__free(scratch);
    return status;
}
