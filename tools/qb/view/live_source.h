/* SPDX-License-Identifier: MIT */
#pragma once

#include "../cli.h"
#include "live_frame.h"

/* Where the views of a running scan come from: a folder of TIFF images, an HDF5 file that grows, or ZeroMQ. */

typedef struct view_source view_source;

/* The functions that a source calls. */
typedef struct view_listener {
    /* View `number`, counted from 0, in the data type of the scan. The function may take the pixels over; the source
     * releases what it leaves. */
    void (*view)(void *user, size_t number, qb_dtype dtype, view_pixels *pixels);
    /* Means of the flats and darks that came with the views; NULL: none. */
    void (*fields)(void *user, const float *flat, const float *dark);
    void (*unreadable)(void *user, size_t number);
    void (*restart)(void *user); /* the detector began a new scan */
    void *user;
} view_listener;

/* Is the source an address of ZeroMQ, such as tcp://HOST:PORT? */
bool view_is_stream(const char *source);

/* What a source waits for; 0: for nothing. */
enum { VIEW_WAITS_VIEWS = 1, VIEW_WAITS_FLATS };

/* Opens the source once it has a view; QB_NOT_FOUND as long as there is no view. *waits says what is missing. */
qb_status view_source_open(cli *c, int *waits, view_source **source);
/* The scan of the first view or views: fields, pixels, kind of values. */
qb_scan *view_source_scan(const view_source *source);
/* Closes that scan: as long as it is open, HDF5 shows the file as it was. `views` is the number of views of one scan;
 * 0: the scan has no end. */
void view_source_begin(view_source *source, size_t views);
/* Passes on what has come, and then waits for more, at most `milliseconds`. */
void view_source_look(view_source *source, const view_listener *listener, int milliseconds);
void view_source_close(view_source *source); /* NULL-safe */

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
