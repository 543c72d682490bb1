/* SPDX-License-Identifier: MIT */
/* Devices and streams: projections that a program computes on a CUDA device, on its own stream, become a volume there;
 * nothing passes through the host.
 *     cc devices.c $(pkg-config --cflags --libs quickbeam) -ldl -lm -o devices
 *     ./devices
 * With CUDA's headers, cuda.h declares the functions in `driver`; memory and streams of the CUDA runtime (cudaMalloc,
 * cudaStreamCreate) can be used as well. */
#include <dlfcn.h>
#include <math.h>
#include <quickbeam/quickbeam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS = 180, ROWS = 4, COLUMNS = 128, PIXELS = VIEWS * ROWS * COLUMNS };
enum { VOXELS = ROWS * COLUMNS * COLUMNS };

static struct driver {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*context_retain)(void **, int); /* the primary context, in which the library works, too */
    int (*context_set)(void *);
    int (*memory_alloc)(uint64_t *, size_t);
    int (*memory_free)(uint64_t);
    int (*upload)(uint64_t, const void *, size_t, void *);
    int (*download)(void *, uint64_t, size_t, void *);
    int (*stream_create)(void **, unsigned);
    int (*stream_finish)(void *);
} cuda;

static int open_cuda(void) {
    static const char *const names[] = {
        "cuInit",       "cuDeviceGet",          "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc_v2",
        "cuMemFree_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",     "cuStreamCreate",  "cuStreamSynchronize"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *entry[10], *context;
    int device;
    for (int i = 0; i < 10; i++)
        if (!library || !(entry[i] = dlsym(library, names[i]))) return 0;
    memcpy(&cuda, entry, sizeof cuda);
    return !cuda.init(0) && !cuda.device_get(&device, 0) && !cuda.context_retain(&context, device) &&
           !cuda.context_set(context);
}

/* Line integrals of a cylinder of 0.02/mm, 40 mm wide, about the axis; pixels of 0.5 mm. */
static void make_projections(double *angles, float *lines) {
    for (int v = 0; v < VIEWS; v++) {
        angles[v] = 3.14159265358979 * v / VIEWS;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double s = 0.5 * (i % COLUMNS - 0.5 * (COLUMNS - 1));
            lines[v * ROWS * COLUMNS + i] = s * s < 400 ? (float)(0.04 * sqrt(400 - s * s)) : 0;
        }
    }
}

/* On the stream, in order: upload, reconstruct, download. The host does not wait in between. */
static qb_status reconstruct(const double *angles, const float *lines, float *volume) {
    uint64_t projections = 0, slices = 0;
    void *stream;
    int failed = cuda.stream_create(&stream, 0) || cuda.memory_alloc(&projections, PIXELS * sizeof(float)) ||
                 cuda.memory_alloc(&slices, VOXELS * sizeof(float)) ||
                 cuda.upload(projections, lines, PIXELS * sizeof(float), stream);
    if (failed) return QB_NO_DEVICE;
    const qb_tensor from = {.data = (void *)(uintptr_t)projections,
                            .memory = QB_MEMORY_CUDA,
                            .device = 0,
                            .dtype = QB_F32,
                            .ndim = 3,
                            .shape = {VIEWS, ROWS, COLUMNS},
                            .stream = stream};
    qb_tensor to = from;
    to.data = (void *)(uintptr_t)slices;
    to.shape[0] = ROWS, to.shape[1] = to.shape[2] = COLUMNS;
    const qb_env env = {.device = "cuda:0"};
    qb_status status = qb_fbp(&from, angles, 0.5, &to, NULL, &env);
    cuda.download(volume, slices, VOXELS * sizeof(float), stream);
    cuda.stream_finish(stream);
    cuda.memory_free(projections);
    cuda.memory_free(slices);
    return status;
}

int main(void) {
    static double angles[VIEWS];
    static float lines[PIXELS], volume[VOXELS];
    if (!open_cuda()) {
        printf("there is no CUDA device\n");
        return 0;
    }
    make_projections(angles, lines);
    qb_status status = reconstruct(angles, lines, volume);
    if (status != QB_OK) {
        fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
        return qb_status_exit_code(status);
    }
    printf("%.4f/mm in the middle, 0.02 went in\n", volume[(COLUMNS + COLUMNS / 2) * COLUMNS + COLUMNS / 2]);
    return 0;
}
