/* SPDX-License-Identifier: MIT */
/* Finds the axis from so small a part of a scan that every method can afford it before it starts. */
#include "center/center_look.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/parallel.h"
#include "io/scan/scan.h"
#include "prep/row_sample.h"

enum { ROWS = 5, MOST_VIEWS = 360, LEAST_VIEWS = 48, LEAST_COLUMNS = 32 };

typedef struct look {
    qb_scan *scan;
    const qb_scan_info *info;
    qb__prep steps; /* steps of preparation of the scan; pixels that were not measured are interpolated */
    size_t first;   /* detector row of the first row of the fields in `steps` */
    size_t row[ROWS], rows, views, each;
    double *radians;
    float *lines; /* [row][view][column] */
    char *raw;
} look;

static void clear(look *l) { QB__FREE(l->radians, l->lines, l->raw); }

/* For a cone beam, the rows must be near the one that is level with the source. For parallel rays any rows will do. */
static void choose_rows(look *l, const qb__center_look *asked) {
    const double LEAN = 0.02; /* largest slope of a ray out of the middle plane */
    const bool cone = asked->sod > 0 && !isnan(asked->middle);
    const double far = fmax(1, LEAN * asked->sdd / l->info->pixel_v);
    for (size_t i = 0; i < ROWS; i++) {
        double row = (double)asked->row0 + (double)((2 * i + 1) * (asked->row1 - asked->row0)) / (2 * ROWS);
        if (cone) row = asked->middle + (double)i - ROWS / 2;
        if (cone && (row < (double)asked->row0 - far || row > (double)asked->row1 - 1 + far)) continue;
        row = floor(fmin(fmax(row, (double)asked->row0), (double)asked->row1 - 1));
        if (l->rows == 0 || (size_t)row > l->row[l->rows - 1]) l->row[l->rows++] = (size_t)row;
    }
}

static qb_status choose_views(look *l, const qb__center_look *asked, bool *enough) {
    const size_t columns = l->info->columns, all = l->info->views;
    bool full = false;
    qb_status status = qb__turns_fully(all, asked->radians, &full, &(double){0});
    if (status != QB_OK) return status;
    /* Over half a turn of parallel rays only the first and last views are opposite to each other. */
    const bool few = full || asked->sod > 0;
    const size_t cheap = qb__views_affordable(l->scan, l->rows), most = few ? qb__smaller(MOST_VIEWS, cheap) : cheap;
    l->each = qb__larger(1, qb__ceil_div(all, qb__larger(1, most)));
    while (l->rows * qb__ceil_div(all, l->each) * columns * sizeof(float) * 3 > asked->room && l->each < all) l->each++;
    l->views = qb__ceil_div(all, l->each);
    *enough = l->rows > 0 && (l->views == all || l->views >= LEAST_VIEWS) && (few || l->each == 1);
    return status;
}

static qb_status read_rows(look *l, const qb__center_look *asked) {
    const size_t columns = l->info->columns, line = columns * qb_dtype_size(l->info->dtype);
    const size_t first = l->row[0], tall = l->row[l->rows - 1] + 1 - first;
    const bool together = tall <= 2 * l->rows;
    qb__prep_counts counts = {0}; /* ignored: these rows are counted when they are reconstructed */
    qb_status status = QB_OK;
    QB__TRY(qb__alloc(l->views, sizeof *l->radians, &l->radians));
    QB__TRY(qb__alloc(l->rows * l->views, columns * sizeof(float), &l->lines));
    QB__TRY(qb__alloc(together ? tall : 1, line, &l->raw));
    for (size_t v = 0; v < l->views; v++) {
        const size_t view = v * l->each;
        l->radians[v] = asked->radians[view];
        if (together) QB__TRY(qb_scan_read(l->scan, view, view + 1, first, first + tall, l->raw));
        for (size_t r = 0; r < l->rows; r++) {
            const size_t row = l->row[r];
            if (!together) QB__TRY(qb_scan_read(l->scan, view, view + 1, row, row + 1, l->raw));
            qb__prep_row(&l->steps, view, row - l->first, l->raw + (together ? (row - first) * line : 0),
                         l->lines + (r * l->views + v) * columns, &counts);
        }
    }
out:
    return status;
}

/* A row without an object holds only noise, and a finder may find an axis in noise. */
static void drop_empty_rows(look *l) {
    /* LEAST: a line integral. NOISE: in standard deviations of the mean of all views; noise alone has a range of about
     * 6. */
    const double LEAST = 1e-4, NOISE = 12;
    const size_t columns = l->info->columns, size = l->views * columns;
    size_t kept = 0;
    for (size_t r = 0; r < l->rows; r++) {
        double low = INFINITY, high = -INFINITY, steps = 0;
        for (size_t c = 0; c < columns; c++) {
            double sum = 0;
            for (size_t v = 0; v < l->views; v++) {
                const float *value = l->lines + r * size + v * columns + c;
                sum += (double)value[0];
                steps += c ? fabs((double)value[0] - (double)value[-1]) : 0;
            }
            low = fmin(low, sum / (double)l->views), high = fmax(high, sum / (double)l->views);
        }
        const double noise = 0.886 * steps / (double)size / sqrt((double)l->views);
        if (!(high - low > fmax(LEAST, NOISE * noise))) continue;
        if (kept < r) memcpy(l->lines + kept * size, l->lines + r * size, size * sizeof *l->lines);
        kept++;
    }
    l->rows = kept;
}

qb_status qb__center_look_at(qb_scan *scan, const qb__prepare *prepare, const qb__center_look *asked, qb__pool *pool,
                             const qb_env *env, qb__center_shown *found) {
    look l = {.scan = scan, .info = qb_scan_describe(scan)};
    bool enough = false;
    qb_status status = QB_OK;
    const qb__center_beam beam = {asked->sod, asked->sdd, asked->pixel};
    *found = (qb__center_shown){.axis = {NAN, 0}};
    if (l.info->columns < LEAST_COLUMNS || l.info->views < 8 || asked->row1 <= asked->row0) return QB_OK;
    choose_rows(&l, asked);
    if (l.rows) QB__TRY(choose_views(&l, asked, &enough));
    if (!enough) goto out;
    l.steps = *qb__prepare_steps(prepare);
    l.first = qb__prepare_first_row(prepare);
    l.steps.keep_lost = false;
    QB__TRY(read_rows(&l, asked));
    drop_empty_rows(&l);
    if (l.rows == 0) goto out;
    QB__TRY(qb__center_clean(l.lines, l.rows, l.views, l.info->columns, pool));
    const qb__center_rows rows = {.sinograms = l.lines,
                                  .rows = l.rows,
                                  .views = l.views,
                                  .columns = l.info->columns,
                                  .angles = l.radians,
                                  .high = (double)l.info->columns - 1,
                                  .pool = pool,
                                  .info = l.info,
                                  .env = env};
    status = qb__center_quick(&rows, asked->sod, asked->sdd, asked->pixel, &found->axis);
    if (status == QB_OK && asked->sod > 0 && found->axis.confidence > 0)
        status = qb__center_fan_check(&rows, &beam, found->axis.column, &found->fan);
    if (status == QB_BAD_INPUT) status = QB_OK; /* the views cover too small an angle */
out:
    clear(&l);
    return status;
}
