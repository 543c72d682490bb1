/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* report_image.c: a picture of the report. */
typedef struct image {
    const char *title, *units, *axes[2];
    size_t wide, high;
    double mm;  /* side of a pixel in mm; 0: unknown, or different along the two axes */
    bool up;    /* the first row is drawn at the bottom */
    bool kinds; /* values are kinds of pixels, not amounts */
    /* Most pixels along a side; 0: 768. Larger images are reduced by means of blocks, or by maxima for kinds */
    size_t side;
} image;

/* Appends values[high][wide] to a list. Does nothing where `values` is NULL or memory runs out. */
void add_image(cJSON *list, const float *values, const image *m);
