/* SPDX-License-Identifier: MIT */
/* Rows of a rolled detector for a device: the CPU prepares and resamples them. */
#include "base/memory.h"
#include "recon/fbp/fbp_device.h"

enum { ROLL_VIEWS = 4 }; /* views per task */

size_t qb__fbp_device_scratch(const qb__fbp_devices *gpu, const qb__cut *cut) {
    const qb__fbp *fbp = gpu->fbp;
    return fbp->roll.maps ? qb__rolled_rows_scratch(&fbp->rolled, (cut->slices - 1) * fbp->step + 1) : 0;
}

static size_t roll_tasks(void *self, size_t chunk) {
    (void)chunk;
    return qb__ceil_div(((const qb__fbp_devices *)self)->fbp->info->views, ROLL_VIEWS);
}

static qb_status roll_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    const qb__fbp_devices *gpu = self;
    const qb__fbp *fbp = gpu->fbp;
    const size_t views = fbp->info->views, columns = fbp->info->columns;
    const size_t slices = qb__fbp_chunk_slices(fbp, chunk), row0 = qb__fbp_chunk_row(fbp, chunk);
    const size_t end_view = qb__smaller((task + 1) * ROLL_VIEWS, views);
    size_t first, end;
    qb__fbp_window(fbp, row0, slices, &first, &end);
    for (size_t view = task * ROLL_VIEWS; view < end_view; view++)
        qb__rolled_rows_view(&fbp->rolled, gpu->run->prepare, view, row0, fbp->step, slices,
                             (const char *)in + view * (end - first) * qb__fbp_raw_row(fbp),
                             (float *)out + view * columns, views * columns, gpu->run->scratch[worker],
                             &gpu->run->counts[worker]);
    return QB_OK;
}

qb__stage qb__fbp_device_roll(qb__fbp_devices *gpu, const qb__cut *cut, qb__slot_maker maker) {
    const size_t slice = qb__fbp_up_slice(gpu->fbp);
    return (qb__stage){.name = "level",
                       .self = gpu,
                       .slots = cut->slots,
                       .slot_bytes = cut->slices * slice,
                       .last_bytes = qb__cut_last(cut, qb__run_count(cut->all_slices)) * slice,
                       .maker = maker,
                       .tasks = roll_tasks,
                       .run = roll_run};
}
