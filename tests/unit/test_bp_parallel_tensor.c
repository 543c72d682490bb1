/* SPDX-License-Identifier: MIT */
/* Follows the geometry of the tensor kernel by hand. Every pixel of a group must get its weights at the right columns.
 * No column outside the window may be read. */
#include "check.h"

#include "base/half.h"
#include "kernels/bp_parallel/bp_parallel_tensor_sizes.h"

enum { VIEWS = 97, STEP = 8, MOST = VIEWS + QB__TENSOR_SHAPES * STEP };

static double ax[VIEWS], ay[VIEWS], h0[VIEWS];
static qb__bp_parallel_problem problem = {
    .views = VIEWS, .columns = 4000, .nx = 300, .ny = 200, .ax = ax, .ay = ay, .h0 = h0};
static qb__tensor_view views[MOST];
static uint32_t table[MOST * 4 * 128];

static double uniform(void) {
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void make_problem(double pixel) {
    for (int v = 0; v < VIEWS; v++) {
        const double angle = 6.283185307179586 * uniform();
        ax[v] = pixel * cos(angle);
        ay[v] = pixel * sin(angle);
        h0[v] = 3000 * uniform();
    }
}

static void shapes_are_halves(void **state) {
    (void)state;
    uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP];
    qb__tensor_shapes(shapes);
    for (int s = 0; s < QB__TENSOR_SHAPES; s++) {
        int times[64] = {0};
        for (int i = 0; i < QB__TENSOR_STRIP; i++) {
            times[shapes[s][i]]++;
            times[63 - shapes[s][i]]++;
        }
        for (int p = 0; p < 64; p++) assert_int_equal(times[p], 1);
    }
}

/* The distance of a slot's pixel from column k of strip 0, from the table. */
static double offset_of(size_t view, int bins, int slot, int k, bool split) {
    const size_t lane = (size_t)(slot % 8) * 4 + (size_t)k % 8 / 2;
    const size_t block = view * (size_t)bins / 8 + (size_t)k / 8;
    const uint32_t *words = table + block * qb__tensor_table_words(1, 8, split);
    float q[4];
    if (split)
        memcpy(q, words + 4 * lane, sizeof q);
    else
        qb__half_to_float(words + 2 * lane, 4, q);
    return q[slot / 8] - k % 2;
}

/* Follows one strip of the 8x8 pixels at (x, y). For every pixel the sum over its columns of weight must be 1, and the
 * sum of weight times column must be h. */
static void follow(const qb__tensor_view *view, size_t at, int bins, int rows_max, bool split, double x0, double y0,
                   int wx, int wy, int strip) {
    uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP];
    qb__tensor_shapes(shapes);
    const double group = view->ax * x0 + view->ay * y0 + view->h0;
    const double base = floor(group + (view->low - 0.01));
    const double h = group - base + view->ax * wx + view->ay * wy;
    const double edge = strip ? h + 7 * (view->ax + view->ay) - view->first : h + view->first;
    const double whole = strip ? ceil(edge) : floor(edge), part = fabs(edge - whole);
    assert_true(view->rows <= rows_max);
    for (int slot = 0; slot < QB__TENSOR_STRIP; slot++) {
        const int p = shapes[view->shape][slot], pixel = strip ? 63 - p : p;
        double weight = 0, mean = 0;
        for (int k = 0; k < bins; k++) {
            const double w = fmax(0, 1 - fabs(part + offset_of(at, bins, slot, k, split)));
            const double row = strip ? whole - k : whole + k;
            assert_true(row >= 0 && row < view->rows);
            weight += w;
            mean += w * (base + row);
        }
        const double exact = view->ax * (x0 + wx + (pixel & 7)) + view->ay * (y0 + wy + (pixel >> 3)) + view->h0;
        assert_close(weight, 1, split ? 1e-5 : 2e-3);
        assert_close(mean - exact, (weight - 1) * exact, split ? 2e-5 : 2e-3);
    }
}

static void check(double pixel, int expected, bool split) {
    int rows;
    size_t count;
    make_problem(pixel);
    const int bins = qb__tensor_bins(&problem, &rows);
    assert_int_equal(bins, expected);
    assert_true(qb__tensor_views_max(VIEWS, STEP) <= MOST);
    qb__tensor_views_make(&problem, bins, STEP, views, &count);
    assert_true(count <= qb__tensor_views_max(VIEWS, STEP) && count % STEP == 0);
    qb__tensor_table_make(views, count, bins, split, table);
    int seen[VIEWS] = {0};
    for (size_t v = 0; v < count; v++) {
        assert_int_equal(views[v].shape, views[v / STEP * STEP].shape);
        if (views[v].h0 <= -1e8) continue; /* only fills up the group */
        seen[views[v].row]++;
        for (int i = 0; i < 4; i++) {
            const double x = floor(300 * uniform()), y = floor(200 * uniform());
            follow(&views[v], v, bins, rows, split, x, y, 8 * (int)(4 * uniform()), 8 * (int)(2 * uniform()), i % 2);
        }
    }
    for (int v = 0; v < VIEWS; v++) assert_int_equal(seen[v], 1);
}

static void pixels_of_all_sizes(void **state) {
    (void)state;
    for (int split = 0; split < 2; split++) {
        check(0.2, 8, split);
        check(1.0, 8, split);
        check(1.08, 8, split);
        check(2.0, 16, split);
        check(4.0, 32, split);
    }
}

static void too_large_pixels(void **state) {
    (void)state;
    int rows;
    make_problem(7);
    assert_int_equal(qb__tensor_bins(&problem, &rows), 0);
}

/* The bytes grow with the columns. Where they exceed the largest number they stay at it, and more can be added. */
static void packed_bytes_beyond_numbers(void **state) {
    (void)state;
    const int values[] = {1, 4, 4, 1};
    const double zero = 0;
    qb__bp_parallel_problem one = {.views = 1, .ax = &zero, .ay = &zero, .h0 = &zero};
    size_t tensor = 0, whole = 0, half = 0;
    for (int bits = 1; bits < 64; bits++) {
        one.columns = (size_t)1 << bits;
        const size_t now[] = {qb__tensor_packed_bytes(&one, 64 << 10, values), qb__pack_bytes(&one, 1 << 10, 2, false),
                              qb__pack_bytes(&one, 1 << 10, 2, true)};
        size_t *const before[] = {&tensor, &whole, &half};
        for (int i = 0; i < 3; i++) {
            assert_true(now[i] > *before[i] || (bits > 40 && now[i] == QB__PACKED_MOST));
            assert_true(now[i] < QB__PACKED_MOST + (64 << 12));
            *before[i] = now[i];
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_halves),
        cmocka_unit_test(pixels_of_all_sizes),
        cmocka_unit_test(too_large_pixels),
        cmocka_unit_test(packed_bytes_beyond_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
