/* SPDX-License-Identifier: MIT */
/* Random cases. The seed is QB_SEED, or else the clock. It is printed, so that a failure can be repeated. With
 * QB_QUICK=1 a tenth of the trials are made. */
#ifndef QB_TESTS_DICE_H
#define QB_TESTS_DICE_H

#include <time.h>

#include "base/random.h"
#include "check.h"

static uint64_t dice_seed;
static qb__random dice;

/* The group's setup: cmocka_run_group_tests(tests, throw_dice, NULL). */
static int throw_dice(void **state) {
    (void)state;
    const char *given = getenv("QB_SEED");
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    dice_seed =
        given && *given ? strtoull(given, NULL, 0) : (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    dice = qb__random_stream(dice_seed, 0);
    printf("QB_SEED=%llu\n", (unsigned long long)dice_seed);
    fflush(stdout);
    return 0;
}

static inline double uniform(double low, double high) { return low + (high - low) * qb__random_unit(&dice); }

/* The number of trials, at least one. */
static inline size_t trials(size_t many) {
    const char *quick = getenv("QB_QUICK");
    return quick && *quick == '1' && many > 10 ? many / 10 : many;
}

#endif
