/* SPDX-License-Identifier: MIT */
#include "simulate/faults.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status.h"
#include "io/scan/places.h"
#include "simulate/detector.h"

enum {
    STREAM_PLACE = 6, /* streams of random numbers of fault kinds, then of frames; lower ones are the detector's */
    STREAM_FLICKER,
    STREAMS,
    FRAMES = 13, /* first stream of frames after STREAM_PLACE; those of columns are below */
    EDGE = 4,    /* columns at both ends without faults */
    APART = 4,   /* columns between two faulty ones */
    TRIES = 200  /* tries to find a free place */
};

/* per_hundred: number of faults per 100 columns, at least two; 0: VALUE is their number, or the fault is one of the
 * beam. most: the largest VALUE; 0: VALUE is a file. */
static const struct {
    const char *name;
    double most;
    double per_hundred;
    size_t narrowest, widest; /* width in columns */
} kinds[QB__FAULT_KINDS] = {
    [QB__FAULT_WIDE] = {"wide", 0.5, 1, 5, 12},
    [QB__FAULT_PARTIAL] = {"partial", 0.5, 2, 1, 1},
    [QB__FAULT_DRIFTING] = {"drifting", 0.5, 2, 1, 1},
    [QB__FAULT_DEAD] = {"dead", 1000, 0, 1, 1},
    [QB__FAULT_FLICKER] = {"flicker", 1000, 0, 1, 1},
    [QB__FAULT_TILT] = {"tilt", 0.5, 0, 0, 0},
    [QB__FAULT_FADE] = {"fade", 0.9, 0, 0, 0},
    [QB__FAULT_MOVE] = {"move", 1000, 0, 0, 0},
    [QB__FAULT_SWAY] = {"sway", 1000, 0, 0, 0},
    [QB__FAULT_SCATTER] = {"scatter", 1, 0, 0, 0},
    [QB__FAULT_SMOOTH] = {"smooth", 0.5, 0, 0, 0},
    [QB__FAULT_DISTORTION] = {"distortion", 0.2, 0, 0, 0},
    [QB__FAULT_COLLIMATOR] = {"collimator", 1000, 0, 0, 0},
    [QB__FAULT_ZINGERS] = {"zingers", 0.01, 0, 0, 0},
    [QB__FAULT_BLANK] = {"blank", 0.5, 0, 0, 0},
    [QB__FAULT_PHASE] = {"phase", 100, 0, 0, 0},
    [QB__FAULT_SHIFTS] = {"shifts", 0, 0, 0, 0},
};

static qb_status load_shifts(const char *from, qb__detector_faults *f) {
    char path[PATH_MAX];
    const size_t length = strcspn(from, ",");
    if (length == 0 || length >= sizeof path)
        return qb__fail(QB_BAD_ARGUMENT, "--faults shifts=%.60s: give the file of --shifts", from);
    qb__print(path, sizeof path, "%.*s", (int)length, from);
    qb__free(f->shift);
    const qb_status status = qb__alloc(f->views, sizeof *f->shift, &f->shift);
    return status == QB_OK ? qb__shifts_load(path, f->views, f->shift) : status;
}

static qb_status parse_one(const char *text, const char *from, qb__detector_faults *f) {
    for (int i = 0; i < QB__FAULT_KINDS; i++) {
        const size_t length = strlen(kinds[i].name);
        char *end;
        if (strncmp(from, kinds[i].name, length) != 0 || from[length] != '=') continue;
        if (kinds[i].most == 0) return load_shifts(from + length + 1, f);
        const double value = qb__strtod(from + length + 1, &end);
        const bool counted = kinds[i].narrowest > 0 && kinds[i].per_hundred == 0;
        if (end == from + length + 1 || (*end && *end != ',')) break;
        if (!(value > 0 && value <= kinds[i].most) || (counted && value != floor(value)))
            return qb__fail(QB_BAD_ARGUMENT, "--faults %s: %s takes %s above 0, up to %g", text, kinds[i].name,
                            counted ? "a number of columns" : "a number", kinds[i].most);
        f->amount[i] = value;
        return QB_OK;
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "--faults %s: give KIND=VALUE of wide, partial, drifting, dead, flicker, tilt, fade, move, sway, "
                    "scatter, smooth, distortion, collimator, zingers, blank, phase or shifts",
                    text);
}

static qb_status parse(const char *text, qb__detector_faults *f) {
    for (const char *at = text;;) {
        QB__OR_RETURN(parse_one(text, at, f));
        at += strcspn(at, ",");
        if (!*at) return QB_OK;
        at++;
    }
}

static bool is_free(const qb__detector_faults *f, size_t first, size_t width) {
    for (size_t c = first - APART; c < first + width + APART; c++)
        if (c < f->columns && f->column[c].kind >= 0) return false;
    return true;
}

/* Add one fault of that kind, if there is a free place. */
static void put(qb__detector_faults *f, int kind, qb__random *random) {
    const size_t width =
        kinds[kind].narrowest +
        (size_t)(qb__random_unit(random) * (double)(kinds[kind].widest - kinds[kind].narrowest + 1) * 0.9999);
    if (f->columns < 2 * EDGE + width + 1) return;
    for (int i = 0; i < TRIES; i++) {
        const double room = (double)(f->columns - 2 * EDGE - width);
        const size_t first = EDGE + (size_t)(qb__random_unit(random) * room);
        if (!is_free(f, first, width)) continue;
        const double part = 0.25 + 0.25 * qb__random_unit(random), begin = (1 - part) * qb__random_unit(random);
        const double sign = qb__random_unit(random) < 0.5 ? -1 : 1;
        const qb__fault_column fault = {
            .kind = kind,
            .size = (float)(f->amount[kind] * sign * (0.5 + qb__random_unit(random))),
            .view0 = (size_t)(begin * (double)f->views),
            .view1 = (size_t)((begin + part) * (double)f->views),
        };
        for (size_t c = first; c < first + width; c++) f->column[c] = fault;
        return;
    }
}

qb_status qb__faults_create(const char *text, size_t views, size_t rows, size_t columns, uint64_t seed,
                            qb__detector_faults *faults) {
    *faults = (qb__detector_faults){.views = views, .rows = rows, .columns = columns, .seed = seed};
    if (!text) return QB_OK;
    qb_status status = parse(text, faults);
    if (status == QB_OK) status = qb__alloc(columns, sizeof *faults->column, &faults->column);
    if (status != QB_OK) return status;
    for (size_t c = 0; c < columns; c++) faults->column[c].kind = -1;
    for (int kind = 0; kind < QB__FAULT_KINDS; kind++) {
        if (faults->amount[kind] == 0 || kinds[kind].narrowest == 0) continue;
        const double wanted = kinds[kind].per_hundred > 0 ? kinds[kind].per_hundred * (double)columns / 100 : 0;
        const size_t count = wanted > 0 ? (size_t)fmax(2, wanted) : (size_t)faults->amount[kind];
        qb__random random = qb__random_stream(seed * STREAMS + STREAM_PLACE, (uint64_t)kind);
        for (size_t i = 0; i < count; i++) put(faults, kind, &random);
    }
    return QB_OK;
}

void qb__faults_destroy(qb__detector_faults *faults) {
    QB__FREE(faults->column, faults->shift);
    *faults = (qb__detector_faults){0};
}

static double of_column(const qb__detector_faults *f, size_t view, size_t row, size_t c) {
    const qb__fault_column *fault = &f->column[c];
    const double size = (double)fault->size;
    switch (fault->kind) {
    case QB__FAULT_WIDE: return 1 + size;
    case QB__FAULT_PARTIAL: return view >= fault->view0 && view < fault->view1 ? 1 + size : 1;
    case QB__FAULT_DRIFTING: return 1 + size * (f->views > 1 ? (double)view / (double)(f->views - 1) : 0);
    case QB__FAULT_DEAD: return 0;
    case QB__FAULT_FLICKER: {
        qb__random random =
            qb__random_stream(f->seed * STREAMS + STREAM_FLICKER, ((uint64_t)view * f->rows + row) * f->columns + c);
        return 0.05 + 1.9 * qb__random_unit(&random);
    }
    default: return 1;
    }
}

/* Stripes along the rows: their share of the beam, and their height in rows; they lie elsewhere in each frame. */
static double stripes(const qb__detector_faults *f, bool flat, size_t frame, size_t row) {
    const double SHARE = 0.05, PERIOD = 12;
    if (f->amount[QB__FAULT_SWAY] == 0) return 1;
    qb__random random = qb__random_stream(f->seed * STREAMS + STREAM_PLACE, FRAMES + 2 * frame + flat);
    const double radius = sqrt(-2 * log(qb__random_unit(&random)));
    const double shift = f->amount[QB__FAULT_SWAY] * radius * cos(2 * M_PI * qb__random_unit(&random));
    return 1 + SHARE * sin(2 * M_PI * ((double)row - shift) / PERIOD);
}

/* Collimator blades cover columns at both ends, and half of the next column. */
static double of_blades(const qb__detector_faults *f, size_t c) {
    const double inside = (double)(c < f->columns - 1 - c ? c : f->columns - 1 - c) - f->amount[QB__FAULT_COLLIMATOR];
    return f->amount[QB__FAULT_COLLIMATOR] == 0 || inside > 0.5 ? 1 : inside > -0.5 ? 0.5 : 0;
}

/* The beam at a time of the scan: 0 in the first view, 1 in the last. */
static double of_beam(const qb__detector_faults *f, double part, size_t row, size_t c) {
    const double moved = f->amount[QB__FAULT_MOVE] * part;
    const double x = qb__across((double)c, f->columns), y = qb__across((double)row, f->rows);
    const double factor =
        of_blades(f, c) * (1 - f->amount[QB__FAULT_FADE] * part) * (1 + f->amount[QB__FAULT_TILT] * part * x);
    return moved != 0 ? factor * qb__beam(qb__across((double)c - moved, f->columns), y) / qb__beam(x, y) : factor;
}

/* Share of the views without beam. */
static bool is_blank(const qb__detector_faults *f, size_t view) {
    qb__random random = qb__random_stream(~f->seed, view);
    return f->amount[QB__FAULT_BLANK] > 0 && qb__random_unit(&random) < f->amount[QB__FAULT_BLANK];
}

/* Brightness of a zinger in units of the open beam; 0: none. */
static double zinger(const qb__detector_faults *f, size_t view, size_t row, size_t c) {
    const double share = f->amount[QB__FAULT_ZINGERS];
    if (!(share > 0)) return 0;
    qb__random random = qb__random_stream(~f->seed, ((uint64_t)(view + 1) << 40) + row * f->columns + c);
    return qb__random_unit(&random) < share ? 0.5 + 1.5 * qb__random_unit(&random) : 0;
}

void qb__faults_apply(const qb__detector_faults *f, size_t view, size_t row, double *transmission) {
    if (!f->column) return;
    const double part = f->views > 1 ? (double)view / (double)(f->views - 1) : 0;
    const double striped = stripes(f, false, view, row);
    for (size_t c = 0; c < f->columns; c++)
        transmission[c] = (transmission[c] + f->amount[QB__FAULT_SCATTER]) * of_column(f, view, row, c) *
                          of_beam(f, part, row, c) * striped;
    const bool blank = is_blank(f, view);
    for (size_t c = 0; c < f->columns; c++) transmission[c] = (blank ? 0 : transmission[c]) + zinger(f, view, row, c);
}

void qb__faults_of_flat(const qb__detector_faults *f, size_t flat, double view, size_t row, double *transmission) {
    if (!f->column) return;
    const double part = isnan(view) || f->views < 2 ? 0 : (view - 0.5) / (double)(f->views - 1);
    const double striped = stripes(f, true, flat, row);
    for (size_t c = 0; c < f->columns; c++) transmission[c] *= of_beam(f, part, row, c) * striped;
}
