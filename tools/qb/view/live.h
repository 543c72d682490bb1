/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LIVE_H
#define QB_VIEW_LIVE_H

#include "recon.h"
#include "recon/fbp/fbp_planes.h"

/* A scan that is being taken: views are read as they come, and kept as line integrals. */

typedef struct view_live view_live;

/* Waits for the first view, until the command is interrupted (QB_CANCELLED); *waits becomes 1 where there is none yet. Angles of c's options,
 * or of an HDF5 file. */
qb_status view_live_open(cli *c, bool cone, int *waits, view_live **live);
void view_live_close(view_live *live); /* NULL-safe */

/* A scan of the views that are there; borrows their memory. A view that a turning sample replaces meanwhile is of the one time or the
 * other: the next picture has it right. */
qb_status view_live_scan(view_live *live, qb_scan **scan);
/* The same lines for a device; the stamps, which are a copy, become *stamps, to be freed in the end. */
qb_status view_live_lines(view_live *live, size_t **stamps, qb_tool_lines *lines);
/* Rises with each view. */
unsigned long view_live_version(view_live *live);
/* {"seen", "received", "expected", "age", "span", "late", "dropped", "unreadable", "restarts", "version"} */
cJSON *view_live_json(view_live *live);

#endif
