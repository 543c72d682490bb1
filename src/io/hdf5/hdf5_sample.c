/* SPDX-License-Identifier: MIT */
/* What an NXtomo entry states for each frame besides its angle: the beam intensity and the sample position. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"

/* Reads one number for each frame. NULL: there are none, or they cannot be used; unusable numbers are noted. */
static double *of_frames(hid_t file, const char *name, const char *path, size_t frames, qb__notes *notes) {
    double *values;
    size_t count, shape[3];
    int rank;
    if (!qb__h5_shape(file, path, &rank, shape)) return NULL;
    count = shape[0] * shape[1] * shape[2];
    if (count != frames) {
        if (count > 1) /* a single number is the same for all frames and changes nothing */
            qb__note(notes, "%s has %zu numbers for %zu frames: it is not used" QB__CODE("metadata-unusable"), path,
                     count, frames);
        return NULL;
    }
    if (qb__h5_numbers(file, name, path, frames, &values, &count) == QB_OK) return values;
    qb__note(notes, "%s cannot be used: %s" QB__CODE("metadata-unusable"), path, qb_detail());
    return NULL;
}

static bool are_intensities(const double *values, const qb__frames *frames) {
    for (size_t i = 0; i < frames->count; i++)
        if (!(values[frames->index[i]] > 0) || !isfinite(values[frames->index[i]])) return false;
    return true;
}

/* Intensities of views and flats relative to the mean intensity over the flats. The mean is the right reference,
 * because views are divided by the mean of the flats. */
static void take_intensity(hid_t file, const char *name, const char *entry, size_t frames, qb__scan_parts *parts) {
    const qb__frames *data = &parts->data, *flats = &parts->flats;
    char path[400];
    double open = 0;
    snprintf(path, sizeof path, "%s/control/data", entry);
    double *values = flats->count ? of_frames(file, name, path, frames, &parts->notes) : NULL;
    if (!values) return;
    if (!are_intensities(values, data) || !are_intensities(values, flats)) {
        qb__note(&parts->notes,
                 "%s has no positive number for each view and flat: the beam's intensity is not corrected" QB__CODE(
                     "monitor-unusable"),
                 path);
    } else if (qb__alloc(data->count, sizeof *parts->intensity, &parts->intensity) == QB_OK) {
        for (size_t i = 0; i < flats->count; i++) open += values[flats->index[i]] / (double)flats->count;
        for (size_t i = 0; i < data->count; i++) parts->intensity[i] = values[data->index[i]] / open;
        if (qb__alloc(flats->count, sizeof *parts->flat_intensity, &parts->flat_intensity) == QB_OK)
            for (size_t i = 0; i < flats->count; i++) parts->flat_intensity[i] = values[flats->index[i]] / open;
        snprintf(parts->intensity_from, sizeof parts->intensity_from, "%.159s", path);
    }
    qb__free(values);
}

/* The sample position in each view: translation along one of three axes, or rotation about it. */
static void take_motion(hid_t file, const char *name, const char *entry, int way, size_t frames,
                        qb__scan_parts *parts) {
    qb__motion *m = &parts->motion[way];
    double *values;
    qb__print(m->from, sizeof m->from, "%.120s/sample/%c_%s", entry, "xyz"[way % 3],
              way < 3 ? "translation" : "rotation");
    values = of_frames(file, name, m->from, frames, &parts->notes);
    if (!values || qb__alloc(parts->data.count, sizeof *m->position, &m->position) != QB_OK) {
        qb__free(values);
        return;
    }
    for (size_t i = 0; i < parts->data.count; i++) m->position[i] = values[parts->data.index[i]];
    qb__free(values);
    if (!qb__h5_text(file, m->from, "units", m->unit, sizeof m->unit)) *m->unit = 0;
    m->size = way < 3 ? qb__length_unit(m->unit) : qb__angle_unit(m->unit) * (180 / M_PI);
}

static double mean_of(const double *values, const qb__frames *frames) {
    double sum = 0;
    for (size_t i = 0; i < frames->count; i++) sum += values[frames->index[i]] / (double)frames->count;
    return sum;
}

/* Counts are not divided by the time of exposure, since some detectors store rates. */
static void tell_exposures(hid_t file, const char *name, const char *group, size_t frames, qb__scan_parts *parts) {
    const double SAME = 0.01;
    char path[400];
    snprintf(path, sizeof path, "%s/count_time", group);
    double *values = of_frames(file, name, path, frames, &parts->notes);
    if (!values) return;
    const double views = mean_of(values, &parts->data), flats = mean_of(values, &parts->flats);
    if (parts->flats.count && flats > 0 && fabs(views / flats - 1) > SAME)
        qb__note_of(
            &parts->notes, QB_PROBLEM_FIELDS,
            "%s is %g in the views and %g in the flats, which is not applied: if both are counts, give --air, or "
            "scale the flats by %g" QB__CODE("exposures-differ"),
            path, views, flats, views / flats);
    qb__free(values);
}

void qb__nxtomo_sample(hid_t file, const char *name, const char *entry, const char *group, size_t frames,
                       qb__scan_parts *parts) {
    if (!parts->data.index || frames < 2) return;
    tell_exposures(file, name, group, frames, parts);
    if (!*entry) return;
    take_intensity(file, name, entry, frames, parts);
    for (int way = 0; way < 6; way++) take_motion(file, name, entry, way, frames, parts);
}
