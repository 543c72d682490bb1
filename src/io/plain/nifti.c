/* SPDX-License-Identifier: MIT */
/* NIfTI 1 and 2 (nifti.nimh.nih.gov): a header of 348 or 540 bytes, then one volume, x fastest. .nii.gz is the whole
 * file as one gzip stream. The voxel positions follow from a 3 x 4 matrix (sform), from a rotation by a quaternion
 * (qform), or only from the voxel size. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/status.h"
#include "io/codec/gzip_file.h"
#include "io/formats.h"
#include "io/writer.h"

enum { ONE = 348, TWO = 540, DATA_AT = 352, AXES = 8, DATA_MOST = 1 << 26 };
enum { METRE = 1, MILLIMETRE = 2, MICROMETRE = 3 };

static const struct {
    int code;
    qb_dtype dtype;
} types[] = {{2, QB_U8},   {4, QB_I16},  {8, QB_I32},   {16, QB_F32},
             {64, QB_F64}, {256, QB_I8}, {512, QB_U16}, {768, QB_U32}};

/* What the headers of both versions state. */
typedef struct header {
    int64_t size[AXES]; /* [0]: number of axes */
    int type, units, sform, qform;
    double voxel[4]; /* [0]: the sign of z in qform */
    double at, slope, offset;
    double turn[6];    /* qform: quaternion b, c, d and the position of the first voxel */
    double matrix[12]; /* sform */
    bool swap;
} header;

/* Reads a number of `size` bytes at a position in the header; `real`: it is a float. */
static double number(const unsigned char *from, size_t size, bool real, bool swap) {
    unsigned char bytes[8];
    float single;
    double value;
    int16_t i2;
    int32_t i4;
    int64_t i8;
    memcpy(bytes, from, size);
    if (swap) qb__swap_bytes(bytes, 1, size);
    if (real && size == 4) return memcpy(&single, bytes, 4), (double)single;
    if (real) return memcpy(&value, bytes, 8), value;
    if (size == 2) return memcpy(&i2, bytes, 2), i2;
    if (size == 4) return memcpy(&i4, bytes, 4), i4;
    return memcpy(&i8, bytes, 8), (double)i8;
}

/* Position of each number in the headers of version 1 and version 2. */
typedef struct layout {
    size_t size, size_bytes, type, voxel, at, slope, offset, units, units_bytes, qform, sform, form_bytes, turn, matrix,
        real;
} layout;
static const layout layouts[2] = {{40, 2, 70, 76, 108, 112, 116, 123, 1, 252, 254, 2, 256, 280, 4},
                                  {16, 8, 12, 104, 168, 176, 184, 500, 4, 344, 348, 4, 352, 400, 8}};

static void take(const unsigned char *head, const layout *l, header *h) {
    const bool swap = h->swap, two = l == &layouts[1];
    for (size_t i = 0; i < AXES; i++) {
        const double n = number(head + l->size + i * l->size_bytes, l->size_bytes, false, swap);
        h->size[i] = n >= 0 && n < 1e15 ? (int64_t)n : -1;
    }
    h->type = (int)number(head + l->type, 2, false, swap);
    for (size_t i = 0; i < 4; i++) h->voxel[i] = number(head + l->voxel + i * l->real, l->real, true, swap);
    h->at = number(head + l->at, l->real, !two, swap);
    h->slope = number(head + l->slope, l->real, true, swap);
    h->offset = number(head + l->offset, l->real, true, swap);
    h->units = l->units_bytes == 1 ? head[l->units] : (int)number(head + l->units, 4, false, swap);
    h->qform = (int)number(head + l->qform, l->form_bytes, false, swap);
    h->sform = (int)number(head + l->sform, l->form_bytes, false, swap);
    for (size_t i = 0; i < 6; i++) h->turn[i] = number(head + l->turn + i * l->real, l->real, true, swap);
    for (size_t i = 0; i < 12; i++) h->matrix[i] = number(head + l->matrix + i * l->real, l->real, true, swap);
}

static bool is_packed(const char *path) {
    const size_t n = strlen(path);
    return n > 3 && strcasecmp(path + n - 3, ".gz") == 0;
}

static qb_status read_header(const char *path, header *h) {
    unsigned char head[TWO] = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    /* A file of version 1 may be shorter than a header of version 2, but not shorter than the start of its own data. */
    qb_status status = is_packed(path) ? qb__packed_head(path, head, ONE) : qb__pread_all(fd, path, head, ONE, 0);
    double length = status == QB_OK ? number(head, 4, false, false) : 0;
    h->swap = length != ONE && length != TWO;
    if (h->swap) length = number(head, 4, false, true);
    if (status == QB_OK && length != ONE && length != TWO)
        status =
            qb__fail(QB_BAD_INPUT, "%s: its first four bytes are not the length of a NIfTI header, 348 or 540", path);
    if (status == QB_OK && length == TWO)
        status = is_packed(path) ? qb__packed_head(path, head, TWO) : qb__pread_all(fd, path, head, TWO, 0);
    close(fd);
    if (status != QB_OK) return status;
    const char *magic = (const char *)head + (length == TWO ? 4 : 344);
    if (memcmp(magic, "ni", 2) == 0)
        return qb__fail(QB_UNSUPPORTED, "%s: its data are in a file of their own (.img): save it as one .nii file",
                        path);
    if (memcmp(magic, length == TWO ? "n+2" : "n+1", 4) != 0)
        return qb__fail(QB_BAD_INPUT, "%s: its header has neither n+1 nor n+2, the marks of NIfTI", path);
    take(head, &layouts[length == TWO], h);
    return QB_OK;
}

static qb_status find_shape(const char *path, const header *h, qb__plain *plain) {
    bool good = h->size[0] >= 1 && h->size[0] < AXES;
    size_t known = 0;
    for (int i = 1; good && i <= h->size[0]; i++) good = i <= 3 ? h->size[i] >= 1 : h->size[i] == 1;
    if (!good)
        return qb__fail(QB_BAD_INPUT, "%s: %lld axes of %lld x %lld x %lld x %lld are not one volume", path,
                        (long long)h->size[0], (long long)h->size[1], (long long)h->size[2], (long long)h->size[3],
                        (long long)h->size[4]);
    for (int i = 0; i < 3; i++) plain->shape[2 - i] = i < h->size[0] ? (size_t)h->size[i + 1] : 1;
    while (known < sizeof types / sizeof *types && types[known].code != h->type) known++;
    if (known == sizeof types / sizeof *types)
        return qb__fail(QB_UNSUPPORTED, "%s: its NIfTI data type is %d, and 2, 4, 8, 16, 64, 256, 512 and 768 are read",
                        path, h->type);
    plain->dtype = types[known].dtype;
    if (!(h->at >= ONE && h->at <= DATA_MOST))
        return qb__fail(QB_BAD_INPUT, "%s: its header puts the data at byte %g, which is not possible", path, h->at);
    plain->offset = is_packed(path) ? 0 : (uint64_t)h->at;
    plain->inside = is_packed(path) ? (size_t)h->at : 0;
    return QB_OK;
}

/* The matrix of the voxel steps along x, y and z and of the first voxel's position, row by row. */
static bool matrix_of(const header *h, double m[12]) {
    if (h->sform > 0) return memcpy(m, h->matrix, sizeof h->matrix), true;
    if (h->qform <= 0) return false;
    const double b = h->turn[0], c = h->turn[1], d = h->turn[2], rest = 1 - b * b - c * c - d * d;
    const double a = rest > 0 ? sqrt(rest) : 0, z = h->voxel[0] < 0 ? -1 : 1;
    const double turn[9] = {
        a * a + b * b - c * c - d * d, 2 * (b * c - a * d),           2 * (b * d + a * c),
        2 * (b * c + a * d),           a * a + c * c - b * b - d * d, 2 * (c * d - a * b),
        2 * (b * d - a * c),           2 * (c * d + a * b),           a * a + d * d - b * b - c * c};
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i < 3; i++) m[4 * row + i] = turn[3 * row + i] * h->voxel[i + 1] * (i == 2 ? z : 1);
        m[4 * row + 3] = h->turn[3 + row];
    }
    return true;
}

/* Lengths without a unit are taken as millimetres, as other programs do. */
static void place(const header *h, qb__source *source) {
    const int word = h->units & 7;
    const double unit = word == METRE ? 1000 : word == MICROMETRE ? 1e-3 : 1;
    double m[12] = {0};
    const bool placed = matrix_of(h, m);
    for (int i = 0; i < 3; i++) {
        const double across = placed ? sqrt(m[i] * m[i] + m[4 + i] * m[4 + i] + m[8 + i] * m[8 + i]) : h->voxel[i + 1];
        const double mm = across * unit;
        if (!(mm > 0) || !isfinite(mm)) continue;
        source->voxel[i] = mm;
        if (!placed) continue;
        const double sign = i == 2 && m[10] < 0 ? -1 : 1;
        if (sign < 0) source->z_down = true;
        source->turned |= !(fabs(sign * m[4 * i + i] - across) <= 1e-4 * across);
        if (isfinite(m[4 * i + 3]))
            source->offset[i] = sign * m[4 * i + 3] * unit + 0.5 * ((double)source->shape[2 - i] - 1) * mm;
    }
}

/* The sidecar of our own files states the values that the integers stand for. */
qb_status qb__nifti_open(const char *path, const char *how, qb__source **source) {
    header h = {.swap = false};
    qb__plain plain = {.format = "NIfTI", .longer = "its header does not fit its data", .trailer = true};
    (void)how;
    *source = NULL;
    qb_status status = read_header(path, &h);
    if (status == QB_OK) status = find_shape(path, &h, &plain);
    plain.swap = h.swap;
    if (status == QB_OK) status = (is_packed(path) ? qb__packed_open : qb__plain_open)(path, &plain, source);
    if (status != QB_OK) return status;
    place(&h, *source);
    status = qb__sidecar_apply(path, *source);
    qb__source_is_volume(*source);
    const bool ranged = (*source)->scale[1] > (*source)->scale[0];
    if (status == QB_OK && h.slope != 0 && isfinite(h.slope) && !ranged)
        return qb__source_scale(source, h.slope, h.offset);
    return qb__source_give(status, *source, source);
}

/* ---- writing ---- */

static void put16(unsigned char *to, int value) { to[0] = (unsigned char)value, to[1] = (unsigned char)(value >> 8); }

static void put32(unsigned char *to, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(bits >> 8 * i);
}

static int type_code(qb_dtype dtype) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) return types[i].code;
    return 0;
}

static void fill_header(const qb_stack *s, unsigned char *h) {
    enum { SCANNER = 1 };
    const double top = s->dtype == QB_U8 ? 255 : 65535;
    const bool ranged = (s->dtype == QB_U8 || s->dtype == QB_U16) && s->scale_high > s->scale_low;
    put16(h, ONE);
    put16(h + 40, 3);
    put16(h + 70, type_code(s->dtype));
    put16(h + 72, 8 * (int)qb_dtype_size(s->dtype));
    put32(h + 76, s->z_down ? -1 : 1); /* the sign of z in qform */
    put32(h + 108, DATA_AT);
    put32(h + 112, ranged ? (float)((s->scale_high - s->scale_low) / top) : 1);
    put32(h + 116, ranged ? (float)s->scale_low : 0);
    h[123] = s->voxel[0] > 0 ? MILLIMETRE : 0;
    snprintf((char *)h + 148, 80, "quickbeam, %.20s%s%.20s", s->quantity, *s->units ? " in " : "", s->units);
    put16(h + 252, SCANNER);
    put16(h + 254, SCANNER);
    for (int i = 0; i < 3; i++) {
        const size_t n = s->shape[2 - i];
        const double d = s->voxel[i] > 0 ? s->voxel[i] : 1, sign = i == 2 && s->z_down ? -1 : 1,
                     first = sign * (s->offset[i] - 0.5 * ((double)n - 1) * d);
        put16(h + 42 + 2 * i, (int)n);
        put32(h + 80 + 4 * i, (float)d);
        put32(h + 268 + 4 * i, (float)first);
        put32(h + 280 + 16 * i + 4 * i, (float)(sign * d));
        put32(h + 280 + 16 * i + 12, (float)first);
    }
    for (int i = 3; i < 7; i++) put16(h + 42 + 2 * i, 1);
    memcpy(h + 344, "n+1", 4);
}

/* Resuming is refused if the file is already compressed: compression comes last, so no image can be added after it. */
static qb_status check_kept(const qb_writer *writer) {
    unsigned char head[4];
    const qb_status status = qb__pread_all(writer->fd, writer->path, head, sizeof head, 0);
    if (status != QB_OK || number(head, 4, false, false) == ONE) return status;
    return qb__fail(QB_BAD_INPUT, "%s, kept by an earlier run, is complete: remove it to start again", writer->part);
}

static qb_status begin_nifti(qb_writer *writer) {
    enum { LONGEST = 32767 };
    const qb_stack *s = &writer->stack;
    unsigned char head[DATA_AT] = {0};
    if (!type_code(s->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "%s: NIfTI has no %s; use .h5, .npy or .tif, or another --dtype", writer->path,
                        qb_dtype_name(s->dtype));
    for (int i = 0; i < 3; i++)
        if (s->shape[i] > LONGEST)
            return qb__fail(QB_BAD_ARGUMENT, "%s: %zu voxels along an axis; NIfTI 1 holds %d at most: give .h5",
                            writer->path, s->shape[i], LONGEST);
#ifndef QB_HAVE_ZLIB
    if (is_packed(writer->path))
        return qb__fail(QB_UNSUPPORTED, "%s: this build cannot compress; install zlib1g-dev, or give .nii",
                        writer->path);
#endif
    fill_header(s, head);
    writer->data_offset = DATA_AT;
    return writer->taken_up ? check_kept(writer) : qb__pwrite_all(writer->fd, writer->path, head, sizeof head, 0);
}

static qb_status finish_nifti(qb_writer *writer, const char *provenance) {
    uint64_t bytes;
    const qb_status status = is_packed(writer->path) ? qb__pack_part(writer, 0, QB__STREAM_GZIP, &bytes) : QB_OK;
    return status == QB_OK ? qb__write_sidecar(writer, provenance) : status;
}

/* While it is made, the compressed file exists next to the uncompressed one, so it needs its own space. */
static size_t overhead_nifti(const qb_writer *writer) {
    return 4096 + (is_packed(writer->path) ? writer->stack.shape[0] * writer->image_bytes : 0);
}

const qb__writer_kind qb__nifti_writer = {
    .begin = begin_nifti, .finish = finish_nifti, .overhead = overhead_nifti, .resumes = true, .keeps_angles = true};
