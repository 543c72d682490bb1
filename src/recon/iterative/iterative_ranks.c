/* SPDX-License-Identifier: MIT */
/* Ranks that share the views of an iterative reconstruction. Each has a run of them and the whole volume: A x is of its
 * own views, A' y is over all. A voxel takes view after view, and so it does here: a run of the volume's bricks goes from
 * rank to rank, each adding its views, while the ranks before are at the next runs. So the bits are those of one process,
 * which conjugate gradients need: they enlarge what roundings differ by some hundred times. With U runs and R ranks it takes
 * (U + R - 1) / U of its time were they all busy; in an iteration each sends the volume once to the next, and the last one
 * to all. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

enum { UNITS = 8 }; /* runs of bricks, times ranks */

static size_t unit_bricks(const qb__iterative *it) {
    return qb__ceil_div(qb__project_bricks(it->projector), UNITS * it->ranks);
}

/* Of a unit's bricks, the largest that there are. */
static size_t unit_voxels(const qb__iterative *it) {
    size_t at[3], n[3];
    qb__project_brick(it->projector, 0, at, n);
    return unit_bricks(it) * n[0] * n[1] * n[2];
}

size_t qb__iterative_share_bytes(const qb__iterative *it) {
    if (it->ranks < 2) return 0;
    return 2 * unit_voxels(it) * sizeof(float) + it->ranks * (sizeof(double) + 2 * sizeof(qb__comm_part));
}

size_t qb__iterative_views(const qb__iterative *it, const qb__cut *cut) {
    if (cut->grid && (size_t)cut->grid->column >= it->info->views) return 0;
    return cut->view1 - cut->view0;
}

size_t qb__iterative_lines(const qb__iterative *it, const qb__cut *cut) {
    return (cut->view1 - cut->view0) * it->info->rows * it->info->columns;
}

static qb__comm *others(const qb__iterative_run *r) { return r->run->ranks ? r->run->ranks->in_row : NULL; }

qb_status qb__iterative_share(qb__iterative_run *r) {
    const size_t ranks = (size_t)qb__comm_count(others(r));
    qb_status status = QB_OK;
    if (ranks < 2) return QB_OK;
    QB__TRY(qb__alloc(ranks, sizeof *r->numbers, &r->numbers));
    QB__TRY(qb__alloc(2 * ranks, sizeof *r->parts, &r->parts));
    QB__TRY(qb__alloc(unit_voxels(r->it), sizeof *r->come, &r->come));
    QB__TRY(qb__alloc(unit_voxels(r->it), sizeof *r->gone, &r->gone));
out:
    return status;
}

qb_status qb__iterative_total(qb__iterative_run *r, double *sum) {
    if (!r->numbers) return QB_OK;
    const qb_status status = qb__comm_gather(others(r), QB_OK, sum, sizeof *sum, r->numbers);
    if (status != QB_OK) return status;
    *sum = 0;
    for (int i = 0; i < qb__comm_count(others(r)); i++) *sum += r->numbers[i];
    return QB_OK;
}

/* A unit: none where it is none of them. */
typedef struct unit {
    size_t first, end; /* bricks */
} unit;

static unit unit_at(const qb__iterative *it, size_t step, int rank) {
    const size_t all = qb__project_bricks(it->projector), each = unit_bricks(it);
    if (step < (size_t)rank) return (unit){0, 0};
    const size_t first = qb__smaller((step - (size_t)rank) * each, all);
    return (unit){first, qb__smaller(first + each, all)};
}

/* Its voxels to where they wait, or from there; how many bytes. */
static size_t copy_unit(const qb__iterative *it, unit u, bool out, float *waiting, float *x) {
    float *const begin = waiting;
    for (size_t brick = u.first; brick < u.end; brick++) {
        size_t at[3], n[3];
        qb__project_brick(it->projector, brick, at, n);
        for (size_t i = 0; i < n[1] * n[2]; i++, waiting += n[0]) {
            float *line = x + ((at[2] + i / n[1]) * it->grid.n[1] + at[1] + i % n[1]) * it->grid.n[0] + at[0];
            memcpy(out ? waiting : line, out ? line : waiting, n[0] * sizeof *x);
        }
    }
    return (size_t)(waiting - begin) * sizeof *x;
}

static size_t bytes_of(const qb__iterative *it, unit u) {
    size_t voxels = 0, at[3], n[3];
    for (size_t brick = u.first; brick < u.end; brick++) {
        qb__project_brick(it->projector, brick, at, n);
        voxels += n[0] * n[1] * n[2];
    }
    return voxels * sizeof(float);
}

qb_status qb__iterative_pass(qb__iterative_run *r, const float *values, size_t view1, float *x, const qb_env *env) {
    const qb__iterative *it = r->it;
    qb__comm *comm = others(r);
    const int ranks = qb__comm_count(comm), self = qb__comm_rank(comm);
    const size_t steps = qb__ceil_div(qb__project_bricks(it->projector), unit_bricks(it)) + it->ranks - 1;
    qb__comm_part *from = r->parts, *to = r->parts + ranks;
    qb_status status = QB_OK;
    if (self == 0) memset(x, 0, qb__iterative_unknowns(it) * sizeof *x);
    for (size_t step = 0; step < steps; step++) {
        const unit now = unit_at(it, step, self), next = unit_at(it, step + 1, self);
        if (self > 0) copy_unit(it, now, false, r->come, x);
        if (view1 > it->cut.view0)
            QB__TRY(qb__project_back(it->projector, values, it->cut.view0, view1, now.first, now.end, x, env));
        for (int i = 0; i < 2 * ranks; i++) r->parts[i] = (qb__comm_part){NULL, 0};
        if (self + 1 < ranks) to[self + 1] = (qb__comm_part){r->gone, copy_unit(it, now, true, r->gone, x)};
        if (self > 0) from[self - 1] = (qb__comm_part){r->come, bytes_of(it, next)};
        QB__TRY(qb__comm_exchange(comm, QB_OK, to, from));
    }
    status = qb__comm_bcast(comm, QB_OK, ranks - 1, x, qb__iterative_unknowns(it) * sizeof *x);
out:
    return status;
}

qb_status qb__iterative_leave(qb__iterative_run *r, qb_status status) { return qb__agree(others(r), status); }
