/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LIVE_STREAM_H
#define QB_VIEW_LIVE_STREAM_H

#include "live_source.h"

/* Views that come over ZeroMQ, in messages of two parts as recastx has them: a JSON header {"frame": 7, "shape": [rows,
 * columns], "image_attributes": {"scan_index": 2}} (0 a dark, 1 a flat, 2 a view) and the pixels, uint16 unless "type" says
 * something else. */
typedef struct view_stream view_stream;

/* Waits for the first view, until the command is interrupted (QB_CANCELLED); *waits becomes 1 meanwhile. */
qb_status view_stream_open(cli *c, int *waits, view_stream **stream);
/* A scan of that view, with the flats and darks that came before; to be closed. */
qb_status view_stream_scan(view_stream *stream, qb_scan **scan);
/* Rows and columns of a frame. */
void view_stream_frame(const view_stream *stream, size_t *rows, size_t *columns);
void view_stream_begin(view_stream *stream, size_t views);
/* Tells what comes within that time. */
void view_stream_look(view_stream *stream, const view_listener *listener, int milliseconds);
void view_stream_close(view_stream *stream); /* NULL-safe */

#endif
