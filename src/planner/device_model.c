/* SPDX-License-Identifier: MIT */
#include "planner/device_costs.h"

#include <math.h>
#include <stddef.h>

const char *const qb__unit_names[QB__UNITS] = {"texture", "shared memory", "arithmetic", "tensor core",
                                               "L2",      "memory",        "waiting"};

/* Per multiprocessor and clock: texels fetched with bilinear filtering, bytes of shared memory, fp32 lane instructions,
 * dense FLOP of fp16 products summed in fp32 by mma.sync, L2 bytes; then memory bytes per second of the most common
 * card. From the vendors' architecture tables; below compute capability 7.0 from Table 10 of the parallel
 * back-projection paper; sm_90 measured (bench/notes/devices.md). Kepler has 192 lanes, but without two instructions
 * per clock and warp it uses 128. Then limits of a multiprocessor: items, groups, KiB of shared memory, KiB of shared
 * memory and level-1 cache together, registers in units of 1024. */
typedef struct chip {
    int arch;
    double texels, local, lanes, tensor, l2, memory;
    double items, groups, shared, near, registers;
} chip;

static const chip chips[] = {
    {20, 4, 64, 32, 0, 12, 0.19e12, 1536, 8, 48, 64, 32},
    {30, 16, 256, 128, 0, 64, 0.19e12, 2048, 16, 48, 64, 64},
    {35, 16, 256, 128, 0, 55, 0.29e12, 2048, 16, 48, 64, 64},
    {52, 8, 128, 128, 0, 32, 0.22e12, 2048, 32, 96, 120, 64},
    {61, 8, 128, 128, 0, 27, 0.48e12, 2048, 32, 96, 120, 64},
    {70, 4, 128, 64, 0, 32, 0.75e12, 2048, 32, 96, 128, 64},
    {75, 4, 64, 64, 512, 32, 0.6e12, 1024, 16, 64, 96, 64},
    {80, 4, 128, 64, 2048, 48, 1.4e12, 2048, 32, 164, 192, 64},
    {86, 4, 128, 128, 512, 32, 0.8e12, 1536, 16, 100, 128, 64},
    {89, 4, 128, 128, 512, 32, 0.9e12, 1536, 24, 100, 128, 64},
    {90, 4, 128, 128, 2220, 32, 4.1e12, 2048, 32, 228, 256, 64},
    {100, 4, 128, 128, 2220, 48, 7.0e12, 2048, 32, 228, 256, 64},
    {120, 4, 128, 128, 512, 32, 1.6e12, 1536, 24, 100, 128, 64},
};
/* An unknown GPU, and a CPU core through OpenCL: half of its 8 lanes are used (measured with PoCL), textures are
 * filtered in software, and groups do not overlap. */
static const chip some_gpu = {0, 4, 64, 64, 0, 32, 0.3e12, 2048, 16, 64, 80, 64};
static const chip some_cpu = {0, 0.03, 32, 4, 0, 16, 2e10, 0, 0, 0, 0, 0};
/* Time from one launch to the next on the device, without the host. */
static const double launch_seconds = 4e-6;

static const chip *find_chip(const qb__device_info *device, bool *known) {
    const chip *best = device->is_cpu ? &some_cpu : &some_gpu;
    *known = device->is_cpu;
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        if (device->arch < chips[i].arch || device->arch == 0) continue;
        best = &chips[i];
        *known = device->arch == chips[i].arch;
    }
    return best;
}

void qb__device_model_of(const qb__device_info *device, qb__device_model *model) {
    const chip *c = find_chip(device, &model->known);
    double clocks = device->clock_hz > 0 ? device->clock_hz : 1.2e9;
    double all = clocks * (device->multiprocessors ? device->multiprocessors : 1);
    model->rate[QB__UNIT_TEXTURE] = c->texels * all;
    model->rate[QB__UNIT_LOCAL] = c->local * all;
    model->rate[QB__UNIT_ARITHMETIC] = c->lanes * all;
    /* OpenCL cannot use tensor cores. */
    model->rate[QB__UNIT_TENSOR] = device->api == QB__API_CUDA ? c->tensor * all : 0;
    model->rate[QB__UNIT_L2] = c->l2 * all;
    model->rate[QB__UNIT_MEMORY] = c->memory;
    model->rate[QB__UNIT_WAITING] = 0;
    model->asks = device->api == QB__API_CUDA;
    model->clock = clocks;
    model->multiprocessors = device->multiprocessors ? device->multiprocessors : 1;
    model->registers = c->registers * 1024;
    model->items = c->items;
    model->groups = c->groups;
    model->shared_bytes = c->shared * 1024;
    model->near_bytes = c->near * 1024;
}

/* The busiest of the units from `first` to `last`. */
static double longest(const double *seconds, int first, int last, int *which) {
    double most = 0;
    *which = QB__UNIT_ARITHMETIC;
    for (int unit = first; unit <= last; unit++)
        if (seconds[unit] > most) most = seconds[unit], *which = unit;
    return most;
}

/* Groups that alternate between computing and waiting, and multiprocessors that have one group more than others. */
static double with_groups(const qb__device_model *model, const qb__kernel_groups *g, const qb__occupancy *o,
                          double updates, double seconds[QB__UNITS], double busiest) {
    if (model->registers <= 0 || g->round <= 0 || busiest <= 0) return busiest;
    const double busy = busiest / updates * g->round * model->multiprocessors;
    const double wait = g->wait / model->clock, each = g->count / model->multiprocessors;
    const double uneven = g->count > 0 ? ceil(each) / each : 1;
    seconds[QB__UNIT_WAITING] = busiest * uneven * (busy + wait) / (busy * o->groups);
    return busiest * uneven * qb__device_turns(o->groups, busy, wait);
}

double qb__device_predict(const qb__device_model *model, const qb__kernel_cost *cost, double updates,
                          double seconds[QB__UNITS], int *bottleneck) {
    const qb__occupancy o = qb__device_occupancy(model, &cost->groups);
    const double work[QB__UNITS] = {cost->texels,
                                    cost->local_bytes + o.spilled_bytes,
                                    cost->arithmetic,
                                    cost->tensor_flops,
                                    cost->l2_bytes + o.spilled_bytes * o.spilled_far,
                                    cost->memory_bytes,
                                    0};
    double own[QB__UNITS], *all = seconds ? seconds : own;
    for (int unit = 0; unit < QB__UNITS; unit++) {
        double rate = model->rate[unit];
        all[unit] = work[unit] > 0 ? (rate > 0 ? work[unit] * updates / rate : 1e30) : 0;
    }
    const double texture = all[QB__UNIT_TEXTURE];
    /* Kernels that combine two methods wait for memory only in the part with groups of its own. */
    const int first = cost->texture_apart > 0 ? QB__UNIT_LOCAL : QB__UNIT_TEXTURE;
    double time = longest(all, first, QB__UNIT_MEMORY, bottleneck);
    time = with_groups(model, &cost->groups, &o, updates, all, time);
    const double shorter = time < texture ? time : texture;
    if (time < texture) time = texture;
    longest(all, QB__UNIT_TEXTURE, QB__UNIT_WAITING, bottleneck);
    return time + cost->texture_apart * shorter + cost->launches * launch_seconds;
}
