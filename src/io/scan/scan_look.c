/* SPDX-License-Identifier: MIT */
/* The views of a scan are checked before any decision: those without beam, without numbers, with one value or saturated
 * are named and left out. A few rows of each view are read. If that would unpack too much (compressed chunks), only
 * every n-th view is checked, unless one of them is bad. */
#include "io/scan/scan.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "cpu/rows/lines.h"
#include "io/scan/frame_list.h"
#include "io/scan/frame_look.h"

enum {
    LINES = 4,
    LEAST = 3 /* views for a comparison */,
    SMALL = 4 << 20,
    UNPACKED = 64 << 20 /* bytes that the check may always unpack */,
    PART = 50 /* it may also unpack 1 / PART of the scan */
};

typedef enum fault {
    GOOD,
    LOST,
    FULL,
    CONSTANT,
    BLANK,
    OPEN,
    FAULTS,
    FADES = 0x80 /* a mark while all views are judged */
} fault;

typedef struct looking {
    qb_scan *scan;
    qb__frame_series series;
    qb__frame *frames;    /* [views] */
    unsigned char *fault; /* [views] */
    double *levels;       /* [views], scratch */
    bool *chosen;         /* [stored], scratch */
    double dark, beam;    /* the level without beam; the bright part of bright views above it */
    double spread;        /* spread of a usual view, between its dark and its bright part */
    qb__looked *found;
} looking;

/* ---- amount of reading ---- */

static qb_status read_rows(void *self, size_t first, size_t end, size_t row, void *out) {
    return qb_scan_read(self, first, end, row, row + 1, out);
}

size_t qb__scan_views_together(const qb_scan *scan) {
    return qb__larger(1, qb__ceil_div(scan->parts.data.source->chunk[scan->sinogram ? 1 : 0], scan->step));
}

/* Bytes to unpack for one row of every stride-th view. */
static double unpacked(const qb_scan *scan, size_t stride) {
    const qb__source *source = scan->parts.data.source;
    const size_t views = source->chunk[scan->sinogram ? 1 : 0], rows = source->chunk[scan->sinogram ? 0 : 1];
    const double row = (double)rows * (double)qb__source_row_bytes(source);
    return row * (stride == 1 ? (double)scan->info.views : (double)scan->info.views / (double)stride * (double)views);
}

static void choose_reading(const qb_scan *scan, qb__frame_series *series) {
    const qb_scan_info *info = &scan->info;
    const qb__source *source = scan->parts.data.source;
    const double all = (double)info->views * (double)info->rows * (double)qb__source_row_bytes(source);
    const double most = fmax(UNPACKED, all / PART);
    const bool packed = source->chunk[0] * source->chunk[1] * source->chunk[2] > 1;
    *series = (qb__frame_series){.self = (void *)scan,
                                 .read = read_rows,
                                 .dtype = info->dtype,
                                 .count = info->views,
                                 .rows = info->rows,
                                 .columns = info->columns,
                                 .stride = 1,
                                 .steps = true,
                                 .part = info->quantity == QB_LINE_INTEGRAL ? 0.2f : 0.02f,
                                 .ends = qb_dtype_is_float(info->dtype) || qb__counts_may_wrap(info->dtype)};
    series->lines = qb__smaller(info->rows, all <= SMALL ? 4 * LINES : packed ? 1 : LINES);
    while (packed && unpacked(scan, series->stride) > most && series->stride < info->views / LEAST) series->stride++;
}

/* ---- judging ---- */

static bool is_constant(const qb__frame *frame) {
    return frame->least == frame->most && frame->top == 0 && frame->lost == 0;
}

static double above(const looking *l, size_t view) { return (double)l->frames[view].bright - l->dark; }

/* The level below which a share of the views lies, for some number of each view. */
static double level_of(looking *l, double share, double (*of)(const looking *, size_t)) {
    size_t count = 0;
    for (size_t i = 0; i < l->series.count; i++)
        if (l->frames[i].looked && isfinite(of(l, i))) l->levels[count++] = of(l, i);
    if (!count) return 0;
    qb__sort(l->levels, count);
    return l->levels[(size_t)(share * (double)(count - 1))];
}

/* True if a view is as dark as without beam, with any content; or, if no darks give that level, if it is dim and
 * without structure. */
static bool is_dark(const looking *l, const qb__frame *frame) {
    const double bright = (double)frame->bright - l->dark, middle = (double)frame->median - l->dark;
    if (l->scan->info.quantity == QB_LINE_INTEGRAL || !(l->beam > 0)) return false;
    if (middle < 0.02 * l->beam && bright < 0.15 * l->beam) return true;
    return !l->scan->dark && bright < 0.5 * l->beam && (double)frame->bright - (double)frame->low < 0.03 * l->spread;
}

static double spread_of(const looking *l, size_t view) {
    return (double)l->frames[view].bright - (double)l->frames[view].low;
}

static fault fault_of(const looking *l, const qb__frame *frame, bool constants) {
    if (frame->lost >= 1) return LOST;
    if (l->scan->info.quantity == QB_COUNTS && frame->top > 0.9f) return FULL;
    if (isnan(frame->least)) return GOOD;
    if (constants && is_constant(frame)) return CONSTANT;
    return is_dark(l, frame) ? BLANK : GOOD;
}

/* The next view to that side that was checked and is good; the count if there is none. */
static size_t good_neighbours(const looking *l, size_t view, bool after) {
    size_t i = view;
    while (i < l->series.count && (l->fault[i] != GOOD || !l->frames[i].looked)) i = after ? i + 1 : i - 1;
    return i < l->series.count ? i : l->series.count;
}

/* True if the other view differs from this one. A view of air has one value, too: that of most pixels of the
 * neighbouring views. */
static bool differs(const looking *l, size_t view, size_t other) {
    const double value = (double)l->frames[view].median, usual = (double)l->frames[other].median;
    const bool lines = l->scan->info.quantity == QB_LINE_INTEGRAL;
    /* this view looks as without beam */
    if (!lines && value - l->dark < 0.02 * l->beam) return above(l, other) > 0.3 * l->beam;
    if (spread_of(l, other) < 0.1 * l->spread) return false; /* it is nearly constant, too */
    if (lines && value == 0 && l->spread > 0 && spread_of(l, other) > 0.5 * l->spread)
        return true; /* an object does not vanish suddenly */
    return fabs(value - usual) > 0.1 * (lines ? l->spread : l->beam);
}

/* True if a view differs suddenly from its neighbours, as when the beam goes. If the brightness changes slowly, an
 * object turns its long side into the beam. */
static bool stands_out(const looking *l, size_t view) {
    const size_t count = l->series.count;
    const size_t left = good_neighbours(l, view, false), right = good_neighbours(l, view, true);
    if (left == count && right == count) return false;
    for (int side = 0; side < 2; side++) {
        const size_t other = side ? right : left;
        if (other == count) continue;
        if (l->fault[view] == BLANK && above(l, other) < 0.3 * l->beam) return false;
        if (l->fault[view] == CONSTANT && !differs(l, view, other)) return false;
    }
    return true;
}

static void judge(looking *l) {
    size_t constant = 0, looked = 0;
    const size_t count = l->series.count;
    for (size_t i = 0; i < count; i++) {
        looked += l->frames[i].looked;
        constant += l->frames[i].looked && is_constant(&l->frames[i]);
    }
    const bool constants = 2 * constant < looked && l->series.lines * l->series.columns >= 16;
    l->spread = level_of(l, 0.5, spread_of);
    l->beam = level_of(l, 0.9, above);
    for (size_t i = 0; i < count; i++)
        l->fault[i] = l->frames[i].looked ? (unsigned char)fault_of(l, &l->frames[i], constants) : GOOD;
    for (size_t i = 0; i < count; i++)
        if (l->fault[i] >= CONSTANT && !stands_out(l, i)) l->fault[i] |= FADES;
    for (size_t i = 0; i < count; i++)
        if (l->fault[i] & FADES) l->fault[i] = GOOD;
}

/* Check more rows if the first few may never see any beam. */
static qb_status look_again(looking *l) {
    bool changed = false;
    for (size_t i = 0; i < l->series.count; i++) {
        if (l->fault[i] == GOOD) continue;
        QB__OR_RETURN(qb__frame_look_again(&l->series, i, &l->frames[i]));
        changed = true;
    }
    if (changed) judge(l);
    return QB_OK;
}

/* ---- the level without beam ---- */

static double field_level(const looking *l, const float *field) {
    const qb_scan_info *info = &l->scan->info;
    enum { MOST = 4096 };
    const size_t all = info->rows * info->columns, count = qb__smaller(all, MOST);
    float values[MOST];
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        const float value = field[(2 * i + 1) * all / (2 * count)];
        if (isfinite(value)) values[good++] = value;
    }
    if (!good) return 0;
    return (double)qb__float_at(values, good, good / 2);
}

/* Level below which numbers have no beam; 0: unknown. */
static float lit_level(const looking *l) {
    const double OF_BEAM = 0.01;
    const qb_scan *scan = l->scan;
    if (scan->info.quantity == QB_TRANSMISSION) return (float)OF_BEAM;
    if (scan->info.quantity != QB_COUNTS || !scan->flat) return 0;
    return (float)(l->dark + OF_BEAM * (field_level(l, scan->flat) - l->dark));
}

/* ---- results ---- */

static const struct {
    const char *what, *code;
} faults[FAULTS] = {
    [LOST] = {"hold only NaN", QB__CODE("views-not-numbers")},
    [FULL] = {"are saturated", QB__CODE("views-saturated")},
    [CONSTANT] = {"hold one value everywhere", QB__CODE("views-constant")},
    [BLANK] = {"have no beam", QB__CODE("views-blank")},
    [OPEN] = {"show open beam, and the others an object,", QB__CODE("views-open")},
};

static size_t choose(looking *l, fault which) {
    size_t count = 0;
    memset(l->chosen, 0, l->scan->stored * sizeof *l->chosen);
    for (size_t i = 0; i < l->series.count; i++) {
        if (l->fault[i] != which) continue;
        l->chosen[qb__scan_stored(l->scan, i)] = true;
        count++;
    }
    return count;
}

static void tell(looking *l, bool keep) {
    for (int which = GOOD + 1; which < FAULTS; which++) {
        qb__finding finding = {
            .code = faults[which].code, .what = "views", .of = l->series.count, .done = keep ? "kept" : "left out"};
        finding.count = choose(l, (fault)which);
        if (!finding.count) continue;
        qb__frame_list_words(l->chosen, l->scan->stored, finding.which, sizeof finding.which);
        qb__scan_find(l->scan, &finding, QB_PROBLEM_FRAMES, "views %s (%zu of %zu) %s and are %s%s", finding.which,
                      finding.count, finding.of, faults[which].what,
                      keep ? "kept, by --keep-all-views" : "left out; --keep-all-views keeps them", finding.code);
    }
}

/* Report counts above the middle of their type's range that a program stored as signed. */
static void tell_wrapped(const looking *l) {
    qb_scan *scan = l->scan;
    float least;
    if (scan->info.quantity != QB_COUNTS || *scan->refused) return;
    if (scan->dark && qb__counts_shifted(scan->info.dtype, l->dark)) return;
    const qb__wrapped wrapped = qb__counts_wrapped(l->frames, l->series.count, scan->info.dtype, &least);
    if (wrapped == QB__WRAPPED_MANY)
        qb__scan_refuse_wrapped(scan, "counts", scan->info.dtype, least);
    else if (wrapped == QB__WRAPPED_SOME)
        qb__scan_note_wrapped(scan, "counts", scan->info.dtype, least);
}

static double size_of(const looking *l, size_t view) {
    return (double)fmaxf(-l->frames[view].low_end, l->frames[view].high_end);
}

/* Largest plausible line integral. -ln of a float is at most 88. In other units, a value is an outlier if it is many
 * times as large as the value that nearly all views reach. */
static float most_integral(looking *l) {
    const double LOGARITHM = 100, TIMES = 100, usual = level_of(l, 0.9, size_of);
    l->found->usual_integral = (float)usual;
    return usual > 0 ? (float)fmin(fmax(LOGARITHM, TIMES * usual), (double)QB__MOST_INTEGRAL) : QB__MOST_INTEGRAL;
}

/* Level above which numbers are no measurements. */
static double most_number(looking *l) {
    const double TRANSMISSION = 1000;
    qb_scan *scan = l->scan;
    if (scan->info.quantity == QB_LINE_INTEGRAL) return (double)(l->found->most_integral = most_integral(l));
    if (scan->info.quantity == QB_TRANSMISSION) return TRANSMISSION;
    return scan->flat ? TRANSMISSION * (field_level(l, scan->flat) - l->dark) : INFINITY;
}

/* The first good view with such numbers, in the scan's counting. */
static void find_odd_view(looking *l, bool keep) {
    const double most = most_number(l);
    for (size_t i = 0, view = 0; i < l->series.count; i++) {
        if (!keep && l->fault[i] != GOOD) continue;
        if (l->frames[i].looked && size_of(l, i) > most && l->found->odd_views++ == 0) l->found->odd_view = view;
        view++;
    }
}

static size_t bad_views(const looking *l) {
    size_t bad = 0;
    for (size_t i = 0; i < l->series.count; i++) bad += l->fault[i] != GOOD;
    return bad;
}

static qb_status drop(looking *l) {
    qb_status status = QB_OK;
    if (bad_views(l) == 0) return QB_OK;
    bool *keep;
    status = qb__alloc(l->series.count, sizeof *keep, &keep);
    for (size_t i = 0; status == QB_OK && i < l->series.count; i++) keep[i] = l->fault[i] == GOOD;
    if (status == QB_OK) status = qb__scan_keep(l->scan, keep);
    qb__free(keep);
    return status;
}

/* Refuse the scan, because no view is left; the reason is that of most views. */
static void refuse(looking *l) {
    size_t most = 0, count = 0;
    fault reason = LOST;
    for (int which = GOOD + 1; which < FAULTS; which++) {
        count = choose(l, (fault)which);
        if (count > most) most = count, reason = (fault)which;
    }
    qb__scan_refuse(l->scan, "none of its %zu views can be used: %zu of them %s", l->series.count, most,
                    faults[reason].what);
}

/* True if every view is as dark as the darks: there is no signal. */
static bool nothing_there(const looking *l) {
    if (l->scan->info.quantity != QB_COUNTS || !l->scan->dark || !l->scan->flat) return false;
    const double flat = field_level(l, l->scan->flat) - l->dark;
    return flat > 0 && fabs(l->beam) < 1e-3 * flat;
}

/* Report line integrals with one value in all views: 0 where nothing was written; no object has another constant
 * value. */
static void tell_all_constant(const looking *l) {
    const float value = l->frames[0].least;
    for (size_t i = 0; i < l->series.count; i++)
        if (l->frames[i].looked && (!is_constant(&l->frames[i]) || l->frames[i].least != value)) return;
    if (l->scan->info.quantity == QB_LINE_INTEGRAL && l->series.count > 1 && l->series.columns >= 16)
        qb__note_of(&l->scan->parts.notes, QB_PROBLEM_FRAMES,
                    "all %zu views hold one value, %.6g: no object is seen in them" QB__CODE("views-constant"),
                    l->series.count, (double)value);
}

/* Find flats among the views, after the other faults are known. */
static qb_status find_open(looking *l) {
    bool *open;
    QB__OR_RETURN(qb__alloc(l->series.count, sizeof *open, &open));
    const qb_status status = qb__scan_find_open(l->scan, l->frames, l->series.count, l->series.zero, open);
    for (size_t i = 0; i < l->series.count; i++)
        if (open[i] && l->fault[i] == GOOD) l->fault[i] = OPEN;
    qb__free(open);
    return status;
}

static qb_status look(looking *l, bool keep, const qb_env *env) {
    if (l->scan->dark && l->scan->info.quantity == QB_COUNTS) l->dark = field_level(l, l->scan->dark);
    l->series.zero = (float)l->dark;
    l->series.lit = lit_level(l);
    QB__OR_RETURN(qb__frames_look(&l->series, env, l->frames));
    judge(l);
    if (bad_views(l) && l->series.stride > 1) {
        l->series.stride = 1;
        QB__OR_RETURN(qb__frames_look(&l->series, env, l->frames));
        judge(l);
    }
    QB__OR_RETURN(look_again(l));
    if (nothing_there(l)) {
        for (size_t i = 0; i < l->series.count; i++)
            if (l->fault[i] == GOOD) l->fault[i] = BLANK;
    }
    if (bad_views(l) < l->series.count) QB__OR_RETURN(find_open(l));
    l->scan->info.looked_views = qb__ceil_div(l->series.count, l->series.stride);
    if (bad_views(l) == l->series.count) {
        refuse(l);
        return QB_OK;
    }
    for (size_t i = 0; i < l->series.count; i++) {
        if ((!keep && l->fault[i] != GOOD) || !((double)l->frames[i].top > l->found->worst)) continue;
        l->found->worst = (double)l->frames[i].top;
        l->found->worst_view = qb__scan_stored(l->scan, i);
    }
    find_odd_view(l, keep);
    if (l->series.stride == 1) {
        QB__OR_RETURN(qb__scan_find_gains(l->scan, l->frames, l->fault, l->series.count));
        QB__OR_RETURN(qb__scan_find_repeats(l->scan, l->frames, l->fault, l->series.count));
    }
    tell(l, keep);
    QB__OR_RETURN(qb__scan_find_covered(l->scan, l->frames, l->fault, l->series.count));
    tell_all_constant(l);
    tell_wrapped(l);
    if (!keep) return drop(l);
    return QB_OK;
}

qb_status qb__scan_look(qb_scan *scan, bool keep, const qb_env *env, qb__looked *found) {
    const qb__source *source = scan->parts.data.source;
    looking l = {.scan = scan, .found = found};
    const size_t views = scan->info.views;
    qb_status status;
    scan->info.looked_views = views;
    if (source->computes || views == 0) return QB_OK; /* computed views have no faults */
    choose_reading(scan, &l.series);
    QB__TRY(qb__alloc(views, sizeof *l.frames, &l.frames));
    QB__TRY(qb__alloc(views, 1, &l.fault));
    QB__TRY(qb__alloc(views, sizeof *l.levels, &l.levels));
    QB__TRY(qb__alloc(scan->stored, sizeof *l.chosen, &l.chosen));
    status = look(&l, keep, env);
    if (status == QB_OK && scan->info.looked_views < scan->info.views)
        qb__info(env, "%s: %zu of %zu views were looked at for faults of single views", scan->path,
                 scan->info.looked_views, scan->info.views);
out:
    QB__FREE(l.frames, l.fault, l.levels, l.chosen);
    return status;
}
