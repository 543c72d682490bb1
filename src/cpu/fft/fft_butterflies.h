/* SPDX-License-Identifier: MIT */
/* Short transforms of vectors of complex numbers, with exp(-2 pi i jk/n), in place and in natural order. Part of
 * fft_body.h. */
#define INLINE static inline __attribute__((always_inline))

typedef float unaligned __attribute__((vector_size(4 * L), aligned(4), may_alias));

INLINE v load(const float *x) { return *(const unaligned *)x; }
INLINE void store(float *x, v a) { *(unaligned *)x = a; }

INLINE c sum(c a, c b) { return (c){a.re + b.re, a.im + b.im}; }
INLINE c difference(c a, c b) { return (c){a.re - b.re, a.im - b.im}; }
INLINE c turned(c a, float re, float im) { return (c){a.re * re - a.im * im, a.re * im + a.im * re}; }
INLINE c quarter(c a) { return (c){a.im, -a.re}; } /* -i a */

INLINE void dft2(c *a, c *b) {
    const c x = *a;
    *a = sum(x, *b);
    *b = difference(x, *b);
}

INLINE void dft3(c *a, c *b, c *d) {
    const float half = 0.5f, sine = 0.86602540378443864676f;
    const c s = sum(*b, *d), t = difference(*b, *d);
    const c m = {a->re - s.re * half, a->im - s.im * half}, r = {t.im * sine, -t.re * sine};
    *a = sum(*a, s);
    *b = sum(m, r);
    *d = difference(m, r);
}

INLINE void dft4(c *a, c *b, c *d, c *e) {
    const c s = sum(*a, *d), t = difference(*a, *d), u = sum(*b, *e), w = quarter(difference(*b, *e));
    *a = sum(s, u);
    *b = sum(t, w);
    *d = difference(s, u);
    *e = difference(t, w);
}

INLINE void dft5(c *a) {
    const float c1 = 0.30901699437494742410f, c2 = -0.80901699437494742410f;
    const float s1 = 0.95105651629515357212f, s2 = 0.58778525229247312917f;
    const c p = sum(a[1], a[4]), q = sum(a[2], a[3]), r = difference(a[1], a[4]), t = difference(a[2], a[3]);
    const c m = {a[0].re + p.re * c1 + q.re * c2, a[0].im + p.im * c1 + q.im * c2};
    const c n = {a[0].re + p.re * c2 + q.re * c1, a[0].im + p.im * c2 + q.im * c1};
    const c x = quarter((c){r.re * s1 + t.re * s2, r.im * s1 + t.im * s2});
    const c y = quarter((c){r.re * s2 - t.re * s1, r.im * s2 - t.im * s1});
    a[0] = sum(a[0], sum(p, q));
    a[1] = sum(m, x);
    a[2] = sum(n, y);
    a[3] = difference(n, y);
    a[4] = difference(m, x);
}

INLINE void dft8(c *a) {
    const float h = 0.70710678118654752440f;
    dft2(&a[0], &a[4]);
    dft2(&a[1], &a[5]);
    dft2(&a[2], &a[6]);
    dft2(&a[3], &a[7]);
    a[5] = (c){(a[5].re + a[5].im) * h, (a[5].im - a[5].re) * h};
    a[6] = quarter(a[6]);
    a[7] = (c){(a[7].im - a[7].re) * h, (a[7].re + a[7].im) * -h};
    dft4(&a[0], &a[1], &a[2], &a[3]);
    dft4(&a[4], &a[5], &a[6], &a[7]);
    const c even[] = {a[0], a[1], a[2], a[3]}, odd[] = {a[4], a[5], a[6], a[7]};
    a[0] = even[0], a[1] = odd[0], a[2] = even[1], a[3] = odd[1];
    a[4] = even[2], a[5] = odd[2], a[6] = even[3], a[7] = odd[3];
}

#if L == 16
INLINE void dft16(c *a) {
    const float h = 0.70710678118654752440f, c1 = 0.92387953251128675613f, s1 = 0.38268343236508977173f;
    dft4(&a[0], &a[4], &a[8], &a[12]);
    dft4(&a[1], &a[5], &a[9], &a[13]);
    dft4(&a[2], &a[6], &a[10], &a[14]);
    dft4(&a[3], &a[7], &a[11], &a[15]);
    a[5] = turned(a[5], c1, -s1);
    a[6] = (c){(a[6].re + a[6].im) * h, (a[6].im - a[6].re) * h};
    a[7] = turned(a[7], s1, -c1);
    a[9] = (c){(a[9].re + a[9].im) * h, (a[9].im - a[9].re) * h};
    a[10] = quarter(a[10]);
    a[11] = (c){(a[11].im - a[11].re) * h, (a[11].re + a[11].im) * -h};
    a[13] = turned(a[13], s1, -c1);
    a[14] = (c){(a[14].im - a[14].re) * h, (a[14].re + a[14].im) * -h};
    a[15] = turned(a[15], -c1, s1);
    dft4(&a[0], &a[1], &a[2], &a[3]);
    dft4(&a[4], &a[5], &a[6], &a[7]);
    dft4(&a[8], &a[9], &a[10], &a[11]);
    dft4(&a[12], &a[13], &a[14], &a[15]);
    /* Number 4 j + k must move to place 4 k + j. */
#define EXCHANGE(I, J)                                                                                                 \
    {                                                                                                                  \
        const c x = a[I];                                                                                              \
        a[I] = a[J];                                                                                                   \
        a[J] = x;                                                                                                      \
    }
    EXCHANGE(1, 4) EXCHANGE(2, 8) EXCHANGE(3, 12) EXCHANGE(6, 9) EXCHANGE(7, 13) EXCHANGE(11, 14)
}
#endif

/* `radix` is a compile-time constant in every call. */
INLINE void dft(int radix, c *a) {
    switch (radix) {
    case 2: dft2(&a[0], &a[1]); break;
    case 3: dft3(&a[0], &a[1], &a[2]); break;
    case 4: dft4(&a[0], &a[1], &a[2], &a[3]); break;
    case 5: dft5(a); break;
    case 8: dft8(a); break;
#if L == 16
    case 16: dft16(a); break;
#endif
    }
}
