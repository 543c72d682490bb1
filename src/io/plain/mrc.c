/* SPDX-License-Identifier: MIT */
/* MRC of electron tomography: a header of 1024 bytes, an extended header, and images. Lengths are in Angstrom. The format is
 * MRC2014 (Cheng et al., J. Struct. Biol. 192, 146, 2015). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"

enum { HEADER = 1024, MOST_EXTENDED = 1 << 30 };
/* Places of 32-bit words in the header. */
enum { NX, NY, NZ, MODE, MX = 7, XLEN = 10, MAPC = 16, EXTENDED = 23, FLAGS = 39 };
enum { IMOD_STAMP = 1146047817, MAP_AT = 208, ORDER_AT = 212 };

static const struct {
    int32_t mode;
    qb_dtype dtype;
} types[] = {{0, QB_I8}, {1, QB_I16}, {2, QB_F32}, {6, QB_U16}, {12, QB_F16}};

/* The words of the header in our byte order. */
typedef struct header {
    int32_t word[HEADER / 4];
    bool swap;
} header;

static float real(const header *h, int at) {
    float value;
    memcpy(&value, &h->word[at], sizeof value);
    return value;
}

/* The byte order that makes sense: sizes and mode are small. Stamps of old files are often missing. */
static bool looks_right(const header *h) {
    enum { MOST = 1 << 24 };
    for (int i = NX; i <= NZ; i++)
        if (h->word[i] < 1 || h->word[i] > MOST) return false;
    return h->word[MODE] >= 0 && h->word[MODE] < 128;
}

static qb_status read_header(const char *path, header *h) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = qb__pread_all(fd, path, h->word, sizeof h->word, 0);
    close(fd);
    if (status != QB_OK) return status;
    if (looks_right(h)) return QB_OK;
    qb__swap_bytes(h->word, HEADER / 4, 4);
    h->swap = true;
    return looks_right(h) ? QB_OK : qb__fail(QB_BAD_INPUT, "%s: its first 1024 bytes are no header of MRC", path);
}

/* IMOD writes bytes without a sign, unless a flag says so. */
static bool type_of(const header *h, qb_dtype *dtype) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (types[i].mode != h->word[MODE]) continue;
        *dtype = types[i].dtype;
        if (h->word[MODE] == 0 && h->word[FLAGS - 1] == IMOD_STAMP && !(h->word[FLAGS] & 1)) *dtype = QB_U8;
        return true;
    }
    return false;
}

qb_status qb__mrc_open(const char *path, const char *how, qb__source **source) {
    const double ANGSTROM = 1e-7; /* in mm */
    header h = {.swap = false};
    qb__plain layout = {.format = "MRC", .longer = "its header does not fit its data"};
    (void)how;
    *source = NULL;
    qb_status status = read_header(path, &h);
    if (status != QB_OK) return status;
    if (!type_of(&h, &layout.dtype))
        return qb__fail(QB_UNSUPPORTED, "%s: MRC mode %d is none of 0 1 2 6 12", path, h.word[MODE]);
    const int32_t *map = &h.word[MAPC], extended = h.word[EXTENDED];
    if ((map[0] || map[1] || map[2]) && (map[0] != 1 || map[1] != 2 || map[2] != 3))
        return qb__fail(QB_UNSUPPORTED, "%s: its axes are stored in the order %d,%d,%d: save it as 1,2,3 (x, y, z)",
                        path, map[0], map[1], map[2]);
    if (extended < 0 || extended > MOST_EXTENDED)
        return qb__fail(QB_BAD_INPUT, "%s: an extended header of %d bytes", path, extended);
    for (int i = 0; i < 3; i++) layout.shape[i] = (size_t)h.word[NZ - i];
    layout.offset = HEADER + (uint64_t)extended;
    layout.swap = h.swap;
    status = qb__plain_open(path, &layout, source);
    for (int i = 0; i < 3 && status == QB_OK; i++) {
        const double length = real(&h, XLEN + i) * ANGSTROM, count = h.word[MX + i];
        if (length > 0 && isfinite(length) && count > 0) (*source)->voxel[i] = length / count;
    }
    return status;
}
