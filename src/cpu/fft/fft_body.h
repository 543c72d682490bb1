/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length. The including file sets QB_FFT to the name of the table and defines L, the type
 * v of L floats, LANES(X) as X(0) X(1) ..., ORDER as the list of lanes, and the functions
 *   unzip      L complex numbers at x -> their real and imaginary parts, in ORDER
 *   zip        the inverse of unzip
 *   transpose  transposes L vectors in place */
#include "cpu/fft/fft_butterflies.h"

/* storage of a row: real parts, then imaginary parts; complex numbers; complex numbers with both parts swapped */
enum { SPLIT, PAIRS, SWAPPED };

INLINE c get(const float *x, size_t row, int how) {
    x += 2 * L * row;
    if (how == SPLIT) return (c){load(x), load(x + L)};
    c a = unzip(x);
    return how == PAIRS ? a : (c){a.im, a.re};
}

INLINE void put(float *x, size_t row, c a) {
    store(x + 2 * L * row, a.re);
    store(x + 2 * L * row + L, a.im);
}

/* One pass of Stockham's method over `s` interleaved transforms of length n. */
INLINE void pass(int radix, int how, const float *restrict x, float *restrict y, size_t n, size_t s,
                 const float *turns) {
    const size_t groups = n / (size_t)radix;
    for (size_t p = 0; p < groups; p++, turns += 2 * (radix - 1)) {
        for (size_t q = 0; q < s; q++) {
            c a[8];
            for (int j = 0; j < radix; j++) a[j] = get(x, q + s * (p + groups * (size_t)j), how);
            dft(radix, a);
            float *to = y + 2 * L * (q + s * (size_t)radix * p);
            put(to, 0, a[0]);
            for (int k = 1; k < radix; k++)
                put(to, s * (size_t)k, groups == 1 ? a[k] : turned(a[k], turns[2 * k - 2], turns[2 * k - 1]));
        }
    }
}

typedef void pass_function(const float *, float *, size_t, size_t, const float *);
#define PASS(RADIX)                                                                                                    \
    static void split_##RADIX(const float *x, float *y, size_t n, size_t s, const float *t) {                          \
        if (n == RADIX)                                                                                                \
            pass(RADIX, SPLIT, x, y, RADIX, s, t);                                                                     \
        else                                                                                                           \
            pass(RADIX, SPLIT, x, y, n, s, t);                                                                         \
    }                                                                                                                  \
    static void pairs_##RADIX(const float *x, float *y, size_t n, size_t s, const float *t) {                          \
        (void)s;                                                                                                       \
        pass(RADIX, PAIRS, x, y, n, 1, t);                                                                             \
    }                                                                                                                  \
    static void swapped_##RADIX(const float *x, float *y, size_t n, size_t s, const float *t) {                        \
        (void)s;                                                                                                       \
        pass(RADIX, SWAPPED, x, y, n, 1, t);                                                                           \
    }
PASS(2)
PASS(3)
PASS(4)
PASS(5)
PASS(8)

static pass_function *const pass_of[3][9] = {
    [SPLIT] = {[2] = split_2, [3] = split_3, [4] = split_4, [5] = split_5, [8] = split_8},
    [PAIRS] = {[2] = pairs_2, [3] = pairs_3, [4] = pairs_4, [5] = pairs_5, [8] = pairs_8},
    [SWAPPED] = {[2] = swapped_2, [3] = swapped_3, [4] = swapped_4, [5] = swapped_5, [8] = swapped_8},
};

/* Transforms all lanes. Passes alternate between buffers one and two; returns the buffer with the result. */
static float *all_passes(const qb__fft_lanes *plan, int how, float *one, float *two) {
    size_t n = plan->rows, s = 1;
    for (int i = 0; i < plan->passes; i++) {
        const qb__fft_pass *p = &plan->pass[i];
        pass_of[how][p->radix](one, two, n, s, p->turns);
        n /= (size_t)p->radix;
        s *= (size_t)p->radix;
        how = SPLIT;
        float *other = one;
        one = two;
        two = other;
    }
    return one;
}

/* Last step of a line: rotates, transposes and transforms along the lanes, so that numbers are in the order of the
 * line. */
INLINE void finish(const qb__fft_lanes *plan, const bool inverse, const float *restrict in, float *restrict out) {
    static const unsigned char order[L] = {ORDER};
    const size_t rows = plan->rows;
    for (size_t next = 0; next < rows; next += L) {
        const size_t k = next + L <= rows ? next : rows - L; /* the last block may repeat some rows */
        v re[L], im[L];
        c a[L];
#define TURN(I)                                                                                                        \
    {                                                                                                                  \
        const size_t row = k + order[I];                                                                               \
        const c x = get(in, row, SPLIT), w = get(plan->turns, row, SPLIT);                                             \
        re[I] = x.re * w.re - x.im * w.im;                                                                             \
        im[I] = x.re * w.im + x.im * w.re;                                                                             \
    }
        LANES(TURN)
        transpose(re);
        transpose(im);
#define PLACE(I) a[order[I]] = (c){re[I], im[I]};
        LANES(PLACE)
        dft(L, a);
#define STORE(I) zip(out + 2 * ((size_t)I * rows + k), inverse ? (c){a[I].im, a[I].re} : a[I]);
        LANES(STORE)
    }
}

static void line(const qb__fft_lanes *plan, bool inverse, float *in, float *out) {
    int how = inverse ? SWAPPED : PAIRS;
    float *one = in, *two = out;
    if (plan->passes % 2) { /* copy first, so that the passes end in `in` */
        for (size_t m = 0; m < plan->rows; m++) put(out, m, get(in, m, how));
        how = SPLIT;
        one = out;
        two = in;
    }
    all_passes(plan, how, one, two);
    if (inverse)
        finish(plan, true, in, out);
    else
        finish(plan, false, in, out);
}

/* Loads up to L columns of cells into lanes; missing columns are zero. */
INLINE void columns_in(const float *cells, size_t rows, size_t stride, size_t width, const qb__fft_rows *which,
                       float *lanes) {
    float part[2 * L] = {0};
    for (size_t r = which->low; r < which->high; r++) {
        const float *from = cells + r * stride;
        if (width < L) from = memcpy(part, from, 2 * width * sizeof *part);
        put(lanes, r, get(from, 0, PAIRS));
    }
    const c first = get(lanes, which->low, SPLIT), last = get(lanes, which->high - 1, SPLIT);
    for (size_t r = 0; r < which->low; r++) put(lanes, r, first);
    for (size_t r = which->high; r < rows; r++) put(lanes, r, last);
}

/* Stores the lanes in the columns of cells; real and imaginary parts are swapped in the lanes. */
INLINE void columns_out(const float *lanes, size_t stride, size_t width, const qb__fft_rows *which, float *cells) {
    float part[2 * L];
    for (size_t r = which->first; r < which->end; r++) {
        const c a = get(lanes, r, SPLIT);
        zip(width < L ? part : cells + r * stride, (c){a.im, a.re});
        if (width < L) memcpy(cells + r * stride, part, 2 * width * sizeof *part);
    }
}

static void filter_columns(const qb__fft_lanes *plan, float *cells, size_t columns, size_t stride,
                           const qb__fft_rows *which, const float *factors, float *scratch) {
    const size_t rows = plan->rows;
    float *two = scratch + 2 * L * rows;
    for (size_t first = 0; first < columns; first += L, cells += 2 * L) {
        const size_t width = columns - first < L ? columns - first : L;
        columns_in(cells, rows, stride, width, which, scratch);
        float *there = all_passes(plan, SPLIT, scratch, two);
        for (size_t r = 0; r < rows; r++, factors += L) {
            const c a = get(there, r, SPLIT);
            const v f = load(factors);
            /* with both parts swapped, the forward transform does the inverse */
            put(there, r, (c){a.im * f, a.re * f});
        }
        columns_out(all_passes(plan, SPLIT, there, there == scratch ? two : scratch), stride, width, which, cells);
    }
}

/* The formulas are those of ops/fft_own.c. */
INLINE size_t halves(const bool split, const float *turns, size_t half, float *z) {
    const float half_of = split ? 1 : 0.5f;
    size_t k = 1;
    for (; k + L <= half - k - L + 1; k += L) {
        float *at = z + 2 * k, *back = z + 2 * (half - k - L + 1);
        const c w = unzip(turns + 2 * k), a = unzip(at), other = unzip(back);
        const c b = {reverse(other.re), reverse(other.im)};
        const v er = (a.re + b.re) * half_of, ei = (a.im - b.im) * half_of;
        const v tr = (a.re - b.re) * half_of, ti = (a.im + b.im) * half_of;
        if (split) {
            const v re = tr * w.re + ti * w.im, im = ti * w.re - tr * w.im;
            zip(at, (c){er - im, ei + re});
            zip(back, (c){reverse(er + im), reverse(re - ei)});
        } else {
            const v re = ti * w.re + tr * w.im, im = ti * w.im - tr * w.re;
            zip(at, (c){er + re, ei + im});
            zip(back, (c){reverse(er - re), reverse(im - ei)});
        }
    }
    return k;
}

static size_t join_halves(const float *turns, size_t half, float *z) { return halves(false, turns, half, z); }
static size_t split_halves(const float *turns, size_t half, float *z) { return halves(true, turns, half, z); }

const qb__fft_kernel QB_FFT = {.lanes = L,
                               .order = {ORDER},
                               .line = line,
                               .filter_columns = filter_columns,
                               .join_halves = join_halves,
                               .split_halves = split_halves};
