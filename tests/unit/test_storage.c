/* SPDX-License-Identifier: MIT */
/* The measured speed of a storage, kept in the tuning file. That file may hold anything. */
#include <sys/vfs.h>

#include "io_files.h"
#include "planner/storage.h"
#include "planner/tuning.h"

static const qb__storage fast = {{2e9, 4e9, 8e9, 19e9, 20e9}, {6e9, 12e9, 24e9, 30e9, 29e9}};

static void rates(void **state) {
    (void)state;
    assert_int_equal(qb__storage_pays(fast.write), 8);
    assert_int_equal(qb__storage_pays(fast.read), 8);
    assert_int_equal(qb__storage_pays((double[]){5, 5, 5, 5, 5}), 1);
    assert_true(qb__storage_rate(fast.write, 1) == 2e9 && qb__storage_rate(fast.write, 7) == 8e9);
    assert_true(qb__storage_rate(fast.write, 16) == 20e9 && qb__storage_rate(fast.write, 64) == 20e9);
}

static void kept_with_the_tuning(void **state) {
    (void)state;
    qb__storage found;
    const char *file = in_folder("tuning.json");
    setenv("QB_TUNING", "", 1);
    assert_ok(qb__storage_store(test_folder, &fast, NULL));
    assert_false(qb__storage_find(in_folder("v.h5"), &found));
    setenv("QB_TUNING", file, 1);
    assert_false(qb__storage_find(in_folder("v.h5"), &found));
    const qb__tuning_key key = {"a card", "a kernel", 16, 64};
    assert_ok(qb__tuning_store(&key, &(qb__tuning_entry){.giga_updates = 7}, NULL));
    assert_ok(
        qb__storage_store(test_folder, &(qb__storage){{1e9, 1e9, 1e9, 1e9, 1e9}, {1e9, 1e9, 1e9, 1e9, 1e9}}, NULL));
    assert_ok(qb__storage_store(in_folder(""), &fast, NULL)); /* the same storage: its row is replaced */
    assert_true(qb__storage_find(in_folder("v.h5"), &found));
    assert_memory_equal(&found, &fast, sizeof fast);
    assert_false(qb__storage_find(in_folder("none/v.h5"), &found));
    assert_false(qb__storage_find("/proc/self/v.h5", &found));
    qb__tuning_entry entry;
    assert_true(qb__tuning_find(&key, NULL, &entry)); /* other rows stay */
    static const char *const bad[] = {
        "[{\"storage\":\"/\"}]", "[{\"storage\":\"/\",\"write_bytes_per_second\":[1e9],\"read_bytes_per_second\":3}]",
        "[{\"storage\":7,\"write_bytes_per_second\":\"x\"}]",
        "[{\"storage\":\"/"
        "\",\"write_bytes_per_second\":[0,1e9,1e9,1e9,1e9],\"read_bytes_per_second\":[1e9,1e9,1e9,1e9,1e9]}]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_file(in_folder("tuning.json"), bad[i], strlen(bad[i]));
        usleep(10000); /* the library looks again after 5 ms whether others changed the file */
        assert_false(qb__storage_find("/v.h5", &found));
    }
    unsetenv("QB_TUNING");
}

static void of_memory(void **state) {
    (void)state;
    enum { TMPFS = 0x01021994 };
    qb__storage found, other;
    struct statfs about;
    setenv("QB_TUNING", "", 1);
    assert_string_equal(qb__storage_of("/proc/self/none/v.h5", &other), "listed");
    assert_string_equal(qb__storage_of(NULL, &found), "listed");
    if (statfs("/dev/shm", &about) == 0 && about.f_type == TMPFS) {
        assert_string_equal(qb__storage_of("/dev/shm/none/still/to be made_%05d.tif", &found),
                            "listed of files in memory");
        for (int i = 0; i < QB__STORAGE_STEPS; i++) assert_true(found.write[i] > other.write[i]);
    }
    setenv("QB_TUNING", in_folder("tuning.json"), 1);
    assert_ok(qb__storage_store(test_folder, &fast, NULL));
    assert_string_equal(qb__storage_of(in_folder("v.h5"), &found), "measured");
    assert_memory_equal(&found, &fast, sizeof fast);
    unsetenv("QB_TUNING");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates),
        cmocka_unit_test_setup_teardown(kept_with_the_tuning, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(of_memory, make_folder, drop_folder),
    };
    return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
