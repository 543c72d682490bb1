/* SPDX-License-Identifier: MIT */
/* One kernel a unit of the device, each doing nearly nothing else: what it does in a second is the
 * unit's rate. `rounds` sets how long. A result is stored so that nothing is left out, under a
 * condition that never holds. */
#ifndef NEVER
#define NEVER 12345.678f
#endif

/* 16 multiply-adds a round and item, in 8 independent chains. */
KERNEL void rate_fma(GLOBAL float *RESTRICT out, uint rounds, float a, float b) {
    float x0 = (float)local_id(0), x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
    float x4 = x0 + 4, x5 = x0 + 5, x6 = x0 + 6, x7 = x0 + 7;
    for (uint i = 0; i < rounds; i++) {
        for (int k = 0; k < 2; k++) {
            x0 = FMA(x0, a, b);
            x1 = FMA(x1, a, b);
            x2 = FMA(x2, a, b);
            x3 = FMA(x3, a, b);
            x4 = FMA(x4, a, b);
            x5 = FMA(x5, a, b);
            x6 = FMA(x6, a, b);
            x7 = FMA(x7, a, b);
        }
    }
    float sum = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
    if (sum == NEVER) out[0] = sum;
}

/* 8 reads of 16 bytes a round and item, neighbours side by side. */
KERNEL void rate_local(GLOBAL float *RESTRICT out, uint rounds) {
    LOCAL float4 cache[512];
    uint id = local_id(0);
    for (uint i = id; i < 512; i += local_size(0)) cache[i] = FLOAT4(id, 1, 2, 3);
    BARRIER();
    float x = 0, y = 0, z = 0, w = 0;
    for (uint i = 0; i < rounds; i++) {
        uint at = (id + i) & 255;
        for (uint k = 0; k < 8; k++) {
            float4 v = cache[at + 32 * k];
            x += v.x;
            y += v.y;
            z += v.z;
            w += v.w;
        }
    }
    float sum = (x + y) + (z + w);
    if (sum == NEVER) out[0] = sum;
}

/* 8 reads of 16 bytes a round and item from a buffer of `count` (a power of two) that the cache
 * behind the multiprocessors holds. A group reads 256 neighbours at a place drawn anew each time, so
 * that the small caches before it seldom help. */
KERNEL void rate_cache(GLOBAL const float4 *RESTRICT in, GLOBAL float *RESTRICT out, uint count, uint rounds) {
    uint place = (uint)group_id(0) * 2654435761u, mask = (count - 1) & ~255u;
    float x = 0, y = 0, z = 0, w = 0;
    for (uint i = 0; i < rounds; i++) {
        for (uint k = 0; k < 8; k++) {
            float4 v = in[((place >> 3) & mask) + local_id(0)];
            x += v.x;
            y += v.y;
            z += v.z;
            w += v.w;
            place = place * 1664525u + 1013904223u;
        }
    }
    float sum = (x + y) + (z + w);
    if (sum == NEVER) out[0] = sum;
}

/* 8 interpolated reads a round and item; a group stays within a few texels. */
KERNEL void rate_texture(TEXTURE(image), GLOBAL float *RESTRICT out, uint rounds) {
    float x = (float)((group_id(0) * 16) & 127) + (float)(local_id(0) & 15) * 0.9f + 0.3f;
    float y = (float)((group_id(0) * 16 / 128) & 127) + (float)(local_id(0) >> 4) * 0.9f + 0.3f;
    float s0 = 0, s1 = 0;
    for (uint i = 0; i < rounds; i++) {
        float u = x, v = y + (float)(i & 7) * 0.11f;
        for (int k = 0; k < 8; k += 2) {
            s0 += TEXTURE_READ1(image, u, v);
            s1 += TEXTURE_READ1(image, u + 0.55f, v);
            u += 1.1f;
        }
    }
    float sum = s0 + s1;
    if (sum == NEVER) out[0] = sum;
}
