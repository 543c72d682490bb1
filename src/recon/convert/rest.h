/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/publish/publication.h"
#include "job/volume_keep.h"
#include "quickbeam/recon.h"

/* The output of a conversion, and what an earlier run has left of it to do. */
typedef struct qb__rest {
    qb__keep keep;
    qb__publication *set;
    qb_writer *writer;
    size_t images, resumed; /* images of the output; those that an earlier run has already written */
} qb__rest;

/* Begin the output, or with --resume go on with it. `tell` as in qb__keep. Release it also after a failure. */
qb_status qb__rest_open(qb__rest *rest, const qb_convert_options *options, const qb_stack *stack,
                        qb_status (*tell)(void *self, char **job), void *self, const qb_env *env);
/* The next run of at most `block` images that are to be made: from *first on, to *end. False: there is none. */
bool qb__rest_next(qb__rest *rest, size_t block, size_t *first, size_t *end);
/* Write these images. */
qb_status qb__rest_write(qb__rest *rest, size_t first, size_t end, const void *images, const qb_env *env);
/* Write the provenance, and give the output its name. */
qb_status qb__rest_finish(qb__rest *rest, const char *provenance);
void qb__rest_release(qb__rest *rest);
