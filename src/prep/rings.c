/* SPDX-License-Identifier: MIT */
/* --rings: a detector column whose response differs from its flats makes a stripe along the views of its row's
 * sinogram, and a ring in the slice. A pass over the scan, some rows at a time, finds the stripes of each row
 * (rings_find.c). Each pixel gets one number f, and its line integrals become p - f: its gain is multiplied by exp(f).
 * A pixel without a usable response gets the gain 0, like a pixel with a dead flat: it is interpolated, or left out by
 * methods that can do that. The correction costs nothing afterwards and works on every device. The few pixels whose
 * stripe changes over the views have a course (courses.h) besides. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "planner/rates.h"
#include "prep/fields.h"
#include "prep/phase.h"
#include "prep/prepare.h"
#include "prep/rings.h"
#include "prep/rings_device.h"
#include "prep/rings_from.h"
#include "prep/rings_queue.h"
#include "prep/step.h"

enum { ROWS_LEAST = 4 /* smallest number of rows of a block per thread, if memory allows */ };

typedef struct rings {
    qb__rings_how how;
    size_t views, columns, rows;
    float *sinograms; /* [row][view][column]; NULL for rows on a device */
    qb__rings_device *device;
    bool integrals;      /* the scan's numbers are line integrals */
    float *field;        /* of the block, or on a device of the group: [row * step][column] */
    qb__course *courses; /* of the block: [row * step][room]; NULL: none are looked for */
    size_t room;
    size_t step;            /* rows of the scan from one row to the next */
    struct strength *found; /* [row] */
    qb__rings_row *work;    /* [thread] */
} rings;

/* The kinds of stripes that --rings reports. */
static const struct {
    unsigned kind;
    const char *name;
} kinds[] = {{QB__RINGS_DEAD, "unusable columns"},
             {QB__RINGS_LARGE, "wide stripes"},
             {QB__RINGS_NARROW, "narrow stripes"},
             {QB__RINGS_COURSES, "partial or drifting stripes"},
             {QB__RINGS_SORT, "weak stripes in all columns"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Statistics: strength of the stripes, number of lost pixels, and number of rows with each kind. */
typedef struct strength {
    double squares, largest, pixels, lost, rows, of[KINDS];
} strength;

/* Applies a row's stripes to its field: for line integrals the field is subtracted (dark), else it is the gain. */
static strength apply(const qb__rings_row *row, bool integrals, float *field) {
    strength s = {.pixels = (double)row->columns, .rows = 1};
    if (row->courses) s.squares = row->squares, s.largest = row->largest;
    for (size_t i = 0; i < row->columns; i++) {
        const double f = (double)(float)row->stripe[i];
        if (row->lost[i]) {
            field[i] = integrals ? NAN : 0;
            s.lost++;
            continue;
        }
        field[i] = (float)(integrals ? field[i] + f : field[i] * exp(f));
        s.squares += f * f;
        s.largest = fmax(s.largest, fabs(f));
    }
    for (size_t k = 0; k < KINDS; k++) s.of[k] = (row->kinds & kinds[k].kind) != 0;
    return s;
}

static void find_stripes(void *context, size_t row, int worker) {
    const rings *r = context;
    qb__rings_row *work = &r->work[worker];
    qb__rings_find(&r->how, r->sinograms + row * r->views * r->columns, r->views, work);
    r->found[row] = apply(work, r->integrals, r->field + row * r->step * r->columns);
    if (work->courses) memcpy(r->courses + row * r->step * r->room, work->course, work->courses * sizeof *work->course);
}

/* Row `row` of the group, with its averaged views from a device. */
static void find_averaged(void *context, size_t row, const float *lines, size_t apart, const float *change,
                          int worker) {
    const rings *r = context;
    qb__rings_row *work = &r->work[worker];
    qb__rings_find_averaged(&r->how, lines, apart, change, work);
    r->found[row] = apply(work, r->integrals, r->field + row * r->columns);
}

/* ---- the pass ---- */

static size_t bin_of(const qb_scan_info *info) { return info->image ? info->bin[0] : 1; }

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options->rings && strcmp(options->rings, "keep") != 0;
}

static qb_status check(const qb_scan_info *info, const qb_prep_options *options) {
    qb__rings_how how;
    return qb__rings_parse(options->rings, bin_of(info), &how);
}

/* Counts with flats have a field anyway. The further one of resampled images is counted by qb__phase_bytes. */
static unsigned count(const qb_scan_info *info, const qb_prep_options *options) {
    return wanted(info, options) && !(info->quantity == QB_COUNTS && info->flats);
}

/* True if stripes that change over the views are looked for. Those of resampled images stay: their table would have to
 * be applied before the resampling. Filters spread them. */
static bool has_courses(const rings *r) {
    return (r->how.parts & QB__RINGS_COURSES) && !(r->how.parts & (QB__RINGS_MOVES | QB__RINGS_SOFT));
}

static qb_status make_courses(const rings *r, qb__fields *fields) {
    qb_status status =
        has_courses(r) ? qb__alloc(fields->rows * r->room, sizeof *fields->courses, &fields->courses) : QB_OK;
    for (size_t i = 0; status == QB_OK && fields->courses && i < fields->rows * r->room; i++)
        fields->courses[i].column = -1;
    return status;
}

/* Shares the table among ranks, and drops it if it is empty. */
static qb_status close_courses(const rings *r, qb__fields *fields, qb__comm *comm) {
    qb__fields table = *fields;
    table.columns = r->room * QB__COURSE_NUMBERS;
    bool any = false;
    if (!fields->courses) return QB_OK;
    const qb_status status = qb__fields_share(&table, comm, &fields->courses->column);
    for (size_t row = 0; row < fields->rows; row++) any = any || fields->courses[row * r->room].column >= 0;
    if (any) return status;
    qb__free(fields->courses);
    fields->courses = NULL;
    return status;
}

/* Reading the whole scan, which happens between blocks, is included. */
static double seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads) {
    const bool sorting = strncmp(options->rings, "sort", 4) == 0;
    const double values = (double)info->views * (double)rows * (double)info->columns;
    return values / qb__rate(sorting ? QB__RATE_SORT : QB__RATE_WAVELET, 100e6) / threads;
}

static void add(strength *sum, const strength *more) {
    sum->squares += more->squares;
    sum->pixels += more->pixels;
    sum->lost += more->lost;
    sum->rows += more->rows;
    for (size_t k = 0; k < KINDS; k++) sum->of[k] += more->of[k];
    sum->largest = fmax(sum->largest, more->largest);
}

/* Adds up the statistics of all ranks; each rank has its own rows. */
static qb_status add_up(qb__comm *comm, strength *s) {
    const strength mine = *s;
    strength *all = NULL;
    const qb_status room = qb__alloc((size_t)qb__comm_count(comm), sizeof *all, &all);
    const qb_status status = qb__comm_gather(comm, room, &mine, sizeof mine, all);
    *s = (strength){0};
    for (int i = 0; status == QB_OK && i < qb__comm_count(comm); i++) add(s, &all[i]);
    qb__free(all);
    return status;
}

/* Reads the block that begins at `row`, without the rows that will not be requested. */
static qb_status read_block(const qb__pass *pass, const rings *r, size_t row, qb__pool *pool) {
    const size_t step = pass->fields->step, run = step > 1 ? 1 : r->rows;
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < r->rows; i += run)
        status = qb__prepare_rows(pass->prepare, pass->scan, row + i * step, row + i * step + run, pool,
                                  r->sinograms + i * r->views * r->columns, NULL);
    return status;
}

/* Number of rows at a time: in half of the memory that the process may use, but at most a few for each thread, or, with
 * phase retrieval, the rows that are filtered together. */
static size_t rows_at_a_time(const qb__pass *pass, const rings *r, int threads) {
    const qb_env *env = pass->env;
    double row = (double)r->views * (double)r->columns * 2 * sizeof(float);
    double space = (double)qb__memory_cap(env) - (double)qb__resident_bytes();
    double few =
        fmax((double)ROWS_LEAST * threads, pass->scan->filtered ? (double)qb_scan_describe(pass->scan)->chunk_rows : 0);
    double rows = fmin(fmax(1, 0.5 * space / row), few);
    return qb__smaller((size_t)rows, pass->fields->rows);
}

static qb_status open_rings(const qb__pass *pass, rings *r, int threads) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    *r = (rings){.views = info->views,
                 .columns = info->columns,
                 .room = qb__courses_room(info->columns),
                 .integrals = info->quantity == QB_LINE_INTEGRAL,
                 .step = pass->fields->step};
    size_t rows = rows_at_a_time(pass, r, threads);
    qb_status status;
    QB__TRY(qb__rings_parse(pass->options->rings, bin_of(info), &r->how));
    const size_t half = qb__ceil_div(rows, 2); /* a device holds two blocks */
    QB__TRY(qb__rings_device_create(pass, half, qb__rings_together(info->views), &r->device));
    if (r->device) rows = half;
    if (!r->device) QB__TRY(qb__alloc(rows * r->views, r->columns * sizeof(float), &r->sinograms));
    QB__TRY(qb__alloc(r->device ? pass->fields->rows : rows, sizeof *r->found, &r->found));
    QB__TRY(qb__alloc((size_t)threads, sizeof *r->work, &r->work));
    for (int i = 0; i < threads; i++) QB__TRY(qb__rings_row_create(r->views, r->columns, &r->work[i]));
    r->rows = rows;
out:
    return status;
}

static void close_rings(rings *r, int threads) {
    for (int i = 0; r->work && i < threads; i++) qb__rings_row_destroy(&r->work[i]);
    qb__rings_device_destroy(r->device);
    QB__FREE(r->work, r->found, r->sinograms);
}

/* The text also says how many rows have each kind. */
static void describe(const rings *r, const strength *s, char *note, size_t size) {
    bool any = false;
    snprintf(note, size, "%s: stripes of %.2g rms, at most %.2g", r->how.name,
             sqrt(s->squares / fmax(1, s->pixels - s->lost)), s->largest);
    for (size_t k = 0; k < KINDS; k++) {
        const size_t used = strlen(note);
        if (s->of[k] > 0) snprintf(note + used, size - used, "%s %s in %.0f", any ? "," : ";", kinds[k].name, s->of[k]);
        any = any || s->of[k] > 0;
    }
    if (!any) snprintf(note, size, "%s: none found in %.0f rows", r->how.name, s->rows);
    if (any) snprintf(note + strlen(note), size - strlen(note), " of %.0f rows", s->rows);
    if (s->lost > 0)
        snprintf(note + strlen(note), size - strlen(note), "; %.0f of %.0f pixels are unusable", s->lost, s->pixels);
}

/* Adds the statistics of `count` rows from `row` on; another rank reports those that are not its own. */
static void add_rows(const qb__fields *fields, const rings *r, size_t row, size_t count, strength *found,
                     strength *others) {
    for (size_t i = 0; i < count; i++) {
        const size_t at = row + i * r->step;
        add(at >= fields->own0 && at < fields->own1 ? found : others, &r->found[i]);
    }
}

/* Finds the stripes of a group of rows on a device: threads take row by row, while the next ones come down. */
static qb_status find_group_there(const qb__pass *pass, size_t row, size_t end, rings *r, qb__pool *pool,
                                  strength *found, strength *others) {
    const qb__rings_queue of = {r->device, r->rows, r->columns, find_averaged, r};
    const qb_status status = qb__rings_run(&of, row, end, pool, pass->env);
    if (status == QB_OK) add_rows(pass->fields, r, row, end - row, found, others);
    return status;
}

/* Finds the stripes of a group of rows. */
static qb_status find_group(const qb__rings_from *from, size_t group, rings *r, qb__pool *pool, strength *found,
                            strength *others) {
    const qb__pass *pass = &from->pass;
    const qb__fields *fields = pass->fields;
    const size_t first = from->group[0][0], last = from->group[from->groups - 1][1], end = from->group[group][1];
    float *field = r->integrals ? fields->dark : fields->gain;
    const size_t block = r->rows, step = fields->step;
    qb_status status = QB_OK;
    r->field = field + (from->group[group][0] - fields->row0) * r->columns;
    if (r->device) return find_group_there(pass, from->group[group][0], end, r, pool, found, others);
    for (size_t row = from->group[group][0]; row < end; row += block * step) {
        QB__TRY(qb__check_cancel(pass->env));
        qb__progress(pass->env, "finding rings", row - first, last - first);
        r->rows = qb__smaller(block, qb__ceil_div(end - row, step));
        QB__TRY(read_block(pass, r, row, pool));
        r->field = field + (row - fields->row0) * r->columns;
        r->courses = fields->courses ? fields->courses + (row - fields->row0) * r->room : NULL;
        qb__pool_for(pool, r->rows, find_stripes, r);
        add_rows(fields, r, row, r->rows, found, others);
    }
out:
    r->rows = block;
    return status;
}

static qb_status measure(const qb__pass *asked) {
    const bool lines = qb_scan_describe(asked->scan)->quantity == QB_LINE_INTEGRAL;
    qb__rings_from from = {.pass = *asked};
    const qb__pass *pass = &from.pass;
    strength found = {0}, others = {0};
    rings r = {0};
    qb__pool *pool;
    qb_status status = qb__pool_create(pass->env ? pass->env->threads : 0, &pool);
    if (status != QB_OK) return status;
    const int threads = qb__pool_threads(pool);
    QB__TRY(qb__rings_from_open(asked, &from));
    float **field = lines ? &pass->fields->dark : &pass->fields->gain;
    QB__TRY(qb__fields_make(pass->fields, lines ? 0 : 1, field));
    QB__TRY(open_rings(pass, &r, threads));
    r.how.axis = asked->scan->warp ? 0 : asked->axis;
    if (asked->scan->warp) r.how.parts |= QB__RINGS_MOVES;
    if (asked->scan->filtered && !asked->scan->warp) r.how.parts |= QB__RINGS_SOFT;
    if (qb__scan_span(qb_scan_describe(asked->scan)) > 1.5 * M_PI) r.how.parts |= QB__RINGS_TURNS;
    QB__TRY(make_courses(&r, pass->fields));
    for (size_t i = 0; i < from.groups; i++) QB__TRY(find_group(&from, i, &r, pool, &found, &others));
    qb__progress(pass->env, "finding rings", pass->fields->rows, pass->fields->rows);
    QB__TRY(qb__fields_share(pass->fields, qb__comm_of(pass->env), *field));
    QB__TRY(close_courses(&r, pass->fields, qb__comm_of(pass->env)));
    QB__TRY(add_up(qb__comm_of(pass->env), &found));
    describe(&r, &found, pass->note, pass->note_size);
    qb__info(pass->env, "rings, %s", pass->note);
    qb__rings_from_give(&from, asked, field);
out:
    if (status != QB_OK) qb__phase_halt(asked->scan); /* a thread may still use the corrections of this job */
    close_rings(&r, threads);
    qb__rings_from_close(&from);
    qb__pool_destroy(pool);
    return status;
}

const qb__step qb__step_rings = {.name = "rings",
                                 .scope = QB__SCOPE_SCAN,
                                 .wanted = wanted,
                                 .check = check,
                                 .fields = count,
                                 .reads_all = true,
                                 .seconds = seconds,
                                 .measure = measure,
                                 .option = {QB__STEP_OPTION(rings)}};
