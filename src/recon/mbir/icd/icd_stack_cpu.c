/* SPDX-License-Identifier: MIT */
/* Sweeps of a stack on the CPU, and its cost. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/random.h"
#include "recon/mbir/icd/icd_stack_lanes.h"

/* ---- neighbours on other ranks ---- */

typedef struct around {
    const qb__icd_lanes *s;
    size_t group, lane;          /* group and lane of the last slice */
    const float *before, *after; /* neighbours of the lanes of the first group, and of that group */
} around;

static around around_of(const qb__icd_lanes *s) {
    const size_t last = s->slices - 1, group = last % s->groups;
    return (around){s, group, last / s->groups, s->group[s->groups - 1].x - 1,
                    group + 1 < s->groups ? s->group[group + 1].x : s->group[0].x + 1};
}

static void show_tile(void *context, size_t tile, int worker) {
    (void)worker;
    const around *a = context;
    const qb__icd_lanes *s = a->s;
    float *first = s->swapped, *last = first + s->count;
    for (size_t i = s->tile[tile]; i < s->tile[tile + 1]; i++) {
        first[i] = s->group[0].x[(size_t)s->pixels[i] * L];
        last[i] = s->group[a->group].x[(size_t)s->pixels[i] * L + a->lane];
    }
}

static void see_tile(void *context, size_t tile, int worker) {
    (void)worker;
    const around *a = context;
    const qb__icd_lanes *s = a->s;
    const float *before = s->swapped + 2 * s->count, *after = before + s->count;
    for (size_t i = s->tile[tile]; i < s->tile[tile + 1]; i++) {
        const size_t at = (size_t)s->pixels[i] * L;
        memcpy(s->edge[0] + at, a->before + at, L * sizeof(float));
        memcpy(s->edge[1] + at, a->after + at, L * sizeof(float));
        s->edge[0][at] = before[i];
        s->edge[1][at + a->lane] = after[i];
    }
}

qb_status qb__icd_lanes_swap(qb__icd_lanes *s, qb_status mine) {
    const qb__icd_halo *halo = s->settings.halo;
    if (!halo) return mine;
    around a = around_of(s);
    float *const at = s->swapped;
    const qb__icd_swap images = {at, at + s->count, at + 2 * s->count, at + 3 * s->count, s->count * sizeof(float)};
    qb__pool_for(s->pool, s->tiles, show_tile, &a);
    const qb_status status = halo->edges.swap(halo->edges.self, mine, &images);
    if (status == QB_OK) qb__pool_for(s->pool, s->tiles, see_tile, &a);
    return status;
}

/* ---- sweeps ---- */

static void shuffle(qb__icd_lanes *s, int turn) {
    qb__random random = qb__random_stream(s->settings.seed, (uint64_t)turn);
    for (size_t i = 0; i < s->tiles; i++) s->order[i] = i;
    for (size_t i = s->tiles - 1; i > 0; i--) {
        const size_t other = qb__random_bits(&random) % (i + 1), kept = s->order[i];
        s->order[i] = s->order[other];
        s->order[other] = kept;
    }
}

static void turn_group(void *context, size_t task, int worker) {
    qb__icd_lanes *s = context;
    const size_t group = s->first_group + task * s->group_step;
    for (size_t i = 0; i < s->tiles && !s->still[group] && !qb__cancelled(s->env); i++) {
        const size_t first = s->tile[s->order[i]], count = s->tile[s->order[i] + 1] - first;
        s->variant->update(&s->problem, &s->group[group], s->pixels + first, count, s->skip, &s->moved[group],
                           s->scratch[worker]);
    }
}

static void turn_some(qb__icd_lanes *s, size_t first, size_t step, size_t count) {
    s->first_group = first;
    s->group_step = step;
    if (count) qb__pool_for(s->pool, count, turn_group, s);
}

/* Even slices of all ranks, then odd ones. */
static qb_status turn_with_others(qb__icd_lanes *s) {
    qb_status status = QB_OK;
    for (size_t odd = 0; odd < 2 && status == QB_OK; odd++) {
        const size_t first = (s->settings.halo->edges.first + odd) % 2;
        turn_some(s, first, 2, (s->groups + 1 - first) / 2);
        status = qb__icd_lanes_swap(s, qb__check_cancel(s->env));
    }
    return status;
}

static qb_status turn_tiles(qb__icd_lanes *s) {
    const size_t even = s->groups / 2, alone = s->groups % 2;
    if (s->settings.halo) return turn_with_others(s);
    if (!s->joined) {
        turn_some(s, 0, 1, s->groups);
    } else {
        turn_some(s, 0, 2, even);
        turn_some(s, 1, 2, even);
        turn_some(s, s->groups - 1, 1, alone);
    }
    return qb__check_cancel(
        s->env); /* turn_group() may have skipped tiles: this sweep must not be kept as a complete one */
}

/* ---- cost ---- */

static void cost_group(void *context, size_t group, int worker) {
    (void)worker;
    const qb__icd_lanes *s = context;
    const qb__icd_group *g = &s->group[group];
    double *cost = s->cost + group * L, sum[L];
    memset(cost, 0, L * sizeof *cost);
    s->variant->prior(&s->problem, g, s->pixels, s->count, cost);
    for (size_t view = 0; view < s->matrix->footprints.views; view++) {
        const float *e = qb__icd_lanes_at(s, g->error, view);
        const float *w = g->weight ? qb__icd_lanes_at(s, (float *)g->weight, view) : NULL;
        memset(sum, 0, sizeof sum);
        for (size_t i = 0; i < s->matrix->footprints.columns * L; i++)
            sum[i % L] += 0.5 * (double)e[i] * (double)e[i] * (w ? (double)w[i] : 1);
        for (size_t l = 0; l < L; l++) cost[l] += sum[l];
    }
}

static qb_status cost_of(void *self, double *cost) {
    qb__icd_lanes *s = self;
    const double sigma2 = s->settings.sigma_y * s->settings.sigma_y,
                 scale = qb__icd_even(s->settings.weighting) ? 1 / sigma2 : 1;
    qb__pool_for(s->pool, s->groups, cost_group, s);
    memset(cost, 0, s->groups * sizeof *cost);
    for (size_t slice = 0; slice < s->slices; slice++) {
        const size_t group = qb__icd_group_of(s, slice);
        cost[group] += scale * s->cost[group * L + qb__icd_lane_of(s, slice)];
    }
    return QB_OK;
}

static double size_of(const qb__icd_lanes *s, size_t group) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t l = 0; l < L; l++) sum += fabs((double)s->group[group].x[(size_t)s->pixels[i] * L + l]);
    return sum;
}

static qb_status turn(void *self, int number, bool skip, const bool *still, const qb_env *env, qb__icd_swept *turned) {
    qb__icd_lanes *s = self;
    memset(s->moved, 0, s->groups * sizeof *s->moved);
    s->skip = skip;
    s->still = still;
    s->env = env;
    shuffle(s, number);
    const qb_status status = turn_tiles(s);
    for (size_t g = 0; g < s->groups; g++) {
        turned[g] = (qb__icd_swept){.updates = (double)s->moved[g].updates / (s->group[g].woven ? 2 : 1),
                                    .size = size_of(s, g)};
        for (size_t l = 0; l < L; l++) turned[g].change += s->moved[g].change[l];
    }
    return status;
}

static qb_status image(void *self, size_t slice, float scale, float *out) {
    const qb__icd_lanes *s = self;
    const size_t nx = s->problem.nx;
    const float *x = s->group[qb__icd_group_of(s, slice)].x + qb__icd_lane_of(s, slice);
    for (size_t iy = 0; iy < s->problem.ny; iy++)
        for (size_t ix = 0; ix < nx; ix++) out[iy * nx + ix] = scale * x[((iy + 1) * (nx + 2) + ix + 1) * L];
    return QB_OK;
}

/* In memory order. */
static qb_status state(void *self, bool into, qb__icd_piece piece, void *to) {
    qb__icd_lanes *s = self;
    const size_t data = s->matrix->footprints.views * s->row, voxels = qb__icd_image_floats(s->matrix);
    qb_status status = QB_OK;
    for (size_t g = 0; g < s->groups && status == QB_OK; g++) {
        status = piece(to, s->group[g].error, data * sizeof(float));
        if (status == QB_OK) status = piece(to, s->group[g].x - MARGIN, voxels * sizeof(float));
    }
    if (into) status = qb__icd_lanes_swap(s, status);
    return status;
}

const qb__icd_worker qb__icd_on_cpu = {.start = qb__icd_lanes_start,
                                       .turn = turn,
                                       .cost = cost_of,
                                       .image = image,
                                       .state = state,
                                       .destroy = qb__icd_lanes_destroy};
