/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LIVE_SOURCE_H
#define QB_VIEW_LIVE_SOURCE_H

#include "../cli.h"

/* Where the views of a running scan come from: a folder of TIFF images, an HDF5 file that grows, or ZeroMQ. */

typedef struct view_source view_source;

/* What a source tells. */
typedef struct view_listener {
    /* View `number`, counted from 0, in the type of the scan. */
    void (*view)(void *user, size_t number, qb_dtype dtype, const void *values);
    /* Means of flats and darks that come with the views; NULL: none. */
    void (*fields)(void *user, const float *flat, const float *dark);
    void (*unreadable)(void *user, size_t number);
    void (*restart)(void *user); /* the detector began anew: earlier views are of another scan */
    void *user;
} view_listener;

/* tcp://HOST:PORT and its like. */
bool view_is_stream(const char *source);

/* Opens once there is a view: QB_NOT_FOUND as long as there is none. */
qb_status view_source_open(cli *c, int *waits, view_source **source);
/* The scan of the first view or views: fields, pixels, kind of numbers. */
qb_scan *view_source_scan(const view_source *source);
/* Closes that scan. As long as it is open, HDF5 shows the file as it was. `views` of one scan; 0: it goes on and on. */
void view_source_begin(view_source *source, size_t views);
/* Tells what has come; then waits for more, at most `milliseconds`. */
void view_source_look(view_source *source, const view_listener *listener, int milliseconds);
void view_source_close(view_source *source); /* NULL-safe */

#endif
