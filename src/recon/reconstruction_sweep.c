/* SPDX-License-Identifier: MIT */
/* A sweep of any option: one slice for each value, in a TIFF file named by the value, and a contact sheet. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/publish/outputs.h"
#include "io/writer.h"
#include "job/contact_sheet.h"
#include "recon/reconstruction_parts.h"
#include "recon/sweep.h"

enum { NAME_ROOM = 4096, LABEL_ROOM = 96 };

struct qb_tool_sweep {
    qb_tool_sweep_plan plan;
    const qb_env *env;
    size_t done;
    float *image;      /* [ny][nx] of the job that runs */
    size_t nx, ny;     /* 0: not known yet */
    bool lost, unlike; /* no memory for the image; the image of this job has another size */
    double low, high;  /* range of values of integer files */
    qb__contact_sheet *sheet;
    qb__publication *set;
    const char *folder; /* the staging folder; it gets its final name at the end */
    const char *units;
    cJSON *report, *table;
};

static const char sheet_name[] = "contact_sheet.png";

/* File names such as center_00157.5.tif, whose alphabetical order is that of the numbers. A hyphen replaces characters
 * that are not allowed in file names. */
static void name_of(const qb_tool_sweep *s, const char *folder, size_t index, char path[NAME_ROOM]) {
    char value[LABEL_ROOM];
    const char *text = s->plan.values[index];
    const size_t whole = strspn(text, "0123456789"), all = whole + strspn(text + whole, ".0123456789");
    const char *zeros = !text[all] && whole < 5 ? &"00000"[whole] : "";
    snprintf(value, sizeof value, "%s", s->plan.values[index]);
    for (char *at = value; *at; at++)
        if (strchr("/\\: \t*?\"'<>|{}", *at)) *at = '-';
    qb__print(path, NAME_ROOM, "%s/%s_%s%s.tif", folder, s->plan.option, zeros, value);
}

qb_status qb_tool_sweep_create(const qb_tool_sweep_plan *plan, const qb_env *env, qb_tool_sweep **out) {
    qb_tool_sweep *s;
    *out = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *s, &s));
    *s = (qb_tool_sweep){.plan = *plan, .env = env, .report = cJSON_CreateObject()};
    *out = s;
    cJSON_AddStringToObject(s->report, "kind", "sweep");
    cJSON_AddStringToObject(s->report, "option", plan->option);
    cJSON_AddStringToObject(s->report, "output", plan->output->output);
    s->table = cJSON_AddArrayToObject(s->report, "slices");
    return QB_OK;
}

void qb_tool_sweep_destroy(qb_tool_sweep *s) {
    if (!s) return;
    qb__contact_sheet_destroy(s->sheet);
    qb__publication_abort(s->set);
    qb__free(s->image);
    cJSON_Delete(s->report);
    qb__free(s);
}

/* ---- a job's middle slice ---- */

static qb_status begin_image(qb_tool_sweep *s, size_t nx, size_t ny) {
    size_t longest = 0;
    for (size_t i = 0; i < s->plan.count; i++) longest = qb__larger(longest, strlen(s->plan.values[i]));
    QB__OR_RETURN(qb__alloc(nx * ny, sizeof *s->image, &s->image));
    QB__OR_RETURN(qb__contact_sheet_create(s->plan.count, nx, ny, strlen(s->plan.option) + 1 + longest, &s->sheet));
    s->nx = nx, s->ny = ny;
    return QB_OK;
}

static qb_status look(void *user, const qb_slab *slab) {
    qb_tool_sweep *s = user;
    const size_t middle = slab->shape[0] / 2, ny = slab->shape[1], nx = slab->shape[2];
    if (middle < slab->first || middle >= slab->first + slab->count) return QB_OK;
    if (!s->image) s->lost = begin_image(s, nx, ny) != QB_OK;
    s->unlike = s->nx != nx || s->ny != ny;
    if (!s->lost && !s->unlike)
        memcpy(s->image, (const float *)slab->data + (middle - slab->first) * nx * ny, nx * ny * sizeof *s->image);
    return QB_OK;
}

/* The callback for slabs can stop the job, but cannot state the reason: this does. */
static qb_status check_image(const qb_tool_sweep *s) {
    if (s->lost) return qb__fail(QB_NO_MEMORY, "no memory for the slices of a sweep");
    if (!s->unlike) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s %s makes slices of another size than %s: give --size NX,NY", s->plan.option,
                    s->plan.values[s->done], s->plan.values[0]);
}

qb_output_options qb_tool_sweep_output(qb_tool_sweep *s) {
    return (qb_output_options){
        .struct_size = sizeof(qb_output_options), .output = "/dev/null", .slab = look, .slab_user = s};
}

qb_status qb_tool_sweep_check(const qb_tool_sweep *s, const qb_job *job) {
    char path[NAME_ROOM];
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < s->plan.count; i++) {
        name_of(s, s->plan.output->output, i, path);
        status = qb__outputs_check(&(qb__output){.path = path}, 1, &job->inputs, s->env);
    }
    return status;
}

/* ---- its file ---- */

/* Take one range of integers for the whole sweep: the one that was asked for, or that of the first slice. */
static void find_range(qb_tool_sweep *s) {
    const qb_numbers *asked = &s->plan.output->range;
    if (s->done > 0) return;
    s->low = asked->count == 2 ? asked->value[0] : INFINITY, s->high = asked->count == 2 ? asked->value[1] : -INFINITY;
    for (size_t i = 0; asked->count != 2 && i < s->nx * s->ny; i++) {
        s->low = fmin(s->low, s->image[i]);
        s->high = fmax(s->high, s->image[i]);
    }
}

static qb_status write_slice(const qb_tool_sweep *s, qb_job *job) {
    const qb_dtype dtype = s->plan.output->dtype;
    char path[NAME_ROOM], part[NAME_ROOM];
    name_of(s, s->plan.output->output, s->done, path);
    name_of(s, s->folder, s->done, part);
    qb_stack stack = ((qb__reconstruction *)job)->decision.stack;
    stack.dtype = dtype;
    stack.shape[0] = 1, stack.shape[1] = s->ny, stack.shape[2] = s->nx;
    stack.scale_low = s->low, stack.scale_high = s->high;
    stack.description = "quickbeam sweep";
    qb_writer *writer = NULL;
    void *values = NULL;
    char *provenance = NULL;
    qb_status status;
    QB__TRY(qb__alloc(s->nx * s->ny, qb_dtype_size(dtype), &values));
    qb_convert_from_float(s->image, s->nx * s->ny, dtype, s->low, s->high, values);
    QB__TRY(qb__writer_create(NULL, part, path, &stack, &writer));
    QB__TRY(qb_writer_write(writer, 0, 1, values));
    QB__TRY(qb__provenance(job, s->plan.command, ((qb__reconstruction *)job)->task.input, NULL, NULL, &provenance));
    status = qb__writer_finish(writer, provenance);
    writer = NULL;
out:
    cJSON_free(provenance);
    qb_writer_abort(writer);
    qb__free(values);
    return status;
}

static qb_status add_row(qb_tool_sweep *s, double zero) {
    char path[NAME_ROOM];
    qb__sharpness sharp;
    const qb_status status = qb__sharpness_of(s->image, s->nx, s->ny, zero, &sharp);
    name_of(s, s->plan.output->output, s->done, path);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "value", s->plan.values[s->done]);
    cJSON_AddStringToObject(row, "file", path);
    cJSON_AddNumberToObject(row, "sharpness", sharp.edges);
    cJSON_AddNumberToObject(row, "noise", sharp.noise);
    cJSON_AddNumberToObject(row, "positivity", sharp.positivity);
    cJSON_AddNumberToObject(row, "mean", sharp.mean);
    cJSON_AddItemToArray(s->table, row);
    return status;
}

qb_status qb_tool_sweep_add(qb_tool_sweep *s, qb_job *job, const qb_env *env, const char **report) {
    const qb__decision *decision = &((const qb__reconstruction *)job)->decision;
    char label[LABEL_ROOM];
    if (!s->set) QB__OR_RETURN(qb__publication_create(s->env, &s->set));
    if (!s->folder) QB__OR_RETURN(qb__publication_folder(s->set, s->plan.output->output, NULL, &s->folder));
    QB__OR_RETURN(qb_job_run(job, env, NULL));
    QB__OR_RETURN(check_image(s));
    find_range(s);
    snprintf(label, sizeof label, "%s %s", s->plan.option, s->plan.values[s->done]);
    cJSON *which = cJSON_AddObjectToObject(job->report, "sweep");
    cJSON_AddStringToObject(which, s->plan.option, s->plan.values[s->done]);
    QB__OR_RETURN(write_slice(s, job));
    qb__contact_sheet_add(s->sheet, s->done, s->image, label);
    QB__OR_RETURN(add_row(s, decision->hu > 0 ? -1000 : 0));
    if (s->done == 0) cJSON_AddStringToObject(s->report, "units", s->units = decision->stack.units);
    s->done++;
    qb__progress(s->env, "sweep", s->done, s->plan.count);
    if (report) *report = job->report_text; /* printed again with the value of the sweep */
    return QB_OK;
}

/* ---- the end ---- */

static qb_status write_sheet(qb_tool_sweep *s) {
    const qb_output_options *output = s->plan.output;
    char path[NAME_ROOM];
    qb__grey_levels window;
    qb__print(path, sizeof path, "%s/%s", s->folder, sheet_name);
    qb_status status = qb__contact_sheet_write(s->sheet, output->window, s->units, path, &window);
    if (status == QB_UNSUPPORTED) { /* a build without PNG */
        qb__info(s->env, "no contact sheet: %s", qb_detail());
        return QB_OK;
    }
    if (status != QB_OK) return status;
    cJSON *json = cJSON_AddObjectToObject(s->report, "contact_sheet");
    const char *named = output->output, *slash = named[strlen(named) - 1] == '/' ? "" : "/";
    qb__print(path, sizeof path, "%s%s%s", named, slash, sheet_name);
    cJSON_AddStringToObject(json, "file", path);
    qb__grey_levels_report(&window, json);
    return QB_OK;
}

qb_status qb_tool_sweep_finish(qb_tool_sweep *s, char **report) {
    qb_status status;
    *report = NULL;
    QB__TRY(write_sheet(s));
    status = qb__json_text(s->report, "the report of the sweep", report);
    s->report = NULL;
    if (status == QB_OK) status = qb__publication_commit(s->set), s->set = NULL;
out:
    return status;
}
