/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_SCAN_H
#define QUICKBEAM_SCAN_H

#include "quickbeam/array.h"
#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/param.h"
#include "quickbeam/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the numbers of a scan are; auto: as the file says, else counts for HDF5 and integers, line
 * integrals for floats. */
typedef enum qb_quantity { QB_QUANTITY_AUTO, QB_COUNTS, QB_TRANSMISSION, QB_LINE_INTEGRAL } qb_quantity;
QB_API const char *qb_quantity_name(qb_quantity quantity); /* "counts" */

/* What one image of a file is: a view, or a detector row over all views. Auto: a view. */
typedef enum qb_image { QB_IMAGE_AUTO, QB_IMAGE_PROJECTION, QB_IMAGE_SINOGRAM } qb_image;

/* Auto: as a file says, else degrees, unless more than eight angles span so little that they may be
 * radians: then QB_BAD_INPUT. */
typedef enum qb_angle_unit { QB_ANGLE_AUTO, QB_ANGLE_DEGREES, QB_ANGLE_RADIANS } qb_angle_unit;

/* Where flats were taken at several times: their mean, or for each view what lies on the line between the series before and
 * behind it, or the nearer one. Pca: the mean and principal components of all flats, as much of each as makes a view smoothest (dynamic flat fields, Van
 * Nieuwenhove 2015). Auto: linear where it is known when they were taken, else the mean. */
typedef enum qb_flat_fields {
    QB_FLATS_AUTO,
    QB_FLATS_MEAN,
    QB_FLATS_LINEAR,
    QB_FLATS_NEAREST,
    QB_FLATS_PCA
} qb_flat_fields;

/* How frames of flats, or of darks, of one time become one: their mean without single values that lie far from all others of their
 * pixel, their plain mean, or their median. */
typedef enum qb_field_average { QB_AVERAGE_ROBUST, QB_AVERAGE_MEAN, QB_AVERAGE_MEDIAN } qb_field_average;

/* Which order of an image is reversed: that of its columns (u), its rows (v), or both. */
typedef enum qb_flip { QB_FLIP_NONE, QB_FLIP_U, QB_FLIP_V, QB_FLIP_UV } qb_flip;
/* By how many degrees images are turned clockwise, row 0 on top. */
typedef enum qb_rotate { QB_ROTATE_0, QB_ROTATE_90, QB_ROTATE_180, QB_ROTATE_270 } qb_rotate;

/* How to open a scan; every field may be left at its default. */
typedef struct qb_scan_options {
    size_t struct_size;  /* see qb_params_init */
    const char *dataset; /* HDF5 path of the projections (or of the NXtomo entry) */
    qb_image as;         /* what one image of the file is */
    qb_quantity quantity;
    const char *angles; /* degrees: FROM:TO[:N] (TO exclusive) or FILE[:COLUMN][:A:B:S]; NULL = from the scan */
    const char *flats;  /* files, folders or patterns of flat fields, one a line; FILE.h5:/PATH; NULL = from the scan */
    const char *darks;  /* file, folder or pattern of dark fields; NULL = from the scan; "none": the dark is 0 */
    double pixel_size;  /* mm; 0 = from the scan */
    const char *views;  /* A:B[:S]: only these views; NULL = all */
    const char *shape;  /* raw files: VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET], whatever the order in the file */
    qb_angle_unit angle_unit;  /* unit of `angles`, or of the scan's own angles, whatever the file states */
    const char *exclude;       /* stored views that are left out, "141:227,300"; NULL = none */
    const char *exclude_flats; /* flat fields to leave out, as exclude */
    const char *exclude_darks; /* dark fields to leave out, as exclude */
    bool keep_all_views;       /* views that cannot be right are named, but not left out */
    bool keep_all_fields;      /* keep all flats and darks; robust means are plain means */
    qb_numbers pixels;         /* mm along columns and rows, U,V, or one number for both, in place of pixel_size */
    bool read_unsigned;        /* integers are unsigned, also where the file says that they are signed */
    const char *mask; /* image [row][column]; FILE.h5:/PATH: pixels that are not 0 count as not measured; NULL = none */
    qb_flat_fields flat_fields; /* the flat of each view: the mean, or interpolated in time */
    const char *flats_at; /* "0,900": the views before which the series of flats were taken; NULL = from the scan */
    /* Views, flats, darks and the mask are changed as they are read: turned, mirrored, cut, binned, in this order. All that
     * describes the detector (pixels, axis, offsets, tilt, geometry files) is that of the whole, upright, unbinned one, and follows. */
    qb_rotate rotate;
    qb_flip flip;
    const char *crop; /* "C0:C1,R0:R1": a window of columns and rows; NULL = all */
    const char *bin;  /* "N" or "NUxNV" columns and rows become one pixel; NULL = 1 */
    /* Methods, center and convert take both out behind the flat field; qb_scan_read does not. */
    const char *
        distortion; /* file of discorpy's: xcenter, ycenter, factor0, ... of the backward model, stored pixels; NULL = none */
    const char *
        shifts; /* file of lines U V [TURN], one a stored view: columns and rows by which its image has moved, and degrees by which it
                   is turned, columns towards rows; motors:U[,V[,TURN]]; NULL = none */
    const char
        *follow; /* "SECONDS[:VIEWS|:FILE]": wait for views that are still being written, until there are as many as
                           `angles` has, or so many, or FILE is there; NULL = do not wait */
    const char
        *angles_from_names; /* a file's name with {} for its angle and * for anything, in place of `angles`; NULL */
    const char *transpose;  /* the file's axes, the slowest first, "columns,rows,views"; NULL = views,rows,columns */
    qb_field_average average_fields; /* flats and darks of one time */
} qb_scan_options;
QB_API extern const qb_param qb_scan_params[];

/* An open scan: projections [view][row][column] on disk, with what is known about them. */
typedef struct qb_scan qb_scan;

typedef struct qb_scan_info {
    const char *path;
    const char *format; /* "DataExchange HDF5", "NXtomo HDF5", "TIFF stack", ... */
    qb_dtype dtype;
    size_t views, rows, columns;
    qb_quantity quantity;
    const char *stated;        /* the file's own word for that, "attenuation" of a volume; "" */
    const char *quantity_from; /* "stated in the file", "assumed: integer data are counts", ... */
    const double *angles;      /* [views] radians; NULL when the scan has none and none were given */
    const char *angles_from;   /* "/exchange/theta", "--angles 0:180", ... */
    size_t flats, darks;       /* how many frames */
    double pixel_size;         /* mm; 0 when unknown */
    const char *pixel_from;
    qb_beam beam;       /* as the file states it */
    double center;      /* the axis' column on the whole detector as the file states it; NAN when it does not */
    size_t cache_bytes; /* what reading holds besides what it is asked for */
    size_t chunk_rows;  /* storage comes in pieces of so many rows that are costly to read
                                  twice (compressed chunks); 1 when any rows can be had alone */
    size_t problems;    /* number of problems, for qb_scan_problem */
    size_t stored;      /* views in the file */
    size_t first_view, view_step; /* the scan has every view_step-th stored view from first_view on (--views) */
    const char *geometry_from;    /* the file that says where source and detector of a cone beam are; NULL: none does */
    size_t first_slice; /* the number that the scan's own files give to row 0 (sv-mbirct: FirstSliceNumber); else 0 */
    bool
        center_holds; /* reconstructions use `center` by default: it was written for that, as in scans of sv-mbirct and by qb
                                  convert. A motor's estimate, as in NXtomo, is used on request only */
    const char *files;          /* for several files: "90 files, p_000.tif to p_089.tif"; else "" */
    const char *no_angles;      /* why `angles` is NULL, one sentence with the remedy; NULL where there are angles */
    const size_t *stored_views; /* [views]: the stored view that each is, where some between were left out; NULL: as
                                   first_view and view_step say */
    double detector_offset
        [2]; /* mm: where the file puts the middle of its images (Offset of MetaImage), relative to the principal
                                  ray; NAN where it does not say. A circular cone beam goes by it unless an offset is given */
    const double *
        intensity; /* [views] intensity of each view as the file's monitor has it, over that of its flats; NULL: none */
    double intensity_range[2];  /* the least and the most of them */
    const char *intensity_from; /* where they are from */
    double pixel_v;             /* mm: the pitch of the rows; pixel_size unless options->pixels gives another */
    size_t looked_views; /* views of which some rows were looked at for faults; of large compressed scans not all */
    const char *taller; /* cone beam, after qb_scan_check: where the object goes on above or below the detector, such as
                                   "at both ends"; NULL: nowhere, or not known */
    double sod,
        sdd; /* mm from the source to the axis and to the detector, as the file states them; 0 where it does not */
    double energy;        /* keV of the beam as the file states it; 0 where it does not */
    double distance;      /* mm from the object to the detector as the file states it; 0 where it does not */
    size_t masked, stuck; /* pixels that count as not measured: by options->mask; that hold one value in all views */
    double
        detector_tilt; /* degrees by which the file states the detector of a cone beam to be turned in its plane, as in
                             qb_geometry_options.tilt; 0 where it does not */
    const char *flats_how;            /* how flats of several times are taken, in words; NULL: their mean */
    const char *image;                /* how images are changed as they are read, in words; NULL: they are not */
    size_t whole_rows, whole_columns; /* of the upright detector, before options->crop and bin */
    size_t window[2];                 /* the first column and row of the window that options->crop takes */
    size_t bin[2];                    /* so many columns and rows of it are one */
    const double *shifts; /* [views][2] columns and rows of the whole detector by which views have moved; NULL: none */
    const double *turns;  /* [views] radians by which they are turned before, about its middle; NULL: none */
} qb_scan_info;

/* Open and describe; reads metadata, flats, darks, angles and a few rows of each view. Views that cannot be right (no beam,
 * only NaN, one value everywhere, saturated) are left out, unless options->keep_all_views: the scan has fewer views then,
 * and a problem names them. What is odd but survivable becomes a problem; what cannot be read is QB_NOT_FOUND,
 * QB_BAD_INPUT or QB_UNSUPPORTED. The info lives as long as the scan. */
QB_API qb_status qb_scan_open(const char *path, const qb_scan_options *options, const qb_env *env, qb_scan **scan);
/* The same from arrays, which are borrowed until the scan is closed: projections [view][row][column]
 * ([row][view][column] with options->as; of two dimensions: [view][column]) of any type and strides,
 * angles[views] in radians (copied; NULL = options->angles), flats and darks [frame][row][column] or
 * one frame [row][column] (NULL = options', or none). options may be NULL; dataset and shape have no
 * meaning. QB_BAD_ARGUMENT for what is no array, QB_UNSUPPORTED for memory that cannot be read. */
QB_API qb_status qb_scan_from_tensor(const qb_tensor *projections, const double *angles, const qb_tensor *flats,
                                     const qb_tensor *darks, const qb_scan_options *options, const qb_env *env,
                                     qb_scan **scan);
QB_API void qb_scan_close(qb_scan *scan); /* NULL-safe */
QB_API const qb_scan_info *qb_scan_describe(const qb_scan *scan);
/* One sentence: "theta is missing: give --angles", "flat pixel (0,0) is 0 (1 of 21600)". */
QB_API const char *qb_scan_problem(const qb_scan *scan, size_t index);
/* What a problem is about, for programs; the sentence is for people. */
typedef enum qb_problem {
    QB_PROBLEM_OTHER,
    QB_PROBLEM_ANGLES, /* there are none that could be used */
    QB_PROBLEM_FIELDS, /* dark fields are missing, flat ones are zero, or both have no effect */
    QB_PROBLEM_PIXELS, /* saturated, dead, not finite: what qb_scan_inspect finds */
    QB_PROBLEM_FLATS,  /* there are no flat fields, which qb_prep_options.air can stand in for */
    QB_PROBLEM_FRAMES, /* views, flats or darks that cannot be right: qb_scan_findings has them, too */
} qb_problem;
QB_API qb_problem qb_scan_problem_kind(const qb_scan *scan, size_t index);
QB_API const char *qb_problem_name(qb_problem problem); /* "angles" */
/* Which frames were found to be wrong, as a JSON array: [{"code": "views-blank", "what": "views", "which": "141-158",
 * "count": 18, "of": 180, "done": "left out"}]. *json: qb_text_free it. */
QB_API qb_status qb_scan_findings(const qb_scan *scan, char **json);
/* Why a pixel of the detector was not measured. */
typedef enum qb_pixel {
    QB_PIXEL_MEASURED,
    QB_PIXEL_MASKED, /* by options->mask */
    QB_PIXEL_STUCK,  /* it holds one value, or has no beam, in all views */
    QB_PIXEL_DEAD,   /* its flat is not brighter than its dark */
} qb_pixel;
/* The qb_pixel of every pixel, into mask[rows][columns]. Single values may be missing besides: saturated, not finite. */
QB_API qb_status qb_scan_mask(const qb_scan *scan, unsigned char *mask);
/* Look into the data too (a few views): saturated, dead and non-finite pixels, drifting air, a
 * repeated end view. Adds to the problems; what `qb info` does. */
QB_API qb_status qb_scan_inspect(qb_scan *scan, const qb_env *env);

/* The geometry of a scan: a file's, or a circle of the scan's own angles (QB_BAD_INPUT without
 * any). A file has a view for each of the scan's, or for each that is stored, of which the same are
 * chosen. Where the scan has angles too, env is told when they and the file's are more than half a
 * step apart, whatever zero and sense of rotation each of them has. Otherwise as qb_geometry_make.
 */
QB_API qb_status qb_scan_geometry(const qb_scan_info *scan, const qb_geometry_options *options,
                                  const qb_detector *detector, const qb_env *env, qb_geometry *geometry);

/* Read views view0 <= view < view1, rows row0 <= row < row1, all columns, in the scan's own dtype
 * into out[view][row][column]. Thread-safe against itself for contiguous storage; HDF5 serialises. */
QB_API qb_status qb_scan_read(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
/* Mean flat and mean dark of the rows, float [row][column]; darks absent read as 0. QB_NOT_FOUND
 * when there are no flats. */
QB_API qb_status qb_scan_fields(qb_scan *scan, size_t row0, size_t row1, float *flat, float *dark);

/* Parse A:B[:S] against n items: first, past-the-end and step. NULL text means all. Negative A or B
 * count from the end. */
QB_API qb_status qb_range_parse(const char *text, const char *what, size_t n, size_t *first, size_t *end, size_t *step);
/* "--angles": FROM:TO[:N], FILE[:COLUMN][:A:B:S] or FILE.h5:/PATH[:A:B:S], :deg or :rad behind it where
 * it does not say itself -> radians[views]. */
QB_API qb_status qb_angles_parse(const char *text, size_t views, double *radians);
/* How many angles such a text gives: the N of FROM:TO:N, 0 of FROM:TO, of a file those that are chosen. */
QB_API qb_status qb_angles_count(const char *text, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
