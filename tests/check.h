/* SPDX-License-Identifier: MIT */
/* What every cmocka test needs, in the order that cmocka wants it. */
#ifndef QB_TESTS_CHECK_H
#define QB_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quickbeam/status.h"

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        qb_status status_ = (call);                                                                                    \
        if (status_ != QB_OK) fail_msg("%s: %s: %s", #call, qb_status_text(status_), qb_detail());                     \
    } while (0)
#define assert_status(call, expected) assert_int_equal((int)(call), (int)(expected))
/* Written so that NaN fails. */
#define assert_close(a, b, tolerance)                                                                                  \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (tolerance))) fail_msg("%s = %.9g, expected %.9g", #a, a_, b_);                         \
    } while (0)

#endif
