/* SPDX-License-Identifier: MIT */
#include "kernels/icd/icd_supervoxels.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

enum { COLOURS = 4, PASSES = 2 };

size_t qb__supervoxels_most(const qb__icd_problem *p, size_t side) {
    return qb__ceil_div(p->nx, side) * qb__ceil_div(p->ny, side);
}

/* The joint pull of SuperVoxels, relative to a single one, grows with the number of them on a ray. A small image has
 * fewer, and a batch takes at most half of the SuperVoxels of a colour in a pass, so that the sets differ between
 * sweeps: otherwise the same two SuperVoxels on common rays would correct the same residual in every sweep and
 * oscillate about their optimum. */
size_t qb__supervoxels_places(const qb__icd_problem *p, const qb__supervoxels_how *how) {
    const size_t along = qb__ceil_div(qb__larger(p->nx, p->ny), how->side),
                 few = qb__smaller(along, QB__SUPERVOXELS_FEW);
    const size_t places = along * few * (size_t)how->batch / (100 * QB__SUPERVOXELS_FEW);
    const size_t taken = qb__supervoxels_most(p, how->side) * (size_t)how->share / 100;
    return qb__larger(1, qb__smaller(places, taken / (2 * COLOURS)));
}

/* If slices take fewer at a time, batches have the places of the slice with most; each halving adds at most two thirds
 * to the total number of places. */
size_t qb__supervoxels_picked(const qb__supervoxels *s) {
    size_t parts = 1;
    for (size_t places = s->places; s->slices > 1 && places > 1; places /= 2) parts++;
    return PASSES * (parts * s->count + 2 * COLOURS * s->places) * s->slices;
}

static bool any_inside(const qb__icd_problem *p, size_t x0, size_t y0, size_t side) {
    for (size_t y = y0; y < qb__smaller(y0 + side, p->ny); y++)
        for (size_t x = x0; x < qb__smaller(x0 + side, p->nx); x++)
            if (p->inside[(y + 1) * (p->nx + 2) + x + 1]) return true;
    return false;
}

static void list_all(const qb__icd_problem *p, qb__supervoxels *s) {
    for (size_t y = 0; y < p->ny; y += s->side)
        for (size_t x = 0; x < p->nx; x += s->side) {
            if (!any_inside(p, x, y, s->side)) continue;
            s->corner[s->count] = (int32_t)(x | y << 16);
            s->colour[s->count++] = (uint8_t)(x / s->side % 2 + y / s->side % 2 * 2);
        }
}

qb_status qb__supervoxels_create(const qb__icd_problem *p, const qb__supervoxels_how *how, qb__supervoxels *s) {
    const size_t most = qb__supervoxels_most(p, how->side);
    *s = (qb__supervoxels){.side = how->side,
                           .slices = how->slices,
                           .places = qb__supervoxels_places(p, how),
                           .share = how->share,
                           .least = how->least};
    QB__OR_RETURN(qb__alloc(most, sizeof *s->corner, &s->corner));
    QB__OR_RETURN(qb__alloc(most, sizeof *s->colour, &s->colour));
    list_all(p, s);
    QB__OR_RETURN(qb__alloc(s->count * s->slices, sizeof *s->amount, &s->amount));
    QB__OR_RETURN(qb__alloc(PASSES * s->count * s->slices, sizeof *s->visited, &s->visited));
    QB__OR_RETURN(qb__alloc(qb__supervoxels_picked(s), sizeof *s->picked, &s->picked));
    QB__OR_RETURN(qb__alloc(PASSES * (s->count + COLOURS), sizeof *s->batch_at, &s->batch_at));
    QB__OR_RETURN(qb__alloc(PASSES * (s->count + COLOURS), sizeof *s->batch_places, &s->batch_places));
    QB__OR_RETURN(qb__alloc(s->count * s->slices, sizeof *s->order, &s->order));
    QB__OR_RETURN(qb__alloc(s->count, sizeof *s->ranked, &s->ranked));
    QB__OR_RETURN(qb__alloc(s->slices, sizeof *s->counts, &s->counts));
    QB__OR_RETURN(qb__alloc(s->slices, sizeof *s->of_colour, &s->of_colour));
    QB__OR_RETURN(qb__alloc(s->slices, sizeof *s->fewer, &s->fewer));
    QB__OR_RETURN(qb__alloc(s->slices, sizeof *s->cost, &s->cost));
    qb__supervoxels_begin(s);
    return QB_OK;
}

/* ---- selection ---- */

static void shuffle(size_t *order, size_t count, qb__random *random) {
    for (size_t i = 0; i < count; i++) order[i] = i;
    for (size_t i = count; i-- > 1;) {
        const size_t other = qb__random_bits(random) % (i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/* Largest change first; equal ones in order. */
static bool is_before(const qb__ranked *a, const qb__ranked *b) {
    return a->amount != b->amount ? a->amount > b->amount : a->index < b->index;
}

/* The element with `nth` others before it (Hoare's quickselect). */
static qb__ranked nth_of(qb__ranked *list, size_t count, size_t nth) {
    for (size_t low = 0, high = count - 1; low < high;) {
        const qb__ranked middle = list[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (is_before(&list[i], &middle)) i++;
            while (is_before(&middle, &list[j])) j--;
            if (i >= j) break;
            const qb__ranked kept = list[i];
            list[i] = list[j];
            list[j] = kept;
        }
        if (nth <= j)
            high = j;
        else
            low = j + 1;
    }
    return list[nth];
}

/* order[] of a slice, and the number taken in a pass. The selected ones keep their random order. */
static size_t draw(qb__supervoxels *s, size_t slice, uint64_t seed, int turn, size_t pass) {
    qb__random random = qb__random_stream(seed, (uint64_t)turn * PASSES + pass);
    size_t *order = s->order + slice * s->count, some = qb__ceil_div(s->count * (size_t)s->share, 100), kept = 0;
    shuffle(order, s->count, &random);
    if (turn == 0 || some >= s->count) return pass ? 0 : s->count;
    if (pass) return some;
    const double *amount = s->amount + slice * s->count;
    for (size_t i = 0; i < s->count; i++) s->ranked[i] = (qb__ranked){amount[i], i};
    const qb__ranked last = nth_of(s->ranked, s->count, some - 1);
    for (size_t i = 0; i < s->count; i++) {
        const qb__ranked one = {amount[order[i]], order[i]};
        if (!is_before(&last, &one)) order[kept++] = order[i];
    }
    return some;
}

/* ---- batches ---- */

/* For a slice and a colour; the last part of a batch is left out if it is too small. */
static size_t batches_of(const qb__supervoxels *s, size_t slice) {
    const size_t all = s->of_colour[slice], places = s->fewer[slice], batches = qb__ceil_div(all, places);
    const bool out = batches > 1 && (all - (batches - 1) * places) * 100 < places * (size_t)s->least;
    return batches - out;
}

/* SuperVoxels of a colour in a batch of a slice. */
static size_t places_in(const qb__supervoxels *s, size_t slice, size_t batch) {
    const size_t places = s->fewer[slice];
    return batch < batches_of(s, slice) ? qb__smaller(places, s->of_colour[slice] - batch * places) : 0;
}

/* The n-th SuperVoxel of a colour in a slice; batches of a colour run in parallel for all slices. */
static void add_colour(qb__supervoxels *s, uint8_t colour, size_t first, bool *visited) {
    for (size_t slice = 0; slice < s->slices; slice++) {
        const size_t *order = s->order + slice * s->count, take = s->counts[slice], batches = batches_of(s, slice);
        size_t n = 0;
        for (size_t i = 0; i < take; i++) {
            const size_t one = order[i], batch = first + n / s->fewer[slice];
            if (s->colour[one] != colour) continue;
            if (batch - first >= batches) break;
            s->picked[s->batch_at[batch] + slice * (size_t)s->batch_places[batch] + n++ % s->fewer[slice]] =
                (int32_t)one;
            visited[slice * s->count + one] = true;
        }
    }
}

static void count_colour(qb__supervoxels *s, uint8_t colour) {
    for (size_t slice = 0; slice < s->slices; slice++) {
        const size_t *order = s->order + slice * s->count, take = s->counts[slice];
        s->of_colour[slice] = 0;
        for (size_t i = 0; i < take; i++) s->of_colour[slice] += s->colour[order[i]] == colour;
    }
}

/* Append the places of a colour's batches, all empty. */
static size_t cut_colour(qb__supervoxels *s) {
    for (size_t batches = 0;; batches++) {
        size_t places = 0;
        for (size_t slice = 0; slice < s->slices; slice++) places = qb__larger(places, places_in(s, slice, batches));
        if (!places) return batches;
        s->batch_at[s->batches + batches] = s->used;
        s->batch_places[s->batches + batches] = (int32_t)places;
        for (const size_t end = s->used + places * s->slices; s->used < end; s->used++) s->picked[s->used] = -1;
    }
}

void qb__supervoxels_sweep(qb__supervoxels *s, uint64_t seed, int turn, const bool *still) {
    const size_t all = s->count * s->slices;
    s->batches = s->used = 0;
    memset(s->visited, 0, PASSES * all * sizeof *s->visited);
    for (size_t pass = 0; pass < PASSES; pass++) {
        s->second = s->batches;
        for (size_t slice = 0; slice < s->slices; slice++)
            s->counts[slice] = still[slice] ? 0 : draw(s, slice, seed, turn, pass);
        for (uint8_t colour = 0; colour < COLOURS; colour++) {
            count_colour(s, colour);
            const size_t batches = cut_colour(s);
            add_colour(s, colour, s->batches, s->visited + pass * all);
            s->batches += batches;
        }
    }
}

/* ---- number at a time ---- */

void qb__supervoxels_begin(qb__supervoxels *s) {
    for (size_t slice = 0; slice < s->slices; slice++) s->fewer[slice] = s->places, s->cost[slice] = INFINITY;
}

void qb__supervoxels_ease(qb__supervoxels *s, const double *cost) {
    const double rounding = 1 + 1e-3;
    for (size_t slice = 0; slice < s->slices; slice++) {
        if (cost[slice] > rounding * s->cost[slice]) s->fewer[slice] = qb__larger(1, s->fewer[slice] / 2);
        s->cost[slice] = cost[slice];
    }
}

void qb__supervoxels_destroy(qb__supervoxels *s) {
    qb__free(s->corner);
    qb__free(s->colour);
    qb__free(s->amount);
    qb__free(s->visited);
    qb__free(s->picked);
    qb__free(s->batch_at);
    qb__free(s->batch_places);
    qb__free(s->order);
    qb__free(s->ranked);
    qb__free(s->counts);
    qb__free(s->of_colour);
    qb__free(s->fewer);
    qb__free(s->cost);
    *s = (qb__supervoxels){0};
}
