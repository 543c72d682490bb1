/* SPDX-License-Identifier: MIT */
#include "planner/backproject.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "cpu/features.h"
#include "planner/kernel_name.h"

/* Why a row cannot serve; NULL when it can. */
static const char *unusable(const qb__bp_parallel_variant *row,
                            const qb__bp_parallel_problem *problem, qb_accuracy accuracy) {
    if (row->features & ~qb__cpu_features()) return "this CPU lacks its instructions";
    if (row->accuracy > accuracy) return "less accurate than asked for";
    if (row->applicable && !row->applicable(problem)) return "does not apply to this geometry";
    return NULL;
}

static double seconds(const qb__bp_parallel_variant *row, const qb__bp_parallel_problem *problem,
                      size_t slices) {
    size_t lanes = (slices + row->lanes_step - 1) / row->lanes_step * row->lanes_step;
    double updates = (double)problem->nx * (double)problem->ny * (double)problem->views;
    return updates * (double)lanes / (row->speed * 1e9);
}

qb_status qb__bp_parallel_choose(const qb__bp_parallel_problem *problem, size_t slices,
                                 qb_interp interp, qb_accuracy accuracy, const char *id,
                                 const qb__bp_parallel_variant **variant) {
    size_t count;
    const qb__bp_parallel_variant *rows = qb__bp_parallel_variants(&count);
    *variant = NULL;
    for (size_t i = 0; i < count; i++) {
        if (id ? strcmp(rows[i].id, id) != 0 : rows[i].interp != interp) continue;
        const char *why = unusable(&rows[i], problem, id ? QB_ACCURACY_FAST : accuracy);
        if (why && id) return qb__fail(QB_UNSUPPORTED, "kernel %s: %s", id, why);
        if (why) continue;
        if (!*variant || seconds(&rows[i], problem, slices) < seconds(*variant, problem, slices))
            *variant = &rows[i];
    }
    if (*variant) return QB_OK;
    if (id) return qb__kernel_refuse(id);
    if (interp == QB_INTERP_OVERSAMPLE)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--interp oversample is computed on devices only: --device cuda or opencl");
    return qb__fail(QB_UNSUPPORTED, "no CPU kernel back-projects with --interp %s at --accuracy %s",
                    qb_interp_name(interp), qb_accuracy_name(accuracy));
}

cJSON *qb__bp_parallel_why(const qb__bp_parallel_problem *problem, size_t slices, qb_interp interp,
                           qb_accuracy accuracy) {
    size_t count;
    const qb__bp_parallel_variant *rows = qb__bp_parallel_variants(&count);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        if (rows[i].interp != interp) continue;
        cJSON *entry = cJSON_CreateObject();
        const char *why = unusable(&rows[i], problem, accuracy);
        cJSON_AddStringToObject(entry, "kernel", rows[i].id);
        cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(rows[i].accuracy));
        cJSON_AddNumberToObject(entry, "core_seconds", seconds(&rows[i], problem, slices));
        cJSON_AddStringToObject(entry, "verdict", why ? why : "usable");
        cJSON_AddItemToArray(list, entry);
    }
    return list;
}
