/* SPDX-License-Identifier: MIT */
/* The finders of the rotation axis on discs, whose line integrals are known. Also the way in which their answers are
 * combined. */
#include "check.h"

#include "base/memory.h"
#include "base/pool.h"
#include "center/center.h"
#include "center/center_pairs.h"

static const double pi = 3.14159265358979323846;

enum { COLUMNS = 256, VIEWS = 180 };

typedef struct disc {
    double x, y, radius, value; /* lengths in units of half the object's width */
} disc;

/* A plate with holes and inclusions, no two alike. */
static const disc plate[] = {
    {0.05, -0.02, 0.9, 1.0}, {0.4, 0.3, 0.2, -0.8},  {-0.5, 0.1, 0.12, 0.9},  {0.1, -0.55, 0.16, -1.0},
    {-0.2, 0.5, 0.07, 1.5},  {0.6, -0.2, 0.05, 1.2}, {-0.3, -0.3, 0.1, -0.6}, {0.0, 0.15, 0.06, -1.0},
};
enum { PLATE = sizeof plate / sizeof plate[0] };

typedef struct scan {
    size_t views, rows;
    double angles[2 * VIEWS], turn, axis, radius, noise; /* radius: half the width of the object, in columns */
    double ring;                                         /* what is added to every ninth column, in line integrals */
    bool empty;
    float *sinograms;
} scan;

static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state) { return sqrt(-2 * log(uniform(state))) * cos(2 * pi * uniform(state)); }

static double chord(const scan *s, double angle, double column) {
    double sum = 0, place = (column - s->axis) / s->radius;
    for (size_t i = 0; i < PLATE && !s->empty; i++) {
        double d = place - plate[i].x * cos(angle) - plate[i].y * sin(angle);
        double h2 = plate[i].radius * plate[i].radius - d * d;
        if (h2 > 0) sum += plate[i].value * 2 * sqrt(h2);
    }
    return sum;
}

/* Fills in the sinograms, each value the mean over its pixel, and the angles unless the caller has done it. */
static void make(scan *s) {
    enum { PARTS = 4 };
    uint64_t state = 7;
    if (s->views == 0) s->views = VIEWS;
    if (s->rows == 0) s->rows = 1;
    for (size_t v = 0; v < s->views && s->turn > 0; v++) s->angles[v] = s->turn * (double)v / (double)s->views;
    assert_ok(qb__alloc(s->rows * s->views * COLUMNS, sizeof(float), &s->sinograms));
    for (size_t i = 0; i < s->rows * s->views * COLUMNS; i++) {
        size_t column = i % COLUMNS, view = i / COLUMNS % s->views;
        double sum = 0;
        for (int p = 0; p < PARTS; p++) sum += chord(s, s->angles[view], (double)column + (p + 0.5) / PARTS - 0.5);
        sum = sum / PARTS + s->noise * normal(&state);
        if (column % 9 == 4) sum += s->ring * (column % 2 ? 1 : -1);
        s->sinograms[i] = (float)sum;
    }
}

typedef struct answers {
    qb__center_answer registration, sharpness, mass;
    double each[8];
    qb_center_result result;
} answers;

static void find(scan *s, answers *a) {
    qb__pool *pool;
    assert_ok(qb__pool_create(2, &pool));
    assert_ok(qb__center_clean(s->sinograms, s->rows, s->views, COLUMNS, pool));
    qb__center_rows rows = {.sinograms = s->sinograms,
                            .rows = s->rows,
                            .views = s->views,
                            .columns = COLUMNS,
                            .angles = s->angles,
                            .low = 0.23 * COLUMNS,
                            .high = 0.77 * COLUMNS,
                            .pool = pool};
    assert_ok(qb__center_registration(&rows, &a->registration, a->each));
    assert_ok(qb__center_sharpness(&rows, &a->sharpness));
    assert_ok(qb__center_mass(&rows, &a->mass));
    a->result = (qb_center_result){.count = 3,
                                   .method = {{"registration", a->registration.column, a->registration.confidence},
                                              {"sharpness", a->sharpness.column, a->sharpness.confidence},
                                              {"mass", a->mass.column, a->mass.confidence}}};
    qb__center_combine(NULL, &a->result);
    qb__pool_destroy(pool);
    qb__free(s->sinograms);
    s->sinograms = NULL;
}

static void expect(scan s, double each, double all) {
    answers a;
    make(&s);
    find(&s, &a);
    assert_close(a.registration.column, s.axis, each);
    assert_close(a.sharpness.column, s.axis, each);
    assert_close(a.result.column, s.axis, all);
    assert_true(a.result.confidence > 0.8);
    assert_string_equal(a.result.warning, "");
}

static void half_turn(void **state) {
    (void)state;
    expect((scan){.turn = pi, .axis = 134.8, .radius = 105}, 0.25, 0.1);
    expect((scan){.turn = pi, .axis = 120.3, .radius = 105, .noise = 0.08}, 0.5, 0.3);
    expect((scan){.turn = pi, .axis = 131.0, .radius = 105, .views = 45}, 0.4, 0.25);
}

static void full_turn(void **state) {
    (void)state;
    expect((scan){.turn = 2 * pi, .axis = 134.8, .radius = 105}, 0.25, 0.1);
    expect((scan){.turn = 2 * pi, .axis = 120.3, .radius = 105, .noise = 0.1}, 0.5, 0.25);
    expect((scan){.turn = 2 * pi, .axis = 131.0, .radius = 105, .views = 45}, 0.25, 0.25);
}

static void far_off_the_middle(void **state) {
    (void)state;
    expect((scan){.turn = pi, .axis = 65.2, .radius = 60, .noise = 0.1}, 0.3, 0.25);
    expect((scan){.turn = 2 * pi, .axis = 190.6, .radius = 60, .noise = 0.1}, 0.3, 0.25);
}

static void repeated_end_and_uneven_angles(void **state) {
    (void)state;
    scan s = {.views = VIEWS, .axis = 118.4, .radius = 100, .noise = 0.1};
    for (size_t v = 0; v < VIEWS; v++) s.angles[v] = pi * ((double)v / (VIEWS - 1) - 0.49);
    expect(s, 0.3, 0.2);
    uint64_t random = 3;
    for (size_t v = 0; v < VIEWS; v++) s.angles[v] = 2 * pi * uniform(&random);
    expect(s, 0.3, 0.2);
}

static void rings_do_not_attract(void **state) {
    (void)state;
    expect((scan){.turn = pi, .axis = 134.8, .radius = 105, .noise = 0.05, .ring = 0.1}, 0.4, 0.3);
    expect((scan){.turn = 2 * pi, .axis = 121.3, .radius = 105, .noise = 0.05, .ring = 0.1}, 0.4, 0.3);
}

static void dead_columns_are_bridged(void **state) {
    (void)state;
    scan s = {.turn = 2 * pi, .axis = 125.6, .radius = 100, .noise = 0.05};
    answers a;
    make(&s);
    for (size_t v = 0; v < s.views; v++) {
        s.sinograms[v * COLUMNS + 150] = v % 3 ? 1.0f : 9.2f;
        s.sinograms[v * COLUMNS + 171] = 0;
    }
    find(&s, &a);
    assert_close(a.registration.column, s.axis, 0.2);
    assert_close(a.sharpness.column, s.axis, 0.3);
    assert_close(a.mass.column, s.axis, 0.3);
}

static void rows_agree_among_themselves(void **state) {
    (void)state;
    scan s = {.turn = 2 * pi, .axis = 125.6, .radius = 100, .noise = 0.2, .rows = 3};
    answers a;
    make(&s);
    find(&s, &a);
    for (size_t r = 0; r < s.rows; r++) assert_close(a.each[r], s.axis, 0.3);
}

static void hopeless(void **state) {
    (void)state;
    scan cases[] = {
        {.turn = pi, .noise = 1, .empty = true, .axis = 128, .radius = 100, .rows = 5},
        {.turn = 2 * pi, .noise = 1, .empty = true, .axis = 128, .radius = 100, .ring = 1},
        {.turn = pi, .empty = true, .axis = 128, .radius = 100},
        {.turn = 1, .empty = true, .noise = 1, .axis = 128, .radius = 100, .views = 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        answers a;
        make(&cases[i]);
        find(&cases[i], &a);
        assert_true(a.result.confidence < 0.2);
    }
}

/* Opposite views share only a narrow strip, and the object is wider than the detector. */
static void overlap_to_one_side(void **state) {
    (void)state;
    static const struct {
        double axis, radius, noise;
    } cases[] = {{227.5, 150, 0}, {24.3, 160, 0.05}, {201.8, 130, 0.2}, {160.0, 120, 0.3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scan s = {.turn = 2 * pi, .axis = cases[i].axis, .radius = cases[i].radius, .noise = cases[i].noise, .rows = 2};
        qb__pool *pool;
        qb__center_answer answer;
        double agrees;
        make(&s);
        assert_ok(qb__pool_create(2, &pool));
        qb__center_rows rows = {.sinograms = s.sinograms,
                                .rows = s.rows,
                                .views = s.views,
                                .columns = COLUMNS,
                                .angles = s.angles,
                                .low = 0,
                                .high = COLUMNS - 1,
                                .pool = pool};
        assert_ok(qb__center_overlap(&rows, s.axis, &answer, &agrees));
        assert_close(answer.column, s.axis, 0.25);
        assert_true(answer.confidence > 0.7);
        assert_true(agrees > 0.9);
        assert_ok(qb__center_overlap(&rows, s.axis > 128 ? 60 : 190, &answer, &agrees));
        assert_true(agrees < 0.6);
        for (size_t v = 0; v < s.views; v++) s.angles[v] /= 2;
        assert_ok(qb__center_overlap(&rows, NAN, &answer, &agrees));
        assert_true(isnan(answer.column) && isnan(agrees) && answer.confidence == 0);
        qb__pool_destroy(pool);
        qb__free(s.sinograms);
    }
}

static void pairs_of_views(void **state) {
    (void)state;
    double angles[2 * VIEWS];
    qb__center_pairs pairs;
    for (size_t v = 0; v < VIEWS; v++) angles[v] = pi * (double)v / VIEWS;
    assert_ok(qb__center_pairs_find(angles, VIEWS, 10, &pairs));
    assert_true(pairs.one_sided && pairs.count > 0);
    double sum = 0, gap = 0;
    for (size_t p = 0; p < pairs.count; p++) {
        double from = angles[pairs.view[pairs.pair[p].i]], to = angles[pairs.view[pairs.pair[p].j]];
        sum += pairs.pair[p].weight;
        gap += pairs.pair[p].weight * (fabs(to - from) - pi);
    }
    assert_close(gap / sum, 0, 1e-9);
    qb__center_pairs_clear(&pairs);
    for (size_t v = 0; v < VIEWS; v++) angles[v] = 2 * pi * (double)v / VIEWS;
    assert_ok(qb__center_pairs_find(angles, VIEWS, 10, &pairs));
    assert_true(!pairs.one_sided);
    assert_close(pairs.opposed, 1, 0.05);
    assert_int_equal(pairs.views, VIEWS);
    qb__center_pairs_clear(&pairs);
    for (size_t v = 0; v < VIEWS; v++) angles[v] = 0.5 * pi * (double)v / VIEWS;
    assert_ok(qb__center_pairs_find(angles, VIEWS, 10, &pairs));
    assert_int_equal(pairs.count, 0);
    qb__center_pairs_clear(&pairs);
}

static qb_center_result combined(double r, double rc, double s, double sc, double m, double mc) {
    qb_center_result result = {.count = 3, .method = {{"registration", r, rc}, {"sharpness", s, sc}, {"mass", m, mc}}};
    qb__center_combine(NULL, &result);
    return result;
}

static void agreement_and_dissent(void **state) {
    (void)state;
    qb_center_result both = combined(100.0, 0.6, 100.4, 0.6, 101, 0.5);
    assert_close(both.column, 100.2, 0.15);
    assert_true(both.confidence > 0.8);
    assert_string_equal(both.warning, "");
    qb_center_result apart = combined(100, 0.9, 110, 0.8, NAN, 0);
    assert_close(apart.column, 100, 1e-9);
    assert_true(apart.confidence < 0.7);
    assert_non_null(strstr(apart.warning, "disagree"));
    /* Where two finders disagree, the centre of mass decides between them. It cannot win alone. */
    assert_close(combined(100, 0.6, 110, 0.5, 109.5, 0.6).column, 110, 0.2);
    assert_close(combined(100, 0.6, 100.5, 0.6, 120, 0.7).column, 100.25, 0.01);
    /* It cannot join two finders that disagree either. */
    assert_close(combined(101.4, 0.8, 100, 0.9, 100.7, 0.7).column, 100, 0.1);
    /* Two unsure finders that name the same pixel did not meet there by chance. */
    assert_true(combined(100, 0.01, 100.3, 0, NAN, 0).confidence > 0.4);
    assert_true(combined(100, 0.01, 130, 0.02, NAN, 0).confidence < 0.1);
    qb_center_result none = combined(NAN, 0, NAN, 0, NAN, 0);
    assert_true(isnan(none.column) && none.confidence == 0);
}

static void memory_runs_out(void **state) {
    (void)state;
    scan s = {.turn = 2 * pi, .axis = 125.6, .radius = 100, .views = 60};
    make(&s);
    qb__pool *pool;
    assert_ok(qb__pool_create(1, &pool));
    qb__center_rows rows = {.sinograms = s.sinograms,
                            .rows = 1,
                            .views = s.views,
                            .columns = COLUMNS,
                            .angles = s.angles,
                            .low = 60,
                            .high = 190,
                            .pool = pool};
    qb__center_answer answer;
    size_t failed = 0;
    for (size_t n = 1; n < 40; n++) {
        qb__fail_allocation(n);
        failed += qb__center_registration(&rows, &answer, NULL) == QB_NO_MEMORY;
        qb__fail_allocation(n);
        failed += qb__center_sharpness(&rows, &answer) == QB_NO_MEMORY;
        qb__fail_allocation(n);
        failed += qb__center_overlap(&rows, NAN, &answer, NULL) == QB_NO_MEMORY;
    }
    qb__fail_allocation(0);
    assert_true(failed > 20);
    qb__pool_destroy(pool);
    qb__free(s.sinograms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_turn),
        cmocka_unit_test(full_turn),
        cmocka_unit_test(far_off_the_middle),
        cmocka_unit_test(repeated_end_and_uneven_angles),
        cmocka_unit_test(rings_do_not_attract),
        cmocka_unit_test(dead_columns_are_bridged),
        cmocka_unit_test(rows_agree_among_themselves),
        cmocka_unit_test(hopeless),
        cmocka_unit_test(overlap_to_one_side),
        cmocka_unit_test(pairs_of_views),
        cmocka_unit_test(agreement_and_dissent),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
