/* SPDX-License-Identifier: MIT */
/* Detects views in which an opaque thing extends inwards from one end of the rows: a pillar of a loading frame, a
 * cable, a moving shutter. */
#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"

/* The share of columns with little beam, as the median over the good views that were checked: an object that extends
 * beyond that end takes most of the beam there, and all of it in some views. */
static double usual(const qb__frame *frames, const unsigned char *bad, size_t count, int side, double *scratch) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (frames[i].looked && !bad[i]) scratch[known++] = (double)frames[i].dim[side];
    return known ? qb__median(scratch, known) : 1;
}

static void tell(qb_scan *scan, const bool *chosen, size_t found, size_t count, double most, int side) {
    qb__finding finding = {
        .code = QB__CODE("views-covered"), .what = "views", .count = found, .of = count, .done = "kept"};
    qb__frame_list_words(chosen, scan->stored, finding.which, sizeof finding.which);
    qb__scan_find(scan, &finding, QB_PROBLEM_FRAMES,
                  "views %s (%zu of %zu) have no beam in up to %.0f %% of their columns, from the %s: something opaque "
                  "is in front; leave them out by --exclude%s",
                  finding.which, found, count, 100 * most, side ? "right" : "left", finding.code);
}

qb_status qb__scan_find_covered(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count) {
    const double LEAST = 0.06, USUAL = 0.02;
    bool *chosen = NULL;
    double *scratch = NULL;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof *scratch, &scratch));
    for (int side = 0; side < 2; side++) {
        double most = 0;
        size_t found = 0;
        if (usual(frames, bad, count, side, scratch) > USUAL) continue;
        qb__free(chosen);
        QB__TRY(qb__alloc(scan->stored, sizeof *chosen, &chosen));
        for (size_t i = 0; i < count; i++) {
            if (!frames[i].looked || bad[i] || !((double)frames[i].covered[side] > LEAST)) continue;
            chosen[qb__scan_stored(scan, i)] = true;
            most = fmax(most, (double)frames[i].covered[side]);
            found++;
        }
        if (found) tell(scan, chosen, found, count, most, side);
    }
out:
    QB__FREE(chosen, scratch);
    return status;
}
