/* SPDX-License-Identifier: MIT */
#ifndef QB_DEVICE_DEVICE_H
#define QB_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* One face for CUDA and OpenCL: devices, memory, queues, programs. It knows no tomography. The
 * libraries (libcuda, NVRTC, the OpenCL loader) are opened at run time; where one is missing, its
 * devices are absent and qb__device_missing() says why. All calls may be made from any thread, but
 * a queue by one thread at a time. */
typedef enum qb__device_api { QB__API_CUDA = 1, QB__API_OPENCL = 2 } qb__device_api;

typedef struct qb__device_info {
    qb__device_api api;
    int index; /* among the devices of its api: "cuda:0" */
    char name[128];
    char driver[64];      /* driver version, and the compiler's */
    char spec[24];        /* "cuda:0", "opencl:1" */
    int arch;             /* compute capability, 90 = 9.0; 0: none is known */
    bool arch_specific;   /* CUDA: code for exactly this chip (sm_90a) can be had */
    bool is_cpu;          /* an OpenCL device that is the host's processor (PoCL) */
    bool in_host_memory;  /* its memory is the host's (processors, chips that share it) */
    bool half_arithmetic; /* arithmetic on half, not only storage */
    bool doubles;         /* double precision */
    bool images;          /* textures with linear filtering */
    bool subgroups;       /* shuffles across a warp or subgroup */
    unsigned warp;        /* lanes that run together; 1 where nothing is known */
    unsigned multiprocessors;
    size_t memory_bytes, free_bytes; /* free: not asked yet, all; see qb__device_free_bytes */
    size_t local_bytes;              /* shared memory one work group can have, opted in */
    size_t l2_bytes;
    size_t group_size; /* most work items of a group */
    size_t image_width, image_height, image_layers;
    double clock_hz;            /* clock of the multiprocessors */
    unsigned char identity[16]; /* CUDA: which chip of all it is; zeros: not known */
} qb__device_info;

typedef struct qb__device qb__device;   /* an open device */
typedef struct qb__queue qb__queue;     /* work in order: a stream, a command queue */
typedef struct qb__event qb__event;     /* a place in a queue, with a time */
typedef struct qb__memory qb__memory;   /* linear device memory */
typedef struct qb__texture qb__texture; /* an image read through the texture unit */
typedef struct qb__program qb__program; /* one source compiled with one set of macros */
typedef struct qb__kernel qb__kernel;   /* an entry of a program; belongs to it */

/* The devices found, CUDA first. *list is the library's, valid until the process ends. Without any,
 * *count is 0 and that is no failure. */
qb_status qb__device_list(const qb__device_info **list, size_t *count);
/* Why an api has no devices or cannot compile for them, and which package brings what is missing;
 * empty when all is there. */
const char *qb__device_missing(qb__device_api api);

/* `spec`: cuda, cuda:N, opencl, opencl:N. QB_NO_DEVICE says what is missing. Opening the same
 * device twice is fine: the primary context is shared. */
qb_status qb__device_open(const char *spec, qb__device **device);
void qb__device_close(qb__device *device); /* NULL-safe; everything made from it must be gone */
const qb__device_info *qb__device_info_of(const qb__device *device);
/* Makes the device's primary context the calling thread's, for libraries that work in it (cuFFT);
 * leave gives the thread back what it had. Nothing on OpenCL. */
qb_status qb__device_enter(qb__device *device);
void qb__device_leave(qb__device *device);
/* Free bytes right now; on OpenCL, which does not say, all but what this process took here. */
qb_status qb__device_free_bytes(qb__device *device, size_t *bytes);

/* ---- memory ---- */

/* QB_NO_MEMORY when the device has no room: the caller makes its chunks smaller and tries again. */
qb_status qb__memory_create(qb__device *device, size_t bytes, qb__memory **memory);
void qb__memory_destroy(qb__memory *memory); /* NULL-safe; waits for nothing: finish its queues first */
size_t qb__memory_bytes(const qb__memory *memory);
/* The CUdeviceptr or cl_mem, for libraries (cuFFT). */
uint64_t qb__memory_native(const qb__memory *memory);
/* Page-locked host memory where the api has it, else plain aligned memory. QB_NO_MEMORY when more
 * is asked for than is free or can be locked. */
qb_status qb__host_create(qb__device *device, size_t bytes, void **host);
void qb__host_destroy(qb__device *device, void *host); /* NULL-safe */

/* ---- queues: everything below is asynchronous and in order within its queue ---- */

qb_status qb__queue_create(qb__device *device, qb__queue **queue);
void qb__queue_destroy(qb__queue *queue);     /* NULL-safe; finishes first */
qb_status qb__queue_finish(qb__queue *queue); /* a failed kernel shows here: QB_NO_DEVICE when the device is lost */
/* Wait, after a failure as well: what is still on its way uses buffers that are about to go. The first
 * failure's words stay. */
qb_status qb__queue_finish_after(qb__queue *queue, qb_status status);
uint64_t qb__queue_native(const qb__queue *queue); /* CUstream or cl_command_queue */
/* `host` must stay as it is until the queue has passed; page-locked memory makes it asynchronous.
 */
qb_status qb__memory_upload(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes);
qb_status qb__memory_download(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes);
qb_status qb__memory_copy(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from,
                          size_t from_offset, size_t bytes);
qb_status qb__memory_fill(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes);

/* ---- what belongs to the caller of the library: CUDA's memory and streams ---- */

/* Memory at `native` as if it were ours; destroying it leaves it where it is. QB_UNSUPPORTED where
 * the api has no addresses; QB_BAD_ARGUMENT for an address that is not of this device, where the
 * driver can tell. */
qb_status qb__memory_borrow(qb__device *device, uint64_t native, size_t bytes, qb__memory **memory);
/* A stream as a queue; NULL = the device's default stream. Destroying it leaves the stream, and waits
 * for nothing. */
qb_status qb__queue_borrow(qb__device *device, void *native, qb__queue **queue);

/* One side of a copy of rows: device memory, or the host's where that is NULL. */
typedef struct qb__rows_side {
    const qb__memory *memory;
    void *host;
    size_t offset; /* bytes */
    size_t pitch;  /* bytes from row to row, at least `width` */
} qb__rows_side;
/* `rows` pieces of `width` bytes. Host memory must stay until the queue has passed. */
qb_status qb__memory_copy_rows(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                               size_t rows);

qb_status qb__event_create(qb__device *device, qb__event **event);
void qb__event_destroy(qb__event *event); /* NULL-safe */
qb_status qb__event_record(qb__event *event, qb__queue *queue);
qb_status qb__queue_wait(qb__queue *queue, qb__event *event); /* the queue waits, the thread does not */
qb_status qb__event_seconds(const qb__event *from, const qb__event *to, double *seconds); /* both passed */

/* ---- textures: layered 2-D images of 1, 2 or 4 channels, float or half; coordinates in texels
 * with centres at +0.5, linear or nearest filtering, zero outside (border) ---- */

typedef struct qb__texture_shape {
    size_t width, height, layers; /* layers 0 = a plain 2-D image */
    unsigned channels;            /* 1, 2, 4 */
    bool half;                    /* 16-bit floating point, else 32 */
    bool linear;                  /* filtering */
} qb__texture_shape;
/* What it takes of the device's memory. */
size_t qb__texture_bytes(const qb__device *device, const qb__texture_shape *shape);
qb_status qb__texture_create(qb__device *device, const qb__texture_shape *shape, qb__texture **texture);
void qb__texture_destroy(qb__texture *texture); /* NULL-safe */
/* The whole image from linear memory [layer][y][x][channel] at `offset` bytes. */
qb_status qb__texture_load(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset);

/* ---- programs ---- */

/* The source embedded in the library under `source` ("bp_parallel_linear_texture.cl":
 * src/kernels/), with the dialect in front, compiled for the device with `macros` (NAME=VALUE,
 * ended by NULL; may be NULL), from the disk cache when it is there. Programs of the same device,
 * source and macros are shared. The macro QB_REGISTERS=N caps the registers of an item where the
 * compiler can. A compiler's complaint is in the detail. */
qb_status qb__program_build(qb__device *device, const char *source, const char *const *macros, qb__program **program);
void qb__program_release(qb__program *program); /* NULL-safe */
qb_status qb__kernel_get(qb__program *program, const char *name, qb__kernel **kernel);

/* One argument of a launch. */
typedef enum qb__arg_kind { QB__ARG_MEMORY, QB__ARG_TEXTURE, QB__ARG_VALUE, QB__ARG_LOCAL } qb__arg_kind;
typedef struct qb__arg {
    qb__arg_kind kind;
    const void *value; /* the qb__memory, the qb__texture, or where the value stands */
    size_t size;       /* bytes of the value, or of dynamic local memory (last argument) */
} qb__arg;
/* Macros for rows of qb__arg: */
#define QB__MEMORY(m) ((qb__arg){QB__ARG_MEMORY, (m), 0})
#define QB__TEXTURE(t) ((qb__arg){QB__ARG_TEXTURE, (t), 0})
#define QB__VALUE(v) ((qb__arg){QB__ARG_VALUE, &(v), sizeof(v)})
#define QB__LOCAL(bytes) ((qb__arg){QB__ARG_LOCAL, NULL, (bytes)})

/* groups[3] work groups of group[3] items. Dynamic local memory: at most one QB__LOCAL, last; CUDA
 * kernels declare it with the dialect's LOCAL_DYNAMIC. */
qb_status qb__kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                            const qb__arg *args, size_t count);

/* What was compiled for this device in this process so far; what came from the cache does not
 * count. */
typedef struct qb__builds {
    unsigned programs, kept; /* kept: those that the cache now has */
    double seconds;
} qb__builds;
qb__builds qb__device_builds(qb__device *device);
/* Have `say` called before each program that is compiled for this device, by the thread that
 * compiles; it must not use the device. One listener a device: the first stays until it leaves;
 * `user` tells them apart, and no call of a listener is under way once it has left. */
typedef void (*qb__build_listener)(void *user, const qb__device_info *info);
void qb__device_listen(qb__device *device, qb__build_listener say, void *user);
void qb__device_unlisten(qb__device *device, const void *user);

/* Whether all programs of `what`, a kernel's name, have been made for this device before and are kept;
 * that they are now. For forecasts: parameters may ask for other programs of the same kernel. */
bool qb__programs_noted(const qb__device *device, const char *what);
void qb__programs_note(const qb__device *device, const char *what);

/* Where compiled programs are kept: QB_CACHE_DIR, else XDG_CACHE_HOME/quickbeam, else
 * ~/.cache/quickbeam; private to the user, files appear whole. QB_CACHE_DIR="" keeps none. */
const char *qb__program_cache_folder(void);
/* Why that folder, which is there, is not used, and the remedy; "" when it is, or would be made. */
const char *qb__program_cache_problem(void);

#endif
