/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "bench/trial/trial.h"
#include "planner/choose.h"
#include "quickbeam/env.h"

/* What a search uses for measuring. */
typedef struct qb__tune_place {
    qb__trial *trial;
    qb__question question; /* the question for the trial's problem, without accuracy and interpolation */
    const qb_env *env;
} qb__tune_place;

/* Returns why a variant cannot be measured; NULL: it can, beginning with the parameters in *start. */
const char *qb__tune_refusal(const qb__tune_place *place, const qb__variant *variant, qb__choice *start);

/* Measures the parameters that the planner would take, then others until the deadline (monotonic
 * seconds; 0: no others), and keeps the best in the tuning file. Adds to `row`: kernel, and not_run
 * or tried, left_out, parameters, giga_updates_per_second, ratio_to_start. */
qb_status qb__tune_variant(const qb__tune_place *place, const qb__variant *variant, double deadline, cJSON *row);
