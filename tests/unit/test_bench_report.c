/* SPDX-License-Identifier: MIT */
/* The shortest time that a run could have taken, computed from its report. */
#include "check.h"

#include "bench/bench_parts.h"

typedef struct timed {
    const char *name;
    double cpu, busy;
} timed;

static double bound(const timed *stages, int count, double threads) {
    cJSON *report = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(report, "stages");
    double cpu = 0;
    for (int i = 0; i < count; i++) {
        cJSON *stage = cJSON_CreateObject();
        cJSON_AddStringToObject(stage, "name", stages[i].name);
        cJSON_AddNumberToObject(stage, "cpu_seconds", stages[i].cpu);
        cJSON_AddNumberToObject(stage, "busy_seconds", stages[i].busy);
        cJSON_AddItemToArray(list, stage);
        cpu += stages[i].cpu;
    }
    cJSON_AddNumberToObject(report, "threads", threads);
    cJSON_AddNumberToObject(report, "cpu_seconds", cpu);
    double seconds = qb__bench_bound(report);
    cJSON_Delete(report);
    return seconds;
}

/* Time in which a stage waits for threads of another stage counts as busy. On the CPU the bound must ignore it. */
static void test_cpu(void **state) {
    (void)state;
    const timed shared[] = {{"read", 1, 9}, {"filter", 8, 9}, {"back-project", 16, 9}};
    assert_float_equal(bound(shared, 3, 5), 5, 0);
    const timed reading[] = {{"read", 7, 9}, {"filter", 8, 9}, {"back-project", 10, 9}};
    assert_float_equal(bound(reading, 3, 5), 7, 0);
}

static void test_device(void **state) {
    (void)state;
    timed stages[] = {
        {"read", 0.5, 2}, {"upload", 0.1, 1}, {"reconstruct", 0.1, 6}, {"download", 0.1, 1.5}, {"write", 0.25, 0.5}};
    assert_float_equal(bound(stages, 5, 8), 6, 0);
    stages[1].busy = 7; /* a slow bus */
    assert_float_equal(bound(stages, 5, 8), 7, 0);
    stages[0].cpu = stages[0].busy = 8; /* a slow reader */
    assert_float_equal(bound(stages, 5, 8), 8, 0);
    stages[4] = (timed){"write", 24, 3}; /* a writer that writes several files at once, one per thread */
    assert_float_equal(bound(stages, 5, 8), 8, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
