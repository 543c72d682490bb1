/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_DEVICE_MOCK_LIBRARY_H
#define QB_TESTS_DEVICE_MOCK_LIBRARY_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library that a test opens: the one that `variable` names, else the file next to the executable, because builds
 * are moved to other folders and machines. */
static inline const char *mock_library(const char *variable, const char *file) {
    static char path[2 * PATH_MAX];
    const char *said = getenv(variable);
    if (said && *said) return said;
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    char *end = slash ? slash + 1 : path;
    snprintf(end, sizeof path - (size_t)(end - path), "%s", file);
    return path;
}

static inline const char *mock_cuda_path(void) { return mock_library("MOCK_CUDA", "libmock_cuda.so"); }
static inline const char *mock_nccl_path(void) { return mock_library("MOCK_NCCL", "libmock_nccl.so"); }
static inline const char *shim_opencl_path(void) { return mock_library("SHIM_OPENCL", "libshim_opencl.so"); }

#endif
