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

/* A file beside an output, a configuration say. With a text it appears together with the output, or
 * not at all, as one of the same set; without, the caller will write it and the name is only kept
 * free. */
typedef struct qb_sidecar {
    const char *path, *text;
} qb_sidecar;

/* What a long call may use and whom it tells. The library never prints and keeps no global
 * state but the libraries that it has opened (qb_library_path_set) and what it found of devices:
 * everything it says goes through these callbacks, which may be called from any thread but never
 * from two at once, as far as they share `user` and one of the two functions. A callback may call the library:
 * what reads, describes and parses works; what computes with threads (jobs, projectors, searches for the axis)
 * says QB_BAD_ARGUMENT at once. A process may fork() while no thread is in the library, and its child may use it (projectors
 * excepted: make them anew); a child that was made while one was says QB_UNSUPPORTED to every call that computes or reads,
 * until exec(). threads above 4096 are QB_BAD_ARGUMENT. A NULL env, or a zeroed one, means: silent, all cores, 3/4 of the free memory. */
typedef struct qb_env {
    size_t struct_size; /* sizeof(qb_env), or 0: that of the first version. New fields come at the end */
    int threads;        /* computing threads; 0 = as many as the CPUs this process may run on */
    size_t max_ram;     /* bytes the whole process may hold, code pages not counted; 0 = 3/4 of free */
    /* What computes: auto (NULL), cpu, cuda, cuda:N, cuda:all, opencl, opencl:N, opencl:all (those
     * of one kind). Auto takes a GPU where the work at hand has a kernel for it and room, else the
     * CPU, and says which; a device that is named and cannot be had is QB_NO_DEVICE, one named for
     * work that only the CPU does QB_BAD_ARGUMENT. */
    const char *device;
    size_t max_vram; /* bytes to hold on each device; 0 = 9/10 of what is free there. A note through log says
                      * when it limits nothing: more than there is, or no device in use */
    void (*log)(void *user, qb_log_level level, const char *text);
    /* `what` names the stage; behind a semicolon, if there is one, is how far it has come in its own terms. done and total count its units. Jobs count thousandths of the time that all of it
     * will take, so that elapsed * (total - done) / done is left; done may fall when something turns out slower. */
    void (*progress)(void *user, const char *what, uint64_t done, uint64_t total);
    void *user;
    /* Files that the caller itself reads for this work (a list that ends in NULL), and those that it
     * wants written with the output (ends with a NULL path). What is written here spares the ones;
     * what is read or written here is none of the others. NULL = none. */
    const char *const *reads;
    const qb_sidecar *writes;
    /* To stop, set it to non-zero: from a signal handler, or from another thread by an atomic store
     * (__atomic_store_n of gcc and clang). The call ends with QB_CANCELLED within a chunk's time. Leave it set until
     * the call has returned. */
    const volatile sig_atomic_t *cancel;
    /* The processes that share this work (ranks.h); NULL = none. */
    struct qb_ranks *ranks;
} qb_env;

/* For a program that has to end at once, whatever the library is doing in other threads: removes what this process has
 * written under temporary names. Returns at the latest after some seconds, and nothing more gets its final name; all
 * that may be done afterwards is _exit(). `qb` does so when it cannot stop within two seconds of a signal (of its own: where others have the processors, later). */
QB_API void qb_abandon(void);

/* Every warning ends with its code in brackets: "... [blank-views]". The codes, NULL behind the last one; what one means and
 * what to do about it, NULL for a code that does not exist. Static texts. */
QB_API const char *qb_warning_code(size_t index);
QB_API const char *qb_warning_text(const char *code);

#ifdef __cplusplus
}
#endif
#endif
