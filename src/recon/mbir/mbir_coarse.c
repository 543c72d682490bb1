/* SPDX-License-Identifier: MIT */
/* Descends on coarser voxels to make the start of another descent. */
#include "recon/mbir/mbir_coarse.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

enum { LEAST = 8, LEAST_BY_ITSELF = 24 };
static const double enough = 0.001; /* a level stops if its change and the decrease of its cost are below this */

/* ---- levels ---- */

/* Radius of a level. Coarse voxels at the edge are included if they reach into the circle, even if their centre is
 * outside. */
static double radius_of(const qb__mbir *m, size_t level) {
    return ldexp(m->settings.radius, -(int)level) + (level ? 0.5 : 0);
}

qb_grid qb__mbir_grid_of(const qb__mbir *m, size_t level) {
    qb_grid grid = m->grid;
    for (int j = 0; j < 2; j++) {
        grid.n[j] = qb__ceil_div(grid.n[j], (size_t)1 << level);
        grid.voxel[j] = ldexp(grid.voxel[j], (int)level);
    }
    return grid;
}

/* Limit of equits of a level. An equit of the next finer level costs four times as much, so twice as many equits here
 * take half of its time. */
static int equits_of(const qb__mbir *m, size_t level) {
    const double many = 1000, own = m->settings.equits;
    return (int)fmin(ldexp(own, (int)level), fmax(own, many));
}

static qb_status decide_level(qb__mbir *m, size_t level) {
    qb__mbir_level *l = &m->coarse.level[level - 1];
    const qb_grid grid = qb__mbir_grid_of(m, level);
    l->settings = m->settings;
    l->settings.radius = radius_of(m, level);
    l->settings.stop = fmax(m->settings.stop / 2, enough);
    l->settings.equits = equits_of(m, level);
    const qb_status status = qb__system_matrix_create(&m->geometry, &grid, l->settings.radius, m->variant, &l->matrix);
    if (status == QB_OK) return QB_OK;
    qb__system_matrix_destroy(&l->matrix);
    return qb__fail_in(status, "--coarse %zu", level);
}

/* Default number of levels. There are some if views are fewer than a fourth of the voxels per side, or leave out a
 * tenth of the half turn: then structures over long distances are poorly determined, and converge slowly on small
 * voxels. */
static qb_status levels_by_itself(const qb__mbir *m, size_t side, size_t *levels) {
    const size_t views = m->geometry.views;
    size_t *order = NULL;
    double around;
    qb_status status;
    *levels = 0;
    if (m->images.proximal || m->images.begins_with) return QB_OK;
    QB__TRY(qb__alloc(views, sizeof *order, &order));
    QB__TRY(qb__mbir_views_around(m, &around, order));
    const bool few = 4 * views <= side, limited = (double)views < 0.9 * around;
    while ((few || limited) && *levels < QB__MBIR_LEVELS && side >> (*levels + 1) >= LEAST_BY_ITSELF) ++*levels;
out:
    qb__free(order);
    return status;
}

qb_status qb__mbir_coarse_decide(qb__mbir *m) {
    const size_t side = qb__smaller(m->grid.n[0], m->grid.n[1]);
    const bool asked = m->options->coarse != 0;
    size_t levels = m->options->coarse > 0 ? (size_t)m->options->coarse : 0;
    qb_status status = asked ? QB_OK : levels_by_itself(m, side, &levels);
    if (!levels || status != QB_OK) return status;
    if (m->images.proximal)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--coarse begins with coarser voxels, and the image of --prox has none: leave one of them out");
    if (m->images.begins_with)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--coarse makes an image to begin with, and --start gives one: leave one of them out");
    if (side >> levels < LEAST)
        return qb__fail(QB_BAD_ARGUMENT, "--coarse %zu leaves fewer than %d voxels a side of %zu x %zu: give less",
                        levels, LEAST, m->grid.n[0], m->grid.n[1]);
    for (m->coarse.levels = 0; m->coarse.levels < levels && status == QB_OK; m->coarse.levels += status == QB_OK)
        status = decide_level(m, m->coarse.levels + 1);
    return asked || status == QB_NO_MEMORY ? status : QB_OK; /* by default use as many levels as possible */
}

void qb__mbir_coarse_release(qb__mbir *m) {
    for (size_t i = 0; i < m->coarse.levels; i++) qb__system_matrix_destroy(&m->coarse.level[i].matrix);
    m->coarse.levels = 0;
}

/* ---- cost ---- */

size_t qb__mbir_coarse_stack_bytes(const qb__mbir *m, size_t slices, int threads) {
    size_t most = 0;
    for (size_t i = 0; i < m->coarse.levels; i++)
        most = qb__larger(
            most, qb__icd_stack_bytes(&m->coarse.level[i].matrix, &m->coarse.level[i].settings, slices, threads));
    return most;
}

size_t qb__mbir_coarse_image_bytes(const qb__mbir *m, size_t slices) {
    return m->coarse.levels ? slices * m->grid.n[0] * m->grid.n[1] * sizeof(float) : 0;
}

int qb__mbir_coarse_equits(const qb__mbir *m) {
    int most = m->settings.equits;
    for (size_t i = 0; i < m->coarse.levels; i++)
        if (m->coarse.level[i].settings.equits > most) most = m->coarse.level[i].settings.equits;
    return most;
}

/* ---- between levels ---- */

typedef struct refining {
    const float *from;
    float *to;
    size_t few[2], n[2]; /* numbers of coarse and fine voxels along x and y; both grids have the same centre */
} refining;

/* Find the coarse voxels on both sides of a fine voxel's centre; returns the weight of the second. */
static float place(size_t i, size_t n, size_t few, size_t *first, size_t *second) {
    const double at = ((double)i - ((double)n - 1) / 2) / 2 + ((double)few - 1) / 2;
    const double inside = fmin(fmax(at, 0), (double)few - 1);
    *first = (size_t)inside;
    *second = qb__smaller(*first + 1, few - 1);
    return (float)(inside - (double)*first);
}

static void refine_slice(void *context, size_t slice, int worker) {
    (void)worker;
    const refining *r = context;
    const float *from = r->from + slice * r->few[0] * r->few[1];
    float *to = r->to + slice * r->n[0] * r->n[1];
    for (size_t iy = 0; iy < r->n[1]; iy++) {
        size_t above, below;
        const float down = place(iy, r->n[1], r->few[1], &above, &below);
        for (size_t ix = 0; ix < r->n[0]; ix++) {
            size_t left, right;
            const float over = place(ix, r->n[0], r->few[0], &left, &right);
            const float *a = from + above * r->few[0], *b = from + below * r->few[0];
            const float upper = a[left] + over * (a[right] - a[left]), lower = b[left] + over * (b[right] - b[left]);
            to[iy * r->n[0] + ix] = upper + down * (lower - upper);
        }
    }
}

/* Convert *image of a level to the grid of the next. */
static qb_status refine(const qb__mbir *m, const qb__mbir_coarse *c, size_t level, float **image) {
    const qb__system_matrix *few = &m->coarse.level[level - 1].matrix,
                            *more = level > 1 ? &m->coarse.level[level - 2].matrix : &m->matrix;
    refining r = {.from = *image, .few = {few->nx, few->ny}, .n = {more->nx, more->ny}};
    QB__OR_RETURN(qb__alloc(c->slices * r.n[0] * r.n[1], sizeof(float), &r.to));
    qb__pool_for(c->pool, c->slices, refine_slice, &r);
    qb__free(*image);
    *image = r.to;
    return QB_OK;
}

/* ---- one level ---- */

/* Descend on one level. No progress is reported, because it is a small part of the whole work. */
static qb_status descend(qb__mbir_level *l, size_t level, qb__mbir_coarse *c, const qb__icd_given *given,
                         float *image) {
    const size_t voxels = l->matrix.nx * l->matrix.ny;
    qb__mbir_came_to *came = &c->came[level - 1];
    qb__icd_settings settings = l->settings;
    qb_env env = *c->env;
    qb__icd_stack *stack = NULL;
    int turns;
    qb_status status;
    env.progress = NULL;
    settings.prior.sigma = c->settings->prior.sigma;
    settings.weighting = c->settings->weighting;
    settings.sigma_y = c->settings->sigma_y * sqrt(ldexp(1, (int)level));
    QB__TRY(c->stack(c->self, &l->matrix, &settings, c->slices, &stack));
    QB__TRY(qb__icd_stack_start(stack, given));
    QB__TRY(qb__icd_stack_run(stack, &env, NULL, c->trace, &turns, &came->stopped));
    for (size_t s = 0; s < c->slices; s++) QB__TRY(qb__icd_stack_image(stack, s, 1, image + s * voxels));
    came->equits = c->trace[turns - 1].equits;
    came->rest = c->trace[turns - 1].rest;
    qb__info(c->env, "on voxels of %g times the side: %.1f equits", ldexp(1, (int)level), came->equits);
out:
    qb__icd_stack_destroy(stack);
    return status;
}

qb_status qb__mbir_coarse_run(qb__mbir *m, qb__mbir_coarse *c, const qb__icd_given *given, float **image) {
    const qb__system_matrix *first = &m->coarse.level[m->coarse.levels - 1].matrix;
    qb__icd_given now = *given;
    float *x = NULL;
    qb_status status;
    QB__TRY(qb__alloc(c->slices * first->nx * first->ny, sizeof *x, &x));
    for (size_t level = m->coarse.levels; level > 0; level--) {
        QB__TRY(descend(&m->coarse.level[level - 1], level, c, &now, x));
        QB__TRY(refine(m, c, level, &x));
        now.images = x;
    }
    *image = x;
    x = NULL;
out:
    qb__free(x);
    return status;
}
