/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_VOLUME_OUT_H
#define QB_JOB_VOLUME_OUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/inputs.h"
#include "base/json.h"
#include "quickbeam/recon.h"

/* The last part of every reconstruction: slices as float32 -> Hounsfield units, the dtype asked for,
 * the file, the preview of the middle slice. */
typedef struct qb__volume_out {
    const qb_output_options *options;
    qb_grid grid;
    double hu;        /* attenuation of water; 0 = none. The caller has scaled by 1000 / hu already */
    bool in_mm;       /* lengths are known */
    size_t first;     /* number of the first slice */
    const char *description;
    double low, high; /* of integer types; set by the caller when the options do not say */
    qb_writer *writer;
    float *preview;
    _Atomic uint64_t outside; /* values that the file's type cannot hold, of all threads */
} qb__volume_out;

qb_dtype qb__volume_dtype(const qb__volume_out *out);
/* Whether slices change on their way to the file. */
bool qb__volume_converts(const qb__volume_out *out);
const char *qb__volume_units(const qb__volume_out *out);
/* --range and --dtype fit together, -o is there and not the folder that is read. */
qb_status qb__volume_check(const qb_output_options *options, const char *input);
/* Once the grid is decided: what would be written spares what is read (qb__outputs_check). */
qb_status qb__volume_spare(const qb__volume_out *out, const qb__inputs *inputs, const qb_env *env);
/* The caller's options, copied; an array in the place of a file gives them its name and its type.
 * QB_BAD_ARGUMENT where there are both. */
qb_status qb__output_take(const qb_output_options *from, qb_output_options *to);
/* QB_BAD_ARGUMENT where the output is an array that does not take n[0] x n[1] x n[2] values. */
qb_status qb__output_fits(const qb_output_options *options, const size_t n[3]);
qb_status qb__volume_open(qb__volume_out *out);
/* One finished slice -> to, in the file's dtype; `image` is changed. Also keeps the preview. */
void qb__volume_convert(qb__volume_out *out, size_t slice, float *image, void *to);
/* Keep the preview from slices first..end-1 where nothing converts. */
void qb__volume_keep(qb__volume_out *out, size_t first, size_t end, const float *slab);
/* How many values had to be clamped: into the report, and as a warning. */
void qb__volume_report(qb__volume_out *out, cJSON *report, const qb_env *env);
/* Provenance, final name, preview. */
qb_status qb__volume_commit(qb__volume_out *out, const char *provenance);
void qb__volume_abort(qb__volume_out *out);

#endif
