/* SPDX-License-Identifier: MIT */
/* Attenuation outside the volume, which least squares would put into it. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "geometry/grid.h"
#include "recon/iterative/iterative.h"

enum { LOOKED_AT = 1 << 19 }; /* number of rays that are checked, of all ranks together */
/* Shares of the total attenuation: for all rays, more than noise and an inaccurate open beam; for strong rays only. */
static const double least = 0.02, least_strong = 0.001;

typedef struct sums {
    double all, square, size; /* sums of y, y^2 and |y| over all rays */
    /* sums of y over rays that hit no voxel, and over those of them that an object certainly attenuates */
    double outside, strong;
} sums;

/* Add every step[0]-th row and every step[1]-th column of a view. With a limit, only rays outside the volume count. */
static void add_view(const qb__iterative *it, size_t view, const float *lines, const size_t step[2], double limit,
                     sums *s) {
    const size_t rows = it->info->rows, columns = it->info->columns;
    for (size_t row = step[0] / 2; row < rows; row += step[0]) {
        for (size_t c = step[1] / 2; c < columns; c += step[1]) {
            const double y = (double)lines[row * columns + c];
            if (isnan(limit)) {
                s->all += y, s->square += y * y, s->size += fabs(y);
            } else if (qb__ray_misses(it->geometry, view, (double)c, (double)row, &it->asked, INFINITY, false)) {
                s->outside += y;
                s->strong += fabs(y) > limit ? y : 0;
            }
        }
    }
}

/* Two criteria: the share of all rays, and that of strong rays only. An object that extends beyond the volume in some
 * views only, or above it, affects few rays, but its whole image is wrong. */
qb_status qb__iterative_find_truncation(qb__iterative_run *r, size_t views, const float *lines) {
    const double PART = 0.25; /* share of a typical line integral through the object */
    const qb__iterative *it = r->it;
    const size_t each = it->info->rows * it->info->columns;
    const size_t many = (size_t)ceil(sqrt((double)qb__iterative_equations(it) / LOOKED_AT));
    const size_t step[2] = {qb__smaller(many, it->info->rows), qb__smaller(many, it->info->columns)};
    sums s = {0};
    for (size_t v = 0; v < views; v++) add_view(it, v, lines + v * each, step, NAN, &s);
    qb_status status = qb__iterative_total(r, &s.all);
    if (status == QB_OK) status = qb__iterative_total(r, &s.square);
    if (status == QB_OK) status = qb__iterative_total(r, &s.size);
    const double limit = s.size > 0 ? PART * s.square / s.size : INFINITY;
    for (size_t v = 0; v < views && status == QB_OK; v++)
        add_view(it, qb__iterative_scan_view(it, v), lines + v * each, step, limit, &s);
    if (status == QB_OK) status = qb__iterative_total(r, &s.outside);
    if (status == QB_OK) status = qb__iterative_total(r, &s.strong);
    const bool much = status == QB_OK && s.all > 0 && (s.outside > least * s.all || s.strong > least_strong * s.all);
    r->outside = much ? s.outside / s.all : 0;
    if (much)
        qb__warn(r->run->env,
                 "%.3g %% of all attenuation was measured by rays that meet no voxel: give a larger --size or --voxel, "
                 "or check the axis" QB__CODE("beyond-volume"),
                 100 * r->outside);
    return status;
}

void qb__iterative_note_truncation(const qb__iterative_run *r, cJSON *convergence) {
    if (r->outside > 0) cJSON_AddNumberToObject(convergence, "beyond_the_volume", r->outside);
}
