/* SPDX-License-Identifier: MIT */
/* qb_volume: any part of a stack equals that part of the whole, in every format and type. */
#include "base/memory.h"
#include "io_files.h"

static const char *const files[] = {"a.h5", "a.tif", "a.mha", "a.npy", "a.nrrd"};

static unsigned below(unsigned n, unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* Reads the whole, and random parts of it. */
static void check_parts(const char *path, unsigned seed) {
    qb_volume *volume;
    qb_array whole;
    assert_ok(qb_array_load_values(path, NULL, &whole, NULL));
    assert_ok(qb_array_to_float(&whole));
    assert_ok(qb_volume_open(path, NULL, &volume));
    const size_t *n = qb_volume_info(volume)->shape;
    const float *values = whole.data;
    for (int trial = 0; trial < 40; trial++) {
        size_t first[3], count[3], step[3];
        float got[121];
        for (int j = 0; j < 3; j++) {
            first[j] = below((unsigned)n[j], &seed);
            step[j] = 1 + below(4, &seed);
            count[j] = 1 + below((unsigned)((n[j] - 1 - first[j]) / step[j] + 1), &seed);
        }
        const size_t size = count[0] * count[1] * count[2];
        got[size] = 4711;
        assert_ok(qb_volume_read(volume, first, count, step, got));
        for (size_t i = 0; i < size; i++) {
            const size_t at[3] = {i / (count[1] * count[2]), i / count[2] % count[1], i % count[2]};
            const size_t z = first[0] + at[0] * step[0], y = first[1] + at[1] * step[1], x = first[2] + at[2] * step[2];
            assert_memory_equal(&got[i], &values[(z * n[1] + y) * n[2] + x], sizeof *got);
        }
        assert_true(got[size] == 4711);
    }
    qb_volume_close(volume);
    qb_array_destroy(&whole);
}

static void parts_are_parts(void **state) {
    (void)state;
    static const qb_dtype dtypes[] = {QB_F32, QB_U8, QB_U16};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            char data[120 * 4];
            qb_stack stack = small_stack(dtypes[d]);
            fill_bytes(data, sizeof data, (unsigned)(7 + d));
            if (dtypes[d] == QB_U16) stack.scale_low = -1, stack.scale_high = 3;
            const qb_status status = put_stack(in_folder(files[k]), &stack, data);
            if (status == QB_UNSUPPORTED) continue;
            assert_ok(status);
            check_parts(in_folder(files[k]), (unsigned)(k * 100 + d));
        }
    }
}

static void beyond_the_end(void **state) {
    (void)state;
    char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    qb_volume *volume;
    float got[1];
    assert_ok(put_stack(in_folder("a.npy"), &stack, data));
    assert_ok(qb_volume_open(in_folder("a.npy"), NULL, &volume));
    const size_t none[3] = {0, 0, 0}, one[3] = {1, 1, 1};
    static const size_t bad[][3][3] = {
        {{4, 0, 0}, {1, 1, 1}, {1, 1, 1}}, {{0, 5, 0}, {1, 1, 1}, {1, 1, 1}}, {{0, 0, 6}, {1, 1, 1}, {1, 1, 1}},
        {{0, 0, 0}, {5, 1, 1}, {1, 1, 1}}, {{0, 3, 0}, {1, 2, 1}, {1, 2, 1}}, {{0, 0, 0}, {1, 1, 2}, {1, 1, SIZE_MAX}},
        {{0, 0, 0}, {0, 1, 1}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}, {1, 0, 1}}, {{0, 0, 0}, {SIZE_MAX, 1, 1}, {2, 1, 1}}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_status(qb_volume_read(volume, bad[k][0], bad[k][1], bad[k][2], got), QB_BAD_ARGUMENT);
    assert_status(qb_volume_read(volume, NULL, one, one, got), QB_BAD_ARGUMENT);
    assert_status(qb_volume_read(NULL, none, one, one, got), QB_BAD_ARGUMENT);
    assert_ok(qb_volume_read(volume, none, one, one, got));
    qb_volume_close(volume);
    qb_volume_close(NULL);
    assert_status(qb_volume_open(in_folder("none.npy"), NULL, &volume), QB_NOT_FOUND);
    assert_null(volume);
}

static void memory_runs_out(void **state) {
    (void)state;
    char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    float got[120];
    const size_t none[3] = {0, 0, 0}, all[3] = {4, 5, 6}, one[3] = {1, 1, 1};
    assert_ok(put_stack(in_folder("a.npy"), &stack, data));
    qb_status status = QB_NO_MEMORY;
    for (size_t k = 1; status != QB_OK; k++) {
        qb_volume *volume = NULL;
        qb__fail_allocation(k);
        status = qb_volume_open(in_folder("a.npy"), NULL, &volume);
        if (status == QB_OK) status = qb_volume_read(volume, none, all, one, got);
        qb__fail_allocation(0);
        qb_volume_close(volume);
        assert_true(k < 100);
    }
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(parts_are_parts), IN_FOLDER(beyond_the_end),
                                       IN_FOLDER(memory_runs_out)};
    return cmocka_run_group_tests_name("io_volume", tests, NULL, NULL);
}
