/* SPDX-License-Identifier: MIT */
/* Positions of the views of a simulated scan: parallel, a circle with or without misalignments, or from a file. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/circle.h"
#include "geometry/grid.h"
#include "geometry/parallel.h"
#include "geometry/units.h"
#include "geometry/vector.h"
#include "quickbeam/scan.h"
#include "simulate/simulate.h"

enum { COLUMNS = 256 };
static const double field_of_view = 256; /* mm */

static qb_status whole(const qb_numbers *numbers, const char *flag, int most) {
    if (numbers->count > most) return qb__fail(QB_BAD_ARGUMENT, "--%s takes at most %d numbers", flag, most);
    for (int i = 0; i < numbers->count; i++) {
        if (numbers->value[i] != floor(numbers->value[i]) || !(numbers->value[i] >= 1))
            return qb__fail(QB_BAD_ARGUMENT, "--%s %g: is not a number of pixels", flag, numbers->value[i]);
    }
    return QB_OK;
}

static size_t number(const qb_numbers *numbers, int index) { return (size_t)numbers->value[index]; }

/* If only detector or box is given, the other follows from it; a single number stands for all sides. */
static void decide_detector(qb__simulation *s) {
    const qb_numbers *detector = &s->options->detector, *size = &s->options->size;
    s->rows = s->columns = COLUMNS;
    if (size->count) s->rows = s->columns = number(size, 0);
    if (size->count > 1 && number(size, 1) > s->columns) s->columns = number(size, 1);
    if (size->count > 2) s->rows = number(size, 2);
    if (detector->count) s->rows = s->columns = number(detector, 0);
    if (detector->count > 1) s->rows = number(detector, 1);
}

/* The box that the detector sees, also of a rotated one, centred on the origin. */
static void decide_box(qb__simulation *s) {
    const qb_numbers *size = &s->options->size;
    size_t *n = s->grid.n;
    qb_grid usual;
    qb_grid_default(&s->geometry, &usual);
    for (int k = 0; k < 3; k++) n[k] = usual.n[k];
    if (size->count) n[0] = n[1] = number(size, 0);
    if (size->count > 1) n[1] = number(size, 1);
    if (size->count > 2) n[2] = number(size, 2);
}

static const char *fault(const qb_simulate_options *o) {
    return o->offset         ? "detector-offset"
           : o->radius > 0   ? "detector-radius"
           : o->tilt.count   ? "tilt"
           : o->jitter.count ? "jitter"
                             : NULL;
}

static qb_status decide_lengths(qb__simulation *s, bool cone) {
    const qb_simulate_options *o = s->options;
    if (!cone && (o->sod > 0 || o->sdd > 0))
        return qb__fail(QB_BAD_ARGUMENT, "--sod and --sdd are for --geometry cone");
    if (!cone && fault(o))
        return qb__fail(QB_BAD_ARGUMENT, "--%s is for --geometry cone (--center-offset is for both)", fault(o));
    if (cone && !(o->sod > 0 && o->sdd >= o->sod))
        return qb__fail(QB_BAD_ARGUMENT, "a cone beam needs --sod and --sdd, in mm, the second not "
                                         "the smaller");
    double magnification = cone ? o->sdd / o->sod : 1;
    double pixel[2];
    QB__OR_RETURN(qb__pixels(o->pixel_size, &o->pixels, pixel));
    s->pixel = pixel[0], s->pixel_v = pixel[1];
    if (!(s->pixel > 0)) s->pixel = s->pixel_v = field_of_view * magnification / (double)s->columns;
    for (int k = 0; k < 3; k++) s->grid.voxel[k] = (k < 2 ? s->pixel : s->pixel_v) / magnification;
    s->center = 0.5 * ((double)s->columns - 1) + o->center_offset;
    return QB_OK;
}

/* --views, else the number of --angles, else from the number of columns. */
static qb_status decide_views(qb__simulation *s) {
    const char *angles = s->options->angles;
    qb_status status = QB_OK;
    s->views = (size_t)s->options->views;
    if (!s->views && angles) status = qb_angles_count(angles, &s->views);
    if (!s->views) s->views = (size_t)lround(M_PI / 2 * (double)s->columns);
    return status;
}

static qb_status decide_angles(qb__simulation *s, bool cone) {
    const char *text = s->options->angles;
    if (!text) text = cone ? "0:360" : "0:180";
    qb_status status = decide_views(s);
    if (status == QB_OK) status = qb__alloc(s->views, sizeof *s->angles, &s->angles);
    return status == QB_OK ? qb_angles_parse(text, s->views, s->angles) : status;
}

static qb_status make_circle(qb__simulation *s, const qb_env *env) {
    const qb_simulate_options *o = s->options;
    const qb_geometry_options options = {
        .sod = o->sod, .sdd = o->sdd, .offset = o->offset, .radius = o->radius, .tilt = o->tilt, .jitter = o->jitter};
    const qb_detector detector = {s->rows, s->columns, s->pixel, s->pixel_v, -o->center_offset * s->pixel, 0};
    qb__circle fitted;
    qb_status status = qb_geometry_make(&options, s->views, s->angles, &detector, env, &s->geometry);
    if (status != QB_OK || s->plain) return status;
    status = qb__circle_fit(&s->geometry, &fitted);
    s->center = fitted.column;
    return status;
}

qb_status qb__simulate_adopt(qb__simulation *s, const qb_simulate_options *options) {
    qb__circle circle;
    const qb_geometry *g = &s->geometry;
    s->options = options;
    QB__OR_RETURN(qb__alloc(g->views, sizeof *s->angles, &s->angles));
    qb__view_angles(g, s->angles);
    QB__OR_RETURN(qb__circle_fit(g, &circle));
    s->from_file = true;
    s->views = g->views, s->rows = g->rows, s->columns = g->columns;
    s->pixel = qb__norm(g->view[0].u), s->pixel_v = qb__norm(g->view[0].v);
    s->center = circle.column;
    s->astray = circle.error;
    qb_grid_default(g, &s->grid);
    s->grid.offset[2] = 0; /* the phantom is centred on the origin, wherever the detector looks */
    return QB_OK;
}

static qb_status take_file(qb__simulation *s, const qb_env *env) {
    const qb_simulate_options *o = s->options;
    const qb_numbers *pixels = &o->detector;
    const qb_geometry_options options = {.geometry = o->geometry,
                                         .sod = o->sod,
                                         .sdd = o->sdd,
                                         .offset = o->offset,
                                         .radius = o->radius,
                                         .tilt = o->tilt,
                                         .jitter = o->jitter};
    double pixel[2];
    QB__OR_RETURN(qb__pixels(o->pixel_size, &o->pixels, pixel));
    qb_detector detector = {.pixel_u = pixel[0], .pixel_v = pixel[1]};
    if (pixels->count) detector.rows = detector.columns = number(pixels, 0);
    if (pixels->count > 1) detector.rows = number(pixels, 1);
    if (o->angles || o->center_offset != 0)
        return qb__fail(QB_BAD_ARGUMENT, "--geometry %s states the angles and the axis: leave out --%s", o->geometry,
                        o->angles ? "angles" : "center-offset");
    const qb_status status = qb_geometry_make(&options, (size_t)o->views, NULL, &detector, env, &s->geometry);
    return status == QB_OK ? qb__simulate_adopt(s, s->options) : status;
}

double qb__simulate_axis(const qb__simulation *s) {
    return s->astray < 1e-3 ? s->center - ((double)s->columns - 1) / 2 : NAN;
}

qb_status qb__simulate_place(qb__simulation *s, const qb_simulate_options *options, const qb_env *env) {
    const qb_simulate_options *o = s->options = options;
    const char *name = o->geometry ? o->geometry : "parallel";
    bool cone = strcmp(name, "cone") == 0;
    QB__OR_RETURN(whole(&o->detector, "detector", 2));
    QB__OR_RETURN(whole(&o->size, "size", 3));
    s->from_file = !cone && strcmp(name, "parallel") != 0;
    s->plain = !s->from_file && !fault(o);
    if (s->from_file) {
        QB__OR_RETURN(take_file(s, env));
    } else {
        decide_detector(s);
        QB__OR_RETURN(decide_lengths(s, cone));
        QB__OR_RETURN(decide_angles(s, cone));
        QB__OR_RETURN(
            cone ? make_circle(s, env)
                 : qb_geometry_parallel(s->views, s->angles, s->rows, s->columns, s->pixel, s->center, &s->geometry));
        if (!cone) qb__parallel_set_rows(&s->geometry, s->pixel_v);
    }
    decide_box(s);
    for (int k = 0; k < 3 && o->voxel > 0; k++) s->grid.voxel[k] = o->voxel;
    return QB_OK;
}

qb_status qb__simulate_check_sources(const qb__simulation *s) {
    QB__OR_RETURN(qb__geometry_check_units(&s->geometry));
    const qb_status status = qb__phantom_check_sources(&s->phantom, &s->geometry);
    if (status == QB_OK) return qb__grid_check_fov(&s->geometry, &s->grid);
    return status == QB_BAD_INPUT && !s->from_file ? QB_BAD_ARGUMENT : status;
}
