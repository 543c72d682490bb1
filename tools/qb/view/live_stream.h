/* SPDX-License-Identifier: MIT */
#pragma once

#include "live_source.h"

/* Views that come over ZeroMQ, in messages of two parts, as recastx sends them. The first part is a JSON header
 * {"frame": 7, "shape": [rows, columns], "image_attributes": {"scan_index": 2}}; scan_index is 0 for a dark, 1 for a
 * flat, 2 for a view. The second part is the pixels, uint16 unless the header has a "type". */
typedef struct view_stream view_stream;

/* Connects to the source. */
qb_status view_stream_open(cli *c, view_stream **stream);
/* Waits for the first view, until the command is interrupted (QB_CANCELLED). A subscriber waits for flats, too, where
 * the values are counts. *waits says what is missing. Makes a scan of that view, with the flats and darks that came
 * before it; the caller closes it. */
qb_status view_stream_scan(view_stream *stream, int *waits, qb_scan **scan);
/* Gives the rows and columns of a frame. */
void view_stream_frame(const view_stream *stream, size_t *rows, size_t *columns);
void view_stream_begin(view_stream *stream, size_t views);
/* Passes on what comes within this time. */
void view_stream_look(view_stream *stream, const view_listener *listener, int milliseconds);
void view_stream_close(view_stream *stream); /* NULL-safe */
