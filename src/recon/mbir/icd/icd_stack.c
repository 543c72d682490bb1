/* SPDX-License-Identifier: MIT */
/* Common to all stacks: equits, convergence, stopping. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/resample.h"
#include "recon/mbir/icd/icd_fall.h"
#include "recon/mbir/icd/icd_stack.h"

struct qb__icd_stack {
    const qb__icd_worker *worker;
    void *self;
    qb__icd_settings settings;
    qb__icd_shape shape;
    double *equits; /* [group] equits so far */
    bool *still;    /* [group] true: the group has stopped */
    qb__icd_swept *turned;
    double *cost;       /* [group] cost after the last sweep */
    qb__icd_fall *fall; /* [group] decrease of its cost; for groups that stop together the first one holds the total */
    double least;       /* lowest cost so far */
    int turns;          /* sweeps so far */
    const char *told;   /* text for `given` */
};

float qb__icd_weigh(qb__icd_weighting weighting, float y) {
    if (isnan(y)) return 0;
    switch (weighting) {
    case QB__WEIGH_TRANSMISSION: return expf(-y);
    case QB__WEIGH_TRANSMISSION_ROOT: return expf(-y / 2);
    case QB__WEIGH_EMISSION: return 1 / (fabsf(y) + 0.1f);
    default: return 1;
    }
}

void qb__icd_lighten(qb__icd_prior *prior, double scale) {
    prior->nearest *= scale;
    prior->diagonal *= scale;
    prior->interslice *= scale;
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

void qb__icd_inside(size_t nx, size_t ny, double radius, uint8_t *inside) {
    memset(inside, 0, (nx + 2) * (ny + 2));
    for (size_t iy = 0; iy < ny; iy++)
        for (size_t ix = 0; ix < nx; ix++) inside[(iy + 1) * (nx + 2) + ix + 1] = is_inside(nx, ny, radius, ix, iy);
}

/* ---- input ---- */

qb_status qb__icd_check(const float *lines, const float *weights, size_t bad, bool some, size_t slices,
                        size_t columns) {
    if (!bad && some) return QB_OK;
    if (!bad) return qb__fail(QB_BAD_INPUT, "all weights are zero: nothing was measured that counts");
    const size_t index = bad - 1, view = index / columns / slices, slice = index / columns % slices;
    const double y = (double)lines[index];
    if (isinf(y))
        return qb__fail(QB_BAD_INPUT, "view %zu, slice %zu, column %zu is no number (%g): mask or mend it first", view,
                        slice, index % columns, y);
    if (!weights)
        return qb__fail(
            QB_BAD_INPUT,
            "the weight of view %zu, slice %zu, column %zu overflows: a line integral of %g is no attenuation's; "
            "change the sign of all if they are ln of transmissions, set it to NaN if it was not measured",
            view, slice, index % columns, y);
    return qb__fail(QB_BAD_INPUT, "the weight of view %zu, slice %zu, column %zu is %g: weights are numbers from 0 up",
                    view, slice, index % columns, (double)weights[index]);
}

float qb__icd_start_row(const qb__icd_given *given, size_t row, size_t slice, size_t columns, float *to) {
    memcpy(to, given->lines + row * columns, columns * sizeof *to);
    for (size_t c = 0; given->most > 0 && c < columns; c++)
        if (fabs((double)to[c]) > given->most) to[c] = NAN;
    if (given->more || given->most > 0) qb__resample_fill(to, columns);
    return given->more ? given->more[slice] : 1;
}

/* ---- life ---- */

qb_status qb__icd_stack_of(const qb__icd_worker *worker, void *self, const qb__icd_settings *settings,
                           const qb__icd_shape *shape, qb__icd_stack **stack) {
    qb__icd_stack *s = NULL;
    qb_status status;
    *stack = NULL;
    QB__TRY(qb__alloc(1, sizeof *s, &s));
    *s = (qb__icd_stack){.worker = worker, .self = self, .settings = *settings, .shape = *shape};
    self = NULL;
    QB__TRY(qb__alloc(shape->groups, sizeof *s->equits, &s->equits));
    QB__TRY(qb__alloc(shape->groups, sizeof *s->still, &s->still));
    QB__TRY(qb__alloc(shape->groups, sizeof *s->turned, &s->turned));
    QB__TRY(qb__alloc(shape->groups, sizeof *s->cost, &s->cost));
    QB__TRY(qb__alloc(shape->groups, sizeof *s->fall, &s->fall));
    *stack = s;
    s = NULL;
out:
    if (self) worker->destroy(self);
    qb__icd_stack_destroy(s);
    return status;
}

void qb__icd_stack_destroy(qb__icd_stack *s) {
    if (!s) return;
    s->worker->destroy(s->self);
    qb__free(s->equits);
    qb__free(s->still);
    qb__free(s->turned);
    qb__free(s->cost);
    qb__free(s->fall);
    qb__free(s);
}

qb_status qb__icd_stack_start(qb__icd_stack *s, const qb__icd_given *given) {
    s->told = given->told;
    return s->worker->start(s->self, given);
}

qb_status qb__icd_stack_image(const qb__icd_stack *s, size_t slice, float scale, float *image) {
    return s->worker->image(s->self, slice, scale, image);
}

/* ---- settings ---- */

qb_status qb__icd_stack_state(qb__icd_stack *s, bool into, qb__icd_piece piece, void *self) {
    const size_t groups = s->shape.groups;
    uint8_t *still = NULL;
    int64_t turns = s->turns;
    qb_status status;
    QB__TRY(qb__alloc(groups, 1, &still));
    for (size_t g = 0; g < groups; g++) still[g] = s->still[g];
    QB__TRY(piece(self, &turns, sizeof turns));
    if (turns < 0 || turns >= s->shape.most) {
        status = qb__fail(QB_BAD_INPUT, "a descent of %d turns at most cannot go on after %lld", s->shape.most,
                          (long long)turns);
        goto out;
    }
    s->turns = (int)turns;
    QB__TRY(piece(self, &s->least, sizeof s->least));
    QB__TRY(piece(self, s->equits, groups * sizeof *s->equits));
    QB__TRY(piece(self, s->fall, groups * sizeof *s->fall));
    QB__TRY(piece(self, still, groups));
    for (size_t g = 0; g < groups; g++) s->still[g] = still[g] != 0;
    status = s->worker->state(s->self, into, piece, self);
out:
    qb__free(still);
    return status;
}

/* ---- sweeps ---- */

/* With selected SuperVoxels, a sweep is 0.4 equits. */
int qb__icd_sweeps(int equits) { return 10 * equits + 16; }

/* True if the sweep updates all voxels. The other two of three sweeps skip voxels of value 0 whose neighbours are all 0.
 * Such a voxel may have to rise, so only a whole sweep can show that the descent has converged. */
static bool is_whole(const qb__icd_stack *s, int turn) { return !s->settings.skip || turn % 3 == 0; }

/* Result of a sweep. For groups that stop together it is the sum over all ranks. */
typedef struct turn_sum {
    double change, size, updates, groups, cost;
} turn_sum;

static turn_sum sum_of(const qb__icd_stack *s, size_t first, size_t end) {
    turn_sum sum = {.groups = (double)(end - first)};
    for (size_t g = first; g < end; g++) {
        sum.change += s->turned[g].change;
        sum.size += s->turned[g].size;
        sum.updates += s->turned[g].updates;
        sum.cost += s->cost[g];
    }
    return sum;
}

/* Groups first <= g < end: the number of whole sweeps closest to the equits asked for. */
static const char *stop_some(qb__icd_stack *s, size_t first, size_t end, const turn_sum *sum, bool whole, bool last,
                             double *change) {
    const double equits = sum->updates / ((double)s->shape.voxels * sum->groups), stop = s->settings.stop;
    qb__icd_fall *fall = &s->fall[first];
    *change = sum->size > 0 ? sum->change / sum->size : 0;
    const char *stopped = NULL;
    if (sum->updates > 0) qb__icd_fall_add(fall, s->equits[first] + equits, sum->cost);
    if (whole && ((*change < stop && qb__icd_fall_rest(fall) < stop) || sum->updates == 0)) stopped = "tolerance";
    for (size_t g = first; g < end; g++) {
        s->equits[g] += equits;
        if (!stopped && (last || s->equits[g] + equits / 2 >= s->settings.equits)) stopped = "equits";
        s->still[g] = stopped != NULL;
    }
    return stopped;
}

/* The cost only falls, except for rounding and the simultaneous updates of distant tiles. */
static qb_status check_cost(qb__icd_stack *s, const qb__icd_trace *trace, int turn) {
    if (turn == 0 || trace->cost < s->least) s->least = trace->cost;
    if (!isfinite(trace->cost) || !isfinite(trace->change))
        return qb__fail(QB_BAD_INPUT, "its numbers overflow: after %.1f equits the cost is %g%s%s", trace->equits,
                        fabs(trace->cost), s->told ? "; " : "", s->told ? s->told : "");
    if (trace->cost <= (s->shape.rises > 0 ? s->shape.rises : 2) * s->least) return QB_OK;
    return qb__fail(QB_INTERNAL,
                    "mbir diverges: after %.1f equits the cost is %g, and it was %g; do scan and geometry "
                    "belong together?",
                    trace->equits, trace->cost, s->least);
}

static qb_status note(qb__icd_stack *s, qb__icd_trace *trace, int turn, const char **stopped) {
    const size_t groups = s->shape.groups, step = s->shape.joined ? groups : 1;
    const bool last = turn + 1 == s->shape.most, whole = is_whole(s, turn);
    size_t moving = 0;
    *trace = (qb__icd_trace){0};
    qb_status status = s->worker->cost(s->self, s->cost);
    turn_sum all = sum_of(s, 0, groups);
    status = qb__icd_halo_sum(s->settings.halo, status, &all.change, sizeof all / sizeof(double));
    if (status != QB_OK) return status;
    trace->cost = all.cost;
    for (size_t g = 0; g < groups; g += step) {
        double change = 0;
        const turn_sum sum = s->shape.joined ? all : sum_of(s, g, g + 1);
        const char *why = s->still[g] ? NULL : stop_some(s, g, g + step, &sum, whole, last, &change);
        if (!(change <= trace->change)) trace->change = change;
        trace->rest = fmax(trace->rest, qb__icd_fall_rest(&s->fall[g]));
        if (why) *stopped = why;
        moving += !s->still[g];
    }
    if (moving) *stopped = NULL;
    for (size_t g = 0; g < groups; g++) trace->equits += s->equits[g] / (double)groups;
    return check_cost(s, trace, turn);
}

/* Before any sweep: the reference for the first one. */
static qb_status note_start(qb__icd_stack *s) {
    const size_t groups = s->shape.groups, step = s->shape.joined ? groups : 1;
    qb_status status = s->worker->cost(s->self, s->cost);
    turn_sum all = sum_of(s, 0, groups);
    status = qb__icd_halo_sum(s->settings.halo, status, &all.cost, 1);
    for (size_t g = 0; status == QB_OK && g < groups; g += step)
        qb__icd_fall_add(&s->fall[g], 0, s->shape.joined ? all.cost : s->cost[g]);
    return status;
}

static qb_status tell(const qb__icd_stack *s, const qb__icd_trace *trace, const char *units, const qb_env *env) {
    const double most = s->settings.equits;
    char rmse[48] = "", words[144];
    if (units) snprintf(rmse, sizeof rmse, ", rmse %.4g %s", trace->rmse, units);
    snprintf(words, sizeof words, "mbir; %.1f equits, change %.2g %%, cost to fall %.2g %%%s", trace->equits,
             100 * trace->change, 100 * trace->rest, rmse);
    qb__progress(env, words, (uint64_t)(100 * fmin(trace->equits, most)), (uint64_t)(100 * most));
    return qb__check_cancel(env);
}

qb_status qb__icd_stack_run(qb__icd_stack *s, const qb_env *env, const qb__icd_watch *watch, qb__icd_trace *trace,
                            int *turns, const char **stopped) {
    qb_status status = s->turns ? QB_OK : note_start(s);
    *stopped = NULL;
    for (*turns = s->turns; !*stopped && status == QB_OK;) {
        qb__icd_trace *now = trace + *turns;
        status = s->worker->turn(s->self, *turns, !is_whole(s, *turns), s->still, env, s->turned);
        if (status == QB_OK) status = note(s, now, *turns, stopped);
        *turns = ++s->turns;
        if (status == QB_OK && watch && watch->turn(watch->self, s, now)) *stopped = "watch";
        if (status == QB_OK) status = tell(s, now, watch ? watch->units : NULL, env);
    }
    return status;
}
