/* SPDX-License-Identifier: MIT */
/* --preview: one picture of the three slices through the middle, each labelled with its name and axes. Slices that
 * share an axis are aligned:
 *
 *     [ z in the middle: x right, y up ] [ x in the middle: z right, y up ]
 *     [ y in the middle: x right, z up ]
 *
 * Volumes have y and z up, as in textbooks and in `qb info --preview`; views have rows down, as the detector is
 * read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/picture/label.h"
#include "io/writer.h"
#include "job/observer.h"
#include "job/grey_levels.h"

/* Pixels of the picture. */
enum { LEAST = 512, MOST = 2048, GAP = 8, LINE = 22, GLYPH = QB__LABEL_WIDE };

enum { FEW = 16 }; /* with fewer images the other two slices would be only lines */

typedef struct panel {
    float *slice; /* [high][wide] */
    size_t wide, high;
    size_t x, y; /* position in the picture */
    char text[96];
} panel;

typedef struct preview {
    const char *path, *asked; /* path of the picture; text of --window */
    const qb_stack *stack;
    int count;
    panel panel[3];
    size_t grow, reduce; /* a pixel is shown as grow x grow pixels, or reduce x reduce pixels are averaged */
    size_t wide, high;
    bool up;        /* row 0 of the slice is at the bottom */
    float *picture; /* values, NaN between the panels, until they become grey levels */
} preview;

static bool wanted(const qb_output_options *options) { return options->preview != NULL; }

static size_t largest(size_t a, size_t b) { return a > b ? a : b; }

static size_t shown(const preview *p, size_t count) { return (count * p->grow + p->reduce - 1) / p->reduce; }

/* ---- where things are ---- */

static void name_panels(preview *p) {
    static const char *const volume[3] = {"z", "y", "x"};
    static const char *const views[3] = {"view", "row", "column"};
    static const int cut[3] = {0, 2, 1}, right[3] = {2, 0, 2}, down[3] = {1, 1, 0};
    p->up = !qb__stack_is_projections(p->stack);
    const char *const *axis = p->up ? volume : views;
    const size_t *n = p->stack->shape;
    p->count = n[0] < FEW ? 1 : 3;
    for (int i = 0; i < p->count; i++) {
        panel *one = &p->panel[i];
        one->wide = n[right[i]];
        one->high = n[down[i]];
        qb__print(one->text, sizeof one->text, "%s %zu of %zu, %s right, %s %s", axis[cut[i]], n[cut[i]] / 2, n[cut[i]],
                  axis[right[i]], axis[down[i]], p->up ? "up" : "down");
    }
}

static void place_panels(preview *p) {
    const size_t *n = p->stack->shape, deep = p->count > 1 ? n[0] : 0;
    const size_t most = largest(n[1], n[2]) + deep, room = MOST - 8 * LINE;
    panel *one = p->panel;
    p->reduce = (most + room - 1) / room;
    p->grow = most < LEAST ? LEAST / most : 1;
    for (int i = 0; i < p->count; i++) one[i].x = GAP, one[i].y = GAP + LINE;
    if (p->count > 1) {
        one[1].x = 2 * GAP + largest(shown(p, one[0].wide), GLYPH * strlen(one[0].text));
        one[2].y += shown(p, one[0].high) + GAP + LINE;
    }
    p->wide = 44 * GLYPH; /* the last line of text */
    p->high = 0;
    for (int i = 0; i < p->count; i++) {
        const size_t text = GLYPH * strlen(one[i].text);
        p->wide = largest(p->wide, one[i].x + largest(shown(p, one[i].wide), text) + GAP);
        p->high = largest(p->high, one[i].y + shown(p, one[i].high) + GAP + LINE);
    }
}

static void layout(preview *p, const qb_stack *stack) {
    *p = (preview){.stack = stack};
    name_panels(p);
    place_panels(p);
}

/* Memory of the picture, and of sorting and writing it. */
static size_t bytes(const size_t shape[3]) {
    const qb_stack stack = {.shape = {shape[0], shape[1], shape[2]}};
    size_t sum = 0;
    preview p;
    layout(&p, &stack);
    for (int i = 0; i < p.count; i++) sum += p.panel[i].wide * p.panel[i].high;
    return sum * sizeof(float) + p.wide * p.high * (2 * sizeof(float) + 1);
}

static void release(void *own) {
    preview *p = own;
    if (!p) return;
    for (int i = 0; i < p->count; i++) qb__free(p->panel[i].slice);
    QB__FREE(p->picture, p);
}

static qb_status prepare(const qb_output_options *options, const qb_stack *stack, void **own) {
    preview *p;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    *own = p;
    layout(p, stack);
    p->path = options->preview;
    p->asked = options->window;
    for (int i = 0; status == QB_OK && i < p->count; i++)
        status = qb__alloc(p->panel[i].wide * p->panel[i].high, sizeof(float), &p->panel[i].slice);
    return status;
}

/* ---- what is kept of each image ---- */

static void image(void *own, size_t number, const float *from) {
    preview *p = own;
    const size_t *n = p->stack->shape;
    panel *one = p->panel;
    if (number == n[0] / 2) memcpy(one[0].slice, from, n[1] * n[2] * sizeof *from);
    if (p->count == 1) return;
    for (size_t y = 0; y < n[1]; y++) one[1].slice[y * n[0] + number] = from[y * n[2] + n[2] / 2];
    memcpy(one[2].slice + number * n[2], from + n[1] / 2 * n[2], n[2] * sizeof *from);
}

/* The images that a rank has seen, as one message: for each image its line in the two other panels, then the middle
 * slice if it is among them. */
typedef struct parcel {
    qb__run images;
    float values[];
} parcel;

static size_t lines_of(const preview *p) { return p->count > 1 ? p->stack->shape[1] + p->stack->shape[2] : 0; }

static bool has_middle(const preview *p, qb__run images) {
    const size_t middle = p->stack->shape[0] / 2;
    return middle >= images.first && middle < images.end;
}

/* Parts of one message follow each other. */
static size_t parcel_bytes(const preview *p, qb__run images) {
    const size_t whole = has_middle(p, images) ? p->stack->shape[1] * p->stack->shape[2] : 0;
    return qb__round_up(sizeof(parcel) + (qb__run_count(images) * lines_of(p) + whole) * sizeof(float), sizeof(parcel));
}

/* Copy values between the panels and a message; `take`: from the message. */
static void pass(preview *p, parcel *of, bool take) {
    const size_t *n = p->stack->shape;
    float *at = of->values, *slice = p->panel[0].slice;
    for (size_t i = of->images.first; lines_of(p) && i < of->images.end; i++, at += lines_of(p)) {
        float *column = p->panel[1].slice + i, *line = p->panel[2].slice + i * n[2];
        for (size_t y = 0; y < n[1]; y++) *(take ? &column[y * n[0]] : &at[y]) = take ? at[y] : column[y * n[0]];
        memcpy(take ? line : at + n[1], take ? at + n[1] : line, n[2] * sizeof *at);
    }
    if (has_middle(p, of->images)) memcpy(take ? slice : at, take ? at : slice, n[1] * n[2] * sizeof *at);
}

static qb_status take(void *own, int from, const void *data, size_t bytes) {
    (void)from;
    for (size_t at = 0; at < bytes;) {
        parcel *one = (parcel *)((char *)data + at);
        pass(own, one, true);
        at += parcel_bytes(own, one->images);
    }
    return QB_OK;
}

static qb_status gather(void *own, qb__comm *comm, const qb__chunks *chunks, qb_status status) {
    preview *p = own;
    size_t bytes = 0, at = 0;
    char *mine = NULL;
    for (size_t i = 0; i < 2 * chunks->count; i++) bytes += parcel_bytes(p, chunks->chunk[i / 2].images.of[i % 2]);
    if (status == QB_OK && comm->rank > 0) status = qb__alloc(bytes, 1, &mine);
    for (size_t i = 0; mine && i < 2 * chunks->count; i++) {
        parcel *one = (parcel *)(mine + at);
        one->images = chunks->chunk[i / 2].images.of[i % 2];
        pass(p, one, false);
        at += parcel_bytes(p, one->images);
    }
    status = qb__comm_collect(comm, status, mine, mine ? bytes : 0, take, p);
    qb__free(mine);
    return status;
}

/* ---- the picture ---- */

/* Mean of the voxels of one pixel; NaN does not count. */
static float mean(const preview *p, const panel *one, size_t x, size_t y) {
    const size_t x0 = x * p->reduce / p->grow, y0 = y * p->reduce / p->grow;
    double sum = 0;
    int n = 0;
    for (size_t j = y0; j < y0 + p->reduce && j < one->high; j++) {
        for (size_t i = x0; i < x0 + p->reduce && i < one->wide; i++) {
            const float v = one->slice[j * one->wide + i];
            if (!isfinite(v)) continue;
            sum += v;
            n++;
        }
    }
    return n ? (float)(sum / n) : NAN;
}

/* The means, or, once the window is known, their grey levels. */
static void fill(const preview *p, const panel *one, const qb__grey_levels *window) {
    const size_t high = shown(p, one->high);
    for (size_t y = 0; y < high; y++) {
        for (size_t x = 0; x < shown(p, one->wide); x++) {
            float *to = &p->picture[(one->y + (p->up ? high - 1 - y : y)) * p->wide + one->x + x];
            *to = window ? qb__grey_levels_shade(window, *to) : mean(p, one, x, y);
        }
    }
}

static void label(const preview *p, const qb__label_font *font, size_t x, size_t y, const char *text) {
    qb__label_draw(font, p->picture, p->wide, x, y + (LINE - QB__LABEL_HIGH) / 2, text);
}

static qb_status draw(preview *p, qb__grey_levels *window) {
    const size_t count = p->wide * p->high;
    char text[96];
    QB__OR_RETURN(qb__alloc(count, sizeof *p->picture, &p->picture));
    for (size_t i = 0; i < count; i++) p->picture[i] = NAN;
    for (int i = 0; i < p->count; i++) fill(p, &p->panel[i], NULL);
    QB__OR_RETURN(qb__grey_levels_choose(p->asked, p->picture, count, window));
    for (int i = 0; i < p->count; i++) fill(p, &p->panel[i], window);
    for (size_t i = 0; i < count; i++)
        if (isnan(p->picture[i])) p->picture[i] = 1;
    qb__label_font *font = qb__label_font_open();
    for (int i = 0; i < p->count; i++) label(p, font, p->panel[i].x, p->panel[i].y - LINE, p->panel[i].text);
    qb__grey_levels_text(window, p->stack->units, text, sizeof text);
    label(p, font, GAP, p->high - LINE, text);
    qb__label_font_close(font);
    return QB_OK;
}

static qb_status publish(void *own, qb__publication *set, cJSON *report) {
    preview *p = own;
    qb__grey_levels window;
    QB__OR_RETURN(draw(p, &window));
    cJSON *json = cJSON_AddObjectToObject(report, "preview");
    cJSON_AddStringToObject(json, "file", p->path);
    qb__grey_levels_report(&window, json);
    return qb__preview_write(set, p->path, p->picture, p->wide, p->high, 0, 1);
}

const qb__observer qb__observe_preview = {.wanted = wanted,
                                          .bytes = bytes,
                                          .open = prepare,
                                          .image = image,
                                          .gather = gather,
                                          .publish = publish,
                                          .close = release};
