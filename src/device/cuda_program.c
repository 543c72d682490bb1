/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "device/cuda_api.h"

/* Modules and launches. */

enum { ARGS_MAX = 32 };

qb_status qb__cuda_load(qb__program *program, const qb__binary *binary) {
    QB__CUDA_CALL(program->device, "loading a program",
                  qb__cuda.module_load(&program->native, binary->bytes, 0, NULL, NULL));
    return QB_OK;
}

qb_status qb__cuda_build(qb__program *program, const char *text, const char *const *macros, qb__binary *binary) {
    const qb__device_info *info = &program->device->info;
    char **options = NULL;
    size_t count = 0;
    qb_status status;
    if (!qb__nvrtc.major) { return qb__fail(QB_NO_DEVICE, "%s: %s", info->spec, qb__device_missing(QB__API_CUDA)); }
    QB__TRY(qb__nvrtc_options(macros, &options, &count));
    qb__code code = program->device->lesser_arch ? QB__CODE_PTX
                    : info->arch_specific        ? QB__CODE_SPECIFIC
                                                 : QB__CODE_COMMON;
    QB__TRY(qb__nvrtc_compile(program->name, text, info->arch, code, (const char *const *)options, count, binary));
    status = qb__cuda_load(program, binary);
out:
    qb__options_free(options, count);
    return status;
}

void qb__cuda_unload(qb__program *program) {
    if (qb__cuda_enter(program->device) != QB_OK) return;
    qb__cuda.module_unload(program->native);
    qb__cuda_leave(program->device);
}

qb_status qb__cuda_kernel_get(qb__kernel *kernel) {
    qb__program *program = kernel->program;
    QB__OR_RETURN(qb__cuda_enter(program->device));
    qb__cu_result result = qb__cuda.function_get(&kernel->native, program->native, kernel->name);
    qb__cuda_leave(program->device);
    if (result == 500) { return qb__fail(QB_NOT_FOUND, "%s has no kernel %s", program->name, kernel->name); }
    return qb__cuda_status(program->device, result, kernel->name);
}

void qb__cuda_kernel_release(qb__kernel *kernel) { (void)kernel; }

/* More than 48 KiB of shared memory, with the kernel's static part, must be requested: dynamic shared memory is always
 * requested, once per kernel. */
static qb__cu_result opt_in(qb__kernel *kernel, size_t bytes) {
    if (bytes <= kernel->dynamic_bytes) return 0;
    qb__cu_result result = qb__cuda.function_set(kernel->native, QB__CU_FUNCTION_DYNAMIC_SHARED, (int)bytes);
    if (!result) kernel->dynamic_bytes = bytes;
    return result;
}

qb_status qb__cuda_kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                                 const qb__arg *args, size_t count) {
    void *values[ARGS_MAX];
    qb__cu_pointer null = 0;
    size_t dynamic = 0, used = 0;
    if (count > ARGS_MAX) { return qb__fail(QB_BAD_ARGUMENT, "%s: more than %d arguments", kernel->name, ARGS_MAX); }
    if (groups[0] > 0x7fffffff || groups[1] > 65535 || groups[2] > 65535) {
        return qb__fail(QB_BAD_ARGUMENT, "%s: %zu x %zu x %zu groups; CUDA takes 2^31-1 x 65535^2", kernel->name,
                        groups[0], groups[1], groups[2]);
    }
    for (size_t i = 0; i < count; i++) {
        const void *value = args[i].value;
        switch (args[i].kind) {
        case QB__ARG_MEMORY:
            values[used++] = value ? (void *)(uintptr_t) & ((const qb__memory *)value)->native : &null;
            break;
        case QB__ARG_TEXTURE: values[used++] = (void *)(uintptr_t) & ((const qb__texture *)value)->object; break;
        case QB__ARG_VALUE: values[used++] = (void *)(uintptr_t)value; break;
        case QB__ARG_LOCAL: dynamic += args[i].size; break;
        }
    }
    qb__device *device = queue->device;
    QB__OR_RETURN(qb__cuda_enter(device));
    pthread_mutex_lock(&kernel->lock);
    qb__cu_result result = opt_in(kernel, dynamic);
    pthread_mutex_unlock(&kernel->lock);
    if (!result) {
        result = qb__cuda.launch(kernel->native, (unsigned)groups[0], (unsigned)groups[1], (unsigned)groups[2],
                                 (unsigned)group[0], (unsigned)group[1], (unsigned)group[2], (unsigned)dynamic,
                                 queue->native, values, NULL);
    }
    qb__cuda_leave(device);
    return qb__cuda_status(device, result, kernel->name);
}
