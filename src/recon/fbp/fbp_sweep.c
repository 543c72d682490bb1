/* SPDX-License-Identifier: MIT */
/* --center A:B:STEP: one slice for many axes, each in a file named by the column that was used. */
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
#include "recon/fbp/fbp.h"

enum { NAME_ROOM = 4096 };

/* The middle slice of those chosen: with --slices A:A+1, row A. */
static size_t sweep_row(const qb__fbp *fbp) { return fbp->first_row + fbp->grid.n[2] / 2 * fbp->step; }

/* Decimals that tell all columns of the sweep apart. */
static int decimals(const qb__fbp *fbp) {
    int n = 3;
    for (double ten = 1000; n < 9; n++, ten *= 10) {
        const double first = fbp->center * ten, step = fbp->sweep_step * ten;
        if (fabs(first - round(first)) < 1e-3 && fabs(step - round(step)) < 1e-3) break;
    }
    return n;
}

static double column_of(const qb__fbp *fbp, size_t index) {
    return fmin(fbp->center + (double)index * fbp->sweep_step, (double)fbp->info->columns - 1);
}

static void name_of(const qb__fbp *fbp, const char *folder, double center, char path[NAME_ROOM]) {
    const int digits = decimals(fbp);
    qb__print(path, NAME_ROOM, "%s/center_%0*.*f.tif", folder, 6 + digits, digits, center);
}

static qb_status protect_inputs(const void *plan, const qb__inputs *inputs, const qb_env *env) {
    const qb__fbp *fbp = plan;
    char path[NAME_ROOM];
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < fbp->sweep_count; i++) {
        name_of(fbp, fbp->output->output, column_of(fbp, i), path);
        status = qb__outputs_check(&(qb__output){.path = path}, 1, inputs, env);
    }
    return status;
}

typedef struct grey_range {
    double low, high;
} grey_range;

/* Into `folder`, which is not the final one yet. */
static qb_status write_slice(const qb__fbp *fbp, const qb__running *run, const char *folder, double center,
                             const grey_range *range, const float *image) {
    size_t nx = fbp->grid.n[0], ny = fbp->grid.n[1];
    qb_dtype dtype = fbp->output->dtype;
    char path[NAME_ROOM], part[NAME_ROOM];
    name_of(fbp, fbp->output->output, center, path);
    name_of(fbp, folder, center, part);
    bool known = fbp->info->pixel_size > 0;
    qb_stack stack = {.dtype = dtype,
                      .shape = {1, ny, nx},
                      .units = qb__volume_units(fbp->options->hu, known),
                      .voxel = {known ? fbp->grid.voxel[0] : 0, known ? fbp->grid.voxel[1] : 0, 0},
                      .quantity = fbp->options->hu > 0 ? "Hounsfield" : "attenuation",
                      .scale_low = range->low,
                      .scale_high = range->high,
                      .description = "quickbeam axis sweep"};
    qb_writer *writer = NULL;
    void *values = NULL;
    char *provenance = NULL;
    qb_status status;
    QB__TRY(qb__alloc(nx * ny, qb_dtype_size(dtype), &values));
    qb_convert_from_float(image, nx * ny, dtype, range->low, range->high, values);
    QB__TRY(qb__writer_create(NULL, part, path, &stack, &writer));
    QB__TRY(qb_writer_write(writer, 0, 1, values));
    cJSON_DeleteItemFromObject(run->report, "column");
    cJSON_AddNumberToObject(run->report, "column", center);
    QB__TRY(qb__provenance(run->job, run->command, fbp->info->path, &provenance));
    status = qb__writer_finish(writer, provenance);
    writer = NULL;
out:
    cJSON_free(provenance);
    qb_writer_abort(writer);
    qb__free(values);
    return status;
}

/* One grey scale for the whole sweep: the first slice's, or the one asked for. */
static grey_range range_of(const qb__fbp *fbp, const float *image, size_t count) {
    const qb_numbers *asked = &fbp->output->range;
    grey_range r = {INFINITY, -INFINITY};
    if (asked->count == 2) return (grey_range){asked->value[0], asked->value[1]};
    for (size_t i = 0; i < count; i++) {
        if (image[i] < r.low) r.low = image[i];
        if (image[i] > r.high) r.high = image[i];
    }
    return r;
}

static const char sheet_name[] = "contact_sheet.png";

/* All slices side by side, under their columns: the one that is sharpest is seen at a glance. */
static qb_status write_sheet(const qb__fbp *fbp, const qb__running *run, qb__contact_sheet *sheet, const char *folder) {
    const char *units = qb__volume_units(fbp->options->hu, fbp->info->pixel_size > 0);
    char path[NAME_ROOM];
    qb__grey_levels window;
    qb__print(path, sizeof path, "%s/%s", folder, sheet_name);
    qb_status status = qb__contact_sheet_write(sheet, fbp->output->window, units, path, &window);
    if (status == QB_UNSUPPORTED) { /* a build without PNG */
        qb__info(run->env, "no contact sheet: %s", qb_detail());
        return QB_OK;
    }
    if (status != QB_OK) return status;
    cJSON *json = cJSON_AddObjectToObject(run->report, "contact_sheet");
    const char *named = fbp->output->output, *slash = named[strlen(named) - 1] == '/' ? "" : "/";
    qb__print(path, sizeof path, "%s%s%s", named, slash, sheet_name);
    cJSON_AddStringToObject(json, "file", path);
    qb__grey_levels_report(&window, json);
    return QB_OK;
}

static qb_status sweep(void *plan, const qb__running *run) {
    qb__fbp *fbp = plan;
    const qb_env *env = run->env;
    grey_range range = {0};
    const char *folder;
    qb__publication *set;
    qb__info(env, "sweep of slice %zu", sweep_row(fbp));
    size_t pixels = fbp->grid.n[0] * fbp->grid.n[1];
    float *image = NULL;
    qb__contact_sheet *sheet = NULL;
    qb_status status = qb__publication_create(env, &set);
    if (status == QB_OK) status = qb__publication_folder(set, fbp->output->output, NULL, &folder);
    if (status == QB_OK) status = qb__alloc(pixels, sizeof *image, &image);
    if (status == QB_OK) status = qb__contact_sheet_create(fbp->sweep_count, fbp->grid.n[0], fbp->grid.n[1], &sheet);
    cJSON_AddStringToObject(run->report, "kind", "sweep");
    cJSON *list = cJSON_AddArrayToObject(run->report, "centers");
    for (size_t i = 0; status == QB_OK && i < fbp->sweep_count; i++) {
        double center = column_of(fbp, i);
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb__fbp_aim(fbp, center));
        QB__TRY(qb__fbp_slice(fbp, run, sweep_row(fbp), image));
        if (fbp->options->hu > 0) {
            for (size_t p = 0; p < pixels; p++) image[p] -= 1000.0f;
        }
        if (i == 0) range = range_of(fbp, image, pixels);
        QB__TRY(write_slice(fbp, run, folder, center, &range, image));
        char label[48];
        qb__print(label, sizeof label, "column %.*f", decimals(fbp), center);
        qb__contact_sheet_add(sheet, i, image, label);
        cJSON_AddItemToArray(list, cJSON_CreateNumber(center));
        qb__progress(env, "sweep", i + 1, fbp->sweep_count);
    }
    cJSON_AddStringToObject(run->report, "output", fbp->output->output);
    if (status == QB_OK) status = write_sheet(fbp, run, sheet, folder);
    if (status == QB_OK) status = qb__publication_commit(set), set = NULL;
out:
    qb__contact_sheet_destroy(sheet);
    qb__publication_abort(set);
    qb__free(image);
    return status;
}

const qb__instead qb__fbp_sweep = {sweep, protect_inputs};
