/* SPDX-License-Identifier: MIT */
/* Arrays in device memory give the same bits as arrays on the host: FDK (of class normal, with half floats), projection
 * and operators. CUDA is emulated on this processor with compiled kernels; its device memory is host memory. Skipped
 * (77) without a C++ compiler and Python. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quickbeam/quickbeam.h"

enum { VIEWS = 40, ROWS = 12, COLUMNS = 48, N = 48, PIXELS = VIEWS * ROWS * COLUMNS, VOXELS = ROWS * N * N };

static float lines[PIXELS], volume[2][VOXELS], sums[2][PIXELS], back[2][VOXELS];
static const qb_env on = {.device = "cuda:0"};

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, qb_detail());                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == QB_OK)

static qb_tensor array(float *data, int device, int64_t n0, int64_t n1, int64_t n2) {
    return (qb_tensor){.data = data,
                       .memory = device ? QB_MEMORY_CUDA : QB_MEMORY_CPU,
                       .dtype = QB_F32,
                       .ndim = 3,
                       .shape = {n0, n1, n2}};
}

static void fdk(const qb_geometry *circle) {
    for (int device = 0; device < 2; device++) {
        const qb_tensor from = array(lines, device, VIEWS, ROWS, COLUMNS),
                        to = array(volume[device], device, ROWS, N, N);
        qb_fdk_options options;
        memset(volume[device], 0xff, sizeof volume[device]);
        OK(qb_params_init(qb_fdk_params, &options));
        OK(qb_params_set(qb_fdk_params, &options, "accuracy", "normal"));
        OK(qb_fdk(&from, circle, &to, &options, &on));
        qb_params_clear(qb_fdk_params, &options);
    }
    CHECK(!memcmp(volume[0], volume[1], sizeof volume[0]));
    CHECK(fabsf(volume[0][(ROWS / 2 * N + N / 2) * N + N / 2 + 8] - 0.03f) < 0.01f);
}

static void project(const qb_geometry *circle) {
    for (int device = 0; device < 2; device++) {
        const qb_tensor from = array(volume[device], device, ROWS, N, N),
                        to = array(sums[device], device, VIEWS, ROWS, COLUMNS);
        memset(sums[device], 0xff, sizeof sums[device]);
        OK(qb_project(&from, NULL, circle, &to, NULL, &on));
    }
    CHECK(!memcmp(sums[0], sums[1], sizeof sums[0]) && sums[0][PIXELS / 2 + COLUMNS / 2] > 0);
}

/* A part of the views; then the rest is added to it. */
static void operators(const qb_geometry *circle) {
    enum { FIRST = 3, END = 37 };
    qb_grid grid;
    qb_projector *p;
    qb_grid_default(circle, &grid);
    CHECK(grid.n[0] == N && grid.n[1] == N);
    grid.n[2] = ROWS;
    OK(qb_projector_create(circle, &grid, NULL, &on, &p));
    const qb_tensor x = array(volume[1], 1, ROWS, N, N), y = array(sums[1], 1, END - FIRST, ROWS, COLUMNS),
                    z = array(back[1], 1, ROWS, N, N);
    memset(sums, 0xff, sizeof sums);
    memset(back, 0, sizeof back);
    OK(qb_projector_forward(p, volume[0], FIRST, END, NULL, sums[0]));
    OK(qb_projector_forward_tensor(p, &x, FIRST, END, NULL, &y));
    CHECK(!memcmp(sums[0], sums[1], sizeof sums[0]) && sums[0][COLUMNS / 2] > 0);
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        OK(qb_projector_adjoint(p, sums[0], FIRST, END, accumulate, NULL, back[0]));
        OK(qb_projector_adjoint_tensor(p, &y, FIRST, END, accumulate, NULL, &z));
        CHECK(!memcmp(back[0], back[1], sizeof back[0]) && back[0][VOXELS / 2] != 0);
    }
    qb_projector_destroy(p);
}

int main(void) {
    if (system("command -v g++ >/dev/null && command -v python3 >/dev/null")) { // NOLINT: words of ours
        printf("no g++ or no python3\n");
        return 77;
    }
    double turn[VIEWS];
    qb_geometry circle;
    for (int v = 0; v < VIEWS; v++) turn[v] = 2 * 3.14159265358979 * v / VIEWS;
    for (int i = 0; i < PIXELS; i++) {
        const double s = i % COLUMNS - 23.5 - 5 * cos(turn[i / (ROWS * COLUMNS)]);
        lines[i] = s * s < 200 ? (float)(0.02 * sqrt(200 - s * s)) : 0;
    }
    OK(qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 0.5, 0.5, 300, 450, 0, 0, &circle));
    fdk(&circle);
    project(&circle);
    operators(&circle);
    qb_geometry_destroy(&circle);
    printf("the same bits from either memory\n");
    return 0;
}
