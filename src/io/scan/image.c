/* SPDX-License-Identifier: MIT */
/* --rotate, --flip, --crop and --bin: finds the stored pixels that make a pixel. */
#include "io/scan/image.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

enum { MOST_BIN = 64 };

bool qb__image_wanted(const qb_scan_options *o) {
    return (o->bin && *o->bin) || (o->crop && *o->crop) || o->flip || o->rotate;
}

static qb_status parse_bin(const char *text, qb__image *image) {
    double given[2] = {1, 1};
    const char *end = "";
    image->bin_u = image->bin_v = 1;
    if (!text || !*text) return QB_OK;
    const int count = qb__read_numbers(text, 'x', 2, given, &end);
    if (count == 1) given[1] = given[0];
    for (int i = 0; i < 2; i++)
        if (count < 1 || *end || !(given[i] >= 1 && given[i] <= MOST_BIN) || given[i] != (double)(size_t)given[i])
            return qb__fail(QB_BAD_ARGUMENT,
                            "--bin %s: give N or NUxNV, whole numbers of columns and rows from 1 to %d", text,
                            MOST_BIN);
    image->bin_u = (size_t)given[0], image->bin_v = (size_t)given[1];
    return QB_OK;
}

/* C0:C1,R0:R1 of the rotated image. */
static qb_status parse_crop(const char *text, qb__image *image) {
    char columns[64] = "";
    size_t end[2] = {image->whole_rows, image->whole_columns}, step[2] = {1, 1};
    const char *rows = text ? strchr(text, ',') : NULL;
    qb_status status = QB_OK;
    image->first_row = image->first_column = 0;
    if (text && *text) {
        const size_t length = rows ? (size_t)(rows - text) : strlen(text);
        if (length >= sizeof columns) return qb__fail(QB_BAD_ARGUMENT, "--crop %.60s...: give C0:C1,R0:R1", text);
        memcpy(columns, text, length);
        status =
            qb_range_parse(columns, "--crop: columns", image->whole_columns, &image->first_column, &end[1], &step[1]);
        if (status == QB_OK && rows)
            status = qb_range_parse(rows + 1, "--crop: rows", image->whole_rows, &image->first_row, &end[0], &step[0]);
    }
    if (status == QB_OK && (step[0] != 1 || step[1] != 1))
        status = qb__fail(QB_BAD_ARGUMENT, "--crop %s has a step: leave it out, or give --bin", text);
    image->rows = end[0] - image->first_row, image->columns = end[1] - image->first_column;
    return status;
}

qb_status qb__image_parse(const qb_scan_options *options, size_t rows, size_t columns, qb__image *image) {
    qb_status status;
    *image = (qb__image){.stored_rows = rows, .stored_columns = columns, .turn = (int)options->rotate};
    image->flip_u = options->flip == QB_FLIP_U || options->flip == QB_FLIP_UV;
    image->flip_v = options->flip == QB_FLIP_V || options->flip == QB_FLIP_UV;
    image->whole_rows = image->turn % 2 ? columns : rows;
    image->whole_columns = image->turn % 2 ? rows : columns;
    QB__TRY(parse_bin(options->bin, image));
    QB__TRY(parse_crop(options->crop, image));
    if (image->columns < image->bin_u || image->rows < image->bin_v)
        status = qb__fail(QB_BAD_ARGUMENT, "--bin %s of %zu columns and %zu rows leaves none: give less", options->bin,
                          image->columns, image->rows);
    image->rows /= image->bin_v, image->columns /= image->bin_u;
out:
    return status;
}

/* The stored pixel of a pixel of the rotated image. */
static void stored_at(const qb__image *image, size_t row, size_t column, ptrdiff_t at[2]) {
    const ptrdiff_t r = (ptrdiff_t)(image->flip_v ? image->whole_rows - 1 - row : row),
                    c = (ptrdiff_t)(image->flip_u ? image->whole_columns - 1 - column : column),
                    last_row = (ptrdiff_t)image->stored_rows - 1, last_column = (ptrdiff_t)image->stored_columns - 1;
    const ptrdiff_t turned[4][2] = {{r, c}, {last_row - c, r}, {last_row - r, last_column - c}, {c, last_column - r}};
    at[0] = turned[image->turn][0], at[1] = turned[image->turn][1];
}

qb__image_map qb__image_map_of(const qb__image *image) {
    ptrdiff_t origin[2], down[2] = {0, 0}, right[2] = {0, 0};
    stored_at(image, 0, 0, origin);
    if (image->whole_rows > 1) stored_at(image, 1, 0, down), down[0] -= origin[0], down[1] -= origin[1];
    if (image->whole_columns > 1) stored_at(image, 0, 1, right), right[0] -= origin[0], right[1] -= origin[1];
    return (qb__image_map){{origin[0], down[0], right[0]}, {origin[1], down[1], right[1]}};
}

void qb__image_mask(const qb__image *image, const unsigned char *stored, unsigned char *mask) {
    const qb__image_map map = qb__image_map_of(image);
    memset(mask, 0, image->rows * image->columns);
    for (size_t r = 0; r < image->rows * image->bin_v; r++)
        for (size_t c = 0; c < image->columns * image->bin_u; c++) {
            const ptrdiff_t row = (ptrdiff_t)(image->first_row + r), column = (ptrdiff_t)(image->first_column + c),
                            y = map.row[0] + map.row[1] * row + map.row[2] * column,
                            x = map.column[0] + map.column[1] * row + map.column[2] * column;
            const unsigned char value = stored[(size_t)y * image->stored_columns + (size_t)x];
            unsigned char *to = &mask[r / image->bin_v * image->columns + c / image->bin_u];
            if (value > *to) *to = value;
        }
}

void qb__image_text(const qb__image *image, char *text, size_t size) {
    static const char *const mirrored[] = {"", "columns in reverse", "rows in reverse", "columns and rows in reverse"};
    const int flips = image->flip_u + 2 * image->flip_v;
    const size_t rows = image->rows * image->bin_v, columns = image->columns * image->bin_u;
    size_t at = 0;
    text[0] = 0;
    if (image->turn) at += (size_t)snprintf(text + at, size - at, "turned by %d degrees clockwise, ", 90 * image->turn);
    if (flips) at += (size_t)snprintf(text + at, size - at, "%s, ", mirrored[flips]);
    if (rows != image->whole_rows || columns != image->whole_columns)
        at += (size_t)snprintf(text + at, size - at, "columns %zu:%zu and rows %zu:%zu, ", image->first_column,
                               image->first_column + columns, image->first_row, image->first_row + rows);
    if (image->bin_u * image->bin_v > 1)
        at += (size_t)snprintf(text + at, size - at, "%zu x %zu pixels in one (%s), ", image->bin_u, image->bin_v,
                               image->sum ? "sum of counts, before -log" : "mean of the values");
    if (at >= 2 && at < size) text[at - 2] = 0;
}
