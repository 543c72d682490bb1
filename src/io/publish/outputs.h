/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/inputs.h"
#include "quickbeam/io.h"

/* One output of a run. */
typedef struct qb__output {
    const char *path;     /* path as the user gave it; NULL = nothing */
    size_t images, first; /* images of a scan or a volume, as in qb_stack; 0 = a plain file */
    bool projections;
    size_t parts; /* same meaning as in qb_stack */
} qb__output;

/* Check all output names before any work. QB_BAD_ARGUMENT, with both names, if
 * - an output, one of its images or its additional files would replace an input, a file that env's caller reads
 *   (env->reads) or writes (env->writes), or another output;
 * - a file that the caller will write is an input;
 * - the place of a file is taken by something that is not a regular file. */
qb_status qb__outputs_check(const qb__output *outputs, size_t count, const qb__inputs *inputs, const qb_env *env);
