/* SPDX-License-Identifier: MIT */
/* Volumes and projections as MRC2014: a header of 1024 bytes, little-endian, then the images. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/formats.h"
#include "io/plain/mrc.h"
#include "io/writer.h"

static void put_int(unsigned char *head, int word, int32_t value) {
    for (int i = 0; i < 4; i++) head[4 * word + i] = (unsigned char)((uint32_t)value >> 8 * i);
}

static void put_real(unsigned char *head, int word, double value) {
    const float single = (float)value;
    int32_t bits;
    memcpy(&bits, &single, sizeof bits);
    put_int(head, word, bits);
}

/* The MRC mode of a type; -1 if MRC does not have it. Bytes of mode 0 are signed. Unsigned bytes are not written,
 * because programs disagree on how the header marks them. */
static int32_t mode_of(qb_dtype dtype) {
    for (size_t i = 0; i < QB__MRC_TYPES; i++)
        if (qb__mrc_types[i].dtype == dtype) return qb__mrc_types[i].mode;
    return -1;
}

/* Slices are written in any order, so their statistics are not known here. These values mean "not known" in MRC2014. */
static void put_statistics(unsigned char *head) {
    enum { DMIN = 19, DMAX, DMEAN, RMS = 54 };
    put_real(head, DMIN, 0);
    put_real(head, DMAX, -1);
    put_real(head, DMEAN, -2);
    put_real(head, RMS, -1);
}

static void fill_header(const qb_stack *s, unsigned char *head) {
    enum { ANGLES = 13, VERSION = 27, LABELS = 55, MAP_AT = 208 };
    const bool volume = !qb__stack_is_projections(s);
    for (int i = 0; i < 3; i++) {
        const size_t n = s->shape[2 - i];
        const double d = s->voxel[i] > 0 ? s->voxel[i] : 0;
        put_int(head, QB__MRC_NX + i, (int32_t)n);
        put_int(head, QB__MRC_MX + i, (int32_t)n);
        put_real(head, QB__MRC_XLEN + i, (double)n * d / QB__MRC_ANGSTROM);
        put_real(head, ANGLES + i, 90);
        put_int(head, QB__MRC_MAPC + i, i + 1);
        put_real(head, QB__MRC_ORIGIN + i, (s->offset[i] - 0.5 * ((double)n - 1) * d) / QB__MRC_ANGSTROM);
    }
    if (!volume) put_int(head, QB__MRC_MX + 2, 1); /* in a stack of images the unit cell is one image thick */
    if (!volume) put_real(head, QB__MRC_XLEN + 2, s->voxel[2] > 0 ? s->voxel[2] / QB__MRC_ANGSTROM : 0);
    put_int(head, QB__MRC_MODE, mode_of(s->dtype));
    put_int(head, QB__MRC_SPACE_GROUP, volume);
    put_int(head, VERSION, 20140);
    put_statistics(head);
    memcpy(head + MAP_AT, "MAP \x44\x44\0\0", 8);
    put_int(head, LABELS, 1);
    snprintf((char *)head + QB__MRC_LABEL_AT, 80, QB__MRC_WRITER "%.20s%s%.20s", s->quantity, *s->units ? " in " : "",
             s->units);
}

static qb_status begin_mrc(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    unsigned char head[QB__MRC_HEADER] = {0};
    if (mode_of(s->dtype) < 0)
        return qb__fail(QB_BAD_ARGUMENT, "%s: MRC has no %s; give --dtype float32, float16 or uint16, or a .h5 file",
                        writer->path, qb_dtype_name(s->dtype));
    for (int i = 0; i < 3; i++)
        if (s->shape[i] > QB__MRC_SIZE_MOST)
            return qb__fail(QB_BAD_ARGUMENT, "%s: %zu voxels along an axis are too many for MRC: give .h5",
                            writer->path, s->shape[i]);
    fill_header(s, head);
    writer->data_offset = sizeof head;
    return writer->taken_up ? QB_OK : qb__pwrite_all(writer->fd, writer->path, head, sizeof head, 0);
}

const qb__writer_kind qb__mrc_writer = {
    .begin = begin_mrc, .finish = qb__write_sidecar, .resumes = true, .keeps_angles = true};
