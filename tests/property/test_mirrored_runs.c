/* SPDX-License-Identifier: MIT */
/* Mirrored pairs of slices (geometry/runs.h): however they are cut and shared, each slice belongs to one rank, and lies
 * in the same slab as its mirror image. */
#include "dice.h"

#include "geometry/runs.h"
#include "geometry/partition.h"

enum { MOST = 400 };

static void count_part(const qb__runs *part, unsigned char *seen) {
    for (size_t i = 0; i < qb__runs_count(part); i++) seen[qb__runs_slice(part, i)]++;
}

static void mirrors_are_together(const qb__runs *slab, size_t slices) {
    const size_t lower = qb__run_count(slab->of[0]), upper = qb__run_count(slab->of[1]);
    if (upper == 0) {
        assert_int_equal(slab->of[0].first + slab->of[0].end, slices);
        return;
    }
    assert_int_equal(lower, upper);
    assert_true(slab->of[0].end < slab->of[1].first);
    assert_int_equal(slab->of[0].first + slab->of[1].end, slices);
    assert_int_equal(slab->of[0].end + slab->of[1].first, slices);
}

static void each_slice_is_one_slab_s(void **state) {
    (void)state;
    for (int trial = 0; trial < (int)trials(500); trial++) {
        const size_t slices = 2 * (size_t)uniform(1, MOST / 2), grain = 2 * (size_t)uniform(1, 9),
                     thickness = 2 * (size_t)uniform(1, 40);
        const int ranks = (int)uniform(1, 6), columns = (int)uniform(1, 4);
        unsigned char seen[MOST] = {0};
        for (int rank = 0; rank < ranks; rank++) {
            size_t first, count;
            qb__cut_rank(slices, grain, ranks, rank, &first, &count);
            for (size_t at = first; at < first + count; at += thickness) {
                const size_t end = at + thickness < first + count ? at + thickness : first + count;
                const qb__runs slab = qb__mirrored_runs(slices, true, at, end);
                assert_int_equal(qb__runs_count(&slab), end - at);
                mirrors_are_together(&slab, slices);
                for (int column = 0; column < columns; column++) {
                    size_t from, some;
                    qb__cut_rank(end - at, 1, columns, column, &from, &some);
                    const qb__runs part = qb__runs_part(&slab, from, from + some);
                    assert_int_equal(qb__runs_count(&part), some);
                    for (size_t i = 0; i < some; i++)
                        assert_int_equal(qb__runs_slice(&part, i), qb__runs_slice(&slab, from + i));
                    count_part(&part, seen);
                }
            }
        }
        for (size_t z = 0; z < slices; z++) assert_int_equal(seen[z], 1);
    }
}

static void without_a_fold_nothing_changes(void **state) {
    (void)state;
    const qb__runs runs = qb__mirrored_runs(37, false, 5, 30);
    assert_int_equal(runs.of[0].first, 5);
    assert_int_equal(runs.of[0].end, 30);
    assert_int_equal(qb__run_count(runs.of[1]), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_slice_is_one_slab_s),
                                       cmocka_unit_test(without_a_fold_nothing_changes)};
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
