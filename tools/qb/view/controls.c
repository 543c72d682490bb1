/* SPDX-License-Identifier: MIT */
#include "controls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"

typedef enum kind {
    NUMBER, /* one number */
    FIRST,  /* the first of several numbers */
    WORD,   /* one of the choices */
    TUNED   /* A choice with a number: hann:0.8, all:snr=3; a control with an empty choice: the number alone */
} kind;

struct view_control {
    const char *name, *label;
    bool fbp, fdk;
    kind kind;
    const char *choices;
    const char *prefix; /* text before the number of a TUNED control */
    double low, high, step;
    double usual; /* number of the slider where the option has none */
    enum { OF_METHOD, OF_PREPARATION, OF_GEOMETRY, OF_TV } where;
    bool places; /* the control moves the axis or the detector */
};

static const view_control controls[] = {
    {"center", "axis, column", true, false, NUMBER, NULL, NULL, -1, -1, 0.1, NAN, OF_METHOD, true},
    {"tilt", "tilt, degrees", true, false, NUMBER, NULL, NULL, -5, 5, 0.01, 0, OF_METHOD, true},
    {"detector-offset", "detector offset, mm", false, true, FIRST, NULL, NULL, -1, -1, 0, 0, OF_GEOMETRY, true},
    {"tilt", "tilt, degrees", false, true, FIRST, NULL, NULL, -5, 5, 0.01, 0, OF_GEOMETRY, true},
    {"rings", "rings, snr", true, true, TUNED, "keep|auto|sort|wavelet|titarenko|raven|double-flat|fit|large|dead|all",
     "snr=", 1, 20, 0.5, 3, OF_PREPARATION, false},
    {"paganin", "phase, delta/beta", true, true, TUNED, "none|", "", 1, 5000, 1, 100, OF_PREPARATION, false},
    {"filter", "filter, cut-off", true, true, TUNED,
     "ramp|shepp-logan|cosine|hann|hamming|blackman|parzen|butterworth|none", "", 0.05, 1, 0.05, 1, OF_METHOD, false},
    {"lambda", "tv of z, lambda in mm", true, false, TUNED, "none|auto|", "", 1e-4, 10, 0, 0.01, OF_TV, true},
    {"pad", "padding", true, true, WORD, "edge|zero|mirror|taper|ellipse", NULL, 0, 0, 0, 0, OF_METHOD, false},
};
enum { CONTROLS = sizeof controls / sizeof *controls };

static bool serves(const view_control *control, bool cone) { return cone ? control->fdk : control->fbp; }

/* ---- reading the request ---- */

/* Is the word one of the choices A|B|C? An empty choice counts, too. */
static bool is_choice(const char *choices, const char *word, size_t length) {
    for (const char *at = choices;; at++) {
        const size_t n = strcspn(at, "|");
        if (n == length && strncmp(at, word, n) == 0) return true;
        at += n;
        if (!*at) return false;
    }
}

static bool is_number(const char *text) {
    char *end;
    if (!*text || text[strspn(text, "0123456789+-.e")]) return false;
    const double value = strtod(text, &end);
    return !*end && isfinite(value);
}

static bool are_numbers(const char *text) {
    char part[VIEW_CHANGE_SIZE];
    for (;; text++) {
        const size_t n = strcspn(text, ",");
        snprintf(part, sizeof part, "%.*s", (int)n, text);
        if (!is_number(part)) return false;
        text += n;
        if (!*text) return true;
    }
}

static bool fits(const view_control *control, const char *value) {
    if (control->kind == NUMBER) return is_number(value);
    if (control->kind == FIRST) return are_numbers(value);
    const size_t n = strcspn(value, ":");
    const bool number_alone = is_choice(control->choices, "", 0) && is_number(value);
    if (control->kind == WORD) return is_choice(control->choices, value, strlen(value));
    if (number_alone) return true;
    if (n == 0 || !is_choice(control->choices, value, n)) return false;
    if (!value[n]) return true;
    if (is_choice("keep|none", value, n)) return false; /* these choices have no number */
    const size_t p = strlen(control->prefix);
    return strncmp(value + n + 1, control->prefix, p) == 0 && is_number(value + n + 1 + p);
}

bool view_changes_read(bool cone, const char *query, view_changes *changes, char *words, size_t size) {
    *changes = (view_changes){0};
    for (int i = 0; i < CONTROLS; i++) {
        char value[VIEW_CHANGE_SIZE];
        const view_control *control = &controls[i];
        if (!serves(control, cone) || !view_find(query, control->name)) continue;
        if (!view_text(query, control->name, value, sizeof value) || !fits(control, value)) {
            snprintf(words, size, "no control gives such a --%s", control->name);
            return false;
        }
        changes->of[changes->count].control = control;
        snprintf(changes->of[changes->count++].value, VIEW_CHANGE_SIZE, "%s", value);
    }
    return true;
}

void view_changes_key(const view_changes *changes, char *key, size_t size) {
    size_t used = 0;
    key[0] = 0;
    for (int i = 0; i < changes->count && used < size; i++)
        used += (size_t)snprintf(key + used, size - used, "%s=%s ", changes->of[i].control->name, changes->of[i].value);
}

view_changes view_changes_of_preparation(const view_changes *changes) {
    view_changes some = {0};
    for (int i = 0; i < changes->count; i++)
        if (changes->of[i].control->where == OF_PREPARATION) some.of[some.count++] = changes->of[i];
    return some;
}

/* ---- options ---- */

static const qb_param *table_of(const view_control *control, bool cone) {
    return control->where == OF_PREPARATION ? qb_prep_params
           : control->where == OF_TV        ? qb_tv_params
           : control->where == OF_GEOMETRY  ? qb_geometry_params
           : cone                           ? qb_fdk_params
                                            : qb_fbp_params;
}

static void *target_of(const view_control *control, bool cone, view_options_of *made) {
    if (control->where == OF_PREPARATION) return &made->prep;
    if (control->where == OF_TV) return &made->tv;
    if (control->where == OF_GEOMETRY) return &made->geometry;
    return cone ? (void *)&made->fdk : (void *)&made->fbp;
}

static const void *given_of(const view_control *control, bool cone, const options *o) {
    if (control->where == OF_PREPARATION) return &o->prep;
    if (control->where == OF_TV) return &o->iterative;
    if (control->where == OF_GEOMETRY) return &o->geometry;
    return cone ? (const void *)&o->fdk : (const void *)&o->fbp;
}

bool view_changes_ask_tv(const view_changes *changes) {
    for (int i = 0; changes && i < changes->count; i++)
        if (changes->of[i].control->where == OF_TV) return strcmp(changes->of[i].value, "none") != 0;
    return false;
}

static qb_status share_with_tv(const qb_fbp_options *fbp, qb_iterative_options *tv) {
    tv->size = fbp->size;
    tv->voxel = fbp->voxel;
    tv->hu = fbp->hu;
    return fbp->center ? qb_params_set(qb_tv_params, tv, "center", fbp->center) : QB_OK;
}

qb_status view_options_make(const cli *c, bool cone, const view_changes *changes, view_options_of *made) {
    *made = (view_options_of){0};
    qb_status status = qb_params_copy(qb_prep_params, &c->options.prep, &made->prep);
    if (status == QB_OK && cone) status = qb_params_copy(qb_geometry_params, &c->options.geometry, &made->geometry);
    if (status == QB_OK && cone) status = qb_params_copy(qb_fdk_params, &c->options.fdk, &made->fdk);
    if (status == QB_OK && !cone) status = qb_params_copy(qb_fbp_params, &c->options.fbp, &made->fbp);
    if (status == QB_OK && !cone) status = qb_params_init(qb_tv_params, &made->tv);
    for (int i = 0; status == QB_OK && changes && i < changes->count; i++) {
        const view_control *control = changes->of[i].control;
        status =
            qb_params_set(table_of(control, cone), target_of(control, cone, made), control->name, changes->of[i].value);
    }
    if (status == QB_OK && view_changes_ask_tv(changes)) status = share_with_tv(&made->fbp, &made->tv);
    if (status != QB_OK) view_options_clear(made);
    return status;
}

void view_options_clear(view_options_of *made) {
    qb_params_clear(qb_prep_params, &made->prep);
    qb_params_clear(qb_geometry_params, &made->geometry);
    qb_params_clear(qb_fbp_params, &made->fbp);
    qb_params_clear(qb_tv_params, &made->tv);
    qb_params_clear(qb_fdk_params, &made->fdk);
}

/* ---- for the page ---- */

static void add_range(cJSON *row, const view_control *control, const qb_scan_info *info) {
    double low = control->low, high = control->high, step = control->step;
    const double columns = (double)info->whole_columns, pixel = info->pixel_size / (double)info->bin[0];
    if (strcmp(control->name, "center") == 0) low = 0, high = columns - 1;
    if (strcmp(control->name, "detector-offset") == 0) low = -columns / 2 * pixel, high = -low, step = pixel / 10;
    cJSON_AddNumberToObject(row, "low", low);
    cJSON_AddNumberToObject(row, "high", high);
    cJSON_AddNumberToObject(row, "step", step);
    if (isfinite(control->usual)) cJSON_AddNumberToObject(row, "usual", control->usual);
}

cJSON *view_controls_json(const cli *c, bool cone, bool fixed, bool prepared, const qb_scan_info *info) {
    static const char *const kinds[] = {"number", "first", "word", "tuned"};
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < CONTROLS; i++) {
        const view_control *control = &controls[i];
        char value[512] = "";
        const qb_param *row = qb_param_find(table_of(control, cone), control->name);
        if (!serves(control, cone) || (fixed && control->places)) continue;
        if (prepared && (control->where == OF_PREPARATION || control->where == OF_TV)) continue;
        if (!qb_param_get(row, given_of(control, cone, &c->options), value, sizeof value)) value[0] = 0;
        cJSON *said = cJSON_CreateObject();
        cJSON_AddStringToObject(said, "name", control->name);
        cJSON_AddStringToObject(said, "label", control->label);
        cJSON_AddStringToObject(said, "kind", kinds[control->kind]);
        cJSON_AddStringToObject(said, "value", value);
        cJSON_AddBoolToObject(said, "prepares", control->where == OF_PREPARATION);
        cJSON_AddBoolToObject(said, "log", control->where == OF_TV);
        if (control->choices) cJSON_AddStringToObject(said, "choices", control->choices);
        if (control->prefix) cJSON_AddStringToObject(said, "prefix", control->prefix);
        if (control->kind != WORD) add_range(said, control, info);
        cJSON_AddItemToArray(list, said);
    }
    return list;
}

/* ---- the command ---- */

static const view_changes none;

static bool is_changed(const view_changes *changes, const qb_param *row) {
    for (int i = 0; i < changes->count; i++)
        if (strcmp(changes->of[i].control->name, row->name) == 0) return true;
    return strcmp(row->name, "output") == 0;
}

/* The verb's option of this name; NULL: the verb has none. */
static const qb_param *row_of(const verb *of, const char *name) {
    const qb_param *row = NULL;
    for (const section *s = of->sections; s->table && !row; s++) row = qb_param_find(s->table, name);
    return row;
}

/* Appends an option as the user gave it; a list is given item by item. */
static void repeat(cli *words, const cli *c, const qb_param *row) {
    char value[8192];
    const qb_param *as = row_of(words->verb, row->name);
    if (!as) return;
    for (const section *s = c->verb->sections; s->table; s++) {
        if (qb_param_find(s->table, row->name) != row) continue;
        if (!qb_param_get(row, (const char *)&c->options + s->offset, value, sizeof value)) return;
        for (char *item = value, *end; item; item = end) {
            end = strchr(item, '\n');
            if (end) *end++ = 0;
            command_option(words, as, item);
        }
    }
}

char *view_command(const cli *c, bool cone, const view_changes *changes, const char *output) {
    const bool tv = view_changes_ask_tv(changes);
    cli words = {.verb = tv ? find_verb("tv") : c->verb};
    if (!changes) changes = &none;
    command_argument(&words, c->argument[0]);
    for (int i = 0; i < c->given_count; i++)
        if (!is_changed(changes, c->given[i])) repeat(&words, c, c->given[i]);
    for (int i = 0; i < changes->count; i++) {
        const view_control *control = changes->of[i].control;
        const qb_param *row =
            tv ? row_of(words.verb, control->name) : qb_param_find(table_of(control, cone), control->name);
        if (row && (tv || control->where != OF_TV)) command_option(&words, row, changes->of[i].value);
    }
    command_option(&words, qb_param_find(qb_output_params, "output"), output);
    if (command_end(&words) == QB_OK) return words.command;
    free(words.command);
    return NULL;
}
