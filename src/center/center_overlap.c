/* SPDX-License-Identifier: MIT */
/* A view and the mirror image of the opposite view agree wherever both saw the object. If the axis is off centre, they
 * overlap only in a strip. For every candidate m = 2c the correlation over the overlap, with the mean
 * of each strip subtracted,
 *     R(m) = sum 2 cov(p_i(k), p_j(m - k)) / sum (var p_i(k) + var p_j(m - k)),
 * is summed over all pairs and rows. Unlike registration, this compares values, not edges: it needs no edges in the
 * strip, and an edge that meets its own mirror image does not mislead it. All columns are searched, except those with
 * the narrowest strips.
 *
 * Half a turn has only its two ends (center_ends.c). Then strips narrower than a third of the view are left out, because
 * with so few pairs they agree by chance. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "center/center.h"
#include "center/center_overlap.h"
#include "center/center_still.h"

enum { COARSE_COLUMNS = 256, GROUPS = 32, LEAST_STRIP = 6 };

typedef struct search {
    const qb__center_rows *rows;
    const qb__center_pairs *pairs;
    const float *still; /* [row][columns], subtracted first; NULL: nothing is subtracted */
    size_t bin, width;  /* width = columns / bin */
    ptrdiff_t first;    /* m of the first lag, in bins */
    size_t lags, groups, row;
    /* strips are cut to this length, because values that enter or leave at the ends would tilt R */
    ptrdiff_t longest;
    float *line;            /* [place][width], of the current row */
    double *sum, *square;   /* [place][width + 1], running sums of line and of line^2 */
    float *mirrored;        /* [worker][width] */
    float *binned;          /* [width], `still` of the current row, binned */
    double *cross, *spread; /* [group][lag] */
} search;

static void search_clear(search *s) {
    QB__FREE(s->line, s->sum, s->square, s->mirrored, s->binned, s->cross, s->spread);
    *s = (search){0};
}

/* Bins one view, subtracts its mean (otherwise the sums of squares lose precision) and forms the running sums. */
static void line_task(void *context, size_t place, int worker) {
    (void)worker;
    search *s = context;
    size_t w = s->width, columns = s->rows->columns;
    float *line = s->line + place * w;
    double *sum = s->sum + place * (w + 1), *square = s->square + place * (w + 1), mean = 0;
    qb__center_bin(s->rows->sinograms + (s->row * s->rows->views + s->pairs->view[place]) * columns, columns, s->bin,
                   line);
    for (size_t k = 0; k < w; k++) line[k] -= s->binned[k], mean += (double)line[k] / (double)w;
    sum[0] = square[0] = 0;
    for (size_t k = 0; k < w; k++) {
        line[k] -= (float)mean;
        sum[k + 1] = sum[k] + (double)line[k];
        square[k + 1] = square[k] + (double)line[k] * (double)line[k];
    }
}

static double dot(const float *a, const float *b, size_t n) {
    enum { LANES = 8 };
    double part[LANES] = {0}, sum = 0;
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; l++) part[l] += (double)a[k + l] * (double)b[k + l];
    for (size_t l = 0; l < LANES; l++) sum += part[l];
    for (; k < n; k++) sum += (double)a[k] * (double)b[k];
    return sum;
}

/* Columns low..high of a view meet columns m - high..m - low of its opposite. */
static void strip(const search *s, size_t lag, ptrdiff_t *low, ptrdiff_t *high) {
    ptrdiff_t m = s->first + (ptrdiff_t)lag, last = (ptrdiff_t)s->width - 1;
    *low = m > last ? m - last : 0;
    *high = m < last ? m : last;
    ptrdiff_t spare = (*high - *low + 1 - s->longest + 1) / 2;
    if (spare > 0) *low += spare, *high -= spare;
}

static ptrdiff_t length_of(const search *s, size_t lag) {
    ptrdiff_t low, high;
    strip(s, lag, &low, &high);
    return high - low + 1;
}

/* Adds the contribution of one pair for all lags. */
static void correlate(const search *s, const qb__center_pair *pair, float *mirrored, double *cross, double *spread) {
    size_t w = s->width;
    const float *a = s->line + pair->i * w, *b = s->line + pair->j * w;
    const double *sa = s->sum + pair->i * (w + 1), *sb = s->sum + pair->j * (w + 1);
    const double *qa = s->square + pair->i * (w + 1), *qb = s->square + pair->j * (w + 1);
    for (size_t k = 0; k < w; k++) mirrored[k] = b[w - 1 - k];
    for (size_t l = 0; l < s->lags; l++) {
        ptrdiff_t low, high, m = s->first + (ptrdiff_t)l;
        strip(s, l, &low, &high);
        double n = (double)(high - low + 1);
        double both = dot(a + low, mirrored + low + (ptrdiff_t)w - 1 - m, (size_t)n);
        double ma = sa[high + 1] - sa[low], mb = sb[m - low + 1] - sb[m - high];
        double va = qa[high + 1] - qa[low], vb = qb[m - low + 1] - qb[m - high];
        cross[l] += pair->weight * 2 * (both - ma * mb / n);
        spread[l] += pair->weight * (va + vb - (ma * ma + mb * mb) / n);
    }
}

static void group_task(void *context, size_t group, int worker) {
    search *s = context;
    size_t count = s->pairs->count, at = group * s->lags;
    for (size_t p = group * count / s->groups; p < (group + 1) * count / s->groups; p++)
        correlate(s, &s->pairs->pair[p], s->mirrored + (size_t)worker * s->width, s->cross + at, s->spread + at);
}

static qb_status begin(search *s, const qb__center_overlapped *a, size_t bin) {
    const size_t width = s->width, threads = (size_t)qb__pool_threads(a->rows->pool);
    qb_status status;
    s->rows = a->rows, s->pairs = a->pairs, s->still = a->still, s->bin = bin;
    s->groups = a->pairs->count < GROUPS ? a->pairs->count : GROUPS;
    QB__TRY(qb__alloc(a->pairs->views * width, sizeof *s->line, &s->line));
    QB__TRY(qb__alloc(a->pairs->views * (width + 1), sizeof *s->sum, &s->sum));
    QB__TRY(qb__alloc(a->pairs->views * (width + 1), sizeof *s->square, &s->square));
    QB__TRY(qb__alloc(threads * width, sizeof *s->mirrored, &s->mirrored));
    QB__TRY(qb__alloc(width, sizeof *s->binned, &s->binned));
    QB__TRY(qb__alloc(s->groups * s->lags, sizeof *s->cross, &s->cross));
    QB__TRY(qb__alloc(s->groups * s->lags, sizeof *s->spread, &s->spread));
out:
    return status;
}

/* The added constant keeps R small at lags where both strips hardly vary, because there they hold only rounding
 * errors. */
static void divide(search *s, double *curve) {
    double most = 0;
    for (size_t l = 0; l < s->lags; l++) {
        for (size_t g = 1; g < s->groups; g++) {
            s->cross[l] += s->cross[g * s->lags + l];
            s->spread[l] += s->spread[g * s->lags + l];
        }
        most = fmax(most, s->spread[l]);
    }
    for (size_t l = 0; l < s->lags; l++) curve[l] = most > 0 ? s->cross[l] / (s->spread[l] + 1e-5 * most) : 0;
}

/* Computes R for axes from low to high, in columns of the detector. The caller frees *curve. `even`: all strips have
 * the same length. */
static qb_status run(search *s, const qb__center_overlapped *a, size_t bin, double low, double high, bool even,
                     double **curve) {
    const qb__center_rows *rows = a->rows;
    const size_t width = rows->columns / bin;
    const ptrdiff_t share = (ptrdiff_t)width / (a->pairs->one_sided ? 3 : 32);
    ptrdiff_t least = LEAST_STRIP > share ? LEAST_STRIP : share;
    ptrdiff_t first = (ptrdiff_t)floor(2 * ((low + 0.5) / (double)bin - 0.5));
    ptrdiff_t last = (ptrdiff_t)ceil(2 * ((high + 0.5) / (double)bin - 0.5));
    ptrdiff_t end = 2 * (ptrdiff_t)width - 1 - least;
    if (first < least - 1) first = least - 1;
    if (last > end) last = end;
    *curve = NULL;
    if (last < first) return QB_OK;
    *s = (search){.width = width, .first = first, .lags = (size_t)(last - first + 1), .longest = (ptrdiff_t)width};
    if (even) s->longest = length_of(s, 0) < length_of(s, s->lags - 1) ? length_of(s, 0) : length_of(s, s->lags - 1);
    qb_status status;
    QB__TRY(begin(s, a, bin));
    QB__TRY(qb__alloc(s->lags, sizeof **curve, curve));
    for (s->row = 0; s->row < rows->rows; s->row++) {
        if (a->which != QB__CENTER_ALL && (s->row == a->row) != (a->which == QB__CENTER_ONLY)) continue;
        QB__TRY(qb__check_cancel(rows->env));
        if (s->still) qb__center_bin(s->still + s->row * rows->columns, rows->columns, bin, s->binned);
        qb__pool_for(rows->pool, a->pairs->views, line_task, s);
        qb__pool_for(rows->pool, s->groups, group_task, s);
    }
    divide(s, *curve);
out:
    return status;
}

typedef struct peak {
    size_t at;
    double height, second; /* second: the highest value outside the slopes of the peak */
} peak;

static peak find_peak(const double *curve, size_t lags) {
    peak best = {.height = -1, .second = 0};
    for (size_t l = 0; l < lags; l++)
        if (curve[l] > best.height) best = (peak){.at = l, .height = curve[l]};
    size_t low = best.at, high = best.at;
    while (low > 0 && curve[low] > 0.5 * best.height) low--;
    while (high + 1 < lags && curve[high] > 0.5 * best.height) high++;
    for (size_t l = 0; l < lags; l++)
        if ((l < low || l > high) && curve[l] > best.second) best.second = curve[l];
    return best;
}

static double column_of(const search *s, double lag) {
    return (((double)s->first + lag) / 2 + 0.5) * (double)s->bin - 0.5;
}

/* The standard deviation of R if nothing agrees. */
static double chance_at(const search *s, size_t lag) {
    return s->pairs->noise / sqrt((double)length_of(s, lag) * (double)s->rows->rows);
}

/* Vertex of the least-squares parabola through the lags around the peak that are at most 10 % lower. A fit over several
 * lags is less sensitive to noise and to single lags. *second: second derivative there, 0 if it is no peak. */
static double vertex(const double *curve, size_t lags, size_t at, double *second) {
    enum { REACH = 8 };
    size_t r = 1;
    double drop = 0.1 * fabs(curve[at]);
    *second = 0;
    while (r < REACH && at > r && at + r + 1 < lags && curve[at] - curve[at - r - 1] < drop &&
           curve[at] - curve[at + r + 1] < drop)
        r++;
    if (at < r || at + r >= lags) return (double)at;
    double n = 2 * (double)r + 1, s1 = 0, s2 = 0, x2 = 0, x4 = 0, s0 = 0;
    for (size_t i = 0; i <= 2 * r; i++) {
        double x = (double)i - (double)r, y = curve[at - r + i];
        s0 += y, s1 += x * y, s2 += x * x * y, x2 += x * x, x4 += x * x * x * x;
    }
    double curvature = (s2 - s0 * x2 / n) / (x4 - x2 * x2 / n), slope = s1 / x2;
    double shift = curvature < 0 ? -slope / (2 * curvature) : 0;
    *second = fmin(0, 2 * curvature);
    return (double)at + fmax(-1, fmin(1, shift));
}

static double value_at(const search *s, const double *curve, double column) {
    double lag = 2 * ((column + 0.5) / (double)s->bin - 0.5) - (double)s->first;
    if (!(lag > -0.5 && lag < (double)s->lags - 0.5)) return 0;
    return curve[(size_t)(lag + 0.5)];
}

/* Finds the column to a fraction of a column, within `reach` of `near`; *column stays if there is no peak. *error: its
 * standard error if both strips differ by white noise, of which the height of R tells how much there is. */
static qb_status place(const qb__center_overlapped *a, double near, double reach, double *column, double *error) {
    search s = {0};
    double *curve = NULL;
    qb_status status = run(&s, a, 1, fmax(near - reach, a->rows->low), fmin(near + reach, a->rows->high), true, &curve);
    *error = NAN;
    if (status == QB_OK && curve) {
        const peak best = find_peak(curve, s.lags);
        const double numbers = (double)length_of(&s, best.at) * (double)a->rows->rows;
        double second;
        *column = column_of(&s, vertex(curve, s.lags, best.at, &second));
        if (second < 0) *error = 0.5 * sqrt(fmax(0, 1 - best.height * best.height) / (-second * numbers));
    }
    qb__free(curve);
    search_clear(&s);
    return status;
}

/* Standard error of a column that is found again without each of the rows. */
static double jackknife(const double *each, size_t rows) {
    double sum = 0, squares = 0;
    for (size_t r = 0; r < rows; r++) sum += each[r] / (double)rows;
    for (size_t r = 0; r < rows; r++) squares += (each[r] - sum) * (each[r] - sum);
    return rows > 3 ? sqrt((double)(rows - 1) / (double)rows * squares) : NAN;
}

/* If rows give different columns, something other than the object moves the answers: lower the confidence. The two ends
 * of half a turn are too noisy for one row, and few rows may agree by chance: there the error by noise counts, too. It
 * is multiplied because the noise of views brought to the joint is not white. */
static qb_status trust(const qb__center_overlapped *all, double reach, double error, qb__center_answer *answer) {
    const double NOT_WHITE = 3;
    const bool ends = all->pairs->one_sided;
    const double good = ends ? 0.15 : 0.1, bad = ends ? 0.9 : 0.35; /* columns */
    const size_t rows = all->rows->rows < QB__CENTER_ROWS ? all->rows->rows : QB__CENTER_ROWS;
    double each[QB__CENTER_ROWS], other;
    qb__center_overlapped part = *all;
    qb_status status = QB_OK;
    part.which = ends ? QB__CENTER_WITHOUT : QB__CENTER_ONLY;
    for (size_t r = 0; r < rows && status == QB_OK; r++) {
        part.row = r;
        each[r] = ends ? answer->column : NAN;
        status = place(&part, answer->column, reach, &each[r], &other);
    }
    double scatter = ends ? jackknife(each, rows) : qb__center_scatter(each, rows);
    if (ends && !isnan(error)) scatter = isnan(scatter) ? NOT_WHITE * error : hypot(scatter, NOT_WHITE * error);
    if (!isnan(scatter)) answer->confidence *= 1 - qb__center_ramp(scatter, good, bad);
    return status;
}

qb_status qb__center_overlap_find(const qb__center_overlapped *a, double other, qb__center_answer *answer,
                                  double *height, double *there) {
    const qb__center_rows *rows = a->rows;
    size_t bin = (rows->columns + COARSE_COLUMNS - 1) / COARSE_COLUMNS;
    search s = {0};
    double *curve = NULL;
    qb_status status;
    *answer = (qb__center_answer){NAN, 0}, *height = NAN;
    if (there) *there = NAN;
    QB__TRY(run(&s, a, bin, rows->low, rows->high, false, &curve));
    if (!curve) goto out;
    peak best = find_peak(curve, s.lags);
    if (!(best.height > 0) || best.at == 0 || best.at + 1 >= s.lags) goto out;
    *height = best.height;
    if (there && !isnan(other)) *there = value_at(&s, curve, other);
    answer->confidence = 0.98 * qb__center_ramp(best.height - best.second, 0.05, 0.35) *
                         qb__center_ramp(best.height / chance_at(&s, best.at), 4, 8);
    answer->column = column_of(&s, (double)best.at);
    const double reach = 5 + 3 * (double)bin;
    double error;
    QB__TRY(place(a, answer->column, reach, &answer->column, &error));
    QB__TRY(trust(a, reach, error, answer));
out:
    qb__free(curve);
    search_clear(&s);
    return status;
}

/* Searches with the stationary mean subtracted, which removes stripes. If too little then remains, as for a disc around
 * the axis, searches the unchanged rows as well. */
static qb_status find_both(const qb__center_rows *rows, const qb__center_pairs *pairs, double other,
                           qb__center_answer *answer, double *other_agrees) {
    const double SURE = 0.9, GOOD = 0.1, BAD = 0.4; /* GOOD, BAD: columns */
    float *still;
    double height = NAN, there = NAN;
    qb__center_answer whole;
    qb_status status = qb__center_still(rows, pairs, &still);
    const qb__center_overlapped moving = {.rows = rows, .pairs = pairs, .still = still},
                                all = {.rows = rows, .pairs = pairs};
    if (status == QB_OK) status = qb__center_overlap_find(&moving, other, answer, &height, &there);
    if (other_agrees) *other_agrees = there / height;
    if (status != QB_OK || answer->confidence > SURE) {
        qb__free(still);
        return status;
    }
    status = qb__center_overlap_find(&all, other, &whole, &height, &there);
    if (status == QB_OK && !isnan(whole.column))
        whole.confidence *= 1 - qb__center_ramp(qb__center_uneven(rows, still, whole.column), GOOD, BAD);
    qb__free(still);
    if (status == QB_OK && whole.confidence > answer->confidence) {
        *answer = whole;
        if (other_agrees) *other_agrees = there / height;
    }
    return status;
}

qb_status qb__center_overlap(const qb__center_rows *rows, double other, qb__center_answer *answer,
                             double *other_agrees) {
    *answer = (qb__center_answer){NAN, 0};
    if (other_agrees) *other_agrees = NAN;
    if (rows->columns < 16) return QB_OK;
    qb__center_pairs pairs;
    qb_status status = qb__center_pairs_find(rows->angles, rows->views, (double)rows->columns / 2, &pairs);
    if (status == QB_OK && pairs.count && !pairs.one_sided && pairs.opposed > 0.5)
        status = find_both(rows, &pairs, other, answer, other_agrees);
    qb__center_pairs_clear(&pairs);
    return status;
}
