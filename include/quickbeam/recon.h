/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_RECON_H
#define QUICKBEAM_RECON_H

#include "quickbeam/env.h"
#include "quickbeam/geometry.h"
#include "quickbeam/io.h"
#include "quickbeam/kernel.h"
#include "quickbeam/param.h"
#include "quickbeam/scan.h"
#include "quickbeam/solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a row is extended beyond the detector; TAPER and ELLIPSE extrapolate a truncated object. */
typedef enum qb_pad { QB_PAD_EDGE, QB_PAD_ZERO, QB_PAD_MIRROR, QB_PAD_TAPER, QB_PAD_ELLIPSE } qb_pad;
/* Resample views onto a virtual flat detector parallel to the axis before filtering? Auto: if the detector is curved or
 * tilted. */
typedef enum qb_resample { QB_RESAMPLE_AUTO, QB_RESAMPLE_ALWAYS, QB_RESAMPLE_NEVER } qb_resample;

/* Divide views of counts by the beam intensity of the scan's monitor, or ignore it. */
typedef enum qb_monitor { QB_MONITOR_USE, QB_MONITOR_IGNORE } qb_monitor;

/* Filter of phase retrieval: with the squared frequency (Paganin), or with the discrete Laplacian of the pixels
 * (generalised Paganin), which keeps more detail. */
typedef enum qb_paganin_kernel { QB_PAGANIN_PLAIN, QB_PAGANIN_GENERALISED } qb_paganin_kernel;

/* What a bright pixel is compared with: those around it in its view, or those of the views before and after. */
typedef enum qb_zingers_in { QB_ZINGERS_IN_VIEW, QB_ZINGERS_IN_TIME } qb_zingers_in;

typedef struct qb_prep_options {
    size_t struct_size;        /* see qb_params_init */
    const char *air;           /* X0:X1,Y0:Y1 columns and rows of open beam, or auto; NULL = not normalised */
    double transmission_floor; /* smaller transmissions are raised to this before -log; 0 = 1e-6 */
    /* Ring removal: METHOD[:snr=S,large=N,small=N]; NULL = none. The search for the axis ignores it and removes rings
     * on its own. */
    const char *rings;
    /* Beam hardening. A[,B]: line integrals p become p + A p^2 + B p^3; table:FILE; spectrum:MATERIAL,KV[,FILTER:MM];
     * two:BASE+DENSE,KV...; NULL = none */
    const char *hardening;
    qb_monitor monitor; /* what to do with qb_scan_info.intensity */
    double zingers;     /* a pixel brighter by so many standard deviations is replaced; 0 or NAN = off */
    char *paganin;      /* phase retrieval: delta/beta, a length (25um, 4px) or alpha:A; NULL or none = off */
    qb_paganin_kernel paganin_kernel;
    double energy;   /* keV of the beam; 0 = as the scan states it */
    double distance; /* mm from the object to the detector; 0 = as the scan or the geometry states it */
    /* C,SIGMA: behind paganin's filter t becomes t + C (t - its Gaussian mean of SIGMA pixels); none = not */
    qb_numbers unsharp;
    /* constant:S: S of the open beam is taken off all views; smooth:A,SIGMA; NULL or none = nothing */
    const char *scatter;
    qb_zingers_in zingers_in;
} qb_prep_options;
QB_API extern const qb_param qb_prep_params[];

/* Check a few rows of a few views, as every reconstruction does: wrong quantity, air or object brighter than the open
 * beam, zingers, clipped counts. Warnings and refusals are added to the scan's problems. */
QB_API qb_status qb_scan_check(qb_scan *scan, const qb_env *env);

/* What to do with voxels outside the field of view, whose values are incomplete because not all views see them. */
typedef enum qb_outside { QB_OUTSIDE_KEEP, QB_OUTSIDE_ZERO, QB_OUTSIDE_NAN } qb_outside;
/* Angular weight of a view: half of the steps to its two neighbours, except for EVEN. The rules differ at gaps. */
typedef enum qb_angle_weights {
    QB_WEIGHTS_AUTO,    /* several views on both sides of a wide gap share it */
    QB_WEIGHTS_CAPPED,  /* weights of at most twice the median step: gaps are not filled, values become too low */
    QB_WEIGHTS_SPACING, /* the two views at the borders of a gap share all of it */
    QB_WEIGHTS_EVEN     /* every view counts the same */
} qb_angle_weights;

/* Filtered back-projection of a parallel-beam scan. */
typedef struct qb_fbp_options {
    size_t struct_size; /* see qb_params_init */
    const char *center; /* auto, near:COLUMN, a method, middle, stated (by the scan), or a column; NULL: stated where
                            qb_scan_info.center_holds, else auto */
    const char *slices; /* A:B[:S] */
    const char *filter; /* NAME[:CUTOFF] or a file */
    qb_pad pad;
    qb_interp interp;
    qb_accuracy accuracy;
    const char *kernel; /* a variant id; NULL = the planner chooses */
    qb_numbers size;    /* NX,NY[,NZ]; default: columns, columns, rows */
    double voxel;       /* mm, of x and y; default: the pixel size */
    qb_numbers offset;  /* X,Y[,Z] mm; slices lie where detector rows do */
    const char *like;   /* the grid of this volume file instead of the three; NULL = unset */
    double hu;          /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    const char *search; /* A:B, columns in which the axis is searched; NULL = all */
    qb_outside outside; /* voxels that not all views see */
    bool circle;        /* set voxels outside the circle that all views see to 0 */
    qb_angle_weights angle_weights;
    double tilt;          /* degrees of in-plane rotation of the detector about its centre, right-handed about the rays;
                           * rows are resampled on the CPU */
    const char *geometry; /* geometry file, instead of angles and center */
    bool resume;          /* continue a run of the same job that was killed or failed */
    double checkpoint;    /* seconds between two checkpoints for `resume`; 0 = 300, QB_ZERO = none */
    /* "X0:X1,Y0:Y1": compute only these voxels of each slice, with the bits of the whole slice; NULL = all. On the
     * CPU. */
    const char *region;
} qb_fbp_options;
QB_API extern const qb_param qb_fbp_params[];

/* Cone-beam reconstruction after Feldkamp, Davis and Kress. */
typedef struct qb_fdk_options {
    size_t struct_size; /* see qb_params_init */
    const char *filter; /* NAME[:CUTOFF] or a file */
    qb_pad pad;
    qb_accuracy accuracy;
    const char *kernel; /* a variant id; NULL = the planner chooses */
    qb_numbers size;    /* NX,NY,NZ; default: columns, columns, rows */
    double voxel;       /* mm; default: pixel / magnification */
    qb_numbers offset;  /* X,Y,Z mm */
    const char *like;   /* take the grid of this volume file instead of size, voxel and offset; NULL = unset */
    const char *slices; /* A:B[:S] of that grid; NULL = all */
    bool allow_limited; /* reconstruct although angles are missing; else QB_BAD_INPUT with the missing range */
    double hu;          /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    qb_resample resample;
    bool force;         /* reconstruct although the source's path is not a circle; else QB_BAD_INPUT */
    qb_outside outside; /* voxels outside the field of view */
    bool circle;        /* set voxels outside the circle that all views see to 0 */
    const char *grid;   /* grid of ranks (quickbeam/ranks.h): ROWSxCOLUMNS, or auto */
    bool resume;        /* continue a run of the same job that was killed or failed */
    double checkpoint;  /* seconds between two checkpoints for `resume`; 0 = none, and nothing can be resumed */
    qb_angle_weights angle_weights;
    qb_numbers voxels; /* voxel size X,Y,Z in mm, or one number for all; instead of voxel */
    /* "X0:X1,Y0:Y1,Z0:Z1": compute only these voxels, with the bits of the whole volume; NULL = all. On the CPU. */
    const char *region;
} qb_fdk_options;
QB_API extern const qb_param qb_fdk_params[];

/* Forward projection of a volume file. 0, an empty list and NULL stand for the default that the comment names. */
typedef struct qb_project_options {
    size_t struct_size;       /* see qb_params_init */
    const char *dataset;      /* HDF5 path of the volume; default /exchange/data, or the only array */
    double voxel;             /* mm; default: the file's */
    qb_numbers offset;        /* X,Y,Z mm: position of its centre; default: the file's, else 0 */
    double hu;                /* the volume is in Hounsfield units: attenuation of water in 1/mm */
    int views;                /* default: N of FROM:TO:N, else pi/2 times the columns */
    const char *angles;       /* degrees, as in qb_scan_options; default 0:180 parallel, 0:360 cone */
    qb_numbers detector;      /* COLUMNS[,ROWS]; default: as many as the volume has along x or y, and z */
    double pixel_size;        /* mm; default: a voxel as it appears on the detector */
    double center_offset;     /* pixels: the axis falls on column (columns - 1) / 2 + center_offset */
    const char *kernel;       /* a variant id; NULL = the planner chooses */
    const char *geometry_out; /* geometry file to write (qb_geometry_save) */
    qb_numbers voxels;        /* voxel size X,Y,Z in mm, or one number for all; instead of voxel */
    qb_numbers pixels;        /* pixel size U,V in mm along columns and rows, or one number; instead of pixel_size */
} qb_project_options;
QB_API extern const qb_param qb_project_params[];

/* Conversion of a scan into line integrals in a file or an array, and of a volume into another format. */
typedef struct qb_convert_options {
    size_t struct_size; /* see qb_params_init */
    const char *output; /* file name, as for qb_writer_create */
    /* Column of the axis, `stated` or `middle`, for formats that store it. NULL: as the scan states it (for .h5 only if
     * qb_scan_info.center_holds), else middle (.h5: not stored). */
    const char *center;
    const qb_tensor *array; /* the caller's float32 [view][row][column], instead of output; NULL = a file */
    const char *stitch;     /* scan of a second camera to the right of the first, to be joined; NULL = none */
    const char *overlap;    /* columns that both cameras see, or `auto` (measured); NULL = auto */
    bool half_turn;         /* join opposite views of a full turn into wider views of a half turn; needs the axis */
    const char *compress;   /* compression, as in qb_stack */
    qb_zarr zarr;
    bool volume;       /* for qb convert: the file is a volume, though it does not say so */
    bool resume;       /* volumes: go on where an earlier run was stopped */
    double checkpoint; /* volumes: seconds between two notes of what is done for `resume`; 0 = 300, QB_ZERO = none */
    const char *dtype; /* volumes: float32, float16, uint16 or uint8; NULL: as they are stored */
    qb_numbers range;  /* volumes: values that become 0 and the largest of integers; none: of the volume */
    /* mu in 1/mm, beta:B, or delta:D with paganin: line integrals of one material become its mm; NULL: they stay */
    const char *thickness;
} qb_convert_options;
QB_API extern const qb_param qb_convert_params[];
/* Prepare all rows of all views with `prep` (NULL: defaults) and write them with their angles. `command` goes into the
 * provenance; NULL: none. QB_BAD_INPUT for a scan without angles, QB_BAD_ARGUMENT for data that the format cannot hold;
 * errors of qb_writer_create and qb_scan_read. A failed call leaves no file. */
QB_API qb_status qb_convert(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options,
                            const char *command, const qb_env *env);
/* The same with a report in JSON (NULL after a failure): output, views, column of the axis if the file stores it, and
 * the preparation, with the numbers of values that were raised to the floor, not finite, or without a flat. Release it
 * with qb_text_free. */
QB_API qb_status qb_convert_report(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options,
                                   const char *command, const qb_env *env, char **report);
/* Convert a volume file (see qb_array_load) into another format: the same values, or `dtype`. Voxel size, position,
 * units and provenance are kept if the format can hold them; `lost` in *report (JSON) lists what it cannot. Release
 * *report with qb_text_free. */
QB_API qb_status qb_convert_volume(const char *path, const char *dataset, const qb_convert_options *options,
                                   const char *command, const qb_env *env, char **report);

/* Where the system matrix comes from: the choice that fits memory, computed as it goes, kept in 8 bits
 * of each column's largest entry, kept as floats. */
typedef enum qb_mbir_matrix { QB_MATRIX_AUTO, QB_MATRIX_FLY, QB_MATRIX_BYTES, QB_MATRIX_FLOATS } qb_mbir_matrix;

/* Model-based reconstruction of a parallel or fan beam by iterative coordinate descent: weighted least
 * squares and a q-generalised Gaussian Markov random field (Thibault et al. 2007), with the parameters of svmbir.
 * 0, an empty list and NULL stand for the default that the comment names. */
typedef struct qb_mbir_options {
    size_t struct_size; /* see qb_params_init */
    double sharpness;   /* sigma_x is 0.2 * 2^sharpness of a typical attenuation, when not given */
    double snr_db; /* sigma_y is this far below the data's rms, when not given; 0 or NAN (auto) = by the data's noise */
    double sigma_x; /* 1/mm; 0 = from sharpness */
    double sigma_y; /* 0 = from snr_db */
    double p, q, t; /* 1 <= p <= q <= 2; 0 = 1.2, 2, 1 */
    /* nearest, diagonal, interslice, of a cone also edge, corner: b, rescaled to 4 + 4 + 2 + 8 + 8 of them = 1 */
    qb_numbers neighbours;
    /* unweighted, transmission, transmission_root, emission, or a file; 0 where nothing was measured */
    const char *weights;
    bool no_positivity; /* attenuation may fall below zero */
    const char *start;  /* fbp, prox, a constant in 1/mm, or a volume's file */
    int equits;         /* largest number of equits; one equit is one update for each voxel; 0 = 40 */
    double stop;       /* stop if an equit changes voxels by less than this % of their mean; 0 = 0.2, QB_ZERO = never */
    bool no_zero_skip; /* update voxels that are 0 among zeros in every sweep; else in every third sweep */
    qb_mbir_matrix matrix;
    const char *center;       /* rotation axis, as center of qb_fbp_options */
    const char *slices;       /* A:B; NULL = all */
    qb_numbers size;          /* NX,NY[,NZ]; default: columns, columns, rows */
    double voxel;             /* mm, of x and y, of a cone z too; default: the pixel size */
    double roi;               /* mm: voxels farther from the centre stay 0; default: half the longer side */
    double hu;                /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    int seed;                 /* seed of the random order of voxels */
    const char *kernel;       /* a variant id; NULL = the planner chooses */
    bool resume;              /* continue from OUT.checkpoint of a run of the same job that was killed */
    double checkpoint;        /* seconds between two checkpoints; 0 = 300, QB_ZERO = none */
    const char *matrix_cache; /* folder that keeps system matrices for later runs; NULL = none */
    /* Proximal map of the data term, for plug and play: argmin 1/2 |y - A x|_W^2 + 1/(2 sigma_p^2) |x - prox|^2, with
     * x >= 0 if positivity is on. The second term replaces the prior. */
    const char *prox; /* a volume of the output's shape in 1/mm; NULL = none */
    double sigma_p;   /* 1/mm; 0 = 2 * 2^sharpness of a typical attenuation */
    /* Arrays of the output's shape in 1/mm, instead of files. They are the caller's and must outlive the job; the
     * result's array may be one of them. */
    const qb_tensor *prox_array, *start_array;
    /* Levels of coarser voxels to start with, each of twice the side; 0 = auto: if views are few or cover only a part
     * of the half turn; -1 = none */
    int coarse;
    /* Volume of the output's shape, in 1/mm or, with hu, in HU. The report gives the rmse to it after each sweep. NULL
     * = none */
    const char *reference;
    /* Refuse icd_supervoxel.global, the only kernel whose last bits differ from run to run. */
    bool deterministic;
} qb_mbir_options;
QB_API extern const qb_param qb_mbir_params[];

/* A planned job. It has allocated no large memory and written nothing until it runs. */
typedef struct qb_job qb_job;

/* Plan a job: centre, chunks, kernel, memory and time. `command`, which repeats the job, goes into the provenance. The
 * scan must outlive the job. */
QB_API qb_status qb_fbp_plan(qb_scan *scan, const qb_prep_options *prep, const qb_fbp_options *options,
                             const qb_output_options *output, const char *command, const qb_env *env, qb_job **job);
/* The same for a cone beam. geometry has the scan's views, rows and columns, and must outlive the job. On a device,
 * unless the accuracy is high, planning reads a few rows of line integrals; it waits for work queued on an array of
 * them. */
QB_API qb_status qb_fdk_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                             const qb_fdk_options *options, const qb_output_options *output, const char *command,
                             const qb_env *env, qb_job **job);
/* qb_sirt_plan and those of the other solvers: of any geometry; NULL: a parallel beam of the scan's own angles and
 * pixels. All line integrals and a few volumes are held: QB_BAD_ARGUMENT, with how much, when env allows less. The
 * report says how residual |A x - b| / |b| and change fell. */
#define QB_SOLVER_PLAN(name, summary, example)                                                                         \
    QB_API qb_status qb_##name##_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,         \
                                      const qb_iterative_options *options, const qb_output_options *output,            \
                                      const char *command, const qb_env *env, qb_job **job);
QB_SOLVERS(QB_SOLVER_PLAN)
#undef QB_SOLVER_PLAN
/* Model-based reconstruction of a parallel beam (geometry NULL) or any geometry of the scan's views, rows and columns,
 * which must outlive the job. Rows that stay in their planes are fans, slices each; else slices, roi and what only a
 * coordinate descent has are QB_BAD_ARGUMENT. With a prior between slices the whole stack is held, with line integrals,
 * errors and weights: QB_BAD_ARGUMENT, with how much, when env allows less; slices on their own pass in slabs. What is
 * NaN or infinite, or of a pixel whose flat is dead, counts as not measured: it weighs nothing. QB_BAD_INPUT for a
 * slice of which nothing was measured, and for weights that are negative, no numbers or all zero. The report tells
 * equits, change and cost, and of slabs how much was not measured. */
QB_API qb_status qb_mbir_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                              const qb_mbir_options *options, const qb_output_options *output, const char *command,
                              const qb_env *env, qb_job **job);
/* Forward projection of a volume file by qb_projector. geometry->geometry is `parallel`, a file (which then has views,
 * angles, detector and distances), or NULL for a circle. QB_BAD_INPUT if the voxel size is needed but unknown; errors
 * of qb_projector_create. */
QB_API qb_status qb_project_plan(const char *volume, const qb_geometry_options *geometry,
                                 const qb_project_options *options, const qb_output_options *output,
                                 const char *command, const qb_env *env, qb_job **job);
/* The same from memory: volume [z][y][x] on `grid` (NULL = qb_grid_default, or options->voxel and offset), along the
 * rays of `geometry`, which is copied. Only hu, kernel and geometry_out of the options are used; options may be
 * NULL. */
QB_API qb_status qb_project_array_plan(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                                       const qb_project_options *options, const qb_output_options *output,
                                       const char *command, const qb_env *env, qb_job **job);
/* Forecast and decisions as a JSON object, valid until the job runs or is destroyed. After a run it describes what was
 * really done, since a device may have had less memory than forecast. */
QB_API const char *qb_job_plan(const qb_job *job);
/* Run the job. *report (if not NULL) becomes a JSON object with the stages; it is valid until the job runs again or is
 * destroyed. Several jobs, also of one scan, may run at once in their own threads. QB_BAD_ARGUMENT if this job is
 * already running. */
QB_API qb_status qb_job_run(qb_job *job, const qb_env *env, const char **report);
/* projections = B' volume, where B maps line integrals to the volume of a job of qb_fbp_plan or qb_fdk_plan: the exact
 * transpose, for gradients. volume [z][y][x] and projections [view][row][column] are float32 in any memory; both are
 * copied, and the CPU computes. If the axis is to be searched, run the job first. QB_UNSUPPORTED, with the reason, if B
 * is not linear (counts, corrections, pads that fade) or views are resampled. */
QB_API qb_status qb_job_transpose(qb_job *job, const qb_tensor *volume, const qb_env *env,
                                  const qb_tensor *projections);
QB_API void qb_job_destroy(qb_job *job); /* NULL-safe; does nothing while the job runs */

/* Search for the rotation axis. */
typedef struct qb_center_options {
    size_t struct_size; /* see qb_params_init */
    const char *method; /* auto, near:COLUMN, registration, overlap, sharpness, mass */
    const char *search; /* A:B, columns; NULL = the whole detector */
    const char *rows;   /* A:B[:S] rows to use; NULL = five rows spread over the detector */
    double tilt;        /* known in-plane rotation of the detector in degrees, as in qb_fbp_options */
    double sod, sdd;    /* cone beam: mm from the source to the axis and to the detector; 0 = as the scan states */
} qb_center_options;
QB_API extern const qb_param qb_center_params[];

typedef struct qb_center_method {
    const char *name;
    double column;     /* NAN if the method has no result */
    double confidence; /* 0..1 */
} qb_center_method;

typedef struct qb_center_result {
    size_t struct_size; /* sizeof(qb_center_result); 0 = first version. New fields come at the end */
    double column, confidence;
    int count;
    qb_center_method method[8];
    char warning[256];      /* empty when the methods agree */
    double tilt;            /* degrees by which the detector was found to be turned, the known included; NAN when the
                          rows do not say. Of a cone beam as in qb_geometry_options.tilt */
    double tilt_confidence; /* 0..1, of a cone beam */
    /* for a cone beam: the row where the ray at right angles to the axis meets the whole detector; NAN: not known */
    double row;
    double row_confidence; /* 0..1 */
} qb_center_result;

/* QB_BAD_INPUT if no method has a result; *result still holds what each method returned. */
QB_API qb_status qb_center_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                                const qb_env *env, qb_center_result *result);

/* Beam hardening of an object of one material, fitted from its own scan, for qb_prep_options.hardening. */
typedef struct qb_hardening_result {
    size_t struct_size; /* sizeof(qb_hardening_result); 0 = first version. New fields come at the end */
    double a, b;        /* p + a p^2 + b p^3 is proportional to the length of the ray in the object */
    double most;        /* largest measured line integral */
    double loss;        /* relative loss of that line integral by hardening, 0 to 1 */
    double rms;         /* rms deviation of the line integrals from the curve, relative to the largest */
    double column;      /* column of the rotation axis that was used */
    char warning[256];  /* empty if the curve fits */
} qb_hardening_result;

/* Searches the axis as qb_center_find does, with the same options; prep->hardening is ignored. QB_BAD_INPUT as for
 * qb_center_find, and if the rays in the object have too few different lengths. */
QB_API qb_status qb_hardening_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                                   const qb_env *env, qb_hardening_result *result);

#ifdef __cplusplus
}
#endif
#endif
