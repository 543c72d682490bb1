/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_DICOM_HEAD_H
#define QB_IO_DICOM_HEAD_H

#include "io/vendor/dicom.h"
#include "quickbeam/io.h"

enum { QB__DICOM_HEAD = 4096, QB__DICOM_TAIL = 64, QB__DICOM_ROOT = 48 };

/* An identifier of the series as of X.667, a number of 128 bits below 2.25: of the hidden folder, which has the clock
 * in its name and is the same to all ranks of a job and to runs that go on with it. */
void qb__dicom_root(const char *folder, char root[QB__DICOM_ROOT]);
/* All before the numbers of a slice; how many bytes that are. */
size_t qb__dicom_head(const qb_stack *stack, const char *root, size_t image, unsigned char head[QB__DICOM_HEAD]);
/* What leads to a note of so many bytes, behind the numbers of the first slice. */
size_t qb__dicom_tail(size_t note, unsigned char tail[QB__DICOM_TAIL]);
bool qb__dicom_hounsfield(const qb_stack *stack);

#endif
