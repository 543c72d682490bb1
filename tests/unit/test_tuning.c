/* SPDX-License-Identifier: MIT */
/* The tuning file and what is shipped in its place. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/device_backproject.h"
#include "ops/tuning.h"
#include "ops/tuning_shipped.h"

static const qb__bp_parallel_device_variant *variant_of(const char *id) {
    size_t count;
    const qb__bp_parallel_device_variant *const *rows = qb__bp_parallel_device_variants(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i]->id, id) == 0) return rows[i];
    return NULL;
}

static void test_shipped_values_are_legal(void **state) {
    (void)state;
    for (size_t i = 0; i < qb__tuning_shipped_count; i++) {
        const qb__tuning_shipped *row = &qb__tuning_shipped_rows[i];
        const qb__bp_parallel_device_variant *variant = variant_of(row->key.variant);
        assert_non_null(variant);
        assert_true(row->entry.giga_updates > 0);
        for (int p = 0; p < qb__parameter_count(variant); p++) {
            bool legal = false;
            for (int j = 0; j < variant->parameters[p].count; j++)
                legal |= variant->parameters[p].values[j] == row->entry.values[p];
            if (!legal)
                fail_msg("row %zu, %s on %s: %s=%d", i, row->key.variant, row->key.device,
                         variant->parameters[p].name, row->entry.values[p]);
        }
    }
}

static void test_own_goes_before_shipped(void **state) {
    (void)state;
    char path[] = "/tmp/quickbeam-tuning-XXXXXX", lock[sizeof path + 5];
    close(mkstemp(path));
    snprintf(lock, sizeof lock, "%s.lock", path);
    setenv("QB_TUNING", path, 1);
    qb__tuning_key key = {"NVIDIA H200", "bp_parallel_linear.tensor", 128, 1024};
    qb__tuning_entry shipped, own = {.values = {0, 4, 2, 1}, .giga_updates = 7}, found;
    assert_true(qb__tuning_find(&key, &shipped));
    assert_int_equal(qb__tuning_store(&key, &own), QB_OK);
    assert_true(qb__tuning_find(&key, &found));
    assert_true(found.giga_updates == 7 && found.values[1] == 4);
    key.columns = 700; /* the closest class serves */
    assert_true(qb__tuning_find(&key, &found));
    key.slices = 1; /* many slices say nothing of one */
    assert_false(qb__tuning_find(&key, &found));
    key.device = "another";
    key.slices = 128;
    assert_false(qb__tuning_find(&key, &found));
    unlink(path);
    unlink(lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped_values_are_legal),
                                       cmocka_unit_test(test_own_goes_before_shipped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
