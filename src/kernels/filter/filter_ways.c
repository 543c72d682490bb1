/* SPDX-License-Identifier: MIT */
/* Chooses how rows are filtered on a device. All ways have the same accuracy class. Each is faster than the later ones
 * wherever it is available, and whether cuFFT is available is known only after it is loaded. So no forecast or tuning
 * is needed, and the ways are not variants of the planner (docs/architecture.md): the first available one is taken. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "kernels/filter/filter_device_parts.h"

__attribute__((format(printf, 2, 3))) static void say(qb__device_filter *filter, const char *format, ...) {
    size_t used = strlen(filter->method);
    va_list list;
    va_start(list, format);
    vsnprintf(filter->method + used, sizeof filter->method - used, format, list);
    va_end(list);
}

static void say_radices(qb__device_filter *filter) {
    const qb__filter_plan *plan = &filter->plan;
    say(filter, ", radices");
    for (int i = 0; i < plan->passes; i++) say(filter, " %d", plan->radix[i]);
    say(filter, " %d", plan->last);
}

const char *qb__filter_not_local(const qb__filter_spectrum *spectrum, const qb__device_info *info,
                                 qb__filter_method method, qb__filter_plan *plan) {
    const char *why = qb__filter_plan_make(spectrum->half, info, plan);
    bool wanted = method == QB__FILTER_AUTO || method == QB__FILTER_LOCAL;
    return why || wanted ? why : "another method was asked for";
}

static qb_status take_local(qb__device_filter *filter) {
    const qb__device_info *info = qb__device_info_of(filter->device);
    const char *why = qb__filter_not_local(&filter->spectrum, info, QB__FILTER_LOCAL, &filter->plan);
    if (why)
        return qb__fail(QB_UNSUPPORTED, "%s: filtering rows of %zu columns in local memory: %s", info->spec,
                        filter->spectrum.columns, why);
    say(filter, "local memory");
    say_radices(filter);
    return QB_OK;
}

static qb_status take_cufft(qb__device_filter *filter) {
    qb_status status = qb__filter_long_create(filter, true, &filter->passes);
    if (status == QB_OK) say(filter, "cuFFT");
    return status;
}

static qb_status take_passes(qb__device_filter *filter) {
    if (!qb__filter_radices(filter->spectrum.half, &filter->plan))
        return qb__fail(QB_UNSUPPORTED, "filtering rows of %zu columns on a device", filter->spectrum.columns);
    say(filter, "passes through device memory");
    say_radices(filter);
    return qb__filter_long_create(filter, false, &filter->passes);
}

/* Fastest first. */
static const struct {
    qb__filter_method method;
    unsigned apis;
    /* QB_NO_MEMORY ends the search, because no later way needs less memory */
    qb_status (*take)(qb__device_filter *filter);
} ways[] = {
    {QB__FILTER_LOCAL, QB__API_CUDA | QB__API_OPENCL, take_local},
    {QB__FILTER_CUFFT, QB__API_CUDA, take_cufft},
    {QB__FILTER_PASSES, QB__API_CUDA | QB__API_OPENCL, take_passes},
};

qb_status qb__filter_take_way(qb__device_filter *filter, qb__filter_method method, bool *local) {
    const unsigned api = (unsigned)qb__device_info_of(filter->device)->api;
    char why[160] = "";
    qb_status status = QB_UNSUPPORTED;
    *local = false;
    if (filter->spectrum.identity) {
        say(filter, "no transform");
        return QB_OK;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const bool named = method == ways[i].method;
        if (!named && (method != QB__FILTER_AUTO || !(ways[i].apis & api))) continue;
        status = ways[i].take(filter);
        *local = status == QB_OK && ways[i].method == QB__FILTER_LOCAL;
        if (status == QB_OK && *why) say(filter, " (%s)", why);
        if (status == QB_OK || named || status == QB_NO_MEMORY) return status;
        snprintf(why, sizeof why, "%s", qb_detail());
    }
    return status;
}
