/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "device/device.h"

/* "device_kernels": [{id, accuracy, interp, method, needs}], independent of the devices of this machine. */
qb_status qb__add_device_kernels(cJSON *root);
/* "kernels": [{id, accuracy, runs_here, why_not}] of one device. */
qb_status qb__add_kernels_of(cJSON *device, const qb__device_info *info);
