/* SPDX-License-Identifier: MIT */
#include "simulate/simulate.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/mbirct/mbirct.h"
#include "io/writer.h"
#include "prep/prep.h"
#include "quickbeam/io.h"

enum { DARKS = 10, BAND_PIXELS = 32768 };

static size_t flats_of(const qb__simulation *s) { return s->flat_series * QB__SIMULATED_FLATS; }

/* The view before which a flat is taken. */
static double flat_view(const qb__simulation *s, size_t flat) {
    const double of = (double)(flat / QB__SIMULATED_FLATS);
    return s->flat_series > 1 ? (double)s->views * of / (double)(s->flat_series - 1) : 0;
}

/* A chunk of views is divided into bands of rows, one task each. */
typedef struct exposure {
    const qb__simulation *simulation;
    size_t first;       /* first view of the chunk */
    size_t band, bands; /* rows of a band; bands in a view */
    size_t pixel_bytes;
    char *out;     /* the chunk */
    char *scratch; /* per worker: a band of line integrals, then scratch of the phantom */
    size_t scratch_bytes;
    size_t *clipped; /* [workers] */
    /* converts to line integrals if the file holds these; NULL: the file gets the detector's values */
    const qb__prep *lines;
} exposure;

static size_t row_end(const exposure *e, size_t row) {
    size_t end = row + e->band, rows = e->simulation->rows;
    return end < rows ? end : rows;
}

static void expose_band(void *context, size_t task, int worker) {
    const exposure *e = context;
    const qb__simulation *s = e->simulation;
    size_t view = task / e->bands, row = task % e->bands * e->band, end = row_end(e, row);
    size_t columns = s->columns;
    double *line = (double *)(e->scratch + (size_t)worker * e->scratch_bytes);
    qb__phantom_project(&s->phantom, &s->exposed, e->first + view, row, end, line, line + e->band * columns);
    if (s->polychromatic.both)
        qb__polychromatic_apply_two(&s->polychromatic, &s->exposed, e->first + view, row, end, line,
                                    line + e->band * columns, line + 2 * e->band * columns);
    else
        qb__polychromatic_apply(&s->polychromatic, (end - row) * columns, line);
    for (size_t i = 0; i < (end - row) * columns; i++) line[i] = exp(-line[i]);
    if (qb__faults_of_views(&s->faults)) qb__faults_apply_view(&s->faults, line, line + e->band * columns);
    for (; row < end; row++, line += columns) {
        char *place = e->out + (view * s->rows + row) * columns * e->pixel_bytes;
        char *out = e->lines ? e->scratch + (size_t)(worker + 1) * e->scratch_bytes - columns * sizeof(float) : place;
        qb__faults_apply(&s->faults, e->first + view, row, line);
        if (s->options->photons > 0) {
            e->clipped[worker] +=
                qb__detector_expose(&s->detector, QB__FRAME_VIEW, e->first + view, row, line, (uint16_t *)out);
        } else {
            for (size_t c = 0; c < columns; c++) ((float *)out)[c] = (float)(line[c] * s->detector.fault[c]);
        }
        qb__prep_counts counts = {0};
        if (e->lines) qb__prep_row(e->lines, e->first + view, row, out, (float *)place, &counts);
    }
}

typedef struct field {
    const qb__simulation *simulation;
    enum qb__simulated_frame kind;
    qb_array frames;
    double *lines; /* [workers][columns] */
} field;

static void expose_field(void *context, size_t task, int worker) {
    const field *f = context;
    const qb__simulation *s = f->simulation;
    size_t rows = f->frames.shape[1], columns = f->frames.shape[2];
    double *line = f->lines + (size_t)worker * columns;
    for (size_t row = 0; row < rows; row++) {
        for (size_t c = 0; c < columns; c++) line[c] = 1;
        if (f->kind == QB__FRAME_FLAT)
            qb__faults_of_flat(&s->faults, task, s->flat_series > 1 ? flat_view(s, task) : NAN, row, line);
        qb__detector_expose(&s->detector, f->kind, task, row, line,
                            (uint16_t *)f->frames.data + (task * rows + row) * columns);
    }
}

static qb_status make_field(field *f, size_t frames) {
    const qb__simulation *s = f->simulation;
    qb_status status;
    QB__TRY(qb_array_create(QB_U16, frames, s->rows, s->columns, &f->frames));
    QB__TRY(qb__alloc((size_t)qb__pool_threads(s->pool) * s->columns, sizeof *f->lines, &f->lines));
    qb__pool_for(s->pool, frames, expose_field, f);
out:
    qb__free(f->lines);
    return status;
}

/* True for output in sv-mbirct's form, which holds line integrals only. */
static bool wants_lines(const qb__simulation *s) { return qb__mbirct_is_scan(s->options->output); }

/* The view before which each flat is taken; NULL: all flats before the first view. */
static qb_status find_flat_views(const qb__simulation *s, double **views) {
    const size_t count = s->flat_series > 1 ? flats_of(s) : 0;
    *views = NULL;
    const qb_status status = count ? qb__alloc(count, sizeof **views, views) : QB_OK;
    for (size_t i = 0; status == QB_OK && i < count; i++) (*views)[i] = flat_view(s, i);
    return status;
}

static qb_status open_scan(const qb__simulation *s, const qb_array *flats, const qb_array *darks, qb_writer **writer) {
    const bool lines = wants_lines(s), counts = s->options->photons > 0 && !lines;
    qb_stack stack = {
        .dtype = counts ? QB_U16 : QB_F32,
        .shape = {s->views, s->rows, s->columns},
        .voxel = {s->pixel, s->pixel_v, 0},
        .units = counts ? "counts" : "",
        .quantity = qb_quantity_name(counts  ? QB_COUNTS
                                     : lines ? QB_LINE_INTEGRAL
                                             : QB_TRANSMISSION),
        .scale_low = 0,
        .scale_high = 65535,
        .description = "quickbeam simulated scan",
        .angles = s->angles,
        .beam = s->geometry.beam,
        .flats = counts ? flats : NULL,
        .darks = counts ? darks : NULL,
        .axis = qb__simulate_axis(s),
    };
    double *flat_views;
    qb_status status = find_flat_views(s, &flat_views);
    stack.flat_views = counts ? flat_views : NULL;
    if (status == QB_OK) status = qb__writer_create(s->set, NULL, s->options->output, &stack, writer);
    qb__free(flat_views);
    return status;
}

/* Conversion of the detector's values into line integrals. */
typedef struct line_maker {
    qb__prep prep;
    qb_prep_options options;
    float *flat, *dark, *gain; /* [row][column]; only for counts */
} line_maker;

static void mean_of(const qb_array *frames, size_t pixels, float *mean) {
    const uint16_t *value = frames->data;
    for (size_t i = 0; i < pixels; i++) {
        double sum = 0;
        for (size_t f = 0; f < frames->shape[0]; f++) sum += value[f * pixels + i];
        mean[i] = (float)(sum / (double)frames->shape[0]);
    }
}

static qb_status make_lines(const qb__simulation *s, const qb_array *flats, const qb_array *darks, line_maker *l) {
    const bool counts = s->options->photons > 0;
    const size_t pixels = s->rows * s->columns;
    uint64_t dead = 0;
    QB__OR_RETURN(qb__params_view(qb_prep_params, NULL, &l->options));
    l->prep = (qb__prep){.quantity = counts ? QB_COUNTS : QB_TRANSMISSION,
                         .dtype = counts ? QB_U16 : QB_F32,
                         .columns = s->columns,
                         .floor = (float)l->options.transmission_floor};
    if (counts) {
        QB__OR_RETURN(qb__alloc(pixels, sizeof(float), &l->flat));
        QB__OR_RETURN(qb__alloc(pixels, sizeof(float), &l->dark));
        QB__OR_RETURN(qb__alloc(pixels, sizeof(float), &l->gain));
        mean_of(flats, pixels, l->flat);
        mean_of(darks, pixels, l->dark);
        qb__prep_gain(l->flat, l->dark, pixels, l->gain, &dead);
        l->prep.dark = l->dark;
        l->prep.gain = l->gain;
    }
    qb__prep_begin(&l->prep, &l->options);
    return QB_OK;
}

static void release_lines(line_maker *l) { QB__FREE(l->flat, l->dark, l->gain); }

static void cut_views(const qb__simulation *s, exposure *e) {
    *e = (exposure){.simulation = s, .pixel_bytes = s->options->photons > 0 && !wants_lines(s) ? 2 : 4};
    const bool whole = qb__faults_of_views(&s->faults);
    e->band = whole ? s->rows : BAND_PIXELS / s->columns + 1;
    if (e->band > s->rows) e->band = s->rows;
    e->bands = (s->rows + e->band - 1) / e->band;
    e->scratch_bytes = ((s->polychromatic.both ? 2 : 1) * e->band * s->columns * sizeof(double) +
                        s->columns * sizeof(float) + qb__phantom_scratch(&s->phantom, s->columns) +
                        (whole ? s->rows * (s->columns + 1) * sizeof(double) : 0) + 63) /
                       64 * 64;
}

qb__simulate_bytes qb__simulate_needs(const qb__simulation *s) {
    const double pixels = (double)s->rows * (double)s->columns;
    exposure e;
    cut_views(s, &e);
    return (qb__simulate_bytes){
        .view = pixels * (double)e.pixel_bytes,
        .scratch = (double)qb__pool_threads(s->pool) * (double)e.scratch_bytes,
        .fields =
            s->options->photons > 0 ? pixels * (2.0 * (double)(flats_of(s) + DARKS) + (wants_lines(s) ? 12 : 0)) : 0};
}

static qb_status prepare(const qb__simulation *s, exposure *e) {
    size_t threads = (size_t)qb__pool_threads(s->pool), image;
    cut_views(s, e);
    if (!qb__mul(s->rows, s->columns, e->pixel_bytes, &image))
        return qb__fail(QB_NO_MEMORY, "a view of %zu x %zu is too large", s->columns, s->rows);
    QB__OR_RETURN(qb__alloc(threads, sizeof *e->clipped, &e->clipped));
    QB__OR_RETURN(qb__alloc(threads, e->scratch_bytes, &e->scratch));
    return qb__alloc(s->scan.slices, image, &e->out);
}

static void release(exposure *e) { QB__FREE(e->clipped, e->scratch, e->out); }

static qb_status expose_views(const qb__simulation *s, const qb__prep *lines, qb_writer *writer, const qb_env *env) {
    exposure e;
    const size_t chunk = s->scan.slices;
    size_t clipped = 0;
    qb_status status;
    QB__TRY(prepare(s, &e));
    e.lines = lines;
    for (size_t view = 0; view < s->views; view += chunk) {
        size_t end = view + chunk < s->views ? view + chunk : s->views;
        e.first = view;
        QB__TRY(qb__check_cancel(env));
        qb__pool_for(s->pool, (end - view) * e.bands, expose_band, &e);
        QB__TRY(qb_writer_write(writer, view, end, e.out));
        qb__progress(env, "simulate", end, s->views);
    }
    for (int i = 0; i < qb__pool_threads(s->pool); i++) clipped += e.clipped[i];
    if (clipped)
        qb__warn(env, "%zu pixels are saturated: clipped at 65535 counts" QB__CODE("simulate-saturated"), clipped);
out:
    release(&e);
    return status;
}

/* Not every format can hold a whole scan. */
static void warn_of_losses(const qb__simulation *s, const qb_writer *writer, const qb_env *env) {
    bool fields = s->options->photons > 0 && !writer->kind->keeps_fields && !wants_lines(s);
    bool angles = !writer->kind->keeps_angles && s->geometry.beam != QB_BEAM_CONE; /* a cone's geometry has them */
    if (fields || angles)
        qb__warn(env, "%s cannot hold the scan's %s%s%s: write .h5" QB__CODE("output-format"), writer->path,
                 fields ? "flats and darks" : "", fields && angles ? ", nor its " : "", angles ? "angles" : "");
}

/* Write everything. The scan opens the set, because the first file of a set appears only together with the others. */
qb_status qb__simulate_write(const qb__simulation *s, const qb_env *env) {
    field flat = {.simulation = s, .kind = QB__FRAME_FLAT}, dark = {.simulation = s, .kind = QB__FRAME_DARK};
    const bool describes = qb__simulate_describes(s->options);
    qb_writer *writer = NULL;
    line_maker l = {0};
    qb_status status;
    if (s->options->photons > 0) {
        QB__TRY(make_field(&flat, flats_of(s)));
        QB__TRY(make_field(&dark, DARKS));
    }
    if (!describes) {
        QB__TRY(open_scan(s, &flat.frames, &dark.frames, &writer));
        warn_of_losses(s, writer, env);
    }
    if (s->options->truth) QB__TRY(qb__simulate_truth(s, env));
    if (s->options->geometry_out) QB__TRY(qb__simulate_geometry(s));
    if (describes) {
        status = qb__simulate_describe(s);
        goto out;
    }
    if (wants_lines(s)) QB__TRY(make_lines(s, &flat.frames, &dark.frames, &l));
    QB__TRY(expose_views(s, wants_lines(s) ? &l.prep : NULL, writer, env));
    status = qb__simulate_finish(s, &writer);
out:
    qb_writer_abort(writer);
    release_lines(&l);
    qb_array_destroy(&flat.frames);
    qb_array_destroy(&dark.frames);
    return status;
}
