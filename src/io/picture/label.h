/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_LABEL_H
#define QB_IO_LABEL_H

#include <stddef.h>

/* Text in a picture of grey values, where no font is at hand. Dots are 2 x 2 pixels, five by seven of
 * them a letter. */
enum { QB__LABEL_WIDE = 12, QB__LABEL_HIGH = 14 };

/* Sets the dots to 0 (black) in picture [..][wide]; (x, y) is the top left corner. Lower-case letters,
 * digits, points, commas and hyphens; others are blanks. What does not fit the width is left out. */
void qb__label_draw(float *picture, size_t wide, size_t x, size_t y, const char *text);

#endif
