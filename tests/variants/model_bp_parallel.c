/* SPDX-License-Identifier: MIT */
/* Compares the performance model to recorded measurements of an H200.
 *   model_bp_parallel [--least-share S] [--list] [--shipped] FILE
 * FILE: bench/results/NVIDIA-H200-bp-parallel-sets.json. With --list, prints prediction over measurement for every
 * parameter set, with the unit that limits it; then the spread of these ratios. Fails if the forecast of the best set
 * of a variant and number of slices is wrong by more than 20 %, or if a smaller share than S of all sets lies within 20
 * %. Sets that a variant refuses now are forecast like others. --shipped lists the same for the shipped parameters:
 * other cards, and OpenCL, to none of which the model was fitted. */
#include "base/memory.h"
#include "geometry/parallel.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "planner/choose.h"
#include "planner/tuning_shipped.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The measured values, and the device: see the file. */
enum { VIEWS = 1024, COLUMNS = VIEWS, SLICES = 64, BESTS_MAX = 128 };
static const double within = 0.2;
static const qb__device_info h200 = {.api = QB__API_CUDA,
                                     .name = "NVIDIA H200",
                                     .spec = "cuda:0",
                                     .arch = 90,
                                     .arch_specific = true,
                                     .half_arithmetic = true,
                                     .images = true,
                                     .subgroups = true,
                                     .warp = 32,
                                     .multiprocessors = 132,
                                     .local_bytes = 227 << 10,
                                     .group_size = 1024,
                                     .image_width = 131072,
                                     .image_height = 65536,
                                     .image_layers = 2048,
                                     .clock_hz = 1.98e9};

typedef struct best {
    const char *id;
    int slices;
    double rate, ratio;
} best;

typedef struct totals {
    const qb__bp_parallel_problem *problem;
    bool list;
    int sets, close, refused, faults, best_count;
    best bests[BESTS_MAX];
} totals;

static const qb__bp_parallel_device_variant *variant_of(const char *id) {
    size_t count;
    const qb__bp_parallel_device_variant *const *rows = qb__bp_parallel_device_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i]->head.id, id) == 0) return rows[i];
    return NULL;
}

/* The fastest set for each variant and number of slices in a fetch. */
static void keep_best(totals *t, best b) {
    for (int i = 0; i < t->best_count; i++) {
        best *old = &t->bests[i];
        if (strcmp(old->id, b.id) || old->slices != b.slices) continue;
        if (b.rate > old->rate) *old = b;
        return;
    }
    if (t->best_count < BESTS_MAX) t->bests[t->best_count++] = b;
}

static void print_set(const qb__bp_parallel_device_variant *v, const int *values, double rate, double predicted,
                      int unit) {
    printf("%5.2f %8.0f %8.0f %-13s %s", predicted / rate, rate, predicted, qb__unit_names[unit], v->head.id);
    for (int i = 0; i < qb__parameter_count(&v->head); i++)
        if (v->head.parameters[i].count > 1) printf(" %s=%d", v->head.parameters[i].name, values[i]);
    printf("\n");
}

/* A row: values in the variant's order, then giga-updates/s. */
static void one_set(totals *t, const qb__bp_parallel_device_variant *v, const cJSON *row) {
    const int count = qb__parameter_count(&v->head);
    int values[QB__PARAMETERS_MAX] = {0}, slices = 0, unit;
    if (cJSON_GetArraySize(row) != count + 1) {
        t->faults++;
        return;
    }
    for (int i = 0; i < count; i++) {
        values[i] = cJSON_GetArrayItem(row, i)->valueint;
        if (!strcmp(v->head.parameters[i].name, "SLICES")) slices = values[i];
    }
    const double rate = cJSON_GetArrayItem(row, count)->valuedouble;
    const double updates = (double)COLUMNS * COLUMNS * SLICES * VIEWS;
    const double seconds = qb__forecast(&h200, &v->head, t->problem, SLICES, values, NULL, &unit);
    const double predicted = updates / seconds * 1e-9, ratio = predicted / rate;
    t->sets++;
    if (fabs(ratio - 1) <= within) t->close++;
    if (v->head.unusable(&h200, t->problem, values)) t->refused++;
    keep_best(t, (best){v->head.id, slices, rate, ratio});
    if (t->list) print_set(v, values, rate, predicted, unit);
}

static int report(const totals *t, double least_share) {
    double low = 1e9, high = 0, share = t->sets ? (double)t->close / t->sets : 0;
    int bad = 0;
    for (int i = 0; i < t->best_count; i++) {
        const best *b = &t->bests[i];
        if (b->ratio < low) low = b->ratio;
        if (b->ratio > high) high = b->ratio;
        if (fabs(b->ratio - 1) <= within) continue;
        printf("%s, %d slices: %.2f of %.0f\n", b->id, b->slices, b->ratio, b->rate);
        bad++;
    }
    printf("%d best sets: %.2f to %.2f of what was measured; %.1f %% of %d sets (%d refused since) "
           "within 20 %%\n",
           t->best_count, low, high, 100 * share, t->sets, t->refused);
    if (t->faults) printf("%d kernels or sets that do not exist\n", t->faults);
    return bad || t->faults || share < least_share || !t->best_count;
}

/* The cards for which speeds are shipped, with their multiprocessors and clocks: the paper's Table 10. */
static const struct {
    const char *name;
    qb__device_api api;
    int arch;
    unsigned multiprocessors;
    double clock_hz;
} cards[] = {
    {"NVIDIA H200", QB__API_CUDA, 90, 132, 1.98e9},       {"NVIDIA H200 (OpenCL)", QB__API_OPENCL, 90, 132, 1.98e9},
    {"GeForce GTX 580", QB__API_CUDA, 20, 16, 1.544e9},   {"GeForce GTX 680", QB__API_CUDA, 30, 8, 1.006e9},
    {"GeForce GTX TITAN", QB__API_CUDA, 35, 14, 0.993e9}, {"GeForce GTX 980", QB__API_CUDA, 52, 16, 1.252e9},
    {"TITAN X (Pascal)", QB__API_CUDA, 61, 28, 1.759e9},
};

static const float largest[] = {1};

/* A square of n pixels; the caller frees *coefficients. */
static qb__bp_parallel_problem square(size_t n, double **coefficients) {
    qb__bp_parallel_problem p = {.views = n, .columns = n, .nx = n, .ny = n, .largest = largest};
    if (qb__half_turn(&p, coefficients) != QB_OK) abort();
    return p;
}

static void list_shipped(const qb__tuning_shipped *row) {
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        if (strcmp(cards[i].name, row->key.device) || !(row->entry.giga_updates > 0)) continue;
        const qb__device_info info = {.api = cards[i].api,
                                      .arch = cards[i].arch,
                                      .multiprocessors = cards[i].multiprocessors,
                                      .clock_hz = cards[i].clock_hz};
        const size_t n = row->key.columns, slices = row->key.slices;
        double *coefficients;
        const qb__bp_parallel_problem p = square(n, &coefficients);
        int unit;
        const double seconds =
            qb__forecast(&info, &variant_of(row->key.variant)->head, &p, slices, row->entry.values, NULL, &unit);
        const double predicted = (double)(n * n) * (double)(n * slices) / seconds * 1e-9;
        printf("%5.2f %8.0f %8.0f %-13s %s, %s, %zu slices\n", predicted / row->entry.giga_updates,
               row->entry.giga_updates, predicted, qb__unit_names[unit], row->key.device, row->key.variant, slices);
        qb__free(coefficients);
    }
}

static cJSON *load(const char *path) {
    enum { MOST = 1 << 20 };
    char *text = calloc(MOST + 1, 1);
    FILE *file = fopen(path, "rb");
    cJSON *root = file && text && fread(text, 1, MOST, file) ? cJSON_Parse(text) : NULL;
    if (file) fclose(file);
    free(text);
    return root;
}

int main(int argc, char **argv) {
    double least_share = 0;
    bool shipped = false;
    cJSON *root = argc > 1 ? load(argv[argc - 1]) : NULL;
    if (!root) {
        fprintf(stderr, "model_bp_parallel [--least-share S] [--list] [--shipped] FILE\n");
        return 2;
    }
    double *coefficients;
    const qb__bp_parallel_problem ordinary = square(COLUMNS, &coefficients);
    totals t = {.problem = &ordinary};
    for (int i = 1; i < argc - 1; i++) {
        if (!strcmp(argv[i], "--list")) t.list = true;
        if (!strcmp(argv[i], "--shipped")) shipped = true;
        if (!strcmp(argv[i], "--least-share") && i + 2 < argc) least_share = atof(argv[i + 1]);
    }
    const cJSON *kernel, *row;
    cJSON_ArrayForEach(kernel, cJSON_GetObjectItem(root, "kernels")) {
        const char *id = cJSON_GetStringValue(cJSON_GetObjectItem(kernel, "id"));
        const qb__bp_parallel_device_variant *v = id ? variant_of(id) : NULL;
        if (!v) t.faults++;
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(kernel, "rows")) if (v) one_set(&t, v, row);
    }
    for (size_t i = 0; shipped && i < qb__tuning_shipped_count; i++) list_shipped(&qb__tuning_shipped_rows[i]);
    for (size_t i = 0; shipped && i < qb__tuning_paper_count; i++) list_shipped(&qb__tuning_paper_rows[i]);
    const int status = report(&t, least_share);
    qb__free(coefficients);
    cJSON_Delete(root);
    return status;
}
