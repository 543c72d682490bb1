/* SPDX-License-Identifier: MIT */
/* The CPU at work on a stack: turns, and what they cost. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/random.h"
#include "recon/mbir/icd_stack_lanes.h"

/* ---- turns ---- */

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
        s->variant->update(&s->problem, &s->group[group], s->pixels + first, count, s->skip,
                           &s->moved[group], s->scratch[worker]);
    }
}

static void turn_some(qb__icd_lanes *s, size_t first, size_t step, size_t count) {
    s->first_group = first;
    s->group_step = step;
    if (count) qb__pool_for(s->pool, count, turn_group, s);
}

static void turn_tiles(qb__icd_lanes *s) {
    const size_t even = s->groups / 2, alone = s->groups % 2;
    if (!s->joined) {
        turn_some(s, 0, 1, s->groups);
        return;
    }
    turn_some(s, 0, 2, even);
    turn_some(s, 1, 2, even);
    turn_some(s, s->groups - 1, 1, alone);
}

/* ---- cost ---- */

static void cost_group(void *context, size_t group, int worker) {
    (void)worker;
    const qb__icd_lanes *s = context;
    const qb__icd_group *g = &s->group[group];
    double *cost = s->cost + group * L, sum[L];
    memset(cost, 0, L * sizeof *cost);
    s->variant->prior(&s->problem, g, s->pixels, s->count, cost);
    for (size_t view = 0; view < s->matrix->shadows.views; view++) {
        const float *e = qb__icd_lanes_at(s, g->error, view);
        const float *w = g->weight ? qb__icd_lanes_at(s, (float *)g->weight, view) : NULL;
        memset(sum, 0, sizeof sum);
        for (size_t i = 0; i < s->matrix->shadows.columns * L; i++)
            sum[i % L] += 0.5 * (double)e[i] * (double)e[i] * (w ? (double)w[i] : 1);
        for (size_t l = 0; l < L; l++) cost[l] += sum[l];
    }
}

static qb_status cost_of(void *self, double *cost) {
    qb__icd_lanes *s = self;
    double sum = 0;
    qb__pool_for(s->pool, s->groups, cost_group, s);
    for (size_t slice = 0; slice < s->slices; slice++)
        sum += s->cost[qb__icd_group_of(s, slice) * L + qb__icd_lane_of(s, slice)];
    const double sigma2 = s->settings.sigma_y * s->settings.sigma_y;
    *cost = s->settings.weighting == QB__WEIGH_NONE ? sum / sigma2 : sum;
    return QB_OK;
}

static double size_of(const qb__icd_lanes *s, size_t group) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t l = 0; l < L; l++)
            sum += fabs((double)s->group[group].x[(size_t)s->pixels[i] * L + l]);
    return sum;
}

static qb_status turn(void *self, int number, bool skip, const bool *still, const qb_env *env,
                      qb__icd_turned *turned) {
    qb__icd_lanes *s = self;
    memset(s->moved, 0, s->groups * sizeof *s->moved);
    s->skip = skip;
    s->still = still;
    s->env = env;
    shuffle(s, number);
    turn_tiles(s);
    for (size_t g = 0; g < s->groups; g++) {
        turned[g] = (qb__icd_turned){.updates = (double)s->moved[g].updates, .size = size_of(s, g)};
        for (size_t l = 0; l < L; l++) turned[g].change += s->moved[g].change[l];
    }
    return QB_OK;
}

static qb_status image(void *self, size_t slice, float scale, float *out) {
    const qb__icd_lanes *s = self;
    const size_t nx = s->problem.nx;
    const float *x = s->group[qb__icd_group_of(s, slice)].x + qb__icd_lane_of(s, slice);
    for (size_t iy = 0; iy < s->problem.ny; iy++)
        for (size_t ix = 0; ix < nx; ix++)
            out[iy * nx + ix] = scale * x[((iy + 1) * (nx + 2) + ix + 1) * L];
    return QB_OK;
}

/* As they lie in memory. */
static qb_status state(void *self, bool into, qb__icd_piece piece, void *to) {
    const qb__icd_lanes *s = self;
    const size_t data = s->matrix->shadows.views * s->row, voxels = qb__icd_image_floats(s->matrix);
    qb_status status = QB_OK;
    (void)into;
    for (size_t g = 0; g < s->groups && status == QB_OK; g++) {
        status = piece(to, s->group[g].error, data * sizeof(float));
        if (status == QB_OK) status = piece(to, s->group[g].x - MARGIN, voxels * sizeof(float));
    }
    return status;
}

const qb__icd_worker qb__icd_on_cpu = {.start = qb__icd_lanes_start,
                                      .turn = turn,
                                      .cost = cost_of,
                                      .image = image,
                                      .state = state,
                                      .destroy = qb__icd_lanes_destroy};
