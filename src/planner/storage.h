/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"
#include "quickbeam/status.h"

/* Rates of a storage with 1, 2, 4, 8 and 16 threads, measured by `qb bench io` and kept in the tuning file: {"storage":
 * mount point, "write_bytes_per_second": [...], "read_...": [...]}. */
enum { QB__STORAGE_STEPS = 5 };
typedef struct qb__storage {
    double write[QB__STORAGE_STEPS]; /* bytes/s: one file per thread, until all is on the disk */
    double read[QB__STORAGE_STEPS];  /* one file read by all threads */
} qb__storage;

/* The measured rate for the folder of `path`; false if there is none. */
bool qb__storage_find(const char *path, qb__storage *storage);
/* The measured rate for the folder of `path`, or the built-in rate of its kind of file system. Returns the source:
 * "measured", "listed of files in memory" or "listed". */
const char *qb__storage_of(const char *path, qb__storage *storage);
/* True if `path` is on a file system in memory, where reading and writing use processor time of the same threads. */
bool qb__storage_in_memory(const char *path);
/* QB_OK also if there is no tuning file. */
qb_status qb__storage_store(const char *path, const qb__storage *storage, const qb_env *env);
/* The smallest number of threads that reaches nine tenths of the best rate. */
size_t qb__storage_pays(const double rate[QB__STORAGE_STEPS]);
/* The rate with this number of threads. */
double qb__storage_rate(const double rate[QB__STORAGE_STEPS], size_t threads);
