/* SPDX-License-Identifier: MIT */
/* Scans of GE's (Waygate's) phoenix: NAME.pca, and next to it images NAME_0001.tif or NAME00001.tif, which are already
 * corrected with flats and darks. FreeRay is the count of open beam; without it, flats or --air give it.
 *
 * cx and cy are the pixel that the principal ray meets, counted from 0. CalibValue moves the axis, by a number of pixels whose
 * sign no public reader knows: opposite rays show it, and the sense of rotation (ways.c). */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/publish/paths.h"
#include "io/vendor/vendor.h"

typedef struct phoenix {
    double sod, sdd, pixel_u, pixel_v, columns, rows, views, sector, white, column, row, calibrated, roll, tilt;
} phoenix;

#define AT(field) offsetof(phoenix, field)
static const qb__ini_number keys[] = {
    {"FOD", AT(sod), 1e-3, 1e6, true},
    {"FDD", AT(sdd), 1e-3, 1e6, true},
    {"PixelsizeX", AT(pixel_u), 1e-6, 1e3, true},
    {"PixelsizeY", AT(pixel_v), 1e-6, 1e3, false},
    {"DimX", AT(columns), 1, 1e6, false},
    {"DimY", AT(rows), 1, 1e6, false},
    {"NumberImages", AT(views), 1, 1e7, true},
    {"RotationSector", AT(sector), -3600, 3600, false},
    {"FreeRay", AT(white), 0, 1e9, false},
    {"cx", AT(column), -1e6, 1e6, false},
    {"cy", AT(row), -1e6, 1e6, false},
    {"CalibValue", AT(calibrated), -1e5, 1e5, false},
    {"DetectorRot", AT(roll), -360, 360, false},
    {"Tilt", AT(tilt), -360, 360, false},
};

static double known(double value) { return isnan(value) ? 0 : value; }

static qb_status check_path(const qb__ini *ini, const phoenix *p) {
    char active[16];
    const bool other = qb__ini_text_of(ini, "Trajectory", "Active", active, sizeof active) && strcmp(active, "1") == 0;
    if (!other && fabs(known(p->tilt)) < 0.01) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "%s is not a circle about an upright axis (Trajectory Active=%d, Tilt=%g), and only such scans are "
                    "read: write a geometry file and give it with the images (-g FILE)",
                    ini->path, other, known(p->tilt));
}

static qb_status open_images(const qb__ini *ini, qb__scan_parts *parts) {
    char pattern[QB__VENDOR_NAME], name[256];
    qb_status status = QB_NOT_FOUND;
    for (const char *between = "_"; between && status == QB_NOT_FOUND; between = *between ? "" : NULL) {
        snprintf(name, sizeof name, "%.240s", qb__last_part(ini->path));
        char *dot = strrchr(name, '.');
        if (dot) snprintf(dot, 2, "%s", between);
        status = qb__vendor_images(ini, name, pattern, sizeof pattern);
        if (status == QB_OK) status = qb__source_open(pattern, NULL, &parts->data.source);
    }
    return status;
}

static qb_status choose(const qb__vendor *v, const phoenix *p, const qb_scan_options *options, qb__scan_parts *parts) {
    const double axis = known(p->calibrated) * v->pixel_u, at[] = {v->offset_u, v->offset_u - axis, v->offset_u + axis};
    qb__way ways[6];
    size_t count = 0;
    for (size_t i = 0; i < (axis == 0 ? 1 : 3); i++)
        for (int sense = 1; sense >= -1; sense -= 2) ways[count++] = (qb__way){.sense = sense, .offset_u = at[i]};
    return qb__ways_choose(v, options, ways, count, false, parts);
}

static qb_status read_scan(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts) {
    phoenix p;
    QB__OR_RETURN(qb__ini_numbers(ini, keys, sizeof keys / sizeof *keys, &p));
    QB__OR_RETURN(check_path(ini, &p));
    QB__OR_RETURN(open_images(ini, parts));
    const size_t *n = parts->data.source->shape;
    qb__vendor v = {.format = "phoenix",
                    .path = ini->path,
                    .views = (size_t)p.views,
                    .step = -(isnan(p.sector) ? 360 : p.sector) / floor(p.views),
                    .sod = p.sod,
                    .sdd = p.sdd,
                    .pixel_u = p.pixel_u,
                    .pixel_v = isnan(p.pixel_v) ? p.pixel_u : p.pixel_v,
                    .tilt = known(p.roll),
                    .white = known(p.white),
                    .rows = (size_t)known(p.rows),
                    .columns = (size_t)known(p.columns)};
    if (!isnan(p.column)) v.offset_u = (0.5 * ((double)n[2] - 1) - p.column) * v.pixel_u;
    if (!isnan(p.row)) v.offset_v = (0.5 * ((double)n[1] - 1) - p.row) * v.pixel_v;
    QB__OR_RETURN(qb__vendor_parts(&v, NULL, parts));
    return choose(&v, &p, options, parts);
}

qb_status qb__phoenix_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    return qb__vendor_scan(path, options, read_scan, parts);
}
