/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_CASES_H
#define KERNELCHECK_CASES_H

#include "kernelcheck.h"

/* Both end with NULL. */
extern const kernel_case *const cases[];
extern const kernel_table *const tables[];

#endif
