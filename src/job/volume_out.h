/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_VOLUME_OUT_H
#define QB_JOB_VOLUME_OUT_H

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

/* What becomes of voxels that not all views see. */
typedef struct qb__mask {
    bool used, along; /* along: beyond a cone's range of z, too */
    float value;
    qb__fov fov;
    qb_grid grid;
} qb__mask;

/* The last part of every job: images as float32 (slices of a volume, projections) -> Hounsfield
 * units, the dtype asked for, the file; observers look at them there. */
typedef struct qb__volume_out {
    bool in_place;  /* the engine puts images where they belong itself: nothing is left to write */
    qb__comm *comm; /* those who write the same volume: opening, reporting and committing it wait for all */
    const qb_output_options *options;
    qb_stack stack;       /* what it says of itself; dtype and scale are set here */
    double hu;            /* attenuation of water; 0 = none. The caller has scaled by 1000 / hu already */
    const qb__mask *mask; /* of slices; NULL = none */
    const bool *lost;     /* [image * lost_step]: this slice was never measured and becomes NaN; NULL: none is so */
    size_t lost_step;
    int threads;              /* that the job has */
    const char *sidecar;      /* a file that the method writes as well; NULL = none */
    qb__denoise denoise;      /* of options->denoise; set by qb__volume_begin() */
    double low, high;         /* of integer types; set by the caller when the options do not say */
    const qb__chunks *chunks; /* of the stages, those that this process writes */
    qb__publication *set;     /* file, notes, preview, what is beside: together or not at all */
    qb_writer *writer;
    qb__observers observers;
    qb__keep keep;            /* zeroed: nothing is */
    _Atomic uint64_t outside; /* values that the file's type cannot hold, of all threads and devices */
    qb__volume_nan nan;
} qb__volume_out;

/* Of --outside and --circle; `seen` is still to be filled in. QB_BAD_ARGUMENT for NaN in integers. */
qb_status qb__mask_of(qb_outside outside, bool circle, qb_dtype dtype, const qb_grid *grid, qb__mask *mask);
qb_dtype qb__volume_dtype(const qb__volume_out *out);
/* Bytes of a value where it is written to; 0: nowhere. */
size_t qb__value_written(const qb_output_options *options);
/* Whether images change on their way to the file. */
bool qb__volume_converts(const qb__volume_out *out);
/* Whether values change, by --clip or --denoise: on the CPU. */
bool qb__output_filters(const qb_output_options *options);
/* Of reconstructed slices; `in_mm`: lengths are known. */
const char *qb__volume_units(double hu, bool in_mm);
/* What of the options is parsed once. QB_BAD_ARGUMENT. */
qb_status qb__volume_begin(qb__volume_out *out);
/* --range is two numbers in order, both within float32. */
qb_status qb__range_check(const qb_numbers *range);
/* --range and --dtype fit together, -o is there and not the folder that is read. */
qb_status qb__volume_check(const qb_output_options *options, const char *input);
/* Over how many files the images go, into stack.parts: what --parts says, else as many as threads that
 * write where that pays. QB_BAD_ARGUMENT for what is no number of parts, or no HDF5. */
qb_status qb__volume_spread(qb__volume_out *out, const qb_env *env);
/* Bytes a second to where it goes; `from`, if not NULL: storage.h's word for whence it is known. */
double qb__volume_write_rate(const qb__volume_out *out, size_t threads, const char **from);
/* Once it is decided: an array takes what will be written, and that spares what is read
 * (qb__outputs_check). */
qb_status qb__volume_protect_inputs(const qb__volume_out *out, const qb__inputs *inputs, const qb_env *env);
/* QB_NO_SPACE, before anything is computed. */
qb_status qb__volume_room(const qb__volume_out *out, const qb_env *env);
/* The caller's options, copied; an array in the place of a file gives them its name and its type.
 * QB_BAD_ARGUMENT where there are both. */
qb_status qb__output_take(const qb_output_options *from, qb_output_options *to);
qb_status qb__volume_open(qb__volume_out *out, const qb_env *env);
/* The stages behind those that compute: convert, where the output is not plain float32 and `converted`
 * images do not come already, and write. A slot of the stage before holds up to `images` images, the last
 * chunk's `last`. Returns how many. */
int qb__volume_stages(qb__volume_out *out, bool converted, size_t images, size_t last, size_t slots, qb__stage *stages);
/* How many values had to be clamped: into the report, and as a warning. */
qb_status qb__volume_report(qb__volume_out *out, cJSON *report, const qb_env *env);
/* Provenance, what observers leave, and the names of all. Of ranks every one comes here, with how it fared until
 * now; the first gives the names. */
qb_status qb__volume_commit(qb__volume_out *out, qb_status status, const char *provenance, cJSON *report);
void qb__volume_abort(qb__volume_out *out);

#endif
