/* SPDX-License-Identifier: MIT */
/* A stack on the CPU: its voxels, and the lanes of slices. */
#include "recon/mbir/icd/icd_stack_lanes.h"

#include "base/memory.h"
#include "base/status.h"
#include "ops/system_matrix.h"
#include "recon/mbir/icd/icd_bands.h"

enum { TILE = 16 };

/* ---- voxels ---- */

/* A tile's voxels in squares of 2 x 2, which kernels update together, back and forth. */
static void list_tile(qb__icd_lanes *s, size_t x0, size_t y0) {
    static const size_t dx[] = {0, 1, 1, 0}, dy[] = {0, 0, 1, 1};
    const size_t nx = s->problem.nx, ny = s->problem.ny;
    for (size_t y = 0; y < TILE; y += 2)
        for (size_t i = 0; i < TILE; i += 2)
            for (size_t j = 0; j < 4; j++) {
                const size_t ix = x0 + (y % 4 ? TILE - 2 - i : i) + dx[j], iy = y0 + y + dy[j];
                const size_t pixel = (iy + 1) * (nx + 2) + ix + 1;
                if (ix < nx && iy < ny && s->inside[pixel]) s->pixels[s->count++] = (uint32_t)pixel;
            }
}

/* Floats for the slices of other ranks. */
static size_t edge_floats(const qb__system_matrix *m) { return 2 * qb__icd_image_floats(m) + 4 * m->nx * m->ny; }

static qb_status list_pixels(qb__icd_lanes *s) {
    const size_t nx = s->problem.nx, ny = s->problem.ny, all = (nx + 2) * (ny + 2);
    const size_t tiles = qb__ceil_div(nx, TILE) * qb__ceil_div(ny, TILE);
    qb_status status;
    QB__TRY(qb__alloc(all, 1, &s->inside));
    QB__TRY(qb__alloc(nx * ny, sizeof *s->pixels, &s->pixels));
    QB__TRY(qb__alloc(tiles + 1, sizeof *s->tile, &s->tile));
    QB__TRY(qb__alloc(tiles, sizeof *s->order, &s->order));
    qb__icd_inside(nx, ny, s->settings.radius, s->inside);
    for (size_t y0 = 0; y0 < ny; y0 += TILE) {
        for (size_t x0 = 0; x0 < nx; x0 += TILE) {
            list_tile(s, x0, y0);
            if (s->count > s->tile[s->tiles]) s->tile[++s->tiles] = s->count;
        }
    }
    s->problem.inside = s->inside;
out:
    return status;
}

/* ---- lanes ---- */

static bool are_joined(const qb__icd_settings *settings, size_t slices) {
    return (slices > 1 || settings->halo) && settings->prior.interslice > 0;
}

static size_t groups_of(const qb__icd_settings *settings, size_t slices) {
    const size_t groups = qb__ceil_div(slices, L);
    return settings->halo && slices > 1 ? groups + groups % 2 : groups;
}

/* In the order of turn_tiles() of icd_stack_cpu.c. */
qb__icd_rounds qb__icd_stack_rounds(const qb__icd_settings *settings, size_t slices, int threads) {
    const size_t groups = groups_of(settings, slices), at_once = (size_t)threads;
    const bool joined = are_joined(settings, slices);
    return (qb__icd_rounds){groups, joined ? 2 * qb__ceil_div(groups / 2, at_once) + groups % 2
                                           : qb__ceil_div(groups, at_once)};
}

/* The slice in a lane of a joined group. */
static size_t slice_of(const qb__icd_lanes *s, size_t group, size_t lane) { return lane * s->groups + group; }

static void place_groups(qb__icd_lanes *s) {
    const qb__system_matrix *m = s->matrix;
    const size_t data = m->footprints.views * s->row, image = qb__icd_image_floats(m);
    float *at = s->block;
    for (size_t i = 0; i < s->groups; i++) {
        qb__icd_group *g = &s->group[i];
        g->error = at, at += data;
        if (s->settings.weighting != QB__WEIGH_NONE) g->weight = at, at += data;
        g->x = at + MARGIN, at += image;
        g->curve = at + MARGIN, at += image;
        if (!(s->settings.pull > 0)) continue;
        g->after = at + MARGIN, at += image;
        for (size_t l = 0; l < L; l++) g->after_b[l] = (float)s->pull;
    }
}

/* The slice before that of lane l in group 0 is in lane l - 1 of the last group, also if that is the same: one float
 * earlier. */
static void join_groups(qb__icd_lanes *s) {
    const qb__icd_edges none = {.first = 0}, *edges = s->settings.halo ? &s->settings.halo->edges : &none;
    s->joined = are_joined(&s->settings, s->slices);
    if (!s->joined) return;
    for (size_t i = 0; i < s->groups; i++) {
        qb__icd_group *g = &s->group[i];
        g->before = i ? s->group[i - 1].x : s->group[s->groups - 1].x - 1;
        g->after = i + 1 < s->groups ? s->group[i + 1].x : s->group[0].x + 1;
        g->woven = s->groups == 1 && s->slices > 1;
        for (size_t l = 0; l < L; l++) {
            const size_t slice = slice_of(s, i, l);
            const float b = (float)s->problem.prior.interslice;
            g->before_b[l] = (slice > 0 || edges->before) && slice < s->slices ? b : 0;
            g->after_b[l] = slice + 1 < s->slices + edges->after ? b : 0;
        }
    }
    if (edges->before) s->group[0].before = s->edge[0];
    if (edges->after) s->group[(s->slices - 1) % s->groups].after = s->edge[1];
}

size_t qb__icd_stack_bytes(const qb__system_matrix *m, const qb__icd_settings *settings, size_t slices, int threads) {
    if (settings->supervoxels) return qb__icd_slicewise_bytes(m, settings, slices, threads);
    const size_t groups = groups_of(settings, slices), pixels = (m->nx + 2) * (m->ny + 2);
    return groups * (qb__icd_group_floats(m, settings) * sizeof(float) + sizeof(qb__icd_group) + sizeof(qb__icd_moved) +
                     (L + 1) * sizeof(double) + sizeof(bool)) +
           pixels * (1 + sizeof(uint32_t)) + 2 * pixels / TILE * sizeof(size_t) +
           (settings->halo ? edge_floats(m) * sizeof(float) : 0) +
           (size_t)threads * qb__icd_scratch_bytes(&m->footprints);
}

qb_status qb__icd_stack_create(qb__system_matrix *matrix, qb_mbir_matrix kind, const qb__icd_settings *settings,
                               size_t slices, qb__pool *pool, qb__icd_stack **stack) {
    const size_t threads = (size_t)qb__pool_threads(pool);
    qb__icd_lanes *s;
    *stack = NULL;
    if (settings->supervoxels) return qb__icd_slicewise_create(matrix, settings, slices, pool, stack);
    qb_status status = qb__alloc(1, sizeof *s, &s);
    if (status != QB_OK) return status;
    *s = (qb__icd_lanes){.settings = *settings,
                         .matrix = matrix,
                         .variant = matrix->variant,
                         .pool = pool,
                         .slices = slices,
                         .groups = groups_of(settings, slices),
                         .row = qb__icd_row_floats(matrix),
                         .problem = {.footprints = matrix->footprints,
                                     .nx = matrix->nx,
                                     .ny = matrix->ny,
                                     .prior = settings->prior,
                                     .positive = settings->positive,
                                     .fetch = qb__system_matrix_fetch,
                                     .store = matrix}};
    /* With equal weights all data would be multiplied by 1 / sigma_y^2. */
    const double lighter = qb__icd_even(settings->weighting) ? settings->sigma_y * settings->sigma_y : 1;
    qb__icd_lighten(&s->problem.prior, lighter);
    s->pull = settings->pull * lighter;
    QB__TRY(list_pixels(s));
    if (matrix->kind != kind) QB__TRY(qb__matrix_keep(matrix, kind, s->pixels, s->count, pool));
    QB__TRY(qb__alloc(s->groups, sizeof *s->group, &s->group));
    QB__TRY(qb__alloc(s->groups, sizeof *s->moved, &s->moved));
    QB__TRY(qb__alloc(s->groups * L, sizeof *s->cost, &s->cost));
    QB__TRY(qb__alloc(s->groups * qb__icd_group_floats(matrix, settings), sizeof(float), &s->block));
    QB__TRY(qb__alloc(threads, sizeof *s->scratch, &s->scratch));
    for (size_t i = 0; i < threads; i++)
        QB__TRY(qb__alloc(qb__icd_scratch_bytes(&matrix->footprints), 1, &s->scratch[i]));
    if (settings->halo) QB__TRY(qb__alloc(edge_floats(matrix), sizeof(float), &s->edge[0]));
    if (settings->halo)
        s->edge[1] = s->edge[0] + qb__icd_image_floats(matrix), s->swapped = s->edge[1] + qb__icd_image_floats(matrix);
    place_groups(s);
    join_groups(s);
    const qb__icd_shape shape = {s->groups, s->count, qb__icd_whole_sweeps(settings->equits), s->joined, 0};
    status = qb__icd_stack_of(&qb__icd_on_cpu, s, settings, &shape, stack);
    return status; /* the stack owns it now */
out:
    qb__icd_lanes_destroy(s);
    return status;
}

void qb__icd_lanes_destroy(void *self) {
    qb__icd_lanes *s = self;
    for (int i = 0; s->scratch && i < qb__pool_threads(s->pool); i++) qb__free(s->scratch[i]);
    qb__free(s->scratch);
    qb__free(s->inside);
    qb__free(s->pixels);
    qb__free(s->tile);
    qb__free(s->order);
    qb__free(s->group);
    qb__free(s->moved);
    qb__free(s->cost);
    qb__free(s->block);
    qb__free(s->edge[0]);
    qb__free(s);
}
