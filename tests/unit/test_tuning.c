/* SPDX-License-Identifier: MIT */
/* The tuning file, and the shipped rows that serve where it has none. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "geometry/bp_problem.h"
#include "planner/choose.h"
#include "planner/tuning.h"
#include "planner/tuning_shipped.h"

static void check_legal(const qb__tuning_shipped *row) {
    const qb__variant *variant = qb__variant_named(row->key.variant);
    assert_non_null(variant);
    for (int p = 0; p < qb__parameter_count(variant); p++) {
        bool legal = false;
        for (int j = 0; j < variant->parameters[p].count; j++)
            legal |= variant->parameters[p].values[j] == row->entry.values[p];
        if (!legal)
            fail_msg("%s on %s: %s=%d", row->key.variant, row->key.device, variant->parameters[p].name,
                     row->entry.values[p]);
    }
    /* With one value too many the array would reach the speed behind it. */
    for (int p = qb__parameter_count(variant); p < QB__TUNING_VALUES; p++) assert_int_equal(row->entry.values[p], 0);
}

static void test_shipped_values_are_legal(void **state) {
    (void)state;
    for (size_t i = 0; i < qb__tuning_shipped_count; i++) {
        check_legal(&qb__tuning_shipped_rows[i]);
        assert_true(qb__tuning_shipped_rows[i].entry.giga_updates > 0);
    }
    for (size_t i = 0; i < qb__tuning_paper_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_paper_rows[i];
        check_legal(row);
        assert_int_equal(row->key.slices, row->entry.values[1]); /* slices of one fetch */
        assert_true(row->entry.giga_updates > 0 || strstr(row->key.variant, "oversample"));
    }
}

/* The paper has one row for each card, kernel and number of slices. */
static void test_paper_rows_are_told_apart(void **state) {
    (void)state;
    for (size_t i = 0; i < qb__tuning_paper_count; i++)
        for (size_t j = 0; j < i; j++) {
            const qb__tuning_key *a = &qb__tuning_paper_rows[i].key, *b = &qb__tuning_paper_rows[j].key;
            assert_false(!strcmp(a->device, b->device) && !strcmp(a->variant, b->variant) && a->slices == b->slices);
        }
}

enum { VIEWS = 512, SIZE = 2048 };
static double ax[VIEWS], ay[VIEWS], h0[VIEWS];
static float largest[128];

static qb__bp_parallel_problem problem(void) {
    for (int v = 0; v < VIEWS; v++) {
        const double angle = 3.141592653589793 * v / VIEWS;
        ax[v] = cos(angle), ay[v] = sin(angle);
        h0[v] = (SIZE - 1) / 2.0 * (1 - ax[v] - ay[v]);
    }
    for (size_t s = 0; s < sizeof largest / sizeof *largest; s++) largest[s] = 1;
    return (qb__bp_parallel_problem){
        .views = VIEWS, .columns = SIZE, .nx = SIZE, .ny = SIZE, .ax = ax, .ay = ay, .h0 = h0, .largest = largest};
}

static qb__device_info card(const char *name, qb__device_api api, int arch, unsigned parts, double clock) {
    qb__device_info info = {.api = api,
                            .arch = arch,
                            .images = true,
                            .subgroups = api == QB__API_CUDA,
                            .warp = 32,
                            .multiprocessors = parts,
                            .local_bytes = 48 << 10,
                            .group_size = 1024,
                            .image_width = 16384,
                            .image_height = 32768,
                            .image_layers = 2048,
                            .clock_hz = clock};
    snprintf(info.name, sizeof info.name, "%s", name);
    return info;
}

/* On the cards of the paper the planner chooses what its Table 25 advises for precise results: linear single and multi,
 * nearest. Where the table advises 4 slices by arithmetic, half precision is not allowed. */
static void test_table_25(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int api, arch;
        unsigned parts;
        double clock;
        size_t slices;
        qb_interp interp;
        const char *kernel;
    } advice[] = {
        {"NVIDIA GeForce GTX 980", QB__API_CUDA, 52, 16, 1.252e9, 1, QB_INTERP_LINEAR, "hybrid"},
        {"NVIDIA GeForce GTX 980", QB__API_CUDA, 52, 16, 1.252e9, 2, QB_INTERP_LINEAR, "hybrid"},
        {"NVIDIA TITAN X (Pascal)", QB__API_CUDA, 61, 28, 1.759e9, 1, QB_INTERP_LINEAR, "hybrid"},
        {"NVIDIA TITAN X (Pascal)", QB__API_CUDA, 61, 28, 1.759e9, 2, QB_INTERP_LINEAR, "hybrid"},
        {"NVIDIA TITAN X (Pascal)", QB__API_CUDA, 61, 28, 1.759e9, 1, QB_INTERP_NEAREST, "alu"},
        {"GeForce GTX TITAN", QB__API_CUDA, 35, 14, 0.993e9, 1, QB_INTERP_LINEAR, "texture"},
        {"GeForce GTX TITAN", QB__API_CUDA, 35, 14, 0.993e9, 2, QB_INTERP_LINEAR, "texture"},
        {"GeForce GTX TITAN", QB__API_OPENCL, 35, 14, 0.993e9, 1, QB_INTERP_NEAREST, "alu"},
        {"GeForce GTX 580", QB__API_OPENCL, 20, 16, 1.544e9, 4, QB_INTERP_LINEAR, "alu"},
        {"GeForce GTX 580", QB__API_OPENCL, 20, 16, 1.544e9, 4, QB_INTERP_NEAREST, "alu"},
        {"Hawaii", QB__API_OPENCL, 0, 40, 0.947e9, 4, QB_INTERP_LINEAR, "alu"},
        {"Hawaii", QB__API_OPENCL, 0, 40, 0.947e9, 4, QB_INTERP_NEAREST, "alu"},
    };
    const qb__bp_parallel_problem p = problem();
    setenv("QB_TUNING", "", 1);
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        qb__device_info info =
            card(advice[i].name, (qb__device_api)advice[i].api, advice[i].arch, advice[i].parts, advice[i].clock);
        qb__choice choice;
        assert_int_equal(
            qb__choose(&(qb__question){.operation = QB__BP_PARALLEL,
                                       .device = &info,
                                       .problem = &p,
                                       .slices = advice[i].slices,
                                       .interp = advice[i].interp,
                                       .accuracy = advice[i].slices == 4 ? QB_ACCURACY_HIGH : QB_ACCURACY_FAST},
                       &choice),
            QB_OK);
        const char *family = strchr(choice.variant->id, '.') + 1;
        if (strncmp(family, advice[i].kernel, strlen(advice[i].kernel)) != 0)
            fail_msg("%s, %zu slices, %s: %s and not %s", advice[i].name, advice[i].slices,
                     qb_interp_name(advice[i].interp), choice.variant->id, advice[i].kernel);
    }
}

static const char *estimate(const qb__variant *variant, const qb__device_info *info, const qb__bp_parallel_problem *p,
                            size_t slices, qb__choice *choice) {
    const qb__question question = {.operation = QB__BP_PARALLEL, .device = info, .problem = p, .slices = slices};
    return qb__estimate(variant, &question, choice);
}

/* A card of a known architecture takes the parameters but not the speed. A card of an unknown architecture takes the
 * first value of each parameter. */
static void test_architectures(void **state) {
    (void)state;
    const qb__bp_parallel_problem p = problem();
    const qb__variant *alu = qb__variant_named("bp_parallel_nearest.alu");
    setenv("QB_TUNING", "", 1);
    qb__choice itself, cousin, newer;
    qb__device_info info = card("NVIDIA TITAN X (Pascal)", QB__API_OPENCL, 61, 28, 1.7e9);
    assert_null(estimate(alu, &info, &p, 1, &itself));
    assert_true(itself.measured && itself.seconds != itself.predicted);
    info = card("NVIDIA GeForce GTX 1080", QB__API_OPENCL, 61, 20, 1.7e9);
    assert_null(estimate(alu, &info, &p, 1, &cousin));
    assert_false(cousin.measured);
    assert_true(cousin.seconds == cousin.predicted);
    assert_memory_equal(cousin.values, itself.values, sizeof itself.values);
    info = card("NVIDIA GeForce RTX 4090", QB__API_OPENCL, 89, 128, 2.5e9);
    assert_null(estimate(alu, &info, &p, 1, &newer));
    for (int i = 0; i < qb__parameter_count(alu); i++) assert_int_equal(newer.values[i], alu->parameters[i].values[0]);
    info = card("Pitcairn", QB__API_OPENCL, 0, 20, 1e9);
    assert_string_equal(qb__tuning_paper_card(&info), "Tahiti");
    assert_null(estimate(qb__variant_named("bp_parallel_linear.alu_split"), &info, &p, 4, &cousin));
    assert_int_equal(cousin.values[7], 4); /* pixels per thread */
}

/* With many slices the fastest of the paper's rows is taken, not the last or the first. */
static void test_many_slices(void **state) {
    (void)state;
    setenv("QB_TUNING", "", 1);
    qb__tuning_key key = {"GeForce GTX 980", "bp_parallel_linear.hybrid", 500, 2048};
    qb__tuning_entry entry;
    assert_true(qb__tuning_find(&key, NULL, &entry));
    assert_true(entry.giga_updates == 389 && entry.values[1] == 2);
    key.slices = 1;
    assert_true(qb__tuning_find(&key, NULL, &entry));
    assert_true(entry.giga_updates == 266 && entry.values[1] == 1);
    key.slices = 4; /* this number was not measured */
    assert_false(qb__tuning_find(&key, NULL, &entry));
    key.device = "GeForce GTX 980 Ti";
    key.slices = 1;
    assert_false(qb__tuning_find(&key, NULL, &entry));
}

/* A file whose values the kernel cannot use does not hide the shipped row from the planner. */
static void test_illegal_values_hide_nothing(void **state) {
    (void)state;
    const qb__bp_parallel_problem p = problem();
    const qb__variant *alu = qb__variant_named("bp_parallel_nearest.alu");
    const qb__device_info info = card("NVIDIA TITAN X (Pascal)", QB__API_OPENCL, 61, 28, 1.7e9);
    char path[] = "/tmp/quickbeam-tuning-XXXXXX", lock[sizeof path + 5], name[QB__TUNING_NAME];
    qb__choice shipped, choice;
    setenv("QB_TUNING", "", 1);
    assert_null(estimate(alu, &info, &p, 1, &shipped));
    close(mkstemp(path));
    snprintf(lock, sizeof lock, "%s.lock", path);
    setenv("QB_TUNING", path, 1);
    const qb__tuning_key key = {qb__tuning_device(&info, name, sizeof name), alu->id, 1, SIZE};
    const qb__tuning_entry wrong = {.values = {-77}, .giga_updates = 5000};
    assert_int_equal(qb__tuning_store(&key, &wrong, NULL), QB_OK);
    assert_null(estimate(alu, &info, &p, 1, &choice));
    assert_true(choice.measured && choice.seconds == shipped.seconds);
    assert_memory_equal(choice.values, shipped.values, sizeof shipped.values);
    unlink(path);
    unlink(lock);
}

static void test_own_goes_before_shipped(void **state) {
    (void)state;
    char path[] = "/tmp/quickbeam-tuning-XXXXXX", lock[sizeof path + 5];
    close(mkstemp(path));
    snprintf(lock, sizeof lock, "%s.lock", path);
    setenv("QB_TUNING", path, 1);
    qb__tuning_key key = {"NVIDIA H200", "bp_parallel_linear.tensor", 128, 1024};
    qb__tuning_entry shipped, own = {.values = {0, 4, 2, 1}, .giga_updates = 7}, found;
    assert_true(qb__tuning_find(&key, NULL, &shipped));
    assert_int_equal(qb__tuning_store(&key, &own, NULL), QB_OK);
    assert_true(qb__tuning_find(&key, NULL, &found));
    assert_true(found.giga_updates == 7 && found.values[1] == 4);
    key.columns = 700; /* the closest class of sizes serves */
    assert_true(qb__tuning_find(&key, NULL, &found));
    key.slices = 1; /* rows for many slices tell nothing about one slice */
    assert_false(qb__tuning_find(&key, NULL, &found));
    key.device = "another";
    key.slices = 128;
    assert_false(qb__tuning_find(&key, NULL, &found));
    unlink(path);
    unlink(lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_values_are_legal),
                                       cmocka_unit_test(test_paper_rows_are_told_apart),
                                       cmocka_unit_test(test_table_25),
                                       cmocka_unit_test(test_architectures),
                                       cmocka_unit_test(test_many_slices),
                                       cmocka_unit_test(test_illegal_values_hide_nothing),
                                       cmocka_unit_test(test_own_goes_before_shipped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
