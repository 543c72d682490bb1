/* SPDX-License-Identifier: MIT */
#include "plane.h"

#include <math.h>
#include <stdlib.h>

#include "query.h"

enum { POINTS_MOST = 1 << 22, SIDE_MOST = 1 << 12, BOX_MOST = 1 << 16 };

bool view_oblique_parse(const char *query, view_oblique *o) {
    if (!view_reals(query, "at", 3, o->at) || !view_reals(query, "down", 3, o->down) ||
        !view_reals(query, "right", 3, o->right) || !view_numbers(query, "count", 2, o->count))
        return false;
    return o->count[0] > 0 && o->count[1] > 0 && o->count[0] <= SIDE_MOST && o->count[1] <= SIDE_MOST &&
           o->count[0] * o->count[1] <= POINTS_MOST;
}

/* A run of points along a line. */
typedef struct run {
    double at[3], step[3];
    size_t count;
    float *out;
} run;

/* The voxels around the points of a run. */
typedef struct box {
    size_t first[3], count[3];
    float *values;
} box;

static bool is_inside(const size_t n[3], const double at[3]) {
    for (int j = 0; j < 3; j++)
        if (!(at[j] >= -0.5 && at[j] <= (double)n[j] - 0.5)) return false;
    return true;
}

static double within(double at, size_t n) { return fmin(fmax(at, 0), (double)(n - 1)); }

static void bound(const size_t n[3], const run *r, box *b) {
    for (int j = 0; j < 3; j++) {
        const double from = within(r->at[j], n[j]), to = within(r->at[j] + (double)(r->count - 1) * r->step[j], n[j]);
        b->first[j] = (size_t)floor(fmin(from, to));
        b->count[j] = (size_t)ceil(fmax(from, to)) - b->first[j] + 1;
    }
}

static float value_in(const size_t n[3], const box *b, const double at[3]) {
    double sum = 0, share[3];
    size_t low[3], high[3];
    for (int j = 0; j < 3; j++) {
        const double place = within(at[j], n[j]) - (double)b->first[j];
        low[j] = (size_t)fmax(floor(place), 0);
        if (low[j] > b->count[j] - 1) low[j] = b->count[j] - 1;
        high[j] = low[j] + 1 < b->count[j] ? low[j] + 1 : low[j];
        share[j] = place - (double)low[j];
    }
    for (int k = 0; k < 8; k++) {
        const size_t z = k & 4 ? high[0] : low[0], y = k & 2 ? high[1] : low[1], x = k & 1 ? high[2] : low[2];
        const double weight =
            (k & 4 ? share[0] : 1 - share[0]) * (k & 2 ? share[1] : 1 - share[1]) * (k & 1 ? share[2] : 1 - share[2]);
        if (weight > 0) sum += weight * (double)b->values[(z * b->count[1] + y) * b->count[2] + x];
    }
    return (float)sum;
}

/* Reads the values of a run. A run whose box of voxels is too large is divided into halves. */
static qb_status read_run(const view_stack *stack, const run *r, float *room) {
    const size_t *n = stack->info->shape, step[3] = {1, 1, 1};
    box b = {.values = room};
    bound(n, r, &b);
    if (r->count > 1 && b.count[0] * b.count[1] > BOX_MOST / b.count[2]) {
        const size_t half = r->count / 2;
        run low = *r, high = *r;
        low.count = half;
        high.count -= half;
        high.out += half;
        for (int j = 0; j < 3; j++) high.at[j] += (double)half * r->step[j];
        const qb_status status = read_run(stack, &low, room);
        return status == QB_OK ? read_run(stack, &high, room) : status;
    }
    const qb_status status = stack->read(stack->user, b.first, b.count, step, room);
    for (size_t i = 0; status == QB_OK && i < r->count; i++) {
        double at[3];
        for (int j = 0; j < 3; j++) at[j] = r->at[j] + (double)i * r->step[j];
        r->out[i] = value_in(n, &b, at);
    }
    return status;
}

qb_status view_oblique_read(const view_stack *stack, const view_oblique *o, float *out) {
    const size_t *n = stack->info->shape;
    float *room = malloc(BOX_MOST * sizeof *room);
    qb_status status = room ? QB_OK : QB_NO_MEMORY;
    for (size_t i = 0; status == QB_OK && i < o->count[0]; i++) {
        float *line = out + i * o->count[1];
        for (size_t j = 0, end; status == QB_OK && j < o->count[1]; j = end) {
            run r = {.out = line + j};
            double at[3];
            for (end = j; end < o->count[1]; end++) { /* finds a run of points inside the stack */
                for (int k = 0; k < 3; k++) at[k] = o->at[k] + (double)i * o->down[k] + (double)end * o->right[k];
                if (!is_inside(n, at)) break;
                for (int k = 0; k < 3 && end == j; k++) r.at[k] = at[k], r.step[k] = o->right[k];
            }
            r.count = end - j;
            if (r.count)
                status = read_run(stack, &r, room);
            else
                line[end++] = NAN;
        }
    }
    free(room);
    return status;
}
