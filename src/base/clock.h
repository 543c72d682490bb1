/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_CLOCK_H
#define QB_BASE_CLOCK_H

/* Seconds: monotonic time; processor time of this thread; processor time of the process. */
double qb__now(void);
double qb__now_thread(void);
double qb__now_process(void);

#endif
