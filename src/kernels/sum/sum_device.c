/* SPDX-License-Identifier: MIT */
#include "kernels/sum/sum_device.h"

#include "base/memory.h"

enum { ITEMS = 256, MOST = 4096 /* groups */ };

struct qb__sum {
    qb__program *program;
    qb__kernel *kernel;
};

qb_status qb__sum_create(qb__device *device, qb__sum **out) {
    qb__sum *sum;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *sum, &sum);
    if (status == QB_OK) status = qb__program_build(device, "sum_add.cl", NULL, &sum->program);
    if (status == QB_OK) status = qb__kernel_get(sum->program, "sum_add", &sum->kernel);
    if (status == QB_OK)
        *out = sum;
    else
        qb__sum_destroy(sum);
    return status;
}

void qb__sum_destroy(qb__sum *sum) {
    if (!sum) return;
    qb__program_release(sum->program);
    qb__free(sum);
}

qb_status qb__sum_add(const qb__sum *sum, qb__queue *queue, qb__memory *to, size_t to_at, const qb__memory *from,
                      size_t from_at, size_t count) {
    const uint64_t at[2] = {to_at, from_at}, all = count;
    const qb__arg args[] = {QB__MEMORY(to), QB__VALUE(at[0]), QB__MEMORY(from), QB__VALUES(at[1], all)};
    const size_t groups[3] = {qb__smaller(qb__ceil_div(count, ITEMS), MOST), 1, 1}, items[3] = {ITEMS, 1, 1};
    if (count == 0) return QB_OK;
    return qb__kernel_launch(sum->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}
