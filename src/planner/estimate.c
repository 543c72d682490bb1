/* SPDX-License-Identifier: MIT */
/* Expected time of a row: measured, by the device model, or by the built-in rate of the CPU. */
#include <string.h>

#include "cpu/features.h"
#include "planner/choose.h"
#include "planner/tuning.h"

double qb__forecast(const qb__device_info *device, const qb__variant *variant, const void *problem, size_t slices,
                    const int *values, double seconds[QB__UNITS], int *bottleneck) {
    qb__device_model model;
    qb__kernel_cost cost = {0};
    const unsigned padded = qb__variant_padded(variant, slices);
    const unsigned pass = variant->most && padded > variant->most ? variant->most : padded;
    const double updates = qb__operation_of(variant->operation)->updates(problem) * padded;
    qb__device_model_of(device, &model);
    variant->cost(problem, pass, values, &cost);
    cost.launches *= (double)((padded + pass - 1) / (pass ? pass : 1));
    return qb__device_predict(&model, &cost, updates, seconds, bottleneck);
}

typedef struct asked {
    const qb__variant *variant;
    const qb__question *question;
} asked;

static const char *unusable(const asked *a, const int *values) {
    const qb__variant *v = a->variant;
    return v->unusable ? v->unusable(a->question->device, a->question->problem, values) : NULL;
}

/* The file may hold anything: only legal values are used. */
static bool serves(const void *context, const int *values) {
    const asked *a = context;
    return qb__parameters_legal(a->variant, values) && !unusable(a, values);
}

/* The first combination that works; if none does, the reason of the first one. */
static const char *first_usable(const asked *a, int *values) {
    const char *why = NULL;
    for (size_t n = 0, all = qb__parameter_combinations(a->variant); n < all; n++) {
        qb__parameter_combination(a->variant, n, values);
        const char *reason = unusable(a, values);
        if (!reason) return NULL;
        if (!why) why = reason;
    }
    return why ? why : "it has no parameters to choose from";
}

/* Finds the known parameters and speed for this device or CPU; for another device of its architecture only
 * parameters. */
static bool known_parameters(const asked *a, qb__tuning_entry *entry) {
    const qb__question *q = a->question;
    char name[QB__TUNING_NAME];
    qb__tuning_key key = {qb__tuning_device(q->device, name, sizeof name), a->variant->id, q->slices,
                          qb__columns_of(q->operation, q->problem)};
    const qb__tuning_test test = {serves, a};
    bool found = qb__tuning_find(&key, &test, entry);
    if (!found && q->device && (key.device = qb__tuning_paper_card(q->device)) != NULL) {
        found = qb__tuning_find(&key, &test, entry);
        entry->giga_updates = 0;
    }
    return found && serves(a, entry->values);
}

static const char *on_device(const asked *a, double updates, qb__choice *choice) {
    const qb__question *q = a->question;
    qb__tuning_entry entry = {.giga_updates = 0};
    const char *why = NULL;
    if (!(a->variant->apis & (unsigned)q->device->api))
        return q->device->api == QB__API_CUDA ? "not for CUDA" : "not for OpenCL";
    const bool known = known_parameters(a, &entry);
    choice->measured = known && entry.giga_updates > 0;
    if (known)
        memcpy(choice->values, entry.values, sizeof choice->values);
    else
        why = first_usable(a, choice->values);
    if (why) return why;
    choice->predicted =
        qb__forecast(q->device, a->variant, q->problem, q->slices, choice->values, NULL, &choice->bottleneck);
    choice->seconds = choice->predicted;
    if (!choice->measured) return NULL;
    const qb__operation_row *operation = qb__operation_of(a->variant->operation);
    choice->seconds = updates / (entry.giga_updates * 1e9);
    if (operation->unlike) choice->seconds *= operation->unlike(q->device, a->variant, q->problem, choice->values);
    return NULL;
}

/* Built-in rates and rates of qb tune are those of one core. */
static const char *on_cpu(const asked *a, double updates, qb__choice *choice) {
    const qb__operation_row *operation = qb__operation_of(a->variant->operation);
    qb__tuning_entry entry;
    if (operation->longer) updates *= operation->longer(a->variant, a->question->problem);
    choice->seconds = choice->predicted = updates / (a->variant->speed * 1e9);
    if (a->variant->features & ~qb__cpu_features()) return "this CPU lacks its instructions";
    const char *why = unusable(a, choice->values);
    if (why) return why;
    choice->measured = known_parameters(a, &entry) && entry.giga_updates > 0;
    if (choice->measured) choice->seconds = updates / (entry.giga_updates * 1e9);
    return NULL;
}

const char *qb__estimate(const qb__variant *variant, const qb__question *question, qb__choice *choice) {
    const asked a = {variant, question};
    const double updates = qb__operation_of(variant->operation)->updates(question->problem) *
                           qb__variant_padded(variant, question->slices);
    *choice = (qb__choice){.variant = variant};
    return question->device ? on_device(&a, updates, choice) : on_cpu(&a, updates, choice);
}
