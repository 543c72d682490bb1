/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_ENV_H
#define QUICKBEAM_ENV_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qb_log_level { QB_LOG_DEBUG, QB_LOG_INFO, QB_LOG_WARNING } qb_log_level;

/* A second output file, such as a configuration. With a text it is published together with the output, or not at all.
 * Without a text the caller writes it, and only its name is reserved. */
typedef struct qb_sidecar {
    const char *path, *text;
} qb_sidecar;

/* Resources and callbacks of a long call. The library never prints. Its only global state are the libraries it has
 * opened (qb_library_path_set) and the devices it has found.
 *
 * Callbacks may come from any thread, but never two at once for the same `user` and function. A callback may call the
 * library to read, describe and parse; calls that compute with threads (jobs, projectors, searches for the axis) return
 * QB_BAD_ARGUMENT.
 *
 * fork() is allowed while no thread is inside the library: the child may use it, but must create its own projectors.
 * After a fork during a call, every call of the child that computes or reads returns QB_UNSUPPORTED until exec().
 *
 * NULL or a zeroed env means: silent, all cores, 3/4 of the free memory. More than 4096 threads are QB_BAD_ARGUMENT. */
typedef struct qb_env {
    size_t struct_size; /* sizeof(qb_env); 0 = first version. New fields come at the end */
    int threads;        /* computing threads; 0 = as many as the CPUs this process may run on */
    size_t max_ram;     /* bytes the whole process may hold, code pages not counted; 0 = 3/4 of the free memory */
    /* Where to compute: auto (NULL), cpu, cuda, cuda:N, cuda:all, opencl, opencl:N, opencl:all (all of one kind). Auto
     * takes a GPU if it has a kernel for the work and enough memory, else the CPU, and logs its choice. A named device
     * that is not available is QB_NO_DEVICE; one named for work that only the CPU can do is QB_BAD_ARGUMENT. */
    const char *device;
    /* bytes to hold on each device; 0 = 9/10 of its free memory. A note is logged if it has no effect */
    size_t max_vram;
    void (*log)(void *user, qb_log_level level, const char *text);
    /* `what` names the stage; text after a semicolon describes its progress. done and total count units of the stage.
     * Jobs count thousandths of their whole time, so that elapsed * (total - done) / done remains; `done` may fall if a
     * stage is slower than forecast. */
    void (*progress)(void *user, const char *what, uint64_t done, uint64_t total);
    void *user;
    /* Files that the caller reads for this work (ends with NULL): no output replaces them. Files that are written with
     * the output (ends with a NULL path): no input or other output may have their names. NULL = none. */
    const char *const *reads;
    const qb_sidecar *writes;
    /* Set to non-zero to stop the call: from a signal handler, or from another thread by an atomic store
     * (__atomic_store_n of gcc and clang). The call returns QB_CANCELLED after the current chunk. Do not reset it
     * before the call has returned. */
    const volatile sig_atomic_t *cancel;
    /* The processes that share this work (ranks.h); NULL = none. */
    struct qb_ranks *ranks;
} qb_env;

/* For a program that must end at once while other threads are inside the library: removes the temporary files of this
 * process. Returns within some seconds; no output gets its final name afterwards. The only allowed next call is
 * _exit(). `qb` uses it if it cannot stop within two seconds of CPU time after a signal. */
QB_API void qb_abandon(void);

/* Every warning ends with its code in brackets: "... [blank-views]". qb_warning_code lists the codes (NULL after the
 * last); qb_warning_text explains a code and its remedy (NULL for an unknown code). Static texts. */
QB_API const char *qb_warning_code(size_t index);
QB_API const char *qb_warning_text(const char *code);

#ifdef __cplusplus
}
#endif
#endif
