/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_STORAGE_H
#define QB_PLANNER_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"
#include "quickbeam/status.h"

/* What a storage gives to 1, 2, 4, 8 and 16 threads, as `qb bench io` measured it there and keeps it in the tuning
 * file: {"storage": the folder that it is mounted at, "write_bytes_per_second": [...], "read_...": [...]}. */
enum { QB__STORAGE_STEPS = 5 };
typedef struct qb__storage {
    double write[QB__STORAGE_STEPS]; /* bytes a second: a file for each thread, until all is on the disk */
    double read[QB__STORAGE_STEPS];  /* one file by all threads */
} qb__storage;

/* The rate of the folder of `path`; false if it was never measured. */
bool qb__storage_find(const char *path, qb__storage *storage);
/* The rate of the folder of `path`, or the listed one of its kind of file system. Returns which: "measured",
 * "listed of files in memory" or "listed". */
const char *qb__storage_of(const char *path, qb__storage *storage);
/* Whether `path` is on a file system in memory, where reading and writing take time of the same threads. */
bool qb__storage_in_memory(const char *path);
/* QB_OK, too, where there is no tuning file to keep it in. */
qb_status qb__storage_store(const char *path, const qb__storage *storage, const qb_env *env);
/* The fewest threads that come within a tenth of the most. */
size_t qb__storage_pays(const double rate[QB__STORAGE_STEPS]);
/* The rate of so many threads. */
double qb__storage_rate(const double rate[QB__STORAGE_STEPS], size_t threads);

#endif
