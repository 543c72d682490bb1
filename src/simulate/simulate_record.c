/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "io/geometry_file.h"
#include "job/job.h"
#include "simulate/simulate.h"

/* The keys of a geometry file, for what has a short form. */
static void add_lengths(const qb__simulation *s, cJSON *object) {
    const qb_simulate_options *o = s->options;
    bool cone = s->geometry.beam == QB_BEAM_CONE;
    double pixel[2] = {s->pixel, s->pixel}, offset[2] = {0 - o->center_offset * s->pixel, 0};
    cJSON_AddStringToObject(object, "units", "mm");
    cJSON_AddStringToObject(object, "beam", cone ? "cone" : "parallel");
    cJSON_AddNumberToObject(object, "rows", (double)s->rows);
    cJSON_AddNumberToObject(object, "columns", (double)s->columns);
    cJSON_AddItemToObject(object, "pixel_size", cJSON_CreateDoubleArray(pixel, 2));
    if (cone) {
        cJSON_AddNumberToObject(object, "sod", o->sod);
        cJSON_AddNumberToObject(object, "sdd", o->sdd);
        cJSON_AddItemToObject(object, "offset", cJSON_CreateDoubleArray(offset, 2));
    } else {
        cJSON_AddNumberToObject(object, "center", s->center);
    }
}

/* The options that differ from unset, and the command they make in text[size]. */
static cJSON *options_of(const qb__simulation *s, char *text, size_t size) {
    cJSON *list = cJSON_CreateObject();
    snprintf(text, size, "qb simulate");
    qb__command_add(text, size, s->name);
    for (const qb_param *row = qb_simulate_params; row->name; row++) {
        char value[1024], word[1100];
        if (!qb_param_get(row, s->options, value, sizeof value) || strcmp(value, "0") == 0)
            continue;
        cJSON_AddStringToObject(list, row->name, value);
        snprintf(word, sizeof word, "--%s=%s", row->name, value);
        qb__command_add(text, size, word);
    }
    return list;
}

qb_status qb__simulate_provenance(const qb__simulation *s, char **text) {
    qb__json_forget();
    char command[4096];
    cJSON *options = options_of(s, command, sizeof command);
    cJSON *root = qb__provenance_begin(command);
    cJSON_AddStringToObject(root, "phantom", s->name);
    cJSON_AddItemToObject(root, "options", options);
    cJSON *geometry = cJSON_AddObjectToObject(root, "geometry");
    if (s->plain)
        add_lengths(s, geometry);
    else if (s->from_file)
        cJSON_AddStringToObject(geometry, "file", s->options->geometry);
    cJSON_AddNumberToObject(root, "views", (double)s->views);
    if (s->options->photons > 0)
        cJSON_AddNumberToObject(root, "photons_per_count", 1 / s->detector.gain);
    return qb__json_text(root, "the provenance", text);
}

/* JSON in the short form of a circle. */
static qb_status write_json(const qb__simulation *s, const char *path) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "quickbeam_geometry", 1);
    add_lengths(s, root);
    cJSON *list = cJSON_AddArrayToObject(root, "angles_degrees");
    for (size_t i = 0; i < s->views; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(s->angles[i] * (180 / M_PI)));
    char *json = cJSON_Print(root);
    qb__text text = {.failed = !json};
    if (json) qb__text_add(&text, "%s\n", json);
    qb_status status = qb__text_write(s->set, path, &text);
    qb__text_clear(&text);
    cJSON_free(json);
    cJSON_Delete(root);
    return status;
}

qb_status qb__simulate_geometry(const qb__simulation *s) {
    const char *path = s->options->geometry_out, *dot = strrchr(path, '.');
    return s->plain && dot && strcmp(dot, ".json") == 0 ? write_json(s, path)
                                                        : qb__geometry_save(s->set, path, &s->geometry);
}
