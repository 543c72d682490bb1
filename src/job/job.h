/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "geometry/partition.h"
#include "io/digest.h"
#include "job/volume_out.h"
#include "quickbeam/scan.h"

/* The common part of every reconstruction; each method puts it first into its own struct. */
struct qb_job {
    qb_status (*run)(qb_job *job, const qb_env *env);
    void (*destroy)(qb_job *job); /* frees the job itself too */
    /* projections = transpose of run(); NULL: not available */
    qb_status (*transpose)(qb_job *job, const qb_tensor *volume, const qb_env *env, const qb_tensor *projections);
    cJSON *plan;   /* decisions and forecast */
    cJSON *report; /* made by run() */
    char *plan_text, *report_text;
    cJSON *warnings; /* array of texts: every warning sent to the caller, once */
    qb_env heard;    /* the caller's env, with a log that also collects warnings */
    const qb_env *caller;
    cJSON *content;      /* hashes of the data that was read, without the scan (job/job.h); made by run() */
    const qb_scan *scan; /* not owned, may be NULL */
    qb__digest digest;   /* hash of the projections; made by run() */
    atomic_bool running;
    qb__inputs inputs; /* input files; `also` are those of its scan and its geometry */
};

/* A copy of the caller's env for the running call; its log collects warnings and passes them on. Valid as long as the
 * job, or until the next call. */
const qb_env *qb__job_listen(qb_job *job, const qb_env *env);
/* Without limits of the caller, a rank takes its share of the machine's threads and memory. */
void qb__job_share(qb_env *env);
/* Store a warning that was already sent to the caller. */
void qb__job_warned(qb_job *job, const char *text);
/* Add {warnings: [...]} with all warnings so far. */
void qb__job_add_warnings(const qb_job *job, cJSON *object);

/* Add {stages: [...], wall_seconds, peak...} of a pipeline's run to a report. */
void qb__report_stages(cJSON *report, const qb__pipeline_report *times, int threads);

/* Head of every provenance: program, version, command, and an object `run` with the date. Only values inside `run` may
 * differ between equal runs. */
cJSON *qb__provenance_begin(const char *command);

/* Append a word to a shell command in text[size], quoted if necessary; text that does not fit is cut off. */
void qb__command_add(char *text, size_t size, const char *word);

/* The provenance of an output: head, input, decisions (the plan), times; release with cJSON_free. The result of
 * qb_job_run is printed here too, in case memory runs out later. `views`: geometry of the output, if it holds
 * projections; else NULL. */
qb_status qb__provenance(qb_job *job, const char *command, const char *input, const qb_geometry *views,
                         const double *angles, char **text);

/* What a job that is resumed has in common with the earlier one: the part of its fingerprint that says what it reads. */
void qb__job_add_hash(cJSON *json, const char *name, uint64_t hash);
/* The name of the input, and its files by size and times. */
void qb__job_add_files(cJSON *json, const char *path, const qb__inputs *inputs);
/* The same of a scan, with its angles, flats and darks, and a sample of its numbers. */
qb_status qb__job_add_input(cJSON *json, qb_scan *scan, const char *path, const qb__inputs *inputs);

/* QB_BAD_ARGUMENT if the state at `path` belongs to another job, with the difference. Both are JSON, with options in an
 * object of their own. */
qb_status qb__job_fingerprint_mismatch(const char *path, const char *then, const char *now);

/* Parts that the plans of all jobs have in common; the plan becomes the provenance. */

/* The head: the input, and the volume that is made or read. */
typedef struct qb__subject {
    const char *verb, *input, *format, *quantity, *quantity_from, *units;
    size_t views, rows, columns;
    qb_grid grid;
} qb__subject;
void qb__describe_subject(cJSON *plan, const qb__subject *subject);
/* Add every option of a table that is set to "options", which is returned. */
cJSON *qb__describe_options(cJSON *plan, const qb_param *table, const void *options);
/* Memory in bytes, output bytes, seconds of computing. */
void qb__describe_cost(cJSON *plan, const qb__volume_out *volume, size_t memory, double seconds);

/* Memory that a job holds from beginning to end, besides the rings of its pipeline and the scratch of its threads. */
typedef struct qb__held {
    int threads;
    const qb_scan_info *scan; /* NULL = no scan is prepared */
    size_t prepared;          /* bytes of flats and darks for preparation */
    size_t observers;         /* bytes of the output's observers */
    size_t more;              /* other bytes of the method */
} qb__held;
/* The sum of these, and of what the process holds at present. */
size_t qb__held_bytes(const qb__held *held);

/* The caller's memory limit is too small: QB_BAD_ARGUMENT with the memory that the smallest chunks need. */
qb_status qb__too_small(const qb__cut_space *space, const qb__cut *least, const qb_env *env);

/* Hashes of the data that a job has read, the `content` of its provenance. Empty without xxhash. */

/* Add the hash of an array in memory, which the running job uses, to qb_job's content. */
void qb__content_add(cJSON *content, const char *name, const void *values, size_t bytes);
/* Add a hash that the caller has computed. */
void qb__content_add_hash(cJSON *content, const char *name, uint64_t hash);
/* Add the hash of images that was gathered while reading; does nothing if not all images were read. */
void qb__content_add_images(cJSON *content, const char *name, const qb__digest *digest);
/* The job's content and, for a scan (may be NULL), {projections: {first_row, last_row, xxh3}, flats, darks, angles},
 * with the hash of the projections from `digest`. NULL: no content. */
cJSON *qb__content(const cJSON *content, const qb_scan *scan, const qb__digest *digest);
