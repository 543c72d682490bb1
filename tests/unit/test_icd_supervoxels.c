/* SPDX-License-Identifier: MIT */
/* Which SuperVoxels a turn takes, and in which batches. No two that could write the same voxel may be in one batch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "kernels/icd/icd_supervoxels.h"

enum { NX = 90, NY = 75, SIDE = 8, SLICES = 2, MOST = 12 * 10 };

static uint8_t inside[(NX + 2) * (NY + 2)];

static qb__supervoxels made(int share, int least) {
    const qb__icd_problem problem = {.nx = NX, .ny = NY, .inside = inside};
    const qb__supervoxels_how how = {SIDE, SLICES, 50, share, least};
    qb__supervoxels s;
    memset(inside, 0, sizeof inside);
    for (size_t y = 0; y < NY; y++)
        for (size_t x = 0; x < NX; x++)
            inside[(y + 1) * (NX + 2) + x + 1] = hypot((double)x - NX / 2.0, (double)y - NY / 2.0) < NY / 2.0;
    assert_int_equal(qb__supervoxels_create(&problem, &how, &s), QB_OK);
    assert_true(s.count > 60 && s.count < MOST && s.places == 3);
    return s;
}

static int place_of(const qb__supervoxels *s, int32_t which, int y) {
    return s->corner[which] >> (y ? 16 : 0) & 0xffff;
}

/* Checks that SuperVoxels of one batch are at least two squares apart. Counts in taken[] those that a slice's pass
 * picked. */
static void check_batch(const qb__supervoxels *s, size_t batch, size_t slice, int *taken) {
    const int32_t *list = s->picked + s->batch_at[batch] + slice * (size_t)s->batch_places[batch];
    assert_in_range(s->batch_places[batch], 1, s->places);
    for (int32_t i = 0; i < s->batch_places[batch]; i++) {
        if (list[i] < 0) continue;
        assert_true((size_t)list[i] < s->count);
        taken[list[i]]++;
        for (int32_t j = 0; j < i; j++) {
            if (list[j] < 0) continue;
            const int x = abs(place_of(s, list[i], 0) - place_of(s, list[j], 0));
            const int y = abs(place_of(s, list[i], 1) - place_of(s, list[j], 1));
            assert_true(x >= 2 * SIDE || y >= 2 * SIDE);
        }
    }
}

static void count_pass(const qb__supervoxels *s, size_t pass, size_t slice, int *taken) {
    memset(taken, 0, MOST * sizeof *taken);
    for (size_t b = pass ? s->second : 0; b < (pass ? s->batches : s->second); b++) check_batch(s, b, slice, taken);
    for (size_t i = 0; i < s->count; i++) {
        assert_true(taken[i] <= 1);
        assert_int_equal(taken[i], s->visited[(pass * SLICES + slice) * s->count + i]);
    }
}

static size_t sum_of(const int *taken) {
    size_t sum = 0;
    for (size_t i = 0; i < MOST; i++) sum += (size_t)taken[i];
    return sum;
}

static void test_turns(void **state) {
    (void)state;
    const bool still[SLICES] = {false};
    qb__supervoxels s = made(25, 0);
    int taken[MOST];
    qb__supervoxels_sweep(&s, 7, 0, still);
    for (size_t slice = 0; slice < SLICES; slice++) {
        count_pass(&s, 0, slice, taken);
        assert_int_equal(sum_of(taken), s.count);
        count_pass(&s, 1, slice, taken);
        assert_int_equal(sum_of(taken), 0);
    }
    const size_t some = (s.count + 3) / 4;
    for (int turn = 1; turn < 40; turn++) {
        for (size_t i = 0; i < SLICES * s.count; i++) s.amount[i] = (double)(rand() % 9); /* many are equal */
        qb__supervoxels_sweep(&s, 7, turn, still);
        for (size_t slice = 0; slice < SLICES; slice++) {
            const double *amount = s.amount + slice * s.count;
            double least = 9, most = 0;
            count_pass(&s, 0, slice, taken);
            assert_int_equal(sum_of(taken), some);
            for (size_t i = 0; i < s.count; i++) {
                if (taken[i])
                    least = fmin(least, amount[i]);
                else
                    most = fmax(most, amount[i]);
            }
            assert_true(least >= most); /* those that moved most are taken */
            count_pass(&s, 1, slice, taken);
            assert_int_equal(sum_of(taken), some);
        }
    }
    qb__supervoxels_destroy(&s);
}

/* A slice that has stopped is left alone. Two objects with the same seed give the same lists. */
static void test_still(void **state) {
    (void)state;
    const bool still[SLICES] = {true, false};
    qb__supervoxels s = made(25, 0), again = made(25, 0);
    int taken[MOST];
    for (int turn = 0; turn < 3; turn++) {
        qb__supervoxels_sweep(&s, 3, turn, still);
        qb__supervoxels_sweep(&again, 3, turn, still);
        assert_memory_equal(s.picked, again.picked, qb__supervoxels_picked(&s) * sizeof *s.picked);
        count_pass(&s, 0, 0, taken);
        assert_int_equal(sum_of(taken), 0);
        count_pass(&s, 0, 1, taken);
        assert_true(sum_of(taken) > 0);
    }
    qb__supervoxels_destroy(&s);
    qb__supervoxels_destroy(&again);
}

/* With a threshold the last SuperVoxels of a colour wait for another turn. The first batch of a colour never waits. */
static void test_threshold(void **state) {
    (void)state;
    const bool still[SLICES] = {false};
    qb__supervoxels s = made(25, 100);
    qb__supervoxels_sweep(&s, 1, 0, still);
    int taken[MOST];
    count_pass(&s, 0, 0, taken);
    assert_true(sum_of(taken) < s.count && sum_of(taken) % s.places == 0);
    qb__supervoxels_sweep(&s, 1, 1, still);
    count_pass(&s, 0, 0, taken);
    assert_true(sum_of(taken) > 0);
    qb__supervoxels_destroy(&s);
}

/* No batch is larger than half of what a pass takes of a colour, however large it was asked for. Otherwise each turn
 * would take the same SuperVoxels at once and their values would swing about the optimum. A large image has batches of
 * the size asked for. */
static void test_small_images(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{5, 5}, {16, 16}, {24, 17}, {34, 30}, {80, 9}, {64, 64}, {200, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t side = 4; side <= 32; side += 4)
            for (int batch = 50; batch <= 400; batch *= 2) {
                const qb__icd_problem problem = {.nx = sizes[i][0], .ny = sizes[i][1]};
                const qb__supervoxels_how how = {side, SLICES, batch, 25, 0};
                const size_t taken = qb__supervoxels_most(&problem, side) / 4,
                             places = qb__supervoxels_places(&problem, &how);
                assert_true(places == 1 || 2 * places <= (taken + 3) / 4);
                assert_true(places > 0);
            }
    static const size_t want[][2] = {{16, 1}, {24, 1}, {32, 2}, {64, 8}, {128, 32}, {512, 128}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const qb__icd_problem square = {.nx = want[i][0], .ny = want[i][0]};
        const qb__supervoxels_how how = {4, SLICES, 100, 25, 0};
        assert_int_equal(qb__supervoxels_places(&square, &how), want[i][1]);
    }
}

/* A slice whose cost has risen takes half as many at a time, down to one. The other slices go on as if nothing had
 * happened. */
static void test_costs_that_rise(void **state) {
    (void)state;
    const bool still[SLICES] = {false};
    const double costs[][SLICES] = {{9, 9}, {9.001, 9.1}, {8, 9.2}, {8, 9}, {8, 99}};
    static const size_t fewer[] = {3, 1, 1, 1, 1};
    qb__supervoxels s = made(25, 50), calm = made(25, 50);
    int taken[MOST], alone[MOST];
    for (int turn = 0; turn < 5; turn++) {
        qb__supervoxels_sweep(&s, 5, turn, still);
        qb__supervoxels_sweep(&calm, 5, turn, still);
        assert_true(s.used <= qb__supervoxels_picked(&s));
        count_pass(&s, 0, 0, taken);
        count_pass(&calm, 0, 0, alone);
        assert_memory_equal(taken, alone, sizeof taken);
        for (size_t b = 0; b < s.batches; b++) {
            size_t held = 0;
            const int32_t *list = s.picked + s.batch_at[b] + s.batch_places[b];
            for (int32_t i = 0; i < s.batch_places[b]; i++) held += list[i] >= 0;
            assert_true(held <= s.fewer[1]);
        }
        count_pass(&s, 1, 1, taken);
        if (turn > 1) assert_int_equal(sum_of(taken), (s.count + 3) / 4); /* one at a time, none is left out */
        qb__supervoxels_ease(&s, costs[turn]);
        assert_int_equal(s.fewer[0], s.places);
        assert_int_equal(s.fewer[1], fewer[turn]);
    }
    qb__supervoxels_begin(&s);
    assert_int_equal(s.fewer[1], s.places);
    qb__supervoxels_destroy(&s);
    qb__supervoxels_destroy(&calm);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs_that_rise), cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_still), cmocka_unit_test(test_threshold),
                                       cmocka_unit_test(test_small_images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
