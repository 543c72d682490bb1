/* SPDX-License-Identifier: MIT */
#include "quickbeam/kernel.h"

const char *qb_accuracy_name(qb_accuracy accuracy) {
    static const char *const names[] = {"high", "normal", "fast"};
    return names[accuracy];
}

const char *qb_interp_name(qb_interp interp) {
    static const char *const names[] = {"linear", "nearest", "oversample", "auto"};
    return names[interp];
}
