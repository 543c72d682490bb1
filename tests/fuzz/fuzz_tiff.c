/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"
#ifdef QB_HAVE_TIFF
#include <tiffio.h>
#endif

const char *const fuzz_name = "tif";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

#ifdef QB_HAVE_TIFF
/* Features that our writer does not write: compression, tiles, the other byte order, 64-bit offsets. */
static const struct {
    const char *mode;
    uint16_t compression;
    bool tiled;
} kinds[] = {
    {"wb", COMPRESSION_NONE, false},         {"wb", COMPRESSION_PACKBITS, false},      {"w8", COMPRESSION_LZW, false},
    {"wl", COMPRESSION_ADOBE_DEFLATE, true}, {"wb", COMPRESSION_ADOBE_DEFLATE, false}, {"wb8", COMPRESSION_NONE, true},
};

static bool put_tiff(size_t kind, const char *path) {
    unsigned short row[32];
    unsigned char tile[16 * 16 * 2];
    TIFF *tiff = TIFFOpen(path, kinds[kind].mode);
    if (!tiff) return false;
    for (uint32_t page = 0; page < 2; page++) {
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 32);
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 20);
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 16);
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, kinds[kind].compression);
        if (kinds[kind].tiled) {
            TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 16);
            TIFFSetField(tiff, TIFFTAG_TILELENGTH, 16);
            for (uint32_t i = 0; i < 4; i++) {
                memset(tile, (int)(i + page), sizeof tile);
                TIFFWriteEncodedTile(tiff, i, tile, sizeof tile);
            }
        } else {
            TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 7);
            for (uint32_t y = 0; y < 20; y++) {
                for (uint32_t x = 0; x < 32; x++) row[x] = (unsigned short)(x * y + page);
                TIFFWriteScanline(tiff, row, y, 0);
            }
        }
        TIFFWriteDirectory(tiff);
    }
    TIFFClose(tiff);
    return true;
}

bool fuzz_seed(size_t index, const char *path) {
    static const qb_dtype types[] = {QB_U8, QB_U16, QB_F32};
    if (index < 3) return fuzz_put(path, types[index], false);
    return index - 3 < sizeof kinds / sizeof kinds[0] && put_tiff(index - 3, path);
}
#else
bool fuzz_seed(size_t index, const char *path) {
    (void)index, (void)path;
    return false;
}
#endif
