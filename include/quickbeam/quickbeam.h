/* SPDX-License-Identifier: MIT */
/* quickbeam: CT reconstruction at the speed of the hardware. Includes everything. */
#ifndef QUICKBEAM_H
#define QUICKBEAM_H

#include "quickbeam/array.h"
#include "quickbeam/bench.h"
#include "quickbeam/compare.h"
#include "quickbeam/device.h"
#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/io.h"
#include "quickbeam/param.h"
#include "quickbeam/project.h"
#include "quickbeam/recon.h"
#include "quickbeam/scan.h"
#include "quickbeam/simulate.h"
#include "quickbeam/status.h"

#endif
