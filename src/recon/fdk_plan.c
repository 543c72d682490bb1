/* SPDX-License-Identifier: MIT */
/* What a cone-beam reconstruction will do: grid, weights, kernel, slabs, blocks of views, forecast. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "geometry/grid.h"
#include "geometry/matrix.h"
#include "ops/backproject.h"
#include "recon/fdk.h"

static const double degrees = 57.29577951308232;

static qb_status check_shapes(const qb__fdk *fdk) {
    const qb_geometry *g = fdk->geometry;
    const qb_scan_info *info = fdk->info;
    if (g->views == info->views && g->rows == info->rows && g->columns == info->columns) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "the geometry has %zu views of %zu x %zu pixels, %s has %zu of %zu x %zu", g->views,
                    g->rows, g->columns, info->path, info->views, info->rows, info->columns);
}

static qb_status decide_grid(qb__fdk *fdk) {
    const qb_fdk_options *options = &fdk->options;
    qb_grid *grid = &fdk->grid;
    qb_grid_options asked = {options->size, options->voxel, options->offset, options->like};
    size_t first = 0;
    qb_grid_default(fdk->geometry, grid);
    qb_status status = qb_grid_make(&asked, grid);
    if (status == QB_OK) status = qb_grid_slices(options->slices, grid, &first);
    if (status != QB_OK) return status;
    fdk->volume = (qb__volume_out){.options = &fdk->output, .grid = *grid, .hu = options->hu,
                                   .in_mm = true, .first = first,
                                   .description = "quickbeam FDK"};
    return qb_geometry_check_grid(fdk->geometry, grid);
}

static const char *redundancy_name(qb_redundancy kind) {
    static const char *const names[] = {"none (full turn)", "Parker (short scan)",
                                        "Wang (offset detector)"};
    return names[kind];
}

static qb_status decide_weights(qb__fdk *fdk, const qb_env *env) {
    const qb_grid *grid = &fdk->grid;
    double field = qb__grid_field(grid);
    qb_geometry_info info;
    qb_status status;
    QB__TRY(qb_geometry_describe(fdk->geometry, &info));
    QB__TRY(qb__cone_weights_create(fdk->geometry, field, &fdk->weights));
    fdk->same_weights = info.circular && fdk->weights.kind != QB_REDUNDANCY_PARKER;
    fdk->width = fdk->weights.before + fdk->geometry->columns + fdk->weights.after;
    qb__info(env, "views cover %.2f degrees; redundancy weights: %s", fdk->weights.span * degrees,
             redundancy_name(fdk->weights.kind));
    if (fdk->weights.missing > 0)
        qb__warn(env, "limited angle: %.2f of the %.2f degrees needed were not measured",
                 fdk->weights.missing * degrees, fdk->weights.needed * degrees);
    cJSON *plan = fdk->job.plan;
    cJSON_AddStringToObject(plan, "redundancy", redundancy_name(fdk->weights.kind));
    cJSON_AddNumberToObject(plan, "coverage_deg", fdk->weights.span * degrees);
    cJSON_AddNumberToObject(plan, "missing_deg", fdk->weights.missing * degrees);
    cJSON_AddNumberToObject(plan, "magnification", info.magnification);
    cJSON_AddNumberToObject(plan, "field_of_view_radius_mm", info.field_radius);
    cJSON_AddBoolToObject(plan, "circular", info.circular);
out:
    return status;
}

/* Columns of filtered rows begin `before` columns to the left of the detector. */
static qb_status decide_matrices(qb__fdk *fdk) {
    size_t views = fdk->geometry->views;
    qb__matrix *matrices = NULL;
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *matrices, &matrices));
    QB__TRY(qb__alloc(views, sizeof *fdk->matrix, &fdk->matrix));
    QB__TRY(qb__matrices_on_grid(fdk->geometry, &fdk->grid, matrices));
    for (size_t v = 0; v < views; v++) {
        for (int j = 0; j < 4; j++) {
            fdk->matrix[v][j] = matrices[v].m[0][j] + (double)fdk->weights.before * matrices[v].m[2][j];
            fdk->matrix[v][4 + j] = matrices[v].m[1][j];
            fdk->matrix[v][8 + j] = matrices[v].m[2][j];
        }
    }
    fdk->problem = (qb__bp_cone_problem){
        .views = views, .columns = fdk->width, .rows = fdk->geometry->rows, .nx = fdk->grid.n[0],
        .ny = fdk->grid.n[1], .nz = fdk->grid.n[2], .matrix = (const double (*)[12])fdk->matrix};
out:
    qb__free(matrices);
    return status;
}

static const char *unusable(const qb__fdk *fdk, const qb__bp_cone_variant *row) {
    if (row->features & ~qb__cpu_features()) return "this CPU lacks its instructions";
    if ((int)row->accuracy > fdk->options.accuracy) return "less accurate than asked for";
    if (row->needs_largest && !fdk->problem.largest) return "the values' size is unknown";
    if (row->applicable && !row->applicable(&fdk->problem)) return "does not apply to this geometry";
    return NULL;
}

static qb_status decide_kernel(qb__fdk *fdk) {
    size_t count;
    const qb__bp_cone_variant *rows = qb__bp_cone_variants(&count);
    const char *id = fdk->options.kernel;
    cJSON *why_list = cJSON_AddArrayToObject(fdk->job.plan, "why");
    double updates = (double)fdk->problem.nx * (double)fdk->problem.ny * (double)fdk->problem.nz *
                     (double)fdk->problem.views;
    for (size_t i = 0; i < count; i++) {
        const char *why = unusable(fdk, &rows[i]);
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "kernel", rows[i].id);
        cJSON_AddStringToObject(entry, "accuracy", qb__accuracy_name((qb_accuracy)rows[i].accuracy));
        cJSON_AddNumberToObject(entry, "core_seconds", updates / (rows[i].speed * 1e9));
        cJSON_AddStringToObject(entry, "verdict", why ? why : "usable");
        cJSON_AddItemToArray(why_list, entry);
        if (id && strcmp(id, rows[i].id) == 0 && why) return qb__fail(QB_UNSUPPORTED, "kernel %s: %s", id, why);
        if (why || (id && strcmp(id, rows[i].id) != 0)) continue;
        if (!fdk->variant || rows[i].speed > fdk->variant->speed) fdk->variant = &rows[i];
    }
    if (!fdk->variant && id)
        return qb__fail(QB_BAD_ARGUMENT, "there is no kernel %s: qb devices lists them", id);
    if (!fdk->variant)
        return qb__fail(QB_UNSUPPORTED, "no kernel back-projects this geometry at --accuracy %s",
                        qb__accuracy_name((qb_accuracy)fdk->options.accuracy));
    return qb__filter_create(fdk->options.filter, (qb_pad)fdk->options.pad, fdk->width,
                             fdk->weights.pitch, &fdk->filter);
}

/* The most rows and the largest packed views that a slab needs. A variant's layout may depend on where
 * the rows lie, not only on how many they are. */
static void find_windows(qb__fdk *fdk) {
    fdk->window_rows = 1;
    fdk->view_bytes = 64;
    for (size_t z = 0; z < fdk->problem.nz; z += fdk->slices) {
        size_t end = z + fdk->slices < fdk->problem.nz ? z + fdk->slices : fdk->problem.nz;
        qb__bp_cone_window window = qb__bp_cone_rows(&fdk->problem, z, end);
        if (window.r1 == window.r0) continue;
        size_t rows = window.r1 - window.r0, bytes = fdk->variant->view_bytes(&fdk->problem, window);
        if (rows > fdk->window_rows) fdk->window_rows = rows;
        if (bytes > fdk->view_bytes) fdk->view_bytes = bytes;
    }
}

static size_t fixed_bytes(const qb__fdk *fdk) {
    enum { THREAD_BYTES = 48 << 10, LIBRARY_BYTES = 1 << 20 };
    const qb_scan_info *info = fdk->info;
    size_t field = info->rows * info->columns * sizeof(float);
    size_t bytes = qb__resident_bytes() + LIBRARY_BYTES + (size_t)(fdk->threads + 2) * THREAD_BYTES;
    if (info->quantity == QB_COUNTS && info->flats) bytes += 2 * field;
    bytes += info->cache_bytes;
    if (fdk->same_weights) bytes += field;
    if (fdk->output.preview) bytes += fdk->grid.n[0] * fdk->grid.n[1] * sizeof(float);
    return bytes;
}

/* Bytes for a thickness of slabs and a number of views a block. */
static size_t bytes_for(qb__fdk *fdk, size_t slices, size_t views, unsigned slots) {
    qb__stage stages[QB__STAGES_MAX];
    fdk->slices = slices;
    fdk->slabs = (fdk->problem.nz + slices - 1) / slices;
    fdk->views = views;
    fdk->blocks = (fdk->problem.views + views - 1) / views;
    fdk->slots = slots;
    find_windows(fdk);
    int n = qb__fdk_stages(fdk, stages);
    fdk->memory = fdk->fixed_bytes + qb__pipeline_bytes(stages, n) +
                  (size_t)fdk->threads * qb__fdk_scratch(fdk);
    return fdk->memory;
}

/* Thick slabs first: each slab filters its rows anew. Then as many views a block as fit, up to what
 * keeps all threads busy. */
static qb_status decide_chunks(qb__fdk *fdk, const qb_env *env) {
    size_t cap = qb__memory_cap(env), nz = fdk->problem.nz, smallest = 0;
    fdk->threads = env && env->threads > 0 ? env->threads : qb__cpu_count();
    fdk->fixed_bytes = fixed_bytes(fdk);
    for (size_t slabs = 1; slabs <= nz; slabs = slabs < 8 ? slabs + 1 : slabs + slabs / 4) {
        size_t slices = (nz + slabs - 1) / slabs;
        for (size_t views = 64; views >= 8; views /= 2) {
            for (unsigned slots = 2; slots >= 1; slots--) {
                size_t block = views < fdk->problem.views ? views : fdk->problem.views;
                smallest = bytes_for(fdk, slices, block, slots);
                if (smallest <= cap) return QB_OK;
            }
        }
    }
    return qb__fail(QB_BAD_ARGUMENT, "--max-ram of %.1f MiB is too small: even thin slabs need %.1f MiB",
                    (double)cap / 1048576.0, (double)smallest / 1048576.0);
}

static void describe(qb__fdk *fdk) {
    cJSON *plan = fdk->job.plan;
    const qb_scan_info *info = fdk->info;
    const qb_grid *grid = &fdk->grid;
    cJSON_AddStringToObject(plan, "verb", "fdk");
    cJSON_AddStringToObject(plan, "input", info->path);
    cJSON_AddStringToObject(plan, "format", info->format);
    cJSON_AddStringToObject(plan, "quantity", qb_quantity_name(info->quantity));
    cJSON_AddStringToObject(plan, "quantity_from", info->quantity_from);
    double scan[] = {(double)info->views, (double)info->rows, (double)info->columns};
    double n[] = {(double)grid->n[0], (double)grid->n[1], (double)grid->n[2]};
    cJSON_AddItemToObject(plan, "views_rows_columns", cJSON_CreateDoubleArray(scan, 3));
    cJSON_AddItemToObject(plan, "size", cJSON_CreateDoubleArray(n, 3));
    cJSON_AddItemToObject(plan, "voxel", cJSON_CreateDoubleArray(grid->voxel, 3));
    cJSON_AddItemToObject(plan, "offset", cJSON_CreateDoubleArray(grid->offset, 3));
    cJSON_AddStringToObject(plan, "units", qb__volume_units(&fdk->volume));
    char text[96];
    snprintf(text, sizeof text, "%zu views over %.2f degrees, %s", info->views,
             fdk->weights.span * degrees, redundancy_name(fdk->weights.kind));
    cJSON_AddStringToObject(plan, "angles", text);
    cJSON_AddStringToObject(plan, "kernel", fdk->variant->id);
    cJSON_AddStringToObject(plan, "accuracy", qb__accuracy_name((qb_accuracy)fdk->variant->accuracy));
    cJSON_AddNumberToObject(plan, "threads", fdk->threads);
    cJSON_AddNumberToObject(plan, "fft_length", (double)qb__filter_length(fdk->filter));
    cJSON_AddNumberToObject(plan, "slices_per_chunk", (double)fdk->slices);
    cJSON_AddNumberToObject(plan, "chunks", (double)fdk->slabs);
    cJSON_AddNumberToObject(plan, "views_per_block", (double)fdk->views);
    cJSON_AddNumberToObject(plan, "detector_rows_per_chunk", (double)fdk->window_rows);
    cJSON_AddNumberToObject(plan, "ring_slots", fdk->slots);
    cJSON_AddNumberToObject(plan, "memory_bytes", (double)fdk->memory);
    cJSON_AddNumberToObject(plan, "output_bytes",
                            n[0] * n[1] * n[2] * (double)qb_dtype_size(qb__volume_dtype(&fdk->volume)));
    cJSON_AddNumberToObject(plan, "forecast_seconds",
                            n[0] * n[1] * n[2] * scan[0] / (fdk->variant->speed * 1e9) / fdk->threads);
}

qb_status qb__fdk_decide(qb__fdk *fdk, const qb_env *env) {
    qb_status status;
    fdk->job.plan = cJSON_CreateObject();
    QB__TRY(qb__volume_check(&fdk->output, fdk->info->path));
    if (fdk->output.dtype >= 2 && fdk->output.range.count == 0) {
        status = qb__fail(QB_BAD_ARGUMENT, "--dtype uint16 and uint8 need --range LO,HI");
        goto out;
    }
    QB__TRY(check_shapes(fdk));
    QB__TRY(decide_grid(fdk));
    QB__TRY(decide_weights(fdk, env));
    QB__TRY(decide_matrices(fdk));
    QB__TRY(decide_kernel(fdk));
    QB__TRY(decide_chunks(fdk, env));
    describe(fdk);
    fdk->job.plan_text = cJSON_Print(fdk->job.plan);
    if (!fdk->job.plan_text) status = qb__fail(QB_NO_MEMORY, "no memory for the plan");
out:
    return status;
}
