/* SPDX-License-Identifier: MIT */
/* The neutral dialect: put in front of every kernel source, so that one text runs as CUDA C++ and as
 * OpenCL C 1.2. Seen by the device compilers only. */
#ifndef QB_DIALECT_H
#define QB_DIALECT_H

#ifdef __CUDACC__
#define QB_CUDA 1
#else
#define QB_CUDA 0
#endif

#if QB_CUDA

#define KERNEL extern "C" __global__
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL __shared__
#define CONSTANT __constant__ /* a table of the source: CONSTANT float table[4] = {...}; */
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
#define LOCAL_DYNAMIC(type, name)                                                                  \
    extern __shared__ __align__(16) unsigned char qb_dynamic_local[];                              \
    type *name = (type *)qb_dynamic_local

#else /* OpenCL C */

#define KERNEL __kernel
#define FUNCTION static inline
#define GLOBAL __global
#define LOCAL __local
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
#define FLOAT2(x, y) ((float2)(x, y))
#define FLOAT4(x, y, z, w) ((float4)(x, y, z, w))

/* Pointers to half_bits in global memory; in local memory say LOAD_HALF_LOCAL. */
#define LOAD_HALF(index, pointer) vload_half(index, (const __global half *)(pointer))
#define STORE_HALF(value, index, pointer) vstore_half_rte(value, index, (__global half *)(pointer))

#define TEXTURE(name) __read_only image2d_t name, sampler_t name##_sampler
#define TEXTURE_LAYERED(name) __read_only image2d_array_t name, sampler_t name##_sampler
#define TEXTURE_READ1(name, x, y) read_imagef(name, name##_sampler, (float2)(x, y)).x
#define TEXTURE_READ2(name, x, y) read_imagef(name, name##_sampler, (float2)(x, y)).xy
#define TEXTURE_READ4(name, x, y) read_imagef(name, name##_sampler, (float2)(x, y))
#define TEXTURE_READ1_LAYER(name, x, y, layer)                                                     \
    read_imagef(name, name##_sampler, (float4)(x, y, (float)(layer), 0.0f)).x
#define TEXTURE_READ2_LAYER(name, x, y, layer)                                                     \
    read_imagef(name, name##_sampler, (float4)(x, y, (float)(layer), 0.0f)).xy
#define TEXTURE_READ4_LAYER(name, x, y, layer)                                                     \
    read_imagef(name, name##_sampler, (float4)(x, y, (float)(layer), 0.0f))

#define LOCAL_DYNAMIC_ARGUMENT(type, name) , __local type *name
#define LOCAL_DYNAMIC(type, name)

#endif

#if QB_CUDA
#define LOAD_HALF_LOCAL(index, pointer) LOAD_HALF(index, pointer)
#define STORE_HALF_LOCAL(value, index, pointer) STORE_HALF(value, index, pointer)
#else
#define LOAD_HALF_LOCAL(index, pointer) vload_half(index, (const __local half *)(pointer))
#define STORE_HALF_LOCAL(value, index, pointer)                                                    \
    vstore_half_rte(value, index, (__local half *)(pointer))
#endif

#endif
