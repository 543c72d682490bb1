/* SPDX-License-Identifier: MIT */
/* qb info of a volume: what it is, and how it was made, where qb made it. */
#include <math.h>
#include <string.h>

#include "cli.h"

bool states_volume(const char *quantity) {
    return strcmp(quantity, "attenuation") == 0 || strcmp(quantity, "Hounsfield") == 0 ||
           strcmp(quantity, "volume") == 0;
}

bool is_volume(const cli *c, const qb_scan_info *info) {
    const qb_scan_options *scan = &c->options.scan;
    if (wants_geometry(c) || scan->quantity || scan->angles || scan->as || scan->views)
        return false; /* these options say that the file is a scan */
    return states_volume(info->stated);
}

/* Prints a text from a file; control characters, which could change the terminal, become spaces. */
static void print_words(const char *label, const char *text) {
    printf("  %-11s ", label);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text, next = (unsigned char)text[1];
        const bool control = c < ' ' || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0);
        putchar(control ? ' ' : c);
        if (control && c == 0xc2) text++;
    }
    putchar('\n');
}

static void print_made(const cJSON *made) {
    static const struct {
        const char *label, *key, *inner;
    } rows[] = {{"input", "input", NULL},         {"kernel", "plan", "kernel"},
                {"device", "plan", "device"},     {"its name", "plan", "device_name"},
                {"accuracy", "plan", "accuracy"}, {"angles", "plan", "angles"},
                {"date", "run", "date"},          {"command", "command", NULL}};
    const char *version = cJSON_GetStringValue(cJSON_GetObjectItem(made, "version"));
    char by[64];
    snprintf(by, sizeof by, "quickbeam %s", version ? version : "");
    print_words("made by", by);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const cJSON *item = cJSON_GetObjectItem(made, rows[i].key);
        if (rows[i].inner) item = cJSON_GetObjectItem(item, rows[i].inner);
        const char *text = cJSON_GetStringValue(item);
        if (text && *text) print_words(rows[i].label, text);
    }
}

/* why: what is wrong with the provenance; "": nothing. */
static void print_volume(const char *path, const qb_array_info *v, const cJSON *made, const char *why) {
    const size_t *n = v->shape;
    double bytes = (double)n[0] * (double)n[1] * (double)n[2] * (double)qb_dtype_size(v->dtype);
    printf("%s\n  format      %s, %s\n", path, v->format, qb_dtype_name(v->dtype));
    printf("  volume      %zu x %zu x %zu voxels (x, y, z), %.1f MiB\n", n[2], n[1], n[0], bytes / 1048576.0);
    if (strcmp(v->quantity, "volume") == 0)
        printf("  values      of no stated quantity\n");
    else
        printf("  values      %s%s%s (stated in the file)\n", v->quantity, *v->units ? " in " : "", v->units);
    if (v->scale[1] > v->scale[0]) printf("  integers    stand for %g to %g\n", v->scale[0], v->scale[1]);
    if (v->voxel[0] > 0)
        printf("  voxel       %.6g x %.6g x %.6g mm, the middle at (%.6g, %.6g, %.6g) mm\n", v->voxel[0], v->voxel[1],
               v->voxel[2], v->offset[0], v->offset[1], v->offset[2]);
    else
        printf("  voxel       of no known size\n");
    if (*v->trouble) printf("  problem     %s\n", v->trouble);
    if (made)
        print_made(made);
    else if (*why)
        printf("  problem     %s [metadata-unusable]\n", why);
    else
        printf("  the file does not say how it was made\n");
}

static void add_numbers(cJSON *root, const char *name, const double *values, int count) {
    cJSON_AddItemToObject(root, name, cJSON_CreateDoubleArray(values, count));
}

static cJSON *volume_json(const char *path, const qb_array_info *v) {
    cJSON *root = cJSON_CreateObject();
    double size[] = {(double)v->shape[2], (double)v->shape[1], (double)v->shape[0]};
    cJSON_AddStringToObject(root, "path", path);
    cJSON_AddStringToObject(root, "kind", "volume");
    cJSON_AddStringToObject(root, "format", v->format);
    cJSON_AddStringToObject(root, "dtype", qb_dtype_name(v->dtype));
    add_numbers(root, "size", size, 3);
    if (v->voxel[0] > 0) {
        add_numbers(root, "voxel_mm", v->voxel, 3);
        add_numbers(root, "offset_mm", v->offset, 3);
    }
    cJSON_AddStringToObject(root, "quantity", v->quantity);
    cJSON_AddStringToObject(root, "units", v->units);
    if (v->scale[1] > v->scale[0]) add_numbers(root, "scale", v->scale, 2);
    if (*v->trouble) cJSON_AddStringToObject(root, "problem", v->trouble);
    return root;
}

qb_status info_volume(cli *c) {
    const char *path = c->argument[0];
    qb_array_info volume = {.struct_size = sizeof volume};
    char *json = NULL, why[512] = "";
    qb_status status = qb_array_describe(path, c->options.scan.dataset, &volume);
    if (status != QB_OK) return status;
    status = qb_provenance_load(path, &json);
    if (status == QB_BAD_INPUT) snprintf(why, sizeof why, "%s", qb_detail());
    if (status != QB_OK && !*why) return status;
    cJSON *made = json ? cJSON_Parse(json) : NULL;
    qb_text_free(json);
    if (c->options.run.json) {
        cJSON *root = volume_json(path, &volume);
        if (made) cJSON_AddItemToObject(root, "provenance", made);
        if (*why) cJSON_AddStringToObject(root, "provenance_problem", why);
        char *text = cJSON_Print(root);
        cJSON_Delete(root);
        return give_result(c, text);
    }
    print_volume(path, &volume, made, why);
    cJSON_Delete(made);
    return QB_OK;
}
