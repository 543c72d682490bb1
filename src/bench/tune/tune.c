/* SPDX-License-Identifier: MIT */
/* qb tune: the best parameters of every kernel, found by measuring. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/params.h"
#include "base/status.h"
#include "bench/tune/tune_search.h"
#include "planner/choose.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"
#include "planner/tuning.h"
#include "quickbeam/device.h"

static_assert(sizeof(qb_beam) == sizeof(int), "a choice is written as an int");

const qb_param qb_tune_params[] = {
    {"geometry", QB_PARAM_CHOICE, offsetof(qb_tune_options, geometry), NULL, "parallel", "parallel|cone",
     QB_BEAM_PARALLEL, 0, "whose kernels; the CPU's are measured of a cone beam", 0},
    {"kernel", QB_PARAM_TEXT, offsetof(qb_tune_options, kernel), "TEXT", NULL, NULL, 0, 0,
     "only kernels whose id contains TEXT, and what the planner would take instead, once; project_joseph: those of "
     "projection and its adjoint",
     0},
    {"seconds", QB_PARAM_DOUBLE, offsetof(qb_tune_options, seconds), "S", "60", NULL, 0.1, 86400, "time to spend", 0},
    {"size", QB_PARAM_NUMBERS, offsetof(qb_tune_options, size), "NX[,NY,NZ]", "1024,1024,64", NULL, 1, 16384,
     "voxels of the problem: NZ slices at a time", 0},
    {"views", QB_PARAM_INT, offsetof(qb_tune_options, views), "N", "1024", NULL, 1, 100000,
     "projections of the problem", 0},
    QB_PARAMS_END(qb_tune_options),
};

typedef qb__variant variant;

enum { INTERPS = QB_INTERP_OVERSAMPLE + 1, CLASSES = QB_ACCURACY_FAST - QB_ACCURACY_HIGH + 1 };

typedef struct tuner {
    qb__tune_place place;
    const char *text; /* text of --kernel */
    double end;
    size_t wanted;
    cJSON *list;
    /* The kernel that the planner chose before tuning, for each interpolation and accuracy that a wanted kernel may
     * serve; else NULL. */
    const variant *planned[INTERPS][CLASSES]; /* second index: accuracy class minus QB_ACCURACY_HIGH */
} tuner;

static const variant *candidate(const tuner *t, size_t i) {
    const qb__question *q = &t->place.question;
    return qb__variant_at(q->operation, q->device, i);
}

static bool is_wanted(const tuner *t, const variant *row) { return !t->text || strstr(row->id, t->text) != NULL; }

static cJSON *new_row(const tuner *t) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(t->list, row);
    return row;
}

static bool is_listed(const tuner *t, const variant *row) {
    const cJSON *item;
    cJSON_ArrayForEach(item, t->list) {
        const cJSON *kernel = cJSON_GetObjectItem(item, "kernel");
        if (kernel && strcmp(kernel->valuestring, row->id) == 0) return true;
    }
    return false;
}

/* Lists the kernels that were not reached. Compiling takes time, too, and a kernel that would come too late is not
 * begun. */
static void add_unreached(const tuner *t) {
    const variant *row;
    for (size_t i = 0; (row = candidate(t, i)) != NULL; i++) {
        if (!is_wanted(t, row) || is_listed(t, row)) continue;
        qb__choice start;
        cJSON *entry = new_row(t);
        cJSON_AddStringToObject(entry, "kernel", row->id);
        const char *why = qb__tune_refusal(&t->place, row, &start);
        cJSON_AddStringToObject(entry, "not_run", why ? why : "the time was over: give more --seconds");
    }
}

/* ---- the planner's own choices ---- */

/* The planner trusts a measured speed more than a forecast. If only some kernels were tuned, a slow measured kernel
 * could win against a fast one that is only forecast. So the kernels that the planner would choose instead are
 * measured, too. */

static const variant *choice_of(const tuner *t, qb_interp interp, qb_accuracy accuracy, bool *measured) {
    qb__question question = t->place.question;
    qb__choice choice;
    *measured = false;
    question.interp = interp;
    question.accuracy = accuracy;
    if (qb__choose(&question, &choice) != QB_OK) return NULL;
    *measured = choice.measured;
    return choice.variant;
}

static const variant *planned(const tuner *t, qb_interp interp, qb_accuracy accuracy) {
    return t->planned[interp][accuracy - QB_ACCURACY_HIGH];
}

static void note_planned(tuner *t) {
    bool measured;
    const variant *row;
    for (size_t i = 0; (row = candidate(t, i)) != NULL; i++) {
        const qb__device_info *device = t->place.question.device;
        if (!is_wanted(t, row) || (device && !(row->apis & (unsigned)device->api))) continue;
        const qb_interp interp = row->interp;
        for (qb_accuracy a = row->accuracy; a <= QB_ACCURACY_FAST; a++)
            if (!planned(t, interp, a)) t->planned[interp][a - QB_ACCURACY_HIGH] = choice_of(t, interp, a, &measured);
    }
}

/* Measures a kernel once, with the parameters that the planner would use, unless it was measured before. */
static qb_status measure_once(tuner *t, const variant *row) {
    qb__choice known;
    if (is_listed(t, row)) return QB_OK;
    qb__estimate(row, &t->place.question, &known);
    if (known.measured) return QB_OK;
    cJSON *entry = new_row(t);
    cJSON_AddBoolToObject(entry, "for_comparison", true);
    return qb__tune_variant(&t->place, row, 0, entry);
}

/* Measures the planner's choices that are not tuned first, because an interrupted search must not leave them as
 * forecasts only. */
static qb_status measure_others(tuner *t) {
    qb_status status = QB_OK;
    for (int m = 0; m < INTERPS * CLASSES && status == QB_OK; m++) {
        const variant *row = t->planned[m / CLASSES][m % CLASSES];
        if (row && !is_wanted(t, row)) status = measure_once(t, row);
    }
    return status;
}

/* Measures the earlier choice if the search did not reach it, and the present choice. */
static qb_status measure_chosen(tuner *t, qb_interp interp, qb_accuracy accuracy) {
    bool measured;
    const variant *row = planned(t, interp, accuracy);
    if (!row) return QB_OK;
    qb_status status = measure_once(t, row);
    row = choice_of(t, interp, accuracy, &measured);
    return status == QB_OK && row && !measured ? measure_once(t, row) : status;
}

/* A measurement may change the choice in any mode: by its speed, and because it corrects the forecasts. */
static qb_status measure_until_settled(tuner *t) {
    int before;
    do {
        before = cJSON_GetArraySize(t->list);
        for (int m = 0; m < INTERPS * CLASSES; m++) {
            QB__OR_RETURN(measure_chosen(t, m / CLASSES, QB_ACCURACY_HIGH + m % CLASSES));
        }
    } while (cJSON_GetArraySize(t->list) > before);
    return QB_OK;
}

/* ---- the whole run ---- */

static qb_status search_all(tuner *t) {
    const variant *row;
    size_t done = 0;
    for (size_t i = 0; (row = candidate(t, i)) != NULL; i++) {
        if (!is_wanted(t, row)) continue;
        const double now = qb__now();
        /* Measuring the planner's choices may have used all the time. The first kernel that the user named is measured
         * once nevertheless. */
        if (now <= t->end || (t->text && done == 0)) {
            const double deadline = now + (t->end - now) / (double)(t->wanted - done);
            QB__OR_RETURN(qb__tune_variant(&t->place, row, deadline, new_row(t)));
        }
        qb__progress(t->place.env, "tuning", ++done, t->wanted + 1);
    }
    return QB_OK;
}

static qb_status count_wanted(tuner *t) {
    const variant *row;
    for (size_t i = 0; (row = candidate(t, i)) != NULL; i++) t->wanted += is_wanted(t, row);
    if (t->wanted) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--kernel %s: no such kernel's id contains that (--geometry, --device)", t->text);
}

static qb_status tune_all(tuner *t, const qb_tune_options *options, qb__device *device) {
    const qb__operation operation = t->place.question.operation;
    size_t n[3] = {1024, 1024, 64};
    for (int i = 0; i < options->size.count && i < 3; i++) n[i] = (size_t)options->size.value[i];
    if (options->size.count == 1) n[1] = n[0];
    const qb__trial_sizes sizes = {(size_t)options->views, n[0], n[2], n[0], n[1], n[2], false, NULL};
    qb_status status;
    QB__TRY(count_wanted(t));
    QB__TRY(qb__trial_create(operation, device, &sizes, &t->place.trial));
    t->place.question = qb__trial_question(t->place.trial);
    t->end = qb__now() + options->seconds;
    note_planned(t);
    QB__TRY(measure_others(t));
    QB__TRY(search_all(t));
    QB__TRY(measure_until_settled(t));
    add_unreached(t);
    qb__progress(t->place.env, "tuning", t->wanted + 1, t->wanted + 1);
out:
    qb__trial_destroy(t->place.trial);
    return status;
}

/* Error for a device that qb tune cannot measure; the message says which ones it can. */
static qb_status no_device(bool named) {
    return qb__fail(QB_NO_DEVICE,
                    "%s: qb tune measures the kernels of CUDA and OpenCL devices, and the CPU's of a cone beam "
                    "(--geometry cone); a device is named by --device cuda or opencl, and qb devices lists them",
                    named ? "--device cpu" : "there is no GPU to tune");
}

/* Measures the costs of a job besides its kernels. The time to compile a program is the mean of those compiled now. */
static qb_status measure_costs(const qb__device_set *set, const qb__builds *before, const qb_env *env) {
    const qb__builds now = qb__device_builds(set->device[0]);
    const unsigned programs = now.programs - before->programs;
    return qb__device_costs_measure(set->device[0], set->opened,
                                    programs ? (now.seconds - before->seconds) / programs : 0, env);
}

/* The operation: back-projection for the beam, unless --kernel names a projection kernel. */
static qb__operation operation_of(const qb_tune_options *o, bool on_device) {
    const qb__variant *row;
    for (size_t i = 0; o->kernel && on_device && (row = qb__variant_at(QB__PROJECT_JOSEPH, true, i)) != NULL; i++)
        if (strstr(row->id, o->kernel) && strncmp(o->kernel, "project", 7) == 0) return QB__PROJECT_JOSEPH;
    return o->geometry == QB_BEAM_CONE ? QB__BP_CONE : QB__BP_PARALLEL;
}

qb_status qb_tune(const qb_tune_options *given, const qb_env *env, char **json) {
    QB__NEED(json);
    QB__CALL();
    qb__device_set set;
    qb_tune_options options;
    *json = NULL;
    qb_status status = qb__params_view(qb_tune_params, given, &options);
    if (status == QB_OK) status = qb__device_set_open(env, &set);
    if (status != QB_OK) return status;
    const qb__operation operation = operation_of(&options, set.count > 0);
    if (!set.count && operation != QB__BP_CONE) return no_device(set.named);
    qb__device *device = set.count > 0 ? set.device[0] : NULL;
    char name[QB__TUNING_NAME];
    cJSON *root = cJSON_CreateObject();
    tuner t = {.place = {.question = {.operation = operation, .device = device ? qb__device_info_of(device) : NULL},
                         .env = env},
               .text = options.kernel};
    cJSON_AddStringToObject(root, "device", qb__tuning_device(t.place.question.device, name, sizeof name));
    cJSON_AddStringToObject(root, "file", qb__tuning_path());
    t.list = cJSON_AddArrayToObject(root, "kernels");
    status = qb__tuning_check();
    qb__compile_watch(&set, env);
    const qb__builds before = device ? qb__device_builds(device) : (qb__builds){0};
    if (status == QB_OK) status = tune_all(&t, &options, device);
    if (status == QB_OK && device) status = measure_costs(&set, &before, env);
    qb__compile_done(&set, root);
    if (status == QB_OK) *json = cJSON_Print(root);
    if (status == QB_OK && !*json) status = qb__fail(QB_NO_MEMORY, "no memory for the result");
    cJSON_Delete(root);
    qb__device_set_close(&set);
    return status;
}
