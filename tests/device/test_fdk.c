/* SPDX-License-Identifier: MIT */
/* FDK of a cone beam on the mock driver. The mock runs no kernel. The tests check the copies to and from the device,
 * whether the CPU or the device filters, and the failure of every call that may fail. */
#include "child.h"

#include "quickbeam/quickbeam.h"

enum { VIEWS = 40, ROWS = 12, COLUMNS = 32, N = 32, VOXELS = ROWS * N * N };
static const size_t raw_bytes = VIEWS * ROWS * COLUMNS * sizeof(uint16_t);

/* Device memory is filled with this byte, because no kernel runs. The byte gives finite numbers: a volume that is all
 * NaN is refused. */
enum { POISON = 0xab };
static const unsigned char poison[] = {POISON, POISON, POISON, POISON};

static const char *kernel = "bp_cone_matrix.alu";
static uint16_t counts[VIEWS * ROWS * COLUMNS], flat[ROWS * COLUMNS], dark[ROWS * COLUMNS];
static float volume[VOXELS];

static qb_tensor images(void *data, int64_t n) {
    return (qb_tensor){.data = data, .dtype = QB_U16, .ndim = 3, .shape = {n, ROWS, COLUMNS}};
}

/* A scan of counts and its plan; `cap` is the value of --max-vram. */
typedef struct trial {
    qb_geometry circle;
    qb_fdk_options options;
    qb_tensor to;
    qb_scan *scan;
    qb_job *job;
} trial;

static qb_status plan(trial *t, size_t cap) {
    double turn[VIEWS];
    qb_tensor from = images(counts, VIEWS), flats = images(flat, 1), darks = images(dark, 1);
    const qb_output_options output = {.array = &t->to};
    const qb_env env = {.device = "cuda:0", .threads = 2, .max_vram = cap};
    *t = (trial){.to = {.data = volume, .dtype = QB_F32, .ndim = 3, .shape = {ROWS, N, N}}};
    for (int v = 0; v < VIEWS; v++) turn[v] = 2 * M_PI * v / VIEWS;
    for (int i = 0; i < VIEWS * ROWS * COLUMNS; i++) counts[i] = (uint16_t)(1000 + i % 977);
    for (int i = 0; i < ROWS * COLUMNS; i++) flat[i] = 60000, dark[i] = 100;
    qb_status status = qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 1, 1, 200, 300, 0, 0, &t->circle);
    if (status == QB_OK) status = qb_params_init(qb_fdk_params, &t->options);
    if (status == QB_OK) status = qb_params_set(qb_fdk_params, &t->options, "kernel", kernel);
    if (status == QB_OK) status = qb_scan_from_tensor(&from, turn, &flats, &darks, NULL, &env, &t->scan);
    if (status == QB_OK) status = qb_fdk_plan(t->scan, &t->circle, NULL, &t->options, &output, "test", &env, &t->job);
    return status;
}

static void drop(trial *t) {
    qb_job_destroy(t->job);
    qb_scan_close(t->scan);
    qb_params_clear(qb_fdk_params, &t->options);
    qb_geometry_destroy(&t->circle);
}

/* Every voxel differs from the byte with which device memory was filled. */
static qb_status reconstruct(size_t cap) {
    trial t;
    for (int i = 0; i < VOXELS; i++) volume[i] = -7;
    qb_status status = plan(&t, cap);
    if (status == QB_OK) status = qb_job_run(t.job, &(qb_env){.device = "cuda:0", .threads = 2, .max_vram = cap}, NULL);
    drop(&t);
    return status;
}

static int not_from_the_device(void) {
    int count = 0;
    for (int i = 0; i < VOXELS; i++) count += memcmp(&volume[i], poison, sizeof *volume) != 0;
    return count;
}

static const char *nothing_is_left(const mock_cuda_state *mock) {
    EXPECT(mock->contexts == 0 && mock->current == 0 && mock->streams == 0 && mock->modules == 0);
    EXPECT(mock->allocations == 0 && mock->pinned == 0 && mock->registered == 0);
    return NULL;
}

/* The same after a failed call. If the context could not be made current, objects are left to the driver and are not
 * counted any more. */
static const char *nothing_is_left_after(mock_cuda_state *mock) {
    EXPECT(mock->contexts == 0 && mock->current == 0);
    if (strcmp(mock->failed, "cuCtxPushCurrent_v2") == 0)
        mock->allocations = mock->pinned = mock->registered = mock->streams = mock->modules = 0;
    return nothing_is_left(mock);
}

/* ---- scenarios ---- */

/* Raw numbers and tables are uploaded once. The sums are downloaded, and every voxel comes from the device. */
static const char *the_device_filters(mock_cuda_state *mock) {
    trial t;
    const char *report;
    mock->poison = POISON;
    EXPECT(plan(&t, 0) == QB_OK);
    EXPECT_SAYS(qb_job_plan(t.job), "\"filtered_by\":\t\"cuda:0\"");
    EXPECT(qb_job_run(t.job, &(qb_env){.device = "cuda:0", .threads = 2}, &report) == QB_OK);
    EXPECT(strstr(report, "\"upload\"") < strstr(report, "\"filter\"") &&
           strstr(report, "\"filter\"") < strstr(report, "\"back-project\""));
    drop(&t);
    EXPECT(mock->up_bytes >= raw_bytes && mock->up_bytes < 2 * raw_bytes);
    /* and the counts of corrected values */
    EXPECT(mock->down_bytes >= sizeof volume && mock->down_bytes < sizeof volume + 64);
    EXPECT(not_from_the_device() == 0 && mock->launches >= 3);
    return nothing_is_left(mock);
}

/* More and more memory: first too little, then enough for rows filtered on the CPU, then enough for the device's
 * filter. More memory never leads back. */
static const char *room_decides_who_filters(mock_cuda_state *mock) {
    size_t least = 0, enough = 0;
    int now = 0;
    mock->poison = POISON;
    for (size_t cap = 1000; now < 2; cap += cap / 16) {
        trial t;
        const qb_status status = plan(&t, cap);
        const bool there = status == QB_OK && strstr(qb_job_plan(t.job), "\"filtered_by\":\t\"cuda:0\"");
        const int then = status == QB_OK ? 1 + there : 0;
        EXPECT(status == QB_OK || status == QB_NO_MEMORY);
        if (then == 1) EXPECT_SAYS(qb_job_plan(t.job), "the device has no room for it");
        EXPECT(then >= now);
        if (then >= 1 && now < 1) least = cap;
        if (then == 2) enough = cap;
        now = then;
        drop(&t);
    }
    EXPECT(least > 0 && least < enough);
    const size_t up = mock->up_bytes;
    EXPECT(reconstruct(least) == QB_OK);
    EXPECT(mock->up_bytes - up >= 2 * raw_bytes); /* floats */
    EXPECT(not_from_the_device() == 0);
    EXPECT(reconstruct(enough) == QB_OK && not_from_the_device() == 0);
    return nothing_is_left(mock);
}

/* Whichever call finds that the device is lost: the status says so, no thread waits for ever, and nothing is left
 * allocated. */
static const char *lost_at_any_call(mock_cuda_state *mock) {
    EXPECT(reconstruct(0) == QB_OK); /* the driver is open after this run */
    const int before = mock->calls;
    EXPECT(reconstruct(0) == QB_OK);
    const int calls = mock->calls - before, step = getenv("QB_QUICK") ? 5 : 1;
    int lost = 0;
    for (int n = 1; n <= calls; n += step) {
        mock->fail_after = n;
        mock->fail_with = 700;
        const qb_status status = reconstruct(0);
        mock->fail_after = 0;
        EXPECT(status == QB_NO_DEVICE || status == QB_OK);
        if (status != QB_OK && strstr(qb_detail(), "lost")) lost++;
        const char *left = nothing_is_left_after(mock);
        if (left) return left;
    }
    EXPECT(lost > calls / step / 2);
    return NULL;
}

/* A device has less memory than it said: the job uses smaller slabs, and every voxel still comes from the device. When
 * even the smallest does not fit, the message says what would help. */
static const char *out_of_memory(mock_cuda_state *mock) {
    mock->poison = POISON;
    EXPECT(reconstruct(0) == QB_OK);
    const int before = mock->calls;
    EXPECT(reconstruct(0) == QB_OK);
    const int calls = mock->calls - before, step = getenv("QB_QUICK") ? 5 : 1;
    int done = 0;
    for (int n = 1; n <= calls; n += step) {
        mock->fail_after = n;
        mock->fail_with = 2;
        const qb_status status = reconstruct(0);
        mock->fail_after = 0;
        EXPECT(status == QB_NO_MEMORY || status == QB_OK);
        if (status == QB_OK) EXPECT(not_from_the_device() == 0);
        done += status == QB_OK;
        const char *left = nothing_is_left_after(mock);
        if (left) return left;
    }
    EXPECT(done > 0);
    mock->fail_name = "cuMemAlloc_v2";
    EXPECT(reconstruct(0) == QB_NO_MEMORY);
    EXPECT_SAYS(qb_detail(), "even one slice needs");
    EXPECT_SAYS(qb_detail(), "--device cpu");
    mock->fail_name = NULL;
    return nothing_is_left(mock);
}

/* The papers' kernels launch in other ways: many times in each block of views, on a volume that is transposed in
 * between. */
static const char *the_papers_kernels(mock_cuda_state *mock) {
    static const char *const kernels[] = {"bp_cone_matrix.naive", "bp_cone_matrix.naive-views", "bp_cone_matrix.rtk-32",
                                          "bp_cone_circular.tex-tran", "bp_cone_circular.l1-tran"};
    mock->poison = POISON;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const int before = mock->launches;
        kernel = kernels[i];
        EXPECT(reconstruct(0) == QB_OK && not_from_the_device() == 0);
        EXPECT(mock->launches - before >= (i == 0 ? VIEWS : 3));
        const char *left = nothing_is_left(mock);
        if (left) return left;
    }
    return lost_at_any_call(mock);
}

#define SCENARIOS(X)                                                                                                   \
    X(the_device_filters) X(room_decides_who_filters) X(lost_at_any_call) X(out_of_memory) X(the_papers_kernels)
SCENARIOS(SCENARIO)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ROW)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
