/* SPDX-License-Identifier: MIT */
/* The neutral dialect: put in front of every kernel source, so that one text runs as CUDA C++ and
 * as OpenCL C 1.2. Seen by the device compilers only. */
#ifndef QB_DIALECT_H
#define QB_DIALECT_H

#ifdef __CUDACC__
#define QB_CUDA 1
#else
#define QB_CUDA 0
#endif

#if QB_CUDA

#pragma nv_diag_suppress 177 /* a source need not use all of these functions */
#define KERNEL extern "C" __global__
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_ALIGNED __shared__ __align__(16) /* aligned for vector loads and stores */
#define CONSTANT __constant__                  /* a table of the source: CONSTANT float table[4] = {...}; */
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()
#define GROUP_LIMIT(items) __launch_bounds__(items)

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong; /* 64 bits in both languages; OpenCL's long has 64 too */
typedef unsigned short half_bits;

FUNCTION uint local_id(int i) { return i == 0 ? threadIdx.x : i == 1 ? threadIdx.y : threadIdx.z; }
FUNCTION uint group_id(int i) { return i == 0 ? blockIdx.x : i == 1 ? blockIdx.y : blockIdx.z; }
FUNCTION uint local_size(int i) { return i == 0 ? blockDim.x : i == 1 ? blockDim.y : blockDim.z; }
FUNCTION uint group_count(int i) { return i == 0 ? gridDim.x : i == 1 ? gridDim.y : gridDim.z; }
FUNCTION size_t global_id(int i) { return (size_t)group_id(i) * local_size(i) + local_id(i); }
FUNCTION size_t global_size(int i) { return (size_t)group_count(i) * local_size(i); }

#define FMA(a, b, c) __fmaf_rn(a, b, c)
/* 1 / a to about an ulp. */
FUNCTION float RECIPROCAL(float a) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
#define FLOAT2(x, y) make_float2(x, y)
#define FLOAT4(x, y, z, w) make_float4(x, y, z, w)

/* Half precision as storage: 16 bits to float and back, nearest even. */
FUNCTION float half_to_float(half_bits bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
FUNCTION half_bits float_to_half(float value) {
    half_bits bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#define LOAD_HALF(index, pointer) half_to_float((pointer)[index])
#define STORE_HALF(value, index, pointer) ((pointer)[index] = float_to_half(value))

/* A texture argument, and reading it: coordinates in texels, centres at +0.5. A plain image is read
 * with TEXTURE_READ, a layered one with TEXTURE_READ_LAYER; both give what the shape holds in the
 * first components. */
#define TEXTURE(name) cudaTextureObject_t name
#define TEXTURE_LAYERED(name) cudaTextureObject_t name
#define TEXTURE_READ1(name, x, y) tex2D<float>(name, x, y)
#define TEXTURE_READ2(name, x, y) tex2D<float2>(name, x, y)
#define TEXTURE_READ4(name, x, y) tex2D<float4>(name, x, y)
#define TEXTURE_READ1_LAYER(name, x, y, layer) tex2DLayered<float>(name, x, y, layer)
#define TEXTURE_READ2_LAYER(name, x, y, layer) tex2DLayered<float2>(name, x, y, layer)
#define TEXTURE_READ4_LAYER(name, x, y, layer) tex2DLayered<float4>(name, x, y, layer)

/* Local memory whose size the launch gives (QB__LOCAL, the last argument):
 *     KERNEL void f(GLOBAL float *out LOCAL_DYNAMIC_ARGUMENT(float, cache)) {
 *         LOCAL_DYNAMIC(float, cache);                                      */
#define LOCAL_DYNAMIC_ARGUMENT(type, name)
#define LOCAL_DYNAMIC(type, name)                                                                                      \
    extern __shared__ __align__(16) unsigned char qb_dynamic_local[];                                                  \
    type *name = (type *)qb_dynamic_local

#else /* OpenCL C */

#define KERNEL __kernel
#define FUNCTION static inline
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ALIGNED __local __attribute__((aligned(16)))
#define CONSTANT __constant
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP_LIMIT(items)

typedef ushort half_bits;

#define local_id(i) ((uint)get_local_id(i))
#define group_id(i) ((uint)get_group_id(i))
#define local_size(i) ((uint)get_local_size(i))
#define group_count(i) ((uint)get_num_groups(i))
#define global_id(i) get_global_id(i)
#define global_size(i) get_global_size(i)

#define FMA(a, b, c) fma(a, b, c)
#define RECIPROCAL(a) native_recip(a)
#define FLOAT2(x, y) ((float2)(x, y))
#define FLOAT4(x, y, z, w) ((float4)(x, y, z, w))

/* Pointers to half_bits in global memory; in local memory say LOAD_HALF_LOCAL. */
#define LOAD_HALF(index, pointer) vload_half(index, (const __global half *)(pointer))
#define STORE_HALF(value, index, pointer) vstore_half_rte(value, index, (__global half *)(pointer))

#define TEXTURE(name) __read_only image2d_t name, sampler_t name##_sampler
#define TEXTURE_LAYERED(name) __read_only image2d_array_t name, sampler_t name##_sampler
#define TEXTURE_READ1(name, at_x, at_y) read_imagef(name, name##_sampler, (float2)(at_x, at_y)).x
#define TEXTURE_READ2(name, at_x, at_y) read_imagef(name, name##_sampler, (float2)(at_x, at_y)).xy
#define TEXTURE_READ4(name, at_x, at_y) read_imagef(name, name##_sampler, (float2)(at_x, at_y))
#define TEXTURE_READ1_LAYER(name, at_x, at_y, layer)                                                                   \
    read_imagef(name, name##_sampler, (float4)(at_x, at_y, (float)(layer), 0.0f)).x
#define TEXTURE_READ2_LAYER(name, at_x, at_y, layer)                                                                   \
    read_imagef(name, name##_sampler, (float4)(at_x, at_y, (float)(layer), 0.0f)).xy
#define TEXTURE_READ4_LAYER(name, at_x, at_y, layer)                                                                   \
    read_imagef(name, name##_sampler, (float4)(at_x, at_y, (float)(layer), 0.0f))

#define LOCAL_DYNAMIC_ARGUMENT(type, name) , __local type *name
#define LOCAL_DYNAMIC(type, name)

#endif

#if QB_CUDA
#define LOAD_HALF_LOCAL(index, pointer) LOAD_HALF(index, pointer)
#define STORE_HALF_LOCAL(value, index, pointer) STORE_HALF(value, index, pointer)
#else
#define LOAD_HALF_LOCAL(index, pointer) vload_half(index, (const __local half *)(pointer))
#define STORE_HALF_LOCAL(value, index, pointer) vstore_half_rte(value, index, (__local half *)(pointer))
#endif

/* ---- what back-projection adds: 64-bit integers, bits, loops, launch bounds, shuffles, half
 * arithmetic, and a few values that move as one access ---- */

#if QB_CUDA

typedef long long LONG;
#define AS_INT(a) __float_as_int(a)
#define AS_FLOAT(a) __int_as_float(a)
#define AS_UINT(a) __float_as_uint(a)
#define FLOOR(a) floorf(a)
#define UINT2(x, y) make_uint2(x, y)
#define UINT4(x, y, z, w) make_uint4(x, y, z, w)
#define LOCAL_POINTER /* qualifies pointers to local memory */
#define CONSTANT_POINTER
#define HAS_CONSTANT_POINTERS 0 /* constant memory is a struct passed by value */
#define TEXTURE_PASS(name) name /* passes a texture to a function */
#define ATOMIC_INCREMENT(counter) atomicAdd(counter, 1)
#define ATOMIC_ADD(to, n) atomicAdd(to, n)
#define ATOMIC_MIN(to, n) atomicMin(to, n)
#define ATOMIC_MAX(to, n) atomicMax(to, n)
/* Groups have `items`; a multiprocessor should hold `groups` at once, which caps registers. */
#define GROUPS_OF(items, groups) __launch_bounds__(items, groups)

#define HAS_MULTIPROCESSOR_ID 1
FUNCTION int multiprocessor_id(void) {
    int id;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    return id;
}

#define HAS_SHUFFLE 1
#define SHUFFLE_XOR(value, mask) __shfl_xor_sync(0xffffffffu, value, mask)
#define SHUFFLE_DOWN(value, n) __shfl_down_sync(0xffffffffu, value, n)

/* Two halves in a word. */
#define HAS_HALF_ARITHMETIC 1
FUNCTION uint HALF2_FMA(uint a, uint b, uint c) {
    uint d;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}
FUNCTION uint HALF2_ADD(uint a, uint b) {
    uint d;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
FUNCTION uint HALF2_SUB(uint a, uint b) {
    uint d;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    return d;
}
/* A number in both halves. */
FUNCTION uint HALF2_TWICE(float a) {
#if __CUDA_ARCH__ >= 800
    uint d;
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(d) : "f"(a));
    return d;
#else
    return (uint)float_to_half(a) * 0x10001u;
#endif
}

#else

typedef long LONG;
#define AS_INT(a) as_int(a)
#define AS_FLOAT(a) as_float(a)
#define AS_UINT(a) as_uint(a)
#define FLOOR(a) floor(a)
#define UINT2(x, y) ((uint2)(x, y))
#define UINT4(x, y, z, w) ((uint4)(x, y, z, w))
#define LOCAL_POINTER __local
#define CONSTANT_POINTER __constant
#define HAS_CONSTANT_POINTERS 1
#define TEXTURE_PASS(name) name, name##_sampler
#define ATOMIC_INCREMENT(counter) atomic_inc(counter)
#define ATOMIC_ADD(to, n) atomic_add(to, n)
#define ATOMIC_MIN(to, n) atomic_min(to, n)
#define ATOMIC_MAX(to, n) atomic_max(to, n)
#define GROUPS_OF(items, groups) __attribute__((reqd_work_group_size(items, 1, 1)))
#define HAS_MULTIPROCESSOR_ID 0

#ifdef cl_khr_subgroup_shuffle
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define HAS_SHUFFLE 1
#define SHUFFLE_XOR(value, mask) sub_group_shuffle_xor(value, mask)
#define SHUFFLE_DOWN(value, n) sub_group_shuffle(value, (get_sub_group_local_id() + (n)) % get_sub_group_size())
#else
#define HAS_SHUFFLE 0
#endif

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define HAS_HALF_ARITHMETIC 1
#define HALF2_FMA(a, b, c) as_uint(fma(as_half2(a), as_half2(b), as_half2(c)))
#define HALF2_ADD(a, b) as_uint(as_half2(a) + as_half2(b))
#define HALF2_SUB(a, b) as_uint(as_half2(a) - as_half2(b))
#define HALF2_TWICE(a) ((uint)float_to_half(a) * 0x10001u)
#else
#define HAS_HALF_ARITHMETIC 0
#endif

FUNCTION float half_to_float(half_bits bits) { return vload_half(0, (const half *)&bits); }
FUNCTION half_bits float_to_half(float value) {
    half_bits bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return bits;
}

#endif

#define UNROLL _Pragma("unroll")
#define PRAGMA_(text) _Pragma(#text)
#define UNROLL_BY(n) PRAGMA_(unroll n)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

/* FLOATS_n and HALVES_n: n values as one access; UNPACK_ and PACK_: from and to an array. */
typedef struct qb_floats8 {
    float4 low, high;
} qb_floats8;
#define FLOATS_1 float
#define FLOATS_2 float2
#define FLOATS_4 float4
#define FLOATS_8 qb_floats8
#define HALVES_1 half_bits
#define HALVES_2 uint
#define HALVES_4 uint2
#define HALVES_8 uint4

FUNCTION void UNPACK_FLOATS_1(float *v, float e) { v[0] = e; }
FUNCTION void UNPACK_FLOATS_2(float *v, float2 e) { v[0] = e.x, v[1] = e.y; }
FUNCTION void UNPACK_FLOATS_4(float *v, float4 e) { v[0] = e.x, v[1] = e.y, v[2] = e.z, v[3] = e.w; }
FUNCTION void UNPACK_FLOATS_8(float *v, qb_floats8 e) { UNPACK_FLOATS_4(v, e.low), UNPACK_FLOATS_4(v + 4, e.high); }
FUNCTION float PACK_FLOATS_1(const float *v) { return v[0]; }
FUNCTION float2 PACK_FLOATS_2(const float *v) { return FLOAT2(v[0], v[1]); }
FUNCTION float4 PACK_FLOATS_4(const float *v) { return FLOAT4(v[0], v[1], v[2], v[3]); }
FUNCTION qb_floats8 PACK_FLOATS_8(const float *v) {
    qb_floats8 e;
    e.low = PACK_FLOATS_4(v), e.high = PACK_FLOATS_4(v + 4);
    return e;
}
FUNCTION void UNPACK_HALVES_1(float *v, half_bits e) { v[0] = half_to_float(e); }
FUNCTION void UNPACK_HALVES_2(float *v, uint e) {
    v[0] = half_to_float((half_bits)(e & 0xffffu)), v[1] = half_to_float((half_bits)(e >> 16));
}
FUNCTION void UNPACK_HALVES_4(float *v, uint2 e) { UNPACK_HALVES_2(v, e.x), UNPACK_HALVES_2(v + 2, e.y); }
FUNCTION void UNPACK_HALVES_8(float *v, uint4 e) {
    UNPACK_HALVES_2(v, e.x), UNPACK_HALVES_2(v + 2, e.y);
    UNPACK_HALVES_2(v + 4, e.z), UNPACK_HALVES_2(v + 6, e.w);
}
FUNCTION half_bits PACK_HALVES_1(const float *v) { return float_to_half(v[0]); }
FUNCTION uint PACK_HALVES_2(const float *v) { return (uint)float_to_half(v[0]) | (uint)float_to_half(v[1]) << 16; }
FUNCTION uint2 PACK_HALVES_4(const float *v) { return UINT2(PACK_HALVES_2(v), PACK_HALVES_2(v + 2)); }
FUNCTION uint4 PACK_HALVES_8(const float *v) {
    return UINT4(PACK_HALVES_2(v), PACK_HALVES_2(v + 2), PACK_HALVES_2(v + 4), PACK_HALVES_2(v + 6));
}

#endif
