/* SPDX-License-Identifier: MIT */
/* Converts slices of floats to the type of a file as base/convert.c does: the same bits. Values that the type cannot
 * hold are counted; each group has its own counter. */
#define ITEMS 128

/* Round half to even with one addition, exact below 2^22; NaN becomes 0. */
#define INTEGER(x) quantise(x, base, scale, top)
FUNCTION int quantise(float x, float base, float scale, float top) {
    float q = (x - base) * scale;
    q = q > 0.0f ? q : 0.0f;
    q = q < top ? q : top;
    return (int)(q + 8388608.0f - 8388608.0f);
}

/* No infinity; NaN is the quiet one with its sign. */
#define HALVED(x) halve(x)
FUNCTION half_bits halve(float x) {
    const uint bits = AS_UINT(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (half_bits)((bits >> 16 & 0x8000u) | 0x7e00u);
    return float_to_half(x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x);
}

/* Pixels marked by `hidden`, the same in every slice, become `instead` if `masked`; then `shift` is subtracted, but not
 * from NaN, whose sign some devices would lose. Group (g, s) takes pixels and slices at regular distances. */
#define CONVERT(name, type, NUMBER)                                                                                    \
    KERNEL GROUPS_OF(ITEMS, 1) void name(GLOBAL const float *RESTRICT from, ulong pixels, ulong slices, uint masked,   \
                                         GLOBAL const uchar *RESTRICT hidden, float instead, float shift, float base,  \
                                         float scale, float top, float least, float most, GLOBAL type *RESTRICT to,    \
                                         GLOBAL ulong *RESTRICT counts) {                                              \
        LOCAL uint outside[ITEMS];                                                                                     \
        const uint item = local_id(0);                                                                                 \
        uint mine = 0;                                                                                                 \
        for (ulong s = group_id(1); s < slices; s += group_count(1)) {                                                 \
            for (ulong i = (ulong)group_id(0) * ITEMS + item; i < pixels; i += (ulong)group_count(0) * ITEMS) {        \
                const float given = masked && hidden[i] ? instead : from[s * pixels + i];                              \
                const float x = given != given ? given : given - shift;                                                \
                mine += !(x >= least && x <= most);                                                                    \
                to[s * pixels + i] = (type)NUMBER(x);                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        outside[item] = mine;                                                                                          \
        for (uint n = ITEMS / 2; n > 0; n /= 2) {                                                                      \
            BARRIER();                                                                                                 \
            if (item < n) outside[item] += outside[item + n];                                                          \
        }                                                                                                              \
        if (item == 0) counts[(ulong)group_id(1) * group_count(0) + group_id(0)] += outside[0];                        \
    }

CONVERT(to_uint8, uchar, INTEGER)
CONVERT(to_uint16, ushort, INTEGER)
CONVERT(to_float16, half_bits, HALVED)
