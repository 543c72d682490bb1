/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/vendor/frame_files.h"

/* A .xim file of Varian: its image, packed or not, and the angle, pixel size and detector's position from its
 * properties. */
qb_status qb__xim_head(const char *path, int fd, uint64_t size, qb__frame_head *head);
