/* SPDX-License-Identifier: MIT */
#include "planner/device_backproject.h"

#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "planner/backproject.h"
#include "planner/kernel_name.h"
#include "planner/tuning.h"

typedef qb__bp_parallel_device_variant row;

int qb__parameter_count(const row *variant) {
    int n = 0;
    while (n < QB__PARAMETERS_MAX && variant->parameters[n].name) n++;
    return n;
}

size_t qb__parameter_combinations(const row *variant) {
    size_t all = 1;
    for (int i = 0; i < qb__parameter_count(variant); i++)
        all *= (size_t)variant->parameters[i].count;
    return all;
}

void qb__parameter_combination(const row *variant, size_t n, int *values) {
    memset(values, 0, QB__PARAMETERS_MAX * sizeof *values);
    for (int i = 0; i < qb__parameter_count(variant); i++) {
        size_t count = (size_t)variant->parameters[i].count;
        values[i] = variant->parameters[i].values[n % count];
        n /= count;
    }
}

cJSON *qb__parameters_json(const row *variant, const int *values) {
    cJSON *object = cJSON_CreateObject();
    for (int i = 0; i < qb__parameter_count(variant); i++)
        cJSON_AddNumberToObject(object, variant->parameters[i].name, values[i]);
    return object;
}

unsigned qb__device_padded(const row *variant, size_t slices) {
    size_t step = variant->slices_step ? variant->slices_step : 1;
    return (unsigned)((slices + step - 1) / step * step);
}

double qb__device_forecast(const qb__device_info *device, const row *variant,
                           const qb__bp_parallel_problem *problem, size_t slices, const int *values,
                           double seconds[QB__UNITS], int *bottleneck) {
    qb__device_model model;
    qb__kernel_cost cost = {0};
    const unsigned padded = qb__device_padded(variant, slices);
    const unsigned pass =
        variant->slices_max && padded > variant->slices_max ? variant->slices_max : padded;
    const double updates =
        (double)problem->nx * (double)problem->ny * (double)problem->views * padded;
    qb__device_model_of(device, &model);
    variant->cost(problem, pass, values, &cost);
    cost.launches *= (double)((padded + pass - 1) / (pass ? pass : 1));
    return qb__device_predict(&model, &cost, updates, seconds, bottleneck);
}

static const char *unusable(const row *variant, const qb__device_info *device,
                            const qb__bp_parallel_problem *problem, const int *values) {
    if (!(variant->apis & (unsigned)device->api))
        return device->api == QB__API_CUDA ? "not for CUDA" : "not for OpenCL";
    return variant->unusable(device, problem, values);
}

/* A file may hold anything: only legal values are taken. */
static bool legal(const row *variant, const int *values) {
    for (int i = 0; i < qb__parameter_count(variant); i++) {
        bool found = false;
        for (int j = 0; j < variant->parameters[i].count; j++)
            found |= variant->parameters[i].values[j] == values[i];
        if (!found) return false;
    }
    return true;
}

/* The first combination that serves; the reason of the very first when none does. */
static const char *first_usable(const row *variant, const qb__device_info *device,
                                const qb__bp_parallel_problem *problem, int *values) {
    const char *why = NULL;
    for (size_t n = 0; n < qb__parameter_combinations(variant); n++) {
        qb__parameter_combination(variant, n, values);
        const char *reason = unusable(variant, device, problem, values);
        if (!reason) return NULL;
        if (!why) why = reason;
    }
    return why ? why : "it has no parameters to choose from";
}

const char *qb__tuning_device(const qb__device_info *device, char *name, size_t size) {
    qb__print(name, size, device->api == QB__API_OPENCL ? "%s (OpenCL)" : "%s", device->name);
    return name;
}

typedef struct question {
    const row *variant;
    const qb__device_info *device;
    const qb__bp_parallel_problem *problem;
} question;

static bool serves(const void *context, const int *values) {
    const question *q = context;
    return legal(q->variant, values) && !unusable(q->variant, q->device, q->problem, values);
}

/* What is known of this device: parameters and a speed; of its architecture: parameters. */
static bool known_parameters(const row *variant, const qb__device_info *device,
                             const qb__bp_parallel_problem *problem, size_t slices,
                             qb__tuning_entry *entry) {
    char name[QB__TUNING_NAME];
    qb__tuning_key key = {qb__tuning_device(device, name, sizeof name), variant->id, slices,
                          problem->columns};
    const question q = {variant, device, problem};
    const qb__tuning_test test = {serves, &q};
    bool found = qb__tuning_find(&key, &test, entry);
    if (!found && (key.device = qb__tuning_paper_card(device)) != NULL) {
        found = qb__tuning_find(&key, &test, entry);
        entry->giga_updates = 0;
    }
    return found && serves(&q, entry->values);
}

const char *qb__device_estimate(const row *variant, const qb__device_info *device,
                                const qb__bp_parallel_problem *problem, size_t slices,
                                qb__device_choice *choice) {
    qb__tuning_entry entry = {.giga_updates = 0};
    double updates = (double)problem->nx * (double)problem->ny * (double)problem->views;
    unsigned padded = qb__device_padded(variant, slices);
    *choice = (qb__device_choice){.variant = variant};
    const bool known = known_parameters(variant, device, problem, slices, &entry);
    choice->measured = known && entry.giga_updates > 0;
    const char *why = NULL;
    if (known)
        memcpy(choice->values, entry.values, sizeof choice->values);
    else
        why = first_usable(variant, device, problem, choice->values);
    if (why) return why;
    choice->predicted = qb__device_forecast(device, variant, problem, slices, choice->values, NULL,
                                            &choice->bottleneck);
    choice->seconds =
        choice->measured ? updates * padded / (entry.giga_updates * 1e9) : choice->predicted;
    return NULL;
}

/* How much longer than forecast the measured kernels of this device take, on average: what nobody
 * has measured is not believed more than they are. 1 when none is measured. */
static double doubt(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                    size_t slices) {
    size_t count, measured = 0;
    double sum = 0;
    const row *const *rows = qb__bp_parallel_device_variants(&count);
    for (size_t i = 0; i < count; i++) {
        qb__device_choice c;
        if (qb__device_estimate(rows[i], device, problem, slices, &c) || !c.measured) continue;
        sum += c.seconds / c.predicted;
        measured++;
    }
    return measured && sum > (double)measured ? sum / (double)measured : 1;
}

qb_status qb__device_choose(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                            size_t slices, qb_interp interp, qb_accuracy accuracy, const char *id,
                            qb__device_choice *choice) {
    size_t count;
    const row *const *rows = qb__bp_parallel_device_variants(&count);
    double factor = doubt(device, problem, slices);
    choice->variant = NULL;
    for (size_t i = 0; i < count; i++) {
        qb__device_choice c;
        if (id ? strcmp(rows[i]->id, id) != 0
               : rows[i]->interp != interp || rows[i]->accuracy > accuracy)
            continue;
        const char *why = qb__device_estimate(rows[i], device, problem, slices, &c);
        if (why && id)
            return qb__fail(QB_UNSUPPORTED, "kernel %s on %s: %s", id, device->spec, why);
        if (!why && !c.measured) c.seconds *= factor;
        if (!why && (!choice->variant || c.seconds < choice->seconds)) *choice = c;
    }
    if (choice->variant) return QB_OK;
    if (id) return qb__kernel_refuse(id);
    return qb__fail(QB_UNSUPPORTED,
                    "no kernel on %s back-projects with --interp %s at --accuracy %s", device->spec,
                    qb_interp_name(interp), qb_accuracy_name(accuracy));
}

static cJSON *limits_json(const row *variant, const qb__device_info *device,
                          const qb__bp_parallel_problem *problem, size_t slices,
                          const int *values) {
    cJSON *limits = cJSON_CreateObject();
    double seconds[QB__UNITS];
    int bottleneck;
    qb__device_forecast(device, variant, problem, slices, values, seconds, &bottleneck);
    for (int unit = 0; unit < QB__UNITS; unit++)
        if (seconds[unit] > 0) cJSON_AddNumberToObject(limits, qb__unit_names[unit], seconds[unit]);
    return limits;
}

cJSON *qb__device_why(const qb__device_info *device, const qb__bp_parallel_problem *problem,
                      size_t slices, qb_interp interp, qb_accuracy accuracy) {
    size_t count;
    const row *const *rows = qb__bp_parallel_device_variants(&count);
    cJSON *list = cJSON_CreateArray();
    const double factor = doubt(device, problem, slices);
    for (size_t i = 0; i < count; i++) {
        if (rows[i]->interp != interp) continue;
        qb__device_choice c;
        const char *why = qb__device_estimate(rows[i], device, problem, slices, &c);
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(list, entry);
        cJSON_AddStringToObject(entry, "kernel", rows[i]->id);
        cJSON_AddStringToObject(entry, "method", rows[i]->method);
        cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(rows[i]->accuracy));
        if (!why && rows[i]->accuracy > accuracy) why = "less accurate than asked for";
        cJSON_AddStringToObject(entry, "verdict", why ? why : "usable");
        if (!c.predicted) continue;
        cJSON_AddItemToObject(entry, "parameters", qb__parameters_json(rows[i], c.values));
        cJSON_AddNumberToObject(entry, "predicted_seconds", c.predicted);
        cJSON_AddStringToObject(entry, "bottleneck", qb__unit_names[c.bottleneck]);
        cJSON_AddItemToObject(entry, "limits",
                              limits_json(rows[i], device, problem, slices, c.values));
        if (c.measured)
            cJSON_AddNumberToObject(entry, "measured_seconds", c.seconds);
        else
            cJSON_AddNumberToObject(entry, "doubt", factor);
        cJSON_AddNumberToObject(entry, "expected_seconds", c.seconds * (c.measured ? 1 : factor));
    }
    return list;
}
