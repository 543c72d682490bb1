/* SPDX-License-Identifier: MIT */
/* A small scan as arrays. With it tests compare a reconstruction from arrays with the same one from files. */
#ifndef QB_TESTS_ARRAYS_H
#define QB_TESTS_ARRAYS_H

#include <unistd.h>

#include "check.h"
#include "quickbeam/quickbeam.h"

enum { VIEWS = 60, ROWS = 5, COLUMNS = 48, PIXELS = VIEWS * ROWS * COLUMNS };

static char folder[] = "/tmp/qb-tensor-XXXXXX";
static double angles[VIEWS];
static float lines[PIXELS];     /* [view][row][column]: line integrals of a disc of 0.05/mm. Pixels are 0.5 mm. */
static uint16_t counts[PIXELS]; /* the same scan as counts of a detector */
static uint16_t flats[2 * ROWS * COLUMNS], darks[ROWS * COLUMNS]; /* the flats and the dark of `counts` */
/* geometry of a cone beam with the same views, rows and columns */
static qb_geometry circle;

static inline char *path_of(const char *name) {
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

static inline qb_tensor dense(void *data, qb_dtype dtype, int64_t n0, int64_t n1, int64_t n2) {
    return (qb_tensor){.data = data, .dtype = dtype, .ndim = 3, .shape = {n0, n1, n2}};
}

static inline qb_fbp_options fbp_options(void) {
    qb_fbp_options options;
    assert_ok(qb_params_init(qb_fbp_params, &options));
    assert_ok(qb_params_set(qb_fbp_params, &options, "center", "22.75"));
    return options;
}

/* Reconstructs `data` by way of files. `volume` receives the result. */
static inline void fbp_by_files(const void *data, qb_dtype dtype, bool fields, const char *out_dtype,
                                qb_array *volume) {
    char scan_path[96], volume_path[96];
    snprintf(scan_path, sizeof scan_path, "%s", path_of("scan.h5"));
    snprintf(volume_path, sizeof volume_path, "%s", path_of("volume.npy"));
    qb_array flat = {dtype, {2, ROWS, COLUMNS}, flats}, dark = {dtype, {1, ROWS, COLUMNS}, darks};
    qb_stack stack = {.dtype = dtype,
                      .shape = {VIEWS, ROWS, COLUMNS},
                      .angles = angles,
                      .quantity = fields ? "counts" : "line_integral",
                      .units = "",
                      .voxel = {0.5, 0.5, 0},
                      .flats = fields ? &flat : NULL,
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
    if (strstr(out_dtype, "uint")) assert_ok(qb_params_set(qb_output_params, &output, "range", "0,0.3"));
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

#endif
