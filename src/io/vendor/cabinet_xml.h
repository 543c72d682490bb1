/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_CABINET_XML_H
#define QB_IO_CABINET_XML_H

#include "io/vendor/vendor.h"

/* A number in a scanner's XML: where it goes in the caller's struct, as qb__ini_number; NAN when an optional one is not
 * there. */
typedef qb__ini_number qb__tag_entry;

/* QB_BAD_INPUT with the tag and its text for what is missing or out of range. */
qb_status qb__tag_entries(const char *path, const char *text, const qb__tag_entry *entries, size_t count, void *out);
/* Opens the images in a folder beside the settings: TIFF, or raw ones of 16 bits of the stated size. */
qb_status qb__cabinet_images(const qb__vendor *v, const char *folder, qb__scan_parts *parts);

/* Scans by the text of their settings. */
qb_status qb__diondo_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__yxlon_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts);

#endif
