/* SPDX-License-Identifier: MIT */
/* Scans of Zeiss (Xradia), all compound files: .txrm holds views, the flat field and the geometry; .xrm holds one
 * image, and a folder of them is a scan; .txm holds a volume.
 *
 * Distances are in mm unless PositionInfo states micrometres, and may be negative. PixelSize is in micrometres, at the
 * axis. In this program's frame the angle of view i is -Angles[i]. Alignment shifts are the columns and rows by which
 * an image must be moved to be aligned. There is no dark field: the scanner has already subtracted it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/vendor/ole2.h"

enum { WORDS = 4096, CONE = 1 };

static const double degree = 3.14159265358979323846 / 180.0;

/* ---- numbers ---- */

static bool read_word(const qb__ole2 *ole, const char *name, uint32_t *value) {
    uint64_t bytes;
    unsigned char raw[4];
    if (!qb__ole2_find(ole, name, &bytes) || bytes < 4 || qb__ole2_read(ole, name, 4, raw) != QB_OK) return false;
    *value = raw[0] | (uint32_t)raw[1] << 8 | (uint32_t)raw[2] << 16 | (uint32_t)raw[3] << 24;
    return true;
}

static bool read_real(const qb__ole2 *ole, const char *name, double *value) {
    uint32_t word;
    float real;
    *value = 0;
    if (!read_word(ole, name, &word)) return false;
    memcpy(&real, &word, sizeof real);
    *value = real;
    return isfinite(real);
}

static qb_status need_word(const qb__ole2 *ole, const char *path, const char *name, uint32_t most, uint32_t *value) {
    *value = 0;
    if (!read_word(ole, name, value))
        return qb__fail(QB_BAD_INPUT, "%s has no stream %s: it is not a Zeiss file, or it is incomplete", path, name);
    if (*value >= 1 && *value <= most) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: %s is %u, which should be from 1 to %u", path, name, *value, most);
}

/* Reads one number for each view, as doubles. *out is NULL if the stream is missing. */
static qb_status read_reals(const qb__ole2 *ole, const char *name, size_t count, double **out) {
    uint64_t bytes;
    unsigned char *raw = NULL;
    qb_status status = QB_OK;
    *out = NULL;
    if (!qb__ole2_find(ole, name, &bytes) || bytes == 0) return QB_OK;
    QB__TRY(qb__alloc(count, 4, &raw));
    QB__TRY(qb__ole2_read(ole, name, 4 * (uint64_t)count, raw));
    QB__TRY(qb__alloc(count, sizeof **out, out));
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, raw + 4 * i, sizeof value);
        (*out)[i] = value;
    }
out:
    qb__free(raw);
    return status;
}

/* ---- images ---- */

static qb_status dtype_of(const char *path, const char *name, uint32_t code, qb_dtype *dtype) {
    enum { UINT16 = 5, FLOAT32 = 10 };
    *dtype = code == UINT16 ? QB_U16 : QB_F32;
    if (code == UINT16 || code == FLOAT32) return QB_OK;
    return qb__fail(QB_UNSUPPORTED, "%s: %s is %u; 5 (uint16) and 10 (float32) are read", path, name, code);
}

/* `series`: each file holds one view, and `ole` is the first file. */
static qb_status open_views(const qb__ole2 *ole, const char *path, bool series, qb__zeiss_images *images,
                            qb__notes *notes, qb__source **source) {
    uint32_t columns, rows, type, count, taken;
    QB__OR_RETURN(need_word(ole, path, "ImageInfo/ImageWidth", 1 << 20, &columns));
    QB__OR_RETURN(need_word(ole, path, "ImageInfo/ImageHeight", 1 << 20, &rows));
    QB__OR_RETURN(need_word(ole, path, "ImageInfo/DataType", UINT32_MAX, &type));
    QB__OR_RETURN(need_word(ole, path, "ImageInfo/NoOfImages", 1 << 24, &count));
    *images =
        (qb__zeiss_images){.folder = "ImageData", .hundreds = true, .series = series, .rows = rows, .columns = columns};
    QB__OR_RETURN(dtype_of(path, "ImageInfo/DataType", type, &images->dtype));
    if (!series && read_word(ole, "ImageInfo/ImagesTaken", &taken) && taken > 0 && taken < count) {
        qb__note(notes, "%s was stopped: %u of %u images were taken" QB__CODE("scan-stopped"), path, taken, count);
        count = taken;
    }
    images->count = count;
    return qb__zeiss_source(ole, path, images, source);
}

/* Opens the flat fields: one, or several that are numbered. The dark is 0. */
static qb_status open_flats(const qb__ole2 *ole, const char *path, const qb__zeiss_images *views,
                            qb__scan_parts *parts) {
    qb__zeiss_images flats = *views;
    char name[64];
    uint64_t bytes;
    uint32_t type, count = 1;
    flats.hundreds = false;
    flats.numbered = qb__ole2_find(ole, "MultiReferenceData/Image1", &bytes);
    flats.folder = flats.numbered ? "MultiReferenceData" : "ReferenceData";
    if (!flats.numbered && (!qb__ole2_find(ole, "ReferenceData/Image", &bytes) || !bytes)) return QB_OK;
    snprintf(name, sizeof name, "%s/DataType", flats.folder);
    if (read_word(ole, name, &type)) QB__OR_RETURN(dtype_of(path, name, type, &flats.dtype));
    snprintf(name, sizeof name, "%s/ImageInfo/NoOfImages", flats.folder);
    if (flats.numbered) QB__OR_RETURN(need_word(ole, path, name, 1 << 16, &count));
    flats.count = count;
    QB__OR_RETURN(qb__zeiss_source(ole, path, &flats, &parts->flats.source));
    parts->flats.count = count;
    QB__OR_RETURN(qb__source_constant(parts->data.source, &parts->data.source->shape[1], 0, &parts->darks.source));
    parts->darks.count = 1;
    return QB_OK;
}

/* ---- geometry ---- */

/* The unit of the source distance, in mm. The file has two lists of words: the names of the axes and their units. */
static double unit_of_distances(const qb__ole2 *ole) {
    char names[WORDS + 1] = "", units[WORDS + 1] = "";
    uint64_t n, m;
    if (!qb__ole2_find(ole, "PositionInfo/AxisNames", &n) || !qb__ole2_find(ole, "PositionInfo/AxisUnits", &m))
        return 1;
    n = n < WORDS ? n : WORDS, m = m < WORDS ? m : WORDS;
    if (qb__ole2_read(ole, "PositionInfo/AxisNames", n, names) != QB_OK) return 1;
    if (qb__ole2_read(ole, "PositionInfo/AxisUnits", m, units) != QB_OK) return 1;
    const char *unit = units;
    for (const char *name = names; name < names + n && unit < units + m;) {
        if (strcasecmp(name, "Source Z") == 0) return strcasecmp(unit, "um") == 0 ? 1e-3 : 1;
        name += strlen(name) + 1;
        unit += strlen(unit) + 1;
        while (name < names + n && !*name) name++; /* some files pad their words with zero bytes */
        while (unit < units + m && !*unit) unit++;
    }
    return 1;
}

static void set_pixel(qb__scan_parts *parts, const char *path, double pixel) {
    parts->pixel_size = parts->pixel_v = pixel;
    snprintf(parts->pixel_from, sizeof parts->pixel_from, "%.150s", path);
}

/* Sets beam, distances and pixel size. Nano-CT with a parallel beam needs no distances. */
static qb_status set_place(const qb__ole2 *ole, const char *path, qb__scan_parts *parts) {
    double before, behind, pixel;
    uint32_t kind = CONE;
    const bool pixels = read_real(ole, "ImageInfo/PixelSize", &pixel) && pixel > 0;
    const bool source = read_real(ole, "ImageInfo/StoRADistance", &before);
    const bool both = read_real(ole, "ImageInfo/DtoRADistance", &behind) && source;
    const bool cone = read_word(ole, "ImageInfo/XrayGeometry", &kind) ? kind == CONE : both && before != 0;
    const double unit = unit_of_distances(ole);
    if (!cone) {
        parts->data.source->beam = QB_BEAM_PARALLEL;
        if (pixels) set_pixel(parts, path, 1e-3 * pixel);
        return QB_OK;
    }
    if (!both || !pixels || before == 0)
        return qb__fail(QB_BAD_INPUT,
                        "%s: a cone beam with StoRADistance %g, DtoRADistance %g and PixelSize %g: export the scan "
                        "again, or its views as TIFF",
                        path, before, behind, pixel);
    parts->sod = fabs(before) * unit, parts->sdd = parts->sod + fabs(behind) * unit;
    parts->detector_stated = true;
    set_pixel(parts, path, 1e-3 * pixel * parts->sdd / parts->sod);
    parts->data.source->beam = QB_BEAM_CONE;
    return QB_OK;
}

static qb_status set_angles(const qb__ole2 *ole, const char *path, qb__scan_parts *parts) {
    const qb_status status = read_reals(ole, "ImageInfo/Angles", parts->data.count, &parts->angles);
    if (!parts->angles) return status;
    parts->angle_count = parts->data.count;
    for (size_t i = 0; i < parts->angle_count; i++) parts->angles[i] = (0 - parts->angles[i]) * degree;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", path);
    return status;
}

static qb_status set_shifts(const qb__ole2 *ole, qb__scan_parts *parts) {
    static const char *const names[] = {"Alignment/X-Shifts", "Alignment/Y-Shifts"};
    const size_t count = parts->data.count;
    double *read = NULL;
    bool any = false;
    qb_status status;
    QB__TRY(qb__alloc(2 * count, sizeof *parts->shifts, &parts->shifts));
    for (int k = 0; k < 2; k++) {
        QB__TRY(read_reals(ole, names[k], count, &read));
        for (size_t i = 0; read && i < count; i++) {
            if (!isfinite(read[i]))
                QB__TRY(qb__fail(QB_BAD_INPUT, "%s: %s of view %zu is not a number", parts->angles_from, names[k], i));
            parts->shifts[2 * i + (size_t)k] = 0 - read[i];
            any = any || read[i] != 0;
        }
        qb__free(read);
        read = NULL;
    }
out:
    qb__free(read);
    if (!any || status != QB_OK) {
        qb__free(parts->shifts);
        parts->shifts = NULL;
    }
    return status;
}

static void judge(const qb__ole2 *ole, const char *path, qb__scan_parts *parts) {
    double shift;
    if ((read_real(ole, "AutoRecon/CenterShift", &shift) || read_real(ole, "ReconSettings/CenterShift", &shift)) &&
        fabs(shift) > 0.25)
        qb__note(&parts->notes,
                 "%s states that the axis lies %g columns from the middle (CenterShift), but not on which side, so "
                 "this is ignored: `qb center` finds the axis" QB__CODE("center-shift"),
                 path, shift);
}

/* ---- a series of files ---- */

/* Reads the angle and the shifts of one file's view, and checks that its size is that of the first view. */
static qb_status read_view(const char *path, const qb__zeiss_images *images, double *angle, double *shift) {
    static const char *const names[] = {"Alignment/X-Shifts", "Alignment/Y-Shifts"};
    uint32_t columns, rows, type;
    double *read = NULL;
    qb__ole2 *ole;
    qb_dtype dtype;
    qb_status status = qb__ole2_open(path, &ole);
    if (status != QB_OK) return status;
    QB__TRY(need_word(ole, path, "ImageInfo/ImageWidth", 1 << 20, &columns));
    QB__TRY(need_word(ole, path, "ImageInfo/ImageHeight", 1 << 20, &rows));
    QB__TRY(need_word(ole, path, "ImageInfo/DataType", UINT32_MAX, &type));
    QB__TRY(dtype_of(path, "ImageInfo/DataType", type, &dtype));
    if (columns != images->columns || rows != images->rows || dtype != images->dtype) {
        status =
            qb__fail(QB_BAD_INPUT, "%s holds a view of %u x %u %s, the first file one of %zu x %zu %s", path, columns,
                     rows, qb_dtype_name(dtype), images->columns, images->rows, qb_dtype_name(images->dtype));
        goto out;
    }
    QB__TRY(read_reals(ole, "ImageInfo/Angles", 1, &read));
    *angle = read ? (0 - *read) * degree : NAN;
    for (int k = 0; k < 2; k++) {
        qb__free(read);
        QB__TRY(read_reals(ole, names[k], 1, &read));
        shift[k] = read && isfinite(*read) ? 0 - *read : 0;
    }
out:
    qb__free(read);
    qb__ole2_close(ole);
    return status;
}

static qb_status set_views(const qb__zeiss_images *images, const char *path, qb__scan_parts *parts) {
    const qb__notes *files = qb__zeiss_files(parts->data.source);
    bool angles = true, moved = false;
    qb_status status;
    QB__TRY(qb__alloc(files->count, sizeof *parts->angles, &parts->angles));
    QB__TRY(qb__alloc(2 * files->count, sizeof *parts->shifts, &parts->shifts));
    for (size_t i = 0; i < files->count; i++) {
        QB__TRY(read_view(files->text[i], images, &parts->angles[i], &parts->shifts[2 * i]));
        angles = angles && isfinite(parts->angles[i]);
        moved = moved || parts->shifts[2 * i] != 0 || parts->shifts[2 * i + 1] != 0;
    }
    parts->angle_count = files->count;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", path);
out:
    if (!angles || status != QB_OK) {
        qb__free(parts->angles);
        parts->angles = NULL, parts->angle_count = 0;
    }
    if (!moved || status != QB_OK) {
        qb__free(parts->shifts);
        parts->shifts = NULL;
    }
    return status;
}

/* The file from which the data about the scan are read; in a series, the first one. The caller releases *files with
 * qb__notes_release. */
static qb_status first_file(const char *path, qb__notes *files, bool *series) {
    *series = qb__is_folder(path) || qb__is_pattern(path);
    if (*series) {
        const qb_status status = qb__list_images(path, " .xrm ", files);
        const char *dot = status == QB_OK && files->count ? strrchr(files->text[0], '.') : NULL;
        if (dot && strcasecmp(dot, ".txrm") == 0)
            return qb__fail(QB_BAD_INPUT, "%s: each .txrm is a scan of its own: give the name of one", path);
        return status;
    }
    qb__note(files, "%s", path);
    return files->lost ? qb__fail(QB_NO_MEMORY, "no memory for a name") : QB_OK;
}

/* ---- the format ---- */

static bool is_volume(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".txm") == 0;
}

static qb_status read_scan(const qb__ole2 *ole, const char *path, bool series, qb__scan_parts *parts) {
    qb__zeiss_images images;
    QB__OR_RETURN(open_views(ole, path, series, &images, &parts->notes, &parts->data.source));
    parts->format = parts->data.source->format;
    parts->data.count = parts->data.source->shape[0];
    if (!series) QB__OR_RETURN(open_flats(ole, path, &images, parts));
    snprintf(parts->quantity, sizeof parts->quantity, "counts");
    if (series) {
        QB__OR_RETURN(set_views(&images, path, parts));
    } else {
        QB__OR_RETURN(set_angles(ole, path, parts));
        QB__OR_RETURN(set_shifts(ole, parts));
    }
    QB__OR_RETURN(set_place(ole, path, parts));
    judge(ole, path, parts);
    return QB_OK;
}

qb_status qb__zeiss_open(const char *path, const char *how, qb__source **source) {
    qb__zeiss_images images;
    qb__notes notes = {0}, files = {0};
    qb__ole2 *ole = NULL;
    bool series;
    double pixel;
    (void)how;
    qb_status status = first_file(path, &files, &series);
    if (status == QB_OK) status = qb__ole2_open(files.text[0], &ole);
    if (status == QB_OK) status = open_views(ole, path, series, &images, &notes, source);
    if (status == QB_OK && is_volume(path)) qb__source_is_volume(*source);
    if (status == QB_OK && is_volume(path) && read_real(ole, "ImageInfo/PixelSize", &pixel) && pixel > 0)
        for (int i = 0; i < 3; i++) (*source)->voxel[i] = 1e-3 * pixel;
    qb__ole2_close(ole);
    qb__notes_release(&notes);
    qb__notes_release(&files);
    return status;
}

qb_status qb__zeiss_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    qb__notes files = {0};
    qb__ole2 *ole = NULL;
    bool series;
    (void)options;
    if (is_volume(path)) {
        const qb_status status = qb__zeiss_open(path, NULL, &parts->data.source);
        if (status == QB_OK) parts->data.count = parts->data.source->shape[0];
        return status;
    }
    qb_status status = first_file(path, &files, &series);
    if (status == QB_OK) status = qb__ole2_open(files.text[0], &ole);
    if (status == QB_OK) status = read_scan(ole, path, series, parts);
    qb__ole2_close(ole);
    qb__notes_release(&files);
    return status;
}
