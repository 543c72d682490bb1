/* SPDX-License-Identifier: MIT */
/* The table of kernels and the one function that chooses from it. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/bp_cone/bp_cone.h"
#include "cpu/features.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/bp_problem.h"
#include "planner/choose.h"

enum { VIEWS = 4, SIZE = 64 };
static double ax[VIEWS] = {1, 0, 1, 0}, ay[VIEWS] = {0, 1, 0, 1}, h0[VIEWS];
static const qb__bp_parallel_problem parallel = {
    .views = VIEWS, .columns = SIZE, .nx = SIZE, .ny = SIZE, .ax = ax, .ay = ay, .h0 = h0};

static qb__question ask(void) {
    return (qb__question){.operation = QB__BP_PARALLEL,
                          .problem = &parallel,
                          .slices = 64,
                          .interp = QB_INTERP_LINEAR,
                          .accuracy = QB_ACCURACY_FAST};
}

/* Every row is found by its name alone, describes itself, and can be accepted or refused. */
static void rows_are_whole(void **state) {
    (void)state;
    const qb__variant *row;
    size_t seen[2] = {0};
    for (int n = 0; n < 2 * QB__OPERATIONS; n++)
        for (size_t i = 0; (row = qb__variant_at((qb__operation)(n / 2), n % 2, i)) != NULL; i++) {
            assert_ptr_equal(qb__variant_named(row->id), row);
            assert_int_equal(row->operation, n / 2);
            assert_int_equal(row->apis != 0, n % 2);
            if (row->apis)
                assert_true(row->cost && row->method && qb__parameter_count(row) > 0);
            else
                assert_true(row->speed > 0);
            seen[n % 2]++;
        }
    assert_true(seen[0] >= 9 && seen[1] >= 20);
    assert_null(qb__variant_named("bp_parallel_linear"));
}

static void the_fastest_that_serves(void **state) {
    (void)state;
    qb__question q = ask();
    qb__choice choice;
    assert_int_equal(qb__choose(&q, &choice), QB_OK);
    const qb__variant *row;
    for (size_t i = 0; (row = qb__variant_at(q.operation, false, i)) != NULL; i++) {
        qb__choice other;
        if (row->interp != q.interp || qb__estimate(row, &q, &other)) continue;
        assert_true(choice.seconds <= other.seconds);
    }
    q.accuracy = QB_ACCURACY_HIGH;
    assert_int_equal(qb__choose(&q, &choice), QB_OK);
    assert_int_equal(choice.variant->accuracy, QB_ACCURACY_HIGH);
    /* With one slice, a kernel that serves many slices would fill its lanes with nothing. */
    q.slices = 1;
    qb__choice one, scalar;
    assert_int_equal(qb__choose(&q, &one), QB_OK);
    assert_null(qb__estimate(qb__variant_named("bp_parallel_linear.scalar"), &q, &scalar));
    assert_true(one.seconds <= scalar.seconds);
}

/* Kernels of less accuracy want bounds. With bounds all kernels serve, and then only the class can rule one out. */
static void never_less_accurate(void **state) {
    (void)state;
    const float largest[64] = {0};
    qb__bp_parallel_problem bounded = parallel;
    bounded.largest = largest;
    qb__question q = ask();
    q.problem = &bounded;
    for (int asked = QB_ACCURACY_HIGH; asked <= QB_ACCURACY_FAST; asked++) {
        q.accuracy = (qb_accuracy)asked;
        qb__choice choice;
        cJSON *list = qb__why(&q), *entry;
        assert_int_equal(qb__choose(&q, &choice), QB_OK);
        assert_true(choice.variant->accuracy <= q.accuracy);
        cJSON_ArrayForEach(entry, list) {
            const char *id = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "kernel"));
            const char *verdict = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "verdict"));
            if (qb__variant_named(id)->accuracy > q.accuracy) assert_string_not_equal(verdict, "usable");
        }
        cJSON_Delete(list);
    }
}

/* A kernel that is named is taken whatever its class, if it belongs to the family. Else the message says where it
 * belongs. */
static void names(void **state) {
    (void)state;
    static const struct {
        const char *id, *family, *says;
        qb_status status;
    } cases[] = {
        {"bp_parallel_linear.scalar", NULL, NULL, QB_OK},
        {"bp_parallel_nearest.scalar", "bp_parallel_near", NULL, QB_OK},
        {"bp_parallel_linear.scalar", "bp_parallel_near", "none of bp_parallel_near", QB_BAD_ARGUMENT},
        {"bp_parallel_linear.alu", NULL, "devices only", QB_BAD_ARGUMENT},
        {"bp_cone_matrix.scalar", NULL, "a cone beam's: qb fdk", QB_BAD_ARGUMENT},
        {"project_joseph.scalar", NULL, "qb project", QB_BAD_ARGUMENT},
        {"bp_parallel_linear.avx512fp16", NULL, "bound on the filtered rows", QB_UNSUPPORTED},
        {"nonsense", NULL, "there is no kernel nonsense", QB_BAD_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qb__question q = ask();
        qb__choice choice;
        if (!strcmp(cases[i].id, "bp_parallel_linear.avx512fp16") && !(qb__cpu_features() & QB__CPU_AVX512FP16))
            continue;
        q.id = cases[i].id;
        q.family = cases[i].family;
        assert_int_equal(qb__choose(&q, &choice), cases[i].status);
        if (cases[i].status == QB_OK)
            assert_string_equal(choice.variant->id, cases[i].id);
        else if (!strstr(qb_detail(), cases[i].says))
            fail_msg("%s: %s", cases[i].id, qb_detail());
    }
}

static void what_none_serves(void **state) {
    (void)state;
    qb__question q = ask();
    qb__choice choice;
    q.interp = QB_INTERP_OVERSAMPLE;
    assert_int_equal(qb__choose(&q, &choice), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "devices only"));
    q = ask();
    q.problem = &(qb__bp_parallel_problem){
        .views = 1, .columns = SIZE, .nx = SIZE, .ny = SIZE, .ax = (double[]){1e12}, .ay = ay, .h0 = h0};
    assert_int_equal(qb__choose(&q, &choice), QB_UNSUPPORTED);
    assert_null(choice.variant);
}

/* The answer lists each kernel of the interpolation, with a reason for each one that cannot be used. */
static void why(void **state) {
    (void)state;
    double matrix[1][12] = {{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
    const qb__bp_cone_problem cone = {
        .views = 1, .columns = 8, .rows = 8, .nx = 8, .ny = 8, .nz = 8, .matrix = (const double(*)[12])matrix};
    qb__question q = {.operation = QB__BP_CONE, .problem = &cone, .slices = 1};
    cJSON *list = qb__why(&q), *entry;
    size_t rows = 0;
    const qb__variant *row;
    while ((row = qb__variant_at(QB__BP_CONE, false, rows)) != NULL) rows++;
    assert_int_equal(cJSON_GetArraySize(list), rows);
    cJSON_ArrayForEach(entry, list) {
        const char *id = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "kernel"));
        const char *verdict = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "verdict"));
        qb__choice choice;
        const bool refused =
            qb__estimate(qb__variant_named(id), &q, &choice) || choice.variant->accuracy > QB_ACCURACY_HIGH;
        assert_int_equal(strcmp(verdict, "usable") != 0, refused);
        assert_true(cJSON_GetObjectItem(entry, "core_seconds")->valuedouble > 0);
    }
    cJSON_Delete(list);
    const qb__joseph_problem rays = {.views = 3, .rows = 5, .columns = 7, .planes = 11};
    assert_true(qb__operation_of(QB__PROJECT_JOSEPH)->updates(&rays) == 3 * 5 * 7 * 11);
}

int main(void) {
    unsetenv("QB_TUNING");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),      cmocka_unit_test(the_fastest_that_serves),
        cmocka_unit_test(never_less_accurate), cmocka_unit_test(names),
        cmocka_unit_test(what_none_serves),    cmocka_unit_test(why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
