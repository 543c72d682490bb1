/* SPDX-License-Identifier: MIT */
#include "job/observer.h"

#include <assert.h>

static const qb__observer *const rows[] = {&qb__observe_preview, &qb__observe_slabs};

enum { ROWS = sizeof rows / sizeof rows[0] };
static_assert((int)ROWS <= (int)QB__OBSERVERS_MAX, "room for each");

bool qb__observed(const qb_output_options *options) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i]->wanted(options)) return true;
    return false;
}

size_t qb__observers_bytes(const qb_output_options *options, const size_t shape[3]) {
    size_t bytes = 0;
    for (int i = 0; i < ROWS; i++)
        if (rows[i]->bytes && rows[i]->wanted(options)) bytes += rows[i]->bytes(shape);
    return bytes;
}

qb_status qb__observers_open(qb__observers *all, const qb_output_options *options, const qb_stack *stack) {
    qb_status status = QB_OK;
    for (int i = 0; status == QB_OK && i < ROWS; i++)
        if (rows[i]->wanted(options)) status = rows[i]->open(options, stack, &all->own[i]);
    return status;
}

void qb__observers_image(const qb__observers *all, size_t number, const float *image) {
    for (int i = 0; i < ROWS; i++)
        if (all->own[i] && rows[i]->image) rows[i]->image(all->own[i], number, image);
}

qb_status qb__observers_slab(const qb__observers *all, size_t first, size_t end, const void *data) {
    qb_status status = QB_OK;
    for (int i = 0; status == QB_OK && i < ROWS; i++)
        if (all->own[i] && rows[i]->slab) status = rows[i]->slab(all->own[i], first, end, data);
    return status;
}

qb_status qb__observers_gather(const qb__observers *all, qb__comm *comm, const qb__chunks *own, qb_status status) {
    for (int i = 0; i < ROWS; i++)
        if (all->own[i] && rows[i]->gather) status = rows[i]->gather(all->own[i], comm, own, status);
    return status;
}

qb_status qb__observers_publish(const qb__observers *all, qb__publication *set, cJSON *report) {
    qb_status status = QB_OK;
    for (int i = 0; status == QB_OK && i < ROWS; i++)
        if (all->own[i] && rows[i]->publish) status = rows[i]->publish(all->own[i], set, report);
    return status;
}

void qb__observers_close(qb__observers *all) {
    for (int i = 0; i < ROWS; i++)
        if (all->own[i]) rows[i]->close(all->own[i]);
    *all = (qb__observers){0};
}
