/* SPDX-License-Identifier: MIT */
/* The compiler of the mock. Its code is "mock code " and the architecture that it was asked for. */
#include "mock_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
extern mock_cuda_state mock_cuda;
#define M mock_cuda

/* Ranks that are threads compile at the same time, so each program has a code of its own. */
enum { CODE = 128 };
#define ADD(counter, n) __atomic_add_fetch(&(counter), n, __ATOMIC_SEQ_CST)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of M.options */
static const char complaint[] = "line 3: error: the mock does not like this";

EXPORT int nvrtcVersion(int *major, int *minor) {
    *major = M.nvrtc_major;
    *minor = M.nvrtc_minor;
    return 0;
}
EXPORT int nvrtcGetNumSupportedArchs(int *count) {
    *count = M.arch_count;
    return 0;
}
EXPORT int nvrtcGetSupportedArchs(int *archs) {
    memcpy(archs, M.archs, (size_t)M.arch_count * sizeof *archs);
    return 0;
}
EXPORT int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                              const char *const *header_texts, const char *const *header_names) {
    (void)name;
    (void)headers;
    (void)header_texts;
    (void)header_names;
    if (!strstr(text, "QB_DIALECT_H")) return 5;
    *program = calloc(1, CODE);
    if (!*program) return 1;
    ADD(M.programs, 1);
    return 0;
}
EXPORT int nvrtcDestroyProgram(void **program) {
    free(*program);
    *program = NULL;
    ADD(M.programs, -1);
    return 0;
}
EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    ADD(M.compiles, 1);
    pthread_mutex_lock(&lock);
    M.options[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(M.options);
        snprintf(M.options + used, sizeof M.options - used, "%s ", options[i]);
    }
    pthread_mutex_unlock(&lock);
    snprintf(program, CODE, "mock code %s", options[0]);
    return M.nvrtc_fails ? 6 : 0;
}
EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size) {
    (void)program;
    *size = sizeof complaint;
    return 0;
}
EXPORT int nvrtcGetProgramLog(void *program, char *log) {
    (void)program;
    strcpy(log, complaint);
    return 0;
}
static int size_of(void *program, size_t *size) {
    *size = strlen(program) + 1;
    return 0;
}
static int bytes_of(void *program, char *bytes) {
    strcpy(bytes, program);
    return 0;
}
/* Like the real one, it gives machine code only when a real architecture was asked for. */
EXPORT int nvrtcGetCUBINSize(void *program, size_t *size) {
    return strstr(program, "sm_") ? size_of(program, size) : 1;
}
EXPORT int nvrtcGetCUBIN(void *program, char *bytes) { return bytes_of(program, bytes); }
EXPORT int nvrtcGetPTXSize(void *program, size_t *size) { return size_of(program, size); }
EXPORT int nvrtcGetPTX(void *program, char *bytes) { return bytes_of(program, bytes); }
