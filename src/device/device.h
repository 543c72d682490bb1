/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* One interface for CUDA and OpenCL: devices, memory, queues, programs. It knows nothing of tomography. The libraries
 * (libcuda, NVRTC, the OpenCL loader) are opened at run time; if one is missing, its devices are missing too, and
 * qb__device_missing() has the reason. Calls may come from any thread, but a queue is used by one thread at a time. */
typedef enum qb__device_api { QB__API_CUDA = 1, QB__API_OPENCL = 2 } qb__device_api;

typedef struct qb__device_info {
    qb__device_api api;
    int index; /* among the devices of its API: "cuda:0" */
    char name[128];
    char driver[64];      /* versions of the driver and the compiler */
    char spec[24];        /* "cuda:0", "opencl:1" */
    int arch;             /* compute capability, 90 = 9.0; 0: unknown */
    bool arch_specific;   /* CUDA: code for exactly this chip (sm_90a) can be compiled */
    bool is_cpu;          /* an OpenCL device that is the host's CPU (PoCL) */
    bool in_host_memory;  /* the memory of the device is the host's (CPUs, integrated GPUs) */
    bool half_arithmetic; /* arithmetic in half precision, not only storage */
    bool doubles;         /* double precision */
    bool images;          /* textures with linear filtering */
    bool subgroups;       /* shuffles across a warp or subgroup */
    unsigned warp;        /* lanes that run together; 1 if unknown */
    unsigned multiprocessors;
    size_t memory_bytes, free_bytes; /* free: the whole memory until it is asked for with qb__device_free_bytes */
    size_t local_bytes;              /* shared memory of one work group, with opt-in */
    size_t l2_bytes;
    size_t group_size; /* most work items of a group */
    size_t image_width, image_height, image_layers;
    double clock_hz;            /* clock of the multiprocessors */
    unsigned char identity[16]; /* CUDA: unique id of the chip; zeros: unknown */
} qb__device_info;

typedef struct qb__device qb__device;   /* an open device */
typedef struct qb__queue qb__queue;     /* a stream, or an in-order command queue */
typedef struct qb__event qb__event;     /* a position in a queue, with a time */
typedef struct qb__memory qb__memory;   /* linear device memory */
typedef struct qb__texture qb__texture; /* an image read through the texture unit */
typedef struct qb__program qb__program; /* a source compiled with a set of macros */
typedef struct qb__kernel qb__kernel;   /* a function of a program; belongs to it */

/* The devices of this machine, CUDA first. *list belongs to the library and is valid until the process ends. No devices
 * (*count 0) is not a failure. */
qb_status qb__device_list(const qb__device_info **list, size_t *count);
/* Why an API has no devices or cannot compile for them, and the package that provides what is missing; empty if nothing
 * is missing. */
const char *qb__device_missing(qb__device_api api);

/* `spec`: cuda, cuda:N, opencl, opencl:N. QB_NO_DEVICE with what is missing. A device may be opened several times: the
 * primary context is shared. */
qb_status qb__device_open(const char *spec, qb__device **device);
void qb__device_close(qb__device *device); /* NULL-safe; all objects made from it must have been destroyed */
const qb__device_info *qb__device_info_of(const qb__device *device);
/* Make the device's primary context current in the calling thread, for libraries that use it (cuFFT); leave restores
 * the previous context. Does nothing on OpenCL. */
qb_status qb__device_enter(qb__device *device);
void qb__device_leave(qb__device *device);
/* Free bytes now. OpenCL cannot tell: all memory minus what this process took here. */
qb_status qb__device_free_bytes(qb__device *device, size_t *bytes);

/* ---- memory ---- */

/* QB_NO_MEMORY if the device has no room: the caller then tries smaller chunks. */
qb_status qb__memory_create(qb__device *device, size_t bytes, qb__memory **memory);
void qb__memory_destroy(qb__memory *memory); /* NULL-safe; does not wait: finish its queues first */
/* Destroy several. All arguments are read first. */
#define QB__MEMORY_DESTROY(...)                                                                                        \
    qb__memory_destroy_all(sizeof((qb__memory *[]){__VA_ARGS__}) / sizeof(qb__memory *), (qb__memory *[]){__VA_ARGS__})
void qb__memory_destroy_all(size_t count, qb__memory *const memories[]);
size_t qb__memory_bytes(const qb__memory *memory);
/* The CUdeviceptr or cl_mem, for libraries (cuFFT). */
uint64_t qb__memory_native(const qb__memory *memory);
/* Page-locked host memory if the API has it, else aligned memory. QB_NO_MEMORY if more is asked for than is free or can
 * be locked. */
qb_status qb__host_create(qb__device *device, size_t bytes, void **host);
void qb__host_destroy(qb__device *device, void *host); /* NULL-safe */

/* ---- queues: everything below is asynchronous and in order within its queue ---- */

qb_status qb__queue_create(qb__device *device, qb__queue **queue);
void qb__queue_destroy(qb__queue *queue);     /* NULL-safe; finishes first */
qb_status qb__queue_finish(qb__queue *queue); /* reports failed kernels: QB_NO_DEVICE if the device is lost */
/* Wait also after a failure, because running transfers use buffers that will be released. The first failure's detail
 * stays. */
qb_status qb__queue_finish_after(qb__queue *queue, qb_status status);
uint64_t qb__queue_native(const qb__queue *queue); /* CUstream or cl_command_queue */
/* `host` must not change until the transfer is done; with page-locked memory the transfer is asynchronous. */
qb_status qb__memory_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes);
qb_status qb__memory_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes);
qb_status qb__memory_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from,
                          size_t from_offset, size_t bytes);
qb_status qb__memory_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes);

/* ---- memory and streams of the library's caller (CUDA) ---- */

/* Wrap memory at the address `native`; destroying the object does not free the memory. QB_UNSUPPORTED if the API has no
 * addresses; QB_BAD_ARGUMENT for an address of another device, if the driver can tell. */
qb_status qb__memory_borrow(qb__device *device, uint64_t native, size_t bytes, qb__memory **memory);
/* Wrap a stream as a queue; NULL = the device's default stream. Destroying the queue does not wait and keeps the
 * stream. */
qb_status qb__queue_borrow(qb__device *device, void *native, qb__queue **queue);

/* One side of a copy of rows: device memory, or host memory if `memory` is NULL. */
typedef struct qb__rows_side {
    const qb__memory *memory;
    void *host;
    size_t offset; /* bytes */
    size_t pitch;  /* bytes from one row to the next, at least `width` */
} qb__rows_side;
/* Copy `rows` rows of `width` bytes. Host memory must stay until the copy is done. */
qb_status qb__memory_copy_rows(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                               size_t rows);

qb_status qb__event_create(qb__device *device, qb__event **event);
void qb__event_destroy(qb__event *event); /* NULL-safe */
qb_status qb__event_record(qb__event *event, qb__queue *queue);
qb_status qb__queue_wait(qb__queue *queue, qb__event *event); /* the queue waits, the calling thread does not */
/* both events must have passed */
qb_status qb__event_seconds(const qb__event *from, const qb__event *to, double *seconds);

/* ---- textures: layered 2-D images of 1, 2 or 4 channels, float or half; coordinates in texels
 * with centres at +0.5, linear or nearest filtering, zero outside (border) ---- */

typedef struct qb__texture_shape {
    size_t width, height, layers; /* layers 0 = a 2-D image */
    unsigned channels;            /* 1, 2, 4 */
    bool half;                    /* 16-bit floats, else 32-bit */
    bool linear;                  /* linear filtering, else nearest */
} qb__texture_shape;
/* Bytes of device memory of a texture. */
size_t qb__texture_bytes(const qb__device *device, const qb__texture_shape *shape);
qb_status qb__texture_create(qb__device *device, const qb__texture_shape *shape, qb__texture **texture);
void qb__texture_destroy(qb__texture *texture); /* NULL-safe */
/* Fill the whole texture from linear memory [layer][y][x][channel] at `offset` bytes. */
qb_status qb__texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset);

/* ---- programs ---- */

/* Compile the embedded source `source` ("bp_parallel_texture.cl": src/kernels/), with the dialect in front, for
 * the device with `macros` (NAME=VALUE, ended by NULL; may be NULL), or load it from the disk cache. Programs of the
 * same device, source and macros are shared. The macro QB_REGISTERS=N limits the registers per item if the compiler
 * can. Errors of the compiler are in the detail. */
qb_status qb__program_build(qb__device *device, const char *source, const char *const *macros, qb__program **program);
void qb__program_release(qb__program *program); /* NULL-safe */
qb_status qb__kernel_get(qb__program *program, const char *name, qb__kernel **kernel);

/* One argument of a launch. */
typedef enum qb__arg_kind { QB__ARG_MEMORY, QB__ARG_TEXTURE, QB__ARG_VALUE, QB__ARG_LOCAL } qb__arg_kind;
typedef struct qb__arg {
    qb__arg_kind kind;
    const void *value; /* a qb__memory, a qb__texture, or the address of a value */
    size_t size;       /* bytes of the value, or of dynamic shared memory (last argument) */
} qb__arg;
/* Macros for elements of an array of qb__arg: */
#define QB__MEMORY(m) ((qb__arg){QB__ARG_MEMORY, (m), 0})
#define QB__TEXTURE(t) ((qb__arg){QB__ARG_TEXTURE, (t), 0})
#define QB__VALUE(v) ((qb__arg){QB__ARG_VALUE, &(v), sizeof(v)})
#define QB__LOCAL(bytes) ((qb__arg){QB__ARG_LOCAL, NULL, (bytes)})
/* A list of up to 12 of them: QB__VALUES(a, b) is QB__VALUE(a), QB__VALUE(b). */
#define QB__VALUES(...) QB__EACH(QB__VALUE, __VA_ARGS__)
#define QB__MEMORIES(...) QB__EACH(QB__MEMORY, __VA_ARGS__)
#define QB__EACH(one, ...) QB__EACH_OF(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(one, __VA_ARGS__)
#define QB__EACH_OF(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) QB__EACH##count
#define QB__EACH1(one, a) one(a)
#define QB__EACH2(one, a, ...) one(a), QB__EACH1(one, __VA_ARGS__)
#define QB__EACH3(one, a, ...) one(a), QB__EACH2(one, __VA_ARGS__)
#define QB__EACH4(one, a, ...) one(a), QB__EACH3(one, __VA_ARGS__)
#define QB__EACH5(one, a, ...) one(a), QB__EACH4(one, __VA_ARGS__)
#define QB__EACH6(one, a, ...) one(a), QB__EACH5(one, __VA_ARGS__)
#define QB__EACH7(one, a, ...) one(a), QB__EACH6(one, __VA_ARGS__)
#define QB__EACH8(one, a, ...) one(a), QB__EACH7(one, __VA_ARGS__)
#define QB__EACH9(one, a, ...) one(a), QB__EACH8(one, __VA_ARGS__)
#define QB__EACH10(one, a, ...) one(a), QB__EACH9(one, __VA_ARGS__)
#define QB__EACH11(one, a, ...) one(a), QB__EACH10(one, __VA_ARGS__)
#define QB__EACH12(one, a, ...) one(a), QB__EACH11(one, __VA_ARGS__)

/* Launch groups[3] work groups of group[3] items. Dynamic shared memory: at most one QB__LOCAL, as the last argument;
 * CUDA kernels declare it with the dialect's LOCAL_DYNAMIC. */
qb_status qb__kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                            const qb__arg *args, size_t count);

/* Programs that this process has compiled for the device so far, without those from the cache. */
typedef struct qb__builds {
    unsigned programs, kept; /* kept: those that are now in the cache */
    double seconds;
} qb__builds;
qb__builds qb__device_builds(qb__device *device);
/* Call `say` before each program is compiled for this device, in the thread that compiles; it must not use the device.
 * One listener per device: the first stays until it leaves. `user` identifies it; after it has left, none of its calls
 * is running. */
typedef void (*qb__build_listener)(void *user, const qb__device_info *info);
void qb__device_listen(qb__device *device, qb__build_listener say, void *user);
void qb__device_unlisten(qb__device *device, const void *user);

/* Whether all programs of `what` (a kernel's name) have been compiled for this device before and are in the cache; and
 * record that they are now. For forecasts: other parameters may need other programs of the same kernel. */
bool qb__programs_noted(const qb__device *device, const char *what);
void qb__programs_note(const qb__device *device, const char *what);

/* The cache folder of compiled programs: QB_CACHE_DIR, else XDG_CACHE_HOME/quickbeam, else ~/.cache/quickbeam. It is
 * private to the user, and files appear only when complete. QB_CACHE_DIR="" turns the cache off. */
const char *qb__program_cache_folder(void);
/* Why the existing folder is not used, with the remedy; "" if it is used or would be created. */
const char *qb__program_cache_problem(void);
