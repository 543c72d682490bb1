/* SPDX-License-Identifier: MIT */
/* Total variation: the volume x that minimises
 *     1/2 sum_i w_i (A x - b)_i^2 + lambda sum_v |grad x|_v,   x >= 0 with `nonneg`,
 * where w are the weights of the rays (mean 1) and grad is the difference to the next voxel along x, y and z (isotropic
 * norm; Rudin, Osher, Fatemi 1992). It is solved by the primal-dual method of Chambolle and Pock (2011) as Sidky,
 * Jorgensen and Pan (Phys. Med. Biol. 57, 3065, 2012) apply it to tomography, with the diagonal steps of Pock and
 * Chambolle (ICCV 2011): one over the sums of A's rows and columns. With the dual y of the data and the dual p of the
 * gradient, which is scaled by nu to weigh as much as A, an iteration is
 *     y = w (y + sigma (A x' - b)) / (w + sigma),   p = project |p + sigma_p nu grad x'| <= lambda / nu,
 *     x+ = x - tau (A'y + nu grad'p),   x' = 2 x+ - x.
 * Then all three are extrapolated by RELAX times the step (over-relaxation; Condat, J. Optim. Theory Appl. 158, 460,
 * 2013), except before the gap is computed, so that p is within its bound there. It stops when the primal-dual gap is
 * small compared with the objective. With r = A'y + nu grad'p the dual objective for values between -low and high is
 *     -sum (y^2 / 2w + y b) - high sum max(0, -r) - low sum max(0, r). */
#include <math.h>

#include "base/log.h"
#include "base/status.h"
#include "recon/iterative/solver_method.h"

enum { NONNEG = 1, HOLES = 4, LOOK_EVERY = 10, BALANCE_UNTIL = 80, SETTLE = 60 };

static const double RELAX = 1.8;

/* ---- operations on vectors; the same in kernels/vectors/tv.cl ---- */

#define OP(name, sums) static const qb__vector_op name##_op = {"tv.cl", "tv_" #name, sums, .run = name}

/* Weights of rays, the transmissions to the power s0: v0 = b, v1 = w. With HOLES, b = -0 marks a masked ray with weight
 * 0. Sums: w, and the number of measured rays. */
static void weigh(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *b = job->v[0], power = (float)job->s[0];
    float *w = job->v[1];
    for (size_t i = first; i < end; i++) {
        const bool hole = job->flags & HOLES && b[i] == 0 && signbit(b[i]);
        w[i] = hole ? 0 : expf(-power * b[i]);
        sums[0] += (double)w[i];
        sums[1] += !hole;
    }
}
OP(weigh, 2);

/* v0 = A x', v1 = b, v2 = w, v3 = 1 / row sums, v4 = y; s0 = 1 / balance, s1 = relaxation - 1. A ray that hits no voxel
 * has the step 0, which stands for an infinite one. Sums: w r^2, y^2 / w, y b. */
static void dual(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *lines = job->v[0], *b = job->v[1], *w = job->v[2], *step = job->v[3];
    const float s = (float)job->s[0], beyond = (float)job->s[1];
    float *y = job->v[4];
    for (size_t i = first; i < end; i++) {
        const float r = lines[i] - b[i], sigma = s * step[i];
        const float next = sigma > 0 ? w[i] * ((y[i] + sigma * r) / (w[i] + sigma)) : w[i] * r;
        y[i] = next + beyond * (next - y[i]);
        sums[0] += (double)(w[i] * r) * (double)r;
        sums[1] += w[i] > 0 ? (double)(next / w[i]) * (double)next : 0;
        sums[2] += (double)next * (double)b[i];
    }
}
OP(dual, 3);

/* v0 = A x, v1 = b, v2 = w. Sum: w r^2. */
static void misfit(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *lines = job->v[0], *b = job->v[1], *w = job->v[2];
    for (size_t i = first; i < end; i++) {
        const float r = lines[i] - b[i];
        sums[0] += (double)(w[i] * r) * (double)r;
    }
}
OP(misfit, 1);

/* A run of voxels of one line along x, and the distance to the next voxel along y and z: 0 after the last, where the
 * difference is that of a voxel to itself. */
typedef struct line {
    size_t end;  /* end of the run */
    size_t last; /* voxel of the line */
    size_t along_y, along_z;
} line;

static line line_at(const qb__vector_job *job, size_t i, size_t end) {
    const size_t *n = job->n, row = i / n[0], last = (row + 1) * n[0] - 1;
    return (line){last + 1 < end ? last + 1 : end, last, row % n[1] + 1 < n[1] ? n[0] : 0,
                  row / n[1] + 1 < n[2] ? n[0] * n[1] : 0};
}

/* The differences from voxel i to the next ones. */
#define DIFFERENCES(x, i, l)                                                                                           \
    const float d0 = (x)[(i) < (l).last ? (i) + 1 : (i)] - (x)[i], d1 = (x)[(i) + (l).along_y] - (x)[i],               \
                d2 = (x)[(i) + (l).along_z] - (x)[i]

/* v0 = x', v1 to v3 = p; s0 = step, s1 = the largest |p|, s2 = relaxation - 1. Sum: p^2. */
static void slope(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *x = job->v[0], step = (float)job->s[0], most = (float)job->s[1];
    const float beyond = (float)job->s[2];
    float *p[3] = {job->v[1], job->v[2], job->v[3]};
    for (size_t i = first; i < end;) {
        const line l = line_at(job, i, end);
        for (; i < l.end; i++) {
            DIFFERENCES(x, i, l);
            const float a = p[0][i] + step * d0, b = p[1][i] + step * d1, c = p[2][i] + step * d2;
            const float size = sqrtf(a * a + b * b + c * c), by = size > most ? most / size : 1;
            p[0][i] = by * a + beyond * (by * a - p[0][i]);
            p[1][i] = by * b + beyond * (by * b - p[1][i]);
            p[2][i] = by * c + beyond * (by * c - p[2][i]);
            sums[0] += (double)(by * size) * (double)(by * size);
        }
    }
}
OP(slope, 1);

/* A'y + nu grad'p at voxel i. p is 0 at the volume's far sides, so that the element before the first of a line adds
 * nothing. */
#define UPHILL(g, p0, p1, p2, nu, i)                                                                                   \
    ((g)[i] + (nu) * ((((i) >= 1 ? (p0)[(i)-1] : 0) + ((i) >= row ? (p1)[(i)-row] : 0) +                               \
                       ((i) >= plane ? (p2)[(i)-plane] : 0)) -                                                         \
                      ((p0)[i] + (p1)[i] + (p2)[i])))

/* v0 = A'y, v1 to v3 = p, v4 = tau, v5 = x, v6 = x'; s0 = nu, s1 = balance, s2 = relaxation - 1. Sums: squares of
 * change and of x. */
static void primal(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *g = job->v[0], *p0 = job->v[1], *p1 = job->v[2], *p2 = job->v[3], *tau = job->v[4];
    const float nu = (float)job->s[0], balance = (float)job->s[1], beyond = (float)job->s[2];
    float *x = job->v[5], *ahead = job->v[6];
    const size_t row = job->n[0], plane = job->n[0] * job->n[1];
    const bool nonneg = job->flags & NONNEG;
    for (size_t i = first; i < end; i++) {
        const float old = x[i];
        float next = old - balance * tau[i] * UPHILL(g, p0, p1, p2, nu, i);
        if (nonneg && next < 0) next = 0;
        ahead[i] = 2 * next - old;
        next = next + beyond * (next - old);
        if (nonneg && next < 0) next = 0;
        x[i] = next;
        sums[0] += (double)(next - old) * (double)(next - old);
        sums[1] += (double)next * (double)next;
    }
}
OP(primal, 2);

/* v0 = A'y, v1 to v3 = p, v4 = x; s0 = nu. Sums: r = A'y + nu grad'p where it is positive, where it is negative; x^6
 * and x^4 where x is negative. */
static void slack(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *g = job->v[0], *p0 = job->v[1], *p1 = job->v[2], *p2 = job->v[3], *x = job->v[4];
    const float nu = (float)job->s[0];
    const size_t row = job->n[0], plane = job->n[0] * job->n[1];
    for (size_t i = first; i < end; i++) {
        const double r = (double)UPHILL(g, p0, p1, p2, nu, i), square = x[i] < 0 ? (double)x[i] * (double)x[i] : 0;
        sums[0] += r > 0 ? r : 0;
        sums[1] += r < 0 ? -r : 0;
        sums[2] += square * square * square;
        sums[3] += square * square;
    }
}
OP(slack, 4);

/* v0 = x. Sums: |grad x|; x^6 and x^4 where x is positive. */
static void variation(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *x = job->v[0];
    for (size_t i = first; i < end;) {
        const line l = line_at(job, i, end);
        for (; i < l.end; i++) {
            DIFFERENCES(x, i, l);
            const double square = x[i] > 0 ? (double)x[i] * (double)x[i] : 0;
            sums[0] += (double)sqrtf(d0 * d0 + d1 * d1 + d2 * d2);
            sums[1] += square * square * square;
            sums[2] += square * square;
        }
    }
}
OP(variation, 3);

/* v0 = x = 1 / (x + s0). */
static void steps(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    float *x = job->v[0];
    for (size_t i = first; i < end; i++) {
        sums[0] += (double)x[i];
        x[i] = 1 / (x[i] + (float)job->s[0]);
    }
}
OP(steps, 1);

/* ---- the method ---- */

typedef struct tv {
    const qb__linear *a;
    const qb__vectors *v;
    const qb__solve_options *options;
    void *b, *x;
    void *ahead, *gradient, *tau, *p[3]; /* vectors of unknowns */
    void *y, *lines, *sigma, *w;         /* vectors of equations */
    double nu, balance, lambda;
    double rays;    /* rays with a weight, of all ranks */
    double pull;    /* sqrt of the mean over voxels of sum_i A_ij^2 w_i: effect on a voxel of noise of 1 in all rays */
    double column;  /* mean of the column sums */
    double sums[3]; /* sums of the last dual step over all ranks */
    double slopes;  /* sum of p^2 */
    double misfit;  /* sum of w (A x - b)^2 when it was last computed */
    double relax;   /* relaxation of the current step */
} tv;

static qb_status total(const tv *s, double *sums, int count) {
    qb_status status = qb__vectors_status(s->v);
    for (int i = 0; status == QB_OK && i < count; i++) status = qb__solve_total(s->a, &sums[i]);
    return status;
}

static qb_status make(tv *s) {
    void **const unknowns[] = {&s->ahead, &s->gradient, &s->tau, &s->p[0], &s->p[1], &s->p[2]};
    void **const equations[] = {&s->y, &s->lines, &s->sigma, &s->w};
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < sizeof unknowns / sizeof *unknowns; i++)
        status = qb__vector_make(s->v, QB__UNKNOWNS, s->a->unknowns, unknowns[i]);
    for (size_t i = 0; status == QB_OK && i < sizeof equations / sizeof *equations; i++)
        status = qb__vector_make(s->v, QB__EQUATIONS, s->a->equations, equations[i]);
    return status == QB_OK ? qb__vectors_status(s->v) : status;
}

static void drop(tv *s) {
    void *const all[] = {s->ahead, s->gradient, s->tau, s->p[0], s->p[1], s->p[2], s->y, s->lines, s->sigma, s->w};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__vector_drop(s->v, all[i]);
}

/* Weights of mean 1, and the steps. */
static qb_status prepare(tv *s) {
    const size_t n = s->a->unknowns, m = s->a->equations;
    const qb__vectors *v = s->v;
    double sums[QB__VECTOR_SUMS];
    qb_status status;
    qb__vector_run(v,
                   (qb__vector_job){&weigh_op, QB__EQUATIONS, m, .v = {s->b, s->w}, .s = {s->options->weigh_by},
                                    .flags = s->a->holes ? HOLES : 0},
                   sums);
    QB__TRY(total(s, sums, 2));
    s->rays = sums[1];
    if (!(sums[0] > 0 && isfinite(sums[0]))) {
        status = qb__fail(QB_BAD_INPUT, "the weights of the rays sum to %g: try --weights unweighted", sums[0]);
        goto out;
    }
    qb__vector_scale(v, QB__EQUATIONS, sums[1] / sums[0], s->w, m);
    QB__TRY(s->a->adjoint(s->a->self, s->w, s->gradient));
    qb__vector_run(v, (qb__vector_job){&steps_op, QB__UNKNOWNS, n, .v = {s->gradient}, .s = {1}}, sums);
    s->pull = sqrt(s->a->crossing * sums[0] / (double)n);
    qb__vector_fill(v, 1, s->lines, m);
    QB__TRY(s->a->adjoint(s->a->self, s->lines, s->tau));
    qb__vector_fill(v, 1, s->ahead, n);
    QB__TRY(s->a->forward(s->a->self, s->ahead, s->sigma));
    qb__vector_invert(v, QB__EQUATIONS, 1e-3 * s->a->crossing, s->sigma, m);
    qb__vector_fill(v, 0, s->ahead, n);
    s->column = qb__vector_dot(v, QB__UNKNOWNS, s->tau, s->tau, n);
    s->nu = sqrt(s->column / (double)n) / 4;
    qb__vector_run(v, (qb__vector_job){&steps_op, QB__UNKNOWNS, n, .v = {s->tau}, .s = {6 * s->nu}}, sums);
    s->column = sums[0] / (double)n;
    status = qb__vectors_status(v);
out:
    return status;
}

/* The objective of x, and an upper limit of its distance from the minimum: the gap. */
static qb_status look(tv *s, double *objective, double *gap) {
    const qb__vectors *v = s->v;
    double sums[QB__VECTOR_SUMS], misfits[QB__VECTOR_SUMS], lost[QB__VECTOR_SUMS];
    qb_status status;
    QB__TRY(s->a->forward(s->a->self, s->x, s->lines));
    qb__vector_run(v, (qb__vector_job){&misfit_op, QB__EQUATIONS, s->a->equations, .v = {s->lines, s->b, s->w}},
                   misfits);
    QB__TRY(total(s, misfits, 1));
    qb__vector_run(v, (qb__vector_job){&variation_op, QB__UNKNOWNS, s->a->unknowns, .v = {s->x}}, sums);
    qb__vector_run(v,
                   (qb__vector_job){&slack_op, QB__UNKNOWNS, s->a->unknowns,
                                    .v = {s->gradient, s->p[0], s->p[1], s->p[2], s->x}, .s = {s->nu}},
                   lost);
    /* Half more than about the largest and the smallest value, so that no solution reaches them. */
    const double high = sums[2] > 0 ? 1.5 * sqrt(sums[1] / sums[2]) : 0;
    const double low = lost[3] > 0 ? 1.5 * sqrt(lost[2] / lost[3]) : 0;
    s->misfit = misfits[0];
    *objective = 0.5 * misfits[0] + s->lambda * sums[0];
    *gap = *objective + 0.5 * s->sums[1] + s->sums[2] + high * lost[1];
    if (!s->options->nonneg) *gap += fmax(low, 0.1 * high) * lost[0];
    status = qb__vectors_status(v);
out:
    return status;
}

/* Lambda in units of noise * pull, the effect of the rays' noise on a voxel of A'(A x - b). The solution ignores the
 * noise if a field p with div p = A'noise stays below lambda. In the frequencies k of a slice A'noise falls as
 * |k|^(-1/2), and p is smaller by |k|, so that its variance grows with the number of voxels across; for many slices,
 * whose noise is independent, with their logarithm. The factor was found on foams and heads of 128 to 256 voxels, 30 to
 * 180 views and 500 to 100,000 photons. */
static double strength_of(const size_t n[3]) {
    const double across = sqrt((double)n[0] * (double)n[1]), slices = (double)n[2];
    return 0.069 * sqrt(across / slices + 3.14 * log(fmax(1, slices / 2)));
}

/* The noise is the residual of the solution: photon noise, and what the model does not explain. */
static double next_lambda(const tv *s) { return strength_of(s->v->n) * sqrt(s->misfit / s->rays) * s->pull; }

/* Both kinds of unknowns should converge equally fast: the balance is a part of |x| / |y| in the norms of the steps. */
static double next_balance(const tv *s, double norm2) {
    const double x2 = norm2 * 2.5 * s->column,
                 y2 = s->sums[1] * s->column * (double)s->a->unknowns / s->rays + 2 * s->nu * s->slopes;
    return x2 > 0 && y2 > 0 ? 0.25 * sqrt(x2 / y2) : s->balance;
}

/* The duals use the relaxation with which the volume's step began: a step is relaxed as a whole. */
static qb_status iterate(tv *s, double next_relax, qb__vector_step *done) {
    const qb__vectors *v = s->v;
    const size_t n = s->a->unknowns, m = s->a->equations;
    double sums[QB__VECTOR_SUMS];
    QB__OR_RETURN(s->a->forward(s->a->self, s->ahead, s->lines));
    qb__vector_run(v,
                   (qb__vector_job){&dual_op, QB__EQUATIONS, m, .v = {s->lines, s->b, s->w, s->sigma, s->y},
                                    .s = {1 / s->balance, s->relax - 1}},
                   s->sums);
    QB__OR_RETURN(total(s, s->sums, 3));
    qb__vector_run(v,
                   (qb__vector_job){&slope_op, QB__UNKNOWNS, n, .v = {s->ahead, s->p[0], s->p[1], s->p[2]},
                                    .s = {1 / (2 * s->balance), s->lambda / s->nu, s->relax - 1}},
                   sums);
    s->slopes = sums[0];
    s->relax = next_relax;
    QB__OR_RETURN(s->a->adjoint(s->a->self, s->y, s->gradient));
    qb__vector_run(v,
                   (qb__vector_job){&primal_op, QB__UNKNOWNS, n,
                                    .v = {s->gradient, s->p[0], s->p[1], s->p[2], s->tau, s->x, s->ahead},
                                    .s = {s->nu, s->balance, s->relax - 1}, .flags = s->options->nonneg ? NONNEG : 0},
                   sums);
    *done = (qb__vector_step){sums[0], sums[1], 0};
    return QB_OK;
}

static qb_status run(const qb__linear *a, const qb__solve_options *options, const qb__vectors *v, const qb_env *env,
                     void *b, void *x, qb__solved *solved) {
    tv s = {.a = a, .v = v, .options = options, .b = b, .x = x, .balance = 1, .lambda = options->lambda, .relax = 1};
    const bool automatic = !(options->lambda > 0);
    qb__vector_step done;
    bool last = false;
    double norm2, gap = INFINITY, objective = 0;
    qb_status status;
    qb__solve_begin(solved);
    QB__TRY(qb__solve_dot_lines(a, v, b, b, &norm2));
    QB__TRY(make(&s));
    if (!(norm2 > 0)) goto out;
    QB__TRY(prepare(&s));
    s.balance = 0.1 / a->crossing; /* 1 per mm: x is larger if voxels are smaller */
    s.misfit = 0.01 * norm2;       /* initial estimate of the noise */
    if (automatic) s.lambda = next_lambda(&s);
    for (int k = 1; !last; k++) {
        const bool before = (k + 1) % LOOK_EVERY == 0 || k + 1 == options->iterations;
        QB__TRY(iterate(&s, before ? 1 : RELAX, &done));
        const double residual = sqrt(s.sums[0] / norm2);
        if (k < LOOK_EVERY) s.misfit = s.sums[0];
        if (k % LOOK_EVERY == 0 || k == options->iterations) {
            QB__TRY(look(&s, &objective, &gap));
            if (a->same) QB__TRY(a->same(a->self, &gap));
            solved->gap = objective > 0 ? gap / objective : 0;
        }
        QB__TRY(qb__solve_note(a, options, "tv", v, env, residual, &done, solved, &last));
        if (!last && solved->gap <= options->gap && k % LOOK_EVERY == 0) {
            solved->stopped = "gap";
            last = true;
        }
        /* Damped more and more: otherwise lambda and the residual oscillate. */
        if (automatic && k % LOOK_EVERY == 0) s.lambda *= pow(next_lambda(&s) / s.lambda, fmin(1, SETTLE / (double)k));
        if (k % LOOK_EVERY == 0 && k <= BALANCE_UNTIL) s.balance = next_balance(&s, done.norm2);
    }
    solved->lambda = s.lambda;
    solved->noise = sqrt(s.misfit / s.rays);
    solved->strength = s.lambda / (solved->noise * s.pull);
    qb__info(env, "tv: lambda %.4g mm%s, primal-dual gap %.2g of the objective, stopped (%s) after %d iterations",
             s.lambda, automatic ? " (auto)" : "", solved->gap, solved->stopped, solved->iterations);
out:
    drop(&s);
    return status;
}

const qb__solver qb__solver_tv = {
    .name = "tv", .unknowns = 6, .equations = 4, .passes_before = 1.5, .passes_each = 1.05, .run = run};

const qb_param qb_tv_params[] = {
    QB__ITERATIVE_ROWS("300"),
    QB__ITERATIVE_ROW(
        lambda, QB_PARAM_TEXT, "X|auto", "auto", NULL, 0, 0,
        "weight of the total variation, in mm; auto: from the noise that the solution leaves in the data"),
    QB__ITERATIVE_ROW(weights, QB_PARAM_TEXT, "unweighted|transmission|transmission_root", "transmission", NULL, 0, 0,
                      "what a ray counts for: its transmission is in proportion to the photons that came through"),
    QB__ITERATIVE_ROW(gap, QB_PARAM_DOUBLE, "X", "1e-3", NULL, 0, 1,
                      "stop once the primal-dual gap is this part of the objective; 0: never"),
    QB_PARAMS_END(qb_iterative_options),
};

QB__SOLVER(tv)
