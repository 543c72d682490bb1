/* SPDX-License-Identifier: MIT */
/* Scenarios of CTSimU (BAM): source, detector and stage in a common world. The volume turns with the stage, whose u, v
 * and w are our x, y and z. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/vector.h"
#include "io/geometry/ctsimu_parts.h"
#include "io/geometry/geometry_file.h"

static const double degree = 3.14159265358979323846 / 180;

static void to_stage(const qb__ctsimu_place *stage, const double way[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = qb__dot(stage->axis[i], way);
}

static qb_status make_view(const cJSON *geometry, const qb__ctsimu_frame *f, double turn, const double pitch[2],
                           qb_geometry *g) {
    qb__ctsimu_place source, detector, stage;
    double way[3];
    qb_view *view = &g->view[f->number];
    QB__OR_RETURN(qb__ctsimu_part(cJSON_GetObjectItemCaseSensitive(geometry, "source"), f, 0, &source));
    QB__OR_RETURN(qb__ctsimu_part(cJSON_GetObjectItemCaseSensitive(geometry, "detector"), f, 0, &detector));
    QB__OR_RETURN(qb__ctsimu_part(cJSON_GetObjectItemCaseSensitive(geometry, "stage"), f, turn, &stage));
    for (int k = 0; k < 3; k++) way[k] = source.center[k] - stage.center[k];
    to_stage(&stage, way, view->source);
    for (int k = 0; k < 3; k++)
        way[k] = detector.center[k] - stage.center[k] -
                 0.5 * ((double)g->columns - 1) * pitch[0] * detector.axis[0][k] -
                 0.5 * ((double)g->rows - 1) * pitch[1] * detector.axis[1][k];
    to_stage(&stage, way, view->detector);
    to_stage(&stage, detector.axis[0], view->u);
    to_stage(&stage, detector.axis[1], view->v);
    for (int k = 0; k < 3; k++) view->u[k] *= pitch[0], view->v[k] *= pitch[1];
    return QB_OK;
}

static qb_status count_at(const cJSON *parent, const char *key, double most, double *out) {
    const qb_status status = qb__ctsimu_number(parent, key, NULL, &qb__ctsimu_length, out);
    if (status != QB_OK || (*out >= 1 && *out <= most && *out == floor(*out))) return status;
    return qb__fail(QB_BAD_INPUT, "'%s' is %g", key, *out);
}

/* Versions above 1 may mean something else; a version may be an object, a number or a text. */
static qb_status check_version(const cJSON *root) {
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "file"),
                                                            "file_format_version"),
                *major = cJSON_IsObject(version) ? cJSON_GetObjectItemCaseSensitive(version, "major") : version;
    char *end = NULL;
    const char *word = cJSON_IsString(major) ? major->valuestring : "";
    double number = 1;
    if (!major || cJSON_IsNull(major)) return QB_OK;
    if (cJSON_IsNumber(major)) number = major->valuedouble;
    if (cJSON_IsString(major)) number = qb__strtod(word, &end);
    if ((!cJSON_IsNumber(major) && !cJSON_IsString(major)) || end == word)
        return qb__fail(QB_BAD_INPUT, "its file_format_version '%.20s' is no number: correct it to 1", word);
    return number < 2 ? QB_OK : qb__fail(QB_UNSUPPORTED, "its file_format_version is %g; 1 is read", number);
}

/* Words that would be taken for their usual values if they were not checked. */
static qb_status path_of(const cJSON *root, const cJSON *scan, double turn, bool *last, bool *clockwise) {
    const cJSON *sense = cJSON_GetObjectItemCaseSensitive(scan, "direction"),
                *final = cJSON_GetObjectItemCaseSensitive(scan, "include_final_angle");
    const char *word = cJSON_IsString(sense) ? sense->valuestring : "no text";
    *last = cJSON_IsTrue(final);
    *clockwise = strcasecmp(word, "CW") == 0;
    const qb_status status = check_version(root);
    if (status != QB_OK) return status;
    if (sense && !cJSON_IsNull(sense) && !*clockwise && strcasecmp(word, "CCW") != 0)
        return qb__fail(QB_BAD_INPUT, "its direction is '%.20s': correct it to CW or CCW", word);
    if (final && !cJSON_IsBool(final) && !cJSON_IsNull(final))
        return qb__fail(QB_BAD_INPUT, "its include_final_angle is neither true nor false: correct it");
    if (turn < 0)
        return qb__fail(QB_BAD_INPUT,
                        "its stop_angle lies %g degrees below its start_angle: exchange them, and state the sense by "
                        "direction",
                        -turn / degree);
    return QB_OK;
}

static qb_status check_detector(const cJSON *type) {
    static const char *const flat[] = {"", "ideal", "real", "flat"};
    const char *word = cJSON_IsString(type) ? type->valuestring : "";
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        if (strcasecmp(word, flat[i]) == 0) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "its detector is '%.20s'; flat ones are read (real, ideal): correct the type if it is flat", word);
}

static qb_status read_views(const cJSON *root, const cJSON *binning, qb_geometry *g) {
    const cJSON *geometry = cJSON_GetObjectItemCaseSensitive(root, "geometry"),
                *detector = cJSON_GetObjectItemCaseSensitive(root, "detector"),
                *scan = cJSON_GetObjectItemCaseSensitive(root, "acquisition"),
                *type = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(geometry, "source"), "type"),
                *pitches = cJSON_GetObjectItemCaseSensitive(detector, "pixel_pitch");
    double views, columns, rows, from, to, pitch[2], bin[2] = {1, 1};
    qb_status status;
    if (cJSON_IsString(type) && strcmp(type->valuestring, "cone") != 0)
        return qb__fail(QB_UNSUPPORTED, "its source is '%.20s'; cone is read", type->valuestring);
    QB__TRY(check_detector(cJSON_GetObjectItemCaseSensitive(detector, "type")));
    QB__TRY(count_at(scan, "number_of_projections", QB__GEOMETRY_MOST_VIEWS, &views));
    QB__TRY(count_at(detector, "columns", 1e6, &columns));
    QB__TRY(count_at(detector, "rows", 1e6, &rows));
    QB__TRY(qb__ctsimu_number(pitches, "u", NULL, &qb__ctsimu_length, &pitch[0]));
    QB__TRY(qb__ctsimu_number(pitches, "v", NULL, &qb__ctsimu_length, &pitch[1]));
    QB__TRY(qb__ctsimu_number(scan, "start_angle", NULL, &qb__ctsimu_angle, &from));
    QB__TRY(qb__ctsimu_number(scan, "stop_angle", NULL, &qb__ctsimu_angle, &to));
    if (cJSON_IsObject(binning)) {
        QB__TRY(count_at(binning, "u", columns, &bin[0]));
        QB__TRY(count_at(binning, "v", rows, &bin[1]));
    }
    if (!(pitch[0] > 0 && pitch[1] > 0)) return qb__fail(QB_BAD_INPUT, "'pixel_pitch' is %g x %g", pitch[0], pitch[1]);
    for (int k = 0; k < 2; k++) pitch[k] *= bin[k];
    bool last, clockwise;
    QB__TRY(path_of(root, scan, to - from, &last, &clockwise));
    const double steps = fmax(views - last, 1), step = (clockwise ? -1 : 1) * (to - from) / steps,
                 start = clockwise ? -from : from;
    QB__TRY(qb__geometry_create(QB_BEAM_CONE, (size_t)views, (size_t)(rows / bin[1]), (size_t)(columns / bin[0]), g));
    for (qb__ctsimu_frame f = {0, (size_t)views}; f.number < f.count; f.number++) {
        status = make_view(geometry, &f, start + step * (double)f.number, pitch, g);
        if (status != QB_OK) return qb__fail_in(status, "frame %zu", f.number);
    }
out:
    return status;
}

bool qb__geometry_is_ctsimu(const qb__text *text) { return strstr(text->data, "\"CTSimU Scenario\"") != NULL; }

qb_status qb__geometry_from_ctsimu(const qb__text *text, qb_geometry *geometry) {
    cJSON *root;
    qb_status status = qb__json_parse(text->data, &root);
    if (status != QB_OK) return qb__fail(QB_BAD_INPUT, "it is a scenario of CTSimU, but not valid JSON");
    const cJSON *scan = cJSON_GetObjectItemCaseSensitive(root, "acquisition");
    status = read_views(root, cJSON_GetObjectItemCaseSensitive(scan, "pixel_binning"), geometry);
    cJSON_Delete(root);
    return status;
}
