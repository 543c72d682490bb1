/* SPDX-License-Identifier: MIT */
/* Compound files (OLE2) of Zeiss. The seeds are made here: folders of streams; short streams lie in small sectors. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "txrm";

enum {
    SECTOR = 512,
    SMALL = 64,
    ENTRY = 128,
    MOST = 1 << 16,
    ROWS = 33,
    COLUMNS = 64,
    NONE = -1,
    END = -2,
    TABLE = -3
};

typedef struct file {
    uint8_t bytes[MOST], entries[32 * ENTRY], small[64 * SMALL];
    int32_t next[SECTOR / 4], small_next[SECTOR / 4];
    size_t sectors, entry_count, small_count;
} file;

static void put(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* Appends sectors; returns the number of the first. */
static size_t add_sectors(file *f, const uint8_t *data, size_t size) {
    const size_t first = f->sectors;
    if ((first + 2) * SECTOR + size > MOST) abort();
    memcpy(f->bytes + (first + 1) * SECTOR, data, size);
    for (size_t at = 0; at < size; at += SECTOR, f->sectors++) f->next[f->sectors] = (int32_t)f->sectors + 1;
    if (size) f->next[f->sectors - 1] = END;
    return first;
}

static uint8_t *add_entry(file *f, const char *name, uint8_t kind) {
    uint8_t *e = f->entries + f->entry_count++ * ENTRY;
    const size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) e[2 * i] = (uint8_t)name[i];
    e[64] = (uint8_t)(2 * length + 2);
    e[66] = kind;
    for (int i = 68; i < 80; i += 4) put(e + i, (uint32_t)NONE);
    put(e + 116, (uint32_t)END);
    return e;
}

/* To the right of the previous entry, or the first of its folder. */
static void add_stream(file *f, uint8_t *folder, const char *name, const void *data, size_t size) {
    uint8_t *before = folder + 76;
    while (before[0] != 0xff) before = f->entries + before[0] * ENTRY + 72;
    put(before, (uint32_t)f->entry_count);
    uint8_t *e = add_entry(f, name, 2);
    put(e + 120, (uint32_t)size);
    if (size >= 4096) {
        put(e + 116, (uint32_t)add_sectors(f, data, size));
        return;
    }
    put(e + 116, (uint32_t)f->small_count);
    memcpy(f->small + f->small_count * SMALL, data, size);
    for (size_t at = 0; at < size; at += SMALL, f->small_count++)
        f->small_next[f->small_count] = at + SMALL < size ? (int32_t)f->small_count + 1 : END;
}

static uint8_t *add_folder(file *f, const char *name) {
    uint8_t *before = f->entries + 76;
    while (before[0] != 0xff) before = f->entries + before[0] * ENTRY + 72;
    put(before, (uint32_t)f->entry_count);
    return add_entry(f, name, 1);
}

static void add_word(file *f, uint8_t *folder, const char *name, uint32_t value) {
    uint8_t raw[4];
    put(raw, value);
    add_stream(f, folder, name, raw, 4);
}

static void add_reals(file *f, uint8_t *folder, const char *name, float a, float b) {
    const float both[2] = {a, b};
    add_stream(f, folder, name, both, sizeof both);
}

static void finish(file *f) {
    static const uint8_t magic[] = {0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1};
    uint8_t *h = f->bytes;
    put(f->entries + 120, (uint32_t)(f->small_count * SMALL));
    put(f->entries + 116, (uint32_t)add_sectors(f, f->small, f->small_count * SMALL));
    const size_t directory = add_sectors(f, f->entries, (f->entry_count * ENTRY + SECTOR - 1) / SECTOR * SECTOR);
    const size_t small = add_sectors(f, (const uint8_t *)f->small_next, SECTOR), table = f->sectors++;
    f->next[table] = TABLE;
    memcpy(f->bytes + (table + 1) * SECTOR, f->next, SECTOR);
    memcpy(h, magic, sizeof magic);
    h[24] = 0x3e, h[26] = 3, h[28] = 0xfe, h[29] = 0xff, h[30] = 9, h[32] = 6;
    put(h + 44, 1), put(h + 48, (uint32_t)directory), put(h + 56, 4096), put(h + 60, (uint32_t)small), put(h + 64, 1);
    put(h + 68, (uint32_t)END);
    for (size_t i = 0; i < 109; i++) put(h + 76 + 4 * i, i ? (uint32_t)NONE : (uint32_t)table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_file(data, size, NULL);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static file f;
    uint8_t image[2 * ROWS * COLUMNS];
    if (index > 1) return false;
    memset(&f, 0, sizeof f);
    memset(f.next, 0xff, sizeof f.next);
    memset(f.small_next, 0xff, sizeof f.small_next);
    for (size_t i = 0; i < sizeof image; i++) image[i] = (uint8_t)(i * 37 | 64);
    add_entry(&f, "Root Entry", 5);
    uint8_t *info = add_folder(&f, "ImageInfo");
    add_word(&f, info, "ImageWidth", COLUMNS), add_word(&f, info, "ImageHeight", index ? 5 : ROWS);
    add_word(&f, info, "NoOfImages", 2), add_word(&f, info, "DataType", 5), add_word(&f, info, "XrayGeometry", 1);
    add_reals(&f, info, "Angles", 0, 90), add_reals(&f, info, "StoRADistance", -60, -60);
    add_reals(&f, info, "DtoRADistance", 30, 30), add_reals(&f, info, "PixelSize", 300, 0);
    uint8_t *views = add_folder(&f, "ImageData1"), *flats = add_folder(&f, "ReferenceData");
    const size_t size = index ? 2 * 5 * COLUMNS : sizeof image;
    add_stream(&f, views, "Image1", image, size), add_stream(&f, views, "Image2", image, size);
    add_stream(&f, flats, "Image", image, size);
    uint8_t *shifts = add_folder(&f, "Alignment");
    add_reals(&f, shifts, "X-Shifts", 1, 0), add_reals(&f, shifts, "Y-Shifts", 0, 0);
    uint8_t *position = add_folder(&f, "PositionInfo");
    add_stream(&f, position, "AxisNames", "Sample X\0Source Z", 18), add_stream(&f, position, "AxisUnits", "um\0mm", 6);
    finish(&f);
    fuzz_write(path, f.bytes, (f.sectors + 1) * SECTOR);
    return true;
}
