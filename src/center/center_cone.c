/* SPDX-License-Identifier: MIT */
/* Finds the height of a cone beam's detector and its rotation in its plane, from planes through two source
 * positions. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "center/center.h"
#include "io/scan/scan.h"
#include "prep/cone_place.h"

qb_status qb__center_cone(qb_scan *scan, const qb_prep_options *prep, double sod, double sdd,
                          const qb__center_chosen *at, qb__pool *pool, qb_center_result *result) {
    enum { ROOM = 64 << 20 };
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb_env quiet = {.struct_size = sizeof quiet, .threads = 1};
    const double stated = isnan(info->detector_offset[1]) ? 0 : info->detector_offset[1] / info->pixel_v;
    qb__circle circle = {.beam = QB_BEAM_CONE,
                         .sod = sod,
                         .sdd = sdd,
                         .pixel_u = info->pixel_size,
                         .pixel_v = info->pixel_v,
                         .column = result->column,
                         .row = qb__row_read(info, 0.5 * ((double)info->whole_rows - 1)) - stated};
    qb_prep_options steps = *prep;
    qb__prepare *prepare;
    qb__cone_height found;
    double looked = 0;
    steps.rings = NULL;
    qb_status status = qb__prepare_create(scan, &steps, &(qb__prepared){.row1 = info->rows}, &quiet, &prepare);
    if (status == QB_OK)
        status = qb__cone_height_find(scan, prepare, &circle, info->angles, 0, info->rows, ROOM, pool, &found);
    qb__prepare_destroy(prepare);
    if (status != QB_OK || isnan(found.rows)) return status;
    for (size_t i = 0; i < at->rows; i++) looked += (double)at->row[i] / (double)at->rows;
    /* If the detector is turned in its plane, the axis crosses the examined rows and the row level with the source at
     * different columns. */
    if (found.better[1] > 0)
        result->column +=
            tan(found.turn / 57.29577951308232) * (looked - circle.row - found.rows) * info->pixel_v / info->pixel_size;
    result->row = qb__row_whole(info, circle.row + found.rows);
    result->row_confidence = found.confidence[0];
    result->tilt = found.turn;
    result->tilt_confidence = found.confidence[1];
    return QB_OK;
}
