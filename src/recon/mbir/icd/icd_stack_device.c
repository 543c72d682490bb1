/* SPDX-License-Identifier: MIT */
/* A stack on a device; the CPU checks the input and fills its gaps. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/mbir/icd/icd_stack.h"

typedef struct device_stack {
    qb__device *device;
    const qb__icd_device_variant *variant;
    qb__icd_on_device *stack;
    const qb__system_matrix *matrix;
    qb__icd_settings settings;
    qb__icd_ask ask;
    qb__icd_problem problem;
    qb__pool *pool;
    size_t groups, slices;
    uint8_t *inside;
    double scale; /* factor of the cost */
} device_stack;

/* ---- input ---- */

typedef struct looking {
    const device_stack *s;
    const qb__icd_given *given;
    float *filled;     /* line integrals whose gaps are filled; NULL = there are none */
    atomic_size_t bad; /* 1 + a bad value's index */
    float *largest;    /* [view] weight */
} looking;

static size_t view_floats(const device_stack *s) { return s->slices * s->matrix->footprints.columns; }

/* Given weights are scaled, those of a rule are not; half floats hold their roots. */
static const float most_by_rule = 65504.0f * 65504.0f;

/* False for most views: whether a value is not finite, or so far below 0 that its weight by a rule may be too large.
 * The bits of floats are compared, because vectors do that without further rules of the compiler. */
static bool any_special(const float *lines, size_t count) {
    const uint32_t infinite = 0xff000000, minus_20 = 0xc1a00000;
    uint32_t special = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &lines[i], sizeof bits);
        special |= bits << 1 >= infinite || bits > minus_20;
    }
    return special;
}

static void look_view(void *context, size_t view, int worker) {
    (void)worker;
    looking *t = context;
    const size_t count = view_floats(t->s), first = view * count;
    const float *lines = t->given->lines, *weights = t->given->weights;
    const qb__icd_weighting rule = t->s->settings.weighting;
    float largest = weights ? 0 : 1;
    const size_t end = weights || any_special(lines + first, count) ? first + count : first;
    for (size_t i = first; i < end; i++) {
        const bool sound = weights ? weights[i] >= 0 && isfinite(weights[i])
                                   : !(lines[i] < 0) || qb__icd_weigh(rule, lines[i]) <= most_by_rule;
        size_t none = 0;
        if (isinf(lines[i]) || !sound) atomic_compare_exchange_strong(&t->bad, &none, i + 1);
        if (weights && weights[i] > largest) largest = weights[i];
    }
    t->largest[view] = largest;
}

/* Rows of the start image with gaps filled, times the factor of their slice. */
static void fill_view(void *context, size_t view, int worker) {
    (void)worker;
    const looking *t = context;
    const device_stack *s = t->s;
    const size_t columns = s->matrix->footprints.columns, first = view * view_floats(s);
    for (size_t slice = 0; slice < s->slices; slice++) {
        float *row = t->filled + first + slice * columns;
        const float more = qb__icd_start_row(t->given, view * s->slices + slice, slice, columns, row);
        for (size_t c = 0; more != 1 && c < columns; c++) row[c] *= more;
    }
}

/* The start: filtered back-projection by the transposed matrix. */
static qb_status filter_start(device_stack *s, looking *t) {
    const size_t views = s->matrix->footprints.views;
    qb__device_filter *filter = NULL;
    qb__filter_spectrum spectrum;
    float *weights = NULL;
    qb_status status;
    if (t->given->more || t->given->most > 0) {
        QB__TRY(qb__alloc(views * view_floats(s), sizeof(float), &t->filled));
        qb__pool_for(s->pool, views, fill_view, t);
    }
    QB__TRY(qb__alloc(views, sizeof *weights, &weights));
    for (size_t v = 0; v < views; v++) weights[v] = (float)(t->given->theta[v] / (double)s->matrix->footprints.area);
    qb__filter_describe(t->given->filter, &spectrum);
    const qb__device_prep prep = {.quantity = QB_LINE_INTEGRAL,
                                  .dtype = QB_F32,
                                  .views = views,
                                  .weights = weights,
                                  .rows = s->slices,
                                  .floor = FLT_MIN,
                                  .most = FLT_MAX};
    QB__TRY(qb__device_filter_create(s->device, &spectrum, &prep, QB__FILTER_AUTO, &filter));
    status = s->variant->back(s->stack, t->filled ? t->filled : t->given->lines, filter);
out:
    qb__device_filter_destroy(filter);
    qb__free(weights);
    qb__free(t->filled);
    return status;
}

static qb_status begin_image(device_stack *s, looking *t, const qb__icd_given *given) {
    if (given->images) return s->variant->put(s->stack, false, given->images);
    return given->filter ? filter_start(s, t) : s->variant->fill(s->stack, (float)given->constant);
}

static qb_status start(void *self, const qb__icd_given *given) {
    device_stack *s = self;
    const float *lines = given->lines, *weights = given->weights;
    looking t = {.s = s, .given = given};
    const size_t views = s->matrix->footprints.views;
    float largest = 0;
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *t.largest, &t.largest));
    qb__pool_for(s->pool, views, look_view, &t);
    for (size_t v = 0; v < views; v++) largest = fmaxf(largest, t.largest[v]);
    double of_all = (double)largest;
    QB__TRY(qb__icd_halo_largest(s->settings.halo, QB_OK, &of_all, 1));
    largest = (float)of_all;
    QB__TRY(qb__icd_check(lines, weights, atomic_load(&t.bad), largest > 0, s->slices, s->matrix->footprints.columns));
    if (given->toward) QB__TRY(s->variant->put(s->stack, true, given->toward));
    QB__TRY(begin_image(s, &t, given));
    /* Weights up to one, because half floats hold their roots. */
    QB__TRY(s->variant->begin(s->stack, lines, (int)s->settings.weighting, weights, 1 / largest));
    s->scale = (double)largest / (s->settings.sigma_y * s->settings.sigma_y);
out:
    qb__free(t.largest);
    return status;
}

/* ---- sweeps ---- */

static qb_status turn(void *self, int number, bool skip, const bool *still, const qb_env *env, qb__icd_swept *turned) {
    device_stack *s = self;
    (void)env;
    return s->variant->turn(s->stack, number, skip, still, turned);
}

static qb_status cost_of(void *self, double *cost) {
    device_stack *s = self;
    const qb_status status = s->variant->cost(s->stack, cost);
    for (size_t g = 0; status == QB_OK && g < s->groups; g++) cost[g] *= s->scale;
    return status;
}

static qb_status image(void *self, size_t slice, float scale, float *out) {
    device_stack *s = self;
    return s->variant->image(s->stack, slice, scale, out);
}

static qb_status state(void *self, bool into, qb__icd_piece piece, void *to) {
    device_stack *s = self;
    return s->variant->state(s->stack, into, piece, to);
}

static void destroy(void *self) {
    device_stack *s = self;
    s->variant->destroy(s->stack);
    qb__free(s->inside);
    qb__free(s);
}

static const qb__icd_worker on_device = {
    .start = start, .turn = turn, .cost = cost_of, .image = image, .state = state, .destroy = destroy};

/* ---- life ---- */

static qb__icd_ask ask_of(const qb__icd_problem *problem, const qb__icd_settings *settings, size_t slices, size_t all) {
    const double sigma_y = settings->sigma_y;
    return (qb__icd_ask){.problem = problem,
                         .slices = slices,
                         .all = all,
                         .joined = settings->prior.interslice > 0 && (all > 1 || settings->halo),
                         .edges = settings->halo ? &settings->halo->edges : NULL,
                         .weighted = settings->weighting != QB__WEIGH_NONE,
                         .pull =
                             settings->pull * (sigma_y > 0 ? sigma_y * sigma_y : 1), /* a plan does not know it yet */
                         .seed = settings->seed};
}

static qb__icd_problem problem_of(const qb__system_matrix *matrix, const qb__icd_settings *settings) {
    qb__icd_problem problem = {.footprints = matrix->footprints,
                               .nx = matrix->nx,
                               .ny = matrix->ny,
                               .prior = settings->prior,
                               .positive = settings->positive};
    qb__icd_lighten(&problem.prior, settings->sigma_y * settings->sigma_y);
    return problem;
}

qb__icd_room qb__icd_stack_room(const qb__icd_device_variant *variant, const int *values,
                                const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                size_t all) {
    const qb__icd_problem problem = problem_of(matrix, settings);
    const qb__icd_ask ask = ask_of(&problem, settings, slices, all);
    const size_t filtered = matrix->footprints.views * slices * matrix->footprints.columns * sizeof(float);
    const size_t pixels = (matrix->nx + 2) * (matrix->ny + 2), shown = settings->halo ? 5 * pixels * sizeof(float) : 0;
    return (qb__icd_room){variant->bytes(&ask, values), filtered + shown + pixels * 4};
}

qb_status qb__icd_stack_create_on(qb__device *device, const qb__icd_device_variant *variant, const int *values,
                                  const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                  size_t all, qb__pool *pool, qb__icd_stack **stack) {
    const size_t pixels = (matrix->nx + 2) * (matrix->ny + 2);
    device_stack *s;
    *stack = NULL;
    qb_status status = qb__alloc(1, sizeof *s, &s);
    if (status != QB_OK) return status;
    *s = (device_stack){.device = device,
                        .variant = variant,
                        .matrix = matrix,
                        .settings = *settings,
                        .problem = problem_of(matrix, settings),
                        .pool = pool,
                        .slices = slices};
    QB__TRY(qb__alloc(pixels, 1, &s->inside));
    qb__icd_inside(matrix->nx, matrix->ny, settings->radius, s->inside);
    s->problem.inside = s->inside;
    s->ask = ask_of(&s->problem, settings, slices, all);
    s->groups = qb__icd_device_groups(&s->ask, variant->lanes(&s->ask, values));
    QB__TRY(variant->create(device, &s->ask, values, &s->stack));
    const qb__icd_shape shape = {s->groups, qb__icd_pixels(matrix->nx, matrix->ny, settings->radius),
                                 variant->turns ? qb__icd_sweeps(settings->equits)
                                                : qb__icd_whole_sweeps(settings->equits),
                                 s->ask.joined, variant->turns ? 100 : 0};
    return qb__icd_stack_of(&on_device, s, settings, &shape, stack);
out:
    destroy(s);
    return status;
}
