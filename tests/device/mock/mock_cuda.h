/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_MOCK_CUDA_H
#define QB_TESTS_MOCK_CUDA_H

#include <stddef.h>

/* A CUDA driver and an NVRTC without a GPU, in one shared object that QB_LIBCUDA and QB_LIBNVRTC
 * name. Memory is the host's, launches are only recorded, any call can be made to fail. The test
 * opens the same file and finds the state as the symbol mock_cuda. */
typedef struct mock_cuda_state {
    int driver, devices, arch; /* 13000, 1, 90 */
    /* The fail_after-th driver call from now (1 = the next) returns fail_with; 0 = none does. */
    int fail_after, fail_with;
    const char *failed;    /* the call that it was */
    const char *fail_name; /* every call of this name returns fail_with */
    int calls;             /* driver calls so far */
    float elapsed_ms;      /* between any two events: 20 */

    /* what lives: all 0 again after a clean end */
    int contexts, current, allocations, pinned, registered, streams, events, arrays, textures;
    int modules;
    struct {
        void *host;
        size_t bytes;
    } locked[4];           /* host memory registered now */
    unsigned locked_flags; /* of the last registration, and pages that it found not taken yet */
    size_t absent_pages;
    int poison;     /* the byte that new device memory is full of; 0: whatever was there */
    int any_code;   /* modules of the real compiler are taken too */
    int foreign;    /* every address is said to be the host's */
    int row_copies; /* of rows, all and within the device */
    int row_copies_in_place;
    size_t row_bytes_in_place, up_bytes, down_bytes; /* transfers: in bytes */
    void *watched;                                   /* a stream; after an event was recorded on it ... */
    int watched_recorded, waits;                     /* ... others were made to wait */
    int launches;
    unsigned grid[3], block[3], shared;
    void *argument[4]; /* first eight bytes of each of the first four arguments */
    size_t arguments;  /* how many of them to read */
    int opted_in;      /* dynamic shared memory last asked for */
    size_t array_width, array_height, array_depth, array_channels, array_format, array_flags;
    int address, filter;

    int nvrtc_major, nvrtc_minor; /* 13, 0 */
    int archs[16], arch_count;    /* 75, 80, 90, 100 */
    int nvrtc_fails;              /* the next compilation complains */
    int compiles, programs;
    char options[1024]; /* of the last compilation, separated by spaces */
} mock_cuda_state;

#endif
