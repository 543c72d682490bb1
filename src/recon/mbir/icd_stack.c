/* SPDX-License-Identifier: MIT */
#include "recon/mbir/icd_stack.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

enum { L = QB__ICD_LANES, TILE = 16, MARGIN = 16 };

struct qb__icd_stack {
    qb__icd_settings settings;
    const qb__system_matrix *matrix;
    const qb__icd_variant *variant;
    qb__icd_problem problem;
    qb__pool *pool;
    size_t slices, groups, row; /* row: floats of a view's lanes */
    bool joined;                /* slices know of each other */
    uint8_t *inside;
    uint32_t *pixels; /* inside, tile by tile */
    size_t *tile;     /* [tiles + 1] where they begin */
    size_t count, tiles;
    qb__icd_group *group;
    float *block; /* all groups' error, weight, x, curve */
    char **scratch;
    /* of the turn in hand */
    size_t *order;
    qb__icd_moved *moved; /* [group] */
    double *equits;       /* [group] so far */
    bool *still;          /* [group] it has stopped */
    double *cost;         /* [group][16] */
    size_t first_group, group_step;
    bool skip;
    const qb_env *env;
};

float qb__icd_weigh(qb__icd_weighting weighting, float y) {
    switch (weighting) {
    case QB__WEIGH_TRANSMISSION: return expf(-y);
    case QB__WEIGH_TRANSMISSION_ROOT: return expf(-y / 2);
    case QB__WEIGH_EMISSION: return 1 / (fabsf(y) + 0.1f);
    default: return 1;
    }
}

/* ---- voxels ---- */

static bool is_inside(size_t nx, size_t ny, double radius, size_t ix, size_t iy) {
    const double x = (double)ix - ((double)nx - 1) / 2, y = (double)iy - ((double)ny - 1) / 2;
    return x * x + y * y <= radius * radius;
}

size_t qb__icd_pixels(size_t nx, size_t ny, double radius) {
    size_t count = 0;
    for (size_t iy = 0; iy < ny; iy++)
        for (size_t ix = 0; ix < nx; ix++) count += is_inside(nx, ny, radius, ix, iy);
    return count;
}

/* A tile's voxels in snakes: each is the neighbour of the one before. */
static void list_tile(qb__icd_stack *s, size_t x0, size_t y0) {
    const size_t nx = s->problem.nx, ny = s->problem.ny;
    for (size_t iy = y0; iy < qb__smaller(y0 + TILE, ny); iy++) {
        for (size_t i = 0; i < TILE; i++) {
            const size_t ix = x0 + ((iy - y0) % 2 ? TILE - 1 - i : i);
            const size_t pixel = (iy + 1) * (nx + 2) + ix + 1;
            if (ix < nx && s->inside[pixel]) s->pixels[s->count++] = (uint32_t)pixel;
        }
    }
}

static qb_status list_pixels(qb__icd_stack *s) {
    const size_t nx = s->problem.nx, ny = s->problem.ny, all = (nx + 2) * (ny + 2);
    const size_t tiles = qb__ceil_div(nx, TILE) * qb__ceil_div(ny, TILE);
    qb_status status;
    QB__TRY(qb__alloc(all, 1, &s->inside));
    QB__TRY(qb__alloc(nx * ny, sizeof *s->pixels, &s->pixels));
    QB__TRY(qb__alloc(tiles + 1, sizeof *s->tile, &s->tile));
    QB__TRY(qb__alloc(tiles, sizeof *s->order, &s->order));
    for (size_t iy = 0; iy < ny; iy++)
        for (size_t ix = 0; ix < nx; ix++)
            s->inside[(iy + 1) * (nx + 2) + ix + 1] = is_inside(nx, ny, s->settings.radius, ix, iy);
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

static size_t groups_of(const qb__icd_settings *settings, size_t slices) {
    const size_t groups = qb__ceil_div(slices, L);
    return settings->prior.interslice > 0 && slices > 1 && groups < 2 ? 2 : groups;
}

static size_t row_floats(const qb__system_matrix *m) {
    return (m->shadows.columns + 2 * m->shadows.taps) * L;
}

static size_t image_floats(const qb__system_matrix *m) {
    return (m->nx + 2) * (m->ny + 2) * L + 2 * MARGIN;
}

static size_t group_floats(const qb__system_matrix *m, const qb__icd_settings *settings) {
    const size_t data = m->shadows.views * row_floats(m);
    return data * (settings->weighting == QB__WEIGH_NONE ? 1 : 2) + 2 * image_floats(m);
}

/* Where a slice is, and which slice is there. */
static size_t group_of(const qb__icd_stack *s, size_t slice) {
    return s->joined ? slice % s->groups : slice / L;
}

static size_t lane_of(const qb__icd_stack *s, size_t slice) {
    return s->joined ? slice / s->groups : slice % L;
}

static size_t slice_of(const qb__icd_stack *s, size_t group, size_t lane) {
    return lane * s->groups + group;
}

static void place_groups(qb__icd_stack *s) {
    const qb__system_matrix *m = s->matrix;
    const size_t data = m->shadows.views * s->row, image = image_floats(m);
    float *at = s->block;
    for (size_t i = 0; i < s->groups; i++) {
        qb__icd_group *g = &s->group[i];
        g->error = at, at += data;
        if (s->settings.weighting != QB__WEIGH_NONE) g->weight = at, at += data;
        g->x = at + MARGIN, at += image;
        g->curve = at + MARGIN, at += image;
    }
}

/* The slice before that of lane l in group 0 is in lane l - 1 of the last group: one float earlier. */
static void join_groups(qb__icd_stack *s) {
    s->joined = s->groups > 1 && s->settings.prior.interslice > 0;
    if (!s->joined) return;
    for (size_t i = 0; i < s->groups; i++) {
        qb__icd_group *g = &s->group[i];
        g->before = i ? s->group[i - 1].x : s->group[s->groups - 1].x - 1;
        g->after = i + 1 < s->groups ? s->group[i + 1].x : s->group[0].x + 1;
        for (size_t l = 0; l < L; l++) {
            const size_t slice = slice_of(s, i, l);
            const float b = (float)s->problem.prior.interslice;
            g->before_b[l] = slice > 0 && slice < s->slices ? b : 0;
            g->after_b[l] = slice + 1 < s->slices ? b : 0;
        }
    }
}

size_t qb__icd_stack_bytes(const qb__system_matrix *m, const qb__icd_settings *settings, size_t slices,
                           int threads) {
    const size_t groups = groups_of(settings, slices), pixels = (m->nx + 2) * (m->ny + 2);
    return groups * (group_floats(m, settings) * sizeof(float) + sizeof(qb__icd_group) +
                     sizeof(qb__icd_moved) + (L + 1) * sizeof(double) + sizeof(bool)) +
           pixels * (1 + sizeof(uint32_t)) + 2 * pixels / TILE * sizeof(size_t) +
           (size_t)threads * qb__icd_scratch_bytes(&m->shadows);
}

/* Without weights all data would be multiplied by 1 / sigma_y^2: the prior by sigma_y^2 is the same. */
static void lighten(qb__icd_prior *prior, double sigma_y) {
    prior->nearest *= sigma_y * sigma_y;
    prior->diagonal *= sigma_y * sigma_y;
    prior->interslice *= sigma_y * sigma_y;
}

qb_status qb__icd_stack_create(qb__system_matrix *matrix, qb_mbir_matrix kind,
                               const qb__icd_settings *settings, size_t slices, qb__pool *pool,
                               qb__icd_stack **stack) {
    const size_t threads = (size_t)qb__pool_threads(pool);
    qb__icd_stack *s;
    qb_status status = qb__alloc(1, sizeof *s, &s);
    *stack = s;
    if (status != QB_OK) return status;
    *s = (qb__icd_stack){.settings = *settings,
                         .matrix = matrix,
                         .variant = matrix->variant,
                         .pool = pool,
                         .slices = slices,
                         .groups = groups_of(settings, slices),
                         .row = row_floats(matrix),
                         .problem = {.shadows = matrix->shadows,
                                     .nx = matrix->nx,
                                     .ny = matrix->ny,
                                     .prior = settings->prior,
                                     .positive = settings->positive,
                                     .fetch = qb__system_matrix_fetch,
                                     .store = matrix}};
    if (settings->weighting == QB__WEIGH_NONE) lighten(&s->problem.prior, settings->sigma_y);
    QB__TRY(list_pixels(s));
    if (matrix->kind != kind)
        QB__TRY(qb__system_matrix_keep(matrix, kind, s->pixels, s->count, pool));
    QB__TRY(qb__alloc(s->groups, sizeof *s->group, &s->group));
    QB__TRY(qb__alloc(s->groups, sizeof *s->moved, &s->moved));
    QB__TRY(qb__alloc(s->groups, sizeof *s->equits, &s->equits));
    QB__TRY(qb__alloc(s->groups, sizeof *s->still, &s->still));
    QB__TRY(qb__alloc(s->groups * L, sizeof *s->cost, &s->cost));
    QB__TRY(qb__alloc(s->groups * group_floats(matrix, settings), sizeof(float), &s->block));
    QB__TRY(qb__alloc(threads, sizeof *s->scratch, &s->scratch));
    for (size_t i = 0; i < threads; i++)
        QB__TRY(qb__alloc(qb__icd_scratch_bytes(&matrix->shadows), 1, &s->scratch[i]));
    place_groups(s);
    join_groups(s);
out:
    return status;
}

void qb__icd_stack_destroy(qb__icd_stack *s) {
    if (!s) return;
    for (int i = 0; s->scratch && i < qb__pool_threads(s->pool); i++) qb__free(s->scratch[i]);
    qb__free(s->scratch);
    qb__free(s->inside);
    qb__free(s->pixels);
    qb__free(s->tile);
    qb__free(s->order);
    qb__free(s->group);
    qb__free(s->moved);
    qb__free(s->equits);
    qb__free(s->still);
    qb__free(s->cost);
    qb__free(s->block);
    qb__free(s);
}

/* ---- the start ---- */

typedef struct starting {
    qb__icd_stack *s;
    const float *lines, *weights;
    const qb__filter *filter;
    const double *theta;
    char **scratch;       /* [thread] the filter's, behind a row */
    atomic_size_t bad, positive; /* 1 + a bad value's index; weights above zero */
} starting;

static float *lanes_of(const qb__icd_stack *s, float *rows, size_t view) {
    return rows + view * s->row + s->matrix->shadows.taps * L;
}

static void filter_view(void *context, size_t view, int worker) {
    const starting *t = context;
    const qb__icd_stack *s = t->s;
    const size_t columns = s->matrix->shadows.columns;
    float *row = (float *)(void *)t->scratch[worker];
    for (size_t slice = 0; slice < s->slices; slice++) {
        memcpy(row, t->lines + (view * s->slices + slice) * columns, columns * sizeof *row);
        qb__filter_rows(t->filter, row, 1, columns, (float)(t->theta[view] / (double)s->matrix->shadows.area),
                        row + qb__round_up(columns, 16));
        float *to = lanes_of(s, s->group[group_of(s, slice)].error, view) + lane_of(s, slice);
        for (size_t c = 0; c < columns; c++) to[c * L] = row[c];
    }
}

static void back_tile(void *context, size_t task, int worker) {
    const starting *t = context;
    const qb__icd_stack *s = t->s;
    const qb__icd_group *g = &s->group[task % s->groups];
    const uint32_t *pixels = s->pixels + s->tile[task / s->groups];
    const size_t count = s->tile[task / s->groups + 1] - s->tile[task / s->groups];
    s->variant->back(&s->problem, g->error, pixels, count, g->x, s->scratch[worker]);
    for (size_t i = 0; s->settings.positive && i < count; i++)
        for (size_t l = 0; l < L; l++) {
            float *x = g->x + (size_t)pixels[i] * L + l;
            *x = *x > 0 ? *x : 0;
        }
}

static void note_bad(starting *t, size_t index) {
    size_t none = 0;
    atomic_compare_exchange_strong(&t->bad, &none, index + 1);
}

/* Lines into lanes, and what they weigh. */
static void load_view(void *context, size_t view, int worker) {
    (void)worker;
    starting *t = context;
    qb__icd_stack *s = t->s;
    const size_t columns = s->matrix->shadows.columns;
    const float scale = (float)(1 / (s->settings.sigma_y * s->settings.sigma_y));
    size_t positive = 0;
    for (size_t slice = 0; slice < s->slices; slice++) {
        const size_t first = (view * s->slices + slice) * columns;
        const qb__icd_group *g = &s->group[group_of(s, slice)];
        float *error = lanes_of(s, g->error, view) + lane_of(s, slice);
        float *weight = g->weight ? lanes_of(s, (float *)g->weight, view) + lane_of(s, slice) : NULL;
        for (size_t c = 0; c < columns; c++) {
            const float y = t->lines[first + c];
            const float w = t->weights ? t->weights[first + c] : qb__icd_weigh(s->settings.weighting, y);
            if (!isfinite(y) || !(w >= 0) || !isfinite(w)) note_bad(t, first + c);
            error[c * L] = y;
            positive += w > 0;
            if (weight) weight[c * L] = w * scale;
        }
    }
    atomic_fetch_add(&t->positive, positive);
}

static qb_status tell_bad(const starting *t) {
    const qb__icd_stack *s = t->s;
    const size_t columns = s->matrix->shadows.columns, index = atomic_load(&t->bad) - 1;
    const double y = (double)t->lines[index], w = t->weights ? (double)t->weights[index] : 1;
    const size_t view = index / columns / s->slices, slice = index / columns % s->slices;
    if (!isfinite(y))
        return qb__fail(QB_BAD_INPUT, "view %zu, slice %zu, column %zu is no number (%g): mask or mend it first",
                        view, slice, index % columns, y);
    return qb__fail(QB_BAD_INPUT, "the weight of view %zu, slice %zu, column %zu is %g: weights are numbers from 0 up",
                    view, slice, index % columns, w);
}

static void curve_tile(void *context, size_t task, int worker) {
    const qb__icd_stack *s = context;
    const qb__icd_group *g = &s->group[task % s->groups];
    const size_t tile = task / s->groups, first = s->tile[tile], count = s->tile[tile + 1] - first;
    s->variant->curve(&s->problem, g->weight, s->pixels + first, count, (float *)g->curve,
                      s->scratch[worker]);
}

static void subtract_group(void *context, size_t group, int worker) {
    const qb__icd_stack *s = context;
    const qb__icd_group *g = &s->group[group];
    s->variant->subtract(&s->problem, g->x, s->pixels, s->count, g->error, s->scratch[worker]);
}

static qb_status back_project(qb__icd_stack *s, starting *t) {
    const size_t threads = (size_t)qb__pool_threads(s->pool), columns = s->matrix->shadows.columns;
    const size_t bytes = qb__round_up(columns, 16) * sizeof(float) + qb__filter_scratch(t->filter);
    qb_status status;
    QB__TRY(qb__alloc(threads, sizeof *t->scratch, &t->scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(bytes, 1, &t->scratch[i]));
    qb__pool_for(s->pool, s->matrix->shadows.views, filter_view, t);
    qb__pool_for(s->pool, s->tiles * s->groups, back_tile, t);
out:
    for (size_t i = 0; t->scratch && i < threads; i++) qb__free(t->scratch[i]);
    qb__free(t->scratch);
    return status;
}

static void fill_constant(qb__icd_stack *s, float value) {
    for (size_t slice = 0; slice < s->slices; slice++)
        for (size_t i = 0; i < s->count; i++)
            s->group[group_of(s, slice)].x[(size_t)s->pixels[i] * L + lane_of(s, slice)] = value;
}

qb_status qb__icd_stack_start(qb__icd_stack *s, const float *lines, const float *weights,
                              const qb__filter *filter, const double *theta, double constant) {
    starting t = {.s = s, .lines = lines, .weights = weights, .filter = filter, .theta = theta};
    memset(s->block, 0, s->groups * group_floats(s->matrix, &s->settings) * sizeof(float));
    if (filter) {
        qb_status status = back_project(s, &t);
        if (status != QB_OK) return status;
    } else {
        fill_constant(s, (float)constant);
    }
    qb__pool_for(s->pool, s->matrix->shadows.views, load_view, &t);
    if (atomic_load(&t.bad)) return tell_bad(&t);
    if (!atomic_load(&t.positive))
        return qb__fail(QB_BAD_INPUT, "all weights are zero: nothing was measured that counts");
    qb__pool_for(s->pool, s->tiles * s->groups, curve_tile, s);
    qb__pool_for(s->pool, s->groups, subtract_group, s);
    return QB_OK;
}

/* ---- turns ---- */

static void shuffle(qb__icd_stack *s, int turn) {
    qb__random random = qb__random_stream(s->settings.seed, (uint64_t)turn);
    for (size_t i = 0; i < s->tiles; i++) s->order[i] = i;
    for (size_t i = s->tiles - 1; i > 0; i--) {
        const size_t other = qb__random_bits(&random) % (i + 1), kept = s->order[i];
        s->order[i] = s->order[other];
        s->order[other] = kept;
    }
}

static void turn_group(void *context, size_t task, int worker) {
    qb__icd_stack *s = context;
    const size_t group = s->first_group + task * s->group_step;
    for (size_t i = 0; i < s->tiles && !s->still[group] && !qb__cancelled(s->env); i++) {
        const size_t first = s->tile[s->order[i]], count = s->tile[s->order[i] + 1] - first;
        s->variant->update(&s->problem, &s->group[group], s->pixels + first, count, s->skip,
                           &s->moved[group], s->scratch[worker]);
    }
}

static void turn_some(qb__icd_stack *s, size_t first, size_t step, size_t count) {
    s->first_group = first;
    s->group_step = step;
    if (count) qb__pool_for(s->pool, count, turn_group, s);
}

static void turn_all(qb__icd_stack *s) {
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
    const qb__icd_stack *s = context;
    const qb__icd_group *g = &s->group[group];
    double *cost = s->cost + group * L, sum[L];
    memset(cost, 0, L * sizeof *cost);
    s->variant->prior(&s->problem, g, s->pixels, s->count, cost);
    for (size_t view = 0; view < s->matrix->shadows.views; view++) {
        const float *e = lanes_of(s, g->error, view);
        const float *w = g->weight ? lanes_of(s, (float *)g->weight, view) : NULL;
        memset(sum, 0, sizeof sum);
        for (size_t i = 0; i < s->matrix->shadows.columns * L; i++)
            sum[i % L] += 0.5 * (double)e[i] * (double)e[i] * (w ? (double)w[i] : 1);
        for (size_t l = 0; l < L; l++) cost[l] += sum[l];
    }
}

static double cost_of(qb__icd_stack *s) {
    double sum = 0;
    qb__pool_for(s->pool, s->groups, cost_group, s);
    for (size_t slice = 0; slice < s->slices; slice++)
        sum += s->cost[group_of(s, slice) * L + lane_of(s, slice)];
    const double sigma2 = s->settings.sigma_y * s->settings.sigma_y;
    return s->settings.weighting == QB__WEIGH_NONE ? sum / sigma2 : sum;
}

static double size_of(const qb__icd_stack *s, size_t group) {
    double sum = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t l = 0; l < L; l++)
            sum += fabs((double)s->group[group].x[(size_t)s->pixels[i] * L + l]);
    return sum;
}

/* Zero-skipping makes turns shorter than an equit: of emptier than this, more are not counted on. */
int qb__icd_turns(int equits) { return 4 * equits + 16; }

/* What the groups first <= g < end, which stop together, have come to. */
typedef struct progress {
    double change, size, updates;
} progress;

static const char *stop_some(qb__icd_stack *s, size_t first, size_t end, bool last, double *change) {
    progress sum = {0};
    for (size_t g = first; g < end; g++) {
        for (size_t l = 0; l < L; l++) sum.change += s->moved[g].change[l];
        sum.size += size_of(s, g);
        sum.updates += (double)s->moved[g].updates;
    }
    const double equits = sum.updates / (double)(s->count * (end - first));
    *change = sum.size > 0 ? sum.change / sum.size : 0;
    const char *stopped = NULL;
    if (*change < s->settings.stop || sum.updates == 0) stopped = "change";
    for (size_t g = first; g < end; g++) {
        s->equits[g] += equits;
        if (!stopped && (last || s->equits[g] >= s->settings.equits - 1e-6)) stopped = "equits";
        s->still[g] = stopped != NULL;
    }
    return stopped;
}

static qb_status note(qb__icd_stack *s, qb__icd_trace *trace, int turn, const qb_env *env,
                      const char **stopped) {
    const bool last = turn + 1 == qb__icd_turns(s->settings.equits);
    const size_t step = s->joined ? s->groups : 1;
    size_t moving = 0;
    *trace = (qb__icd_trace){0};
    for (size_t g = 0; g < s->groups; g += step) {
        double change = 0;
        const char *why = s->still[g] ? NULL : stop_some(s, g, g + step, last, &change);
        if (!(change <= trace->change)) trace->change = change;
        if (why) *stopped = why;
        moving += !s->still[g];
    }
    if (moving) *stopped = NULL;
    for (size_t g = 0; g < s->groups; g++) trace->equits += s->equits[g] / (double)s->groups;
    trace->cost = cost_of(s);
    if (!isfinite(trace->cost) || !isfinite(trace->change))
        return qb__fail(QB_INTERNAL,
                        "mbir diverges: after %.1f equits the cost is %g; do scan and geometry belong "
                        "together?",
                        trace->equits, trace->cost);
    const double all = s->settings.equits;
    qb__progress(env, "mbir", (uint64_t)(100 * fmin(trace->equits, all)), (uint64_t)(100 * all));
    return qb__check_cancel(env);
}

qb_status qb__icd_stack_run(qb__icd_stack *s, const qb_env *env, const qb__icd_watch *watch,
                            qb__icd_trace *trace, int *turns, const char **stopped) {
    qb_status status = QB_OK;
    *stopped = NULL;
    s->env = env;
    for (*turns = 0; !*stopped && status == QB_OK; ++*turns) {
        memset(s->moved, 0, s->groups * sizeof *s->moved);
        s->skip = s->settings.skip && *turns > 0;
        shuffle(s, *turns);
        turn_all(s);
        status = note(s, trace + *turns, *turns, env, stopped);
        if (status == QB_OK && watch && watch->turn(watch->self, s, trace + *turns)) *stopped = "watch";
    }
    return status;
}

void qb__icd_stack_image(const qb__icd_stack *s, size_t slice, float scale, float *image) {
    const size_t nx = s->problem.nx;
    const float *x = s->group[group_of(s, slice)].x + lane_of(s, slice);
    for (size_t iy = 0; iy < s->problem.ny; iy++)
        for (size_t ix = 0; ix < nx; ix++)
            image[iy * nx + ix] = scale * x[((iy + 1) * (nx + 2) + ix + 1) * L];
}
