/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_GZIP_FILE_H
#define QB_IO_GZIP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* The first `bytes` of the file `in` into `out` as one gzip stream, by so many threads; `path` is for messages. QB_UNSUPPORTED in builds
 * without zlib. The result does not depend on the threads. */
qb_status qb__gzip_file(int in, int out, const char *path, uint64_t bytes, size_t threads);

#endif
