/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_DEVICE_H
#define QUICKBEAM_DEVICE_H

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/param.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The devices of this machine with their measured rates, as a JSON object {"devices": [...], "missing": [...],
 * "device_kernels": [...]}; release it with qb_text_free. "missing" says why CUDA or OpenCL is not available and which
 * package provides it; "kernels" of a device lists those it can run, and why it cannot run the others; "device_kernels"
 * lists all kernels and their needs. Measuring takes about a second per device. */
QB_API qb_status qb_devices_describe(const qb_env *env, char **json);

/* Libraries that are opened at run time and never linked. */
typedef enum qb_library {
    QB_LIBRARY_CUDA,   /* libcuda.so.1, the driver */
    QB_LIBRARY_NVRTC,  /* libnvrtc.so.* */
    QB_LIBRARY_CUFFT,  /* libcufft.so.* */
    QB_LIBRARY_OPENCL, /* libOpenCL.so.1 */
    QB_LIBRARY_NCCL    /* libnccl.so.2 */
} qb_library;

/* Set the file of a library, or the only folder to search; "" = do not use it; NULL = the usual places. It holds for
 * the whole process, and must come before the first search for devices (later: QB_BAD_ARGUMENT). The environment
 * variables QB_LIBCUDA, QB_LIBNVRTC, QB_LIBCUFFT, QB_LIBOPENCL and QB_LIBNCCL take precedence. Thread-safe. */
QB_API qb_status qb_library_path_set(qb_library library, const char *path);

/* Find the best parameters of the device kernels by measurement, and measure the CPU kernels of a cone beam. */
typedef struct qb_tune_options {
    size_t struct_size; /* see qb_params_init */
    const char *kernel; /* only variants whose id contains this; NULL = all */
    double seconds;     /* time to spend */
    qb_numbers size;    /* NX,NY,NZ: NZ slices at a time */
    int views;
    qb_beam geometry; /* kernels of this beam */
} qb_tune_options;
QB_API extern const qb_param qb_tune_params[];

/* Measure on env->device (the CPU: cone beam only, one thread), check every candidate's output against the
 * double-precision oracle, and store the best in the user's tuning file, which planners read from then on. Kernels that
 * the planner uses but `kernel` excludes are measured once, unchanged. QB_BAD_INPUT if the tuning file exists but
 * cannot be used; it is not overwritten. *json: the candidates and results; release it with qb_text_free. */
QB_API qb_status qb_tune(const qb_tune_options *options, const qb_env *env, char **json);

/* Measure the rates that plans need, of this machine and of the storage of `count` paths (NULL paths are ignored). Each
 * is measured once, takes some seconds (announced through env->log), and is kept in the tuning file. Does nothing
 * without a tuning file. After a failure plans use built-in rates. */
QB_API qb_status qb_machine_measure(const char *const *paths, size_t count, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
