/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_IO_H
#define QB_BENCH_BENCH_IO_H

#include <stddef.h>

#include "quickbeam/status.h"

/* A folder of a benchmark's own, in the temporary one ($TMPDIR). */
typedef struct qb__bench_folder {
    char path[512];
} qb__bench_folder;

qb_status qb__bench_folder_create(qb__bench_folder *folder);
void qb__bench_folder_remove(const qb__bench_folder *folder); /* with the files in it */
/* The path of a file in it, into path[size]. */
void qb__bench_file(const qb__bench_folder *folder, const char *name, char *path, size_t size);

#endif
