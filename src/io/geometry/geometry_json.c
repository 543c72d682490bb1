/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/parallel.h"
#include "io/geometry/geometry_file.h"

static const double pi = 3.14159265358979323846;

static const char *const keys[] = {"quickbeam_geometry",
                                   "comment",
                                   "units",
                                   "beam",
                                   "rows",
                                   "columns",
                                   "radius",
                                   "views",
                                   "sod",
                                   "sdd",
                                   "pixel_size",
                                   "offset",
                                   "center",
                                   "angles_degrees",
                                   "tilt_degrees",
                                   "jitter"};

static qb_status check_keys(const cJSON *root) {
    for (const cJSON *item = root->child; item; item = item->next) {
        size_t i = 0, n = sizeof keys / sizeof keys[0];
        while (i < n && strcmp(item->string, keys[i]) != 0) i++;
        if (i == n) return qb__fail(QB_BAD_INPUT, "the key '%.60s' means nothing here", item->string);
        if (cJSON_GetObjectItemCaseSensitive(root, item->string) != item)
            return qb__fail(QB_BAD_INPUT, "the key '%s' is there twice", item->string);
    }
    return QB_OK;
}

/* Read a number; if it is absent, take `missing`, or fail if that is NaN. */
static qb_status number(const cJSON *root, const char *key, double missing, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    *out = missing;
    if (!item && !isnan(missing)) return QB_OK;
    if (!cJSON_IsNumber(item)) return qb__fail(QB_BAD_INPUT, "'%s' is not a number", key);
    *out = item->valuedouble;
    return QB_OK;
}

static qb_status count(const cJSON *root, const char *key, size_t *out) {
    double value;
    QB__OR_RETURN(number(root, key, NAN, &value));
    if (!(value >= 1 && value <= QB__GEOMETRY_MOST_VIEWS && value == floor(value)))
        return qb__fail(QB_BAD_INPUT, "'%s' is %g", key, value);
    *out = (size_t)value;
    return QB_OK;
}

/* Read exactly n numbers; zeros if they are absent and `optional`. */
static qb_status numbers(const cJSON *root, const char *key, bool optional, int n, double *out) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, key), *item;
    int i = 0;
    memset(out, 0, (size_t)n * sizeof *out);
    if (!list && optional) return QB_OK;
    if (!cJSON_IsArray(list)) return qb__fail(QB_BAD_INPUT, "'%s' is not a list", key);
    cJSON_ArrayForEach(item, list) {
        if (i >= n || !cJSON_IsNumber(item)) break;
        out[i++] = item->valuedouble;
    }
    if (item || i != n) return qb__fail(QB_BAD_INPUT, "'%s' is not a list of %d numbers", key, n);
    return QB_OK;
}

static qb_status read_views(const cJSON *list, qb_geometry *geometry) {
    const cJSON *item;
    qb_status status = cJSON_IsArray(list) ? qb__geometry_create(geometry->beam, (size_t)cJSON_GetArraySize(list),
                                                                 geometry->rows, geometry->columns, geometry)
                                           : qb__fail(QB_BAD_INPUT, "'views' is not a list");
    if (status != QB_OK) return status;
    size_t i = 0;
    cJSON_ArrayForEach(item, list) {
        qb_view *view = &geometry->view[i];
        QB__TRY(numbers(item, "source", false, 3, view->source));
        QB__TRY(numbers(item, "detector", false, 3, view->detector));
        QB__TRY(numbers(item, "u", false, 3, view->u));
        QB__TRY(numbers(item, "v", false, 3, view->v));
        i++;
    }
out:
    return status == QB_OK ? QB_OK : qb__fail_in(status, "view %zu", i);
}

/* Read angles: [degrees, ...], or {"from", "to", "count"} without the angle `to`. */
static qb_status read_angles(const cJSON *root, size_t *views, double **radians) {
    const cJSON *item, *list = cJSON_GetObjectItemCaseSensitive(root, "angles_degrees");
    double from = 0, to = 0;
    bool range = cJSON_IsObject(list);
    if (!range && !cJSON_IsArray(list)) return qb__fail(QB_BAD_INPUT, "neither 'views' nor 'angles_degrees' is there");
    *views = range ? 0 : (size_t)cJSON_GetArraySize(list);
    qb_status status = range ? count(list, "count", views) : QB_OK;
    if (range && status == QB_OK) status = number(list, "from", NAN, &from);
    if (range && status == QB_OK) status = number(list, "to", NAN, &to);
    if (status == QB_OK) status = qb__alloc(*views, sizeof **radians, radians);
    if (status != QB_OK) return status;
    size_t i = 0;
    for (; range && i < *views; i++) (*radians)[i] = (from + (to - from) * (double)i / (double)*views) * (pi / 180);
    if (range) return QB_OK;
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsNumber(item)) return qb__fail(QB_BAD_INPUT, "angle %zu is not a number", i);
        (*radians)[i++] = item->valuedouble * (pi / 180);
    }
    return QB_OK;
}

/* Check the numbers as the options with the same names do. */
static qb_status check_faults(const double tilt[3], const double jitter[4]) {
    for (int i = 0; i < 3; i++) {
        const double most = i ? QB__MOST_LEAN : 180;
        if (!(fabs(tilt[i]) <= most))
            return qb__fail(QB_BAD_INPUT, "'tilt_degrees' holds %g; -%g..%g are allowed", tilt[i], most, most);
    }
    for (int i = 0; i < 4; i++)
        if (!(fabs(jitter[i]) <= 1e6))
            return qb__fail(QB_BAD_INPUT, "'jitter' holds %g; -1e6..1e6 are allowed", jitter[i]);
    return QB_OK;
}

static qb_status read_circle(const cJSON *root, qb_geometry *g) {
    double *angles = NULL, sod, sdd, center, pixel[2], offset[2], tilt[3], jitter[4];
    size_t views, rows = g->rows, columns = g->columns;
    qb_status status;
    QB__TRY(read_angles(root, &views, &angles));
    QB__TRY(numbers(root, "pixel_size", false, 2, pixel));
    QB__TRY(numbers(root, "offset", true, 2, offset));
    QB__TRY(numbers(root, "tilt_degrees", true, 3, tilt));
    QB__TRY(numbers(root, "jitter", true, 4, jitter));
    QB__TRY(check_faults(tilt, jitter));
    if (g->beam == QB_BEAM_PARALLEL) {
        QB__TRY(number(root, "center", 0.5 * ((double)columns - 1), &center));
        QB__TRY(qb_geometry_parallel(views, angles, rows, columns, pixel[0], center, g));
        qb__parallel_set_rows(g, pixel[1]);
        goto out;
    }
    QB__TRY(number(root, "sod", NAN, &sod));
    QB__TRY(number(root, "sdd", NAN, &sdd));
    QB__TRY(qb_geometry_cone(views, angles, rows, columns, pixel[0], pixel[1], sod, sdd, offset[0], offset[1], g));
    qb__geometry_disturb(g, angles, sod, sdd,
                         &(qb__faults){tilt[0] * (pi / 180), tilt[1] * (pi / 180), tilt[2] * (pi / 180), jitter[0],
                                       jitter[1], jitter[2], jitter[3] * (pi / 180)});
out:
    qb__free(angles);
    return status == QB_BAD_ARGUMENT ? QB_BAD_INPUT : status;
}

static qb_status is(const cJSON *root, const char *key, const char *one, const char *other, bool *second) {
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, key));
    *second = value && other && strcmp(value, other) == 0;
    if (value && (*second || strcmp(value, one) == 0)) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "'%s' is '%.40s', not '%s'%s%s", key, value ? value : "(absent)", one,
                    other ? " or " : "", other ? other : "");
}

static qb_status read_root(const cJSON *root, qb_geometry *geometry) {
    bool parallel, ignored;
    double version, radius;
    QB__OR_RETURN(check_keys(root));
    QB__OR_RETURN(number(root, "quickbeam_geometry", NAN, &version));
    if (version != 1) return qb__fail(QB_UNSUPPORTED, "its version is %g, not 1", version);
    QB__OR_RETURN(is(root, "units", "mm", NULL, &ignored));
    QB__OR_RETURN(is(root, "beam", "cone", "parallel", &parallel));
    geometry->beam = parallel ? QB_BEAM_PARALLEL : QB_BEAM_CONE;
    QB__OR_RETURN(count(root, "rows", &geometry->rows));
    QB__OR_RETURN(count(root, "columns", &geometry->columns));
    QB__OR_RETURN(number(root, "radius", 0, &radius));
    const cJSON *views = cJSON_GetObjectItemCaseSensitive(root, "views");
    if (views && cJSON_GetObjectItemCaseSensitive(root, "angles_degrees"))
        return qb__fail(QB_BAD_INPUT, "both 'views' and 'angles_degrees' are there");
    QB__OR_RETURN(views ? read_views(views, geometry) : read_circle(root, geometry));
    geometry->radius = radius;
    return QB_OK;
}

/* The parser takes a hundred bytes for every value, however short. */
static qb_status check_size(const qb__text *text) {
    const size_t most = (size_t)16 << 20;
    size_t values = 1;
    for (size_t i = 0; i < text->length; i++)
        values += text->data[i] == ',' || text->data[i] == '[' || text->data[i] == '{';
    if (values > most) return qb__fail(QB_BAD_INPUT, "it holds %zu values; at most %zu are read", values, most);
    return QB_OK;
}

qb_status qb__geometry_json(const qb__text *text, cJSON **object) {
    const char *stop = NULL;
    *object = NULL;
    QB__OR_RETURN(check_size(text));
    errno = 0;
    cJSON *root = cJSON_ParseWithLengthOpts(text->data, text->length + 1, &stop, 1);
    if (!root && errno == ENOMEM) return qb__fail(QB_NO_MEMORY, "no memory for %zu bytes of JSON", text->length);
    if (!root) return qb__fail(QB_BAD_INPUT, "not JSON at byte %zu", stop ? (size_t)(stop - text->data) : (size_t)0);
    if (!cJSON_IsObject(root)) {
        cJSON_Delete(root);
        return qb__fail(QB_BAD_INPUT, "not a JSON object");
    }
    *object = root;
    return QB_OK;
}

qb_status qb__geometry_of_json(const cJSON *object, qb_geometry *geometry) {
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, "geometry");
    if (!cJSON_IsObject(object)) return qb__fail(QB_BAD_INPUT, "it is no JSON object");
    if (!cJSON_GetObjectItemCaseSensitive(object, QB__SIMULATED_SCAN)) return read_root(object, geometry);
    if (cJSON_IsObject(inner)) return read_root(inner, geometry);
    return qb__fail(QB_BAD_INPUT, "a simulated scan without 'geometry', which says where source and detector of each "
                                  "view are: qb simulate -o NAME.sim "
                                  "writes one");
}

qb_status qb__geometry_from_json(const qb__text *text, qb_geometry *geometry) {
    cJSON *object;
    QB__OR_RETURN(qb__geometry_json(text, &object));
    const qb_status status = qb__geometry_of_json(object, geometry);
    cJSON_Delete(object);
    return status;
}

static void add_vector(qb__text *text, const char *key, const double *v, const char *after) {
    qb__text_add(text, "\"%s\": [%.17g, %.17g, %.17g]%s", key, v[0], v[1], v[2], after);
}

qb_status qb__geometry_to_json(const qb_geometry *geometry, qb__text *text) {
    qb__text_add(text,
                 "{\n  \"quickbeam_geometry\": 1,\n  \"units\": \"mm\",\n  \"beam\": \"%s\",\n"
                 "  \"rows\": %zu,\n  \"columns\": %zu,\n  \"radius\": %.17g,\n  \"views\": [\n",
                 geometry->beam == QB_BEAM_CONE ? "cone" : "parallel", geometry->rows, geometry->columns,
                 geometry->radius);
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        qb__text_add(text, "    {");
        add_vector(text, "source", view->source, ", ");
        add_vector(text, "detector", view->detector, ", ");
        add_vector(text, "u", view->u, ", ");
        add_vector(text, "v", view->v, i + 1 < geometry->views ? "},\n" : "}\n");
    }
    qb__text_add(text, "  ]\n}\n");
    return QB_OK;
}
