/* SPDX-License-Identifier: MIT */
/* What the output of qb convert states of axis, angles and geometry, and what the user is told to pass on. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/geometry/geometry_file.h"
#include "io/mbirct/mbirct.h"
#include "io/writer.h"
#include "recon/convert/conversion.h"

static qb_detector detector_of(const qb_scan_info *info) {
    return (qb_detector){
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
}

/* Whether the middle of the images as they are read is another one than that of the stored images: after --crop, and
 * after --bin where a column or row is left over. */
static bool is_moved(const qb_scan_info *info) {
    return 2 * info->window[0] + info->bin[0] * info->columns != info->whole_columns ||
           2 * info->window[1] + info->bin[1] * info->rows != info->whole_rows;
}

/* Whether the scan states a circle for the images as they are read. A stated offset is that of the stored images. */
static bool is_circle(const qb_scan_info *info) {
    const bool moved = info->image && (isfinite(info->detector_offset[0]) || is_moved(info));
    return info->sod > 0 && !info->geometry_from && !moved && info->angles && info->pixel_size > 0;
}

/* The output's format does not state the axis: keep it out of the file, and tell the user to pass it on. */
static qb_status leave_axis(const qb__convert_job *c, const qb_env *env) {
    const char *output = c->options->output;
    if (c->options->half_turn) return QB_OK; /* pairing.c needs the axis and says so */
    if (c->options->center)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--center: a file like %s does not state its axis, BASE.sinoparams and .h5 do; give it to what "
                        "reads this one",
                        output);
    if (isfinite(c->info->center))
        qb__info(env, "%s will not state its axis, which falls on column %g", output, c->info->center);
    return QB_OK;
}

void qb__convert_leave_angles(const qb__convert_job *c, size_t views, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const double degrees = 57.29577951308232, first = info->angles[0] * degrees,
                 last = info->angles[views - 1] * degrees, step = views > 1 ? (last - first) / (double)(views - 1) : 0;
    double off = 0;
    if (c->rest.writer->kind->keeps_angles || c->geometry.views || (!c->pairing && is_circle(info))) return;
    for (size_t i = 0; i < views; i++) off = fmax(off, fabs(info->angles[i] * degrees - first - (double)i * step));
    if (step != 0 && off < 1e-3 * fabs(step))
        qb__info(env, "%s keeps no angles: give --angles %.6g:%.6g:%zu to what reads it", c->options->output, first,
                 last + step, views);
    else
        qb__info(env, "%s keeps no angles: give those of %s to what reads it, as --angles FILE", c->options->output,
                 info->path);
}

/* The axis without --center. An axis of the input is kept if the input holds it for certain, or if the output is for
 * sv-mbirct, whose readers do not search for the axis. Otherwise the output leaves it out. */
static const char *usual_axis(const qb__convert_job *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const bool known = isfinite(info->center);
    if (known && (info->center_holds || qb__mbirct_is_scan(c->options->output))) return "stated";
    if (known)
        qb__info(env,
                 "%s states an axis at column %g, which may be an estimate: %s will not (--center stated: it will)",
                 info->path, info->center, c->options->output);
    if (!qb__mbirct_is_scan(c->options->output)) return NULL;
    qb__info(env, "%s does not state its axis: taken to be the middle column, %g", info->path,
             ((double)info->columns - 1) / 2);
    return "middle";
}

qb_status qb__convert_axis(const qb__convert_job *c, const qb_env *env, qb_stack *stack) {
    const qb_scan_info *info = c->info;
    const double last = (double)info->columns - 1, middle = last / 2;
    const char *text = c->options->center;
    char *end;
    stack->axis = NAN;
    if (!qb__writer_keeps_axis(c->options->output)) return leave_axis(c, env);
    if (info->beam == QB_BEAM_CONE && text)
        return qb__fail(QB_BAD_ARGUMENT, "--center %s: %s is of a cone beam, whose geometry says where the axis is",
                        text, info->path);
    if (info->beam == QB_BEAM_CONE) return QB_OK;
    if (!text) text = usual_axis(c, env);
    if (!text) return QB_OK;
    stack->axis_stated = true;
    if (strcmp(text, "stated") == 0 && !isfinite(info->center))
        return qb__fail(QB_BAD_INPUT, "%s does not state its axis: give --center COLUMN (qb center finds it)",
                        info->path);
    if (strcmp(text, "middle") == 0 || strcmp(text, "stated") == 0) {
        stack->axis = *text == 's' ? qb__column_read(info, info->center) - middle : 0;
        return QB_OK;
    }
    const double column = qb__strtod(text, &end);
    stack->axis = qb__column_read(info, column) - middle;
    if (end == text || *end || !isfinite(column))
        return qb__fail(QB_BAD_ARGUMENT, "--center %s: a column, stated or middle", text);
    if (fabs(stack->axis) <= middle) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--center %s lies outside the detector's columns %g..%g", text,
                    qb__column_whole(info, 0), qb__column_whole(info, last));
}

double qb__convert_asked_axis(const qb__convert_job *c) {
    const char *text = c->options->center;
    const double last = (double)c->info->columns - 1;
    char *end;
    if (!text) return c->info->center_holds ? qb__column_read(c->info, c->info->center) : NAN;
    if (strcmp(text, "middle") == 0) return last / 2;
    const double column =
        qb__column_read(c->info, strcmp(text, "stated") == 0 ? c->info->center : qb__strtod(text, &end));
    return column >= 0 && column <= last ? column : NAN;
}

qb_status qb__convert_find_geometry(qb__convert_job *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const qb_detector detector = detector_of(info);
    if (c->pairing || is_circle(info) || !(info->geometry_from || info->sod > 0)) return QB_OK;
    return qb_scan_geometry(info, NULL, &detector, env, &c->geometry);
}

void qb__convert_keep_geometry(const qb__convert_job *c, cJSON *provenance) {
    const qb_scan_info *info = c->info;
    const qb_detector detector = detector_of(info);
    const qb__kept_circle circle = {.sod = info->sod,
                                    .sdd = info->sdd,
                                    .offset = {info->detector_offset[0], info->detector_offset[1]},
                                    .tilt = {info->detector_tilt, info->detector_lean},
                                    .rows_down = info->rows_down};
    if (c->geometry.views)
        qb__geometry_keep(&c->geometry, info->angles, provenance);
    else if (!c->pairing && is_circle(info))
        qb__circle_keep(&circle, &detector, info->views, info->angles, provenance);
}

qb_status qb__convert_mask(qb__convert_job *c, const qb_env *env, qb_stack *stack) {
    const size_t pixels = c->info->rows * c->info->columns;
    size_t lost = 0;
    qb_status status;
    QB__TRY(qb__alloc(pixels, 1, &c->mask));
    QB__TRY(qb_scan_mask(c->scan, c->mask));
    for (size_t i = 0; i < pixels; i++) lost += c->mask[i] != QB_PIXEL_MEASURED;
    const bool kept = lost && !c->pairing && qb__writer_keeps_mask(c->options->output);
    if (kept) stack->mask = c->mask;
    if (lost)
        qb__info(env, "%zu of %zu pixels were not measured: their values are interpolated%s%s%s", lost, pixels,
                 kept ? ", and marked in the pixel_mask of " : "; ", c->options->output,
                 kept ? "" : " does not mark them: qb info SCAN --mask-out FILE does, for --mask FILE");
out:
    return status;
}
