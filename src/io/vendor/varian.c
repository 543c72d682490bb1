/* SPDX-License-Identifier: MIT */
/* Scans of Varian's machines: one .xim (TrueBeam, ProBeam), .hnd or .hnc (OBI) per view, and settings in Scan.xml or
 * ProjectionInfo.xml in the same folder or up to two folders above.
 *
 * .xim states KVSourceRtn in degrees, from which the angle in our frame is 180 - KVSourceRtn, and the detector's
 * position in cm; .hnd and .hnc state the angle itself, their ProjectionInfo.xml the position in mm. The dark is
 * already subtracted. KVNormChamber of .xim is what the beam's monitor measured: views are divided by it. The images of
 * open beam of a TrueBeam are in Calibrations/AIR-..., next to its Scan.xml. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "io/text.h"
#include "io/vendor/frame_files.h"
#include "io/vendor/ini.h"

enum { HNC_HEADER = 512, HND_HEADER = 1024, SIZE_AT = 120, PIXEL_AT = 352, ANGLE_AT = 432, MOST_SIDE = 1 << 16 };
enum { NAME = 4096 };

/* ---- .hnd and .hnc ---- */

static double real(const unsigned char *at) {
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

static size_t count_at(const unsigned char *at) {
    return at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
}

static qb_status read_header(const char *path, int fd, qb__frame_head *head) {
    unsigned char h[HNC_HEADER];
    QB__OR_RETURN(qb__pread_all(fd, path, h, sizeof h, 0));
    head->columns = count_at(h + SIZE_AT), head->rows = count_at(h + SIZE_AT + 4);
    if (head->columns > MOST_SIDE || head->rows > MOST_SIDE)
        return qb__fail(QB_BAD_INPUT, "%s: its header states images of %zu x %zu pixels: it is not a file of Varian",
                        path, head->columns, head->rows);
    head->count = head->columns && head->rows;
    head->pixel[0] = real(h + PIXEL_AT), head->pixel[1] = real(h + PIXEL_AT + 8);
    head->angle = real(h + ANGLE_AT);
    return QB_OK;
}

static qb_status hnc_head(const char *path, int fd, uint64_t size, qb__frame_head *head) {
    (void)size;
    head->dtype = QB_U16;
    head->at = HNC_HEADER;
    return read_header(path, fd, head);
}

static qb_status hnd_head(const char *path, int fd, uint64_t size, qb__frame_head *head) {
    const qb_status status = read_header(path, fd, head);
    if (status != QB_OK || !head->count) return status;
    head->dtype = QB_I32;
    head->table = HND_HEADER;
    head->table_bytes = (head->rows - 1) * head->columns / 4;
    head->at = HND_HEADER + head->table_bytes;
    if (head->at >= size)
        return qb__fail(QB_BAD_INPUT, "%s is incomplete: it ends at byte %llu, within a packed image of %zu x %zu",
                        path, (unsigned long long)size, head->columns, head->rows);
    head->bytes = size - head->at;
    return QB_OK;
}

static const qb__frame_kind kinds[] = {
    {"Varian", ".xim", qb__xim_head}, {"Varian", ".hnd", hnd_head}, {"Varian", ".hnc", hnc_head}};

/* ---- settings ---- */

/* The text of a file with that name in the folder of the images or up to two folders above; NULL: there is none. */
static qb_status find_settings(const char *path, const char *name, char *found, char **text) {
    static const char *const above[] = {"", "../", "../../"};
    char *folder = qb__is_folder(path) ? qb__strdup(path) : qb__folder_of(path);
    qb_status status = folder ? QB_NOT_FOUND : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    *text = NULL;
    for (int i = 0; i < 3 && status == QB_NOT_FOUND; i++) {
        uint64_t bytes;
        if (snprintf(found, NAME, "%s/%s%s", folder, above[i], name) >= NAME) break;
        status = qb__file_size(found, &bytes);
        if (status == QB_OK) status = qb__settings_xml(found, text);
    }
    qb__free(folder);
    return status == QB_NOT_FOUND ? QB_OK : status;
}

static qb_status take_distances(const char *xml, const char *text, const char *sad, const char *sid,
                                qb__scan_parts *parts) {
    double sod = 0, sdd = 0;
    if (!qb__tag_number(text, NULL, sad, &sod) || !qb__tag_number(text, NULL, sid, &sdd))
        return qb__fail(QB_BAD_INPUT, "%s states no <%s> and <%s>", xml, sad, sid);
    if (!(sod > 0 && sdd > sod))
        return qb__fail(QB_BAD_INPUT,
                        "%s states that the source is %g mm from the axis (%s) and %g mm from the detector (%s), which "
                        "is not possible: give -g",
                        xml, sod, sad, sdd, sid);
    parts->sod = sod, parts->sdd = sdd;
    return QB_OK;
}

/* A half fan scan has an offset detector. */
static qb_status take_offset(const char *xml, const char *text, qb__scan_parts *parts) {
    double u = NAN, v = NAN, lateral = 0;
    char fan[32];
    QB__OR_RETURN(qb__tag_optional(xml, text, "CalibratedDetectorOffsetX", &u));
    QB__OR_RETURN(qb__tag_optional(xml, text, "CalibratedDetectorOffsetY", &v));
    qb__tag_text(text, NULL, "FanType", fan, sizeof fan);
    if (strcasecmp(fan, "HalfFan") == 0) QB__OR_RETURN(qb__tag_optional(xml, text, "DetectorPosLat", &lateral));
    if (isnan(u) || isnan(v)) return QB_OK;
    parts->detector[0] = u + lateral, parts->detector[1] = v;
    parts->detector_stated = true;
    return QB_OK;
}

/* The pattern of the files of open beam below the folder of Scan.xml; "" if there are none. With a bowtie filter, some
 * machines have several, for the two senses of rotation. */
static void find_air(const char *scan, const char *text, char *pattern) {
    char bowtie[32], path[NAME];
    double from = 0, to = 0;
    glob_t found = {0};
    const char *slash = strrchr(scan, '/');
    qb__tag_text(text, NULL, "Bowtie", bowtie, sizeof bowtie);
    qb__tag_number(text, NULL, "StartAngle", &from), qb__tag_number(text, NULL, "StopAngle", &to);
    const char *const names[] = {to > from ? "FilterBowtie_CC*" : "FilterBowtie_CW*", "FilterBowtie", "Filter"};
    *pattern = 0;
    for (int i = strcasecmp(bowtie, "None") == 0 ? 2 : 0; i < 3 && !*pattern; i++)
        for (int deep = 0; deep < 2 && !*pattern; deep++) {
            if (snprintf(path, sizeof path, "%.*s/Calibrations/A[Ii][Rr]-*/%s%s.xim", (int)(slash - scan), scan,
                         deep ? "" : "Current/", names[i]) >= NAME)
                continue;
            if (glob(path, 0, NULL, &found) == 0) snprintf(pattern, NAME, "%s", path);
            globfree(&found);
        }
}

/* Also finds the files of open beam. */
static qb_status read_settings(const char *path, char *air, qb__scan_parts *parts) {
    char found[NAME], *text;
    *air = 0;
    qb_status status = find_settings(path, "Scan.xml", found, &text);
    if (status == QB_OK && text) status = take_distances(found, text, "SAD", "SID", parts);
    if (status == QB_OK && text) find_air(found, text, air);
    const bool scan = text != NULL;
    qb__free(text);
    if (status != QB_OK || scan) return status;
    status = find_settings(path, "ProjectionInfo.xml", found, &text);
    if (status == QB_OK && text) {
        status = take_distances(found, text, "CalibratedSAD", "CalibratedSID", parts);
        if (status == QB_OK && !parts->detector_stated) status = take_offset(found, text, parts);
    }
    qb__free(text);
    return status;
}

/* ---- open beam ---- */

/* Views, and images of open beam, relative to the mean of the latter, or of the views if there are none. */
static qb_status take_chamber(const qb__frame_head *heads, const qb__frame_head *air, qb__scan_parts *parts) {
    const size_t views = parts->data.count, count = air ? parts->flats.count : views;
    double mean = 0, least = INFINITY, *each;
    for (size_t i = 0; i < views; i++) least = isnan(heads[i].chamber) ? 0 : fmin(least, heads[i].chamber);
    for (size_t i = 0; i < count; i++) {
        const double chamber = (air ? air : heads)[i].chamber;
        least = isnan(chamber) ? 0 : fmin(least, chamber), mean += chamber / (double)count;
    }
    if (!(least > 0)) return QB_OK;
    QB__OR_RETURN(qb__alloc(views, sizeof *each, &parts->intensity));
    for (size_t i = 0; i < views; i++) parts->intensity[i] = heads[i].chamber / mean;
    parts->intensity_mean = !air;
    snprintf(parts->intensity_from, sizeof parts->intensity_from, "KVNormChamber of %.100s", parts->data.source->path);
    if (!air) return QB_OK;
    QB__OR_RETURN(qb__alloc(count, sizeof *each, &parts->flat_intensity));
    for (size_t i = 0; i < count; i++) parts->flat_intensity[i] = air[i].chamber / mean;
    return QB_OK;
}

static qb_status take_air(const char *pattern, const qb__frame_head *heads, qb__scan_parts *parts) {
    qb__frame_head *air = NULL;
    qb_status status = QB_OK;
    if (*pattern)
        QB__TRY(qb__frame_files_open(pattern, kinds, sizeof kinds / sizeof *kinds, &air, &parts->flats.source));
    if (air) parts->flats.count = parts->flats.source->shape[0];
    status = take_chamber(heads, air, parts);
out:
    qb__free(air);
    return status;
}

/* ---- the format ---- */

qb_status qb__varian_open(const char *path, const char *how, qb__source **source) {
    qb__frame_head *heads;
    (void)how;
    const qb_status status = qb__frame_files_open(path, kinds, sizeof kinds / sizeof *kinds, &heads, source);
    qb__free(heads);
    return status;
}

qb_status qb__varian_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    qb__frame_head *heads;
    char air[NAME];
    qb_status status;
    QB__TRY(qb__frame_files_open(path, kinds, sizeof kinds / sizeof *kinds, &heads, &parts->data.source));
    QB__TRY(qb__frame_files_parts(heads, parts));
    parts->data.source->beam = QB_BEAM_CONE;
    snprintf(parts->quantity, sizeof parts->quantity, "counts");
    QB__TRY(qb__source_constant(parts->data.source, &parts->data.source->shape[1], 0, &parts->darks.source));
    parts->darks.count = 1;
    QB__TRY(read_settings(path, air, parts));
    if (options && options->flats && *options->flats) *air = 0;
    status = take_air(air, heads, parts);
out:
    qb__free(heads);
    return status;
}
