/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The settings file of a scanner in the folder of some images, or else in the folder above: its name states their
 * angles and geometry. False if there is none, or if there are several. */
bool qb__settings_near(const char *path, char *found, size_t size);
/* The only settings file in this folder itself. */
bool qb__settings_in(const char *folder, char *found, size_t size);
