/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "quickbeam/io.h"
#include "quickbeam/status.h"

/* Elements of a DICOM file: little-endian, with or without types (VR), numbers not compressed. */
typedef struct qb__dicom {
    const char *path;
    unsigned char *data; /* the first bytes of the file, with all elements before the image; `bytes`: their number */
    size_t bytes;
    bool typed;
    size_t first;    /* offset where the elements begin */
    uint64_t pixels; /* offset in the file where the values of the image begin; pixel_bytes: their size */
    uint64_t pixel_bytes;
} qb__dicom;

/* QB_BAD_INPUT for a damaged file, QB_UNSUPPORTED for a transfer syntax that is not read. */
qb_status qb__dicom_open(const char *path, qb__dicom *dicom);
void qb__dicom_close(qb__dicom *dicom);
/* Reads up to `most` numbers of an element; tag = group << 16 | number. Returns how many were read. */
int qb__dicom_numbers(const qb__dicom *dicom, uint32_t tag, int most, double *out);
/* Reads the text of an element, without blanks at the end. False, and "", if the element is missing. */
bool qb__dicom_text(const qb__dicom *dicom, uint32_t tag, char *text, size_t size);

#define QB__DICOM_NAMES " .dcm .ima "
/* Our private elements after the numbers of the first slice (dicom_write.c): the owner's name and a JSON text. */
enum { QB__DICOM_OWN = 0x7fe10010, QB__DICOM_NOTE = 0x7fe11001 };
/* Reads this JSON text; NULL: there is none. */
qb_status qb__dicom_note(const char *path, cJSON **note);

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
