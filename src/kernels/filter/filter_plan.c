/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "kernels/filter/filter_device_parts.h"

enum {
    HELD = 16,         /* complex numbers of a work item, two registers each */
    GROUP = 128,       /* smallest number of work items of a group */
    REGISTERS = 65536, /* registers of a CUDA multiprocessor */
    PASSES = 4,        /* passes of filter_rows.cl before the last one */
    COUNTERS = 4,      /* words after the local memory of the rows */
};

/* Powers of two for which other radices than those of the rule below are faster on an H200. */
static const struct {
    int bits, passes, radix[QB__RADICES_MAX], last;
} measured[] = {{9, 2, {16, 8}, 4}, {12, 3, {16, 16, 4}, 4}};

static bool use_measured(int bits, qb__filter_plan *plan) {
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        if (measured[i].bits != bits) continue;
        plan->passes = measured[i].passes;
        plan->last = measured[i].last;
        for (int k = 0; k < plan->passes; k++) plan->radix[k] = measured[i].radix[k];
        return true;
    }
    return false;
}

/* Radices are at most 16. There are as few passes as possible, with radices as equal as possible, larger ones first.
 * The last pass works on pairs of butterflies: its radix is at most 8, so that a pair, too, is HELD numbers. */
bool qb__filter_radices(size_t half, qb__filter_plan *plan) {
    size_t odd = half;
    int bits = 0, passes;
    while (odd > 1 && odd % 2 == 0) odd /= 2, bits++;
    if (bits == 0 || (odd != 1 && odd != 3 && odd != 5 && odd != 15)) return false;
    *plan = (qb__filter_plan){.last = (int)odd};
    if (odd == 1 && use_measured(bits, plan)) return true;
    if (odd == 5 && bits % 4 == 1 && bits > 1) { /* 2560 = 16 x 16 x 10 */
        plan->last = 10;
        bits--;
    }
    passes = (bits + 3) / 4;
    if (odd == 1) {
        if (passes < 2) passes = 2;
        if (bits == 4 * passes) passes++;
    }
    if (passes > QB__RADICES_MAX) return false;
    for (int i = 0; i < passes; i++) {
        int radix = 1 << (bits / passes + (i < bits % passes));
        if (odd == 1 && i == passes - 1)
            plan->last = radix;
        else
            plan->radix[plan->passes++] = radix;
    }
    return true;
}

/* ROOM of filter_rows.cl, in bytes. */
static size_t room(size_t half) { return (half + half / 16 + 2) / 2 * 2 * 2 * sizeof(float); }

const char *qb__filter_plan_make(size_t half, const qb__device_info *device, qb__filter_plan *plan) {
    if (!qb__filter_radices(half, plan)) return "the length has other factors than 2, 3 and 5";
    if (plan->passes > PASSES) return "the length takes too many passes";
    size_t counters = COUNTERS * sizeof(int);
    if (room(half) + counters > device->local_bytes) return "a row is larger than local memory";
    plan->items = qb__ceil_div(half, HELD);
    for (size_t held = 2 * HELD; plan->items > device->group_size; held *= 2) {
        if (held > 4 * HELD) return "a group has too few work items for a row";
        plan->items = qb__ceil_div(half, held);
    }
    plan->group_rows = plan->items < GROUP ? GROUP / plan->items : 1;
    while (plan->group_rows > 1 && (plan->group_rows * room(half) + counters > device->local_bytes ||
                                    plan->group_rows * plan->items > device->group_size))
        plan->group_rows--;
    plan->local_bytes = plan->group_rows * room(half) + counters;
    /* Reserve enough registers for the values of an item, then run as many groups as fit. */
    size_t each = plan->items * HELD < half ? 96 : 64;
    plan->groups = REGISTERS / (each * plan->group_rows * plan->items);
    if (plan->groups * plan->local_bytes > device->local_bytes) plan->groups = device->local_bytes / plan->local_bytes;
    if (plan->groups == 0) plan->groups = 1;
    return NULL;
}
