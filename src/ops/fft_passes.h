/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cpu/fft/fft_lanes.h"

enum { QB__FFT_PASSES_MOST = sizeof((qb__fft_lanes *)0)->pass / sizeof(qb__fft_pass) };

/* exp(-2 pi i k/n) */
void qb__fft_turn(float *to, size_t k, size_t n);
/* The number of radices whose product is n, with the radices; -1 if there are other factors. line: for a line, else for
 * columns. */
int qb__fft_factor(size_t n, bool line, int radix[QB__FFT_PASSES_MOST]);
/* Compute all passes for lanes->rows numbers with their twiddle factors; to: twice as many floats. */
void qb__fft_fill_passes(qb__fft_lanes *lanes, const int *radix, float *to);
