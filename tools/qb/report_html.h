/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "cli.h"

/* Called before the job is planned. If a report is asked for, the output's slab function collects slices and values in
 * c->page. */
qb_status html_report_begin(cli *c);
/* Called after the job: writes the page. `plan` and `report` are the job's JSON; geometry NULL: a parallel beam. */
qb_status html_report_write(cli *c, qb_scan *scan, const qb_geometry *geometry, const char *plan, const char *report);
void html_report_end(cli *c);

/* report_scan.c: adds the part of the report about the scan: "scan", "steps" (pictures after each step of the
 * preparation), "fields" (flats, darks, mask), "mask" (counts by kind), "axis" (mismatch for each column) and "sums"
 * (sum of the line integrals of each view). */
void report_scan_add(cJSON *root, const cli *c, qb_scan *scan, const qb_geometry *geometry, const cJSON *plan,
                     const cJSON *done);

/* report_drawing.c: adds "drawing", the geometry that qb info --preview draws, with the axis and the volume of this
 * job. */
void report_drawing_add(cJSON *root, qb_scan *scan, const qb_geometry *given, const cJSON *plan, const cJSON *done);

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
