/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/params.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "quickbeam/geometry.h"

static const double degree = 3.14159265358979323846 / 180;

#define FIELD(name) offsetof(qb_geometry_options, name)
const qb_param qb_geometry_params[] = {
    {"geometry", QB_PARAM_TEXT, FIELD(geometry), "FILE", NULL, NULL, 0, 0,
     "where source and detector are: quickbeam JSON, CTSimU JSON, RTK XML, a 3x4 matrix per view", 'g'},
    {"sod", QB_PARAM_DOUBLE, FIELD(sod), "MM", NULL, NULL, 0, 1e9,
     "distance from the source to the rotation axis in mm", 0},
    {"sdd", QB_PARAM_DOUBLE, FIELD(sdd), "MM", NULL, NULL, 0, 1e9, "distance from the source to the detector in mm", 0},
    {"detector-offset", QB_PARAM_TEXT, FIELD(offset), "U,V[px]|auto[,V]", NULL, NULL, 0, 0,
     "where the detector's centre lies relative to the principal ray, in mm or px; auto: as the scan shows, U by its "
     "axis, V and --tilt where that is clear",
     0},
    {"detector-radius", QB_PARAM_DOUBLE, FIELD(radius), "MM", NULL, NULL, 0, 1e9,
     "radius of a cylindrical detector in mm; 0 = flat", 0},
    {"tilt", QB_PARAM_NUMBERS, FIELD(tilt), "IN,OUT,SLANT", NULL, NULL, -180, 180,
     "the detector's in-plane, out-of-plane and slant angles in degrees", 0},
    {"jitter", QB_PARAM_NUMBERS, FIELD(jitter), "U,V,N,PHASE", NULL, NULL, -1e6, 1e6,
     "sinusoidal shift of the detector: amplitudes in mm, periods a turn, phase in degrees", 0},
    QB_PARAMS_END(qb_geometry_options),
};
#undef FIELD

/* Read a number and, if there is one, its unit: 'p' or 'm'. */
static bool offset_part(const char **at, double *value, char *unit) {
    const double MOST = 1e9;
    char *end;
    *value = qb__strtod(*at, &end);
    if (end == *at || !(fabs(*value) <= MOST)) return false;
    if (strncmp(end, "px", 2) == 0 || strncmp(end, "mm", 2) == 0) {
        *unit = *end;
        end += 2;
    }
    *at = end;
    return true;
}

qb_status qb_detector_offset_parse(const char *text, double pixel_u, double pixel_v, double *offset_u,
                                   double *offset_v) {
    QB__NEED(offset_u);
    QB__NEED(offset_v);
    *offset_u = *offset_v = 0;
    if (!text) return QB_OK;
    double value[2] = {0};
    char unit[2] = {0};
    const char *at = text;
    bool good = offset_part(&at, &value[0], &unit[0]);
    if (good && *at == ',') {
        at++;
        good = offset_part(&at, &value[1], &unit[1]);
    }
    if (!good || *at)
        return qb__fail(QB_BAD_ARGUMENT, "--detector-offset %s: not U,V, Umm,Vmm or Upx,Vpx within 1e9", text);
    /* A single unit holds for both numbers. */
    for (int i = 0; i < 2; i++)
        if (!unit[i]) unit[i] = unit[1 - i];
    if ((unit[0] == 'p' && !(pixel_u > 0)) || (unit[1] == 'p' && !(pixel_v > 0)))
        return qb__fail(QB_BAD_ARGUMENT, "--detector-offset %s: the pixel size is not known", text);
    *offset_u = unit[0] == 'p' ? value[0] * pixel_u : value[0];
    *offset_v = unit[1] == 'p' ? value[1] * pixel_v : value[1];
    return QB_OK;
}

static double nth(const qb_numbers *numbers, int index, double otherwise) {
    return index < numbers->count ? numbers->value[index] : otherwise;
}

static qb_status circle(const qb_geometry_options *options, size_t views, const double *angles,
                        const qb_detector *detector, qb_geometry *geometry) {
    double u, v;
    if (!detector) return qb__fail(QB_BAD_ARGUMENT, "a circular scan needs its detector, which is NULL");
    QB__OR_RETURN(qb_detector_offset_parse(options->offset, detector->pixel_u, detector->pixel_v, &u, &v));
    if (!angles) return qb__fail(QB_BAD_ARGUMENT, "a circular scan needs its angles (--angles)");
    if (!(options->sod > 0 && options->sdd > 0))
        return qb__fail(QB_BAD_ARGUMENT,
                        "a cone-beam scan needs --geometry, or --sod and --sdd in mm (they are %g "
                        "and %g)",
                        options->sod, options->sdd);
    if (!(detector->pixel_u > 0 && detector->pixel_v > 0))
        return qb__fail(QB_BAD_ARGUMENT, "a cone-beam scan needs --pixel-size in mm");
    QB__OR_RETURN(qb_geometry_cone(views, angles, detector->rows, detector->columns, detector->pixel_u,
                                   detector->pixel_v, options->sod, options->sdd, u + detector->offset_u,
                                   v + detector->offset_v, geometry));
    const qb_numbers *tilt = &options->tilt, *jitter = &options->jitter;
    for (int i = 1; i < 3; i++) {
        if (fabs(nth(tilt, i, 0)) <= QB__MOST_LEAN) continue;
        qb_geometry_destroy(geometry);
        return qb__fail(QB_BAD_ARGUMENT, "--tilt: %g degrees out of plane or of slant; at most %g are possible",
                        nth(tilt, i, 0), QB__MOST_LEAN);
    }
    qb__geometry_disturb(geometry, angles, options->sod, options->sdd,
                         &(qb__faults){nth(tilt, 0, 0) * degree, nth(tilt, 1, 0) * degree, nth(tilt, 2, 0) * degree,
                                       nth(jitter, 0, 0), nth(jitter, 1, 0), nth(jitter, 2, 1),
                                       nth(jitter, 3, 0) * degree});
    geometry->radius = options->radius;
    const qb_status status = qb__geometry_check(geometry);
    if (status != QB_OK) qb_geometry_destroy(geometry);
    return status;
}

/* Refuse options for values that the file states. */
static qb_status only_the_file(const qb_geometry_options *options, const double *angles) {
    const char *also = angles                  ? "angles"
                       : options->sod > 0      ? "sod"
                       : options->sdd > 0      ? "sdd"
                       : options->offset       ? "detector-offset"
                       : options->radius > 0   ? "detector-radius"
                       : options->tilt.count   ? "tilt"
                       : options->jitter.count ? "jitter"
                                               : NULL;
    if (!also) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--%s is given, and --geometry %s states it too: leave one out", also,
                    options->geometry);
}

qb_status qb_geometry_make(const qb_geometry_options *given, size_t views, const double *angles,
                           const qb_detector *detector, const qb_env *env, qb_geometry *geometry) {
    QB__NEED(geometry);
    qb_geometry_options seen, *options = &seen;
    *geometry = (qb_geometry){0};
    QB__OR_RETURN(qb__params_view(qb_geometry_params, given, options));
    if (!options->geometry) return circle(options, views, angles, detector, geometry);
    qb_status status = only_the_file(options, angles);
    if (status == QB_OK) status = qb_geometry_load(options->geometry, detector, env, geometry);
    if (status == QB_OK && views && geometry->views != views) {
        status = qb__fail(QB_BAD_INPUT, "%s has %zu views, the projections are %zu", options->geometry, geometry->views,
                          views);
        qb_geometry_destroy(geometry);
    }
    return status;
}
