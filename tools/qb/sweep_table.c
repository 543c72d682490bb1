/* SPDX-License-Identifier: MIT */
/* The table of a sweep. In a sweep of the axis the value is marked that lies nearest to the axis which the finders of
 * --center auto agree on. No number of a slice tells it as surely: with noise, a full turn or a cone, slices of wrong
 * axes often have the fewest values below zero. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

/* The value of a sweep as a column; NAN if it is none. */
static double column_of(const cJSON *row) {
    char *end;
    const double column = strtod(text(row, "value"), &end);
    return *end || end == text(row, "value") ? NAN : column;
}

void sweep_find_axis(cli *c, qb_scan *scan, cJSON *report) {
    const double LEAST = 0.3; /* below it the finders are not sure */
    const qb_geometry_options *cone = &c->options.geometry;
    const bool parallel = c->verb->run == cmd_fbp;
    const qb_center_options how = {.tilt = parallel ? c->options.fbp.tilt : 0, .sod = cone->sod, .sdd = cone->sdd};
    const qb_env quiet = {
        .struct_size = sizeof quiet, .threads = c->env.threads, .max_ram = c->env.max_ram, .cancel = c->env.cancel};
    qb_center_result found = {.struct_size = sizeof found};
    if (strcmp(text(report, "option"), "center") != 0) return;
    if (!scan || qb_center_find(scan, &c->options.prep, &how, &quiet, &found) != QB_OK) return;
    cJSON *axis = cJSON_AddObjectToObject(report, "axis"), *row, *best = NULL;
    cJSON_AddNumberToObject(axis, "column", found.column);
    cJSON_AddNumberToObject(axis, "confidence", found.confidence);
    double least = INFINITY, low = INFINITY, high = -INFINITY;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(report, "slices")) {
        const double column = column_of(row), off = fabs(column - found.column);
        low = fmin(low, column), high = fmax(high, column);
        if (off < least) least = off, best = row;
    }
    const bool within = found.column > low - 0.5 && found.column < high + 0.5;
    if (best && within && found.confidence >= LEAST) cJSON_AddStringToObject(axis, "nearest", text(best, "value"));
}

void sweep_print_table(const sweep_values *values, const cJSON *report) {
    const cJSON *row, *table = cJSON_GetObjectItem(report, "slices"), *axis = cJSON_GetObjectItem(report, "axis");
    const char *nearest = text(axis, "nearest");
    int wide = (int)strlen(values->name);
    cJSON_ArrayForEach(row, table) {
        if ((int)strlen(text(row, "value")) > wide) wide = (int)strlen(text(row, "value"));
    }
    printf("%s: %zu slice%s", text(report, "output"), values->count, plural((double)values->count));
    if (axis)
        printf("; %s--center auto finds column %.2f, confidence %.2f", *nearest ? "* nearest: " : "",
               number(axis, "column"), number(axis, "confidence"));
    printf("\n  %*s  %12s %12s %12s %12s\n", wide, values->name, "sharpness", "noise", "positivity", "mean");
    cJSON_ArrayForEach(row, table) {
        printf("%c %*s ", *nearest && strcmp(nearest, text(row, "value")) == 0 ? '*' : ' ', wide, text(row, "value"));
        static const char *const columns[] = {"sharpness", "noise", "positivity", "mean"};
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) printf(" %12.5g", number(row, columns[i]));
        putchar('\n');
    }
    print_picture(cJSON_GetObjectItem(report, "contact_sheet"), stdout);
}
