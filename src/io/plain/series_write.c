/* SPDX-License-Identifier: MIT */
/* Writes the images of a series, one file each, with several threads. */
#include <sys/stat.h>

#include "base/memory.h"
#include "base/share.h"
#include "io/plain/source.h"
#include "io/tiff/tiff_write.h"

/* Some images, a run of them for each thread. */
typedef struct sweep {
    qb_writer *writer;
    qb__series_put *put;
    size_t first, end, images; /* all images; images of one piece */
    const char *data;
} sweep;

static qb_status write_piece(void *context, size_t piece, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const size_t first = s->first + piece * s->images, end = qb__smaller(first + s->images, s->end);
    qb_status status = QB_OK;
    for (size_t i = first; i < end && status == QB_OK; i++)
        status = s->put(s->writer, i, s->data + (i - s->first) * s->writer->image_bytes);
    return status;
}

qb_status qb__series_write(qb_writer *writer, size_t first, size_t end, const void *data, qb__series_put *put) {
    sweep s = {writer, put, first, end, 0, data};
    s.images =
        qb__ceil_div(end - first, qb__pieces(writer->threads, (end - first) * writer->image_bytes, QB__PIECE_LEAST));
    return qb__share(writer->threads, qb__ceil_div(end - first, s.images), write_piece, &s);
}

bool qb__series_has(const qb_writer *writer, const qb__series *series, const unsigned char *images, uint64_t least) {
    char name[QB__NAME_ROOM];
    struct stat about;
    for (size_t i = 0; i < writer->stack.shape[0]; i++) {
        if (!(images[i / 8] >> i % 8 & 1)) continue;
        qb__series_name(series, writer->stack.first + i, name);
        if (stat(name, &about) != 0 || !S_ISREG(about.st_mode) || (uint64_t)about.st_size < least) return false;
    }
    return true;
}
