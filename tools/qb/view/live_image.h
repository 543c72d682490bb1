/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LIVE_IMAGE_H
#define QB_VIEW_LIVE_IMAGE_H

#include "live_source.h"

/* Turned, mirrored, cut and binned frames, as the options of the scan have it. */
typedef struct view_changer {
    const qb_scan_options *options;
    qb_quantity quantity;
    size_t rows, columns; /* of a frame as it comes */
    const view_listener *to;
} view_changer;

bool view_changes_images(const qb_scan_options *options);
/* Passes on to changer->to what it is told, changed. */
view_listener view_changer_listener(view_changer *changer);

#endif
