/* SPDX-License-Identifier: MIT */
/* The rotation axis of a scan: choose rows, prepare them, ask the finders, combine. */
#include "center/center.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/sort.h"
#include "base/status.h"
#include "center/center_level.h"
#include "geometry/half_fan.h"
#include "prep/prepare.h"
#include "quickbeam/geometry.h"

#define ROW(name, meta, initial, help)                                                             \
    { #name, QB_PARAM_TEXT, offsetof(qb_center_options, name), meta, initial, NULL, 0, 0, help, 0 }

const qb_param qb_center_params[] = {
    ROW(method, "auto|" QB__CENTER_FINDERS("|"), "auto",
        "how to look: views half a turn apart, by their edges or, of full turns, by the values "
        "where "
        "they overlap; sharpness of trial slices; centre of mass; or all"),
    ROW(search, "A:B", NULL,
        "columns between which the axis is looked for; default: the whole width"),
    ROW(rows, "A:B[:S]", NULL, "detector rows to look at; default: five, spread"),
    {"tilt", QB_PARAM_DOUBLE, offsetof(qb_center_options, tilt), "DEGREES", NULL, NULL, -45, 45,
     "by how much the detector is known to be turned in its plane: the axis is looked for between its rows", 0},
    QB_PARAMS_END(qb_center_options, tilt),
};

enum { DEFAULT_ROWS = 5, MAX_ROWS = 64 };
static const double DEGREES = 57.295779513082321;

enum { REGISTRATION, OVERLAP, SHARPNESS, MASS, FINDERS };
#define COMMA ,
static const char *const finders[FINDERS] = {QB__CENTER_FINDERS(COMMA)};

typedef struct choice {
    bool ask[FINDERS], all, anywhere; /* anywhere: no --search */
    double low, high;
    size_t row[MAX_ROWS], rows;
} choice;

bool qb__center_names_method(const char *text) {
    bool known = strcmp(text, "auto") == 0;
    for (int i = 0; i < FINDERS; i++) known = known || strcmp(text, finders[i]) == 0;
    return known;
}

static qb_status choose_method(const char *text, choice *c) {
    c->all = !text || strcmp(text, "auto") == 0;
    for (int i = 0; i < FINDERS; i++) c->ask[i] = c->all || strcmp(text, finders[i]) == 0;
    if (c->all || qb__center_names_method(text)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--method %s is none of auto, " QB__CENTER_FINDERS(", "),
                    text);
}

static qb_status choose_search(const char *text, size_t columns, choice *c) {
    double last = (double)columns - 1;
    c->anywhere = !text;
    c->low = 0;
    c->high = last;
    if (!text) return QB_OK;
    double given[2] = {NAN, NAN};
    const char *end;
    int count = qb__read_numbers(text, ':', 2, given, &end);
    c->low = given[0];
    c->high = given[1];
    if (count != 2 || *end || !(c->low >= 0 && c->low < c->high && c->high <= last))
        return qb__fail(QB_BAD_ARGUMENT, "--search %s: give A:B with 0 <= A < B <= %g", text, last);
    return QB_OK;
}

static qb_status choose_rows(const char *text, const qb_scan_info *info, choice *c) {
    if (!text) {
        c->rows = info->rows < DEFAULT_ROWS ? info->rows : DEFAULT_ROWS;
        for (size_t i = 0; i < c->rows; i++) c->row[i] = (2 * i + 1) * info->rows / (2 * c->rows);
        return QB_OK;
    }
    size_t first, end, step;
    qb_status status = qb_range_parse(text, "--rows", info->rows, &first, &end, &step);
    if (status != QB_OK) return status;
    size_t all = (end - first + step - 1) / step, take = all < MAX_ROWS ? all : MAX_ROWS;
    if (all == 0) return qb__fail(QB_BAD_ARGUMENT, "--rows %s is empty", text);
    for (size_t i = 0; i < take; i++) c->row[i] = first + i * all / take * step;
    c->rows = take;
    return QB_OK;
}

/* What is held at most, in rows' worth of line integrals: the rows, five more while registering,
 * and the packed trial slices, which are small beside wide rows only. */
static double rows_held(size_t rows, const qb_scan_info *info) {
    return (double)rows * (info->columns <= 1024 ? 2.5 : 1.5) + 5;
}

/* Rows are dropped, evenly, until all fits into half of what the process may take. */
static void fit_memory(choice *c, const qb_scan_info *info, const qb_env *env) {
    double row = (double)info->views * (double)info->columns * sizeof(float);
    double room = env && env->max_ram ? (double)env->max_ram - (double)qb__resident_bytes()
                                      : 0.75 * (double)qb__available_bytes();
    size_t keep = c->rows;
    while (keep > 1 && rows_held(keep, info) * row > 0.5 * room) keep--;
    for (size_t i = 0; i < keep; i++) c->row[i] = c->row[(2 * i + 1) * c->rows / (2 * keep)];
    c->rows = keep;
}

/* The range of all but the outermost hundredths, from a few thousand samples. */
static double contrast(const float *sinogram, size_t count) {
    enum { SAMPLES = 4096 };
    float sample[SAMPLES];
    size_t n = count < SAMPLES ? count : SAMPLES;
    for (size_t i = 0; i < n; i++) sample[i] = sinogram[i * (count / n)];
    qb__sort_floats(sample, n);
    return (double)sample[n - 1 - n / 100] - (double)sample[n / 100];
}

/* Rows of next to nothing beside others only bring noise: drop them, keeping the order. */
static void drop_empty_rows(float *sinograms, size_t size, choice *c) {
    double each[MAX_ROWS], most = 0;
    for (size_t r = 0; r < c->rows; r++) {
        each[r] = contrast(sinograms + r * size, size);
        most = fmax(most, each[r]);
    }
    size_t kept = 0;
    for (size_t r = 0; r < c->rows; r++) {
        if (each[r] < 0.1 * most) continue;
        if (kept < r) memcpy(sinograms + kept * size, sinograms + r * size, size * sizeof(float));
        c->row[kept++] = c->row[r];
    }
    if (kept) c->rows = kept;
}

static qb_status load(qb_scan *scan, const qb_prep_options *prep, const qb_env *env, qb__pool *pool,
                      const qb__level *level, choice *c, float *sinograms) {
    const qb_scan_info *info = qb_scan_describe(scan);
    size_t size = info->views * info->columns, row0 = c->row[0], row1 = c->row[c->rows - 1] + 1;
    qb__prepare *prepare;
    qb__leveler *leveler = NULL;
    qb__prep_counts counts = {0};
    if (level->maps) qb__level_rows(level, row0, row1, QB__RESAMPLE_MARGIN, &row0, &row1);
    qb_status status = qb__prepare_create(scan, prep, row0, row1, 1, env, &prepare);
    if (status != QB_OK) return status;
    if (level->maps) QB__TRY(qb__leveler_create(scan, prepare, level, pool, &leveler));
    for (size_t r = 0; r < c->rows; r++) {
        QB__TRY(qb__check_cancel(env));
        qb__progress(env, "reading rows", r, c->rows);
        QB__TRY(leveler ? qb__leveler_row(leveler, c->row[r], sinograms + r * size)
                        : qb__prepare_rows(prepare, scan, c->row[r], c->row[r] + 1, pool,
                                           sinograms + r * size, &counts));
    }
    qb__progress(env, "reading rows", c->rows, c->rows);
    QB__TRY(qb__center_clean(sinograms, c->rows, info->views, info->columns, pool));
    drop_empty_rows(sinograms, size, c);
out:
    qb__leveler_destroy(leveler);
    qb__prepare_destroy(prepare);
    return status;
}

static void add(qb_center_result *result, const char *name, qb__center_answer answer) {
    result->method[result->count++] = (qb_center_method){name, answer.column, answer.confidence};
}

/* Trial slices need rows that see most of the object on both sides of the axis: they are looked at in
 * the middle half, and two percent more. */
static qb__center_rows middle_of(const choice *c, const qb__center_rows *rows) {
    qb__center_rows middle = *rows;
    double n = (double)rows->columns;
    if (!c->anywhere) return middle;
    middle.low = fmax(0.23 * n - 0.5, 0);
    middle.high = fmin(0.77 * n - 0.5, n - 1);
    return middle;
}

static bool one_sided(const qb__center_rows *rows, const qb__center_answer *overlap) {
    const double SURE = 0.5;
    return overlap->confidence > SURE &&
           qb__half_fan_of(rows->columns, overlap->column, overlap->column).used;
}

static qb_status ask_sharpness(const qb__center_rows *rows, qb__center_answer *answer) {
    qb__progress(rows->env, "trial slices", 0, 1);
    qb_status status = qb__center_sharpness(rows, answer);
    if (status == QB_OK) qb__progress(rows->env, "trial slices", 1, 1);
    return status;
}

static qb_status ask(const choice *c, const qb__center_rows *rows, qb_center_result *result,
                     double *each) {
    const qb__center_rows middle = middle_of(c, rows);
    qb__center_answer answer[FINDERS];
    bool asked[FINDERS];
    double agrees = NAN;
    qb_status status = QB_OK;
    for (int i = 0; i < FINDERS; i++) {
        answer[i] = (qb__center_answer){NAN, 0};
        asked[i] = c->ask[i];
    }
    if (asked[REGISTRATION]) QB__TRY(qb__center_registration(rows, &answer[REGISTRATION], each));
    if (asked[OVERLAP])
        QB__TRY(
            qb__center_overlap(rows, answer[REGISTRATION].column, &answer[OVERLAP], &agrees));
    /* Edges that meet other edges' mirror images: the values there do not agree. */
    if (!isnan(agrees)) answer[REGISTRATION].confidence *= qb__center_ramp(agrees, 0.2, 0.8);
    if (c->all) asked[OVERLAP] = !isnan(answer[OVERLAP].column);
    if (c->all) asked[SHARPNESS] = !one_sided(rows, &answer[OVERLAP]);
    if (asked[SHARPNESS]) QB__TRY(ask_sharpness(&middle, &answer[SHARPNESS]));
    if (asked[MASS]) QB__TRY(qb__center_mass(rows, &answer[MASS]));
    for (int i = 0; i < FINDERS; i++)
        if (asked[i]) add(result, finders[i], answer[i]);
out:
    return status;
}

/* Degrees by which the level rows' detector is still turned, from a straight line through the rows' own columns:
 * NAN unless it rises by `least` pixels and leaves at most that share of their variance. */
static double residual(const choice *c, const double *each, double least, double scatter) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t r = 0; r < c->rows; r++) {
        if (isnan(each[r])) continue;
        double row = (double)c->row[r];
        n++, x += row, y += each[r], xx += row * row, xy += row * each[r], yy += each[r] * each[r];
    }
    double sxx = xx - x * x / n, sxy = xy - x * y / n, syy = yy - y * y / n;
    if (n < 3 || !(sxx > 0)) return NAN;
    double slope = sxy / sxx, rise = slope * (double)(c->row[c->rows - 1] - c->row[0]);
    if (fabs(rise) < least || syy - sxy * slope > scatter * syy) return NAN;
    return -atan(slope) * DEGREES; /* turned to the right, the axis leans to the left */
}

typedef struct leaning {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_prep_options *steps;
    const qb__center_rows *rows; /* its sinograms are overwritten */
    const choice *chosen;
} leaning;

/* What rows show at a tilt: those chosen, and as many between them, `sets` times. */
static qb_status look(const leaning *l, double tilt, size_t sets, double *more) {
    const choice *chosen = l->chosen;
    const size_t apart = (chosen->row[chosen->rows - 1] - chosen->row[0]) / (chosen->rows - 1);
    double each[MAX_ROWS];
    choice all = {0};
    qb__level level;
    qb_env hushed = l->rows->env ? *l->rows->env : (qb_env){0};
    hushed.log = NULL;
    qb_status status = qb__level_turned(tilt / DEGREES, l->info->columns, l->info->rows, &level);
    for (size_t set = 0; status == QB_OK && set < sets && all.rows + chosen->rows <= MAX_ROWS; set++) {
        choice c = *chosen;
        qb__center_answer answer;
        for (size_t r = 0; r < c.rows; r++)
            c.row[r] = qb__smaller(c.row[r] + set * apart / sets, l->info->rows - 1);
        QB__TRY(load(l->scan, l->steps, &hushed, l->rows->pool, &level, &c, (float *)l->rows->sinograms));
        qb__center_rows now = *l->rows;
        now.rows = c.rows;
        QB__TRY(qb__center_registration(&now, &answer, each + all.rows));
        memcpy(all.row + all.rows, c.row, c.rows * sizeof *c.row);
        all.rows += c.rows;
    }
    *more = residual(&all, each, 0, 1);
out:
    qb__level_clear(&level);
    return status;
}

/* A row's own column is good to some tenths of a pixel: the less they differ, the more of them are asked. */
static size_t sets_for(const choice *c, double tilt) {
    const double rise = fabs(tilt) / DEGREES * (double)(c->row[c->rows - 1] - c->row[0]), wanted = 8 / fmax(rise, 1);
    return (size_t)fmin(ceil(wanted * wanted / (double)c->rows), 6);
}

/* Rows that are not level mix slices, and what an object is like there moves their columns: the angle that they
 * show is put right, and what is left of it measured, by secants, until little is. */
static qb_status measure_tilt(const leaning *l, const double *each, double known, qb_center_result *result) {
    enum { TIMES = 8 };
    const double SOME = 0.25, ENOUGH = 0.02; /* pixels, from the first row to the last */
    double more = residual(l->chosen, each, SOME, 0.3);
    result->tilt = NAN;
    if (isnan(more)) return QB_OK;
    double before = known, tilt = known + more, shown = more; /* at `before` rows showed that much more */
    for (int i = 0; i < TIMES; i++) {
        qb_status status = look(l, tilt, sets_for(l->chosen, tilt - known), &more);
        if (status != QB_OK || isnan(more)) return status;
        if (fabs(more) / DEGREES * (double)l->info->rows < ENOUGH) {
            result->tilt = tilt + more;
            return QB_OK;
        }
        const double rate = (shown - more) / (tilt - before); /* 1 where rows show all of it */
        const double next = tilt + more / fmin(fmax(rate, 0.1), 2);
        if (!(fabs(next) < 45)) return QB_OK;
        before = tilt, shown = more, tilt = next;
    }
    return QB_OK;
}

static void warn_of_tilt(const qb_scan_info *info, double known, qb_center_result *result) {
    const double more = result->tilt - known;
    if (isnan(more) || result->warning[0]) return;
    if (fabs(more) / DEGREES * (double)info->rows < 1) return;
    snprintf(result->warning, sizeof result->warning,
             "the axis leans by %.3f degrees: its column changes by %.2f over the %zu rows; --tilt %.3f puts it upright",
             -more, -tan(more / DEGREES) * (double)(info->rows - 1), info->rows, result->tilt);
}

static qb_status conclude(const qb_scan_info *info, const qb__level *level, qb_center_result *result) {
    const double HOPELESS = 0.02;
    qb__center_combine(result);
    if (!(result->confidence >= HOPELESS))
        return qb__fail(QB_BAD_INPUT,
                        "%s: no rotation axis was found: give its column, --center COLUMN, or take the detector's "
                        "middle, --center middle; a sweep, qb fbp --center A:B:STEP, shows which is right",
                        info->path);
    result->column = qb__level_back(level, result->column);
    for (int i = 0; i < result->count; i++)
        result->method[i].column = qb__level_back(level, result->method[i].column);
    return QB_OK;
}

static qb_status check(const qb_scan_info *info) {
    if (!info->angles)
        return qb__fail(QB_BAD_INPUT, "%s has no angles: give --angles FROM:TO or a file",
                        info->path);
    if (info->views < 2 || info->rows == 0 || info->columns < 16)
        return qb__fail(QB_BAD_INPUT, "%s: %zu views of %zu x %zu pixels are too few for an axis",
                        info->path, info->views, info->rows, info->columns);
    return QB_OK;
}

size_t qb__center_bytes(const qb_scan_info *info, const qb_env *env) {
    choice c = {0};
    if (choose_rows(NULL, info, &c) != QB_OK) return 0;
    fit_memory(&c, info, env);
    double row = (double)info->views * (double)info->columns * sizeof(float);
    return (size_t)(rows_held(c.rows, info) * row);
}

static void warn_of_cone(const qb_scan_info *info, const qb_env *env) {
    if (info->beam == QB_BEAM_CONE)
        qb__warn(env, "%s states that its beam is a cone: the axis is looked for as if rays were parallel, "
                 "which holds near the middle row of a narrow fan only", info->path);
}

qb_status qb_center_find(qb_scan *scan, const qb_prep_options *prep,
                         const qb_center_options *given, const qb_env *env,
                         qb_center_result *result) {
    QB__NEED(scan);
    QB__NEED(result);
    qb_center_options options;
    qb_prep_options steps;
    *result = (qb_center_result){.column = NAN, .tilt = NAN};
    const qb_scan_info *info = qb_scan_describe(scan);
    choice c = {0};
    double each[MAX_ROWS];
    for (size_t i = 0; i < MAX_ROWS; i++) each[i] = NAN;
    float *sinograms = NULL;
    qb__pool *pool = NULL;
    qb__level level = {.columns = info->columns};
    qb_status status;
    QB__TRY(qb__params_view(qb_center_params, given, &options));
    QB__TRY(qb__params_view(qb_prep_params, prep, &steps));
    steps.rings = QB_RINGS_KEEP; /* qb__center_clean() sees to them */
    QB__TRY(check(info));
    QB__TRY(choose_method(options.method, &c));
    warn_of_cone(info, env);
    QB__TRY(choose_search(options.search, info->columns, &c));
    if (options.tilt != 0)
        QB__TRY(qb__level_turned(options.tilt / DEGREES, info->columns, info->rows, &level));
    QB__TRY(choose_rows(options.rows, info, &c));
    fit_memory(&c, info, env);
    QB__TRY(qb__pool_create(env ? env->threads : 0, &pool));
    QB__TRY(qb__alloc(c.rows * info->views, info->columns * sizeof(float), &sinograms));
    QB__TRY(load(scan, &steps, env, pool, &level, &c, sinograms));
    qb__center_rows rows = {.sinograms = sinograms,
                            .rows = c.rows,
                            .views = info->views,
                            .columns = info->columns,
                            .angles = info->angles,
                            .low = c.low,
                            .high = c.high,
                            .pool = pool,
                            .env = env};
    QB__TRY(ask(&c, &rows, result, each));
    QB__TRY(conclude(info, &level, result));
    QB__TRY(measure_tilt(&(leaning){scan, info, &steps, &rows, &c}, each, options.tilt, result));
    warn_of_tilt(info, options.tilt, result);
out:
    qb__level_clear(&level);
    qb__free(sinograms);
    qb__pool_destroy(pool);
    return status;
}
