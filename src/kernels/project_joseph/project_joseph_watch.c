/* SPDX-License-Identifier: MIT */
/* Record of images with non-finite values, written by the kernels that convert layouts. */
#include "base/status.h"
#include "kernels/project_joseph/project_joseph_parts.h"

qb_status qb__joseph_watch(qb__joseph_plan *plan, qb__queue *queue, size_t images) {
    if (images > plan->watched) {
        qb__memory *more;
        QB__OR_RETURN(qb__memory_create(plan->device, images * sizeof(int32_t), &more));
        qb__memory_destroy(plan->odd);
        plan->odd = more;
        plan->watched = images;
    }
    plan->odd_at = 0;
    plan->watching = images;
    return qb__memory_fill(queue, plan->odd, 0, 0, images * sizeof(int32_t));
}

void qb__joseph_watch_from(qb__joseph_plan *plan, size_t first) { plan->odd_at = (int32_t)first; }

qb_status qb__joseph_watched(qb__joseph_plan *plan, qb__queue *queue, size_t *odd) {
    int32_t *noted = NULL;
    qb_status status;
    *odd = 0;
    QB__TRY(qb__alloc(plan->watching, sizeof *noted, &noted));
    QB__TRY(qb__memory_download(queue, plan->odd, 0, noted, plan->watching * sizeof *noted));
    QB__TRY(qb__queue_finish(queue));
    for (size_t i = 0; i < plan->watching; i++) *odd += (size_t)noted[i];
out:
    qb__free(noted);
    return status;
}
