/* SPDX-License-Identifier: MIT */
#include "job/contact_sheet.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/picture/label.h"
#include "io/writer.h"

/* Pixels of the picture. */
enum {
    MOST = 2000,
    TILES = 64,
    GAP = 8,
    LINE = 22,
    LABEL = 16 * QB__LABEL_WIDE, /* smallest width of a tile in pixels */
    TEXT = 96,
    LAST = 44 * QB__LABEL_WIDE
};

typedef struct layout {
    size_t nx, ny, every, tiles, across; /* every: tile number * every is the image number */
    /* a pixel is shown as grow x grow pixels, or reduce x reduce pixels are averaged */
    size_t grow, reduce;
    size_t tile[2], label, wide, high; /* tile: size of an image on the sheet; label: width of a label */
} layout;

struct qb__contact_sheet {
    layout at;
    float *picture;      /* [high][wide] values, NaN between the tiles, until they become grey levels */
    char (*label)[TEXT]; /* [tiles] */
};

static layout layout_of(size_t images, size_t nx, size_t ny, size_t letters) {
    layout at = {.nx = nx, .ny = ny, .every = qb__ceil_div(images, TILES), .grow = 1};
    at.label = qb__larger(LABEL, letters * QB__LABEL_WIDE);
    at.tiles = qb__ceil_div(images, at.every);
    while (at.across * at.across < at.tiles) at.across++;
    const size_t down = qb__ceil_div(at.tiles, at.across), larger = qb__larger(nx, ny);
    at.reduce = qb__ceil_div(larger, MOST / at.across - GAP);
    if (larger < LABEL) at.grow = qb__ceil_div(LABEL, larger);
    at.tile[0] = nx * at.grow / at.reduce ? nx * at.grow / at.reduce : 1;
    at.tile[1] = ny * at.grow / at.reduce ? ny * at.grow / at.reduce : 1;
    at.wide = qb__larger(GAP + at.across * (qb__larger(at.tile[0], at.label) + GAP), LAST + GAP);
    at.high = GAP + down * (at.tile[1] + LINE + GAP) + LINE;
    return at;
}

qb_status qb__contact_sheet_create(size_t images, size_t nx, size_t ny, size_t letters, qb__contact_sheet **out) {
    qb__contact_sheet *sheet;
    *out = NULL;
    QB__OR_RETURN(qb__alloc(1, sizeof *sheet, &sheet));
    sheet->at = layout_of(images, nx, ny, letters);
    *out = sheet;
    QB__OR_RETURN(qb__alloc(sheet->at.tiles, sizeof *sheet->label, &sheet->label));
    QB__OR_RETURN(qb__alloc(sheet->at.wide * sheet->at.high, sizeof(float), &sheet->picture));
    for (size_t i = 0; i < sheet->at.wide * sheet->at.high; i++) sheet->picture[i] = NAN;
    return QB_OK;
}

void qb__contact_sheet_destroy(qb__contact_sheet *sheet) {
    if (!sheet) return;
    QB__FREE(sheet->picture, sheet->label, sheet);
}

/* Corner of a tile's label; its image begins one line below. */
static void place_of(const layout *at, size_t tile, size_t *x, size_t *y) {
    *x = GAP + tile % at->across * (qb__larger(at->tile[0], at->label) + GAP);
    *y = GAP + tile / at->across * (at->tile[1] + LINE + GAP);
}

/* Mean of the pixels that become one pixel, y up; NaN does not count. */
static float mean(const layout *at, const float *image, size_t x, size_t y) {
    const size_t x0 = x * at->reduce / at->grow, y0 = (at->tile[1] - 1 - y) * at->reduce / at->grow;
    double sum = 0;
    int n = 0;
    for (size_t j = y0; j < y0 + at->reduce && j < at->ny; j++) {
        for (size_t i = x0; i < x0 + at->reduce && i < at->nx; i++) {
            if (!isfinite(image[j * at->nx + i])) continue;
            sum += image[j * at->nx + i];
            n++;
        }
    }
    return n ? (float)(sum / n) : NAN;
}

void qb__contact_sheet_add(qb__contact_sheet *sheet, size_t number, const float *image, const char *label) {
    const layout *at = &sheet->at;
    size_t left, top;
    if (number % at->every || number / at->every >= at->tiles) return;
    const size_t tile = number / at->every;
    snprintf(sheet->label[tile], TEXT, "%s", label);
    place_of(at, tile, &left, &top);
    for (size_t y = 0; y < at->tile[1]; y++)
        for (size_t x = 0; x < at->tile[0]; x++)
            sheet->picture[(top + LINE + y) * at->wide + left + x] = mean(at, image, x, y);
}

qb_status qb__contact_sheet_write(qb__contact_sheet *sheet, const char *asked, const char *units, const char *path,
                                  qb__grey_levels *window) {
    const layout *at = &sheet->at;
    const size_t count = at->wide * at->high;
    char text[TEXT * 2];
    QB__OR_RETURN(qb__grey_levels_choose(asked, sheet->picture, count, window));
    for (size_t i = 0; i < count; i++)
        sheet->picture[i] = isnan(sheet->picture[i]) ? 1 : qb__grey_levels_shade(window, sheet->picture[i]);
    qb__label_font *font = qb__label_font_open();
    for (size_t tile = 0; tile < at->tiles; tile++) {
        size_t x, y;
        place_of(at, tile, &x, &y);
        qb__label_draw(font, sheet->picture, at->wide, x, y + (LINE - QB__LABEL_HIGH) / 2, sheet->label[tile]);
    }
    qb__grey_levels_text(window, units, text, sizeof text);
    qb__label_draw(font, sheet->picture, at->wide, GAP, at->high - LINE + (LINE - QB__LABEL_HIGH) / 2, text);
    qb__label_font_close(font);
    return qb__preview_write(NULL, path, sheet->picture, at->wide, at->high, 0, 1);
}
