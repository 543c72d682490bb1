/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/opencl_api.h"

/* Programs and launches. */

/* "-cl-std=CL1.2 -w -DNAME=VALUE ..."; -w, because PoCL's compiler prints the number of its warnings on stderr. */
static qb_status options_of(const qb__device *device, const char *const *macros, char **options) {
    static const char standard[] = "-cl-std=CL1.2 -w";
    size_t size = sizeof standard;
    for (size_t i = 0; macros && macros[i]; i++) size += strlen(macros[i]) + 32;
    QB__OR_RETURN(qb__alloc(size, 1, options));
    size_t used = (size_t)snprintf(*options, size, "%s", standard);
    for (size_t i = 0; macros && macros[i]; i++) {
        bool cap = !strncmp(macros[i], "QB_REGISTERS=", 13);
        if (cap && !device->nvidia) continue;
        used += (size_t)snprintf(*options + used, size - used, cap ? " -cl-nv-maxrregcount=%s" : " -D%s",
                                 cap ? macros[i] + 13 : macros[i]);
    }
    return QB_OK;
}

/* The first error in a compiler's log, which may begin with many lines of warnings. */
static const char *first_error(const char *log) {
    const char *error = strstr(log, "error");
    if (!error) return log;
    while (error > log && error[-1] != '\n') error--;
    return error;
}

static qb_status complain(qb__program *program, void *native, qb__cl_result result) {
    qb__device *device = program->device;
    char *log = NULL;
    size_t size = 0;
    if (result != -11 || qb__opencl.program_log(native, device->id, QB__CL_PROGRAM_LOG, 0, NULL, &size) ||
        qb__alloc(size + 1, 1, &log) != QB_OK ||
        qb__opencl.program_log(native, device->id, QB__CL_PROGRAM_LOG, size, log, NULL)) {
        qb__free(log);
        return qb__opencl_status(device, result, QB__CL_LAUNCHES, program->name);
    }
    qb__fail(QB_INTERNAL, "%s does not compile %s: %.800s", device->info.spec, program->name, first_error(log));
    qb__free(log);
    return QB_INTERNAL;
}

/* The binary that the driver can load again; without it nothing is cached. PoCL has its own cache of launched kernels,
 * and would compile a second time, for groups of any size, to return a binary: so one byte is stored as a note that the
 * program exists. */
static void take_binary(const qb__device *device, void *native, qb__binary *binary) {
    size_t count = 1;
    unsigned char *bytes = NULL;
    if (!device->info.is_cpu && qb__opencl.program_info(native, QB__CL_PROGRAM_SIZES, sizeof count, &count, NULL))
        return;
    if (!count || qb__alloc(count, 1, &bytes) != QB_OK) return;
    binary->bytes = bytes;
    binary->count = count;
    if (device->info.is_cpu) return;
    if (qb__opencl.program_info(native, QB__CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL)) {
        qb__free(bytes);
        *binary = (qb__binary){0};
    }
}

qb_status qb__opencl_build(qb__program *program, const char *text, const char *const *macros, qb__binary *binary) {
    qb__device *device = program->device;
    char *options = NULL;
    qb__cl_result result;
    void *native = NULL;
    qb_status status;
    QB__TRY(options_of(device, macros, &options));
    native = qb__opencl.program_create(device->open.context, 1, &text, NULL, &result);
    QB__TRY(qb__opencl_status(device, result, QB__CL_ALLOCATES, program->name));
    result = qb__opencl.program_build(native, 1, &device->id, options, NULL, NULL);
    if (result) {
        status = complain(program, native, result);
        goto out;
    }
    take_binary(device, native, binary);
    program->native = native;
out:
    if (status != QB_OK && native) qb__opencl.program_release(native);
    qb__free(options);
    return status;
}

qb_status qb__opencl_load(qb__program *program, const qb__binary *binary) {
    qb__device *device = program->device;
    const unsigned char *bytes = binary->bytes;
    qb__cl_result each = 0, result;
    void *native =
        qb__opencl.program_binary(device->open.context, 1, &device->id, &binary->count, &bytes, &each, &result);
    if (!result) result = each;
    if (!result) result = qb__opencl.program_build(native, 1, &device->id, "", NULL, NULL);
    if (!result) {
        program->native = native;
        return QB_OK;
    }
    if (native) qb__opencl.program_release(native);
    return qb__fail(QB_INTERNAL, "%s does not take %s back from the cache (%d)", device->info.spec, program->name,
                    result);
}

void qb__opencl_unload(qb__program *program) { qb__opencl.program_release(program->native); }

qb_status qb__opencl_kernel_get(qb__kernel *kernel) {
    qb__cl_result result;
    kernel->native = qb__opencl.kernel_create(kernel->program->native, kernel->name, &result);
    if (result == -46) { return qb__fail(QB_NOT_FOUND, "%s has no kernel %s", kernel->program->name, kernel->name); }
    return qb__opencl_status(kernel->program->device, result, QB__CL_LAUNCHES, kernel->name);
}

void qb__opencl_kernel_release(qb__kernel *kernel) { qb__opencl.kernel_release(kernel->native); }

static qb__cl_result set_args(qb__kernel *kernel, const qb__arg *args, size_t count) {
    uint32_t index = 0;
    qb__cl_result result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        const void *value = args[i].value;
        void *handle = NULL;
        switch (args[i].kind) {
        case QB__ARG_MEMORY:
            if (value) handle = (void *)(uintptr_t)((const qb__memory *)value)->native;
            result = qb__opencl.kernel_arg(kernel->native, index++, sizeof handle, &handle);
            break;
        case QB__ARG_TEXTURE: /* an image is followed by its sampler */
            handle = ((const qb__texture *)value)->array;
            result = qb__opencl.kernel_arg(kernel->native, index++, sizeof handle, &handle);
            handle = (void *)(uintptr_t)((const qb__texture *)value)->object;
            if (result) break;
            result = qb__opencl.kernel_arg(kernel->native, index++, sizeof handle, &handle);
            break;
        case QB__ARG_VALUE: result = qb__opencl.kernel_arg(kernel->native, index++, args[i].size, value); break;
        case QB__ARG_LOCAL: result = qb__opencl.kernel_arg(kernel->native, index++, args[i].size, NULL); break;
        }
    }
    return result;
}

qb_status qb__opencl_kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                                   const qb__arg *args, size_t count) {
    size_t items[3];
    for (int i = 0; i < 3; i++) items[i] = groups[i] * group[i];
    pthread_mutex_lock(&kernel->lock); /* arguments are stored in the kernel until it is enqueued */
    qb__cl_result result = set_args(kernel, args, count);
    if (!result) { result = qb__opencl.launch(queue->native, kernel->native, 3, NULL, items, group, 0, NULL, NULL); }
    pthread_mutex_unlock(&kernel->lock);
    if (!result) result = qb__opencl.flush(queue->native);
    return qb__opencl_status(queue->device, result, QB__CL_LAUNCHES, kernel->name);
}
