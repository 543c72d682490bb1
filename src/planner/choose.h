/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "planner/device_costs.h"
#include "planner/variants.h"
#include "quickbeam/env.h"

/* Choice of the kernel of an operation, the same way for the CPU and for devices. */
typedef struct qb__question {
    qb__operation operation;
    const qb__device_info *device; /* NULL: this CPU */
    const void *problem;           /* struct of the operation */
    /* slices of the whole job, never of a chunk, so that the bits do not depend on memory */
    size_t slices;
    qb_interp interp; /* if the operation has several; not QB_INTERP_AUTO */
    qb_accuracy accuracy;
    const char *id;     /* use this kernel, whatever its accuracy; NULL = choose */
    const char *family; /* only kernels whose id begins so: "bp_cone_matrix."; NULL = all */
} qb__question;

/* A variant with its parameters and expected time. */
typedef struct qb__choice {
    const qb__variant *variant;
    int values[QB__PARAMETERS_MAX];
    double seconds; /* seconds of the whole job: measured by qb tune if available, else predicted */
    /* seconds predicted by the model of the device; for a CPU kernel by its built-in rate for one core */
    double predicted;
    int bottleneck; /* a QB__UNIT_... of the model */
    bool measured;
} qb__choice;

/* The fastest row that can compute the problem here with the accuracy asked for; measured times take precedence over
 * the model. QB_UNSUPPORTED, with the reason, if the named kernel or all kernels cannot. QB_BAD_ARGUMENT for a name of
 * another operation. */
qb_status qb__choose(const qb__question *question, qb__choice *choice);

/* The table of the choice: [{kernel, accuracy, verdict}, ...], where verdict is "usable" or the reason against. CPU
 * rows have core_seconds (measured: true if qb tune measured them); device rows have method, parameters,
 * predicted_seconds, bottleneck, limits: {unit: seconds}, measured_seconds, expected_seconds, doubt. The expected time
 * decides: the measured time, else the forecast times `doubt`. */
cJSON *qb__why(const qb__question *question);
/* Put it into the plan as `why` of the processor that computes; replaces an earlier entry. */
void qb__report_why(const qb__question *question, cJSON *plan);

/* Parameters of a row (tuned, else the first legal values that work) and its expected time. Returns the reason why it
 * cannot be used, or NULL. Accuracy, interpolation and names are not checked. */
const char *qb__estimate(const qb__variant *variant, const qb__question *question, qb__choice *choice);

/* Seconds that the model expects for all slices with these parameters; seconds[] (may be NULL) gets the time of each
 * unit alone, *bottleneck the slowest unit. */
double qb__forecast(const qb__device_info *device, const qb__variant *variant, const void *problem, size_t slices,
                    const int *values, double seconds[QB__UNITS], int *bottleneck);

/* ---- --kernel ID: what a name means before anything is chosen ---- */

/* True for the name of a device kernel. */
bool qb__kernel_of_device(const char *id);
/* QB_BAD_ARGUMENT if a CPU engine is asked for a device kernel; NULL = no kernel is named. */
qb_status qb__kernel_of_cpu(const char *id);
/* Check --interp against --kernel (NULL = none) of a parallel beam. QB_INTERP_AUTO becomes the interpolation of the
 * kernel, with a note if it is not linear, or linear. QB_BAD_ARGUMENT for a contradiction, and for a name that is not
 * of a parallel-beam kernel. */
qb_status qb__kernel_interp(const char *id, qb_interp *interp, const qb_env *env);

/* Warn if a named kernel has a lower accuracy class than the one asked for. */
void qb__report_class(const qb__question *question, const qb__variant *got, const qb_env *env);
