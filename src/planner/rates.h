/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "base/status.h"
#include "base/variant.h"

#include "quickbeam/env.h"

/* Rates of one thread of this machine while all threads work, measured once by qb_machine_measure
 * (bench/machine/machine.c) and kept in the tuning file: {"machine": the processor, "cpus": how many, "rates": {name:
 * number}}. The rate of a kernel, in updates, has the name of the kernel; the others: */
#define QB__RATE_FILTER "filter"           /* values of padded rows: prepared, filtered, packed */
#define QB__RATE_FILTER_CONE "filter_cone" /* values of a cone beam's rows, not padded: prepared, filtered, packed */
/* qb mbir: updates with a matrix that is computed on the fly, kept in 8 bits, kept as floats; additional time of
 * weights; 16 voxels' priors with their cost; updates of the start by filtered back-projection; kept entries. */
#define QB__RATE_ICD_FLY "icd_fly"
#define QB__RATE_ICD_BYTES "icd_bytes"
#define QB__RATE_ICD_FLOATS "icd_floats"
#define QB__RATE_ICD_WEIGHTS "icd_weights"
#define QB__RATE_ICD_PRIOR "icd_prior"
#define QB__RATE_ICD_START "icd_start"
#define QB__RATE_ICD_MATRIX "icd_matrix"
/* Single slice by SuperVoxels: updates, with the entries of a view rounded up to fours; priors of voxels. */
#define QB__RATE_ICD_SINGLE "icd_single"
#define QB__RATE_ICD_SINGLE_PRIOR "icd_single_prior"
#define QB__RATE_CONVERT "convert" /* values of the output */
#define QB__RATE_AXIS "axis"       /* updates of trial slices (qb__center_work) */
#define QB__RATE_SORT "rings_sort" /* values of the scan */
#define QB__RATE_WAVELET "rings_wavelet"

/* `listed` if nothing was measured. */
double qb__rate(const char *name, double listed);
/* Updates per second of a kernel on the CPU: its measured rate; else its built-in rate, corrected by the ratio of a
 * measured kernel of the same operation. */
double qb__speed(const qb__variant *variant);
bool qb__rates_known(void);
/* {name: number}: replaces the stored rates of this machine. QB_OK also if there is no tuning file. */
qb_status qb__rates_store(const cJSON *rates, const qb_env *env);
