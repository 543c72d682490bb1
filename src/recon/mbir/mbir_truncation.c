/* SPDX-License-Identifier: MIT */
/* Attenuation measured outside the volume: its amount, and the volume that includes it. */
#include "recon/mbir/mbir_descent.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "geometry/grid.h"

/* Parts of a view: rays that hit the volume, and rays on its left and right that do not. */
enum { LEFT, MET, RIGHT, PARTS };
typedef struct part {
    double sum, size; /* sums of y and of |y| */
    double step;      /* sum of squared differences between neighbouring columns */
    uint64_t count, steps;
} part;

typedef struct looking {
    const qb__mbir *m;
    const float *lines, *weights;
    size_t slices, columns;
    double limit;
    part (*parts)[PARTS]; /* [view] */
} looking;

static bool misses(const qb__mbir *m, size_t view, size_t column) {
    return qb__ray_misses(&m->geometry, view, (double)column, ((double)m->geometry.rows - 1) / 2, &m->grid,
                          m->settings.radius * m->grid.voxel[0], true);
}

/* Add a row. Columns first to end - 1 see the volume. */
static void look_at_row(const looking *l, size_t view, size_t row, size_t first, size_t end) {
    const part *before = NULL;
    for (size_t c = 0; c < l->columns; c++) {
        const size_t at = row * l->columns + c;
        const double y = (double)l->lines[at];
        part *p = &l->parts[view][c < first ? LEFT : c >= end ? RIGHT : MET];
        const bool counts = fabs(y) <= l->limit && !(l->weights && !(l->weights[at] > 0));
        if (counts) {
            const double step = before == p ? y - (double)l->lines[at - 1] : 0;
            p->sum += y;
            p->size += fabs(y);
            p->step += step * step;
            p->count++;
            p->steps += before == p;
        }
        before = counts ? p : NULL;
    }
}

static void look_at_view(void *context, size_t view, int worker) {
    (void)worker;
    const looking *l = context;
    size_t first = 0, end = l->columns;
    while (first < end && misses(l->m, view, first)) first++;
    while (end > first && misses(l->m, view, end - 1)) end--;
    for (size_t s = 0; s < l->slices; s++) look_at_row(l, view, view * l->slices + s, first, end);
}

/* Width of a volume that extends as far to both sides as the detector sees on its wider side. (On the flat detector of
 * a fan, rays are closer together farther out; then the width is slightly larger than necessary.) */
static size_t width_for(const qb__mbir *m, size_t view) {
    const qb__footprints *s = &m->matrix.footprints;
    const double x = ((double)m->grid.n[0] - 1) / 2, y = ((double)m->grid.n[1] - 1) / 2;
    double h = s->ax[view] * x + s->ay[view] * y + s->h0[view], each = hypot(s->ax[view], s->ay[view]);
    if (s->wx) {
        const double w = s->wx[view] * x + s->wy[view] * y + s->w0[view];
        h /= w;
        each = hypot(s->ax[view] - h * s->wx[view], s->ay[view] - h * s->wy[view]) / w;
    }
    if (s->c0) {
        each *= s->per_radian / (1 + h * h);
        h = s->c0[view] + s->per_radian * atan(h);
    }
    return (size_t)ceil(2 * fmax(h + 0.5, (double)m->info->columns - 0.5 - h) / each - 1e-6);
}

/* True if a side shows more than noise. Outside an object, values are around zero: the sum over all rays on a side is
 * below its noise, which is estimated from differences between columns, or, if the open beam is inaccurate, below 5 %
 * of the mean of rays through the volume. That is the limit above which rays have met the object
 * (qb__mbir_sigmas_of()). */
static bool is_something(const part *p, double mean) {
    const double count = (double)p->count, noise = p->steps ? p->step / (2 * (double)p->steps) : 0;
    return p->count && p->sum > 0.05 * mean * count && p->sum > 3 * sqrt(count * noise);
}

static void sum_up(const qb__mbir *m, const looking *l, qb__mbir_truncation *truncation) {
    double size = 0, met = 0, most = 0, all = 0;
    uint64_t count = 0;
    for (size_t view = 0; view < m->info->views; view++) {
        const part *p = l->parts[view];
        met += p[MET].size;
        count += p[MET].count;
        size += p[LEFT].size + p[MET].size + p[RIGHT].size;
    }
    const double mean = count ? met / (double)count : 0;
    for (size_t view = 0; view < m->info->views; view++) {
        double sum = 0;
        for (int side = LEFT; side < PARTS; side += RIGHT - LEFT) {
            const part *p = &l->parts[view][side];
            if (is_something(p, mean)) sum += p->sum;
        }
        all += sum;
        if (sum > most) {
            most = sum;
            truncation->view = view;
            truncation->wide = width_for(m, view);
        }
    }
    truncation->share = size > 0 ? all / size : 0;
}

qb_status qb__mbir_truncation_find(const qb__mbir *m, size_t slices, const float *lines, const float *weights,
                                   double limit, qb__pool *pool, qb__mbir_truncation *truncation) {
    looking l = {
        .m = m, .lines = lines, .weights = weights, .slices = slices, .columns = m->info->columns, .limit = limit};
    *truncation = (qb__mbir_truncation){0};
    QB__OR_RETURN(qb__alloc(m->info->views, sizeof *l.parts, &l.parts));
    qb__pool_for(pool, m->info->views, look_at_view, &l);
    sum_up(m, &l, truncation);
    qb__free(l.parts);
    return QB_OK;
}

bool qb__mbir_truncation_warn(const qb__mbir *m, size_t row, size_t slices, const qb__mbir_truncation *truncation,
                              const qb_env *env) {
    const double side = (double)qb__larger(m->grid.n[0], m->grid.n[1]);
    char voxel[64] = " and no --roi";
    if (truncation->share < 0.01) return false;
    if (!(m->options->roi > 0))
        qb__print(voxel, sizeof voxel, " or --voxel %.4g", m->grid.voxel[0] * (double)truncation->wide / side);
    qb__warn(env,
             "slices %zu to %zu: %.3g %% of all attenuation was measured by rays that meet no voxel (most in view "
             "%zu): give --size %zu%s" QB__CODE("beyond-volume"),
             row, row + slices - 1, 100 * truncation->share, truncation->view, truncation->wide, voxel);
    return true;
}

void qb__mbir_truncation_note(const qb__mbir_truncation *truncation, cJSON *slab) {
    if (truncation->share > 0) cJSON_AddNumberToObject(slab, "beyond_the_volume", truncation->share);
}

size_t qb__mbir_truncation_bytes(const qb__mbir *m) { return m->info->views * sizeof(part[PARTS]); }
