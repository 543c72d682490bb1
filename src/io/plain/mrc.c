/* SPDX-License-Identifier: MIT */
/* MRC of electron tomography: a header of 1024 bytes, an extended header, and images. Lengths are in Angstrom. The
 * format is MRC2014 (Cheng et al., J. Struct. Biol. 192, 146, 2015). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/plain/mrc.h"
#include "io/writer.h"

enum { MOST_EXTENDED = 1 << 30, IMOD_STAMP = 1146047817 };

const qb__mrc_type qb__mrc_types[QB__MRC_TYPES] = {{0, QB_I8}, {1, QB_I16}, {2, QB_F32}, {6, QB_U16}, {12, QB_F16}};

/* The 32-bit words of the header in the byte order of this computer. */
typedef struct header {
    int32_t word[QB__MRC_HEADER / 4];
    bool swap;
} header;

static float real(const header *h, int at) {
    float value;
    memcpy(&value, &h->word[at], sizeof value);
    return value;
}

/* Whether the byte order is right: sizes and mode are small then. The byte-order stamp of old files is often missing,
 * so it is not used. */
static bool looks_right(const header *h) {
    for (int i = QB__MRC_NX; i <= QB__MRC_NZ; i++)
        if (h->word[i] < 1 || h->word[i] > QB__MRC_SIZE_MOST) return false;
    return h->word[QB__MRC_MODE] >= 0 && h->word[QB__MRC_MODE] < 128;
}

static qb_status read_header(const char *path, header *h) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = qb__pread_all(fd, path, h->word, sizeof h->word, 0);
    close(fd);
    if (status != QB_OK) return status;
    if (looks_right(h)) return QB_OK;
    qb__swap_bytes(h->word, QB__MRC_HEADER / 4, 4);
    h->swap = true;
    return looks_right(h) ? QB_OK : qb__fail(QB_BAD_INPUT, "%s: its first 1024 bytes are not an MRC header", path);
}

/* Bytes of mode 0 are signed in MRC2014. In files of IMOD they are unsigned, unless a flag says that they are
 * signed. */
static bool type_of(const header *h, qb_dtype *dtype) {
    for (size_t i = 0; i < QB__MRC_TYPES; i++) {
        if (qb__mrc_types[i].mode != h->word[QB__MRC_MODE]) continue;
        *dtype = qb__mrc_types[i].dtype;
        if (h->word[QB__MRC_MODE] == 0 && h->word[QB__MRC_FLAGS - 1] == IMOD_STAMP && !(h->word[QB__MRC_FLAGS] & 1))
            *dtype = QB_U8;
        return true;
    }
    return false;
}

/* Sets voxel size and offset. Programs disagree on the meaning of the origin, so only the origin of our own files is
 * used. */
static void place(const header *h, qb__source *source) {
    const char *label = (const char *)h->word + QB__MRC_LABEL_AT;
    const bool ours = !h->swap && memcmp(label, QB__MRC_WRITER, sizeof QB__MRC_WRITER - 1) == 0;
    for (int i = 0; i < 3; i++) {
        const double length = real(h, QB__MRC_XLEN + i) * QB__MRC_ANGSTROM, count = h->word[QB__MRC_MX + i];
        const double first = real(h, QB__MRC_ORIGIN + i) * QB__MRC_ANGSTROM;
        if (!(length > 0 && isfinite(length) && count > 0)) continue;
        source->voxel[i] = length / count;
        if (ours && isfinite(first))
            source->offset[i] = first + 0.5 * ((double)source->shape[2 - i] - 1) * source->voxel[i];
    }
}

qb_status qb__mrc_open(const char *path, const char *how, qb__source **source) {
    header h = {.swap = false};
    qb__plain layout = {.format = "MRC", .longer = "its header does not fit its data"};
    (void)how;
    *source = NULL;
    QB__OR_RETURN(read_header(path, &h));
    if (!type_of(&h, &layout.dtype))
        return qb__fail(QB_UNSUPPORTED, "%s: its MRC mode is %d, and 0, 1, 2, 6 and 12 are read", path,
                        h.word[QB__MRC_MODE]);
    const int32_t *map = &h.word[QB__MRC_MAPC], extended = h.word[QB__MRC_EXTENDED];
    if ((map[0] || map[1] || map[2]) && (map[0] != 1 || map[1] != 2 || map[2] != 3))
        return qb__fail(QB_UNSUPPORTED, "%s: its axes are stored in the order %d,%d,%d: save it as 1,2,3 (x, y, z)",
                        path, map[0], map[1], map[2]);
    if (extended < 0 || extended > MOST_EXTENDED)
        return qb__fail(QB_BAD_INPUT, "%s: its header states an extended header of %d bytes, which is not possible",
                        path, extended);
    for (int i = 0; i < 3; i++) layout.shape[i] = (size_t)h.word[QB__MRC_NZ - i];
    layout.offset = QB__MRC_HEADER + (uint64_t)extended;
    layout.swap = h.swap;
    QB__OR_RETURN(qb__plain_open(path, &layout, source));
    place(&h, *source);
    const qb_status status = qb__sidecar_apply(path, *source);
    if (h.word[QB__MRC_SPACE_GROUP] == 1) qb__source_is_volume(*source); /* 0 means a stack of images */
    return qb__source_give(status, *source, source);
}
