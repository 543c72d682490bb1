/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_DEVICE_H
#define QUICKBEAM_DEVICE_H

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What can compute here, with its measured rates: a JSON object {"devices": [...], "missing":
 * [...], "device_kernels": [...]}, released with qb_text_free; "missing" says what keeps CUDA or
 * OpenCL away and which package brings it; "kernels" of a device are those that it could run and
 * why not the others, "device_kernels" all of them and what they need. Measuring takes about a
 * second a device. */
QB_API qb_status qb_devices_describe(const qb_env *env, char **json);

/* What is opened when it runs, never linked. */
typedef enum qb_library {
    QB_LIBRARY_CUDA,   /* libcuda.so.1, the driver */
    QB_LIBRARY_NVRTC,  /* libnvrtc.so.* */
    QB_LIBRARY_CUFFT,  /* libcufft.so.* */
    QB_LIBRARY_OPENCL, /* libOpenCL.so.1 */
    QB_LIBRARY_NCCL    /* libnccl.so.2 */
} qb_library;

/* Where one of them is: its file, or the folder that it is in, and nowhere else; "" = do without it;
 * NULL = the usual places again. For the whole process, and before anything looks for devices:
 * QB_BAD_ARGUMENT afterwards. The user's environment (QB_LIBCUDA, QB_LIBNVRTC, QB_LIBCUFFT,
 * QB_LIBOPENCL, QB_LIBNCCL) goes before it. Thread-safe. */
QB_API qb_status qb_library_path_set(qb_library library, const char *path);

/* Find the best parameters of the device kernels by measuring them, and how fast the CPU's are of a cone beam. */
typedef struct qb_tune_options {
    size_t struct_size; /* see qb_params_init */
    const char *kernel; /* only variants whose id contains this; NULL = all */
    double seconds;     /* time to spend */
    qb_numbers size;    /* NX,NY,NZ: NZ slices at a time */
    int views;
    qb_beam geometry; /* whose kernels */
} qb_tune_options;
QB_API extern const qb_param qb_tune_params[];

/* Measures on env->device (the CPU's kernels, of a cone beam alone, on one thread), checks every candidate's output against the double-precision oracle,
 * keeps the best in the user's tuning file, which planners read from then on. Kernels that planners
 * took before are measured once, as they are, where `kernel` leaves them out. QB_BAD_INPUT when
 * that file is there but cannot be used: it is not written over. *json: what was tried and found,
 * released with qb_text_free. */
QB_API qb_status qb_tune(const qb_tune_options *options, const qb_env *env, char **json);

/* Measure what plans need to know of this machine and of the storages that the `count` paths are on (a path may be NULL:
 * none), where that has not been measured yet: once, in some seconds, which env is told, and kept in the tuning file.
 * Does nothing where there is no such file. After a failure plans go by listed rates. */
QB_API qb_status qb_machine_measure(const char *const *paths, size_t count, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
