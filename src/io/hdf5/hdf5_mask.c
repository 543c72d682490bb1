/* SPDX-License-Identifier: MIT */
/* `pixel_mask` of a NeXus detector: an image of bits, 0 for a good pixel. Bits 0 to 30 are faults (gap, dead, too low,
 * too high, noisy ...). Bit 31 alone is a pixel between two chips, whose value was interpolated: it stays. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/hdf5.h"
#include "io/hdf5/hdf5_broken.h"
#include "io/scan/image.h"
#include "quickbeam/io.h"

static const uint32_t INTERPOLATED = (uint32_t)1 << 31;

/* Number of characters that two paths have in common, up to a '/'. */
static size_t common(const char *a, const char *b) {
    size_t n = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/') n = i + 1;
    return n;
}

/* The mask that is nearest to the data in the tree; NULL: none, or *several are as near. */
static const char *nearest(const qb__h5_map *map, const char *data, bool *several) {
    const char *best = NULL;
    size_t most = 0;
    *several = false;
    for (size_t i = 0; i < map->masks.count; i++) {
        const size_t n = common(map->masks.text[i], data);
        if (best && n < most) continue;
        *several = best && n == most;
        most = n, best = map->masks.text[i];
    }
    return *several ? NULL : best;
}

/* Marks the pixels of one image. */
static void mark(const qb__source *source, const void *raw, size_t pixels, float *room, unsigned char *marks) {
    const bool bits = source->dtype == QB_U32 || source->dtype == QB_I32;
    if (!bits) qb_convert_to_float(raw, source->dtype, pixels, room);
    for (size_t i = 0; i < pixels; i++) {
        uint32_t value = !bits && room[i] != 0;
        if (bits) memcpy(&value, (const char *)raw + i * sizeof value, sizeof value);
        if (value & ~INTERPOLATED) marks[i] = QB_PIXEL_MASKED;
    }
}

/* A mask for each view marks what it marks in any of them. */
static qb_status read_marks(qb__source *source, qb__detector_mask *mask) {
    const size_t pixels = source->shape[1] * source->shape[2];
    qb__region image = {0, 1, 1, 0, source->shape[1]};
    void *raw = NULL;
    float *room = NULL;
    qb_status status;
    QB__TRY(qb__alloc(pixels, 1, &mask->marks));
    QB__TRY(qb__alloc(pixels, qb_dtype_size(source->dtype), &raw));
    QB__TRY(qb__alloc(pixels, sizeof *room, &room));
    for (; image.first < source->shape[0]; image.first++) {
        QB__TRY(source->read(source, &image, raw));
        mark(source, raw, pixels, room, mask->marks);
    }
    mask->rows = source->shape[1], mask->columns = source->shape[2];
out:
    QB__FREE(raw, room);
    return status;
}

/* A number of 0 stands for no mask. */
static void tell_odd(hid_t file, const char *name, const char *path, qb__notes *notes) {
    char text[160], why[QB__H5_WHY];
    int kept[3];
    double value;
    hid_t set = qb__h5_dataset(file, path);
    const int rank = qb__h5_dimensions(set, kept, text, sizeof text);
    if (set >= 0) H5Dclose(set);
    if (rank < 1 && qb__h5_scalar(file, name, path, NULL, &value, why) == QB__H5_GOOD && value == 0) return;
    qb__note_of(notes, QB_PROBLEM_PIXELS,
                "%s is no image, but %s%s: it is not used; give --mask FILE" QB__CODE("metadata-unusable"), path,
                rank < 1   ? "a number"
                : rank < 2 ? "a list of "
                           : "",
                text);
}

qb_status qb__h5_mask(hid_t file, const char *name, const char *data, const qb__h5_map *map, qb__scan_parts *parts) {
    bool several = false;
    qb__source *source = NULL;
    const char *path = *parts->mask.from ? NULL : nearest(map, data, &several);
    if (*map->odd_mask && !*parts->mask.from) {
        tell_odd(file, name, map->odd_mask, &parts->notes);
        snprintf(parts->mask.from, sizeof parts->mask.from, "pixel_mask"); /* told once */
    }
    if (several) {
        snprintf(parts->mask.from, sizeof parts->mask.from, "pixel_mask");
        qb__note_of(&parts->notes, QB_PROBLEM_PIXELS,
                    "%zu datasets pixel_mask are equally near to the images: none is used; give "
                    "--mask FILE:/PATH" QB__CODE("metadata-unusable"),
                    map->masks.count);
    }
    if (!path) return QB_OK;
    snprintf(parts->mask.from, sizeof parts->mask.from, "%.150s", path);
    qb_status status = qb__h5_source(file, name, path, &source);
    if (status == QB_OK) status = read_marks(source, &parts->mask);
    qb__source_close(source);
    if (status == QB_OK) return QB_OK;
    qb__free(parts->mask.marks);
    parts->mask.marks = NULL;
    if (status != QB_BAD_INPUT && status != QB_UNSUPPORTED && status != QB_NOT_FOUND) return status;
    qb__note_of(&parts->notes, QB_PROBLEM_PIXELS, "%s cannot be used: %s; give --mask" QB__CODE("metadata-unusable"),
                path, qb_detail());
    return QB_OK;
}

qb_status qb__mask_mirror(qb__detector_mask *mask, bool columns, bool rows) {
    const qb__image image = {.stored_rows = mask->rows,
                             .stored_columns = mask->columns,
                             .flip_u = columns,
                             .flip_v = rows,
                             .whole_rows = mask->rows,
                             .whole_columns = mask->columns,
                             .bin_u = 1,
                             .bin_v = 1,
                             .rows = mask->rows,
                             .columns = mask->columns};
    unsigned char *turned;
    if (!mask->marks || !(columns || rows)) return QB_OK;
    QB__OR_RETURN(qb__alloc(mask->rows * mask->columns, 1, &turned));
    qb__image_mask(&image, mask->marks, turned);
    qb__free(mask->marks);
    mask->marks = turned;
    return QB_OK;
}
