/* SPDX-License-Identifier: MIT */
/* Numbers of a CTSimU scenario, and where its parts are. For each frame a part is placed, the stage is turned about its
 * w, then each deviation is applied in order, then the drift of the centre. Deviations that are marked as unknown to the
 * reconstruction are left out. */
#include "io/geometry/ctsimu_parts.h"

#include <math.h>
#include <string.h>

#include "geometry/vector.h"
#include "io/geometry/unit_words.h"

static const double MOST_LOOKS = 1e10; /* largest number of values of a drift, which are counted one by one */

const qb__ctsimu_kind qb__ctsimu_length = {.missing = 1}, qb__ctsimu_angle = {true, 3.14159265358979323846 / 180},
                      qb__ctsimu_turn = {true, 1};

static qb_status unit_of(const cJSON *parameter, const char *key, const qb__ctsimu_kind *kind, double *factor) {
    const cJSON *unit = cJSON_GetObjectItemCaseSensitive(parameter, "unit");
    const char *word = cJSON_IsString(unit) ? unit->valuestring : "?";
    *factor = kind->missing;
    if (!unit || cJSON_IsNull(unit)) return QB_OK;
    *factor = kind->angle ? qb__angle_unit(word) : qb__length_unit(word);
    if (*factor > 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "'%s' has the unit '%.20s': correct it to %s", key, word,
                    kind->angle ? "deg or rad" : "mm or another unit of length");
}

static bool is_known(const cJSON *item) {
    return !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(item, "known_to_reconstruction"));
}

/* Value of a drift at a frame: a number, or a list spread over all frames. */
static qb_status drift_at(const cJSON *drift, const char *key, const qb__ctsimu_frame *f, const qb__ctsimu_kind *kind,
                          double *sum) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(drift, "value");
    double factor;
    if (!cJSON_IsObject(drift)) return qb__fail(QB_BAD_INPUT, "a drift is not a JSON object");
    if (!is_known(drift)) return QB_OK;
    if (cJSON_GetObjectItemCaseSensitive(drift, "file") && !value)
        return qb__fail(QB_UNSUPPORTED, "a drift is in a file of its own: write its values into the scenario");
    QB__OR_RETURN(unit_of(drift, key, kind, &factor));
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

qb_status qb__ctsimu_number(const cJSON *parent, const char *key, const qb__ctsimu_frame *f,
                            const qb__ctsimu_kind *kind, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, key);
    const cJSON *value = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "value") : item;
    const cJSON *drifts = cJSON_GetObjectItemCaseSensitive(item, "drifts"), *drift;
    double factor;
    if (!cJSON_IsNumber(value)) return qb__fail(QB_BAD_INPUT, "'%s' has no value", key);
    qb_status status = unit_of(item, key, kind, &factor);
    *out = factor * value->valuedouble;
    if (!f || status != QB_OK) return status;
    if (cJSON_IsObject(drifts)) return drift_at(drifts, key, f, kind, out);
    cJSON_ArrayForEach(drift, drifts) {
        status = drift_at(drift, key, f, kind, out);
        if (status != QB_OK) break;
    }
    return status;
}

static qb_status vector_at(const cJSON *item, const char names[4], const qb__ctsimu_frame *f, double out[3]) {
    qb_status status = cJSON_IsObject(item) ? QB_OK : qb__fail(QB_BAD_INPUT, "a vector is missing");
    for (int k = 0; k < 3 && status == QB_OK; k++)
        status = qb__ctsimu_number(item, (const char[2]){names[k], 0}, f, &qb__ctsimu_length, &out[k]);
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

static qb_status place(const cJSON *json, qb__ctsimu_place *p) {
    const cJSON *center = cJSON_GetObjectItemCaseSensitive(json, "center");
    if (!center) center = cJSON_GetObjectItemCaseSensitive(json, "centre");
    if (cJSON_GetObjectItemCaseSensitive(json, "deviation"))
        return qb__fail(QB_UNSUPPORTED, "'deviation' is of a file format before 1.0: save the scenario anew");
    QB__OR_RETURN(vector_at(center, "xyz", NULL, p->center));
    QB__OR_RETURN(vector_at(cJSON_GetObjectItemCaseSensitive(json, "vector_u"), "xyz", NULL, p->axis[0]));
    QB__OR_RETURN(vector_at(cJSON_GetObjectItemCaseSensitive(json, "vector_w"), "xyz", NULL, p->axis[2]));
    QB__OR_RETURN(unit_vector("vector_u", p->axis[0]));
    QB__OR_RETURN(unit_vector("vector_w", p->axis[2]));
    if (fabs(qb__dot(p->axis[0], p->axis[2])) > 1e-6)
        return qb__fail(QB_BAD_INPUT, "vector_u and vector_w are not at right angles");
    qb__cross(p->axis[2], p->axis[0], p->axis[1]);
    return QB_OK;
}

/* Convert a direction or a point from the axes of the world or of the part. */
static qb_status resolve(const cJSON *item, const qb__ctsimu_place *p, const qb__ctsimu_frame *f, bool point,
                         double out[3]) {
    const bool local = cJSON_GetObjectItemCaseSensitive(item, "u") != NULL;
    double v[3];
    const qb_status status = vector_at(item, local ? "uvw" : "xyz", f, v);
    for (int k = 0; k < 3; k++)
        out[k] = local ? v[0] * p->axis[0][k] + v[1] * p->axis[1][k] + v[2] * p->axis[2][k] + (point ? p->center[k] : 0)
                       : v[k];
    return status;
}

static qb_status axis_of(const cJSON *item, const qb__ctsimu_place *p, const qb__ctsimu_frame *f, double out[3]) {
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

static qb_status deviate(const cJSON *json, const qb__ctsimu_frame *f, qb__ctsimu_place *p) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "type"),
                *at = cJSON_GetObjectItemCaseSensitive(json, "pivot");
    double axis[3], pivot[3], amount;
    if (!is_known(json)) return QB_OK;
    memcpy(pivot, p->center, sizeof pivot);
    QB__OR_RETURN(axis_of(cJSON_GetObjectItemCaseSensitive(json, "axis"), p, f, axis));
    const char *word = cJSON_IsString(type) ? type->valuestring : "";
    const bool turns = strcmp(word, "rotation") == 0;
    if (!turns && strcmp(word, "translation") != 0)
        return qb__fail(QB_BAD_INPUT, "the type of a deviation is neither translation nor rotation");
    QB__OR_RETURN(qb__ctsimu_number(json, "amount", f, turns ? &qb__ctsimu_turn : &qb__ctsimu_length, &amount));
    if (cJSON_IsObject(at)) QB__OR_RETURN(resolve(at, p, f, true, pivot));
    for (int k = 0; k < 3 && !turns; k++) p->center[k] += amount * axis[k];
    if (!turns) return QB_OK;
    for (int k = 0; k < 3; k++) p->center[k] -= pivot[k];
    rotate(axis, amount, p->center);
    for (int k = 0; k < 3; k++) p->center[k] += pivot[k];
    for (int i = 0; i < 3; i++) rotate(axis, amount, p->axis[i]);
    return QB_OK;
}

qb_status qb__ctsimu_part(const cJSON *json, const qb__ctsimu_frame *f, double turn, qb__ctsimu_place *p) {
    const cJSON *deviation, *center = cJSON_GetObjectItemCaseSensitive(json, "center");
    double still[3], drifted[3];
    if (!center) center = cJSON_GetObjectItemCaseSensitive(json, "centre");
    QB__OR_RETURN(place(json, p));
    for (int i = 0; turn != 0 && i < 2; i++) rotate(p->axis[2], turn, p->axis[i]);
    cJSON_ArrayForEach(deviation, cJSON_GetObjectItemCaseSensitive(json, "deviations"))
        QB__OR_RETURN(deviate(deviation, f, p));
    QB__OR_RETURN(vector_at(center, "xyz", NULL, still));
    QB__OR_RETURN(vector_at(center, "xyz", f, drifted));
    for (int k = 0; k < 3; k++) p->center[k] += drifted[k] - still[k];
    return QB_OK;
}
