/* SPDX-License-Identifier: MIT */
/* quickbeam: CT reconstruction at the speed of the hardware. Includes everything, in the order in
 * which it is wanted; examples/ has a program for each level. */
#ifndef QUICKBEAM_H
#define QUICKBEAM_H

/* What all calls return, and what they may use. */
#include "quickbeam/env.h"
#include "quickbeam/status.h"
#include "quickbeam/version.h"

/* 1. One call, from array to array: qb_fbp, qb_fdk, qb_project. */
#include "quickbeam/simple.h"
#include "quickbeam/tensor.h"

/* 2. Plan and run, on files and arrays: scans, geometries, options, jobs, output. */
#include "quickbeam/array.h"
#include "quickbeam/compare.h"
#include "quickbeam/geometry.h"
#include "quickbeam/io.h"
#include "quickbeam/kernel.h"
#include "quickbeam/param.h"
#include "quickbeam/ranks.h"
#include "quickbeam/recon.h"
#include "quickbeam/scan.h"
#include "quickbeam/simulate.h"

/* 3. Operators and solvers, for methods of one's own. */
#include "quickbeam/descent.h"
#include "quickbeam/project.h"

/* 4. Devices: what there is, how fast, tuned. */
#include "quickbeam/device.h"

#endif
