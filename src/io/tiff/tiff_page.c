/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/tiff/tiff_read.h"

/* Largest strip or tile of an image in bytes. */
#define PIECE_MOST ((tmsize_t)1 << 30)

static _Thread_local bool description_lost; /* state of the file opened last; reported by libtiff since 4.5 */

#if TIFFLIB_VERSION >= 20221213
/* Errors go into the detail of this thread; no global state is changed. */
static int say_error(TIFF *tiff, void *user, const char *module, const char *format, va_list args) {
    (void)tiff, (void)user, (void)module;
    char words[256];
    vsnprintf(words, sizeof words, format, args);
    qb__fail(QB_BAD_INPUT, "%s", words);
    return 1;
}

/* libtiff reports a description beyond the file's end as a warning. */
static int note_warning(TIFF *tiff, void *user, const char *module, const char *format, va_list args) {
    (void)tiff, (void)user, (void)module;
    char words[256];
    vsnprintf(words, sizeof words, format, args);
    if (strstr(words, "IO error") && strstr(words, "ImageDescription")) description_lost = true;
    return 1;
}

static TIFF *open_quietly(int fd, const char *path) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, say_error, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, note_warning, NULL);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, PIECE_MOST);
    TIFF *tiff = TIFFFdOpenExt(fd, path, "rm", options);
    TIFFOpenOptionsFree(options);
    return tiff;
}
#else
/* Before 4.5 the handlers are shared by the process; they stay installed, because other threads may be reading. */
static TIFF *open_quietly(int fd, const char *path) {
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    return TIFFFdOpen(fd, path, "rm");
}
#endif

TIFF *qb__tiff_handle(const char *path, qb_status *status) {
    uint64_t bytes;
    *status = qb__file_size(path, &bytes);
    if (*status != QB_OK) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* opened here for the system's reason of a failure */
    if (fd < 0) {
        *status = qb__fail_errno(errno, "opening", path);
        return NULL;
    }
    qb__fail(QB_BAD_INPUT, "not a TIFF file");
    description_lost = false;
    errno = 0;
    TIFF *tiff = open_quietly(fd, path);
    if (tiff) {
        qb__fail(QB_OK, "%s", "");
        return tiff;
    }
    *status = qb__tiff_judge(qb__fail_in(QB_BAD_INPUT, "%s (%llu bytes)", path, (unsigned long long)bytes), path);
    close(fd);
    return NULL;
}

bool qb__tiff_lost_description(void) { return description_lost; }

qb_status qb__tiff_judge(qb_status status, const char *path) {
    if (status != QB_BAD_INPUT || !qb__is_system_fault(errno)) return status;
    return qb__fail_errno(errno, "reading", path);
}

static bool dtype_of(unsigned bits, unsigned format, qb_dtype *dtype) {
    static const struct {
        unsigned bits, format;
        qb_dtype dtype;
    } kinds[] = {
        {8, SAMPLEFORMAT_UINT, QB_U8},     {8, SAMPLEFORMAT_INT, QB_I8},      {16, SAMPLEFORMAT_UINT, QB_U16},
        {16, SAMPLEFORMAT_INT, QB_I16},    {32, SAMPLEFORMAT_UINT, QB_U32},   {32, SAMPLEFORMAT_INT, QB_I32},
        {16, SAMPLEFORMAT_IEEEFP, QB_F16}, {32, SAMPLEFORMAT_IEEEFP, QB_F32}, {64, SAMPLEFORMAT_IEEEFP, QB_F64},
    };
    if (format == SAMPLEFORMAT_VOID) format = SAMPLEFORMAT_UINT;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].bits != bits || kinds[i].format != format) continue;
        *dtype = kinds[i].dtype;
        return true;
    }
    return false;
}

/* Offset of the first pixel if all strips are contiguous; else 0. */
static uint64_t one_piece(TIFF *tiff, uint64_t image_bytes) {
    uint16_t fill = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &fill);
    if (TIFFIsTiled(tiff) || fill != FILLORDER_MSB2LSB) return 0;
    uint32_t strips = TIFFNumberOfStrips(tiff);
    uint64_t at = strips ? TIFFGetStrileOffset(tiff, 0) : 0, end = at;
    for (uint32_t i = 0; i < strips; i++) {
        if (TIFFGetStrileOffset(tiff, i) != end) return 0;
        end += TIFFGetStrileByteCount(tiff, i);
    }
    return end >= at + image_bytes ? at : 0;
}

static qb_status check_kind(TIFF *tiff, const char *path, qb__tiff_shape *shape) {
    uint32_t width = 0, height = 0;
    enum { MOST_SAMPLES = 64 };
    uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT, colours = PHOTOMETRIC_MINISBLACK;
    uint16_t planes = PLANARCONFIG_CONTIG;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &colours);
    if (!width || !height) return qb__fail(QB_BAD_INPUT, "%s: an image of %u x %u", path, height, width);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planes);
    if (samples < 1 || samples > MOST_SAMPLES ||
        (samples > 1 && colours != PHOTOMETRIC_RGB && colours > PHOTOMETRIC_MINISBLACK) ||
        colours == PHOTOMETRIC_PALETTE)
        return qb__fail(QB_UNSUPPORTED,
                        "%s is a colour image (%u samples a pixel): save it as grey values of 16 bits or as floats",
                        path, samples);
    uint16_t turned = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &turned);
    shape->turned = turned == ORIENTATION_TOPLEFT ? 0 : turned, shape->white = colours == PHOTOMETRIC_MINISWHITE;
    shape->bits = bits, shape->colour = samples > 1;
    shape->samples = planes == PLANARCONFIG_SEPARATE ? 1 : samples;
    if (bits > 8 && bits < 16 && format == SAMPLEFORMAT_UINT && !TIFFIsTiled(tiff)) bits = 16;
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
        return qb__fail(QB_UNSUPPORTED,
                        "%s has %u-bit samples: save it with 16 bits, as ImageJ does by Image > Type > 16-bit", path,
                        bits);
    if (!dtype_of(bits, format, &shape->dtype))
        return qb__fail(QB_UNSUPPORTED, "%s: samples of %u bits and format %u are not read: save it with 16 bits", path,
                        bits, format);
    shape->rows = height;
    shape->columns = width;
    return QB_OK;
}

static uint64_t number_of(const unsigned char *bytes, size_t count, bool reversed) {
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++) n |= (uint64_t)bytes[reversed ? count - 1 - i : i] << (8 * i);
    return n;
}

qb_status qb__tiff_chain(TIFF *tiff, const char *path, uint64_t file_bytes) {
    unsigned char head[4], bytes[8];
    const uint64_t at = TIFFCurrentDirOffset(tiff);
    const int fd = TIFFFileno(tiff);
    QB__OR_RETURN(qb__pread_all(fd, path, head, sizeof head, 0));
    const bool reversed = head[0] == 'M', big = head[reversed ? 3 : 2] == 43;
    const size_t wide = big ? 8 : 2, last = big ? 8 : 4;
    QB__OR_RETURN(qb__pread_all(fd, path, bytes, wide, at));
    const uint64_t n = number_of(bytes, wide, reversed), end = at + wide + n * (big ? 20 : 12);
    if (n > file_bytes / 12 || end + last > file_bytes)
        return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within a directory", path,
                        (unsigned long long)file_bytes);
    const qb_status status = qb__pread_all(fd, path, bytes, last, end);
    if (status == QB_OK && number_of(bytes, last, reversed) && TIFFLastDirectory(tiff))
        return qb__fail(QB_IO, "reading %s: where its next image is cannot be read", path);
    return status;
}

qb_status qb__tiff_look(TIFF *tiff, const char *path, uint64_t file_bytes, qb__tiff_shape *shape,
                        qb__tiff_image *image) {
    QB__OR_RETURN(check_kind(tiff, path, shape));
    uint16_t compression = COMPRESSION_NONE;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    if (!TIFFIsCODECConfigured(compression))
        return qb__fail(QB_UNSUPPORTED, "%s: compression %u is not built into libtiff", path, compression);
    const bool stored = !shape->colour && qb__tiff_as_stored(shape);
    uint64_t bytes = (uint64_t)shape->rows * qb__tiff_row_bytes(shape);
    bool plain = compression == COMPRESSION_NONE;
    /* No compression of images exceeds this factor; a header that claims it is wrong. */
    uint64_t most = plain ? file_bytes : file_bytes * 16384;
    if (bytes > most)
        return qb__fail(QB_BAD_INPUT, "%s: %zu x %zu %s need %llu bytes, the file has %llu", path, shape->rows,
                        shape->columns, qb_dtype_name(shape->dtype), (unsigned long long)bytes,
                        (unsigned long long)file_bytes);
    uint32_t piece = (uint32_t)shape->rows;
    if (TIFFIsTiled(tiff))
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &piece);
    else
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &piece);
    shape->piece = plain || piece == 0 ? 1 : piece < shape->rows ? piece : shape->rows;
    image->directory = TIFFCurrentDirOffset(tiff);
    image->data = plain && stored ? one_piece(tiff, bytes) : 0;
    if (image->data > file_bytes || (image->data && bytes > file_bytes - image->data))
        return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, and its image ends at byte %llu", path,
                        (unsigned long long)file_bytes, (unsigned long long)(image->data + bytes));
    image->swap = TIFFIsByteSwapped(tiff);
    return QB_OK;
}

typedef struct page {
    TIFF *tiff;
    const char *path;
    size_t row_bytes, rows;
    size_t row0, row1;
    char *out;
} page;

static qb_status no_piece(const page *p, const char *kind, uint32_t number) {
    return qb__fail_in(QB_BAD_INPUT, "%s: %s %u cannot be read", p->path, kind, number);
}

static qb_status decode_strips(const page *p, char *buffer, tmsize_t size) {
    uint32_t per = 0;
    TIFFGetFieldDefaulted(p->tiff, TIFFTAG_ROWSPERSTRIP, &per);
    size_t strip_rows = per == 0 || per > p->rows ? p->rows : per;
    for (size_t first = p->row0 / strip_rows * strip_rows; first < p->row1; first += strip_rows) {
        size_t rows = first + strip_rows > p->rows ? p->rows - first : strip_rows;
        uint32_t strip = (uint32_t)(first / strip_rows);
        tmsize_t want = (tmsize_t)(rows * p->row_bytes);
        qb__fail(QB_BAD_INPUT, "it is too short");
        tmsize_t got = TIFFReadEncodedStrip(p->tiff, strip, buffer, size);
        if (got < want) return no_piece(p, "strip", strip);
        size_t from = first < p->row0 ? p->row0 : first;
        size_t to = first + rows > p->row1 ? p->row1 : first + rows;
        memcpy(p->out + (from - p->row0) * p->row_bytes, buffer + (from - first) * p->row_bytes,
               (to - from) * p->row_bytes);
    }
    return QB_OK;
}

static qb_status decode_tiles(const page *p, char *buffer, tmsize_t size) {
    uint32_t width = 0, height = 0;
    TIFFGetField(p->tiff, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(p->tiff, TIFFTAG_TILELENGTH, &height);
    size_t tile_row = (size_t)TIFFTileRowSize64(p->tiff);
    if (!width || !height || !tile_row || (uint64_t)size < tile_row * height)
        return qb__fail(QB_BAD_INPUT, "%s: tiles of %u x %u", p->path, height, width);
    size_t columns = p->row_bytes / (tile_row / width);
    for (size_t y = p->row0 / height * height; y < p->row1; y += height) {
        for (size_t x = 0; x < columns; x += width) {
            uint32_t tile = TIFFComputeTile(p->tiff, (uint32_t)x, (uint32_t)y, 0, 0);
            qb__fail(QB_BAD_INPUT, "it is too short");
            if (TIFFReadEncodedTile(p->tiff, tile, buffer, size) < size) return no_piece(p, "tile", tile);
            size_t at = x * (tile_row / width);
            size_t n = at + tile_row > p->row_bytes ? p->row_bytes - at : tile_row;
            for (size_t r = y; r < y + height && r < p->row1; r++)
                if (r >= p->row0) memcpy(p->out + (r - p->row0) * p->row_bytes + at, buffer + (r - y) * tile_row, n);
        }
    }
    return QB_OK;
}

static qb_status decode(const page *p) {
    bool tiled = TIFFIsTiled(p->tiff);
    tmsize_t size = tiled ? TIFFTileSize(p->tiff) : TIFFStripSize(p->tiff);
    if (size <= 0 || size > PIECE_MOST)
        return qb__fail(QB_BAD_INPUT, "%s: a strip or tile of %lld bytes is not possible: it is damaged", p->path,
                        (long long)size);
    char *buffer;
    QB__OR_RETURN(qb__alloc((size_t)size, 1, &buffer));
    const qb_status status = tiled ? decode_tiles(p, buffer, size) : decode_strips(p, buffer, size);
    qb__free(buffer);
    return status;
}

qb_status qb__tiff_decode(TIFF *tiff, const char *path, size_t row0, size_t row1, void *out) {
    qb__tiff_shape shape;
    QB__OR_RETURN(check_kind(tiff, path, &shape));
    page p = {tiff, path, qb__tiff_row_bytes(&shape), shape.rows, row0, row1, out};
    if (qb__tiff_as_stored(&shape)) return decode(&p);
    qb_status status = qb__alloc(row1 - row0, p.row_bytes, &p.out);
    if (status == QB_OK) status = decode(&p);
    if (status == QB_OK) qb__tiff_unpack(&shape, (const unsigned char *)p.out, row1 - row0, out);
    qb__free(p.out);
    return status;
}
