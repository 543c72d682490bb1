/* SPDX-License-Identifier: MIT */
/* Which pixels of a scan's detector were not measured: the number of each kind, and the mask as an image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *key, *words;
} kinds[] = {[QB_PIXEL_MASKED] = {"masked", "masked"},
             [QB_PIXEL_STUCK] = {"stuck", "stuck at one value"},
             [QB_PIXEL_DEAD] = {"dead", "dead in the flats"}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static bool is_picture(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".png") == 0;
}

static qb_status write_picture(const char *path, const qb_scan_info *info, const unsigned char *mask) {
    const size_t pixels = info->rows * info->columns;
    float *grey = malloc(pixels * sizeof *grey);
    if (!grey) return complain(QB_NO_MEMORY, "no memory for the picture of the mask");
    qb_convert_to_float(mask, QB_U8, pixels, grey);
    const qb_status status = qb_preview_write(path, grey, info->columns, info->rows, 0, KINDS - 1);
    free(grey);
    return status;
}

static qb_status write_image(const char *path, const qb_scan_info *info, const unsigned char *mask) {
    const qb_stack stack = {.dtype = QB_U8,
                            .shape = {1, info->rows, info->columns},
                            .voxel = {info->pixel_size, info->pixel_v, 0},
                            .units = "",
                            .quantity = "mask",
                            .description = "pixels that were not measured: 1 masked, 2 stuck, 3 dead in the flats"};
    qb_writer *writer;
    qb_status status = qb_writer_create(path, &stack, &writer);
    if (status != QB_OK) return status;
    status = qb_writer_write(writer, 0, 1, mask);
    if (status == QB_OK) return qb_writer_commit(writer, NULL);
    qb_writer_abort(writer);
    return status;
}

/* Writes a sentence such as "12 of 4096 pixels: 10 masked, 2 dead in the flats". */
static void describe(const size_t *count, size_t pixels, char *words, size_t size) {
    size_t used = 0, all = 0;
    for (int k = 1; k < KINDS; k++) all += count[k];
    if (all) used = (size_t)snprintf(words, size, "%zu of %zu pixels", all, pixels);
    for (int k = 1; k < KINDS; k++) {
        if (!count[k] || used >= size) continue;
        const char *before = strchr(words, ':') ? "," : ":";
        used += (size_t)snprintf(words + used, size - used, "%s %zu %s", before, count[k], kinds[k].words);
    }
}

qb_status tell_mask(const cli *c, const qb_scan *scan, char *words, size_t size, cJSON *object) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const char *path = c->options.info.mask_out;
    const size_t pixels = info->rows * info->columns;
    size_t count[KINDS] = {0};
    unsigned char *mask = malloc(pixels);
    if (!mask) return complain(QB_NO_MEMORY, "no memory for the mask of %zu pixels", pixels);
    qb_status status = qb_scan_mask(scan, mask);
    for (size_t i = 0; status == QB_OK && i < pixels; i++) count[mask[i]]++;
    describe(count, pixels, words, size);
    for (int k = 1; k < KINDS; k++) cJSON_AddNumberToObject(object, kinds[k].key, (double)count[k]);
    cJSON_AddNumberToObject(object, "pixels", (double)pixels);
    if (status == QB_OK && path)
        status = is_picture(path) ? write_picture(path, info, mask) : write_image(path, info, mask);
    free(mask);
    return status;
}
