/* SPDX-License-Identifier: MIT */
/* SuperVoxels' buffers in local memory: the host part of icd_local.cl. */
#include <math.h>

#include "base/status.h"
#include "kernels/icd/icd_buffers.h"

enum { SIDE, BATCH, SHARE, AT_ONCE, OWNERS, AHEAD };
enum { LANES = 32, LEAST_SIDE = 4, LOCAL_EXTRA = 8192 }; /* local memory of a group besides its buffer, at most */

/* Start of each view's errors and weights. */
static size_t local_of(size_t views, size_t width) {
    return qb__round_up(views * width * 2 * sizeof(float) + views * 2, 16);
}

static int items_of(const int *values) { return values[OWNERS] + LANES * values[AT_ONCE]; }

static qb__buffers_sizes sizes_of(const qb__icd_ask *ask, size_t side, const int *values) {
    qb__buffers_sizes n = qb__buffers_sizes_of(ask, side);
    n.items = (size_t)items_of(values);
    n.local_bytes = local_of((size_t)n.views, n.width);
    return n;
}

static qb__supervoxels_how how_of(const qb__icd_ask *ask, size_t side, const int *values) {
    return (qb__supervoxels_how){side, ask->slices, values[BATCH], values[SHARE], 0};
}

/* Sides in descending order from `most`; 0 after the last. */
static size_t next_side(size_t most) {
    static const size_t sides[] = {16, 12, 8, 6, 4};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (sides[i] <= most) return sides[i];
    return 0;
}

/* For a fan, the corners of a SuperVoxel with a voxel at the edge lie within QB__ICD_SIDE of it, where rays still
 * diverge little. */
static size_t most_side(const qb__icd_problem *p, const int *values) {
    enum { FAN_MOST = 12 };
    return p->footprints.wx ? qb__smaller(FAN_MOST, (size_t)values[SIDE]) : (size_t)values[SIDE];
}

/* The largest side, up to that of the parameter, whose buffer fits into local memory. */
static size_t side_of(const qb__icd_ask *ask, const qb__device_info *device, const int *values) {
    size_t side = next_side(most_side(ask->problem, values)), less;
    for (; (less = next_side(side - 1)) != 0; side = less)
        if (sizes_of(ask, side, values).local_bytes + LOCAL_EXTRA <= device->local_bytes) break;
    return side;
}

/* The maximum over all sides, because the device's local memory is not known here. */
size_t qb__local_bytes(const qb__icd_ask *ask, const int *values) {
    size_t most = 0;
    for (size_t side = next_side(most_side(ask->problem, values)); side; side = next_side(side - 1)) {
        const qb__buffers_sizes n = sizes_of(ask, side, values);
        const qb__supervoxels_how how = how_of(ask, side, values);
        most = qb__larger(most, qb__buffers_room(&n, ask, &how));
    }
    return most;
}

const char *qb__local_unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__icd_size *p = of;
    const size_t width = qb__buffers_width(LEAST_SIDE * (p->taps > 1 ? p->taps - 1 : 1) + 1 + p->fan);
    const char *refuses = qb__buffers_refuses(device, p);
    if (refuses) return refuses;
    if (device->group_size < (size_t)items_of(values)) return "needs groups of 288 items";
    return local_of(p->views, width) + LOCAL_EXTRA > device->local_bytes
               ? "more views than local memory has room for a SuperVoxel's buffer"
               : NULL;
}

/* Per entry and slice. One group per SuperVoxel, alone on its multiprocessor: for a single slice not all
 * multiprocessors have work, and groups wait between voxels. */
void qb__local_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    enum { WAIT = 2000, REGISTERS = 118 };
    const qb__icd_size *p = of;
    const double taps = (double)p->taps, views = (double)p->views, side = values[SIDE], pixels = (double)p->pixels;
    const double along = sqrt(pixels) / side,
                 places = fmax(1, along * fmin(1, along / QB__SUPERVOXELS_FEW) * values[BATCH] / 100);
    const size_t width = qb__buffers_width((size_t)values[SIDE] * (p->taps - 1) + 1);
    /* footprints of a fan are computed one by one */
    *cost = (qb__kernel_cost){.arithmetic = 12 + (p->fan ? 110 : 64) / taps,
                              .local_bytes = 32,
                              .memory_bytes = 12 * (double)width / (side * side * taps),
                              .launches = 2 * (pixels / (side * side) / places + 4),
                              .groups = {.count = places * slices,
                                         .items = items_of(values),
                                         .local_bytes = (double)local_of(p->views, width),
                                         .registers = REGISTERS,
                                         .registers_least = REGISTERS,
                                         .blocks = 1,
                                         .round = views * taps * values[AT_ONCE],
                                         .wait = WAIT}};
}

static qb_status update(qb__icd_on_device *s, int32_t at, int32_t places, int32_t skip, int32_t stats_at) {
    const qb__buffers_sizes *n = &s->n;
    const int32_t count = (int32_t)s->list.count, positive = s->positive;
    return QB__BUFFERS_LAUNCH(B_UPDATE, places, n->slices, 1, n->items, QB__BUFFERS_BEAM, QB__MEMORY(s->error),
                              QB__MEMORY(s->root), QB__MEMORY(s->picked), QB__VALUE(at), QB__MEMORY(s->corner),
                              QB__VALUE(count), QB__MEMORY(s->x), QB__MEMORY(s->inside), QB__MEMORY(s->curve),
                              QB__VALUE(n->nx), QB__VALUE(n->ny), QB__VALUE(s->surrogate), QB__VALUE(s->b[0]),
                              QB__VALUE(s->b[1]), QB__MEMORY(s->toward), QB__VALUE(s->b[2]), QB__VALUE(positive),
                              QB__VALUE(skip), QB__MEMORY(s->left), QB__MEMORY(s->moved), QB__MEMORY(s->stats),
                              QB__VALUE(stats_at), QB__LOCAL(n->local_bytes));
}

qb_status qb__local_create(qb__device *device, const qb__icd_ask *ask, const int *values, qb__icd_on_device **out) {
    const size_t side = side_of(ask, qb__device_info_of(device), values);
    const qb__buffers_sizes n = sizes_of(ask, side, values);
    const qb__supervoxels_how how = how_of(ask, side, values);
    qb__macros macros = {.count = 0};
    qb__icd_on_device *s;
    const size_t room = qb__device_info_of(device)->local_bytes;
    *out = NULL;
    if (n.local_bytes + LOCAL_EXTRA > room)
        return qb__fail(QB_NO_MEMORY,
                        "SuperVoxels of %zu x %zu voxels are %zu detector columns wide, and local memory of %zu bytes "
                        "has no room for their "
                        "%d views: --device cpu takes any",
                        side, side, n.width, room, n.views);
    qb_status status = qb__buffers_new(device, ask, &n, &how, &s);
    if (status != QB_OK) return status;
    s->update = update;
    qb__buffers_shape(s, ask, &macros);
    QB__TRY(qb__buffers_build(s, QB__BUFFERS_START, &macros));
    QB__TRY(qb__buffers_build(s, QB__BUFFERS_RETURN, &macros));
    qb__macros_add(&macros, "AT_ONCE", values[AT_ONCE]);
    qb__macros_add(&macros, "OWNERS", values[OWNERS]);
    qb__macros_add(&macros, "EACH", (long long)qb__ceil_div((size_t)n.views, (size_t)values[OWNERS]));
    qb__macros_add(&macros, "AHEAD", values[AHEAD]);
    QB__TRY(qb__buffers_build(s, QB__BUFFERS_LOCAL, &macros));
    QB__TRY(qb__buffers_place(s, ask->problem));
    *out = s;
    s = NULL;
out:
    qb__buffers_destroy(s);
    return status;
}
