/* SPDX-License-Identifier: MIT */
/* Views of radiotherapy machines, one for each file. The input is used as each kind of image, and as each kind of
 * settings next to a good image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

const char *const fuzz_name = "frames";

enum { ROWS = 5, COLUMNS = 6, PIXELS = ROWS * COLUMNS };

static void put(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static size_t put_real(uint8_t *at, const char *name, double value) {
    const size_t n = strlen(name);
    put(at, (uint32_t)n);
    memcpy(at + 4, name, n);
    put(at + 4 + n, 1);
    memcpy(at + 8 + n, &value, 8);
    return 16 + n;
}

/* Differences of 1, 2 and 4 bytes, after the first row and one pixel. */
static size_t put_packed(uint8_t *table, uint8_t *data) {
    size_t at = 0;
    for (; at < 4 * (COLUMNS + 1); at += 4) put(data + at, (uint32_t)(900 + at));
    for (size_t i = 0; i < PIXELS - COLUMNS - 1; i++) {
        table[i / 4] |= (uint8_t)((i % 3) << (2 * (i % 4)));
        data[at] = (uint8_t)i;
        at += (size_t)1 << (i % 3);
    }
    return at;
}

static size_t make_xim(uint8_t *f) {
    uint8_t table[(PIXELS - COLUMNS + 2) / 4] = {0};
    size_t at = 32;
    memcpy(f, "VMS.XI", 6);
    put(f + 8, 1), put(f + 12, COLUMNS), put(f + 16, ROWS), put(f + 20, 32), put(f + 24, 4), put(f + 28, 1);
    const size_t bytes = put_packed(table, f + at + 8 + sizeof table);
    put(f + at, sizeof table);
    memcpy(f + at + 4, table, sizeof table);
    put(f + at + 4 + sizeof table, (uint32_t)bytes);
    at += 8 + sizeof table + bytes;
    put(f + at, 4 * PIXELS), put(f + at + 4, 1), put(f + at + 8, 7), put(f + at + 12, 4);
    at += 16;
    at += put_real(f + at, "KVSourceRtn", 10);
    at += put_real(f + at, "KVDetectorLat", 0.1), at += put_real(f + at, "PixelWidth", 0.05);
    return at + put_real(f + at, "PixelHeight", 0.05);
}

static size_t make_obi(uint8_t *f, bool packed) {
    const double pixel = 0.5, angle = 10;
    put(f + 120, COLUMNS), put(f + 124, ROWS);
    memcpy(f + 352, &pixel, 8), memcpy(f + 360, &pixel, 8), memcpy(f + 432, &angle, 8);
    const size_t table = (ROWS - 1) * COLUMNS / 4;
    return packed ? 1024 + table + put_packed(f + 1024, f + 1024 + table) : 512 + 2 * PIXELS;
}

static size_t make_his(uint8_t *f) {
    f[1] = 112, f[2] = 68, f[10] = 32, f[12] = f[14] = 1, f[16] = ROWS, f[18] = COLUMNS, f[20] = 1, f[32] = 4;
    for (size_t i = 0; i < PIXELS; i++) f[101 + 2 * i] = 200;
    return 100 + 2 * PIXELS;
}

static size_t make(size_t index, uint8_t *f) {
    static const char *const settings[] = {
        "<Scan><SAD>1000</SAD><SID>1500</SID></Scan>",
        "<P><FanType>HalfFan</FanType><CalibratedSAD>1000</CalibratedSAD><CalibratedSID>1500</CalibratedSID>"
        "<CalibratedDetectorOffsetX>1</CalibratedDetectorOffsetX><CalibratedDetectorOffsetY>2</"
        "CalibratedDetectorOffsetY><DetectorPosLat>3</DetectorPosLat></P>",
        "<F><Frame><GantryAngle>3</GantryAngle><UCentre>1</UCentre><VCentre>-2</VCentre></Frame></F>"};
    memset(f, 0, 4096);
    if (index == 0) return make_xim(f);
    if (index < 3) return make_obi(f, index == 1);
    if (index == 3) return make_his(f);
    if (index > 6) return 0;
    memcpy(f, settings[index - 4], strlen(settings[index - 4]));
    return strlen(settings[index - 4]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        const char *name, *image; /* the image that is good if the input is its settings */
        size_t good;
    } cases[] = {{"s.xim", "s.xim", 0},      {"s.hnd", "s.hnd", 1},    {"s.hnc", "s.hnc", 2},
                 {"s.his", "s.his", 3},      {"Scan.xml", "s.xim", 0}, {"ProjectionInfo.xml", "s.hnc", 2},
                 {"_Frames.xml", "s.his", 3}};
    const char *folder = fuzz_folder();
    char path[320], image[320];
    uint8_t good[4096];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].name);
        snprintf(image, sizeof image, "%s/%s", folder, cases[i].image);
        const size_t bytes = make(cases[i].good, good);
        fuzz_write(image, good, bytes);
        fuzz_write(path, data, size);
        fuzz_read(image, NULL);
        remove(path);
        remove(image);
    }
    if (&fuzz_replays) rmdir(folder);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    uint8_t file[4096];
    const size_t size = make(index, file);
    if (size) fuzz_write(path, file, size);
    return size > 0;
}
