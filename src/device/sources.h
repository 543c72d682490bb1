/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/status.h"

/* The kernel sources of src/kernels/ (*.cl, *.cu, *.clh, *.cuh, dialect.h), embedded into the library as text at build
 * time. */
typedef struct qb__kernel_source {
    const char *name; /* "bp_parallel_texture.cl" */
    const char *text; /* ends with '\0' */
} qb__kernel_source;

extern const qb__kernel_source qb__kernel_sources[]; /* ended by name NULL, sorted by name */

/* The dialect, then the source; each `#include "NAME"` of an embedded file is replaced by its text, once. Release with
 * qb__free. */
qb_status qb__kernel_source_text(const char *name, char **text);
