/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_CHOOSE_H
#define QB_PLANNER_CHOOSE_H

#include "base/json.h"
#include "planner/device_model.h"
#include "planner/variants.h"
#include "quickbeam/env.h"

/* Which kernel computes an operation: the one way, for the CPU and for devices. */
typedef struct qb__question {
    qb__operation operation;
    const qb__device_info *device; /* NULL: this CPU */
    const void *problem;           /* the operation's own */
    size_t slices;                 /* of the whole job, never of a chunk: no bit depends on memory */
    qb_interp interp;              /* where the operation has several; not QB_INTERP_AUTO */
    qb_accuracy accuracy;
    const char *id;     /* take this one, whatever its accuracy; NULL = choose */
    const char *family; /* only those whose id begins so: "bp_cone_matrix."; NULL = all */
} qb__question;

/* A variant with its parameters, and what is expected of it. */
typedef struct qb__choice {
    const qb__variant *variant;
    int values[QB__PARAMETERS_MAX];
    double seconds;   /* of the whole job: measured by qb tune if known, else predicted */
    double predicted; /* by the device's model; on the CPU by the kernel's listed rate for one core */
    int bottleneck;   /* a QB__UNIT_..., by the model */
    bool measured;
} qb__choice;

/* The fastest row that can compute the problem here and keeps the accuracy: measured times go before
 * the model's. QB_UNSUPPORTED, with the reason, when the one that is named cannot or when none can;
 * what a name is worth elsewhere is QB_BAD_ARGUMENT. */
qb_status qb__choose(const qb__question *question, qb__choice *choice);

/* The table behind the choice, each row with its verdict: "usable" or why it does not serve.
 * [{kernel, accuracy, verdict}, ...]; the CPU's with core_seconds (measured: true, where qb tune
 * was here), devices' with method, parameters,
 * predicted_seconds, bottleneck, limits: {unit: seconds}, measured_seconds, expected_seconds, doubt.
 * What is expected decides: the measured time, else the forecast times `doubt`. */
cJSON *qb__why(const qb__question *question);
/* It as the plan's `why`: of whoever computes, in the place of what was said of another. */
void qb__report_why(const qb__question *question, cJSON *plan);

/* Parameters of a row, tuned, else the first legal values that serve, and what is expected of it.
 * Returns why it cannot serve, or NULL; accuracy, interpolation and names are not looked at. */
const char *qb__estimate(const qb__variant *variant, const qb__question *question, qb__choice *choice);

/* Seconds that the model expects of a device for all slices with these parameters; what each unit
 * would take alone in seconds[], which may be NULL, and the unit that decides in *bottleneck. */
double qb__forecast(const qb__device_info *device, const qb__variant *variant, const void *problem, size_t slices,
                    const int *values, double seconds[QB__UNITS], int *bottleneck);

/* ---- --kernel ID: what a name means before anything is chosen ---- */

/* A kernel of devices. */
bool qb__kernel_of_device(const char *id);
/* QB_BAD_ARGUMENT where an engine of the CPU is asked for such a one; NULL = none is asked for. */
qb_status qb__kernel_of_cpu(const char *id);
/* --interp beside --kernel (NULL = none) of a parallel beam: QB_INTERP_AUTO becomes the kernel's
 * own, which is told when it is not linear, or linear; what contradicts the kernel, and a name that is
 * none of a parallel beam's, is QB_BAD_ARGUMENT. */
qb_status qb__kernel_interp(const char *id, qb_interp *interp, const qb_env *env);

/* A warning where a kernel that was named keeps a class below the one that is asked for. */
void qb__report_class(const qb__question *question, const qb__variant *got, const qb_env *env);

#endif
