/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_LABEL_H
#define QB_IO_LABEL_H

#include <stddef.h>

/* Text in a picture of grey values: from a font of the system, or, where there is none, of dots of 2 x 2 pixels, five by seven
 * of them a letter. */
enum { QB__LABEL_WIDE = 12, QB__LABEL_HIGH = 14 }; /* most that a letter takes */

/* The font in the file that the environment's QB_FONT names, else the first of those that systems have; NULL where there is
 * none, or the build lacks FreeType. Of one thread at a time. */
typedef struct qb__label_font qb__label_font;
qb__label_font *qb__label_font_open(void);
void qb__label_font_close(qb__label_font *font); /* NULL-safe */

/* Black (0) onto picture [..][wide], 1 = white; (x, y) is the top left corner, and four rows above and below are free. font NULL:
 * dots; lower-case letters, digits, points, commas and hyphens, others are blanks. What does not fit the width is left out. */
void qb__label_draw(const qb__label_font *font, float *picture, size_t wide, size_t x, size_t y, const char *text);

#endif
