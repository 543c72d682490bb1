/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "device/device.h"

/* The implementation behind device.h: the objects, and one table of functions for each API. device_list.c, memory.c and
 * program.c check arguments, count references and keep the cache; the tables only translate calls. */

typedef struct qb__backend qb__backend;

/* Page-locked host memory that needs more than its address to be released. */
typedef struct qb__pinned {
    struct qb__pinned *next;
    void *host;
    size_t bytes; /* CUDA: memory that we mapped and registered */
    void *buffer; /* OpenCL: the buffer that is mapped there */
} qb__pinned;

/* A device. The first fields describe it; they are written when the devices are listed, and when this one is opened. */
struct qb__device {
    const qb__backend *backend;
    qb__device_info info;
    int opened;        /* number of times it is open; the slot stays in the list; guarded by device_list.c */
    atomic_int lost;   /* set once, by the first error that loses the device */
    atomic_int losing; /* set by the thread that records the error */
    char lost_to[256];
    pthread_mutex_t lock;  /* guards all of the parts below, and the state of the API */
    char compiler[64];     /* identity of the compiler, for the cache's key */
    int number;            /* CUdevice */
    void *id;              /* cl_device_id */
    bool nvidia;           /* OpenCL by NVIDIA */
    bool lesser_arch;      /* CUDA: treated as an older chip (QB_CUDA_ARCH) */
    struct {               /* made by opening: device and memory of the API */
        void *context;     /* CUcontext, cl_context */
        void *service;     /* OpenCL: a queue of the device itself, for mapping */
        size_t used_bytes; /* OpenCL: memory that this process has taken */
    } open;
    struct { /* written by program.c */
        qb__program *programs;
        qb__builds builds;
        qb__build_listener listener;
        void *listener_user;
    } made;
    struct { /* written by memory.c */
        qb__pinned *first;
    } pinned;
    struct { /* OpenCL: how an image with [half][channels] is stored; no channels = not supported */
        unsigned channels;
        bool half;
    } stored[2][5];
};

struct qb__queue {
    qb__device *device;
    void *native;
    bool borrowed; /* belongs to the caller: never finished or destroyed here */
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
    bool borrowed; /* belongs to the caller */
};

struct qb__texture {
    qb__device *device;
    qb__texture_shape shape;
    void *array;      /* CUarray, cl_mem */
    uint64_t object;  /* CUtexObject, cl_sampler */
    qb__memory *wide; /* OpenCL: the texels with the channels that are stored, and the kernel that widens them */
    qb__program *widen;
};

struct qb__kernel {
    qb__program *program;
    qb__kernel *next;
    char name[96];
    void *native;
    size_t dynamic_bytes; /* CUDA: shared memory opted in so far */
    pthread_mutex_t lock; /* OpenCL sets arguments one by one, so launches are serialised */
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

/* A compiled program, read from or written to the cache. */
typedef struct qb__binary {
    void *bytes; /* qb__alloc */
    size_t count;
} qb__binary;

struct qb__backend {
    qb__device_api api;
    const char *name; /* name of the API, before the colon of a device spec */
    /* Called once: list the devices in *list (qb__alloc; *count of them with info, number and id). `missing` gets the
     * reason if there are none, or if kernels cannot be compiled. */
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

    /* The caller's memory and streams; NULL = the API has none that can be shared. */
    qb_status (*memory_check)(const qb__memory *memory); /* checks that the memory belongs to the device */
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

    /* Compile and load; `binary` stays empty if the API gives no binary. */
    qb_status (*build)(qb__program *program, const char *text, const char *const *macros, qb__binary *binary);
    /* Load the binary of an earlier build(). After any failure except a lost device, the caller builds again. */
    qb_status (*load)(qb__program *program, const qb__binary *binary);
    void (*unload)(qb__program *program);
    qb_status (*kernel_get)(qb__kernel *kernel);
    void (*kernel_release)(qb__kernel *kernel);
    qb_status (*kernel_launch)(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                               const qb__arg *args, size_t count);
};

extern const qb__backend qb__cuda_backend, qb__opencl_backend;

/* The device keeps a list of page-locked memory. take removes an address from it and returns its entry; NULL if the
 * address is not in the list. */
void qb__pinned_keep(qb__device *device, qb__pinned *pinned);
qb__pinned *qb__pinned_take(qb__device *device, const void *host);

/* QB_NO_DEVICE if the device is lost. */
qb_status qb__device_check(const qb__device *device);
/* Mark the device as lost because of `why`; fails with that reason and the remedy. */
qb_status qb__device_lose(qb__device *device, const char *why);
