/* SPDX-License-Identifier: MIT */
/* What a projection will do: volume, scan, kernel, slabs, blocks of views, forecast. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "geometry/units.h"
#include "io/formats.h"
#include "job/volume_out.h"
#include "planner/backproject.h"
#include "recon/project/projection.h"

enum { RAW_BYTES = 8 << 20 };

/* Readers forgive a lack of memory for what a file only may have beside it: voxel size, place. */
static qb_status open_volume(qb__projection *p) {
    size_t failed = qb__allocations_failed();
    qb_status status = qb__source_open(p->volume, p->options.dataset, &p->source);
    if (status != QB_OK || qb__allocations_failed() == failed) return status;
    return qb__fail(QB_NO_MEMORY, "%s: no memory for what is said about it", p->volume);
}

static qb_status check_volume(const qb__projection *p) {
    const qb__source *source = p->source;
    bool hounsfield = strcmp(source->quantity, "Hounsfield") == 0;
    if (qb__quantity_named(source->quantity))
        return qb__fail(QB_BAD_INPUT, "%s holds projections (%s), not a volume", p->volume,
                        source->quantity);
    if (hounsfield && !(p->options.hu > 0))
        return qb__fail(QB_BAD_INPUT, "%s is in Hounsfield units: give --hu MU_WATER", p->volume);
    if (source->turned)
        return qb__fail(QB_UNSUPPORTED, "%s: its axes are turned (TransformMatrix)", p->volume);
    if (p->options.offset.count > 3)
        return qb__fail(QB_BAD_ARGUMENT, "--offset takes at most three numbers, not %d",
                        p->options.offset.count);
    return QB_OK;
}

/* Without mm, a parallel beam is measured in voxels. */
static qb_status decide_grid(qb__projection *p, const qb_env *env) {
    const qb_numbers *offset = &p->options.offset;
    const char *geometry = p->place.geometry;
    qb_status status = check_volume(p);
    if (status != QB_OK) return status;
    p->in_mm = true;
    for (int j = 0; j < 3; j++) {
        p->grid.n[j] = p->source->shape[2 - j];
        p->grid.voxel[j] = p->options.voxel > 0 ? p->options.voxel : p->source->voxel[j];
        p->grid.offset[j] = j < offset->count ? offset->value[j] : p->source->offset[j];
        p->in_mm = p->in_mm && p->grid.voxel[j] > 0;
    }
    if (p->in_mm) return QB_OK;
    if (!geometry || strcmp(geometry, "parallel") != 0 || p->options.pixel_size > 0)
        return qb__fail(QB_BAD_INPUT,
                        "%s does not say how large its voxels are in mm: give --voxel MM",
                        p->volume);
    qb__warn(env, "no voxel size is known: lengths are in voxels; give --voxel MM");
    for (int j = 0; j < 3; j++) p->grid.voxel[j] = 1;
    return QB_OK;
}

/* A scan as qb simulate would make it, of a detector and pixels that suit the volume. */
static qb_status decide_scan(qb__projection *p, const qb_env *env) {
    const qb_project_options *o = &p->options;
    const qb_geometry_options *g = &p->place;
    const size_t *n = p->grid.n;
    bool file = g->geometry && strcmp(g->geometry, "parallel") != 0;
    p->asked = (qb_simulate_options){.geometry = g->geometry ? g->geometry : "cone",
                                     .views = o->views,
                                     .detector = o->detector,
                                     .angles = o->angles,
                                     .sod = g->sod,
                                     .sdd = g->sdd,
                                     .offset = g->offset,
                                     .radius = g->radius,
                                     .tilt = g->tilt,
                                     .jitter = g->jitter,
                                     .pixel_size = o->pixel_size,
                                     .center_offset = o->center_offset};
    qb_numbers *pixels = &p->asked.detector;
    if (!file && pixels->count == 0) {
        pixels->value[0] = (double)(n[0] > n[1] ? n[0] : n[1]);
        pixels->value[1] = (double)n[2];
        pixels->count = 2;
    }
    if (!file && !(o->pixel_size > 0))
        p->asked.pixel_size = p->grid.voxel[0] * (g->sod > 0 && g->sdd > 0 ? g->sdd / g->sod : 1);
    p->scan.options = &p->asked;
    return qb__simulate_place(&p->scan, env);
}

qb_dtype qb__projection_dtype(const qb__projection *p) {
    return p->output.dtype;
}

static size_t slice_raw(const qb__projection *p) {
    return p->grid.n[0] * p->grid.n[1] * qb_dtype_size(p->source->dtype);
}

static size_t image_floats(const qb__projection *p) {
    return p->scan.rows * p->scan.columns;
}

/* Slices in float32 go where they belong at once. */
size_t qb__projection_raw_bytes(const qb__projection *p) {
    size_t slices = RAW_BYTES / slice_raw(p) + 1, bytes = 0;
    if (slices > p->slab) slices = p->slab;
    if (p->source->dtype != QB_F32) bytes = slices * slice_raw(p);
    size_t image = qb__projection_dtype(p) == QB_F32 ? 0 : image_floats(p) * sizeof(float);
    return bytes > image ? bytes : image;
}

static size_t bytes_for(qb__projection *p, size_t slab, size_t views) {
    p->slab = slab;
    p->slabs = (p->grid.n[2] + slab - 1) / slab;
    p->views = views;
    p->blocks = (p->scan.views + views - 1) / views;
    size_t view = qb__project_view_floats(p->projector) + image_floats(p);
    p->memory = p->fixed_bytes + slab * p->grid.n[0] * p->grid.n[1] * sizeof(float) +
                views * view * sizeof(float) + qb__projection_raw_bytes(p);
    return p->memory;
}

static size_t fixed_bytes(const qb__projection *p) {
    enum { THREAD_BYTES = 48 << 10, LIBRARY_BYTES = 1 << 20 };
    size_t threads = (size_t)qb__pool_threads(p->projector->pool);
    return qb__resident_bytes() + LIBRARY_BYTES + (threads + 2) * THREAD_BYTES + p->source->cache +
           qb__project_fixed_bytes(p->projector);
}

/* The whole volume and a few views at a time; else the thinnest slabs and as many views as fit,
 * since the volume is read anew for every block of views. */
static qb_status decide_chunks(qb__projection *p, const qb_env *env) {
    enum { FEW = 16, MANY = 64 };
    size_t cap = qb__memory_cap(env), all = p->scan.views, nz = p->grid.n[2];
    p->fixed_bytes = fixed_bytes(p);
    for (size_t views = qb__smaller(MANY, all); views >= 1; views /= 2) {
        if (views < qb__smaller(FEW, all)) break;
        if (bytes_for(p, nz, views) <= cap) return QB_OK;
    }
    size_t none = bytes_for(p, p->projector->side[2], 1);
    size_t each = (qb__project_view_floats(p->projector) + image_floats(p)) * sizeof(float);
    if (none > cap)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--max-ram of %.1f MiB is too small: one view and %zu slices at a time need %.1f MiB",
            (double)cap / 1048576.0, p->projector->side[2], (double)none / 1048576.0);
    size_t blocks = (all + (cap - none) / each) / (1 + (cap - none) / each);
    bytes_for(p, p->projector->side[2], (all + blocks - 1) / blocks);
    return QB_OK;
}

/* Planes that rays cross: along the axis that has the most of them. */
static double samples(const qb__projection *p) {
    const size_t *n = p->grid.n;
    size_t most = n[0] > n[1] ? n[0] : n[1];
    return (double)p->scan.views * (double)image_floats(p) * (double)most;
}

static void add_why(const qb__projection *p) {
    size_t count;
    const qb__joseph_variant *rows = qb__joseph_variants(&count);
    cJSON *list = cJSON_AddArrayToObject(p->job.plan, "why");
    for (size_t i = 0; i < count; i++) {
        bool runs = (rows[i].features & ~qb__cpu_features()) == 0;
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "kernel", rows[i].id);
        cJSON_AddStringToObject(entry, "accuracy", qb_accuracy_name(rows[i].accuracy));
        cJSON_AddNumberToObject(entry, "core_seconds", samples(p) / (rows[i].speed * 1e9));
        cJSON_AddStringToObject(entry, "verdict",
                                runs ? "usable" : "this CPU lacks its instructions");
        cJSON_AddItemToArray(list, entry);
    }
}

static void describe(qb__projection *p) {
    cJSON *plan = p->job.plan;
    const qb__simulation *s = &p->scan;
    double scan[] = {(double)s->views, (double)s->rows, (double)s->columns};
    double n[] = {(double)p->grid.n[0], (double)p->grid.n[1], (double)p->grid.n[2]};
    double pixel[] = {s->pixel, s->pixel_v};
    double bytes = scan[0] * scan[1] * scan[2] * (double)qb_dtype_size(qb__projection_dtype(p));
    const qb__joseph_variant *variant = p->projector->variant;
    int threads = qb__pool_threads(p->projector->pool);
    bool cone = s->geometry.beam == QB_BEAM_CONE;
    char text[96];
    snprintf(text, sizeof text, "%zu views, %s, from %.6g to %.6g degrees", s->views,
             cone ? "cone beam" : "parallel beam", s->angles[0] * (180 / M_PI),
             s->angles[s->views - 1] * (180 / M_PI));
    cJSON_AddStringToObject(plan, "verb", "project");
    cJSON_AddStringToObject(plan, "input", p->volume);
    cJSON_AddStringToObject(plan, "format", p->source->format);
    cJSON_AddStringToObject(plan, "quantity", "line_integral");
    cJSON_AddStringToObject(plan, "quantity_from", "attenuation times length");
    cJSON_AddItemToObject(plan, "views_rows_columns", cJSON_CreateDoubleArray(scan, 3));
    cJSON_AddItemToObject(plan, "size", cJSON_CreateDoubleArray(n, 3));
    cJSON_AddItemToObject(plan, "voxel", cJSON_CreateDoubleArray(p->grid.voxel, 3));
    cJSON_AddItemToObject(plan, "offset", cJSON_CreateDoubleArray(p->grid.offset, 3));
    cJSON_AddStringToObject(plan, "units",
                            p->options.hu > 0 ? "HU"
                            : p->in_mm        ? "1/mm"
                                              : "1/pixel");
    cJSON_AddStringToObject(plan, "beam", cone ? "cone" : "parallel");
    cJSON_AddStringToObject(plan, "geometry", s->from_file ? s->options->geometry : "options");
    cJSON_AddItemToObject(plan, "pixel", cJSON_CreateDoubleArray(pixel, 2));
    cJSON_AddStringToObject(plan, "angles", text);
    cJSON_AddStringToObject(plan, "kernel", variant->id);
    cJSON_AddStringToObject(plan, "accuracy", qb_accuracy_name(variant->accuracy));
    add_why(p);
    cJSON_AddNumberToObject(plan, "threads", threads);
    cJSON_AddNumberToObject(plan, "slices_per_chunk", (double)p->slab);
    cJSON_AddNumberToObject(plan, "chunks", (double)p->slabs);
    cJSON_AddNumberToObject(plan, "views_per_block", (double)p->views);
    cJSON_AddNumberToObject(plan, "volume_reads", p->slabs == 1 ? 1.0 : (double)p->blocks);
    cJSON_AddNumberToObject(plan, "ring_slots", 1);
    cJSON_AddNumberToObject(plan, "memory_bytes", (double)p->memory);
    cJSON_AddNumberToObject(plan, "output_bytes", bytes);
    cJSON_AddNumberToObject(plan, "forecast_seconds",
                            samples(p) / (variant->speed * 1e9) / threads);
}

qb_status qb__projection_decide(qb__projection *p, const qb_env *env) {
    qb_status status;
    p->job.plan = cJSON_CreateObject();
    QB__TRY(qb__volume_check(&p->output, p->volume));
    if (!qb_dtype_is_float(p->output.dtype)) {
        status = qb__fail(QB_BAD_ARGUMENT, "line integrals are written as float32 or float16");
        goto out;
    }
    if (p->options.geometry_out) QB__TRY(qb_geometry_can_save(p->options.geometry_out));
    if (!p->given) {
        QB__TRY(open_volume(p));
        QB__TRY(decide_grid(p, env));
        QB__TRY(decide_scan(p, env));
    }
    const size_t shape[] = {p->scan.views, p->scan.rows, p->scan.columns};
    QB__TRY(qb__output_fits(&p->output, shape));
    QB__TRY(qb__geometry_check_units(&p->scan.geometry));
    QB__TRY(
        qb_projector_create(&p->scan.geometry, &p->grid, p->options.kernel, env, &p->projector));
    QB__TRY(decide_chunks(p, env));
    describe(p);
    p->job.plan_text = cJSON_Print(p->job.plan);
    if (!p->job.plan_text) status = qb__fail(QB_NO_MEMORY, "no memory for the plan");
out:
    return status;
}
