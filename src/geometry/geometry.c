/* SPDX-License-Identifier: MIT */
#include "quickbeam/geometry.h"

#include <math.h>
#include <stdbool.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/units.h"

const char *qb_beam_name(qb_beam beam) {
    static const char *const names[] = {"unknown", "parallel", "cone"};
    return (unsigned)beam <= QB_BEAM_CONE ? names[beam] : names[0];
}

static bool positive(double number) { return isfinite(number) && number > 0; }

static qb_status begin(qb_beam beam, size_t views, const double *angles, size_t rows, size_t columns,
                       qb_geometry *geometry) {
    *geometry = (qb_geometry){.beam = beam, .views = views, .rows = rows, .columns = columns};
    if (views == 0 || rows == 0 || columns == 0)
        return qb__fail(QB_BAD_ARGUMENT, "a geometry of %zu views, %zu rows and %zu columns", views, rows, columns);
    QB__OR_RETURN(qb__angles_check(angles, views));
    return qb__alloc(views, sizeof *geometry->view, &geometry->view);
}

static double middle(size_t n) { return 0.5 * ((double)n - 1); }

qb_status qb_geometry_parallel(size_t views, const double *angles, size_t rows, size_t columns, double pixel,
                               double center, qb_geometry *geometry) {
    QB__NEED(angles);
    QB__NEED(geometry);
    qb_status status = begin(QB_BEAM_PARALLEL, views, angles, rows, columns, geometry);
    if (status == QB_OK && (!positive(pixel) || !isfinite(center)))
        status = qb__fail(QB_BAD_ARGUMENT, "pixel size %g mm, axis at column %g", pixel, center);
    if (status != QB_OK) {
        qb_geometry_destroy(geometry);
        return status;
    }
    double z0 = -middle(rows) * pixel;
    for (size_t i = 0; i < views; i++) {
        double c = cos(angles[i]), s = sin(angles[i]), s0 = -center * pixel;
        geometry->view[i] = (qb_view){
            .source = {-s, c, 0},
            .detector = {s0 * c, s0 * s, z0},
            .u = {pixel * c, pixel * s, 0},
            .v = {0, 0, pixel},
        };
    }
    return QB_OK;
}

qb_status qb_geometry_cone(size_t views, const double *angles, size_t rows, size_t columns, double pixel_u,
                           double pixel_v, double sod, double sdd, double offset_u, double offset_v,
                           qb_geometry *geometry) {
    QB__NEED(angles);
    QB__NEED(geometry);
    qb_status status = begin(QB_BEAM_CONE, views, angles, rows, columns, geometry);
    if (status == QB_OK && (!positive(pixel_u) || !positive(pixel_v)))
        status = qb__fail(QB_BAD_ARGUMENT, "pixel size %g x %g mm", pixel_u, pixel_v);
    if (status == QB_OK && (!positive(sod) || !positive(sdd) || sdd < sod))
        status = qb__fail(QB_BAD_ARGUMENT,
                          "source to axis %g mm and source to detector %g mm: both must be "
                          "positive, the second not the smaller",
                          sod, sdd);
    if (status == QB_OK && (!isfinite(offset_u) || !isfinite(offset_v)))
        status = qb__fail(QB_BAD_ARGUMENT, "detector offset %g, %g mm", offset_u, offset_v);
    if (status != QB_OK) {
        qb_geometry_destroy(geometry);
        return status;
    }
    double s0 = offset_u - middle(columns) * pixel_u, z0 = offset_v - middle(rows) * pixel_v;
    for (size_t i = 0; i < views; i++) {
        double c = cos(angles[i]), s = sin(angles[i]), beyond = sdd - sod;
        geometry->view[i] = (qb_view){
            .source = {sod * s, -sod * c, 0},
            .detector = {s0 * c - beyond * s, s0 * s + beyond * c, z0},
            .u = {pixel_u * c, pixel_u * s, 0},
            .v = {0, 0, pixel_v},
        };
    }
    return QB_OK;
}

void qb_geometry_destroy(qb_geometry *geometry) {
    if (!geometry) return;
    qb__free(geometry->view);
    if (geometry->read_from) qb__inputs_release(geometry->read_from);
    qb__free(geometry->read_from);
    *geometry = (qb_geometry){.beam = geometry->beam};
}
