/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#ifdef QB_HAVE_CFITSIO
#include <fitsio.h>
#endif

#include "fuzz.h"

const char *const fuzz_name = "fits";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

#ifdef QB_HAVE_CFITSIO
/* cfitsio 4.2 crashes by itself on some malformed tiles. */
__attribute__((constructor)) static void begin(void) { fuzz_catch("libcfitsio", false); }
#endif

/* Images in tiles, by cfitsio's codecs but for PLIO and H-compress, which write past their memory. */
static bool put_tiled(size_t index, const char *path) {
#ifdef QB_HAVE_CFITSIO
    static const int codecs[] = {RICE_1, GZIP_1, GZIP_2};
    enum { NUMBERS = 8 * 8 * 2 };
    short data[NUMBERS];
    long shape[3] = {8, 8, 2};
    char name[320];
    fitsfile *file = NULL;
    int said = 0;
    if (index >= sizeof codecs / sizeof *codecs) return false;
    for (int i = 0; i < NUMBERS; i++) data[i] = (short)(i * 37 % 512);
    snprintf(name, sizeof name, "!%s", path);
    fits_create_file(&file, name, &said);
    fits_set_compression_type(file, codecs[index], &said);
    fits_create_img(file, SHORT_IMG, 3, shape, &said);
    fits_write_img(file, TSHORT, 1, NUMBERS, data, &said);
    fits_close_file(file, &said);
    return said == 0;
#else
    (void)index, (void)path;
    return false;
#endif
}

/* Images in the first header, or after an empty one. */
bool fuzz_seed(size_t index, const char *path) {
    enum { BLOCK = 2880 };
    static const char *const cards[] = {"SIMPLE  =                    T", "BITPIX  =                   16",
                                        "NAXIS   =                    3", "NAXIS1  =                    6",
                                        "NAXIS2  =                    5", "NAXIS3  =                    2",
                                        "BZERO   =                32768", "END"};
    uint8_t data[3 * BLOCK];
    if (index >= 2) return put_tiled(index - 2, path);
    memset(data, ' ', sizeof data);
    uint8_t *at = data;
    if (index) {
        memcpy(at, cards[0], 30), memcpy(at + 80, cards[1], 30), memcpy(at + 160, "NAXIS   =                    0", 30);
        memcpy(at + 240, "END", 3);
        at += BLOCK;
    }
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) memcpy(at + 80 * i, cards[i], strlen(cards[i]));
    if (index) memcpy(at, "XTENSION= 'IMAGE   '          ", 30);
    fuzz_write(path, data, sizeof data);
    return true;
}
