/* SPDX-License-Identifier: MIT */
#ifndef QB_DEVICE_BACKEND_H
#define QB_DEVICE_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "device/device.h"

/* What stands behind device.h: the objects, and one table of functions an api. device.c, memory.c
 * and program.c check arguments, count references and keep the cache; the tables only translate. */

typedef struct qb__backend qb__backend;

/* Page-locked host memory that takes more than its address to give back. */
typedef struct qb__pinned {
    struct qb__pinned *next;
    void *host;
    size_t bytes; /* CUDA: mapped by us and registered */
    void *buffer; /* OpenCL: whose mapping it is */
} qb__pinned;

/* A device in parts, by who writes them: what it is, whoever lists the devices and finds this one; */
struct qb__device {
    const qb__backend *backend;
    qb__device_info info;
    int opened;        /* how many times; the slot stays in the list, guarded by device_list.c */
    atomic_int lost;   /* set once, by the first error that loses the device */
    atomic_int losing; /* set by the thread that records that error */
    char lost_to[256];
    pthread_mutex_t lock;  /* all of the parts below, and whatever the api keeps */
    char compiler[64];     /* identity for the cache's key */
    int number;            /* CUdevice */
    void *id;              /* cl_device_id */
    bool nvidia;           /* OpenCL: NVIDIA's */
    bool lesser_arch;      /* CUDA: treated as an older chip (QB_CUDA_ARCH) */
    struct {               /* what opening it made: the api's device and memory */
        void *context;     /* CUcontext, cl_context */
        void *service;     /* OpenCL: a queue of the device's own, for mapping */
        size_t used_bytes; /* OpenCL: what we took of its memory */
    } open;
    struct { /* program.c */
        qb__program *programs;
        qb__builds builds;
        qb__build_listener listener;
        void *listener_user;
    } made;
    struct { /* memory.c */
        qb__pinned *first;
    } pinned;
    struct { /* OpenCL: how an image of [half][channels] is stored; no channels = not at all */
        unsigned channels;
        bool half;
    } stored[2][5];
};

struct qb__queue {
    qb__device *device;
    void *native;
    bool borrowed; /* the caller's: neither finished nor destroyed here */
};

struct qb__event {
    qb__device *device;
    void *native;
    bool recorded;
};

struct qb__memory {
    qb__device *device;
    size_t bytes;
    uint64_t native;
    bool borrowed; /* the caller's */
};

struct qb__texture {
    qb__device *device;
    qb__texture_shape shape;
    void *array;      /* CUarray, cl_mem */
    uint64_t object;  /* CUtexObject, cl_sampler */
    qb__memory *wide; /* OpenCL: the texels widened to the channels stored, and what does it */
    qb__program *widen;
};

struct qb__kernel {
    qb__program *program;
    qb__kernel *next;
    char name[96];
    void *native;
    size_t dynamic_bytes; /* CUDA: local memory opted in so far */
    pthread_mutex_t lock; /* OpenCL sets arguments one by one */
};

struct qb__program {
    qb__device *device;
    qb__program *next;
    int references;
    uint64_t key[2];
    char name[96];
    void *native;
    qb__kernel *kernels;
    pthread_mutex_t lock;
};

/* A compiled program on its way to or from the cache. */
typedef struct qb__binary {
    void *bytes; /* qb__alloc */
    size_t count;
} qb__binary;

struct qb__backend {
    qb__device_api api;
    const char *name; /* name before the colon of a device spec */
    /* Once: the devices into *list (qb__alloc, *count of them, info, number and id filled), and in
     * `missing` why there are none or what keeps them from compiling. */
    void (*find)(qb__device **list, size_t *count, char *missing, size_t missing_size);

    qb_status (*open)(qb__device *device);
    void (*close)(qb__device *device);
    qb_status (*enter)(qb__device *device);
    void (*leave)(qb__device *device);
    qb_status (*free_bytes)(qb__device *device, size_t *bytes);

    qb_status (*memory_create)(qb__memory *memory);
    void (*memory_destroy)(qb__memory *memory);
    qb_status (*host_create)(qb__device *device, size_t bytes, void **host);
    void (*host_destroy)(qb__device *device, void *host);

    qb_status (*queue_create)(qb__queue *queue);
    void (*queue_destroy)(qb__queue *queue);
    qb_status (*queue_finish)(qb__queue *queue);
    qb_status (*upload)(qb__queue *queue, qb__memory *to, size_t offset, const void *host, size_t bytes);
    qb_status (*download)(qb__queue *queue, const qb__memory *from, size_t offset, void *host, size_t bytes);
    qb_status (*copy)(qb__queue *queue, qb__memory *to, size_t to_offset, const qb__memory *from, size_t from_offset,
                      size_t bytes);
    qb_status (*fill)(qb__queue *queue, qb__memory *memory, size_t offset, uint8_t byte, size_t bytes);

    /* Memory and streams of others; NULL = the api has none that could be shared. */
    qb_status (*memory_check)(const qb__memory *memory); /* is it this device's? */
    qb_status (*copy_rows)(qb__queue *queue, const qb__rows_side *to, const qb__rows_side *from, size_t width,
                           size_t rows);

    qb_status (*event_create)(qb__event *event);
    void (*event_destroy)(qb__event *event);
    qb_status (*event_record)(qb__event *event, qb__queue *queue);
    qb_status (*queue_wait)(qb__queue *queue, qb__event *event);
    qb_status (*event_seconds)(const qb__event *from, const qb__event *to, double *seconds);

    qb_status (*texture_create)(qb__texture *texture);
    void (*texture_destroy)(qb__texture *texture);
    qb_status (*texture_load)(qb__queue *queue, qb__texture *texture, const qb__memory *from, size_t offset);

    /* Compiles and loads; `binary` stays empty when the api gives none. */
    qb_status (*build)(qb__program *program, const char *text, const char *const *macros, qb__binary *binary);
    /* Loads what build() once gave. Any failure but a lost device means: build again. */
    qb_status (*load)(qb__program *program, const qb__binary *binary);
    void (*unload)(qb__program *program);
    qb_status (*kernel_get)(qb__kernel *kernel);
    void (*kernel_release)(qb__kernel *kernel);
    qb_status (*kernel_launch)(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                               const qb__arg *args, size_t count);
};

extern const qb__backend qb__cuda_backend, qb__opencl_backend;

/* The device remembers page-locked memory; take gives it back to the caller, NULL for an address
 * that is not among it. */
void qb__pinned_keep(qb__device *device, qb__pinned *pinned);
qb__pinned *qb__pinned_take(qb__device *device, const void *host);

/* QB_NO_DEVICE again, once the device is lost. */
qb_status qb__device_check(const qb__device *device);
/* The device is lost to `why`; fails with that and the remedy. */
qb_status qb__device_lose(qb__device *device, const char *why);

#endif
