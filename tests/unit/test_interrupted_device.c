/* SPDX-License-Identifier: MIT */
/* Every method on every device is stopped at many moments: see test_interrupted.c. */
#define MOMENTS 3 /* a device may take seconds to start */
#include "interrupted.h"
#include "on_devices.h"

static const char *spec;

static const job_case cases[] = {
    {"mbir, slices of their own",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"slices", "0:17"},
      {"neighbours", "1,0.7,0"},
      {"equits", "2"},
      {"stop", "0"},
      {"center", "11.5"},
      {"deterministic", "true"}},
     true},
    {"mbir, one stack",
     "s.npy",
     NULL,
     mbir,
     qb_mbir_params,
     {{"slices", "0:17"},
      {"neighbours", "1,0.7,1"},
      {"equits", "2"},
      {"stop", "0"},
      {"center", "11.5"},
      {"deterministic", "true"}},
     true},
    {"fbp", "s.npy", NULL, fbp, qb_fbp_params, {{"center", "11.5"}}, true},
    {"fdk", "cone.npy", "cone.json", fdk, qb_fdk_params, {{NULL, NULL}}, true},
    {"sirt", "cone.npy", "cone.json", sirt, qb_sirt_params, {{"iterations", "3"}}, false},
};

static void methods(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) interrupt(&cases[i], spec);
}

static int group(const char *of) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(methods, make_scans, drop_folder)};
    spec = of;
    return cmocka_run_group_tests_name(of, tests, NULL, NULL);
}

int main(void) { return on_devices(NULL, group); }
