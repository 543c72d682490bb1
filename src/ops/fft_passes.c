/* SPDX-License-Identifier: MIT */
/* Passes that our own transforms of rows and of columns share. */
#include "ops/fft_passes.h"

#include <math.h>

void qb__fft_turn(float *to, size_t k, size_t n) {
    const double angle = 2 * M_PI * (double)(k % n) / (double)n;
    to[0] = (float)cos(angle);
    to[1] = (float)-sin(angle);
}

/* If the number of passes is odd, a line is copied once more. */
int qb__fft_factor(size_t n, bool line, int radix[QB__FFT_PASSES_MOST]) {
    static const double price[] = {[2] = 0.8, [4] = 1.1, [8] = 1.5};
    const double copy = line ? 0.7 : 0;
    int odd[2], odds = 0, twos = 0, eights = 0, count = 0;
    for (int p = 3; p <= 5; p += 2)
        if (n % (size_t)p == 0) {
            odd[odds++] = p;
            n /= (size_t)p;
        }
    for (; n % 2 == 0; n /= 2) twos++;
    if (n != 1) return -1;
    double best = INFINITY;
    for (int e = 0; 3 * e <= twos; e++) {
        const int rest = twos - 3 * e, passes = odds + e + (rest + 1) / 2;
        const double cost = e * price[8] + rest / 2 * price[4] + rest % 2 * price[2] + passes % 2 * copy;
        if (cost >= best) continue;
        best = cost;
        eights = e;
    }
    for (; eights > 0; eights--, twos -= 3) radix[count++] = 8;
    for (; twos > 1; twos -= 2) radix[count++] = 4;
    while (odds) radix[count++] = odd[--odds];
    if (twos) radix[count++] = 2;
    return count;
}

void qb__fft_fill_passes(qb__fft_lanes *lanes, const int *radix, float *to) {
    size_t n = lanes->rows;
    for (int i = 0; i < lanes->passes; i++) {
        const size_t r = (size_t)radix[i], groups = n / r;
        lanes->pass[i] = (qb__fft_pass){radix[i], to};
        for (size_t g = 0; g < groups; g++)
            for (size_t k = 1; k < r; k++, to += 2) qb__fft_turn(to, g * k, n);
        n = groups;
    }
}
