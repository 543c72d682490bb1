/* SPDX-License-Identifier: MIT */
#include "ops/vectors_device.h"

#include "base/status.h"

static qb_status make_slot(qb__device *device, size_t piece, qb__spill_slot *slot) {
    for (int i = 0; i < QB__SPILL_OPERANDS; i++)
        QB__OR_RETURN(qb__memory_create(device, piece * sizeof(float), &slot->operand[i]));
    QB__OR_RETURN(qb__event_create(device, &slot->sent));
    QB__OR_RETURN(qb__event_create(device, &slot->used));
    return qb__event_create(device, &slot->taken);
}

qb_status qb__spill_create(qb__device *device, size_t piece, qb__spill *spill) {
    *spill = (qb__spill){.piece = piece};
    QB__OR_RETURN(qb__queue_create(device, &spill->up));
    QB__OR_RETURN(qb__queue_create(device, &spill->down));
    for (int i = 0; i < QB__SPILL_SLOTS; i++) QB__OR_RETURN(make_slot(device, piece, &spill->slot[i]));
    return QB_OK;
}

void qb__spill_destroy(qb__spill *spill) {
    if (spill->up) qb__queue_finish(spill->up);
    if (spill->down) qb__queue_finish(spill->down);
    for (int i = 0; i < QB__SPILL_SLOTS; i++) {
        qb__spill_slot *slot = &spill->slot[i];
        for (int k = 0; k < QB__SPILL_OPERANDS; k++) qb__memory_destroy(slot->operand[k]);
        qb__event_destroy(slot->sent);
        qb__event_destroy(slot->used);
        qb__event_destroy(slot->taken);
    }
    qb__queue_destroy(spill->up);
    qb__queue_destroy(spill->down);
    *spill = (qb__spill){0};
}

qb_status qb__spill_await(qb__spill *spill, qb__queue *queue) {
    if (!queue) return qb__queue_finish(spill->down);
    for (int i = 0; i < QB__SPILL_SLOTS; i++) QB__OR_RETURN(qb__queue_wait(queue, spill->slot[i].taken));
    return QB_OK;
}

qb_status qb__spill_send(qb__spill *spill, qb__queue *queue, size_t number, float *const *from, size_t floats) {
    qb__spill_slot *slot = &spill->slot[number % QB__SPILL_SLOTS];
    if (number == 0)
        QB__OR_RETURN(qb__spill_await(spill, spill->up)); /* wait for the downloads of the operation before */
    QB__OR_RETURN(qb__queue_wait(spill->up, slot->used));
    QB__OR_RETURN(qb__queue_wait(spill->up, slot->taken));
    for (int i = 0; i < QB__SPILL_OPERANDS; i++)
        if (from[i]) QB__OR_RETURN(qb__memory_upload(spill->up, slot->operand[i], 0, from[i], floats * sizeof(float)));
    QB__OR_RETURN(qb__event_record(slot->sent, spill->up));
    return qb__queue_wait(queue, slot->sent);
}

qb_status qb__spill_take(qb__spill *spill, qb__queue *queue, size_t number, float *const *to, size_t floats) {
    qb__spill_slot *slot = &spill->slot[number % QB__SPILL_SLOTS];
    bool any = false;
    QB__OR_RETURN(qb__event_record(slot->used, queue));
    for (int i = 0; i < QB__SPILL_OPERANDS; i++) {
        if (!to[i]) continue;
        if (!any) QB__OR_RETURN(qb__queue_wait(spill->down, slot->used));
        QB__OR_RETURN(qb__memory_download(spill->down, slot->operand[i], 0, to[i], floats * sizeof(float)));
        any = true;
    }
    if (any) QB__OR_RETURN(qb__event_record(slot->taken, spill->down));
    return QB_OK;
}
