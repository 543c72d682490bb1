/* SPDX-License-Identifier: MIT */
/* Handles --center for methods that find the axis themselves if it is not given. */
#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/number.h"
#include "base/status.h"
#include "center/center.h"
#include "io/scan/scan.h"

static bool is_within(const qb_scan_info *info) {
    const double column = qb__column_read(info, info->center);
    return column >= 0 && column <= (double)info->columns - 1;
}

const char *qb__center_usual(const char *text, const qb_scan_info *info) {
    return text ? text : info->center_holds && is_within(info) ? "stated" : "auto";
}

void qb__center_report(const char *text, const qb_scan_info *info, const qb_env *env) {
    if (text || !info->center_holds) return;
    if (is_within(info))
        qb__info(env, "axis at column %.6g, as %s states it (--center auto looks for it)", info->center, info->path);
    else
        qb__warn(
            env,
            "%s states an axis at column %.6g, outside its columns %g to %g: it is not used, --center auto is" QB__CODE(
                "axis-outside"),
            info->path, info->center, qb__column_whole(info, 0), qb__column_whole(info, (double)info->columns - 1));
}

qb_status qb__center_named(const char *text, const qb_scan_info *info, double *center) {
    const double last = (double)info->columns - 1;
    *center = strcmp(text, "middle") == 0 ? last / 2 : NAN;
    if (strcmp(text, "stated") != 0) return QB_OK;
    if (!is_within(info))
        return qb__fail(
            QB_BAD_INPUT,
            "--center stated: %s does not state a column of the detector as its axis: give --center auto, or a column "
            "from %g to %g",
            info->path, qb__column_whole(info, 0), qb__column_whole(info, last));
    *center = qb__column_read(info, info->center);
    return QB_OK;
}

qb_status qb__center_asked(const char *text, const qb_scan_info *info, double *center) {
    const double last = (double)info->columns - 1;
    char *stop;
    text = qb__center_usual(text, info);
    qb_status status = qb__center_named(text, info, center);
    if (status == QB_OK && qb__center_is_near(text))
        return qb__center_near_parse(text, info, 0, &(double){0}, &(double){0});
    if (status != QB_OK || !isnan(*center) || qb__center_names_method(text)) return status;
    *center = qb__strtod(text, &stop);
    if (stop == text || *stop)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--center %s is neither a column nor one of auto, near:COLUMN, middle, stated, " QB__CENTER_FINDERS(", "),
            text);
    *center = qb__column_read(info, *center);
    return *center >= 0 && *center <= last ? QB_OK : qb__center_fail_outside(text, info);
}

static qb_status say_range(const qb_scan_info *info, const qb_center_options *options, const qb_env *env) {
    double low, high;
    qb_status status = qb__center_near_parse(options->method, info, options->tilt, &low, &high);
    if (status == QB_OK)
        qb__info(env, "axis searched in columns %g to %g", qb__column_whole(info, low), qb__column_whole(info, high));
    return status;
}

qb_status qb__center_seek(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                          const qb_env *env, cJSON *report, double *center) {
    const qb_scan_info *info = qb_scan_describe(scan);
    qb_center_result found = {0};
    qb_status status = QB_OK;
    /* no log here: preparation reports its steps when the whole scan is prepared */
    qb_env hushed = qb__comm_single_rank(env);
    hushed.log = NULL;
    qb__comm *ranks = qb__comm_of(env);
    if (qb__comm_rank(ranks) == 0) status = qb_center_find(scan, prep, options, &hushed, &found);
    status = qb__comm_bcast(ranks, status, 0, &found, sizeof found);
    if (status != QB_OK) return status;
    if (qb__center_is_near(options->method)) status = say_range(info, options, env);
    if (status != QB_OK) return status;
    if (found.warning[0]) qb__warn(env, "%s", found.warning);
    qb__info(env, "axis at column %.2f, confidence %.2f (--center %s)", found.column, found.confidence,
             options->method ? options->method : "auto");
    cJSON *told = cJSON_AddObjectToObject(report, "center");
    cJSON_AddNumberToObject(told, "column", found.column);
    cJSON_AddNumberToObject(told, "confidence", found.confidence);
    *center = qb__column_read(info, found.column + qb__axis_shift(info, options->tilt));
    return QB_OK;
}
