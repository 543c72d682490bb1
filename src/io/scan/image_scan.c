/* SPDX-License-Identifier: MIT */
/* A scan whose images are changed as they are read. Values that its file states are converted accordingly. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "io/scan/frame_look.h"

static bool binned(const qb__image *image) { return image->bin_u * image->bin_v > 1; }

/* ---- faults of stored integers that sums of them do not show any more ---- */

static qb_status read_row(void *self, size_t first, size_t end, size_t row, void *out) {
    const qb__region region = {first, end - first, 1, row, row + 1};
    return qb__frames_read(self, &region, out);
}

static qb_status look_at_stored(qb_scan *scan, const qb_env *env) {
    enum { LOOKS = 32, LINES = 2 };
    const qb__frames *data = &scan->parts.data;
    const qb__source *source = data->source;
    const size_t count = data->index ? data->count : source->shape[0];
    qb__frame_series series = {.self = (void *)data,
                               .read = read_row,
                               .dtype = source->dtype,
                               .count = count,
                               .rows = source->shape[1],
                               .columns = source->shape[2],
                               .lines = qb__smaller(LINES, source->shape[1]),
                               .stride = qb__larger(1, count / LOOKS),
                               .ends = true};
    qb__frame *frames = NULL;
    bool exchanged = false;
    float least;
    qb_status status;
    if (qb_dtype_is_float(source->dtype) || qb_dtype_size(source->dtype) < 2 || source->holes) return QB_OK;
    QB__TRY(qb__alloc(count, sizeof *frames, &frames));
    QB__TRY(qb__frames_look(&series, env, frames));
    if (qb__counts_wrapped(frames, count, source->dtype, &least) != QB__WRAPPED_NONE)
        qb__scan_refuse_wrapped(scan, "counts", source->dtype, least);
    QB__TRY(qb__bytes_exchanged(&series, &exchanged));
    if (exchanged)
        qb__scan_refuse(scan,
                        "its %s values are noise as stored, and smooth with their bytes exchanged: the byte order is "
                        "wrong; store them again (numpy: data.byteswap())",
                        qb_dtype_name(source->dtype));
out:
    qb__free(frames);
    return status;
}

/* ---- images ---- */

static qb_status check_turn(const qb_scan *scan, const qb_scan_options *options, bool sinogram) {
    if (sinogram && options->rotate % 2)
        return qb__fail(QB_UNSUPPORTED,
                        "%s: --rotate 90 and 270 need images of whole views, not of sinograms: store them as "
                        "[view][row][column]",
                        scan->path);
    return QB_OK;
}

qb_status qb__scan_change_images(qb_scan *scan, const qb_scan_options *options, const qb_env *env) {
    const bool sinogram = options->as == QB_IMAGE_SINOGRAM;
    qb__frames *const frames[] = {&scan->parts.data, &scan->parts.flats, &scan->parts.darks};
    qb_scan_info *info = &scan->info;
    qb__image *image = &scan->image;
    const qb__source *source = frames[0]->source;
    const size_t rows = source->shape[sinogram ? 0 : 1], columns = source->shape[2];
    info->whole_rows = rows, info->whole_columns = columns, info->bin[0] = info->bin[1] = 1;
    if (!qb__image_wanted(options)) return QB_OK;
    QB__OR_RETURN(check_turn(scan, options, sinogram));
    QB__OR_RETURN(qb__image_parse(options, rows, columns, image));
    qb__image_text(image, scan->image_text, sizeof scan->image_text);
    if (!*scan->image_text) { /* nothing changes: --bin 1, or a window of the whole image */
        *image = (qb__image){0};
        return QB_OK;
    }
    image->sum = info->quantity == QB_COUNTS;
    if (binned(image) && image->sum && !sinogram) QB__OR_RETURN(look_at_stored(scan, env));
    if (sinogram) QB__OR_RETURN(qb__source_check_holes(source, NULL, 0, rows, 1));
    for (int i = 0; i < 3; i++) {
        qb__source **one = &frames[i]->source;
        if (!*one || (i && *one == frames[i - 1]->source)) continue;
        const bool lines = i && rows == 1 && (*one)->shape[1] > 1;
        QB__OR_RETURN(qb__scan_change_fields(scan, one, i == 1 ? "flats" : "darks", i == 0 && sinogram, lines));
    }
    qb__image_text(image, scan->image_text, sizeof scan->image_text);
    info->image = scan->image_text;
    if (scan->parts.placed && (image->turn || image->flip_u || image->flip_v)) {
        qb__note(&scan->parts.notes,
                 "the geometry of each view in %s is that of the images as stored, and is not used with --rotate or "
                 "--flip: give -g FILE for the turned images" QB__CODE("metadata-unusable"),
                 scan->parts.placed);
        qb__free(scan->parts.placed);
        scan->parts.placed = NULL;
    }
    info->whole_rows = image->whole_rows, info->whole_columns = image->whole_columns;
    info->window[0] = image->first_column, info->window[1] = image->first_row;
    info->bin[0] = image->bin_u, info->bin[1] = image->bin_v;
    qb__info(env, "images: %s: %zu columns and %zu rows of %zu and %zu", scan->image_text, image->columns, image->rows,
             info->whole_columns, info->whole_rows);
    return QB_OK;
}

qb_status qb__scan_change_fields(const qb_scan *scan, qb__source **source, const char *what, bool sinogram,
                                 bool lines) {
    const qb__image *image = &scan->image;
    const size_t *n = (*source)->shape, rows = n[sinogram ? 0 : 1];
    if (!image->bin_u) return QB_OK;
    if (n[2] != image->stored_columns || (rows != image->stored_rows && !lines))
        return qb__fail(QB_BAD_INPUT,
                        "%s: %s are %zu x %zu, views are stored as %zu x %zu: give those of the same detector",
                        (*source)->path, what, rows, n[2], image->stored_rows, image->stored_columns);
    return qb__source_image(source, image, sinogram, lines);
}

/* ---- what the file states ---- */

static void exchange(double *a, double *b) {
    const double kept = *a;
    *a = *b, *b = kept;
}

/* Convert a vector along the stored columns and rows to one along those of the rotated image. */
static void turn_way(const qb__image *image, double *at) {
    for (int i = 0; i < image->turn;
         i++) { /* a quarter turn clockwise: columns grow where rows fell, rows with columns */
        exchange(&at[0], &at[1]);
        at[0] = -at[0];
    }
    if (image->flip_u) at[0] = -at[0];
    if (image->flip_v) at[1] = -at[1];
}

/* Convert the detector's offset and its rotations to the rotated image. */
static void turn_place(const qb__image *image, qb_scan_info *info) {
    turn_way(image, info->detector_offset);
    if (image->flip_u != image->flip_v) info->detector_tilt = 0 - info->detector_tilt;
    if ((image->turn == 2) != image->flip_v) {
        info->detector_lean = 0 - info->detector_lean;
        info->rows_down = false;
    }
}

/* Convert the column of the axis from the stored images. If images are rotated by 90 degrees, no column is the axis. */
static void turn_axis(const qb__image *image, qb_scan_info *info) {
    if (image->turn % 2) info->center = NAN, info->center_holds = false;
    if ((image->turn == 2) != image->flip_u) info->center = (double)image->stored_columns - 1 - info->center;
}

void qb__scan_change_places(qb_scan *scan, const qb_scan_options *options) {
    const qb__image *image = &scan->image;
    qb_scan_info *info = &scan->info;
    if (!image->bin_u) return;
    const bool given = options->pixel_size > 0 || (options->pixels.count && options->pixels.value[0] > 0);
    if (image->turn % 2 && !given) exchange(&info->pixel_size, &info->pixel_v);
    info->pixel_size *= (double)image->bin_u, info->pixel_v *= (double)image->bin_v;
    turn_place(image, info);
    turn_axis(image, info);
}

/* ---- distortion and shifts ---- */

/* Take the shifts that the file states, which are those of the stored images. */
static void take_shifts(const qb_scan *scan, double (*stored)[3]) {
    for (size_t i = 0; i < scan->stored; i++) {
        memcpy(stored[i], scan->parts.shifts + 2 * i, 2 * sizeof(double));
        stored[i][2] = 0;
        if (scan->image.bin_u) turn_way(&scan->image, stored[i]);
    }
}

/* Keep the shifts and rotations of the chosen views. */
static qb_status keep_shifts(const qb_scan *scan, double (*stored)[3], double most[3], double **shifts,
                             double **turns) {
    const double degree = 57.29577951308232;
    const size_t views = scan->info.views;
    QB__OR_RETURN(qb__alloc(2 * views, sizeof **shifts, shifts));
    QB__OR_RETURN(qb__alloc(views, sizeof **turns, turns));
    for (size_t i = 0; i < views; i++) {
        const double *s = stored[qb__scan_stored(scan, i)];
        memcpy(*shifts + 2 * i, s, 2 * sizeof *s);
        (*turns)[i] = s[2] / degree;
        for (int k = 0; k < 3; k++) most[k] = fmax(most[k], fabs(s[k]));
    }
    return QB_OK;
}

/* Load the shifts from the file at `path`; NULL: take those that the scan states. */
static qb_status load_shifts(qb_scan *scan, const char *path, const qb_env *env) {
    const double MOST_TURN = 45;
    qb_scan_info *info = &scan->info;
    const char *option = path ? "--shifts " : "", *from = path ? path : scan->path;
    double(*stored)[3] = NULL, most[3] = {0};
    qb_status status;
    QB__TRY(qb__alloc(scan->stored, sizeof *stored, &stored));
    if (qb__motors_named(path))
        QB__TRY(qb__motors_shifts(scan, path, stored));
    else if (path)
        QB__TRY(qb__shifts_load(path, scan->stored, stored));
    else
        take_shifts(scan, stored);
    QB__TRY(keep_shifts(scan, stored, most, &scan->shifts, &scan->turns));
    info->shifts = scan->shifts;
    info->turns = most[2] > 0 ? scan->turns : NULL;
    for (int k = 0; k < 2; k++)
        if (most[k] > 0.5 * (double)(k ? info->whole_rows : info->whole_columns) && (k == 0 || info->whole_rows > 1))
            QB__TRY(qb__fail(QB_BAD_INPUT, "%s%s moves a view by %g %s of %zu: are these pixels?", option, from,
                             most[k], k ? "rows" : "columns", k ? info->whole_rows : info->whole_columns));
    if (most[2] > MOST_TURN)
        QB__TRY(qb__fail(QB_BAD_INPUT, "%s%s turns a view by %g degrees, at most %g are taken", option, from, most[2],
                         MOST_TURN));
    qb__info(env, "%s: views have moved by up to %.4g columns and %.4g rows", path ? "--shifts" : from, most[0],
             most[1]);
    if (info->turns) qb__info(env, "--shifts: views are turned by up to %.4g degrees", most[2]);
out:
    qb__free(stored);
    return status;
}

qb_status qb__scan_load_places(qb_scan *scan, const qb_scan_options *options, const qb_env *env) {
    const qb__image *image = &scan->image;
    const bool changed = image->bin_u > 0;
    const size_t rows = changed ? image->stored_rows : scan->info.rows,
                 columns = changed ? image->stored_columns : scan->info.columns;
    qb_status status = qb__distortion_load(options->distortion, rows, columns, &scan->distortion);
    const bool given = options->shifts && *options->shifts;
    qb__motion_note(scan, given ? options->shifts : NULL);
    if (status == QB_OK && (given || (scan->parts.shifts && !scan->sinogram)))
        status = load_shifts(scan, given ? options->shifts : NULL, env);
    return status;
}

void qb__scan_rows_seen(const qb_scan *scan, size_t *row0, size_t *row1) {
    const qb_scan_info *info = &scan->info;
    const double bin = scan->image.bin_v ? (double)scan->image.bin_v : 1;
    double up = 0, down = 0;
    for (size_t i = 0; info->shifts && i < info->views; i++) {
        const double corner = info->turns ? 0.5 * (double)info->whole_columns * fabs(sin(info->turns[i])) : 0;
        up = fmax(up, (info->shifts[2 * i + 1] + corner) / bin);
        down = fmax(down, (corner - info->shifts[2 * i + 1]) / bin);
    }
    *row0 = qb__larger(*row0, (size_t)ceil(down));
    *row1 = qb__smaller(*row1, info->rows - qb__smaller(info->rows, (size_t)ceil(up)));
}

double qb__column_whole(const qb_scan_info *info, double column) {
    if (!info || !info->image) return column;
    return (column + 0.5) * (double)info->bin[0] - 0.5 + (double)info->window[0];
}

double qb__column_read(const qb_scan_info *info, double column) {
    if (!info || !info->image) return column;
    return (column - (double)info->window[0] + 0.5) / (double)info->bin[0] - 0.5;
}

double qb__row_read(const qb_scan_info *info, double row) {
    if (!info->image) return row;
    return (row - (double)info->window[1] + 0.5) / (double)info->bin[1] - 0.5;
}

double qb__row_whole(const qb_scan_info *info, double row) {
    if (!info->image) return row;
    return (row + 0.5) * (double)info->bin[1] - 0.5 + (double)info->window[1];
}

double qb__axis_shift(const qb_scan_info *info, double degrees) {
    const double above =
        (double)info->window[1] + 0.5 * (double)(info->rows * info->bin[1]) - 0.5 * (double)info->whole_rows;
    return info->image ? -tan(degrees * M_PI / 180) * above : 0;
}
