/* SPDX-License-Identifier: MIT */
#include "kernelcheck.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MARGIN = 256, CANARY = 0xc5, HUGE_PAGE = 2 << 20 };

static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

guarded guarded_new(size_t bytes) {
    guarded g = {NULL, bytes};
    const size_t all = rounded(bytes) + 2 * MARGIN;
    /* Large blocks are allocated as in the library: in large pages, if the system has them. */
    const size_t align = bytes >= (size_t)64 << 20 ? HUGE_PAGE : 64;
    unsigned char *p = aligned_alloc(align, (all + align - 1) / align * align);
    if (p && align == HUGE_PAGE) madvise(p, all, MADV_HUGEPAGE);
    if (!p) {
        fprintf(stderr, "kernelcheck: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    memset(p, CANARY, MARGIN);
    memset(p + MARGIN, 0xff, bytes); /* NaN as float and as half float */
    memset(p + MARGIN + bytes, CANARY, rounded(bytes) - bytes + MARGIN);
    g.data = p + MARGIN;
    return g;
}

bool guarded_intact(const guarded *g) {
    const unsigned char *before = (const unsigned char *)g->data - MARGIN;
    const unsigned char *after = (const unsigned char *)g->data + g->bytes;
    for (size_t i = 0; i < MARGIN; i++)
        if (before[i] != CANARY) return false;
    for (size_t i = 0; i < rounded(g->bytes) - g->bytes + MARGIN; i++)
        if (after[i] != CANARY) return false;
    return true;
}

void guarded_free(guarded *g) {
    if (g->data) free((unsigned char *)g->data - MARGIN);
    g->data = NULL;
}
