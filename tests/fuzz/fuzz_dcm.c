/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "dcm";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {0};
    fuzz_file(data, size, &options);
    return 0;
}

typedef struct file {
    uint8_t data[1024];
    size_t bytes;
    bool typed;
} file;

static void put(file *f, const void *data, size_t bytes) {
    memcpy(f->data + f->bytes, data, bytes);
    f->bytes += bytes;
}

static void put_head(file *f, uint16_t group, uint16_t number, const char *type, uint16_t bytes) {
    const uint16_t tag[] = {group, number}, none = 0;
    put(f, tag, 4);
    if (f->typed) put(f, type, 2);
    put(f, &bytes, 2);
    if (!f->typed) put(f, &none, 2);
}

static void put_element(file *f, uint16_t group, uint16_t number, const char *type, const void *data, size_t bytes) {
    put_head(f, group, number, type, (uint16_t)bytes);
    put(f, data, bytes);
}

/* A view of 3 rows of 4, with explicit and implicit types; a slice followed by our note. */
bool fuzz_seed(size_t index, const char *path) {
    static const struct {
        uint16_t group, number;
        float value;
    } reals[] = {{0x7029, 0x1002, 1}, {0x7029, 0x1006, 1},   {0x7031, 0x1001, 0.5F},
                 {0x7031, 0x1002, 7}, {0x7031, 0x1003, 500}, {0x7031, 0x1031, 900}};
    static const uint16_t words[][3] = {{0x0028, 0x0010, 4}, {0x0028, 0x0011, 3}, {0x0028, 0x0100, 16}};
    static const uint8_t items[] = {0x08, 0,   0x40, 0x11, 'S',  'Q',  0, 0, 255, 255,
                                    255,  255, 0xfe, 255,  0xdd, 0xe0, 0, 0, 0,   0};
    const uint16_t rows = 3, columns = 4, pixels[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const float central[] = {2, 2};
    file f = {.bytes = 132, .typed = true};
    static const char note[] = "{\"units\":\"HU\"}";
    const uint16_t note_head[] = {0x7fe1, 0x1001, 'U' | 'T' << 8, 0, sizeof note - 1, 0};
    const bool slice = index == 2;
    if (index >= 3) return false;
    memcpy(f.data + 128, "DICM", 4);
    put_element(&f, 2, 0x10, "UI", "1.2.840.10008.1.2.1", index == 1 ? 18 : 20);
    if (index == 1) memcpy(f.data + f.bytes - 2, "2", 2);
    f.typed = index != 1;
    if (f.typed) put(&f, items, sizeof items);
    if (slice) put_element(&f, 0x20, 0x32, "DS", "1\\2\\3 ", 6);
    for (int i = 0; i < 3; i++) put_element(&f, words[i][0], words[i][1], "US", &words[i][2], 2);
    for (int i = 0; i < 2 && !slice; i++) put_element(&f, reals[i].group, reals[i].number, "FL", &reals[i].value, 4);
    if (!slice) put_element(&f, 0x7029, 0x1010, "US", &rows, 2);
    if (!slice) put_element(&f, 0x7029, 0x1011, "US", &columns, 2);
    for (int i = 2; i < 6 && !slice; i++) put_element(&f, reals[i].group, reals[i].number, "FL", &reals[i].value, 4);
    if (!slice) put_element(&f, 0x7031, 0x1033, "FL", central, 8);
    put_element(&f, 0x7fe0, 0x10, "US", pixels, sizeof pixels);
    if (slice) put_element(&f, 0x7fe1, 0x10, "LO", "quickbeam ", 10);
    if (slice) put(&f, note_head, sizeof note_head);
    if (slice) put(&f, note, sizeof note - 1);
    fuzz_write(path, f.data, f.bytes);
    return true;
}
