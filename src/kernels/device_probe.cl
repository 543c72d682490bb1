/* SPDX-License-Identifier: MIT */
/* What the device layer's tests launch: one kernel a feature of the dialect. */
#ifndef PROBE_SCALE
#define PROBE_SCALE 2
#endif

KERNEL void probe_scale(GLOBAL const float *RESTRICT in, GLOBAL float *RESTRICT out, ulong count, float add) {
    ulong i = global_id(0);
    if (i < count) out[i] = FMA(in[i], (float)PROBE_SCALE, add);
}

/* Each group's items in reverse, through local memory. */
KERNEL void probe_reverse(GLOBAL const float *RESTRICT in,
                          GLOBAL float *RESTRICT out LOCAL_DYNAMIC_ARGUMENT(float, cache)) {
    LOCAL_DYNAMIC(float, cache);
    uint i = local_id(0), n = local_size(0);
    cache[i] = in[global_id(0)];
    BARRIER();
    out[global_id(0)] = cache[n - 1 - i];
}

/* float -> half -> float, through memory and through local memory. */
KERNEL void probe_half(GLOBAL const float *RESTRICT in, GLOBAL half_bits *RESTRICT halves, GLOBAL float *RESTRICT out) {
    LOCAL half_bits cache[64];
    size_t i = global_id(0);
    STORE_HALF(in[i], i, halves);
    STORE_HALF_LOCAL(in[i], local_id(0), cache);
    BARRIER();
    out[2 * i] = LOAD_HALF(i, halves);
    out[2 * i + 1] = LOAD_HALF_LOCAL(local_id(0), cache);
}

/* One read per item at (at[2i], at[2i+1]); four values out. */
KERNEL void probe_texture(TEXTURE(image), GLOBAL const float *RESTRICT at, GLOBAL float *RESTRICT out) {
    size_t i = global_id(0);
    float x = at[2 * i], y = at[2 * i + 1];
    float2 two = TEXTURE_READ2(image, x, y);
    float4 four = TEXTURE_READ4(image, x, y);
    out[4 * i] = TEXTURE_READ1(image, x, y);
    out[4 * i + 1] = two.y;
    out[4 * i + 2] = four.z;
    out[4 * i + 3] = four.w;
}

KERNEL void probe_layers(TEXTURE_LAYERED(image), GLOBAL const float *RESTRICT at, GLOBAL float *RESTRICT out,
                         uint layer) {
    size_t i = global_id(0);
    float x = at[2 * i], y = at[2 * i + 1];
    float2 two = TEXTURE_READ2_LAYER(image, x, y, layer);
    float4 four = TEXTURE_READ4_LAYER(image, x, y, layer);
    out[4 * i] = TEXTURE_READ1_LAYER(image, x, y, layer);
    out[4 * i + 1] = two.y;
    out[4 * i + 2] = four.z;
    out[4 * i + 3] = four.w;
}

/* Writes where nothing is: a device does not survive it. */
KERNEL void probe_crash(GLOBAL float *RESTRICT out, ulong far_away) { out[far_away] = 1.0f; }
