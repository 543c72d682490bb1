/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/inputs.h"
#include "base/json.h"
#include "io/digest.h"
#include "io/plain/source.h"
#include "io/scan/frame_look.h"
#include "io/scan/image.h"
#include "io/scan/places.h"
#include "quickbeam/scan.h"

/* One fault of some frames, for programs that read the report. */
typedef struct qb__finding {
    const char *code, *what, *done; /* " [views-blank]"; "views", "flats" or "darks"; "left out" or "kept" */
    char which[200];                /* "141-158, 201" */
    size_t count, of;
} qb__finding;

enum { QB__FINDINGS = 16 };

typedef struct qb__findings {
    qb__finding list[QB__FINDINGS];
    size_t count;
} qb__findings;

/* Corrections that need neighbouring rows (prep/neighbours.h). While a job has set a reader of corrected rows in a scan,
 * qb_scan_read() returns corrected rows. So every reader of rows gets them, in every method and engine. */
typedef struct qb__row_reader qb__row_reader;
struct qb__row_reader {
    qb_status (*read)(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
};

struct qb_scan {
    qb_scan_info info;
    qb__scan_parts parts;
    char *path;
    qb__image image; /* how images are changed when they are read; bins of 0: not changed */
    char image_text[200];
    qb__distortion distortion; /* 0 factors: no distortion */
    double *shifts, *turns;    /* [views][2] and [views], info.shifts and info.turns */
    bool sinogram;             /* an image of the source is one detector row of all views */
    size_t first, step;        /* the scan's views are `first`, first + step, ... of the source */
    size_t *view;              /* [views] stored view of each view; NULL: evenly spaced, given by first and step */
    size_t stored;             /* views in the source */
    double *angles;            /* [views] */
    double *intensity;         /* [views] or NULL */
    float *flat, *dark;        /* [row][column] means, or NULL */
    /* how the open beam changes over the views (io/scan/drift.h); NULL: it is flat - dark in all views */
    struct qb__drift *drift;
    float dark_noise; /* standard deviation of a typical pixel of one dark frame; 0: not known */
    char quantity_from[200];
    char no_angles[360]; /* why there are no usable angles; "" */
    qb__findings found;
    bool *lost_rows; /* [row] true: no view has measured the row; NULL: no such row */
    /* [row][column] enum qb_pixel of pixels that no view has measured; NULL: all are measured */
    unsigned char *unmeasured;
    /* unmeasured pixels are marked as not measured when they are read, if no flat marks them */
    bool blank;
    struct qb__chosen_views *chosen; /* geometries with only the scan's views, for jobs (qb__scan_views_of) */
    float usual_integral;            /* nearly all views reach at most this; 0: no line integrals */
    float most_integral;             /* line integrals larger than this count as not measured; 0: QB__MOST_INTEGRAL */
    size_t odd_view, odd_views;      /* first view with values that no beam can produce, and the number of such views */
    double worst;              /* largest share of saturated values in a view, among the views that were checked */
    size_t worst_view;         /* stored view with that share */
    char gains[400];           /* sentence about views whose gain differs from the others; "": none */
    char refused[400];         /* why no method may use the scan; "": it may be used */
    qb__digest *digests;       /* digests of the input data, one for each job that reads the scan */
    qb__row_reader *corrected; /* NULL: rows are returned as stored */
    /* set in the scan of a job: filters the rows that `corrected` returns; always float32 (prep/phase.h); NULL: none */
    qb__row_reader *filtered;
    struct qb__warp *warp; /* set in the scan of a job: resamples its images (prep/warp.h); NULL: none */
    qb__inputs inputs;     /* every file of the scan: data, fields, angles, sidecars */
};

/* Limits the threads of one read. No effect on data that are computed. */
void qb__scan_limit(qb_scan *scan, size_t threads);
/* Bytes per second of a scan whose data are computed when they are read, measured at the first call; 0: the data are
 * stored. */
double qb__scan_computed(const qb_scan *scan);
/* Like qb_scan_read(), but without `corrected` and `filtered`, for callers that correct the rows themselves. */
qb_status qb__scan_read_past(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
/* Reads the stored numbers, without `corrected` and `filtered`, and without adding to the digests. The range must be inside the scan and
 * not empty. */
qb_status qb__scan_read_stored(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
/* Reads the stored numbers and adds those of rows first <= row < end to the digests. */
qb_status qb__scan_read_hashed(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, size_t first,
                               size_t end, void *out);
/* Makes `copy` a scan of float32 rows that `reader` returns. Its fields and views stay owned by `scan`, which must
 * outlive it; a job attaches its own digests to the copy. */
void qb__scan_read_through(const qb_scan *scan, qb__row_reader *reader, struct qb__warp *warp, qb_scan *copy);
/* Makes `copy` a scan whose images are read without distortion, shifts and turns, with the corrections by neighbours of
 * `scan`, which must outlive it. */
void qb__scan_unwarped(const qb_scan *scan, qb__digest *digests, qb_scan *copy);
/* From now on, a copy is read with the corrections by neighbours and the digests that `scan` has now. */
void qb__scan_read_as(const qb_scan *scan, qb_scan *copy);
/* Sets the reader of corrected rows and returns the previous one. */
qb__row_reader *qb__scan_set_corrected(qb_scan *scan, qb__row_reader *reader);
/* The type of the stored numbers. Rows of the scan have the type info.dtype. */
static inline qb_dtype qb__scan_dtype(const qb_scan *scan) { return scan->parts.data.source->dtype; }
/* Computes the weights of scan->drift, after the views are chosen. */
qb_status qb__scan_weigh_flats(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Number of series of flats, or of other modes of scan->drift; 0: no drift. */
size_t qb__scan_modes(const qb_scan *scan);
/* The stored view of a view of the scan. */
static inline size_t qb__scan_stored(const qb_scan *scan, size_t view) {
    return scan->view ? scan->view[view] : scan->first + view * scan->step;
}
/* Chooses the views that --views and --exclude leave. The scan's parts must be open. */
qb_status qb__scan_choose_views(qb_scan *scan, const qb_scan_options *options);
/* QB_BAD_INPUT if an image of the chosen views is not stored. */
qb_status qb__scan_check_holes(const qb_scan *scan);
/* Keeps only the views with keep[view], and their angles. At least one must remain. */
qb_status qb__scan_keep(qb_scan *scan, const bool *keep);
/* Adapts a caller's geometry to the scan. If `given` has a view for each stored view and the scan has fewer, returns a
 * geometry with only the scan's views, owned by the scan. Otherwise, or if memory runs out, returns `given`. */
const qb_geometry *qb__scan_views_of(qb_scan *scan, const qb_geometry *given);
void qb__scan_forget_views(qb_scan *scan);
/* QB_BAD_INPUT with the reason if no method may use the scan. */
qb_status qb__scan_usable(const qb_scan *scan);
/* From now on, images are rotated, mirrored, cropped and binned as the options say. The quantity must be known
 * before. */
qb_status qb__scan_change_images(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* qb__scan_change_images for flats or darks (`what`: "flats" or "darks") that were opened later. QB_BAD_INPUT if their
 * size differs from that of the stored views. */
qb_status qb__scan_change_fields(const qb_scan *scan, qb__source **source, const char *what, bool sinogram, bool lines);
/* Converts the stated pixel size, offset, tilt and axis to those of the changed images. */
void qb__scan_change_places(qb_scan *scan, const qb_scan_options *options);
/* Loads --distortion and --shifts, for the views that are left. */
qb_status qb__scan_load_places(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Reduces the rows row0 <= row < row1 to those that all views have measured: shifts move some rows out of some
 * views. */
void qb__scan_rows_seen(const qb_scan *scan, size_t *row0, size_t *row1);
/* Convert between a column of the whole, unbinned detector, as users count it, and a column of the images as they are
 * read; qb__row_* do the same for rows. */
double qb__column_read(const qb_scan_info *info, double column);
double qb__column_whole(const qb_scan_info *info, double column);
double qb__row_read(const qb_scan_info *info, double row);
double qb__row_whole(const qb_scan_info *info, double row);
/* For a detector rotated by `degrees` about its middle: columns of the whole detector from the axis in the middle row
 * of the detector to the axis in the middle row of the crop window. */
double qb__axis_shift(const qb_scan_info *info, double degrees);
/* If the images are cropped or binned and `read` is their detector, fills in the whole, unbinned detector and returns
 * true. qb__scan_take_window converts a geometry of the whole detector into that of the images. */
bool qb__scan_whole_detector(const qb_scan_info *scan, const qb_detector *read, qb_detector *whole);
void qb__scan_take_window(const qb_scan_info *scan, qb_geometry *geometry);
/* Keeps a copy of the path. */
qb_status qb__scan_name(qb_scan *scan, const char *path);
/* Sets all that follows from open parts: shapes, angles, quantity, pixel size, fields, problems. */
qb_status qb__scan_complete(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* The device array that holds the numbers; NULL if they are not in device memory. */
struct qb__tensor_device *qb__scan_on_device(qb_scan *scan);
/* Index in that array of column 0 of a row, and the strides of views, rows and columns, in elements. */
ptrdiff_t qb__scan_place(const qb_scan *scan, size_t view, size_t row, ptrdiff_t stride[3]);
/* QB_BAD_INPUT with the reason why the scan has no angles. */
qb_status qb__scan_lacks_angles(const qb_scan_info *info);
/* Warns if the pixel size is unknown: values are then not per mm. */
void qb__scan_warn_pixel(const qb_scan_info *info, const qb_env *env);
/* What qb__scan_look finds; fields of qb_scan with the same names say what they are. */
typedef struct qb__looked {
    float usual_integral, most_integral;
    size_t odd_view, odd_views;
    double worst;
    size_t worst_view;
} qb__looked;
/* Checks every view and leaves out bad ones; `keep`: only reports them. The fields must be loaded before. *found must
 * be zeroed. */
qb_status qb__scan_look(qb_scan *scan, bool keep, const qb_env *env, qb__looked *found);
/* Fills in scan->gains from the checked views. bad[view] is not 0 for views without usable data. */
qb_status qb__scan_find_gains(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count);
/* Whether some frames look like noise as stored, but smooth with their bytes swapped. */
qb_status qb__bytes_exchanged(const qb__frame_series *frames, bool *exchanged);
/* Whether the bytes of the darks are in another order than those of the views. */
qb_status qb__darks_exchanged(const qb__frame_series *darks, const qb__frame_series *views, bool *exchanged);
/* Warns if each view, or the whole scan, spans exactly 0 to 1: then a program has scaled the values. */
qb_status qb__scan_look_at_scales(qb_scan *scan);
/* Warns if the pattern of the flats appears in the views at another position, or mirrored. */
qb_status qb__scan_look_at_flats_place(qb_scan *scan);
/* Warns of views that repeat the view before them. bad[view] is not 0 for views without usable data. */
qb_status qb__scan_find_repeats(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count);
/* Warns of views in which something opaque covers one end of the rows. bad[view] is not 0 for views without usable
 * data. */
qb_status qb__scan_find_covered(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count);
/* Marks views of open beam, if other views show an object. `zero`: the level without beam. */
qb_status qb__scan_find_open(qb_scan *scan, const qb__frame *frames, size_t count, float zero, bool *open);
/* Refuses a scan whose bytes are in the wrong order. raw: the data are read with --shape, which can state the order. */
qb_status qb__scan_look_at_bytes(qb_scan *scan, bool raw);
/* The next four fill in or add to *mask, [row][column] enum qb_pixel, which they allocate if it is NULL and there is
 * something to mark. This one loads --mask. */
qb_status qb__scan_mask_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env, unsigned char **mask);
/* Adds stuck pixels. */
qb_status qb__scan_look_at_pixels(qb_scan *scan, unsigned char **mask, const qb_env *env);
/* Adds parts of the detector that are dead or covered in all views, but not in the flats. */
qb_status qb__scan_look_at_dead_parts(qb_scan *scan, unsigned char **mask, const qb_env *env);
/* Whether whole views may be read for a check: little must be unpacked for it, and there must be enough views. */
bool qb__scan_views_worth(const qb_scan *scan);
/* Looks at all rows, `room` at a time, with the threads of the scan's source. `states`: QB__SHARE_MOST states of `each`
 * bytes, one for each thread. */
qb_status qb__scan_look_by_blocks(const qb_scan *scan, size_t room, const qb_env *env, void *states, size_t each,
                                  qb_status (*look)(void *state, size_t row0, size_t rows));
/* Number of the scan's views that are stored together. */
size_t qb__scan_views_together(const qb_scan *scan);
/* Whether values can be changed when they are read, so that they count as not measured. */
bool qb__scan_can_blank(const qb_scan *scan);
/* Adds columns of zeros at the ends of the rows, unless they are air. */
qb_status qb__scan_look_at_margins(qb_scan *scan, unsigned char **mask);
/* Makes all marked pixels count as not measured, and counts them in scan->info: the flat, if there is one, becomes NaN
 * there. Frees a mask without marks. True: the pixels must be marked when they are read. */
bool qb__scan_leave_out(qb_scan *scan, unsigned char **mask, float *flat);
/* Warns of zingers in flats. `keep`: the mean was taken without leaving any out. */
qb_status qb__scan_look_at_flats(qb_scan *scan, bool keep);
/* *lost: [row] true for rows that no view has measured; stays NULL if there are none. The caller frees it. */
qb_status qb__scan_look_at_rows(qb_scan *scan, const qb_env *env, bool **lost);
/* Adds a finding to the report, and its sentence as a note of that kind. */
__attribute__((format(printf, 4, 5))) void qb__scan_find(qb_scan *scan, const qb__finding *finding, qb_problem kind,
                                                         const char *format, ...);
/* Adds "findings": [{code, what, which, count, of, done}] to the report and, if not all views were checked,
 * "looked_views". Adds nothing if there are none. */
void qb__scan_add_findings(const qb_scan *scan, cJSON *report);
/* Marks the scan so that no method may use it; `format` gives the reason. */
__attribute__((format(printf, 2, 3))) void qb__scan_refuse(qb_scan *scan, const char *format, ...);
/* qb__scan_refuse for unsigned counts of `what` that were stored as signed numbers. `least`: the smallest number. */
void qb__scan_refuse_wrapped(qb_scan *scan, const char *what, qb_dtype dtype, float least);
/* The same fault in only a few counts: a warning. */
void qb__scan_note_wrapped(qb_scan *scan, const char *what, qb_dtype dtype, float least);
/* Loads the mean flat and the mean dark, from the options or else from the scan's parts. *dark_noise: standard deviation
 * of a typical pixel of one dark frame; 0: not known. */
qb_status qb__scan_fields_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env, float *dark_noise);
/* Sets pixels of the flat [n] that the beam does not reach to the dark, which is a dead flat. noise: standard deviation
 * of one dark frame; 0, or a NULL field: does nothing. */
qb_status qb__shade_flats(float *flat, const float *dark, size_t n, float noise);
/* Warns if given fields are views of the scan. option: "flats" or "darks"; bad: [fields->count] true for frames that
 * are left out. */
qb_status qb__scan_tell_views(qb_scan *scan, const char *option, const qb__frames *fields, const bool *bad);
/* Whether the option is --darks none: the dark is 0, and there is no warning that darks are missing. */
bool qb__darks_none(const char *darks);
/* Radians between the smallest and the largest angle; 0 without angles. */
double qb__scan_span(const qb_scan_info *info);
/* Notes problems of the angles: missing, uneven, or repeated at the end. Notes a doubtful unit, too, unless the unit is
 * given or already checked. */
void qb__scan_judge_angles(qb_scan *scan, bool unit_given);
/* Takes the counts of a beam monitor, [stored], from the file of --angles, unless the scan states its own; frees them. */
void qb__scan_take_counts(qb_scan *scan, double *counts);
/* What an angle file says besides its numbers; "" for nothing. */
typedef struct qb__angles_said {
    char how[80];    /* which numbers were taken, such as "below its header \"angle\"" */
    char doubt[256]; /* a warning, with its code */
    double *counts;  /* [views] of the beam monitor during each view; NULL: not stated; the caller frees it */
} qb__angles_said;
/* qb_angles_parse that also fills in `said`, which may be NULL. */
qb_status qb__angles_read(const char *text, size_t views, double *radians, qb__angles_said *said);
/* Whether --angles FROM:TO[:N] has no unit and many views span little more than 2 pi: then it is doubtful whether the
 * numbers are degrees or radians. */
bool qb__angles_doubtful(const char *text, size_t views);

/* Angles in the file names of a series with one image per file: `pattern` is a name in which {} stands for the number
 * and * for any text. Into angles[views], unconverted. QB_BAD_ARGUMENT for a pattern without {}, QB_BAD_INPUT with the
 * name that does not match. */
qb_status qb__angles_of_names(const char *path, const char *pattern, size_t views, double *angles);

/* --shifts motors:U[,V[,TURN]]: reads the shifts from the sample positions of the scan. U and V name the sample axes
 * (x, y, z or none) that move the image along columns and rows; TURN names the axis about which it turns in the image.
 * A minus sign before an axis means: a larger position moves the image to smaller columns or rows, or turns it from
 * rows towards columns. Shifts are relative to the first stored view, in pixels of the whole detector and degrees.
 * qb__motors_named: whether the option begins with motors:. */
bool qb__motors_named(const char *shifts);
/* Fills stored[scan->stored][3]: columns, rows and degrees of each stored view. QB_BAD_ARGUMENT for a wrong option,
 * QB_BAD_INPUT if the scan does not state the positions. */
qb_status qb__motors_shifts(const qb_scan *scan, const char *shifts, double (*stored)[3]);
/* Notes a problem for each axis along which the sample moved and which the option does not name. `shifts`: text of
 * --shifts, or NULL. */
void qb__motion_note(qb_scan *scan, const char *shifts);
