/* SPDX-License-Identifier: MIT */
/* Scenarios of CTSimU (BAM): source, detector and stage in a common world, with deviations and drifts. The volume turns
 * with the stage, whose u, v and w are our x, y and z. Deviations that are marked as unknown to the reconstruction are
 * left out.
 *
 * For each frame a part is placed, the stage is turned about its w, then each deviation is applied in order, then the
 * drift of the centre. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/vector.h"
#include "io/geometry/geometry_file.h"

static const double MOST_LOOKS = 1e10; /* largest number of values of a drift, which are counted one by one */
static const double degree = 3.14159265358979323846 / 180;

/* Position and directions of a part; the axes are unit vectors. */
typedef struct part {
    double center[3], axis[3][3]; /* u, v, w */
} part;

/* number of the frame */
typedef struct frame {
    size_t number, count;
} frame;

/* ---- numbers ---- */

static const struct {
    const char *name;
    double factor; /* mm or radians per unit */
} units[] = {{"mm", 1},   {"um", 1e-3}, {"nm", 1e-6}, {"cm", 10},
             {"dm", 100}, {"m", 1000},  {"rad", 1},   {"deg", 3.14159265358979323846 / 180}};

static qb_status unit_of(const cJSON *parameter, double missing, double *factor) {
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(parameter, "unit");
    *factor = missing;
    if (!unit || cJSON_IsNull(unit)) return QB_OK;
    for (size_t i = 0; cJSON_IsString(unit) && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit->valuestring, units[i].name) == 0) {
            *factor = units[i].factor;
            return QB_OK;
        }
    return qb__fail(QB_UNSUPPORTED, "the unit '%.20s' is not known", cJSON_IsString(unit) ? unit->valuestring : "?");
}

static bool is_known(const cJSON *item) {
    return !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(item, "known_to_reconstruction"));
}

/* Value of a drift at a frame: a number, or a list spread over all frames. */
static qb_status drift_at(const cJSON *drift, const frame *f, double missing, double *sum) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(drift, "value");
    double factor;
    if (!cJSON_IsObject(drift)) return qb__fail(QB_BAD_INPUT, "a drift is not a JSON object");
    if (!is_known(drift)) return QB_OK;
    if (cJSON_GetObjectItemCaseSensitive(drift, "file") && !value)
        return qb__fail(QB_UNSUPPORTED, "a drift is in a file of its own: write its values into the scenario");
    qb_status status = unit_of(drift, missing, &factor);
    if (status != QB_OK) return status;
    if (cJSON_IsNumber(value)) {
        *sum += factor * value->valuedouble;
        return QB_OK;
    }
    const int n = cJSON_IsArray(value) ? cJSON_GetArraySize(value) : 0;
    if (n < 1) return qb__fail(QB_BAD_INPUT, "a drift has no values");
    if ((double)n * (double)f->count > MOST_LOOKS)
        return qb__fail(QB_BAD_INPUT, "a drift of %d values for %zu projections", n, f->count);
    const double at = f->count > 1 ? (double)f->number / (double)(f->count - 1) * (n - 1) : 0;
    const int left = (int)fmin(floor(at), n - 1), right = left + 1 < n ? left + 1 : left;
    const cJSON *a = cJSON_GetArrayItem(value, left), *b = cJSON_GetArrayItem(value, right);
    if (!cJSON_IsNumber(a) || !cJSON_IsNumber(b))
        return qb__fail(QB_BAD_INPUT, "a drift has values that are not numbers");
    *sum += factor * (a->valuedouble + (at - left) * (b->valuedouble - a->valuedouble));
    return QB_OK;
}

/* An amount in degrees is no length, nor the other way round. */
static qb_status check_amount(const cJSON *amount, bool angle) {
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(amount, "unit");
    const char *word = cJSON_IsString(unit) ? unit->valuestring : angle ? "rad" : "mm";
    if ((strcmp(word, "rad") == 0 || strcmp(word, "deg") == 0) == angle) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "a %s has the unit '%.20s': correct it to %s", angle ? "rotation" : "translation",
                    word, angle ? "deg or rad" : "mm");
}

/* Read {"value", "unit", "drifts"}, or a number. Result: the value at frame f; f NULL: without drifts. */
static qb_status number_at(const cJSON *parent, const char *key, const frame *f, double missing, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, key);
    const cJSON *value = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "value") : item;
    const cJSON *drifts = cJSON_GetObjectItemCaseSensitive(item, "drifts"), *drift;
    double factor;
    if (!cJSON_IsNumber(value)) return qb__fail(QB_BAD_INPUT, "'%s' has no value", key);
    qb_status status = unit_of(item, missing, &factor);
    *out = factor * value->valuedouble;
    if (!f || status != QB_OK) return status;
    if (cJSON_IsObject(drifts)) return drift_at(drifts, f, missing, out);
    cJSON_ArrayForEach(drift, drifts) {
        status = drift_at(drift, f, missing, out);
        if (status != QB_OK) break;
    }
    return status;
}

static qb_status vector_at(const cJSON *item, const char names[4], const frame *f, double out[3]) {
    qb_status status = cJSON_IsObject(item) ? QB_OK : qb__fail(QB_BAD_INPUT, "a vector is missing");
    for (int k = 0; k < 3 && status == QB_OK; k++)
        status = number_at(item, (const char[2]){names[k], 0}, f, 1, &out[k]);
    return status;
}

/* ---- parts ---- */

static void rotate(const double axis[3], double angle, double v[3]) {
    const double c = cos(angle), s = sin(angle), along = qb__dot(axis, v) * (1 - c);
    double side[3];
    qb__cross(axis, v, side);
    for (int k = 0; k < 3; k++) v[k] = c * v[k] + s * side[k] + along * axis[k];
}

static qb_status unit_vector(const char *what, double v[3]) {
    const double length = qb__norm(v);
    if (!(length > 0) || !isfinite(length)) return qb__fail(QB_BAD_INPUT, "%s has no direction", what);
    for (int k = 0; k < 3; k++) v[k] /= length;
    return QB_OK;
}

static qb_status place(const cJSON *json, part *p) {
    const cJSON *center = cJSON_GetObjectItemCaseSensitive(json, "center");
    qb_status status;
    if (!center) center = cJSON_GetObjectItemCaseSensitive(json, "centre");
    if (cJSON_GetObjectItemCaseSensitive(json, "deviation"))
        return qb__fail(QB_UNSUPPORTED, "'deviation' is of a file format before 1.0: save the scenario anew");
    QB__TRY(vector_at(center, "xyz", NULL, p->center));
    QB__TRY(vector_at(cJSON_GetObjectItemCaseSensitive(json, "vector_u"), "xyz", NULL, p->axis[0]));
    QB__TRY(vector_at(cJSON_GetObjectItemCaseSensitive(json, "vector_w"), "xyz", NULL, p->axis[2]));
    QB__TRY(unit_vector("vector_u", p->axis[0]));
    QB__TRY(unit_vector("vector_w", p->axis[2]));
    if (fabs(qb__dot(p->axis[0], p->axis[2])) > 1e-6)
        return qb__fail(QB_BAD_INPUT, "vector_u and vector_w are not at right angles");
    qb__cross(p->axis[2], p->axis[0], p->axis[1]);
out:
    return status;
}

/* Convert a direction or a point from the axes of the world or of the part. */
static qb_status resolve(const cJSON *item, const part *p, const frame *f, bool point, double out[3]) {
    const bool local = cJSON_GetObjectItemCaseSensitive(item, "u") != NULL;
    double v[3];
    const qb_status status = vector_at(item, local ? "uvw" : "xyz", f, v);
    for (int k = 0; k < 3; k++)
        out[k] = local ? v[0] * p->axis[0][k] + v[1] * p->axis[1][k] + v[2] * p->axis[2][k] + (point ? p->center[k] : 0)
                       : v[k];
    return status;
}

static qb_status axis_of(const cJSON *item, const part *p, const frame *f, double out[3]) {
    static const char names[] = "xyzuvw";
    const char *at = cJSON_IsString(item) && strlen(item->valuestring) == 1 ? strchr(names, *item->valuestring) : NULL;
    qb_status status = QB_OK;
    memset(out, 0, 3 * sizeof *out);
    if (at && at - names < 3)
        out[at - names] = 1;
    else if (at)
        memcpy(out, p->axis[at - names - 3], 3 * sizeof *out);
    else if (cJSON_IsObject(item))
        status = resolve(item, p, f, false, out);
    else
        return qb__fail(QB_UNSUPPORTED, "the axis of a deviation is none of x y z u v w");
    return status == QB_OK ? unit_vector("the axis of a deviation", out) : status;
}

static qb_status deviate(const cJSON *json, const frame *f, part *p) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "type"),
                *at = cJSON_GetObjectItemCaseSensitive(json, "pivot");
    double axis[3], pivot[3], amount;
    qb_status status;
    if (!is_known(json)) return QB_OK;
    memcpy(pivot, p->center, sizeof pivot);
    QB__TRY(axis_of(cJSON_GetObjectItemCaseSensitive(json, "axis"), p, f, axis));
    QB__TRY(number_at(json, "amount", f, 1, &amount));
    QB__TRY(check_amount(cJSON_GetObjectItemCaseSensitive(json, "amount"),
                         cJSON_IsString(type) && strcmp(type->valuestring, "rotation") == 0));
    if (cJSON_IsObject(at)) QB__TRY(resolve(at, p, f, true, pivot));
    if (cJSON_IsString(type) && strcmp(type->valuestring, "translation") == 0) {
        for (int k = 0; k < 3; k++) p->center[k] += amount * axis[k];
    } else if (cJSON_IsString(type) && strcmp(type->valuestring, "rotation") == 0) {
        for (int k = 0; k < 3; k++) p->center[k] -= pivot[k];
        rotate(axis, amount, p->center);
        for (int k = 0; k < 3; k++) p->center[k] += pivot[k];
        for (int i = 0; i < 3; i++) rotate(axis, amount, p->axis[i]);
    } else {
        status = qb__fail(QB_BAD_INPUT, "the type of a deviation is neither translation nor rotation");
    }
out:
    return status;
}

/* Place a part at a frame; the stage is rotated by `turn`. */
static qb_status part_at(const cJSON *json, const frame *f, double turn, part *p) {
    const cJSON *deviation, *center = cJSON_GetObjectItemCaseSensitive(json, "center");
    double still[3], drifted[3];
    qb_status status;
    if (!center) center = cJSON_GetObjectItemCaseSensitive(json, "centre");
    QB__TRY(place(json, p));
    for (int i = 0; turn != 0 && i < 2; i++) rotate(p->axis[2], turn, p->axis[i]);
    cJSON_ArrayForEach(deviation, cJSON_GetObjectItemCaseSensitive(json, "deviations"))
        QB__TRY(deviate(deviation, f, p));
    QB__TRY(vector_at(center, "xyz", NULL, still));
    QB__TRY(vector_at(center, "xyz", f, drifted));
    for (int k = 0; k < 3; k++) p->center[k] += drifted[k] - still[k];
out:
    return status;
}

/* ---- views ---- */

static void to_stage(const part *stage, const double way[3], double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = qb__dot(stage->axis[i], way);
}

static qb_status make_view(const cJSON *geometry, const frame *f, double turn, const double pitch[2], qb_geometry *g) {
    part source, detector, stage;
    double way[3];
    qb_view *view = &g->view[f->number];
    qb_status status;
    QB__TRY(part_at(cJSON_GetObjectItemCaseSensitive(geometry, "source"), f, 0, &source));
    QB__TRY(part_at(cJSON_GetObjectItemCaseSensitive(geometry, "detector"), f, 0, &detector));
    QB__TRY(part_at(cJSON_GetObjectItemCaseSensitive(geometry, "stage"), f, turn, &stage));
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
out:
    return status;
}

static qb_status count_at(const cJSON *parent, const char *key, double most, double *out) {
    const qb_status status = number_at(parent, key, NULL, 1, out);
    if (status != QB_OK || (*out >= 1 && *out <= most && *out == floor(*out))) return status;
    return qb__fail(QB_BAD_INPUT, "'%s' is %g", key, *out);
}

/* Words that would be taken for their usual values if they were not checked. */
static qb_status path_of(const cJSON *root, const cJSON *scan, double turn, bool *last, bool *clockwise) {
    const cJSON *sense = cJSON_GetObjectItemCaseSensitive(scan, "direction"),
                *final = cJSON_GetObjectItemCaseSensitive(scan, "include_final_angle"),
                *version = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, "file"),
                                                            "file_format_version"),
                *major = cJSON_GetObjectItemCaseSensitive(version, "major");
    const char *word = cJSON_IsString(sense) ? sense->valuestring : "no text";
    *last = cJSON_IsTrue(final);
    *clockwise = strcasecmp(word, "CW") == 0;
    if (cJSON_IsNumber(major) && major->valuedouble > 1)
        return qb__fail(QB_UNSUPPORTED, "its file_format_version is %g; 1 is read", major->valuedouble);
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
    QB__TRY(count_at(scan, "number_of_projections", QB__GEOMETRY_MOST_VIEWS, &views));
    QB__TRY(count_at(detector, "columns", 1e6, &columns));
    QB__TRY(count_at(detector, "rows", 1e6, &rows));
    QB__TRY(number_at(pitches, "u", NULL, 1, &pitch[0]));
    QB__TRY(number_at(pitches, "v", NULL, 1, &pitch[1]));
    QB__TRY(number_at(scan, "start_angle", NULL, degree, &from));
    QB__TRY(number_at(scan, "stop_angle", NULL, degree, &to));
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
    for (frame f = {0, (size_t)views}; f.number < f.count; f.number++) {
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
