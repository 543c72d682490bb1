/* SPDX-License-Identifier: MIT */
/* Decides whether the first view is one step after the last one, or as many steps as stated. Over some views a pixel's
 * line integral is nearly a polynomial of the position in the turn. With the right distance between the two sides the
 * residual of a polynomial is smaller. The same test within either side, where the distance is known, gives the
 * expected residual and its variation. */
#include <math.h>

#include "prep/view_ends_parts.h"

enum {
    VIEWS = 8,                 /* views of either end that are compared */
    MOST = 3,                  /* views of a run on either side of its middle, at most */
    DEGREES = 3,               /* degrees of freedom of the polynomial: 1, x, x^2 */
    LEFT = 2 * MOST - DEGREES, /* degrees of freedom of the residual */
    RUNS = 2 * (VIEWS - 3),    /* runs within the two sides */
    ALL_PARTS = QB__ENDS_ROWS * QB__ENDS_PARTS
};

/* Number of smoothings; views of half a run. */
static const struct { size_t times, half; } looks[] = {{0, 2}, {2, 3}, {8, 3}, {32, 3}};

/* Weights of the views of a run, orthogonal to polynomials. The first one responds to a step in the middle of the
 * run. */
typedef struct weights {
    size_t views, count;
    double of[LEFT][2 * MOST];
} weights;

typedef struct run {
    const float *view[2 * MOST];
} run;

static bool add_weights(double (*basis)[2 * MOST], size_t count, size_t views, double *w) {
    double size = 0;
    for (int again = 0; again < 2; again++)
        for (size_t k = 0; k < count; k++) {
            double along = 0;
            for (size_t i = 0; i < views; i++) along += basis[k][i] * w[i];
            for (size_t i = 0; i < views; i++) w[i] -= along * basis[k][i];
        }
    for (size_t i = 0; i < views; i++) size += w[i] * w[i];
    if (size < 1e-6) return false;
    for (size_t i = 0; i < views; i++) basis[count][i] = w[i] / sqrt(size);
    return true;
}

/* Positions of the views of a run, with this number of steps in its middle. */
static double place_of(size_t i, size_t half, double gap) {
    const double at = (double)i - (double)half + 1;
    return i < half ? at : at + gap - 1;
}

static weights weights_for(size_t half, double gap) {
    weights out = {.views = 2 * half, .count = 2 * half - DEGREES};
    double basis[DEGREES + LEFT][2 * MOST], w[2 * MOST];
    size_t count = 0;
    for (int power = 0; power < DEGREES; power++) {
        for (size_t i = 0; i < out.views; i++) w[i] = pow(place_of(i, half, gap) / (double)half, power);
        count += add_weights(basis, count, out.views, w);
    }
    for (size_t k = 0; k <= out.views && count < out.views; k++) {
        for (size_t i = 0; i < out.views; i++) w[i] = k ? i == k - 1 : i >= half;
        count += add_weights(basis, count, out.views, w);
    }
    for (size_t k = 0; k < out.count; k++)
        for (size_t i = 0; i < out.views; i++) out.of[k][i] = basis[DEGREES + k][i];
    return out;
}

/* Response of the weights to a straight line whose middle is elsewhere. */
static double left_of_line(const weights *w, size_t half, double gap) {
    double all = 0;
    for (size_t k = 0; k < w->count; k++) {
        double sum = 0;
        for (size_t i = 0; i < w->views; i++) sum += w->of[k][i] * place_of(i, half, gap);
        all += sum * sum;
    }
    return all;
}

/* Remove from `out` what is proportional to a shift along the row, and to a shift that changes over the rows, as for a
 * tilted axis. */
static void leave_out_shift(const qb__ends_look *l, const float *slope, float *out) {
    double a = 0, b = 0, c = 0, x = 0, y = 0;
    const double middle = 0.5 * ((double)l->rows - 1), half = fmax(middle, 1);
    for (size_t r = 0; r < l->rows; r++) {
        const double lean = l->rows > 3 ? ((double)r - middle) / half : 0;
        double ss = 0, st = 0;
        for (size_t i = r * l->bins + l->from; i < r * l->bins + l->to; i++) {
            ss += (double)slope[i] * (double)slope[i];
            st += (double)slope[i] * (double)out[i];
        }
        a += ss, b += lean * ss, c += lean * lean * ss, x += st, y += lean * st;
    }
    const double det = a * c - b * b;
    const bool both = det > 1e-9 * a * a;
    const double shift = both ? (c * x - b * y) / det : a > 0 ? x / a : 0, leans = both ? (a * y - b * x) / det : 0;
    for (size_t r = 0; r < l->rows; r++) {
        const double lean = l->rows > 3 ? ((double)r - middle) / half : 0;
        const float by = (float)(shift + lean * leans);
        for (size_t i = r * l->bins + l->from; i < r * l->bins + l->to; i++) out[i] -= by * slope[i];
    }
}

static void find_slope(const qb__ends_look *l, const run *at, size_t views, float *slope) {
    float *mean = l->part[0];
    for (size_t i = 0; i < l->rows * l->bins; i++) {
        float sum = 0;
        for (size_t v = 0; v < views; v++) sum += at->view[v][i];
        mean[i] = sum / (float)views;
    }
    for (size_t r = 0; r < l->rows; r++)
        for (size_t b = l->from; b < l->to; b++) {
            const size_t low = b > l->from ? b - 1 : b, high = b + 1 < l->to ? b + 1 : b;
            slope[r * l->bins + b] = (mean[r * l->bins + high] - mean[r * l->bins + low]) / (float)(high - low);
        }
}

/* Add the squares of the residual, times `sign`, to parts of rows. */
static double add_left(const qb__ends_look *l, const run *at, const weights *w, double sign, double *part) {
    const float *slope = l->part[1];
    float *out = l->part[0];
    const size_t wide = l->to - l->from;
    double all = 0;
    for (size_t k = 0; k < w->count; k++) {
        float weight[2 * MOST];
        for (size_t v = 0; v < w->views; v++) weight[v] = (float)w->of[k][v];
        for (size_t i = 0; i < l->rows * l->bins; i++) out[i] = weight[0] * at->view[0][i];
        for (size_t v = 1; v < w->views; v++) {
            const float *line = at->view[v];
            for (size_t i = 0; i < l->rows * l->bins; i++) out[i] += weight[v] * line[i];
        }
        if (k == 0) leave_out_shift(l, slope, out);
        for (size_t p = 0; p < l->rows * QB__ENDS_PARTS; p++) {
            const size_t place = p % QB__ENDS_PARTS, row = p / QB__ENDS_PARTS * l->bins + l->from;
            float sum = 0;
            for (size_t i = row + place * wide / QB__ENDS_PARTS; i < row + (place + 1) * wide / QB__ENDS_PARTS; i++)
                sum += out[i] * out[i];
            part[p] += sign * (double)sum, all += (double)sum;
        }
    }
    return all;
}

/* Returns by how much the residual of the polynomial is smaller at a distance of one step than at the other distance.
 * *left: residual at one step; *other_left: at the other distance. */
static double compare(const qb__ends_look *l, const run *at, const weights *other, const weights *one, double *part,
                      double *other_left, double *left) {
    for (size_t p = 0; p < l->rows * QB__ENDS_PARTS; p++) part[p] = 0;
    find_slope(l, at, one->views, l->part[1]);
    *other_left = add_left(l, at, other, 1, part);
    *left = add_left(l, at, one, -1, part);
    return *other_left - *left;
}

/* Views in the direction of the turn, from `first` of one side on, or of both sides around the seam. */
static run run_of(const qb__ends_look *l, int side, size_t first, size_t half) {
    const size_t size = l->rows * l->bins;
    run out = {{0}};
    for (size_t i = 0; i < 2 * half; i++) {
        const size_t view = side == 0   ? first + i
                            : side == 1 ? l->near + first + i
                            : i < half  ? l->near + half - 1 - i
                                        : i - half;
        out.view[i] = l->line + view * size;
    }
    return out;
}

typedef struct inside {
    double least, most, mean, left, varies;
} inside;

static inside look_inside(const qb__ends_look *l, size_t half, const weights *other, const weights *one) {
    inside in = {.least = INFINITY, .most = -INFINITY};
    const size_t each = VIEWS - 2 * half + 1, parts = l->rows * QB__ENDS_PARTS;
    double part[2][ALL_PARTS];
    for (int side = 0; side < 2; side++)
        for (size_t f = 0; f < each; f++) {
            const run r = run_of(l, side, f, half);
            double left, other_left, *now = part[f % 2], *last = part[1 - f % 2];
            const double less = compare(l, &r, other, one, now, &other_left, &left);
            in.least = fmin(in.least, less), in.most = fmax(in.most, less);
            in.mean += less / (double)(2 * each), in.left += left / (double)(2 * each);
            for (size_t p = 0; f && p < parts; p++)
                in.varies += (now[p] - last[p]) * (now[p] - last[p]) / (4 * (double)(each - 1));
        }
    in.varies = sqrt(in.varies);
    return in;
}

/* Judge a comparison. 1: one step fits; -1: the other distance fits; 0: neither clearly. *known: false if the test
 * fails within the sides. */
static int judge(const inside *in, double mirror, double less, double left, size_t values, bool *known) {
    const double ROUNDING = 1e-4, EVEN = 0.25, SEPARATE = 4, SURE = 2, FITS = 1.15;
    /* relative to the expected value */
    const double LEAST_OTHER = 0.3, MOST_OTHER = 2.2, LEAST_ONE = 0.6, MOST_ONE = 2;
    const double part = less / in->mean, sure = fabs(less) / in->varies;
    *known = in->mean > ROUNDING * ROUNDING * (double)values && in->least > EVEN * in->most &&
             (1 + mirror) * in->least > SEPARATE * in->varies;
    if (!*known || !(sure > SURE) || !(left < FITS * in->left)) return 0;
    if (part > LEAST_ONE && part < MOST_ONE) return 1;
    return part < -LEAST_OTHER * mirror && part > -MOST_OTHER * mirror ? -1 : 0;
}

int qb__ends_seam(qb__ends_look *l, double gap, double *leans) {
    const double SHARE = 0.3, column = l->column;
    const double MISFIT = 1.25, MISFIT_PART = 2, MISFIT_SURE = 5; /* edges between pixels look different from behind */
    const double AGAINST = 0.1, LEAST_LEAN = -1.5; /* a single estimate is believed if no other one contradicts */
    size_t votes[3] = {0}, all = 0, count = 0;
    bool misfit = false, against = false;
    double sum = 0;
    *leans = NAN;
    if (l->near < VIEWS) return 0;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        const size_t half = looks[i].half;
        const weights other = weights_for(half, gap), one = weights_for(half, 1);
        const double mirror = left_of_line(&one, half, gap) / left_of_line(&other, half, 1);
        double part[ALL_PARTS], left, other_left;
        bool known;
        l->column = column;
        if (l->mirrored) qb__ends_find_axis(l, looks[i].times);
        qb__ends_arrange(l, looks[i].times);
        if (l->to < l->from + 2 * QB__ENDS_PARTS || l->to < l->from + l->bins / 2) continue;
        const inside in = look_inside(l, half, &other, &one);
        const run seam = run_of(l, 2, 0, half);
        const double less = compare(l, &seam, &other, &one, part, &other_left, &left);
        const int says = judge(&in, mirror, less, fmin(left, other_left), l->rows * (l->to - l->from), &known);
        all += known, votes[1 + says] += known;
        if (in.mean > 0) sum += less / in.mean, count++, against |= less > AGAINST * in.mean;
        misfit |=
            fmin(left, other_left) > MISFIT * in.left && less > MISFIT_PART * in.mean && less > MISFIT_SURE * in.varies;
    }
    l->column = column;
    if (count) *leans = sum / (double)count;
    if (all == 1 && votes[0] && (against || !(*leans > LEAST_LEAN))) return 0;
    if (votes[0] && (double)votes[0] >= SHARE * (double)all && !votes[2]) return -1;
    return votes[2] > 1 && (double)votes[2] >= SHARE * (double)all && !votes[0] && !misfit;
}
