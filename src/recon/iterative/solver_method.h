/* SPDX-License-Identifier: MIT */
/* Makes a method of a solver. One file has the solver's options, its iterations, and the line QB__SOLVER(name). */
#pragma once

#include "job/options_rows.h"
#include "quickbeam/recon.h"
#include "recon/iterative/iterative.h"

#define QB__ITERATIVE_ROW(...) QB__ROW(qb_iterative_options, __VA_ARGS__)

/* Rows with which the table of every solver begins. most: the default of --iterations, as text. */
/* clang-format off */
#define QB__ITERATIVE_ROWS(most)                                                                               \
    QB__ITERATIVE_ROW(iterations, QB_PARAM_INT, "N", most, NULL, 1, 100000,                                      \
        "at most so many; the report says how residual and change fell"),                          \
    QB__ITERATIVE_ROW(tolerance, QB_PARAM_DOUBLE, "X", "0", NULL, 0, 1,                                          \
        "stop once an iteration changes the volume by less than this, relative to it; 0: never"),  \
    QB__ITERATIVE_ROW(nonneg, QB_PARAM_FLAG, NULL, NULL, NULL, 0, 0, "no attenuation below zero"),               \
    QB__ITERATIVE_ROW(center, QB_PARAM_TEXT, "COLUMN|auto|near:COLUMN|middle|stated|METHOD", NULL, NULL, 0, 0,                      \
        "the rotation axis of a parallel beam, as in qb fbp"),                                     \
    QB__SIZE_ROW(qb_iterative_options),                                                            \
    QB__VOXEL_ROW(qb_iterative_options),                                                           \
    QB__ITERATIVE_ROW(offset, QB_PARAM_NUMBERS, "X,Y,Z", NULL, NULL, -1e9, 1e9,                                  \
        "where the middle of the volume lies, in mm"),                                             \
    QB__LIKE_ROW(qb_iterative_options),                                                            \
    QB__HU_ROW(qb_iterative_options),                                                              \
    QB__ITERATIVE_ROW(kernel, QB_PARAM_TEXT, "ID", NULL, NULL, 0, 0,                                             \
        "the projection kernel to use, whatever the planner thinks (qb devices lists them)")
/* clang-format on */

/* Define the method of qb__solver_NAME, with the options qb_NAME_params, and its public call qb_NAME_plan(). */
#define QB__SOLVER(name)                                                                                               \
    static qb_status decide_##name(const qb__task *task, void *plan, const qb_env *env, cJSON *json,                   \
                                   qb__decision *decision) {                                                           \
        return qb__iterative_decide(&qb__solver_##name, task, plan, env, json, decision);                              \
    }                                                                                                                  \
    static const qb__method name##_method = {.verb = #name,                                                            \
                                             .params = qb_##name##_params,                                             \
                                             .plan_bytes = sizeof(qb__iterative),                                      \
                                             .engines = qb__iterative_engines,                                         \
                                             .decide = decide_##name,                                                  \
                                             .stages = qb__iterative_stages,                                           \
                                             .facts = qb__iterative_facts,                                             \
                                             .release = qb__iterative_release,                                         \
                                             .begin = qb__iterative_begin,                                             \
                                             .open = qb__iterative_open};                                              \
    qb_status qb_##name##_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,                \
                               const qb_iterative_options *options, const qb_output_options *output,                   \
                               const char *command, const qb_env *env, qb_job **job) {                                 \
        return qb__reconstruction_plan_along(&name##_method, scan, geometry, prep, options, output, command, env,      \
                                             job);                                                                     \
    }
