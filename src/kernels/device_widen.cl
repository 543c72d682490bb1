/* SPDX-License-Identifier: MIT */
/* Texels of `channels` values become texels of `stored` ones, the rest zero: for images that the
 * device only keeps with more channels, or only as floats. from begins at value `first`. */
#define SAME(in, i) in[i]
#define TO_FLOAT(in, i) LOAD_HALF(i, in)
#define WIDEN(name, type, stored_type, READ)                                                                           \
    KERNEL void name(GLOBAL const type *RESTRICT from, ulong first, GLOBAL stored_type *RESTRICT to, ulong texels,     \
                     uint channels, uint stored) {                                                                     \
        ulong i = global_id(0);                                                                                        \
        if (i >= texels) return;                                                                                       \
        for (uint c = 0; c < stored; c++) {                                                                            \
            to[i * stored + c] = c < channels ? READ(from, first + i * channels + c) : (stored_type)0;                 \
        }                                                                                                              \
    }

WIDEN(widen_float, uint, uint, SAME)
WIDEN(widen_half, half_bits, half_bits, SAME)
WIDEN(widen_half_to_float, half_bits, float, TO_FLOAT)
