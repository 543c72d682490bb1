/* SPDX-License-Identifier: MIT */
#include "planner/kernel_name.h"

#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "cpu/bp_cone/bp_cone.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "cpu/project_joseph/project_joseph.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "planner/backproject.h"

static const qb__bp_parallel_device_variant *device_row(const char *id) {
    size_t count;
    const qb__bp_parallel_device_variant *const *rows = qb__bp_parallel_device_variants(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i]->id, id) == 0) return rows[i];
    }
    return NULL;
}

static const qb__bp_parallel_variant *cpu_row(const char *id) {
    size_t count;
    const qb__bp_parallel_variant *rows = qb__bp_parallel_variants(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].id, id) == 0) return &rows[i];
    }
    return NULL;
}

static bool is_cone(const char *id) {
    size_t count;
    const qb__bp_cone_variant *rows = qb__bp_cone_variants(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].id, id) == 0) return true;
    }
    return false;
}

static bool is_projector(const char *id) {
    size_t count;
    const qb__joseph_variant *rows = qb__joseph_variants(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].id, id) == 0) return true;
    }
    return false;
}

bool qb__kernel_of_device(const char *id) {
    return device_row(id) != NULL;
}

qb_status qb__kernel_refuse(const char *id) {
    const char *where = device_row(id)
                            ? "a parallel beam's, and runs on devices only: --device cuda or opencl"
                        : cpu_row(id) ? "a parallel beam's, and runs on the CPU only: --device cpu"
                        : is_cone(id) ? "a cone beam's: qb fdk"
                        : is_projector(id) ? "for forward projection: qb project"
                                           : NULL;
    if (where) return qb__fail(QB_BAD_ARGUMENT, "--kernel %s is %s", id, where);
    return qb__fail(QB_BAD_ARGUMENT, "there is no kernel %s: qb devices lists them", id);
}

qb_status qb__kernel_interp(const char *id, qb_interp *interp, const qb_env *env) {
    const bool open = *interp == QB_INTERP_AUTO;
    if (open) *interp = QB_INTERP_LINEAR;
    if (!id) return QB_OK;
    const qb__bp_parallel_device_variant *device = device_row(id);
    const qb__bp_parallel_variant *cpu = cpu_row(id);
    if (!device && !cpu) return qb__kernel_refuse(id);
    const qb_interp own = device ? device->interp : cpu->interp;
    const char *name = qb_interp_name(own);
    if (!open && own != *interp)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--interp %s contradicts --kernel %s, which is %s: leave one of them out",
                        qb_interp_name(*interp), id, name);
    if (open && own != *interp) qb__info(env, "--interp %s, since the kernel is", name);
    *interp = own;
    return QB_OK;
}
