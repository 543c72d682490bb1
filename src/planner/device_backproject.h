/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_DEVICE_BACKPROJECT_H
#define QB_PLANNER_DEVICE_BACKPROJECT_H

#include "base/json.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "planner/device_model.h"
#include "quickbeam/recon.h"

/* A variant with its parameters, and what is expected of it. */
typedef struct qb__device_choice {
    const qb__bp_parallel_device_variant *variant;
    int values[QB__PARAMETERS_MAX];
    double seconds; /* of all slices: measured by qb tune where there is such a figure, else ... */
    double predicted; /* ... by the model */
    int bottleneck;   /* a QB__UNIT_..., by the model */
    bool measured;
} qb__device_choice;

/* The fastest variant that this device runs and that keeps the accuracy: measured times go before
 * the model's. It depends on the whole job's slices, never on chunks. `id` names a variant instead.
 */
qb_status qb__device_choose(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                            size_t slices, qb_interp interp, qb_accuracy accuracy, const char *id,
                            qb__device_choice *choice);

/* The table behind the choice: [{kernel, method, accuracy, verdict, parameters, predicted_seconds,
 * bottleneck, limits: {unit: seconds}, measured_seconds, expected_seconds, doubt}, ...]. What is
 * expected decides: the measured time, else the forecast times `doubt`. */
cJSON *qb__device_why(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                      size_t slices, qb_interp interp, qb_accuracy accuracy);

/* Parameters of a variant: tuned, else the first legal values that serve. Returns why it cannot
 * serve, or NULL. */
const char *qb__device_estimate(const qb__bp_parallel_device_variant *variant,
                                const qb__device_info *device,
                                const qb__bp_parallel_problem *problem, size_t slices,
                                qb__device_choice *choice);

/* Seconds that the model expects of all slices with these parameters; what each unit would take
 * alone in seconds[], which may be NULL, and the unit that decides in *bottleneck. */
double qb__device_forecast(const qb__device_info *device,
                           const qb__bp_parallel_device_variant *variant,
                           const qb__bp_parallel_problem *problem, size_t slices, const int *values,
                           double seconds[QB__UNITS], int *bottleneck);

/* What a device is called in the tuning file: the same chip behaves differently through OpenCL. */
enum { QB__TUNING_NAME = 160 };
const char *qb__tuning_device(const qb__device_info *device, char *name, size_t size);

/* How many parameters a variant has; how many combinations of values; the n-th combination. */
int qb__parameter_count(const qb__bp_parallel_device_variant *variant);
size_t qb__parameter_combinations(const qb__bp_parallel_device_variant *variant);
void qb__parameter_combination(const qb__bp_parallel_device_variant *variant, size_t n,
                               int *values);
/* {"PIXELS": 16, ...} */
cJSON *qb__parameters_json(const qb__bp_parallel_device_variant *variant, const int *values);

/* Slices of a pass, padded to what the variant wants. */
unsigned qb__device_padded(const qb__bp_parallel_device_variant *variant, size_t slices);

#endif
