/* SPDX-License-Identifier: MIT */
#include "io/picture/label.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

/* Dots of five by seven, one byte per row. */
static const struct {
    char letter;
    unsigned char row[7];
} glyphs[] = {
    {'a', {0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f}}, {'b', {0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x1e}},
    {'c', {0x00, 0x00, 0x0f, 0x10, 0x10, 0x10, 0x0f}}, {'d', {0x01, 0x01, 0x0f, 0x11, 0x11, 0x11, 0x0f}},
    {'e', {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0f}}, {'f', {0x06, 0x08, 0x1e, 0x08, 0x08, 0x08, 0x08}},
    {'g', {0x00, 0x0f, 0x11, 0x11, 0x0f, 0x01, 0x0e}}, {'h', {0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x11}},
    {'i', {0x04, 0x00, 0x0c, 0x04, 0x04, 0x04, 0x0e}}, {'k', {0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12}},
    {'l', {0x0c, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}}, {'m', {0x00, 0x00, 0x1a, 0x15, 0x15, 0x15, 0x15}},
    {'n', {0x00, 0x00, 0x1e, 0x11, 0x11, 0x11, 0x11}}, {'o', {0x00, 0x00, 0x0e, 0x11, 0x11, 0x11, 0x0e}},
    {'p', {0x00, 0x00, 0x1e, 0x11, 0x1e, 0x10, 0x10}}, {'r', {0x00, 0x00, 0x16, 0x18, 0x10, 0x10, 0x10}},
    {'s', {0x00, 0x00, 0x0f, 0x10, 0x0e, 0x01, 0x1e}}, {'t', {0x08, 0x08, 0x1e, 0x08, 0x08, 0x08, 0x06}},
    {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x0f}}, {'v', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0a, 0x04}},
    {'w', {0x00, 0x00, 0x11, 0x11, 0x15, 0x15, 0x0a}}, {'x', {0x00, 0x00, 0x11, 0x0a, 0x04, 0x0a, 0x11}},
    {'y', {0x00, 0x00, 0x11, 0x11, 0x0f, 0x01, 0x0e}}, {'z', {0x00, 0x00, 0x1f, 0x02, 0x04, 0x08, 0x1f}},
    {'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}}, {'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'2', {0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f}}, {'3', {0x1e, 0x01, 0x01, 0x0e, 0x01, 0x01, 0x1e}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}}, {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}},
    {'6', {0x0e, 0x10, 0x10, 0x1e, 0x11, 0x11, 0x0e}}, {'7', {0x1f, 0x01, 0x02, 0x02, 0x04, 0x04, 0x04}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}}, {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x01, 0x0e}},
    {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c}}, {'-', {0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00}},
    {',', {0x00, 0x00, 0x00, 0x00, 0x0c, 0x04, 0x08}},
};

static const unsigned char *glyph_of(char letter) {
    for (size_t g = 0; g < sizeof glyphs / sizeof glyphs[0]; g++)
        if (glyphs[g].letter == letter) return glyphs[g].row;
    return NULL;
}

static void draw_dots(float *picture, size_t wide, size_t x, size_t y, const char *text) {
    for (; *text && x + QB__LABEL_WIDE <= wide; text++, x += QB__LABEL_WIDE) {
        const unsigned char *row = glyph_of(*text);
        for (size_t i = 0; row && i < 14; i++)
            for (size_t j = 0; j < 10; j++)
                if (row[i / 2] >> (4 - j / 2) & 1) picture[(y + i) * wide + x + j] = 0;
    }
}

#ifdef QB_HAVE_FREETYPE
#include <ft2build.h>
#include FT_FREETYPE_H

enum { PIXELS = 15, BASELINE = 12 };

struct qb__label_font {
    FT_Library library;
    FT_Face face;
};

/* Paths of a plain sans-serif font on usual systems; QB_FONT comes first. */
static const char *const fonts[] = {
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
    "/usr/share/fonts/liberation-sans/LiberationSans-Regular.ttf",
    "/usr/share/fonts/TTF/DejaVuSans.ttf",
};

static bool open_face(FT_Library library, FT_Face *face) {
    const char *own = getenv("QB_FONT");
    if (own && *own) return FT_New_Face(library, own, 0, face) == 0;
    for (size_t i = 0; i < sizeof fonts / sizeof fonts[0]; i++)
        if (FT_New_Face(library, fonts[i], 0, face) == 0) return true;
    return false;
}

qb__label_font *qb__label_font_open(void) {
    qb__label_font *font;
    if (qb__alloc(1, sizeof *font, &font) != QB_OK) return NULL;
    if (FT_Init_FreeType(&font->library) == 0) {
        if (open_face(font->library, &font->face) && FT_Set_Pixel_Sizes(font->face, 0, PIXELS) == 0) return font;
    }
    qb__label_font_close(font);
    return NULL;
}

void qb__label_font_close(qb__label_font *font) {
    if (!font) return;
    if (font->face) FT_Done_Face(font->face);
    if (font->library) FT_Done_FreeType(font->library);
    qb__free(font);
}

/* Draw in black, up to the width of the picture. */
static void add_ink(float *picture, size_t wide, size_t x, size_t y, const FT_GlyphSlot glyph) {
    const FT_Bitmap *ink = &glyph->bitmap;
    for (unsigned i = 0; i < ink->rows; i++) {
        const long row = (long)y + BASELINE - glyph->bitmap_top + (long)i;
        for (unsigned j = 0; j < ink->width && row >= 0; j++) {
            const long column = (long)x + glyph->bitmap_left + (long)j;
            if (column < 0 || column >= (long)wide) continue;
            picture[(size_t)row * wide + (size_t)column] *=
                1 - (float)ink->buffer[(long)i * ink->pitch + (long)j] / 255;
        }
    }
}

static void draw_letters(const qb__label_font *font, float *picture, size_t wide, size_t x, size_t y,
                         const char *text) {
    for (; *text && x < wide; text++) {
        if (FT_Load_Char(font->face, (FT_ULong)(unsigned char)*text, FT_LOAD_RENDER) != 0) continue;
        add_ink(picture, wide, x, y, font->face->glyph);
        x += (size_t)(font->face->glyph->advance.x >> 6);
    }
}
#else
qb__label_font *qb__label_font_open(void) { return NULL; }

void qb__label_font_close(qb__label_font *font) { (void)font; }

static void draw_letters(const qb__label_font *font, float *picture, size_t wide, size_t x, size_t y,
                         const char *text) {
    (void)font;
    draw_dots(picture, wide, x, y, text);
}
#endif

void qb__label_draw(const qb__label_font *font, float *picture, size_t wide, size_t x, size_t y, const char *text) {
    if (font)
        draw_letters(font, picture, wide, x, y, text);
    else
        draw_dots(picture, wide, x, y, text);
}
