/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_BENCH_DEVICE_H
#define KERNELCHECK_BENCH_DEVICE_H

#include "bench/trial/trial.h"
#include "kernelcheck.h"

/* A trial of the row's operation of these sizes, with the parameters that the planner takes. The ceiling is what the
 * performance model predicts; problem and scalar are left open. False, having said why, when it cannot be. */
bool device_bench(const qb__variant *row, qb__device *device, const qb__trial_sizes *sizes, const options *o,
                  measurement *m);
/* {"PIXELS": 16, ...} */
text parameters_text(const qb__variant *row, const int *values);

#endif
