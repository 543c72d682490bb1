/* SPDX-License-Identifier: MIT */
#include "prep/prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "io/scan/scan.h"
#include "kernels/filter/filter_device.h"
#include "geometry/partition.h"
#include "prep/dense.h"
#include "prep/neighbours.h"
#include "prep/pixel_key.h"
#include "prep/step.h"

enum { NOTES = 16 };

struct qb__prepare {
    qb__prep steps;
    qb__fields fields;
    qb__neighbours *neighbours; /* NULL: no step looks at them */
    qb__hardening_curve *curve; /* NULL: none */
    char note[NOTES][240];      /* notes of the steps, in the order of their rows */
    const qb_scan *scan;
    float floor;    /* smallest transmission as the user gave it, for messages */
    char worst[64]; /* text that names the view with most saturation; "": none */
};

size_t qb__prepare_bytes(const qb_scan_info *info, const qb_prep_options *options, size_t rows) {
    size_t fields = 0;
    for (const qb__step *const *s = qb__steps; *s; s++)
        if ((*s)->fields) fields += (*s)->fields(info, options);
    const bool rings = options && options->rings && strcmp(options->rings, "keep") != 0;
    const size_t courses = rings ? qb__courses_room(info->columns) * sizeof(qb__course) : 0;
    return fields * rows * info->columns * sizeof(float) + rows * courses + qb__neighbours_bytes(info, options, rows);
}

double qb__prepare_seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads) {
    double seconds = 0;
    for (const qb__step *const *s = qb__steps; *s; s++)
        if ((*s)->seconds && (*s)->wanted(info, options)) seconds += (*s)->seconds(info, options, rows, threads);
    return seconds;
}

bool qb__prepare_reads_all(const qb_scan_info *info, const qb_prep_options *options) {
    for (const qb__step *const *s = qb__steps; *s; s++)
        if ((*s)->reads_all && (*s)->wanted(info, options)) return true;
    return false;
}

static qb__fields fields_of(const qb__prepared *rows, size_t columns, qb__comm *comm) {
    qb__fields f = {.row0 = rows->row0,
                    .rows = rows->row1 - rows->row0,
                    .step = rows->step ? rows->step : 1,
                    .columns = columns,
                    .own0 = rows->row0,
                    .own1 = rows->row1,
                    .all = rows->all && comm};
    if (f.all) {
        size_t first, count;
        qb__cut_rank(f.rows, 1, qb__comm_count(comm), qb__comm_rank(comm), &first, &count);
        f.own0 = rows->row0 + first;
        f.own1 = f.own0 + count;
    } else if (comm) {
        f.own0 = rows->own0;
        f.own1 = rows->own1;
    }
    return f;
}

qb_status qb__prepare_create(qb_scan *scan, const qb_prep_options *options, const qb__prepared *rows, const qb_env *env,
                             qb__prepare **out) {
    *out = NULL;
    const qb_scan_info *info = qb_scan_describe(scan);
    qb__prepare *prepare;
    qb_status status = qb__alloc(1, sizeof *prepare, &prepare);
    if (status != QB_OK) return status;
    qb__fields *fields = &prepare->fields;
    prepare->scan = scan;
    prepare->floor = (float)options->transmission_floor;
    *fields = fields_of(rows, info->columns, qb__comm_of(env));
    prepare->steps = (qb__prep){.quantity = info->quantity,
                                .dtype = info->dtype,
                                .columns = info->columns,
                                .row0 = rows->row0,
                                .floor = (float)options->transmission_floor,
                                .most = scan->most_integral,
                                .ends = rows->ends};
    qb__prep_begin(&prepare->steps, NULL);
    for (size_t i = 0; qb__steps[i]; i++) {
        const qb__step *step = qb__steps[i];
        const qb__pass pass = {
            scan,      options, env, prepare, fields, prepare->note[i], sizeof prepare->note[i], rows->keep_lost,
            rows->axis};
        if (step->scope == QB__SCOPE_VIEW && step->wanted(info, options))
            QB__TRY(qb__neighbours_add(scan, options, step, &prepare->neighbours));
        if (step->scope != QB__SCOPE_SCAN || !step->wanted(info, options)) continue;
        QB__TRY(step->measure(&pass));
        prepare->steps.dark = fields->dark;
        prepare->steps.gain = fields->gain;
        prepare->steps.air = fields->air;
        prepare->steps.courses = fields->courses;
        prepare->steps.drift = scan->drift;
    }
    QB__TRY(qb__curve_create(options->hardening, &prepare->curve));
    prepare->steps.curve = prepare->curve;
    qb__prep_begin(&prepare->steps, options);
    if (scan->worst > 0) qb__print(prepare->worst, sizeof prepare->worst, ", most in view %zu", scan->worst_view);
    prepare->steps.keep_lost = rows->keep_lost;
out:
    if (status != QB_OK) {
        qb__prepare_destroy(prepare);
        return status;
    }
    *out = prepare;
    return QB_OK;
}

void qb__prepare_free_floor(qb__prepare *prepare) { prepare->steps.floor = 1e-30f; }

void qb__prepare_destroy(qb__prepare *prepare) {
    if (!prepare) return;
    qb__neighbours_destroy(prepare->neighbours);
    qb__curve_destroy(prepare->curve);
    QB__FREE(prepare->fields.dark, prepare->fields.gain, prepare->fields.air, prepare->fields.courses, prepare);
}

void qb__prepare_row(const qb__prepare *prepare, size_t view, size_t row, const void *raw, float *out,
                     qb__prep_counts *counts) {
    qb__prep_row(&prepare->steps, view, row - prepare->fields.row0, raw, out, counts);
}

void qb__prepare_view(const qb__prepare *prepare, size_t view, size_t row0, size_t rows, const void *raw, float *out,
                      qb__prep_counts *counts) {
    const size_t columns = prepare->steps.columns, bytes = columns * qb_dtype_size(prepare->steps.dtype);
    for (size_t r = 0; r < rows; r++)
        qb__prepare_row(prepare, view, row0 + r, (const char *)raw + r * bytes, out + r * columns, counts);
}

const qb__prep *qb__prepare_steps(const qb__prepare *prepare) { return &prepare->steps; }

qb__neighbours *qb__prepare_neighbours(const qb__prepare *prepare) { return prepare->neighbours; }

size_t qb__prepare_rows_held(const qb__prepare *prepare) { return prepare->fields.rows; }

size_t qb__prepare_first_row(const qb__prepare *prepare) { return prepare->fields.row0; }

void qb__prep_changes(const qb__prep *prep, qb__device_prep *device) {
    const qb__drift *d = prep->drift;
    device->courses = (const float *)prep->courses;
    device->course_room = qb__courses_room(prep->columns);
    if (!d || !prep->gain) return;
    device->modes = d->modes, device->mode_apart = d->pixels;
    device->mode = d->mode + prep->row0 * prep->columns;
    device->drift = d->weight;
}

void qb__prep_define(const qb__prep *prep, qb__macros *macros) {
    const qb__step *const *lists[] = {prep->value, prep->row};
    if (prep->ends != QB_PAD_EDGE) qb__macros_add(macros, "ENDS", (long long)prep->ends);
    for (int i = 0; i < 2; i++)
        for (const qb__step *const *s = lists[i]; *s; s++)
            if ((*s)->define) (*s)->define(prep->options, macros);
    if (prep->curve) qb__curve_define(prep->curve, macros);
}

struct rows_job {
    const qb__prepare *prepare;
    const qb_scan_info *info;
    const char *raw; /* [view - first][row][column] */
    size_t first, row0, rows;
    float *sinograms;
    qb__prep_counts *counts; /* one per worker */
};

static void prepare_view(void *context, size_t task, int worker) {
    struct rows_job *job = context;
    size_t columns = job->info->columns, view = job->first + task;
    size_t row_bytes = columns * qb_dtype_size(job->info->dtype);
    for (size_t r = 0; r < job->rows; r++) {
        qb__prepare_row(job->prepare, view, job->row0 + r, job->raw + (task * job->rows + r) * row_bytes,
                        job->sinograms + (r * job->info->views + view) * columns, &job->counts[worker]);
    }
}

void qb__prep_counts_add(qb__prep_counts *sum, const qb__prep_counts *more) {
    sum->clamped += more->clamped;
    sum->not_finite += more->not_finite;
    sum->dead += more->dead;
    sum->saturated += more->saturated;
    sum->values += more->values;
    sum->placed += more->placed;
    sum->place = qb__pixel_key_first(sum->place, more->place);
}

qb_status qb__prepare_rows(const qb__prepare *prepare, qb_scan *scan, size_t row0, size_t row1, qb__pool *pool,
                           float *sinograms, qb__prep_counts *counts) {
    enum { THREAD_BYTES = 1 << 20, MOST = 16 /* threads */ };
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t view_bytes = (row1 - row0) * info->columns * qb_dtype_size(info->dtype);
    const int threads = qb__pool_threads(pool);
    size_t block = qb__smaller((size_t)threads, MOST) * THREAD_BYTES / qb__larger(1, view_bytes) + 1;
    block = qb__smaller(qb__round_up(block, qb__scan_views_together(scan)), info->views);
    void *raw = NULL;
    qb__prep_counts *partial = NULL;
    qb_status status;
    QB__TRY(qb__alloc(block, view_bytes, &raw));
    QB__TRY(qb__alloc((size_t)threads, sizeof *partial, &partial));
    struct rows_job job = {.prepare = prepare,
                           .info = info,
                           .raw = raw,
                           .row0 = row0,
                           .rows = row1 - row0,
                           .sinograms = sinograms,
                           .counts = partial};
    for (size_t first = 0; first < info->views; first += block) {
        size_t end = first + block < info->views ? first + block : info->views;
        QB__TRY(qb_scan_read(scan, first, end, row0, row1, raw));
        job.first = first;
        qb__pool_for(pool, end - first, prepare_view, &job);
    }
    for (int i = 0; counts && i < threads; i++) qb__prep_counts_add(counts, &partial[i]);
out:
    QB__FREE(raw, partial);
    return status;
}

qb_status qb__prepare_check(const char *path, const qb__prep_counts *counts, int threads) {
    qb__prep_counts sum = {0};
    for (int i = 0; i < threads; i++) qb__prep_counts_add(&sum, &counts[i]);
    if (sum.clamped + sum.not_finite + sum.dead + sum.saturated < sum.values || sum.values == 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s: none of its %llu values is usable (%llu not finite, %llu below the floor, "
                    "%llu with a dead flat, %llu saturated)",
                    path, (unsigned long long)sum.values, (unsigned long long)sum.not_finite,
                    (unsigned long long)sum.clamped, (unsigned long long)sum.dead, (unsigned long long)sum.saturated);
}

/* Text such as ", the first in view 3, row 1, column 7"; "" if some values have no known position. */
static const char *first_of(const qb__prepare *prepare, const qb__prep_counts *sum, char *where, size_t size) {
    *where = 0;
    if (sum->place && sum->placed == sum->not_finite)
        qb__print(where, size, ", the first in view %zu, row %zu, column %zu",
                  qb__scan_stored(prepare->scan, qb__pixel_key_view(sum->place)), qb__pixel_key_row(sum->place),
                  qb__pixel_key_column(sum->place));
    return where;
}

void qb__prepare_recount(qb__prepare *prepare) {
    if (prepare) qb__neighbours_recount(prepare->neighbours);
}

/* Numbers of pixels that corrections by neighbours have changed, on all ranks. */
static void report_neighbours(const qb__prepare *prepare, cJSON *entry, const qb_env *env) {
    uint64_t changed[QB__PREP_STEPS + 1] = {0};
    char name[40];
    const int steps = qb__neighbours_changed(prepare->neighbours, changed);
    if (steps == 0 || qb__comm_sum(qb__comm_of(env), QB_OK, changed, QB__PREP_STEPS + 1) != QB_OK) return;
    for (int i = 0; i < steps; i++) {
        const qb__step *step = qb__neighbours_step(prepare->neighbours, i);
        const char *by = qb__neighbours_by(prepare->neighbours);
        cJSON_AddNumberToObject(entry, step->name, (double)changed[i]);
        qb__print(name, sizeof name, "%s_by", step->name);
        cJSON_AddStringToObject(entry, name, by);
        qb__info(env, "%llu %s were replaced by the %s, %.2g per million pixels", (unsigned long long)changed[i],
                 step->changed, by,
                 changed[QB__PREP_STEPS] ? 1e6 * (double)changed[i] / (double)changed[QB__PREP_STEPS] : 0);
    }
}

/* Largest number of values that shifts and rotations of views take from outside the detector; rows may be read several
 * times. */
static double beyond_by_shifts(const qb_scan_info *info, double values) {
    const double line = (double)(info->views * info->columns), passes = ceil(values / (line * (double)info->rows));
    double columns = 0, rows = 0;
    for (size_t i = 0; info->shifts && i < info->views; i++) {
        const double turned = info->turns ? 0.5 * fabs(sin(info->turns[i])) : 0;
        columns += ceil((fabs(info->shifts[2 * i]) + turned * (double)info->whole_rows) / (double)info->bin[0]);
        rows += ceil((fabs(info->shifts[2 * i + 1]) + turned * (double)info->whole_columns) / (double)info->bin[1]);
    }
    return columns / line * values + passes * rows * (double)info->columns;
}

const cJSON *qb__prepare_report(const qb__prepare *prepare, const qb__prep_counts *counts, int threads, cJSON *report,
                                const qb_env *env) {
    qb__prep_counts sum = {0};
    char where[96];
    for (int i = 0; i < threads; i++) qb__prep_counts_add(&sum, &counts[i]);
    cJSON *entry = cJSON_AddObjectToObject(report, "preparation");
    cJSON_AddNumberToObject(entry, "clamped", (double)sum.clamped);
    cJSON_AddNumberToObject(entry, "not_finite", (double)sum.not_finite);
    cJSON_AddNumberToObject(entry, "dead", (double)sum.dead);
    cJSON_AddNumberToObject(entry, "saturated", (double)sum.saturated);
    report_neighbours(prepare, entry, env);
    for (size_t i = 0; qb__steps[i]; i++)
        if (*prepare->note[i]) cJSON_AddStringToObject(entry, qb__steps[i]->name, prepare->note[i]);
    if (sum.clamped)
        qb__warn(env, "%llu transmissions below %g were raised to it before -log" QB__CODE("transmission-floor"),
                 (unsigned long long)sum.clamped, (double)prepare->floor);
    const char *done = prepare->steps.keep_lost
                           ? "count as not measured"
                           : "were interpolated along their rows, or are air where a row has no value";
    const double beyond = beyond_by_shifts(&prepare->scan->info, (double)sum.values);
    const bool shifted = (double)sum.not_finite < beyond + 0.5; /* the product above is rounded */
    if (sum.not_finite && shifted)
        qb__info(env, "%llu values lie outside the detector, by what moved the views: they %s",
                 (unsigned long long)sum.not_finite, done);
    else if (sum.not_finite)
        qb__warn(env, "%llu values are NaN, infinite or beyond what a beam makes%s: they %s" QB__CODE("not-finite"),
                 (unsigned long long)sum.not_finite, first_of(prepare, &sum, where, sizeof where), done);
    if (sum.saturated)
        qb__warn(env, "%llu of %llu counts (%.2g %%) are saturated at %.0f%s: they %s" QB__CODE("saturated"),
                 (unsigned long long)sum.saturated, (unsigned long long)sum.values,
                 100 * (double)sum.saturated / (double)sum.values, qb__dtype_most(prepare->steps.dtype), prepare->worst,
                 done);
    return entry;
}
