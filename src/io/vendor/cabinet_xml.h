/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/vendor/vendor.h"

/* A number in a scanner's XML file: its tag, its offset in the caller's struct and its range, as in qb__ini_number. An
 * optional number that is missing becomes NAN. */
typedef qb__ini_number qb__tag_entry;

/* Reads the numbers into *out. QB_BAD_INPUT with the tag and its text if a number is missing or out of range. */
qb_status qb__tag_entries(const char *path, const char *text, const qb__tag_entry *entries, size_t count, void *out);
/* Opens the images in a folder next to the settings: TIFF, or raw files with 16 bits per pixel of the stated size. */
qb_status qb__cabinet_images(const qb__vendor *v, const char *folder, qb__scan_parts *parts);

/* Fill in the parts of a scan from the text of its settings file. */
qb_status qb__diondo_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__yxlon_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts);
