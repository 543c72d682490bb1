/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/comm.h"
#include "base/inputs.h"
#include "base/json.h"
#include "geometry/chunks.h"
#include "geometry/fov.h"
#include "io/publish/publication.h"
#include "job/denoise.h"
#include "job/observer.h"
#include "job/pipeline.h"
#include "job/volume_keep.h"
#include "job/volume_nan.h"
#include "quickbeam/recon.h"

/* What to do with voxels outside the field of view. */
typedef struct qb__mask {
    bool used, along; /* along: also outside a cone's range of z */
    float value;
    qb__fov fov;
    qb_grid grid;
} qb__mask;

/* The last part of every job: float32 images (slices or projections) -> Hounsfield units, dtype, file; observers see
 * the images here. */
typedef struct qb__volume_out {
    bool in_place;  /* the engine writes images to their destination itself; there is nothing to write */
    qb__comm *comm; /* ranks that write the same volume: opening, reporting and committing are collective */
    const qb_output_options *options;
    qb_stack stack;       /* description of the output; dtype and scale are set here */
    double hu;            /* attenuation of water; 0 = none. The caller has already scaled by 1000 / hu */
    const qb__mask *mask; /* outside-of-field mask of slices; NULL = none */
    const bool *lost;     /* [image * lost_step]: this slice was never measured and becomes NaN; NULL: none */
    size_t lost_step;
    int threads;              /* threads of the job */
    const char *sidecar;      /* a file that the method writes in addition; NULL = none */
    qb__denoise denoise;      /* the filter of options->denoise; set by qb__volume_begin() */
    double low, high;         /* range of integer types; set by the caller if the options have none */
    const qb__chunks *chunks; /* chunks of the stages that this process writes */
    qb__publication *set;     /* files that are published together or not at all: output, notes, preview, sidecars */
    qb_writer *writer;
    qb__observers observers;
    qb__keep keep;            /* zeroed: no checkpoints */
    _Atomic uint64_t outside; /* values that the file's type cannot hold, counted by all threads and devices */
    qb__volume_nan nan;
} qb__volume_out;

/* Parse --outside and --circle; `seen` is still to be filled in. QB_BAD_ARGUMENT for NaN in integer types. */
qb_status qb__mask_of(qb_outside outside, bool circle, qb_dtype dtype, const qb_grid *grid, qb__mask *mask);
qb_dtype qb__volume_dtype(const qb__volume_out *out);
/* Bytes of a value in the output; 0: no output. */
size_t qb__value_written(const qb_output_options *options);
/* True if images are changed before they are written. */
bool qb__volume_converts(const qb__volume_out *out);
/* True if --clip or --denoise changes values, on the CPU. */
bool qb__output_filters(const qb_output_options *options);
/* Set units for reconstructed slices; `in_mm`: lengths are known in mm. */
const char *qb__volume_units(double hu, bool in_mm);
/* Parse the options that need it once. QB_BAD_ARGUMENT. */
qb_status qb__volume_begin(qb__volume_out *out);
/* Check that --range is two ascending numbers within float32. */
qb_status qb__range_check(const qb_numbers *range);
/* Check that --range fits --dtype, and that -o is given and is not the input folder. */
qb_status qb__volume_check(const qb_output_options *options, const char *input);
/* Number of files for the images, into stack.parts: --parts, else one per writing thread for large volumes.
 * QB_BAD_ARGUMENT for an invalid number, or for another format than HDF5. */
qb_status qb__volume_spread(qb__volume_out *out, const qb_env *env);
/* Bytes per second of the destination; *from (if not NULL) gets storage.h's word for the source of the number. */
double qb__volume_write_rate(const qb__volume_out *out, size_t threads, const char **from);
/* After planning: check an array's type, and that the output does not replace an input (qb__outputs_check). */
qb_status qb__volume_protect_inputs(const qb__volume_out *out, const qb__inputs *inputs, const qb_env *env);
/* QB_NO_SPACE, checked before anything is computed. */
qb_status qb__volume_room(const qb__volume_out *out, const qb_env *env);
/* Copy the caller's options; an array as output sets name and type. QB_BAD_ARGUMENT if both an array and a file are
 * given. */
qb_status qb__output_take(const qb_output_options *from, qb_output_options *to);
qb_status qb__volume_open(qb__volume_out *out, const qb_env *env);
/* Add the stages after computing: convert (unless the output is plain float32 or the images are `converted` already)
 * and write. A slot of the previous stage holds up to `images` images, the last chunk's `last`. Returns the number of
 * stages. */
int qb__volume_stages(qb__volume_out *out, bool converted, size_t images, size_t last, size_t slots, qb__stage *stages);
/* Report the number of values that had to be clamped, and warn of them. */
qb_status qb__volume_report(qb__volume_out *out, cJSON *report, const qb_env *env);
/* Write the provenance and the files of observers, and publish all files. Collective, with the status of each rank so
 * far; rank 0 publishes. */
qb_status qb__volume_commit(qb__volume_out *out, qb_status status, const char *provenance, cJSON *report);
void qb__volume_abort(qb__volume_out *out);
