/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_MOCK_CUDA_H
#define QB_TESTS_MOCK_CUDA_H

#include <stddef.h>

/* A CUDA driver and an NVRTC without a GPU, in one shared object that QB_LIBCUDA and QB_LIBNVRTC name. Device memory is
 * host memory, launches are only recorded, and any call can be made to fail. The test opens the same file and finds the
 * state as the symbol mock_cuda. */
typedef struct mock_cuda_state {
    int driver, devices, arch; /* at first 13000, 1 and 90 */
    /* The fail_after-th driver call from now (1 = the next) returns fail_with; 0 = none does. */
    int fail_after, fail_with;
    const char *failed;    /* name of the call that failed */
    const char *fail_name; /* every call of this name returns fail_with */
    int calls;             /* driver calls so far */
    float elapsed_ms;      /* time between any two events; at first 20 */

    /* Objects that exist now. All counts must be 0 again after a clean end. */
    int contexts, current, allocations, pinned, registered, streams, events, arrays, textures;
    int modules;
    struct {
        void *host;
        size_t bytes;
    } locked[4];           /* host memory that is registered now */
    unsigned locked_flags; /* flags of the last registration; absent_pages: how many of its pages were not present */
    size_t absent_pages;
    int poison;     /* new device memory is filled with this byte; 0: it is not filled */
    int any_code;   /* modules of the real compiler are accepted too */
    int foreign;    /* every address is reported to be host memory */
    int row_copies; /* copies of rows: all of them, and those within the device */
    int row_copies_in_place;
    size_t row_bytes_in_place, up_bytes, down_bytes; /* bytes of transfers */
    void *watched;                                   /* a stream, set by the test */
    /* the last event was recorded on `watched`; how often other streams then waited */
    int watched_recorded, waits;
    int launches;
    unsigned grid[3], block[3], shared;
    void *argument[4]; /* the first eight bytes of each of the first four arguments of a launch */
    size_t arguments;  /* how many arguments of a launch are read */
    int opted_in;      /* dynamic shared memory that was last asked for */
    size_t array_width, array_height, array_depth, array_channels, array_format, array_flags;
    int address, filter;

    int nvrtc_major, nvrtc_minor; /* at first 13 and 0 */
    int archs[16], arch_count;    /* at first 75, 80, 90 and 100 */
    int nvrtc_fails;              /* compilations fail */
    int compiles, programs;
    char options[1024]; /* options of the last compilation, separated by spaces */
} mock_cuda_state;

#endif
