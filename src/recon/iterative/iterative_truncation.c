/* SPDX-License-Identifier: MIT */
/* What was measured beside the volume: least squares would find it within. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "geometry/ray_misses.h"
#include "recon/iterative/iterative.h"

enum { LOOKED_AT = 1 << 19 };     /* rays, of all ranks together */
static const double least = 0.02; /* of all: more than noise, and than an open beam that is a little off */

qb_status qb__iterative_find_truncation(qb__iterative_run *r, size_t views, const float *lines) {
    const qb__iterative *it = r->it;
    const size_t rows = it->info->rows, columns = it->info->columns;
    const size_t step = (size_t)ceil(sqrt((double)qb__iterative_equations(it) / LOOKED_AT));
    const size_t down = qb__smaller(step, rows), along = qb__smaller(step, columns);
    double all = 0, outside = 0;
    for (size_t v = 0; v < views; v++) {
        for (size_t row = down / 2; row < rows; row += down) {
            for (size_t c = along / 2; c < columns; c += along) {
                const double y = (double)lines[(v * rows + row) * columns + c];
                all += y;
                if (qb__ray_misses(it->rays, it->cut.all_views.first + v, (double)c, (double)row, &it->grid, INFINITY,
                                   false))
                    outside += y;
            }
        }
    }
    qb_status status = qb__iterative_total(r, &all);
    if (status == QB_OK) status = qb__iterative_total(r, &outside);
    r->outside = all > 0 ? outside / all : 0;
    if (status == QB_OK && r->outside > least)
        qb__warn(r->run->env,
                 "%.3g %% of all attenuation was measured by rays that meet no voxel: give a larger --size or --voxel, "
                 "or check the axis" QB__CODE("beyond-volume"),
                 100 * r->outside);
    return status;
}

void qb__iterative_note_truncation(const qb__iterative_run *r, cJSON *convergence) {
    if (r->outside > least) cJSON_AddNumberToObject(convergence, "beyond_the_volume", r->outside);
}
