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
