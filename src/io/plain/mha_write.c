/* SPDX-License-Identifier: MIT */
/* Volumes as MetaImage: .mha is one file; .mhd is the header alone, and the images are in NAME.mhd.raw. The images may
 * be compressed into one zlib stream. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/codec/gzip_file.h"
#include "io/formats.h"
#include "io/plain/mha.h"
#include "io/publish/paths.h"
#include "io/publish/publication.h"
#include "io/writer.h"
#include "quickbeam/geometry.h"

enum { HEADER_ROOM = 16384 };

static bool is_apart(const qb_writer *writer) { return strcasecmp(qb__ending(writer->path), ".mhd") == 0; }

/* The images next to a header. */
static bool also_mha(const char *path, size_t number, char *name, size_t room) {
    snprintf(name, room, "%s.raw", path);
    return number == 0 && strcasecmp(qb__ending(path), ".mhd") == 0;
}

static const char *type_name(qb_dtype dtype) {
    for (size_t i = 0; i < QB__MHA_TYPES; i++)
        if (qb__mha_types[i].dtype == dtype) return qb__mha_types[i].name;
    return NULL;
}

/* Keys that few volumes need: the value range of integers, and the beam of a scan. */
static void print_rare(const qb_stack *s, char *text, size_t size) {
    int n = 0;
    *text = 0;
    if (!qb_dtype_is_float(s->dtype) && s->scale_high > s->scale_low)
        n = qb__print(text, size, "QuickbeamScale = %.9g %.9g\n", s->scale_low, s->scale_high);
    if (n >= 0 && s->beam) qb__print(text + n, size - (size_t)n, "QuickbeamBeam = %s\n", qb_beam_name(s->beam));
}

/* All keys, with the provenance on one line. The caller fills the rest of the header with blanks. packed: bytes of the
 * compressed images; 0: not compressed. */
static size_t print_header(const qb_writer *writer, const char *provenance, uint64_t packed, char *text, size_t size) {
    const qb_stack *s = &writer->stack;
    double d[3], first[3];
    char rare[160], packing[64] = "";
    for (int i = 0; i < 3; i++) {
        d[i] = s->voxel[i] > 0.0 ? s->voxel[i] : 1.0;
        first[i] = s->offset[i] - 0.5 * ((double)s->shape[2 - i] - 1.0) * d[i];
    }
    if (s->z_down) first[2] = 0 - first[2];
    print_rare(s, rare, sizeof rare);
    if (packed) snprintf(packing, sizeof packing, "CompressedDataSize = %llu\n", (unsigned long long)packed);
    int n = qb__print(text, size,
                      "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
                      "CompressedData = %s\n%sTransformMatrix = 1 0 0 0 1 0 0 0 %s1\n"
                      "Offset = %.12g %.12g %.12g\nCenterOfRotation = 0 0 0\n"
                      "ElementSpacing = %.12g %.12g %.12g\nDimSize = %zu %zu %zu\nElementType = %s\n"
                      "QuickbeamQuantity = %s\nQuickbeamUnits = %s\n%sQuickbeamProvenance = %s",
                      packed ? "True" : "False", packing, s->z_down ? "-" : "", first[0], first[1], first[2], d[0],
                      d[1], d[2], s->shape[2], s->shape[1], s->shape[0], type_name(s->dtype), s->quantity,
                      s->voxel[0] > 0.0 ? s->units : "1/pixel", rare, provenance);
    return n < 0 ? size : (size_t)n;
}

/* Moves the images to the name of their own file; the header takes the place of writer->part. */
static qb_status put_apart(qb_writer *writer, const char *path, const char *header, size_t bytes) {
    const char *fresh;
    QB__OR_RETURN(qb__publication_file(writer->set, path, &fresh));
    if (rename(writer->part, fresh) != 0) return qb__fail_errno(errno, "writing", path);
    return qb__write_fresh(writer->part, writer->path, header, bytes);
}

/* In one file the header has a fixed length, so that the data need not move when the provenance comes. */
static qb_status put_header(qb_writer *writer, const char *provenance, uint64_t packed) {
    enum { NAME = 4096 };
    char *text, path[NAME], last[NAME + 32];
    const bool apart = also_mha(writer->path, 0, path, sizeof path);
    if (apart && strlen(writer->path) + sizeof ".raw" > sizeof path)
        return qb__fail(QB_BAD_ARGUMENT, "%.60s... is too long a name", writer->path);
    qb_status status = qb__alloc(HEADER_ROOM + 1, 1, &text);
    if (status != QB_OK) return status;
    const size_t end = (size_t)snprintf(last, sizeof last, "\nElementDataFile = %s\n",
                                        apart ? qb__last_part(path) : "LOCAL"),
                 room = HEADER_ROOM - end;
    size_t n = print_header(writer, provenance, packed, text, HEADER_ROOM);
    if (n >= room) n = print_header(writer, "see the .json next to this file", packed, text, HEADER_ROOM);
    if (!apart) {
        memset(text + n, ' ', room - n);
        n = room;
    }
    memcpy(text + n, last, end);
    status =
        apart ? put_apart(writer, path, text, n + end) : qb__pwrite_all(writer->fd, writer->path, text, HEADER_ROOM, 0);
    qb__free(text);
    return status;
}

/* Resuming is refused if the images are already compressed or moved: that comes last, so no image can be added after
 * it. */
static qb_status check_kept(const qb_writer *writer) {
    char text[256] = "";
    if (pread(writer->fd, text, sizeof text - 1, 0) < 0) return qb__fail_errno(errno, "reading", writer->part);
    const bool complete =
        is_apart(writer) ? memcmp(text, "ObjectTy", 8) == 0 || (qb__packs(writer) && memcmp(text, "\x78\x01", 2) == 0)
                         : strstr(text, "CompressedData = True") != NULL;
    if (!complete) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s, kept by an earlier run, is complete: remove it to start again", writer->part);
}

static qb_status begin_mha(qb_writer *writer) {
    if (!type_name(writer->stack.dtype))
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: MetaImage has no %s; use .h5, .npy or .tif, or another "
                        "--dtype",
                        writer->path, qb_dtype_name(writer->stack.dtype));
    writer->data_offset = is_apart(writer) ? 0 : HEADER_ROOM;
    if (writer->taken_up) return check_kept(writer);
    return is_apart(writer) ? QB_OK : put_header(writer, "", 0);
}

static qb_status finish_mha(qb_writer *writer, const char *provenance) {
    char *line = qb__strdup(provenance);
    if (!line) return qb__fail(QB_NO_MEMORY, "%s: no memory for the provenance", writer->path);
    for (char *c = line; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    uint64_t packed = 0;
    qb_status status = qb__packs(writer) ? qb__pack_part(writer, writer->data_offset, QB__STREAM_ZLIB, &packed) : QB_OK;
    if (status == QB_OK) status = put_header(writer, line, packed);
    if (status == QB_OK && strlen(line) > HEADER_ROOM / 2) status = qb__write_sidecar(writer, provenance);
    qb__free(line);
    return status;
}

/* While it is made, the compressed file exists next to the uncompressed one, so it needs its own space. */
static size_t overhead_mha(const qb_writer *writer) {
    return HEADER_ROOM + (qb__packs(writer) ? writer->stack.shape[0] * writer->image_bytes : 0);
}

const qb__writer_kind qb__mha_writer = {.also = also_mha,
                                        .begin = begin_mha,
                                        .finish = finish_mha,
                                        .overhead = overhead_mha,
                                        .resumes = true,
                                        .packs = " gzip "};
