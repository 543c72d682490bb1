/* SPDX-License-Identifier: MIT */
#include "geometry/units.h"

#include <stdio.h>

#include "base/status.h"
#include "base/warning.h"
#include "geometry/vector.h"

static const double degree = 3.14159265358979323846 / 180;

qb_status qb__angles_check(const double *radians, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(radians[i])) return qb__fail(QB_BAD_INPUT, "the angle of view %zu is not a finite number", i);
        if (fabs(radians[i]) > QB__MOST_DEGREES * degree)
            return qb__fail(QB_BAD_INPUT, "the angle of view %zu is %.6g degrees, beyond %g", i, radians[i] / degree,
                            QB__MOST_DEGREES);
    }
    return QB_OK;
}

/* Distance from the source to the detector's plane. */
static double distance(const qb_view *view) {
    double n[3], f[3];
    qb__cross(view->u, view->v, n);
    for (int j = 0; j < 3; j++) f[j] = view->detector[j] - view->source[j];
    return fabs(qb__dot(f, n)) / qb__norm(n);
}

qb_status qb__geometry_check_units(const qb_geometry *geometry) {
    static const char ask[] = "are all lengths in mm?";
    if (geometry->beam != QB_BEAM_CONE) return QB_OK;
    double arc = geometry->views ? (double)geometry->columns * qb__norm(geometry->view[0].u) : 0;
    if (geometry->radius > 0 && (geometry->radius > 1e9 || arc > 180 * degree * geometry->radius))
        return qb__fail(QB_BAD_INPUT,
                        "a curved detector of radius %.6g mm, %.6g mm wide along its arc: the radius must be at least "
                        "%.6g and at most 1e9; a flat detector has none",
                        geometry->radius, arc, arc / (180 * degree));
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        double far = distance(view), pixel = fmax(qb__norm(view->u), qb__norm(view->v));
        double width = fmax((double)geometry->columns * qb__norm(view->u), (double)geometry->rows * qb__norm(view->v));
        if (pixel >= far)
            return qb__fail(QB_BAD_INPUT, "view %zu: a pixel of %.6g mm, %.6g mm from the source: %s", i, pixel, far,
                            ask);
        /* A curved detector may be wider than its distance. */
        if (width > 12 * far && !(geometry->radius > 0))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: a detector of %.6g mm, %.6g mm from the source, a fan of "
                            "%.4g degrees: %s",
                            i, width, far, 2 * atan(0.5 * width / far) / degree, ask);
    }
    return QB_OK;
}

bool qb__geometry_doubt(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size) {
    double fan = info->wide + info->narrow;
    if (geometry->beam != QB_BEAM_CONE) return false;
    if (info->magnification > 300)
        snprintf(text, size,
                 "a magnification of %.5g (%.5g mm to the axis, %.5g to the detector): are both in mm?" QB__CODE(
                     "geometry-units"),
                 info->magnification, info->sod, info->sdd);
    else if (info->magnification < 0.9)
        snprintf(text, size,
                 "the detector lies %.5g mm from the source, before the axis at %.5g mm: is the source on the other "
                 "side?" QB__CODE("detector-before-axis"),
                 info->sdd, info->sod);
    else if (info->sdd < 5)
        snprintf(text, size,
                 "the detector is only %.4g mm from the source: are all lengths in mm? Else all values are wrong by "
                 "that factor" QB__CODE("geometry-units"),
                 info->sdd);
    else if (fan > 100 && !(geometry->radius > 0))
        snprintf(
            text, size,
            "a fan of %.4g degrees (%zu columns of %.5g mm, %.5g mm from the source): are all lengths in mm?" QB__CODE(
                "geometry-units"),
            fan, geometry->columns, info->pixel_u, info->sdd);
    else if (fan < 0.05 && geometry->columns > 16)
        snprintf(text, size,
                 "a fan of only %.3g degrees (%zu columns of %.5g mm, %.5g mm from the source): are all lengths in mm? "
                 "For parallel rays use qb "
                 "fbp" QB__CODE("geometry-units"),
                 fan, geometry->columns, info->pixel_u, info->sdd);
    else
        return false;
    return true;
}

bool qb__few_views(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size) {
    if (geometry->beam != QB_BEAM_CONE || !(info->step > 15)) return false;
    snprintf(text, size, "%zu view%s too few, %.4g degrees apart: streaks will hide the object" QB__CODE("few-views"),
             geometry->views, geometry->views == 1 ? " is" : "s are", info->step);
    return true;
}

bool qb__path_unfit(const qb_geometry *geometry, const qb_geometry_info *info, char *text, size_t size) {
    /* The sources of a calibrated circle vary by up to a thousandth; the common field of view shrinks by that
     * movement. */
    bool still = !(info->z_range > 1e-3 * info->sod) || !(info->z_range > 0.05 * (info->field_height + info->z_range));
    if (geometry->beam != QB_BEAM_CONE || still) return false;
    snprintf(text, size, "the source moves by %.5g mm along the axis: FDK is made for circles", info->z_range);
    return true;
}

bool qb__path_steep(const qb_geometry *geometry, const double middle[3], char *text, size_t size) {
    const double STEEP = 10;
    double most = 0;
    for (size_t i = 0; i < geometry->views && geometry->beam == QB_BEAM_CONE; i++) {
        const double *s = geometry->view[i].source;
        most = fmax(most, atan2(fabs(s[2] - middle[2]), hypot(s[0] - middle[0], s[1] - middle[1])));
    }
    if (!(most > STEEP * degree)) return false;
    snprintf(text, size,
             "rays reach the middle of the volume %.3g degrees off the plane of the source (laminography?): values are "
             "blurred along the axis" QB__CODE("steep-rays"),
             most / degree);
    return true;
}

const char *qb__unit_hint(double ratio) {
    static const struct {
        double ratio;
        const char *text;
    } hints[] = {
#define HINT(x) {x, "; they differ by a factor of " #x ": is one of them not in mm?"}
        HINT(10), HINT(25.4), HINT(1000), HINT(10000), HINT(1000000),
#undef HINT
    };
    if (ratio < 1) ratio = 1 / ratio;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (fabs(ratio / hints[i].ratio - 1) < 0.02) return hints[i].text;
    return "";
}
