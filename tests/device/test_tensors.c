/* SPDX-License-Identifier: MIT */
/* Arrays in the memory of a CUDA device, on the mock driver: which numbers are copied where, and who waits for whom.
 * test_tensors_cuda.c tests the values on a real device. */
#include "child.h"

#include "device/device.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_device.h"
#include "quickbeam/quickbeam.h"

enum { VIEWS = 24, ROWS = 4, COLUMNS = 32, N = 32, GAP = 5 };

static float lines[VIEWS * ROWS * COLUMNS];
static double angles[VIEWS];

static void make_lines(void) {
    for (int v = 0; v < VIEWS; v++) angles[v] = M_PI * v / VIEWS;
    for (int i = 0; i < VIEWS * ROWS * COLUMNS; i++) {
        double s = i % COLUMNS - 15.5;
        lines[i] = s * s < 81 ? (float)(0.02 * sqrt(81 - s * s) * (1 + i / COLUMNS % ROWS)) : 0;
    }
}

/* The mock device's memory is host memory. */
static qb_tensor on_device(void *data, int64_t n0, int64_t n1, int64_t n2, void *stream) {
    return (qb_tensor){
        .data = data, .memory = QB_MEMORY_CUDA, .dtype = QB_F32, .ndim = 3, .shape = {n0, n1, n2}, .stream = stream};
}

static qb_status fdk_by(const char *device, const qb_tensor *from, const qb_tensor *to) {
    qb_geometry circle;
    double turn[VIEWS];
    for (int v = 0; v < VIEWS; v++) turn[v] = 2 * angles[v];
    qb_status status = qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, &circle);
    if (status == QB_OK) status = qb_fdk(from, &circle, to, NULL, &(qb_env){.threads = 2, .device = device});
    qb_geometry_destroy(&circle);
    return status;
}

static qb_status fdk(const qb_tensor *from, const qb_tensor *to) { return fdk_by(NULL, from, to); }

/* A method on the CPU reads from and writes to the device: the values are those of arrays on the host, whatever the
 * strides, and nothing outside the arrays is written. */
static const char *cpu_methods_pass_through_the_host(mock_cuda_state *mock) {
    static float expected[ROWS * N * N], volume[ROWS * N * (N + GAP)];
    static float turned[VIEWS * ROWS * (2 * COLUMNS + GAP)];
    static int stream;
    make_lines();
    qb_tensor from = {.data = lines, .dtype = QB_F32, .ndim = 3, .shape = {VIEWS, ROWS, COLUMNS}};
    qb_tensor to = {.data = expected, .dtype = QB_F32, .ndim = 3, .shape = {ROWS, N, N}};
    EXPECT(fdk(&from, &to) == QB_OK);
    EXPECT(mock->row_copies == 0 && mock->contexts == 0);
    mock->watched = &stream;
    for (int layout = 0; layout < 4; layout++) {
        /* dense; [row][view] with gaps; every second column; backwards in all */
        const int line = 2 * COLUMNS + GAP, whole = VIEWS * ROWS * COLUMNS;
        const int64_t strides[][3] = {{ROWS * COLUMNS, COLUMNS, 1},
                                      {line, VIEWS * line, 1},
                                      {ROWS * line, line, 2},
                                      {-ROWS * COLUMNS, -COLUMNS, -1}};
        float *first = layout == 3 ? turned + whole - 1 : turned;
        for (int v = 0; v < VIEWS; v++)
            for (int r = 0; r < ROWS; r++)
                for (int c = 0; c < COLUMNS; c++)
                    first[v * strides[layout][0] + r * strides[layout][1] + c * strides[layout][2]] =
                        lines[(v * ROWS + r) * COLUMNS + c];
        for (int i = 0; i < ROWS * N * (N + GAP); i++) volume[i] = -7;
        from = on_device(first, VIEWS, ROWS, COLUMNS, &stream);
        memcpy(from.strides, strides[layout], sizeof strides[layout]);
        to = on_device(volume, ROWS, N, N, &stream);
        to.strides[0] = N + GAP, to.strides[1] = ROWS * (N + GAP), to.strides[2] = 1;
        mock->waits = mock->row_copies = 0;
        EXPECT(fdk(&from, &to) == QB_OK);
        EXPECT(mock->waits > 0); /* waits for the work that the caller has queued */
        EXPECT(mock->row_copies > 0 && mock->row_copies_in_place == 0);
        for (int y = 0; y < N; y++)
            for (int z = 0; z < ROWS; z++)
                for (int x = 0; x < N + GAP; x++)
                    EXPECT(volume[(y * ROWS + z) * (N + GAP) + x] == (x < N ? expected[(z * N + y) * N + x] : -7));
    }
    EXPECT(mock->contexts == 0 && mock->streams == 0 && mock->events == 0 && mock->pinned == 0);
    return NULL;
}

/* Counts with fields, all on the device. Page-locked memory is read as other host memory is. */
static const char *fields_on_the_device(mock_cuda_state *mock) {
    static uint16_t counts[VIEWS * ROWS * COLUMNS], flat[ROWS * COLUMNS], dark[ROWS * COLUMNS];
    float flat_seen[ROWS * COLUMNS], dark_seen[ROWS * COLUMNS];
    static uint16_t seen[VIEWS * ROWS * COLUMNS];
    qb_scan *scan;
    make_lines();
    for (int i = 0; i < VIEWS * ROWS * COLUMNS; i++) counts[i] = (uint16_t)(i * 7);
    for (int i = 0; i < ROWS * COLUMNS; i++) flat[i] = (uint16_t)(60000 + i), dark[i] = (uint16_t)i;
    qb_tensor from = on_device(counts, VIEWS, ROWS, COLUMNS, NULL);
    qb_tensor flats = on_device(flat, 1, ROWS, COLUMNS, NULL);
    qb_tensor darks = on_device(dark, 1, ROWS, COLUMNS, NULL);
    from.dtype = flats.dtype = darks.dtype = QB_U16;
    darks.memory = QB_MEMORY_CUDA_HOST;
    EXPECT(qb_scan_from_tensor(&from, angles, &flats, &darks, NULL, NULL, &scan) == QB_OK);
    EXPECT(qb_scan_fields(scan, 0, ROWS, flat_seen, dark_seen) == QB_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++) EXPECT(flat_seen[i] == flat[i] && dark_seen[i] == dark[i]);
    EXPECT(qb_scan_read(scan, 3, 9, 1, 3, seen) == QB_OK);
    for (int v = 0; v < 6; v++)
        EXPECT(!memcmp(seen + v * 2 * COLUMNS, counts + ((v + 3) * ROWS + 1) * COLUMNS, 2 * COLUMNS * sizeof *seen));
    qb_scan_close(scan);
    EXPECT(mock->contexts == 0 && mock->streams == 0 && mock->pinned == 0);
    return NULL;
}

/* Views and rows of a scan that are used in place equal those that are read: with all strides, choices of views and
 * meanings of an image. */
static const char *taken_as_read(mock_cuda_state *mock) {
    static uint16_t stored[4 * VIEWS * ROWS * COLUMNS], read[VIEWS * ROWS * COLUMNS];
    static uint16_t taken[VIEWS * ROWS * COLUMNS + 8];
    qb__device *device;
    qb__memory *memory;
    qb__queue *queue;
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) stored[i] = (uint16_t)(i * 31 + i / 977);
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__memory_borrow(device, (uint64_t)(uintptr_t)taken, sizeof taken, &memory) == QB_OK);
    EXPECT(qb__queue_create(device, &queue) == QB_OK);
    for (int layout = 0; layout < 6; layout++) {
        const bool sinogram = layout & 1;
        const int64_t n0 = sinogram ? ROWS : VIEWS, n1 = sinogram ? VIEWS : ROWS;
        const int64_t strides[][3] = {
            {0, 0, 0}, {n1 * (COLUMNS + GAP), COLUMNS + GAP, 1}, {-n1 * 2 * COLUMNS, 2 * COLUMNS, -2}};
        const int64_t *chosen = strides[layout / 2];
        qb_scan_options about = {
            .as = sinogram ? QB_IMAGE_SINOGRAM : QB_IMAGE_PROJECTION, .views = "3:21:4", .quantity = QB_COUNTS};
        ptrdiff_t backwards = layout / 2 == 2 ? (n0 - 1) * n1 * 2 * COLUMNS + 2 * COLUMNS - 2 : 0;
        qb_tensor from = on_device(stored + backwards, n0, n1, COLUMNS, NULL);
        qb_scan *scan;
        from.dtype = QB_U16;
        memcpy(from.strides, chosen, sizeof strides[0]);
        EXPECT(qb_scan_from_tensor(&from, NULL, NULL, NULL, &about, NULL, &scan) == QB_OK);
        const size_t views = qb_scan_describe(scan)->views, rows = 2, row = 1;
        EXPECT(views == 5);
        EXPECT(qb_scan_read(scan, 0, views, row, row + rows, read) == QB_OK);
        ptrdiff_t stride[3];
        qb__tensor_block block = {.first = qb__scan_place(scan, 0, row, stride),
                                  .count = {views, rows, COLUMNS},
                                  .other = {(ptrdiff_t)rows * COLUMNS, COLUMNS, 1}};
        memcpy(block.stride, stride, sizeof stride);
        memset(taken, 0xee, sizeof taken);
        EXPECT(qb__tensor_device_take(qb__scan_on_device(scan), queue, &block, memory, 4) == QB_OK);
        EXPECT(taken[1] == 0xeeee && taken[2 + views * rows * COLUMNS] == 0xeeee);
        EXPECT(!memcmp(taken + 2, read, views * rows * COLUMNS * sizeof *read));
        qb_scan_close(scan);
    }
    qb__queue_destroy(queue);
    qb__memory_destroy(memory);
    qb__device_close(device);
    EXPECT(mock->contexts == 0 && mock->allocations == 0);
    return NULL;
}

/* Filtered back-projection on the same device: no number of the scan or of the volume passes through the host. The mock
 * runs no kernels. */
static const char *fbp_works_in_place(mock_cuda_state *mock) {
    static float volume[ROWS * N * N], preview[ROWS * N * N];
    static int stream;
    const size_t raw = sizeof lines, result = sizeof volume;
    make_lines();
    mock->watched = &stream;
    for (int way = 0; way < 3; way++) { /* in place; integers; arrays of another device */
        qb_tensor from = on_device(lines, VIEWS, ROWS, COLUMNS, &stream);
        qb_tensor to = on_device(way == 1 ? preview : volume, ROWS, N, N, &stream);
        qb_fbp_options options;
        qb_output_options output = {.array = &to};
        qb_env env = {.device = "cuda:0"};
        const char *report;
        qb_scan *scan;
        qb_job *job;
        if (way == 1) to.dtype = QB_U16, output.range = (qb_numbers){2, {0, 1}};
        if (way == 2) to.memory = QB_MEMORY_CPU;
        EXPECT(qb_params_init(qb_fbp_params, &options) == QB_OK);
        EXPECT(qb_params_set(qb_fbp_params, &options, "center", "15.5") == QB_OK);
        EXPECT(qb_params_set(qb_fbp_params, &options, "kernel", "bp_parallel_linear.alu") == QB_OK);
        EXPECT(qb_scan_from_tensor(&from, angles, NULL, NULL, NULL, &env, &scan) == QB_OK);
        EXPECT(qb_fbp_plan(scan, NULL, &options, &output, "test", &env, &job) == QB_OK);
        mock->row_copies = mock->row_copies_in_place = mock->waits = 0;
        mock->row_bytes_in_place = mock->up_bytes = mock->down_bytes = 0;
        EXPECT(qb_job_run(job, &env, &report) == QB_OK);
        EXPECT_SAYS(report, "\"input\":\t\"in place\"");
        EXPECT(mock->row_bytes_in_place == raw + (way == 0 ? result : 0));
        EXPECT(mock->up_bytes < raw); /* tables only, no projections */
        EXPECT((mock->down_bytes < result) == (way == 0));
        EXPECT(mock->waits >= 1);
        if (way == 0) {
            EXPECT_SAYS(report, "\"output\":\t\"in place\"");
            EXPECT(mock->row_copies == mock->row_copies_in_place);
        }
        if (way == 1) EXPECT_SAYS(report, "\"output\":\t\"through page-locked host memory\"");
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_params_clear(qb_fbp_params, &options);
    }
    EXPECT(mock->contexts == 0 && mock->allocations == 0 && mock->streams == 0);
    return NULL;
}

/* FDK likewise: blocks of views and slabs of slices, of a full turn (views a quarter turn apart are processed together)
 * and of a short scan, with [row][view] order and reversed views. */
static const char *fdk_works_in_place(mock_cuda_state *mock) {
    static float volume[ROWS * N * N], result[ROWS * N * N];
    static int stream;
    make_lines();
    mock->watched = &stream;
    for (int way = 0; way < 4;
         way++) { /* a full turn; a short scan with less memory; another order; the result on the host */
        const int64_t strides[][3] = {{ROWS * COLUMNS, COLUMNS, 1}, {-ROWS * COLUMNS, -COLUMNS, -1}};
        qb_tensor from =
            on_device(way == 2 ? lines + VIEWS * ROWS * COLUMNS - 1 : lines, VIEWS, ROWS, COLUMNS, &stream);
        qb_tensor to = on_device(way == 3 ? result : volume, ROWS, N, N, &stream);
        memcpy(from.strides, strides[way == 2], sizeof strides[0]);
        if (way == 3) to.memory = QB_MEMORY_CPU;
        const qb_output_options output = {.array = &to};
        const qb_env env = {.device = "cuda:0", .max_vram = way == 1 ? 400 << 10 : 0};
        double turn[VIEWS];
        for (int v = 0; v < VIEWS; v++) turn[v] = (way == 1 ? 1.3 : 2) * angles[v];
        qb_geometry circle;
        qb_fdk_options options;
        const char *report;
        qb_scan *scan;
        qb_job *job;
        EXPECT(qb_params_init(qb_fdk_params, &options) == QB_OK);
        EXPECT(qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, &circle) == QB_OK);
        EXPECT(qb_scan_from_tensor(&from, turn, NULL, NULL, NULL, &env, &scan) == QB_OK);
        EXPECT(qb_fdk_plan(scan, &circle, NULL, &options, &output, "test", &env, &job) == QB_OK);
        mock->row_copies = mock->row_copies_in_place = mock->waits = 0;
        mock->row_bytes_in_place = mock->up_bytes = mock->down_bytes = 0;
        EXPECT(qb_job_run(job, &env, &report) == QB_OK);
        EXPECT_SAYS(report, "\"input\":\t\"in place\"");
        if (way < 3) EXPECT_SAYS(report, "\"output\":\t\"in place\"");
        EXPECT(mock->row_bytes_in_place >= sizeof lines + (way < 3 ? sizeof volume : 0));
        EXPECT((mock->down_bytes < sizeof volume) == (way < 3));
        EXPECT(mock->waits >= 1);
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_geometry_destroy(&circle);
        qb_params_clear(qb_fdk_params, &options);
    }
    EXPECT(mock->contexts == 0 && mock->allocations == 0 && mock->streams == 0);
    return NULL;
}

/* The largest line integral is found wherever the array is. Half floats are scaled in the same way, so the kernel is
 * the same (test_tensors_values.c tests the values). The job waits for the producer of the array. */
static const char *the_same_kernel_from_either_memory(mock_cuda_state *mock) {
    static float volume[ROWS * N * N];
    static int stream;
    char kernel[2][80];
    make_lines();
    mock->watched = &stream;
    for (int device = 0; device < 2; device++) {
        qb_tensor from = on_device(lines, VIEWS, ROWS, COLUMNS, &stream);
        const qb_tensor to = {.data = volume, .dtype = QB_F32, .ndim = 3, .shape = {ROWS, N, N}};
        const qb_output_options output = {.array = &to};
        const qb_env env = {.device = "cuda:0"};
        double turn[VIEWS];
        for (int v = 0; v < VIEWS; v++) turn[v] = 2 * angles[v];
        qb_geometry circle;
        qb_fdk_options options;
        qb_scan *scan;
        qb_job *job;
        if (!device) from.memory = QB_MEMORY_CPU;
        EXPECT(qb_params_init(qb_fdk_params, &options) == QB_OK);
        EXPECT(qb_params_set(qb_fdk_params, &options, "accuracy", "normal") == QB_OK);
        EXPECT(qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, &circle) == QB_OK);
        EXPECT(qb_scan_from_tensor(&from, turn, NULL, NULL, NULL, &env, &scan) == QB_OK);
        mock->waits = 0;
        EXPECT(qb_fdk_plan(scan, &circle, NULL, &options, &output, "test", &env, &job) == QB_OK);
        EXPECT((mock->waits > 0) == device);
        const char *named = strstr(qb_job_plan(job), "\"kernel\":");
        EXPECT(named != NULL);
        snprintf(kernel[device], sizeof kernel[device], "%.*s", (int)strcspn(named, ","), named);
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_geometry_destroy(&circle);
        qb_params_clear(qb_fdk_params, &options);
    }
    EXPECT_SAYS(kernel[0], "half");
    EXPECT(!strcmp(kernel[0], kernel[1]));
    EXPECT(mock->contexts == 0 && mock->allocations == 0 && mock->streams == 0);
    return NULL;
}

/* The same for projection: the volume is uploaded once, or in slabs for each block of views, and the sums stay on the
 * device. */
static const char *projections_in_place(mock_cuda_state *mock) {
    static float volume[ROWS * N * N], sums[VIEWS * ROWS * COLUMNS];
    static int stream;
    size_t tables = 0;
    make_lines();
    mock->watched = &stream;
    for (int way = 0; way < 3; way++) { /* as a whole; in slabs; Hounsfield units, which the host converts */
        const qb_tensor from = on_device(volume, ROWS, N, N, &stream);
        qb_tensor to = on_device(sums, VIEWS, ROWS, COLUMNS, &stream);
        const qb_output_options output = {.array = &to};
        const qb_env env = {.device = "cuda:0", .max_vram = way == 1 ? 217 << 10 : 0};
        qb_geometry circle;
        qb_project_options options;
        const char *report;
        qb_job *job;
        EXPECT(qb_params_init(qb_project_params, &options) == QB_OK);
        if (way == 2) EXPECT(qb_params_set(qb_project_params, &options, "hu", "0.02") == QB_OK);
        EXPECT(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, &circle) == QB_OK);
        EXPECT(qb_project_array_plan(&from, NULL, &circle, &options, &output, "test", &env, &job) == QB_OK);
        mock->row_copies = mock->row_copies_in_place = mock->waits = 0;
        mock->row_bytes_in_place = mock->up_bytes = mock->down_bytes = 0;
        EXPECT(qb_job_run(job, &env, &report) == QB_OK);
        if (way < 2) EXPECT_SAYS(report, "\"input\":\t\"in place\"");
        EXPECT_SAYS(report, "\"output\":\t\"in place\"");
        EXPECT(mock->row_bytes_in_place >= sizeof sums + (way < 2 ? sizeof volume : 0));
        /* the slabs are uploaded again for each block */
        EXPECT((mock->row_bytes_in_place > sizeof sums + sizeof volume) == (way == 1));
        if (way == 0) tables = mock->up_bytes; /* of the rays */
        EXPECT(way < 2 || mock->up_bytes == tables + sizeof volume);
        EXPECT(way == 2 || mock->down_bytes < sizeof volume);
        EXPECT(mock->waits >= 1);
        qb_job_destroy(job);
        qb_geometry_destroy(&circle);
        qb_params_clear(qb_project_params, &options);
    }
    EXPECT(mock->contexts == 0 && mock->allocations == 0 && mock->streams == 0);
    return NULL;
}

/* Operators use arrays on their own device in place, one slab and one block of views at a time. An array on the host
 * with gaps is copied. */
static const char *operators_in_place(mock_cuda_state *mock) {
    static float volume[ROWS * N * (N + GAP)], sums[VIEWS * ROWS * COLUMNS];
    static int stream;
    qb_geometry circle;
    qb_grid grid;
    EXPECT(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, &circle) == QB_OK);
    qb_grid_default(&circle, &grid);
    grid.n[0] = grid.n[1] = N, grid.n[2] = ROWS;
    mock->watched = &stream;
    for (int way = 0; way < 4; way++) { /* as a whole; in parts; the volume on the host; dense: nothing is copied */
        const qb_env env = {.device = "cuda:0", .max_vram = way == 1 ? 300 << 10 : 0};
        qb_tensor x = on_device(volume, ROWS, N, N, &stream), y = on_device(sums, VIEWS, ROWS, COLUMNS, &stream);
        qb_projector *p;
        if (way < 3) x.strides[0] = N * (N + GAP), x.strides[1] = N + GAP, x.strides[2] = 1;
        if (way == 2) x.memory = QB_MEMORY_CPU;
        EXPECT(qb_projector_create(&circle, &grid, NULL, &env, &p) == QB_OK);
        mock->row_bytes_in_place = mock->up_bytes = mock->down_bytes = mock->waits = 0;
        EXPECT(qb_projector_forward_tensor(p, &x, 0, VIEWS, &env, &y) == QB_OK);
        EXPECT(qb_projector_adjoint_tensor(p, &y, 0, VIEWS, true, &env, &x) == QB_OK);
        const size_t dense = sizeof(float) * ROWS * N * N;
        EXPECT(mock->row_bytes_in_place == (way < 2 ? 3 * dense : 0));
        const size_t flags = 4 * VIEWS * 4; /* flags of images whose numbers are not finite */
        const size_t up = mock->up_bytes - (way == 2 ? 2 * dense : 0), down = mock->down_bytes - (way == 2 ? dense : 0);
        EXPECT(up <= flags && down <= flags && flags < dense);
        EXPECT(mock->waits >= 2);
        EXPECT(qb_projector_forward_tensor(p, &y, 0, VIEWS, &env, &y) == QB_BAD_ARGUMENT);
        qb_projector_destroy(p);
        EXPECT(mock->contexts == 0 && mock->allocations == 0 && mock->streams == 0);
    }
    qb_geometry_destroy(&circle);
    return NULL;
}

static const char *refusals(mock_cuda_state *mock) {
    static float volume[ROWS * N * N];
    make_lines();
    qb_tensor from = on_device(lines, VIEWS, ROWS, COLUMNS, NULL);
    qb_tensor to = on_device(volume, ROWS, N, N, NULL);
    from.device = 3;
    EXPECT(fdk(&from, &to) == QB_NO_DEVICE);
    EXPECT_SAYS(qb_detail(), "there is 1");
    from.device = 0;
    from.stream = (void *)2;
    EXPECT(fdk(&from, &to) == QB_UNSUPPORTED);
    EXPECT_SAYS(qb_detail(), "cudaStreamPerThread");
    from.stream = NULL;
    to.device = 1;
    EXPECT(fdk(&from, &to) == QB_NO_DEVICE);
    to.device = 0;
    mock->foreign = 1;
    EXPECT(fdk(&from, &to) == QB_BAD_ARGUMENT);
    EXPECT_SAYS(qb_detail(), "is no memory of this device");
    EXPECT(mock->contexts == 0 && mock->streams == 0 && mock->events == 0);
    return NULL;
}

/* Whichever driver call fails, the status says so, except for calls that only release objects. This holds for the
 * method on the CPU and for the one on the device, whose plan looks at the array. */
static const char *any_call_may_fail(mock_cuda_state *mock) {
    static float volume[ROWS * N * N];
    make_lines();
    for (int way = 0; way < 2; way++) {
        const char *device = way ? "cuda:0" : "cpu";
        qb_tensor from = on_device(lines, VIEWS, ROWS, COLUMNS, NULL);
        qb_tensor to = on_device(volume, ROWS, N, N, NULL);
        EXPECT(fdk_by(device, &from, &to) == QB_OK); /* the driver is open after this run */
        int before = mock->calls;
        EXPECT(fdk_by(device, &from, &to) == QB_OK);
        int calls = mock->calls - before, failed = 0, step = way && getenv("QB_QUICK") ? 5 : 1;
        for (int n = 1; n <= calls; n += step) {
            mock->fail_after = n;
            mock->fail_with = 2; /* out of memory */
            qb_status status = fdk_by(device, &from, &to);
            mock->fail_after = 0;
            EXPECT(status == QB_NO_MEMORY || status == QB_OK);
            EXPECT(mock->contexts == 0 && mock->current == 0);
            failed += status == QB_NO_MEMORY;
        }
        EXPECT(failed > 20);
    }
    return NULL;
}

#define SCENARIOS(X)                                                                                                   \
    X(cpu_methods_pass_through_the_host)                                                                               \
    X(fields_on_the_device)                                                                                            \
    X(taken_as_read)                                                                                                   \
    X(fbp_works_in_place)                                                                                              \
    X(fdk_works_in_place)                                                                                              \
    X(the_same_kernel_from_either_memory)                                                                              \
    X(projections_in_place)                                                                                            \
    X(operators_in_place)                                                                                              \
    X(refusals)                                                                                                        \
    X(any_call_may_fail)
SCENARIOS(SCENARIO)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ROW)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
