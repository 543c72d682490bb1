/* SPDX-License-Identifier: MIT */
#include "base/variant.h"

#include <string.h>

const char *qb_accuracy_name(qb_accuracy accuracy) {
    static const char *const names[] = {"high", "normal", "fast"};
    const unsigned index = (unsigned)accuracy - (unsigned)QB_ACCURACY_HIGH;
    return index < sizeof names / sizeof *names ? names[index] : "unknown";
}

const char *qb_interp_name(qb_interp interp) {
    static const char *const names[] = {"auto", "linear", "nearest", "oversample"};
    return (unsigned)interp < sizeof names / sizeof *names ? names[interp] : "unknown";
}

double qb__accuracy_bound(qb_accuracy accuracy) {
    static const double bounds[] = {5e-5, 1e-3, 6e-3};
    return bounds[accuracy - QB_ACCURACY_HIGH];
}

unsigned qb__variant_padded(const qb__variant *variant, size_t slices) {
    const size_t step = variant->step ? variant->step : 1;
    return (unsigned)((slices + step - 1) / step * step);
}

int qb__parameter_count(const qb__variant *variant) {
    int n = 0;
    while (n < QB__PARAMETERS_MAX && variant->parameters[n].name) n++;
    return n;
}

size_t qb__parameter_combinations(const qb__variant *variant) {
    size_t all = 1;
    for (int i = 0, count = qb__parameter_count(variant); i < count; i++) all *= (size_t)variant->parameters[i].count;
    return all;
}

void qb__parameter_combination(const qb__variant *variant, size_t n, int *values) {
    memset(values, 0, QB__PARAMETERS_MAX * sizeof *values);
    for (int i = 0; i < QB__PARAMETERS_MAX && variant->parameters[i].name; i++) {
        const size_t count = (size_t)variant->parameters[i].count;
        values[i] = variant->parameters[i].values[n % count];
        n /= count;
    }
}

bool qb__parameters_legal(const qb__variant *variant, const int *values) {
    for (int i = 0; i < qb__parameter_count(variant); i++) {
        bool found = false;
        for (int j = 0; j < variant->parameters[i].count; j++) found |= variant->parameters[i].values[j] == values[i];
        if (!found) return false;
    }
    return true;
}

cJSON *qb__parameters_json(const qb__variant *variant, const int *values) {
    cJSON *object = cJSON_CreateObject();
    for (int i = 0; i < qb__parameter_count(variant); i++)
        cJSON_AddNumberToObject(object, variant->parameters[i].name, values[i]);
    return object;
}
