/* SPDX-License-Identifier: MIT */
#include "prep/cone_place.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "prep/row_sample.h"

enum {
    VIEWS = QB__PLANES_VIEWS,
    ANGLES = QB__PLANES_ANGLES,
    FEWEST_VIEWS = 12,
    FEWEST_PAIRS = 8,
    FINEST = 160, /* largest number of bins along a column */
    WIDEST = 64,
    FEWEST_BINS = 24,
    TIMES = 3 /* number of smoothings of the images */
};

typedef struct height {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep prep;
    size_t first, row0; /* first: scan row of the first row of the fields; row0: first row of the image */
    const qb__circle *circle;
    size_t bin[2]; /* pixels of a bin, across and along */
    size_t block;  /* rows that are read at once */
    size_t view[VIEWS];
    qb__cone_planes planes;
    float *line;
    char *raw;
} height;

static void add_line(const height *h, float *image, size_t row) {
    float *out = image + row / h->bin[1] * h->planes.n[0];
    for (size_t c = 0; c < h->planes.n[0] * h->bin[0]; c++)
        out[c / h->bin[0]] += h->line[c] / (float)(h->bin[0] * h->bin[1]);
}

static qb_status read_view(height *h, size_t i) {
    const size_t columns = h->info->columns, bytes = columns * qb_dtype_size(h->info->dtype), view = h->view[i];
    const size_t rows = h->planes.n[1] * h->bin[1];
    float *image = h->planes.image + i * h->planes.n[0] * h->planes.n[1];
    qb__prep_counts counts = {0}; /* ignored: these rows are counted when they are reconstructed */
    for (size_t r = 0; r < rows; r += h->block) {
        const size_t few = qb__smaller(h->block, rows - r), row = h->row0 + r;
        QB__OR_RETURN(qb_scan_read(h->scan, view, view + 1, row, row + few, h->raw));
        for (size_t k = 0; k < few; k++) {
            qb__prep_row(&h->prep, view, row + k - h->first, h->raw + k * bytes, h->line, &counts);
            add_line(h, image, r + k);
        }
    }
    return QB_OK;
}

static double sum_of(const height *h, size_t i, size_t column, double *noise) {
    const float *at = h->planes.image + i * h->planes.n[0] * h->planes.n[1] + column;
    double sum = 0, steps = 0;
    for (size_t r = 0; r < h->planes.n[1]; r++) {
        const double here = at[r * h->planes.n[0]], last = r ? (double)at[(r - 1) * h->planes.n[0]] : here;
        sum += here, steps += (here - last) * (here - last);
    }
    *noise = sqrt(0.5 * steps);
    return sum;
}

/* An object wider than the detector gives no answer: its sums lack a part that differs from view to view. */
static bool ends_in_air(const height *h) {
    const double AIR = 0.03, SURE = 4;
    double whole = 0, ends[2] = {0}, noise;
    for (size_t i = 0; i < h->planes.views; i++) {
        double most = 0;
        for (size_t c = 0; c < h->planes.n[0]; c++) most = fmax(most, sum_of(h, i, c, &noise));
        for (int side = 0; side < 2; side++) {
            const double end = sum_of(h, i, side ? h->planes.n[0] - 1 : 0, &noise);
            ends[side] += end;
            if (!(fabs(end) < fmax(AIR * most, SURE * noise))) return false;
        }
        whole += most;
    }
    return fmax(fabs(ends[0]), fabs(ends[1])) < AIR * whole;
}

/* Smooths with the weights 1 2 1 along a column. Then noise is lower, and nearly the same between two rows as in a
 * row. */
static void smooth(const height *h) {
    for (size_t i = 0; i < h->planes.views; i++)
        for (size_t c = 0; c < h->planes.n[0]; c++) {
            float *at = h->planes.image + i * h->planes.n[0] * h->planes.n[1] + c, last = at[0];
            for (size_t r = 0; r < h->planes.n[1]; r++) {
                const float here = at[r * h->planes.n[0]],
                            next = at[(r + 1 < h->planes.n[1] ? r + 1 : r) * h->planes.n[0]];
                at[r * h->planes.n[0]] = 0.25F * last + 0.5F * here + 0.25F * next;
                last = here;
            }
        }
}

static void choose_pairs(height *h, const double *radians) {
    static const double apart[ANGLES] = {0.9, 1.7};
    const double NEAR = 0.35, TURN = 2 * M_PI;
    for (int k = 0; k < ANGLES; k++)
        for (size_t i = 0; i < h->planes.views; i++) {
            qb__plane_pair best = {0};
            double least = NEAR;
            for (size_t j = 0; j < h->planes.views; j++) {
                double turned = radians[h->view[j]] - radians[h->view[i]];
                turned -= TURN * round(turned / TURN);
                const double off = fabs(turned - apart[k]);
                if (off < least) least = off, best = (qb__plane_pair){i, j, 0.5 * turned};
            }
            if (least < NEAR) h->planes.pair[h->planes.pairs++] = best;
        }
}

static bool worth(height *h, size_t rows, size_t room) {
    enum { BLOCK = 1 << 18 };
    const qb_scan_info *info = h->info;
    const size_t line = info->columns * qb_dtype_size(info->dtype), affordable = qb__views_affordable(h->scan, rows);
    qb__cone_planes *planes = &h->planes;
    h->bin[0] = qb__ceil_div(info->columns, WIDEST), h->bin[1] = qb__ceil_div(rows, FINEST);
    planes->n[0] = info->columns / h->bin[0], planes->n[1] = rows / h->bin[1];
    planes->views = qb__smaller(qb__smaller(VIEWS, info->views), affordable < info->views ? affordable / 2 : VIEWS);
    if (planes->views < FEWEST_VIEWS || planes->n[0] < FEWEST_BINS || planes->n[1] < FEWEST_BINS) return false;
    for (size_t i = 0; i < planes->views; i++) h->view[i] = i * (info->views - 1) / (planes->views - 1);
    h->block = qb__smaller(rows, qb__larger(qb__larger(1, info->chunk_rows), BLOCK / line));
    return planes->views * planes->n[0] * planes->n[1] * sizeof(float) + h->block * line < room;
}

static qb_status find(height *h, const double *radians, qb__cone_height *found) {
    const qb__circle *circle = h->circle;
    qb_status status = QB_OK;
    const size_t threads = h->planes.pool ? (size_t)qb__pool_threads(h->planes.pool) : 1;
    QB__TRY(qb__alloc(threads * qb__cone_planes_scratch(&h->planes), sizeof(double), &h->planes.scratch));
    QB__TRY(qb__alloc(h->planes.views * h->planes.n[0] * h->planes.n[1], sizeof(float), &h->planes.image));
    QB__TRY(qb__alloc(h->info->columns, sizeof(float), &h->line));
    QB__TRY(qb__alloc(h->block, h->info->columns * qb_dtype_size(h->info->dtype), &h->raw));
    h->planes.pixel[0] = circle->pixel_u * (double)h->bin[0], h->planes.pixel[1] = circle->pixel_v * (double)h->bin[1];
    h->planes.column = (circle->column + 0.5) / (double)h->bin[0] - 0.5;
    h->planes.row = (circle->row - (double)h->row0 + 0.5) / (double)h->bin[1] - 0.5;
    h->planes.sdd = circle->sdd;
    choose_pairs(h, radians);
    if (h->planes.pairs < FEWEST_PAIRS) goto out;
    for (size_t i = 0; i < h->planes.views; i++) QB__TRY(read_view(h, i));
    if (!ends_in_air(h)) goto out;
    for (int i = 0; i < TIMES; i++) smooth(h);
    qb__cone_place_find(&h->planes, h->bin[1], found);
out:
    return status;
}

qb_status qb__cone_height_find(qb_scan *scan, const qb__prepare *prepare, const qb__circle *circle,
                               const double *radians, size_t row0, size_t row1, size_t room, qb__pool *pool,
                               qb__cone_height *found) {
    height *h;
    *found = (qb__cone_height){.rows = NAN, .turn = NAN};
    qb__scan_rows_seen(scan, &row0, &row1);
    qb_status status = qb__alloc(1, sizeof *h, &h);
    if (status != QB_OK) return status;
    *h = (height){.scan = scan, .info = qb_scan_describe(scan), .row0 = row0, .circle = circle, .planes.pool = pool};
    if (row1 > row0 && worth(h, row1 - row0, room)) {
        h->prep = *qb__prepare_steps(prepare);
        h->prep.keep_lost = false;
        h->first = qb__prepare_first_row(prepare);
        status = find(h, radians, found);
    }
    QB__FREE(h->planes.scratch, h->planes.image, h->line, h->raw, h);
    return status;
}

void qb__cone_height_warn(const qb__cone_height *found, const qb__circle *circle, bool from_file, const qb_env *env) {
    /* if the level ray meets a lower row, the detector is higher than stated */
    const double mm = -found->rows * circle->pixel_v;
    if (found->better[0] > 0)
        qb__warn(env,
                 "views agree %.2g times better with the detector %.3g rows %s than stated: %s %+.4g "
                 "mm" QB__CODE("detector-height"),
                 found->better[0], fabs(found->rows), mm > 0 ? "higher" : "lower",
                 from_file ? "check the geometry file; it is off by" : "change V of --detector-offset U,V by", mm);
    if (found->better[1] > 0)
        qb__warn(env,
                 "views agree %.2g times better with the detector turned in its plane: %s %.4g%s" QB__CODE(
                     "detector-turned"),
                 found->better[1], from_file ? "check the geometry file; it is off by" : "give --tilt", found->turn,
                 from_file ? " degrees" : "");
}
