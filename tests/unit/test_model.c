/* SPDX-License-Identifier: MIT */
/* Parts of the performance model whose answers are known. The test variants.model compares the whole model with
 * measurements. */
#include "check.h"

#include <math.h>

#include "planner/device_costs.h"

static const qb__device_info h200 = {.api = QB__API_CUDA, .arch = 90, .multiprocessors = 132, .clock_hz = 2e9};

static qb__occupancy occupancy(const qb__device_info *device, qb__kernel_groups groups) {
    qb__device_model model;
    qb__device_model_of(device, &model);
    return qb__device_occupancy(&model, &groups);
}

/* A multiprocessor has 65,536 registers, 228 KiB, 2,048 items and 32 groups. Each of these limits decides in turn. */
static void test_what_a_multiprocessor_holds(void **state) {
    (void)state;
    qb__kernel_groups g = {.count = 1e6, .items = 256, .local_bytes = 1024, .registers = 120};
    assert_true(occupancy(&h200, g).groups == 2);
    g.registers = 128.5; /* registers are allocated in units of eight: 136 */
    assert_true(occupancy(&h200, g).groups == 1);
    g.blocks = 4; /* the launch asks for 4 groups: 64 registers are left for each item */
    assert_true(occupancy(&h200, g).groups == 4);
    g.registers = 20;
    assert_true(occupancy(&h200, g).groups == 8);
    g.local_bytes = 56 << 10;
    assert_true(occupancy(&h200, g).groups == 4);
    g.items = 32, g.local_bytes = 0;
    assert_true(occupancy(&h200, g).groups == 32);
    g.count = 300; /* not more groups than the launch has for each multiprocessor */
    assert_true(occupancy(&h200, g).groups == 3);
}

static void test_only_cuda_can_ask(void **state) {
    (void)state;
    qb__device_info opencl = h200;
    qb__kernel_groups g = {.count = 1e6, .items = 256, .registers = 130, .blocks = 4};
    opencl.api = QB__API_OPENCL;
    assert_true(occupancy(&h200, g).groups == 4);
    assert_true(occupancy(&opencl, g).groups == 1);
}

/* OpenCL on a known chip has the same rates as CUDA, except for matrix products. */
static void test_opencl_on_a_known_chip(void **state) {
    (void)state;
    qb__device_info opencl = h200;
    qb__device_model cuda, other;
    opencl.api = QB__API_OPENCL;
    qb__device_model_of(&h200, &cuda);
    qb__device_model_of(&opencl, &other);
    assert_true(cuda.known && other.known);
    assert_true(other.rate[QB__UNIT_LOCAL] == 132 * 128 * 2e9);
    assert_true(other.rate[QB__UNIT_MEMORY] == cuda.rate[QB__UNIT_MEMORY]);
    assert_true(cuda.rate[QB__UNIT_TENSOR] > 0 && other.rate[QB__UNIT_TENSOR] == 0);
    opencl.arch = 0; /* the architecture is unknown */
    qb__device_model_of(&opencl, &other);
    assert_true(!other.known && other.rate[QB__UNIT_LOCAL] < cuda.rate[QB__UNIT_LOCAL]);
}

/* 64 sums and the other values need 112 registers, and there are 64. So 48 sums lie outside and are read and written at
 * each of 64 updates. Their 192 bytes for each of 1,024 items fit beside little shared memory, but not beside much. */
static void test_sums_that_leave_registers(void **state) {
    (void)state;
    qb__kernel_groups g = {
        .count = 1e6, .items = 256, .registers = 140, .registers_least = 112, .sums = 64, .blocks = 4};
    qb__occupancy o = occupancy(&h200, g);
    assert_true(o.spilled_bytes == 8.0 * 48 / 64 && o.spilled_far == 0);
    g.local_bytes = 31 << 10; /* 1 KiB more for each group: 128 of 256 KiB are left, 192 are needed */
    assert_true(fabs(occupancy(&h200, g).spilled_far - 1.0 / 3) < 1e-12);
    g.blocks = 2;
    assert_true(occupancy(&h200, g).spilled_bytes == 0);
}

static void test_turns(void **state) {
    (void)state;
    assert_true(qb__device_turns(1, 2, 6) == 4);
    assert_true(qb__device_turns(1, 2, 0) == 1);
    /* The second finds the first at work a quarter of the time. The time between two is (2.5 + 6) / 2. */
    assert_true(fabs(qb__device_turns(2, 2, 6) - 2.125) < 1e-12);
    assert_true(qb__device_turns(50, 2, 6) < 1.001);
}

/* The time falls with the groups at work, but never below that of the busiest unit, and it rises with the number of
 * launches. */
static void test_prediction(void **state) {
    (void)state;
    qb__device_model model;
    int unit;
    double seconds[QB__UNITS];
    qb__device_model_of(&h200, &model);
    qb__kernel_cost cost = {.arithmetic = 128,
                            .groups = {.count = 132e3, .items = 256, .registers = 255, .round = 4096, .wait = 4096}};
    /* One update per multiprocessor and clock with one group: it waits as long as it computes. */
    const double updates = 132 * 2e9;
    assert_true(fabs(qb__device_predict(&model, &cost, updates, seconds, &unit) - 2) < 1e-9);
    assert_int_equal(unit, QB__UNIT_WAITING);
    assert_true(fabs(seconds[QB__UNIT_ARITHMETIC] - 1) < 1e-9);
    cost.groups.registers = 32;
    double many = qb__device_predict(&model, &cost, updates, seconds, &unit);
    assert_true(many > 1 && many < 1.1);
    assert_int_equal(unit, QB__UNIT_ARITHMETIC);
    cost.launches = 1e5;
    assert_true(fabs(qb__device_predict(&model, &cost, updates, NULL, &unit) - many - 0.4) < 1e-9);
    /* 133 groups: one multiprocessor has two of them. */
    cost = (qb__kernel_cost){.arithmetic = 128, .groups = {.count = 133, .items = 256, .registers = 32, .round = 1}};
    assert_true(fabs(qb__device_predict(&model, &cost, updates, NULL, &unit) - 2 * 132 / 133.0) < 1e-9);
    /* Two units that work in turn. */
    cost = (qb__kernel_cost){.arithmetic = 128, .texels = 2, .texture_apart = 0.7};
    assert_true(fabs(qb__device_predict(&model, &cost, updates, NULL, &unit) - 1.35) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_a_multiprocessor_holds),
                                       cmocka_unit_test(test_only_cuda_can_ask),
                                       cmocka_unit_test(test_opencl_on_a_known_chip),
                                       cmocka_unit_test(test_sums_that_leave_registers),
                                       cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_prediction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
