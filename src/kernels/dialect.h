/* SPDX-License-Identifier: MIT */
/* The neutral dialect: put in front of every kernel source (.cl), which then compiles as CUDA C++
 * (NVRTC, nothing included) and as OpenCL C 1.2. Groups are one-dimensional. What a device may lack
 * says so in a HAS_ macro. */
#ifndef QB_DIALECT_H
#define QB_DIALECT_H

#ifdef __OPENCL_VERSION__

/* ---- OpenCL C 1.2 ---- */
/* A kernel of groups of `threads`, `groups` of which a multiprocessor should hold (0, 1 = any). */
#define KERNEL_OF(threads, groups) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define KERNEL __kernel void
#define INLINE static inline
#define GLOBAL __global
#define CONSTANT __constant /* of a pointer argument; see HAS_CONSTANT_POINTERS */
#define LOCAL __local       /* of a declaration */
#define LOCAL_POINTER __local
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define LOCAL_ID ((int)get_local_id(0))
#define GROUP_X ((int)get_group_id(0))
#define GROUP_Y ((int)get_group_id(1))
#define GROUP_Z ((int)get_group_id(2))
#define GROUPS_X ((int)get_num_groups(0))
#define GROUPS_Y ((int)get_num_groups(1))
#define GROUPS_Z ((int)get_num_groups(2))
#define LONG long
#define ULONG ulong
#define FMA(a, b, c) fma(a, b, c)
#define FLOOR(a) floor(a)
#define AS_INT(a) as_int(a)
#define AS_UINT(a) as_uint(a)
#define AS_FLOAT(a) as_float(a)
#define MAKE_FLOAT2(x, y) (float2)(x, y)
#define MAKE_FLOAT4(x, y, z, w) (float4)(x, y, z, w)
#define MAKE_UINT2(x, y) (uint2)(x, y)
#define MAKE_UINT4(x, y, z, w) (uint4)(x, y, z, w)
#define ATOMIC_INCREMENT(counter) atomic_inc(counter)

#define HAS_CONSTANT_POINTERS 1 /* constant memory is a pointer; else a struct passed by value */
#define HAS_MULTIPROCESSOR_ID 0

/* Layered images, coordinates in texels with centres at +0.5, zero outside. */
__constant sampler_t qb_sampler_linear =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
__constant sampler_t qb_sampler_nearest =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define TEXTURE __read_only image2d_array_t
#define TEXTURE_READ(filter, t, x, y, layer)                                                       \
    read_imagef(t, qb_sampler_##filter, (float4)(x, y, (float)(layer), 0.0f))
#define TEXTURE_READ_1(filter, t, x, y, layer) TEXTURE_READ(filter, t, x, y, layer).x
#define TEXTURE_READ_2(filter, t, x, y, layer) TEXTURE_READ(filter, t, x, y, layer).xy
#define TEXTURE_READ_4(filter, t, x, y, layer) TEXTURE_READ(filter, t, x, y, layer)

/* Half precision as storage. */
INLINE float HALF_TO_FLOAT(ushort bits) {
    return vload_half(0, (const half *)&bits);
}
INLINE ushort FLOAT_TO_HALF(float value) {
    ushort bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return bits;
}

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define HAS_HALF_ARITHMETIC 1
/* Two halves in a word. */
#define HALF2_FMA(a, b, c) as_uint(fma(as_half2(a), as_half2(b), as_half2(c)))
#define HALF2_ADD(a, b) as_uint(as_half2(a) + as_half2(b))
#define HALF2_SUB(a, b) as_uint(as_half2(a) - as_half2(b))
#else
#define HAS_HALF_ARITHMETIC 0
#endif

#ifdef cl_khr_subgroup_shuffle
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define HAS_SHUFFLE 1
#define SHUFFLE_XOR(value, mask) sub_group_shuffle_xor(value, mask)
/* The value of the lane `n` further on; the last lanes get what they will. */
#define SHUFFLE_DOWN(value, n)                                                                     \
    sub_group_shuffle(value, (get_sub_group_local_id() + (n)) % get_sub_group_size())
#else
#define HAS_SHUFFLE 0
#endif

#else

/* ---- CUDA C++ ---- */
typedef unsigned short ushort;
typedef unsigned int uint;
#define KERNEL_OF(threads, groups)                                                                 \
    extern "C" __global__ __launch_bounds__(threads, (groups) > 1 ? (groups) : 1) void
#define KERNEL extern "C" __global__ void
#define INLINE static __device__ __forceinline__
#define GLOBAL
#define CONSTANT
#define LOCAL __shared__
#define LOCAL_POINTER
#define RESTRICT __restrict__
#define LOCAL_DYNAMIC(type, name)                                                                  \
    extern __shared__ uint4 qb_dynamic[];                                                          \
    type *name = (type *)qb_dynamic
#define BARRIER() __syncthreads()
#define LOCAL_ID ((int)threadIdx.x)
#define GROUP_X ((int)blockIdx.x)
#define GROUP_Y ((int)blockIdx.y)
#define GROUP_Z ((int)blockIdx.z)
#define GROUPS_X ((int)gridDim.x)
#define GROUPS_Y ((int)gridDim.y)
#define GROUPS_Z ((int)gridDim.z)
#define LONG long long
#define ULONG unsigned long long
#define FMA(a, b, c) __fmaf_rn(a, b, c)
#define FLOOR(a) floorf(a)
#define AS_INT(a) __float_as_int(a)
#define AS_UINT(a) __float_as_uint(a)
#define AS_FLOAT(a) __int_as_float((int)(a))
#define MAKE_FLOAT2(x, y) make_float2(x, y)
#define MAKE_FLOAT4(x, y, z, w) make_float4(x, y, z, w)
#define MAKE_UINT2(x, y) make_uint2(x, y)
#define MAKE_UINT4(x, y, z, w) make_uint4(x, y, z, w)
#define ATOMIC_INCREMENT(counter) atomicAdd(counter, 1)

#define HAS_CONSTANT_POINTERS 0
#define HAS_MULTIPROCESSOR_ID 1
INLINE int MULTIPROCESSOR_ID(void) {
    int id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

/* The filter belongs to the texture object. */
#define TEXTURE ULONG
INLINE float4 qb_texture_read(ULONG t, float x, float y, int layer) {
    float4 v;
    asm("tex.a2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6, %7, %7}];"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
        : "l"(t), "r"(layer), "f"(x), "f"(y));
    return v;
}
#define TEXTURE_READ_1(filter, t, x, y, layer) qb_texture_read(t, x, y, layer).x
#define TEXTURE_READ_2(filter, t, x, y, layer) qb_texture_read(t, x, y, layer)
#define TEXTURE_READ_4(filter, t, x, y, layer) qb_texture_read(t, x, y, layer)

INLINE float HALF_TO_FLOAT(ushort bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
INLINE ushort FLOAT_TO_HALF(float value) {
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

#define HAS_HALF_ARITHMETIC 1
INLINE uint HALF2_FMA(uint a, uint b, uint c) {
    uint d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
INLINE uint HALF2_ADD(uint a, uint b) {
    uint d;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
INLINE uint HALF2_SUB(uint a, uint b) {
    uint d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}

#define HAS_SHUFFLE 1
#define SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#define SHUFFLE_DOWN(value, n) __shfl_down_sync(0xffffffffu, value, n)

#endif

#define UNROLL _Pragma("unroll")
/* 2^-32, and the fraction bits of a fixed-point coordinate as a float below one. */
#define FIXED_UNIT 2.3283064365386963e-10f

#endif
