/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "crop.h"
#include "planner/device_early.h"
#include "report_html.h"
#include "sweep.h"

static double element(const cJSON *object, const char *name, int index) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(object, name), index)->valuedouble;
}

/* Prints the seconds by which a kernel is chosen, and whether they are measured or forecast. */
static void print_expected(const cJSON *row, FILE *out) {
    if (cJSON_GetObjectItem(row, "core_seconds"))
        fprintf(out, "%9.4g core s %s", number(row, "core_seconds"),
                cJSON_GetObjectItem(row, "measured") ? "measured; " : "");
    if (!cJSON_GetObjectItem(row, "expected_seconds")) return;
    fprintf(out, "%9.4g s ", number(row, "expected_seconds"));
    if (cJSON_GetObjectItem(row, "measured_seconds"))
        fprintf(out, "measured, forecast %.4g by %s; ", number(row, "predicted_seconds"), text(row, "bottleneck"));
    else if (number(row, "doubt") > 1)
        fprintf(out, "forecast %.4g by %s x %.2f of doubt; ", number(row, "predicted_seconds"), text(row, "bottleneck"),
                number(row, "doubt"));
    else
        fprintf(out, "forecast by %s; ", text(row, "bottleneck"));
}

/* Prints the kernel table of a CPU or a device; the chosen kernel is marked. A row shows the deciding seconds,
 * prediction and measurement, the bottleneck and the time of each unit alone, or why the kernel cannot be used. */
static void print_why(const cJSON *plan, FILE *out) {
    const cJSON *row, *limit;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(plan, "why")) {
        const bool chosen = strcmp(text(row, "kernel"), text(plan, "kernel")) == 0;
        fprintf(out, "           %s %-36s %-7s ", chosen ? "*" : " ", text(row, "kernel"), text(row, "accuracy"));
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

static bool with_why; /* --why is given: print_plan() has no other way to know, since show() passes it no options */

/* Prints the forecast: the steps before the first chunk, the stages that overlap after that, and the source of the
 * rates. */
static void print_forecast(const cJSON *plan, FILE *out) {
    static const struct {
        const char *name, *words;
    } before[] = {{"axis", "looking for the axis"}, {"preparation", "preparing"}};
    const cJSON *forecast = cJSON_GetObjectItem(plan, "forecast"), *stage;
    const char *between = "";
    fprintf(out, "time         about %.3g s by %s rates: ", number(plan, "forecast_seconds"), text(forecast, "rates"));
    for (int i = 0; i < 2; i++)
        if (number(forecast, before[i].name) >= 0.005)
            fprintf(out, "%.2f s %s, then ", number(forecast, before[i].name), before[i].words);
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(forecast, "stages")) {
        fprintf(out, "%s%s %.2f", between, stage->string, stage->valuedouble);
        between = ", ";
    }
    fprintf(out, "%s%.2f s\n", *between ? " at once: " : "", number(forecast, "streaming"));
    if (cJSON_GetObjectItem(cJSON_GetObjectItem(forecast, "stages"), "write"))
        fprintf(out, "             of which writing at %.3g GB/s, %s\n",
                number(forecast, "write_bytes_per_second") / 1e9, text(forecast, "write_rate"));
    if (number(plan, "start_seconds") > 0)
        fprintf(out, "             and %.2f s to start the device\n", number(plan, "start_seconds"));
}

/* Prints a table of the scaling, with one line for each number of ranks. */
static void print_scaling(const cJSON *cluster, const char *name, const char *words, FILE *out) {
    const cJSON *step;
    fprintf(out, "  %s\n    ranks      grid    views   compute      post   seconds        GUPS  efficiency\n", words);
    cJSON_ArrayForEach(step, cJSON_GetObjectItem(cluster, name)) {
        const cJSON *terms = cJSON_GetObjectItem(step, "terms");
        char grid[32];
        snprintf(grid, sizeof grid, "%.0fx%.0f", element(step, "grid", 0), element(step, "grid", 1));
        fprintf(out, "    %5.0f %9s %8.0f %9.2f %9.2f %9.2f %11.1f %10.2f\n", number(step, "ranks"), grid,
                number(step, "views"), number(terms, "compute"), number(terms, "post"), number(step, "runtime_seconds"),
                number(step, "gups"), number(step, "efficiency"));
    }
}

/* Prints the forecast for a cluster that is only described by options. */
static void print_cluster(const cJSON *cluster, FILE *out) {
    const cJSON *term;
    const char *between = "";
    if (!cluster) return;
    fprintf(out,
            "on paper     %.0f nodes of %.0f GPUs or processes, as %.0fx%.0f: potential peak %.3g s, %.0f GUPS\n       "
            "      ",
            number(cluster, "nodes"), number(cluster, "gpus_per_node"), element(cluster, "grid", 0),
            element(cluster, "grid", 1), number(cluster, "runtime_seconds"), number(cluster, "gups"));
    cJSON_ArrayForEach(term, cJSON_GetObjectItem(cluster, "terms")) {
        fprintf(out, "%s%s %.3g", between, term->string, term->valuedouble);
        between = ", ";
    }
    fputs(" s\n", out);
    print_scaling(cluster, "strong_scaling", "the same scan, more ranks", out);
    print_scaling(cluster, "weak_scaling", "as many views for each rank", out);
}

/* Prints how coordinate descent gets its system matrix, and the forecast for each way. */
static void print_matrix(const cJSON *plan, FILE *out) {
    const cJSON *each = cJSON_GetObjectItem(plan, "matrix_seconds");
    if (!each) return;
    fprintf(out, "matrix       %s; forecast: fly %.2f s, bytes %.2f s, floats %.2f s\n", text(plan, "matrix"),
            number(each, "fly"), number(each, "bytes"), number(each, "floats"));
}

/* Prints whether the CPU or the device filters the rows of a cone beam, where a device back-projects. */
static void print_filter(const cJSON *plan, FILE *out) {
    const char *by = cJSON_GetStringValue(cJSON_GetObjectItem(plan, "filtered_by"));
    if (!by) return;
    const cJSON *seconds = cJSON_GetObjectItem(plan, "filtered_by_seconds");
    const char *why = text(plan, "filtered_by_why");
    fprintf(out, "filter       %s%s%s%s", strcmp(by, "cpu") ? "on " : "by the CPU, while the device back-projects",
            strcmp(by, "cpu") ? by : "", *why ? ": " : "", why);
    if (seconds)
        fprintf(out, " (%.3g s on the device, %.3g s on the CPU)", number(seconds, "device"), number(seconds, "cpu"));
    fputc('\n', out);
}

static void print_plan(const cJSON *plan, FILE *out) {
    fprintf(out, "input        %s (%s), %.0f view%s of %.0f x %.0f\n", text(plan, "input"), text(plan, "format"),
            element(plan, "views_rows_columns", 0), plural(element(plan, "views_rows_columns", 0)),
            element(plan, "views_rows_columns", 1), element(plan, "views_rows_columns", 2));
    fprintf(out, "values are   %s (%s)\n", text(plan, "quantity"), text(plan, "quantity_from"));
    fprintf(out, "angles       %s\n", text(plan, "angles"));
    if (cJSON_GetObjectItem(plan, "phase_retrieval"))
        fprintf(out, "phase        on %s: %s\n",
                cJSON_HasObjectItem(plan, "phase_by") ? text(plan, "phase_by") : "the CPU",
                text(plan, "phase_retrieval"));
    if (cJSON_GetObjectItem(plan, "redundancy")) fprintf(out, "rows         %s\n", text(plan, "redundancy"));
    fprintf(out, "volume       %.0f x %.0f x %.0f voxels (x, y, z), %s\n", element(plan, "size", 0),
            element(plan, "size", 1), element(plan, "size", 2), text(plan, "units"));
    const char *accuracy = text(plan, "accuracy"); /* iterative solvers have no accuracy */
    fprintf(out, "kernel       %s%s%s, %.0f thread%s\n", text(plan, "kernel"), *accuracy ? ", accuracy " : "", accuracy,
            number(plan, "threads"), plural(number(plan, "threads")));
    if (cJSON_GetObjectItem(plan, "device_name"))
        fprintf(out, "device       %s, %s; %.1f MiB of device memory\n", text(plan, "device"),
                text(plan, "device_name"), number(plan, "device_memory_bytes") / 1048576.0);
    print_filter(plan, out);
    print_matrix(plan, out);
    if (with_why) print_why(plan, out);
    fprintf(out, "chunks       %.0f of %.0f slice%s", number(plan, "chunks"), number(plan, "slices_per_chunk"),
            plural(number(plan, "slices_per_chunk")));
    if (cJSON_GetObjectItem(plan, "slices_after_first"))
        fprintf(out, " in the first and %.0f in those after it", number(plan, "slices_after_first"));
    fprintf(out, ", %.0f buffer%s a ring\n", number(plan, "ring_slots"), plural(number(plan, "ring_slots")));
    fprintf(out, "memory       %.1f MiB\n", number(plan, "memory_bytes") / 1048576.0);
    fprintf(out, "disk         %.1f MiB written\n", number(plan, "output_bytes") / 1048576.0);
    print_forecast(plan, out);
    print_cluster(cJSON_GetObjectItem(plan, "cluster"), out);
    sweep_print_plan(cJSON_GetObjectItem(plan, "sweep"), out);
}

void print_picture(const cJSON *picture, FILE *out) {
    if (!picture) return;
    fprintf(out, "%s: black %.4g, white %.4g (%s)\n", text(picture, "file"), element(picture, "window", 0),
            element(picture, "window", 1), text(picture, "window_from"));
}

/* Adds up the squared RMSE of each slab, weighted by its number of slices. */
static void add_rmse(const cJSON *share, double *squares, double *slices) {
    const cJSON *slab;
    cJSON_ArrayForEach(slab, cJSON_GetObjectItem(cJSON_GetObjectItem(share, "convergence"), "slabs")) {
        const cJSON *rmse = cJSON_GetObjectItem(slab, "rmse");
        const int turns = cJSON_GetArraySize(rmse);
        if (!turns) continue;
        const double last = cJSON_GetArrayItem(rmse, turns - 1)->valuedouble;
        *squares += last * last * number(slab, "slices");
        *slices += number(slab, "slices");
    }
}

/* qb mbir --reference: prints the final RMSE over all slabs and ranks. */
static void print_rmse(const cJSON *report, FILE *out) {
    const cJSON *rank;
    double squares = 0, slices = 0;
    add_rmse(report, &squares, &slices);
    cJSON_ArrayForEach(rank, cJSON_GetObjectItem(report, "other_ranks")) add_rmse(rank, &squares, &slices);
    if (slices > 0)
        fprintf(out, ", rmse %.4g %s to the reference", sqrt(squares / slices),
                text(cJSON_GetObjectItem(report, "convergence"), "rmse_units"));
}

static void print_report(const cJSON *report, FILE *out) {
    fprintf(out, "%s: ", text(report, "output"));
    if (cJSON_GetObjectItem(report, "column")) fprintf(out, "axis at column %.3f, ", number(report, "column"));
    fprintf(out, "kernel %s", text(report, "kernel"));
    print_rmse(report, out);
    fputc('\n', out);
    const cJSON *stage, *compile = cJSON_GetObjectItem(report, "compile");
    if (number(compile, "kernels") > 0)
        fprintf(out, "  %-12s %8s        %8.2f s, before the rest: %.0f kernel%s\n", "compile", "",
                number(compile, "seconds"), number(compile, "kernels"), plural(number(compile, "kernels")));
    cJSON_ArrayForEach(stage, cJSON_GetObjectItem(report, "stages")) {
        fprintf(out, "  %-12s %8.2f CPU s  %8.2f s busy\n", text(stage, "name"), number(stage, "cpu_seconds"),
                number(stage, "busy_seconds"));
    }
    fprintf(out, "  %-12s %8.2f CPU s  %8.2f s\n", "all", number(report, "cpu_seconds"),
            number(report, "wall_seconds"));
    print_picture(cJSON_GetObjectItem(report, "preview"), out);
}

static qb_status show(cli *c, const char *json, void (*print)(const cJSON *, FILE *)) {
    if (is_silent()) return QB_OK;
    if (c->options.run.json) return give_result(c, strdup(json));
    cJSON *root = cJSON_Parse(json);
    if (!root) { /* the job itself succeeded: a missing report is only a warning */
        c->env.log(c->env.user, QB_LOG_WARNING, "no memory to show what was done");
        return QB_OK;
    }
    print(root, stdout);
    cJSON_Delete(root);
    return QB_OK;
}

/* --follow SECONDS with a geometry file: waits for as many views as the geometry file has. */
static qb_status follow_geometry(const char *file, char *text, size_t size, qb_scan_options *scan) {
    const qb_detector one = {.rows = 1, .columns = 1, .pixel_u = 1, .pixel_v = 1};
    qb_geometry geometry;
    if (!file || !scan->follow || strchr(scan->follow, ':') || scan->angles) return QB_OK;
    qb_status status = qb_geometry_load(file, NULL, NULL, &geometry);
    if (status != QB_OK) /* some files do not state the number of pixels; any detector does to count the views */
        status = qb_geometry_load(file, &one, NULL, &geometry);
    if (status != QB_OK) return status;
    snprintf(text, size, "%.32s:%zu", scan->follow, geometry.views);
    scan->follow = text;
    qb_geometry_destroy(&geometry);
    return QB_OK;
}

/* Warns of problems of the scan. Problems with angles are left out where a geometry file states the angles, and
 * problems with flats where --air replaces the flats. */
static void tell_problems(cli *c, const qb_scan *scan, bool stated) {
    const size_t problems = qb_scan_describe(scan)->problems;
    for (size_t i = 0; i < problems; i++) {
        const qb_problem kind = qb_scan_problem_kind(scan, i);
        if ((stated && kind == QB_PROBLEM_ANGLES) || (c->options.prep.air && kind == QB_PROBLEM_FLATS)) continue;
        c->env.log(c->env.user, QB_LOG_WARNING, qb_scan_problem(scan, i));
    }
}

/* Opens a GPU while the scan is opened, if the user names it or a large scan is sure to use it. */
static void open_device(const cli *c) {
    const char *name = c->verb->name;
    const long long LARGE = 4LL << 30;
    struct stat file;
    const bool large = stat(c->argument[0], &file) == 0 && file.st_size >= LARGE,
               uses = strcmp(name, "fbp") == 0 || strcmp(name, "fdk") == 0;
    qb_tool_device_early(&c->env, large && uses);
}

qb_status open_scan(cli *c, qb_scan **scan) {
    const char *file = strcmp(c->verb->name, "fbp") == 0 ? c->options.fbp.geometry : c->options.geometry.geometry;
    const bool stated = file && strcmp(file, "parallel") != 0;
    qb_scan_options wanted = c->options.scan;
    char follow[64];
    hold_warnings();
    open_device(c);
    qb_status status = QB_OK;
    *scan = c->sweep ? sweep_scan(c) : NULL;
    if (!*scan) status = follow_geometry(stated ? file : NULL, follow, sizeof follow, &wanted);
    if (!*scan && status == QB_OK) status = qb_scan_open(c->argument[0], &wanted, &c->env, scan);
    if (status != QB_OK) return status;
    if (c->sweep) sweep_keep(c, *scan);
    tell_problems(c, *scan, stated);
    status = fit_hardening(c, *scan);
    if (status != QB_OK) close_scan(c, *scan);
    return status;
}

void close_scan(cli *c, qb_scan *scan) {
    if (!c->sweep || sweep_scan(c) != scan) qb_scan_close(scan);
}

qb_status show_plan(cli *c, const char *plan) {
    tell_warnings(QB_OK);
    with_why = c->options.run.why;
    return show(c, plan, print_plan);
}

qb_status finish_job(cli *c, qb_job *job, qb_scan *scan, const qb_geometry *geometry) {
    const char *report;
    if (c->cropping) return crop_job(c, job, scan, geometry);
    if (c->sweep) return sweep_job(c, job, !geometry);
    if (c->options.run.dry_run) return show_plan(c, qb_job_plan(job));
    tell_warnings(QB_OK);
    qb_status status = qb_job_run(job, &c->env, &report);
    finish_progress();
    if (status == QB_OK && c->page) status = html_report_write(c, scan, geometry, qb_job_plan(job), report);
    if (status != QB_OK) return status;
    /* With --quiet the output file is the only result */
    if (c->options.run.quiet && !c->options.run.json) return QB_OK;
    return show(c, report, print_report);
}

qb_status cmd_fbp(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    status = qb_fbp_plan(scan, &c->options.prep, &c->options.fbp, &c->options.output, c->command, &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job, scan, NULL);
    qb_job_destroy(job);
    close_scan(c, scan);
    return status;
}
