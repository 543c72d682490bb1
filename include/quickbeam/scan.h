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

/* What the values of a scan mean. Auto: as the file states, else counts for HDF5 and for integers, line integrals for
 * floats. */
typedef enum qb_quantity { QB_QUANTITY_AUTO, QB_COUNTS, QB_TRANSMISSION, QB_LINE_INTEGRAL } qb_quantity;
QB_API const char *qb_quantity_name(qb_quantity quantity); /* "counts" */

/* What one image of the file holds: a view, or one detector row of all views (sinogram). Auto: a view. */
typedef enum qb_image { QB_IMAGE_AUTO, QB_IMAGE_PROJECTION, QB_IMAGE_SINOGRAM } qb_image;

/* Unit of angles. Auto: as the file states, else degrees; QB_BAD_INPUT if more than eight angles span so little that
 * they may be radians. */
typedef enum qb_angle_unit { QB_ANGLE_AUTO, QB_ANGLE_DEGREES, QB_ANGLE_RADIANS } qb_angle_unit;

/* Flats of several series. Mean: the mean of all. Linear: interpolated between the series before and after the view.
 * Nearest: the series nearest in time. Pca: dynamic flat fields (Van Nieuwenhove 2015): the mean plus the principal
 * components, weighted so that the view becomes smoothest. Auto: linear if the times are known, else the mean. */
typedef enum qb_flat_fields {
    QB_FLATS_AUTO,
    QB_FLATS_MEAN,
    QB_FLATS_LINEAR,
    QB_FLATS_NEAREST,
    QB_FLATS_PCA
} qb_flat_fields;

/* How several frames of flats, or of darks, taken at one time are combined. Robust: the mean without values that are
 * far from the other values of their pixel. Mean: the plain mean. Median: the median. */
typedef enum qb_field_average { QB_AVERAGE_ROBUST, QB_AVERAGE_MEAN, QB_AVERAGE_MEDIAN } qb_field_average;

/* Mirror images: reverse the order of the columns (u), of the rows (v), or of both. */
typedef enum qb_flip { QB_FLIP_NONE, QB_FLIP_U, QB_FLIP_V, QB_FLIP_UV } qb_flip;
/* Rotate images clockwise by this angle in degrees, with row 0 on top. */
typedef enum qb_rotate { QB_ROTATE_0, QB_ROTATE_90, QB_ROTATE_180, QB_ROTATE_270 } qb_rotate;

/* How to open a scan. Every field may keep its default. */
typedef struct qb_scan_options {
    size_t struct_size;  /* see qb_params_init */
    const char *dataset; /* HDF5 path of the projections (or of the NXtomo entry) */
    qb_image as;         /* what one image of the file is */
    qb_quantity quantity;
    const char *angles; /* degrees: FROM:TO[:N] (TO exclusive) or FILE[:COLUMN][:A:B:S]; NULL = from the scan */
    /* files, folders or patterns of flat fields, one per line; FILE.h5:/PATH; NULL = from the scan */
    const char *flats;
    const char *darks; /* file, folder or pattern of dark fields; NULL = from the scan; "none": the dark is 0 */
    double pixel_size; /* mm; 0 = from the scan */
    const char *views; /* A:B[:S]: only these views; NULL = all */
    const char *shape; /* raw files: VIEWS,ROWS,COLUMNS:DTYPE[:OFFSET], in this order whatever the order in the file */
    /* unit of `angles`, or of the scan's own angles; overrides the unit that the file states */
    qb_angle_unit angle_unit;
    const char *exclude;       /* stored views to leave out, "141:227,300"; NULL = none */
    const char *exclude_flats; /* flat fields to leave out, in the form of `exclude` */
    const char *exclude_darks; /* dark fields to leave out, in the form of `exclude` */
    bool keep_all_views;       /* faulty views are reported, but not left out */
    bool keep_all_fields;      /* keep all flats and darks; QB_AVERAGE_ROBUST is then the plain mean */
    qb_numbers pixels;         /* mm along columns and rows, U,V, or one number for both; instead of pixel_size */
    bool read_unsigned;        /* read integers as unsigned, even if the file says that they are signed */
    /* image [row][column] of a file or FILE.h5:/PATH; pixels that are not 0 count as not measured, as those of
     * the mask in the scan's own files; "none": all are measured; NULL = only the scan's own */
    const char *mask;
    qb_flat_fields flat_fields; /* the flat of each view: the mean, or interpolated in time */
    const char *flats_at; /* the views before which each series of flats was taken, "0,900"; NULL = from the scan */
    /* Views, flats, darks and the mask are rotated, mirrored, cropped and binned, in this order, when they are read.
     * All other detector values (pixels, axis, offsets, tilt, geometry files) are those of the rotated detector before
     * cropping and binning. The library converts them. */
    qb_rotate rotate;
    qb_flip flip;
    const char *crop; /* "C0:C1,R0:R1": a window of columns and rows; NULL = all */
    const char *bin;  /* "N" or "NUxNV": so many columns and rows become one pixel; NULL = 1 */
    /* Reconstructions, center and convert correct distortion and shifts after the flat-field correction. qb_scan_read
     * does not. */
    /* file in the format of discorpy: xcenter, ycenter, factor0, ... of the backward model, in stored pixels; NULL =
     * none */
    const char *distortion;
    /* file with a line U V [TURN] for each stored view: columns and rows by which its image has moved, and degrees by
     * which it is rotated, from columns towards rows; or motors:U[,V[,TURN]]; NULL = none */
    const char *shifts;
    /* "SECONDS[:VIEWS|:FILE]": wait for views that are still being written. Stop waiting when there are VIEWS of them
     * (default: as many as `angles` has), or when FILE exists; NULL = do not wait */
    const char *follow;
    /* pattern of file names, with {} for the angle and * for any text; instead of `angles`; NULL = not used */
    const char *angles_from_names;
    /* order of the axes in the file, the slowest first, such as "columns,rows,views"; NULL = views,rows,columns */
    const char *transpose;
    qb_field_average average_fields; /* how flats, or darks, of one time are combined */
} qb_scan_options;
QB_API extern const qb_param qb_scan_params[];

/* An open scan: projections [view][row][column] in a file or an array, and their metadata. */
typedef struct qb_scan qb_scan;

typedef struct qb_scan_info {
    const char *path;
    const char *format; /* "DataExchange HDF5", "NXtomo HDF5", "TIFF stack", ... */
    qb_dtype dtype;
    size_t views, rows, columns;
    qb_quantity quantity;
    const char *stated;        /* the quantity in the words of the file, "attenuation" for a volume; "" = none */
    const char *quantity_from; /* "stated in the file", "assumed: integer data are counts", ... */
    const double *angles;      /* [views] radians; NULL if there are none */
    const char *angles_from;   /* "/exchange/theta", "--angles 0:180", ... */
    size_t flats, darks;       /* number of frames */
    double pixel_size;         /* mm; 0 if unknown */
    const char *pixel_from;
    qb_beam beam;       /* the beam that the file states */
    double center;      /* column of the axis on the uncropped detector, as the file states it; NAN if it does not */
    size_t cache_bytes; /* memory for caches while reading */
    size_t chunk_rows;  /* rows of one storage chunk (compressed); 1 if single rows can be read */
    size_t problems;    /* number of problems, for qb_scan_problem */
    size_t stored;      /* views in the file */
    size_t first_view, view_step; /* the scan has every view_step-th stored view, beginning with first_view (--views) */
    /* the file that states the source and detector positions of a cone beam; NULL: none */
    const char *geometry_from;
    size_t first_slice; /* the number that the scan's own files give to row 0 (sv-mbirct: FirstSliceNumber); else 0 */
    /* Whether reconstructions use `center` by default. They do if the file states it for that purpose, as scans of
     * sv-mbirct and of qb convert do. The estimate of a motor position, as in NXtomo, is used only on request. */
    bool center_holds;
    /* names, if the scan consists of several files: "90 files, p_000.tif to p_089.tif"; else "" */
    const char *files;
    const char *no_angles; /* why `angles` is NULL: one sentence with the remedy; NULL if there are angles */
    /* [views]: the stored view of each view, if views were left out in between; NULL: first_view and view_step give
     * it */
    const size_t *stored_views;
    /* mm: middle of the images relative to the principal ray, as the file states it (Offset of MetaImage); NAN if it
     * does not. A circular cone beam uses it, unless an offset is given */
    double detector_offset[2];
    /* [views] beam intensity of each view, from the monitor in the file, divided by that of its flats; NULL: none */
    const double *intensity;
    double intensity_range[2];  /* the smallest and the largest intensity */
    const char *intensity_from; /* where the intensities come from */
    /* mm: the pitch of the rows; equal to pixel_size unless options->pixels or the file gives another pitch */
    double pixel_v;
    size_t looked_views; /* views of which some rows were checked for faults; not all views of large compressed scans */
    /* cone beam, after qb_scan_check: where the object extends above or below the detector, such as "at both ends";
     * NULL: nowhere, or not known */
    const char *taller;
    double sod, sdd; /* mm from the source to the axis and to the detector, as the file states them; 0: not stated */
    double energy;   /* keV of the beam, as the file states it; 0: not stated */
    double distance; /* mm from the object to the detector, as the file states it; 0: not stated */
    size_t masked,
        stuck; /* pixels not measured: marked by options->mask or the scan's files; of one value in all views */
    /* degrees by which the detector of a cone beam is rotated in its plane, as the file states it and as in
     * qb_geometry_options.tilt; 0: not stated */
    double detector_tilt;
    const char *flats_how;            /* how flats of several times are used, in words; NULL: their mean */
    const char *image;                /* how images are changed when they are read, in words; NULL: not changed */
    size_t whole_rows, whole_columns; /* size of the whole detector after rotation, before options->crop and bin */
    size_t window[2];                 /* first column and row of the window of options->crop */
    size_t bin[2];                    /* columns and rows of the whole detector that form one pixel */
    const double *shifts; /* [views][2] columns and rows of the whole detector by which views have moved; NULL: none */
    /* [views] radians by which views are rotated about the detector's middle, before the shift; NULL: none */
    const double *turns;
    /* degrees by which the detector of a cone beam is tilted out of its plane, as the file states it and as in
     * qb_geometry_options.tilt; 0: not stated */
    double detector_lean;
    bool rows_down; /* the scanner's rows count downwards, so that z of a volume points down */
} qb_scan_info;

/* Open a scan. Reads metadata, flats, darks, angles and a few rows of each view. Views without data (no beam, only NaN,
 * one value everywhere, saturated) are left out, unless options->keep_all_views is set. The scan then has fewer views,
 * and a problem names those that are missing. Other faults of the data become problems (qb_scan_problem). A file that
 * cannot be read is QB_NOT_FOUND, QB_BAD_INPUT or QB_UNSUPPORTED. */
QB_API qb_status qb_scan_open(const char *path, const qb_scan_options *options, const qb_env *env, qb_scan **scan);
/* Open a scan of arrays. The caller must keep the arrays until the scan is closed. projections: [view][row][column], or
 * [row][view][column] with options->as, or [view][column]; any type and strides. angles[views]: in radians, copied;
 * NULL = options->angles. flats and darks: [frame][row][column] or one frame [row][column]; NULL = those of the
 * options, or none. options may be NULL; dataset and shape in it are ignored. QB_BAD_ARGUMENT for an invalid array,
 * QB_UNSUPPORTED for memory that cannot be read. */
QB_API qb_status qb_scan_from_tensor(const qb_tensor *projections, const double *angles, const qb_tensor *flats,
                                     const qb_tensor *darks, const qb_scan_options *options, const qb_env *env,
                                     qb_scan **scan);
QB_API void qb_scan_close(qb_scan *scan); /* NULL-safe */
/* The info belongs to the scan and is valid until the scan is closed. */
QB_API const qb_scan_info *qb_scan_describe(const qb_scan *scan);
/* Problem number `index` as one sentence: "theta is missing: give --angles", "flat pixel (0,0) is 0 (1 of 21600)". */
QB_API const char *qb_scan_problem(const qb_scan *scan, size_t index);
/* Kind of a problem, for programs. */
typedef enum qb_problem {
    QB_PROBLEM_OTHER,
    QB_PROBLEM_ANGLES, /* no usable angles */
    QB_PROBLEM_FIELDS, /* darks are missing, flats are zero, or both have no effect */
    QB_PROBLEM_PIXELS, /* saturated, dead, not finite: what qb_scan_inspect finds */
    QB_PROBLEM_FLATS,  /* no flats; qb_prep_options.air may replace them */
    QB_PROBLEM_FRAMES, /* faulty views, flats or darks: see qb_scan_findings */
} qb_problem;
QB_API qb_problem qb_scan_problem_kind(const qb_scan *scan, size_t index);
QB_API const char *qb_problem_name(qb_problem problem); /* "angles" */
/* The faulty frames as a JSON array: [{"code": "views-blank", "what": "views", "which": "141-158",
 * "count": 18, "of": 180, "done": "left out"}]. Release *json with qb_text_free. */
QB_API qb_status qb_scan_findings(const qb_scan *scan, char **json);
/* Why a pixel of the detector was not measured. */
typedef enum qb_pixel {
    QB_PIXEL_MEASURED,
    QB_PIXEL_MASKED, /* the pixel is marked in options->mask */
    QB_PIXEL_STUCK,  /* one value, or no beam, in all views */
    QB_PIXEL_DEAD,   /* its flat is not brighter than its dark */
} qb_pixel;
/* Write the qb_pixel of every pixel into mask[rows][columns], in host memory. Single values of measured pixels may
 * still be missing (saturated, not finite). */
QB_API qb_status qb_scan_mask(const qb_scan *scan, unsigned char *mask);
/* Check the data of a few views, as `qb info` does: saturated, dead and non-finite pixels, drifting air, a repeated end
 * view. Adds to the problems. QB_BAD_ARGUMENT if env->max_ram is too small for one view; QB_CANCELLED; errors of
 * qb_scan_read. */
QB_API qb_status qb_scan_inspect(qb_scan *scan, const qb_env *env);

/* The geometry of a scan: from a file, or a circle with the scan's angles (QB_BAD_INPUT without angles). A file must
 * have one view for each view of the scan, or one for each stored view. If the scan has angles too, and they differ
 * from the angles of the file by more than half a step, a warning goes to env->log; the zero and the sense of rotation
 * may differ. Everything else, also the errors, is as in qb_geometry_make. */
QB_API qb_status qb_scan_geometry(const qb_scan_info *scan, const qb_geometry_options *options,
                                  const qb_detector *detector, const qb_env *env, qb_geometry *geometry);

/* Read views view0 <= view < view1, rows row0 <= row < row1, all columns, in the scan's dtype into
 * out[view][row][column], in host memory. Several threads may call it at once; with HDF5 they may wait for one another.
 * QB_BAD_ARGUMENT for a range outside the scan; QB_IO, QB_BAD_INPUT, QB_NO_MEMORY. */
QB_API qb_status qb_scan_read(qb_scan *scan, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
/* Mean flat and mean dark of the rows, float [row][column] in host memory, as stored: in counts. Missing darks are 0.
 * QB_NOT_FOUND if there are no flats, QB_BAD_ARGUMENT for rows outside the scan. */
QB_API qb_status qb_scan_fields(qb_scan *scan, size_t row0, size_t row1, float *flat, float *dark);

/* Parse a range A:B[:S] of n items into its first item, the end behind its last item, and its step. NULL means all
 * items. Negative A or B count from the end. QB_BAD_ARGUMENT, with `what` as the option's name, for another text or an
 * empty range. */
QB_API qb_status qb_range_parse(const char *text, const char *what, size_t n, size_t *first, size_t *end, size_t *step);
/* Parse the text of --angles into radians[views]: FROM:TO[:N], FILE[:COLUMN][:A:B:S] or FILE.h5:/PATH[:A:B:S]. If the
 * file does not state the unit, :deg or :rad follows. QB_BAD_ARGUMENT for another text or number of angles;
 * QB_NOT_FOUND, QB_IO and QB_BAD_INPUT for the file. */
QB_API qb_status qb_angles_parse(const char *text, size_t views, double *radians);
/* Number of angles in such a text: N of FROM:TO:N, 0 for FROM:TO, and for a file the number of chosen angles. */
QB_API qb_status qb_angles_count(const char *text, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
