/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Text in a grey-level picture: with a font of the system or, without one, with dots of 2 x 2 pixels, five by seven per
 * letter. */
enum { QB__LABEL_WIDE = 12, QB__LABEL_HIGH = 14 }; /* largest size of a letter */

/* The font in the file of the environment variable QB_FONT, else the first font found on the system; NULL if there is
 * none, or the build lacks FreeType. For one thread at a time. */
typedef struct qb__label_font qb__label_font;
qb__label_font *qb__label_font_open(void);
void qb__label_font_close(qb__label_font *font); /* NULL-safe */

/* Draw in black (0) on picture [..][wide], 1 = white; (x, y) is the top left corner, and four rows above and below must
 * be free. font NULL: dots; only lower-case letters, digits, points, commas and hyphens, others become blanks. Text
 * beyond the width is left out. */
void qb__label_draw(const qb__label_font *font, float *picture, size_t wide, size_t x, size_t y, const char *text);
