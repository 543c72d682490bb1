/* SPDX-License-Identifier: MIT */
/* Model-based reconstruction for any geometry. It finds the volume x that minimises
 *     1/2 sum_i w_i / sigma_y^2 (A x - b)_i^2 + sum_pairs b_st rho(x_s - x_t),   x >= 0 with `nonneg`,
 * the same cost as the coordinate descent (cpu/icd/icd.h). For a proximal map, 1 / (2 sigma_p^2) |x - toward|^2
 * replaces the prior.
 *
 * All voxels change at once, by separable quadratic surrogates (Erdogan and Fessler, Phys. Med. Biol. 44 (1999) 2835).
 * The curvature of the data term is D = A' W A 1; that of the prior is in cpu/prior/prior.h. Views are taken in ordered
 * subsets, each of which stands for all views (Kim, Ramani and Fessler, IEEE Trans. Med. Imaging 34 (2015) 167). The
 * steps have the momentum of the optimised gradient method (Kim and Fessler, Math. Program. 159 (2016) 81):
 *     x+ = max(0, z - (V / V_m A_m' W_m (A_m z - b_m) + prior's slope) / (D + prior's curvature)),
 *     z = x+ + (t - 1) / t' (x+ - x) + t / t' (x+ - z),   t' = (1 + sqrt(1 + 4 t^2)) / 2.
 * Subsets lead to a cycle around the minimum. Once it is larger than the progress, pairs of subsets are merged, at last
 * to one subset of all views, with which the iteration is exact. The momentum is dropped if it points against the step
 * (O'Donoghue and Candes, Found. Comput. Math. 15 (2015) 715). */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/vectors.h"
#include "recon/iterative/solver.h"
#include "recon/mbir/icd/icd_fall.h"

/* Flags of an operation, the same as in kernels/vectors/prior.cl. */
enum { HOLES = 4, CURVES = 64 };
/* Number of passes before subsets are merged, at least. With fewer than 16 views in a subset, the momentum enlarges the
 * cycle after some 32 steps; it is dropped before the third pass. Such small subsets are
 * always merged after that pass: a few views leave much to the prior, so that each subset has another minimum. */
enum { FULL_PASSES = 3, FEW_VIEWS = 16, MANY_STEPS = 32 };
/* A pass changes the voxels by its steps together, and its steps cancel in a cycle. Subsets are merged when more cancels
 * than twice the change, or than the change if that hardly falls (to more than 0.9 of the last pass's). The distance
 * from the minimum goes with the change of one step: where a pass of s steps changed the voxels by s times --stop,
 * volumes were 3 to 9 HU away, with 1 to 16 subsets. Where more cancels than the change, they were as near when the steps
 * themselves, added up, were 4.5 times that. The first pass after the momentum was dropped changes little,
 * wherever the minimum is. With many voxels the cost may go on falling while they hardly change: then a change of half
 * of --stop is enough. */
static const double most_cycle = 2, idle_cycle = 1, idle_fall = 0.9, near_steps = 4.5;

/* ---- operations on vectors; the same in kernels/vectors/prior.cl ---- */

/* writes: bit i is set if the operation writes to v[i]. */
#define OP(name, sums, writes) static const qb__vector_op name##_op = {"prior.cl", "prior_" #name, sums, name, writes}

static float weight_of(int rule, float y, float given) {
    if (rule == 1) return expf(-y);
    if (rule == 2) return expf(-0.5f * y);
    if (rule == 3) return 1 / (fabsf(y) + 0.1f);
    return rule == 4 ? given : 1;
}

/* v0 = A x, v1 = b, v2 = weights from a file; s0 = 1 / sigma_y^2, s1 = rule of weights. v0 becomes w (v0 - b), or, with
 * CURVES, w v0. Sum: w r^2, where r is the factor of w. */
static void misfit(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const size_t shift = job->views.first * job->views.each;
    const float *b = (const float *)job->v[1] + shift, scale = (float)job->s[0];
    const float *given = job->v[2] ? (const float *)job->v[2] + shift : NULL;
    float *y = job->v[0];
    for (size_t i = first; i < end; i++) {
        const bool hole = job->flags & HOLES && b[i] == 0 && signbit(b[i]);
        const float w = hole ? 0 : scale * weight_of((int)job->s[1], b[i], given ? given[i] : 1);
        const float r = job->flags & CURVES ? y[i] : y[i] - b[i];
        y[i] = w * r;
        sums[0] += (double)(w * r) * (double)r;
    }
}
OP(misfit, 1, 1);

/* v0 = x+, v1 = x, v2 = z: z = x+ + s0 (x+ - x) + s1 (x+ - z), x = x+. Sums: |x+ - x|, |x+|, (z - x+) (x+ - x). */
static void ahead(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *next = job->v[0], s0 = (float)job->s[0], s1 = (float)job->s[1];
    float *x = job->v[1], *z = job->v[2];
    for (size_t i = first; i < end; i++) {
        const float by = next[i] - x[i], back = next[i] - z[i];
        x[i] = next[i];
        z[i] = next[i] + (s0 * by + s1 * back);
        sums[0] += (double)fabsf(by);
        sums[1] += (double)fabsf(next[i]);
        sums[2] -= (double)back * (double)by;
    }
}
OP(ahead, 3, 6);

/* Sum of |v0 - v1|; then v1 = v0. */
static void moved(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *x = job->v[0];
    float *before = job->v[1];
    for (size_t i = first; i < end; i++) {
        sums[0] += (double)fabsf(x[i] - before[i]);
        before[i] = x[i];
    }
}
OP(moved, 1, 2);

/* Sum of squares of v0 - v1, over elements where v1 is not NaN. */
static void apart(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *a = job->v[0], *b = job->v[1];
    for (size_t i = first; i < end; i++)
        if (!isnan(b[i])) sums[0] += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
}
OP(apart, 1, 0);

/* ---- the method ---- */

typedef struct mbir {
    const qb__linear *a;
    const qb__vectors *v;
    const qb__solve_options *options;
    const qb__solve_model *model;
    const qb_env *env;
    void *b, *x;
    void *z, *g, *d, *toward, *reference; /* vectors of unknowns */
    void *before;                         /* x before the current pass; NULL if a pass has one step */
    void *y, *w;                          /* vectors of equations */
    qb__prior_numbers prior;
    double begun;  /* clock time when the solver began */
    double t;      /* parameter of the momentum */
    size_t merged; /* number of the finest subsets that are merged into one now */
    bool swift;    /* the last pass began with momentum */
    double cycle;  /* what canceled of the steps of a pass, relative to what the pass changed */
    /* sums over a pass */
    double data, rest, change, size, against;
    qb__icd_fall costs;
} mbir;

static qb_status make_spilled(const mbir *s, void **vector) {
    return qb__vector_make_spilled(s->v, QB__UNKNOWNS, s->a->unknowns, vector);
}

/* Make a spilled vector of numbers from the host. They are loaded into z first, because a spilled vector cannot be
 * loaded. */
static qb_status make_from(const mbir *s, const float *numbers, bool only_kept, void **vector) {
    if (!numbers) return QB_OK;
    QB__OR_RETURN(make_spilled(s, vector));
    QB__OR_RETURN(s->a->load(s->a->self, QB__UNKNOWNS, numbers, only_kept, s->z));
    qb__vector_copy(s->v, s->z, *vector, s->a->unknowns);
    return QB_OK;
}

static qb_status make_weights(mbir *s) {
    if (!s->model->weights) return QB_OK;
    QB__OR_RETURN(qb__vector_make_spilled(s->v, QB__EQUATIONS, s->a->equations, &s->w));
    return s->a->load(s->a->self, QB__EQUATIONS, s->model->weights, false, s->w);
}

static size_t views_at_once(const mbir *s) { return s->a->most_views ? s->a->most_views : s->a->views; }

/* The slices of neighbouring ranks in a vector. */
static qb_status halo(const mbir *s, bool fill, void *x) {
    return s->a->halo ? s->a->halo(s->a->self, fill, x) : QB_OK;
}

/* Make the vectors. Those that are loaded come first, because the others would take the memory that loading needs. */
static qb_status make(mbir *s) {
    const size_t each = s->a->views ? s->a->equations / s->a->views : 1;
    qb_status status;
    QB__TRY(make_weights(s));
    QB__TRY(qb__vector_make(s->v, QB__UNKNOWNS, s->a->unknowns, &s->z));
    QB__TRY(make_from(s, s->model->toward, false, &s->toward));
    QB__TRY(make_from(s, s->model->reference, true, &s->reference));
    if (s->model->start)
        QB__TRY(s->a->load(s->a->self, QB__UNKNOWNS, s->model->start, false, s->z));
    else
        qb__vector_fill(s->v, (float)s->model->constant, s->z, s->a->unknowns);
    QB__TRY(halo(s, false, s->z));
    qb__vector_copy(s->v, s->z, s->x, s->a->unknowns);
    QB__TRY(qb__vector_make(s->v, QB__UNKNOWNS, s->a->unknowns, &s->g));
    QB__TRY(make_spilled(s, &s->d));
    if (s->merged < s->a->subsets) QB__TRY(make_spilled(s, &s->before));
    QB__TRY(qb__vector_make(s->v, QB__EQUATIONS, views_at_once(s) * each, &s->y));
    status = qb__vectors_status(s->v);
out:
    return status;
}

static void drop(mbir *s) {
    void *const all[] = {s->z, s->g, s->d, s->before, s->toward, s->reference, s->y, s->w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__vector_drop(s->v, all[i]);
}

/* y = w (y - b) for some views, or, with CURVES, y = w y. Returns the sum of w r^2. */
static double weigh(const mbir *s, size_t first, size_t count, int flags) {
    const size_t each = s->a->views ? s->a->equations / s->a->views : 1;
    double sums[QB__VECTOR_SUMS];
    if (count == 0) return 0;
    qb__vector_run(s->v,
                   (qb__vector_job){&misfit_op, QB__EQUATIONS, count * each, .v = {s->y, s->b, s->w},
                                    .s = {1 / (s->model->sigma_y * s->model->sigma_y), s->model->rule},
                                    .flags = flags | (s->a->holes ? HOLES : 0), .views = {first, count, each}},
                   sums);
    return sums[0];
}

/* Number of views in `count` subsets from the i-th on. */
static size_t views_in(const mbir *s, const size_t *subset, size_t i, size_t count) {
    size_t views = 0;
    for (size_t k = i; k < i + count && k < s->a->subsets; k++) views += subset[k];
    return views;
}

/* Find how many subsets are enough for the curvature. It is smooth, so a quarter of the views is enough if they come in
 * subsets, which are spread over all angles. Weights from a file, and unmeasured values, may differ between views: then
 * all subsets are used. */
static qb_status subsets_of_curve(const mbir *s, size_t *subsets) {
    enum { PART = 4, LEAST = 32 };
    double differs = s->w || s->a->holes;
    const qb_status status = qb__solve_total(s->a, &differs);
    *subsets = s->a->subsets / PART;
    if (differs > 0 || views_in(s, s->a->all_subset, 0, *subsets) < LEAST) *subsets = s->a->subsets;
    return status;
}

/* g = A' w (A z - b) for `subsets` subsets from the i-th on, or, with CURVES, g = A' w A z. Adds this rank's part of w
 * (A z - b)^2 to *sum. If y cannot hold all views, they come in parts; then there is a single rank. */
static qb_status slope_of(const mbir *s, size_t i, size_t subsets, int flags, double *sum) {
    const size_t most = s->a->most_views ? s->a->most_views : s->a->all_views;
    const size_t own = views_in(s, s->a->subset, 0, i), mine = views_in(s, s->a->subset, i, subsets);
    const size_t first = views_in(s, s->a->all_subset, 0, i), count = views_in(s, s->a->all_subset, i, subsets);
    for (size_t done = 0, some; done < count; done += some) {
        some = count - done < most ? count - done : most;
        QB__OR_RETURN(s->a->forward_of(s->a->self, s->z, first + done, some, s->y));
        *sum += weigh(s, own + done, s->a->most_views ? some : mine, flags);
        QB__OR_RETURN(s->a->adjoint_of(s->a->self, s->y, first + done, some, done > 0, s->g));
    }
    return QB_OK;
}

/* Compute the curvature of the data term. */
static qb_status prepare(mbir *s) {
    size_t subsets;
    double sum = 0;
    qb_status status;
    QB__TRY(subsets_of_curve(s, &subsets));
    qb__vector_fill(s->v, 1, s->z, s->a->unknowns);
    QB__TRY(halo(s, false, s->z));
    QB__TRY(slope_of(s, 0, subsets, CURVES, &sum));
    QB__TRY(qb__solve_total(s->a, &sum));
    if (!(sum > 0 && isfinite(sum))) {
        status = qb__fail(QB_BAD_INPUT,
                          "the weights of the rays that meet the volume sum to %g: try --weights unweighted", sum);
        goto out;
    }
    if (subsets < s->a->subsets)
        qb__vector_scale(s->v, QB__UNKNOWNS,
                         (double)s->a->all_views / (double)views_in(s, s->a->all_subset, 0, subsets), s->g,
                         s->a->unknowns);
    qb__vector_copy(s->v, s->g, s->d, s->a->unknowns);
    qb__vector_copy(s->v, s->x, s->z, s->a->unknowns);
    if (s->before) qb__vector_copy(s->v, s->z, s->before, s->a->unknowns);
    status = qb__vectors_status(s->v);
out:
    return status;
}

static void momentum(mbir *s) {
    const double next = (1 + sqrt(1 + 4 * s->t * s->t)) / 2, beta = (s->t - 1) / next, gamma = s->t / next;
    double sums[QB__VECTOR_SUMS];
    qb__vector_run(
        s->v, (qb__vector_job){&ahead_op, QB__UNKNOWNS, s->a->unknowns, .v = {s->g, s->x, s->z}, .s = {beta, gamma}},
        sums);
    s->t = next;
    s->change += sums[0];
    s->size = sums[1];
    s->against += sums[2];
}

/* Make one step with `count` subsets from the i-th on. */
static qb_status step(mbir *s, size_t i, size_t count) {
    const double share = (double)s->a->all_views / (double)views_in(s, s->a->all_subset, i, count);
    const bool first = i == 0;
    qb_status status;
    QB__TRY(slope_of(s, i, count, 0, &s->data));
    QB__TRY(halo(s, true, s->z));
    const qb__prior_step_of down = {.x = s->z,
                                    .slope = s->g,
                                    .curve = s->d,
                                    .toward = s->toward,
                                    .data = share,
                                    .first = s->a->own_slices[0],
                                    .end = s->a->own_slices[1],
                                    .nonneg = s->options->nonneg,
                                    .cost = first};
    const double rest = qb__vector_prior(s->v, &s->prior, &down, s->a->unknowns);
    if (first) s->rest = rest;
    QB__TRY(halo(s, false, s->z));
    momentum(s);
    status = qb__vectors_status(s->v);
out:
    return status;
}

/* Number of views in the smallest subset. */
static size_t views_of_step(const mbir *s) {
    size_t least = s->a->all_views;
    for (size_t i = 0; i < s->a->subsets; i += s->merged) {
        const size_t count = views_in(s, s->a->all_subset, i, s->merged);
        if (count < least) least = count;
    }
    return least;
}

/* Decide after a pass whether subsets are to be merged, as their cycle hides the minimum. */
static bool is_cycling(const mbir *s, const qb__solved *solved) {
    const qb__solve_trace *now = &solved->trace[solved->iterations - 1];
    const bool idle = solved->iterations > 1 && now->change > idle_fall * now[-1].change;
    if (s->merged >= s->a->subsets || solved->iterations < FULL_PASSES) return false;
    return s->cycle > (idle ? idle_cycle : most_cycle) || views_of_step(s) < FEW_VIEWS;
}

static void drop_momentum(mbir *s) {
    s->t = 1;
    qb__vector_copy(s->v, s->x, s->z, s->a->unknowns);
}

/* Find how much a pass of several steps changed the voxels, and how much of the steps canceled. */
static qb_status find_change(mbir *s) {
    double sums[QB__VECTOR_SUMS];
    s->cycle = 0;
    if (!s->before) return QB_OK;
    qb__vector_run(s->v, (qb__vector_job){&moved_op, QB__UNKNOWNS, s->a->unknowns, .v = {s->x, s->before}}, sums);
    const qb_status status = qb__solve_total(s->a, &sums[0]);
    s->cycle = (s->change - sums[0]) / sums[0];
    s->change = sums[0];
    return status;
}

static size_t steps_of(const mbir *s) { return qb__ceil_div(s->a->subsets, s->merged); }

/* Make one pass: all views once. */
static qb_status pass(mbir *s) {
    qb_status status = QB_OK;
    s->data = s->rest = s->change = s->against = 0;
    s->swift = s->t > 1;
    for (size_t i = 0; i < s->a->subsets; i += s->merged) QB__TRY(step(s, i, s->merged));
    double *const sums[] = {&s->data, &s->rest, &s->change, &s->size, &s->against};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) QB__TRY(qb__solve_total(s->a, sums[i]));
    if (s->against > 0) drop_momentum(s); /* the momentum points against the step */
    status = find_change(s);
out:
    return status;
}

/* True if the change of the last pass tells how near the minimum is, and it is near enough. */
static bool is_near(const mbir *s, const qb__solved *solved) {
    const double stop = s->model->stop, change = solved->trace[solved->iterations - 1].change;
    const size_t steps = steps_of(s);
    const bool mostly_cycle = s->cycle > idle_cycle && views_of_step(s) >= FEW_VIEWS;
    if (!s->swift || solved->iterations < FULL_PASSES) return false;
    if (mostly_cycle && change * (1 + s->cycle) <= near_steps * stop * (double)steps) return true;
    if (is_cycling(s, solved) || change > stop * (double)steps) return false;
    return steps > 1 || solved->rest <= 3 * stop || change <= stop / 2;
}

/* End a pass: write the trace, and decide whether it was the last one. */
static qb_status note(mbir *s, qb__solved *solved, bool *last) {
    qb__solve_trace *trace = &solved->trace[solved->iterations++];
    double sums[QB__VECTOR_SUMS] = {0};
    qb_status status;
    *trace = (qb__solve_trace){.change = s->size > 0 ? s->change / s->size : 0,
                               .cost = 0.5 * s->data + s->rest,
                               .seconds = qb__now() - s->begun};
    if (s->reference) {
        qb__vector_run(s->v, (qb__vector_job){&apart_op, QB__UNKNOWNS, s->a->unknowns, .v = {s->x, s->reference}},
                       sums);
        QB__TRY(qb__solve_total(s->a, &sums[0]));
        trace->rmse = sqrt(sums[0] / (double)s->a->kept);
    }
    if (!isfinite(trace->cost) || !isfinite(trace->change) || trace->cost > 10 * solved->trace[0].cost) {
        status = qb__fail(
            QB_INTERNAL,
            "mbir diverges: after %d passes the cost is %.3g, %.3g at the start; do scan and geometry belong together?",
            solved->iterations, trace->cost, solved->trace[0].cost);
        goto out;
    }
    if (steps_of(s) <= 1) qb__icd_fall_add(&s->costs, solved->iterations, trace->cost);
    solved->rest = qb__icd_fall_rest_by_factor(&s->costs);
    solved->more = qb__icd_fall_equits_to(&s->costs, 0.5 * s->model->stop, 3 * solved->iterations);
    qb__progress(s->env, "mbir", (uint64_t)solved->iterations, (uint64_t)s->options->iterations);
    *last = true;
    if (is_near(s, solved))
        solved->stopped = "tolerance";
    else if (solved->iterations == s->options->iterations)
        solved->stopped = "equits";
    else
        *last = false;
    status = qb__check_cancel(s->env);
out:
    return status;
}

/* Merge subsets before the next pass, if it is time. */
static void merge(mbir *s, const qb__solved *solved) {
    const size_t steps = (size_t)solved->iterations * s->a->subsets;
    const bool few = s->merged < s->a->subsets && views_of_step(s) < FEW_VIEWS;
    if (few && steps >= MANY_STEPS && solved->iterations == FULL_PASSES - 1) drop_momentum(s);
    if (is_cycling(s, solved)) s->merged *= 2;
}

/* ---- the state between two passes ---- */

/* The scalars of the state. All are doubles, so that the struct has no padding. */
typedef struct numbers {
    double t, merged;
    qb__icd_fall costs;
} numbers;

typedef struct kept {
    mbir *s;
    qb__solved *solved;
} kept;

/* Save or restore the state. After restoring, `before` equals x. The caller sets the number of iterations. */
static qb_status pass_state(void *self, bool into, qb__vector_piece piece, void *to) {
    const kept *k = self;
    mbir *s = k->s;
    numbers n = {s->t, (double)s->merged, s->costs};
    qb_status status;
    QB__TRY(piece(to, &n, sizeof n));
    QB__TRY(piece(to, k->solved->trace, (size_t)k->solved->iterations * sizeof *k->solved->trace));
    QB__TRY(qb__vector_pass(s->v, s->x, s->a->unknowns, into, piece, to));
    QB__TRY(qb__vector_pass(s->v, s->z, s->a->unknowns, into, piece, to));
    if (!into) goto out;
    s->t = n.t, s->merged = (size_t)n.merged, s->costs = n.costs;
    if (s->before) qb__vector_copy(s->v, s->x, s->before, s->a->unknowns);
    status = qb__vectors_status(s->v);
out:
    return status;
}

static qb_status resume(mbir *s, const qb__solve_state *state, qb__solved *solved) {
    const qb__solve_keep *keep = s->options->keep;
    bool resumed = false;
    if (keep) QB__OR_RETURN(keep->resume(keep->self, state, &resumed));
    if (resumed && solved->iterations > 0) s->begun -= solved->trace[solved->iterations - 1].seconds;
    return QB_OK;
}

/* Merge subsets until each begins at a view at which the engine can begin. */
static void align(mbir *s) {
    for (bool fits = false; !fits && s->merged < s->a->subsets; s->merged *= fits ? 1 : 2) {
        fits = true;
        for (size_t i = 0, first = 0; i < s->a->subsets; first += s->a->all_subset[i++])
            if (i % s->merged == 0 && s->a->aligned > 1 && first % s->a->aligned) fits = false;
    }
}

static qb_status run(const qb__linear *a, const qb__solve_options *options, const qb__vectors *v, const qb_env *env,
                     void *b, void *x, qb__solved *solved) {
    mbir s = {.a = a,
              .v = v,
              .options = options,
              .model = options->model,
              .env = env,
              .b = b,
              .x = x,
              .begun = qb__now(),
              .t = 1,
              .merged = 1};
    kept k = {&s, solved};
    const qb__solve_state state = {&k, pass_state, &solved->iterations};
    bool last = false;
    qb_status status;
    qb__solve_begin(solved);
    s.prior = qb__prior_numbers_of(&s.model->prior, s.model->pull);
    align(&s);
    QB__TRY(make(&s));
    QB__TRY(prepare(&s));
    QB__TRY(resume(&s, &state, solved));
    while (!last) {
        QB__TRY(pass(&s));
        QB__TRY(note(&s, solved, &last));
        merge(&s, solved);
        if (!last && options->keep) options->keep->passed(options->keep->self, &state);
    }
out:
    drop(&s);
    return status;
}

const qb__solver qb__solver_mbir = {.name = "mbir",
                                    .unknowns = 4,
                                    .equations = 1,
                                    .passes_before = 1,
                                    .passes_each = 1,
                                    .grain = 8,
                                    .spills = true,
                                    .usual = 10,
                                    .run = run};
