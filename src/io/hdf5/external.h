/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_EXTERNAL_H
#define QB_IO_EXTERNAL_H

#include "quickbeam/status.h"

/* May `header`, a file, have its data in `file`? In its own folder and below it, elsewhere after qb_external_allow()
 * only. What is called so in the folder may be a link: somebody made it there. QB_BAD_INPUT, and what opening a folder
 * gives. */
qb_status qb__external_check(const char *header, const char *file);

#endif
