/* SPDX-License-Identifier: MIT */
/* The plan of a projection: volume, scan, kernel, slabs, blocks of views, forecast. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/grid.h"
#include "geometry/units.h"
#include "io/formats.h"
#include "planner/choose.h"
#include "recon/project/projection.h"

/* Open the volume. A reader does not report a lack of memory for optional data of a file, such as voxel size and
 * position; here it is an error. */
static qb_status open_volume(qb__projection *p) {
    size_t failed = qb__allocations_failed();
    qb_status status = qb__source_open(p->volume, p->options->dataset, &p->source);
    if (status != QB_OK || qb__allocations_failed() == failed) return status;
    return qb__fail(QB_NO_MEMORY, "%s: no memory for what is said about it", p->volume);
}

static qb_status check_volume(const qb__projection *p) {
    const qb__source *source = p->source;
    bool hounsfield = strcmp(source->quantity, "Hounsfield") == 0;
    if (qb__quantity_named(source->quantity))
        return qb__fail(QB_BAD_INPUT, "%s holds projections (%s), not a volume", p->volume, source->quantity);
    if (hounsfield && !(p->options->hu > 0))
        return qb__fail(QB_BAD_INPUT, "%s is in Hounsfield units: give --hu MU_WATER", p->volume);
    if (source->turned)
        return qb__fail(QB_UNSUPPORTED, "%s: its axes are turned or mirrored (TransformMatrix, sform)", p->volume);
    if (p->options->offset.count > 3)
        return qb__fail(QB_BAD_ARGUMENT, "--offset takes at most three numbers, not %d", p->options->offset.count);
    return QB_OK;
}

/* Decide the grid. A parallel beam without a size in mm has voxels as its unit. */
static qb_status decide_grid(qb__projection *p, const qb_env *env) {
    const qb_numbers *offset = &p->options->offset, voxels = qb__voxels(p->options->voxel, &p->options->voxels);
    const char *geometry = p->place.geometry;
    qb_status status = check_volume(p);
    if (status == QB_OK && voxels.count && voxels.count != 3)
        status = qb__fail(QB_BAD_ARGUMENT, "--voxel takes one number or three, X,Y,Z, not %d", voxels.count);
    if (status != QB_OK) return status;
    p->in_mm = true;
    for (int j = 0; j < 3; j++) {
        p->grid.n[j] = p->source->shape[2 - j];
        p->grid.voxel[j] = j < voxels.count ? voxels.value[j] : p->source->voxel[j];
        p->grid.offset[j] = j < offset->count ? offset->value[j] : p->source->offset[j];
        p->in_mm = p->in_mm && p->grid.voxel[j] > 0;
    }
    if (p->in_mm) return QB_OK;
    if (!geometry || strcmp(geometry, "parallel") != 0 || p->options->pixel_size > 0 ||
        (p->options->pixels.count && p->options->pixels.value[0] > 0))
        return qb__fail(QB_BAD_INPUT, "%s does not say how large its voxels are in mm: give --voxel MM", p->volume);
    qb__warn(env, "the voxel size is unknown: lengths are in voxels; give --voxel MM" QB__CODE("no-voxel-size"));
    for (int j = 0; j < 3; j++) p->grid.voxel[j] = 1;
    return QB_OK;
}

/* Decide the scan as qb simulate does, with a detector and pixels that suit the volume. */
static qb_status decide_scan(qb__projection *p, const qb_env *env) {
    const qb_project_options *o = p->options;
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
                                     .pixels = o->pixels,
                                     .center_offset = o->center_offset};
    qb_numbers *pixels = &p->asked.detector;
    if (!file && pixels->count == 0) {
        pixels->value[0] = (double)(n[0] > n[1] ? n[0] : n[1]);
        pixels->value[1] = (double)n[2];
        pixels->count = 2;
    }
    if (!file && !(o->pixel_size > 0) && !(o->pixels.count && o->pixels.value[0] > 0))
        p->asked.pixels.count = 0,
        p->asked.pixel_size = p->grid.voxel[0] * (g->sod > 0 && g->sdd > 0 ? g->sdd / g->sod : 1);
    return qb__simulate_place(&p->scan, &p->asked, env);
}

double qb__projection_samples(const qb__projection *p) {
    const qb__joseph_problem problem = qb__project_problem(&p->projector->geometry, &p->grid);
    return qb__operation_of(QB__PROJECT_JOSEPH)->updates(&problem);
}

/* Add the table of kernels, with the reason of the choice. */
static void add_why(const qb__projection *p, cJSON *plan) {
    const qb__joseph_problem problem = qb__project_problem(&p->projector->geometry, &p->grid);
    const qb__question question = {
        .operation = QB__PROJECT_JOSEPH, .problem = &problem, .slices = 1, .accuracy = QB_ACCURACY_HIGH};
    qb__report_why(&question, plan);
}

static void describe_scan(const qb__projection *p, cJSON *plan) {
    const qb__simulation *s = &p->scan;
    double pixel[] = {s->pixel, s->pixel_v};
    bool cone = s->geometry.beam == QB_BEAM_CONE;
    char text[96];
    snprintf(text, sizeof text, "%zu view%s, %s, from %.6g to %.6g degrees", s->views, s->views == 1 ? "" : "s",
             cone ? "cone beam" : "parallel beam", s->angles[0] * (180 / M_PI), s->angles[s->views - 1] * (180 / M_PI));
    cJSON_AddStringToObject(plan, "beam", cone ? "cone" : "parallel");
    cJSON_AddStringToObject(plan, "geometry", s->from_file ? s->options->geometry : "options");
    cJSON_AddItemToObject(plan, "pixel", cJSON_CreateDoubleArray(pixel, 2));
    cJSON_AddStringToObject(plan, "angles", text);
}

static void decide_output(qb__projection *p, qb__decision *d) {
    const qb__simulation *s = &p->scan;
    d->source = p->source;
    d->digest = &p->digest;
    d->subject.format = p->source->format;
    d->subject.quantity = "line_integral";
    d->subject.quantity_from = "attenuation times length";
    d->subject.views = s->views;
    d->subject.rows = s->rows;
    d->subject.columns = s->columns;
    d->subject.grid = p->grid;
    d->subject.units = qb__volume_units(p->options->hu, p->in_mm);
    d->of_views = &p->scan.geometry;
    d->sidecar = p->options->geometry_out;
    d->more = p->source->cache + qb__project_fixed_bytes(p->projector) +
              qb__digest_bytes(p->source->shape[0], p->source->shape[1]);
    d->stack = (qb_stack){.shape = {s->views, s->rows, s->columns},
                          .units = "",
                          .quantity = qb_quantity_name(QB_LINE_INTEGRAL),
                          .description = "quickbeam projections",
                          .angles = s->angles,
                          .beam = s->geometry.beam,
                          .axis = qb__simulate_axis(s)};
    if (p->in_mm) d->stack.voxel[0] = s->pixel, d->stack.voxel[1] = s->pixel_v;
}

qb_status qb__projection_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json,
                                qb__decision *decision) {
    qb__projection *p = plan;
    p->volume = task->input;
    p->options = task->options;
    p->output = task->output;
    const qb__projection_given *given = task->more;
    if (p->options->geometry_out) QB__OR_RETURN(qb_geometry_can_save(p->options->geometry_out));
    if (given->volume) {
        QB__OR_RETURN(qb__projection_take(p, given));
    } else {
        QB__OR_RETURN(qb_params_copy(qb_geometry_params, given->place, &p->place));
        QB__OR_RETURN(open_volume(p));
        QB__OR_RETURN(decide_grid(p, env));
        QB__OR_RETURN(qb__projection_look(p, env));
        QB__OR_RETURN(decide_scan(p, env));
        QB__OR_RETURN(qb__projection_ends(p, env));
    }
    QB__OR_RETURN(qb__geometry_check_units(&p->scan.geometry));
    QB__OR_RETURN(qb__projector_on_cpu(&p->scan.geometry, &p->grid, false, p->options->kernel, env, &p->projector));
    describe_scan(p, json);
    add_why(p, json);
    decide_output(p, decision);
    return QB_OK;
}

void qb__projection_release(void *plan) {
    qb__projection *p = plan;
    qb_projector_destroy(p->projector);
    qb__simulation_destroy(&p->scan);
    qb__source_close(p->source);
    qb__digest_release(&p->digest);
    qb_params_clear(qb_geometry_params, &p->place);
}

qb__stage qb__projection_stage(const qb__projection *p, const qb__cut *cut) {
    const size_t view = qb__projection_pixels(p) * sizeof(float);
    return (qb__stage){.name = "project",
                       .blocking = true,
                       .slots = cut->blocks > 1 ? cut->slots : 1,
                       .gather = cut->slabs,
                       .slot_bytes = cut->views * view,
                       .last_bytes = (p->scan.views - (cut->blocks - 1) * cut->views) * view};
}
