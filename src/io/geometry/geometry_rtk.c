/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* strcasestr */
#include "base/number.h"
#include "io/geometry/geometry_file.h"

#include "base/status.h"

#if QB_HAVE_EXPAT
#include <expat.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/memory.h"
#include "geometry/check.h"
#include "geometry/rtk.h"
#include "geometry/units.h"

static const struct {
    const char *name;
    size_t offset;
} fields[] = {
#define FIELD(name, member)                                                                                            \
    { name, offsetof(qb__rtk, member) }
    FIELD("GantryAngle", gantry),
    FIELD("Angle", gantry), /* its name in older files */
    FIELD("SourceToIsocenterDistance", sid),
    FIELD("SourceToDetectorDistance", sdd),
    FIELD("SourceOffsetX", source_x),
    FIELD("SourceOffsetY", source_y),
    FIELD("ProjectionOffsetX", projection_x),
    FIELD("ProjectionOffsetY", projection_y),
    FIELD("OutOfPlaneAngle", out_of_plane),
    FIELD("InPlaneAngle", in_plane),
#undef FIELD
};

/* RTK's own files have three levels. */
enum { DEEPEST = 16 };

/* State of the parser. A value holds from where it is written to the end of the file, as in RTK's own reader. The first
 * failure stops the parser. */
typedef struct reader {
    XML_Parser parser;
    const qb_detector *detector;
    const qb_env *env;
    qb_geometry *geometry;
    qb__rtk now;
    double matrix[3][4];
    bool has_gantry, has_sid, has_sdd, has_matrix, in_root, in_projection;
    bool warned_collimation, warned_unknown;
    int depth;
    size_t room; /* allocated views */
    char text[1024];
    size_t length;
    qb_status status;
} reader;

static void stop(reader *r, qb_status status) {
    r->status = status;
    if (status == QB_OK) return;
    r->status = qb__fail_in(status, "line %lu", (unsigned long)XML_GetCurrentLineNumber(r->parser));
    XML_StopParser(r->parser, XML_FALSE);
}

/* Parse `n` finite numbers and nothing else. */
static qb_status parse_numbers(const char *name, const char *text, int n, double *out) {
    for (int i = 0; i < n; i++) {
        char *end;
        out[i] = qb__strtod(text, &end);
        if (end == text || !isfinite(out[i])) return qb__fail(QB_BAD_INPUT, "%s: '%.30s' is not a number", name, text);
        text = end;
    }
    text += strspn(text, " \t\r\n");
    if (*text) return qb__fail(QB_BAD_INPUT, "%s: '%.30s' after its last number", name, text);
    return QB_OK;
}

static qb_status grow(reader *r) {
    if (r->geometry->views < r->room) return QB_OK;
    if (r->room >= QB__GEOMETRY_MOST_VIEWS) return qb__fail(QB_BAD_INPUT, "more than %zu projections", r->room);
    size_t room = r->room ? 2 * r->room : 256;
    qb_view *view;
    QB__OR_RETURN(qb__alloc(room, sizeof *view, &view));
    if (r->room) memcpy(view, r->geometry->view, r->room * sizeof *view);
    qb__free(r->geometry->view);
    r->geometry->view = view;
    r->room = room;
    return QB_OK;
}

/* Some programs write matrices with few digits: they are compared by where they project points. */
static qb_status check_matrix(const reader *r) {
    const double MOST = 0.1; /* largest departure in pixels */
    const double away = qb__rtk_departure(&r->now, r->matrix, r->detector);
    if (away <= MOST) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "its Matrix puts points %.3g pixels away from where its other fields do (%g are allowed): one of "
                    "both is wrong or has too few "
                    "digits; without the Matrix elements the fields are used",
                    away, MOST);
}

static qb_status view_from_fields(reader *r, qb_beam *beam, qb_view *view) {
    if (!r->has_gantry) return qb__fail(QB_BAD_INPUT, "the projection has no GantryAngle");
    if (!r->has_sid) return qb__fail(QB_BAD_INPUT, "there is no SourceToIsocenterDistance");
    if (!(r->now.sdd >= 0)) return qb__fail(QB_BAD_INPUT, "SourceToDetectorDistance is %g", r->now.sdd);
    *beam = r->now.sdd == 0 ? QB_BEAM_PARALLEL : QB_BEAM_CONE;
    if (*beam == QB_BEAM_CONE && !(r->now.sid > 0))
        return qb__fail(QB_BAD_INPUT, "SourceToIsocenterDistance is %g", r->now.sid);
    qb__rtk_view(&r->now, r->detector, view);
    return r->has_matrix ? check_matrix(r) : QB_OK;
}

/* A projection with only a matrix is used without a check. */
static qb_status end_projection(reader *r) {
    qb_geometry *geometry = r->geometry;
    qb_beam beam;
    qb_status status = grow(r);
    if (status != QB_OK) return status;
    qb_view *view = &geometry->view[geometry->views];
    if (r->has_matrix && !r->has_gantry && !r->has_sid && !r->has_sdd)
        status = qb__rtk_view_of_matrix((const double(*)[4])r->matrix, r->detector, &beam, view);
    else
        status = view_from_fields(r, &beam, view);
    if (status == QB_OK && geometry->views && beam != geometry->beam)
        status = qb__fail(QB_BAD_INPUT,
                          "SourceToDetectorDistance is %g: a parallel beam among cone "
                          "beams, or the reverse",
                          r->now.sdd);
    if (status != QB_OK) return qb__fail_in(status, "view %zu", geometry->views);
    geometry->beam = beam;
    geometry->views++;
    r->has_matrix = r->in_projection = false;
    return QB_OK;
}

static qb_status root_begins(reader *r, const char *name, const char **attributes) {
    if (strcmp(name, "RTKThreeDCircularGeometry") != 0)
        return qb__fail(QB_UNSUPPORTED, "<%.40s> is not an RTKThreeDCircularGeometry", name);
    const char *version = "(none)";
    for (; *attributes; attributes += 2)
        if (strcmp(attributes[0], "version") == 0) version = attributes[1];
    if (strcmp(version, "3") != 0 && strcmp(version, "2") != 0)
        return qb__fail(QB_UNSUPPORTED,
                        "its version is %.20s, but only 3 and 2 are read: write it anew with a later RTK", version);
    if (!(r->detector->pixel_u > 0 && r->detector->pixel_v > 0))
        return qb__fail(QB_BAD_ARGUMENT, "RTK's XML does not say how large pixels are: give --pixel-size in mm");
    r->in_root = true;
    return QB_OK;
}

static void XMLCALL begin(void *user, const char *name, const char **attributes) {
    reader *r = user;
    r->length = 0;
    if (r->status != QB_OK) return;
    if (++r->depth > DEEPEST) {
        stop(r, qb__fail(QB_BAD_INPUT, "elements %d deep, the last <%.40s>", r->depth, name));
    } else if (!r->in_root) {
        stop(r, root_begins(r, name, attributes));
    } else if (strcasecmp(name, "Projection") == 0) {
        if (r->in_projection) stop(r, qb__fail(QB_BAD_INPUT, "a Projection inside a Projection"));
        r->in_projection = true;
        if (r->geometry->views) r->has_gantry = false;
    }
}

static qb_status set_field(reader *r, size_t index) {
    double value;
    QB__OR_RETURN(parse_numbers(fields[index].name, r->text, 1, &value));
    size_t offset = fields[index].offset;
    if (strstr(fields[index].name, "Angle") && fabs(value) > QB__MOST_DEGREES)
        return qb__fail(QB_BAD_INPUT, "%s is %g degrees, beyond %g", fields[index].name, value, QB__MOST_DEGREES);
    memcpy((char *)&r->now + offset, &value, sizeof value);
    if (offset == offsetof(qb__rtk, gantry)) r->has_gantry = true;
    if (offset == offsetof(qb__rtk, sid)) r->has_sid = true;
    if (offset == offsetof(qb__rtk, sdd)) r->has_sdd = true;
    return QB_OK;
}

/* Collimator jaws: 1.79769e+308 stands for open. */
static qb_status collimation(reader *r, const char *name) {
    double value;
    char *end;
    value = qb__strtod(r->text, &end);
    if (end == r->text || isnan(value)) return parse_numbers(name, r->text, 1, &value);
    if (value < 1e300 && !r->warned_collimation)
        qb__warn(r->env, "%s %g: pixels behind the collimator's jaws are used like all others" QB__CODE("collimation"),
                 name, value);
    r->warned_collimation = r->warned_collimation || value < 1e300;
    return QB_OK;
}

static qb_status end_element(reader *r, const char *name) {
    if (strcasecmp(name, "Projection") == 0) return end_projection(r);
    if (strcasecmp(name, "Matrix") == 0) {
        r->has_matrix = true;
        return parse_numbers(name, r->text, 12, &r->matrix[0][0]);
    }
    if (strcasecmp(name, "RadiusCylindricalDetector") == 0)
        return parse_numbers(name, r->text, 1, &r->geometry->radius);
    if (strncasecmp(name, "Collimation", 11) == 0) return collimation(r, name);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcasecmp(name, fields[i].name) == 0) return set_field(r, i);
    if (strcmp(name, "RTKThreeDCircularGeometry") != 0 && !r->warned_unknown) {
        qb__warn(r->env, "the element %.40s of the RTK geometry is unknown and not used" QB__CODE("rtk-element"), name);
        r->warned_unknown = true;
    }
    return QB_OK;
}

static void XMLCALL end(void *user, const char *name) {
    reader *r = user;
    if (r->status != QB_OK) return;
    r->depth--;
    r->text[r->length] = 0;
    stop(r, end_element(r, name));
    r->length = 0;
}

static void XMLCALL characters(void *user, const char *text, int length) {
    reader *r = user;
    if (r->status != QB_OK) return;
    if (r->length + (size_t)length >= sizeof r->text) {
        stop(r, qb__fail(QB_BAD_INPUT, "a text of more than %zu characters", sizeof r->text));
        return;
    }
    memcpy(r->text + r->length, text, (size_t)length);
    r->length += (size_t)length;
}

/* RTK's files have a DOCTYPE but no entities, which could expand without limit. */
static void XMLCALL entity(void *user, const XML_Char *name, int is_parameter, const XML_Char *value, int length,
                           const XML_Char *base, const XML_Char *system, const XML_Char *public_id,
                           const XML_Char *notation) {
    (void)is_parameter, (void)value, (void)length, (void)base;
    (void)system, (void)public_id, (void)notation;
    stop(user, qb__fail(QB_BAD_INPUT, "it declares an entity ('%.40s')", name));
}

/* Kind of the text before it was converted: see qb__text_narrow. */
static bool says_utf16(const char *text) {
    const char *end = strstr(text, "?>"), *at = strcasestr(text, "utf-16");
    return end && at && at < end;
}

static qb_status parse(reader *r, const qb__text *text) {
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, begin, end);
    XML_SetCharacterDataHandler(r->parser, characters);
    XML_SetEntityDeclHandler(r->parser, entity);
    /* expat counts bytes in an int. */
    for (size_t at = 0, step = 1 << 24; at < text->length && r->status == QB_OK; at += step) {
        size_t left = text->length - at, n = left < step ? left : step;
        enum XML_Status ok = XML_Parse(r->parser, text->data + at, (int)n, left <= step);
        if (ok != XML_STATUS_OK && r->status == QB_OK)
            return qb__fail(QB_BAD_INPUT, "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(r->parser),
                            XML_ErrorString(XML_GetErrorCode(r->parser)));
    }
    if (r->status == QB_OK && r->geometry->views == 0) return qb__fail(QB_BAD_INPUT, "it has no Projection");
    return r->status;
}

qb_status qb__geometry_from_rtk(const qb__text *text, const qb_detector *detector, const qb_env *env,
                                qb_geometry *geometry) {
    reader *r = NULL;
    *geometry = (qb_geometry){.rows = detector->rows, .columns = detector->columns};
    QB__OR_RETURN(qb__alloc(1, sizeof *r, &r));
    *r = (reader){.detector = detector, .env = env, .geometry = geometry};
    r->parser = XML_ParserCreate(says_utf16(text->data) ? "UTF-8" : NULL);
    const qb_status status = r->parser ? parse(r, text) : qb__fail(QB_NO_MEMORY, "no memory for an XML parser");
    if (r->parser) XML_ParserFree(r->parser);
    qb__free(r);
    return status;
}

#else

qb_status qb__geometry_from_rtk(const qb__text *text, const qb_detector *detector, const qb_env *env,
                                qb_geometry *geometry) {
    (void)text, (void)detector, (void)env, (void)geometry;
    return qb__fail(QB_UNSUPPORTED, "RTK geometry XML needs a quickbeam built with expat "
                                    "(libexpat1-dev)");
}

#endif
