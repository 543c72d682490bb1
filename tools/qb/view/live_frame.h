/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/quickbeam.h"

/* The header of a ZeroMQ message, which describes its frame. */

/* Pixels in memory that the holder releases. They are handed on without a copy. */
typedef struct view_pixels {
    const void *values;
    void *owner;
    void (*release)(void *owner);
} view_pixels;

static inline void view_pixels_release(view_pixels *pixels) {
    if (pixels->release) pixels->release(pixels->owner);
    *pixels = (view_pixels){0};
}

/* Takes the pixels over: the one who had them holds none any longer. */
static inline view_pixels view_pixels_take(view_pixels *pixels) {
    const view_pixels taken = *pixels;
    *pixels = (view_pixels){0};
    return taken;
}

typedef enum view_kind { VIEW_DARK, VIEW_FLAT, VIEW_OF_SCAN, VIEW_KINDS } view_kind;

typedef struct view_frame {
    view_kind kind;
    size_t number, rows, columns;
    qb_dtype dtype;
    view_pixels pixels;
} view_frame;

/* Reads everything but the pixels; false where the text is no such header. */
bool view_frame_read(const char *text, size_t size, view_frame *frame);
