/* SPDX-License-Identifier: MIT */
#ifndef QB_REPORT_IMAGE_H
#define QB_REPORT_IMAGE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* report_image.c: a picture of the report. */
typedef struct image {
    const char *title, *units, *axes[2];
    size_t wide, high;
    double mm;   /* of a pixel; 0: not known, or another along the other axis */
    bool up;     /* the first row is at the bottom */
    bool kinds;  /* values are kinds of pixels, not amounts */
    size_t side; /* most pixels of a side; 0: 768. Larger images are means of blocks */
} image;

/* Appends values[high][wide] to a list; nothing where `values` is NULL or memory is out. */
void add_image(cJSON *list, const float *values, const image *m);

#endif
