/* SPDX-License-Identifier: MIT */
#include "base/trust.h"

#include <unistd.h>

const char *qb__distrust(const struct stat *about) {
    if (about->st_uid != geteuid()) return "it belongs to another user; give another place";
    if (about->st_mode & (S_IWGRP | S_IWOTH)) return "others may write to it; chmod go-w mends that";
    return NULL;
}
