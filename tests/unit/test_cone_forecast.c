/* SPDX-License-Identifier: MIT */
/* The forecast time of kernels of cone beams on an H200, against what was measured there (bench/notes/cone.md). */
#include "check.h"

#include <string.h>

#include "cpu/bp_cone/bp_cone.h"
#include "planner/choose.h"
#include "planner/tuning_shipped.h"

static const qb__device_info h200 = {.api = QB__API_CUDA,
                                     .name = "NVIDIA H200",
                                     .arch = 90,
                                     .arch_specific = true,
                                     .half_arithmetic = true,
                                     .images = true,
                                     .subgroups = true,
                                     .warp = 32,
                                     .multiprocessors = 132,
                                     .local_bytes = 232448,
                                     .group_size = 1024,
                                     .clock_hz = 1.98e9};

static const qb__tuning_shipped *shipped(const char *id, size_t from) {
    for (size_t i = from; i < qb__tuning_shipped_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_shipped_rows[i];
        if (!strcmp(row->key.device, h200.name) && !strcmp(row->key.variant, id)) return row;
    }
    return NULL;
}

/* The forecast speed, in 1e9 updates per second. */
static double forecast(const qb__tuning_shipped *row, size_t pixels, size_t nx, size_t nz) {
    const qb__bp_cone_problem p = {.views = 1024, .columns = pixels, .rows = pixels, .nx = nx, .ny = nx, .nz = nz};
    int bottleneck;
    const double seconds =
        qb__forecast(&h200, qb__variant_named(row->key.variant), &p, 1, row->entry.values, NULL, &bottleneck);
    return (double)(nx * nx) * (double)nz * 1024 / seconds / 1e9;
}

static void every_shipped_set(void **state) {
    (void)state;
    size_t found = 0;
    for (size_t i = 0; i < qb__tuning_shipped_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_shipped_rows[i];
        const qb__variant *variant = qb__variant_named(row->key.variant);
        assert_non_null(variant);
        if (variant->operation != QB__BP_CONE || strcmp(row->key.device, h200.name) != 0) continue;
        const double ratio = forecast(row, 512, 512, 512) / row->entry.giga_updates;
        if (!(ratio > 0.8 && ratio < 1.2)) fail_msg("%s: %.2f", row->key.variant, ratio);
        found++;
    }
    assert_true(found >= 7);
}

/* Other problems, in 2^30 updates per second: C2, C3, and those of iFDK that differ in how many pixels there are per
 * voxel. */
static void other_problems(void **state) {
    (void)state;
    static const struct {
        const char *id;
        size_t pixels, n;
        double gups;
    } measured[] = {
        {"bp_cone_circular.texture", 1024, 1024, 2944},     {"bp_cone_circular.texture", 2048, 1024, 2070},
        {"bp_cone_circular.half-local", 1024, 1024, 2628},  {"bp_cone_circular.half-local", 2048, 2048, 2610},
        {"bp_cone_circular.half-local", 2048, 1024, 1830},  {"bp_cone_circular.float-local", 2048, 1024, 1162},
        {"bp_cone_circular.float-local", 1024, 1024, 1603}, {"bp_cone_circular.float", 1024, 1024, 1161},
        {"bp_cone_circular.float", 2048, 1024, 823},        {"bp_cone_matrix.texture", 1024, 1024, 1015},
        {"bp_cone_matrix.texture", 2048, 1024, 858},        {"bp_cone_circular.half", 1024, 1024, 1853},
        {"bp_cone_circular.half", 2048, 1024, 1401},        {"bp_cone_circular.half", 512, 256, 1460},
        {"bp_cone_circular.half", 1024, 512, 1504},         {"bp_cone_circular.half", 512, 128, 934},
        {"bp_cone_circular.half", 1024, 256, 894},          {"bp_cone_circular.half", 2048, 512, 641},
        {"bp_cone_circular.half", 1024, 128, 353},          {"bp_cone_circular.half", 2048, 128, 214},
    };
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        const double ratio = forecast(shipped(measured[i].id, 0), measured[i].pixels, measured[i].n, measured[i].n) /
                             (measured[i].gups * 1.073741824);
        if (!(ratio > 0.78 && ratio < 1.28))
            fail_msg("%s, %zu^2 -> %zu^3: %.2f", measured[i].id, measured[i].pixels, measured[i].n, ratio);
    }
}

/* Kernels of papers run only where they are named, however many pixels there are per voxel. */
static void papers_are_not_chosen(void **state) {
    enum { VIEWS = 16 };
    (void)state;
    const qb__variant *row;
    size_t papers = 0;
    for (size_t i = 0; (row = qb__variant_at(QB__BP_CONE, true, i)) != NULL; i++) papers += row->named_only;
    assert_int_equal(papers, 9);
    for (size_t pixels = 64; pixels <= 4096; pixels *= 8)
        for (size_t n = 16; n <= 1024; n *= 8) {
            double matrix[VIEWS][12];
            for (int v = 0; v < VIEWS; v++)
                memcpy(matrix[v], (double[12]){1, 0, 0, 0, 0, 0, 1, 0, 0, 1e-4, 0, 1}, sizeof matrix[v]);
            const qb__bp_cone_problem p = {.views = VIEWS,
                                           .columns = pixels,
                                           .rows = pixels,
                                           .nx = n,
                                           .ny = n,
                                           .nz = n,
                                           .matrix = (const double(*)[12])matrix};
            const qb__question question = {.operation = QB__BP_CONE,
                                           .device = &h200,
                                           .problem = &p,
                                           .slices = 1,
                                           .interp = QB_INTERP_LINEAR,
                                           .accuracy = QB_ACCURACY_FAST};
            qb__choice choice;
            assert_int_equal(qb__choose(&question, &choice), QB_OK);
            if (choice.variant->named_only) fail_msg("%s, %zu^2 -> %zu^3", choice.variant->id, pixels, n);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_set),
        cmocka_unit_test(other_problems),
        cmocka_unit_test(papers_are_not_chosen),
    };
    return cmocka_run_group_tests_name("cone_forecast", tests, NULL, NULL);
}
