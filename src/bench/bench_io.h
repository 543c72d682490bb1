/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "quickbeam/array.h"
#include "quickbeam/env.h"

/* A benchmark's own folder, inside the temporary one ($TMPDIR). */
typedef struct qb__bench_folder {
    char path[512];
} qb__bench_folder;

qb_status qb__bench_folder_create(qb__bench_folder *folder);
void qb__bench_folder_remove(const qb__bench_folder *folder); /* also removes the files in it */
/* Create a benchmark's folder in `folder`, with a hidden name. */
qb_status qb__bench_folder_in(const char *folder, qb__bench_folder *made);
/* The path of a file in it, into path[size]. */
void qb__bench_file(const qb__bench_folder *folder, const char *name, char *path, size_t size);
/* Write `bytes` in 1, 2, 4, ... files by as many threads, and read one file by them: the rates go into the result, and
 * into the tuning file for plans. */
qb_status qb__bench_storage(const qb__bench_folder *folder, size_t bytes, const qb_env *env, cJSON *result);

/* Measure the storage of `folder` in about `seconds`, for the tuning file. */
qb_status qb__storage_measure(const char *folder, size_t bytes, double seconds, const qb_env *env);

/* For each container and codec, or for `only` ("h5_zstd"), writes and reads compressed files in `folder`, and runs the
 * codec alone, on all threads. Volumes smaller than a chunk are skipped. Changes the values. */
qb_status qb__bench_packed(const char *folder, const char *only, qb_array *volume, cJSON *result);
