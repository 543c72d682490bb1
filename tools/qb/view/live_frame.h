/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LIVE_FRAME_H
#define QB_VIEW_LIVE_FRAME_H

#include "quickbeam/quickbeam.h"

/* The header of a ZeroMQ message, which describes its frame. */

typedef enum view_kind { VIEW_DARK, VIEW_FLAT, VIEW_OF_SCAN, VIEW_KINDS } view_kind;

typedef struct view_frame {
    view_kind kind;
    size_t number, rows, columns;
    qb_dtype dtype;
    const void *pixels;
} view_frame;

/* Reads everything but the pixels; false where the text is no such header. */
bool view_frame_read(const char *text, size_t size, view_frame *frame);

#endif
