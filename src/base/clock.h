/* SPDX-License-Identifier: MIT */
#pragma once

/* Seconds: monotonic time; processor time of this thread; processor time of the process. */
double qb__now(void);
double qb__now_thread(void);
double qb__now_process(void);
