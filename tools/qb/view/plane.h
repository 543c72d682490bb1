/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>

#include "quickbeam/quickbeam.h"

/* A stack of images of which any part can be read. */
typedef struct view_stack {
    const qb_array_info *info;
    /* Reads a part, as qb_volume_read() does. */
    qb_status (*read)(void *user, const size_t first[3], const size_t count[3], const size_t step[3], float *out);
    void *user;
} view_stack;

/* How the slices of a thick plane are combined. */
typedef enum view_how { VIEW_MEAN, VIEW_MAX, VIEW_MIN, VIEW_HOWS } view_how;

/* A plane across one axis of a stack: 0 images (z), 1 rows (y), 2 columns (x). Its lines follow the first of the other
 * two axes. */
typedef struct view_plane {
    size_t axis, index, thick; /* the planes index to index + thick - 1 are combined */
    view_how how;
    size_t first[2], count[2]; /* first line and point in the stack; number of lines and points of the result */
    size_t step;               /* each value of the result is the mean of step x step values of the plane */
    bool draft;                /* the plane may be less exact, so that it comes soon */
} view_plane;

enum { VIEW_VALUES_MOST = 1 << 24, VIEW_WORDS = 300 };

/* Checks a plane. QB_BAD_ARGUMENT, with the reason in `words`, where the plane reaches beyond the stack or has too many
 * values. */
qb_status view_plane_check(const qb_array_info *info, const view_plane *plane, char words[VIEW_WORDS]);
/* Reads a checked plane into out[count[0]][count[1]]; NaN where nothing was measured. To read at most 1 GB (64 MB for a
 * draft), means are taken over fewer lines; where that is not enough, lines are repeated. */
qb_status view_plane_read(const view_stack *stack, const view_plane *plane, float *out);

/* Adds the histogram, percentiles and the share of values that were not measured, from at most 24 rows of 24 images. */
void view_levels_add(cJSON *about, const view_stack *stack);
/* Adds the same for `looked` given values, whose order changes. */
void view_levels_of(cJSON *about, float *values, size_t looked);

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

/* A plane in any direction, interpolated linearly between voxels. Vectors are z, y, x, in voxels. */
typedef struct view_oblique {
    double at[3];             /* position of the first point */
    double down[3], right[3]; /* steps to the next line and to the next point */
    size_t count[2];          /* number of lines, and of points in a line */
} view_oblique;

/* Reads "at=z,y,x&down=z,y,x&right=z,y,x&count=lines,points"; false where the query has no such plane. */
bool view_oblique_parse(const char *query, view_oblique *oblique);
/* Reads the plane into out[count[0]][count[1]]; NaN outside the stack. */
qb_status view_oblique_read(const view_stack *stack, const view_oblique *oblique, float *out);
