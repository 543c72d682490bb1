/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_BENCH_DEVICE_H
#define KERNELCHECK_BENCH_DEVICE_H

#include "bench/trial/trial.h"
#include "kernelcheck.h"

/* Runs a trial of the row's operation with these sizes and the parameters that the planner takes. The ceiling is the
 * forecast of the performance model; `problem` and `scalar` are not set. Returns false with a message if the trial
 * cannot be run. */
bool device_bench(const qb__variant *row, qb__device *device, const qb__trial_sizes *sizes, const options *o,
                  measurement *m);
/* {"PIXELS": 16, ...} */
text parameters_text(const qb__variant *row, const int *values);

#endif
