/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/status.h"

/* After fork() the child has only the thread that called it, and a copy of all memory. A lock that another thread held,
 * here or in HDF5, FFTW or a driver, is never released in the child. Therefore running calls of the library are
 * counted. A child that was forked while other threads were in a call refuses every further call, because it would
 * hang. */

/* Put this first into a public function that takes locks or starts threads: it counts the call until the function
 * returns. */
#define QB__CALL()                                                                                                     \
    __attribute__((cleanup(qb__call_end))) int call_ = qb__call_begin();                                               \
    if (call_ < 0) return qb__call_refused()

int qb__call_begin(void); /* < 0: refused; then qb__call_end does nothing */
void qb__call_end(int *call);
qb_status qb__call_refused(void);
/* Number of forks among this process's ancestors since the library was first used. Threads of older objects do not
 * exist in this process. */
unsigned qb__forks(void);
