/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/formats.h"
#include "io/vendor/frame_head.h"

/* A kind of such files, identified by its extension. */
typedef struct qb__frame_kind {
    const char *format, *extension; /* ".xim" */
    qb_status (*head)(const char *path, int fd, uint64_t size, qb__frame_head *head);
} qb__frame_kind;

/* Open a series of files of one kind, or one file. Files without an image are left out. *heads, one per image, is
 * released by the caller. */
qb_status qb__frame_files_open(const char *path, const qb__frame_kind *kinds, size_t count, qb__frame_head **heads,
                               qb__source **source);
/* Put angles, pixel size and offsets into the parts, whose source is open: the mean offset is the detector's position,
 * the differences of single views become their shifts. */
qb_status qb__frame_files_parts(const qb__frame_head *heads, qb__scan_parts *parts);
