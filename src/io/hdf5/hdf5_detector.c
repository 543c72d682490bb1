/* SPDX-License-Identifier: MIT */
/* Detector and source in an NXtomo entry: pixels, distances, the axis, mirrored images. */
#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"
#include "quickbeam/io.h"

/* The first number of a dataset; NAN: none. One that exists but cannot be used is noted. */
static double number_at(hid_t file, const char *name, const char *path, qb__notes *notes) {
    char why[QB__H5_WHY];
    double value;
    if (qb__h5_scalar(file, name, path, NULL, &value, why) == QB__H5_WRONG)
        qb__note(notes, "%s: it is not used" QB__CODE("metadata-unusable"), why);
    return value;
}

/* Length in mm; 0: none. A wrong length of the detector is noted with the data of the beam. */
static double length_at(hid_t file, const char *name, const char *path, qb__notes *notes) {
    char why[QB__H5_WHY];
    return qb__h5_first_of(file, name, (const char *const[]){path, NULL}, &qb__h5_distance, notes, why);
}

static void read_pixels(hid_t file, const char *name, const char *detector, const char *entry, qb__scan_parts *parts) {
    char path[2][2][400];
    for (int v = 0; v < 2; v++) {
        snprintf(path[v][0], sizeof path[v][0], "%s/%c_pixel_size", detector, v ? 'y' : 'x');
        snprintf(path[v][1], sizeof path[v][1], "%s/instrument/detector/%c_pixel_size", entry, v ? 'y' : 'x');
    }
    qb__h5_pixels(file, name, (const char *const[]){path[0][0], path[0][1], NULL},
                  (const char *const[]){path[1][0], path[1][1], NULL}, parts);
}

static void read_distances(hid_t file, const char *name, const char *detector, const char *entry,
                           qb__scan_parts *parts) {
    char to_detector[400], to_source[400];
    snprintf(to_detector, sizeof to_detector, "%s/distance", detector);
    if (!qb__h5_exists(file, to_detector))
        snprintf(to_detector, sizeof to_detector, "%s/instrument/detector/distance", entry);
    snprintf(to_source, sizeof to_source, "%s/instrument/source/distance", entry);
    qb__notes again = {0}; /* the detector's distance is noted with the beam */
    const double behind = length_at(file, name, to_detector, &again),
                 before = length_at(file, name, to_source, &parts->notes);
    qb__notes_release(&again);
    if (!(before > 0) || !(behind > 0)) return;
    parts->sod = before;
    parts->sdd = before + behind;
}

static void read_beam(hid_t file, const char *name, const char *detector, const char *entry, qb__scan_parts *parts) {
    static const char *const energies[] = {"beam/incident_energy", "instrument/beam/incident_energy",
                                           "sample/beam/incident_energy", "instrument/monochromator/energy"};
    char path[4][400], to_detector[2][400];
    for (int i = 0; i < 4; i++) snprintf(path[i], sizeof path[i], "%s/%s", entry, energies[i]);
    snprintf(to_detector[0], sizeof to_detector[0], "%s/distance", detector);
    snprintf(to_detector[1], sizeof to_detector[1], "%s/instrument/detector/distance", entry);
    qb__h5_beam(file, name, (const char *const[]){path[0], path[1], path[2], path[3], NULL},
                (const char *const[]){to_detector[0], to_detector[1], NULL}, parts);
}

static qb_status mirror_all(qb__scan_parts *parts, bool columns, bool rows) {
    qb__frames *const all[] = {&parts->data, &parts->flats, &parts->darks};
    qb_status status = QB_OK;
    for (int i = 0; i < 3 && status == QB_OK; i++)
        if (all[i]->source) status = qb__source_mirror(&all[i]->source, columns, rows);
    return status == QB_OK ? qb__mask_mirror(&parts->mask, columns, rows) : status;
}

/* Rotations of the detector by half a turn, which programs define differently. */
static void note_turns(hid_t file, const char *name, const char *detector, qb__notes *notes) {
    static const char *const axes[] = {"rx", "ry", "rz"};
    for (int i = 0; i < 3; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/transformations/%s", detector, axes[i]);
        const double degrees = number_at(file, name, path, notes);
        if (!isnan(degrees) && fabs(fabs(degrees) - 180) < 1)
            qb__note(notes,
                     "%s is 180 degrees: images may be mirrored, and are read as stored: if the volume is a mirror "
                     "image, give --flip" QB__CODE("detector-flip"),
                     path);
    }
}

static qb_status read_flips(hid_t file, const char *name, const char *detector, qb__scan_parts *parts,
                            bool flipped[2]) {
    for (int i = 0; i < 2; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s/%c_flipped", detector, i ? 'y' : 'x');
        flipped[i] = qb__h5_flag(file, name, path, &parts->notes);
    }
    note_turns(file, name, detector, &parts->notes);
    if (flipped[0] || flipped[1])
        qb__note(&parts->notes,
                 "the file states that its images are mirrored (%s): %s are read in reverse" QB__CODE("detector-flip"),
                 flipped[0] && flipped[1] ? "x_flipped, y_flipped"
                 : flipped[0]             ? "x_flipped"
                                          : "y_flipped",
                 flipped[0] && flipped[1] ? "columns and rows"
                 : flipped[0]             ? "columns"
                                          : "rows");
    return mirror_all(parts, flipped[0], flipped[1]);
}

/* Whether most values of the middle view lie above the limit, by three of its rows: then it is wrong. */
static qb_status most_above(const qb__frames *views, double limit, bool *most) {
    const size_t *shape = views->source->shape, columns = shape[2];
    void *raw = NULL;
    float *row = NULL;
    size_t above = 0;
    qb_status status;
    QB__TRY(qb__alloc(columns, qb_dtype_size(views->source->dtype), &raw));
    QB__TRY(qb__alloc(columns, sizeof *row, &row));
    for (size_t i = 1; i <= 3; i++) {
        const size_t r = i * shape[1] / 4;
        QB__TRY(qb__frames_read(views, &(qb__region){views->count / 2, 1, 1, r, r + 1}, raw));
        qb_convert_to_float(raw, views->source->dtype, columns, row);
        for (size_t c = 0; c < columns; c++) above += (double)row[c] > limit;
    }
    *most = 2 * above > 3 * columns;
out:
    QB__FREE(raw, row);
    return status;
}

/* NeXus: values above saturation_value are invalid. */
static qb_status read_saturation(hid_t file, const char *name, const char *detector, qb__scan_parts *parts) {
    qb__frames *const all[] = {&parts->data, &parts->flats, &parts->darks};
    char path[400];
    bool wrong = false;
    snprintf(path, sizeof path, "%s/saturation_value", detector);
    const double limit = number_at(file, name, path, &parts->notes);
    const qb_dtype dtype = parts->data.source->dtype;
    if (!(limit > 0) || (!qb_dtype_is_float(dtype) && limit >= qb__dtype_most(dtype))) return QB_OK;
    qb_status status = most_above(&parts->data, limit, &wrong);
    if (status == QB_OK && wrong)
        qb__note_of(
            &parts->notes, QB_PROBLEM_PIXELS,
            "%s is %g, but most counts of the middle view are larger: it is not used" QB__CODE("metadata-unusable"),
            path, limit);
    else if (status == QB_OK)
        qb__source_tell(parts->data.source, "counts above %g, the saturation_value, count as saturated", limit);
    for (int i = 0; i < 3 && status == QB_OK && !wrong; i++)
        if (all[i]->source) status = qb__source_limit_values(&all[i]->source, limit);
    return status;
}

/* What is said of the counts and has no effect here. */
static void tell_unused(hid_t file, const char *name, const char *detector, qb__scan_parts *parts) {
    char path[400];
    snprintf(path, sizeof path, "%s/underload_value", detector);
    const double least = number_at(file, name, path, &parts->notes);
    if (least > 0)
        qb__note(&parts->notes,
                 "%s is %g: smaller counts are kept; mark such pixels by --mask" QB__CODE("metadata-unusable"), path,
                 least);
    snprintf(path, sizeof path, "%s/flatfield_applied", detector);
    if (parts->flats.count && qb__h5_flag(file, name, path, &parts->notes))
        qb__note_of(&parts->notes, QB_PROBLEM_FLATS,
                    "%s is true, and there are flats, by which views are divided: if that was done before, give "
                    "--quantity transmission" QB__CODE("metadata-unusable"),
                    path);
}

/* Find the axis as a column of the stored images; motor positions count from their middle. */
static void read_axis(hid_t file, const char *name, const char *detector, bool mirrored, qb__scan_parts *parts) {
    char stated[400], motor[400];
    snprintf(stated, sizeof stated, "%s/x_rotation_axis_pixel_position", detector);
    snprintf(motor, sizeof motor, "%s/estimated_cor_from_motor", detector);
    const double middle = 0.5 * ((double)parts->data.source->shape[2] - 1);
    double column = number_at(file, name, stated, &parts->notes);
    if (isnan(column)) column = middle + number_at(file, name, motor, &parts->notes);
    if (isnan(column)) return;
    parts->center = mirrored ? 2 * middle - column : column;
}

qb_status qb__nxtomo_mirror(hid_t file, const char *name, const char *group, qb__scan_parts *parts) {
    bool flipped[2];
    return read_flips(file, name, group, parts, flipped);
}

qb_status qb__nxtomo_detector(hid_t file, const char *name, const char *entry, const char *group,
                              qb__scan_parts *parts) {
    bool flipped[2];
    read_pixels(file, name, group, entry, parts);
    read_distances(file, name, group, entry, parts);
    read_beam(file, name, group, entry, parts);
    qb_status status = read_flips(file, name, group, parts, flipped);
    if (status == QB_OK) read_axis(file, name, group, flipped[0], parts);
    if (status == QB_OK) status = read_saturation(file, name, group, parts);
    if (status == QB_OK) tell_unused(file, name, group, parts);
    return status;
}
