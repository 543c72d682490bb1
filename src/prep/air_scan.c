/* SPDX-License-Identifier: MIT */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/select.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "io/scan/scan.h"
#include "prep/air.h"
#include "prep/fields.h"
#include "prep/prep.h"

/* Transmissions of a band of rows, one view at a time. */
typedef struct band {
    qb_scan *scan;
    const qb_scan_info *info;
    size_t row0, rows, pixels;
    const float *dark, *gain; /* fields of the band */
    qb__fields own;           /* holds the fields of rows that the preparation does not have */
    float *values;
    void *raw;
} band;

static void close_band(band *b) {
    QB__FREE(b->own.dark, b->own.gain, b->values, b->raw);
    *b = (band){0};
}

/* Use the existing flats and darks if they contain these rows; else load temporary ones. */
static qb_status find_fields(band *b, const qb__fields *made) {
    if (b->row0 >= made->row0 && b->row0 + b->rows <= made->row0 + made->rows) {
        const size_t at = (b->row0 - made->row0) * made->columns;
        b->dark = made->dark + at;
        b->gain = made->gain + at;
        return QB_OK;
    }
    uint64_t dead;
    b->own = (qb__fields){.row0 = b->row0, .rows = b->rows, .columns = b->info->columns};
    qb_status status = qb__fields_load(b->scan, &b->own, &dead);
    b->dark = b->own.dark;
    b->gain = b->own.gain;
    return status;
}

static qb_status open_band(band *b, const qb__pass *pass, size_t row0, size_t row1) {
    qb_status status;
    *b = (band){.scan = pass->scan, .info = qb_scan_describe(pass->scan), .row0 = row0, .rows = row1 - row0};
    b->pixels = b->rows * b->info->columns;
    QB__TRY(qb__alloc(b->pixels, sizeof(float), &b->values));
    QB__TRY(qb__alloc(b->pixels, qb_dtype_size(b->info->dtype), &b->raw));
    if (b->info->quantity == QB_COUNTS && (b->info->flats || b->info->darks)) QB__TRY(find_fields(b, pass->fields));
out:
    if (status != QB_OK) close_band(b);
    return status;
}

/* values[row][column] of one view, divided by its own flat; NaN where the flat is dead. */
static qb_status read_view(band *b, size_t view) {
    QB__OR_RETURN(qb_scan_read(b->scan, view, view + 1, b->row0, b->row0 + b->rows, b->raw));
    qb_convert_to_float(b->raw, b->info->dtype, b->pixels, b->values);
    for (size_t i = 0; b->gain && i < b->pixels; i++)
        b->values[i] = b->gain[i] > 0 ? (b->values[i] - b->dark[i]) * b->gain[i] : NAN;
    const qb__drift *drift = b->gain ? b->scan->drift : NULL;
    for (size_t i = 0, n; drift && i < b->pixels; i += n) {
        float change[QB__PREP_BLOCK];
        n = qb__smaller(QB__PREP_BLOCK, b->pixels - i);
        qb__drift_changes(drift, view, b->row0 * b->info->columns + i, n, change);
        for (size_t k = 0; k < n; k++) b->values[i + k] /= change[k];
    }
    const unsigned char *unmeasured = b->scan->unmeasured ? b->scan->unmeasured + b->row0 * b->info->columns : NULL;
    for (size_t i = 0; unmeasured && i < b->pixels; i++)
        if (unmeasured[i]) b->values[i] = NAN;
    return QB_OK;
}

/* The median over rows of each column, which one dead or hot pixel does not change. */
static void column_profile(const band *b, float *column, float *profile) {
    for (size_t x = 0; x < b->info->columns; x++) {
        size_t n = 0;
        for (size_t y = 0; y < b->rows; y++) {
            float value = b->values[y * b->info->columns + x];
            if (isfinite(value)) column[n++] = value;
        }
        profile[x] = n ? qb__air_median(column, n) : NAN;
    }
}

/* Samples up to SAMPLE views, with all rows of a small detector or a band in the middle of a large one; the band stays
 * open. */
static qb_status find_region(const qb__pass *pass, band *b, qb__air_region *region) {
    enum { SAMPLE = 48, ROWS = 64 };
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    size_t rows = info->rows < ROWS ? info->rows : ROWS, row0 = (info->rows - rows) / 2;
    size_t views = info->views < SAMPLE ? info->views : SAMPLE;
    float *profile = NULL, *column = NULL;
    qb_status status;
    QB__TRY(open_band(b, pass, row0, row0 + rows));
    QB__TRY(qb__alloc(views * info->columns, sizeof *profile, &profile));
    QB__TRY(qb__alloc(rows, sizeof *column, &column));
    for (size_t i = 0; i < views; i++) {
        QB__TRY(read_view(b, i * info->views / views));
        column_profile(b, column, profile + i * info->columns);
    }
    *region = (qb__air_region){.y0 = row0, .y1 = row0 + rows};
    if (!qb__air_find(profile, views, info->columns, info->quantity == QB_TRANSMISSION || info->flats, region))
        status = qb__fail(QB_BAD_INPUT,
                          "%s: --air auto found no columns at either edge that are open beam in all views: give "
                          "--air 99.9%% (the brightest pixels of each view), X0:X1,Y0:Y1, or leave --air out",
                          info->path);
out:
    QB__FREE(profile, column);
    return status;
}

/* Median of the region in one view. */
static qb_status region_level(const band *b, const qb__air_region *region, size_t view, float *picked, float *level) {
    size_t n = 0;
    for (size_t y = 0; y < b->rows; y++) {
        for (int r = 0; r < region->ranges; r++) {
            for (size_t x = region->x0[r]; x < region->x1[r]; x++) {
                float value = b->values[y * b->info->columns + x];
                if (isfinite(value)) picked[n++] = value;
            }
        }
    }
    *level = n ? qb__air_median(picked, n) : 0.0f;
    if (*level > 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s view %zu: the air region's median is %g, not an open beam", b->info->path, view,
                    (double)*level);
}

static void describe(const qb__air_region *region, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "columns %zu:%zu", region->x0[0], region->x1[0]);
    if (region->ranges == 2 && used < size)
        used += (size_t)snprintf(text + used, size - used, " and %zu:%zu", region->x0[1], region->x1[1]);
    if (used < size) snprintf(text + used, size - used, ", rows %zu:%zu", region->y0, region->y1);
}

/* "99.9%": the brightest part of each whole view, for objects without a fixed open region. */
static bool parse_percentile(const char *where, double *percentile) {
    char *end;
    *percentile = qb__strtod(where, &end);
    return end != where && strcmp(end, "%") == 0 && *percentile > 0 && *percentile < 100;
}

static qb_status percentile_level(const band *b, double percentile, size_t view, float *picked, float *level) {
    size_t n = 0;
    for (size_t i = 0; i < b->pixels; i++) {
        if (isfinite(b->values[i])) picked[n++] = b->values[i];
    }
    *level = n ? qb__float_at(picked, n, (size_t)(percentile / 100 * (double)(n - 1))) : 0.0f;
    if (*level > 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s view %zu: its %g %% level is %g, not an open beam", b->info->path, view,
                    percentile, (double)*level);
}

/* Choose the region, and describe it in words. The band of its rows is open afterwards. */
static qb_status choose_region(const qb__pass *pass, double *percentile, band *b, qb__air_region *region) {
    const char *where = pass->options->air;
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    if (parse_percentile(where, percentile)) {
        *region = (qb__air_region){.y1 = info->rows};
        snprintf(pass->note, pass->note_size, "the %g %% level of each view", *percentile);
        return open_band(b, pass, 0, info->rows);
    }
    *percentile = 0;
    const bool find = strcmp(where, "auto") == 0;
    QB__OR_RETURN(find ? find_region(pass, b, region) : qb__air_parse(where, info->rows, info->columns, region));
    describe(region, pass->note, pass->note_size);
    return find ? QB_OK : open_band(b, pass, region->y0, region->y1);
}

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options->air != NULL;
}

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    double percentile;
    qb__air_region region;
    if (info->quantity == QB_LINE_INTEGRAL)
        return qb__fail(QB_BAD_ARGUMENT, "--air %s: %s already holds line integrals", options->air, info->path);
    if (strcmp(options->air, "auto") == 0 || parse_percentile(options->air, &percentile)) return QB_OK;
    return qb__air_parse(options->air, info->rows, info->columns, &region);
}

/* View by view, in one thread; a percentile is over all values. */
static double seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads) {
    (void)rows, (void)threads;
    double level;
    const bool all = parse_percentile(options->air, &level) || strcmp(options->air, "auto") == 0;
    return all ? (double)info->views * (double)info->rows * (double)info->columns * 2e-9 : 0;
}

/* The open beam of every view, in the region of --air (X0:X1,Y0:Y1 or auto) or as a percentile of the whole view
 * (99.9%): its median transmission, or median counts minus dark without flats. */
static qb_status measure(const qb__pass *pass) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    qb__comm *comm = qb__comm_of(pass->env); /* views are divided among ranks, and their levels are sent to all */
    qb__air_region region;
    band b = {0};
    float *picked = NULL, *air, low = INFINITY, high = 0;
    double percentile = 0;
    qb_status status;
    QB__TRY(choose_region(pass, &percentile, &b, &region));
    QB__TRY(qb__alloc(info->views, sizeof *air, &pass->fields->air));
    QB__TRY(qb__alloc(b.pixels, sizeof *picked, &picked));
    air = pass->fields->air;
    const size_t ranks = (size_t)qb__comm_count(comm), rank = (size_t)qb__comm_rank(comm);
    for (size_t v = info->views * rank / ranks; v < info->views * (rank + 1) / ranks; v++) {
        QB__TRY(qb__check_cancel(pass->env));
        QB__TRY(read_view(&b, v));
        QB__TRY(percentile > 0 ? percentile_level(&b, percentile, v, picked, &air[v])
                               : region_level(&b, &region, v, picked, &air[v]));
    }
    for (size_t i = 0; i < ranks; i++) {
        const size_t v = info->views * i / ranks, end = info->views * (i + 1) / ranks;
        QB__TRY(qb__comm_bcast(comm, QB_OK, (int)i, air + v, (end - v) * sizeof *air));
    }
    for (size_t v = 0; v < info->views; v++) {
        low = fminf(low, air[v]);
        high = fmaxf(high, air[v]);
    }
    if (high > 0 && info->flats && (low < 0.8f || high > 1.25f))
        qb__warn(
            pass->env,
            "%s: the air region (%s) is %.4g to %.4g times as bright as the flats: does the object cover it?" QB__CODE(
                "air-level"),
            info->path, pass->note, (double)low, (double)high);
    qb__info(pass->env, "open beam at %s: %g to %g over the views", pass->note, (double)low, (double)high);
out:
    close_band(&b);
    qb__free(picked);
    return status;
}

const qb__step qb__step_air = {
    .name = "air", .scope = QB__SCOPE_SCAN, .wanted = wanted, .check = check, .seconds = seconds, .measure = measure};
