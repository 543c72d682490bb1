/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "kernels/filter/phase_planes.h"
#include "planner/device_select.h"
#include "prep/paganin.h"
#include "prep/phase_request.h"
#include "prep/scan_rows.h"
#include "quickbeam/io.h"

/* What only phase_device*.c use. */

enum { QB__PHASE_SLOTS = 2 };

/* A slot for views in transit: read to `raw`, filtered on the device, and downloaded to `out`. raw and out are
 * page-locked. */
typedef struct qb__phase_slot {
    void *raw;
    float *out;
    qb__memory *raw_there, *out_there;
    qb__queue *queue;
    qb__event *filtered; /* after this event the other slot may use the planes */
    size_t view, views;  /* views in transit; 0: none */
} qb__phase_slot;

/* The thread that fills the rows that stay, some of them at a time from the first row on. */
typedef struct qb__phase_filling {
    pthread_t thread;
    qb__phase_request request;
    pthread_mutex_t lock; /* for the fields below */
    pthread_cond_t more;
    bool begun, joined, ended;
    size_t end;       /* the rows before this one are on the device */
    qb_status status; /* why it ended */
    char detail[1024];
    atomic_bool stop;
} qb__phase_filling;

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
    qb__phase_slot slot[QB__PHASE_SLOTS];
    bool open, given_up;
    size_t keep_row0, keep_row1; /* range of rows that stay on the device; equal: no rows stay */
    bool armed, kept;            /* kept: the rows are on the device */
    qb__memory *keep;
    qb__phase_filling fill;
    pthread_mutex_t lock; /* held while the slots are in use */
};

static inline size_t qb__phase_raw_row(const qb__phase_device *p) {
    return p->shape.columns * qb_dtype_size(p->rows->dtype);
}
static inline size_t qb__phase_out_row(const qb__phase_device *p) { return p->shape.columns * sizeof(float); }
static inline size_t qb__phase_kept_view(const qb__phase_device *p) {
    return (p->keep_row1 - p->keep_row0) * qb__phase_out_row(p);
}
static inline size_t qb__phase_kept_bytes(const qb__phase_device *p) {
    return p->scan->info.views * qb__phase_kept_view(p);
}

static inline size_t qb__phase_kept_offset(const qb__phase_device *p, size_t view, size_t row) {
    return view * qb__phase_kept_view(p) + (row - p->keep_row0) * qb__phase_out_row(p);
}

/* Filters the views and rows of a request; with `out` NULL to where they stay. p->lock must be held. */
qb_status qb__phase_pump(qb__phase_device *p, const qb__phase_request *request);
/* Chooses the device and the sizes; *why: the reason if the device cannot do it. */
qb_status qb__phase_open_device(qb__phase_device *p, const qb_env *env, const char **why);
/* Opens the device at the first read, or gives it up; p->lock must be held. */
qb_status qb__phase_open_once(qb__phase_device *p);
void qb__phase_close_there(qb__phase_device *p);
/* Opens the device and waits until all rows that should stay are there. p->lock must not be held. */
qb_status qb__phase_fill_all(qb__phase_device *p, const qb__phase_request *request);
/* Copies a request from the rows that stay, if they have it (*done). p->lock must be held. */
qb_status qb__phase_serve_kept(qb__phase_device *p, const qb__phase_request *request, bool *done);
/* Waits for a slot's views, and copies them to the request's destination if it has one. floats: numbers of a view. */
qb_status qb__phase_drain(qb__phase_slot *s, const qb__phase_request *request, size_t floats);
/* After an error: waits until the slots are idle. */
qb_status qb__phase_quiet(qb__phase_device *p, qb_status status);
