/* SPDX-License-Identifier: MIT */
/* Checks that a scan's numbers have the stated quantity, from a few rows of a few views. What cannot be right is
 * refused before computing; what may be wrong is warned of. */
#include "prep/levels_said.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "prep/dense.h"
#include "prep/row_shift.h"

bool qb__levels_warn_gains(const qb_scan *scan, const qb_prep_options *options, const qb_env *env) {
    const bool mended = scan->info.quantity != QB_LINE_INTEGRAL && (options->air || scan->info.intensity);
    if (!*scan->gains || mended) return false;
    qb__warn(env, "%s" QB__CODE("view-gains"), scan->gains);
    return true;
}

/* Refuse values that a measurement does not give: bytes are wrongly decoded, or the quantity is another one. */
static qb_status check_beyond(const qb_scan_info *info, const qb__levels_found *f, double most) {
    const bool lines = info->quantity == QB_LINE_INTEGRAL;
    const char *check = info->quantity == QB_COUNTS && info->flats
                            ? "the flats are of another scale, or check --quantity,"
                        : info->quantity == QB_TRANSMISSION ? "counts need --quantity counts; else check"
                                                            : "check --quantity,";
    if (!(f->beyond > (lines ? 0.02 : qb_dtype_is_float(info->dtype) ? 0.1 : 0.5))) return QB_OK;
    return qb__fail(
        QB_BAD_INPUT,
        "%s: %.0f %% of the values looked at cannot be %s (beyond %.4g), the first in view %u, row %u: %s the data "
        "type and the byte order",
        info->path, 100 * f->beyond, lines ? "line integrals" : "transmissions", lines ? most : 1000, f->odd_view,
        f->odd_row, check);
}

/* True if the air of floats is at 100. Whole numbers are counts. */
static bool is_percent(double air, const qb_scan_info *info) {
    return qb_dtype_is_float(info->dtype) && info->quantity != QB_COUNTS && fabs(air - 100) < 2;
}

/* Refuse an assumed quantity; warn of a stated one. */
static qb_status doubt(const qb_scan_info *info, const char *like, const char *remedy, const qb_env *env) {
    if (strncmp(info->quantity_from, "assumed", 7) == 0)
        return qb__fail(QB_BAD_INPUT,
                        "%s: its values look like %s, not %s (%s): give %s, or --quantity %s if that is right",
                        info->path, like, qb_quantity_name(info->quantity), info->quantity_from, remedy,
                        qb_quantity_name(info->quantity));
    qb__warn(env, "the values look like %s, not %s (%s): check --quantity" QB__CODE("other-quantity"), like,
             qb_quantity_name(info->quantity), info->quantity_from);
    return QB_OK;
}

static void warn_bright(const qb_scan_info *info, const qb__levels_found *f, const qb_env *env) {
    if (!(f->bright > 0.25)) return;
    if (f->air)
        qb__warn(env,
                 "air is %.3g times as bright as the open beam: the flats are too dark for this scan; give --air auto, "
                 "--air 99.9%% or other flats" QB__CODE("bright-air"),
                 f->level);
    else
        qb__warn(env,
                 "%.0f %% of the rows are brighter than open beam, %.3g times: check the sign, the flats and "
                 "--quantity (%s)" QB__CODE("bright-object"),
                 100 * f->bright, f->level, qb_quantity_name(info->quantity));
}

static void warn_negative(const qb_scan_info *info, const qb__levels_found *f, const qb_env *env) {
    if (f->negative > 0 && !(f->bright > 0.25))
        qb__warn(env,
                 "%.3g %% of the line integrals looked at are negative, their mean is %.3g: no object does that; check "
                 "%s" QB__CODE("negative-lines"),
                 100 * f->negative, f->mean,
                 info->quantity == QB_LINE_INTEGRAL ? "the sign, or --quantity" : "--flats and --air");
}

static void warn_spikes(const qb_scan_info *info, const qb__levels_found *f, const qb_env *env) {
    if (f->spikes == 0) return;
    qb__warn(env,
             "%zu of %zu rows looked at hold bright pixels that stand alone (zingers), %.2g per million pixels, the "
             "first in "
             "view %u, row %u, column %u%s" QB__CODE("zingers"),
             f->spiked, f->lines, 1e6 * (double)f->spikes / ((double)f->lines * (double)info->columns), f->view, f->row,
             f->column, info->quantity == QB_LINE_INTEGRAL ? "" : ": give --zingers 8");
}

static void warn_hot(const qb__levels_found *f, const qb_env *env) {
    if (f->hot > 0)
        qb__warn(
            env,
            "%zu pixels of the rows looked at are brighter than their neighbours in most views, the first in row %u, "
            "column %u: they leave rings; give --rings all" QB__CODE("hot-pixels"),
            f->hot, f->hot_row, f->hot_column);
}

/* Warn of values far below the dark: nothing is darker than without beam, unless the dark was subtracted before. */
static void warn_below(const qb__levels_found *f, const qb_env *env) {
    const double PART = 0.002;
    if (f->below > PART)
        qb__warn(env,
                 "%.2g %% of the counts looked at are far below their darks, as if these had been subtracted already: "
                 "give --darks none" QB__CODE("darks-twice"),
                 100 * f->below);
}

/* Warn of clipped counts: many counts have one value although noise would spread them. Only counts at the type's
 * maximum count as saturated. */
static void warn_clipped(const qb__levels_found *f, const qb_env *env) {
    if (f->clipped > 0)
        qb__warn(env,
                 "%.2g %% of the counts looked at are at their largest value %.8g: clipped there, air and thin parts "
                 "come out wrong; use a shorter exposure" QB__CODE("saturated"),
                 100 * f->clipped, f->clip);
}

/* Warn if views are sinograms. A row has the same mass in all views. If instead all rows of a view have the same mass,
 * and views differ, each view is the sinogram of one row. */
static void warn_sinograms(const qb__lines_look *lines, const qb_env *env) {
    const double EQUAL = 0.03, DIFFERENT = 0.4;
    enum { LEAST_ROWS = 4, LEAST_VIEWS = 12 };
    double sum = 0, squares = 0, within = 0, views = 0;
    for (size_t v = 0; v < QB__SAMPLE_VIEWS; v++) {
        double rows = 0, all = 0, square = 0;
        bool whole = true;
        for (size_t g = 0; g < QB__SAMPLE_GROUPS; g++) {
            const qb__line_mass *m = &lines->mass[g * QB__SAMPLE_VIEWS + v];
            if (!m->looked) continue;
            whole &= m->whole;
            rows++, all += m->mass, square += m->mass * m->mass;
        }
        if (!whole || rows < LEAST_ROWS) continue;
        const double mean = all / rows;
        views++, sum += mean, squares += mean * mean;
        within = fmax(within, sqrt(fmax(square / rows - mean * mean, 0)) / mean);
    }
    const double mean = sum / views;
    if (views < LEAST_VIEWS || within > EQUAL || sqrt(fmax(squares / views - mean * mean, 0)) < DIFFERENT * mean)
        return;
    qb__warn(env,
             "all rows of a view hold the same mass, and views differ: these are sinograms; give --as sinogram, or "
             "leave it out where it is given" QB__CODE("axes-order"));
}

/* Warn of pictures of line integrals, or of inverted transmissions, in 256 or 65,536 levels. */
static void warn_grey(const qb__levels_found *f, const qb_env *env) {
    if (f->grey > 0)
        qb__warn(env,
                 "the line integrals are whole numbers up to %.8g: grey values of pictures; scale them back to "
                 "-ln of the "
                 "transmission, or check --quantity" QB__CODE("other-quantity"),
                 f->grey);
}

qb_status qb__levels_judge(const qb_scan_info *info, const qb__lines_look *lines, const qb__levels_asked *asked,
                           double *top, const qb_env *env) {
    const double OPAQUE = 15, NOT_A_BEAM = 10;
    double end[QB__SAMPLE_LINES][2];
    qb__levels_found f;
    for (size_t i = 0; i < QB__SAMPLE_LINES; i++)
        for (int side = 0; side < 2; side++) end[i][side] = lines->end[i].looked ? lines->end[i].end[side] : NAN;
    qb__line_levels_judge(lines->levels, (const double(*)[2])end, QB__SAMPLE_GROUPS, QB__SAMPLE_VIEWS, info->quantity,
                          &f);
    *top = f.top;
    qb_status status = check_beyond(info, &f, lines->most);
    if (status == QB_OK && is_percent(f.bright > 0.8 ? f.level : f.counts_end, info))
        return qb__fail(QB_BAD_INPUT,
                        "%s: air is near 100: its values look like transmissions in percent: divide them by 100",
                        info->path);
    if (status == QB_OK && f.bright > 0.8 && f.level > NOT_A_BEAM && info->quantity == QB_TRANSMISSION)
        return qb__fail(
            QB_BAD_INPUT,
            "%s: transmissions of %.4g: its values look like counts: give --quantity counts, with --flats or --air",
            info->path, f.level);
    if (status == QB_OK && f.below > 0.5 && f.brightest < 2 && qb_dtype_is_float(info->dtype))
        return doubt(info, "transmissions", "--quantity transmission", env);
    if (status == QB_OK && f.lines_called) return doubt(info, "line integrals", "--quantity line_integral", env);
    if (status == QB_OK && f.counts > 0)
        status = doubt(info, "counts", "--quantity counts with --flats or --air", env);
    else if (status == QB_OK && f.transmissions)
        status = doubt(info, "transmissions", "--quantity transmission", env);
    if (status != QB_OK) return status;
    if (!asked->gains) warn_bright(info, &f, env);
    if (!asked->negative) warn_negative(info, &f, env);
    if (lines->transposed && !asked->order)
        qb__warn(env, "sums over columns are equal and sums over views are not: views and columns look exchanged; give "
                      "--transpose columns,rows,views, or --as sinogram of [row][view][column]" QB__CODE("axes-order"));
    if (!asked->order) warn_sinograms(lines, env);
    if (!asked->zingers) warn_spikes(info, &f, env);
    warn_hot(&f, env);
    warn_grey(&f, env);
    warn_below(&f, env);
    warn_clipped(&f, env);
    if (asked->opaque && f.top > OPAQUE)
        qb__warn(env,
                 "line integrals reach %.3g, where --weights %s leaves next to no weight: scale them to -ln of "
                 "transmission, or give --weights unweighted" QB__CODE("opaque-rays"),
                 f.top, asked->opaque);
    return QB_OK;
}

qb_status qb__levels_look(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t row1, qb__lines_look *lines) {
    enum { ROOM = 4 << 20 };
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t view =
        /* the scan's own memory is counted elsewhere */
        info->rows * info->columns * (qb_dtype_size(info->dtype) + sizeof(float));
    const qb__row_sample where = {.row0 = row0,
                                  .row1 = row1,
                                  .step = 1,
                                  .held1 = info->rows,
                                  .view1 = info->views,
                                  .room = qb__smaller(ROOM, view)};
    return qb__line_ends_look(scan, prepare, &where, lines);
}

qb_status qb__levels_tell(qb_scan *scan, const qb__prepare *prepare, const qb_prep_options *options, size_t row0,
                          size_t row1, const qb_env *env) {
    enum { ROOM = 32 << 20 };
    const qb__row_beam beam = scan->info.beam == QB_BEAM_CONE ? QB__ROW_OTHER : QB__ROW_PARALLEL;
    qb__row_shift shift = {0};
    qb__lines_look *lines;
    double top;
    if (qb__scan_on_device(scan)) return QB_OK;
    qb_status status = qb__alloc(1, sizeof *lines, &lines);
    if (status == QB_OK && prepare) status = qb__row_shift_find(scan, prepare, row0, row1, beam, ROOM, &shift);
    if (status != QB_OK) {
        qb__free(lines);
        return status;
    }
    qb__row_shift_warn(&shift, env);
    const qb__levels_asked asked = {
        .zingers = options->zingers > 0, .order = *shift.order, .gains = qb__levels_warn_gains(scan, options, env)};
    status = qb__levels_look(scan, prepare, row0, row1, lines);
    if (status == QB_OK) status = qb__levels_judge(qb_scan_describe(scan), lines, &asked, &top, env);
    if (status == QB_OK) qb__levels_warn_hardening(options, lines, env);
    qb__free(lines);
    return status;
}

void qb__levels_warn_hardening(const qb_prep_options *options, const qb__lines_look *lines, const qb_env *env) {
    const double NEAR = 0.95, FALLS = 0.95;
    qb__hardening_curve *curve = NULL;
    if (qb__curve_create(options->hardening, &curve) != QB_OK || !curve) return;
    const double p = qb__curve_turns(curve), top = qb__curve_at(curve, p), growth = qb__curve_growth(curve);
    double high = 0;
    qb__curve_destroy(curve);
    if (growth < FALLS)
        qb__warn(
            env,
            "the table of --hardening lowers large line integrals to %.2g of small ones, but a hardened beam needs "
            "more: are its columns measured, true?" QB__CODE("hardening-lowers"),
            growth);
    if (!isfinite(p)) return;
    for (size_t i = 0; i < QB__SAMPLE_LINES; i++)
        if (lines->end[i].looked) high = fmax(high, lines->end[i].top);
    if (high < NEAR * top) return;
    qb__warn(env,
             "line integrals reach p = %.3g, where the curve of --hardening begins to fall: larger ones come out too "
             "small" QB__CODE("hardening-turns"),
             p);
}
