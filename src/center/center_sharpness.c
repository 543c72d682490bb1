/* SPDX-License-Identifier: MIT */
/* With the right axis a slice has few grey levels. With a wrong axis, edges smear into arcs and the histogram widens.
 * The entropy over trial axes has a narrow dip at the right one, on top of slow trends that arise because the object
 * moves out of the picture. So the deepest dip is searched, not the smallest value: first over the whole range at about
 * a hundred columns, then at a finer resolution around the deepest dip. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "center/center.h"
#include "center/center_pairs.h"
#include "center/center_trial.h"

enum {
    COARSE_COLUMNS = 128,
    FINE_COLUMNS = 256,
    NEAR = 3,
    FAR = 16, /* the surroundings of a dip lie NEAR to FAR steps away; a step is half a coarse column */
};

static double median(const double *values, size_t count) {
    double sorted[FAR];
    memcpy(sorted, values, count * sizeof *sorted);
    qb__sort(sorted, count);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* How far curve[at] lies below its surroundings, on the side where they are lower; 0 too near an end. */
static double dip(const double *curve, size_t count, size_t at) {
    size_t from = at > FAR ? at - FAR : 0, to = at + FAR < count ? at + FAR + 1 : count;
    if (at < from + NEAR + 2 || to < at + NEAR + 3) return 0;
    double left = median(curve + from, at - NEAR + 1 - from);
    double right = median(curve + at + NEAR, to - at - NEAR);
    return fmin(left, right) - curve[at];
}

/* Averages the entropy over the rows. */
static void pool_rows(const double *entropy, size_t rows, size_t count, size_t picked, double *curve) {
    memset(curve, 0, count * sizeof *curve);
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < count; i++) curve[i] += entropy[r * count + i] / (double)picked;
    }
}

typedef struct sweep {
    double *axes, *entropy, *curve; /* [count], [row][count], [count] */
    size_t count;
} sweep;

static void sweep_clear(sweep *s) {
    QB__FREE(s->axes, s->entropy, s->curve);
    *s = (sweep){0};
}

static qb_status sweep_run(const qb__center_rows *rows, qb__center_trial *trial, size_t picked, double low, double high,
                           double step, sweep *s) {
    *s = (sweep){.count = (size_t)floor((high - low) / step + 1e-6) + 1};
    qb_status status;
    QB__TRY(qb__alloc(s->count, sizeof(double), &s->axes));
    QB__TRY(qb__alloc(s->count, sizeof(double), &s->curve));
    QB__TRY(qb__alloc(rows->rows * s->count, sizeof(double), &s->entropy));
    for (size_t i = 0; i < s->count; i++) s->axes[i] = low + (double)i * step;
    QB__TRY(qb__center_trial_entropy(trial, s->axes, s->count, s->entropy));
    pool_rows(s->entropy, rows->rows, s->count, picked, s->curve);
out:
    if (status != QB_OK) sweep_clear(s);
    return status;
}

typedef struct found {
    double column, depth, second;
    size_t index;
} found;

static found deepest_dip(const qb__center_rows *rows, const sweep *s, double bin) {
    found best = {.column = NAN};
    for (size_t i = 0; i < s->count; i++) {
        if (s->axes[i] < rows->low - bin || s->axes[i] > rows->high + bin) continue;
        double depth = dip(s->curve, s->count, i);
        if (depth > best.depth) best = (found){.column = s->axes[i], .depth = depth, .index = i};
    }
    for (size_t i = 0; i < s->count; i++) {
        if (fabs(s->axes[i] - best.column) < 2.5 * bin) continue;
        double depth = dip(s->curve, s->count, i);
        if (depth > best.second) best.second = depth;
    }
    return best;
}

/* Picks the rows in which the dip is deepest, as many as the time allows. */
static void pick_rows(const sweep *s, const found *best, size_t rows, size_t most, unsigned char *pick) {
    memset(pick, 0, rows);
    for (size_t n = 0; n < most && n < rows; n++) {
        size_t deepest = rows;
        double depth = -INFINITY;
        for (size_t r = 0; r < rows; r++) {
            double d = dip(s->entropy + r * s->count, s->count, best->index);
            if (!pick[r] && d > depth) {
                depth = d;
                deepest = r;
            }
        }
        if (deepest < rows) pick[deepest] = 1;
    }
}

static size_t least(const double *curve, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        if (curve[i] < curve[best]) best = i;
    }
    return best;
}

/* Position of the minimum, in steps. Over half a turn the minimum is narrow and symmetric: take the vertex of the
 * parabola through the lowest three values. Over a full turn it may be flat or double, but the curve is symmetric: take
 * the position about which it mirrors best. */
static double bottom(const double *curve, size_t count, bool full_turn) {
    size_t low = least(curve, count);
    if (!full_turn) {
        if (low == 0 || low + 1 >= count) return (double)low;
        return (double)low + qb__center_vertex(curve[low - 1], curve[low], curve[low + 1]);
    }
    /* `twice` is twice the position, so that the position may lie between two steps. */
    enum { REACH = 8, AROUND = 8 };
    double cost[2 * AROUND + 1], best = INFINITY;
    size_t middle = count - 1, at = 0;
    for (size_t i = 0; i <= 2 * AROUND; i++) {
        size_t twice = middle - AROUND + i;
        cost[i] = 0;
        for (size_t d = 1; d <= REACH; d++) {
            double left = curve[(twice + 1) / 2 - d], right = curve[twice / 2 + d];
            cost[i] += (left - right) * (left - right);
        }
        if (cost[i] < best) {
            best = cost[i];
            at = i;
        }
    }
    double place = (double)(middle - AROUND + at);
    if (at > 0 && at < 2 * AROUND) place += qb__center_vertex(cost[at - 1], cost[at], cost[at + 1]);
    return place / 2;
}

typedef struct place {
    double column, depth; /* depth: of the dip below the median of the curve */
} place;

/* Searches around *at in steps of one binned column, then of a quarter of it. */
static qb_status refine(const qb__center_rows *rows, const unsigned char *pick, size_t picked, size_t bin, double reach,
                        bool full_turn, place *at) {
    qb__center_trial *trial;
    sweep s = {0};
    double step = (double)bin, half = 3 * step;
    qb_status status = qb__center_trial_create(rows, pick, bin, 1.5, &trial);
    if (status != QB_OK) return status;
    QB__TRY(sweep_run(rows, trial, picked, at->column - reach, at->column + reach, step, &s));
    size_t low = least(s.curve, s.count);
    double start = s.axes[low], bottom_value = s.curve[low];
    qb__sort(s.curve, s.count);
    at->depth = s.curve[s.count / 2] - bottom_value;
    sweep_clear(&s);
    QB__TRY(sweep_run(rows, trial, picked, start - half, start + half, step / 4, &s));
    at->column = s.axes[0] + bottom(s.curve, s.count, full_turn) * step / 4;
out:
    sweep_clear(&s);
    qb__center_trial_destroy(trial);
    return status;
}

static size_t bin_for(size_t columns, size_t most) { return (columns + most - 1) / most; }

/* Number of rows that the fine search can afford in some seconds of one core. */
static size_t affordable(const qb__center_rows *rows, size_t bin) {
    const double UPDATES = 8e9, AXES = 40;
    double width = (double)(rows->columns / bin), views = fmin((double)rows->views, 3 * width);
    double most = UPDATES / (AXES * 0.64 * width * width * views);
    return most < 1 ? 1 : most < (double)rows->rows ? (size_t)most : rows->rows;
}

/* Tells whether at least half of the views have an opposite view. */
static qb_status turns_fully(const qb__center_rows *rows, bool *full_turn) {
    qb__center_pairs pairs;
    qb_status status = qb__center_pairs_find(rows->angles, rows->views, 1, &pairs);
    *full_turn = !pairs.one_sided && pairs.opposed > 0.5;
    qb__center_pairs_clear(&pairs);
    return status;
}

double qb__center_sharpness_work(size_t rows, size_t views, size_t columns, bool full_turn) {
    const double disc = 0.64, turn = full_turn ? 2 : 1;
    const double coarse = (double)(columns / bin_for(columns, COARSE_COLUMNS));
    const double fine = (double)(columns / bin_for(columns, FINE_COLUMNS));
    const double coarse_axes = 2 * (0.54 * coarse + 12) + 6, fine_axes = 10 + 25 + 10;
    const qb__center_rows asked = {.rows = rows, .views = views, .columns = columns};
    const double picked = (double)affordable(&asked, bin_for(columns, FINE_COLUMNS));
    return disc * (coarse * coarse * coarse_axes * (double)rows * fmin((double)views, turn * coarse) +
                   fine * fine * fine_axes * picked * fmin((double)views, 1.5 * turn * fine));
}

qb_status qb__center_sharpness(const qb__center_rows *rows, qb__center_answer *answer) {
    *answer = (qb__center_answer){NAN, 0};
    if (rows->columns < 16 || rows->views < 2 || rows->rows == 0) return QB_OK;
    size_t coarse = bin_for(rows->columns, COARSE_COLUMNS);
    size_t fine = bin_for(rows->columns, FINE_COLUMNS);
    double bin = (double)coarse, margin = 6 * bin;
    qb__center_trial *trial = NULL;
    unsigned char *pick = NULL;
    sweep s = {0};
    qb_status status;
    QB__TRY(qb__alloc(rows->rows, 1, &pick));
    QB__TRY(qb__center_trial_create(rows, NULL, coarse, 1, &trial));
    QB__TRY(sweep_run(rows, trial, rows->rows, rows->low - margin, rows->high + margin, bin / 2, &s));
    qb__center_trial_destroy(trial);
    trial = NULL;
    found best = deepest_dip(rows, &s, bin);
    if (!(best.depth > 0)) goto out;
    size_t most = affordable(rows, fine);
    pick_rows(&s, &best, rows->rows, most, pick);
    place at = {best.column, 0};
    bool full_turn;
    QB__TRY(turns_fully(rows, &full_turn));
    QB__TRY(refine(rows, pick, most, fine, 3 * bin, full_turn, &at));
    answer->column = at.column;
    answer->confidence = 0.95 * qb__center_ramp(best.depth - best.second, 0.02, 0.6) * (1 - best.second / best.depth) *
                         qb__center_ramp(at.depth, 0, 0.2);
out:
    sweep_clear(&s);
    qb__free(pick);
    qb__center_trial_destroy(trial);
    return status;
}
