/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/rtk.h"
#include "geometry/vector.h"
#include "io/geometry/geometry_file.h"

/* Values that are the same for all projections, which RTK's writer puts before them. */
static const struct {
    const char *name;
    size_t offset;
} fields[] = {
    {"SourceToIsocenterDistance", offsetof(qb__rtk, sid)},  {"SourceToDetectorDistance", offsetof(qb__rtk, sdd)},
    {"SourceOffsetX", offsetof(qb__rtk, source_x)},         {"SourceOffsetY", offsetof(qb__rtk, source_y)},
    {"ProjectionOffsetX", offsetof(qb__rtk, projection_x)}, {"ProjectionOffsetY", offsetof(qb__rtk, projection_y)},
    {"InPlaneAngle", offsetof(qb__rtk, in_plane)},          {"OutOfPlaneAngle", offsetof(qb__rtk, out_of_plane)},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

static double value(const qb__rtk *rtk, size_t field) {
    double out;
    memcpy(&out, (const char *)rtk + fields[field].offset, sizeof out);
    /* Rounding leaves 1e-14 where the offsets of a circle are 0. */
    return fabs(out) < 1e-11 ? 0 : out;
}

static bool constant(const qb__rtk *list, size_t views, size_t field) {
    double first = value(&list[0], field);
    for (size_t i = 1; i < views; i++)
        if (fabs(value(&list[i], field) - first) > 1e-12 * (1 + fabs(first))) return false;
    return true;
}

static void add_field(qb__text *text, const char *name, double number) {
    qb__text_add(text, "    <%s>%.15g</%s>\n", name, number, name);
}

static void add_projection(qb__text *text, const qb__rtk *rtk, const bool *global) {
    double matrix[3][4], gantry = fmod(rtk->gantry, 360);
    qb__rtk_matrix(rtk, matrix);
    qb__text_add(text, "  <Projection>\n");
    add_field(text, "GantryAngle", gantry < 0 ? gantry + 360 : gantry);
    for (size_t f = 0; f < FIELDS; f++)
        if (!global[f]) add_field(text, fields[f].name, value(rtk, f));
    qb__text_add(text, "    <Matrix>\n");
    for (int i = 0; i < 3; i++)
        qb__text_add(text, "      %19.15g %19.15g %19.15g %19.15g\n", matrix[i][0], matrix[i][1], matrix[i][2],
                     matrix[i][3]);
    qb__text_add(text, "    </Matrix>\n  </Projection>\n");
}

static void add_all(const qb_geometry *geometry, const qb__rtk *list, qb__text *text) {
    bool global[FIELDS];
    qb__text_add(text, "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<!-- ");
    qb__geometry_add_note(geometry, text);
    qb__text_add(text, " -->\n<RTKThreeDCircularGeometry version=\"3\">\n");
    for (size_t f = 0; f < FIELDS; f++) {
        global[f] = constant(list, geometry->views, f);
        double common = value(&list[0], f);
        if (global[f] && common != 0) add_field(text, fields[f].name, common);
    }
    if (geometry->radius > 0) add_field(text, "RadiusCylindricalDetector", geometry->radius);
    for (size_t i = 0; i < geometry->views; i++) add_projection(text, &list[i], global);
    qb__text_add(text, "</RTKThreeDCircularGeometry>\n");
}

/* RTK has one pixel pitch for all views: that of the images. */
static qb_status check_pitch(const qb_geometry *geometry, size_t i) {
    const qb_view *first = geometry->view, *view = &geometry->view[i];
    double u = qb__norm(view->u) / qb__norm(first->u), v = qb__norm(view->v) / qb__norm(first->v);
    if (fabs(u - 1) > 1e-6 || fabs(v - 1) > 1e-6)
        return qb__fail(QB_UNSUPPORTED, "view %zu: its pixels are %.9g x %.9g times those of view 0", i, u, v);
    return QB_OK;
}

qb_status qb__geometry_to_rtk(const qb_geometry *geometry, qb__text *text) {
    qb__rtk *list = NULL;
    qb_status status;
    QB__TRY(qb__alloc(geometry->views, sizeof *list, &list));
    for (size_t i = 0; i < geometry->views; i++) {
        QB__TRY(check_pitch(geometry, i));
        QB__TRY(qb__rtk_from_view(geometry, i, &list[i]));
    }
    add_all(geometry, list, text);
out:
    qb__free(list);
    return status;
}
