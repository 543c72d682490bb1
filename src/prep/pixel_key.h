/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* View, row and column as one number, ascending in their order; 0: none, or too large. */
static inline uint64_t qb__pixel_key(size_t view, size_t row, size_t column) {
    const uint64_t VIEWS = (uint64_t)1 << 24, PIXELS = (uint64_t)1 << 20;
    return view < VIEWS - 1 && row < PIXELS && column < PIXELS ? (((uint64_t)view * PIXELS + row) * PIXELS + column) + 1
                                                               : 0;
}
static inline size_t qb__pixel_key_view(uint64_t place) { return (size_t)((place - 1) >> 40); }
static inline size_t qb__pixel_key_row(uint64_t place) { return (size_t)((place - 1) >> 20 & 0xfffff); }
static inline size_t qb__pixel_key_column(uint64_t place) { return (size_t)((place - 1) & 0xfffff); }
/* The smaller of two keys. */
static inline uint64_t qb__pixel_key_first(uint64_t a, uint64_t b) { return a && (!b || a < b) ? a : b; }
