/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "planner/device_costs.h"

/* Registers are allocated in units of eight, at most 255 per item; each group takes 1 KiB of shared memory in
 * addition. */
enum { REGISTER_STEP = 8, REGISTERS_MOST = 255, RESERVED_BYTES = 1 << 10 };

static double at_least(double a, double b) { return a > b ? a : b; }

static double at_most(double a, double b) { return a < b ? a : b; }

/* Registers of an item if the launch asks for `blocks` groups. */
static double registers_allowed(const qb__device_model *model, const qb__kernel_groups *g) {
    const double wish = model->asks && g->blocks > 0 ? g->blocks : 1;
    return at_most(REGISTERS_MOST, floor(model->registers / (g->items * wish) / REGISTER_STEP) * REGISTER_STEP);
}

static double groups_there(const qb__device_model *model, const qb__kernel_groups *g, double registers) {
    const double rounded = ceil(registers / REGISTER_STEP) * REGISTER_STEP;
    double n = at_most(model->groups, floor(model->items / g->items));
    n = at_most(n, floor(model->registers / (rounded * g->items)));
    n = at_most(n, floor(model->shared_bytes / (g->local_bytes + RESERVED_BYTES)));
    if (g->count > 0) n = at_most(n, ceil(g->count / model->multiprocessors));
    return at_least(n, 1);
}

/* Spilled sums are read and written at each view. The spills of all groups share the level-1 cache with shared memory;
 * what does not fit goes to L2. */
qb__occupancy qb__device_occupancy(const qb__device_model *model, const qb__kernel_groups *g) {
    qb__occupancy o = {1, 0, 0};
    if (model->registers <= 0 || g->items <= 0) return o;
    const double allowed = registers_allowed(model, g);
    const double out = at_least(0, g->registers_least - allowed);
    o.groups = groups_there(model, g, at_most(g->registers, allowed));
    if (out <= 0 || g->sums <= 0) return o;
    const double kept = 4 * out * g->items * o.groups;
    const double room = model->near_bytes - o.groups * (g->local_bytes + RESERVED_BYTES);
    o.spilled_bytes = 8 * out / g->sums;
    o.spilled_far = at_least(0, 1 - at_least(room, 0) / kept);
    return o;
}

/* A closed queue of one server and a delay: exact mean value analysis. An arriving group finds the queue that the other
 * groups would have without it. */
double qb__device_turns(double resident, double busy, double wait) {
    double waiting = 0, between = busy + wait;
    for (int n = 1; n <= (int)resident; n++) {
        const double stay = busy * (1 + waiting);
        between = (stay + wait) / n;
        waiting = stay / between;
    }
    return busy > 0 ? between / busy : 1;
}
