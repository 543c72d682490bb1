/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_GZIP_FILE_H
#define QB_IO_GZIP_FILE_H

#include "io/writer_kind.h"

/* For formats whose images come in any order and which a run may go on with: their file is compressed once it is whole.
 * Into a new one in its place, what is behind the first `from` bytes as one stream of gzip or of zlib, by the writer's
 * threads; the bytes before it are left to the caller. *bytes is how long the stream is. QB_UNSUPPORTED in builds
 * without zlib. The result does not depend on the threads. */
typedef enum qb__stream { QB__STREAM_GZIP, QB__STREAM_ZLIB } qb__stream;
qb_status qb__pack_part(qb_writer *writer, size_t from, qb__stream kind, uint64_t *bytes);

#endif
