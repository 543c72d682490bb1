/* SPDX-License-Identifier: MIT */
/* FITS images that are compressed in tiles (Rice, gzip, PLIO, H-compress), read with cfitsio. There is one file handle,
 * so only one thread reads at a time. cfitsio writes outside of its memory on some malformed tiles, so where a program
 * is set for it (guard.h), a process of its own tries the file and unpacks the images. */
#include <math.h>

#include "base/status.h"
#include "io/formats.h"
#ifdef QB_HAVE_CFITSIO
#include <fitsio.h>
#include <pthread.h>
#include <string.h>
#ifdef QB_HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/memory.h"
#include "io/guard/guard_reader.h"

typedef struct fits {
    qb__source base;
    fitsfile *file;
    int axes, type; /* cfitsio's code of the number type in memory */
    pthread_mutex_t lock;
    qb__fits_meaning meaning;
    qb__guard_reader *reader; /* NULL: images are unpacked in this process */
} fits;

static const struct {
    int image, memory;
    qb_dtype dtype;
} types[] = {{BYTE_IMG, TBYTE, QB_U8},
             {SHORT_IMG, TSHORT, QB_I16},
             {LONG_IMG, TINT, QB_I32},
             {FLOAT_IMG, TFLOAT, QB_F32},
             {DOUBLE_IMG, TDOUBLE, QB_F64}};

static qb_status failed(const char *path, const char *what, int said) {
    char text[FLEN_STATUS] = "";
    fits_get_errstatus(said, text);
    fits_clear_errmsg();
    return said == MEMORY_ALLOCATION ? qb__fail(QB_NO_MEMORY, "%s: no memory to unpack it", path)
                                     : qb__fail(QB_BAD_INPUT, "%s: %s: %s", path, what, text);
}

static qb_status unpack(fits *f, const qb__region *region, void *out) {
    qb__source *source = &f->base;
    const size_t bytes = (region->row1 - region->row0) * qb__source_row_bytes(source);
    float single = NAN;
    double real = NAN;
    void *missing = f->type == TFLOAT ? (void *)&single : f->type == TDOUBLE ? (void *)&real : NULL;
    long step[3] = {1, 1, 1};
    int said = 0;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < region->count && !said; i++) {
        const long image = (long)(region->first + i * region->step) + 1;
        long first[3] = {1, (long)region->row0 + 1, image},
             last[3] = {(long)source->shape[2], (long)region->row1, image};
        fits_read_subset(f->file, f->type, first, last, step, missing, (char *)out + i * bytes, NULL, &said);
    }
    const qb_status status = said ? failed(source->path, "unpacking an image", said) : QB_OK;
    pthread_mutex_unlock(&f->lock);
    return status;
}

/* Checks the file in a process of its own, whose crash is only an error here. */
static qb_status try_apart(fits *f) {
    qb_status status = qb__guard_prove(f->base.path, QB__GUARD_PACKED_FITS);
    return status == QB_OK ? qb__guard_reader_create(f->base.path, QB__GUARD_PACKED_FITS, &f->reader) : status;
}

/* An image at a time, because the other process has a limit of memory. */
static qb_status read_fits(qb__source *source, const qb__region *region, void *out) {
    fits *f = (fits *)source;
    const size_t row = qb__source_row_bytes(source), image = (region->row1 - region->row0) * row;
    qb_status status = QB_OK;
    if (!f->reader) return unpack(f, region, out);
    for (size_t i = 0; i < region->count && status == QB_OK; i++) {
        const qb__region one = {region->first + i * region->step, 1, 1, region->row0, region->row1};
        status = qb__guard_reader_images(f->reader, &one, row, image, (char *)out + i * image);
    }
    return status;
}

static void release_fits(qb__source *source) {
    fits *f = (fits *)source;
    int said = 0;
    qb__guard_reader_close(f->reader);
    if (f->file) fits_close_file(f->file, &said);
    fits_clear_errmsg();
    pthread_mutex_destroy(&f->lock);
}

/* True if a gzip stream is complete. cfitsio 4.2 allocates memory without end if the stream is cut off. */
static bool is_whole(const unsigned char *from, size_t bytes) {
#ifdef QB_HAVE_ZLIB
    enum { GZIP = 16, OUT = 16384 };
    unsigned char out[OUT];
    z_stream z = {.next_in = (unsigned char *)from, .avail_in = (uInt)bytes};
    if (bytes > UINT_MAX || inflateInit2(&z, MAX_WBITS + GZIP) != Z_OK) return false;
    int said;
    do {
        z.next_out = out, z.avail_out = OUT;
        said = inflate(&z, Z_NO_FLUSH);
    } while (said == Z_OK);
    inflateEnd(&z);
    return said == Z_STREAM_END;
#else
    (void)from, (void)bytes;
    return false;
#endif
}

/* Checks that the tiles of one table column are complete gzip streams. Their total size must be at most `stored` bytes,
 * the size of the file. */
static qb_status check_streams(fits *f, const char *name, uint64_t stored) {
    LONGLONG rows = 0, bytes, at;
    int column = 0, any, said = 0;
    unsigned char *tile = NULL;
    size_t room = 0;
    qb_status status = QB_OK;
    fits_get_num_rowsll(f->file, &rows, &said);
    fits_get_colnum(f->file, CASEINSEN, (char *)name, &column, &said);
    fits_clear_errmsg();
    if (said) return QB_OK;
    for (LONGLONG row = 1; row <= rows && status == QB_OK; row++) {
        if (fits_read_descriptll(f->file, column, row, &bytes, &at, &said) || bytes < 0 || (uint64_t)bytes > stored) {
            status = qb__fail(QB_BAD_INPUT, "%s: tile %lld lies outside of the file, which is incomplete", f->base.path,
                              row);
            break;
        }
        if (bytes == 0) continue;
        stored -= (uint64_t)bytes;
        if ((size_t)bytes > room) {
            qb__free(tile);
            status = qb__alloc(room = (size_t)bytes, 1, &tile);
            if (status != QB_OK) break;
        }
        fits_read_col(f->file, TBYTE, column, row, 1, bytes, NULL, tile, &any, &said);
        if (said || !is_whole(tile, (size_t)bytes))
            status = qb__fail(QB_BAD_INPUT, "%s: tile %lld is damaged or incomplete", f->base.path, row);
    }
    fits_clear_errmsg();
    qb__free(tile);
    return status;
}

/* Integers are read as they are stored; cfitsio applies the scale of floating-point numbers. */
static void find_meaning(fits *f) {
    static const char *const keys[] = {"BSCALE", "BZERO", "BLANK"};
    double *const values[] = {&f->meaning.slope, &f->meaning.zero, &f->meaning.blank};
    f->meaning = (qb__fits_meaning){.slope = 1, .blank = NAN};
    for (int i = 0, said = 0; i < 3 && !qb_dtype_is_float(f->base.dtype); i++, said = 0) {
        double value;
        if (!fits_read_key(f->file, TDOUBLE, keys[i], &value, NULL, &said)) *values[i] = value;
    }
    int said = 0;
    if (!qb_dtype_is_float(f->base.dtype)) fits_set_bscale(f->file, 1, 0, &said);
    fits_clear_errmsg();
}

/* Find the first image with two or three axes. */
static qb_status find_image(fits *f, uint64_t stored) {
    enum { RATIO = 16384 };
    const char *path = f->base.path;
    int count = 0, said = 0, kind, type = 0, axes = 0;
    long size[3] = {1, 1, 1}, tile = 1;
    size_t bytes;
    fits_get_num_hdus(f->file, &count, &said);
    for (int n = 1; n <= count && !said && f->axes == 0; n++) {
        fits_movabs_hdu(f->file, n, &kind, &said);
        if (said || kind != IMAGE_HDU) continue;
        fits_get_img_param(f->file, 3, &type, &axes, size, &said);
        if (axes == 2 || axes == 3) f->axes = axes;
    }
    if (said) return failed(path, "reading its headers", said);
    if (!f->axes) return qb__fail(QB_UNSUPPORTED, "%s holds no images of two or three axes", path);
    size_t known = 0;
    while (known < sizeof types / sizeof *types && types[known].image != type) known++;
    if (known == sizeof types / sizeof *types)
        return qb__fail(QB_UNSUPPORTED, "%s: its numbers, of type %d, are none of 8 16 32 -32 -64", path, type);
    f->base.dtype = types[known].dtype, f->type = types[known].memory;
    if (f->axes == 2) size[2] = 1;
    for (int i = 0; i < 3; i++) f->base.shape[2 - i] = size[i] > 0 ? (size_t)size[i] : 0;
    if (size[0] < 1 || size[1] < 1 || size[2] < 1 ||
        !qb__mul((size_t)size[0], (size_t)size[1], (size_t)size[2], &bytes) ||
        !qb__mul(bytes, qb_dtype_size(f->base.dtype), 1, &bytes) || bytes / RATIO > stored)
        return qb__fail(QB_BAD_INPUT, "%s: %ld x %ld x %ld numbers cannot be packed into its %llu bytes", path, size[2],
                        size[1], size[0], (unsigned long long)stored);
    find_meaning(f);
    if (fits_read_key(f->file, TLONG, "ZTILE2", &tile, NULL, &said) == 0 && tile > 0 && tile <= size[1])
        f->base.chunk[1] = (size_t)tile;
    said = 0;
    char by[FLEN_VALUE] = "";
    fits_read_key(f->file, TSTRING, "ZCMPTYPE", by, NULL, &said);
    fits_clear_errmsg();
    qb_status status = strncmp(by, "GZIP", 4) ? QB_OK : check_streams(f, "COMPRESSED_DATA", stored);
    return status == QB_OK ? check_streams(f, "GZIP_COMPRESSED_DATA", stored) : status;
}

qb_status qb__fits_packed_open(const char *path, qb__source **source, qb__fits_meaning *meaning) {
    fits *f;
    int said = 0;
    uint64_t stored;
    *source = NULL;
    qb_status status = qb__file_size(path, &stored);
    if (status == QB_OK) status = qb__source_create(sizeof *f, "FITS", path, &f);
    if (status != QB_OK) return status;
    pthread_mutex_init(&f->lock, NULL);
    f->base.read = read_fits;
    f->base.release = release_fits;
    status = try_apart(f);
    if (status == QB_OK) fits_open_diskfile(&f->file, path, READONLY, &said);
    if (status == QB_OK) status = said ? failed(path, "opening it", said) : find_image(f, stored);
    if (status == QB_OK)
        *source = &f->base, *meaning = f->meaning;
    else
        qb__source_close(&f->base);
    return status;
}
#else
qb_status qb__fits_packed_open(const char *path, qb__source **source, qb__fits_meaning *meaning) {
    (void)meaning;
    *source = NULL;
    return qb__fail(QB_UNSUPPORTED,
                    "%s: its images are compressed: install libcfitsio-dev and build again, or unpack it by funpack",
                    path);
}
#endif
