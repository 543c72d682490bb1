/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_GEOMETRY_H
#define QUICKBEAM_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/env.h"
#include "quickbeam/param.h"
#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The world is right-handed, in mm (or in detector pixels where no pixel size is known); z is the
 * rotation axis. At view angle t rays travel along (-sin t, cos t, 0), the detector's columns run
 * along (cos t, sin t, 0) and its rows along (0, 0, 1). Pixel centres are at integer indices. */
typedef enum qb_beam { QB_BEAM_UNKNOWN, QB_BEAM_PARALLEL, QB_BEAM_CONE } qb_beam;
QB_API const char *qb_beam_name(qb_beam beam); /* "unknown", "parallel", "cone" */

/* The one internal form of any scan: where each view's source and detector are. */
typedef struct qb_view {
    double source[3];   /* cone: its place; parallel: the unit vector along which rays travel */
    double detector[3]; /* centre of the pixel in column 0, row 0 */
    double u[3];        /* step from one column to the next */
    double v[3];        /* step from one row to the next */
} qb_view;

typedef struct qb_geometry {
    qb_beam beam;
    size_t views, rows, columns;
    qb_view *view; /* [views], owned */
    /* Radius in mm of a curved detector: a cylinder about a line along v, concave to the source. Pixels are measured
     * along the arc; detector, u and v describe the plane that touches it nearest to the origin. 0 = flat. */
    double radius;
    bool apart;      /* every row has its own source at its own height: a stack of fans. Only qb mbir takes it */
    void *read_from; /* files the geometry was read from, so that no output replaces them; owned, NULL = none */
} qb_geometry;

/* Parallel beam: detector column = (x cos t + y sin t) / pixel + center, row = z / pixel +
 * (rows - 1) / 2. angles[views] in radians; pixel in mm; center in columns. QB_BAD_ARGUMENT for a
 * size of zero or a pixel that is not positive, QB_BAD_INPUT for an angle that is not finite,
 * QB_NO_MEMORY. *geometry owns memory only on success: release it with qb_geometry_destroy. */
QB_API qb_status qb_geometry_parallel(size_t views, const double *angles, size_t rows, size_t columns, double pixel,
                                      double center, qb_geometry *geometry);

/* Cone beam, flat detector, circular source: at angle t the source is at sod (sin t, -cos t, 0) and
 * the detector's plane, at right angles to the principal ray (-sin t, cos t, 0), lies sdd from it;
 * columns run along (cos t, sin t, 0), rows along (0, 0, 1). angles[views] in radians, all lengths
 * in mm, 0 < sod <= sdd. (offset_u, offset_v) is where the detector's centre lies relative to the
 * principal ray, which therefore meets it at column (columns - 1) / 2 - offset_u / pixel_u and row
 * (rows - 1) / 2 - offset_v / pixel_v. Errors and ownership as in qb_geometry_parallel. */
QB_API qb_status qb_geometry_cone(size_t views, const double *angles, size_t rows, size_t columns, double pixel_u,
                                  double pixel_v, double sod, double sdd, double offset_u, double offset_v,
                                  qb_geometry *geometry);

/* NULL-safe; leaves the geometry empty. */
QB_API void qb_geometry_destroy(qb_geometry *geometry);

/* Voxel (ix, iy, iz) is centred at x = (ix - (n[0] - 1) / 2) voxel[0] + offset[0], likewise y, z.
 */
typedef struct qb_grid {
    size_t n[3];      /* x, y, z */
    double voxel[3];  /* mm */
    double offset[3]; /* mm */
} qb_grid;

/* The default grid: as many voxels as the detector has columns (x and y) and rows (z). A voxel is a pixel divided by
 * the magnification; the grid is centred on the origin. If the detector is turned by more than 10 degrees in its plane,
 * its extent across and along the axis is used. If the centre of its rows is off the source's plane by more than a
 * quarter of its height, the grid is centred on the z that it images. */
QB_API void qb_grid_default(const qb_geometry *geometry, qb_grid *grid);

/* The options of the command line for the volume. Unset fields leave the grid unchanged. */
typedef struct qb_grid_options {
    size_t struct_size; /* see qb_params_init */
    qb_numbers size;    /* NX[,NY[,NZ]]; a lone number is NX and NY */
    double voxel;       /* mm, along all axes; 0 = unset */
    qb_numbers offset;  /* X[,Y[,Z]] mm: position of the volume's centre */
    const char *like;   /* take the grid of this volume file instead of the other fields; NULL = unset */
    qb_numbers voxels;  /* voxel size X,Y,Z in mm, or one number for all; instead of voxel; empty = unset */
} qb_grid_options;
QB_API extern const qb_param qb_grid_params[];

/* Apply the options to *grid. QB_BAD_ARGUMENT with the number; errors of qb_grid_load. */
QB_API qb_status qb_grid_make(const qb_grid_options *options, qb_grid *grid);
/* The grid that a volume file states. Reads no voxels. QB_BAD_INPUT if the file has no voxel size, QB_UNSUPPORTED if
 * its axes are rotated; errors of qb_array_load. */
QB_API qb_status qb_grid_load(const char *path, qb_grid *grid);
/* Reduces the grid to the slices A:B[:S]; NULL = all. *first = A. QB_BAD_ARGUMENT if the range is empty or not within
 * the grid. */
QB_API qb_status qb_grid_slices(const char *slices, qb_grid *grid, size_t *first);

/* Detector data that a geometry file may lack: RTK's XML and lists of matrices do not state the pixels. (offset_u,
 * offset_v): position of the detector's centre in mm along columns and rows, in the frame of an RTK file; 0 if the
 * projections' origin is -spacing (n - 1) / 2. Leave all fields 0 if the file is complete. Values that are given must
 * agree with those of the file. */
typedef struct qb_detector {
    size_t rows, columns;
    double pixel_u, pixel_v; /* mm from column to column, from row to row */
    double offset_u, offset_v;
} qb_detector;

/* Read a geometry: quickbeam JSON, RTK XML version 2 or 3, or a 3x4 matrix per view (text or CSV of 12
 * numbers a view, or NPY [view][3][4]) that maps mm to (column w, row w, w). The content decides the kind;
 * only NAME.sinoparams (sv-mbirct, fan beam) is known by its name. `detector` may be NULL for JSON and for files that
 * quickbeam wrote, which hold the detector in a comment. env->log gets notes on data that is ignored; env may be NULL.
 * *geometry owns memory only on success. QB_NOT_FOUND, QB_IO, QB_BAD_INPUT with the view and the number,
 * QB_UNSUPPORTED (also for XML without expat), QB_NO_MEMORY. Thread-safe. */
QB_API qb_status qb_geometry_load(const char *path, const qb_detector *detector, const qb_env *env,
                                  qb_geometry *geometry);

/* Write a geometry; the file's ending chooses the format. .json keeps every bit; .xml is RTK's (pixel pitch and shape
 * go into a comment; rows and columns must be perpendicular); .txt and .csv are matrices, 12 numbers a line. The file
 * appears only when it is complete. QB_BAD_ARGUMENT for another ending, QB_UNSUPPORTED if the format cannot hold the
 * geometry, QB_IO, QB_NO_SPACE. */
QB_API qb_status qb_geometry_save(const char *path, const qb_geometry *geometry);
/* QB_BAD_ARGUMENT if qb_geometry_save does not know the file's ending. */
QB_API qb_status qb_geometry_can_save(const char *path);

/* The options of the command line for the geometry: a file, or a circular scan with misalignments. */
typedef struct qb_geometry_options {
    size_t struct_size;   /* see qb_params_init */
    const char *geometry; /* a file; NULL = a circular scan from the fields below */
    double sod, sdd;      /* mm */
    const char *offset;   /* U,V in mm, or with px: the detector's centre off the principal ray */
    double radius;        /* mm, of a curved detector; 0 = flat */
    qb_numbers tilt;      /* degrees: in-plane, out-of-plane, slant */
    qb_numbers jitter;    /* mm: amplitude U,V, periods per turn, phase in degrees */
} qb_geometry_options;
QB_API extern const qb_param qb_geometry_params[];

/* angles[views] in radians; NULL if the geometry is a file. A file must have `views` views (0 = any number), and angles
 * are refused with a file. `tilt` turns the detector
 * about the point where the principal ray meets it, right-handed: first about the column axis
 * (out-of-plane), then about the row axis (slant), then about the ray (in-plane). `jitter` shifts it by
 * amplitude sin(periods t + phase). Errors as in qb_geometry_load. */
QB_API qb_status qb_geometry_make(const qb_geometry_options *options, size_t views, const double *angles,
                                  const qb_detector *detector, const qb_env *env, qb_geometry *geometry);

/* Parses the offset "U,V" of a detector, in mm or, if it ends in px, in pixels, into mm. QB_BAD_ARGUMENT. */
QB_API qb_status qb_detector_offset_parse(const char *text, double pixel_u, double pixel_v, double *offset_u,
                                          double *offset_v);

/* Weights for rays that are measured twice or not at all. */
typedef enum qb_redundancy {
    QB_REDUNDANCY_NONE,   /* a full turn: every ray counts half */
    QB_REDUNDANCY_PARKER, /* less than a turn */
    QB_REDUNDANCY_WANG,   /* a full turn with the detector to one side (half fan) */
    QB_REDUNDANCY_GAPS,   /* several angular gaps, or a gap that opposite rays do not cover */
} qb_redundancy;

/* Description of a geometry; lengths in mm, angles in degrees. */
typedef struct qb_geometry_info {
    size_t struct_size;                 /* sizeof(qb_geometry_info); 0 = first version. New fields come at the end */
    double sod, sdd, magnification;     /* means; sod = 0 and magnification 1 for a parallel beam */
    double pixel_u, pixel_v;            /* pixel size on the detector */
    double offset_u, offset_v;          /* mean offset of the detector's centre */
    bool circular;                      /* within a thousandth of a pixel of an ideal circular scan */
    double circular_error;              /* largest deviation from an ideal circular scan, in pixels */
    double nearest, farthest;           /* least and largest distance of the source from the axis */
    double z_range;                     /* how far the source moves along z */
    double field_radius;                /* radius of the cylinder about z that all views see */
    double field_height;                /* height of the field of view on the axis */
    double field_height_rim;            /* height of the field of view at field_radius */
    double field_z;                     /* z of the middle of field_height */
    double coverage;                    /* measured degrees of 360 (parallel: 180) */
    double step, gap, gap_from, gap_to; /* median step; the largest gap and where it is */
    double needed, missing;             /* range a short scan needs (180 + fan); part of it not measured */
    size_t repeated;                    /* views at the same place as an earlier view */
    qb_redundancy weights;
    double wide, narrow; /* larger and smaller fan angle, on the two sides of the axis */
} qb_geometry_info;

/* QB_BAD_INPUT, with the view and the number, for a value that is not finite or a source in the detector's plane. */
QB_API qb_status qb_geometry_describe(const qb_geometry *geometry, qb_geometry_info *info);
/* The same as a JSON object; "problems": [text] lists what is wrong. Coverage is judged for `grid`, the volume to be
 * reconstructed (NULL = the default grid). Release with qb_text_free. */
QB_API qb_status qb_geometry_report(const qb_geometry *geometry, const qb_grid *grid, char **json);

/* Draw the geometry into an SVG file, from above (x right, y up) and from the side (y right, z up), with a scale: the
 * source's path, some detectors, the first view with its rays, the field of view (shaded) and the volume (green; grid
 * NULL = the default grid). QB_BAD_ARGUMENT if `path` does not end in .svg; errors of qb_file_write. */
QB_API qb_status qb_geometry_picture(const char *path, const qb_geometry *geometry, const qb_grid *grid);

/* Check that the grid can be reconstructed from these views. QB_BAD_INPUT, with the view and the number, if a source
 * lies inside the grid, a part of the grid lies behind a source, no view sees the grid, or the lengths of both cannot
 * have the same unit. */
QB_API qb_status qb_geometry_check_grid(const qb_geometry *geometry, const qb_grid *grid);

#ifdef __cplusplus
}
#endif
#endif
