/* SPDX-License-Identifier: MIT */
#include "io/scan/frame_look.h"

#include <math.h>

/* Noise about a subtracted dark is slightly negative, but not below -`noise`. */
static const struct {
    bool is_signed;
    qb_dtype as;
    float noise;
} types[] = {[QB_I8] = {true, QB_U8, -32}, [QB_I16] = {true, QB_U16, -2048}, [QB_I32] = {true, QB_U32, -1e8f}};

static bool is_signed(qb_dtype dtype) {
    return (unsigned)dtype < sizeof types / sizeof *types && types[dtype].is_signed;
}

qb__wrapped qb__counts_wrapped(const qb__frame *frames, size_t count, qb_dtype dtype, float *least) {
    const double PART = 0.05; /* share of the frames: a few faulty pixels affect fewer */
    size_t looked = 0, many = 0;
    *least = 0;
    if (!is_signed(dtype)) return QB__WRAPPED_NONE;
    for (size_t i = 0; i < count; i++) {
        if (!frames[i].looked) continue;
        looked++;
        many += frames[i].low < types[dtype].noise;                        /* false for NaN */
        *least = fminf(*least, fminf(frames[i].least, frames[i].low_end)); /* ignores NaN */
    }
    if ((double)many > PART * (double)looked) return QB__WRAPPED_MANY;
    return qb__count_wrapped(dtype, *least) ? QB__WRAPPED_SOME : QB__WRAPPED_NONE;
}

bool qb__counts_may_wrap(qb_dtype dtype) { return is_signed(dtype); }

bool qb__count_wrapped(qb_dtype dtype, float count) { return is_signed(dtype) && count < types[dtype].noise; }

bool qb__counts_shifted(qb_dtype dtype, double dark) {
    const double PART = 0.75; /* share of the range: no dark is so bright that it would wrap to there */
    return is_signed(dtype) && dark < -PART * qb__signed_offset(dtype);
}

double qb__signed_offset(qb_dtype dtype) { return ldexp(1, 8 * (int)qb_dtype_size(dtype) - 1); }

bool qb__source_read_unsigned(qb__source *source) {
    if (!is_signed(source->dtype)) return qb__source_wrap(source);
    source->dtype = types[source->dtype].as;
    return true;
}

const char *qb__unsigned_name(qb_dtype dtype) { return qb_dtype_name(is_signed(dtype) ? types[dtype].as : dtype); }
