/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_DEVICE_CHILD_H
#define QB_TESTS_DEVICE_CHILD_H

#include "check.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock/mock_library.h"
#include "mock/mock_cuda.h"

/* A process opens its libraries only once, so each scenario runs in a child of its own. A scenario returns NULL or what
 * went wrong. */
typedef const char *(*scenario)(mock_cuda_state *mock);

/* EXPECT ends a scenario with a message unless the condition holds. EXPECT_SAYS looks for words in a text. */
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

/* Runs the scenario in a child. The mock driver and compiler take the place of the real ones, and OpenCL is left out.
 * The cache of programs lies in `cache` ("" = none). */
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
        exit(wrong != NULL); /* the leak checker runs at exit */
    }
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("the scenario failed (%#x)", status);
}

/* Makes a cmocka test from a scenario without a cache, and its row of the table. */
#define SCENARIO(name)                                                                                                 \
    static void test_##name(void **state) {                                                                            \
        (void)state;                                                                                                   \
        in_child(name, "");                                                                                            \
    }
#define SCENARIO_ROW(name) cmocka_unit_test(test_##name),

#endif
