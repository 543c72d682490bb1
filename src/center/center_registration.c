/* SPDX-License-Identifier: MIT */
/* p(t + pi, s) = p(t, -s): with the axis at column c, view j opposite view i obeys
 *     p_j(2c - k) = p_i(k).
 * For every candidate m = 2c the normalised agreement over the overlap of the two,
 *     R(m) = sum 2 p_i(k) p_j(m - k) / sum (p_i(k)^2 + p_j(m - k)^2),
 * is summed over all pairs and rows before its peak is searched: noise averages out, and a single bad row or pair has
 * little influence. Views are band-pass filtered, so that neither a drifting background nor single noisy pixels decide.
 * center_pairs.h defines which views are opposite, and with what weight. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "center/center.h"
#include "center/center_pairs.h"
#include "center/center_still.h"

enum { COARSE_COLUMNS = 256, GROUPS = 32 };

/* One pass of the search, with `bin` columns averaged into one. */
typedef struct level {
    const qb__center_rows *rows;
    const qb__center_pairs *pairs;
    size_t bin, width; /* width = columns / bin */
    size_t reach;      /* half width of the band-pass filter: this number of columns is left out at both ends */
    ptrdiff_t first;   /* m of the first lag, in bins */
    size_t lags, groups;
    const float *sinogram;  /* the current row */
    const float *still;     /* [row][columns], subtracted first; NULL: nothing is subtracted */
    float *binned;          /* [width], `still` of the current row, binned */
    float *band;            /* [place][width], of the current row */
    double *energy;         /* [place][width + 1], running sums of band^2 */
    float *scratch;         /* [worker][2 width] */
    double *product, *norm; /* [row][group][lag] */
    size_t row;
} level;

/* Band-pass filter: smooths over about one column (two if there are few pairs), then subtracts a triangular mean over
 * about a sixteenth of the width. */
static void band_pass(level *at, size_t place, float *scratch) {
    size_t w = at->width, columns = at->rows->columns, reach = at->reach;
    float *a = scratch, *b = scratch + w, *out = at->band + place * w;
    qb__center_bin(at->sinogram + at->pairs->view[place] * columns, columns, at->bin, a);
    for (size_t k = 0; k < w; k++) a[k] -= at->binned[k];
    for (int pass = 0; pass < (at->pairs->one_sided ? 3 : 1); pass++) {
        float left = a[0];
        for (size_t k = 0; k < w; k++) {
            float here = a[k], right = a[k + 1 < w ? k + 1 : k];
            a[k] = 0.25f * left + 0.5f * here + 0.25f * right;
            left = here;
        }
    }
    memcpy(out, a, w * sizeof *out);
    qb__center_box(out, w, reach, a);
    qb__center_box(a, w, reach, b);
    for (size_t k = 0; k < w; k++) out[k] -= b[k];
    double *energy = at->energy + place * (w + 1);
    energy[0] = 0;
    for (size_t k = 0; k < w; k++) energy[k + 1] = energy[k] + (double)out[k] * (double)out[k];
}

static void band_task(void *context, size_t place, int worker) {
    level *at = context;
    band_pass(at, place, at->scratch + (size_t)worker * 2 * at->width);
}

static double dot(const float *a, const float *b, size_t n) {
    enum { LANES = 16 };
    float part[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        for (size_t l = 0; l < LANES; l++) part[l] += a[k + l] * b[k + l];
    }
    double sum = 0;
    for (size_t l = 0; l < LANES; l++) sum += (double)part[l];
    for (; k < n; k++) sum += (double)(a[k] * b[k]);
    return sum;
}

/* Add a pair's products and norms for all lags. */
static void correlate(const level *at, const qb__center_pair *pair, float *mirrored, double *product, double *norm) {
    size_t w = at->width;
    const float *a = at->band + pair->i * w, *b = at->band + pair->j * w;
    const double *ea = at->energy + pair->i * (w + 1), *eb = at->energy + pair->j * (w + 1);
    ptrdiff_t first = (ptrdiff_t)at->reach, last = (ptrdiff_t)(w - at->reach) - 1;
    for (size_t k = 0; k < w; k++) mirrored[k] = b[w - 1 - k];
    for (size_t l = 0; l < at->lags; l++) {
        ptrdiff_t m = at->first + (ptrdiff_t)l;
        ptrdiff_t low = m > first + last ? m - last : first;
        ptrdiff_t high = m < first + last ? m - first : last;
        if (low > high) continue;
        double both = dot(a + low, mirrored + low + (ptrdiff_t)w - 1 - m, (size_t)(high - low + 1));
        product[l] += pair->weight * 2 * both;
        norm[l] += pair->weight * (ea[high + 1] - ea[low] + eb[high + 1] - eb[low]);
    }
}

static void group_task(void *context, size_t group, int worker) {
    level *at = context;
    size_t count = at->pairs->count, place = (at->row * at->groups + group) * at->lags;
    for (size_t p = group * count / at->groups; p < (group + 1) * count / at->groups; p++) {
        correlate(at, &at->pairs->pair[p], at->scratch + (size_t)worker * 2 * at->width, at->product + place,
                  at->norm + place);
    }
}

static void level_clear(level *at) {
    QB__FREE(at->band, at->energy, at->scratch, at->binned, at->product, at->norm);
    *at = (level){0};
}

/* Correlates all rows at this bin, for axes from low to high in columns of the detector. */
static qb_status level_run(const qb__center_rows *rows, const qb__center_pairs *pairs, const float *still, size_t bin,
                           double low, double high, level *at) {
    /* Column c of the detector is bin coordinate (c + 0.5) / bin - 0.5. */
    ptrdiff_t first = (ptrdiff_t)floor(2 * ((low + 0.5) / (double)bin - 0.5));
    ptrdiff_t last = (ptrdiff_t)ceil(2 * ((high + 0.5) / (double)bin - 0.5));
    *at = (level){.rows = rows,
                  .pairs = pairs,
                  .still = still,
                  .bin = bin,
                  .width = rows->columns / bin,
                  .first = first,
                  .lags = (size_t)(last - first + 1)};
    at->reach = at->width / 32 + 2;
    at->groups = pairs->count < GROUPS ? pairs->count : GROUPS;
    size_t table = rows->rows * at->groups, threads = (size_t)qb__pool_threads(rows->pool);
    qb_status status;
    QB__TRY(qb__alloc(pairs->views * at->width, sizeof *at->band, &at->band));
    QB__TRY(qb__alloc(pairs->views * (at->width + 1), sizeof *at->energy, &at->energy));
    QB__TRY(qb__alloc(threads * 2 * at->width, sizeof *at->scratch, &at->scratch));
    QB__TRY(qb__alloc(at->width, sizeof *at->binned, &at->binned));
    QB__TRY(qb__alloc(table * at->lags, sizeof *at->product, &at->product));
    QB__TRY(qb__alloc(table * at->lags, sizeof *at->norm, &at->norm));
    for (at->row = 0; at->row < rows->rows; at->row++) {
        QB__TRY(qb__check_cancel(rows->env));
        at->sinogram = rows->sinograms + at->row * rows->views * rows->columns;
        if (still) qb__center_bin(still + at->row * rows->columns, rows->columns, bin, at->binned);
        qb__pool_for(rows->pool, pairs->views, band_task, at);
        qb__pool_for(rows->pool, at->groups, group_task, at);
    }
out:
    if (status != QB_OK) level_clear(at);
    return status;
}

/* R over the lags, of one row, or of all rows if row = rows. */
static void agreement(const level *at, size_t row, double *curve) {
    size_t lags = at->lags, from = row < at->rows->rows ? row : 0;
    size_t to = row < at->rows->rows ? row + 1 : at->rows->rows;
    double most = 0;
    double *norm = curve + lags;
    memset(curve, 0, 2 * lags * sizeof *curve);
    for (size_t i = from * at->groups; i < to * at->groups; i++) {
        for (size_t l = 0; l < lags; l++) {
            curve[l] += at->product[i * lags + l];
            norm[l] += at->norm[i * lags + l];
        }
    }
    for (size_t l = 0; l < lags; l++) most = fmax(most, norm[l]);
    /* A narrow overlap that is empty on both sides agrees with anything. The added constant keeps R small there. */
    for (size_t l = 0; l < lags; l++) curve[l] = most > 0 ? curve[l] / (norm[l] + 0.1 * most) : 0;
}

static size_t peak_of(const double *curve, size_t from, size_t to) {
    size_t best = from;
    for (size_t l = from; l < to; l++) {
        if (curve[l] > curve[best]) best = l;
    }
    return best;
}

typedef struct peak {
    double column, height, second;
    double chance; /* standard deviation of R at the peak if nothing agrees */
} peak;

/* Standard deviation of R at lag l if nothing agrees. After smoothing, white noise has one independent sample in
 * `apart` columns. */
static double chance_at(const level *at, size_t l) {
    double w = (double)at->width - 2 * (double)at->reach;
    double m = (double)at->first + (double)l - 2 * (double)at->reach;
    double overlap = fmax(fmin(m, 2 * (w - 1) - m) + 1, 1);
    double apart = at->pairs->one_sided ? 3 : 2;
    return at->pairs->noise * sqrt(apart / (overlap * (double)at->rows->rows));
}

static double column_of(const level *at, const double *curve, size_t l) {
    double m = (double)at->first + (double)l;
    if (l > 0 && l + 1 < at->lags) m += qb__center_vertex(curve[l - 1], curve[l], curve[l + 1]);
    return (m / 2 + 0.5) * (double)at->bin - 0.5;
}

/* Finds the highest peak and the highest value away from it. curve[2 lags] is scratch. */
static peak find_peak(const level *at, double *curve) {
    agreement(at, at->rows->rows, curve);
    size_t l = peak_of(curve, 0, at->lags);
    peak best = {.column = column_of(at, curve, l), .height = curve[l], .chance = chance_at(at, l)};
    enum { APART = 9 };
    for (size_t k = 0; k < at->lags; k++) {
        if ((k + APART <= l || k >= l + APART) && curve[k] > best.second) best.second = curve[k];
    }
    return best;
}

/* Finds the peak of each row near the common peak. */
static void peaks_of_rows(const level *at, const peak *common, double *curve, double *each) {
    for (size_t r = 0; r < at->rows->rows; r++) {
        agreement(at, r, curve);
        double m = 2 * ((common->column + 0.5) / (double)at->bin - 0.5) - (double)at->first;
        size_t reach = 6, middle = (size_t)fmax(m + 0.5, 0);
        size_t from = middle > reach ? middle - reach : 0;
        size_t to = middle + reach + 1 < at->lags ? middle + reach + 1 : at->lags;
        size_t l = peak_of(curve, from, to);
        bool inside = l > from && l + 1 < to && curve[l] > 0.5 * common->height;
        each[r] = inside ? column_of(at, curve, l) : NAN;
    }
}

static qb_status search(const qb__center_rows *rows, const qb__center_pairs *pairs, const float *still,
                        qb__center_answer *answer, double *each) {
    size_t bin = (rows->columns + COARSE_COLUMNS - 1) / COARSE_COLUMNS;
    level at = {0};
    double *curve = NULL;
    qb_status status;
    QB__TRY(level_run(rows, pairs, still, bin, rows->low, rows->high, &at));
    QB__TRY(qb__alloc(at.lags + 1, 2 * sizeof *curve, &curve));
    peak found = find_peak(&at, curve);
    double confidence = qb__center_ramp(found.height - found.second, 0.05, 0.45) *
                        qb__center_ramp(found.height / found.chance, 2, 4) * (pairs->one_sided ? 0.8 : 0.98);
    if (bin > 1 && found.height > 0) {
        double reach = 3 * (double)bin;
        level_clear(&at);
        QB__TRY(level_run(rows, pairs, still, 1, fmax(found.column - reach, rows->low),
                          fmin(found.column + reach, rows->high), &at));
        qb__free(curve);
        QB__TRY(qb__alloc(at.lags + 1, 2 * sizeof *curve, &curve));
        found = find_peak(&at, curve);
    }
    if (each) peaks_of_rows(&at, &found, curve, each);
    if (found.height > 0) {
        answer->column = found.column;
        answer->confidence = confidence;
    }
out:
    qb__free(curve);
    level_clear(&at);
    return status;
}

/* Searches with the stationary mean subtracted, which removes stripes, if the views cover both halves of a turn. If
 * that is not sure enough, searches the unchanged rows as well and keeps the more confident answer. */
static qb_status search_both(const qb__center_rows *rows, const qb__center_pairs *pairs, qb__center_answer *answer,
                             double *each) {
    const double SURE = 0.5;
    float *still = NULL;
    double other[QB__CENTER_ROWS];
    qb__center_answer whole = {NAN, 0};
    qb_status status = QB_OK;
    if (!pairs->one_sided) {
        status = qb__center_still(rows, pairs, &still);
        if (status == QB_OK) status = search(rows, pairs, still, answer, each);
        qb__free(still);
    }
    if (status != QB_OK || answer->confidence > SURE) return status;
    status = search(rows, pairs, NULL, &whole, each ? other : NULL);
    if (status != QB_OK || !(whole.confidence > answer->confidence || isnan(answer->column))) return status;
    *answer = whole;
    if (each) memcpy(each, other, rows->rows * sizeof *each);
    return QB_OK;
}

qb_status qb__center_registration(const qb__center_rows *rows, qb__center_answer *answer, double *each) {
    *answer = (qb__center_answer){NAN, 0};
    for (size_t r = 0; each && r < rows->rows; r++) each[r] = NAN;
    if (rows->columns < 16) return QB_OK;
    qb__center_pairs pairs;
    qb_status status = qb__center_pairs_find(rows->angles, rows->views, (double)rows->columns / 2, &pairs);
    if (status == QB_OK && pairs.count) status = search_both(rows, &pairs, answer, each);
    qb__center_pairs_clear(&pairs);
    return status;
}
