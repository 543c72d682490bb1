/* SPDX-License-Identifier: MIT */
#include "planner/choose.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"

/* Rows of another family or interpolation are not listed. */
static bool is_asked_for(const qb__variant *row, const qb__question *q) {
    if (q->family && strncmp(row->id, q->family, strlen(q->family)) != 0) return false;
    return !qb__operation_of(q->operation)->interps || row->interp == q->interp;
}

/* Mean ratio of measured to forecast time of the kernels of this device or CPU, applied to kernels that were not
 * measured. 1 if none was measured. */
static double doubt(const qb__question *q) {
    size_t measured = 0;
    double sum = 0;
    const qb__variant *row;
    for (size_t i = 0; (row = qb__variant_at(q->operation, q->device, i)) != NULL; i++) {
        qb__choice c;
        if (row->named_only || qb__estimate(row, q, &c) || !c.measured) continue;
        sum += c.seconds / c.predicted;
        measured++;
    }
    return measured && sum > (double)measured ? sum / (double)measured : 1;
}

/* Expected time of a row, and the reason why it cannot be used; NULL if it can. */
static const char *judge(const qb__variant *row, const qb__question *q, double factor, qb__choice *choice) {
    const char *why = qb__estimate(row, q, choice);
    if (!why && !choice->measured) choice->seconds *= factor;
    if (!why && row->named_only) return "runs only where --kernel names it";
    return !why && row->accuracy > q->accuracy ? "less accurate than asked for" : why;
}

/* ---- one that is named ---- */

/* A kernel name that is not in the searched table: tell where it belongs, or that it does not exist. */
static qb_status refuse(const char *id, const qb__question *q) {
    const qb__variant *row = qb__variant_named(id);
    if (!row) return qb__fail(QB_BAD_ARGUMENT, "there is no kernel %s: qb devices lists them", id);
    const qb__operation_row *home = qb__operation_of(row->operation);
    if (row->operation != q->operation)
        return qb__fail(QB_BAD_ARGUMENT, "--kernel %s is %s: qb %s", id, home->whose, home->verb);
    if (q->family && strncmp(id, q->family, strlen(q->family)) != 0)
        return qb__fail(QB_BAD_ARGUMENT, "--kernel %s is none of %s..., which alone serve here", id, q->family);
    return qb__fail(QB_BAD_ARGUMENT, "--kernel %s is %s, and runs on %s", id, home->whose,
                    row->apis ? "devices only: --device cuda or opencl" : "the CPU only: --device cpu");
}

static qb_status take(const qb__question *q, qb__choice *choice) {
    const qb__variant *row = qb__variant_named(q->id);
    if (!row || row->operation != q->operation || !row->apis != !q->device ||
        (q->family && strncmp(q->id, q->family, strlen(q->family)) != 0))
        return refuse(q->id, q);
    const char *why = qb__estimate(row, q, choice);
    if (!why && !choice->measured) choice->seconds *= doubt(q);
    if (!why) return QB_OK;
    choice->variant = NULL;
    return qb__fail(QB_UNSUPPORTED,
                    "kernel %s%s%s: %s; leave --kernel out, or take one that qb plan %s --why calls "
                    "usable",
                    q->id, q->device ? " on " : "", q->device ? q->device->spec : "", why,
                    qb__operation_of(q->operation)->verb);
}

/* ---- the fastest ---- */

/* True if devices can compute what the CPU cannot. */
static bool only_devices(const qb__question *q) {
    const qb__variant *row = NULL;
    for (size_t i = 0; !q->device && (row = qb__variant_at(q->operation, true, i)) != NULL; i++)
        if (is_asked_for(row, q)) break;
    if (q->device || !row) return false;
    for (size_t i = 0; (row = qb__variant_at(q->operation, false, i)) != NULL; i++)
        if (is_asked_for(row, q)) return false;
    return true;
}

/* The reason why each candidate cannot be used, as many as fit. */
static void reasons(const qb__question *q, char *text, size_t size) {
    const qb__variant *row;
    size_t n = 0;
    for (size_t i = 0; (row = qb__variant_at(q->operation, q->device, i)) != NULL && n < size; i++) {
        qb__choice c;
        const char *why = is_asked_for(row, q) ? judge(row, q, 1, &c) : NULL;
        if (why) n += (size_t)snprintf(text + n, size - n, "%s%s: %s", n ? "; " : ": ", row->id, why);
    }
}

static qb_status none(const qb__question *q) {
    char why[512] = "";
    const qb__operation_row *operation = qb__operation_of(q->operation);
    const char *interp = qb_interp_name(q->interp);
    if (operation->interps && only_devices(q))
        return qb__fail(QB_BAD_ARGUMENT, "--interp %s is computed on devices only: --device cuda or opencl", interp);
    reasons(q, why, sizeof why);
    return qb__fail(QB_UNSUPPORTED, "no kernel on %s %s%s%s in class %s%s", q->device ? q->device->spec : "this CPU",
                    operation->does, operation->interps ? " with --interp " : "", operation->interps ? interp : "",
                    qb_accuracy_name(q->accuracy), why);
}

qb_status qb__choose(const qb__question *q, qb__choice *choice) {
    const qb__variant *row;
    choice->variant = NULL;
    if (q->id) return take(q, choice);
    const double factor = doubt(q);
    for (size_t i = 0; (row = qb__variant_at(q->operation, q->device, i)) != NULL; i++) {
        qb__choice c;
        if (!is_asked_for(row, q) || judge(row, q, factor, &c)) continue;
        if (!choice->variant || c.seconds < choice->seconds) *choice = c;
    }
    return choice->variant ? QB_OK : none(q);
}

/* ---- the table behind it ---- */

static cJSON *limits_json(const qb__choice *c, const qb__question *q) {
    cJSON *limits = cJSON_CreateObject();
    double seconds[QB__UNITS];
    int bottleneck;
    qb__forecast(q->device, c->variant, q->problem, q->slices, c->values, seconds, &bottleneck);
    for (int unit = 0; unit < QB__UNITS; unit++)
        if (seconds[unit] > 0) cJSON_AddNumberToObject(limits, qb__unit_names[unit], seconds[unit]);
    return limits;
}

static void add_device(cJSON *entry, const qb__choice *c, const qb__question *q, double factor) {
    cJSON_AddItemToObject(entry, "parameters", qb__parameters_json(c->variant, c->values));
    cJSON_AddNumberToObject(entry, "predicted_seconds", c->predicted);
    cJSON_AddStringToObject(entry, "bottleneck", qb__unit_names[c->bottleneck]);
    cJSON_AddItemToObject(entry, "limits", limits_json(c, q));
    if (c->measured)
        cJSON_AddNumberToObject(entry, "measured_seconds", c->seconds);
    else
        cJSON_AddNumberToObject(entry, "doubt", factor);
    cJSON_AddNumberToObject(entry, "expected_seconds", c->seconds);
}

cJSON *qb__why(const qb__question *q) {
    cJSON *list = cJSON_CreateArray();
    const double factor = doubt(q);
    const qb__variant *row;
    for (size_t i = 0; (row = qb__variant_at(q->operation, q->device, i)) != NULL; i++) {
        if (!is_asked_for(row, q)) continue;
        qb__choice c;
        const char *why = judge(row, q, factor, &c);
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(list, entry);
        cJSON_AddStringToObject(entry, "kernel", row->id);
        if (row->method) cJSON_AddStringToObject(entry, "method", row->method);
        cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(row->accuracy));
        cJSON_AddStringToObject(entry, "verdict", why ? why : "usable");
        if (!q->device) cJSON_AddNumberToObject(entry, "core_seconds", c.seconds);
        if (!q->device && c.measured) cJSON_AddBoolToObject(entry, "measured", true);
        if (q->device && c.predicted > 0) add_device(entry, &c, q, factor);
    }
    return list;
}

/* ---- --kernel and --interp ---- */

bool qb__kernel_of_device(const char *id) {
    const qb__variant *row = qb__variant_named(id);
    return row && row->apis;
}

qb_status qb__kernel_of_cpu(const char *id) {
    if (!id || !qb__kernel_of_device(id)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--kernel %s runs on devices only: give --device cuda or opencl", id);
}

qb_status qb__kernel_interp(const char *id, qb_interp *interp, const qb_env *env) {
    const bool open = *interp == QB_INTERP_AUTO;
    if (open) *interp = QB_INTERP_LINEAR;
    if (!id) return QB_OK;
    const qb__variant *row = qb__variant_named(id);
    if (!row || row->operation != QB__BP_PARALLEL) return refuse(id, &(qb__question){.operation = QB__BP_PARALLEL});
    const char *name = qb_interp_name(row->interp);
    if (!open && row->interp != *interp)
        return qb__fail(QB_BAD_ARGUMENT, "--interp %s contradicts --kernel %s, which is %s: leave one of them out",
                        qb_interp_name(*interp), id, name);
    if (open && row->interp != *interp) qb__info(env, "--interp %s, since the kernel is", name);
    *interp = row->interp;
    return QB_OK;
}

void qb__report_class(const qb__question *q, const qb__variant *got, const qb_env *env) {
    if (q->id && got->accuracy > q->accuracy)
        qb__warn(env, "--kernel %s is of --accuracy %s only, not %s" QB__CODE("kernel-accuracy"), q->id,
                 qb_accuracy_name(got->accuracy), qb_accuracy_name(q->accuracy));
}

void qb__report_why(const qb__question *question, cJSON *plan) {
    cJSON_DeleteItemFromObjectCaseSensitive(plan, "why");
    cJSON_AddItemToObject(plan, "why", qb__why(question));
}
