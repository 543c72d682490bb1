/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/memory.h"
#include "job/job.h"

static void add_three(cJSON *plan, const char *name, double a, double b, double c) {
    const double numbers[] = {a, b, c};
    cJSON_AddItemToObject(plan, name, cJSON_CreateDoubleArray(numbers, 3));
}

void qb__describe_subject(cJSON *plan, const qb__subject *s) {
    const qb_grid *grid = &s->grid;
    cJSON_AddStringToObject(plan, "verb", s->verb);
    cJSON_AddStringToObject(plan, "input", s->input);
    cJSON_AddStringToObject(plan, "format", s->format);
    cJSON_AddStringToObject(plan, "quantity", s->quantity);
    cJSON_AddStringToObject(plan, "quantity_from", s->quantity_from);
    add_three(plan, "views_rows_columns", (double)s->views, (double)s->rows, (double)s->columns);
    add_three(plan, "size", (double)grid->n[0], (double)grid->n[1], (double)grid->n[2]);
    add_three(plan, "voxel", grid->voxel[0], grid->voxel[1], grid->voxel[2]);
    add_three(plan, "offset", grid->offset[0], grid->offset[1], grid->offset[2]);
    cJSON_AddStringToObject(plan, "units", s->units);
}

cJSON *qb__describe_options(cJSON *plan, const qb_param *table, const void *options) {
    cJSON *list = cJSON_GetObjectItem(plan, "options");
    if (!list) list = cJSON_AddObjectToObject(plan, "options");
    char text[512];
    for (const qb_param *row = table; row->name; row++) {
        if (qb_param_get(row, options, text, sizeof text)) cJSON_AddStringToObject(list, row->name, text);
    }
    return list;
}

void qb__describe_cost(cJSON *plan, const qb__volume_out *volume, size_t memory, double seconds) {
    const size_t *n = volume->stack.shape;
    double values = (double)n[0] * (double)n[1] * (double)n[2];
    cJSON_AddNumberToObject(plan, "memory_bytes", (double)memory);
    cJSON_AddNumberToObject(
        plan, "output_bytes",
        qb__value_written(volume->options) ? values * (double)qb_dtype_size(qb__volume_dtype(volume)) : 0);
    if (volume->stack.parts > 1) cJSON_AddNumberToObject(plan, "output_parts", (double)volume->stack.parts);
    cJSON_AddNumberToObject(plan, "forecast_seconds", seconds);
}

size_t qb__held_bytes(const qb__held *held) {
    enum { THREAD_BYTES = 48 << 10, LIBRARY_BYTES = 768 << 10 };
    const qb_scan_info *scan = held->scan;
    size_t bytes = qb__resident_bytes() + LIBRARY_BYTES + (size_t)(held->threads + 2) * THREAD_BYTES;
    if (scan) bytes += qb__digest_bytes(scan->views, scan->rows);
    if (scan) bytes += scan->cache_bytes;
    return bytes + held->prepared + held->observers + held->more;
}

qb_status qb__too_small(const qb__cut_space *space, const qb__cut *least, const qb_env *env) {
    char views[64] = "", slices[64] = "one slice";
    const size_t count = qb__cut_bundled(space, least->views);
    if (space->views_stream) snprintf(views, sizeof views, "%zu view%s and ", count, count == 1 ? "" : "s");
    if (least->slices != 1) snprintf(slices, sizeof slices, "%zu slices", least->slices);
    return qb__fail_ram(env, (double)space->cap.host, (double)least->need.host, "even %s%s at a time need%s", views,
                        slices, *views || least->slices != 1 ? "" : "s");
}
