/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/geometry/geometry_file.h"
#include "io/writer.h"
#include "job/job.h"
#include "simulate/simulate.h"

/* The keys of a geometry file that has a short form. */
static void add_lengths(const qb__simulation *s, cJSON *object) {
    const qb_simulate_options *o = s->options;
    bool cone = s->geometry.beam == QB_BEAM_CONE;
    double pixel[2] = {s->pixel, s->pixel_v}, offset[2] = {0 - o->center_offset * s->pixel, 0};
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

/* Options whose value begins with a file name: of an input, or of an output. */
static bool names_a_file(const qb__simulation *s, const qb_param *row, const char *value) {
    static const char *const written[] = {"truth", "geometry-out", "output"};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (strcmp(row->name, written[i]) == 0) return true;
    for (size_t i = 0; row->type == QB_PARAM_TEXT && i < s->inputs.count; i++)
        if (strncmp(value, s->inputs.file[i].path, strlen(s->inputs.file[i].path)) == 0) return true;
    return false;
}

/* The options that are set, with absolute file names, and the command that they make in text[size]. */
static cJSON *options_of(const qb__simulation *s, char *text, size_t size) {
    cJSON *list = cJSON_CreateObject();
    snprintf(text, size, "qb simulate");
    qb__command_add(text, size, s->name);
    for (const qb_param *row = qb_simulate_params; row->name; row++) {
        char value[PATH_MAX], word[PATH_MAX + 64];
        if (!qb_param_get(row, s->options, value, sizeof value) || strcmp(value, "0") == 0) continue;
        const bool named = names_a_file(s, row, value);
        char *whole = named ? qb__absolute(value) : NULL;
        if (named && !whole) qb__json_kept(NULL);
        cJSON_AddStringToObject(list, row->name, whole ? whole : value);
        snprintf(word, sizeof word, "--%s=%s", row->name, whole ? whole : value);
        qb__command_add(text, size, word);
        qb__free(whole);
    }
    return list;
}

/* What a scanner would state: the offset, but not the misalignments, which --geometry-out has. */
static void keep_geometry(const qb__simulation *s, cJSON *provenance) {
    const qb_simulate_options *o = s->options;
    const qb_detector detector = {.rows = s->rows, .columns = s->columns, .pixel_u = s->pixel, .pixel_v = s->pixel_v};
    qb__kept_circle circle = {.sod = o->sod, .sdd = o->sdd, .offset = {NAN, NAN}};
    if (s->from_file || o->radius > 0) {
        qb__geometry_keep(&s->geometry, s->angles, provenance);
        return;
    }
    if (o->offset) qb_detector_offset_parse(o->offset, s->pixel, s->pixel_v, &circle.offset[0], &circle.offset[1]);
    qb__circle_keep(&circle, &detector, s->views, s->angles, provenance);
}

static qb_status provenance_of(const qb__simulation *s, char **text) {
    qb__json_forget();
    char command[5 * PATH_MAX];
    cJSON *options = options_of(s, command, sizeof command);
    cJSON *root = qb__provenance_begin(command);
    cJSON_AddStringToObject(root, "phantom", s->name);
    cJSON_AddItemToObject(root, "inputs", qb__inputs_list(&s->inputs));
    cJSON_AddItemToObject(root, "options", options);
    cJSON *geometry = cJSON_AddObjectToObject(root, "geometry");
    if (s->plain) {
        add_lengths(s, geometry);
    } else if (s->from_file) {
        cJSON_AddStringToObject(geometry, "file", cJSON_GetStringValue(cJSON_GetObjectItem(options, "geometry")));
    } else if (s->geometry.beam == QB_BEAM_CONE) { /* a circle with misalignments, which are among the options */
        cJSON_AddNumberToObject(geometry, "sod", s->options->sod);
        cJSON_AddNumberToObject(geometry, "sdd", s->options->sdd);
    }
    if (s->geometry.beam == QB_BEAM_CONE) keep_geometry(s, root);
    cJSON_AddNumberToObject(root, "views", (double)s->views);
    if (s->options->photons > 0) cJSON_AddNumberToObject(root, "photons_per_count", 1 / s->detector.gain);
    return qb__json_text(root, "the provenance", text);
}

/* JSON in the short form of a circle. */
static qb_status write_json(const qb__simulation *s, const char *path) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "quickbeam_geometry", 1);
    add_lengths(s, root);
    cJSON *list = cJSON_AddArrayToObject(root, "angles_degrees");
    for (size_t i = 0; i < s->views; i++) cJSON_AddItemToArray(list, cJSON_CreateNumber(s->angles[i] * (180 / M_PI)));
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

bool qb__simulate_describes(const qb_simulate_options *options) {
    const qb__format *format;
    return qb__format_to_write(options->output, &format) == QB_OK && format->writer == &qb__simulated_writer;
}

/* Views as numbers, so that reading them gives the same bits. */
qb_status qb__simulate_describe(const qb__simulation *s) {
    const qb_simulate_options *o = s->options;
    const qb_grid *grid = &s->grid;
    qb__text text = {0};
    qb__text_add(&text,
                 "{\n\"" QB__SIMULATED_SCAN "\": 1,\n\"phantom\": \"%s\",\n\"attenuation\": %.17g,\n\"seed\": %d,\n",
                 s->name, o->attenuation, o->seed);
    qb__text_add(&text, "\"size\": [%zu, %zu, %zu],\n\"voxel\": [%.17g, %.17g, %.17g],\n\"geometry\": ", grid->n[0],
                 grid->n[1], grid->n[2], grid->voxel[0], grid->voxel[1], grid->voxel[2]);
    qb_status status = qb__geometry_to_json(&s->geometry, &text);
    qb__text_add(&text, "}\n");
    if (status == QB_OK) status = qb__text_write(s->set, o->output, &text);
    qb__text_clear(&text);
    return status;
}

qb_status qb__simulate_finish(const qb__simulation *s, qb_writer **writer) {
    char *text;
    QB__OR_RETURN(provenance_of(s, &text));
    const qb_status status = qb__writer_finish(*writer, text);
    *writer = NULL;
    cJSON_free(text);
    return status;
}
