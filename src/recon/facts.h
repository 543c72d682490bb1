/* SPDX-License-Identifier: MIT */
#pragma once

#include "planner/device_pick.h"
#include "quickbeam/geometry.h"

/* A number, a text or a truth value of the plan. */
typedef struct qb__fact {
    const char *group, *name; /* group: object of the plan that contains it; NULL: the plan itself */
    const char *text;         /* NULL: a number */
    double number;
    bool truth; /* the number is 0 or 1, printed as false or true */
} qb__fact;

/* Facts of a planned job. The engine and the method fill them in; the plan prints them, and messages, the job's
 * fingerprint and reports of ranks read them. Texts must live as long as the engine's state and the method's plan. */
typedef struct qb__job_facts {
    /* From the engine: */
    const qb__variant *kernel;
    const qb__device_pick *pick; /* the device, and the kernel's parameters there; NULL: the CPU computes */
    /* question for which the kernel was chosen, for the plan's list of reasons; no problem: no list */
    qb__question question;
    bool class_matters;           /* warn if the kernel's accuracy class is below the one asked for */
    const qb__variant *too_large; /* a faster kernel for which memory is missing; NULL: none */
    const char *filter_device;    /* "cpu" or the device's name, if a device engine can filter on either; else NULL */
    char remark[192];             /* follows the kernel's name in the note on the computing device */
    /* For the error that even the smallest cut does not fit on the device: "even one slice needs", and the remedy. */
    char needs[64];
    const char *remedy;
    char alternative[128]; /* an option that would fit into host memory; empty: none */
    /* From the method: */
    const qb_geometry *geometry; /* geometry whose lengths a refused --resume names; NULL: none */
    uint64_t layout; /* hash of the positions of rays and voxels and of the views' weights; 0: cannot be resumed */
    size_t spare;    /* set by the frame: bytes below the cap that the cut leaves free */
    size_t spent;    /* bytes of these that the method uses, to read ahead */
    /* From both: */
    qb__fact fact[16];
    size_t facts;
} qb__job_facts;

void qb__fact_number(qb__job_facts *facts, const char *group, const char *name, double number);
void qb__fact_text(qb__job_facts *facts, const char *name, const char *text);
void qb__fact_truth(qb__job_facts *facts, const char *name, bool truth);

/* Facts of a device engine: its kernel, the question for it, and its message if memory is missing. */
void qb__facts_of_pick(qb__job_facts *facts, const qb__device_pick *pick, const char *needs, const char *remedy);

/* Print the facts into the plan; device_bytes: memory that the job takes on each device. */
void qb__facts_print(const qb__job_facts *facts, size_t device_bytes, cJSON *plan);
/* Tell the user which device computes, with the warnings of that. */
void qb__facts_report(const qb__job_facts *facts, const qb_env *env);
