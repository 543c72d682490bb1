/* SPDX-License-Identifier: MIT */
/* Iterative coordinate descent on each device found. After convergence, an update of single voxels in double changes
 * nothing. The cost is that of the images, and the back-projection is the transposed matrix. */
#include "base/memory.h"
#include "base/status.h"
#include "base/variant.h"
#include "cases.h"
#include "kernels/icd/icd_surrogate.h"
#include "kernels/icd/icd_device.h"
#include "ops/system_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EQUITS = 60, ROUNDS = 12, BRIEF = 6 }; /* turns of a round; rounds, at most; turns where a few must suffice */

typedef struct trial {
    const qb__icd_device_variant *variant;
    qb_geometry geometry;
    qb_grid grid;
    qb__system_matrix matrix;
    qb__icd_problem problem;
    uint8_t *inside;
    qb__icd_ask ask;
    size_t image, lines; /* numbers of a slice with its margin; of all line integrals */
    float *line, *weight;
    double *error, *double_weight, *x;
    qb__icd_oracle oracle;
    /* one round of a few turns, after which the descent need not have converged */
    bool brief;
    int values[QB__PARAMETERS_MAX], turns, done; /* turns of a round; of all rounds */
    double cost;                                 /* after the last round */
} trial;

static void *some(size_t number, size_t size) {
    void *block = calloc(number ? number : 1, size);
    if (!block) abort();
    return block;
}

/* A fan beam: full turns and short ones, a flat or a curved detector, an axis off the middle, and voxels as close to
 * the source as allowed. */
static bool make_fan(trial *t, rng *r, size_t views, size_t columns) {
    const double half = hypot((double)t->grid.n[0], (double)t->grid.n[1]) / 2, voxel = t->grid.voxel[0];
    const double sod = voxel * (half + 18 + rng_uniform(r, 0, 2 * half)), sdd = sod * rng_uniform(r, 1, 2),
                 turn = rng_below(r, 3) ? 2 : 1.3;
    const double pixel = voxel * rng_uniform(r, 0.7, 1.2) * sdd / sod;
    double *angles = some(views, sizeof *angles);
    for (size_t v = 0; v < views; v++) angles[v] = turn * M_PI * (double)v / (double)views + rng_uniform(r, 0, 0.02);
    bool ok = qb_geometry_cone(views, angles, 1, columns, pixel, pixel, sod, sdd, pixel * rng_uniform(r, -2, 2), 0,
                               &t->geometry) == QB_OK;
    t->geometry.radius = rng_below(r, 2) ? sdd : 0;
    free(angles);
    return ok;
}

static bool make_matrix(trial *t) {
    size_t rows;
    const qb__icd_variant *cpu = qb__icd_variants(&rows) + rows - 1;
    const double radius = hypot((double)t->grid.n[0], (double)t->grid.n[1]) / 2;
    return qb__system_matrix_create(&t->geometry, &t->grid, radius, cpu, &t->matrix) == QB_OK;
}

static void matrix_free(trial *t) {
    qb__system_matrix_destroy(&t->matrix);
    qb_geometry_destroy(&t->geometry);
}

/* Some sizes are even: then edges of voxels lie on edges of columns and on the axis. */
static bool make_geometry(trial *t, rng *r, bool slow, bool fan) {
    static const double voxels[] = {1, 0.7, 2};
    const bool even = !fan && rng_below(r, 2);
    const double voxel = voxels[slow || even ? 0 : rng_below(r, 3)], off = even ? 0 : 1;
    const size_t views = 9 + rng_below(r, slow ? 12 : 40), nx = even ? 16 : 5 + rng_below(r, slow ? 12 : 30),
                 ny = even ? 16 : 5 + rng_below(r, slow ? 12 : 30);
    const size_t columns = even ? nx : 4 + (size_t)(voxel * (double)(nx > ny ? nx : ny) * rng_uniform(r, 0.9, 1.4));
    t->grid = (qb_grid){{nx, ny, 1}, {voxel, voxel, 1}, {off * rng_uniform(r, -1, 1), off * rng_uniform(r, -1, 1), 0}};
    if (fan) return make_fan(t, r, views, columns) && make_matrix(t);
    double *angles = some(views, sizeof *angles);
    for (size_t v = 0; v < views; v++)
        angles[v] = M_PI * (double)v / (double)views + (v ? off * rng_uniform(r, 0, 0.02) : 0);
    bool ok = qb_geometry_parallel(views, angles, 1, columns, 1,
                                   (double)(columns - 1) / 2 + off * rng_uniform(r, -1, 1), &t->geometry) == QB_OK;
    free(angles);
    return ok && make_matrix(t);
}

/* A stack of blobs with noisy line integrals. The square roots of the weights are exact in half precision. */
static void make_data(trial *t, rng *r) {
    const size_t nx = t->problem.nx, ny = t->problem.ny, slices = t->ask.slices;
    t->image = (nx + 2) * (ny + 2);
    t->lines = t->matrix.footprints.views * slices * t->matrix.footprints.columns;
    t->line = some(t->lines, sizeof(float)), t->weight = some(t->lines, sizeof(float));
    t->error = some(t->lines, sizeof(double)), t->double_weight = some(t->lines, sizeof(double));
    t->x = some(slices * t->image, sizeof(double));
    t->oracle = (qb__icd_oracle){.problem = &t->problem,
                                 .exact = true,
                                 .slices = slices,
                                 .weight = t->double_weight,
                                 .error = t->error,
                                 .x = t->x};
    for (size_t i = 0; i < slices * t->image; i++)
        if (t->inside[i % t->image] && (i % t->image + i / t->image) % 7 > 1) t->x[i] = -rng_uniform(r, 0.5, 1);
    qb__icd_reference_subtract(&t->oracle);
    for (size_t i = 0; i < t->lines; i++) {
        const double root = (double)rng_below(r, 65) / 64;
        t->line[i] = (float)(t->error[i] + rng_uniform(r, -0.3, 0.3));
        t->double_weight[i] = t->ask.weighted ? root * root : 1;
        t->weight[i] = (float)t->double_weight[i];
    }
}

static qb__icd_size size_of(const trial *t) {
    const qb__footprints *f = &t->matrix.footprints;
    return (qb__icd_size){.views = f->views,
                          .columns = f->columns,
                          .pixels = t->matrix.nx * t->matrix.ny,
                          .taps = qb__icd_taps(f),
                          .fan = f->wx != NULL};
}

/* The usual parameters. Where compiling is fast, random ones, except the number of SuperVoxels at a time: with too
 * many, the descent does not converge. */
static bool choose_values(trial *t, const qb__device_info *info, rng *r, bool any) {
    const qb__variant *row = &t->variant->head;
    const qb__icd_size size = size_of(t);
    size_t n = 0;
    do qb__parameter_combination(row, n, t->values);
    while (row->unusable(info, &size, t->values) && ++n < qb__parameter_combinations(row));
    if (n == qb__parameter_combinations(row)) return false;
    int usual[QB__PARAMETERS_MAX];
    memcpy(usual, t->values, sizeof usual);
    for (int i = 0; any && i < qb__parameter_count(row); i++)
        if (strcmp(row->parameters[i].name, "BATCH"))
            t->values[i] = row->parameters[i].values[rng_below(r, (uint64_t)row->parameters[i].count)];
    if (row->unusable(info, &size, t->values)) memcpy(t->values, usual, sizeof usual);
    return true;
}

/* Chooses a geometry that the kernel takes, and parameters for it: with a close source, footprints of voxels may be
 * longer than the kernel has room for. */
static bool choose(trial *t, const qb__device_info *info, bool brief, rng *r) {
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (!make_geometry(t, r, info->is_cpu || brief, rng_below(r, 2))) return false;
        if (choose_values(t, info, r, !info->is_cpu && rng_below(r, 2))) return true;
        matrix_free(t);
    }
    return qb__fail(QB_UNSUPPORTED, "no geometry that it takes was found") == QB_OK;
}

static bool trial_new(trial *t, const qb__variant *row, const qb__device_info *info, bool brief, rng *r) {
    *t = (trial){.variant = qb__icd_device_of(row), .brief = brief, .turns = brief ? BRIEF : EQUITS};
    const bool alone = t->variant->alone;
    if (!choose(t, info, brief, r)) return false;
    if (t->variant->turns && !brief) t->turns *= (int)t->variant->turns(t->values);
    t->ask =
        (qb__icd_ask){.problem = &t->problem, .joined = rng_below(r, 2), .weighted = rng_below(r, 3) > 0, .seed = 3};
    /* Compiling for a processor takes seconds, so two programs must suffice there. */
    if (info->is_cpu) t->ask.weighted = t->ask.joined;
    const size_t more = alone ? 0 : info->is_cpu ? t->ask.joined : !brief && rng_below(r, 4) == 0;
    t->ask.slices = t->ask.all = 1 + rng_below(r, 2) * (1 + rng_below(r, 4)) + 66 * more;
    t->ask.joined &= t->ask.slices > 1 && !alone;
    t->problem = (qb__icd_problem){
        .footprints = t->matrix.footprints, .nx = t->matrix.nx, .ny = t->matrix.ny, .positive = rng_below(r, 2)};
    t->problem.prior = (qb__icd_prior){.p = rng_uniform(r, 1.1, 1.6),
                                       .q = rng_below(r, 2) ? 2 : 1.9,
                                       .t = rng_uniform(r, 0.5, 2),
                                       .sigma = rng_uniform(r, 0.3, 1),
                                       .nearest = rng_uniform(r, 0.5, 2),
                                       .diagonal = rng_uniform(r, 0.1, 1),
                                       .interslice = t->ask.joined ? rng_uniform(r, 0.1, 1) : 0};
    t->inside = some((t->problem.nx + 2) * (t->problem.ny + 2), 1);
    for (size_t i = 0; i < t->problem.nx * t->problem.ny; i++)
        t->inside[(i / t->problem.nx + 1) * (t->problem.nx + 2) + i % t->problem.nx + 1] = rng_below(r, 12) > 0;
    t->inside[t->problem.nx + 3] = 1;
    t->problem.inside = t->inside;
    make_data(t, r);
    return true;
}

static void trial_free(trial *t) {
    free(t->line), free(t->weight), free(t->error), free(t->double_weight), free(t->x), free(t->inside);
    matrix_free(t);
}

/* Copies the device's images into the oracle, and computes their residual. */
static qb_status take_images(trial *t, qb__icd_on_device *stack, float *image) {
    const size_t nx = t->problem.nx, slices = t->ask.slices;
    qb_status status = QB_OK;
    memset(t->x, 0, slices * t->image * sizeof *t->x);
    for (size_t s = 0; s < slices && status == QB_OK; s++) {
        status = t->variant->image(stack, s, 1, image);
        for (size_t i = 0; i < nx * t->problem.ny; i++)
            t->x[s * t->image + (i / nx + 1) * (nx + 2) + i % nx + 1] = (double)image[i];
    }
    for (size_t i = 0; i < t->lines; i++) t->error[i] = (double)t->line[i];
    return status;
}

static bool within(double error, double allowed, const char *what, outcome *o) {
    if (!(error / allowed <= o->share_of_bound)) o->share_of_bound = error / allowed;
    if (error < allowed) return true;
    snprintf(o->why.s, sizeof o->why.s, "%s is off by %.2e, allowed %.2e", what, error, allowed);
    return false;
}

/* x = A' y, for one voxel of each slice. */
static bool check_back(trial *t, outcome *o) {
    const qb__footprints *f = &t->matrix.footprints;
    const size_t row = t->problem.nx + 2;
    double worst = 0, size = 0;
    for (size_t i = 0; i < t->ask.slices * t->image; i += 5) {
        const size_t pixel = i % t->image, slice = i / t->image;
        double sum = 0;
        if (!t->inside[pixel]) continue;
        for (size_t v = 0; v < f->views; v++)
            for (size_t c = 0; c < f->columns; c++)
                sum += qb__footprint_reference(f, v, (double)(pixel % row) - 1, (double)(pixel / row) - 1, (double)c) *
                       (double)t->line[(v * t->ask.slices + slice) * f->columns + c];
        if (t->problem.positive) sum = fmax(sum, 0);
        worst = fmax(worst, fabs(sum - t->x[i]));
        size = fmax(size, fabs(sum));
    }
    return within(worst, qb__accuracy_bound(QB_ACCURACY_HIGH) * fmax(size, 1), "A' lines", o);
}

/* The largest change that updates of single voxels would still make. */
static double left_to_do(trial *t) {
    double worst = 0;
    for (size_t i = 0; i < t->ask.slices * t->image; i++)
        if (t->inside[i % t->image])
            worst = fmax(worst, qb__icd_reference_update(&t->oracle, i / t->image, (uint32_t)(i % t->image)));
    return worst;
}

/* ---- a state that is kept and restored ---- */

enum { GIVEN = 4, GROUPS_MAX = 8, AFTER = 3 }; /* AFTER: turns after the kept state */

typedef struct kept {
    char *data;
    size_t bytes, at;
} kept;

static qb_status keep(void *self, void *data, size_t bytes) {
    kept *k = self;
    k->data = realloc(k->data, k->bytes + bytes);
    if (!k->data) abort();
    memcpy(k->data + k->bytes, data, bytes);
    k->bytes += bytes;
    return QB_OK;
}

static qb_status give(void *self, void *data, size_t bytes) {
    kept *k = self;
    if (bytes > k->bytes - k->at) return qb__fail(QB_INTERNAL, "more is asked for than was kept");
    memcpy(data, k->data + k->at, bytes);
    k->at += bytes;
    return QB_OK;
}

static qb_status start(const trial *t, qb__icd_on_device *stack, float value) {
    qb_status status = t->variant->fill(stack, value);
    if (status != QB_OK) return status;
    return t->variant->begin(stack, t->line, t->ask.weighted ? GIVEN : 0, t->ask.weighted ? t->weight : NULL, 1);
}

static qb_status turn_from(const trial *t, qb__icd_on_device *stack, int first, int end) {
    const bool still[GROUPS_MAX] = {false};
    qb__icd_swept turned[GROUPS_MAX];
    qb_status status = QB_OK;
    for (int i = first; i < end && status == QB_OK; i++) status = t->variant->turn(stack, i, i % 3 > 0, still, turned);
    return status;
}

/* Repeats the last turns in a new stack from the kept state: the same bits. */
static qb_status check_state(trial *t, qb__icd_on_device *stack, kept *k, const double *want, float *image, bool *ok,
                             outcome *o) {
    qb_status status;
    QB__TRY(start(t, stack, 0));
    QB__TRY(t->variant->state(stack, true, give, k));
    QB__TRY(turn_from(t, stack, t->done - AFTER, t->done));
    QB__TRY(take_images(t, stack, image));
    /* the result depends on chance; left_to_do() has already checked that it converged */
    if (t->variant->chance) return QB_OK;
    const bool same = k->at == k->bytes && memcmp(want, t->x, t->ask.slices * t->image * sizeof *want) == 0;
    if (!same && *ok) snprintf(o->why.s, sizeof o->why.s, "from a state that was kept turns give other bits");
    *ok = *ok && same;
out:
    return status;
}

static qb_status cost_of(trial *t, qb__icd_on_device *stack, double *sum) {
    double cost[GROUPS_MAX];
    const size_t groups = qb__icd_device_groups(&t->ask, t->variant->lanes(&t->ask, t->values));
    qb_status status = t->variant->cost(stack, cost);
    *sum = 0;
    for (size_t g = 0; g < groups && status == QB_OK; g++) *sum += cost[g];
    return status;
}

/* The cost is that of the images, and no round increases it. */
static qb_status check_cost(trial *t, qb__icd_on_device *stack, bool *ok, outcome *o) {
    const double want = qb__icd_reference_cost(&t->oracle),
                 allowed = 2 * qb__accuracy_bound(t->variant->head.accuracy) * want;
    const double before = t->cost;
    qb_status status = cost_of(t, stack, &t->cost);
    if (status != QB_OK) return status;
    *ok = *ok && within(fabs(t->cost - want), allowed, "the cost", o);
    *ok = *ok && within(t->cost - before, allowed, "a cost that rises", o);
    return QB_OK;
}

/* Runs a round of turns. *state is kept before the last turns, *end gets the images after them, *left what is left to
 * do. */
static qb_status run_round(trial *t, qb__icd_on_device *stack, float *image, kept *state, double *end, double *left,
                           bool *ok, outcome *o) {
    const int first = t->done;
    qb_status status;
    state->bytes = 0;
    t->done += t->turns;
    QB__TRY(turn_from(t, stack, first, t->done - AFTER));
    QB__TRY(t->variant->state(stack, false, keep, state));
    QB__TRY(turn_from(t, stack, t->done - AFTER, t->done));
    QB__TRY(take_images(t, stack, image));
    memcpy(end, t->x, t->ask.slices * t->image * sizeof *t->x);
    qb__icd_reference_subtract(&t->oracle);
    QB__TRY(check_cost(t, stack, ok, o));
    *left = left_to_do(t);
out:
    return status;
}

/* The number of rounds depends on the problem; that the descent converges depends on the kernel. */
static qb_status descend(trial *t, qb__icd_on_device *stack, float *image, bool *ok, outcome *o) {
    const double allowed = 4 * qb__accuracy_bound(t->variant->head.accuracy);
    double left = INFINITY, *end = some(t->ask.slices * t->image, sizeof *end);
    kept state = {0};
    qb_status status;
    QB__TRY(t->variant->back(stack, t->line, NULL));
    QB__TRY(take_images(t, stack, image));
    *ok = check_back(t, o);
    QB__TRY(start(t, stack, 0.4f));
    QB__TRY(cost_of(t, stack, &t->cost));
    for (int i = 0; i < (t->brief ? 1 : ROUNDS) && !(left < allowed) && *ok; i++)
        QB__TRY(run_round(t, stack, image, &state, end, &left, ok, o));
    if (!t->brief) *ok = *ok && within(left, allowed, "x", o);
    if (*ok) status = check_state(t, stack, &state, end, image, ok, o);
out:
    free(end);
    free(state.data);
    return status;
}

/* Says what failed, to tell it from other failures. */
static void add_problem(const trial *t, const qb__icd_on_device *stack, outcome *o) {
    const qb__icd_problem *p = &t->problem;
    const qb__footprints *f = &p->footprints;
    char *to = o->why.s;
    size_t n = strlen(to);
    n += (size_t)snprintf(to + n, sizeof o->why.s - n,
                          ", turns %d (%s, %zu views, %zu columns, %zu taps, %zux%zux%zu, p %.2f q %.1f t %.2f sigma "
                          "%.2f, b %.2f %.2f %.2f%s%s",
                          t->done, f->wx ? f->per_radian > 0 ? "bent fan" : "fan" : "parallel", f->views, f->columns,
                          f->taps, p->nx, p->ny, t->ask.slices, p->prior.p, p->prior.q, p->prior.t, p->prior.sigma,
                          p->prior.nearest, p->prior.diagonal, p->prior.interslice, p->positive ? ", positive" : "",
                          t->ask.weighted ? ", weighted" : "");
    for (int i = 0; i < qb__parameter_count(&t->variant->head) && n < sizeof o->why.s; i++)
        n +=
            (size_t)snprintf(to + n, sizeof o->why.s - n, ", %s %d", t->variant->head.parameters[i].name, t->values[i]);
    if (stack && n < sizeof o->why.s) {
        char made[128];
        t->variant->say(stack, made, sizeof made);
        n += (size_t)snprintf(to + n, sizeof o->why.s - n, ": %s", made);
    }
    if (n < sizeof o->why.s) snprintf(to + n, sizeof o->why.s - n, ")");
}

static bool check(const qb__variant *row, qb__device *device, uint64_t seed, const options *asked, outcome *o) {
    rng r = {seed};
    trial t;
    qb__icd_on_device *stack = NULL;
    bool ok = false;
    if (!trial_new(&t, row, qb__device_info_of(device), asked->brief, &r)) {
        trial_free(&t);
        return snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail()), false;
    }
    float *image = some(t.problem.nx * t.problem.ny, sizeof *image);
    qb_status status = t.variant->create(device, &t.ask, t.values, &stack);
    if (status == QB_OK) status = descend(&t, stack, image, &ok, o);
    if (status != QB_OK) snprintf(o->why.s, sizeof o->why.s, "%.200s", qb_detail()), ok = false;
    if (!ok) add_problem(&t, stack, o);
    t.variant->destroy(stack);
    free(image);
    trial_free(&t);
    return ok;
}

static bool bench(const qb__variant *row, qb__device *device, size_t number, const options *o, measurement *m) {
    (void)row, (void)device, (void)number, (void)o, (void)m;
    return false; /* qb bench mbir times whole descents */
}

const kernel_case icd_device_case = {check, bench};
