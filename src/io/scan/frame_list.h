/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* "141:227,300" sets out[141..226] and out[300] to true, for `count` frames; negative numbers count from the end. NULL
 * text: none. `what` is the option's name in messages. */
qb_status qb__frame_list_parse(const char *text, const char *what, size_t count, bool *out);
/* The numbers of the frames that are set, in words: "141-158, 201". Beyond `size` it ends with "...". Returns their
 * number. */
size_t qb__frame_list_words(const bool *set, size_t count, char *words, size_t size);
