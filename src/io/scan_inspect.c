/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan.h"
#include "quickbeam/io.h"

/* What a few views show. The edges, left and right, are open beam in most scans. */
typedef struct tally {
    size_t pixels, saturated, zero, odd;
    double top, fraction_at_top; /* largest value, and how much of a view sits there */
    double least[2], most[2];    /* beam at either edge */
} tally;

static double top_of(qb_dtype dtype) {
    const double tops[] = {[QB_U8] = 255,       [QB_I8] = 127,         [QB_U16] = 65535,
                           [QB_I16] = 32767,    [QB_U32] = 4294967295, [QB_I32] = 2147483647,
                           [QB_F16] = INFINITY, [QB_F32] = INFINITY,   [QB_F64] = INFINITY};
    return tops[dtype];
}

/* The mean of an edge, relative to the flat there. */
static double edge_beam(const qb_scan *scan, const float *view, bool right) {
    const qb_scan_info *info = &scan->info;
    size_t width = info->columns / 32 + 1, first = right ? info->columns - width : 0;
    double beam = 0.0, flat = 0.0;
    for (size_t r = 0; r < info->rows; r++) {
        for (size_t c = first; c < first + width; c++) {
            size_t i = r * info->columns + c;
            double dark = scan->dark ? scan->dark[i] : 0.0;
            if (!isfinite(view[i])) continue;
            beam += view[i] - dark;
            flat += scan->flat ? scan->flat[i] - dark : 1.0;
        }
    }
    return flat > 0.0 ? beam / flat : 0.0;
}

static void add_view(const qb_scan *scan, const float *view, tally *t) {
    const qb_scan_info *info = &scan->info;
    size_t n = info->rows * info->columns, at_top = 0;
    double limit = top_of(info->dtype), top = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(view[i])) {
            t->odd++;
            continue;
        }
        t->zero += view[i] == 0.0f;
        t->saturated += view[i] >= limit;
        if (view[i] > top) {
            top = view[i];
            at_top = 0;
        }
        at_top += view[i] == top;
    }
    t->pixels += n;
    double fraction = (double)at_top / (double)n;
    if (n >= 1000 && fraction > t->fraction_at_top) {
        t->fraction_at_top = fraction;
        t->top = top;
    }
    for (int right = 0; right < 2; right++) {
        double beam = edge_beam(scan, view, right);
        t->least[right] = fmin(t->least[right], beam);
        t->most[right] = fmax(t->most[right], beam);
    }
}

static void report_beam(qb_scan *scan, const tally *t) {
    for (int right = 0; right < 2; right++) {
        const char *edge = right ? "right" : "left";
        double least = t->least[right], most = t->most[right];
        if (least > 0.0 && most > 1.02 * least)
            qb__note(&scan->parts.notes,
                     "the beam at the %s edge drifts between %.4g and %.4g: if that is air, give --air" QB__CODE("beam-drift"),
                     edge, least, most);
        else if (scan->flat && least > 0.0 && (most < 0.95 || least > 1.05))
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
        qb__note_of(notes, QB_PROBLEM_PIXELS, "%zu of %zu pixels looked at are not finite" QB__CODE("not-finite"), t->odd,
                    t->pixels);
    if (t->saturated)
        qb__note_of(notes, QB_PROBLEM_PIXELS, "%zu of %zu pixels looked at are saturated at %.0f" QB__CODE("saturated"),
                    t->saturated, t->pixels, top_of(scan->info.dtype));
    else if (counts && t->fraction_at_top > 0.002)
        qb__note_of(notes, QB_PROBLEM_PIXELS,
                    "%.1f %% of a view are at its largest value %g: clipped?" QB__CODE("saturated"),
                    100.0 * t->fraction_at_top, t->top);
    if (counts && t->zero)
        qb__note_of(notes, QB_PROBLEM_PIXELS, "%zu of %zu pixels looked at are 0: dead?" QB__CODE("zero-pixels"), t->zero,
                    t->pixels);
    if (counts && views > 1) report_beam(scan, t);
}

/* A view at a time, and before that, on opening, means of fields as sums in double. */
static qb_status check_memory(const qb_scan *scan, const qb_env *env) {
    const qb_scan_info *info = &scan->info;
    double pixels = (double)info->rows * (double)info->columns,
           size = (double)qb_dtype_size(info->dtype);
    double view = (double)qb__resident_bytes() + pixels * (size + 4);
    double need = view + (double)info->cache_bytes + (info->flats || info->darks ? pixels * 8 : 0) +
                  (1 << 20);
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
    for (size_t i = 0; i < looks; i++) {
        size_t v = looks > 1 ? i * (info->views - 1) / (looks - 1) : 0;
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb_scan_read(scan, v, v + 1, 0, info->rows, raw));
        qb_convert_to_float(raw, info->dtype, n, view);
        add_view(scan, view, &t);
    }
    report(scan, &t, looks);
    scan->info.problems = scan->parts.notes.count;
out:
    qb__free(raw);
    qb__free(view);
    return status;
}
