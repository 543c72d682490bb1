/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/geometry.h"

/* Faults of a detector and its beam that flats do not show, unless flats are taken at several times: factors on the
 * transmission of a view, and scatter, which is added. The kinds are the rows of a table in faults.c. The seed decides
 * the place and the size of a fault. */
enum {
    QB__FAULT_WIDE,
    QB__FAULT_PARTIAL,
    QB__FAULT_DRIFTING,
    QB__FAULT_DEAD,
    QB__FAULT_FLICKER,
    QB__FAULT_TILT,
    QB__FAULT_FADE,
    QB__FAULT_MOVE,
    QB__FAULT_SWAY,
    QB__FAULT_SCATTER,
    QB__FAULT_SMOOTH,
    QB__FAULT_DISTORTION,
    QB__FAULT_COLLIMATOR,
    QB__FAULT_ZINGERS,
    QB__FAULT_BLANK,
    QB__FAULT_PHASE,
    QB__FAULT_SHIFTS,
    QB__FAULT_KINDS
};

typedef struct qb__fault_column {
    int kind;
    float size;          /* relative error of the gain */
    size_t view0, view1; /* partial: the views that have the fault */
} qb__fault_column;

typedef struct qb__detector_faults {
    size_t views, rows, columns;
    uint64_t seed;
    double amount[QB__FAULT_KINDS];
    qb__fault_column *column; /* [columns]; NULL: no faults */
    double (*shift)[3]; /* [views] columns, rows and degrees by which an image is moved; NULL: no image is moved */
} qb__detector_faults;

/* text: KIND=VALUE[,KIND=VALUE...]; NULL: none. Destroy also after a failure. QB_BAD_ARGUMENT with what is wrong;
 * QB_BAD_INPUT for the file of `shifts`. */
qb_status qb__faults_create(const char *text, size_t views, size_t rows, size_t columns, uint64_t seed,
                            qb__detector_faults *faults);
void qb__faults_destroy(qb__detector_faults *faults);
/* True if there are faults of whole views, which are applied before those of rows. */
bool qb__faults_of_views(const qb__detector_faults *faults);
/* Moves the detector so that it sees the image of a view moved, as a file of --shifts says. Exact: no number is
 * interpolated. */
void qb__faults_move(const qb__detector_faults *faults, size_t view, qb_view *at);
/* Applies the faults of whole views to view[row][column]. scratch: one view with an additional column. */
void qb__faults_apply_view(const qb__detector_faults *faults, double *view, double *scratch);
/* Multiplies a row of a view by its faults. The result depends only on the arguments, so any thread may process any row. */
void qb__faults_apply(const qb__detector_faults *faults, size_t view, size_t row, double *transmission);
/* Multiplies a row of a flat by the faults of the beam. `view`: the flat is taken before this view; NAN: before the beam
 * has changed. */
void qb__faults_of_flat(const qb__detector_faults *faults, size_t flat, double view, size_t row, double *transmission);
