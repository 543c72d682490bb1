/* SPDX-License-Identifier: MIT */
/* The variants of projection on devices: their needs and costs. */
#include "kernels/project_joseph/project_joseph_parts.h"
#include "kernels/rows_table.h"

/* Bytes and indices for any layout. */
static const char *too_many(const qb__joseph_problem *p) {
    const size_t most = INT32_MAX / 64, *n = p->grid->n;
    return p->views > most || p->columns > most || p->rows > most || n[0] > most || n[1] > most || n[2] > most ||
                   (n[0] + 2 * EDGE) * (n[1] + 2 * EDGE) > UINT32_MAX / qb__joseph_line(false, 1) ||
                   p->columns * qb__joseph_stride(false, p->rows) > UINT32_MAX / QB__JOSEPH_VIEWS
               ? "more pixels or voxels than 32-bit indices hold"
               : NULL;
}

static const char *unusable(const qb__device_info *device, const void *of, const int *values) {
    const qb__joseph_problem *p = of;
    const size_t *n = p->grid->n;
    const char *why = too_many(p);
    if (why) return why;
    if ((size_t)(32 * values[COLUMNS] * values[VIEWS]) > device->group_size || device->group_size < ITEMS)
        return "needs larger groups";
    const bool vertical = qb__joseph_is_vertical(p->geometry, p->grid);
    if (!vertical && p->geometry->radius > 0)
        return "a curved detector that leans is projected by the CPU: --device cpu";
    static const int small[PARAMETERS] = {1, 1, 4, 1, 16, 2, 4, 2, 2}; /* largest value of each parameter */
    for (int i = 0; device->is_cpu && i < PARAMETERS; i++)
        if (values[i] > small[i]) return "more than a processor's compiler does in seconds";
    if (!values[TEXTURED]) return NULL;
    if (!device->images) return "needs textures with linear filtering";
    if (!vertical) return "needs the detector's rows along the axis";
    const size_t side = (n[0] > n[1] ? n[0] : n[1]) + 2 * EDGE;
    if (side > device->image_layers || side > device->image_height ||
        qb__joseph_line(false, n[2]) > device->image_width)
        return "more voxels a side than a texture holds";
    return NULL;
}

/* An update is a sample of a ray, the mean of both directions. The cost is from times on an H200
 * (bench/notes/project.md): because of memory latency it is twice the number of instructions. Textures were slightly
 * slower on every card so far. */
static void cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    (void)slices;
    const qb__joseph_problem *p = of;
    const double waste = (double)qb__round_up(p->rows, 32) / (double)p->rows;
    const double takes = !qb__joseph_is_vertical(p->geometry, p->grid) ? 165 : values[TEXTURED] ? 48 : 47;
    *cost = (qb__kernel_cost){.arithmetic = waste * takes,
                              .texels = values[TEXTURED] ? 0.5 * waste : 0,
                              .local_bytes = 14 * waste,
                              .l2_bytes = 3,
                              .launches = 1};
}

/* Slice by slice, where a line of voxels is a slice long, and a column of rays a row. */
static const char *unusable_flat(const qb__device_info *device, const void *of, const int *values) {
    const qb__joseph_problem *p = of;
    const char *why = too_many(p);
    qb__flat_shape shape;
    if (why) return why;
    if (p->views > 65535 || p->views * p->grid->n[2] > INT32_MAX / 2 || p->views * p->rows > INT32_MAX / 2)
        return "more views than a launch has groups";
    return device->group_size < ITEMS ? "needs larger groups"
                                      : qb__joseph_flat_refuses(p, 8 * (size_t)values[FLAT_STEPS], &shape);
}

/* Forward, a sample is two loads and about eight instructions; in the adjoint, two loads from local memory and about
 * twelve. All slices are computed, whatever rows there are. */
static void cost_flat(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    (void)slices, (void)values;
    const qb__joseph_problem *p = of;
    const double each = (double)p->grid->n[2] / (double)p->rows;
    *cost = (qb__kernel_cost){.arithmetic = 30 * each, .local_bytes = 8 * each, .l2_bytes = 6 * each, .launches = 5};
}

#define ROW(name, class, how, ...)                                                                                     \
    {                                                                                                                  \
        HEAD(QB__PROJECT_JOSEPH, name, QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, class, how, 0, 0, unusable,    \
             cost, __VA_ARGS__, P("LINES", 8, 4, 6), P("STEPS", 4, 8, 2, 1), P("BACK_GROUPS", 4, 3, 5, 2))             \
    }

static const qb__joseph_device_variant rows[] = {
    ROW("project_joseph.texture", QB_ACCURACY_FAST, "the texture engine interpolates; back, every voxel gathers",
        P("TEXTURED", 1), P("RAYS", 1, 2, 4), P("COLUMNS", 8, 4, 16), P("VIEWS", 2, 1, 4), P("CHUNK", 32, 16),
        P("GROUPS", 2, 3, 4)),
    ROW("project_joseph.alu", QB_ACCURACY_HIGH, "four voxels read and blended; back, every voxel gathers",
        P("TEXTURED", 0), P("RAYS", 2, 1, 4), P("COLUMNS", 4, 8, 16), P("VIEWS", 4, 1, 2), P("CHUNK", 64, 16, 32),
        P("GROUPS", 3, 2, 4)),
    {HEAD(QB__PROJECT_JOSEPH, "project_joseph.flat", QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, QB_ACCURACY_HIGH,
          "few slices, one by one; back, every voxel gathers", 0, 0, unusable_flat, cost_flat, P("TEXTURED", FLAT),
          P("STEPS", 4, 2, 1))},
};

const qb__joseph_device_variant *qb__joseph_device_variants(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}
