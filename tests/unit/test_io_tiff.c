/* SPDX-License-Identifier: MIT */
/* TIFF files as other programs write them. */
#include "io_files.h"

#ifdef QB_HAVE_TIFF
#include <tiffio.h>

enum { ROWS = 45, COLUMNS = 70, PIXELS = ROWS * COLUMNS };
static unsigned short pixels[PIXELS];

/* How an image is stored. */
typedef struct {
    const char *mode; /* mode of TIFFOpen: w for little-endian, wb for big-endian, 8 for BigTIFF */
    uint16_t compression;
    uint32_t strip, tile; /* rows of a strip, side of a tile; 0: none */
    uint16_t bits, format, samples, colours;
    uint32_t kind; /* SUBFILETYPE */
    const char *description;
} how;

static const how plain = {.mode = "w",
                          .compression = COMPRESSION_NONE,
                          .strip = 8,
                          .bits = 16,
                          .format = SAMPLEFORMAT_UINT,
                          .samples = 1,
                          .colours = PHOTOMETRIC_MINISBLACK};

static void put_tiles(TIFF *tiff, uint32_t side, unsigned first) {
    unsigned short *tile = calloc(side * side, 2);
    assert_non_null(tile);
    for (uint32_t y = 0; y < ROWS; y += side) {
        for (uint32_t x = 0; x < COLUMNS; x += side) {
            for (uint32_t i = 0; i < side * side; i++) {
                const uint32_t r = y + i / side, c = x + i % side;
                tile[i] = r < ROWS && c < COLUMNS ? (unsigned short)(pixels[r * COLUMNS + c] + first) : 9;
            }
            assert_true(TIFFWriteTile(tiff, tile, x, y, 0, 0) > 0);
        }
    }
    free(tile);
}

/* Writes image number `first`. Its pixels are the base values plus that number. */
static void put_page(TIFF *tiff, const how *h, unsigned first) {
    static unsigned char row[COLUMNS * 8 * 4];
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, COLUMNS);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, ROWS);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, h->bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, h->format);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, h->samples);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, h->colours);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, h->compression);
    if (h->kind) TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, h->kind);
    if (h->description) TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, h->description);
    if (h->tile) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, h->tile);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, h->tile);
        put_tiles(tiff, h->tile, first);
    } else {
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, h->strip);
        for (uint32_t r = 0; r < ROWS; r++) {
            for (uint32_t c = 0; c < COLUMNS && h->bits == 16 && h->samples == 1; c++)
                ((unsigned short *)(void *)row)[c] = (unsigned short)(pixels[r * COLUMNS + c] + first);
            assert_int_equal(TIFFWriteScanline(tiff, row, r, 0), 1);
        }
    }
    assert_int_equal(TIFFWriteDirectory(tiff), 1);
}

static void put_tiff(const char *path, const how *h, unsigned pages) {
    TIFF *tiff = TIFFOpen(path, h->mode);
    assert_non_null(tiff);
    for (unsigned i = 0; i < pages; i++) put_page(tiff, h, i);
    TIFFClose(tiff);
}

static void fails_with(const char *path, qb_status expected, const char *words) {
    qb_array array = {0};
    assert_status(qb_array_load(path, NULL, &array, NULL), expected);
    if (!strstr(qb_detail(), words)) fail_msg("\"%s\" does not say \"%s\"", qb_detail(), words);
}

/* Reads some rows of some images, in any order, as a run does. */
static void expect_rows(const char *path, size_t images) {
    static const size_t from[][4] = {{0, 1, 0, ROWS}, {1, 2, 7, 33}, {0, 2, 44, 45}, {1, 2, 0, 1}, {0, 2, 15, 17}};
    const qb_scan_options options = {.angles = "0:180"};
    unsigned short *got = malloc(2 * PIXELS * sizeof *got);
    qb_scan *scan;
    assert_non_null(got);
    assert_ok(qb_scan_open(path, &options, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_true(info->views == images && info->rows == ROWS && info->columns == COLUMNS && info->dtype == QB_U16);
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        const size_t *f = from[k], rows = f[3] - f[2];
        assert_ok(qb_scan_read(scan, f[0], f[1], f[2], f[3], got));
        for (size_t i = 0; i < (f[1] - f[0]) * rows * COLUMNS; i++) {
            const size_t view = f[0] + i / (rows * COLUMNS), at = f[2] * COLUMNS + i % (rows * COLUMNS);
            assert_int_equal(got[i], (unsigned short)(pixels[at] + view));
        }
    }
    qb_scan_close(scan);
    free(got);
}

static void every_way_to_store_an_image(void **state) {
    (void)state;
    static const char *const modes[] = {"w", "wb", "w8"};
    static const uint16_t ways[] = {COMPRESSION_NONE, COMPRESSION_PACKBITS, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE};
    static const struct {
        uint32_t strip, tile;
    } pieces[] = {{1, 0}, {7, 0}, {ROWS, 0}, {1000, 0}, {0, 16}, {0, 64}, {0, 96}};
    int tried = 0;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        if (!TIFFIsCODECConfigured(ways[w])) continue;
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            how h = plain;
            h.mode = modes[(w + p) % 3];
            h.compression = ways[w], h.strip = pieces[p].strip, h.tile = pieces[p].tile;
            put_tiff(in_folder("i.tif"), &h, 2);
            expect_rows(in_folder("i.tif"), 2);
            tried++;
        }
    }
    assert_true(tried >= 14);
}

static void thumbnails_are_passed_over(void **state) {
    (void)state;
    how small = plain;
    small.kind = FILETYPE_REDUCEDIMAGE;
    TIFF *tiff = TIFFOpen(in_folder("t.tif"), "w");
    put_page(tiff, &small, 7);
    put_page(tiff, &plain, 0);
    put_page(tiff, &small, 9);
    put_page(tiff, &plain, 1);
    TIFFClose(tiff);
    expect_rows(in_folder("t.tif"), 2);
    put_tiff(in_folder("only.tif"), &small, 2);
    fails_with(in_folder("only.tif"), QB_BAD_INPUT, "no full-size image");
}

/* ImageJ writes one directory and the pixels of its image, then only the pixels of the other images. */
static void stacks_of_imagej(void **state) {
    (void)state;
    static const struct {
        const char *words;
        size_t images;
    } cases[] = {{"ImageJ=1.53t\nimages=2\nslices=2\n", 2},
                 {"ImageJ=1.53t\nimages=1\n", 1},
                 {"ImageJ=1.53t\n", 1},
                 {"Another=1\nimages=2\n", 1},
                 {"ImageJ=1.53t\nimages=90000\n", 1}};
    static unsigned short second[PIXELS];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        how h = plain;
        h.strip = ROWS, h.description = cases[k].words;
        put_tiff(in_folder("j.tif"), &h, 1);
        /* libtiff puts the directory behind the pixels. Here it moves in front of the second image's pixels. */
        size_t bytes;
        char *whole = get_file(in_folder("j.tif"), &bytes);
        char *file = malloc(bytes + 1 + 2 * sizeof second);
        assert_non_null(file);
        memcpy(file, whole, bytes);
        const size_t at = bytes + bytes % 2;
        file[bytes] = 0;
        for (size_t i = 0; i < PIXELS; i++) second[i] = (unsigned short)(pixels[i] + 1);
        memcpy(file + at, pixels, sizeof second);
        memcpy(file + at + sizeof second, second, sizeof second);
        TIFF *tiff = TIFFOpen(in_folder("j.tif"), "r");
        const uint32_t was = (uint32_t)TIFFGetStrileOffset(tiff, 0), now = (uint32_t)at;
        TIFFClose(tiff);
        size_t found = 0; /* offset of the tag StripOffsets, which is one LONG or SHORT */
        for (size_t i = 0; i + 12 <= bytes; i += 2) {
            uint16_t tag, type;
            uint32_t count, value;
            memcpy(&tag, whole + i, 2), memcpy(&type, whole + i + 2, 2);
            memcpy(&count, whole + i + 4, 4), memcpy(&value, whole + i + 8, 4);
            if (tag != TIFFTAG_STRIPOFFSETS || type != TIFF_LONG || count != 1 || value != was) continue;
            memcpy(file + i + 8, &now, 4);
            found++;
        }
        if (found == 0) fail_msg("no StripOffsets of %u", was);
        put_file(in_folder("j.tif"), file, at + 2 * sizeof second);
        free(file), free(whole);
        qb_array array;
        assert_ok(qb_array_load(in_folder("j.tif"), NULL, &array, NULL));
        assert_int_equal(array.shape[0], cases[k].images);
        assert_memory_equal(array.data, pixels, sizeof pixels);
        if (cases[k].images == 2) assert_memory_equal((char *)array.data + sizeof pixels, second, sizeof second);
        qb_array_destroy(&array);
    }
}

static void what_is_no_image_of_ours(void **state) {
    (void)state;
    static const struct {
        uint16_t bits, format, samples, colours;
        const char *words;
    } cases[] = {{8, SAMPLEFORMAT_UINT, 3, PHOTOMETRIC_YCBCR, "colour image (3 samples"},
                 {12, SAMPLEFORMAT_INT, 1, PHOTOMETRIC_MINISBLACK, "12-bit samples"},
                 {64, SAMPLEFORMAT_UINT, 1, PHOTOMETRIC_MINISBLACK, "samples of 64 bits and format 1"},
                 {64, SAMPLEFORMAT_COMPLEXIEEEFP, 1, PHOTOMETRIC_MINISBLACK, "samples of 64 bits and format 6"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        how h = plain;
        h.bits = cases[k].bits, h.format = cases[k].format;
        h.samples = cases[k].samples, h.colours = cases[k].colours;
        put_tiff(in_folder("k.tif"), &h, 1);
        fails_with(in_folder("k.tif"), QB_UNSUPPORTED, cases[k].words);
    }
    put_file(in_folder("k.tif"), "no TIFF at all", 14);
    fails_with(in_folder("k.tif"), QB_BAD_INPUT, "k.tif (14 bytes)");
}

/* A damaged strip or tile is named, and no invented pixels are returned. */
static void damaged_pieces(void **state) {
    (void)state;
    if (!TIFFIsCODECConfigured(COMPRESSION_ADOBE_DEFLATE)) skip();
    for (int tiled = 0; tiled < 2; tiled++) {
        how h = plain;
        h.compression = COMPRESSION_ADOBE_DEFLATE;
        if (tiled) h.tile = 32;
        put_tiff(in_folder("d.tif"), &h, 1);
        TIFF *tiff = TIFFOpen(in_folder("d.tif"), "r");
        const size_t at = (size_t)TIFFGetStrileOffset(tiff, 3);
        TIFFClose(tiff);
        size_t bytes;
        char *whole = get_file(in_folder("d.tif"), &bytes);
        memset(whole + at, 0xff, 20);
        put_file(in_folder("d.tif"), whole, bytes);
        free(whole);
        fails_with(in_folder("d.tif"), QB_BAD_INPUT, tiled ? "tile 3 cannot be read" : "strip 3 cannot be read");
    }
}

static void an_image_that_changes(void **state) {
    (void)state;
    const qb_scan_options options = {.angles = "0:180"};
    how packed = plain;
    static unsigned short got[2 * PIXELS];
    qb_scan *scan;
    packed.compression = COMPRESSION_PACKBITS;
    put_tiff(in_folder("c.tif"), &packed, 2);
    assert_ok(qb_scan_open(in_folder("c.tif"), &options, NULL, &scan));
    TIFF *tiff = TIFFOpen(in_folder("c.tif"), "w");
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 3);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 3);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 16);
    assert_int_equal(TIFFWriteScanline(tiff, pixels, 0, 0), 1);
    TIFFClose(tiff);
    assert_int_not_equal(qb_scan_read(scan, 0, 2, 0, ROWS, got), QB_OK);
    assert_non_null(strstr(qb_detail(), "c.tif"));
    qb_scan_close(scan);
}
#endif

int main(void) {
#ifdef QB_HAVE_TIFF
    fill_bytes(pixels, sizeof pixels, 8);
    TIFFSetWarningHandler(NULL); /* for calls that the test itself makes */
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_way_to_store_an_image),
        IN_FOLDER(thumbnails_are_passed_over),
        IN_FOLDER(stacks_of_imagej),
        IN_FOLDER(what_is_no_image_of_ours),
        IN_FOLDER(damaged_pieces),
        IN_FOLDER(an_image_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 77;
#endif
}
