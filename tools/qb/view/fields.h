/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>

#include "plane.h"

/* The flat, the dark and the mask of a scan, as stacks: the same image for each view. */
typedef struct view_fields view_fields;

enum { VIEW_FIELDS = 3 };

/* Opens the fields of a scan. NULL where the file is no scan whose views have the rows and columns of `views`. */
view_fields *view_fields_open(const char *path, const char *dataset, const qb_array_info *views);
void view_fields_close(view_fields *fields); /* NULL-safe */
/* The stack of one field; NULL: there is no such field. The fields are read at the first call. Several threads may call
 * at once. */
const view_stack *view_fields_stack(view_fields *fields, size_t which);
/* Adds "fields": [{"name", "which", ...}], each with its levels. */
void view_fields_add(cJSON *root, view_fields *fields, size_t first);
