/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_FORK_H
#define QB_BASE_FORK_H

#include "quickbeam/status.h"

/* After fork() the child has the one thread that called it, and all memory as it was at that moment: a lock that another thread
 * held, here or in HDF5, FFTW or a driver, stays locked for ever. So calls of the library are counted while they last, and a
 * child that was made while other threads were in one refuses every further call in words, where it would hang. */

/* The first thing in a public function that takes locks or starts threads: counts it until it returns, by whatever way. */
#define QB__CALL()                                                                                                     \
    __attribute__((cleanup(qb__call_end))) int call_ = qb__call_begin();                                               \
    if (call_ < 0) return qb__call_refused()

int qb__call_begin(void); /* < 0: refused; qb__call_end then does nothing */
void qb__call_end(int *call);
qb_status qb__call_refused(void);
/* How many times this process's ancestors forked since the library was first used: threads of objects that are older are gone. */
unsigned qb__forks(void);

#endif
