/* SPDX-License-Identifier: MIT */
/* Scans of GE's (Waygate's) phoenix: NAME.pca, and next to it images NAME_0001.tif. The count of open beam is not
 * stated: flats or --air give it. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/publish/paths.h"
#include "io/vendor/vendor.h"

typedef struct phoenix {
    double sod, sdd, pixel_u, pixel_v, columns, rows, views, sector;
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
};

static qb_status read_scan(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts) {
    (void)options;
    char pattern[QB__VENDOR_NAME], name[256];
    phoenix p;
    qb_status status;
    QB__TRY(qb__ini_numbers(ini, keys, sizeof keys / sizeof *keys, &p));
    snprintf(name, sizeof name, "%.240s", qb__last_part(ini->path));
    char *dot = strrchr(name, '.');
    if (dot) snprintf(dot, 2, "_");
    QB__TRY(qb__vendor_images(ini, name, pattern, sizeof pattern));
    const qb__vendor v = {.format = "phoenix",
                          .path = ini->path,
                          .views = (size_t)p.views,
                          .step = -(isnan(p.sector) ? 360 : p.sector) / p.views,
                          .sod = p.sod,
                          .sdd = p.sdd,
                          .pixel_u = p.pixel_u,
                          .pixel_v = isnan(p.pixel_v) ? p.pixel_u : p.pixel_v,
                          .rows = isnan(p.rows) ? 0 : (size_t)p.rows,
                          .columns = isnan(p.columns) ? 0 : (size_t)p.columns};
    status = qb__vendor_parts(&v, pattern, parts);
out:
    return status;
}

qb_status qb__phoenix_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    return qb__vendor_scan(path, options, read_scan, parts);
}
