/* SPDX-License-Identifier: MIT */
#include "recon/draft_segments.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"

enum { LOOKED = 24, RAYS = 2000 };

/* Rays of a few views: their line integrals, and their paths in both materials. */
typedef struct ray {
    float p, light, dense; /* mm; of the light material at its own density */
} ray;

typedef struct sample {
    qb__segments *s;
    const qb__two *two;
    size_t voxels;
    qb_geometry rays; /* a few views */
    qb_projector *projector;
    float middle;             /* median value of dense voxels */
    float *p, *light, *dense; /* [view][row][column] */
    ray *ray;
    size_t count;
} sample;

/* Dense share of a voxel with this value. even: all dense voxels have the median density, and the share is at most 1.
 * Otherwise the share may exceed 1. */
static float share_of(const sample *m, float value, bool even) {
    const float base = (float)m->two->base, full = even ? m->middle : (float)m->two->dense;
    if (!(value > (float)m->two->above)) return 0;
    const float share = (value - base) / (full - base);
    return even ? fminf(share, 1) : share;
}

/* Median of the dense voxels. */
static qb_status find_middle(sample *m, const float *volume) {
    const size_t voxels = m->voxels;
    float *some = NULL;
    size_t dense = 0;
    for (size_t i = 0; i < voxels; i++) dense += volume[i] > (float)m->two->above;
    m->s->share = (double)dense / (double)voxels;
    const qb_status status = qb__alloc(dense, sizeof *some, &some);
    if (status != QB_OK || dense == 0) return status;
    dense = 0;
    for (size_t i = 0; i < voxels; i++)
        if (volume[i] > (float)m->two->above) some[dense++] = volume[i];
    m->middle = qb__float_at(some, dense, dense / 2);
    qb__free(some);
    return QB_OK;
}

static size_t looked_at(const sample *m, size_t i) { return i * m->s->rays->views / m->rays.views; }

static qb_status begin(sample *m, const qb_env *env) {
    const qb_geometry *all = m->s->rays;
    m->rays = *all;
    m->rays.read_from = NULL;
    m->rays.views = qb__smaller(LOOKED, all->views);
    qb_status status = qb__alloc(m->rays.views, sizeof *m->rays.view, &m->rays.view);
    for (size_t i = 0; status == QB_OK && i < m->rays.views; i++) m->rays.view[i] = all->view[looked_at(m, i)];
    return status == QB_OK ? qb_projector_create(&m->rays, m->s->grid, NULL, env, &m->projector) : status;
}

/* True if the ray of that pixel stays within the volume's slices while it crosses the volume, because the object above
 * and below is unknown. */
static bool is_inside(const sample *m, size_t view, size_t row, size_t column) {
    const qb_view *v = &m->rays.view[view];
    const qb_grid *g = m->s->grid;
    double d[3], from = -INFINITY, to = INFINITY;
    if (m->rays.beam == QB_BEAM_PARALLEL || m->rays.apart) return true;
    for (int k = 0; k < 3; k++) d[k] = v->detector[k] + (double)column * v->u[k] + (double)row * v->v[k] - v->source[k];
    for (int k = 0; k < 2; k++) {
        const double half = 0.5 * (double)g->n[k] * g->voxel[k], a = (g->offset[k] - half - v->source[k]) / d[k],
                     b = (g->offset[k] + half - v->source[k]) / d[k];
        from = fmax(from, fmin(a, b)), to = fmin(to, fmax(a, b));
    }
    const double reach = 0.5 * (double)g->n[2] * g->voxel[2];
    return fabs(v->source[2] + from * d[2] - g->offset[2]) < reach &&
           fabs(v->source[2] + to * d[2] - g->offset[2]) < reach;
}

/* Compute the sample for the pixel in its middle. */
static qb_status measure(const sample *m) {
    const qb__dense_paths *p = m->s->paths;
    const size_t image = p->rows * p->columns;
    const qb_scan_info *info = qb_scan_describe(qb__dense_scan(m->s->dense));
    float *line = NULL;
    qb_status status;
    QB__TRY(qb__alloc(info->columns, sizeof *line, &line));
    for (size_t i = 0; i < m->rays.views; i++)
        for (size_t r = 0; r < p->rows; r++) {
            const size_t row = qb__smaller(info->rows - 1, p->row0 + r * p->step * p->bin[1] + p->bin[1] / 2);
            QB__TRY(qb__dense_lines(m->s->dense, looked_at(m, i), row, row + 1, line));
            for (size_t c = 0; c < p->columns; c++)
                m->p[i * image + r * p->columns + c] =
                    is_inside(m, i, r, c) ? line[qb__smaller(info->columns - 1, c * p->bin[0] + p->bin[0] / 2)] : NAN;
        }
out:
    qb__free(line);
    return status;
}

/* The density of the light material, relative to its nominal one: from rays that pass nothing else. */
static double light_density(const sample *m, size_t count, const qb__two_beam *beam) {
    const double THICK = 0.2; /* smallest line integral p of a ray that counts */
    double measured = 0, length = 0;
    size_t taken = 0;
    for (size_t i = 0; i < count; i += 1 + count / RAYS) {
        if (m->dense[i] > 0 || !(m->p[i] > (float)THICK) || !(m->light[i] > 0)) continue;
        measured += qb__spectrum_length(&beam->base, m->p[i]), length += m->light[i];
        taken++;
    }
    return taken > 20 ? measured / length : 1;
}

static void take_rays(sample *m, size_t count, double density) {
    size_t dense = 0;
    for (size_t i = 0; i < count; i++) dense += m->dense[i] > 0 && isfinite(m->p[i]);
    const size_t each = 1 + dense / RAYS;
    m->count = dense = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(m->dense[i] > 0) || !isfinite(m->p[i]) || dense++ % each) continue;
        m->ray[m->count++] = (ray){m->p[i], (float)density * m->light[i], m->dense[i]};
    }
}

static double misfit(const sample *m, const qb__two_beam *beam, double scale) {
    double sum = 0, all = 0;
    for (size_t i = 0; i < m->count; i++) {
        const ray *r = &m->ray[i];
        const double left = qb__two_beam_line(beam, r->light, scale * r->dense, NULL) - r->p;
        sum += left * left, all += (double)r->p * r->p;
    }
    return all > 0 ? sqrt(sum / all) : INFINITY;
}

/* Golden-section search on the logarithm. */
static double fit_scale(const sample *m, const qb__two_beam *beam, double *least) {
    const double golden = 0.5 * (sqrt(5) - 1);
    double low = log(0.25), high = log(8);
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double of_a = misfit(m, beam, exp(a)), of_b = misfit(m, beam, exp(b));
    while (high - low > 2e-3) {
        if (of_a < of_b) {
            high = b, b = a, of_b = of_a;
            of_a = misfit(m, beam, exp(a = high - golden * (high - low)));
        } else {
            low = a, a = b, of_a = of_b;
            of_b = misfit(m, beam, exp(b = low + golden * (high - low)));
        }
    }
    *least = fmin(of_a, of_b);
    return exp(0.5 * (low + high));
}

static qb_status try_kind(sample *m, const float *volume, bool even, const qb__two_beam *beam, const qb_env *env) {
    qb__segments *s = m->s;
    const size_t count = qb__smaller(LOOKED, s->rays->views) * s->paths->rows * s->paths->columns;
    const float base = (float)m->two->base;
    float *part = NULL;
    double least;
    qb_status status;
    QB__TRY(qb__alloc(m->voxels, sizeof *part, &part));
    for (size_t i = 0; i < m->voxels; i++) part[i] = share_of(m, volume[i], even);
    QB__TRY(qb_projector_forward(m->projector, part, 0, m->rays.views, env, m->dense));
    for (size_t i = 0; i < m->voxels; i++) {
        const float dense = share_of(m, volume[i], true);
        part[i] = dense > 0 ? 1 - dense : volume[i] > 0 ? fminf(volume[i] / base, 1) : 0;
    }
    QB__TRY(qb_projector_forward(m->projector, part, 0, m->rays.views, env, m->light));
    take_rays(m, count, light_density(m, count, beam));
    const double scale = fit_scale(m, beam, &least);
    if (!(s->misfit <= least)) s->misfit = least, s->scale = scale, s->even = even;
out:
    qb__free(part);
    return status;
}

qb_status qb__segments_find(qb__segments *s, float *volume, const qb_env *env) {
    const size_t count = qb__smaller(LOOKED, s->rays->views) * s->paths->rows * s->paths->columns;
    const qb__two_beam *beam = qb__dense_beam(s->dense);
    const size_t *n = s->grid->n;
    sample m = {.s = s, .two = qb__dense_materials(s->dense), .voxels = n[0] * n[1] * n[2]};
    qb_status status;
    s->misfit = NAN, s->scale = 1;
    QB__TRY(find_middle(&m, volume));
    if (s->share == 0) goto out;
    QB__TRY(begin(&m, env));
    QB__TRY(qb__alloc(count, sizeof *m.p, &m.p));
    QB__TRY(qb__alloc(count, sizeof *m.light, &m.light));
    QB__TRY(qb__alloc(count, sizeof *m.dense, &m.dense));
    QB__TRY(qb__alloc(RAYS + 1, sizeof *m.ray, &m.ray));
    QB__TRY(measure(&m));
    QB__TRY(try_kind(&m, volume, false, beam, env));
    QB__TRY(try_kind(&m, volume, true, beam, env));
    for (size_t i = 0; i < m.voxels; i++) volume[i] = (float)s->scale * share_of(&m, volume[i], s->even);
out:
    qb_projector_destroy(m.projector);
    QB__FREE(m.rays.view, m.p, m.light, m.dense, m.ray);
    return status;
}
