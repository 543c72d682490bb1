/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_DEVICE_CHILD_H
#define QB_TESTS_DEVICE_CHILD_H

#include "check.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock/mock_library.h"
#include "mock/mock_cuda.h"

/* Libraries are opened once a process, so each scenario runs in a child of its own: `body` returns
 * NULL or what went wrong. */
typedef const char *(*scenario)(mock_cuda_state *mock);

/* In a scenario: */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) return #condition;                                                                           \
    } while (0)
#define EXPECT_SAYS(text, words)                                                                                       \
    do {                                                                                                               \
        if (!strstr(text, words)) {                                                                                    \
            fprintf(stderr, "says: %s\n", text);                                                                       \
            return "does not say: " words;                                                                             \
        }                                                                                                              \
    } while (0)

/* The mock driver and compiler stand in for the real ones, OpenCL is left out, the cache lies in
 * `cache` ("" = none). */
static inline void in_child(scenario body, const char *cache) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("QB_LIBCUDA", mock_cuda_path(), 1);
        setenv("QB_LIBNVRTC", mock_cuda_path(), 1);
        setenv("QB_LIBOPENCL", "", 1);
        setenv("QB_CACHE_DIR", cache, 1);
        void *library = dlopen(mock_cuda_path(), RTLD_NOW);
        const char *wrong = library ? body(dlsym(library, "mock_cuda")) : dlerror();
        if (wrong) fprintf(stderr, "%s (last: %s)\n", wrong, qb_detail());
        fflush(NULL);
        exit(wrong != NULL); /* so that the leak checker runs */
    }
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("the scenario failed (%#x)", status);
}

/* A cmocka test of a scenario without a cache, and its row. */
#define SCENARIO(name)                                                                                                 \
    static void test_##name(void **state) {                                                                            \
        (void)state;                                                                                                   \
        in_child(name, "");                                                                                            \
    }
#define SCENARIO_ROW(name) cmocka_unit_test(test_##name),

#endif
