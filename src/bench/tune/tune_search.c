/* SPDX-License-Identifier: MIT */
/* The search for a variant's best parameters on one problem. */
#include "bench/tune/tune_search.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "planner/choose.h"
#include "planner/tuning.h"

typedef struct search {
    const qb__tune_place *place;
    const qb__variant *variant;
    double deadline;
    int tried, wrong;
    qb__tuning_entry best; /* giga_updates 0: nothing measured yet */
    double first;          /* giga-updates/s of the values that the search began with */
} search;

/* Measures one candidate. If it is faster than the best so far and its error is within the bound, it becomes the best.
 * A candidate that does not compile or run on this device is skipped. */
static qb_status try_values(search *s, const int *values) {
    const qb__question *q = &s->place->question;
    if (s->variant->unusable && s->variant->unusable(q->device, q->problem, values)) return QB_OK;
    qb__trial_result result;
    QB__OR_RETURN(qb__check_cancel(s->place->env));
    s->tried++;
    const qb_status status = qb__trial_run(s->place->trial, s->variant, values, (unsigned)q->slices, 3, &result);
    if (status == QB_NO_DEVICE) return status; /* the device is lost */
    if (status != QB_OK || !(result.rel_l2 < qb__accuracy_bound(s->variant->accuracy))) {
        s->wrong++;
        qb__warn(s->place->env, "%s: a candidate is left out: %s" QB__CODE("tune-candidate"), s->variant->id,
                 status != QB_OK ? qb_detail() : "its error is above the bound");
        return QB_OK;
    }
    if (s->first == 0) s->first = result.giga_updates;
    if (result.giga_updates > s->best.giga_updates) {
        s->best.giga_updates = result.giga_updates;
        memcpy(s->best.values, values, sizeof s->best.values);
    }
    return QB_OK;
}

/* Optimises one parameter after the other while the others stay fixed, and repeats this until a whole round brings no
 * gain or the time is over. */
static qb_status descend(search *s, const int *start) {
    qb_status status = try_values(s, start);
    bool better = true;
    while (status == QB_OK && better) {
        better = false;
        for (int p = 0; p < qb__parameter_count(s->variant); p++) {
            double before = s->best.giga_updates;
            int values[QB__PARAMETERS_MAX], held;
            memcpy(values, before > 0 ? s->best.values : start, sizeof values);
            held = values[p];
            for (int i = 0; i < s->variant->parameters[p].count && status == QB_OK; i++) {
                if (qb__now() > s->deadline) return QB_OK;
                values[p] = s->variant->parameters[p].values[i];
                if (values[p] != held) status = try_values(s, values);
            }
            better |= s->best.giga_updates > before * 1.01;
        }
    }
    return status;
}

/* Stores the best parameters in the tuning file and in the row of the report. */
static qb_status keep(const search *s, cJSON *row) {
    const qb__tune_place *place = s->place;
    cJSON_AddItemToObject(row, "parameters", qb__parameters_json(s->variant, s->best.values));
    cJSON_AddNumberToObject(row, "giga_updates_per_second", s->best.giga_updates);
    cJSON_AddNumberToObject(row, "ratio_to_start", s->best.giga_updates / s->first);
    char name[QB__TUNING_NAME];
    const qb__question *q = &place->question;
    qb__tuning_key key = {qb__tuning_device(q->device, name, sizeof name), s->variant->id, q->slices,
                          qb__columns_of(q->operation, q->problem)};
    return qb__tuning_store(&key, &s->best, place->env);
}

const char *qb__tune_refusal(const qb__tune_place *place, const qb__variant *variant, qb__choice *start) {
    return qb__estimate(variant, &place->question, start);
}

qb_status qb__tune_variant(const qb__tune_place *place, const qb__variant *variant, double deadline, cJSON *row) {
    search s = {.place = place, .variant = variant, .deadline = deadline};
    qb__choice start;
    const char *why = qb__tune_refusal(place, variant, &start);
    cJSON_AddStringToObject(row, "kernel", variant->id);
    if (why) {
        cJSON_AddStringToObject(row, "not_run", why);
        return QB_OK;
    }
    QB__OR_RETURN(descend(&s, start.values));
    cJSON_AddNumberToObject(row, "tried", s.tried);
    cJSON_AddNumberToObject(row, "left_out", s.wrong);
    return s.best.giga_updates > 0 ? keep(&s, row) : QB_OK;
}
