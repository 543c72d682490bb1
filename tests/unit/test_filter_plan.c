/* SPDX-License-Identifier: MIT */
/* Plans of the devices' filter, and opening cuFFT where it is missing. Both need no device. */
#include "check.h"

#include "device/cufft.h"
#include "kernels/filter/filter_device_parts.h"
#include "ops/fft.h"

static bool one_of(int value, const int *list) {
    while (*list && *list != value) list++;
    return *list != 0;
}

static void plans(void **state) {
    (void)state;
    static const int plain[] = {2, 4, 8, 16, 0}, last[] = {1, 2, 3, 4, 5, 8, 10, 15, 0};
    const qb__device_info big = {.local_bytes = 227 << 10, .group_size = 1024};
    const qb__device_info small = {.local_bytes = 32 << 10, .group_size = 256};
    qb__filter_plan plan;
    for (size_t columns = 1; columns <= 100000; columns += 1 + columns / 50) {
        size_t half = qb__fft_length(columns), product = 1;
        assert_true(qb__filter_radices(half, &plan));
        for (int i = 0; i < plan.passes; i++) {
            assert_true(one_of(plan.radix[i], plain));
            product *= (size_t)plan.radix[i];
        }
        assert_true(one_of(plan.last, last) && product * (size_t)plan.last == half);
        assert_int_equal(half / (size_t)plan.last % 2, 0); /* butterflies come in pairs */
        if (columns <= 16384) assert_null(qb__filter_plan_make(half, &big, &plan));
        const qb__device_info *devices[] = {&big, &small};
        for (int d = 0; d < 2; d++) {
            if (qb__filter_plan_make(half, devices[d], &plan)) continue;
            assert_true(plan.items * plan.group_rows <= devices[d]->group_size);
            assert_true(plan.local_bytes <= devices[d]->local_bytes && plan.passes <= 4);
        }
    }
    assert_null(qb__filter_plan_make(2048, &small, &plan));
    assert_non_null(qb__filter_plan_make(8192, &small, &plan));
    assert_false(qb__filter_radices(14, &plan) || qb__filter_radices(1, &plan));
}

static void without_cufft(void **state) {
    (void)state;
    qb__cufft_api api;
    char why[1024] = "", kept[1024];
    const char *set = getenv("QB_LIBCUFFT");
    snprintf(kept, sizeof kept, "%s", set ? set : "");
    setenv("QB_LIBCUFFT", "", 1);
    assert_false(qb__cufft_open(13000, &api, why, sizeof why));
    assert_non_null(strstr(why, "QB_LIBCUFFT"));
    setenv("QB_LIBCUFFT", "/no/such/libcufft.so", 1);
    assert_false(qb__cufft_open(13000, &api, why, sizeof why));
    assert_non_null(strstr(why, "/no/such/libcufft.so"));
    unsetenv("QB_LIBCUFFT");
    assert_false(qb__cufft_open(10000, &api, why, sizeof why)); /* older than any version that we know */
    assert_non_null(strstr(why, "install"));
    if (set) setenv("QB_LIBCUFFT", kept, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(without_cufft)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
