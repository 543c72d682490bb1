/* SPDX-License-Identifier: MIT */
#include "ops/device_model.h"

#include <stddef.h>

const char *const qb__unit_names[QB__UNITS] = {
    "texture", "shared memory", "arithmetic", "tensor core", "L2", "memory"};

/* Per multiprocessor and clock: texels fetched with bilinear filtering, bytes of shared memory,
 * fp32 lane instructions, dense FLOP of fp16 products summed in fp32 as mma.sync issues them; then
 * L2 bytes per multiprocessor and clock, and memory bytes a second of the card that ships most.
 * Vendors' architecture tables; sm_90 measured (docs/performance-devices.md). */
typedef struct chip {
    int arch;
    double texels, local, lanes, tensor, l2, memory;
} chip;

static const chip chips[] = {
    {75, 4, 64, 64, 512, 32, 0.6e12},    {80, 4, 128, 64, 2048, 48, 1.4e12},
    {86, 4, 128, 128, 512, 32, 0.8e12},  {89, 4, 128, 128, 512, 32, 0.9e12},
    {90, 4, 128, 128, 2220, 32, 4.1e12}, {100, 4, 128, 128, 2220, 48, 7.0e12},
    {120, 4, 128, 128, 512, 32, 1.6e12},
};
/* A GPU that nobody listed, and a CPU's core seen through OpenCL: 8 lanes wide, filtering textures
 * in software. */
static const chip some_gpu = {0, 4, 64, 64, 0, 32, 0.3e12};
static const chip some_cpu = {0, 0.03, 32, 8, 0, 16, 2e10};

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
    model->rate[QB__UNIT_TENSOR] = c->tensor * all;
    model->rate[QB__UNIT_L2] = c->l2 * all;
    model->rate[QB__UNIT_MEMORY] = c->memory;
}

double qb__device_predict(const qb__device_model *model, const qb__kernel_cost *cost,
                          double updates, double seconds[QB__UNITS], int *bottleneck) {
    const double work[QB__UNITS] = {cost->texels,       cost->local_bytes, cost->arithmetic,
                                    cost->tensor_flops, cost->l2_bytes,    cost->memory_bytes};
    double longest = 0;
    *bottleneck = QB__UNIT_ARITHMETIC;
    for (int unit = 0; unit < QB__UNITS; unit++) {
        double rate = model->rate[unit];
        double t = work[unit] > 0 ? (rate > 0 ? work[unit] * updates / rate : 1e30) : 0;
        if (seconds) seconds[unit] = t;
        if (t > longest) longest = t, *bottleneck = unit;
    }
    return longest;
}
