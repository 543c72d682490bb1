/* SPDX-License-Identifier: MIT */
/* Warnings about a geometry for methods without angular weights. */
#include "geometry/check.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/warning.h"
#include "geometry/units.h"

void qb__warn_limited(double covered, double needed, const qb_env *env) {
    const double MISSING = 20; /* degrees; narrower gaps have little effect */
    if (needed - covered > MISSING)
        qb__warn(env,
                 "the views cover %.4g of %.4g degrees: edges along the missing directions are blurred, values "
                 "uncertain" QB__CODE("limited-angle"),
                 covered, needed);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Degrees of the half turn for which a ray near the centre was measured, by the positions of the sources around the
 * axis. */
static double directions(const qb_geometry *geometry) {
    enum { FEW = 5 };
    const size_t n = geometry->views;
    const int axis = qb__turns_about(geometry), x = axis == 0 ? 1 : 0, y = axis == 2 ? 1 : 2;
    double *angle, gaps = 0;
    if (qb__alloc(n, sizeof *angle, &angle) != QB_OK) return 180;
    for (size_t i = 0; i < n; i++) {
        const double *at = geometry->view[i].source;
        angle[i] = fmod(atan2(at[y], at[x]) * 180 / M_PI + 360, 180);
    }
    qsort(angle, n, sizeof *angle, by_size);
    for (size_t i = 0; i < n; i++) {
        const double gap = i + 1 < n ? angle[i + 1] - angle[i] : angle[0] + 180 - angle[n - 1];
        if (gap > FEW * 180 / (double)n && gap > 10) gaps += gap;
    }
    qb__free(angle);
    return 180 - gaps;
}

void qb__warn_geometry(const qb_geometry *geometry, const qb_env *env) {
    qb_geometry_info about = {.struct_size = sizeof about};
    char text[256];
    if (geometry->apart) return;
    const bool described = qb_geometry_describe(geometry, &about) == QB_OK;
    if (described && qb__geometry_doubt(geometry, &about, text, sizeof text)) qb__warn(env, "%s", text);
    if (described && about.circular)
        qb__warn_limited(about.needed - about.missing, about.needed, env);
    else if (geometry->views > 1)
        qb__warn_limited(directions(geometry), 180, env);
}
