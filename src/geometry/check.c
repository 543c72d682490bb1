/* SPDX-License-Identifier: MIT */
#include "geometry/check.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/matrix.h"
#include "geometry/vector.h"

static qb_status check_shape(size_t views, size_t rows, size_t columns) {
    if (views < 1 || views > QB__GEOMETRY_MOST_VIEWS)
        return qb__fail(QB_BAD_INPUT, "a geometry of %zu views (1..%d are allowed)", views, QB__GEOMETRY_MOST_VIEWS);
    if (rows < 1 || columns < 1 || rows > QB__GEOMETRY_MOST_PIXELS || columns > QB__GEOMETRY_MOST_PIXELS)
        return qb__fail(QB_BAD_INPUT, "a detector of %zu rows and %zu columns (1..%d are allowed)", rows, columns,
                        QB__GEOMETRY_MOST_PIXELS);
    return QB_OK;
}

static qb_status check_numbers(const qb_view *view) {
    const struct {
        const char *name;
        const double *vector;
    } parts[] = {{"source", view->source}, {"detector", view->detector}, {"u", view->u}, {"v", view->v}};
    for (size_t p = 0; p < 4; p++) {
        for (int j = 0; j < 3; j++) {
            /* Lengths beyond a light second in mm would overflow in products. */
            if (!(fabs(parts[p].vector[j]) < 3e11))
                return qb__fail(QB_BAD_INPUT, "%s[%d] is %g", parts[p].name, j, parts[p].vector[j]);
        }
    }
    return QB_OK;
}

/* Pixels lie on an arc of less than a full circle, and rows along the cylinder's axis. */
static qb_status check_curve(const qb_geometry *geometry, const qb_view *view) {
    const double arc = (double)geometry->columns * qb__norm(view->u), radius = geometry->radius;
    if (radius == 0) return QB_OK;
    const double skew = qb__dot(view->u, view->v) / (qb__norm(view->u) * qb__norm(view->v));
    if (fabs(skew) > 1e-6)
        return qb__fail(QB_UNSUPPORTED, "rows and columns of the curved detector are %.4g degrees off a right angle",
                        asin(skew) * 180 / M_PI);
    if (arc < 2 * M_PI * radius) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "a curved detector of radius %g mm has no room for %zu columns of %g mm", radius,
                    geometry->columns, qb__norm(view->u));
}

qb_status qb__geometry_check_views(const qb_geometry *geometry) {
    qb_status status = check_shape(geometry->views, geometry->rows, geometry->columns);
    if (status == QB_OK && !(geometry->radius >= 0 && isfinite(geometry->radius)))
        status = qb__fail(QB_BAD_INPUT, "a curved detector of radius %g mm", geometry->radius);
    if (status == QB_OK && (!geometry->view || geometry->beam < QB_BEAM_PARALLEL || geometry->beam > QB_BEAM_CONE))
        status = qb__fail(QB_BAD_ARGUMENT, "a geometry %s",
                          geometry->view ? "of a beam that there is not" : "without views");
    if (status != QB_OK) return status;
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix matrix;
        status = check_numbers(&geometry->view[i]);
        if (status == QB_OK) status = qb__matrix_of_view(geometry->beam, &geometry->view[i], &matrix);
        if (status == QB_OK) status = check_curve(geometry, &geometry->view[i]);
        if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
    }
    return QB_OK;
}

qb_status qb__geometry_check(const qb_geometry *geometry) {
    if (geometry->apart)
        return qb__fail(QB_UNSUPPORTED,
                        "the geometry's %zu rows are fans one above the other, each with a source of its own, and no "
                        "cone beam: use qb mbir",
                        geometry->rows);
    return qb__geometry_check_views(geometry);
}

qb_status qb__geometry_create(qb_beam beam, size_t views, size_t rows, size_t columns, qb_geometry *geometry) {
    *geometry = (qb_geometry){.beam = beam, .views = views, .rows = rows, .columns = columns};
    qb_status status = check_shape(views, rows, columns);
    return status == QB_OK ? qb__alloc(views, sizeof *geometry->view, &geometry->view) : status;
}

qb_status qb__geometry_copy(const qb_geometry *from, qb_geometry *to) {
    QB__OR_RETURN(qb__geometry_check(from));
    *to = *from;
    to->read_from = NULL;
    const qb_status status = qb__alloc(from->views, sizeof *to->view, &to->view);
    if (status == QB_OK) memcpy(to->view, from->view, from->views * sizeof *to->view);
    return status;
}
