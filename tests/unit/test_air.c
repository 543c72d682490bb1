/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/memory.h"
#include "base/random.h"
#include "prep/air.h"

enum { VIEWS = 12, COLUMNS = 320 };
static float profile[VIEWS * COLUMNS];

/* Fills the profile with the shadow of a disc. Its centre circles at `orbit` columns around the middle. The beam loses
 * a tenth over the scan, and the noise is relative. */
static void footprint(double radius, double orbit, double depth, float noise, float beam) {
    qb__noise(profile, VIEWS * COLUMNS, 11);
    for (int v = 0; v < VIEWS; v++) {
        double centre = 0.5 * COLUMNS + orbit * cos(M_PI * v / VIEWS);
        for (int x = 0; x < COLUMNS; x++) {
            double d = (x - centre) / radius, chord = fabs(d) < 1 ? sqrt(1 - d * d) : 0;
            double level = beam * (1 - 0.1 * v / VIEWS) * exp(-depth * chord);
            float *p = &profile[v * COLUMNS + x];
            *p = (float)level * (1 + noise * 1.7f * *p);
        }
    }
}

static bool find(bool transmission, qb__air_region *region) {
    return qb__air_find(profile, VIEWS, COLUMNS, transmission, region);
}

/* Checks that both ranges touch no shadow and hold at least half of the free columns. */
static void expect_sides(double radius, double orbit, const qb__air_region *region) {
    double open = 0.5 * COLUMNS - orbit - radius; /* columns that are free in all views, on each side */
    if (region->ranges != 2) fail_msg("%d ranges, %zu:%zu", region->ranges, region->x0[0], region->x1[0]);
    assert_true(region->x0[0] == 0 && region->x1[1] == COLUMNS);
    double left = (double)region->x1[0], right = (double)(COLUMNS - region->x0[1]);
    if (!(left <= open + 1 && left >= 0.5 * open && right <= open + 1 && right >= 0.5 * open))
        fail_msg("%g and %g of %g columns", left, right, open);
}

static void margins_are_found(void **state) {
    (void)state;
    qb__air_region region = {0};
    const double depths[] = {0.2, 1, 4};
    const float noises[] = {0, 0.002f, 0.01f, 0.02f};
    for (int i = 0; i < 12; i++) {
        footprint(90, 20, depths[i / 4], noises[i % 4], 1);
        assert_true(find(true, &region));
        expect_sides(90, 20, &region);
        footprint(90, 20, depths[i / 4], noises[i % 4], 40000); /* the same in counts */
        assert_true(find(false, &region));
        expect_sides(90, 20, &region);
    }
}

/* The beam is a third dimmer than its flats. It is brighter inwards on one side and tilts over the scan. */
static void uneven_beams_are_found(void **state) {
    (void)state;
    qb__air_region region = {0};
    footprint(90, 20, 1, 0.002f, 0.69f);
    for (int v = 0; v < VIEWS; v++) {
        for (int x = 0; x < COLUMNS; x++) profile[v * COLUMNS + x] *= 1 - 0.0002f * (float)(v * (COLUMNS - x)) / VIEWS;
    }
    assert_true(find(true, &region));
    assert_int_equal(region.ranges, 2);
    assert_true(region.x1[0] <= 51 && region.x1[0] >= 25 && region.x0[1] >= 269);
}

static void one_side_is_enough(void **state) {
    (void)state;
    qb__air_region region = {0};
    footprint(100, 10, 1, 0.002f, 1);
    for (int v = 0; v < VIEWS; v++) /* a clamp covers the left side */
        for (int x = 0; x < 40; x++) profile[v * COLUMNS + x] *= 0.05f;
    assert_true(find(true, &region));
    assert_int_equal(region.ranges, 1);
    assert_true(region.x1[0] == COLUMNS && region.x0[0] >= 270);
}

static void dead_columns_do_not_matter(void **state) {
    (void)state;
    qb__air_region region = {0};
    footprint(90, 20, 1, 0.002f, 1);
    for (int v = 0; v < VIEWS; v++) profile[v * COLUMNS] = profile[v * COLUMNS + 7] = profile[v * COLUMNS + 30] = NAN;
    assert_true(find(true, &region));
    expect_sides(90, 20, &region);
}

static void covered_detectors_have_none(void **state) {
    (void)state;
    qb__air_region region = {0};
    const double radii[] = {165, 200, 400, 3000};
    /* The last radius is tried only with a thick disc. A thin one is so even that it could be a dimmer beam. */
    for (int i = 0; i < 7; i++) {
        footprint(radii[i / 2], 0, i % 2 ? 0.5 : 3, 0.002f, 1);
        if (find(true, &region)) fail_msg("radius %g: %zu columns", radii[i / 2], region.x1[0]);
    }
    footprint(150, 30, 1, 0.002f, 1); /* the disc covers both edges, but never at once */
    assert_false(find(true, &region));
    /* In counts: something dark and even stands before the whole of one view, the margins included. */
    footprint(90, 20, 1, 0.002f, 40000);
    for (size_t x = 0; x < COLUMNS; x++) profile[3 * COLUMNS + x] *= 0.5f;
    assert_false(find(false, &region));
    for (size_t i = 0; i < VIEWS * COLUMNS; i++) profile[i] = NAN;
    assert_false(find(true, &region));
    for (size_t i = 0; i < VIEWS * COLUMNS; i++) profile[i] = 0;
    assert_false(find(false, &region));
    assert_false(qb__air_find(profile, VIEWS, 8, false, &region));
}

static void regions_are_parsed(void **state) {
    (void)state;
    qb__air_region r;
    assert_ok(qb__air_parse("3:17,5:9", 100, 200, &r));
    assert_true(r.ranges == 1 && r.x0[0] == 3 && r.x1[0] == 17 && r.y0 == 5 && r.y1 == 9);
    assert_ok(qb__air_parse("0:200", 100, 200, &r));
    assert_true(r.y0 == 0 && r.y1 == 100 && r.x1[0] == 200);
    assert_ok(qb__air_parse("-20:200,0:100", 100, 200, &r));
    assert_true(r.x0[0] == 180);
    const char *bad[] = {"",      "5",      "5:3", "5:5",      "0:201",        "0:20,0:101",
                         "0:20,", "0:20,3", "a:b", "0:20;0:3", "0:20,0:3,0:4", "-300:4"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_status(qb__air_parse(bad[i], 100, 200, &r), QB_BAD_ARGUMENT);
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void medians(void **state) {
    (void)state;
    float values[300], sorted[300];
    for (size_t n = 1; n <= 300; n++) {
        qb__noise(values, n, n);
        for (size_t i = 0; i < n; i++) /* many values are equal */
            if (n % 3 == 0) values[i] = rintf(values[i] * 3);
        memcpy(sorted, values, n * sizeof *values);
        qsort(sorted, n, sizeof *sorted, ascending);
        float want = n % 2 ? sorted[n / 2] : 0.5f * (sorted[n / 2 - 1] + sorted[n / 2]);
        assert_true(qb__air_median(values, n) == want);
    }
    assert_true(qb__air_median(values, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uneven_beams_are_found),
        cmocka_unit_test(margins_are_found),
        cmocka_unit_test(one_side_is_enough),
        cmocka_unit_test(dead_columns_do_not_matter),
        cmocka_unit_test(covered_detectors_have_none),
        cmocka_unit_test(regions_are_parsed),
        cmocka_unit_test(medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
