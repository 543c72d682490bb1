/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static double number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0.0;
}

static const char *text(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double element(const cJSON *object, const char *name, int index) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(object, name), index)->valuedouble;
}

/* The seconds that a kernel is chosen by, and where they come from. */
static void print_expected(const cJSON *row, FILE *out) {
    if (cJSON_GetObjectItem(row, "core_seconds"))
        fprintf(out, "%9.4g core s ", number(row, "core_seconds"));
    if (!cJSON_GetObjectItem(row, "expected_seconds")) return;
    fprintf(out, "%9.4g s ", number(row, "expected_seconds"));
    if (cJSON_GetObjectItem(row, "measured_seconds"))
        fprintf(out, "measured, forecast %.4g by %s; ", number(row, "predicted_seconds"),
                text(row, "bottleneck"));
    else if (number(row, "doubt") > 1)
        fprintf(out, "forecast %.4g by %s x %.2f of doubt; ", number(row, "predicted_seconds"),
                text(row, "bottleneck"), number(row, "doubt"));
    else
        fprintf(out, "forecast by %s; ", text(row, "bottleneck"));
}

/* The table of a CPU or of a device, what is chosen marked: the seconds that decide, prediction and
 * measurement, the bottleneck, and what each unit would take alone; or why a row does not serve. */
static void print_why(const cJSON *plan, const char *name, FILE *out) {
    const cJSON *row, *limit;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(plan, name)) {
        const bool chosen = strcmp(text(row, "kernel"), text(plan, "kernel")) == 0;
        fprintf(out, "           %s %-36s %-7s ", chosen ? "*" : " ", text(row, "kernel"),
                text(row, "accuracy"));
        print_expected(row, out);
        fprintf(out, "%s", chosen ? "chosen" : text(row, "verdict"));
        const char *between = " (";
        cJSON_ArrayForEach(limit, cJSON_GetObjectItem(row, "limits")) {
            fprintf(out, "%s%s %.3g", between, limit->string, limit->valuedouble);
            between = ", ";
        }
        fputs(*between == ',' ? ")\n" : "\n", out);
    }
}

static bool with_why; /* --why */

static void print_plan(const cJSON *plan, FILE *out) {
    fprintf(out, "input        %s (%s), %.0f views of %.0f x %.0f\n", text(plan, "input"),
            text(plan, "format"), element(plan, "views_rows_columns", 0),
            element(plan, "views_rows_columns", 1), element(plan, "views_rows_columns", 2));
    fprintf(out, "values are   %s (%s)\n", text(plan, "quantity"), text(plan, "quantity_from"));
    fprintf(out, "angles       %s\n", text(plan, "angles"));
    if (cJSON_GetObjectItem(plan, "redundancy"))
        fprintf(out, "rows         %s\n", text(plan, "redundancy"));
    fprintf(out, "volume       %.0f x %.0f x %.0f voxels (x, y, z), %s\n", element(plan, "size", 0),
            element(plan, "size", 1), element(plan, "size", 2), text(plan, "units"));
    fprintf(out, "kernel       %s, accuracy %s, %.0f threads\n", text(plan, "kernel"),
            text(plan, "accuracy"), number(plan, "threads"));
    if (cJSON_GetObjectItem(plan, "device_name"))
        fprintf(out, "device       %s, %s; %.1f MiB of device memory\n", text(plan, "device"),
                text(plan, "device_name"), number(plan, "device_memory_bytes") / 1048576.0);
    if (with_why) {
        print_why(plan, "why", out);
        print_why(plan, "why_device", out);
    }
    fprintf(out, "chunks       %.0f of %.0f slices, %.0f buffers a ring\n", number(plan, "chunks"),
            number(plan, "slices_per_chunk"), number(plan, "ring_slots"));
    fprintf(out, "memory       %.1f MiB\n", number(plan, "memory_bytes") / 1048576.0);
    fprintf(out, "disk         %.1f MiB written\n", number(plan, "output_bytes") / 1048576.0);
    fprintf(out, "time         about %.3g s of computing\n", number(plan, "forecast_seconds"));
}

static void print_report(const cJSON *report, FILE *out) {
    fprintf(out, "%s: ", text(report, "output"));
    if (cJSON_GetObjectItem(report, "column"))
        fprintf(out, "axis at column %.3f, ", number(report, "column"));
    fprintf(out, "kernel %s\n", text(report, "kernel"));
    const cJSON *stage, *compile = cJSON_GetObjectItem(report, "compile");
    if (number(compile, "kernels") > 0)
        fprintf(out, "  %-12s %8s        %8.2f s, before the rest: %.0f kernels\n", "compile", "",
                number(compile, "seconds"), number(compile, "kernels"));
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(report, "stages")) {
        fprintf(out, "  %-12s %8.2f CPU s  %8.2f s busy\n", text(stage, "name"),
                number(stage, "cpu_seconds"), number(stage, "busy_seconds"));
    }
    fprintf(out, "  %-12s %8.2f CPU s  %8.2f s\n", "all", number(report, "cpu_seconds"),
            number(report, "wall_seconds"));
}

static void print_sweep(const cJSON *report, FILE *out) {
    const cJSON *list = cJSON_GetObjectItem(report, "centers");
    int n = cJSON_GetArraySize(list);
    fprintf(out, "%s: %d slices, axis at columns %g to %g\n", text(report, "output"), n,
            cJSON_GetArrayItem(list, 0)->valuedouble, cJSON_GetArrayItem(list, n - 1)->valuedouble);
}

static void print_done(const cJSON *report, FILE *out) {
    if (strcmp(text(report, "kind"), "sweep") == 0)
        print_sweep(report, out);
    else
        print_report(report, out);
}

static qb_status show(cli *c, const char *json, void (*print)(const cJSON *, FILE *)) {
    if (c->options.run.json) return give_result(c, strdup(json));
    cJSON *root = cJSON_Parse(json);
    if (!root) { /* what was to be made is made: only the telling fails */
        c->env.log(NULL, QB_LOG_WARNING, "no memory to show what was done");
        return QB_OK;
    }
    print(root, stdout);
    cJSON_Delete(root);
    return QB_OK;
}

qb_status open_scan(cli *c, qb_scan **scan) {
    qb_status status = qb_scan_open(c->argument[0], &c->options.scan, &c->env, scan);
    if (status != QB_OK) return status;
    size_t problems = qb_scan_describe(*scan)->problems;
    bool stated = c->verb->run == cmd_fbp ? c->options.fbp.geometry != NULL
                                          : c->verb->run == cmd_fdk && c->options.geometry.geometry;
    for (size_t i = 0; i < problems; i++) {
        if (stated && qb_scan_problem_kind(*scan, i) == QB_PROBLEM_ANGLES) continue;
        c->env.log(NULL, QB_LOG_WARNING, qb_scan_problem(*scan, i));
    }
    return QB_OK;
}

qb_status finish_job(cli *c, qb_job *job) {
    const char *report;
    with_why = c->options.run.why;
    if (c->options.run.dry_run) return show(c, qb_job_plan(job), print_plan);
    qb_status status = qb_job_run(job, &c->env, &report);
    finish_progress();
    if (status != QB_OK) return status;
    if (c->options.run.quiet && !c->options.run.json) return QB_OK; /* the output is what was asked for */
    return show(c, report, print_done);
}

qb_status cmd_fbp(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    status = qb_fbp_plan(scan, &c->options.prep, &c->options.fbp, &c->options.output, c->command,
                         &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job);
    qb_job_destroy(job);
    qb_scan_close(scan);
    return status;
}
