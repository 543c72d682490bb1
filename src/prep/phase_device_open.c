/* SPDX-License-Identifier: MIT */
/* Sizes of phase retrieval on a device, and what it holds there. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "ops/fft.h"
#include "prep/phase_device.h"
#include "prep/phase_device_parts.h"
#include "prep/phase_response.h"

enum {
    SLOT_BYTES = 128 << 20, /* bytes of the filtered numbers of a slot */
    PLANE_BYTES = 32 << 20, /* bytes of planes held together: larger ones would not stay in caches between kernels */
    HEIGHT_LEAST = 256,     /* smallest height of planes, used if margins are short */
    PART_OF_MEMORY = 8      /* phase retrieval may hold 1/8 of the memory */
};

static size_t view_planes(const qb__phase_shape *s) {
    return qb__ceil_div(s->rows, 2 * s->step) * s->height * s->stride * 2 * sizeof(float);
}

/* Chooses few and small planes that cover the detector's rows: an even number of blocks, each of at most ten
 * margins. */
static bool shape_of(const qb__paganin *how, const qb_scan_info *info, const qb__device_info *device, qb_dtype dtype,
                     qb__phase_shape *best, const char **why) {
    qb__phase_shape s = {.rows = info->rows, .columns = info->columns};
    size_t least = SIZE_MAX;
    qb__phase_margins(how, info->rows, &s.left, &s.margin);
    s.stride = qb__fft_length(info->columns + 2 * s.left);
    const size_t most = qb__larger(HEIGHT_LEAST, qb__fft_length(10 * s.margin));
    for (size_t pairs = 1; pairs <= info->rows; pairs++) {
        s.step = qb__ceil_div(info->rows, 2 * pairs);
        s.height = qb__fft_length(s.step + 2 * s.margin);
        if (pairs * s.height >= least) break;
        if (s.height > most) continue;
        *why = qb__phase_planes_unfit(device, &s, dtype);
        if (*why) continue;
        least = pairs * s.height;
        *best = s;
    }
    return least < SIZE_MAX;
}

static qb__phase_plan plan_of(const qb__phase_device *p, const qb__phase_response *r, float *beam) {
    const qb_scan *scan = p->scan;
    const qb__drift *drift = p->rows->gain ? scan->drift : NULL;
    const qb__phase_row row = qb__scan_row(&(qb__scan_rows){.scan = scan, .dtype = p->rows->dtype}, 0, 0, NULL);
    return (qb__phase_plan){.shape = p->shape,
                            .dtype = p->rows->dtype,
                            .views = scan->info.views,
                            .dark = row.dark,
                            .gain = p->rows->gain,
                            .beam = beam,
                            .stuck = row.stuck,
                            .modes = drift ? drift->modes : 0,
                            .mode_apart = drift ? drift->pixels : 0,
                            .mode = drift ? drift->mode : NULL,
                            .drift = drift ? drift->weight : NULL,
                            .top = p->rows->top,
                            .most = p->rows->gain ? 1000 : row.most,
                            .column = r->column,
                            .row = r->row,
                            .mean_column = r->mean_column,
                            .mean_row = r->mean_row,
                            .spread_column = r->spread_column,
                            .spread_row = r->spread_row,
                            .scale = r->scale,
                            .unsharp = r->unsharp,
                            .share = r->share,
                            .offset = r->offset,
                            .at_once = p->at_once};
}

size_t qb__phase_device_bytes(const qb__phase_device *p) {
    const qb__phase_response none = {.scale = 0};
    qb__phase_plan plan = plan_of(p, &none, NULL);
    const size_t rows = p->slot_views * p->shape.rows,
                 near = qb__near_rows_bytes(p->shape.rows, p->shape.columns) + rows * qb__phase_raw_row(p);
    return qb__phase_kept_bytes(p) + qb__phase_planes_bytes(&plan) +
           QB__PHASE_SLOTS * rows * (qb__phase_raw_row(p) + qb__phase_out_row(p)) + (p->near_wanted ? near : 0);
}

size_t qb__phase_device_host_bytes(const qb__phase_device *p) {
    const bool there = qb__device_info_of(p->device)->in_host_memory;
    return QB__PHASE_SLOTS * p->slot_views * p->shape.rows * (qb__phase_raw_row(p) + qb__phase_out_row(p)) +
           (there ? qb__phase_device_bytes(p) : 0);
}

/* Reduces the number of views until they fit into the memory limits; false if one view does not fit. */
static bool fit_views(qb__phase_device *p, const qb_env *env) {
    const size_t device = (env && env->max_vram ? env->max_vram : qb__device_info_of(p->device)->memory_bytes) /
                          PART_OF_MEMORY,
                 host = env && env->max_ram ? env->max_ram / PART_OF_MEMORY : SIZE_MAX,
                 view = p->shape.rows * qb__phase_out_row(p);
    p->slot_views = qb__smaller(p->scan->info.views, qb__larger(1, SLOT_BYTES / view));
    p->at_once = qb__smaller(p->slot_views, qb__larger(1, PLANE_BYTES / view_planes(&p->shape)));
    while (qb__phase_device_bytes(p) > device || qb__phase_device_host_bytes(p) > host) {
        if (p->slot_views == 1) return false;
        p->slot_views /= 2;
        p->at_once = qb__smaller(p->at_once, p->slot_views);
    }
    return true;
}

/* ---- open and close ---- */

qb_status qb__phase_open_device(qb__phase_device *p, const qb_env *env, const char **why) {
    qb_env quiet = env ? *env : (qb_env){.threads = 0};
    quiet.log = NULL; /* the job itself reports about its devices */
    const qb_status status = qb__device_set_open(&quiet, &p->set);
    if (status != QB_OK || p->set.count == 0) return status;
    p->device = p->set.device[0];
    if (!shape_of(&p->how, &p->scan->info, qb__device_info_of(p->device), p->rows->dtype, &p->shape, why)) return QB_OK;
    *why = fit_views(p, env) ? NULL : "a view has no room within the limits of memory";
    return QB_OK;
}

void qb__phase_close_there(qb__phase_device *p) {
    for (int i = 0; i < QB__PHASE_SLOTS; i++) {
        qb__phase_slot *s = &p->slot[i];
        qb__queue_destroy(s->queue);
        qb__event_destroy(s->filtered);
        QB__MEMORY_DESTROY(s->raw_there, s->out_there);
        if (p->device) qb__host_destroy(p->device, s->raw);
        if (p->device) qb__host_destroy(p->device, s->out);
        *s = (qb__phase_slot){.raw = NULL};
    }
    qb__phase_planes_destroy(p->planes);
    qb__near_rows_destroy(p->near);
    QB__MEMORY_DESTROY(p->corrected, p->keep);
    p->keep = NULL;
    p->planes = NULL, p->near = NULL, p->near_of = NULL, p->corrected = NULL;
}

static qb_status open_slot(qb__phase_device *p, qb__phase_slot *s) {
    const size_t rows = p->slot_views * p->shape.rows;
    QB__OR_RETURN(qb__queue_create(p->device, &s->queue));
    QB__OR_RETURN(qb__event_create(p->device, &s->filtered));
    QB__OR_RETURN(qb__host_create(p->device, rows * qb__phase_raw_row(p), &s->raw));
    QB__OR_RETURN(qb__host_create(p->device, rows * qb__phase_out_row(p), (void **)&s->out));
    QB__OR_RETURN(qb__memory_create(p->device, rows * qb__phase_raw_row(p), &s->raw_there));
    return qb__memory_create(p->device, rows * qb__phase_out_row(p), &s->out_there);
}

static qb_status open_there(qb__phase_device *p) {
    const size_t pixels = p->shape.rows * p->shape.columns;
    const qb_scan *scan = p->scan;
    qb__phase_response r = {.scale = 0};
    float *beam = NULL;
    qb_status status = QB_OK;
    for (int i = 0; i < QB__PHASE_SLOTS; i++) QB__TRY(open_slot(p, &p->slot[i]));
    QB__TRY(qb__phase_response_create(&p->how, p->shape.height, p->shape.stride, p->shape.stride, &r));
    if (p->rows->gain) {
        QB__TRY(qb__alloc(pixels, sizeof *beam, &beam));
        for (size_t i = 0; i < pixels; i++) beam[i] = scan->dark ? scan->flat[i] - scan->dark[i] : scan->flat[i];
    }
    const qb__phase_plan plan = plan_of(p, &r, beam);
    status = qb__phase_planes_create(p->device, p->slot[0].queue, &plan, &p->planes);
out:
    qb__phase_response_clear(&r);
    qb__free(beam);
    return status;
}

/* If opening fails here, nothing has been filtered yet, so the CPU can still do all of it. */
qb_status qb__phase_open_once(qb__phase_device *p) {
    if (p->open || p->given_up) return QB_OK;
    const qb_status status = open_there(p);
    p->open = status == QB_OK;
    if (p->open) return QB_OK;
    qb__phase_close_there(p);
    if (p->named) return qb__fail_in(status, "phase retrieval on %s", qb__device_info_of(p->device)->spec);
    p->given_up = true;
    return QB_OK;
}
