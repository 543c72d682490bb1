/* SPDX-License-Identifier: MIT */
#include "plane.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FLAT, DARK, MASK };
enum { PIXELS_MOST = 1 << 26 }; /* no detector has more: a larger stack is a volume, of which no fields are read */
static const char *const names[VIEW_FIELDS] = {[FLAT] = "flat", [DARK] = "dark", [MASK] = "mask"};

typedef struct field {
    view_stack stack;
    qb_array_info info;
    float *image; /* values [row][column]; NULL: the scan has no such field */
    char *about;  /* levels of the field, as JSON */
} field;

struct view_fields {
    qb_scan *scan;
    pthread_mutex_t lock; /* protects `looked` and the images, which are read at the first request */
    bool looked;
    field of[VIEW_FIELDS];
};

static qb_status read_field(void *user, const size_t first[3], const size_t count[3], const size_t step[3],
                            float *out) {
    const field *f = user;
    for (size_t k = 0; k < count[0]; k++)
        for (size_t i = 0; i < count[1]; i++)
            for (size_t j = 0; j < count[2]; j++)
                *out++ = f->image[(first[1] + i * step[1]) * f->info.shape[2] + first[2] + j * step[2]];
    return QB_OK;
}

view_fields *view_fields_open(const char *path, const char *dataset, const qb_array_info *views) {
    const qb_env quiet = {.struct_size = sizeof quiet};
    const qb_scan_options as = {.dataset = dataset, .keep_all_views = true};
    if (views->shape[1] > PIXELS_MOST / views->shape[2]) return NULL;
    view_fields *fields = calloc(1, sizeof *fields);
    if (!fields || qb_scan_open(path, &as, &quiet, &fields->scan) != QB_OK) return free(fields), NULL;
    const qb_scan_info *info = qb_scan_describe(fields->scan);
    pthread_mutex_init(&fields->lock, NULL);
    for (int i = 0; i < VIEW_FIELDS; i++) {
        field *f = &fields->of[i];
        f->info = *views;
        f->stack = (view_stack){&f->info, read_field, f};
    }
    if (info->rows == views->shape[1] && info->columns == views->shape[2]) return fields;
    view_fields_close(fields);
    return NULL;
}

void view_fields_close(view_fields *fields) {
    if (!fields) return;
    for (int i = 0; i < VIEW_FIELDS; i++) {
        free(fields->of[i].image);
        cJSON_free(fields->of[i].about);
    }
    qb_scan_close(fields->scan);
    pthread_mutex_destroy(&fields->lock);
    free(fields);
}

/* Reads why each pixel counts as not measured, as numbers of qb_pixel. */
static void read_mask(view_fields *fields, size_t pixels) {
    const qb_env quiet = {.struct_size = sizeof quiet};
    unsigned char *mask = malloc(pixels);
    float *image = malloc(pixels * sizeof *image);
    const bool made =
        mask && image && qb_scan_inspect(fields->scan, &quiet) == QB_OK && qb_scan_mask(fields->scan, mask) == QB_OK;
    for (size_t i = 0; made && i < pixels; i++) image[i] = mask[i];
    if (made) fields->of[MASK].image = image;
    if (!made) free(image);
    free(mask);
}

static void look(view_fields *fields) {
    const qb_scan_info *info = qb_scan_describe(fields->scan);
    const size_t pixels = info->rows * info->columns;
    float *flat = malloc(pixels * sizeof *flat), *dark = malloc(pixels * sizeof *dark);
    const bool made = flat && dark && qb_scan_fields(fields->scan, 0, info->rows, flat, dark) == QB_OK;
    if (made) fields->of[FLAT].image = flat;
    if (made && info->darks) fields->of[DARK].image = dark;
    if (!fields->of[FLAT].image) free(flat);
    if (!fields->of[DARK].image) free(dark);
    read_mask(fields, pixels);
}

/* All images of the stack are equal, so one image gives the levels of the stack. */
static void describe(field *f, size_t which) {
    const size_t pixels = f->info.shape[1] * f->info.shape[2];
    cJSON *about = cJSON_CreateObject();
    float *values = malloc(pixels * sizeof *values);
    if (values) memcpy(values, f->image, pixels * sizeof *values);
    cJSON_AddStringToObject(about, "name", names[which]);
    if (values) view_levels_of(about, values, pixels);
    f->about = cJSON_PrintUnformatted(about);
    cJSON_Delete(about);
    free(values);
}

const view_stack *view_fields_stack(view_fields *fields, size_t which) {
    if (!fields || which >= VIEW_FIELDS) return NULL;
    pthread_mutex_lock(&fields->lock);
    if (!fields->looked) look(fields);
    fields->looked = true;
    pthread_mutex_unlock(&fields->lock);
    return fields->of[which].image ? &fields->of[which].stack : NULL;
}

void view_fields_add(cJSON *root, view_fields *fields, size_t first) {
    cJSON *list = cJSON_AddArrayToObject(root, "fields");
    for (size_t i = 0; fields && i < VIEW_FIELDS; i++) {
        field *f = &fields->of[i];
        if (!view_fields_stack(fields, i)) continue;
        if (!f->about) describe(f, i);
        cJSON *one = cJSON_Parse(f->about ? f->about : "{}");
        cJSON_AddNumberToObject(one, "which", (double)(first + i));
        cJSON_AddItemToArray(list, one);
    }
}
