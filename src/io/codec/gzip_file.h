/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/writer_kind.h"

/* Compress the part of a finished file behind its first `from` bytes into one gzip or zlib stream, with the writer's
 * threads. It is for formats whose images are written in any order, or whose run may be resumed: their file can be
 * compressed only when it is complete. The result is a new file that replaces writer->part; the caller writes its first
 * `from` bytes. *bytes: length of the stream. The result does not depend on the number of threads. QB_UNSUPPORTED in
 * builds without zlib. */
typedef enum qb__stream { QB__STREAM_GZIP, QB__STREAM_ZLIB } qb__stream;
qb_status qb__pack_part(qb_writer *writer, size_t from, qb__stream kind, uint64_t *bytes);
