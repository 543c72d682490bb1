/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_RATES_H
#define QB_PLANNER_RATES_H

#include <stdbool.h>

#include "base/json.h"
#include "base/status.h"
#include "base/variant.h"

#include "quickbeam/env.h"

/* What a thread of this machine does in a second of its own time while all threads work, as qb_machine_measure
 * (bench/machine/machine.c) found it once and keeps it in the tuning file: {"machine": the processor, "cpus": how many,
 * "rates": {name: number}}. A kernel's rate, its updates, is called like the kernel; the others: */
#define QB__RATE_FILTER "filter"           /* values of padded rows: prepared, filtered, packed */
#define QB__RATE_FILTER_CONE "filter_cone" /* values of rows as wide as they were measured, likewise */
/* Of qb mbir: updates by a matrix that is computed as it goes, kept in 8 bits, kept as floats; updates that weights add to
 * any; 16 voxels' priors, their cost included; updates of a start from filtered back-projection; entries kept. */
#define QB__RATE_ICD_FLY "icd_fly"
#define QB__RATE_ICD_BYTES "icd_bytes"
#define QB__RATE_ICD_FLOATS "icd_floats"
#define QB__RATE_ICD_WEIGHTS "icd_weights"
#define QB__RATE_ICD_PRIOR "icd_prior"
#define QB__RATE_ICD_START "icd_start"
#define QB__RATE_ICD_MATRIX "icd_matrix"
/* Of one slice by SuperVoxels: updates, counted in entries of a view rounded up to fours; priors of voxels. */
#define QB__RATE_ICD_SINGLE "icd_single"
#define QB__RATE_ICD_SINGLE_PRIOR "icd_single_prior"
#define QB__RATE_CONVERT "convert" /* values of the output */
#define QB__RATE_AXIS "axis"       /* updates of trial slices (qb__center_work) */
#define QB__RATE_SORT "rings_sort" /* values of the scan */
#define QB__RATE_WAVELET "rings_wavelet"

/* `listed` where nothing was measured. */
double qb__rate(const char *name, double listed);
/* Updates a second of a kernel on the CPU: its own rate; else what is listed, times what that is wrong by for
 * another kernel of the same operation. */
double qb__speed(const qb__variant *variant);
bool qb__rates_known(void);
/* {name: number}: replaces what was known of this machine. QB_OK, too, where there is no file to keep it in. */
qb_status qb__rates_store(const cJSON *rates, const qb_env *env);

#endif
