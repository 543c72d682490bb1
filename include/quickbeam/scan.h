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

/* How frames of flats, or of darks, of one time become one: their mean without single values that lie far from all
 * others of their pixel, their plain mean, or their median. */
typedef enum qb_field_average { QB_AVERAGE_ROBUST, QB_AVERAGE_MEAN, QB_AVERAGE_MEDIAN } qb_field_average;

/* Which order of an image is reversed: that of its columns (u), its rows (v), or both. */
typedef enum qb_flip { QB_FLIP_NONE, QB_FLIP_U, QB_FLIP_V, QB_FLIP_UV } qb_flip;
/* Rotate images clockwise by so many degrees, with row 0 on top. */
typedef enum qb_rotate { QB_ROTATE_0, QB_ROTATE_90, QB_ROTATE_180, QB_ROTATE_270 } qb_rotate;

/* How to open a scan. Every field may keep its default. */
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
    /* Views, flats, darks and the mask are rotated, mirrored, cropped and binned, in this order, when they are read.
     * All other values of the detector (pixels, axis, offsets, tilt, geometry files) are those of the rotated detector
     * before cropping and binning; they are converted. */
    qb_rotate rotate;
    qb_flip flip;
    const char *crop; /* "C0:C1,R0:R1": a window of columns and rows; NULL = all */
    const char *bin;  /* "N" or "NUxNV" columns and rows become one pixel; NULL = 1 */
    /* Methods, center and convert take both out behind the flat field; qb_scan_read does not. */
    /* file of discorpy's: xcenter, ycenter, factor0, ... of the backward model, stored pixels; NULL = none */
    const char *distortion;
    /* file of lines U V [TURN], one a stored view: columns and rows by which its image has moved, and degrees by
     * which it is turned, columns towards rows; motors:U[,V[,TURN]]; NULL = none */
    const char *shifts;
    /* "SECONDS[:VIEWS|:FILE]": wait for views that are still being written, until there are as many as `angles`
     * has, or so many, or FILE is there; NULL = do not wait */
    const char *follow;
    /* a file's name with {} for its angle and * for anything, in place of `angles`; NULL */
    const char *angles_from_names;
    const char *transpose; /* the file's axes, the slowest first, "columns,rows,views"; NULL = views,rows,columns */
    qb_field_average average_fields; /* flats and darks of one time */
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
    const char *stated;        /* the quantity in the file's own words, "attenuation" for a volume; "" = none */
    const char *quantity_from; /* "stated in the file", "assumed: integer data are counts", ... */
    const double *angles;      /* [views] radians; NULL if there are none */
    const char *angles_from;   /* "/exchange/theta", "--angles 0:180", ... */
    size_t flats, darks;       /* number of frames */
    double pixel_size;         /* mm; 0 when unknown */
    const char *pixel_from;
    qb_beam beam;       /* the beam that the file states */
    double center;      /* column of the axis on the uncropped detector as the file states it; NAN if it does not */
    size_t cache_bytes; /* memory for caches while reading */
    size_t chunk_rows;  /* rows of one storage chunk (compressed); 1 if single rows can be read */
    size_t problems;    /* number of problems, for qb_scan_problem */
    size_t stored;      /* views in the file */
    size_t first_view, view_step; /* the scan has every view_step-th stored view from first_view on (--views) */
    const char *geometry_from;    /* the file that says where source and detector of a cone beam are; NULL: none does */
    size_t first_slice; /* the number that the scan's own files give to row 0 (sv-mbirct: FirstSliceNumber); else 0 */
    /* reconstructions use `center` by default: it was written for that, as in scans of sv-mbirct and by qb convert.
     * A motor's estimate, as in NXtomo, is used on request only */
    bool center_holds;
    const char *files;     /* names, where the scan is several files: "90 files, p_000.tif to p_089.tif"; else "" */
    const char *no_angles; /* why `angles` is NULL, one sentence with the remedy; NULL where there are angles */
    const size_t *stored_views; /* [views]: the stored view that each is, where some between were left out; NULL: as
                                   first_view and view_step say */
    /* mm: where the file puts the middle of its images (Offset of MetaImage), relative to the principal ray; NAN
     * where it does not say. A circular cone beam goes by it unless an offset is given */
    double detector_offset[2];
    /* [views] intensity of each view as the file's monitor has it, over that of its flats; NULL: none */
    const double *intensity;
    double intensity_range[2];  /* the least and the most of them */
    const char *intensity_from; /* where the intensities come from */
    double pixel_v;             /* mm: the pitch of the rows; pixel_size unless options->pixels gives another */
    size_t looked_views; /* views of which some rows were looked at for faults; of large compressed scans not all */
    const char *taller; /* cone beam, after qb_scan_check: where the object goes on above or below the detector, such as
                                   "at both ends"; NULL: nowhere, or not known */
    double sod,
        sdd; /* mm from the source to the axis and to the detector, as the file states them; 0 where it does not */
    double energy;        /* keV of the beam as the file states it; 0 where it does not */
    double distance;      /* mm from the object to the detector as the file states it; 0 where it does not */
    size_t masked, stuck; /* pixels that count as not measured: by options->mask; that hold one value in all views */
    /* degrees by which the file states the detector of a cone beam to be turned in its plane, as in
     * qb_geometry_options.tilt; 0 where it does not */
    double detector_tilt;
    const char *flats_how;            /* how flats of several times are taken, in words; NULL: their mean */
    const char *image;                /* how images are changed as they are read, in words; NULL: they are not */
    size_t whole_rows, whole_columns; /* size of the upright detector, before options->crop and bin */
    size_t window[2];                 /* the first column and row of the window that options->crop takes */
    size_t bin[2];                    /* so many columns and rows of it are one */
    const double *shifts; /* [views][2] columns and rows of the whole detector by which views have moved; NULL: none */
    const double *turns;  /* [views] radians by which they are turned before, about its middle; NULL: none */
} qb_scan_info;

/* Open a scan. Reads metadata, flats, darks, angles and a few rows of each view. Views without data (no beam, only NaN,
 * one value everywhere, saturated) are left out, unless options->keep_all_views is set: the scan has fewer views then,
 * and a problem names them. Other faults of the data become problems (qb_scan_problem). A file that cannot be read is
 * QB_NOT_FOUND, QB_BAD_INPUT or QB_UNSUPPORTED. */
QB_API qb_status qb_scan_open(const char *path, const qb_scan_options *options, const qb_env *env, qb_scan **scan);
/* Open a scan of arrays, which must stay until the scan is closed: projections [view][row][column]
 * ([row][view][column] with options->as; of two dimensions: [view][column]) of any type and strides,
 * angles[views] in radians (copied; NULL = options->angles), flats and darks [frame][row][column] or
 * one frame [row][column] (NULL = those of options, or none). options may be NULL; its dataset and shape are
 * ignored. QB_BAD_ARGUMENT for an invalid array, QB_UNSUPPORTED for memory that cannot be read. */
QB_API qb_status qb_scan_from_tensor(const qb_tensor *projections, const double *angles, const qb_tensor *flats,
                                     const qb_tensor *darks, const qb_scan_options *options, const qb_env *env,
                                     qb_scan **scan);
QB_API void qb_scan_close(qb_scan *scan); /* NULL-safe */
/* The info belongs to the scan and lives as long. */
QB_API const qb_scan_info *qb_scan_describe(const qb_scan *scan);
/* One sentence: "theta is missing: give --angles", "flat pixel (0,0) is 0 (1 of 21600)". */
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
/* Write the qb_pixel of every pixel into mask[rows][columns]. Single values of measured pixels may still be missing
 * (saturated, not finite). */
QB_API qb_status qb_scan_mask(const qb_scan *scan, unsigned char *mask);
/* Check the data of a few views, as `qb info` does: saturated, dead and non-finite pixels, drifting air, a repeated end
 * view. Adds to the problems. */
QB_API qb_status qb_scan_inspect(qb_scan *scan, const qb_env *env);

/* The geometry of a scan: from a file, or a circle with the scan's angles (QB_BAD_INPUT without angles). A file has one
 * view for each view of the scan, or one for each stored view. If the scan has angles too, a warning goes to env->log
 * when they differ from the file's by more than half a step, for any zero and sense of rotation. Otherwise as
 * qb_geometry_make. */
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
