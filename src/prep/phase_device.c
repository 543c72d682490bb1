/* SPDX-License-Identifier: MIT */
#include "prep/phase_device.h"

#include <pthread.h>

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/drift.h"
#include "kernels/filter/phase_planes.h"
#include "ops/fft.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"
#include "prep/phase_response.h"
#include "quickbeam/io.h"

enum {
    SLOT_BYTES = 128 << 20, /* bytes of the filtered numbers of a slot */
    PLANE_BYTES = 32 << 20, /* bytes of planes held together: larger ones would not stay in caches between kernels */
    HEIGHT_LEAST = 256,     /* smallest height of planes, used if margins are short */
    PART_OF_MEMORY = 8,     /* phase retrieval may hold 1/8 of the memory */
    /* phase retrieval and the rows that it leaves on the device may use 1/KEPT_PART of the room */
    KEPT_PART = 2
};
enum { SLOTS = 2 };
static const double WORTH = 1; /* seconds that filtering on the CPU must take longer than starting a device */

/* A slot for views in transit: read to `raw`, filtered on the device, and downloaded to `out`. raw and out are
 * page-locked. */
typedef struct slot {
    void *raw;
    float *out;
    qb__memory *raw_there, *out_there;
    qb__queue *queue;
    qb__event *filtered; /* after this event the other slot may use the planes */
    size_t view, views;  /* views in transit; 0: none */
} slot;

struct qb__phase_device {
    const qb_scan *scan;
    const qb__scan_rows *rows;
    bool named; /* the user named the device: phase retrieval must use it */
    qb__paganin how;
    qb__device_set set;
    qb__device *device;
    qb__phase_shape shape;
    size_t at_once, slot_views;
    qb__phase_planes *planes;
    bool near_wanted;
    qb__near_rows *near; /* made for near_of; NULL: not made yet */
    const qb__neighbours *near_of;
    uint64_t near_found; /* number of pixels that `near` has changed so far */
    qb__memory *corrected;
    slot slot[SLOTS];
    bool open, given_up;
    size_t keep_row0, keep_row1; /* range of rows that stay on the device; equal: no rows stay */
    bool armed, kept;            /* kept: the rows are on the device */
    qb__memory *keep;
    pthread_mutex_t lock;
};

/* ---- sizes ---- */

static size_t raw_row(const qb__phase_device *p) { return p->shape.columns * qb_dtype_size(p->rows->dtype); }
static size_t out_row(const qb__phase_device *p) { return p->shape.columns * sizeof(float); }
static size_t kept_view(const qb__phase_device *p) { return (p->keep_row1 - p->keep_row0) * out_row(p); }
static size_t kept_bytes(const qb__phase_device *p) { return p->scan->info.views * kept_view(p); }
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
                 near = qb__near_rows_bytes(p->shape.rows, p->shape.columns) + rows * raw_row(p);
    return kept_bytes(p) + qb__phase_planes_bytes(&plan) + SLOTS * rows * (raw_row(p) + out_row(p)) +
           (p->near_wanted ? near : 0);
}

size_t qb__phase_device_host_bytes(const qb__phase_device *p) {
    const bool there = qb__device_info_of(p->device)->in_host_memory;
    return SLOTS * p->slot_views * p->shape.rows * (raw_row(p) + out_row(p)) + (there ? qb__phase_device_bytes(p) : 0);
}

/* Reduces the number of views until they fit into the memory limits; false if one view does not fit. */
static bool fit_views(qb__phase_device *p, const qb_env *env) {
    const size_t device = (env && env->max_vram ? env->max_vram : qb__device_info_of(p->device)->memory_bytes) /
                          PART_OF_MEMORY,
                 host = env && env->max_ram ? env->max_ram / PART_OF_MEMORY : SIZE_MAX,
                 view = p->shape.rows * out_row(p);
    p->slot_views = qb__smaller(p->scan->info.views, qb__larger(1, SLOT_BYTES / view));
    p->at_once = qb__smaller(p->slot_views, qb__larger(1, PLANE_BYTES / view_planes(&p->shape)));
    while (qb__phase_device_bytes(p) > device || qb__phase_device_host_bytes(p) > host) {
        if (p->slot_views == 1) return false;
        p->slot_views /= 2;
        p->at_once = qb__smaller(p->at_once, p->slot_views);
    }
    return true;
}

/* ---- create and destroy ---- */

static bool is_worth(const qb_env *env, double seconds) {
    if (qb__device_is_named(env)) return qb__device_is_asked(env);
    return (!env || !env->max_ram) && seconds > WORTH + qb__device_least_start(env);
}

static qb_status open_device(qb__phase_device *p, const qb_env *env, const char **why) {
    qb_env quiet = env ? *env : (qb_env){.threads = 0};
    quiet.log = NULL; /* the job itself reports about its devices */
    const qb_status status = qb__device_set_open(&quiet, &p->set);
    if (status != QB_OK || p->set.count == 0) return status;
    p->device = p->set.device[0];
    if (!shape_of(&p->how, &p->scan->info, qb__device_info_of(p->device), p->rows->dtype, &p->shape, why)) return QB_OK;
    *why = fit_views(p, env) ? NULL : "a view has no room within the limits of memory";
    return QB_OK;
}

qb_status qb__phase_device_create(const qb_scan *scan, const qb__scan_rows *rows, const qb__paganin *how,
                                  double seconds, bool near, const qb_env *env, char *why, size_t why_size,
                                  qb__phase_device **out) {
    const char *cannot = NULL;
    qb__phase_device *p = NULL;
    *out = NULL;
    *why = 0;
    if (!is_worth(env, seconds)) return QB_OK;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    *p = (qb__phase_device){.scan = scan,
                            .rows = rows,
                            .named = qb__device_is_asked(env),
                            .how = *how,
                            .near_wanted = near,
                            .lock = PTHREAD_MUTEX_INITIALIZER};
    status = open_device(p, env, &cannot);
    if (status == QB_OK && p->device && !cannot) {
        *out = p;
        return QB_OK;
    }
    if (cannot && qb__device_is_asked(env))
        qb__print(why, why_size, ", not on %s: %s", qb__device_info_of(p->device)->spec, cannot);
    qb__phase_device_destroy(p);
    return status;
}

static void close_there(qb__phase_device *p) {
    for (int i = 0; i < SLOTS; i++) {
        slot *s = &p->slot[i];
        qb__queue_destroy(s->queue);
        qb__event_destroy(s->filtered);
        qb__memory_destroy(s->raw_there);
        qb__memory_destroy(s->out_there);
        if (p->device) qb__host_destroy(p->device, s->raw);
        if (p->device) qb__host_destroy(p->device, s->out);
        *s = (slot){.raw = NULL};
    }
    qb__phase_planes_destroy(p->planes);
    qb__near_rows_destroy(p->near);
    qb__memory_destroy(p->corrected);
    qb__memory_destroy(p->keep);
    p->keep = NULL;
    p->planes = NULL, p->near = NULL, p->near_of = NULL, p->corrected = NULL;
}

void qb__phase_device_destroy(qb__phase_device *p) {
    if (!p) return;
    close_there(p);
    qb__device_set_close(&p->set);
    pthread_mutex_destroy(&p->lock);
    qb__free(p);
}

const char *qb__phase_device_spec(const qb__phase_device *p) { return qb__device_info_of(p->device)->spec; }
const char *qb__phase_device_name(const qb__phase_device *p) {
    return p->given_up ? NULL : qb__device_info_of(p->device)->name;
}
size_t qb__phase_device_rows(const qb__phase_device *p) { return qb__smaller(p->shape.rows, 2 * p->shape.step); }

/* ---- at the first read ---- */

static qb_status open_slot(qb__phase_device *p, slot *s) {
    const size_t rows = p->slot_views * p->shape.rows;
    qb_status status;
    QB__TRY(qb__queue_create(p->device, &s->queue));
    QB__TRY(qb__event_create(p->device, &s->filtered));
    QB__TRY(qb__host_create(p->device, rows * raw_row(p), &s->raw));
    QB__TRY(qb__host_create(p->device, rows * out_row(p), (void **)&s->out));
    QB__TRY(qb__memory_create(p->device, rows * raw_row(p), &s->raw_there));
    QB__TRY(qb__memory_create(p->device, rows * out_row(p), &s->out_there));
out:
    return status;
}

static qb_status open_there(qb__phase_device *p) {
    const size_t pixels = p->shape.rows * p->shape.columns;
    const qb_scan *scan = p->scan;
    qb__phase_response r = {.scale = 0};
    float *beam = NULL;
    qb_status status = QB_OK;
    for (int i = 0; i < SLOTS; i++) QB__TRY(open_slot(p, &p->slot[i]));
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
static qb_status open_once(qb__phase_device *p) {
    if (p->open || p->given_up) return QB_OK;
    const qb_status status = open_there(p);
    p->open = status == QB_OK;
    if (p->open) return QB_OK;
    close_there(p);
    if (p->named) return qb__fail_in(status, "phase retrieval on %s", qb__phase_device_spec(p));
    p->given_up = true;
    return QB_OK;
}

/* ---- corrections by neighbours ---- */

static qb_status open_near(qb__phase_device *p, const qb__neighbours *neighbours) {
    if (!neighbours || p->near_of == neighbours) return QB_OK;
    const qb__near_plan plan = qb__neighbours_plan(neighbours);
    qb_status status = QB_OK;
    qb__near_rows_destroy(p->near);
    p->near = NULL, p->near_of = NULL, p->near_found = 0;
    if (!p->corrected) QB__TRY(qb__memory_create(p->device, p->slot_views * p->shape.rows * raw_row(p), &p->corrected));
    QB__TRY(qb__near_rows_create(p->device, p->slot[0].queue, &plan, &p->near));
    p->near_of = neighbours;
out:
    return status;
}

/* all: these are all pixels that will be returned, each counted once. */
static qb_status count_near(qb__phase_device *p, qb__neighbours *neighbours, uint64_t pixels, bool all) {
    uint64_t found;
    if (!neighbours) return QB_OK;
    const qb_status status = qb__near_rows_found(p->near, p->slot[0].queue, &found);
    if (status == QB_OK && !p->kept) qb__neighbours_count(neighbours, found - p->near_found, pixels, all);
    if (status == QB_OK) p->near_found = found;
    return status;
}

/* Rows to read: one more on both sides if neighbours are needed. */
static qb__near_block around(const qb__phase_device *p, const qb__neighbours *neighbours,
                             const qb__phase_block *block) {
    const size_t margin = neighbours ? 1 : 0;
    return (qb__near_block){.first = block->row0 - qb__smaller(margin, block->row0),
                            .end = qb__smaller(p->shape.rows, block->row1 + margin),
                            .row0 = block->row0,
                            .slices = block->row1 - block->row0};
}

/* ---- reading ---- */

typedef struct copying {
    const float *from;
    float *to;
    size_t floats;
} copying;

enum { PIECE = 1 << 20 };

static qb_status copy_piece(void *context, size_t piece, size_t worker) {
    const copying *c = context;
    const size_t at = piece * PIECE;
    (void)worker;
    memcpy(c->to + at, c->from + at, qb__smaller(PIECE, c->floats - at) * sizeof(float));
    return QB_OK;
}

static qb_status quiet(qb__phase_device *p, qb_status status) {
    for (int i = 0; i < SLOTS; i++) {
        if (p->slot[i].views) status = qb__queue_finish_after(p->slot[i].queue, status);
        p->slot[i].views = 0;
    }
    return status;
}

static qb_status drain(slot *s, const qb__phase_request *request, size_t floats) {
    if (!s->views) return QB_OK;
    if (!request->out) {
        s->views = 0;
        return qb__queue_finish(s->queue);
    }
    copying c = {s->out, request->out + (s->view - request->view0) * floats, s->views * floats};
    qb_status status = qb__queue_finish(s->queue);
    if (status == QB_OK) status = qb__share(request->threads, qb__ceil_div(c.floats, PIECE), copy_piece, &c);
    s->views = 0;
    return status;
}

/* request->out NULL: the rows are copied to where they stay. */
static qb_status send(qb__phase_device *p, slot *s, slot *other, qb__phase_block block, qb__near_block near,
                      const qb__phase_request *request, size_t floats) {
    const bool correct = request->near != NULL;
    qb_status status;
    block.view0 = s->view, block.views = near.views = s->views;
    QB__TRY(qb__memory_upload(s->queue, s->raw_there, 0, s->raw, s->views * (near.end - near.first) * raw_row(p)));
    if (other->views) QB__TRY(qb__queue_wait(s->queue, other->filtered));
    if (correct) QB__TRY(qb__near_rows_run(p->near, s->queue, &near, s->raw_there, p->corrected));
    QB__TRY(qb__phase_planes_run(p->planes, s->queue, &block, correct ? p->corrected : s->raw_there, s->out_there));
    QB__TRY(qb__event_record(s->filtered, s->queue));
    const size_t view = floats * sizeof(float);
    if (request->out)
        status = qb__memory_download(s->queue, s->out_there, 0, s->out, s->views * view);
    else
        status = qb__memory_copy(s->queue, p->keep, s->view * view, s->out_there, 0, s->views * view);
out:
    return status;
}

static qb_status pump(qb__phase_device *p, const qb__phase_request *request) {
    qb__phase_block block = {.first = request->first, .end = request->end};
    qb__phase_planes_reads(&p->shape, &block);
    const qb__near_block near = around(p, request->near, &block);
    const size_t floats = (request->end - request->first) * p->shape.columns;
    /* The result is never larger than the rows read for it, so `each` views fit into a slot. */
    const size_t each = p->slot_views * p->shape.rows / (near.end - near.first);
    qb_status status = open_near(p, request->near);
    int turn = 0;
    if (status != QB_OK) return status;
    for (size_t view = request->view0; view < request->view1; view += each, turn = !turn) {
        slot *s = &p->slot[turn];
        QB__TRY(drain(s, request, floats));
        const size_t views = qb__smaller(each, request->view1 - view);
        QB__TRY(request->read(request->self, view, view + views, near.first, near.end, request, s->raw));
        s->view = view, s->views = views;
        QB__TRY(send(p, s, &p->slot[!turn], block, near, request, floats));
    }
    for (int i = 0; i < SLOTS; i++, turn = !turn) QB__TRY(drain(&p->slot[turn], request, floats));
    status =
        count_near(p, request->near, (request->view1 - request->view0) * near.slices * p->shape.columns, !request->out);
out:
    return quiet(p, status);
}

/* ---- rows that stay on the device ---- */

/* Without flats the mask may remove pixels of counts later, so such rows are not kept. */
void qb__phase_device_keep(qb__phase_device *p, size_t row0, size_t row1, const qb_env *env) {
    const qb__device_info *info = qb__device_info_of(p->device);
    const bool settled = p->rows->gain || p->scan->info.quantity != QB_COUNTS;
    size_t room = env && env->max_vram ? env->max_vram : info->memory_bytes;
    if (info->in_host_memory) room = qb__smaller(room, qb__memory_cap(env));
    p->keep_row0 = row0, p->keep_row1 = row1;
    if (!settled || p->set.count != 1 || qb__phase_device_bytes(p) > room / KEPT_PART) p->keep_row1 = row0;
}

bool qb__phase_device_keeps(const qb__phase_device *p, const qb__device *there) {
    return p->keep_row0 < p->keep_row1 && (!there || p->device == there) && !p->given_up;
}

size_t qb__phase_device_stay(const qb__phase_device *p) { return p->keep_row1 - p->keep_row0; }

void qb__phase_device_arm(qb__phase_device *p, bool on) {
    pthread_mutex_lock(&p->lock);
    p->armed = on;
    if (!on) {
        qb__near_rows_destroy(p->near);
        qb__memory_destroy(p->keep);
        p->near = NULL, p->near_of = NULL, p->keep = NULL, p->kept = false;
    }
    pthread_mutex_unlock(&p->lock);
}

static qb_status make(qb__phase_device *p, const qb__phase_request *request) {
    const bool corrected = request->near || !p->near_wanted;
    if (p->kept || !p->armed || !corrected || p->keep_row0 == p->keep_row1) return QB_OK;
    qb_status status = p->keep ? QB_OK : qb__memory_create(p->device, kept_bytes(p), &p->keep);
    if (status == QB_NO_MEMORY) {
        p->keep_row1 = p->keep_row0;
        return QB_OK;
    }
    qb__phase_request all = *request;
    all.view0 = 0, all.view1 = p->scan->info.views, all.first = p->keep_row0, all.end = p->keep_row1, all.out = NULL;
    if (status == QB_OK) status = pump(p, &all);
    p->kept = status == QB_OK;
    return status;
}

static qb_status serve_kept(qb__phase_device *p, const qb__phase_request *request, bool *done) {
    qb_status status = make(p, request);
    *done = p->kept && request->first >= p->keep_row0 && request->end <= p->keep_row1;
    if (status != QB_OK || !*done) return status;
    const size_t rows = request->end - request->first, floats = rows * p->shape.columns, width = rows * out_row(p);
    const size_t each = p->slot_views * p->shape.rows / rows;
    int turn = 0;
    for (size_t view = request->view0; view < request->view1; view += each, turn = !turn) {
        slot *s = &p->slot[turn];
        QB__TRY(drain(s, request, floats));
        const size_t views = qb__smaller(each, request->view1 - view);
        const qb__rows_side to = {.host = s->out, .pitch = width},
                            from = {.memory = p->keep,
                                    .offset = view * kept_view(p) + (request->first - p->keep_row0) * out_row(p),
                                    .pitch = kept_view(p)};
        s->view = view, s->views = views;
        QB__TRY(qb__memory_copy_rows(s->queue, &to, &from, width, views));
    }
    for (int i = 0; i < SLOTS; i++, turn = !turn) QB__TRY(drain(&p->slot[turn], request, floats));
out:
    return quiet(p, status);
}

qb_status qb__phase_device_kept(qb__phase_device *p, const qb__phase_request *request, qb__phase_kept *kept) {
    *kept = (qb__phase_kept){.memory = NULL};
    pthread_mutex_lock(&p->lock);
    qb_status status = open_once(p);
    if (status == QB_OK && p->open) status = make(p, request);
    if (p->kept) *kept = (qb__phase_kept){p->device, p->keep, p->keep_row0, p->keep_row1 - p->keep_row0};
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* ---- serving a request ---- */

qb_status qb__phase_device_read(qb__phase_device *p, const qb__phase_request *request, bool *done) {
    pthread_mutex_lock(&p->lock);
    qb_status status = open_once(p);
    *done = p->open;
    if (p->open && status == QB_OK) status = serve_kept(p, request, done);
    if (p->open && status == QB_OK && !*done) {
        *done = true;
        status = pump(p, request);
    }
    pthread_mutex_unlock(&p->lock);
    return status;
}
