/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_OUTPUTS_H
#define QB_IO_OUTPUTS_H

#include "base/inputs.h"
#include "quickbeam/io.h"

/* One thing that a run is going to write. */
typedef struct qb__output {
    const char *path;     /* as given; NULL = nothing */
    size_t images, first; /* images of a scan or a volume, as in qb_stack; 0 = a plain file */
    bool projections;
    size_t parts; /* as in qb_stack */
} qb__output;

/* Asked before any work, once it is known what will be written under which names. QB_BAD_ARGUMENT,
 * with both names, when
 * - an output, one of its images or what lies beside it would take the place of an input, of a file
 *   that env's caller reads (env->reads) or writes itself (env->writes), or of another output;
 * - a file that the caller is going to write is an input;
 * - something else than a regular file is where a file is to be. */
qb_status qb__outputs_check(const qb__output *outputs, size_t count, const qb__inputs *inputs, const qb_env *env);

#endif
