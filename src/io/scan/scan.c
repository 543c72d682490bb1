/* SPDX-License-Identifier: MIT */
#include "io/scan/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/grid.h"
#include "geometry/units.h"
#include "io/scan/axes_look.h"
#include "io/formats.h"
#include "io/scan/drift.h"
#include "io/scan/open_parts.h"
#include "io/scan/frame_look.h"

/* --unsigned: reads signed integers as unsigned, in the views and in flats and darks of the same file. */
static qb_status read_unsigned(qb_scan *scan) {
    qb__scan_parts *parts = &scan->parts;
    qb__source *const source[] = {parts->data.source, parts->flats.source, parts->darks.source};
    if (!qb__source_read_unsigned(source[0]))
        return qb__fail(QB_BAD_ARGUMENT, "%s: --unsigned is for signed integers, and these numbers are %s", scan->path,
                        qb_dtype_name(source[0]->dtype));
    for (int i = 1; i < 3; i++)
        if (source[i] && source[i] != source[i - 1] && source[i] != source[0]) qb__source_read_unsigned(source[i]);
    return QB_OK;
}

/* Sets the shape of the scan and chooses the views. */
static qb_status set_shape(qb_scan *scan, const qb_scan_options *options) {
    qb_scan_info *info = &scan->info;
    qb__frames *data = &scan->parts.data;
    const qb__source *source = data->source;
    if (!data->index) data->count = source->shape[0];
    scan->sinogram = options->as == QB_IMAGE_SINOGRAM;
    if (scan->sinogram && data->index)
        return qb__fail(QB_BAD_ARGUMENT, "%s: --as sinogram does not go with image_key", scan->path);
    scan->stored = scan->sinogram ? source->shape[1] : data->count;
    info->rows = scan->sinogram ? source->shape[0] : source->shape[1];
    info->columns = source->shape[2];
    info->beam = source->beam;
    info->dtype = source->dtype; /* float32 if pixels are binned into sums or means */
    info->cache_bytes = qb__source_held(source);
    info->chunk_rows = source->chunk[scan->sinogram ? 0 : 1];
    if (info->chunk_rows > info->rows) info->chunk_rows = info->rows;
    info->geometry_from = scan->parts.placed;
    info->files = source->files;
    info->stored = scan->stored;
    const qb_status status = qb__scan_choose_views(scan, options);
    if (source->turned)
        qb__note(&scan->parts.notes,
                 "its header turns or mirrors the axes (TransformMatrix, sform, space directions), and the data are "
                 "read as stored: the image may be turned or mirrored" QB__CODE("axes-turned"));
    /* the text of the trouble has its own warning code */
    if (*source->trouble) qb__note(&scan->parts.notes, "%s", source->trouble);
    return status == QB_OK ? qb__scan_check_holes(scan) : status;
}

static bool all_finite(const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* --angle-unit is added to the text as its suffix :deg or :rad. */
static qb_status parse_angles(qb_scan *scan, const qb_scan_options *options) {
    static const char *const ends[] = {"", ":deg", ":rad"};
    const char *end = ends[options->angle_unit];
    size_t size = strlen(options->angles) + strlen(end) + 1;
    char *text;
    QB__OR_RETURN(qb__alloc(size, 1, &text));
    qb__print(text, size, "%s%s", options->angles, end);
    qb__angles_said said;
    const qb_status status = qb__angles_read(text, scan->stored, scan->parts.angles, &said);
    qb__free(text);
    if (status != QB_OK) return status;
    scan->parts.angle_count = scan->stored;
    scan->parts.unit_wrong[0] = 0; /* this message is about the file's angles, which --angles replaces */
    snprintf(scan->parts.angles_from, sizeof scan->parts.angles_from, "--angles %.70s%s%.75s", options->angles,
             *said.how ? ", " : "", said.how);
    if (*said.doubt) qb__note(&scan->parts.notes, "%s", said.doubt);
    if (said.counts) qb__scan_take_counts(scan, said.counts);
    return QB_OK;
}

/* --angle-unit takes precedence over the unit that the scan states. */
static void judge_unit(qb__scan_parts *parts, qb_angle_unit unit) {
    const double wanted = unit == QB_ANGLE_DEGREES ? M_PI / 180 : 1;
    if (unit == QB_ANGLE_AUTO) return;
    parts->unit_wrong[0] = 0;
    for (size_t i = 0; i < parts->angle_count && parts->angle_unit > 0; i++)
        parts->angles[i] *= wanted / parts->angle_unit;
}

/* The quantity that the file states; "": none. */
static const char *stated_of(const qb__scan_parts *parts) {
    return *parts->quantity ? parts->quantity : parts->data.source->quantity;
}

static bool is_volume(const qb__scan_parts *parts) { return qb__volume_stated(stated_of(parts)); }

/* Why the scan's angles cannot be used, written to `text`; NULL: they can be used. */
static const char *find_fault(const qb_scan *scan, char *text, size_t size) {
    const qb__scan_parts *parts = &scan->parts;
    char settings[1024];
    if (!parts->angles && is_volume(parts))
        snprintf(
            text, size,
            "this is a volume (the file says %s), no scan: give the scan that it was made from, or --angles if it is "
            "one",
            stated_of(parts));
    else if (!parts->angles && qb__settings_near(scan->path, settings, sizeof settings))
        snprintf(text, size, "the scan has no angles: give %s, which states them, or --angles", settings);
    else if (!parts->angles)
        snprintf(text, size, "the scan has no angles: give --angles");
    else if (*parts->unit_wrong)
        snprintf(text, size, "%s", parts->unit_wrong);
    else if (parts->angle_count != scan->stored)
        snprintf(text, size, "%s has %zu angles for %zu views: give --angles%s", parts->angles_from, parts->angle_count,
                 scan->stored,
                 parts->angle_count == scan->info.columns
                     ? ", or, as the last axis has so many, store [view][row][column] in place of (x, y, theta)"
                     : "");
    else if (!all_finite(parts->angles, parts->angle_count))
        snprintf(text, size, "%s holds angles that are no numbers: give --angles", parts->angles_from);
    else if (qb__angles_check(parts->angles, parts->angle_count) != QB_OK)
        snprintf(text, size, "%s: %s: give --angles", parts->angles_from, qb_detail());
    else
        return NULL;
    return text;
}

/* Whether the scan is a single image, which may be a sinogram. A single view is hardly ever reconstructed alone, so the
 * user is asked. */
static bool is_lone_image(const qb_scan *scan, const qb_scan_options *options) {
    return scan->stored == 1 && scan->info.rows > 1 && options->as == QB_IMAGE_AUTO &&
           !(scan->parts.angles && scan->parts.angle_count == 1);
}

/* Sets *transposed if the columns of the only image look like views. The radon function of scikit-image makes such
 * images. */
static qb_status look_at_lone(qb_scan *scan, qb_quantity quantity, bool *transposed) {
    const size_t MOST = 64 << 20; /* numbers: a larger image is no sinogram */
    const qb_scan_info *info = &scan->info;
    const size_t count = info->rows * info->columns;
    char *raw = NULL;
    float *image = NULL;
    qb_status status = QB_OK;
    *transposed = false;
    if (count > MOST) return QB_OK;
    QB__TRY(qb__alloc(count, qb_dtype_size(info->dtype), &raw));
    QB__TRY(qb__alloc(count, sizeof *image, &image));
    QB__TRY(qb_scan_read(scan, 0, 1, 0, info->rows, raw));
    qb_convert_to_float(raw, info->dtype, count, image);
    *transposed = qb__looks_transposed_as(image, info->rows, info->columns, quantity);
out:
    QB__FREE(raw, image);
    return status;
}

static qb_status tell_lone(qb_scan *scan, const qb_scan_options *options) {
    qb_scan_info *info = &scan->info;
    const bool counts = options->quantity ? options->quantity != QB_LINE_INTEGRAL : !qb_dtype_is_float(info->dtype);
    bool transposed;
    QB__OR_RETURN(look_at_lone(scan, counts ? QB_COUNTS : QB_LINE_INTEGRAL, &transposed));
    snprintf(scan->no_angles, sizeof scan->no_angles,
             transposed
                 ? "it is one image of %zu x %zu whose columns look like views: transpose it (numpy: image.T) and "
                   "give --as sinogram"
                 : "it is one image of %zu x %zu: give --as sinogram if its lines are views, --as projections if "
                   "it is one view",
             info->rows, info->columns);
    qb__note_of(&scan->parts.notes, QB_PROBLEM_ANGLES, "%s" QB__CODE("one-image"), scan->no_angles);
    info->no_angles = scan->no_angles;
    return QB_OK;
}

/* --angles-from-names: the angles are in degrees, unless --angle-unit says radians. */
static qb_status take_names(qb_scan *scan, const qb_scan_options *options) {
    const double unit = options->angle_unit == QB_ANGLE_RADIANS ? 1 : M_PI / 180;
    qb__scan_parts *parts = &scan->parts;
    if (options->angles)
        return qb__fail(QB_BAD_ARGUMENT, "--angles and --angles-from-names are both given: leave one out");
    qb__free(parts->angles);
    parts->angles = NULL;
    qb_status status = qb__alloc(scan->stored, sizeof(double), &parts->angles);
    if (status == QB_OK)
        status = qb__angles_of_names(scan->path, options->angles_from_names, scan->stored, parts->angles);
    for (size_t i = 0; status == QB_OK && i < scan->stored; i++) parts->angles[i] *= unit;
    parts->angle_count = scan->stored;
    parts->unit_wrong[0] = 0;
    snprintf(parts->angles_from, sizeof parts->angles_from, "--angles-from-names %.120s", options->angles_from_names);
    return status;
}

/* Sets the angles of all stored views, from the options or the file, and keeps those of the chosen views. */
static qb_status set_angles(qb_scan *scan, const qb_scan_options *options) {
    qb_scan_info *info = &scan->info;
    qb__scan_parts *parts = &scan->parts;
    qb_status status;
    if (is_lone_image(scan, options)) return tell_lone(scan, options);
    if (options->angles_from_names) {
        QB__OR_RETURN(take_names(scan, options));
    } else if (options->angles) {
        qb__free(parts->angles);
        parts->angles = NULL;
        status = qb__alloc(scan->stored, sizeof(double), &parts->angles);
        if (status == QB_OK) status = parse_angles(scan, options);
        if (status != QB_OK) return status;
        if (options->angle_unit == QB_ANGLE_AUTO && qb__angles_doubtful(options->angles, scan->stored))
            qb__note(&parts->notes,
                     "--angles %.140s is taken as degrees, %zu views within so few; if they are radians, give "
                     "--angle-unit rad" QB__CODE("angle-unit"),
                     options->angles, scan->stored);
    }
    if (!options->angles && !options->angles_from_names && parts->angles) judge_unit(parts, options->angle_unit);
    if (find_fault(scan, scan->no_angles, sizeof scan->no_angles)) {
        qb__note_of(&parts->notes, QB_PROBLEM_ANGLES, "%s" QB__CODE("no-angles"), scan->no_angles);
        info->no_angles = scan->no_angles;
        return QB_OK;
    }
    QB__OR_RETURN(qb__alloc(info->views, sizeof(double), &scan->angles));
    for (size_t i = 0; i < info->views; i++) scan->angles[i] = parts->angles[qb__scan_stored(scan, i)];
    info->angles = scan->angles;
    info->angles_from = parts->angles_from;
    return QB_OK;
}

/* Decides the quantity of the values and records the reason; a guess is always reported. */
static void set_quantity(qb_scan *scan, const qb_scan_options *options) {
    qb_scan_info *info = &scan->info;
    const char *stated = stated_of(&scan->parts);
    const char *why = "stated in the file";
    info->stated = stated;
    info->format = scan->parts.format ? scan->parts.format : scan->parts.data.source->format;
    info->dtype = scan->parts.data.source->dtype;
    bool fields = options->flats || scan->parts.flats.count;
    info->quantity = qb__quantity_named(stated);
    if (options->quantity) {
        info->quantity = options->quantity;
        why = "--quantity";
    } else if (!info->quantity) {
        if (*stated)
            qb__note(&scan->parts.notes, "the file says that it holds %s, not projections" QB__CODE("not-projections"),
                     strcmp(stated, "volume") == 0 ? "a volume" : stated);
        bool hdf5 = strstr(info->format, "HDF5") != NULL;
        const bool whole = !qb_dtype_is_float(info->dtype) || scan->parts.data.source->integers;
        bool counts = whole || hdf5 || fields;
        info->quantity = counts ? QB_COUNTS : QB_LINE_INTEGRAL;
        why = whole    ? "assumed: integer data are counts"
              : hdf5   ? "assumed: HDF5 projections are counts"
              : fields ? "assumed: data with flat fields are counts"
                       : "assumed: floating-point data are line integrals";
    }
    snprintf(scan->quantity_from, sizeof scan->quantity_from, "%s", why);
    info->quantity_from = scan->quantity_from;
}

/* Warns if the given pixel size is far from the stated one. Binning by up to 4 is common; a larger ratio means another
 * unit, or a pixel size at the object. */
static bool compare_pixel(double given, double stated, qb__notes *notes) {
    const double FAR = 4.5, ratio = given / stated;
    if (ratio <= FAR && ratio >= 1 / FAR) return false;
    qb__note(
        notes,
        "--pixel-size %g mm is taken, but the file states %g mm: is it given in mm?" QB__CODE("pixel-size-differs"),
        given, stated);
    return true;
}

/* Warns of an implausible pixel size. The limits include pixels of centimetres (scanners for trucks) and of 5 nm
 * (nano-CT). */
static void judge_pixel(const qb_scan_info *info, qb__notes *notes) {
    const double MOST = 50, LEAST = 1e-6;
    const double low = fmin(info->pixel_size, info->pixel_v), high = fmax(info->pixel_size, info->pixel_v);
    if (info->pixel_size > 0 && (high > MOST || low < LEAST))
        qb__note(notes,
                 "pixels of %g mm (%s) are too %s for a detector: give --pixel-size in mm, or all values are wrong by "
                 "that factor" QB__CODE("pixel-size-odd"),
                 high > MOST ? high : low, info->pixel_from, high > MOST ? "large" : "small");
}

/* Whether the stated distances mean a cone beam: the rays differ from parallel rays by more than a column at the edge
 * of the object. At a synchrotron, with a source 100 m away, they do not. */
static bool diverges(const qb_scan_info *info) {
    const double half = 0.5 * (double)info->whole_columns;
    return info->sod > 0 && half * half * info->pixel_size > info->sdd;
}

static qb_status set_pixel(qb_scan *scan, const qb_scan_options *options) {
    qb_scan_info *info = &scan->info;
    qb__scan_parts *parts = &scan->parts;
    double stored = parts->data.source->voxel[0];
    double given[2];
    bool doubted = false;
    const qb_status status = qb__pixels(options->pixel_size, &options->pixels, given);
    info->pixel_from = "unknown";
    if (given[0] > 0.0) {
        info->pixel_size = given[0];
        info->pixel_from = "--pixel-size";
        const double stated = parts->pixel_size > 0.0 ? parts->pixel_size : stored;
        if (stated > 0.0) doubted = compare_pixel(given[0], stated, &parts->notes);
    } else if (parts->pixel_size > 0.0) {
        info->pixel_size = parts->pixel_size;
        info->pixel_from = parts->pixel_from;
    } else if (stored > 0.0) {
        info->pixel_size = stored;
        info->pixel_from = "stated in the file";
    }
    info->pixel_v = given[1] > 0.0 ? given[1] : info->pixel_size;
    if (!(given[0] > 0.0)) {
        const double stated =
            parts->pixel_size > 0.0 ? parts->pixel_v : parts->data.source->voxel[scan->sinogram ? 2 : 1];
        if (stated > 0.0 && fabs(stated - info->pixel_size) > 1e-5 * info->pixel_size) info->pixel_v = stated;
    }
    if (status == QB_OK && !doubted) judge_pixel(info, &parts->notes);
    info->sod = parts->sod, info->sdd = parts->sdd, info->rows_down = parts->rows_down;
    info->energy = parts->energy, info->distance = parts->distance;
    if (!info->beam && diverges(info)) info->beam = QB_BEAM_CONE;
    info->center = parts->center;
    info->center_holds = parts->center_holds && isfinite(parts->center);
    info->first_slice = parts->first_slice;
    return status;
}

/* Sets the detector offset that the file states: from values in the file, or from the image position of a MetaImage. A
 * MetaImage with its first pixel at 0 states no offset: many programs write 0 by default. */
static void set_place(qb_scan *scan) {
    const qb__source *source = scan->parts.data.source;
    qb_scan_info *info = &scan->info;
    const double u = source->offset[0], v = source->offset[1], pixel = source->voxel[0];
    info->detector_offset[0] = info->detector_offset[1] = NAN;
    if (scan->parts.detector_stated) {
        const double *detector = scan->parts.detector;
        info->detector_offset[0] = detector[0], info->detector_offset[1] = detector[1];
        info->detector_tilt = detector[2], info->detector_lean = detector[3];
        return;
    }
    if (strcmp(source->format, "MetaImage") != 0 || !(pixel > 0)) return;
    const qb__image *image = &scan->image;
    const size_t columns = image->bin_u ? image->stored_columns : source->shape[2],
                 rows = image->bin_v ? image->stored_rows : source->shape[1];
    const double first_u = u - 0.5 * ((double)columns - 1) * pixel,
                 first_v = v - 0.5 * ((double)rows - 1) * source->voxel[1];
    if (first_u == 0 && first_v == 0) return;
    info->detector_offset[0] = u, info->detector_offset[1] = v;
    if (fabs(u) > 1e-3 * pixel && isnan(info->center)) info->center = 0.5 * ((double)columns - 1) - u / pixel;
}

/* Sets the beam intensity of the chosen views. It is left out if it does not change, or if --flats replaces the flats
 * that it refers to. */
static qb_status set_intensity(qb_scan *scan, const qb_scan_options *options) {
    const double least = 1e-4;
    const qb__scan_parts *parts = &scan->parts;
    qb_scan_info *info = &scan->info;
    double low = INFINITY, high = 0;
    if (!parts->intensity || (options->flats && !parts->intensity_mean)) return QB_OK;
    qb_status status = qb__alloc(info->views, sizeof *scan->intensity, &scan->intensity);
    for (size_t i = 0; status == QB_OK && i < info->views; i++) {
        scan->intensity[i] = parts->intensity[qb__scan_stored(scan, i)];
        low = fmin(low, scan->intensity[i]);
        high = fmax(high, scan->intensity[i]);
    }
    if (status != QB_OK || (low > 1 - least && high < 1 + least)) return status;
    info->intensity = scan->intensity;
    info->intensity_range[0] = low, info->intensity_range[1] = high;
    info->intensity_from = parts->intensity_from;
    return QB_OK;
}

static qb_status check_unusable(qb_scan *scan) {
    const char *unusable = scan->parts.unusable;
    if (!*unusable) return QB_OK;
    if (scan->info.quantity == QB_COUNTS) return qb__fail(QB_BAD_INPUT, "%s", unusable);
    qb__note(&scan->parts.notes, "%s" QB__CODE("fields-unusable"), unusable);
    return QB_OK;
}

/* --darks none is only for counts: other quantities have no darks. */
static qb_status check_darks_none(const qb_scan *scan, const qb_scan_options *options) {
    if (!qb__darks_none(options->darks) || scan->info.quantity == QB_COUNTS) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--darks none: %s (%s) has no darks; leave it out",
                    qb_quantity_name(scan->info.quantity), scan->quantity_from);
}

/* Warns if given fields have no effect. Fields in the scan's own file give no warning: files of line integrals may keep
 * them. */
static void judge_given(qb_scan *scan, const qb_scan_options *options) {
    const char *const given[] = {options->flats, qb__darks_none(options->darks) ? NULL : options->darks},
                      *const names[] = {"flats", "darks"};
    for (int i = 0; i < 2; i++)
        if (given[i] && scan->info.quantity != QB_COUNTS)
            qb__note_of(
                &scan->parts.notes, QB_PROBLEM_FIELDS,
                "--%s has no effect on %s (%s): if these are counts, give --quantity counts" QB__CODE("fields-unused"),
                names[i], qb_quantity_name(scan->info.quantity), scan->quantity_from);
}

static void judge_fields(qb_scan *scan, const qb_scan_options *options) {
    const qb_scan_info *info = &scan->info;
    qb__notes *notes = &scan->parts.notes;
    if (info->quantity != QB_COUNTS || *scan->refused) return;
    if (!scan->flat)
        qb__note_of(notes, QB_PROBLEM_FLATS, "there are no flat fields: give --flats or --air" QB__CODE("no-flats"));
    if (!scan->dark && !qb__darks_none(options->darks))
        qb__note_of(notes, QB_PROBLEM_FIELDS, "there are no dark fields: the dark is taken as 0" QB__CODE("no-darks"));
    if (!scan->flat) return;
    size_t zeros = 0, first = 0, bright = 0, n = info->rows * info->columns;
    for (size_t i = 0; i < n; i++) bright += scan->flat[i] > (scan->dark ? scan->dark[i] : 0);
    if (!bright) {
        qb__note_of(
            notes, QB_PROBLEM_FIELDS,
            "no pixel of the flats is brighter than the darks: are both the same, or exchanged?" QB__CODE("dead-flat"));
        return;
    }
    for (size_t i = n; i-- > 0;) {
        if (scan->flat[i] != 0.0f) continue;
        zeros++;
        first = i;
    }
    if (zeros)
        qb__note_of(notes, QB_PROBLEM_FIELDS, "flat pixel (%zu,%zu) is 0 (%zu of %zu are)" QB__CODE("dead-flat"),
                    first / info->columns, first % info->columns, zeros, n);
}

qb_status qb__scan_complete(qb_scan *scan, const qb_scan_options *options, const qb_env *env) {
    qb__looked looked = {0};
    char *const words[] = {scan->parts.angles_from, scan->parts.pixel_from, scan->parts.data.source->quantity,
                           scan->parts.data.source->units};
    /* these texts come from the file */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) qb__printable(words[i]);
    if (options->read_unsigned) QB__OR_RETURN(read_unsigned(scan));
    set_quantity(scan, options);
    QB__OR_RETURN(qb__scan_change_images(scan, options, env));
    QB__OR_RETURN(set_shape(scan, options));
    QB__OR_RETURN(set_angles(scan, options));
    QB__OR_RETURN(check_darks_none(scan, options));
    QB__OR_RETURN(set_pixel(scan, options));
    set_place(scan);
    qb__scan_change_places(scan, options);
    QB__OR_RETURN(set_intensity(scan, options));
    QB__OR_RETURN(check_unusable(scan));
    QB__OR_RETURN(qb__scan_fields_load(scan, options, env, &scan->dark_noise));
    scan->info.flats_how = scan->drift ? scan->drift->text : NULL;
    if (scan->info.quantity == QB_COUNTS)
        QB__OR_RETURN(qb__shade_flats(scan->flat, scan->dark, scan->info.rows * scan->info.columns, scan->dark_noise));
    QB__OR_RETURN(qb__scan_look_at_bytes(scan, options->shape != NULL));
    QB__OR_RETURN(qb__scan_mask_load(scan, options, env, &scan->unmeasured));
    QB__OR_RETURN(qb__scan_look(scan, options->keep_all_views, env, &looked));
    scan->usual_integral = looked.usual_integral;
    scan->most_integral = looked.most_integral;
    scan->odd_view = looked.odd_view, scan->odd_views = looked.odd_views;
    scan->worst = looked.worst, scan->worst_view = looked.worst_view;
    QB__OR_RETURN(qb__scan_look_at_pixels(scan, &scan->unmeasured, env));
    QB__OR_RETURN(qb__scan_look_at_dead_parts(scan, &scan->unmeasured, env));
    QB__OR_RETURN(qb__scan_look_at_margins(scan, &scan->unmeasured));
    scan->blank = qb__scan_leave_out(scan, &scan->unmeasured, scan->flat);
    QB__OR_RETURN(qb__scan_look_at_flats(scan, options->keep_all_fields));
    QB__OR_RETURN(qb__scan_look_at_flats_place(scan));
    QB__OR_RETURN(qb__scan_look_at_scales(scan));
    QB__OR_RETURN(qb__scan_look_at_rows(scan, env, &scan->lost_rows));
    QB__OR_RETURN(qb__scan_weigh_flats(scan, options, env));
    QB__OR_RETURN(qb__scan_load_places(scan, options, env));
    judge_given(scan, options);
    judge_fields(scan, options);
    qb__scan_judge_angles(scan, options->angles || options->angle_unit != QB_ANGLE_AUTO);
    scan->info.problems = scan->parts.notes.count;
    return QB_OK;
}

qb_status qb__scan_name(qb_scan *scan, const char *path) {
    scan->info.path = scan->path = qb__strdup(path);
    return scan->path ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
}

static qb_status open_scan(qb_scan *scan, const char *path, const qb_scan_options *options, const qb_env *env) {
    struct stat what;
    char settings[4096];
    const size_t failed = qb__allocations_failed();
    if (stat(path, &what) == 0 && !S_ISREG(what.st_mode) && !S_ISDIR(what.st_mode))
        return qb__fail(QB_BAD_INPUT, "%s is neither a file nor a folder", path);
    scan->parts.center = NAN;
    if (!options->angles && !options->angles_from_names && !options->shape &&
        qb__settings_in(path, settings, sizeof settings)) {
        qb__info(env, "%s: the settings %s are read, the only ones of a scanner there", path, settings);
        path = settings;
    }
    QB__OR_RETURN(qb__scan_name(scan, path));
    QB__OR_RETURN(qb__scan_open_parts(path, options, &scan->parts));
    qb__frames *const frames[] = {&scan->parts.data, &scan->parts.flats, &scan->parts.darks};
    for (int i = 0; i < 3; i++)
        if (frames[i]->source) qb__source_limit(frames[i]->source, env);
    if (*scan->parts.data.source->files) qb__info(env, "%s: %s", path, scan->parts.data.source->files);
    QB__OR_RETURN(qb__scan_complete(scan, options, env));
    /* Optional parts of a file may be unusable without an error, but not because memory ran out. */
    if (qb__allocations_failed() != failed)
        return qb__fail(QB_NO_MEMORY, "%s: memory ran out while it was opened", path);
    return QB_OK;
}

qb_status qb_scan_open(const char *path, const qb_scan_options *given, const qb_env *env, qb_scan **out) {
    QB__NEED(path);
    QB__NEED(out);
    qb_scan_options options;
    qb_scan *scan;
    *out = NULL;
    QB__CALL();
    qb_status status = qb__env_check(env);
    if (status == QB_OK) status = qb__params_view(qb_scan_params, given, &options);
    if (status == QB_OK && options.follow && *options.follow) status = qb__scan_follow(path, &options, env);
    if (status == QB_OK) status = qb__alloc(1, sizeof *scan, &scan);
    if (status != QB_OK) return status;
    qb__inputs_begin(&scan->inputs);
    status = open_scan(scan, path, &options, env);
    qb__inputs_end(&scan->inputs);
    if (status == QB_OK) status = qb__inputs_protect_all(&scan->inputs, env);
    if (status == QB_OK)
        *out = scan;
    else
        qb_scan_close(scan);
    return status;
}

void qb__scan_limit(qb_scan *scan, size_t threads) {
    qb__source *source = scan->parts.data.source;
    if (!source->computes) source->threads = qb__smaller(source->threads, threads);
}

double qb__scan_computed(const qb_scan *scan) {
    qb__source *source = scan->parts.data.source;
    return source->computes ? source->computes(source) : 0;
}

void qb_scan_close(qb_scan *scan) {
    if (!scan) return;
    qb__scan_parts_release(&scan->parts);
    qb__free(scan->angles);
    qb__scan_forget_views(scan);
    QB__FREE(scan->view, scan->lost_rows, scan->unmeasured, scan->intensity, scan->shifts, scan->turns, scan->flat,
             scan->dark);
    qb__drift_destroy(scan->drift);
    qb__free(scan->path);
    qb__inputs_release(&scan->inputs);
    qb__free(scan);
}

const qb_scan_info *qb_scan_describe(const qb_scan *scan) { return scan ? &scan->info : NULL; }

const char *qb_scan_problem(const qb_scan *scan, size_t index) {
    return scan && index < scan->parts.notes.count ? scan->parts.notes.text[index] : "";
}

qb_problem qb_scan_problem_kind(const qb_scan *scan, size_t index) {
    return scan && index < scan->parts.notes.count ? scan->parts.notes.kind[index] : QB_PROBLEM_OTHER;
}

const char *qb_problem_name(qb_problem problem) {
    static const char *const names[] = {"other", "angles", "fields", "pixels", "flats", "frames"};
    return (unsigned)problem < sizeof names / sizeof *names ? names[problem] : "unknown";
}
