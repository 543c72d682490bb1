/* SPDX-License-Identifier: MIT */
/* --paganin, --energy and --distance: their values for a scan, and options that are refused. */
#include "prep/paganin.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "geometry/vector.h"

static const double pi = 3.14159265358979323846;
const double qb__paganin_hc = 1.2398419843320026e-6;

qb_status qb__paganin_wanted(const qb_prep_options *options, bool *wanted) {
    *wanted = options->paganin && strcmp(options->paganin, "none") != 0;
    if (*wanted) return QB_OK;
    if (options->unsharp.count)
        return qb__fail(QB_BAD_ARGUMENT, "--unsharp sharpens what --paganin blurs: give --paganin DELTA_BETA, too");
    if (options->energy > 0 || options->distance > 0)
        return qb__fail(QB_BAD_ARGUMENT, "--%s %g is of phase retrieval alone: give --paganin DELTA_BETA, too",
                        options->energy > 0 ? "energy" : "distance",
                        options->energy > 0 ? options->energy : options->distance);
    return QB_OK;
}

/* ---- the option's text ---- */

typedef enum kind { RATIO, ALPHA, LENGTH, PIXELS } kind;

static qb_status parse(const char *text, kind *of, double *value) {
    static const struct {
        const char *unit;
        kind of;
        double factor;
    } units[] = {{"", RATIO, 1}, {"nm", LENGTH, 1e-6}, {"um", LENGTH, 1e-3}, {"mm", LENGTH, 1}, {"px", PIXELS, 1}};
    /* Factors of other programs: the frequency grid of httomolibgpu reaches twice as far, so its exponent is four times
     * as large. */
    static const struct {
        const char *name;
        kind of;
        double factor;
    } names[] = {{"alpha:", ALPHA, 1},
                 {"tomopy:", ALPHA, 1},
                 {"tomocupy:", ALPHA, 1},
                 {"nabu:", RATIO, 1},
                 {"httomo:", RATIO, 4}};
    enum { NAMES = sizeof names / sizeof names[0] };
    size_t n = 0;
    while (n < NAMES && strncmp(text, names[n].name, strlen(names[n].name)) != 0) n++;
    const char *number = n < NAMES ? text + strlen(names[n].name) : text;
    char *end;
    *value = qb__strtod(number, &end);
    if (*value > 0 && isfinite(*value) && end != number) {
        *of = n < NAMES ? names[n].of : RATIO;
        if (n < NAMES) *value *= names[n].factor;
        if (n < NAMES && !*end) return QB_OK;
        for (size_t i = 0; i < sizeof units / sizeof units[0] && n == NAMES; i++) {
            if (strcmp(end, units[i].unit) != 0) continue;
            *of = units[i].of;
            *value *= units[i].factor;
            return QB_OK;
        }
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "--paganin %s: give delta/beta (100), a length of the filter (25um, 4px) or alpha:1e-3, or "
                    "nabu:, tomopy:, tomocupy: or httomo: and its number, above 0",
                    text);
}

/* ---- the beam ---- */

typedef struct beam {
    double pixel[2];      /* mm in the object, along a row and a column; 0: not known */
    double distance;      /* mm from the object to the detector; 0: not known */
    double magnification; /* 1 for parallel beams */
    bool unknown;         /* a cone beam whose distances are not known */
} beam;

/* Distances of the source from the axis and from the detector's plane. */
static void distances(const qb_view *view, double *sod, double *sdd) {
    double n[3], f[3];
    qb__cross(view->u, view->v, n);
    for (int j = 0; j < 3; j++) f[j] = view->detector[j] - view->source[j];
    *sdd = fabs(qb__dot(f, n)) / qb__norm(n);
    *sod = hypot(view->source[0], view->source[1]);
}

static beam beam_of(const qb_scan_info *info, const qb_geometry *geometry) {
    beam b = {{info->pixel_size, info->pixel_v}, info->distance, 1, false};
    double sod = info->sod, sdd = info->sdd;
    if (geometry && geometry->views) {
        const qb_view *view = &geometry->view[geometry->views / 2];
        b.pixel[0] = qb__norm(view->u), b.pixel[1] = qb__norm(view->v);
        if (geometry->beam != QB_BEAM_CONE) return b;
        distances(view, &sod, &sdd);
    } else if (info->beam != QB_BEAM_CONE)
        return b;
    b.unknown = !(sod > 0) || !(sdd > sod);
    if (b.unknown) return b;
    b.magnification = sdd / sod;
    b.distance = sdd - sod;
    for (int i = 0; i < 2; i++) b.pixel[i] /= b.magnification;
    return b;
}

static qb_status check_distance(const qb_prep_options *options, const beam *b) {
    if (b->magnification > 1 && options->distance > 0 && fabs(options->distance / b->distance - 1) > 0.01)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--distance %g mm, but the detector is %g mm behind the axis by --sod and --sdd: leave "
                        "--distance out",
                        options->distance, b->distance);
    return QB_OK;
}

/* ---- the filter ---- */

static qb_status check_beam(const char *path, const qb__paganin *p, bool needed) {
    const char *why = needed ? "--paganin by delta/beta or alpha" : p->energy > 0 ? "--energy" : "--distance";
    if (p->energy > 0 && p->distance > 0) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: %s needs %s", path, why,
                    p->energy > 0     ? "the distance from the object to the detector: give --distance MM"
                    : p->distance > 0 ? "the energy of the beam: give --energy KEV"
                                      : "--energy KEV and --distance MM, which the scan does not state");
}

static qb_status check_length(const qb_scan_info *info, const qb__paganin *p) {
    const double width = (double)info->columns;
    const char *remedy = "check delta/beta, --energy in keV, --distance in mm and --pixel-size in mm";
    if (p->columns < 1 || p->rows < 1)
        return qb__fail(QB_BAD_ARGUMENT, "--paganin: the filter's length is %.3g pixels, less than one: %s",
                        fmin(p->columns, p->rows), remedy);
    if (p->columns > width)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--paganin: the filter's length is %.4g pixels, more than the detector's %zu columns: %s",
                        p->columns, info->columns, remedy);
    return QB_OK;
}

static qb_status take_length(const qb_scan_info *info, const beam *b, kind of, double value, qb__paganin *p) {
    p->pixels = !(b->pixel[0] > 0);
    if (of == PIXELS) {
        value /= info->image ? (double)info->bin[0] : 1; /* pixels of the whole, unbinned detector */
        p->length = p->pixels ? value : value * b->pixel[0];
        p->columns = value;
        p->rows = p->pixels ? value : p->length / b->pixel[1];
        return QB_OK;
    }
    if (p->pixels)
        return qb__fail(QB_BAD_ARGUMENT, "%s: --paganin needs the pixel size: give --pixel-size MM, or a length in px",
                        info->path);
    if (of == LENGTH) p->length = value;
    p->columns = p->length / b->pixel[0];
    p->rows = p->length / b->pixel[1];
    return QB_OK;
}

static qb_status take_unsharp(const qb_scan_info *info, const qb_numbers *given, qb__paganin *p) {
    const double sigma = given->count == 2 ? given->value[1] : 0;
    if (!given->count) return QB_OK;
    if (!(sigma >= 0.2 && 8 * sigma <= (double)info->whole_columns) || !(given->value[0] >= 0))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--unsharp: give C,SIGMA such as 4,1.5 with 0.2 <= SIGMA <= %g, an eighth of the detector",
                        (double)info->whole_columns / 8);
    p->unsharp = given->value[0];
    for (int i = 0; i < 2; i++) p->sigma[i] = sigma / (info->image ? (double)info->bin[i] : 1);
    return QB_OK;
}

qb_status qb__paganin_of(const qb_scan_info *info, const qb_geometry *geometry, const qb_prep_options *options,
                         qb__paganin *p) {
    const beam b = beam_of(info, geometry);
    kind of = RATIO;
    double value;
    qb_status status;
    *p = (qb__paganin){.generalised = options->paganin_kernel == QB_PAGANIN_GENERALISED,
                       .magnification = b.magnification,
                       .energy = options->energy > 0 ? options->energy : info->energy};
    if (info->quantity == QB_LINE_INTEGRAL)
        return qb__fail(QB_BAD_INPUT, "%s: --paganin works on counts or transmissions, not on line integrals (%s)",
                        info->path, info->quantity_from);
    QB__TRY(parse(options->paganin, &of, &value));
    if (b.unknown && of != PIXELS)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: --paganin of a cone beam needs the distances of source and detector, which are not known "
                        "here: give a length in pixels, as 4px",
                        info->path);
    QB__TRY(check_distance(options, &b));
    const bool ratio = of == RATIO || of == ALPHA;
    const double distance = b.magnification > 1 || !(options->distance > 0) ? b.distance : options->distance;
    p->distance = distance / b.magnification;
    if (ratio || options->energy > 0 || options->distance > 0) QB__TRY(check_beam(info->path, p, ratio));
    /* the square of the length L is this times delta/beta */
    const double square = p->energy > 0 ? pi * qb__paganin_hc / p->energy * p->distance : 0;
    if (ratio) {
        p->delta_beta = of == RATIO ? value : 1 / (4 * pi * pi * value);
        p->length = sqrt(square * p->delta_beta);
    }
    QB__TRY(take_length(info, &b, of, value, p));
    if (!ratio && square > 0 && !p->pixels) p->delta_beta = p->length * p->length / square;
    if (p->delta_beta > 0) p->alpha = 1 / (4 * pi * pi * p->delta_beta);
    QB__TRY(check_length(info, p));
    status = take_unsharp(info, &options->unsharp, p);
out:
    return status;
}

void qb__paganin_text(const qb__paganin *p, char *text, size_t size) {
    char from[200] = "", cone[80] = "", sharper[80] = "";
    if (p->delta_beta > 0)
        qb__print(from, sizeof from, ", delta/beta %.6g, alpha 1/(4 pi^2 delta/beta) %.4g, %.6g keV, %.6g mm",
                  p->delta_beta, p->alpha, p->energy, p->distance);
    if (p->magnification > 1)
        qb__print(cone, sizeof cone, " (effective distance, magnification %.4g)", p->magnification);
    if (p->unsharp > 0)
        qb__print(sharper, sizeof sharper, " (1 + %.4g (1 - G)), sigma %.4g pixels", p->unsharp, p->sigma[0]);
    qb__print(text, size, "%s%s, L = %.6g %s (%.4g pixels)%s%s",
              p->generalised ? "1/(1 + (L/(2 pi p))^2 (4 - 2 cos kx - 2 cos ky))" : "1/(1 + (L f)^2)", sharper,
              p->pixels ? p->length : 1000 * p->length, p->pixels ? "pixels" : "um", p->columns, from,
              p->delta_beta > 0 ? cone : "");
}
