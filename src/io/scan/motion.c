/* SPDX-License-Identifier: MIT */
#include "io/scan/scan.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/warning.h"

static const char prefix[] = "motors:", axes[] = "xyz";

bool qb__motors_named(const char *shifts) { return shifts && strncmp(shifts, prefix, strlen(prefix)) == 0; }

/* Reads [-]AXIS or none at *at; the axis, or -1. False: neither. */
static bool take_axis(const char **at, int *axis, double *sign) {
    *axis = -1, *sign = 1;
    if (strncmp(*at, "none", 4) == 0) {
        *at += 4;
        return true;
    }
    if (**at == '-') *sign = -1, ++*at;
    const char *found = **at ? strchr(axes, **at) : NULL;
    if (!found) return false;
    *axis = (int)(found - axes);
    ++*at;
    return true;
}

/* Indices of columns, rows and rotation in parts.motion. */
enum { U, V, TURN, WAYS, AXES = 3 };

static qb_status parse(const char *shifts, int axis[WAYS], double sign[WAYS]) {
    const char *at = shifts + strlen(prefix);
    for (int k = 0; k < WAYS; k++) axis[k] = -1, sign[k] = 1;
    bool right = take_axis(&at, &axis[U], &sign[U]);
    for (int k = V; k < WAYS && right && *at == ','; k++) at++, right = take_axis(&at, &axis[k], &sign[k]);
    if (axis[TURN] >= 0) axis[TURN] += AXES;
    const bool some = axis[U] >= 0 || axis[V] >= 0 || axis[TURN] >= 0;
    if (right && !*at && some && (axis[U] < 0 || axis[U] != axis[V])) return QB_OK;
    return qb__fail(
        QB_BAD_ARGUMENT,
        "--shifts %s: give motors:U[,V[,TURN]], the sample's axes along columns and rows, and about which it "
        "turns in the image, x, y, z or none, as motors:x,-z",
        shifts);
}

qb_status qb__motors_shifts(const qb_scan *scan, const char *shifts, double (*stored)[3]) {
    const qb_scan_info *info = &scan->info;
    const double pixel[2] = {info->pixel_size / (info->image ? (double)info->bin[0] : 1),
                             info->pixel_v / (info->image ? (double)info->bin[1] : 1)},
                 unit[WAYS] = {pixel[U], pixel[V], 1};
    int axis[WAYS];
    double sign[WAYS];
    QB__OR_RETURN(parse(shifts, axis, sign));
    if (info->beam == QB_BEAM_CONE)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--shifts %s: %s has a cone beam, whose geometry moves, not its images: give -g FILE", shifts,
                        scan->path);
    if (!(pixel[0] > 0 && pixel[1] > 0))
        return qb__fail(QB_BAD_INPUT, "--shifts %s: %s states no pixel size: give --pixel-size MM", shifts, scan->path);
    for (int k = 0; k < WAYS; k++) {
        const qb__motion *m = axis[k] < 0 ? NULL : &scan->parts.motion[axis[k]];
        if (m && (!m->position || !(m->size > 0)))
            return qb__fail(QB_BAD_INPUT, "--shifts %s: %s has no sample/%c_%s", shifts, scan->path,
                            axes[axis[k] % AXES],
                            k == TURN ? "rotation with a unit of angle" : "translation with a unit of length");
        for (size_t i = 0; i < scan->stored; i++) {
            stored[i][k] = m ? sign[k] * (m->position[i] - m->position[0]) * m->size / unit[k] : 0;
            if (!isfinite(stored[i][k]))
                return qb__fail(QB_BAD_INPUT, "--shifts %s: %s has no number for view %zu", shifts, m->from, i);
        }
    }
    return QB_OK;
}

static void note(qb_scan *scan, const qb__motion *m) {
    const double VISIBLE = 0.1; /* pixels */
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < scan->stored; i++) {
        low = fmin(low, m->position[i]);
        high = fmax(high, m->position[i]);
    }
    const double moved = high - low, pixel = scan->parts.pixel_size, pixels = pixel > 0 ? moved * m->size / pixel : 0;
    if (!(moved > 0) || (pixels > 0 && pixels < VISIBLE)) return;
    if (pixels > 0)
        qb__note(&scan->parts.notes,
                 "%s changes by %.3g pixels over the views; this is not corrected, and blurs the image: give --shifts "
                 "motors:..." QB__CODE("sample-motion"),
                 m->from, pixels);
    else
        qb__note(&scan->parts.notes,
                 "%s changes by %.6g %s over the views; this is not corrected, and blurs the image" QB__CODE(
                     "sample-motion"),
                 m->from, moved, *m->unit ? m->unit : "(no unit)");
}

void qb__motion_note(qb_scan *scan, const char *shifts) {
    int axis[WAYS] = {-1, -1, -1};
    double sign[WAYS];
    if (qb__motors_named(shifts) && parse(shifts, axis, sign) != QB_OK) return;
    for (int i = 0; i < AXES; i++)
        if (scan->parts.motion[i].position && i != axis[U] && i != axis[V]) note(scan, &scan->parts.motion[i]);
}
