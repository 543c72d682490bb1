/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "bench/bench_parts.h"

double qb__bench_number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return item ? item->valuedouble : 0;
}

static bool is_one_of(const char *name, const char *const *list) {
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

static bool has_stage(const cJSON *report, const char *name) {
    const cJSON *stage;
    cJSON_ArrayForEach(
        stage, cJSON_GetObjectItem(report, "stages")) if (strcmp(cJSON_GetObjectItem(stage, "name")->valuestring,
                                                                 name) == 0) return true;
    return false;
}

/* A device's work takes no CPU time of its stage's thread, which waits. Back-projection of a cone beam is a stage of
 * the CPU, or of a device if there is an upload stage. */
static double alone(const cJSON *report, const cJSON *stage) {
    static const char *const io[] = {"read", "write", NULL}, *const device[] = {"upload", "reconstruct", "download",
                                                                                NULL};
    const char *name = cJSON_GetObjectItem(stage, "name")->valuestring;
    const bool waits = strcmp(name, "back-project") == 0 && has_stage(report, "upload");
    if (waits || is_one_of(name, device)) return qb__bench_number(stage, "busy_seconds");
    const double cpu = qb__bench_number(stage, "cpu_seconds"), busy = qb__bench_number(stage, "busy_seconds");
    if (is_one_of(name, io)) return cpu < busy ? cpu : busy; /* these stages use one thread, or several */
    return cpu / qb__bench_number(report, "threads");
}

double qb__bench_bound(const cJSON *report) {
    double bound = qb__bench_number(report, "cpu_seconds") / qb__bench_number(report, "threads");
    const cJSON *stage;
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(report, "stages")) {
        const double seconds = alone(report, stage);
        bound = seconds > bound ? seconds : bound;
    }
    return bound;
}

void qb__bench_add_stages(const cJSON *report, cJSON *result) {
    cJSON *stages = cJSON_AddObjectToObject(result, "stage_seconds_alone");
    const cJSON *stage;
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(report, "stages"))
        cJSON_AddNumberToObject(stages, cJSON_GetObjectItem(stage, "name")->valuestring, alone(report, stage));
    cJSON_AddNumberToObject(result, "cpu_seconds", qb__bench_number(report, "cpu_seconds"));
    cJSON_AddNumberToObject(result, "bound_seconds", qb__bench_bound(report));
}

void qb__machine_know(cJSON *rates, const char *name, double work, double seconds) {
    if (!(seconds > 0) || work / seconds < qb__bench_number(rates, name)) return;
    cJSON_DeleteItemFromObject(rates, name);
    cJSON_AddNumberToObject(rates, name, work / seconds);
}
