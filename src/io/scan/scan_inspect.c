/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/rows/lines.h"
#include "io/scan/drift.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

/* Statistics of a few views. In most scans, the edges on the left and right are open beam. */
typedef struct tally {
    size_t pixels, saturated, zero, odd;
    size_t odd_view, odd_at;  /* position of the first odd pixel */
    double least[2], most[2]; /* smallest and largest beam at the left and right edge */
    double error[2];          /* largest standard error of the beam at each edge */
} tally;

/* The mean of an edge, relative to the flat there, and the standard error from its pixels. */
static double edge_beam(const qb_scan *scan, size_t number, const float *view, bool right, double *error) {
    const qb_scan_info *info = &scan->info;
    size_t width = info->columns / 32 + 1, first = right ? info->columns - width : 0;
    double beam = 0.0, flat = 0.0, squares = 0.0, both = 0.0, flats = 0.0;
    for (size_t r = 0; r < info->rows; r++) {
        for (size_t c = first; c < first + width; c++) {
            size_t i = r * info->columns + c;
            double dark = scan->dark ? scan->dark[i] : 0.0;
            if (!isfinite(view[i])) continue;
            float change = 1;
            if (scan->flat && scan->drift) qb__drift_changes(scan->drift, number, i, 1, &change);
            const double counts = view[i] - dark,
                         open = scan->flat ? ((double)scan->flat[i] - dark) * (double)change : 1.0;
            beam += counts, flat += open;
            squares += counts * counts, both += counts * open, flats += open * open;
        }
    }
    if (!(flat > 0.0)) return *error = 0.0;
    const double level = beam / flat;
    /* rms of counts - level * open */
    *error = sqrt(fmax(0.0, squares - 2 * level * both + level * level * flats)) / flat;
    return level;
}

/* True for a value that no beam can produce. */
static bool is_odd(const qb_scan *scan, float value, size_t at) {
    const double size = fabs((double)value);
    if (!isfinite(value)) return true;
    if (scan->info.quantity == QB_LINE_INTEGRAL)
        return size > (double)(scan->most_integral > 0 ? scan->most_integral : QB__MOST_INTEGRAL);
    if (scan->info.quantity == QB_TRANSMISSION) return size > 1000;
    const double dark = scan->dark ? (double)scan->dark[at] : 0, beam = scan->flat ? (double)scan->flat[at] - dark : 0;
    return beam > 0 && fabs((double)value - dark) > 1000 * beam;
}

static void add_view(const qb_scan *scan, size_t number, const float *view, tally *t) {
    const qb_scan_info *info = &scan->info;
    const size_t n = info->rows * info->columns;
    const double limit = qb__dtype_most(info->dtype);
    for (size_t i = 0; i < n; i++) {
        if (scan->unmeasured && scan->unmeasured[i]) continue;
        if (is_odd(scan, view[i], i)) {
            if (t->odd++ == 0) t->odd_view = number, t->odd_at = i;
            continue;
        }
        t->zero += view[i] == 0.0f;
        t->saturated += view[i] >= limit;
    }
    t->pixels += n;
    for (int right = 0; right < 2; right++) {
        double error, beam = edge_beam(scan, number, view, right, &error);
        t->error[right] = fmax(t->error[right], error);
        t->least[right] = fmin(t->least[right], beam);
        t->most[right] = fmax(t->most[right], beam);
    }
}

static void report_beam(qb_scan *scan, const tally *t) {
    for (int right = 0; right < 2; right++) {
        const char *edge = right ? "right" : "left";
        const double ERRORS = 6; /* the difference between the largest and the smallest of eight is rarely larger */
        double least = t->least[right], most = t->most[right], noise = ERRORS * t->error[right];
        if (least > 0.0 && most > 1.02 * least + noise)
            qb__note(&scan->parts.notes,
                     "the beam at the %s edge drifts between %.4g and %.4g: if that is air, give --air" QB__CODE(
                         "beam-drift"),
                     edge, least, most);
        else if (scan->flat && least > 0.0 && (most < 0.95 - noise || least > 1.05 + noise))
            qb__note(
                &scan->parts.notes,
                "the beam at the %s edge is %.4g of the flat field: if that is air, give --air" QB__CODE("beam-level"),
                edge, 0.5 * (least + most));
    }
}

static void report(qb_scan *scan, const tally *t, size_t views) {
    qb__notes *notes = &scan->parts.notes;
    bool counts = scan->info.quantity == QB_COUNTS;
    if (t->odd)
        qb__note_of(notes, QB_PROBLEM_PIXELS,
                    "%zu of %zu pixels looked at are NaN, infinite or beyond what a beam makes, the first in view %zu, "
                    "row %zu, column %zu" QB__CODE("not-finite"),
                    t->odd, t->pixels, qb__scan_stored(scan, t->odd_view), t->odd_at / scan->info.columns,
                    t->odd_at % scan->info.columns);
    if (t->saturated)
        qb__note_of(notes, QB_PROBLEM_PIXELS, "%zu of %zu pixels looked at are saturated at %.0f" QB__CODE("saturated"),
                    t->saturated, t->pixels, qb__dtype_most(scan->info.dtype));
    if (counts && t->zero)
        qb__note_of(notes, QB_PROBLEM_PIXELS, "%zu of %zu pixels looked at are 0: dead?" QB__CODE("zero-pixels"),
                    t->zero, t->pixels);
    if (counts && views > 1) report_beam(scan, t);
}

/* Check that --max-ram allows one view at a time. The means of flats and darks count too: opening the scan needed their
 * sums in double. */
static qb_status check_memory(const qb_scan *scan, const qb_env *env) {
    const qb_scan_info *info = &scan->info;
    double pixels = (double)info->rows * (double)info->columns, size = (double)qb_dtype_size(info->dtype);
    double view = (double)qb__resident_bytes() + pixels * (size + 4);
    double need = view + (double)info->cache_bytes + (info->flats || info->darks ? pixels * 8 : 0) + (1 << 20);
    if (!env || !env->max_ram || need <= (double)env->max_ram) return QB_OK;
    return qb__fail_ram(env, (double)env->max_ram, need, "to look at %s one view at a time needs", info->path);
}

qb_status qb_scan_inspect(qb_scan *scan, const qb_env *env) {
    QB__NEED(scan);
    QB__CALL();
    enum { LOOKS = 8 };
    const qb_scan_info *info = &scan->info;
    size_t n = info->rows * info->columns;
    size_t looks = info->views < LOOKS ? info->views : LOOKS;
    tally t = {.least = {INFINITY, INFINITY}};
    void *raw = NULL;
    float *view = NULL;
    qb_status status;
    QB__TRY(check_memory(scan, env));
    QB__TRY(qb__alloc(n, qb_dtype_size(info->dtype), &raw));
    QB__TRY(qb__alloc(n, sizeof *view, &view));
    for (size_t i = 0; i < looks + (scan->odd_views > 0); i++) {
        size_t v = i == looks ? scan->odd_view : looks > 1 ? i * (info->views - 1) / (looks - 1) : 0;
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb_scan_read(scan, v, v + 1, 0, info->rows, raw));
        qb_convert_to_float(raw, info->dtype, n, view);
        add_view(scan, v, view, &t);
    }
    report(scan, &t, looks);
    scan->info.problems = scan->parts.notes.count;
out:
    QB__FREE(raw, view);
    return status;
}
