/* SPDX-License-Identifier: MIT */
/* Every variant of back-projection on every device, against the double-precision oracle, with
 * random problems and random legal parameters. QB_TRIALS: trials a variant;
 * QB_VARIANT: only those with this in their id; QB_PART=I/N: each N-th. */
#include "check.h"
#include "trial.h"

#include "base/random.h"

static void names_are_unique(void **state) {
    (void)state;
    size_t count;
    const qb__bp_parallel_device_variant *const *all = qb__bp_parallel_device_variants(&count);
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) assert_string_not_equal(all[i]->id, all[j]->id);
}

/* "SLICES=4 HALF=0 ..." */
static const char *text_of(const qb__bp_parallel_device_variant *variant, const int *values) {
    static char text[400];
    size_t n = 0;
    for (int i = 0; i < QB__PARAMETERS_MAX && variant->parameters[i].name; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s=%d ", variant->parameters[i].name,
                              values[i]);
    return text;
}

static void random_values(const qb__bp_parallel_device_variant *variant, qb__random *r,
                          int *values) {
    for (int i = 0; i < QB__PARAMETERS_MAX && variant->parameters[i].name; i++) {
        const qb__kernel_parameter *p = &variant->parameters[i];
        values[i] = p->values[qb__random_bits(r) % (unsigned)p->count];
    }
}

/* How often it ran; prints why not. */
static int check(qb__device *device, const qb__bp_parallel_device_variant *variant, int trials) {
    const qb__device_info *info = qb__device_info_of(device);
    const char *why = NULL;
    int ran = 0;
    double most = 0;
    for (int i = 0; i < trials; i++) {
        qb__random r = qb__random_stream((uint64_t)i + 1000, (uint64_t)variant->id[0]);
        int values[QB__PARAMETERS_MAX] = {0};
        trial t = trial_random((uint64_t)i * 977 + (uint64_t)(uintptr_t)strlen(variant->id), 200);
        const char *now = "";
        for (int draw = 0; draw < 30 && now; draw++) {
            random_values(variant, &r, values);
            now = variant->unusable(info, &t.problem, values);
            if (now) why = now;
        }
        if (now)
            why = now;
        else {
            trial_result result;
            trial_device on;
            assert_ok(trial_upload(&t, device, &on));
            qb_status status = trial_run(&on, variant, values, 1, 400, &result);
            if (status)
                fail_msg("%s, trial %d, %s: %s: %s", variant->id, i, text_of(variant, values),
                         qb_status_text(status), qb_detail());
            trial_device_free(&on);
            double share = result.rel_l2 / trial_bound(variant->accuracy);
            if (!(share < 1) || !(result.worst < 20 * trial_bound(variant->accuracy)))
                fail_msg(
                    "%s, trial %d, %s: error %.3g, worst %.3g (%zu views, %zu columns, %zux%zu, "
                    "%u slices)",
                    variant->id, i, text_of(variant, values), result.rel_l2, result.worst,
                    t.problem.views, t.problem.columns, t.problem.nx, t.problem.ny, t.slices);
            most = fmax(most, share);
            ran++;
        }
        trial_free(&t);
    }
    printf("%-44s %s: %d of %d, %.0f %% of the bound%s%s\n", variant->id, info->spec, ran, trials,
           most * 100, why ? "; else: " : "", why ? why : "");
    return ran;
}

static void against_the_oracle(void **state) {
    (void)state;
    const qb__device_info *list;
    size_t devices, count;
    const char *wanted = getenv("QB_TRIALS"), *only = getenv("QB_VARIANT");
    const int trials = wanted ? atoi(wanted) : 3;
    int part = 0, parts = 1;
    if (getenv("QB_PART")) sscanf(getenv("QB_PART"), "%d/%d", &part, &parts);
    const qb__bp_parallel_device_variant *const *all = qb__bp_parallel_device_variants(&count);
    assert_ok(qb__device_list(&list, &devices));
    if (!devices) skip();
    for (size_t d = 0; d < devices; d++) {
        qb__device *device;
        assert_ok(qb__device_open(list[d].spec, &device));
        for (size_t i = 0; i < count; i++)
            if ((int)i % parts == part && (all[i]->apis & list[d].api) &&
                (!only || strstr(all[i]->id, only)))
                check(device, all[i], trials);
        qb__device_close(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_unique),
                                       cmocka_unit_test(against_the_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
