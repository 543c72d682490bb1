/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SCAN_H
#define QB_IO_SCAN_H

#include "base/inputs.h"
#include "base/json.h"
#include "io/digest.h"
#include "io/plain/source.h"
#include "io/scan/frame_look.h"
#include "io/scan/image.h"
#include "io/scan/places.h"

/* What was found wrong with some frames, for programs. */
typedef struct qb__finding {
    const char *code, *what, *done; /* " [views-blank]"; "views", "flats" or "darks"; "left out" or "kept" */
    char which[200];                /* "141-158, 201" */
    size_t count, of;
} qb__finding;

enum { QB__FINDINGS = 16 };

/* Corrections that look at neighbouring rows (prep/neighbours.h). While a job has put its own in front of a scan,
 * qb_scan_read() hands out corrected rows: every reader of rows gets them, whatever method and engine it belongs to. */
typedef struct qb__scan_door qb__scan_door;
struct qb__scan_door {
    qb_status (*read)(qb__scan_door *door, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
};

struct qb_scan {
    qb_scan_info info;
    qb__scan_parts parts;
    char *path;
    qb__image image; /* how images are changed as they are read; its bins are 0: not at all */
    char image_text[200];
    qb__distortion distortion; /* no factors: none */
    double *shifts, *turns;    /* [views][2] and [views], info.shifts and info.turns */
    bool sinogram;             /* an image of the source is a detector row over all views */
    size_t first, step;        /* first view of the source, and step, of the views that the scan has */
    size_t *view;       /* [views] stored view of each view; NULL: they are evenly spaced, first and step say which */
    size_t stored;      /* views in the source */
    double *angles;     /* [views] */
    double *intensity;  /* [views] or NULL */
    float *flat, *dark; /* [row][column] means, or NULL */
    struct qb__drift
        *drift;       /* how the open beam changes over the views (io/scan/drift.h); NULL: it is flat - dark in all */
    float dark_noise; /* standard deviation of a usual pixel of one dark frame; 0: it is not known */
    char quantity_from[200];
    char no_angles[360]; /* why there are none that could be used; "" */
    qb__finding finding[QB__FINDINGS];
    size_t findings;
    bool *lost_rows;           /* [row]: no view has measured it; NULL: there is none */
    unsigned char *unmeasured; /* [row][column]: enum qb_pixel of pixels that no view has measured; NULL: all have */
    bool blank;                /* they are read as not measured, where no flat field says so */
    struct qb__chosen_views *chosen; /* geometries of the views that it has, for their jobs */
    float most_integral;             /* line integrals of a larger size were not measured; 0: QB__MOST_INTEGRAL */
    size_t odd_view, odd_views; /* the first view in which the look saw numbers that no beam makes, and in how many */
    double worst;               /* largest share of a view's numbers that is saturated, among those looked at */
    size_t worst_view;          /* the stored view in which most samples were saturated */
    char gains[400];            /* sentence on the views whose gain differs from the others'; "": none */
    char refused[400];          /* why no method may use it; "": they may */
    qb__digest *digests;        /* digests of the jobs that read it */
    qb__scan_door *door;        /* NULL: rows are handed out as they are stored */
    /* a job's own scan: filters what `door` hands out, as float32 whatever is stored (prep/phase.h); NULL: none */
    qb__scan_door *filtered;
    qb__inputs inputs; /* every file of it: data, fields, angles, notes beside them */
};

/* No more threads than that read it, where it is stored. */
void qb__scan_limit(qb_scan *scan, size_t threads);
/* Bytes a second of a scan that is computed when it is read, tried out the first time that somebody asks; 0: it is
 * stored. */
double qb__scan_computed(const qb_scan *scan);
/* As qb_scan_read(), past the door: for who does its corrections by itself. */
qb_status qb__scan_read_past(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
/* The numbers as they are stored, past the door and the digests. The range must be inside the scan and not empty. */
qb_status qb__scan_read_stored(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
/* Adds stored numbers to the digests of the jobs that read the scan: [view][row] without gaps. */
void qb__scan_digest(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, const void *raw);
/* The type of the stored numbers; that of the scan's rows is info.dtype. */
static inline qb_dtype qb__scan_dtype(const qb_scan *scan) { return scan->parts.data.source->dtype; }
/* The weights of scan->drift, once the scan's views are chosen. */
qb_status qb__scan_weigh_flats(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Series of flats, or other modes of its drift; 0: there is no drift. */
size_t qb__scan_modes(const qb_scan *scan);
/* The view in the source that a view of the scan is. */
static inline size_t qb__scan_stored(const qb_scan *scan, size_t view) {
    return scan->view ? scan->view[view] : scan->first + view * scan->step;
}
/* The views that --views and --exclude leave, with parts that are open. */
qb_status qb__scan_choose_views(qb_scan *scan, const qb_scan_options *options);
/* QB_BAD_INPUT where images of these views lie nowhere. */
qb_status qb__scan_check_holes(const qb_scan *scan);
/* Of its views only those for which keep[view]; one at least. Their angles follow. */
qb_status qb__scan_keep(qb_scan *scan, const bool *keep);
/* A caller's geometry with a view for each stored one, of which the scan has fewer: one of the scan's views, the scan's
 * own. Else the same one, and so where there is no memory. */
const qb_geometry *qb__scan_views_of(qb_scan *scan, const qb_geometry *given);
void qb__scan_forget_views(qb_scan *scan);
/* QB_BAD_INPUT with the reason where no method may use it. */
qb_status qb__scan_usable(const qb_scan *scan);
/* Images are turned, mirrored, cut and binned as the options say, from now on; its quantity is known. */
qb_status qb__scan_change_images(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* The same for flats or darks ("flats") that were opened later. QB_BAD_INPUT where they are of another size than stored
 * views. */
qb_status qb__scan_change_fields(const qb_scan *scan, qb__source **source, const char *what, bool sinogram, bool lines);
/* Pixel size, offset, tilt and axis, as the file states them, of the images as they are then. */
void qb__scan_change_places(qb_scan *scan, const qb_scan_options *options);
/* --distortion and --shifts, of the views that are left. */
qb_status qb__scan_load_places(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Of rows row0 <= row < row1 those that are on the image in all views: shifts take some off it in some views. */
void qb__scan_rows_seen(const qb_scan *scan, size_t *row0, size_t *row1);
/* A column of the whole detector, unbinned, as people count it, is this one of what is read; and back. */
double qb__column_read(const qb_scan_info *info, double column);
double qb__column_whole(const qb_scan_info *info, double column);
double qb__row_read(const qb_scan_info *info, double row);
double qb__row_whole(const qb_scan_info *info, double row);
/* Of a detector turned by `degrees` about its middle: whole columns from the axis in its middle row to that in the
 * window's. */
double qb__axis_shift(const qb_scan_info *info, double degrees);
/* The whole, unbinned detector, if `read` is that of the scan's images and those are changed; its geometry becomes
 * theirs. */
bool qb__scan_whole_detector(const qb_scan_info *scan, const qb_detector *read, qb_detector *whole);
void qb__scan_take_window(const qb_scan_info *scan, qb_geometry *geometry);
/* All that follows from parts that are open: shapes, angles, quantity, pixel, fields, problems. */
qb_status qb__scan_complete(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* The array that the numbers are in, where that is in a device's memory; else NULL. */
struct qb__tensor_device *qb__scan_on_device(qb_scan *scan);
/* In that array: index of the element of column 0, and strides of views, rows and columns in elements. */
ptrdiff_t qb__scan_place(const qb_scan *scan, size_t view, size_t row, ptrdiff_t stride[3]);
/* QB_BAD_INPUT with the reason why a scan has no angles. */
qb_status qb__scan_lacks_angles(const qb_scan_info *info);
/* Where the size of a pixel is unknown, values are not per mm. */
void qb__scan_warn_pixel(const qb_scan_info *info, const qb_env *env);
/* Look at every view and leave out the bad ones, unless `keep`: then they are only named. Once fields are there. */
qb_status qb__scan_look(qb_scan *scan, bool keep, const qb_env *env);
/* Fills in gains by the look at its views; bad[view] is not 0 for views that are none. */
qb_status qb__scan_find_gains(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count);
/* Whether the numbers of some frames are noise as stored, and smooth with their bytes exchanged. */
qb_status qb__bytes_exchanged(const qb__frame_series *frames, bool *exchanged);
/* Whether the bytes of darks are in another order than those of the views. */
qb_status qb__darks_exchanged(const qb__frame_series *darks, const qb__frame_series *views, bool *exchanged);
/* Warns where each view spans exactly 0 to 1, or the whole scan does: a program scaled them. */
qb_status qb__scan_look_at_scales(qb_scan *scan);
/* Warns where the pattern of the flats is that of the views elsewhere, or flipped. */
qb_status qb__scan_look_at_flats_place(qb_scan *scan);
/* Warns of views that repeat the view before them; bad[view] is not 0 for views that are none. */
qb_status qb__scan_find_repeats(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count);
/* Warns of views into which something opaque reaches from an end of their rows; bad[view] is not 0 for views that are
 * none. */
qb_status qb__scan_find_covered(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count);
/* Marks views of open beam among others that show an object; `zero`: the level without beam. */
qb_status qb__scan_find_open(qb_scan *scan, const qb__frame *frames, size_t count, float zero, bool *open);
/* Refuses a scan whose bytes are in the wrong order; raw: --shape says which order they have. */
qb_status qb__scan_look_at_bytes(qb_scan *scan, bool raw);
/* --mask, into unmeasured. */
qb_status qb__scan_mask_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Adds the stuck pixels to unmeasured; all of it counts as not measured from then on. */
qb_status qb__scan_look_at_pixels(qb_scan *scan, const qb_env *env);
/* Adds parts of the detector that are dead or covered in all views, and not in the flats, to unmeasured. */
qb_status qb__scan_look_at_dead_parts(qb_scan *scan, const qb_env *env);
/* Whether whole views may be read for a look: without unpacking much, and there is enough to tell. */
bool qb__scan_views_worth(const qb_scan *scan);
/* Whether numbers that are read can be made such that they count as not measured. */
bool qb__scan_can_blank(const qb_scan *scan);
/* All unmeasured pixels count as not measured from now on. */
void qb__scan_leave_out(qb_scan *scan);
/* Adds columns of 0 at the ends of rows to unmeasured, where they are no air. */
qb_status qb__scan_look_at_margins(qb_scan *scan);
/* Warns of zingers in flats; `keep`: none were left out of the mean. */
qb_status qb__scan_look_at_flats(qb_scan *scan, bool keep);
/* Fills in lost_rows. */
qb_status qb__scan_look_at_rows(qb_scan *scan, const qb_env *env);
/* One more finding: kept for programs, and its sentence as a note of that kind. */
__attribute__((format(printf, 4, 5))) void qb__scan_find(qb_scan *scan, const qb__finding *finding, qb_problem kind,
                                                         const char *format, ...);
/* "findings": [{code, what, which, count, of, done}], and, where not all views were looked at, "looked_views". NULL:
 * none. */
void qb__scan_add_findings(const qb_scan *scan, cJSON *report);
/* No method may use this scan; `format` says why. */
__attribute__((format(printf, 2, 3))) void qb__scan_refuse(qb_scan *scan, const char *format, ...);
/* qb__scan_refuse for unsigned counts of `what` that were stored as signed numbers. */
void qb__scan_refuse_wrapped(qb_scan *scan, const char *what, qb_dtype dtype, float least);
/* Of a few counts only: a warning. */
void qb__scan_note_wrapped(qb_scan *scan, const char *what, qb_dtype dtype, float least);
/* Flats and darks of the options, else of the parts, as means. */
qb_status qb__scan_fields_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env);
/* Pixels without beam in the flats become dead there. */
qb_status qb__scan_shade_flats(qb_scan *scan);
/* Warns where given fields ("flats", "darks") are views of the scan; bad: frames that are left out. */
qb_status qb__scan_tell_views(qb_scan *scan, const char *option, const qb__frames *fields, const bool *bad);
/* --darks none: the dark is 0, and nothing is to be said of it. */
bool qb__darks_none(const char *darks);
/* Notes on angles: missing, uneven, repeated ends, and, unless the unit was given or is judged already, doubtful
 * units. */
void qb__scan_judge_angles(qb_scan *scan, bool unit_given);
/* What there is to say of a file of angles beside its numbers; "" where there is nothing. */
typedef struct qb__angles_said {
    char how[80];    /* "below its header \"angle\"" */
    char doubt[256]; /* a warning, with its code */
} qb__angles_said;
/* qb_angles_parse; `said` may be NULL. */
qb_status qb__angles_read(const char *text, size_t views, double *radians, qb__angles_said *said);
/* --angles FROM:TO[:N] of many views within a little over 2 pi, without a unit: degrees are meant, or radians were
 * given. */
bool qb__angles_doubtful(const char *text, size_t views);

#endif
