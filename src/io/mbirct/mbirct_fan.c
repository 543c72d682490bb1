/* SPDX-License-Identifier: MIT */
/* Fan beams of sv-mbirct. The source of view theta is at sod (cos theta, sin theta). The channel of a pixel follows
 * from the angle alpha between the line from the pixel to the source and that direction: sdd alpha for a curved
 * detector, sdd tan alpha for a flat one. So channels run against those of the parallel beam, along (sin theta, -cos
 * theta), and CenterOffset is the position of the principal ray on the detector, in channels from its middle. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "io/mbirct/mbirct.h"

bool qb__mbirct_is_scan(const char *path) {
    static const char end[] = ".sinoparams";
    const size_t n = strlen(path), word = strlen(end);
    return n > word && qb__mbirct_is(path + n - word, end);
}

/* DeltaSlice is the thickness of a slice at the axis. */
static qb_status circle_of(const char *path, const char *text, const qb__mbirct_beam *beam, qb_geometry *g,
                           qb__circle *circle) {
    double pixel, high;
    QB__OR_RETURN(qb__mbirct_count(path, text, "NViews", &g->views));
    QB__OR_RETURN(qb__mbirct_count(path, text, "NSlices", &g->rows));
    QB__OR_RETURN(qb__mbirct_count(path, text, "NChannels", &g->columns));
    QB__OR_RETURN(qb__mbirct_number(path, text, "DeltaChannel", 1e-12, 1e12, &pixel));
    QB__OR_RETURN(qb__mbirct_number(path, text, "DeltaSlice", 1e-12, 1e12, &high));
    const double middle = ((double)g->columns - 1) / 2;
    *circle = (qb__circle){.beam = QB_BEAM_CONE,
                           .sod = beam->sod,
                           .sdd = beam->sdd,
                           .pixel_u = pixel,
                           .pixel_v = high * beam->sdd / beam->sod,
                           .column = middle - beam->offset, /* counted from the other end */
                           .row = ((double)g->rows - 1) / 2};
    return QB_OK;
}

static void turn_round(qb_view *view, size_t columns) {
    for (int j = 0; j < 3; j++) {
        view->detector[j] += (double)(columns - 1) * view->u[j];
        view->u[j] = -view->u[j];
    }
}

qb_status qb__geometry_from_mbirct(const char *path, const char *text, qb_geometry *geometry) {
    qb__mbirct_beam beam;
    qb__circle circle;
    qb_geometry size = {0};
    double *radians = NULL;
    char from[QB__MBIRCT_NAME];
    qb_status status;
    QB__TRY(qb__mbirct_beam_of(path, text, &beam));
    if (beam.kind == QB__MBIRCT_PARALLEL)
        return qb__fail(
            QB_BAD_INPUT,
            "its beam is parallel, so it is not a geometry file: the angles of the scan and --center are enough");
    QB__TRY(circle_of(path, text, &beam, &size, &circle));
    QB__TRY(qb__geometry_create(QB_BEAM_CONE, size.views, size.rows, size.columns, geometry));
    QB__TRY(qb__alloc(size.views, sizeof *radians, &radians));
    QB__TRY(qb__mbirct_angles(path, text, size.views, radians, from, sizeof from));
    for (size_t v = 0; v < size.views; v++) {
        qb__circle_view(&circle, radians[v], &geometry->view[v]);
        turn_round(&geometry->view[v], size.columns);
    }
    geometry->radius = beam.kind == QB__MBIRCT_CURVED ? beam.sdd : 0;
    geometry->apart = size.rows > 1;
out:
    qb__free(radians);
    return status;
}
