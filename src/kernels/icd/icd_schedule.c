/* SPDX-License-Identifier: MIT */
#include "kernels/icd/icd_schedule.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

/* Period of the lattice in tiles: a batch has nx ny / (period tile)^2 tiles. At 512^2 with tiles of 4 x 4 it is 14,
 * which gives 66 tiles of a disc. */
static size_t period_of(const qb__icd_problem *p, size_t wide, size_t high) {
    const double side = (double)qb__larger(p->nx, p->ny), tile = sqrt((double)(wide * high));
    const double period = 1.23 * sqrt(side / tile);
    return qb__larger(3, (size_t)ceil(period));
}

static bool any_inside(const qb__icd_problem *p, size_t x0, size_t y0, size_t wide, size_t high) {
    for (size_t y = y0; y < qb__smaller(y0 + high, p->ny); y++)
        for (size_t x = x0; x < qb__smaller(x0 + wide, p->nx); x++)
            if (p->inside[(y + 1) * (p->nx + 2) + x + 1]) return true;
    return false;
}

/* Rows of the lattice are shifted against each other by about a third of the period. */
static size_t batch_of(size_t tx, size_t ty, size_t period) {
    const size_t shift = (ty / period) * (period / 3 + 1);
    return ty % period * period + (tx + shift) % period;
}

static size_t list_tiles(const qb__icd_problem *p, size_t wide, size_t high, size_t period, qb__icd_schedule *s,
                         size_t *filled) {
    size_t most = 0, tile = 0;
    for (size_t y = 0; y < p->ny; y += high)
        for (size_t x = 0; x < p->nx; x += wide) {
            if (!any_inside(p, x, y, wide, high)) continue;
            const size_t batch = batch_of(x / wide, y / high, period), at = filled[batch]++;
            most = qb__larger(most, filled[batch]);
            if (s->batch) {
                s->batch[batch * s->places + at] = (int32_t)tile;
                s->corner[tile] = (int32_t)(x | y << 16);
            }
            tile++;
        }
    s->tiles = tile;
    return most;
}

qb_status qb__icd_schedule_create(const qb__icd_problem *problem, size_t wide, size_t high, qb__icd_schedule *s) {
    const size_t period = period_of(problem, wide, high), batches = period * period;
    size_t *filled = NULL;
    qb_status status;
    *s = (qb__icd_schedule){.batches = batches};
    QB__TRY(qb__alloc(batches, sizeof *filled, &filled));
    QB__TRY(qb__alloc(batches, sizeof *s->order, &s->order));
    s->places = list_tiles(problem, wide, high, period, s, filled);
    QB__TRY(qb__alloc(s->tiles, sizeof *s->corner, &s->corner));
    QB__TRY(qb__alloc(batches * s->places, sizeof *s->batch, &s->batch));
    for (size_t i = 0; i < batches; i++) filled[i] = 0;
    for (size_t i = 0; i < batches * s->places; i++) s->batch[i] = -1;
    list_tiles(problem, wide, high, period, s, filled);
out:
    qb__free(filled);
    return status;
}

static void shuffle(size_t *order, size_t count, uint64_t seed, int turn) {
    qb__random random = qb__random_stream(seed, (uint64_t)turn);
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count - 1; i > 0; i--) {
        const size_t other = qb__random_bits(&random) % (i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Groups 0, 1, 0, 1 ... are half a sweep apart. With an odd number, the last one, which is a neighbour of the first, is
 * a quarter apart. There are at least nine batches. If the first group has odd parity, it begins in the middle. */
void qb__icd_schedule_sweep(const qb__icd_schedule *s, uint64_t seed, int turn, size_t groups, bool joined,
                            size_t first, const bool *still, int32_t *picked) {
    shuffle(s->order, s->batches, seed, turn);
    for (size_t b = 0; b < s->batches; b++)
        for (size_t g = 0; g < groups; g++) {
            size_t apart = joined ? (first + g) % 2 * (s->batches / 2) : 0;
            if (joined && groups % 2 && groups > 1 && g + 1 == groups) apart = s->batches / 4;
            const int32_t *from = s->batch + s->order[(b + apart) % s->batches] * s->places;
            for (size_t i = 0; i < s->places; i++)
                picked[(b * groups + g) * s->places + i] = still && still[g] ? -1 : from[i];
        }
}

void qb__icd_schedule_destroy(qb__icd_schedule *s) {
    qb__free(s->corner);
    qb__free(s->batch);
    qb__free(s->order);
    s->corner = s->batch = NULL;
    s->order = NULL;
}
