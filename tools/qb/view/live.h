/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon.h"
#include "recon/fbp/fbp_planes.h"

/* A scan that is being taken: its views are read as they come and kept as line integrals. */

typedef struct view_live view_live;

/* Waits for the first view, until the command is interrupted (QB_CANCELLED). *waits says what is missing.
 * The angles are those of c's options or of an HDF5 file. */
qb_status view_live_open(cli *c, bool cone, int *waits, view_live **live);
void view_live_close(view_live *live); /* NULL-safe */

/* Makes a scan of the views that have come; it borrows their memory. Where the sample turns on, a view may be replaced
 * while it is read: then it is the old or the new view, and the next picture is right. */
qb_status view_live_scan(view_live *live, qb_scan **scan);
/* Such a scan for several jobs at a time: it is made again where views have come, since a new scan is looked at. */
typedef struct view_taken {
    qb_scan *scan;
    unsigned long version;
    int users;
} view_taken;
qb_status view_live_take(view_live *live, view_taken **taken);
void view_live_give(view_taken *taken); /* NULL-safe */
/* Gives the same line integrals to a device. *stamps becomes a copy of the stamps, which the caller frees. */
qb_status view_live_lines(view_live *live, size_t **stamps, qb_tool_lines *lines);
/* A number that rises with each view. */
unsigned long view_live_version(view_live *live);
/* {"seen", "received", "expected", "age", "span", "late", "dropped", "unreadable", "restarts", "no_darks", "version"} */
cJSON *view_live_json(view_live *live);
