/* SPDX-License-Identifier: MIT */
/* Detects flats of another position than the views. Pixels differ from each other, in the views as in the flats. If
 * this pattern of the views matches that of the flats only after a shift or a mirroring, the flats were taken at
 * another position of the camera, or were stored mirrored. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { VIEWS = 12, ROWS = 32, NEAR = 2, FAR = 8, LEAST_COLUMNS = 64, MOST_COLUMNS = 1024 };

/* Pixel (row, column) of the views is this pixel of the flats. */
typedef struct place {
    bool up, over; /* mirrored top to bottom, left to right */
    int down, right;
    double fits;   /* correlation of both patterns; -1: not computed */
    size_t pixels; /* number of pixels that were compared */
} place;

typedef struct place_look {
    qb_scan *scan;
    size_t columns, first; /* columns that are compared, from the first one on */
    size_t row[ROWS], rows;
    char *raw;
    float *line, *pattern; /* [columns], [row][columns] */
} place_look;

static float less_dark(const qb_scan *scan, float value, size_t at) {
    return value - (scan->dark ? scan->dark[at] : 0);
}

/* Difference from the mean of both neighbours; 0 at the ends and where a value is not positive. */
static void sharpen(const float *line, size_t columns, float *out, float weight) {
    for (size_t i = NEAR; i + NEAR < columns; i++) {
        const float near = 0.25f * (line[i - 2] + line[i - 1] + line[i + 1] + line[i + 2]);
        const float more = near > 0 ? line[i] / near - 1 : 0;
        if (fabsf(more) < 0.5f) out[i] += weight * more; /* false for NaN, dead pixels and zingers */
    }
}

/* The mean pattern of some of the views first <= view < end. */
static qb_status add_views(place_look *l, size_t first, size_t end) {
    const qb_scan_info *info = &l->scan->info;
    const size_t views = qb__smaller(VIEWS, end - first);
    memset(l->pattern, 0, l->rows * l->columns * sizeof *l->pattern);
    for (size_t v = 0; v < views; v++)
        for (size_t r = 0; r < l->rows; r++) {
            const size_t view = first + (2 * v + 1) * (end - first) / (2 * views),
                         at = l->row[r] * info->columns + l->first;
            QB__OR_RETURN(qb_scan_read(l->scan, view, view + 1, l->row[r], l->row[r] + 1, l->raw));
            qb_convert_to_float(l->raw + l->first * qb_dtype_size(info->dtype), info->dtype, l->columns, l->line);
            for (size_t i = 0; i < l->columns; i++) l->line[i] = less_dark(l->scan, l->line[i], at + i);
            sharpen(l->line, l->columns, l->pattern + r * l->columns, 1 / (float)views);
        }
    return QB_OK;
}

/* The compared columns of a row of the flats at that position. */
static bool flat_row(const place_look *l, const place *p, size_t row, float *line) {
    const qb_scan_info *info = &l->scan->info;
    const ptrdiff_t rows = (ptrdiff_t)info->rows, columns = (ptrdiff_t)info->columns,
                    r = (p->up ? rows - 1 - (ptrdiff_t)row : (ptrdiff_t)row) + p->down;
    if (r < 0 || r >= rows) return false;
    for (size_t i = 0; i < l->columns; i++) {
        const ptrdiff_t here = (ptrdiff_t)(l->first + i), c = (p->over ? columns - 1 - here : here) + p->right;
        const size_t at = (size_t)r * info->columns + (size_t)c;
        line[i] = c < 0 || c >= columns ? NAN : less_dark(l->scan, l->scan->flat[at], at);
    }
    return true;
}

static double correlation(const place_look *l, place *p) {
    double both = 0, own = 0, other = 0;
    float line[MOST_COLUMNS], flat[MOST_COLUMNS];
    p->pixels = 0;
    for (size_t r = 0; r < l->rows; r++) {
        const float *pattern = l->pattern + r * l->columns;
        if (!flat_row(l, p, l->row[r], line)) continue;
        memset(flat, 0, l->columns * sizeof *flat);
        sharpen(line, l->columns, flat, 1);
        for (size_t i = NEAR; i + NEAR < l->columns; i++) {
            if (flat[i] == 0 || pattern[i] == 0) continue;
            both += (double)pattern[i] * (double)flat[i];
            own += (double)pattern[i] * (double)pattern[i];
            other += (double)flat[i] * (double)flat[i];
            p->pixels++;
        }
    }
    return own > 0 && other > 0 ? both / sqrt(own * other) : 0;
}

typedef struct trials {
    const place_look *look;
    place *place;
} trials;

static qb_status try_place(void *context, size_t trial, size_t worker) {
    const trials *t = context;
    (void)worker;
    t->place[trial].fits = correlation(t->look, &t->place[trial]);
    return QB_OK;
}

/* The first one of the best places. */
static qb_status find_best(const place_look *l, place *best) {
    enum { SIDE = 2 * FAR + 1 };
    place places[SIDE * SIDE + 3];
    size_t count = 0;
    for (int flip = 0; flip < 4; flip++) {
        const int far = flip ? 0 : FAR;
        for (int down = -far; down <= far; down++)
            for (int right = -far; right <= far; right++)
                if (flip || down || right)
                    places[count++] = (place){.up = flip & 1, .over = flip & 2, .down = down, .right = right};
    }
    trials t = {l, places};
    const qb_status status = qb__share(l->scan->parts.data.source->threads, count, try_place, &t);
    *best = (place){.fits = -1};
    for (size_t i = 0; i < count; i++)
        if (places[i].fits > best->fits) *best = places[i];
    return status;
}

static void tell(qb_scan *scan, const place *p, double now, const char *which) {
    char how[80];
    if (p->up || p->over)
        snprintf(how, sizeof how, "when flipped %s",
                 p->up && p->over ? "both ways"
                 : p->up          ? "top to bottom"
                                  : "left to right");
    else
        snprintf(how, sizeof how, "when moved by %d rows and %d columns", -p->down, -p->right);
    qb__note_of(
        &scan->parts.notes, QB_PROBLEM_FIELDS,
        "the pixels of the flats fit those of %s %s (correlation %.2f, as they are %.2f): give flats of the same "
        "place" QB__CODE("flats-elsewhere"),
        which, how, p->fits, now);
}

static bool is_worth(const qb_scan *scan) {
    const size_t UNPACKED = 64 << 20;
    const qb_scan_info *info = &scan->info;
    const qb__source *source = scan->parts.data.source;
    const size_t piece = source->chunk[0] * source->chunk[1];
    if (source->computes || *scan->refused || info->quantity != QB_COUNTS || !scan->flat) return false;
    if (info->columns < LEAST_COLUMNS || info->views < VIEWS || qb__scan_on_device((qb_scan *)scan)) return false;
    return piece <= 1 || VIEWS * ROWS * piece * qb__source_row_bytes(source) <= UNPACKED;
}

static const double IN_PLACE = 0.15;

/* For views first <= view < end; *in_place: correlation without any change. */
static qb_status judge(place_look *l, size_t first, size_t end, const char *which, bool *told, double *in_place) {
    const double FITS = 0.3, TIMES = 3, CHANCE = 10; /* times the random correlation of so many pixels */
    place best, same = {0};
    QB__OR_RETURN(add_views(l, first, end));
    const double now = *in_place = correlation(l, &same);
    if (now > FITS) return QB_OK; /* most scans fit in place, so the other positions need not be tried */
    QB__OR_RETURN(find_best(l, &best));
    *told = best.fits > fmax(FITS, CHANCE / sqrt((double)best.pixels)) && now < IN_PLACE && best.fits > TIMES * now;
    if (*told) tell(l->scan, &best, now, which);
    return QB_OK;
}

qb_status qb__scan_look_at_flats_place(qb_scan *scan) {
    const qb_scan_info *info = &scan->info;
    place_look l = {
        .scan = scan, .columns = qb__smaller(MOST_COLUMNS, info->columns), .rows = qb__smaller(ROWS, info->rows)};
    const size_t half = info->views / 2;
    double all, part;
    bool told = false;
    qb_status status = QB_OK;
    if (!is_worth(scan)) return QB_OK;
    l.first = (info->columns - l.columns) / 2;
    for (size_t r = 0; r < l.rows; r++) l.row[r] = (2 * r + 1) * info->rows / (2 * l.rows);
    QB__TRY(qb__alloc(info->columns, qb_dtype_size(info->dtype), &l.raw));
    QB__TRY(qb__alloc(l.columns, sizeof *l.line, &l.line));
    QB__TRY(qb__alloc(l.rows * l.columns, sizeof *l.pattern, &l.pattern));
    QB__TRY(judge(&l, 0, info->views, "the views", &told, &all));
    if (told || all < IN_PLACE || info->views < 2 * VIEWS) goto out;
    QB__TRY(judge(&l, half, info->views, "the later half of the views", &told, &part));
    if (!told) QB__TRY(judge(&l, 0, half, "the first half of the views", &told, &part));
out:
    QB__FREE(l.raw, l.line, l.pattern);
    return status;
}
