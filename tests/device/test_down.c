/* SPDX-License-Identifier: MIT */
/* Downloads of slices from the mock driver, for fbp and fdk: the device makes the numbers that the file will hold, and
 * only these are downloaded. unit/test_device_convert.c tests what a device makes of values. */
#include "child.h"

#include "kernels/convert/convert_device.h"
#include "quickbeam/quickbeam.h"

enum { VIEWS = 24, ROWS = 12, COLUMNS = 64, N = 64, VOXELS = ROWS * N * N };

/* Bytes of the counters that are downloaded at the end: clamped values of each group, and values that the filter
 * corrected. */
enum { COUNTERS = 64 * 64 * 8 + 64 };

static float lines[VIEWS * ROWS * COLUMNS], volume[VOXELS];

/* The array is used by the job until the job is destroyed. */
static qb_status plan(bool cone, const char *dtype, const char *range, qb_tensor *array, qb_scan **scan,
                      qb_geometry *circle, qb_job **job) {
    const qb_env env = {.device = "cuda:0", .threads = 2};
    const qb_tensor from = {.data = lines, .dtype = QB_F32, .ndim = 3, .shape = {VIEWS, ROWS, COLUMNS}};
    qb_output_options output = {0};
    qb_fbp_options fbp = {0};
    qb_fdk_options fdk = {0};
    double angles[VIEWS];
    for (int v = 0; v < VIEWS; v++) angles[v] = (cone ? 2 : 1) * M_PI * v / VIEWS;
    qb_status status = qb_params_init(qb_output_params, &output);
    if (status == QB_OK) status = qb_params_init(qb_fbp_params, &fbp);
    if (status == QB_OK) status = qb_params_init(qb_fdk_params, &fdk);
    if (status == QB_OK) status = qb_params_set(qb_output_params, &output, "dtype", dtype);
    if (status == QB_OK && range) status = qb_params_set(qb_output_params, &output, "range", range);
    if (status == QB_OK) status = qb_params_set(qb_fbp_params, &fbp, "kernel", "bp_parallel_linear.alu");
    if (status == QB_OK) status = qb_params_set(qb_fbp_params, &fbp, "center", "31.5");
    if (status == QB_OK) status = qb_params_set(qb_fdk_params, &fdk, "kernel", "bp_cone_matrix.alu");
    output.array = array;
    if (status == QB_OK) status = qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, circle);
    if (status == QB_OK) status = qb_scan_from_tensor(&from, angles, NULL, NULL, NULL, &env, scan);
    if (status == QB_OK)
        status = cone ? qb_fdk_plan(*scan, circle, NULL, &fdk, &output, "test", &env, job)
                      : qb_fbp_plan(*scan, NULL, &fbp, &output, "test", &env, job);
    output.array = NULL;
    qb_params_clear(qb_output_params, &output);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_fdk_params, &fdk);
    return status;
}

/* Makes one run and returns the number of downloaded bytes, and of launches. */
static const char *come_down(mock_cuda_state *mock, bool cone, const char *dtype, const char *range, qb_dtype to,
                             size_t *bytes, int *launches) {
    qb_tensor array = {.data = volume, .dtype = to, .ndim = 3, .shape = {ROWS, N, N}};
    qb_scan *scan = NULL;
    qb_geometry circle = {0};
    qb_job *job = NULL;
    const size_t before = mock->down_bytes;
    const int launched = mock->launches;
    EXPECT(plan(cone, dtype, range, &array, &scan, &circle, &job) == QB_OK);
    EXPECT(qb_job_run(job, &(qb_env){.device = "cuda:0", .threads = 2}, NULL) == QB_OK);
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_geometry_destroy(&circle);
    *bytes = mock->down_bytes - before;
    *launches = mock->launches - launched;
    EXPECT(mock->contexts == 0 && mock->allocations == 0 && mock->pinned == 0 && mock->registered == 0);
    EXPECT(mock->streams == 0 && mock->modules == 0);
    return NULL;
}

static const char *as_the_file_has_them(mock_cuda_state *mock, bool cone) {
    static const struct {
        const char *dtype, *range;
        qb_dtype to;
        size_t bytes;
    } kinds[] = {{"float32", NULL, QB_F32, 4},
                 {"float16", NULL, QB_F16, 2},
                 {"uint16", "0,1", QB_U16, 2},
                 {"uint8", "0,1", QB_U8, 1}};
    int plain = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t values = VOXELS * kinds[k].bytes;
        size_t bytes;
        int launches;
        const char *wrong = come_down(mock, cone, kinds[k].dtype, kinds[k].range, kinds[k].to, &bytes, &launches);
        if (wrong) return wrong;
        EXPECT(bytes >= values && bytes <= values + COUNTERS);
        if (k == 0) plain = launches;
        EXPECT(k == 0 || launches > plain); /* the conversion is an additional launch */
    }
    return NULL;
}

static const char *slices_of_fbp(mock_cuda_state *mock) { return as_the_file_has_them(mock, false); }
static const char *slabs_of_fdk(mock_cuda_state *mock) { return as_the_file_has_them(mock, true); }

/* The launch itself: the arguments, and what is left allocated when any call fails. */
static const char *the_kernel_is_told(mock_cuda_state *mock) {
    enum { PIXELS = 300, SLICES = 5 };
    static unsigned char numbers[PIXELS * SLICES], hidden[PIXELS];
    const qb__convert_what what = {
        .to = qb__conversion_of(QB_U8, 0, 1), .pixels = PIXELS, .slices = SLICES, .hidden = hidden};
    qb__device *device;
    qb__queue *queue;
    qb__memory *slices;
    qb__convert *convert;
    uint64_t outside = 1;
    EXPECT(qb__device_open("cuda:0", &device) == QB_OK && qb__queue_create(device, &queue) == QB_OK);
    EXPECT(qb__memory_create(device, PIXELS * SLICES * sizeof(float), &slices) == QB_OK);
    const int held = mock->allocations;
    EXPECT(qb__convert_create(device, queue, &what, &convert) == QB_OK);
    EXPECT(mock->allocations == held + 3); /* the numbers, the mask, the counts */
    mock->arguments = 1;
    const size_t before = mock->down_bytes;
    EXPECT(qb__convert_run(convert, queue, slices, 2) == QB_OK &&
           qb__convert_fetch(convert, queue, 0, 2, numbers) == QB_OK && qb__queue_finish(queue) == QB_OK);
    EXPECT((uint64_t)(uintptr_t)mock->argument[0] == qb__memory_native(slices));
    EXPECT(mock->down_bytes - before == 2 * PIXELS);
    EXPECT(mock->grid[0] * mock->block[0] >= PIXELS && mock->grid[1] == 2);
    EXPECT(qb__convert_outside(convert, queue, &outside) == QB_OK && outside == 0);
    qb__convert_destroy(convert);
    for (int n = 1;; n++) {
        mock->fail_after = n, mock->fail_with = 2;
        const qb_status status = qb__convert_create(device, queue, &what, &convert);
        const int left = mock->fail_after;
        mock->fail_after = 0;
        EXPECT((status == QB_OK) == (convert != NULL) && n < 100);
        qb__convert_destroy(convert);
        EXPECT(mock->allocations == held);
        if (left > 0) break; /* no call was left to fail */
        EXPECT(status != QB_OK);
    }
    qb__memory_destroy(slices);
    qb__queue_destroy(queue);
    qb__device_close(device);
    return NULL;
}

SCENARIO(slices_of_fbp)
SCENARIO(slabs_of_fdk)
SCENARIO(the_kernel_is_told)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIO_ROW(slices_of_fbp) SCENARIO_ROW(slabs_of_fdk)
                                           SCENARIO_ROW(the_kernel_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
