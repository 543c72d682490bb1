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

/* What a bright pixel is compared with: the pixels around it in its view, or the same pixel in the views before and
 * after. */
typedef enum qb_zingers_in { QB_ZINGERS_IN_VIEW, QB_ZINGERS_IN_TIME } qb_zingers_in;

typedef struct qb_prep_options {
    size_t struct_size;        /* see qb_params_init */
    const char *air;           /* columns and rows of open beam, X0:X1,Y0:Y1, or auto; NULL = not normalised */
    double transmission_floor; /* smaller transmissions are raised to this value before -log; 0 = 1e-6 */
    /* Ring removal: METHOD[:snr=S,large=N,small=N]; NULL = none. The axis search of cones ignores it and removes rings
     * in its own way. */
    const char *rings;
    /* Beam hardening. A[,B]: line integrals p become p + A p^2 + B p^3; or table:FILE;
     * spectrum:MATERIAL,KV[,FILTER:MM]; two:BASE+DENSE,KV...; NULL = none */
    const char *hardening;
    qb_monitor monitor; /* what to do with qb_scan_info.intensity */
    /* a pixel is replaced if it is brighter by this number of standard deviations; 0 or NAN = off */
    double zingers;
    const char *paganin; /* phase retrieval: delta/beta, a length (25um, 4px) or alpha:A; NULL or none = off */
    qb_paganin_kernel paganin_kernel;
    double energy;   /* keV of the beam; 0 = as the scan states */
    double distance; /* mm from the object to the detector; 0 = as the scan or the geometry states */
    /* C,SIGMA: unsharp mask after the filter of paganin. t becomes t + C (t - its Gaussian mean of SIGMA pixels). none
     * = no unsharp mask */
    qb_numbers unsharp;
    /* constant:S: this fraction S of the open beam is subtracted from all views; smooth:A,SIGMA; NULL or none = off */
    const char *scatter;
    qb_zingers_in zingers_in;
} qb_prep_options;
QB_API extern const qb_param qb_prep_params[];

/* Check a few rows of a few views, as every reconstruction does: wrong quantity, air or object brighter than the open
 * beam, zingers, clipped counts. Warnings and errors found here are added to the scan's problems. */
QB_API qb_status qb_scan_check(qb_scan *scan, const qb_env *env);

/* What to do with voxels outside the field of view, whose values are incomplete because not all views see them. */
typedef enum qb_outside { QB_OUTSIDE_KEEP, QB_OUTSIDE_ZERO, QB_OUTSIDE_NAN } qb_outside;
/* Angular weight of a view: half of the sum of the steps to its two neighbours, except for EVEN. The rules differ at
 * gaps. */
typedef enum qb_angle_weights {
    QB_WEIGHTS_AUTO,    /* the weight of a wide gap is shared by several views on both sides */
    QB_WEIGHTS_CAPPED,  /* a weight is at most twice the median step: gaps are not filled, so values become too low */
    QB_WEIGHTS_SPACING, /* the weight of a gap goes to the two views at its borders */
    QB_WEIGHTS_EVEN     /* every view counts the same */
} qb_angle_weights;

/* Filtered back-projection of a parallel-beam scan. */
typedef struct qb_fbp_options {
    size_t struct_size; /* see qb_params_init */
    /* auto, near:COLUMN, a method, middle, stated (by the scan), or a column; NULL: stated if
     * qb_scan_info.center_holds, else auto */
    const char *center;
    const char *slices; /* A:B[:S] */
    const char *filter; /* NAME[:CUTOFF] or a file with the filter */
    qb_pad pad;
    qb_interp interp;
    qb_accuracy accuracy;
    const char *kernel; /* a variant id; NULL = the planner chooses */
    qb_numbers size;    /* NX,NY[,NZ]; default: columns, columns, rows */
    double voxel;       /* mm, of x and y; default: the pixel size */
    qb_numbers offset;  /* X,Y[,Z] mm; slices are at the positions of the detector rows */
    const char *like;   /* the grid of this volume file, instead of size, voxel and offset; NULL = unset */
    double hu;          /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    const char *search; /* A:B: range of columns in which the axis is searched; NULL = all */
    qb_outside outside; /* what to do with voxels that not all views see */
    bool circle;        /* set voxels outside the circle that all views see to 0 */
    qb_angle_weights angle_weights;
    /* degrees of in-plane rotation of the detector about its centre, right-handed about the rays; rows are resampled on
     * the CPU */
    double tilt;
    const char *geometry; /* geometry file, instead of angles and center */
    bool resume;          /* continue a run of the same job that was killed or that failed */
    double checkpoint;    /* seconds between two checkpoints for `resume`; 0 = 300, QB_ZERO = none */
    /* "X0:X1,Y0:Y1": compute only these voxels of each slice, on the CPU. The values are bit-identical to those of the
     * whole slice. NULL = all */
    const char *region;
} qb_fbp_options;
QB_API extern const qb_param qb_fbp_params[];

/* Cone-beam reconstruction after Feldkamp, Davis and Kress (J. Opt. Soc. Am. A 1, 612-619, 1984). */
typedef struct qb_fdk_options {
    size_t struct_size; /* see qb_params_init */
    const char *filter; /* NAME[:CUTOFF] or a file with the filter */
    qb_pad pad;
    qb_accuracy accuracy;
    const char *kernel; /* a variant id; NULL = the planner chooses */
    qb_numbers size;    /* NX,NY,NZ; default: columns, columns, rows */
    double voxel;       /* mm; default: pixel / magnification */
    qb_numbers offset;  /* X,Y,Z mm */
    const char *like;   /* the grid of this volume file, instead of size, voxel and offset; NULL = unset */
    const char *slices; /* A:B[:S] of that grid; NULL = all */
    bool allow_limited; /* reconstruct although angles are missing; else QB_BAD_INPUT with the missing range */
    double hu;          /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    qb_resample resample;
    bool force;         /* reconstruct although the source path is not a circle; else QB_BAD_INPUT */
    qb_outside outside; /* what to do with voxels outside the field of view */
    bool circle;        /* set voxels outside the circle that all views see to 0 */
    const char *grid;   /* grid of ranks (quickbeam/ranks.h): ROWSxCOLUMNS, or auto */
    bool resume;        /* continue a run of the same job that was killed or that failed */
    double checkpoint;  /* seconds between two checkpoints for `resume`; 0 = none: the run cannot be resumed */
    qb_angle_weights angle_weights;
    qb_numbers voxels; /* voxel size X,Y,Z in mm, or one number for all; instead of voxel */
    /* "X0:X1,Y0:Y1,Z0:Z1": compute only these voxels, on the CPU. The values are bit-identical to those of the whole
     * volume. NULL = all */
    const char *region;
} qb_fdk_options;
QB_API extern const qb_param qb_fdk_params[];

/* Forward projection of a volume file. 0, an empty list and NULL stand for the default that the comment names. */
typedef struct qb_project_options {
    size_t struct_size;       /* see qb_params_init */
    const char *dataset;      /* HDF5 path of the volume; default /exchange/data, or the only array */
    double voxel;             /* mm; default: as the file states */
    qb_numbers offset;        /* X,Y,Z mm: position of the volume's centre; default: as the file states, else 0 */
    double hu;                /* attenuation of water in 1/mm, if the volume is in Hounsfield units; 0 = it is not */
    int views;                /* default: N of FROM:TO:N, else pi/2 times the columns */
    const char *angles;       /* degrees, as in qb_scan_options; default 0:180 parallel, 0:360 cone */
    qb_numbers detector;      /* COLUMNS[,ROWS]; default: as many as the volume has along x or y, and z */
    double pixel_size;        /* mm; default: the size of a voxel as projected on the detector */
    double center_offset;     /* pixels: the axis is projected on column (columns - 1) / 2 + center_offset */
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
     * qb_scan_info.center_holds), else the middle (in .h5 it is not stored). */
    const char *center;
    const qb_tensor *array; /* float32 array [view][row][column] of the caller, instead of output; NULL = a file */
    const char *stitch;     /* scan of a second camera to the right of the first, to be stitched to it; NULL = none */
    const char *overlap;    /* columns that both cameras see, or `auto` (measured); NULL = auto */
    bool half_turn;         /* stitch opposite views of a full turn into wider views of a half turn; needs the axis */
    const char *compress;   /* compression, as in qb_stack */
    qb_zarr zarr;
    bool volume;       /* for qb convert: read the file as a volume, although it does not say that it is one */
    bool resume;       /* volumes: continue a run that was stopped */
    double checkpoint; /* volumes: seconds between two checkpoints for `resume`; 0 = 300, QB_ZERO = none */
    const char *dtype; /* volumes: float32, float16, uint16 or uint8; NULL: as stored */
    /* volumes: the values that are stored as 0 and as the largest integer; none: the range of the volume */
    qb_numbers range;
    /* mu in 1/mm, beta:B, or delta:D with paganin: line integrals of one material are converted into its thickness in
     * mm; NULL: no conversion */
    const char *thickness;
} qb_convert_options;
QB_API extern const qb_param qb_convert_params[];
/* Prepare all rows of all views with `prep` (NULL: defaults) and write them with their angles. `command` is stored in
 * the provenance; NULL: none. QB_BAD_INPUT for a scan without angles, QB_BAD_ARGUMENT for data that the format cannot
 * hold; other errors as in qb_writer_create and qb_scan_read. A failed call leaves no file. */
QB_API qb_status qb_convert(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options,
                            const char *command, const qb_env *env);
/* qb_convert with a report in JSON (NULL after a failure). It contains the output, the number of views, the column of
 * the axis if the file stores it, and the preparation with the numbers of values that were raised to the floor, were
 * not finite, or had no flat. Release *report with qb_text_free. */
QB_API qb_status qb_convert_report(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options,
                                   const char *command, const qb_env *env, char **report);
/* Convert a volume file (see qb_array_load) into another format, with the same values or as `dtype`. Voxel size,
 * position, units and provenance are kept if the format can hold them; `lost` in *report (JSON) lists those that it
 * cannot hold. Release *report with qb_text_free. */
QB_API qb_status qb_convert_volume(const char *path, const char *dataset, const qb_convert_options *options,
                                   const char *command, const qb_env *env, char **report);

/* How the system matrix is provided. Auto: the choice that fits into memory. Fly: computed when needed. Bytes: stored
 * with 8 bits per entry, scaled by the largest entry of each column. Floats: stored as floats. */
typedef enum qb_mbir_matrix { QB_MATRIX_AUTO, QB_MATRIX_FLY, QB_MATRIX_BYTES, QB_MATRIX_FLOATS } qb_mbir_matrix;

/* Model-based reconstruction by iterative coordinate descent: weighted least squares and a q-generalised Gaussian
 * Markov random field (Thibault et al. 2007), with the parameters of svmbir. 0, an empty list and NULL stand for the
 * default that the comment names. */
typedef struct qb_mbir_options {
    size_t struct_size; /* see qb_params_init */
    double sharpness;   /* if sigma_x is not given: sigma_x = 0.2 * 2^sharpness of a typical attenuation */
    /* if sigma_y is not given: sigma_y is this many dB below the rms of the data; 0 or NAN (auto) = from the noise of
     * the data */
    double snr_db;
    double sigma_x; /* 1/mm; 0 = from sharpness */
    double sigma_y; /* 0 = from snr_db */
    double p, q, t; /* 1 <= p <= q <= 2; 0 = 1.2, 2, 1 */
    /* prior weights b of nearest, diagonal and interslice neighbours, for a cone beam also edge and corner; rescaled so
     * that 4, 4, 2, 8 and 8 of them have the sum 1; none given: 1, 0.7071, 1, for a cone beam 1, 0.5, 1, 0.5, 0 */
    qb_numbers neighbours;
    /* unweighted, transmission, transmission_root, emission, or a file with weights, which are 0 for values that were
     * not measured */
    const char *weights;
    bool no_positivity; /* attenuation may fall below zero */
    const char *start;  /* start volume: fbp, prox, a constant in 1/mm, or a volume file */
    int equits;         /* largest number of equits; one equit is one update for each voxel; 0 = 40 */
    /* stop if an equit changes voxels by less than this percentage of their mean; 0 = 0.2, QB_ZERO = never */
    double stop;
    bool no_zero_skip; /* update voxels of 0 whose neighbours are all 0 in every sweep; default: in every third sweep */
    qb_mbir_matrix matrix;
    const char *center;       /* rotation axis, as center of qb_fbp_options */
    const char *slices;       /* A:B; NULL = all */
    qb_numbers size;          /* NX,NY[,NZ]; default: columns, columns, rows */
    double voxel;             /* mm, of x and y, for a cone beam also z; default: the pixel size */
    double roi;               /* mm: voxels farther than this from the centre stay 0; default: half the longer side */
    double hu;                /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    int seed;                 /* seed of the random order of voxels */
    const char *kernel;       /* a variant id; NULL = the planner chooses */
    bool resume;              /* continue from OUT.checkpoint, written by a run of the same job that was killed */
    double checkpoint;        /* seconds between two checkpoints; 0 = 300, QB_ZERO = none */
    const char *matrix_cache; /* folder that keeps system matrices for later runs; NULL = none */
    /* Proximal map of the data term, for plug and play: argmin 1/2 |y - A x|_W^2 + 1/(2 sigma_p^2) |x - prox|^2, with
     * x >= 0 if positivity is on. The second term replaces the prior. */
    const char *prox; /* a volume of the output's shape in 1/mm; NULL = none */
    double sigma_p;   /* 1/mm; 0 = 2 * 2^sharpness of a typical attenuation */
    /* Arrays of the output's shape in 1/mm, instead of files. The caller owns them and must keep them until the job is
     * destroyed. The array of the result may be one of them. */
    const qb_tensor *prox_array, *start_array;
    /* Number of levels with coarser voxels to start with; each level doubles the voxel side. 0 = auto: only if there
     * are few views or they cover only a part of the half turn; -1 = none */
    int coarse;
    /* Volume of the output's shape, in 1/mm or, with hu, in HU. The report states the rmse relative to it after each
     * sweep. NULL = none */
    const char *reference;
    /* Refuse icd_supervoxel.global, the only kernel whose results differ in the last bits from run to run. */
    bool deterministic;
} qb_mbir_options;
QB_API extern const qb_param qb_mbir_params[];

/* A planned job. It allocates no large memory and writes nothing before it runs. */
typedef struct qb_job qb_job;

/* Plan a job: centre, chunks, kernel, memory and time. `command` is stored in the provenance; it should repeat the job.
 * The scan must outlive the job. */
QB_API qb_status qb_fbp_plan(qb_scan *scan, const qb_prep_options *prep, const qb_fbp_options *options,
                             const qb_output_options *output, const char *command, const qb_env *env, qb_job **job);
/* qb_fbp_plan for a cone beam. geometry must have the scan's views, rows and columns, and must outlive the job. On a
 * device, unless the accuracy is high, planning reads a few rows of line integrals. If they are in an array, planning
 * waits for the work that is queued on it. */
QB_API qb_status qb_fdk_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                             const qb_fdk_options *options, const qb_output_options *output, const char *command,
                             const qb_env *env, qb_job **job);
/* qb_sirt_plan and the plans of the other solvers, for any geometry; NULL: a parallel beam with the scan's angles and
 * pixels. All line integrals and a few volumes are kept in memory: QB_BAD_ARGUMENT, with the bytes needed, if env
 * allows less. The report states the residual |A x - b| / |b| and the change after each iteration. */
#define QB_SOLVER_PLAN(name, summary, example)                                                                         \
    QB_API qb_status qb_##name##_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,         \
                                      const qb_iterative_options *options, const qb_output_options *output,            \
                                      const char *command, const qb_env *env, qb_job **job);
QB_SOLVERS(QB_SOLVER_PLAN)
#undef QB_SOLVER_PLAN
/* Plan a model-based reconstruction of a parallel beam (geometry NULL) or of any geometry with the scan's views, rows
 * and columns, which must outlive the job. If each detector row stays in one plane, each slice is reconstructed as a
 * fan beam. Otherwise slices, roi and the options that only coordinate descent has are QB_BAD_ARGUMENT. With a prior
 * between slices, the whole stack is kept in memory, with line integrals, errors and weights: QB_BAD_ARGUMENT, with the
 * bytes needed, if env allows less. Without it, slices are reconstructed in slabs. Values that are NaN or infinite, and
 * pixels whose flat is dead, count as not measured: their weight is 0. QB_BAD_INPUT for a slice without any measured
 * value, and for weights that are negative, not numbers or all zero. The report states equits, change and cost, and for
 * slabs the number of values that were not measured. */
QB_API qb_status qb_mbir_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                              const qb_mbir_options *options, const qb_output_options *output, const char *command,
                              const qb_env *env, qb_job **job);
/* Forward projection of a volume file with qb_projector. geometry->geometry is `parallel`, a geometry file (which then
 * states views, angles, detector and distances), or NULL for a circle. QB_BAD_INPUT if the voxel size is needed but
 * unknown; other errors as in qb_projector_create. */
QB_API qb_status qb_project_plan(const char *volume, const qb_geometry_options *geometry,
                                 const qb_project_options *options, const qb_output_options *output,
                                 const char *command, const qb_env *env, qb_job **job);
/* qb_project_plan for a volume in memory: volume [z][y][x] on `grid` (NULL = qb_grid_default, or options->voxel and
 * offset), along the rays of `geometry`, which is copied. Of the options, only hu, kernel and geometry_out are used;
 * options may be NULL. */
QB_API qb_status qb_project_array_plan(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                                       const qb_project_options *options, const qb_output_options *output,
                                       const char *command, const qb_env *env, qb_job **job);
/* Forecast and decisions as a JSON object, valid until the job runs or is destroyed. After a run it describes what was
 * really done: a device may have had less memory than forecast. */
QB_API const char *qb_job_plan(const qb_job *job);
/* Run the job. *report (if not NULL) becomes a JSON object with the stages. It is valid until the job runs again or is
 * destroyed. Several jobs, also of the same scan, may run at once in their own threads. QB_BAD_ARGUMENT if this job is
 * already running. */
QB_API qb_status qb_job_run(qb_job *job, const qb_env *env, const char **report);
/* projections = B' volume. B is the linear map from line integrals to the volume of a job of qb_fbp_plan or
 * qb_fdk_plan; B' is its exact transpose, for gradients. volume [z][y][x] and projections [view][row][column] are
 * float32 in any memory; both are copied, and the CPU computes. If the axis must be searched, run the job first.
 * QB_UNSUPPORTED, with the reason, if B is not linear (counts, corrections, pads that fade) or if views are
 * resampled. */
QB_API qb_status qb_job_transpose(qb_job *job, const qb_tensor *volume, const qb_env *env,
                                  const qb_tensor *projections);
QB_API void qb_job_destroy(qb_job *job); /* NULL-safe; does nothing while the job runs */

/* Search for the rotation axis. */
typedef struct qb_center_options {
    size_t struct_size; /* see qb_params_init */
    const char *method; /* auto, near:COLUMN, registration, overlap, sharpness, mass */
    const char *search; /* A:B: range of columns; NULL = the whole detector */
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
    size_t struct_size; /* sizeof(qb_center_result); 0 = first version. Later versions append fields */
    double column, confidence;
    int count;
    qb_center_method method[8];
    char warning[256]; /* empty when the methods agree */
    /* degrees by which the detector is rotated, including the known tilt; NAN if the rows do not show it. For a cone
     * beam as in qb_geometry_options.tilt */
    double tilt;
    double tilt_confidence; /* 0..1, for a cone beam */
    /* for a cone beam: the row of the whole detector that the ray perpendicular to the axis meets; NAN: not known */
    double row;
    double row_confidence; /* 0..1 */
} qb_center_result;

/* QB_BAD_INPUT if no method has a result; *result still holds what each method returned. */
QB_API qb_status qb_center_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                                const qb_env *env, qb_center_result *result);

/* Beam hardening of an object of one material, fitted from its own scan, for qb_prep_options.hardening. */
typedef struct qb_hardening_result {
    size_t struct_size; /* sizeof(qb_hardening_result); 0 = first version. Later versions append fields */
    double a, b;        /* p + a p^2 + b p^3 is proportional to the length of the ray in the object */
    double most;        /* largest measured line integral */
    double loss;        /* relative loss of that line integral by hardening, 0 to 1 */
    double rms;         /* rms deviation of the line integrals from the curve, relative to the largest */
    double column;      /* column of the rotation axis that was used */
    char warning[256];  /* empty if the curve fits */
} qb_hardening_result;

/* Fit the beam hardening. The axis is searched as in qb_center_find, with the same options; prep->hardening is ignored.
 * QB_BAD_INPUT as in qb_center_find, and if the rays through the object have too few different lengths. */
QB_API qb_status qb_hardening_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                                   const qb_env *env, qb_hardening_result *result);

#ifdef __cplusplus
}
#endif
#endif
