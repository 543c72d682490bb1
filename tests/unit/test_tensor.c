/* SPDX-License-Identifier: MIT */
/* Arrays where files can stand: the same values as from and to files, for any strides and types. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

#include "base/memory.h"
#include "quickbeam/quickbeam.h"

enum { VIEWS = 60, ROWS = 5, COLUMNS = 48, PIXELS = VIEWS * ROWS * COLUMNS };

static char folder[] = "/tmp/qb-tensor-XXXXXX";
static double angles[VIEWS];
static float lines[PIXELS];       /* [view][row][column] of a disc of 0.05/mm, pixels of 0.5 mm */
static uint16_t counts[PIXELS];   /* the same as a detector counts them ... */
static uint16_t flats[2 * ROWS * COLUMNS], darks[ROWS * COLUMNS]; /* ... with these fields */
static qb_geometry circle;        /* a cone's, of that shape */

static char *path_of(const char *name) {
    static char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int v = 0; v < VIEWS; v++) angles[v] = M_PI * v / VIEWS;
    for (int i = 0; i < PIXELS; i++) {
        double t = angles[i / (ROWS * COLUMNS)], s = i % COLUMNS - 22.75 - 4 * cos(t);
        lines[i] = s * s < 196 ? (float)(0.05 * sqrt(196 - s * s) * (1 + i / COLUMNS % ROWS)) : 0;
        int at = i % (ROWS * COLUMNS);
        flats[at] = (uint16_t)(40000 + 10 * (at % 7)), flats[ROWS * COLUMNS + at] = flats[at];
        darks[at] = (uint16_t)(100 + at % 3);
        counts[i] = (uint16_t)lround(darks[at] + (flats[at] - darks[at]) * exp(-lines[i]));
    }
    double turn[VIEWS];
    for (int v = 0; v < VIEWS; v++) turn[v] = 2 * angles[v];
    assert_ok(qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 0.5, 0.5, 100, 150, 0, 0, &circle));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    qb_geometry_destroy(&circle);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static qb_tensor dense(void *data, qb_dtype dtype, int64_t n0, int64_t n1, int64_t n2) {
    return (qb_tensor){.data = data, .dtype = dtype, .ndim = 3, .shape = {n0, n1, n2}};
}

static qb_fbp_options fbp_options(void) {
    qb_fbp_options options;
    assert_ok(qb_params_init(qb_fbp_params, &options));
    assert_ok(qb_params_set(qb_fbp_params, &options, "center", "22.75"));
    return options;
}

/* What the same reconstruction from file to file gives. */
static void fbp_by_files(const void *data, qb_dtype dtype, bool fields, const char *out_dtype,
                         qb_array *volume) {
    char scan_path[96], volume_path[96];
    snprintf(scan_path, sizeof scan_path, "%s", path_of("scan.h5"));
    snprintf(volume_path, sizeof volume_path, "%s", path_of("volume.npy"));
    qb_array flat = {dtype, {2, ROWS, COLUMNS}, flats}, dark = {dtype, {1, ROWS, COLUMNS}, darks};
    qb_stack stack = {.dtype = dtype, .shape = {VIEWS, ROWS, COLUMNS}, .angles = angles,
                      .quantity = fields ? "counts" : "line_integral", .units = "",
                      .voxel = {0.5, 0.5, 0}, .flats = fields ? &flat : NULL,
                      .darks = fields ? &dark : NULL};
    qb_writer *writer;
    assert_ok(qb_writer_create(scan_path, &stack, &writer));
    assert_ok(qb_writer_write(writer, 0, VIEWS, data));
    assert_ok(qb_writer_commit(writer, "{}"));
    qb_fbp_options options = fbp_options();
    qb_output_options output;
    assert_ok(qb_params_init(qb_output_params, &output));
    assert_ok(qb_params_set(qb_output_params, &output, "output", volume_path));
    assert_ok(qb_params_set(qb_output_params, &output, "dtype", out_dtype));
    if (strstr(out_dtype, "uint"))
        assert_ok(qb_params_set(qb_output_params, &output, "range", "0,0.3"));
    qb_scan *scan;
    qb_job *job;
    assert_ok(qb_scan_open(scan_path, NULL, NULL, &scan));
    assert_ok(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job));
    assert_ok(qb_job_run(job, NULL, NULL));
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_params_clear(qb_fbp_params, &options);
    qb_params_clear(qb_output_params, &output);
    assert_ok(qb_array_load(volume_path, NULL, volume, NULL));
}

/* ---- sources ---- */

static void one_call_gives_the_bits_of_files(void **state) {
    (void)state;
    qb_array expected;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    fbp_by_files(lines, QB_F32, false, "float32", &expected);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options options = fbp_options();
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    assert_memory_equal(volume, expected.data, qb_array_count(&expected) * sizeof(float));
    assert_close(volume[2 * COLUMNS * COLUMNS + 24 * COLUMNS + 27], 0.15, 0.002);
    qb_params_clear(qb_fbp_params, &options);
    qb_array_destroy(&expected);
    free(volume);
}

/* The default finds the axis. */
static void defaults_do(void **state) {
    (void)state;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    assert_ok(qb_fbp(&from, angles, 0.5, &to, NULL, NULL));
    assert_close(volume[2 * COLUMNS * COLUMNS + 24 * COLUMNS + 27], 0.15, 0.01);
    free(volume);
}

/* [column][view][row], backwards in view and column, every second element: as strides. */
static void any_strides_are_read(void **state) {
    (void)state;
    float *stored = malloc(2 * PIXELS * sizeof *stored);
    float *plain = calloc(ROWS * COLUMNS * COLUMNS, sizeof *plain);
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    for (int i = 0; i < 2 * PIXELS; i++) stored[i] = NAN;
    for (int v = 0; v < VIEWS; v++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                stored[2 * (((COLUMNS - 1 - c) * VIEWS + VIEWS - 1 - v) * ROWS + r)] =
                    lines[(v * ROWS + r) * COLUMNS + c];
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(plain, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options options = fbp_options();
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    from = (qb_tensor){.data = stored + 2 * (((COLUMNS - 1) * VIEWS + VIEWS - 1) * ROWS),
                       .memory = QB_MEMORY_CUDA_HOST, /* read like any other */
                       .dtype = QB_F32,
                       .ndim = 4,
                       .shape = {1, VIEWS, ROWS, COLUMNS},
                       .strides = {7, -2 * ROWS, 2, -2 * VIEWS * ROWS}};
    to.data = volume;
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    assert_memory_equal(volume, plain, ROWS * COLUMNS * COLUMNS * sizeof(float));
    qb_params_clear(qb_fbp_params, &options);
    free(stored);
    free(plain);
    free(volume);
}

/* Counts with flats (several frames) and darks (one, of two dimensions), by plan and run; and the same
 * stored as sinograms. */
static void counts_and_fields_are_arrays_too(void **state) {
    (void)state;
    qb_array expected;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    uint16_t *sinograms = malloc(sizeof counts);
    fbp_by_files(counts, QB_U16, true, "float32", &expected);
    for (int i = 0; i < PIXELS; i++) {
        int v = i / (ROWS * COLUMNS), r = i / COLUMNS % ROWS, c = i % COLUMNS;
        sinograms[(r * VIEWS + v) * COLUMNS + c] = counts[i];
    }
    for (int as = 0; as < 2; as++) {
        qb_tensor from = as ? dense(sinograms, QB_U16, ROWS, VIEWS, COLUMNS)
                            : dense(counts, QB_U16, VIEWS, ROWS, COLUMNS);
        qb_tensor flat = dense(flats, QB_U16, 2, ROWS, COLUMNS);
        qb_tensor dark = {.data = darks, .dtype = QB_U16, .ndim = 2, .shape = {ROWS, COLUMNS}};
        qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
        qb_fbp_options options = fbp_options();
        qb_scan_options about;
        qb_output_options output;
        qb_scan *scan;
        qb_job *job;
        const char *report;
        assert_ok(qb_params_init(qb_scan_params, &about));
        assert_ok(qb_params_set(qb_scan_params, &about, "as", as ? "sinogram" : "projections"));
        about.pixel_size = 0.5;
        assert_ok(qb_params_init(qb_output_params, &output));
        output.array = &to;
        assert_ok(qb_scan_from_tensor(&from, angles, &flat, &dark, &about, NULL, &scan));
        const qb_scan_info *info = qb_scan_describe(scan);
        assert_string_equal(info->path, as ? "array of 5 x 60 x 48 uint16"
                                           : "array of 60 x 5 x 48 uint16");
        assert_int_equal(info->flats, 2);
        assert_int_equal(info->darks, 1);
        assert_int_equal(info->quantity, QB_COUNTS);
        assert_ok(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job));
        assert_ok(qb_job_run(job, NULL, &report));
        assert_non_null(strstr(report, "\"array of 5 x 48 x 48 float32\""));
        assert_memory_equal(volume, expected.data, qb_array_count(&expected) * sizeof(float));
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_params_clear(qb_scan_params, &about);
        qb_params_clear(qb_output_params, &output);
        qb_params_clear(qb_fbp_params, &options);
    }
    qb_array_destroy(&expected);
    free(sinograms);
    free(volume);
}

/* ---- sinks ---- */

/* Each type, into [y][z][x] with gaps: the values of the file, and nothing beside them. */
static void any_strides_and_types_are_written(void **state) {
    (void)state;
    static const struct {
        qb_dtype dtype;
        const char *name;
    } types[] = {{QB_F32, "float32"}, {QB_F16, "float16"}, {QB_U16, "uint16"}, {QB_U8, "uint8"}};
    enum { GAP = 3, LINE = COLUMNS * 2 + GAP };
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        qb_array expected;
        fbp_by_files(lines, QB_F32, false, types[k].name, &expected);
        size_t element = qb_dtype_size(types[k].dtype), room = (size_t)COLUMNS * ROWS * LINE * element;
        unsigned char *volume = malloc(room);
        memset(volume, 0xa5, room);
        qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
        qb_tensor to = dense(volume + element, types[k].dtype, ROWS, COLUMNS, COLUMNS);
        to.strides[0] = LINE, to.strides[1] = ROWS * LINE, to.strides[2] = 2;
        qb_fbp_options options = fbp_options();
        qb_output_options output = {.array = &to};
        if (types[k].dtype <= QB_U16) output.range = (qb_numbers){2, {0, 0.3}};
        qb_scan_options about = {.pixel_size = 0.5};
        qb_scan *scan;
        qb_job *job;
        assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, &about, NULL, &scan));
        assert_ok(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job));
        assert_ok(qb_job_run(job, NULL, NULL));
        const unsigned char *value = expected.data;
        for (size_t y = 0; y < COLUMNS; y++)
            for (size_t z = 0; z < ROWS; z++)
                for (size_t x = 0; x < LINE; x++) {
                    const unsigned char *at = volume + ((y * ROWS + z) * LINE + x) * element;
                    const unsigned char beside[4] = {0xa5, 0xa5, 0xa5, 0xa5};
                    bool written = x % 2 == 1 && x < 2 * COLUMNS;
                    const unsigned char *want =
                        written ? value + ((z * COLUMNS + y) * COLUMNS + x / 2) * element : beside;
                    assert_memory_equal(at, want, element);
                }
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_params_clear(qb_fbp_params, &options);
        qb_array_destroy(&expected);
        free(volume);
    }
}

/* One row, one slice: [view][column] -> [y][x]; without a pixel size, values are per pixel. */
static void two_dimensions_are_a_slice(void **state) {
    (void)state;
    float all[COLUMNS * COLUMNS], one[COLUMNS * COLUMNS];
    qb_fbp_options options = fbp_options();
    qb_tensor from = dense(lines + 2 * COLUMNS, QB_F32, VIEWS, 1, COLUMNS);
    qb_tensor to = dense(all, QB_F32, 1, COLUMNS, COLUMNS);
    from.strides[0] = ROWS * COLUMNS, from.strides[1] = COLUMNS, from.strides[2] = 1;
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    from = (qb_tensor){.data = lines + 2 * COLUMNS, .dtype = QB_F32, .ndim = 2,
                       .shape = {VIEWS, COLUMNS}, .strides = {ROWS * COLUMNS, 1}};
    to = (qb_tensor){.data = one, .dtype = QB_F32, .ndim = 2, .shape = {COLUMNS, COLUMNS}};
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &options, NULL));
    assert_memory_equal(one, all, sizeof all);
    assert_ok(qb_fbp(&from, angles, 0, &to, &options, NULL));
    assert_close(one[24 * COLUMNS + 27], 0.5 * all[24 * COLUMNS + 27], 1e-6);
    qb_params_clear(qb_fbp_params, &options);
}

/* ---- the other methods ---- */

static void a_volume_goes_there_and_back(void **state) {
    (void)state;
    enum { N = 32, NZ = 4 };
    float *volume = calloc(NZ * N * N, sizeof *volume), *back = calloc(NZ * N * N, sizeof *back);
    float *sums = calloc(PIXELS, sizeof *sums), *direct = calloc(PIXELS, sizeof *direct);
    for (int i = 0; i < NZ * N * N; i++)
        volume[i] = hypot(i % N - 15.5, i / N % N - 15.5) < 9 ? 0.02f : 0;
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
    assert_ok(qb_project(&from, &grid, &circle, &to, NULL, NULL)); /* the same, said */
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

/* FDK to float16 in [x][y][z], against the dense float32 volume. */
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
            for (int x = 0; x < N; x++)
                assert_int_equal(half[(x * N + y) * NZ + z], expected[(z * N + y) * N + x]);
    free(plain);
    free(widened);
    free(half);
    free(expected);
}

/* ---- what cannot be ---- */

static void refusals(void **state) {
    (void)state;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options options = fbp_options();
#define REFUSED(status, word, field, ...)                                                          \
    do {                                                                                           \
        qb_tensor a = from, b = to;                                                                \
        (field) = __VA_ARGS__;                                                                     \
        assert_status(qb_fbp(&a, angles, 0.5, &b, &options, NULL), status);                        \
        if (!strstr(qb_detail(), word)) fail_msg("%s: not in: %s", word, qb_detail());             \
    } while (0)
    REFUSED(QB_BAD_ARGUMENT, "no array", a.data, NULL);
    REFUSED(QB_BAD_ARGUMENT, "not aligned", a.data, (char *)a.data + 1);
    REFUSED(QB_BAD_ARGUMENT, "0 dimensions", a.ndim, 0);
    REFUSED(QB_BAD_ARGUMENT, "5 dimensions", b.ndim, 5);
    REFUSED(QB_BAD_ARGUMENT, "shape[1] is 0", a.shape[1], 0);
    REFUSED(QB_BAD_ARGUMENT, "shape[2] is -48", b.shape[2], -COLUMNS);
    REFUSED(QB_BAD_ARGUMENT, "beyond what", a.shape[0], INT64_MAX);
    REFUSED(QB_BAD_ARGUMENT, "beyond what", a.strides[0], INT64_MIN);
    REFUSED(QB_BAD_ARGUMENT, "several elements", b.strides[2], 1);
    REFUSED(QB_BAD_ARGUMENT, "no qb_dtype", a.dtype, (qb_dtype)77);
    REFUSED(QB_UNSUPPORTED, "kind 8", a.memory, (qb_memory)8);
    REFUSED(QB_UNSUPPORTED, "is of int16", b.dtype, QB_I16);
    REFUSED(QB_BAD_ARGUMENT, "overlaps", b.data, lines);
    REFUSED(QB_BAD_ARGUMENT, "the result is 5 x 48 x 48 float32", b.shape[0], 4);
    assert_status(qb_fbp(&from, NULL, 0.5, &to, &options, NULL), QB_BAD_ARGUMENT);
    assert_status(qb_params_set(qb_fbp_params, &options, "centre", "1"), QB_BAD_ARGUMENT);
    /* A sweep is a folder of pictures; a file and an array are two places. */
    qb_output_options output = {.array = &to, .output = "/tmp/volume.h5"};
    qb_scan *scan;
    qb_job *job;
    assert_ok(qb_scan_from_tensor(&from, angles, NULL, NULL, NULL, NULL, &scan));
    assert_status(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job), QB_BAD_ARGUMENT);
    output.output = NULL;
    assert_ok(qb_params_set(qb_fbp_params, &options, "center", "20:24:1"));
    assert_status(qb_fbp_plan(scan, NULL, &options, &output, "test", NULL, &job), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "sweep"));
    qb_scan_close(scan);
    /* What geometry and volume state is not said again. */
    qb_tensor lines_out = dense(volume, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor cube = dense(lines, QB_F32, 4, 8, 8);
    qb_project_options project = {.views = 3};
    qb_grid grid = {.n = {8, 8, 5}, .voxel = {1, 1, 1}};
    assert_status(qb_project(&cube, NULL, &circle, &lines_out, &project, NULL), QB_BAD_ARGUMENT);
    assert_status(qb_project(&cube, &grid, &circle, &lines_out, NULL, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "5 x 8 x 8"));
    qb_params_clear(qb_fbp_params, &options);
    free(volume);
}

static void memory_runs_out(void **state) {
    (void)state;
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    float *sums = calloc(PIXELS, sizeof *sums);
    const qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = dense(volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    const qb_tensor back = dense(sums, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_fbp_options options = fbp_options();
    for (int call = 0; call < 3; call++) {
        size_t n = 1;
        for (;; n++) {
            qb__fail_allocation(n);
            qb_env env = {.threads = 1};
            qb_status status = call == 0   ? qb_fbp(&from, angles, 0.5, &to, &options, &env)
                               : call == 1 ? qb_fdk(&from, &circle, &to, NULL, &env)
                                           : qb_project(&to, NULL, &circle, &back, NULL, &env);
            if (qb__fail_allocation(0)) break; /* nothing was left to fail */
            assert_true(n < 1000);
            if (status == QB_OK) continue; /* less was done at a time */
            assert_status(status, QB_NO_MEMORY);
            assert_true(strlen(qb_detail()) > 0);
        }
        assert_true(n > 15);
    }
    qb_params_clear(qb_fbp_params, &options);
    free(volume);
    free(sums);
}

/* A program compiled when options ended with `pad`; behind its struct is nothing of its own. */
static void an_older_program_reconstructs(void **state) {
    (void)state;
    typedef struct older {
        size_t struct_size;
        char *center, *slices, *filter;
        qb_pad pad;
    } older;
    older *options = malloc(sizeof *options);
    float *volume = calloc(ROWS * COLUMNS * COLUMNS, sizeof *volume);
    float *expected = calloc(ROWS * COLUMNS * COLUMNS, sizeof *expected);
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(expected, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_fbp_options whole = fbp_options();
    assert_ok(qb_fbp(&from, angles, 0.5, &to, &whole, NULL));
    assert_ok(qb_params_init(qb_fbp_params, options));
    assert_ok(qb_params_set(qb_fbp_params, options, "center", "22.75"));
    to.data = volume;
    assert_ok(qb_fbp(&from, angles, 0.5, &to, (const qb_fbp_options *)options, NULL));
    assert_memory_equal(volume, expected, ROWS * COLUMNS * COLUMNS * sizeof *volume);
    qb_params_clear(qb_fbp_params, options);
    qb_params_clear(qb_fbp_params, &whole);
    free(options);
    free(volume);
    free(expected);
}

/* ---- DLPack ---- */

static void dlpack_arrays_pass(void **state) {
    (void)state;
    struct {
        void *data;
        int32_t device_type, device_id, ndim;
        uint8_t code, bits;
        uint16_t lanes;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } dl = {lines, 1, 0, 3, 2, 32, 1, (int64_t[]){VIEWS, ROWS, COLUMNS}, NULL, 8};
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
    dl.ndim = 3, dl.device_type = 10;
    assert_status(qb_tensor_from_dlpack(&dl, NULL, &t), QB_UNSUPPORTED);
    assert_status(qb_tensor_from_dlpack(NULL, NULL, &t), QB_BAD_ARGUMENT);
}

/* ---- several at once ---- */

typedef struct worker {
    int kind;
    qb_status status;
    float *volume;
} worker;

static void *reconstruct(void *context) {
    worker *w = context;
    qb_tensor from = dense(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = dense(w->volume, QB_F32, ROWS, COLUMNS, COLUMNS);
    qb_env env = {.threads = 2};
    qb_fbp_options options = fbp_options();
    for (int i = 0; i < 5 && w->status == QB_OK; i++)
        w->status = w->kind ? qb_fdk(&from, &circle, &to, NULL, &env)
                            : qb_fbp(&from, angles, 0.5, &to, &options, &env);
    qb_params_clear(qb_fbp_params, &options);
    return NULL;
}

static void two_threads_at_once(void **state) {
    (void)state;
    enum { WORKERS = 4 };
    pthread_t thread[WORKERS];
    worker alone[2] = {{.kind = 0}, {.kind = 1}}, together[WORKERS] = {0};
    size_t bytes = ROWS * COLUMNS * COLUMNS * sizeof(float);
    for (int i = 0; i < 2; i++) {
        alone[i].volume = calloc(1, bytes);
        reconstruct(&alone[i]);
        assert_ok(alone[i].status);
    }
    for (int i = 0; i < WORKERS; i++) {
        together[i] = (worker){.kind = i % 2, .volume = calloc(1, bytes)};
        assert_int_equal(pthread_create(&thread[i], NULL, reconstruct, &together[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(thread[i], NULL);
        assert_ok(together[i].status);
        assert_memory_equal(together[i].volume, alone[i % 2].volume, bytes);
        free(together[i].volume);
    }
    free(alone[0].volume);
    free(alone[1].volume);
}

/* One thread reconstructs and, once it has come as far as its first progress, waits there for the other
 * one to have asked it to stop. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool begun, asked;
    volatile sig_atomic_t stop;
} meeting;

static void wait_for_the_other(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)what, (void)done, (void)total;
    meeting *m = user;
    pthread_mutex_lock(&m->lock);
    m->begun = true;
    pthread_cond_broadcast(&m->moved);
    while (!m->asked) pthread_cond_wait(&m->moved, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static void *ask_to_stop(void *context) {
    meeting *m = context;
    pthread_mutex_lock(&m->lock);
    while (!m->begun) pthread_cond_wait(&m->moved, &m->lock);
    __atomic_store_n(&m->stop, 1, __ATOMIC_RELAXED);
    m->asked = true;
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

static void cancelled_by_another_thread(void **state) {
    (void)state;
    enum { MANY = 600 }; /* the same row again and again: many chunks */
    float *volume = calloc(MANY * COLUMNS * COLUMNS, sizeof *volume);
    float *sums = calloc(MANY * COLUMNS, sizeof *sums);
    double turn[MANY];
    qb_geometry fan;
    qb_tensor rows = dense(lines, QB_F32, VIEWS, MANY, COLUMNS);
    rows.strides[0] = ROWS * COLUMNS, rows.strides[2] = 1;
    const qb_tensor slices = dense(volume, QB_F32, MANY, COLUMNS, COLUMNS);
    const qb_tensor slice = dense(volume, QB_F32, 1, COLUMNS, COLUMNS);
    const qb_tensor views = dense(sums, QB_F32, MANY, 1, COLUMNS);
    qb_fbp_options options = fbp_options();
    for (int i = 0; i < MANY; i++) turn[i] = 2 * M_PI * i / MANY;
    assert_ok(qb_geometry_cone(MANY, turn, 1, COLUMNS, 0.5, 0.5, 100, 150, 0, 0, &fan));
    for (int call = 0; call < 2; call++) {
        pthread_t other;
        meeting m = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
        qb_env env = {.struct_size = sizeof env, .threads = 2, .progress = wait_for_the_other,
                      .user = &m, .cancel = &m.stop, .device = "cpu"};
        assert_int_equal(pthread_create(&other, NULL, ask_to_stop, &m), 0);
        qb_status status = call ? qb_project(&slice, NULL, &fan, &views, NULL, &env)
                                : qb_fbp(&rows, angles, 0.5, &slices, &options, &env);
        if (!m.begun) wait_for_the_other(&m, "", 0, 0);
        pthread_join(other, NULL);
        assert_status(status, QB_CANCELLED);
        assert_non_null(strstr(qb_detail(), "interrupted"));
    }
    qb_geometry_destroy(&fan);
    qb_params_clear(qb_fbp_params, &options);
    free(volume);
    free(sums);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_gives_the_bits_of_files),
        cmocka_unit_test(defaults_do),
        cmocka_unit_test(any_strides_are_read),
        cmocka_unit_test(counts_and_fields_are_arrays_too),
        cmocka_unit_test(any_strides_and_types_are_written),
        cmocka_unit_test(two_dimensions_are_a_slice),
        cmocka_unit_test(a_volume_goes_there_and_back),
        cmocka_unit_test(fdk_writes_strides),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(an_older_program_reconstructs),
        cmocka_unit_test(dlpack_arrays_pass),
        cmocka_unit_test(two_threads_at_once),
        cmocka_unit_test(cancelled_by_another_thread),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
