/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/inputs.h"
#include "geometry/fov.h"
#include "io/publish/journal.h"
#include "job/pipeline.h"
#include "quickbeam/recon.h"
#include "quickbeam/status.h"

/* --denoise: a filter of each image after the reconstruction. Beyond the edges images are mirrored. NaN and infinite
 * values stay and are ignored by their neighbours. */
typedef struct qb__denoise {
    double sigma;  /* standard deviation of a Gaussian filter, in pixels; 0: none */
    size_t window; /* side of a median filter's window in pixels, odd; 0: none */
} qb__denoise;

/* Parse "gaussian:SIGMA" or "median:N"; NULL or "none": no filter. QB_BAD_ARGUMENT for other text, and for a filter
 * without effect. */
qb_status qb__denoise_parse(const char *text, qb__denoise *denoise);
/* Bytes of memory for filtering one image. */
size_t qb__denoise_bytes(const qb__denoise *denoise, size_t nx, size_t ny);
/* Filter image[ny][nx] in place. */
qb_status qb__denoise_image(const qb__denoise *denoise, float *image, size_t nx, size_t ny);

/* Checkpoints of a volume for --resume: the hidden folder of the output, and a journal in it (io/publish/journal.h)
 * that lists from time to time the images that are on the disk. Before the first checkpoint nothing is noted, and a run
 * that fails then leaves nothing. */
typedef struct qb__keep {
    bool resume;  /* continue with the images of an earlier run */
    double every; /* seconds between two checkpoints; 0 = none */
    /* The data that must be equal for a run to resume, as JSON. Called once, when needed. Release with cJSON_free. */
    qb_status (*tell)(void *self, char **job);
    void *self;
    const char *path; /* path of the output, for messages */
    size_t images;
    /* valid while it is open */
    const qb_env *env;
    qb__comm *comm; /* NULL = none */
    qb_writer *writer;
    char *job, *folder;  /* the job as JSON; the hidden folder */
    uint64_t whose;      /* hash of rank 0's job when the state was read */
    unsigned char *done; /* bit for each image that an earlier run has finished; NULL: none */
    qb__journal journal;
    double saved; /* time of the last checkpoint, or of the start */
} qb__keep;

/* On rank 0: find the images that an earlier run finished in the hidden folder. QB_BAD_ARGUMENT for another job, with
 * the difference; QB_BAD_INPUT for a damaged folder. */
qb_status qb__keep_look(void *keep, const char *folder);
/* Collective, after the file was opened or failed to open: distributes what was found. The writer stays the caller's.
 * Close it also after a failure. */
qb_status qb__keep_open(qb__keep *keep, qb__comm *comm, qb_writer *writer, qb_status status, const qb_env *env);
/* Call it after each write, from one thread at a time. Fails if an earlier write did not reach the disk. */
qb_status qb__keep_note(qb__keep *keep);
void qb__keep_close(qb__keep *keep);
/* Call before the first chunk: the engine may have changed since the state was read, and may differ between ranks.
 * QB_BAD_ARGUMENT if it would not continue the same job. */
qb_status qb__keep_still(qb__keep *keep);
/* True if images first .. end - 1 are all done; also true for an empty range. */
bool qb__keep_has(const qb__keep *keep, size_t first, size_t end);

/* Counts unexpected NaN in the images of a result. Zeroed at first; any thread may count. */
typedef struct qb__volume_nan {
    _Atomic uint64_t looked, values; /* images that were checked; values that are NaN */
    _Atomic uint64_t first, end;     /* range of images with NaN; end = 0: none */
} qb__volume_nan;

void qb__volume_nan_count(qb__volume_nan *nan, const float *image, size_t pixels, size_t number);
/* Collective: refuse a result of `shape` that has only NaN, and warn of others. */
qb_status qb__volume_nan_report(qb__volume_nan *nan, qb__comm *comm, const size_t shape[3], const char *path,
                                bool projections, cJSON *report, const qb_env *env);

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
