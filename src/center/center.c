/* SPDX-License-Identifier: MIT */
/* The rotation axis of a scan: choose rows, prepare them, ask the finders, combine. */
#include "center/center.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/caller.h"
#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/parallel.h"
#include "io/scan/scan.h"
#include "prep/phase.h"
#include "prep/row_shift.h"
#include "prep/truncation/line_ends.h"
#include "prep/turn_check.h"
#include "quickbeam/geometry.h"

#define ROW(name, meta, initial, help)                                                                                 \
    { #name, QB_PARAM_TEXT, offsetof(qb_center_options, name), meta, initial, NULL, 0, 0, help, 0 }

const qb_param qb_center_params[] = {
    ROW(method, "auto|near:COLUMN|" QB__CENTER_FINDERS("|"), "auto",
        "how to look: edges of opposite views, overlap of opposite views of full turns, sharpness of trial slices, "
        "centre of mass; or all"),
    ROW(search, "A:B", NULL, "columns between which the axis is looked for; default: the whole width"),
    ROW(rows, "A:B[:S]", NULL, "detector rows to look at; default: five, spread"),
    {"tilt", QB_PARAM_DOUBLE, offsetof(qb_center_options, tilt), "DEGREES", NULL, NULL, -45, 45,
     "how far the detector is turned in its plane: rows are resampled first", 0},
    {"sod", QB_PARAM_DOUBLE, offsetof(qb_center_options, sod), "MM", NULL, NULL, 0, 1e9,
     "cone beam: from the source to the axis, if the scan does not say", 0},
    {"sdd", QB_PARAM_DOUBLE, offsetof(qb_center_options, sdd), "MM", NULL, NULL, 0, 1e9,
     "cone beam: from the source to the detector, if the scan does not say", 0},
    QB_PARAMS_END(qb_center_options),
};

static const double DEGREES = 57.295779513082321;

enum { REGISTRATION, OVERLAP, SHARPNESS, MASS, FINDERS };
#define COMMA ,
static const char *const finders[FINDERS] = {QB__CENTER_FINDERS(COMMA)};

typedef struct choice {
    bool ask[FINDERS], all, anywhere; /* anywhere: no --search */
    bool short_fan;                   /* the scan is a cone beam of unknown distances, over less than a turn */
    bool full;                        /* the views cover a turn */
    /* distances of a cone beam, in mm; its rows are sorted into parallel rays; 0: the rays are parallel */
    double sod, sdd;
    double low, high;
    qb__center_chosen at;
    qb_status (*use)(const qb__center_rows *rows, double column,
                     void *context); /* called once the axis is known; may be NULL */
    void *context;
    char order[96]; /* what qb__row_shift finds about the order of the axes of the data; empty: nothing */
} choice;

bool qb__center_names_method(const char *text) {
    bool known = strcmp(text, "auto") == 0 || qb__center_is_near(text);
    for (int i = 0; i < FINDERS; i++) known = known || strcmp(text, finders[i]) == 0;
    return known;
}

static qb_status choose_method(const char *text, choice *c) {
    c->all = !text || strcmp(text, "auto") == 0 || qb__center_is_near(text);
    for (int i = 0; i < FINDERS; i++) c->ask[i] = c->all || strcmp(text, finders[i]) == 0;
    if (c->all || qb__center_names_method(text)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--method %s is none of auto, near:COLUMN, " QB__CENTER_FINDERS(", "), text);
}

qb_status qb__center_search_parse(const char *text, const qb_scan_info *info, double *low, double *high) {
    const double last = (double)info->columns - 1;
    *low = 0;
    *high = last;
    if (!text) return QB_OK;
    double given[2] = {NAN, NAN};
    const char *end;
    int count = qb__read_numbers(text, ':', 2, given, &end);
    *low = qb__column_read(info, given[0]);
    *high = qb__column_read(info, given[1]);
    if (count != 2 || *end || !(*low >= 0 && *low < *high && *high <= last))
        return qb__fail(QB_BAD_ARGUMENT, "--search %s: give A:B with %g <= A < B <= %g", text,
                        qb__column_whole(info, 0), qb__column_whole(info, last));
    return QB_OK;
}

/* The columns between which the axis is looked for. */
static qb_status choose_range(const qb_center_options *options, const qb_scan_info *info, choice *c) {
    const bool near = qb__center_is_near(options->method);
    c->anywhere = !options->search && !near;
    if (options->search && near)
        return qb__fail(QB_BAD_ARGUMENT, "--search %s and %s name two ranges: leave one out", options->search,
                        options->method);
    return near ? qb__center_near_parse(options->method, info, options->tilt, &c->low, &c->high)
                : qb__center_search_parse(options->search, info, &c->low, &c->high);
}

static void add(qb_center_result *result, const char *name, qb__center_answer answer) {
    result->method[result->count++] = (qb_center_method){name, answer.column, answer.confidence};
}

/* Trial slices need rows that see most of the object on both sides of the axis. So they look for the axis only in the
 * middle half of the columns and 2 % more on either side. */
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
    return overlap->confidence > SURE && qb__half_fan_of(rows->columns, overlap->column, overlap->column).used;
}

static qb_status ask_sharpness(const qb__center_rows *rows, qb__center_answer *answer) {
    qb__progress(rows->env, "trial slices", 0, 1);
    qb_status status = qb__center_sharpness(rows, answer);
    if (status == QB_OK) qb__progress(rows->env, "trial slices", 1, 1);
    return status;
}

static qb_status ask(const choice *c, const qb__center_rows *rows, qb_center_result *result, double *each) {
    const qb__center_rows middle = middle_of(c, rows);
    qb__center_answer answer[FINDERS];
    bool asked[FINDERS];
    double agrees = NAN;
    const double HALF = 0.5;
    for (int i = 0; i < FINDERS; i++) {
        answer[i] = (qb__center_answer){NAN, 0};
        asked[i] = c->ask[i];
    }
    if (asked[REGISTRATION]) QB__OR_RETURN(qb__center_registration(rows, &answer[REGISTRATION], each));
    if (asked[OVERLAP]) QB__OR_RETURN(qb__center_overlap(rows, answer[REGISTRATION].column, &answer[OVERLAP], &agrees));
    /* Opposite rays of a fan are half a turn plus twice their fan angle apart. Over a full turn the resulting errors
     * cancel; over less than a turn they do not. */
    if (c->short_fan) answer[REGISTRATION].confidence *= HALF;
    /* Registration may match edges with the mirror images of other edges. The values at such a column do not agree. */
    if (!isnan(agrees)) answer[REGISTRATION].confidence *= qb__center_ramp(agrees, 0.2, 0.8);
    if (c->all) asked[OVERLAP] = !isnan(answer[OVERLAP].column);
    if (c->all) asked[SHARPNESS] = !one_sided(rows, &answer[OVERLAP]);
    if (asked[SHARPNESS]) QB__OR_RETURN(ask_sharpness(&middle, &answer[SHARPNESS]));
    if (asked[REGISTRATION] && c->anywhere)
        QB__OR_RETURN(qb__center_ends(rows, &answer[REGISTRATION], &answer[SHARPNESS]));
    if (asked[MASS]) QB__OR_RETURN(qb__center_mass(rows, &answer[MASS]));
    for (int i = 0; i < FINDERS; i++)
        if (asked[i]) add(result, finders[i], answer[i]);
    return QB_OK;
}

static const double HOPELESS = 0.02;

/* If no axis is found, the data may have their axes in another order: look for signs of that. */
static qb_status look_at_order(qb_scan *scan, const qb_prep_options *prep, char order[96]) {
    enum { ROOM = 32 << 20 };
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb_env quiet = {.struct_size = sizeof quiet, .threads = 1};
    qb__row_shift shift = {0};
    qb__prepare *prepare;
    qb_status status = qb__prepare_create(scan, prep, &(qb__prepared){.row1 = info->rows}, &quiet, &prepare);
    if (status == QB_OK) status = qb__row_shift_find(scan, prepare, 0, info->rows, QB__ROW_PARALLEL, ROOM, &shift);
    qb__prepare_destroy(prepare);
    memcpy(order, shift.order, sizeof shift.order);
    return status;
}

/* Results count columns in the middle row of the whole detector, as users do. */
static void tell_columns(const qb_scan_info *info, double tilt, qb_center_result *result) {
    const double shift = qb__axis_shift(info, tilt);
    result->column = qb__column_whole(info, result->column) - shift;
    for (int i = 0; i < result->count; i++)
        result->method[i].column = qb__column_whole(info, result->method[i].column) - shift;
}

static qb_status conclude(const qb_scan_info *info, const qb__roll *roll, bool cone, const choice *c,
                          qb_center_result *result) {
    const qb__center_chosen *at = &c->at;
    if (!(result->confidence >= HOPELESS) && !c->anywhere)
        return qb__fail(QB_BAD_INPUT,
                        "%s: no rotation axis was found in columns %g to %g: search others, or give --center auto",
                        info->path, qb__column_whole(info, c->low), qb__column_whole(info, c->high));
    if (!(result->confidence >= HOPELESS) && cone)
        return qb__fail(QB_BAD_INPUT, "%s: no rotation axis was found in rows %zu to %zu: give --detector-offset U,V",
                        info->path, at->row[0], at->row[at->rows - 1]);
    if (!(result->confidence >= HOPELESS) && *c->order)
        return qb__fail(QB_BAD_INPUT, "%s: no rotation axis was found: the data %s", info->path, c->order);
    if (!(result->confidence >= HOPELESS))
        return qb__fail(QB_BAD_INPUT,
                        "%s: no rotation axis was found: reconstruct with --center COLUMN, or --center middle; a "
                        "sweep, qb fbp --center A:B:STEP, shows which column is right",
                        info->path);
    if (!c->anywhere) qb__center_judge_edge(info, c->low, c->high, result);
    result->column = qb__roll_back(roll, result->column);
    for (int i = 0; i < result->count; i++) result->method[i].column = qb__roll_back(roll, result->method[i].column);
    return QB_OK;
}

static qb_status check(const qb_scan_info *info) {
    if (!info->angles) return qb__scan_lacks_angles(info);
    if (info->views < 2 || info->rows == 0 || info->columns < 16)
        return qb__fail(QB_BAD_INPUT,
                        "%s: %zu views of %zu x %zu pixels are too few to find the axis: give --center COLUMN",
                        info->path, info->views, info->rows, info->columns);
    return QB_OK;
}

static qb_status judge_beam(const qb_scan_info *info, const qb_center_options *options, const qb_env *env, choice *c) {
    const qb_status status = qb__turns_fully(info->views, info->angles, &c->full, NULL);
    if (status != QB_OK) return status;
    const bool given = options->sod > 0 || options->sdd > 0;
    if (!given && info->geometry_from)
        return qb__fail(QB_BAD_INPUT,
                        "%s states where the axis falls in each view, and this search knows only circles: reconstruct "
                        "without --center, or give --sod and --sdd if it is a circle",
                        info->geometry_from);
    c->sod = given ? options->sod : info->sod, c->sdd = given ? options->sdd : info->sdd;
    if (!given && info->beam != QB_BEAM_CONE) c->sod = c->sdd = 0;
    if (given && !(c->sod > 0 && c->sod < c->sdd))
        return qb__fail(QB_BAD_ARGUMENT, "a cone beam has 0 < --sod < --sdd, in mm (they are %g and %g)", c->sod,
                        c->sdd);
    if (given && !(info->pixel_size > 0))
        return qb__fail(QB_BAD_INPUT, "%s does not say how large its pixels are: give --pixel-size in mm", info->path);
    if (!(info->pixel_size > 0)) c->sod = c->sdd = 0;
    if (c->sod > 0 || info->beam != QB_BEAM_CONE) return QB_OK;
    c->short_fan = !c->full;
    qb__warn(
        env,
        "%s is a cone beam of unknown distances, taken as parallel rays: give --sod and --sdd" QB__CODE("center-cone"),
        info->path);
    return QB_OK;
}

/* Checks with a few views of the chosen rows whether the object turns as the angles say. */
static qb_status check_turn(const qb__center_rows *rows, const qb_scan_info *info, const qb_env *env) {
    const qb__turn_asked turn = {.radians = info->angles, .cone = info->beam == QB_BEAM_CONE};
    const size_t groups = qb__smaller(rows->rows, QB__SAMPLE_GROUPS), few = qb__smaller(rows->views, QB__SAMPLE_VIEWS);
    qb__line_mass *mass = NULL;
    qb__line_end end;
    float *sorted = NULL;
    qb_status status;
    QB__TRY(qb__alloc(QB__SAMPLE_LINES, sizeof *mass, &mass));
    QB__TRY(qb__alloc(rows->columns, sizeof *sorted, &sorted));
    for (size_t g = 0; g < groups; g++)
        for (size_t i = 0; i < few; i++) {
            const size_t row = g * rows->rows / groups, view = (2 * i + 1) * rows->views / (2 * few);
            qb__line_mass *m = &mass[g * QB__SAMPLE_VIEWS + i];
            m->view = view;
            qb__line_end_of(rows->sinograms + (row * rows->views + view) * rows->columns, rows->columns, sorted, &end,
                            m);
        }
    status = qb__turn_check(mass, &turn, rows->views, env, NULL, NULL);
out:
    QB__FREE(mass, sorted);
    return status;
}

/* Choose rows near the row that is level with the source. There a ray and its opposite ray pass through the same
 * slice. */
static void choose_middle_rows(const qb_scan_info *info, qb__center_chosen *at) {
    enum { ROWS = 9, STEP = 1 };
    const double offset = isnan(info->detector_offset[1]) ? 0 : info->detector_offset[1] / info->pixel_v;
    const double middle = fmin(fmax(0.5 * ((double)info->rows - 1) - offset, 0), (double)info->rows - 1);
    at->rows = 0;
    for (int i = 0; i < ROWS; i++) {
        const double row = floor(middle + 0.5) + STEP * (i - ROWS / 2);
        if (row >= 0 && row < (double)info->rows) at->row[at->rows++] = (size_t)row;
    }
}

/* Finds the axis of a cone beam. The quick finders repeat until the column no longer changes; then all requested
 * finders run. */
static qb_status ask_fan(const choice *c, const qb__center_rows *rows, double pixel, qb_center_result *result) {
    enum { ROUNDS = 5 };
    qb__center_fan *fan;
    double column = 0.5 * ((double)rows->columns - 1), moved = INFINITY;
    choice quick = *c;
    qb_status status = qb__center_fan_create(rows, c->sod, c->sdd, pixel, c->full, &fan);
    if (status != QB_OK) return status;
    if (c->all) quick.all = false, quick.ask[SHARPNESS] = quick.ask[MASS] = false;
    for (int i = 0; i < ROUNDS && moved > 0.02; i++) {
        const qb__center_rows parallel = qb__center_fan_rows(fan, column);
        qb_center_result found = {.column = NAN};
        QB__TRY(ask(&quick, &parallel, &found, NULL));
        qb__center_combine(rows->info, &found);
        if (!(found.confidence > 0)) break;
        moved = fabs(found.column - column);
        column = found.column;
    }
    const qb__center_rows parallel = qb__center_fan_rows(fan, column);
    if (c->use)
        QB__TRY(c->use(&parallel, column, c->context));
    else
        QB__TRY(ask(c, &parallel, result, NULL));
    if (c->use) result->column = column;
out:
    qb__center_fan_destroy(fan);
    return status;
}

/* The centre of mass and the edges fail for different reasons. So where both give the same column it is the axis, even
 * if few views have an opposite view, as in half a turn. */
static double concord(const qb_center_result *result) {
    const double SURE = 0.9, GOOD = 0.5, NEAR = 1; /* NEAR: columns */
    const qb_center_method *mass = &result->method[result->count - 1];
    if (result->count < 2 || !(mass->confidence > GOOD) || !(fabs(result->column - mass->column) <= NEAR)) return 0;
    for (int i = 0; i + 1 < result->count; i++)
        if (fabs(result->method[i].column - mass->column) <= NEAR) return SURE;
    return 0;
}

qb_status qb__center_quick(const qb__center_rows *rows, double sod, double sdd, double pixel,
                           qb__center_answer *answer) {
    choice c = {.ask = {[REGISTRATION] = true, [OVERLAP] = true, [MASS] = true}, .sod = sod, .sdd = sdd};
    qb_center_result result = {.column = NAN};
    qb_status status = qb__turns_fully(rows->views, rows->angles, &c.full, NULL);
    if (status == QB_OK) status = sod > 0 ? ask_fan(&c, rows, pixel, &result) : ask(&c, rows, &result, NULL);
    if (status == QB_OK) qb__center_combine(rows->info, &result);
    *answer = (qb__center_answer){result.column, status == QB_OK ? fmax(result.confidence, concord(&result)) : 0};
    return status;
}

qb_status qb__center_find_with(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *given,
                               const qb_env *env,
                               qb_status (*use)(const qb__center_rows *rows, double column, void *context),
                               void *context, qb_center_result *result) {
    qb_center_options options;
    qb_prep_options steps;
    *result = (qb_center_result){.column = NAN, .tilt = NAN, .row = NAN};
    const qb_scan_info *info = qb_scan_describe(scan);
    choice c = {.use = use, .context = context};
    double each[QB__CENTER_ROWS];
    for (size_t i = 0; i < QB__CENTER_ROWS; i++) each[i] = NAN;
    float *sinograms = NULL;
    qb__phase *phase = NULL;
    qb__pool *pool = NULL;
    qb__roll roll = {.columns = info->columns};
    qb_status status;
    QB__TRY(qb__params_view(qb_center_params, given, &options));
    QB__TRY(qb__params_view(qb_prep_params, prep, &steps));
    QB__TRY(qb__scan_usable(scan));
    QB__TRY(check(info));
    QB__TRY(choose_method(options.method, &c));
    QB__TRY(judge_beam(info, &options, env, &c));
    QB__TRY(choose_range(&options, info, &c));
    if (options.tilt != 0) QB__TRY(qb__roll_turned(options.tilt / DEGREES, info->columns, info->rows, &roll));
    QB__TRY(qb__center_choose(options.rows, info, &c.at));
    if (c.sod > 0 && !options.rows) choose_middle_rows(info, &c.at);
    qb__center_fit(&c.at, info, env);
    QB__TRY(qb__center_check_room(&c.at, info, env));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &pool));
    QB__TRY(qb__alloc(c.at.rows * info->views, info->columns * sizeof(float), &sinograms));
    QB__TRY(qb__phase_create(scan, NULL, &steps, env, &phase));
    scan = qb__phase_scan(phase, scan);
    QB__TRY(qb__center_load(scan, &steps, env, pool, &roll, &c.at, sinograms));
    qb__center_rows rows = {.sinograms = sinograms,
                            .rows = c.at.rows,
                            .views = info->views,
                            .columns = info->columns,
                            .angles = info->angles,
                            .low = c.low,
                            .high = c.high,
                            .pool = pool,
                            .info = info,
                            .env = env};
    QB__TRY(check_turn(&rows, info, env));
    QB__TRY(c.sod > 0 ? ask_fan(&c, &rows, info->pixel_size, result) : ask(&c, &rows, result, each));
    if (use && c.sod > 0) goto out;
    qb__center_combine(info, result);
    if (!(result->confidence >= HOPELESS) && c.sod == 0 && !qb__scan_on_device(scan))
        QB__TRY(look_at_order(scan, &steps, c.order));
    QB__TRY(conclude(info, &roll, c.sod > 0, &c, result));
    if (use) status = use(&rows, result->column, context);
    if (c.sod > 0) status = qb__center_cone(scan, &steps, c.sod, c.sdd, &c.at, pool, result);
    if (use || c.sod > 0) goto out;
    const qb__center_leaning lean = {scan, info, &steps, &rows, &c.at};
    QB__TRY(qb__center_tilt(&lean, each, options.tilt, result));
out:
    qb__roll_clear(&roll);
    qb__phase_destroy(phase);
    qb__free(sinograms);
    qb__pool_destroy(pool);
    return status;
}

enum { FIRST_RESULT = sizeof(qb_center_result) }; /* bytes of the first version of the structure */

qb_status qb_center_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                         const qb_env *env, qb_center_result *result) {
    QB__NEED(scan);
    QB__NEED(result);
    QB__CALL();
    qb_center_result found = {0};
    qb_status status = qb__result_check(result, FIRST_RESULT, "qb_center_result");
    if (status == QB_OK) status = qb__env_check(env);
    if (status != QB_OK) return status;
    status = qb__center_find_with(scan, prep, options, env, NULL, NULL, &found);
    qb_center_options seen;
    if (status == QB_OK) status = qb__params_view(qb_center_params, options, &seen);
    if (status == QB_OK) tell_columns(qb_scan_describe(scan), seen.tilt, &found);
    qb__result_give(&found, sizeof found, FIRST_RESULT, result);
    return status;
}
