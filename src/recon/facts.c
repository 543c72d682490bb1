/* SPDX-License-Identifier: MIT */
#include "recon/facts.h"

#include <stdio.h>

#include "base/log.h"
#include "base/warning.h"

static qb__fact *next(qb__job_facts *facts) {
    const size_t room = sizeof facts->fact / sizeof *facts->fact;
    return &facts->fact[facts->facts < room ? facts->facts++ : room - 1];
}

void qb__fact_number(qb__job_facts *facts, const char *group, const char *name, double number) {
    *next(facts) = (qb__fact){.group = group, .name = name, .number = number};
}

void qb__fact_text(qb__job_facts *facts, const char *name, const char *text) {
    *next(facts) = (qb__fact){.name = name, .text = text};
}

void qb__fact_truth(qb__job_facts *facts, const char *name, bool truth) {
    *next(facts) = (qb__fact){.name = name, .number = truth, .truth = true};
}

void qb__facts_of_pick(qb__job_facts *facts, const qb__device_pick *pick, const char *needs, const char *remedy) {
    facts->pick = pick;
    facts->kernel = pick->choice.variant;
    facts->question = pick->question;
    facts->remedy = remedy;
    snprintf(facts->needs, sizeof facts->needs, "%s", needs);
}

/* Facts of a group are consecutive. */
static void print_facts(const qb__job_facts *facts, cJSON *plan) {
    const char *group = NULL;
    cJSON *object = plan;
    for (size_t i = 0; i < facts->facts; i++) {
        const qb__fact *f = &facts->fact[i];
        if (f->group != group) object = f->group ? cJSON_AddObjectToObject(plan, f->group) : plan;
        group = f->group;
        if (f->text)
            cJSON_AddStringToObject(object, f->name, f->text);
        else if (f->truth)
            cJSON_AddBoolToObject(object, f->name, f->number > 0);
        else
            cJSON_AddNumberToObject(object, f->name, f->number);
    }
}

void qb__facts_print(const qb__job_facts *facts, size_t device_bytes, cJSON *plan) {
    if (facts->pick) {
        qb__device_pick_describe(facts->pick, device_bytes, plan);
    } else {
        cJSON_AddStringToObject(plan, "kernel", facts->kernel->id);
        cJSON_AddStringToObject(plan, "accuracy", qb_accuracy_name(facts->kernel->accuracy));
        cJSON_AddStringToObject(plan, "device", "cpu");
        if (facts->question.problem) qb__report_why(&facts->question, plan);
    }
    print_facts(facts, plan);
}

void qb__facts_report(const qb__job_facts *facts, const qb_env *env) {
    if (facts->pick) qb__device_pick_report(facts->pick, facts->remark, env);
    if (facts->class_matters) qb__report_class(&facts->question, facts->kernel, env);
    if (facts->too_large)
        qb__warn(env,
                 "memory is too small for %u slices at a time (%s): %s is slower and takes one" QB__CODE("less-memory"),
                 facts->too_large->step, facts->too_large->id, facts->kernel->id);
}
