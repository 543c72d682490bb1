/* SPDX-License-Identifier: MIT */
/* Writes what comes before the numbers of a slice: CT Image Storage (DICOM PS3.3 A.3), little-endian with types. */
#include "io/vendor/dicom.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "quickbeam/version.h"

enum { LONG_FORM = 12 };

typedef struct bytes {
    unsigned char *data;
    size_t used;
} bytes;

static void put(bytes *b, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) b->data[b->used++] = (unsigned char)(value >> 8 * i);
}

/* Writes tag, type and length of an element. The length has two bytes; for long types it has four, after two bytes of
 * 0. */
static void put_head(bytes *b, uint32_t tag, const char *type, size_t length) {
    const bool wide = strcmp(type, "OB") == 0 || strcmp(type, "OW") == 0 || strcmp(type, "UT") == 0;
    put(b, tag >> 16, 2);
    put(b, tag & 0xffff, 2);
    put(b, (unsigned char)type[0], 1);
    put(b, (unsigned char)type[1], 1);
    if (wide) put(b, 0, 2);
    put(b, length, wide ? 4 : 2);
}

/* Lengths must be even. Identifiers are padded with a 0, other texts with a blank. */
static void put_text(bytes *b, uint32_t tag, const char *type, const char *text) {
    const size_t n = strlen(text);
    put_head(b, tag, type, n + n % 2);
    memcpy(b->data + b->used, text, n);
    b->used += n;
    if (n % 2) put(b, strcmp(type, "UI") == 0 ? 0 : ' ', 1);
}

static void put_count(bytes *b, uint32_t tag, size_t value) {
    put_head(b, tag, "US", 2);
    put(b, value, 2);
}

/* Writes decimal strings. Each has at most 16 characters. */
static void put_numbers(bytes *b, uint32_t tag, const double *values, size_t count) {
    enum { LONGEST = 16 };
    char text[160] = "", one[40];
    for (size_t i = 0; i < count; i++) {
        int digits = 12;
        while (qb__print(one, sizeof one, "%.*g", digits, values[i]) > LONGEST) digits--;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "\\" : "", one);
    }
    put_text(b, tag, "DS", text);
}

static void put_id(bytes *b, uint32_t tag, const char *root, const char *what) {
    char text[80];
    snprintf(text, sizeof text, "%s.%s", root, what);
    put_text(b, tag, "UI", text);
}

/* An identifier of the series by X.667: a number of 128 bits below 2.25. It is a hash of the path of the staging
 * folder. The path contains the time, so it is unique; and it is the same for all ranks of a job and for runs that
 * resume it. */
void qb__dicom_root(const char *folder, char root[QB__DICOM_ROOT]) {
    uint64_t word[2] = {0xcbf29ce484222325, 0x9e3779b97f4a7c15};
    char digits[40];
    size_t at = sizeof digits - 1;
    for (const char *c = folder; *c; c++)
        for (int i = 0; i < 2; i++) word[i] = (word[i] ^ (unsigned char)*c) * 0x100000001b3 + word[i] / 65537;
    digits[at] = 0;
    uint32_t part[4] = {(uint32_t)(word[0] >> 32), (uint32_t)word[0], (uint32_t)(word[1] >> 32), (uint32_t)word[1]};
    while (at > 0 && (part[0] | part[1] | part[2] | part[3])) {
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            rest = rest << 32 | part[i];
            part[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[--at] = (char)('0' + rest);
    }
    snprintf(root, QB__DICOM_ROOT, "2.25.%s", digits + at);
}

bool qb__dicom_hounsfield(const qb_stack *s) { return strcmp(s->units, "HU") == 0; }

/* Values are slope * stored + intercept. */
static void slope_of(const qb_stack *s, double slope[2]) {
    const bool ranged = s->dtype == QB_U16 && s->scale_high > s->scale_low;
    slope[0] = ranged ? (s->scale_high - s->scale_low) / 65535 : 1;
    slope[1] = ranged ? s->scale_low : 0;
}

static void put_meta(bytes *b, const char *instance) {
    const size_t at = b->used + LONG_FORM;
    put_head(b, 0x00020000, "UL", 4);
    put(b, 0, 4);
    put_head(b, 0x00020001, "OB", 2);
    put(b, 0x0100, 2);
    put_text(b, 0x00020002, "UI", "1.2.840.10008.5.1.4.1.1.2");
    put_text(b, 0x00020003, "UI", instance);
    put_text(b, 0x00020010, "UI", "1.2.840.10008.1.2.1");
    put_text(b, 0x00020012, "UI", "2.25.302043790172249692526321623266752743501");
    bytes length = {b->data, at - 4};
    put(&length, b->used - at, 4);
}

static void put_origin(bytes *b, const char *root, const qb_stack *s, const char *instance) {
    char about[64];
    snprintf(about, sizeof about, "%.24s%s%.24s", s->quantity, *s->units ? " in " : "", s->units);
    put_text(b, 0x00080005, "CS", "ISO_IR 192");
    put_text(b, 0x00080008, "CS", "DERIVED\\PRIMARY\\AXIAL");
    put_text(b, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.2");
    put_text(b, 0x00080018, "UI", instance);
    put_text(b, 0x00080020, "DA", "");
    put_text(b, 0x00080030, "TM", "");
    put_text(b, 0x00080050, "SH", "");
    put_text(b, 0x00080060, "CS", "CT");
    put_text(b, 0x00080070, "LO", "quickbeam");
    put_text(b, 0x00080090, "PN", "");
    put_text(b, 0x0008103e, "LO", about);
    put_text(b, 0x00100010, "PN", "quickbeam");
    put_text(b, 0x00100020, "LO", root + strlen(root) / 2);
    put_text(b, 0x00100030, "DA", "");
    put_text(b, 0x00100040, "CS", "");
}

/* Our x, y and z are written as DICOM's left, posterior and head. An object without anatomy may have any axes, if they
 * are right-handed; so where z counts downwards, later slices lie lower. */
static void put_place(bytes *b, const char *root, const qb_stack *s, size_t image) {
    static const double axes[] = {1, 0, 0, 0, 1, 0};
    double d[3], first[3];
    char number[24];
    for (int i = 0; i < 3; i++) {
        d[i] = s->voxel[i] > 0 ? s->voxel[i] : 1;
        first[i] = s->offset[i] - 0.5 * ((double)s->shape[2 - i] - 1) * d[i];
    }
    first[2] += (double)image * d[2];
    if (s->z_down) first[2] = 0 - first[2];
    snprintf(number, sizeof number, "%zu", s->first + image + 1);
    put_numbers(b, 0x00180050, &d[2], 1);
    put_text(b, 0x00180060, "DS", "");
    put_text(b, 0x00181020, "LO", qb_version());
    put_text(b, 0x00185100, "CS", "HFS");
    put_id(b, 0x0020000d, root, "1");
    put_id(b, 0x0020000e, root, "2");
    put_text(b, 0x00200010, "SH", "1");
    put_text(b, 0x00200011, "IS", "1");
    put_text(b, 0x00200012, "IS", "");
    put_text(b, 0x00200013, "IS", number);
    put_numbers(b, 0x00200032, first, 3);
    put_numbers(b, 0x00200037, axes, 6);
    put_id(b, 0x00200052, root, "3");
    put_text(b, 0x00201040, "LO", "");
    put_numbers(b, 0x00201041, &first[2], 1);
}

static void put_pixels(bytes *b, const qb_stack *s) {
    const double spacing[] = {s->voxel[1] > 0 ? s->voxel[1] : 1, s->voxel[0] > 0 ? s->voxel[0] : 1};
    double slope[2];
    slope_of(s, slope);
    put_count(b, 0x00280002, 1);
    put_text(b, 0x00280004, "CS", "MONOCHROME2");
    put_count(b, 0x00280010, s->shape[1]);
    put_count(b, 0x00280011, s->shape[2]);
    put_numbers(b, 0x00280030, spacing, 2);
    put_count(b, 0x00280100, 16);
    put_count(b, 0x00280101, 16);
    put_count(b, 0x00280102, 15);
    put_count(b, 0x00280103, s->dtype != QB_U16);
    if (qb_dtype_is_float(s->dtype)) {
        put_head(b, 0x00280120, "SS", 2);
        put(b, (size_t)(uint16_t)QB__DICOM_PADDING, 2);
    }
    put_numbers(b, 0x00281052, &slope[1], 1);
    put_numbers(b, 0x00281053, &slope[0], 1);
    put_text(b, 0x00281054, "LO", qb__dicom_hounsfield(s) ? "HU" : "US");
    put_head(b, 0x7fe00010, "OW", 2 * s->shape[1] * s->shape[2]);
}

size_t qb__dicom_head(const qb_stack *s, const char *root, size_t image, unsigned char head[QB__DICOM_HEAD]) {
    bytes b = {head, 128};
    char instance[80];
    snprintf(instance, sizeof instance, "%s.4.%zu", root, s->first + image + 1);
    memset(head, 0, b.used);
    put(&b, 0x4d434944, 4); /* DICM */
    put_meta(&b, instance);
    put_origin(&b, root, s, instance);
    put_place(&b, root, s, image);
    put_pixels(&b, s);
    return b.used;
}

size_t qb__dicom_tail(size_t note, unsigned char tail[QB__DICOM_TAIL]) {
    bytes b = {tail, 0};
    put_text(&b, QB__DICOM_OWN, "LO", "quickbeam");
    put_head(&b, QB__DICOM_NOTE, "UT", note + note % 2);
    return b.used;
}
