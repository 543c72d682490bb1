/* SPDX-License-Identifier: MIT */
/* Scans of Diondo: NAME.xml with <Geometrie>, <Recon> and <ScanParameter>, and next to it a folder Projection of raw
 * 16-bit images, one for each view. The images are already corrected with flats and darks, so open beam is 65535
 * everywhere.
 *
 * Public readers agree on the distances. They differ in the sense of rotation, and in the unit and sign of the axis
 * position, ProjectionCenterOffsetX: opposite rays show which is right (ways.c). One of three readers reads the rows
 * from below. Here rows are taken as stored, with a warning, because a mirrored object fits the rays as well. */
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/vendor/vendor.h"
#include "io/vendor/ini.h"

typedef struct diondo {
    double sod, sdd, pixel_u, pixel_v, columns, rows, views, turn, axis;
} diondo;

#define AT(field) offsetof(diondo, field)
static const qb__tag_entry entries[] = {
    {"SourceObjectDist", AT(sod), 1e-3, 1e6, true},
    {"SourceDetectorDist", AT(sdd), 1e-3, 1e6, true},
    {"ProjectionPixelSizeX", AT(pixel_u), 1e-6, 1e3, true},
    {"ProjectionPixelSizeY", AT(pixel_v), 1e-6, 1e3, true},
    {"ProjectionDimX", AT(columns), 1, 1e6, true},
    {"ProjectionDimY", AT(rows), 1, 1e6, true},
    {"ProjectionCount", AT(views), 2, 1e7, true},
    {"ProjectionCountPer360deg", AT(turn), 2, 1e7, false},
    {"ProjectionCenterOffsetX", AT(axis), -1e6, 1e6, false},
};

/* Public readers refuse a helix, or disagree on its direction. */
static qb_status check_path(const char *path, const char *text) {
    char word[16], rise[40], turn[40];
    if (qb__tag_text(text, NULL, "HelixMode", word, sizeof word) && strcasecmp(word, "true") == 0) {
        const bool rises = qb__tag_text(text, NULL, "HelixPerStepDistanceZ", rise, sizeof rise);
        const bool turns = qb__tag_text(text, NULL, "ProjectionCountPer360deg", turn, sizeof turn);
        return qb__fail(QB_UNSUPPORTED,
                        "%s is a helix of %s mm a view with %s views a turn, and only circular scans are read: write a "
                        "geometry file with these numbers and give it with the images (-g FILE)",
                        path, rises ? rise : "an unknown number of", turns ? turn : "an unknown number of");
    }
    if (qb__tag_text(text, NULL, "Laminography", word, sizeof word) && strcasecmp(word, "true") == 0)
        return qb__fail(QB_UNSUPPORTED,
                        "%s is a laminography, and only circular scans are read: write a geometry file and give it "
                        "with the images (-g FILE)",
                        path);
    return QB_OK;
}

qb_status qb__diondo_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts) {
    diondo d;
    QB__OR_RETURN(check_path(path, text));
    QB__OR_RETURN(qb__tag_entries(path, text, entries, sizeof entries / sizeof *entries, &d));
    qb__vendor v = {.format = "Diondo",
                    .path = path,
                    .views = (size_t)d.views,
                    .step = -360 / (d.turn >= 2 ? d.turn : d.views),
                    .sod = d.sod,
                    .sdd = d.sdd,
                    .pixel_u = d.pixel_u,
                    .pixel_v = d.pixel_v,
                    .white = 65535,
                    .rows = (size_t)d.rows,
                    .columns = (size_t)d.columns};
    QB__OR_RETURN(qb__cabinet_images(&v, "Projection", parts));
    QB__OR_RETURN(qb__vendor_parts(&v, NULL, parts));
    const double axis = d.axis >= -1e6 ? d.axis : 0, pixels = axis * d.pixel_u, times = d.sdd / d.sod;
    const double at[] = {0, pixels, -pixels, axis, -axis, pixels * times, -pixels * times};
    qb__way ways[2 * sizeof at / sizeof *at];
    size_t count = 0;
    for (size_t i = 0; i < (axis == 0 ? 1 : sizeof at / sizeof *at); i++)
        for (int sense = 1; sense >= -1; sense -= 2) ways[count++] = (qb__way){.sense = sense, .offset_u = at[i]};
    if (!options || options->flip == QB_FLIP_NONE)
        qb__note(&parts->notes,
                 "%s: public readers differ in the order of the rows; they are read as stored, from the top: if the "
                 "volume is a mirror image, give --flip v" QB__CODE("row-order"),
                 path);
    return qb__ways_choose(&v, options, ways, count, true, parts);
}
