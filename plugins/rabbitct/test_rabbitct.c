/* SPDX-License-Identifier: MIT */
/* Drives the plug-in as the runners of both benchmarks do, with noise in the views of a wobbling C-arm, and compares
 * with double precision: rabbitct_test MODULE.so [L [VIEWS]]. The second form also prints the times of a run. */
#include "module.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef bool (*entry_point)(qb_rabbitct_v2 *);

typedef struct data_set {
    unsigned size, columns, rows, views;
    double (*matrix)[12];
    double **matrices;
    float **images;
    float voxel, origin;
} data_set;

static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53 * 2 - 1;
}

static void *need(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "rabbitct_test: out of memory\n");
    exit(2);
}

/* A C-arm of 1248x960 pixels, 785 mm to the centre and 1200 mm to the detector, or the same with larger pixels. Columns
 * of the matrix follow one another; w = 1 at the centre. */
static void c_arm(double out[12], double angle, double pitch, unsigned columns, unsigned rows, uint64_t *seed) {
    const double sod = 785 * (1 + 0.002 * uniform(seed)), f = 1200 * (1 + 0.002 * uniform(seed));
    const double tilt = 0.01 * uniform(seed), roll = 0.01 * uniform(seed);
    const double c = cos(angle), s = sin(angle);
    const double along[4] = {-s * cos(tilt), c * cos(tilt), sin(tilt), sod};
    const double across[4] = {c, s, 0, 0}, up[4] = {s * sin(tilt), -c * sin(tilt), cos(tilt), 0};
    const double u0 = (columns - 1) / 2.0 + uniform(seed), v0 = (rows - 1) / 2.0 + uniform(seed);
    for (int i = 0; i < 4; i++) {
        double u = f / pitch * (cos(roll) * across[i] + sin(roll) * up[i]);
        double v = f / pitch * (cos(roll) * up[i] - sin(roll) * across[i]);
        out[3 * i] = (u + u0 * along[i]) / sod;
        out[3 * i + 1] = (v + v0 * along[i]) / sod;
        out[3 * i + 2] = along[i] / sod;
    }
}

static data_set make(unsigned size, unsigned views, unsigned shrink) {
    data_set d = {.size = size, .columns = 1248 / shrink, .rows = 960 / shrink, .views = views};
    uint64_t seed = 7;
    d.voxel = 256 / (float)size;
    d.origin = -0.5f * d.voxel * (float)(size - 1);
    d.matrix = need(calloc(views, sizeof *d.matrix));
    d.matrices = need(calloc(views, sizeof *d.matrices));
    d.images = need(calloc(views, sizeof *d.images));
    for (unsigned v = 0; v < views; v++) {
        const size_t pixels = (size_t)d.columns * d.rows;
        d.matrices[v] = d.matrix[v];
        c_arm(d.matrix[v], 3.49 * v / views, 0.32 * shrink, d.columns, d.rows, &seed);
        d.images[v] = need(malloc(pixels * sizeof(float)));
        for (size_t i = 0; i < pixels; i++) d.images[v][i] = (float)uniform(&seed);
    }
    return d;
}

static void release(data_set *d) {
    for (unsigned v = 0; v < d->views; v++) free(d->images[v]);
    free(d->images);
    free(d->matrices);
    free(d->matrix);
}

static double pixel(const data_set *d, unsigned view, double column, double row) {
    if (column < 0 || column >= d->columns || row < 0 || row >= d->rows) return 0;
    return (double)d->images[view][(size_t)row * d->columns + (size_t)column];
}

static double reference(const data_set *d, unsigned i, unsigned j, unsigned k) {
    double sum = 0;
    const double at[4] = {(double)d->origin + i * (double)d->voxel, (double)d->origin + j * (double)d->voxel,
                          (double)d->origin + k * (double)d->voxel, 1};
    for (unsigned n = 0; n < d->views; n++) {
        double u = 0, v = 0, w = 0;
        for (int a = 0; a < 4; a++) {
            u += d->matrix[n][3 * a] * at[a];
            v += d->matrix[n][3 * a + 1] * at[a];
            w += d->matrix[n][3 * a + 2] * at[a];
        }
        u /= w, v /= w;
        double x = floor(u), y = floor(v), a = u - x, b = v - y;
        double upper = (1 - a) * pixel(d, n, x, y) + a * pixel(d, n, x + 1, y);
        double lower = (1 - a) * pixel(d, n, x, y + 1) + a * pixel(d, n, x + 1, y + 1);
        sum += ((1 - b) * upper + b * lower) / (w * w);
    }
    return sum;
}

static bool accurate(const data_set *d, const float *volume, const char *what) {
    double error2 = 0, norm2 = 0;
    uint64_t seed = 3;
    for (int i = 0; i < 4000; i++) {
        unsigned at[3];
        for (int a = 0; a < 3; a++) at[a] = (unsigned)((uniform(&seed) + 1) / 2 * d->size);
        double want = reference(d, at[0], at[1], at[2]);
        double got = (double)volume[((size_t)at[2] * d->size + at[1]) * d->size + at[0]];
        error2 += (got - want) * (got - want);
        norm2 += want * want;
    }
    double relative = sqrt(error2 / norm2);
    printf("%s: relative L2 error %.2e\n", what, relative);
    return relative < 1e-3;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static entry_point find(void *module, const char *name) {
    entry_point f;
    void *symbol = dlsym(module, name);
    if (!symbol) {
        fprintf(stderr, "rabbitct_test: no %s\n", name);
        exit(1);
    }
    memcpy(&f, &symbol, sizeof f);
    return f;
}

/* The original runner: load, one call for each view, finish, unload. */
static bool run_module(void *module, data_set *d, bool own_volume) {
    const size_t n = d->size;
    qb_rabbitct_v2 g = {.L = d->size,
                        .S_x = d->columns,
                        .S_y = d->rows,
                        .R_L = d->voxel,
                        .O_L = d->origin,
                        .adv_N = d->views,
                        .adv_ppProjMatrixBuffers = d->matrices};
    if (!own_volume) g.f_L = need(calloc(n * n * n, sizeof(float)));
    if (!find(module, "RCTLoadAlgorithm")(&g)) return false;
    double seconds = 0;
    bool good = true;
    for (unsigned v = 0; v < d->views && good; v++) {
        g.A_n = d->matrix[v], g.I_n = d->images[v], g.adv_projNumber = v;
        double begin = now();
        good = find(module, "RCTAlgorithmBackprojection")(&g);
        seconds += now() - begin;
    }
    printf("L %u, %u views: %.3f s, %.2f GUPS\n", d->size, d->views, seconds,
           (double)(n * n * n) * d->views / seconds / 1073741824.0);
    good = good && find(module, "RCTFinishAlgorithm")(&g);
    good = good && accurate(d, g.f_L, "original interface");
    if (!own_volume) free(g.f_L);
    return find(module, "RCTUnloadAlgorithm")(&g) && good;
}

/* A view whose source lies in the middle of the cube. */
static bool refuses_source_inside(void *module) {
    data_set d = make(16, 1, 32);
    for (int i = 0; i < 12; i++) d.matrix[0][i] = i == 2 ? 1 : 0;
    qb_rabbitct_v2 g = {.L = 16,
                        .S_x = d.columns,
                        .S_y = d.rows,
                        .R_L = d.voxel,
                        .O_L = d.origin,
                        .adv_N = 1,
                        .A_n = d.matrix[0],
                        .I_n = d.images[0]};
    bool refused = find(module, "RCTLoadAlgorithm")(&g) && !find(module, "RCTAlgorithmBackprojection")(&g);
    find(module, "RCTUnloadAlgorithm")(&g);
    release(&d);
    return refused;
}

/* The newer runner: prepare, a few views in each call, finish. */
typedef struct projection {
    int id;
    double *matrix;
    float *image;
} projection;
typedef struct registry_data {
    uint32_t size, columns, rows;
    float voxel, origin;
    float *volume;
    uint32_t views;
    double *geometry;
    projection *buffer;
    char *clip;
} registry_data;
int quickbeamPrepare(registry_data *data);
int quickbeamBackprojection(registry_data *data);
int quickbeamFinish(registry_data *data);

static bool run_registry(data_set *d, uint32_t buffered, bool told) {
    const size_t n = d->size;
    projection *buffer = need(calloc(buffered, sizeof *buffer));
    registry_data g = {.size = d->size,
                       .columns = d->columns,
                       .rows = d->rows,
                       .voxel = d->voxel,
                       .origin = d->origin,
                       .views = told ? d->views : 0,
                       .buffer = buffer};
    g.volume = need(calloc(n * n * n, sizeof(float)));
    bool good = quickbeamPrepare(&g);
    g.views = buffered;
    for (unsigned v = 0; v < d->views && good; v += buffered) {
        for (unsigned i = 0; i < buffered; i++)
            buffer[i] = (projection){(int)(v + i + 1), d->matrix[v + i], d->images[v + i]};
        good = quickbeamBackprojection(&g);
    }
    /* All views are added before Finish. */
    good = good && accurate(d, g.volume, "static registry") && quickbeamFinish(&g);
    free(g.volume);
    free(buffer);
    return good;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "rabbitct_test MODULE.so [L [VIEWS]]\n"), 2;
    void *module = dlopen(argv[1], RTLD_NOW);
    if (!module) return fprintf(stderr, "%s\n", dlerror()), 1;
    const unsigned size = argc > 2 ? (unsigned)atoi(argv[2]) : 64;
    const unsigned views = argc > 3 ? (unsigned)atoi(argv[3]) : 36;
    data_set d = make(size, views, argc > 2 ? 1 : 4);
    bool good = run_module(module, &d, true) && run_module(module, &d, false);
    if (argc == 2)
        good = good && refuses_source_inside(module) && run_registry(&d, 3, true) && run_registry(&d, 1, true) &&
               run_registry(&d, 4, false);
    release(&d);
    dlclose(module);
    puts(good ? "ok" : "FAILED");
    return !good;
}
