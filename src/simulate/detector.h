/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "quickbeam/status.h"

/* A simulated counting detector of 16 bits.
 *
 *   counts = pedestal + gain Poisson(photons profile fault transmission + READ_NOISE / gain)
 *
 * photons: per pixel in the open beam. profile: a beam that is brightest near the centre, and pixels that differ by 1
 * %, equal in all frames. fault: gain errors of some columns, in views but not in flats, which leave rings. pedestal +
 * READ_NOISE: a dark of about 100 counts. One photon is one count unless the detector would saturate: then gain keeps
 * the flats below the limit. */
typedef struct qb__detector {
    size_t rows, columns;
    double photons, gain;
    uint64_t seed;
    float *profile; /* [rows][columns] */
    float *fault;   /* [columns] */
} qb__detector;

enum qb__simulated_frame { QB__FRAME_VIEW, QB__FRAME_FLAT, QB__FRAME_DARK };

/* photons 0: no counts, only faults. rings: standard deviation of the gain of faulty columns. */
qb_status qb__detector_create(size_t rows, size_t columns, double photons, double rings, uint64_t seed,
                              qb__detector *detector);
void qb__detector_destroy(qb__detector *detector);

/* One row of a frame; transmission[columns] is not read for QB__FRAME_DARK; NULL: 1. Returns the number of pixels
 * clipped at 65535. The result depends only on the arguments: any thread, any order. */
size_t qb__detector_expose(const qb__detector *detector, enum qb__simulated_frame kind, size_t frame, size_t row,
                           const double *transmission, uint16_t *out);

/* Position across the detector, -1..1; brightness of the beam there. */
double qb__across(double index, size_t count);
double qb__beam(double x, double y);

/* A Poisson random number with that mean: by inversion below 10, else by transformed rejection (PTRS; W. Hoermann,
 * Insurance: Mathematics and Economics 12 (1993) 39). */
double qb__poisson(qb__random *random, double mean);
