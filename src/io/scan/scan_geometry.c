/* SPDX-License-Identifier: MIT */
/* Makes the geometry of a scan, and checks that both agree. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/circle.h"
#include "io/scan/scan.h"
#include "quickbeam/scan.h"

static const double turn = 2 * M_PI, degrees = 180 / M_PI;

static double wrapped(double radians) { return radians - turn * round(radians / turn); }

/* The usual angle between neighbouring views, which may be in any order. */
static double step_of(size_t views, const double *radians) {
    double sum = 0;
    for (size_t i = 1; i < views; i++) sum += fabs(wrapped(radians[i] - radians[i - 1]));
    return fmin(sum / (double)(views - 1), turn / (double)views);
}

/* The largest angle between two sequences of views, both counted from the first view, and the view where it is. */
static double apart(size_t views, const double *a, const double *b, double sense, size_t *where) {
    double most = 0;
    *where = 0;
    for (size_t i = 1; i < views; i++) {
        double d = fabs(wrapped(a[i] - a[0] - sense * (b[i] - b[0])));
        if (d > most) most = d, *where = i;
    }
    return most;
}

/* Compare the angles. Zero and sense of rotation are conventions, for which the geometry file is right, but the steps
 * must agree. */
static qb_status compare_angles(const qb_scan_info *scan, const char *path, const qb_geometry *geometry,
                                const qb_env *env) {
    double *radians;
    size_t views = geometry->views, at, other;
    if (!scan->angles || views < 2) return QB_OK;
    qb_status status = qb__alloc(views, sizeof *radians, &radians);
    if (status != QB_OK) return status;
    qb__view_angles(geometry, radians);
    double step = step_of(views, radians);
    double most = apart(views, scan->angles, radians, 1, &at);
    double mirrored = apart(views, scan->angles, radians, -1, &other);
    if (mirrored < most) most = mirrored, at = other;
    if (most > 0.5 * step && strncmp(scan->angles_from, "--angles", 8) == 0)
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--angles and the geometry of %s differ by up to %.4g degrees (view %zu; a step is %.4g): "
                          "leave --angles out, or give --sod and --sdd if it is a circle",
                          path, most * degrees, at, step * degrees);
    else if (most > 0.5 * step)
        qb__warn(env,
                 "the angles of %s (%s) and of %s differ by up to %.4g degrees (view %zu; a step is %.4g): %s is "
                 "used" QB__CODE("two-angles"),
                 scan->path, scan->angles_from, path, most * degrees, at, step * degrees, path);
    qb__free(radians);
    return status;
}

/* Select the scan's views from those of a geometry of all stored views. */
static qb_status choose_views(const qb_scan_info *scan, const char *path, const qb_env *env, qb_geometry *geometry) {
    if (geometry->views == scan->views) return QB_OK;
    if (geometry->views != scan->stored)
        return qb__fail(QB_BAD_INPUT, "%s has %zu views, the projections are %zu%s", path, geometry->views, scan->views,
                        scan->stored != scan->views ? " (and more in the file)" : "");
    qb__info(env, "%zu of the %zu views of %s are taken, the same as of the scan", scan->views, geometry->views, path);
    for (size_t i = 0; i < scan->views; i++)
        geometry->view[i] =
            geometry->view[scan->stored_views ? scan->stored_views[i] : scan->first_view + i * scan->view_step];
    geometry->views = scan->views;
    return QB_OK;
}

/* Take the position of the images from the scan, unless the offset is given. */
static void take_offset(const qb_scan_info *scan, qb_geometry_options *options, char *text, size_t size,
                        const qb_env *env) {
    const double u = scan->detector_offset[0], v = scan->detector_offset[1], least = 1e-3 * scan->pixel_size;
    const bool scanner = scan->sod > 0; /* the scan states a whole geometry, and the offset belongs to it */
    if (!(fabs(u) > least || fabs(v) > least) || options->offset) return;
    if (options->geometry && scanner) return;
    if (options->geometry) {
        qb__warn(env,
                 "%s puts the middle of its images at %g,%g mm, which is not used, because the geometry is that of "
                 "%s" QB__CODE("detector-offset-stated"),
                 scan->path, u, v, options->geometry);
        return;
    }
    qb__print(text, size, "%.17g,%.17gmm", u, v);
    options->offset = text;
    if (scanner) return;
    qb__warn(env,
             "%s puts the middle of its images at %g,%g mm: taken as the detector's; --detector-offset gives "
             "another" QB__CODE("detector-offset-stated"),
             scan->path, u, v);
}

/* Take the distances from the scan, unless others are given. */
static void take_distances(const qb_scan_info *scan, qb_geometry_options *options, const qb_env *env) {
    if (options->geometry || options->sod > 0 || options->sdd > 0 || !(scan->sod > 0)) return;
    options->sod = scan->sod, options->sdd = scan->sdd;
    if (!options->tilt.count && (scan->detector_tilt != 0 || scan->detector_lean != 0))
        options->tilt = (qb_numbers){.count = 2, .value = {scan->detector_tilt, scan->detector_lean}};
    const double *offset = scan->detector_offset;
    char place[120] = "";
    if (isfinite(offset[0]) && !options->offset)
        snprintf(place, sizeof place, ", the detector's middle at %.6g,%.6g mm, its tilt %.4g,%.4g degrees", offset[0],
                 offset[1], scan->detector_tilt, scan->detector_lean);
    qb__info(env, "the source is %.6g mm from the axis and %.6g mm from the detector%s, as %s states", scan->sod,
             scan->sdd, place, scan->path);
}

bool qb__scan_whole_detector(const qb_scan_info *scan, const qb_detector *read, qb_detector *whole) {
    *whole = *read;
    if (!scan->image || read->rows != scan->rows || read->columns != scan->columns) return false;
    whole->rows = scan->whole_rows, whole->columns = scan->whole_columns;
    whole->pixel_u /= (double)scan->bin[0], whole->pixel_v /= (double)scan->bin[1];
    return true;
}

void qb__scan_take_window(const qb_scan_info *scan, qb_geometry *geometry) {
    const double right = (double)scan->window[0] + 0.5 * ((double)scan->bin[0] - 1),
                 up = (double)scan->window[1] + 0.5 * ((double)scan->bin[1] - 1);
    geometry->rows = scan->rows, geometry->columns = scan->columns;
    for (size_t i = 0; i < geometry->views; i++) {
        qb_view *view = &geometry->view[i];
        for (int k = 0; k < 3; k++) {
            view->detector[k] += right * view->u[k] + up * view->v[k];
            view->u[k] *= (double)scan->bin[0], view->v[k] *= (double)scan->bin[1];
        }
    }
}

static qb_status geometry_of(const qb_scan_info *scan, const qb_geometry_options *options, const qb_detector *detector,
                             const qb_env *env, qb_geometry *geometry) {
    qb_geometry_options seen;
    *geometry = (qb_geometry){0};
    QB__OR_RETURN(qb__params_view(qb_geometry_params, options, &seen));
    if (!(seen.sod > 0 || seen.sdd > 0) && !seen.geometry)
        seen.geometry = (char *)scan->geometry_from;
    else if (scan->geometry_from && !seen.geometry)
        qb__warn(env, "--sod and --sdd replace the geometry of %s: leave them out to use it" QB__CODE("two-geometries"),
                 scan->geometry_from);
    take_distances(scan, &seen, env);
    char stated[64];
    take_offset(scan, &seen, stated, sizeof stated, env);
    options = &seen;
    const char *path = seen.geometry;
    if (!path && !scan->angles) return qb__scan_lacks_angles(scan);
    if (!path) return qb_geometry_make(options, scan->views, scan->angles, detector, env, geometry);
    qb_status status = qb_geometry_make(options, 0, NULL, detector, env, geometry);
    if (status == QB_OK) status = choose_views(scan, path, env, geometry);
    if (status == QB_OK) status = compare_angles(scan, path, geometry, env);
    if (status != QB_OK) qb_geometry_destroy(geometry);
    return status;
}

qb_status qb_scan_geometry(const qb_scan_info *scan, const qb_geometry_options *options, const qb_detector *detector,
                           const qb_env *env, qb_geometry *geometry) {
    QB__NEED(scan);
    QB__NEED(geometry);
    qb_detector whole;
    const bool window = detector && qb__scan_whole_detector(scan, detector, &whole);
    const qb_status status = geometry_of(scan, options, window ? &whole : detector, env, geometry);
    if (status == QB_OK && window) qb__scan_take_window(scan, geometry);
    return status;
}
