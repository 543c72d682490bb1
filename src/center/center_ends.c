/* SPDX-License-Identifier: MIT */
/* Half a turn meets its own mirror image only where its last view joins the first one. One view on either side of that
 * joint would do if it were free of noise. So each side's views are brought to the joint by means or straight lines over
 * its last K views, each scale of columns with a K of its own: coarse features move little from view to view, so many
 * views may be averaged, fine ones are lost in that. Which K is best, and how far the two sides then differ, is measured
 * where both sides are known: at places within the scan. Scales are divided by that difference, so that what predicts
 * badly, be it by noise or by movement, counts little. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "center/center.h"
#include "center/center_overlap.h"

enum { SCALES = 12, WAYS = 40, PLACES = 16, MOST_VIEWS = 512 };

/* A way to bring views to the joint: a mean (order 0) or a straight line (order 1) over so many views. */
typedef struct way {
    size_t count;
    int order;
} way;

typedef struct joint {
    const qb__center_rows *rows;
    qb__direction *list; /* all views, from one end of the half turn to the other */
    double apart;        /* from the joint to the views next to it, in steps */
    size_t skip;         /* views left out on both sides of a place within the scan, to be as far apart */
    size_t scales, ways;
    way way[WAYS];
    double *differs;      /* [row][place][way][scale] mean square of the difference of both sides */
    double least[SCALES]; /* of the best way of each scale */
    size_t best[SCALES];
    double *sums; /* [worker][4][columns] */
    float *lines; /* [worker][4][columns] */
    float *ends;  /* [row][2][columns] */
} joint;

static void joint_clear(joint *j) { QB__FREE(j->list, j->differs, j->sums, j->lines, j->ends); }

/* Sorts the views from one end to the other: the largest step between neighbours lies outside. */
static void sort_views(joint *j) {
    const double pi = 3.14159265358979323846;
    const size_t n = j->rows->views;
    size_t first = 0;
    double most = 0;
    for (size_t v = 0; v < n; v++) {
        const double turns = j->rows->angles[v] / (2 * pi);
        j->list[v] = (qb__direction){(turns - floor(turns)) * 2 * pi, v};
    }
    qb__sort_directions(j->list, n);
    for (size_t v = 0; v < n; v++) {
        const double step = j->list[(v + 1) % n].angle - j->list[v].angle + (v + 1 < n ? 0 : 2 * pi);
        if (step > most) most = step, first = (v + 1) % n;
    }
    for (size_t v = 0; v < first; v++) j->list[v].angle += 2 * pi;
    qb__sort_directions(j->list, n);
    const double span = j->list[n - 1].angle - j->list[0].angle;
    j->apart = 0.5 * (pi - span) / (span / (double)(n - 1));
    j->skip = j->apart > 0.5 ? (size_t)j->apart : 0;
}

static void choose_ways(joint *j) {
    const size_t most = j->rows->views > 2 * j->skip ? j->rows->views / 2 - j->skip : 0;
    for (size_t count = 1; count <= most && count <= MOST_VIEWS && j->ways + 2 <= WAYS;
         count += count < 4 ? 1 : count / 3)
        for (int order = 0; order < (count > 1 ? 2 : 1); order++) j->way[j->ways++] = (way){count, order};
    while (j->scales + 1 < SCALES && (size_t)6 << j->scales < j->rows->columns) j->scales++;
}

/* The value at the joint of views `apart`, `apart` + 1 ... steps away from it, by their sums and those of the values
 * times 0, 1 ... */
static void bring(const way *w, double apart, const double *sum, const double *moment, size_t columns, float *line) {
    const double n = (double)w->count, middle = 0.5 * (n - 1), spread = n * (n * n - 1) / 12;
    const double slope = w->order ? -(apart + middle) / spread : 0;
    for (size_t k = 0; k < columns; k++) line[k] = (float)(sum[k] / n + slope * (moment[k] - middle * sum[k]));
}

static void add_view(const joint *j, size_t row, size_t at, size_t number, double *sum, double *moment) {
    const size_t columns = j->rows->columns;
    const float *view = j->rows->sinograms + (row * j->rows->views + j->list[at].view) * columns;
    for (size_t k = 0; k < columns; k++) sum[k] += (double)view[k], moment[k] += (double)number * (double)view[k];
}

/* Takes the next finer scale off `line` and leaves the rest. `fine` and `scratch` have its length. */
static void split(float *line, size_t columns, size_t scale, float *fine, float *scratch) {
    const size_t reach = scale ? (size_t)1 << (scale - 1) : 1;
    memcpy(fine, line, columns * sizeof *line);
    qb__center_box(fine, columns, reach, scratch);
    qb__center_box(scratch, columns, reach, line);
    for (size_t k = 0; k < columns; k++) fine[k] -= line[k];
}

static double mean_square(const float *line, size_t columns) {
    double sum = 0;
    for (size_t k = 0; k < columns; k++) sum += (double)line[k] * (double)line[k];
    return sum / (double)columns;
}

/* Both sides of a place within the scan, brought there in all ways. */
static void compare_task(void *context, size_t task, int worker) {
    const joint *j = context;
    const size_t columns = j->rows->columns, row = task / PLACES, most = j->way[j->ways - 1].count;
    const size_t room = j->rows->views - 2 * (most + j->skip),
                 at = task % PLACES * room / (PLACES - 1) + most + j->skip;
    double *sum = j->sums + (size_t)worker * 4 * columns;
    float *line = j->lines + (size_t)worker * 4 * columns;
    size_t count = 0;
    memset(sum, 0, 4 * columns * sizeof *sum);
    for (size_t w = 0; w < j->ways; w++) {
        for (; count < j->way[w].count; count++) {
            add_view(j, row, at - 1 - j->skip - count, count, sum, sum + columns);
            add_view(j, row, at + j->skip + count, count, sum + 2 * columns, sum + 3 * columns);
        }
        const double apart = 0.5 + (double)j->skip;
        bring(&j->way[w], apart, sum, sum + columns, columns, line);
        bring(&j->way[w], apart, sum + 2 * columns, sum + 3 * columns, columns, line + columns);
        for (size_t k = 0; k < columns; k++) line[k] -= line[columns + k];
        double *differs = j->differs + (task * j->ways + w) * SCALES;
        for (size_t s = 0; s < j->scales; s++) {
            split(line, columns, s, line + 2 * columns, line + 3 * columns);
            differs[s] = mean_square(line + 2 * columns, columns);
        }
        differs[j->scales] = mean_square(line, columns);
    }
}

static void choose_best(joint *j) {
    const size_t tasks = j->rows->rows * PLACES;
    for (size_t s = 0; s <= j->scales; s++) {
        j->least[s] = INFINITY;
        for (size_t w = 0; w < j->ways; w++) {
            double sum = 0;
            for (size_t t = 0; t < tasks; t++) sum += j->differs[(t * j->ways + w) * SCALES + s] / (double)tasks;
            if (sum < j->least[s]) j->least[s] = sum, j->best[s] = w;
        }
    }
}

/* Adds scale `s` of one end of a row to its view at the joint. Returns its mean square, unscaled. */
static double add_scale(const joint *j, size_t row, int end, size_t s, double scale) {
    const size_t columns = j->rows->columns, last = j->rows->views - 1;
    double *sum = j->sums;
    float *line = j->lines, *out = j->ends + (2 * row + (size_t)end) * columns;
    memset(sum, 0, 2 * columns * sizeof *sum);
    for (size_t i = 0; i < j->way[j->best[s]].count; i++) add_view(j, row, end ? last - i : i, i, sum, sum + columns);
    bring(&j->way[j->best[s]], j->apart, sum, sum + columns, columns, line);
    for (size_t k = 0; k <= s && k < j->scales; k++) split(line, columns, k, line + 2 * columns, line + 3 * columns);
    const float *part = s < j->scales ? line + 2 * columns : line;
    double mean = 0;
    for (size_t k = 0; k < columns; k++) mean += (double)part[k] / (double)columns;
    for (size_t k = 0; k < columns; k++) out[k] += (float)(scale * ((double)part[k] - mean));
    return mean_square(part, columns) - mean * mean;
}

/* The two views at the joint. Differences below FLOOR of all that varies count as stripes. */
static void draw_ends(joint *j) {
    const double FLOOR = 1e-4;
    double varies = 0;
    for (size_t r = 0; r < j->rows->rows; r++)
        for (size_t s = 0; s <= j->scales; s++) varies += add_scale(j, r, 0, s, 0) / (double)j->rows->rows;
    if (!(varies > 0)) return;
    for (size_t r = 0; r < j->rows->rows; r++)
        for (size_t s = 0; s <= j->scales; s++)
            for (int end = 0; end < 2; end++)
                add_scale(j, r, end, s, 1 / sqrt(j->least[s] + FLOOR * varies / (double)(j->scales + 1)));
}

static qb_status join(joint *j) {
    const qb__center_rows *rows = j->rows;
    const size_t threads = (size_t)qb__pool_threads(rows->pool);
    qb_status status;
    QB__TRY(qb__alloc(rows->views, sizeof *j->list, &j->list));
    QB__TRY(qb__alloc(threads * 4, rows->columns * sizeof *j->sums, &j->sums));
    QB__TRY(qb__alloc(threads * 4, rows->columns * sizeof *j->lines, &j->lines));
    QB__TRY(qb__alloc(rows->rows * 2, rows->columns * sizeof *j->ends, &j->ends));
    sort_views(j);
    choose_ways(j);
    if (j->ways == 0) goto out;
    QB__TRY(qb__alloc(rows->rows * PLACES, j->ways * SCALES * sizeof *j->differs, &j->differs));
    qb__pool_for(rows->pool, rows->rows * PLACES, compare_task, j);
    choose_best(j);
    draw_ends(j);
    status = qb__check_cancel(rows->env);
out:
    return status;
}

/* Lowers the confidence of an answer at whose column the values differ much more than at their own. */
static void doubt(const qb__center_answer *values, double height, double there, qb__center_answer *answer) {
    const double ROUGH = 0.002;
    if (isnan(values->column) || isnan(there) || fabs(values->column - answer->column) < 1) return;
    const double agrees = qb__center_ramp((1 - height + ROUGH) / (1 - there + ROUGH), 0.25, 0.7);
    answer->confidence *= 1 - values->confidence * (1 - agrees);
}

/* One pair of views is never more certain than END. Edges of a few views that the values do not confirm count UNSEEN. */
static qb_status judge(const qb__center_rows *ends, qb__center_answer *edges, qb__center_answer *sharpness) {
    const double END = 0.8, UNSEEN = 0.3;
    qb__center_pair pair = {0, 1, 1};
    size_t view[2] = {0, 1};
    const qb__center_pairs pairs = {.pair = &pair, .count = 1, .view = view, .views = 2, .noise = 1, .one_sided = true};
    const qb__center_overlapped all = {.rows = ends, .pairs = &pairs};
    double height, there;
    qb__center_answer values;
    qb_status status = qb__center_overlap_find(&all, sharpness->column, &values, &height, &there);
    if (status != QB_OK || isnan(values.column)) return status;
    values.confidence *= END * qb__center_ramp(height, 0.55, 0.9);
    doubt(&values, height, there, sharpness);
    const double seen = fabs(values.column - edges->column) < 1 ? qb__center_ramp(values.confidence, 0, 0.5) : 0;
    edges->confidence *= UNSEEN + (1 - UNSEEN) * seen;
    if (values.confidence > edges->confidence) *edges = values;
    return QB_OK;
}

qb_status qb__center_ends(const qb__center_rows *rows, qb__center_answer *edges, qb__center_answer *sharpness) {
    qb__center_pairs pairs;
    joint j = {.rows = rows};
    if (rows->columns < 16 || rows->views < 4 || !qb__center_cut_off(rows)) return QB_OK;
    qb_status status = qb__center_pairs_find(rows->angles, rows->views, (double)rows->columns / 2, &pairs);
    if (status == QB_OK && pairs.count && pairs.one_sided) {
        status = join(&j);
        qb__center_rows ends = *rows;
        ends.sinograms = j.ends, ends.views = 2;
        if (status == QB_OK) status = judge(&ends, edges, sharpness);
    }
    joint_clear(&j);
    qb__center_pairs_clear(&pairs);
    return status;
}
