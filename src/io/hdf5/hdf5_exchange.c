/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"

/* limit for the number of views, and so for memory */
enum { ANGLES_MOST = 1 << 24 };

/* The factor from the file's unit to radians. Without a unit, degrees. The user must give a unit that is unknown, that
 * the numbers contradict, or that is missing when both are possible. */
static double angle_factor(hid_t file, const char *path, const double *values, size_t count, qb__scan_parts *parts) {
    char units[32];
    const bool said = qb__h5_text(file, path, "units", units, sizeof units) && *units;
    const double factor = said ? qb__angle_unit(units) : 0.0;
    double low = INFINITY, high = -INFINITY;
    parts->unit_wrong[0] = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (factor == 1.0 && qb__angles_like_degrees(values, count))
        snprintf(parts->unit_wrong, sizeof parts->unit_wrong,
                 "%.120s: %g to %g, stated in radians, are %.3g turns: they are probably degrees, give --angle-unit "
                 "deg or rad",
                 path, low, high, (high - low) / 6.283185307179586);
    if (factor > 0.0) return factor;
    qb__printable(units);
    if (said)
        snprintf(parts->unit_wrong, sizeof parts->unit_wrong,
                 "%.120s is in \"%s\", which is not a known unit of angle: give --angle-unit deg or rad", path, units);
    else if (qb__angles_may_be_either(count, low, high))
        snprintf(parts->unit_wrong, sizeof parts->unit_wrong,
                 "%.120s: %zu numbers from %g to %g without a unit: degrees or radians? Give --angle-unit deg or rad",
                 path, count, low, high);
    return qb__angle_unit("degrees");
}

qb_status qb__h5_angles(hid_t file, const char *name, const char *path, qb__scan_parts *parts) {
    double *values;
    size_t count;
    QB__OR_RETURN(qb__h5_numbers(file, name, path, ANGLES_MOST, &values, &count));
    parts->angle_unit = angle_factor(file, path, values, count, parts);
    for (size_t i = 0; i < count; i++) values[i] *= parts->angle_unit;
    qb__free(parts->angles);
    parts->angles = values;
    parts->angle_count = count;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%s", path);
    return QB_OK;
}

void qb__h5_pixel(hid_t file, const char *name, const char *const *paths, qb__scan_parts *parts) {
    for (size_t i = 0; paths[i]; i++) {
        char why[QB__H5_WHY];
        double size;
        if (qb__h5_again(paths, i)) continue;
        const qb__h5_found found = qb__h5_scalar(file, name, paths[i], &qb__h5_length, &size, why);
        if (found == QB__H5_GOOD) {
            parts->pixel_size = size;
            snprintf(parts->pixel_from, sizeof parts->pixel_from, "%s", paths[i]);
            return;
        }
        if (found != QB__H5_ABSENT)
            qb__note(&parts->notes, "%s: it is not used, give --pixel-size" QB__CODE("pixel-size-unusable"), why);
    }
}

void qb__h5_pixels(hid_t file, const char *name, const char *const *x, const char *const *y, qb__scan_parts *parts) {
    qb__h5_pixel(file, name, y, parts);
    parts->pixel_v = parts->pixel_size;
    parts->pixel_size = 0;
    qb__h5_pixel(file, name, x, parts);
}

/* Data with views as the last axis, with flats and darks [frame][row][column] or in the same order. */
static bool is_reversed(const size_t field[3], const size_t data[3]) {
    return (field[1] == data[1] && field[2] == data[0]) || (field[0] == data[0] && field[1] == data[1]);
}

/* The times of the flats, if the file states them. */
static void read_flat_views(hid_t file, const char *name, const char *group, qb__scan_parts *parts) {
    char path[600];
    int rank;
    size_t shape[3], count;
    double *views;
    snprintf(path, sizeof path, "%s/white_before_view", group);
    if (!parts->flats.count || !qb__h5_shape(file, path, &rank, shape)) return;
    if (shape[0] * shape[1] * shape[2] != parts->flats.count)
        qb__note(&parts->notes, "%s has %zu numbers for %zu flats: it is not used" QB__CODE("metadata-unusable"), path,
                 shape[0] * shape[1] * shape[2], parts->flats.count);
    else if (qb__h5_numbers(file, name, path, parts->flats.count, &views, &count) == QB_OK)
        parts->flat_views = views;
}

/* A stack of flats or darks, unless others are given. Only a missing stack counts as absent: ignoring one that exists
 * but cannot be used would give a wrong volume. */
static qb_status open_fields(hid_t file, const char *name, const char *group, const char *child, const char *given,
                             bool sinogram, qb__scan_parts *parts, qb__frames *fields) {
    char path[600];
    size_t own[3];
    int rank;
    snprintf(path, sizeof path, "%s/%s", group, child);
    int there = given ? 0 : qb__h5_look(file, path);
    if (there == 0 || (qb__h5_shape(file, path, &rank, own) && rank == 3 && own[0] == 0))
        return QB_OK; /* 0 frames count as none */
    const size_t *data = parts->data.source->shape, n[3] = {data[0], sinogram ? data[0] : data[1], data[2]};
    qb__source *source = NULL;
    qb_status status = there < 0 ? qb__fail(QB_BAD_INPUT, "%s:%s is a broken link", name, path)
                                 : qb__h5_source(file, name, path, &source);
    const bool reversed = status == QB_OK && is_reversed(source->shape, data);
    if (status == QB_OK && (source->shape[1] != n[1] || source->shape[2] != n[2]))
        status =
            qb__fail(QB_BAD_INPUT, "%s:%s has frames of %zu x %zu, the data %zu x %zu%s", name, path, source->shape[1],
                     source->shape[2], n[1], n[2],
                     source->shape[1] == data[0] && source->shape[2] == data[2]
                         ? ", or --as sinogram: [row][view][column], which fits"
                     : reversed ? ", as of axes (x, y, theta): store [view][row][column] (numpy: transpose(2, 1, 0))"
                                : "");
    if (status == QB_OK) {
        *fields = (qb__frames){source, NULL, source->shape[0]};
        return QB_OK;
    }
    qb__source_close(source);
    if (qb_status_exit_code(status) != 3) return status;
    snprintf(parts->unusable, sizeof parts->unusable, "%.400s%s%s", qb_detail(), reversed ? "" : ": give --",
             reversed                          ? ""
             : strcmp(child, "data_dark") == 0 ? "darks"
                                               : "flats");
    return QB_OK;
}

/* tomoscan of the APS states a number for flats or darks that were not taken. A 0 says nothing: it is what the file holds
 * from the beginning. */
static qb_status take_constant(hid_t file, const char *name, const char *what, const char *path, bool flat,
                               bool sinogram, qb__scan_parts *parts, qb__frames *fields) {
    char why[QB__H5_WHY];
    double value;
    if (fields->source || *parts->unusable) return QB_OK;
    if (qb__h5_scalar(file, name, path, NULL, &value, why) == QB__H5_WRONG)
        qb__note(&parts->notes, "%s: it is not used" QB__CODE("metadata-unusable"), why);
    if (*why || !(value > 0)) return QB_OK;
    const size_t *data = parts->data.source->shape, image[2] = {data[sinogram ? 0 : 1], data[2]};
    QB__OR_RETURN(qb__source_constant(parts->data.source, image, value, &fields->source));
    fields->count = 1;
    if (flat)
        qb__note_of(&parts->notes, QB_PROBLEM_FLATS,
                    "there are no %s: %g is taken for all pixels, as %s states" QB__CODE("flats-constant"), what, value,
                    path);
    return QB_OK;
}

/* The angles as tomoscan states them in files without a list: the first, the step, and their number. */
static qb_status take_steps(hid_t file, const char *name, size_t views, qb__scan_parts *parts) {
    static const char *const paths[] = {"/process/acquisition/rotation/rotation_start",
                                        "/process/acquisition/rotation/rotation_step",
                                        "/process/acquisition/rotation/num_angles"};
    const double degree = 3.14159265358979323846 / 180;
    char why[QB__H5_WHY];
    double of[3];
    for (int i = 0; i < 3; i++) {
        const qb__h5_found found = qb__h5_scalar(file, name, paths[i], NULL, &of[i], why);
        if (found == QB__H5_WRONG) qb__note(&parts->notes, "%s: it is not used" QB__CODE("metadata-unusable"), why);
        if (found != QB__H5_GOOD) return QB_OK;
    }
    if (of[1] == 0) return QB_OK; /* not set */
    if (!(of[2] >= (double)views)) {
        qb__note(&parts->notes, "%s is %g and %s %g, for %zu views: they are not used" QB__CODE("metadata-unusable"),
                 paths[1], of[1], paths[2], of[2], views);
        return QB_OK;
    }
    QB__OR_RETURN(qb__alloc(views, sizeof *parts->angles, &parts->angles));
    parts->angle_count = views;
    for (size_t i = 0; i < parts->angle_count; i++) parts->angles[i] = (of[0] + (double)i * of[1]) * degree;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%s", paths[1]);
    return QB_OK;
}

void qb__exchange_detector(hid_t file, const char *name, qb__scan_parts *parts) {
    static const char *const pixels[] = {"/measurement/instrument/detector/actual_pixel_size_x",
                                         "/measurement/instrument/detector/pixel_size_x", NULL};
    static const char *const high[] = {"/measurement/instrument/detector/actual_pixel_size_y",
                                       "/measurement/instrument/detector/pixel_size_y", NULL};
    static const char *const energies[] = {"/measurement/instrument/monochromator/energy",
                                           "/measurement/instrument/beam/incident_energy", NULL};
    static const char *const distances[] = {"/measurement/instrument/detector/distance",
                                            "/measurement/instrument/detector_motor_stack/setup/camera_distance",
                                            "/measurement/instrument/camera_motor_stack/setup/camera_distance", NULL};
    qb__h5_pixels(file, name, pixels, high, parts);
    qb__h5_beam(file, name, energies, distances, parts);
}

qb_status qb__exchange_scan(hid_t file, const char *name, const char *group, const qb_scan_options *options,
                            qb__scan_parts *parts) {
    char path[600], units[32];
    snprintf(path, sizeof path, "%s/data", group);
    QB__OR_RETURN(qb__h5_source(file, name, path, &parts->data.source));
    qb__source *data = parts->data.source;
    parts->format =
        strncmp(group, "/exchange", 9) == 0 || strncmp(group, "exchange", 8) == 0 ? "DataExchange HDF5" : "HDF5";
    parts->data.count = data->shape[0];
    snprintf(parts->quantity, sizeof parts->quantity, "%s", data->quantity);
    if (!*parts->quantity && qb__h5_text(file, path, "units", units, sizeof units) && strcmp(units, "counts") == 0)
        snprintf(parts->quantity, sizeof parts->quantity, "counts");
    const char *flats = options ? options->flats : NULL, *darks = options ? options->darks : NULL;
    const bool sinogram = options && options->as == QB_IMAGE_SINOGRAM;
    qb_status status = open_fields(file, name, group, "data_white", flats, sinogram, parts, &parts->flats);
    if (status == QB_OK) status = open_fields(file, name, group, "data_dark", darks, sinogram, parts, &parts->darks);
    if (status == QB_OK && !flats)
        status = take_constant(file, name, "flats", "/process/acquisition/flat_fields/flat_field_value", true, sinogram,
                               parts, &parts->flats);
    if (status == QB_OK && !darks)
        status = take_constant(file, name, "darks", "/process/acquisition/dark_fields/dark_field_value", false,
                               sinogram, parts, &parts->darks);
    if (status != QB_OK) return status;
    read_flat_views(file, name, group, parts);
    qb__exchange_detector(file, name, parts);
    qb__h5_number(file, path, "rotation_axis_column", &parts->center);
    parts->center_holds = true;
    snprintf(path, sizeof path, "%s/theta", group);
    if (!qb__h5_exists(file, path)) /* if there are no steps either, that is reported when angles are needed */
        return take_steps(file, name, data->shape[sinogram ? 1 : 0], parts);
    if (qb__h5_angles(file, name, path, parts) != QB_OK)
        qb__note(&parts->notes, "%s cannot be used: %s" QB__CODE("angles-unusable"), path, qb_detail());
    return QB_OK;
}
