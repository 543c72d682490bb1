/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "quickbeam/compare.h"

static void check_close(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

static qb_array make(qb_dtype dtype, size_t n0, size_t n1, size_t n2) {
    qb_array array;
    assert_int_equal(qb_array_create(dtype, n0, n1, n2, &array), QB_OK);
    return array;
}

/* Two images that have little in common. Every value is exact in single precision. */
static void fill(qb_array *a, qb_array *b) {
    *a = make(QB_F32, 3, 19, 23);
    *b = make(QB_F32, 3, 19, 23);
    float *p = a->data, *q = b->data;
    for (int i = 0; i < 3 * 19 * 23; i++) {
        q[i] = (float)((i * 7919) % 1009 / 1009.0 + (i / 23 % 19) * 0.1);
        p[i] = q[i] + (float)((i * 104729) % 997 / 997.0 - 0.5) * 0.3f;
    }
}

/* The expected numbers come from scikit-image 0.26 and NumPy, computed in double. */
static void figures_are_the_known_ones(void **state) {
    (void)state;
    qb_array a, b;
    fill(&a, &b);
    qb_comparison d = {.struct_size = sizeof d};
    assert_int_equal(qb_compare(&a, &b, &d), QB_OK);
    check_close(d.ssim, 0.98186771649, 1e-9);
    check_close(d.psnr_db, 30.1629926802, 1e-9);
    check_close(d.rmse, 0.086497871038, 1e-11);
    check_close(d.max_abs, 0.15000000596, 1e-10);
    check_close(d.rel_l2, 0.0564968748019, 1e-11);
    check_close(d.slope, 1.0010181439, 1e-9);
    check_close(d.correlation, 0.99044422287, 1e-9);
    qb_array_destroy(&a);
    qb_array_destroy(&b);
}

static void equal_arrays_are_equal(void **state) {
    (void)state;
    qb_array a, b;
    fill(&a, &b);
    qb_comparison d = {.struct_size = sizeof d};
    assert_int_equal(qb_compare(&b, &b, &d), QB_OK);
    assert_true(d.rmse == 0 && d.max_abs == 0 && d.rel_l2 == 0);
    assert_true(isinf(d.psnr_db) && d.psnr_db > 0);
    check_close(d.ssim, 1, 1e-12);
    check_close(d.slope, 1, 1e-12);
    check_close(d.correlation, 1, 1e-12);
    memset(b.data, 0, qb_array_count(&b) * sizeof(float));
    assert_int_equal(qb_compare(&b, &b, &d), QB_OK);
    assert_true(d.ssim == 1 && d.rel_l2 == 0 && isinf(d.psnr_db));
    assert_true(isnan(d.slope) && isnan(d.correlation));
    assert_int_equal(qb_compare(&a, &b, &d), QB_OK);
    assert_true(isinf(d.rel_l2));
    qb_array_destroy(&a);
    qb_array_destroy(&b);
}

static void integers_are_compared_by_value(void **state) {
    (void)state;
    qb_array a = make(QB_U16, 1, 3, 4), b = make(QB_F32, 1, 3, 4);
    for (int i = 0; i < 12; i++) {
        ((uint16_t *)a.data)[i] = (uint16_t)(60000 + 2 * i);
        ((float *)b.data)[i] = (float)i;
    }
    qb_comparison d = {.struct_size = sizeof d};
    assert_int_equal(qb_compare(&a, &b, &d), QB_OK);
    check_close(d.slope, 2, 1e-12);
    check_close(d.correlation, 1, 1e-12);
    check_close(d.max_abs, 60011, 0);
    assert_true(isfinite(d.ssim)); /* the image is smaller than the window of 7x7 */
    qb_array_destroy(&a);
    qb_array_destroy(&b);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    qb_array a, b, c = make(QB_F32, 3, 23, 19);
    fill(&a, &b);
    qb_comparison d = {.struct_size = sizeof d};
    assert_int_equal(qb_compare(&a, &c, &d), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "3 x 23 x 19"));
    ((float *)a.data)[19 * 23 + 2 * 23 + 5] = NAN;
    ((float *)a.data)[19 * 23 + 2 * 23 + 7] = INFINITY;
    assert_int_equal(qb_compare(&a, &b, &d), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "2 of 1311 values of the first array"));
    assert_non_null(strstr(qb_detail(), "[1][2][5]"));
    assert_int_equal(qb_compare(&b, &a, &d), QB_BAD_INPUT);
    qb_array_destroy(&a);
    qb_array_destroy(&b);
    qb_array_destroy(&c);
}

static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    qb_array a = make(QB_U8, 1, 9, 9), b = make(QB_F64, 1, 9, 9);
    for (size_t n = 1; n <= 3; n++) {
        qb_comparison d = {.struct_size = sizeof d};
        qb__fail_allocation(n);
        assert_int_equal(qb_compare(&a, &b, &d), QB_NO_MEMORY);
    }
    qb__fail_allocation(0);
    qb_array_destroy(&a);
    qb_array_destroy(&b);
}

/* A program of another version. Fields that its struct does not have are not touched. Fields that the library does not
 * know become zero. A struct that was never set up is refused. */
static void structs_of_other_versions(void **state) {
    (void)state;
    struct {
        qb_comparison known;
        double more, behind;
    } newer;
    float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const qb_array a = {QB_F32, {1, 2, 4}, values};
    memset(&newer, 0x55, sizeof newer);
    newer.behind = 7;
    newer.known.struct_size = sizeof newer - sizeof newer.behind;
    assert_int_equal(qb_compare(&a, &a, &newer.known), QB_OK);
    assert_true(newer.known.correlation == 1 && newer.more == 0 && newer.behind == 7);
    assert_int_equal(newer.known.struct_size, sizeof newer - sizeof newer.behind);
    newer.more = 3;
    newer.known = (qb_comparison){.rmse = 9};
    assert_int_equal(qb_compare(&a, &a, &newer.known), QB_OK);
    assert_true(newer.known.rmse == 0 && newer.known.correlation == 1 && newer.more == 3);
    newer.known.struct_size = sizeof(size_t);
    assert_int_equal(qb_compare(&a, &a, &newer.known), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "struct_size"));
    newer.known.struct_size = (size_t)0x5555555555555555;
    assert_int_equal(qb_compare(&a, &a, &newer.known), QB_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_of_other_versions),    cmocka_unit_test(figures_are_the_known_ones),
        cmocka_unit_test(equal_arrays_are_equal),       cmocka_unit_test(integers_are_compared_by_value),
        cmocka_unit_test(what_does_not_fit_is_refused), cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
