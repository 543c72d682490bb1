/* SPDX-License-Identifier: MIT */
/* Compiled once for each vector length; QB_RING_LOOPS is the name of the table. Values to be sorted fill one register
 * for each place, and pass through Batcher's network (AFIPS 32 (1968) 307) without leaving the registers. The compiler
 * drops comparisons on which no result depends. */
#include <math.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "cpu/rows/ring_loops.h"

#define RING_INLINE static inline __attribute__((always_inline))

/* dv, fv: a register of doubles, of floats. The smaller of two equal numbers is the second one. */
#if defined(__AVX512F__)
typedef __m512d dv;
typedef __m512 fv;
#define RING_DOUBLES(name) _mm512_##name##_pd
#define RING_FLOATS(name) _mm512_##name##_ps
#elif defined(__AVX__)
typedef __m256d dv;
typedef __m256 fv;
#define RING_DOUBLES(name) _mm256_##name##_pd
#define RING_FLOATS(name) _mm256_##name##_ps
#elif defined(__SSE2__)
typedef __m128d dv;
typedef __m128 fv;
#define RING_DOUBLES(name) _mm_##name##_pd
#define RING_FLOATS(name) _mm_##name##_ps
#else
typedef double dv __attribute__((vector_size(16)));
typedef float fv __attribute__((vector_size(16)));
#endif
enum { DOUBLES = sizeof(dv) / sizeof(double), FLOATS = sizeof(fv) / sizeof(float) };
typedef int64_t dbits __attribute__((vector_size(sizeof(dv))));

#if defined(__SSE2__)
RING_INLINE dv d_least(dv a, dv b) { return RING_DOUBLES(min)(a, b); }
RING_INLINE dv d_largest(dv a, dv b) { return RING_DOUBLES(max)(a, b); }
RING_INLINE fv f_least(fv a, fv b) { return RING_FLOATS(min)(a, b); }
RING_INLINE fv f_largest(fv a, fv b) { return RING_FLOATS(max)(a, b); }
#else
typedef int32_t fbits __attribute__((vector_size(sizeof(fv))));
RING_INLINE dv d_least(dv a, dv b) {
    const dbits m = (dbits)(a < b);
    return (dv)((m & (dbits)a) | (~m & (dbits)b));
}
RING_INLINE dv d_largest(dv a, dv b) {
    const dbits m = (dbits)(a > b);
    return (dv)((m & (dbits)a) | (~m & (dbits)b));
}
RING_INLINE fv f_least(fv a, fv b) {
    const fbits m = (fbits)(a < b);
    return (fv)((m & (fbits)a) | (~m & (fbits)b));
}
RING_INLINE fv f_largest(fv a, fv b) {
    const fbits m = (fbits)(a > b);
    return (fv)((m & (fbits)a) | (~m & (fbits)b));
}
#endif

RING_INLINE dv d_all(double v) { return v - (dv){0}; }
RING_INLINE dv d_at(const double *p) {
    dv v;
    memcpy(&v, p, sizeof v);
    return v;
}
RING_INLINE fv f_at(const float *p) {
    fv v;
    memcpy(&v, p, sizeof v);
    return v;
}
RING_INLINE dv d_size(dv v) { return (dv)((dbits)v & INT64_MAX); }
/* The sign bits of numbers below 0. */
RING_INLINE dbits d_below_0(dv v) { return (dbits)(v < d_all(0)) & INT64_MIN; }
RING_INLINE dv d_pick(dbits chosen, dv yes, dv no) { return (dv)((chosen & (dbits)yes) | (~chosen & (dbits)no)); }
/* Writes as many numbers as there are columns left. */
RING_INLINE void d_put(double *p, dv v, size_t left) {
    if (left >= DOUBLES)
        memcpy(p, &v, sizeof v);
    else
        memcpy(p, &v, left * sizeof *p);
}

/* clang-format off */
#define NETWORK_8(X, o)                                                                                                \
    X(o, o + 1) X(o + 2, o + 3) X(o + 4, o + 5) X(o + 6, o + 7) X(o, o + 2) X(o + 1, o + 3) X(o + 4, o + 6)            \
    X(o + 5, o + 7) X(o + 1, o + 2) X(o + 5, o + 6) X(o, o + 4) X(o + 1, o + 5) X(o + 2, o + 6) X(o + 3, o + 7)        \
    X(o + 2, o + 4) X(o + 3, o + 5) X(o + 1, o + 2) X(o + 3, o + 4) X(o + 5, o + 6)
#define NETWORK_16(X)                                                                                                  \
    NETWORK_8(X, 0) NETWORK_8(X, 8)                                                                                    \
    X(0, 8) X(1, 9) X(2, 10) X(3, 11) X(4, 12) X(5, 13) X(6, 14) X(7, 15) X(4, 8) X(5, 9) X(6, 10) X(7, 11) X(2, 4)    \
    X(3, 5) X(6, 8) X(7, 9) X(10, 12) X(11, 13) X(1, 2) X(3, 4) X(5, 6) X(7, 8) X(9, 10) X(11, 12) X(13, 14)
#define EXCHANGE(LEAST, LARGEST, a, b)                                                                                 \
    if ((b) < count) {                                                                                                 \
        const __typeof__(*v) least = LEAST(v[a], v[b]);                                                                \
        v[b] = LARGEST(v[a], v[b]);                                                                                    \
        v[a] = least;                                                                                                  \
    }
#define EXCHANGE_D(a, b) EXCHANGE(d_least, d_largest, a, b)
#define EXCHANGE_F(a, b) EXCHANGE(f_least, f_largest, a, b)

/* Sort the first `count` of up to 8 or 16 registers. */
RING_INLINE void sort_8(dv *v, size_t count) { NETWORK_8(EXCHANGE_D, 0) }
RING_INLINE void sort_16(dv *v, size_t count) { NETWORK_16(EXCHANGE_D) }
RING_INLINE void sort_16_floats(fv *v, size_t count) { NETWORK_16(EXCHANGE_F) }
/* clang-format on */

/* ---- sums ---- */

static void ring_add(const float *line, size_t columns, double *sum) {
    for (size_t c = 0; c < columns; c++) sum[c] += (double)line[c];
}

static void ring_add_weighted(const float *line, size_t columns, double weight, double *sum) {
    for (size_t c = 0; c < columns; c++) sum[c] += weight * (double)line[c];
}

static void ring_add_kinks(const float *line, size_t columns, double *sum) {
    for (size_t c = 1; c + 1 < columns; c++) sum[c] += (double)fabsf(line[c - 1] - 2 * line[c] + line[c + 1]);
}

/* ---- medians over columns ---- */

RING_INLINE dv median9_at(const double *in, size_t apart) {
    dv v[9];
    for (size_t i = 0; i < 9; i++) v[i] = d_at(in + i * apart);
    sort_16(v, 9);
    return v[4];
}

static void ring_median9(const double *in, size_t apart, size_t columns, double *out) {
    for (size_t c = 0; c < columns; c += DOUBLES) d_put(out + c, median9_at(in + c, apart), columns - c);
}

RING_INLINE fv less_median15_at(const float *in) {
    fv v[15];
    for (size_t i = 0; i < 15; i++) v[i] = f_at(in + i);
    const fv own = v[7];
    sort_16_floats(v, 15);
    return own - v[7];
}

static void ring_less_median15(const float *in, size_t columns, float *out) {
    for (size_t c = 0; c < columns; c += FLOATS) {
        const fv less = less_median15_at(in + c);
        memcpy(out + c, &less, (columns - c < FLOATS ? columns - c : FLOATS) * sizeof *out);
    }
}

/* ---- any number of values ---- */

/* Values are sorted by their bits, converted to integers of the same order; the conversion is its own inverse. */
typedef int32_t ring_key __attribute__((may_alias));

static void turn(ring_key *v, size_t count) {
    for (size_t i = 0; i < count; i++) v[i] ^= v[i] >> 31 & INT32_MAX;
}

RING_INLINE void exchange_lanes(ring_key *restrict a, ring_key *restrict b) {
    for (int l = 0; l < QB__RING_LANES; l++) {
        const ring_key x = a[l], y = b[l];
        a[l] = x < y ? x : y;
        b[l] = x < y ? y : x;
    }
}

/* The comparisons of a merge reach over k values, from blocks of k that begin every 2 k; a whole block is left out if
 * its partners belong to the next run. */
static void ring_sort(float (*values)[QB__RING_LANES], size_t count) {
    ring_key(*v)[QB__RING_LANES] = (ring_key(*)[QB__RING_LANES])values;
    turn(*v, count * QB__RING_LANES);
    for (int bits = 1; count > (size_t)1 << (bits - 1); bits++) /* runs of 2^bits values are merged */
        for (size_t k = (size_t)1 << (bits - 1), first = 0; k >= 1; k /= 2, first = k)
            for (size_t j = first; j + k < count; j += 2 * k) {
                if (j >> bits != (j + k) >> bits) continue;
                const size_t end = j + 2 * k < count ? j + k : count - k;
                for (size_t i = j; i < end; i++) exchange_lanes(v[i], v[i + k]);
            }
    turn(*v, count * QB__RING_LANES);
}

/* ---- medians over windows and blocks of views ---- */

RING_INLINE dv measure_at(const double *k, qb__ring_measure measure) {
    if (measure == QB__RING_KINK) return d_at(k);
    if (measure == QB__RING_HEIGHT) return (d_at(k - 1) - 2 * d_at(k) + d_at(k + 1)) / 6;
    return 0.5 * (d_at(k - 1) - d_at(k));
}

/* A stripe may drift: its trend is the median over pairs of values half the list apart. */
RING_INLINE dv trend_of(const dv *values, size_t count) {
    const size_t apart = count / 2, pairs = count - apart;
    dv steps[QB__RING_MOST / 2] = {{0}};
    for (size_t i = 0; i < pairs; i++) steps[i] = values[i + apart] - values[i];
    sort_8(steps, pairs);
    return 0.5 * (steps[(pairs - 1) / 2] + steps[pairs / 2]) / (double)apart;
}

RING_INLINE void middles_at(const double *kinks, size_t apart, size_t count, qb__ring_measure measure, size_t left,
                            double *middle, double *error) {
    const size_t cut = count / 5;
    dv v[QB__RING_MOST] = {{0}}, sum = d_all(0);
    for (size_t i = 0; i < count; i++) v[i] = measure_at(kinks + i * apart, measure);
    const dv slope = trend_of(v, count);
    for (size_t i = 0; i < count; i++) v[i] -= slope * ((double)i - 0.5 * (double)(count - 1));
    sort_16(v, count);
    for (size_t i = cut; i < count - cut; i++) sum += v[i];
    const dv median = 0.5 * (v[(count - 1) / 2] + v[count / 2]);
    for (size_t i = 0; i < count; i++) v[i] = d_size(v[i] - median);
    sort_16(v, count);
    d_put(middle, sum / (double)(count - 2 * cut), left);
    /* 1.48 median distances are a standard deviation; overlapping windows are half as many independent views */
    d_put(error, 1.48 * v[count / 2] * sqrt(3.6 / (double)count), left);
}

RING_INLINE void middles_of(const double *kinks, size_t apart, size_t count, qb__ring_measure measure, size_t columns,
                            double *middle, double *error) {
    for (size_t c = 0; c < columns; c += DOUBLES)
        middles_at(kinks + c, apart, count, measure, columns - c, middle + c, error + c);
}

/* A number of windows that the compiler knows keeps all values in registers. */
static void ring_middles(const double *kinks, size_t apart, size_t count, qb__ring_measure measure, size_t columns,
                         double *middle, double *error) {
    if (count != 15)
        middles_of(kinks, apart, count, measure, columns, middle, error);
    else if (measure == QB__RING_KINK)
        middles_of(kinks, apart, 15, QB__RING_KINK, columns, middle, error);
    else if (measure == QB__RING_HEIGHT)
        middles_of(kinks, apart, 15, QB__RING_HEIGHT, columns, middle, error);
    else
        middles_of(kinks, apart, 15, QB__RING_STEP, columns, middle, error);
}

/* The median of three columns on each side, without those next to the column, is the object's. */
RING_INLINE dv height_at(const double *k) {
    dv v[6] = {d_at(k - 4), d_at(k - 3), d_at(k - 2), d_at(k + 2), d_at(k + 3), d_at(k + 4)};
    const dv before = d_at(k - 1), here = d_at(k), after = d_at(k + 1);
    sort_8(v, 6);
    const dv ground = 0.5 * (v[2] + v[3]), fit = (before - 2 * here + after) / 6;
    const dbits sign = d_below_0(fit);
    const dv left = (dv)((dbits)(before - ground) ^ sign), right = (dv)((dbits)(after - ground) ^ sign),
             middle = -0.5 * (dv)((dbits)(here - ground) ^ sign);
    const dv least = d_least(middle, d_least(left, right));
    /* at most 1.5 times the smallest distance from a line; 0 if the lines do not agree */
    const dbits height = (dbits)d_least(d_size(fit), 1.5 * least) ^ sign;
    return (dv)(height & (dbits)(least > d_all(0)));
}

static void ring_heights(const double *kinks, size_t columns, double *height) {
    for (size_t c = 0; c < columns; c += DOUBLES) d_put(height + c, height_at(kinks + c), columns - c);
}

/* scale[i]: of a box of i lines, so that the noise of all changes is alike. */
RING_INLINE void changes_at(const double *in, size_t apart, size_t shortest, const double *scale, size_t left,
                            double *size, double *box) {
    enum { LINES = QB__RING_MOST };
    dv sum[LINES + 1] = {{0}}, trend = d_all(0), best = d_all(0), which = d_all(0);
    double squares = 0;
    for (size_t b = 0; b < LINES; b++) {
        const double *m = in + b * apart, t = (double)b - 0.5 * (LINES - 1);
        const dv height = (d_at(m - 2) - 4 * d_at(m - 1) + 6 * d_at(m) - 4 * d_at(m + 1) + d_at(m + 2)) / 6;
        sum[b + 1] = sum[b] + height;
        trend += t * height;
        squares += t * t;
    }
    for (size_t a = 0; a + shortest <= LINES; a++)
        for (size_t e = a + shortest; e <= LINES && e - a <= LINES - shortest; e++) {
            const double inside = (double)(e - a), outside = LINES - inside;
            const dv sum_in = sum[e] - sum[a];
            const dv is = d_size(sum_in / inside - (sum[LINES] - sum_in) / outside) * scale[e - a];
            which = d_pick((dbits)(is > best), d_all((double)(32 * a + e)), which);
            best = d_largest(is, best);
        }
    const dv drift = d_size(trend) / sqrt(squares);
    d_put(box, d_pick((dbits)(drift > best), d_all(-1), which), left);
    d_put(size, d_largest(drift, best), left);
}

static void ring_changes(const double *in, size_t apart, size_t shortest, size_t columns, double *size, double *box) {
    double scale[QB__RING_MOST + 1] = {0};
    for (size_t i = shortest; i <= QB__RING_MOST - shortest; i++)
        scale[i] = 1 / sqrt(1 / (double)i + 1 / (double)(QB__RING_MOST - i));
    for (size_t c = 0; c < columns; c += DOUBLES)
        changes_at(in + c, apart, shortest, scale, columns - c, size + c, box + c);
}

RING_INLINE void deviations_at(const double *lines, size_t apart, size_t count, size_t left, double *squares) {
    dv v[QB__RING_MOST] = {{0}}, sum = d_all(0);
    for (size_t i = 0; i < count; i++) v[i] = d_at(lines + i * apart);
    sort_16(v, count);
    const dv median = 0.5 * (v[(count - 1) / 2] + v[count / 2]);
    for (size_t i = 0; i < count; i++) sum += (v[i] - median) * (v[i] - median);
    d_put(squares, sum, left);
}

static void ring_deviations(const double *lines, size_t apart, size_t count, size_t columns, double *squares) {
    for (size_t c = 0; c < columns; c += DOUBLES) {
        if (count == 16)
            deviations_at(lines + c, apart, 16, columns - c, squares + c);
        else
            deviations_at(lines + c, apart, count, columns - c, squares + c);
    }
}

const qb__ring_loops QB_RING_LOOPS = {ring_add,  ring_add_weighted, ring_add_kinks, ring_median9, ring_less_median15,
                                      ring_sort, ring_middles,      ring_heights,   ring_changes, ring_deviations};
