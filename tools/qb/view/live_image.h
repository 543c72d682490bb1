/* SPDX-License-Identifier: MIT */
#pragma once

#include "live_source.h"

/* Rotates, flips, crops and bins frames, as the options of the scan say. */
typedef struct view_changer {
    const qb_scan_options *options;
    qb_quantity quantity;
    size_t rows, columns; /* size of a frame as it comes */
    const view_listener *to;
} view_changer;

bool view_changes_images(const qb_scan_options *options);
/* A listener that changes the frames and passes everything on to changer->to. */
view_listener view_changer_listener(view_changer *changer);
