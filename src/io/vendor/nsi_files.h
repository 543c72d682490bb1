/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"
#include "io/scan/image.h"

/* Counts the files in a folder, or `below` it in its folders, whose names begin and end like that; `end` NULL: whose
 * name is `begin`. `found`: the path of one of them; "" if there is none. */
size_t qb__nsi_find(const char *folder, bool below, const char *begin, const char *end, char *found, size_t size);
/* Reads the list of defective pixels of a scan of NSI, NAME.defect in a folder below `folder`, into parts->mask. `image`:
 * how the stored images, whose pixels are listed, are changed. A list that cannot be used is noted. */
qb_status qb__nsi_defects(const char *folder, const qb__image *image, bool cropped, qb__scan_parts *parts);
