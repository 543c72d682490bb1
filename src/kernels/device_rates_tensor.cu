/* SPDX-License-Identifier: MIT */
/* arch: 80
 * The rate of dense matrix products, fp16 in and fp32 out, as warps issue them: 8 independent
 * 16x8x16 products a round and warp, 4096 operations each. */
KERNEL void rate_tensor(float *out, uint rounds, uint value) {
    float c[8][4];
    uint a0 = value, a1 = value + local_id(0), a2 = value, a3 = value, b0 = value, b1 = a1;
#pragma unroll
    for (int k = 0; k < 8; k++) c[k][0] = c[k][1] = c[k][2] = c[k][3] = 0;
    for (uint i = 0; i < rounds; i++) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                         "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(c[k][0]), "+f"(c[k][1]), "+f"(c[k][2]), "+f"(c[k][3])
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        }
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];
    if (sum == 12345.678f) out[0] = sum;
}
