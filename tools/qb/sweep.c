/* SPDX-License-Identifier: MIT */
/* A sweep: the verb plans and runs one job for each value of an option, and one slice of each job is kept. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recon/sweep.h"
#include "sweep.h"

typedef struct sweep {
    sweep_values values;
    const char *flag, *asked; /* flag of the sweep, "sweep" or "center", and its text */
    const qb_param *row;
    void *target;
    qb_tool_sweep_plan plan;
    qb_tool_sweep *slices;
    qb_output_options output; /* output options as the user gave them */
    qb_env env;               /* environment as it was before the sweep */
    bool looked;              /* the slice has been chosen */
    bool looking;             /* the first pass: jobs are only planned, to choose the slice */
    bool resized;             /* the sweep has changed the size of the volume */
    qb_scan *scan;            /* scan that stays open for all jobs; NULL: each job opens it again */
    size_t nx, ny;            /* size of the slices of the first value */
    cJSON *heard;             /* warnings of the current job; `all` has those of the earlier jobs */
    cJSON *all;
} sweep;

/* ---- options of the sweep ---- */

/* Finds the text of the sweep. --center A:B:STEP is the same as --sweep center=A:B:STEP. */
static qb_status find_text(cli *c, sweep *s) {
    void *target;
    const qb_param *center = find_row(c, "center", 0, &target);
    const char *column = center && center->type == QB_PARAM_TEXT ? *(char **)((char *)target + center->offset) : NULL;
    const bool range = sweep_is_range(column);
    char text[160];
    if (c->options.sweep.of && range)
        return complain(QB_BAD_ARGUMENT, "--center %s and --sweep %s are two sweeps: leave one out", column,
                        c->options.sweep.of);
    s->flag = range ? "center" : "sweep";
    s->asked = range ? column : c->options.sweep.of;
    if (!s->asked) return QB_OK;
    snprintf(text, sizeof text, range ? "center=%s" : "%s", s->asked);
    return sweep_values_parse(s->flag, range ? text : s->asked, &s->values);
}

/* Only these output options change the values of a slice. */
static bool is_filter(const char *name) { return strcmp(name, "denoise") == 0 || strcmp(name, "clip") == 0; }

/* Refuses options that cannot differ between jobs. Options of the section "Running" hold for all jobs, because the
 * environment is made from them once. */
static qb_status check_row(cli *c, sweep *s) {
    static const char *const none[] = {"report", "sweep", "resume", "slices"};
    s->row = find_row(c, s->values.name, 0, &s->target);
    if (!s->row)
        return complain(QB_BAD_ARGUMENT, "--%s %s: qb %s has no option --%s", s->flag, s->asked, c->verb->name,
                        s->values.name);
    bool same = s->target == &c->options.run || (s->target == &c->options.output && !is_filter(s->row->name));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) same = same || strcmp(s->row->name, none[i]) == 0;
    if (!same) return QB_OK;
    return complain(QB_BAD_ARGUMENT, "--%s %s: --%s changes no slice", s->flag, s->asked, s->row->name);
}

/* Checks that the option accepts all values, before the first job runs. Afterwards the option has the first value. */
static qb_status try_values(sweep *s) {
    qb_status status = QB_OK;
    for (size_t i = s->values.count; status == QB_OK && i-- > 0;)
        status = qb_param_set(s->row, s->target, s->values.text[i]);
    return status;
}

static qb_status check_others(const cli *c, const sweep *s) {
    const char *out = c->options.output.output, *dot = out ? strrchr(out, '.') : NULL;
    if (qb_ranks_count(c->env.ranks) > 1)
        return complain(QB_UNSUPPORTED, "--%s %s is of one process, and here are %d: start it once, without mpirun",
                        s->flag, s->asked, qb_ranks_count(c->env.ranks));
    if (c->options.output.preview || c->page)
        return complain(QB_BAD_ARGUMENT,
                        "--%s %s: a sweep makes a contact sheet of its own; --preview and --report show a volume",
                        s->flag, s->asked);
    if (c->options.fbp.resume || c->options.fdk.resume || c->options.mbir.resume)
        return complain(QB_BAD_ARGUMENT, "--resume: trial slices begin anew, leave it out or --%s", s->flag);
    if (!out || !*out) return complain(QB_BAD_ARGUMENT, "-o OUT is missing: a sweep writes a folder of TIFF files");
    if (dot && !strchr(dot, '/'))
        return complain(QB_BAD_ARGUMENT, "--%s %s: a sweep writes a folder of TIFF files, and -o %s looks like a file",
                        s->flag, s->asked, out);
    return QB_OK;
}

qb_status sweep_begin(cli *c) {
    sweep *s;
    if (!(c->verb->abilities & PLANS) || c->verb->run == cmd_project) return QB_OK;
    if (!(s = calloc(1, sizeof *s))) return complain(QB_NO_MEMORY, "no memory for a sweep");
    qb_status status = find_text(c, s);
    if (status == QB_OK && !s->asked) {
        free(s);
        return QB_OK;
    }
    c->sweep = s;
    s->output = c->options.output;
    s->env = c->env;
    s->all = cJSON_CreateArray();
    if (status == QB_OK) status = check_row(c, s);
    if (status == QB_OK) status = check_others(c, s);
    if (status == QB_OK) status = try_values(s);
    s->plan = (qb_tool_sweep_plan){.option = s->values.name,
                                   .values = (const char *const *)s->values.text,
                                   .count = s->values.count,
                                   .output = &s->output,
                                   .command = c->command};
    return status;
}

void sweep_end(cli *c) {
    sweep *s = c->sweep;
    if (!s) return;
    /* A sweep of --denoise has replaced the text that s->output points to */
    s->output.denoise = c->options.output.denoise;
    c->options.output = s->output;
    qb_tool_sweep_destroy(s->slices);
    sweep_values_clear(&s->values);
    cJSON_Delete(s->heard);
    cJSON_Delete(s->all);
    qb_scan_close(s->scan);
    free(s);
    c->sweep = NULL;
}

/* ---- what all jobs share ---- */

qb_scan *sweep_scan(const cli *c) { return c->sweep->scan; }

void sweep_keep(cli *c, qb_scan *scan) {
    if (c->sweep->target != &c->options.scan) c->sweep->scan = scan;
}

/* Keeps the axis that the first job found for the other jobs, unless the option of the sweep can move the axis. */
static qb_status keep_axis(cli *c, const sweep *s, double column) {
    void *target;
    char text[64];
    const qb_param *search = find_row(c, "search", 0, &target);
    if (search && *(char **)((char *)target + search->offset)) return QB_OK;
    const qb_param *row = find_row(c, "center", 0, &target);
    const bool moves = s->target == &c->options.scan || s->target == &c->options.prep ||
                       strcmp(s->row->name, "center") == 0 || strcmp(s->row->name, "search") == 0 ||
                       strcmp(s->row->name, "tilt") == 0 || strcmp(s->row->name, "geometry") == 0;
    if (!s->scan || moves || !isfinite(column) || !row || row->type != QB_PARAM_TEXT) return QB_OK;
    snprintf(text, sizeof text, "%.12g", column);
    return qb_param_set(row, target, text);
}

/* ---- choice of the slice ---- */

static double element(const cJSON *object, const char *name, int index) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(object, name), index)->valuedouble;
}

/* Chooses the middle slice of --slices or of the volume. */
static qb_status choose_slice(cli *c, size_t count) {
    void *target;
    const qb_param *row = find_row(c, "slices", 0, &target);
    const char *text = *(char **)((char *)target + row->offset);
    char one[64];
    size_t first = 0, end = 0, step = 1;
    if (text && sscanf(text, "%zu:%zu:%zu", &first, &end, &step) < 1) first = 0;
    const size_t slice = first + count / 2 * step;
    snprintf(one, sizeof one, "%zu:%zu", slice, slice + 1);
    return qb_param_set(row, target, one);
}

/* Chooses the middle slice for a method without --slices: makes the volume one slice high. */
static qb_status shrink(cli *c, const cJSON *plan, size_t count) {
    void *target;
    const qb_param *size = find_row(c, "size", 0, &target), *offset = find_row(c, "offset", 0, &target);
    char text[128];
    const double z = ((double)(count / 2) - 0.5 * ((double)count - 1)) * element(plan, "voxel", 2);
    snprintf(text, sizeof text, "%.0f,%.0f,1", element(plan, "size", 0), element(plan, "size", 1));
    qb_status status = qb_param_set(size, target, text);
    snprintf(text, sizeof text, "%.9g,%.9g,%.9g", element(plan, "offset", 0), element(plan, "offset", 1),
             element(plan, "offset", 2) + z);
    return status == QB_OK ? qb_param_set(offset, target, text) : status;
}

/* Chooses the slice. For a cone beam an iterative method needs the whole volume that the rays cross, so there the
 * volume keeps its size. */
static qb_status take_slice(cli *c, const cJSON *plan, bool parallel) {
    void *target;
    const size_t count = (size_t)element(plan, "size", 2);
    if (c->verb->run == cmd_fbp || c->verb->run == cmd_fdk) return choose_slice(c, count);
    if (!parallel || count < 2) return QB_OK;
    if (find_row(c, "slices", 0, &target)) return choose_slice(c, count);
    c->sweep->resized = true;
    return shrink(c, plan, count);
}

/* ---- the jobs ---- */

static void hear(void *user, qb_log_level level, const char *text) {
    sweep *s = user;
    /* The sweep itself changed the size of the volume: warnings about the size do not concern the user's volume. */
    const bool size = strstr(text, "[beyond-volume]") || strstr(text, "[outside-field]");
    if (level == QB_LOG_WARNING && s->resized && size) return;
    if (level == QB_LOG_WARNING) cJSON_AddItemToArray(s->heard, cJSON_CreateString(text));
    if (level == QB_LOG_INFO && s->looking && !s->looked && s->env.log) s->env.log(s->env.user, level, text);
}

static void advance(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)user, (void)what, (void)done, (void)total;
}

/* Slices of the first and the last value may differ in size, as in a half acquisition: all slices get the larger
 * size. */
static qb_status widen(cli *c, sweep *s, const cJSON *plan) {
    void *target;
    const size_t nx = (size_t)element(plan, "size", 0), ny = (size_t)element(plan, "size", 1);
    const qb_param *row = find_row(c, "size", 0, &target);
    const bool first = s->nx == 0, given = row && ((qb_numbers *)((char *)target + row->offset))->count > 0;
    char text[64];
    if (!first && !given && (nx != s->nx || ny != s->ny)) {
        snprintf(text, sizeof text, "%zu,%zu", nx > s->nx ? nx : s->nx, ny > s->ny ? ny : s->ny);
        s->resized = true;
        return qb_param_set(row, target, text);
    }
    s->nx = nx, s->ny = ny;
    return QB_OK;
}

static qb_status look(cli *c, sweep *s, qb_job *job, bool parallel) {
    cJSON *plan = cJSON_Parse(qb_job_plan(job));
    qb_status status = plan ? widen(c, s, plan) : complain(QB_NO_MEMORY, "no memory for the plan");
    if (status == QB_OK && !s->looked) status = take_slice(c, plan, parallel);
    s->looked = true;
    cJSON_Delete(plan);
    return status == QB_OK ? qb_tool_sweep_check(s->slices, job) : status;
}

static qb_status show_sweep_plan(cli *c, const sweep *s, qb_job *job) {
    cJSON *plan = cJSON_Parse(qb_job_plan(job)), *about = cJSON_AddObjectToObject(plan, "sweep");
    cJSON_AddStringToObject(about, "option", s->values.name);
    cJSON_AddItemToObject(about, "values",
                          cJSON_CreateStringArray((const char *const *)s->values.text, (int)s->values.count));
    char *text = cJSON_Print(plan);
    cJSON_Delete(plan);
    c->env = s->env;
    const qb_status status = text ? show_plan(c, text) : complain(QB_NO_MEMORY, "no memory for the plan");
    cJSON_free(text);
    return status;
}

qb_status sweep_job(cli *c, qb_job *job, bool parallel) {
    sweep *s = c->sweep;
    if (s->looking) return look(c, s, job, parallel);
    if (c->options.run.dry_run) return show_sweep_plan(c, s, job);
    const char *report;
    const qb_status status = qb_tool_sweep_add(s->slices, job, &c->env, &report);
    if (status != QB_OK) return status;
    cJSON *root = cJSON_Parse(report);
    const double column = cJSON_GetNumberValue(cJSON_GetObjectItem(root, "column")); /* NAN: there is none */
    cJSON_Delete(root);
    return keep_axis(c, s, column);
}

void sweep_print_plan(const cJSON *about, FILE *out) {
    const cJSON *values = cJSON_GetObjectItem(about, "values");
    const int count = cJSON_GetArraySize(values);
    if (!count) return;
    fprintf(out, "sweep        %d jobs like this, --%s %s to %s\n", count, text(about, "option"),
            cJSON_GetArrayItem(values, 0)->valuestring, cJSON_GetArrayItem(values, count - 1)->valuestring);
}

/* ---- warnings ---- */

static bool holds(const cJSON *list, const char *text) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        if (strcmp(item->valuestring, text) == 0) return true;
    }
    return false;
}

/* A warning of every job does not come from the option: it is printed once. All warnings of a job are added to its row
 * of the table. */
static void tell_common(sweep *s) {
    const cJSON *item, *job;
    cJSON_ArrayForEach(item, cJSON_GetArrayItem(s->all, 0)) {
        bool common = true;
        cJSON_ArrayForEach(job, s->all) common = common && holds(job, item->valuestring);
        if (common) s->env.log(s->env.user, QB_LOG_WARNING, item->valuestring);
    }
}

static void add_table_warnings(const sweep *s, cJSON *report) {
    cJSON *row;
    int i = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(report, "slices"))
        cJSON_AddItemToObject(row, "warnings", cJSON_Duplicate(cJSON_GetArrayItem(s->all, i++), true));
}

static qb_status finish(cli *c, sweep *s) {
    char *json;
    qb_status status = qb_tool_sweep_finish(s->slices, &json);
    finish_progress();
    if (status != QB_OK) return status;
    cJSON *report = cJSON_Parse(json);
    qb_text_free(json);
    if (!report) {
        c->env.log(c->env.user, QB_LOG_WARNING, "no memory to show what was done");
        return QB_OK;
    }
    add_table_warnings(s, report);
    if (c->options.run.json || !c->options.run.quiet) sweep_find_axis(c, s->scan, report);
    if (c->options.run.json)
        status = give_result(c, cJSON_Print(report));
    else if (!c->options.run.quiet)
        sweep_print_table(&s->values, report);
    cJSON_Delete(report);
    return status;
}

/* Plans the job as if its value had been given, and reads only the rows of one slice. The scan stays open with its flats
 * and darks, unless the option changes how the scan is opened. */
static qb_status run_value(cli *c, sweep *s, size_t i) {
    cJSON_Delete(s->heard);
    s->heard = cJSON_CreateArray();
    qb_status status = qb_param_set(s->row, s->target, s->values.text[i]);
    if (status == QB_OK) status = c->verb->run(c);
    if (!s->looking) cJSON_AddItemToArray(s->all, s->heard), s->heard = NULL;
    return status;
}

qb_status sweep_run(cli *c) {
    sweep *s = c->sweep;
    const char *denoise = c->options.output.denoise;
    qb_status status = qb_tool_sweep_create(&s->plan, &s->env, &s->slices);
    if (status != QB_OK) return status;
    c->options.output = qb_tool_sweep_output(s->slices);
    c->options.output.denoise = denoise;
    c->options.output.clip = s->output.clip;
    c->env.log = hear, c->env.progress = advance, c->env.user = s, c->env.writes = NULL;
    const bool dry = c->options.run.dry_run;
    s->looking = true;
    status = run_value(c, s, 0);
    if (status == QB_OK) status = run_value(c, s, s->values.count - 1);
    s->looking = false;
    tell_warnings(status); /* they were held back since the scan was opened */
    for (size_t i = 0; status == QB_OK && i < (dry ? 1 : s->values.count); i++) status = run_value(c, s, i);
    c->env = s->env;
    if (status == QB_OK) tell_common(s);
    return status == QB_OK && !dry ? finish(c, s) : status;
}
