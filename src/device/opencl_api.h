/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/backend.h"

/* Declarations of the used part of OpenCL 1.2's binary interface, so that building needs no headers. Handles are void
 * *. */

typedef int32_t qb__cl_result; /* 0 = success */

typedef struct qb__cl_format {
    uint32_t order, type;
} qb__cl_format;

typedef struct qb__cl_image { /* cl_image_desc */
    uint32_t type;
    size_t width, height, depth, layers, row_pitch, layer_pitch;
    uint32_t levels, samples;
    void *buffer;
} qb__cl_image;

enum {
    QB__CL_DEVICE_TYPE_CPU = 1 << 1,
    QB__CL_DEVICE_TYPE = 0x1000,
    QB__CL_DEVICE_UNITS = 0x1002,
    QB__CL_DEVICE_GROUP_SIZE = 0x1004,
    QB__CL_DEVICE_CLOCK_MHZ = 0x100c,
    QB__CL_DEVICE_IMAGE_WIDTH = 0x1011,
    QB__CL_DEVICE_IMAGE_HEIGHT = 0x1012,
    QB__CL_DEVICE_IMAGES = 0x1016,
    QB__CL_DEVICE_CACHE_BYTES = 0x101e,
    QB__CL_DEVICE_MEMORY = 0x101f,
    QB__CL_DEVICE_LOCAL_BYTES = 0x1023,
    QB__CL_DEVICE_AVAILABLE = 0x1027,
    QB__CL_DEVICE_COMPILER = 0x1028,
    QB__CL_DEVICE_NAME = 0x102b,
    QB__CL_DRIVER_VERSION = 0x102d,
    QB__CL_DEVICE_VERSION = 0x102f,
    QB__CL_DEVICE_EXTENSIONS = 0x1030,
    QB__CL_DEVICE_SHARES_MEMORY = 0x1035,
    QB__CL_DEVICE_IMAGE_LAYERS = 0x1041,
    QB__CL_NVIDIA_MAJOR = 0x4000, /* cl_nv_device_attribute_query */
    QB__CL_NVIDIA_MINOR = 0x4001,
    QB__CL_NVIDIA_WARP = 0x4003,
    QB__CL_AMD_WAVEFRONT = 0x4043,
    QB__CL_MEMORY_READ_WRITE = 1 << 0,
    QB__CL_MEMORY_READ_ONLY = 1 << 2,
    QB__CL_MEMORY_HOST = 1 << 4,
    QB__CL_QUEUE_TIMES = 1 << 1,
    QB__CL_EVENT_END = 0x1283,
    QB__CL_PROGRAM_LOG = 0x1183,
    QB__CL_PROGRAM_SIZES = 0x1165,
    QB__CL_PROGRAM_BINARIES = 0x1166,
    QB__CL_IMAGE_2D = 0x10f1,
    QB__CL_IMAGE_2D_ARRAY = 0x10f3,
    QB__CL_R = 0x10b0,
    QB__CL_RG = 0x10b2,
    QB__CL_RGBA = 0x10b5,
    QB__CL_HALF = 0x10dd,
    QB__CL_FLOAT = 0x10de,
    QB__CL_ADDRESS_CLAMP = 0x1132, /* zero outside */
    QB__CL_FILTER_NEAREST = 0x1140,
    QB__CL_FILTER_LINEAR = 0x1141,
    QB__CL_MAP_READ_WRITE = 3,
    QB__CL_TOO_LARGE = -61 /* CL_INVALID_BUFFER_SIZE */
};

/* The last arguments of every enqueued command: events to wait for, and its own event. */
#define QB__CL_EVENTS uint32_t, void *const *, void **

/* X(return type, field, symbol, arguments) */
#define QB__OPENCL_SYMBOLS(X)                                                                                          \
    X(qb__cl_result, platforms, "clGetPlatformIDs", (uint32_t, void **, uint32_t *))                                   \
    X(qb__cl_result, devices, "clGetDeviceIDs", (void *, uint64_t, uint32_t, void **, uint32_t *))                     \
    X(qb__cl_result, device_info, "clGetDeviceInfo", (void *, uint32_t, size_t, void *, size_t *))                     \
    X(void *, context_create, "clCreateContext",                                                                       \
      (const intptr_t *, uint32_t, void *const *, void *, void *, qb__cl_result *))                                    \
    X(qb__cl_result, context_release, "clReleaseContext", (void *))                                                    \
    X(qb__cl_result, formats, "clGetSupportedImageFormats",                                                            \
      (void *, uint64_t, uint32_t, uint32_t, qb__cl_format *, uint32_t *))                                             \
    X(void *, queue_create, "clCreateCommandQueue", (void *, void *, uint64_t, qb__cl_result *))                       \
    X(qb__cl_result, queue_release, "clReleaseCommandQueue", (void *))                                                 \
    X(qb__cl_result, finish, "clFinish", (void *))                                                                     \
    X(qb__cl_result, flush, "clFlush", (void *))                                                                       \
    X(void *, buffer_create, "clCreateBuffer", (void *, uint64_t, size_t, void *, qb__cl_result *))                    \
    X(qb__cl_result, memory_release, "clReleaseMemObject", (void *))                                                   \
    X(void *, image_create, "clCreateImage",                                                                           \
      (void *, uint64_t, const qb__cl_format *, const qb__cl_image *, void *, qb__cl_result *))                        \
    X(void *, sampler_create, "clCreateSampler", (void *, uint32_t, uint32_t, uint32_t, qb__cl_result *))              \
    X(qb__cl_result, sampler_release, "clReleaseSampler", (void *))                                                    \
    X(qb__cl_result, write, "clEnqueueWriteBuffer",                                                                    \
      (void *, void *, uint32_t, size_t, size_t, const void *, QB__CL_EVENTS))                                         \
    X(qb__cl_result, read, "clEnqueueReadBuffer", (void *, void *, uint32_t, size_t, size_t, void *, QB__CL_EVENTS))   \
    X(qb__cl_result, copy, "clEnqueueCopyBuffer", (void *, void *, void *, size_t, size_t, size_t, QB__CL_EVENTS))     \
    X(qb__cl_result, fill, "clEnqueueFillBuffer",                                                                      \
      (void *, void *, const void *, size_t, size_t, size_t, QB__CL_EVENTS))                                           \
    X(qb__cl_result, copy_to_image, "clEnqueueCopyBufferToImage",                                                      \
      (void *, void *, void *, size_t, const size_t *, const size_t *, QB__CL_EVENTS))                                 \
    X(void *, map, "clEnqueueMapBuffer",                                                                               \
      (void *, void *, uint32_t, uint64_t, size_t, size_t, QB__CL_EVENTS, qb__cl_result *))                            \
    X(qb__cl_result, unmap, "clEnqueueUnmapMemObject", (void *, void *, void *, QB__CL_EVENTS))                        \
    X(qb__cl_result, marker, "clEnqueueMarkerWithWaitList", (void *, QB__CL_EVENTS))                                   \
    X(qb__cl_result, barrier, "clEnqueueBarrierWithWaitList", (void *, QB__CL_EVENTS))                                 \
    X(qb__cl_result, event_release, "clReleaseEvent", (void *))                                                        \
    X(qb__cl_result, event_time, "clGetEventProfilingInfo", (void *, uint32_t, size_t, void *, size_t *))              \
    X(void *, program_create, "clCreateProgramWithSource",                                                             \
      (void *, uint32_t, const char **, const size_t *, qb__cl_result *))                                              \
    X(void *, program_binary, "clCreateProgramWithBinary",                                                             \
      (void *, uint32_t, void *const *, const size_t *, const unsigned char **, qb__cl_result *, qb__cl_result *))     \
    X(qb__cl_result, program_build, "clBuildProgram", (void *, uint32_t, void *const *, const char *, void *, void *)) \
    X(qb__cl_result, program_log, "clGetProgramBuildInfo", (void *, void *, uint32_t, size_t, void *, size_t *))       \
    X(qb__cl_result, program_info, "clGetProgramInfo", (void *, uint32_t, size_t, void *, size_t *))                   \
    X(qb__cl_result, program_release, "clReleaseProgram", (void *))                                                    \
    X(void *, kernel_create, "clCreateKernel", (void *, const char *, qb__cl_result *))                                \
    X(qb__cl_result, kernel_release, "clReleaseKernel", (void *))                                                      \
    X(qb__cl_result, kernel_arg, "clSetKernelArg", (void *, uint32_t, size_t, const void *))                           \
    X(qb__cl_result, launch, "clEnqueueNDRangeKernel",                                                                 \
      (void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, QB__CL_EVENTS))

typedef struct qb__opencl_api {
#define QB__OPENCL_FIELD(type, field, symbol, arguments) type(*field) arguments;
    QB__OPENCL_SYMBOLS(QB__OPENCL_FIELD)
#undef QB__OPENCL_FIELD
} qb__opencl_api;

extern qb__opencl_api qb__opencl; /* filled in by opencl_load.c before any device exists */

/* The meaning of "out of resources" depends on the call. */
typedef enum qb__cl_call { QB__CL_ALLOCATES, QB__CL_LAUNCHES, QB__CL_RUNS } qb__cl_call;
qb_status qb__opencl_status(qb__device *device, qb__cl_result result, qb__cl_call call, const char *doing);

/* Functions of the backend's table, grouped by the file that defines them. */
void qb__opencl_find(qb__device **list, size_t *count, char *missing, size_t size);
qb_status qb__opencl_memory_create(qb__memory *memory);
void qb__opencl_memory_destroy(qb__memory *memory);
qb_status qb__opencl_host_create(qb__device *device, size_t bytes, void **host);
void qb__opencl_host_destroy(qb__device *device, void *host);
qb_status qb__opencl_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes);
qb_status qb__opencl_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes);
qb_status qb__opencl_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from,
                          size_t from_offset, size_t bytes);
qb_status qb__opencl_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes);
/* Fill in device->stored. */
void qb__opencl_choose_images(qb__device *device);
qb_status qb__opencl_texture_create(qb__texture *texture);
void qb__opencl_texture_destroy(qb__texture *texture);
qb_status qb__opencl_texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset);
qb_status qb__opencl_build(qb__program *program, const char *text, const char *const *macros, qb__binary *binary);
qb_status qb__opencl_load(qb__program *program, const qb__binary *binary);
void qb__opencl_unload(qb__program *program);
qb_status qb__opencl_kernel_get(qb__kernel *kernel);
void qb__opencl_kernel_release(qb__kernel *kernel);
qb_status qb__opencl_kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                                   const qb__arg *args, size_t count);
