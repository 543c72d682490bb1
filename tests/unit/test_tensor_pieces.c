/* SPDX-License-Identifier: MIT */
/* How blocks of a device's array are cut into copies of rows for the driver, also for arrays that fit no memory. */
#include "io/tensor/tensor_device.c"

#include "check.h"

/* Checks that the driver accepts every copy: no pitch exceeds its limit. Each element is in exactly one copy. */
static void look(qb__tensor_block block, size_t most_calls) {
    const pieces p = pieces_of(&block, sizeof(float));
    const int row = rows_of(&p);
    const size_t pitch = row < 0 ? p.width : (size_t)p.array[row], rows = row < 0 ? 1 : p.count[row];
    const size_t all = p.count[0] * p.count[1] * p.count[2];
    assert_true(pitch <= most_pitch && p.width <= pitch);
    assert_int_equal(p.width * all, block.count[0] * block.count[1] * block.count[2] * sizeof(float));
    assert_true(all / rows <= most_calls);
}

static void none_is_too_wide(void **state) {
    (void)state;
    const size_t sides[] = {1, 7, 812, 813, 1024, 4096};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        const size_t n = sides[i];
        const ptrdiff_t line = (ptrdiff_t)n, image = line * line;
        look((qb__tensor_block){.count = {n, n, n}, .stride = {image, line, 1}, .other = {image, line, 1}}, 1);
        look((qb__tensor_block){.count = {3, n, n}, .stride = {2 * image, line, 1}, .other = {image, line, 1}}, 3);
        look((qb__tensor_block){.count = {n, n, n},
                                .stride = {image + 2 * line, line + 2, 1},
                                .other = {image, line, 1}},
             n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(none_is_too_wide)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
