/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_XIM_H
#define QB_IO_XIM_H

#include "io/vendor/frame_files.h"

/* A .xim file of Varian: its image, packed or not, and the angle, pixel size and detector's position from its
 * properties. */
qb_status qb__xim_head(const char *path, int fd, uint64_t size, qb__frame_head *head);

#endif
