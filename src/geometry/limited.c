/* SPDX-License-Identifier: MIT */
/* What methods that weigh no angles say of a limited range. */
#include "geometry/limited.h"

#include "base/log.h"
#include "base/warning.h"

void qb__warn_limited(double covered, double needed, const qb_env *env) {
    const double MISSING = 20; /* degrees; narrower gaps do little */
    if (needed - covered > MISSING)
        qb__warn(env,
                 "the views cover %.4g of %.4g degrees: edges along the missing directions are blurred, values "
                 "uncertain" QB__CODE("limited-angle"),
                 covered, needed);
}

void qb__warn_limited_circle(const qb_geometry *geometry, const qb_env *env) {
    qb_geometry_info about = {.struct_size = sizeof about};
    if (geometry->apart || qb_geometry_describe(geometry, &about) != QB_OK || !about.circular) return;
    qb__warn_limited(about.needed - about.missing, about.needed, env);
}
