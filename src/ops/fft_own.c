/* SPDX-License-Identifier: MIT */
/* Plans of our own transforms; cpu/fft/fft_lanes.h computes them. */
#include <string.h>

#include "base/memory.h"
#include "cpu/features.h"
#include "cpu/fft/fft_lanes.h"
#include "ops/fft.h"
#include "ops/fft_passes.h"

enum { TINY_MOST = 64 };

/* Transform of complex numbers. Short lengths without a kernel are summed directly. */
typedef struct plan {
    size_t length;
    const qb__fft_kernel *kernel; /* NULL: summed directly */
    qb__fft_lanes lanes;
    float *table;
} plan;

typedef struct own {
    qb__fft head;
    qb__fft_kind kind;
    size_t length;
    plan line;
    float *turns; /* exp(-2 pi i k/length) for k <= length/4, which combine two halves into a real transform */
} own;

/* exp(-2 pi i l k/N) of each row, real parts first, then imaginary parts. */
static void fill_turns(plan *p, float *to) {
    const size_t width = (size_t)p->kernel->lanes;
    for (size_t k = 0; k < p->lanes.rows; k++, to += 2 * width)
        for (size_t l = 0; l < width; l++) {
            float w[2];
            qb__fft_turn(w, k * p->kernel->order[l], p->length);
            to[l] = w[0];
            to[width + l] = w[1];
        }
}

static qb_status make_summed(plan *p) {
    p->kernel = NULL;
    if (p->length > TINY_MOST) return qb__fail(QB_UNSUPPORTED, "a Fourier transform of %zu values", p->length);
    qb_status status = qb__alloc(2 * p->length, sizeof(float), &p->table);
    for (size_t k = 0; status == QB_OK && k < p->length; k++) qb__fft_turn(p->table + 2 * k, k, p->length);
    return status;
}

static qb_status make_line(plan *p, size_t length) {
    int radix[QB__FFT_PASSES_MOST];
    p->length = length;
    p->kernel = qb__fft_kernel_choose(qb__cpu_features(), length);
    if (!p->kernel) return make_summed(p);
    p->lanes.rows = length / (size_t)p->kernel->lanes;
    p->lanes.passes = qb__fft_factor(p->lanes.rows, true, radix);
    if (p->lanes.passes < 0) return make_summed(p);
    QB__OR_RETURN(qb__alloc(2 * length + 4 * p->lanes.rows, sizeof(float), &p->table));
    p->lanes.turns = p->table;
    fill_turns(p, p->table);
    qb__fft_fill_passes(&p->lanes, radix, p->table + 2 * length);
    return QB_OK;
}

static void run_line(const plan *p, bool inverse, float *in, float *out) {
    if (p->kernel) {
        p->kernel->line(&p->lanes, inverse, in, out);
        return;
    }
    const float sign = inverse ? -1 : 1;
    for (size_t k = 0; k < p->length; k++) {
        float re = 0, im = 0;
        for (size_t j = 0; j < p->length; j++) {
            const float *w = p->table + 2 * (j * k % p->length);
            const float x = in[2 * j], y = in[2 * j + 1];
            re += x * w[0] - y * w[1] * sign;
            im += y * w[0] + x * w[1] * sign;
        }
        out[2 * k] = re;
        out[2 * k + 1] = im;
    }
}

static void destroy(qb__fft *fft) {
    own *o = (own *)fft;
    QB__FREE(o->line.table, o->turns, o);
}

static qb_status create(qb__fft_kind kind, size_t length, qb__fft **out) {
    own *o;
    if (kind == QB__FFT_REAL && length % 2)
        return qb__fail(QB_UNSUPPORTED, "a Fourier transform of %zu values", length);
    qb_status status = qb__alloc(1, sizeof *o, &o);
    if (status != QB_OK) return status;
    *o = (own){.head.library = &qb__fft_own, .kind = kind, .length = length};
    QB__TRY(make_line(&o->line, kind == QB__FFT_REAL ? length / 2 : length));
    if (kind == QB__FFT_REAL) {
        QB__TRY(qb__alloc(2 * (length / 4 + 1), sizeof(float), &o->turns));
        for (size_t k = 0; k <= length / 4; k++) qb__fft_turn(o->turns + 2 * k, k, length);
    }
out:
    if (status != QB_OK)
        destroy(&o->head);
    else
        *out = &o->head;
    return status;
}

/* Z is the transform of even + i odd samples: X[k] = (Z[k] + conj Z[h-k])/2 - i w^k (Z[k] - conj Z[h-k])/2. */
static void real_from_halves(const own *o, float *z) {
    const size_t h = o->length / 2;
    const float first = z[0] + z[1], last = z[0] - z[1];
    size_t k = o->line.kernel ? o->line.kernel->join_halves(o->turns, h, z) : 1;
    for (; k <= h / 2; k++) {
        const float *w = o->turns + 2 * k;
        float *a = z + 2 * k, *b = z + 2 * (h - k);
        const float er = 0.5f * (a[0] + b[0]), ei = 0.5f * (a[1] - b[1]);  /* transform of the even samples */
        const float odr = 0.5f * (a[1] + b[1]), oi = 0.5f * (b[0] - a[0]); /* transform of the odd samples */
        const float tr = odr * w[0] - oi * w[1], ti = odr * w[1] + oi * w[0];
        a[0] = er + tr;
        a[1] = ei + ti;
        b[0] = er - tr;
        b[1] = ti - ei;
    }
    z[0] = first;
    z[2 * h] = last;
    z[1] = z[2 * h + 1] = 0;
}

/* The inverse, multiplied by two as in the definition of the backward transform. */
static void halves_from_real(const own *o, float *x) {
    const size_t h = o->length / 2;
    const float first = x[0] + x[2 * h], last = x[0] - x[2 * h];
    size_t k = o->line.kernel ? o->line.kernel->split_halves(o->turns, h, x) : 1;
    for (; k <= h / 2; k++) {
        const float *w = o->turns + 2 * k;
        float *a = x + 2 * k, *b = x + 2 * (h - k);
        const float er = a[0] + b[0], ei = a[1] - b[1], tr = a[0] - b[0], ti = a[1] + b[1];
        const float odr = tr * w[0] + ti * w[1], oi = ti * w[0] - tr * w[1];
        a[0] = er - oi;
        a[1] = ei + odr;
        b[0] = er + oi;
        b[1] = odr - ei;
    }
    x[0] = first;
    x[1] = last;
}

static void forward(const qb__fft *fft, float *in, float *out) {
    const own *o = (const own *)fft;
    run_line(&o->line, false, in, out);
    if (o->kind == QB__FFT_REAL) real_from_halves(o, out);
}

static void backward(const qb__fft *fft, float *in, float *out) {
    const own *o = (const own *)fft;
    if (o->kind == QB__FFT_REAL) halves_from_real(o, in);
    run_line(&o->line, true, in, out);
}

const qb__fft_library qb__fft_own = {"own", create, destroy, forward, backward};
