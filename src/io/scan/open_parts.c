/* SPDX-License-Identifier: MIT */
#include "io/scan/open_parts.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/circle.h"
#include "io/formats.h"
#include "io/geometry/geometry_file.h"

static qb_status open_stored(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    const qb__format *format;
    if (options->shape)
        return qb__raw_open_as(path, options->shape, options->as == QB_IMAGE_SINOGRAM, &parts->data.source);
    QB__OR_RETURN(qb__format_to_read(path, &format));
    if (format->scan) return format->scan(path, options, parts);
    return format->open(path, options->dataset, &parts->data.source);
}

static qb_status take_angles(const qb_geometry *geometry, qb__scan_parts *parts) {
    if (parts->angles) return QB_OK;
    QB__OR_RETURN(qb__alloc(geometry->views, sizeof *parts->angles, &parts->angles));
    qb__view_angles(geometry, parts->angles);
    parts->angle_count = geometry->views;
    snprintf(parts->angles_from, sizeof parts->angles_from, "the geometry in its provenance");
    return QB_OK;
}

static void take_circle(const qb__kept_circle *circle, qb__scan_parts *parts) {
    parts->sod = circle->sod, parts->sdd = circle->sdd, parts->rows_down = circle->rows_down;
    if (!isfinite(circle->offset[0])) return;
    parts->detector_stated = true;
    for (int i = 0; i < 2; i++) parts->detector[i] = circle->offset[i], parts->detector[2 + i] = circle->tilt[i];
}

/* The geometry that our own writers put into the provenance. It also gives the angles, if the format keeps none. Another
 * program may have changed the images, so a geometry for images of another shape is left out. */
static qb_status take_geometry(const char *path, qb__scan_parts *parts) {
    qb_geometry g;
    qb__kept_circle circle;
    const size_t *n = parts->data.source->shape, views = parts->data.index ? parts->data.count : n[0];
    qb_status status = qb__geometry_kept(path, &g, &circle);
    if (status != QB_OK && status != QB_NO_MEMORY) {
        qb__note(&parts->notes,
                 "the geometry in its provenance is not used, as %s: give -g FILE" QB__CODE("metadata-unusable"),
                 qb_detail());
        status = QB_OK;
        goto out;
    }
    if (status != QB_OK || !g.views) goto out;
    if (g.views != views || g.rows != n[1] || g.columns != n[2]) {
        qb__note(&parts->notes,
                 "its provenance has the geometry of %zu views of %zu x %zu pixels, it holds %zu of %zu x %zu: the "
                 "geometry is not used, give -g FILE" QB__CODE("metadata-unusable"),
                 g.views, g.rows, g.columns, views, n[1], n[2]);
        goto out;
    }
    if (!(circle.sod > 0) && circle.angles_follow && parts->angles && parts->angle_count == g.views &&
        !qb__angles_follow(&g, parts->angles)) {
        qb__note(&parts->notes,
                 "its angles are no longer those of the geometry in its provenance, which is not used: give "
                 "-g FILE" QB__CODE("metadata-unusable"));
        goto out;
    }
    QB__TRY(take_angles(&g, parts));
    if (circle.sod > 0) {
        take_circle(&circle, parts);
        goto out;
    }
    parts->placed = qb__strdup(path);
    if (!parts->placed) status = qb__fail(QB_NO_MEMORY, "no memory for a file's name");
out:
    qb_geometry_destroy(&g);
    return status;
}

/* Transpose the images only. Flats and darks of the same file are stored as frames already. */
static qb_status transpose(const char *order, qb__scan_parts *parts) {
    if (parts->data.index)
        return qb__fail(QB_UNSUPPORTED, "%s: --transpose of frames that are projections, flats and darks in one stack",
                        parts->data.source->path);
    const qb_status status = qb__source_transpose(&parts->data.source, order);
    if (status == QB_OK) parts->data.count = parts->data.source->shape[0];
    return status;
}

qb_status qb__scan_open_parts(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    qb_status status = open_stored(path, options, parts);
    if (status == QB_OK && !options->shape && !parts->placed && !(parts->sod > 0)) status = take_geometry(path, parts);
    return status == QB_OK && options->transpose && *options->transpose ? transpose(options->transpose, parts) : status;
}
