/* SPDX-License-Identifier: MIT */
/* Arrays with every method, and arrays of DLPack. */
#include "arrays.h"

/* ---- the other methods ---- */

static void a_volume_goes_there_and_back(void **state) {
    (void)state;
    enum { N = 32, NZ = 4 };
    float *volume = calloc(NZ * N * N, sizeof *volume), *back = calloc(NZ * N * N, sizeof *back);
    float *sums = calloc(PIXELS, sizeof *sums), *direct = calloc(PIXELS, sizeof *direct);
    for (int i = 0; i < NZ * N * N; i++) volume[i] = hypot(i % N - 15.5, i / N % N - 15.5) < 9 ? 0.02f : 0;
    qb_grid grid;
    qb_projector *projector;
    qb_grid_default(&circle, &grid);
    grid.n[0] = grid.n[1] = N, grid.n[2] = NZ;
    qb_tensor from = dense(volume, QB_F32, NZ, N, N);
    qb_tensor to = dense(sums, QB_F32, VIEWS, ROWS, COLUMNS);
    assert_ok(qb_project(&from, NULL, &circle, &to, NULL, NULL));
    assert_ok(qb_projector_create(&circle, &grid, NULL, NULL, &projector));
    assert_ok(qb_projector_forward(projector, volume, 0, VIEWS, NULL, direct));
    assert_memory_equal(sums, direct, PIXELS * sizeof *sums);
    memset(sums, 0, PIXELS * sizeof *sums);
    assert_ok(qb_project(&from, &grid, &circle, &to, NULL, NULL)); /* the same, stated explicitly */
    assert_memory_equal(sums, direct, PIXELS * sizeof *sums);
    qb_projector_destroy(projector);
    qb_tensor result = dense(back, QB_F32, NZ, N, N);
    assert_ok(qb_fdk(&to, &circle, &result, NULL, NULL));
    assert_close(back[N * N + 16 * N + 16], 0.02, 0.001);
    assert_close(back[N * N + 2 * N + 2], 0, 0.001);
    free(volume);
    free(back);
    free(sums);
    free(direct);
}

/* A plug-and-play step in place: one array is the start, the volume it is pulled toward, and the result. */
static void a_proximal_map_in_one_call(void **state) {
    (void)state;
    enum { COUNT = ROWS * COLUMNS * COLUMNS };
    float *x = calloc(COUNT, sizeof *x), *far = calloc(COUNT, sizeof *far), *half = calloc(COUNT, sizeof *half);
    qb_mbir_options options;
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS), to = dense(x, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_tensor other = dense(far, QB_F32, ROWS, COLUMNS, COLUMNS), middle = dense(half, QB_F32, ROWS, COLUMNS, COLUMNS);
    assert_true(x && far && half);
    for (int i = 0; i < COUNT; i++) x[i] = 0.05f;
    assert_ok(qb_params_init(qb_mbir_params, &options));
    assert_ok(qb_params_set(qb_mbir_params, &options, "center", "22.75"));
    assert_ok(qb_params_set(qb_mbir_params, &options, "equits", "30"));
    options.prox_array = options.start_array = &to;
    assert_ok(qb_params_set(qb_mbir_params, &options, "sigma-p", "0.5"));
    assert_ok(qb_mbir(&from, angles, 0.5, NULL, &other, &options, NULL));
    assert_ok(qb_params_set(qb_mbir_params, &options, "sigma-p", "1e-6"));
    assert_ok(qb_mbir(&from, angles, 0.5, NULL, &middle, &options, NULL)); /* stays close to it */
    assert_ok(qb_params_set(qb_mbir_params, &options, "sigma-p", "0.5"));
    assert_ok(qb_mbir(&from, angles, 0.5, NULL, &to, &options, NULL));
    assert_memory_equal(x, far, COUNT * sizeof *x);
    const int inside = 2 * COLUMNS * COLUMNS + 24 * COLUMNS + 27;
    assert_close(half[inside], 0.05, 1e-4);
    assert_close(far[inside], 0.15, 0.01);
    other.shape[2]--;
    options.prox_array = &other;
    assert_status(qb_mbir(&from, angles, 0.5, NULL, &to, &options, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "--prox array of"));
    x[inside] = NAN;
    options.prox_array = &to;
    assert_status(qb_mbir(&from, angles, 0.5, NULL, &middle, &options, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "voxel 2, 24, 27"));
    qb_params_clear(qb_mbir_params, &options);
    free(x);
    free(far);
    free(half);
}

/* Coarser voxels first, in one call: the image is the same. */
static void coarser_voxels_in_one_call(void **state) {
    (void)state;
    enum { COUNT = ROWS * COLUMNS * COLUMNS };
    float *plain = calloc(COUNT, sizeof *plain), *begun = calloc(COUNT, sizeof *begun);
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    const qb_tensor one = dense(plain, QB_F32, ROWS, COLUMNS, COLUMNS),
                    two = dense(begun, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_mbir_options options;
    assert_true(plain && begun);
    assert_ok(qb_params_init(qb_mbir_params, &options));
    assert_ok(qb_params_set(qb_mbir_params, &options, "center", "22.75"));
    assert_ok(qb_params_set(qb_mbir_params, &options, "stop", "0.01"));
    assert_ok(qb_params_set(qb_mbir_params, &options, "equits", "200"));
    options.no_zero_skip = true; /* otherwise zeros among zeros would keep their first value */
    assert_ok(qb_mbir(&from, angles, 0.5, NULL, &one, &options, NULL));
    options.coarse = 2;
    assert_ok(qb_mbir(&from, angles, 0.5, NULL, &two, &options, NULL));
    double square = 0;
    for (int i = 0; i < COUNT; i++) square += pow((double)begun[i] - (double)plain[i], 2);
    assert_true(square > 0);
    assert_close(sqrt(square / COUNT), 0, 1e-4); /* values go up to 0.25/mm */
    options.coarse = 3;
    assert_status(qb_mbir(&from, angles, 0.5, NULL, &two, &options, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "--coarse 3"));
    qb_params_clear(qb_mbir_params, &options);
    free(plain);
    free(begun);
}

/* A fan beam needs no angles, because its geometry holds them. */
static void a_fan_in_one_call(void **state) {
    (void)state;
    enum { N = 48, TURN = 60 };
    double around[TURN];
    float *disc = calloc(N * N, sizeof *disc), *sums = calloc(TURN * N, sizeof *sums), *x = calloc(N * N, sizeof *x);
    const qb_tensor from = dense(disc, QB_F32, 1, N, N), rays = dense(sums, QB_F32, TURN, 1, N),
                    to = dense(x, QB_F32, 1, N, N);
    qb_geometry fan;
    qb_mbir_options options;
    assert_true(disc && sums && x);
    for (int i = 0; i < N * N; i++) disc[i] = hypot(i % N - 30.0, i / N - 20.0) < 9 ? 0.02f : 0;
    for (int v = 0; v < TURN; v++) around[v] = 2 * M_PI * v / TURN;
    assert_ok(qb_geometry_cone(TURN, around, 1, N, 1, 1, 100, 160, 0, 0, &fan));
    assert_ok(qb_project(&from, NULL, &fan, &rays, NULL, NULL));
    assert_ok(qb_params_init(qb_mbir_params, &options));
    assert_status(qb_mbir(&rays, NULL, 0, NULL, &to, &options, NULL),
                  QB_BAD_ARGUMENT); /* a parallel beam needs angles */
    assert_ok(qb_mbir(&rays, NULL, 0, &fan, &to, &options, NULL));
    assert_close(x[20 * N + 30], 0.02, 0.001);
    assert_close(x[20 * N + 14], 0, 0.001);
    fan.views--;
    assert_status(qb_mbir(&rays, NULL, 0, &fan, &to, &options, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "59 views"));
    fan.views++;
    qb_params_clear(qb_mbir_params, &options);
    qb_geometry_destroy(&fan);
    free(disc), free(sums), free(x);
}

/* FDK into float16 [x][y][z], against the dense float32 volume. */
static void fdk_writes_strides(void **state) {
    (void)state;
    enum { N = 24, NZ = 3 };
    float *plain = calloc(NZ * N * N, sizeof *plain), *widened = calloc(NZ * N * N, sizeof *plain);
    uint16_t *half = calloc(NZ * N * N, sizeof *half), *expected = calloc(NZ * N * N, sizeof *half);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(plain, QB_F32, NZ, N, N);
    assert_ok(qb_fdk(&from, &circle, &to, NULL, NULL));
    to = dense(half, QB_F16, NZ, N, N);
    to.strides[0] = 1, to.strides[1] = NZ, to.strides[2] = NZ * N;
    assert_ok(qb_fdk(&from, &circle, &to, NULL, NULL));
    qb_convert_from_float(plain, NZ * N * N, QB_F16, 0, 0, expected);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) assert_int_equal(half[(x * N + y) * NZ + z], expected[(z * N + y) * N + x]);
    free(plain);
    free(widened);
    free(half);
    free(expected);
}

/* Views of NaN are left out, and so are the same views of the geometry. A voxel inside the disc keeps its value. */
static void views_without_numbers(void **state) {
    (void)state;
    enum { N = 24, NZ = 3 };
    float *whole = calloc(NZ * N * N, sizeof *whole), *less = calloc(NZ * N * N, sizeof *less),
          *some = malloc(sizeof lines);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS), to = dense(whole, QB_F32, NZ, N, N);
    qb_scan *scan;
    assert_true(whole && less && some);
    assert_ok(qb_fdk(&from, &circle, &to, NULL, NULL));
    memcpy(some, lines, sizeof lines);
    for (int v = 4; v < VIEWS; v += 10)
        for (int i = 0; i < ROWS * COLUMNS; i++) some[v * ROWS * COLUMNS + i] = NAN;
    from.data = some;
    assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, NULL, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_true(info->views == VIEWS - 6 && info->stored == VIEWS && info->stored_views[4] == 5);
    char *findings;
    assert_ok(qb_scan_findings(scan, &findings));
    assert_non_null(strstr(findings, "4, 14, 24, 34, 44, 54"));
    qb_text_free(findings);
    qb_scan_close(scan);
    to.data = less;
    assert_ok(qb_fdk(&from, &circle, &to, NULL, NULL));
    const size_t at = (N + N / 2) * N + N / 2;
    assert_true(whole[at] > 0.02f);
    assert_close(less[at], whole[at], 0.01 * (double)whole[at]);
    qb_geometry few = circle;
    few.views = VIEWS - 7;
    assert_status(qb_fdk(&from, &few, &to, NULL, NULL), QB_BAD_INPUT);
    free(whole), free(less), free(some);
}

/* ---- DLPack ---- */

/* DLTensor, as other programs declare it. */
typedef struct dl_array {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_array;

static void dlpack_arrays_pass(void **state) {
    (void)state;
    dl_array dl = {lines, 1, 0, 3, 2, 32, 1, (int64_t[]){VIEWS, ROWS, COLUMNS}, NULL, 8};
    int stream;
    qb_tensor t;
    assert_ok(qb_tensor_from_dlpack(&dl, &stream, &t));
    assert_ptr_equal(t.data, lines + 2);
    assert_int_equal(t.memory, QB_MEMORY_CPU);
    assert_int_equal(t.dtype, QB_F32);
    assert_int_equal(t.ndim, 3);
    assert_int_equal(t.shape[1], ROWS);
    assert_int_equal(t.strides[1], 0);
    assert_ptr_equal(t.stream, &stream);
    dl.strides = (int64_t[]){1, -2, 3}, dl.device_type = 2, dl.device_id = 5, dl.code = 1, dl.bits = 16;
    assert_ok(qb_tensor_from_dlpack(&dl, NULL, &t));
    assert_int_equal(t.strides[1], -2);
    assert_int_equal(t.memory, QB_MEMORY_CUDA);
    assert_int_equal(t.device, 5);
    assert_int_equal(t.dtype, QB_U16);
    dl.lanes = 2;
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_UNSUPPORTED);
    dl.lanes = 1, dl.bits = 4;
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_UNSUPPORTED);
    dl.bits = 16, dl.ndim = 5;
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_UNSUPPORTED);
    dl.ndim = 3, dl.shape = NULL;
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_BAD_ARGUMENT);
    dl.device_type = 10;
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_UNSUPPORTED);
    assert_status(qb_tensor_from_dlpack(NULL, NULL, &t), QB_BAD_ARGUMENT);
}

/* The gradient of a sum has strides that are all 0. Such strides count as given, and do not mean a dense array. */
static void one_element_repeated(void **state) {
    (void)state;
    float one = 3, many[12], from_one[16], from_many[16];
    dl_array dl = {&one, 1, 0, 3, 2, 32, 1, (int64_t[]){3, 1, 4}, (int64_t[]){0, 0, 0, 0}, 0};
    const double angles[] = {0, 1, 2};
    qb_tensor t, dense = {.data = many, .dtype = QB_F32, .ndim = 3, .shape = {3, 1, 4}};
    qb_tensor to = {.data = from_one, .dtype = QB_F32, .ndim = 3, .shape = {1, 4, 4}};
    qb_fbp_options options;
    qb_params_init(qb_fbp_params, &options);
    assert_ok(qb_params_set(qb_fbp_params, &options, "center", "1.5"));
    for (int i = 0; i < 12; i++) many[i] = one;
    assert_ok(qb_tensor_from_dlpack(&dl, NULL, &t));
    assert_ok(qb_fbp(&t, angles, 1, &to, &options, NULL));
    to.data = from_many;
    assert_ok(qb_fbp(&dense, angles, 1, &to, &options, NULL));
    assert_memory_equal(from_one, from_many, sizeof from_one);
    dl.ndim = 1;
    assert_ok(qb_tensor_from_dlpack(&dl, NULL, &t));
    assert_int_equal(t.shape[3], 3);
    dl.ndim = 4, dl.shape = (int64_t[]){1, 3, 1, 4};
    assert_ok(qb_tensor_from_dlpack(&dl, NULL, &t));
    assert_ok(qb_fbp(&t, angles, 1, &to, &options, NULL));
    assert_memory_equal(from_one, from_many, sizeof from_one);
    dl.ndim = 2, dl.shape = (int64_t[]){3, 4};
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_UNSUPPORTED);
    dl.shape = (int64_t[]){1, 1};
    assert_ok(qb_tensor_from_dlpack(&dl, NULL, &t));
    assert_int_equal(t.ndim, 2);
    qb_params_clear(qb_fbp_params, &options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_volume_goes_there_and_back), cmocka_unit_test(a_proximal_map_in_one_call),
        cmocka_unit_test(coarser_voxels_in_one_call),   cmocka_unit_test(a_fan_in_one_call),
        cmocka_unit_test(fdk_writes_strides),           cmocka_unit_test(views_without_numbers),
        cmocka_unit_test(dlpack_arrays_pass),           cmocka_unit_test(one_element_repeated),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
