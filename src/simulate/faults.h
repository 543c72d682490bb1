/* SPDX-License-Identifier: MIT */
#ifndef QB_SIMULATE_FAULTS_H
#define QB_SIMULATE_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Faults of a detector and its beam that flats do not show, unless they are taken at several times: factors on the transmission of
 * a view, and scatter, which is added to it. The kinds are the rows of a table in faults.c. Where a fault stands, and how large it is, follows from the seed. */
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
    QB__FAULT_KINDS
};

typedef struct qb__fault_column {
    int kind;
    float size;          /* relative error of its gain */
    size_t view0, view1; /* partial: where it has it */
} qb__fault_column;

typedef struct qb__faults {
    size_t views, rows, columns;
    uint64_t seed;
    double amount[QB__FAULT_KINDS];
    qb__fault_column *column; /* [columns]; NULL: there are no faults */
} qb__faults;

/* text: KIND=VALUE[,KIND=VALUE...]; NULL: none. Destroy also after a failure. QB_BAD_ARGUMENT says what is wrong. */
qb_status qb__faults_create(const char *text, size_t views, size_t rows, size_t columns, uint64_t seed,
                            qb__faults *faults);
void qb__faults_destroy(qb__faults *faults);
/* Are there faults of whole views, which come before those of rows? */
bool qb__faults_of_views(const qb__faults *faults);
/* view[row][column]; scratch: as many and a column more. */
void qb__faults_apply_view(const qb__faults *faults, double *view, double *scratch);
/* Multiplies a row of a view. Depends on nothing but its arguments: any thread, any order. */
void qb__faults_apply(const qb__faults *faults, size_t view, size_t row, double *transmission);
/* What of it is the beam's, for a flat that is taken before a view; NAN: before anything has changed. */
void qb__faults_of_flat(const qb__faults *faults, size_t flat, double view, size_t row, double *transmission);

#endif
