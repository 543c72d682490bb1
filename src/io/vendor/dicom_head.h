/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/vendor/dicom.h"
#include "quickbeam/io.h"

enum { QB__DICOM_HEAD = 4096, QB__DICOM_TAIL = 64, QB__DICOM_ROOT = 48 };
enum { QB__DICOM_PADDING = INT16_MIN }; /* stored for NaN of volumes in Hounsfield units */

/* Makes an identifier of the series by X.667: a number of 128 bits below 2.25. It is a hash of the path of the staging
 * folder. The path contains the time, so it is unique; and it is the same for all ranks of a job and for runs that
 * resume it. */
void qb__dicom_root(const char *folder, char root[QB__DICOM_ROOT]);
/* Writes everything before the numbers of a slice into `head`; returns the number of bytes. */
size_t qb__dicom_head(const qb_stack *stack, const char *root, size_t image, unsigned char head[QB__DICOM_HEAD]);
/* Writes the private elements before a note of `note` bytes, which follows the numbers of the first slice. Returns the
 * number of bytes. */
size_t qb__dicom_tail(size_t note, unsigned char tail[QB__DICOM_TAIL]);
bool qb__dicom_hounsfield(const qb_stack *stack);
