/* SPDX-License-Identifier: MIT */
/* Where the rotation axis of a cone beam falls on the detector: --center, and --detector-offset auto[,V], which finds it
 * from the middle rows. Without V, the detector's height and its roll are set, too, where they are clear. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static qb_status find(cli *c, qb_scan *scan, qb_center_result *found) {
    const qb_geometry_options *given = &c->options.geometry;
    const qb_center_options circle = {.sod = given->sod, .sdd = given->sdd};
    *found = (qb_center_result){.struct_size = sizeof *found};
    const qb_status status = qb_center_find(scan, &c->options.prep, &circle, &c->env, found);
    finish_progress();
    if (status == QB_OK && found->warning[0]) c->env.log(c->env.user, QB_LOG_WARNING, found->warning);
    return status;
}

static const double SURE = 0.9;

/* Logs what was measured, and whether it is used. */
static void say(cli *c, bool taken, double sure, const char *what, const char *option) {
    char text[256];
    snprintf(text, sizeof text,
             taken ? "%s, confidence %.2f: %s" : "%s, confidence only %.2f, is not taken: else give %s", what, sure,
             option);
    c->env.log(c->env.user, QB_LOG_INFO, text);
}

/* Height of the detector above its middle, in mm. The stated height is kept unless it is clearly wrong. */
static double take_height(cli *c, const qb_scan_info *info, const qb_center_result *found) {
    /* FAR: difference in rows up to which the stated height is kept */
    const double FAR = 0.7, pitch = info->pixel_v / (double)info->bin[1];
    const double stated = isnan(info->detector_offset[1]) ? 0 : info->detector_offset[1];
    const double rows = 0.5 * ((double)info->whole_rows - 1) - found->row, v = rows * pitch;
    char what[96], option[64];
    if (isnan(found->row) || fabs(rows - stated / pitch) < FAR) return stated;
    const bool taken = found->row_confidence >= SURE;
    snprintf(what, sizeof what, "level ray at row %.2f", found->row);
    snprintf(option, sizeof option, taken ? "V %.6g mm" : "--detector-offset auto,%.6g", v);
    say(c, taken, found->row_confidence, what, option);
    return taken ? v : stated;
}

static qb_status take_turn(cli *c, const qb_scan_info *info, const qb_center_result *found) {
    /* Degrees of roll that move the ends of the middle row by 0.35 rows */
    const double FAR = 0.35 / (0.5 * (double)info->columns) * 57.3;
    char what[96], option[64];
    if (c->options.geometry.tilt.count || info->detector_tilt != 0) return QB_OK;
    if (isnan(found->tilt) || fabs(found->tilt) < FAR) return QB_OK;
    const bool taken = found->tilt_confidence >= SURE;
    snprintf(what, sizeof what, "detector turned by %.3f degrees", found->tilt);
    snprintf(option, sizeof option, "--tilt %.5g", found->tilt);
    say(c, taken, found->tilt_confidence, what, option);
    return taken ? qb_params_set(qb_geometry_params, &c->options.geometry, "tilt", option + strlen("--tilt ")) : QB_OK;
}

const qb_param cone_params[] = {
    {"center", QB_PARAM_TEXT, offsetof(cone_options, center), "COLUMN|auto|middle|stated", NULL, NULL, 0, 0,
     "the column of the detector on which the axis falls, in place of U of --detector-offset", 0},
    QB_PARAMS_END(cone_options),
};

/* Turns --center into --detector-offset. V stays as the scan states it. */
static qb_status offset_of_center(cli *c, const qb_scan_info *info, const char *center) {
    const double MOST = 1e6; /* columns */
    char *end, offset[96];
    const double middle = 0.5 * ((double)info->whole_columns - 1), v = info->detector_offset[1];
    const double column = strcmp(center, "middle") == 0 ? middle : strtod(center, &end);
    if (c->options.geometry.geometry)
        return complain(QB_BAD_ARGUMENT, "--geometry %s states where the axis falls: leave out --center",
                        c->options.geometry.geometry);
    if (c->options.geometry.offset && !c->offset_by_center)
        return complain(QB_BAD_ARGUMENT, "--center and --detector-offset both say where the axis falls: give one");
    const bool own = info->geometry_from && !(c->options.geometry.sod > 0 || c->options.geometry.sdd > 0);
    if (strcmp(center, "stated") == 0 || (own && strcmp(center, "auto") == 0)) return QB_OK;
    if (own)
        return complain(QB_BAD_ARGUMENT, "--center %s: %s states where the axis falls in each view: leave it out",
                        center, info->geometry_from);
    if (strcmp(center, "auto") == 0)
        snprintf(offset, sizeof offset, "auto");
    else if (strcmp(center, "middle") != 0 && (end == center || *end || !(fabs(column) <= MOST)))
        return complain(QB_BAD_ARGUMENT, "--center %s: give a column of -1e6 to 1e6, auto, middle or stated", center);
    else
        snprintf(offset, sizeof offset, "%.9gpx,%.9gpx", middle - column,
                 isfinite(v) && v != 0 ? v * (double)info->bin[1] / info->pixel_v : 0);
    c->offset_by_center = true; /* the next value of a sweep replaces it */
    return qb_params_set(qb_geometry_params, &c->options.geometry, "detector-offset", offset);
}

static qb_status replace_auto(cli *c, qb_scan *scan) {
    const qb_geometry_options *given = &c->options.geometry;
    const qb_scan_info *info = qb_scan_describe(scan);
    const char *text = given->offset, *rest = text ? text + strlen("auto") : NULL;
    qb_center_result found;
    char offset[96], said[160];
    if (!text || strncmp(text, "auto", 4) != 0 || (*rest && *rest != ',')) return QB_OK;
    if (given->geometry)
        return complain(QB_BAD_ARGUMENT,
                        "--geometry %s states the offset of the detector: leave out --detector-offset auto",
                        given->geometry);
    const qb_status status = find(c, scan, &found);
    if (status != QB_OK) return status;
    const size_t n = strlen(rest);
    const bool pixels = n > 2 && strcmp(rest + n - 2, "px") == 0;
    const double columns = 0.5 * ((double)info->whole_columns - 1) - found.column;
    const double u = pixels ? columns : columns * info->pixel_size / (double)info->bin[0];
    if (*rest)
        snprintf(offset, sizeof offset, "%.9g%s", u, rest);
    else
        snprintf(offset, sizeof offset, "%.9g,%.9g", u, take_height(c, info, &found));
    snprintf(said, sizeof said, "axis at column %.2f, confidence %.2f: --detector-offset %s", found.column,
             found.confidence, offset);
    c->env.log(c->env.user, QB_LOG_INFO, said);
    const qb_status turned = *rest ? QB_OK : take_turn(c, info, &found);
    if (turned != QB_OK) return turned;
    return qb_params_set(qb_geometry_params, &c->options.geometry, "detector-offset", offset);
}

/* The reason why the geometry in the scan's own file is not used, where no other is given. */
static qb_status check_own_geometry(const cli *c, const qb_scan *scan) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb_geometry_options *given = &c->options.geometry;
    if (given->geometry || given->sod > 0 || info->sod > 0 || info->geometry_from) return QB_OK;
    for (size_t i = 0; i < info->problems; i++) {
        const char *text = qb_scan_problem(scan, i);
        if (strstr(text, "the geometry") && strstr(text, "not used"))
            return complain(QB_BAD_INPUT, "%s: %s", info->path, text);
    }
    return QB_OK;
}

qb_status find_offset(cli *c, qb_scan *scan, const char *center) {
    qb_status status = check_own_geometry(c, scan);
    if (status == QB_OK && center) status = offset_of_center(c, qb_scan_describe(scan), center);
    return status == QB_OK ? replace_auto(c, scan) : status;
}

/* Column of the axis according to options and file; NAN where they do not state it. */
static double axis_by_geometry(const cli *c, const qb_scan_info *info) {
    const char *text = c->options.geometry.offset;
    double u = isnan(info->detector_offset[0]) ? 0 : info->detector_offset[0], v;
    const double pixel[2] = {info->pixel_size / (double)info->bin[0], info->pixel_v / (double)info->bin[1]};
    if (text && qb_detector_offset_parse(text, pixel[0], pixel[1], &u, &v) != QB_OK) return NAN;
    return 0.5 * ((double)info->whole_columns - 1) - u / pixel[0];
}

bool axis_differs(cli *c, qb_scan *scan, char *text, size_t size) {
    const double FAR = 1;
    const qb_geometry_options *given = &c->options.geometry;
    const qb_scan_info *info = qb_scan_describe(scan);
    const bool circle = (given->sod > 0 && given->sdd > 0) || (given->sod == 0 && given->sdd == 0 && info->sod > 0);
    if (!circle || given->geometry || given->radius > 0 || given->tilt.count || given->jitter.count) return false;
    if (info->geometry_from || !(info->pixel_size > 0) || !info->angles) return false;
    const double stated = axis_by_geometry(c, info);
    const qb_center_options options_of_circle = {.sod = given->sod, .sdd = given->sdd};
    const qb_env quiet = {
        .struct_size = sizeof quiet, .threads = c->env.threads, .max_ram = c->env.max_ram, .cancel = c->env.cancel};
    qb_center_result found = {.struct_size = sizeof found};
    if (isnan(stated) || qb_center_find(scan, NULL, &options_of_circle, &quiet, &found) != QB_OK) return false;
    if (!(found.confidence >= SURE) || fabs(found.column - stated) <= FAR) return false;
    snprintf(text, size, "the axis falls on column %.2f (confidence %.2f), by the geometry on %.2f: give %s auto",
             found.column, found.confidence, stated, c->offset_by_center ? "--center" : "--detector-offset");
    return true;
}
