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

/* What continues a row beyond the detector; TAPER and ELLIPSE guess a truncated object. */
typedef enum qb_pad { QB_PAD_EDGE, QB_PAD_ZERO, QB_PAD_MIRROR, QB_PAD_TAPER, QB_PAD_ELLIPSE } qb_pad;
/* Onto a flat, upright detector before views are filtered? Auto: where it is bent or not level. */
typedef enum qb_resample { QB_RESAMPLE_AUTO, QB_RESAMPLE_ALWAYS, QB_RESAMPLE_NEVER } qb_resample;

/* How counts become line integrals. */
/* What becomes of the beam's intensity as the scan's monitor states it: views of counts are divided by it, or not. */
typedef enum qb_monitor { QB_MONITOR_USE, QB_MONITOR_IGNORE } qb_monitor;

/* The filter of phase retrieval: of the frequency squared, or of the pixels' own Laplacian, which keeps more detail. */
typedef enum qb_paganin_kernel { QB_PAGANIN_PLAIN, QB_PAGANIN_GENERALISED } qb_paganin_kernel;

/* What a bright pixel is compared with: those around it in its view, or those of the views before and after. */
typedef enum qb_zingers_in { QB_ZINGERS_IN_VIEW, QB_ZINGERS_IN_TIME } qb_zingers_in;

typedef struct qb_prep_options {
    size_t struct_size;        /* see qb_params_init */
    const char *air;           /* X0:X1,Y0:Y1 columns and rows of open beam, or auto; NULL = no normalising */
    double transmission_floor; /* smaller transmissions are raised to this before -log; 0 = 1e-6 */
    const char *
        rings; /* METHOD[:snr=S,large=N,small=N]; NULL = keep; not for the finders of the axis, which take theirs out themselves */
    const char *
        hardening; /* A[,B]: line integrals p become p + A p^2 + B p^3; table:FILE; spectrum:MATERIAL,KV[,FILTER:MM]; two:BASE+DENSE,KV...; NULL = as they are */
    qb_monitor monitor; /* qb_scan_info.intensity */
    double zingers;     /* standard deviations beyond which a single bright pixel is replaced; 0 or NAN = none is */
    char *paganin;      /* phase retrieval: delta/beta, a length (25um, 4px) or alpha:A; NULL or none = none */
    qb_paganin_kernel paganin_kernel;
    double energy;   /* keV of the beam; 0 = as the scan states it */
    double distance; /* mm from the object to the detector; 0 = as the scan or the geometry states it */
    qb_numbers
        unsharp; /* C,SIGMA: behind paganin's filter t becomes t + C (t - its Gaussian mean of SIGMA pixels); none = not */
    const char
        *scatter; /* constant:S: S of the open beam is taken off all views; smooth:A,SIGMA; NULL or none = nothing */
    qb_zingers_in zingers_in;
} qb_prep_options;
QB_API extern const qb_param qb_prep_params[];

/* Look at a few rows of a few views as every reconstruction does: another quantity, air or an object brighter than open beam, zingers,
 * counts that are cut off. What one warns of, or refuses, is added to the scan's problems. */
QB_API qb_status qb_scan_check(qb_scan *scan, const qb_env *env);

/* What becomes of voxels that not all views see: their values are incomplete. */
typedef enum qb_outside { QB_OUTSIDE_KEEP, QB_OUTSIDE_ZERO, QB_OUTSIDE_NAN } qb_outside;
/* What a view counts for: half of the steps to both neighbours, except for EVEN. The rules differ in what a gap counts for. */
typedef enum qb_angle_weights {
    QB_WEIGHTS_AUTO,    /* a wide gap is shared by more views beside it than two */
    QB_WEIGHTS_CAPPED,  /* at most twice the median: gaps are left out, values lack them */
    QB_WEIGHTS_SPACING, /* all of a gap goes to the two views at its borders */
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
    const char *search; /* A:B, columns between which the axis is looked for; NULL = all */
    qb_outside outside; /* voxels that not all views see */
    bool circle;        /* nothing beyond the circle that all views see */
    qb_angle_weights angle_weights;
    double tilt;          /* degrees by which the detector is turned in its plane about its middle, right-handed
                            about the rays: rows are resampled between its own, on the CPU */
    const char *geometry; /* a file that says where rays and detector are, in place of angles and center */
    bool resume;          /* go on with what a run of the same job kept of the output before it was killed or failed */
    double checkpoint;    /* seconds between two notes of what is done for `resume`; 0 = 300, QB_ZERO = none */
    const char
        *region; /* "X0:X1,Y0:Y1": only these voxels of each slice, with the bits they have in the whole; NULL = all.
                           The CPU computes */
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
    const char *like;   /* the grid of this volume file instead of the three; NULL = unset */
    const char *slices; /* A:B[:S] of that grid; NULL = all */
    bool allow_limited; /* reconstruct although angles are missing; else QB_BAD_INPUT with how many */
    double hu;          /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    qb_resample resample;
    bool force;         /* reconstruct although the source's path is no circle; else QB_BAD_INPUT */
    qb_outside outside; /* voxels that not all views see */
    bool circle;        /* nothing beyond the circle that all views see */
    const char *grid;   /* of ranks (quickbeam/ranks.h): ROWSxCOLUMNS, or auto */
    bool resume;        /* go on with what a run of the same job kept of the output before it was killed or failed */
    double checkpoint;  /* seconds between two notes of what is done, without which nothing is kept; 0 = none */
    qb_angle_weights angle_weights;
    qb_numbers voxels; /* mm along X,Y,Z, or one number for all, in place of voxel */
    const char
        *region; /* "X0:X1,Y0:Y1,Z0:Z1": only these voxels, with the bits they have in the whole; NULL = all. The CPU
                           computes */
} qb_fdk_options;
QB_API extern const qb_param qb_fdk_params[];

/* Forward projection of a volume file. Zero, no numbers or NULL: the default named. */
typedef struct qb_project_options {
    size_t struct_size;       /* see qb_params_init */
    const char *dataset;      /* HDF5 path of the volume; default /exchange/data, or the only array */
    double voxel;             /* mm; default: the file's */
    qb_numbers offset;        /* X,Y,Z mm: where its middle lies; default: the file's, else 0 */
    double hu;                /* the volume is in Hounsfield units: attenuation of water in 1/mm */
    int views;                /* default: N of FROM:TO:N, else pi/2 times the columns */
    const char *angles;       /* degrees, as in qb_scan_options; default 0:180 parallel, 0:360 cone */
    qb_numbers detector;      /* COLUMNS[,ROWS]; default: as many as the volume has along x or y, and z */
    double pixel_size;        /* mm; default: a voxel as it appears on the detector */
    double center_offset;     /* pixels: the axis falls on column (columns - 1) / 2 + center_offset */
    const char *kernel;       /* a variant id; NULL = the planner chooses */
    const char *geometry_out; /* file to write, of a kind that qb_geometry_save knows */
    qb_numbers voxels;        /* mm along X,Y,Z, or one number for all, in place of voxel */
    qb_numbers pixels;        /* mm along columns and rows, U,V, or one number for both, in place of pixel_size */
} qb_project_options;
QB_API extern const qb_param qb_project_params[];

/* A scan as line integrals, in a file of another kind or in an array. */
typedef struct qb_convert_options {
    size_t struct_size; /* see qb_params_init */
    const char *output; /* of a name that qb_writer_create knows */
    const char *
        center; /* the axis' column, `stated` or `middle`, for files that state it; NULL: stated where the scan does (of one
                           that qb_scan_info.center_holds says so of, for .h5), else middle (.h5: none) */
    const qb_tensor *array; /* float32 [view][row][column] in place of output, the caller's; NULL: a file */
    const char *stitch;     /* the scan of a second camera, right of the first: line integrals are joined; NULL: none */
    const char *overlap;    /* columns that both see, or `auto`: they are compared; NULL: auto */
    bool half_turn;         /* views of a whole turn become wider ones of half a turn; needs the axis */
    const char *compress;   /* as qb_stack's */
    qb_zarr zarr;
    bool volume;       /* of qb convert: the file is a volume, though it does not say so */
    bool resume;       /* volumes: go on where an earlier run was stopped */
    double checkpoint; /* volumes: seconds between two notes of what is done for `resume`; 0 = 300, QB_ZERO = none */
    const char *dtype; /* volumes: float32, float16, uint16 or uint8; NULL: as they are stored */
    qb_numbers range;  /* volumes: values that become 0 and the largest of integers; none: of the volume */
    const char *
        thickness; /* mu in 1/mm, beta:B, or delta:D with paganin: line integrals of one material become its mm; NULL: they stay */
} qb_convert_options;
QB_API extern const qb_param qb_convert_params[];
/* What `prep` (NULL: its defaults) makes of the scan's numbers, all rows of all its views, with their angles. `command` is kept in the
 * provenance; NULL: none. QB_BAD_INPUT for a file of a scan without angles, QB_BAD_ARGUMENT for what the kind of file cannot hold, and what
 * qb_writer_create and qb_scan_read return; what was not finished leaves no file. */
QB_API qb_status qb_convert(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options,
                            const char *command, const qb_env *env);
/* The same, and what came of it, as JSON, for qb_text_free (NULL after a failure): output, views, column of the axis where
 * the file states one, and preparation, with how many values were raised to the floor, were no numbers, or have no flat. */
QB_API qb_status qb_convert_report(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options,
                                   const char *command, const qb_env *env, char **report);
/* A volume (the files of qb_array_load) in a file of another kind: the same numbers, or `dtype`, with voxel size, place, units and the input's
 * provenance as far as that kind holds them. *report, JSON: `lost` lists what it does not. Release it with qb_text_free. */
QB_API qb_status qb_convert_volume(const char *path, const char *dataset, const qb_convert_options *options,
                                   const char *command, const qb_env *env, char **report);

/* Where the system matrix comes from: the choice that fits memory, computed as it goes, kept in 8 bits
 * of each column's largest entry, kept as floats. */
typedef enum qb_mbir_matrix { QB_MATRIX_AUTO, QB_MATRIX_FLY, QB_MATRIX_BYTES, QB_MATRIX_FLOATS } qb_mbir_matrix;

/* Model-based reconstruction of a parallel or fan beam by iterative coordinate descent: weighted least
 * squares and a q-generalised Gaussian Markov random field (Thibault et al. 2007), as svmbir has it.
 * Zero, no numbers or NULL: the default named. */
typedef struct qb_mbir_options {
    size_t struct_size; /* see qb_params_init */
    double sharpness;   /* sigma_x is 0.2 * 2^sharpness of a typical attenuation, when not given */
    double snr_db; /* sigma_y is this far below the data's rms, when not given; 0 or NAN (auto) = by the data's noise */
    double sigma_x; /* 1/mm; 0 = from sharpness */
    double sigma_y; /* 0 = from snr_db */
    double p, q, t; /* 1 <= p <= q <= 2; 0 = 1.2, 2, 1 */
    qb_numbers
        neighbours; /* nearest, diagonal, interslice, of a cone also edge, corner: b, rescaled to 4 + 4 + 2 + 8 + 8 of them = 1 */
    const char
        *weights; /* unweighted, transmission, transmission_root, emission, or a file; 0 where nothing was measured */
    bool no_positivity; /* attenuation may fall below zero */
    const char *start;  /* fbp, prox, a constant in 1/mm, or a volume's file */
    int equits;         /* at most; an equit is as many updates as there are voxels; 0 = 40 */
    double stop;        /* once an equit changes voxels by less than this % of their mean; 0 = 0.2, QB_ZERO = never */
    bool no_zero_skip;  /* update voxels that are zero among zeros in every turn; else in one of three */
    qb_mbir_matrix matrix;
    const char *center;       /* as qb_fbp_options' */
    const char *slices;       /* A:B; NULL = all */
    qb_numbers size;          /* NX,NY[,NZ]; default: columns, columns, rows */
    double voxel;             /* mm, of x and y, of a cone z too; default: the pixel size */
    double roi;               /* mm: voxels farther from the middle stay zero; default: half the longer side */
    double hu;                /* attenuation of water in 1/mm; 0 = no Hounsfield units */
    int seed;                 /* of the order of voxels */
    const char *kernel;       /* a variant id; NULL = the planner chooses */
    bool resume;              /* go on from OUT.checkpoint, where a run of the same job was killed */
    double checkpoint;        /* seconds between two of them; 0 = 300, QB_ZERO = none */
    const char *matrix_cache; /* a folder where a kept matrix is looked for and left; NULL = none */
    /* The proximal map of the data term, for methods that alternate between data and a prior of their own (plug and
     * play): argmin 1/2 |y - A x|_W^2 + 1/(2 sigma_p^2) |x - prox|^2, none of it below zero with positivity, in the
     * place of the prior. */
    const char *prox; /* a volume of the output's shape in 1/mm; NULL = none */
    double sigma_p;   /* 1/mm; 0 = 2 * 2^sharpness of a typical attenuation */
    /* Instead of files: arrays of the output's shape in 1/mm. Structs and arrays are the caller's and outlive the
     * job; the result's array may be one of them. */
    const qb_tensor *prox_array, *start_array;
    int coarse; /* levels of coarser voxels to begin with, each of twice the side; 0 = auto: where views are few or cover a
                   part of the half turn; -1 = none */
    const char *
        reference; /* a volume of the output's shape, in 1/mm or, with hu, HU: the report tells each turn's rmse to it; NULL = none */
    bool
        deterministic; /* refuse kernels whose last bits are left to chance: icd_supervoxel.global; all others give the same bits each time */
} qb_mbir_options;
QB_API extern const qb_param qb_mbir_params[];

/* A job that is decided but has not begun: it has allocated nothing large and written nothing. */
typedef struct qb_job qb_job;

/* Decide centre, chunks, kernel, memory and time. `command` is what to repeat it with, for the
 * provenance. The scan must outlive the job. */
QB_API qb_status qb_fbp_plan(qb_scan *scan, const qb_prep_options *prep, const qb_fbp_options *options,
                             const qb_output_options *output, const char *command, const qb_env *env, qb_job **job);
/* The same for a cone beam. geometry has the scan's views, rows and columns, and must outlive the job. On a device, but for
 * class high, a few lines of given line integrals are looked at already; what is queued for an array of them is waited for. */
QB_API qb_status qb_fdk_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                             const qb_fdk_options *options, const qb_output_options *output, const char *command,
                             const qb_env *env, qb_job **job);
/* qb_sirt_plan and those of the other solvers: of any geometry; NULL: a parallel beam of the scan's own angles and pixels.
 * All line integrals and a few volumes are held: QB_BAD_ARGUMENT, with how much, when env allows less. The
 * report says how residual |A x - b| / |b| and change fell. */
#define QB_SOLVER_PLAN(name, summary, example)                                                                         \
    QB_API qb_status qb_##name##_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,         \
                                      const qb_iterative_options *options, const qb_output_options *output,            \
                                      const char *command, const qb_env *env, qb_job **job);
QB_SOLVERS(QB_SOLVER_PLAN)
#undef QB_SOLVER_PLAN
/* Model-based reconstruction of a parallel beam (geometry NULL) or any geometry of the scan's views, rows and columns, which must outlive
 * the job. Rows that stay in their planes are fans, slices each; else slices, roi and what only a coordinate descent has are
 * QB_BAD_ARGUMENT. With a prior between slices the whole stack is held, with line integrals, errors and
 * weights: QB_BAD_ARGUMENT, with how much, when env allows less; slices on their own pass in slabs. What is NaN or
 * infinite, or of a pixel whose flat is dead, counts as not measured: it weighs nothing. QB_BAD_INPUT for a slice of which
 * nothing was measured, and for weights that are negative, no numbers or all zero. The report tells equits, change and
 * cost, and of slabs how much was not measured. */
QB_API qb_status qb_mbir_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                              const qb_mbir_options *options, const qb_output_options *output, const char *command,
                              const qb_env *env, qb_job **job);
/* Line integrals of a volume, by qb_projector, from disk to disk. geometry->geometry is `parallel`, a
 * file (then views, angles, detector and distances are its), or NULL for a circle. QB_BAD_INPUT for a
 * volume whose voxels' size is not known where mm are needed, and as qb_projector_create. */
QB_API qb_status qb_project_plan(const char *volume, const qb_geometry_options *geometry,
                                 const qb_project_options *options, const qb_output_options *output,
                                 const char *command, const qb_env *env, qb_job **job);
/* The same from memory: volume [z][y][x], of the voxels of `grid` (NULL = those of qb_grid_default, or
 * options->voxel and offset), along the rays of `geometry`, which is copied. Of the options, hu, kernel
 * and geometry_out are left; options may be NULL. */
QB_API qb_status qb_project_array_plan(const qb_tensor *volume, const qb_grid *grid, const qb_geometry *geometry,
                                       const qb_project_options *options, const qb_output_options *output,
                                       const char *command, const qb_env *env, qb_job **job);
/* The forecast and the decisions, a JSON object; lives until the job is run or destroyed. After a
 * run they are those it came to: a device may have had less room than was forecast. */
QB_API const char *qb_job_plan(const qb_job *job);
/* Do it. *report, when not NULL, becomes a JSON object of what was done, per stage; it lives as long
 * as the job, or until it runs again. Jobs may run at the same time, also of one scan, each in a thread of
 * its own; one that runs already says QB_BAD_ARGUMENT. */
QB_API qb_status qb_job_run(qb_job *job, const qb_env *env, const char **report);
/* projections = B' volume, where B is the map from line integrals to a volume that a job of qb_fbp_plan or qb_fdk_plan is: its exact
 * transpose, for gradients. volume [z][y][x] and projections [view][row][column] are float32, in any memory; copies of
 * both are held, and the CPU computes. An axis that is looked for is known once the job has run. QB_UNSUPPORTED, with the
 * reason, where B is not linear (counts, corrections of preparation, pads that fade) or for views that are resampled. */
QB_API qb_status qb_job_transpose(qb_job *job, const qb_tensor *volume, const qb_env *env,
                                  const qb_tensor *projections);
QB_API void qb_job_destroy(qb_job *job); /* NULL-safe; does nothing while the job runs */

/* The rotation axis. */
typedef struct qb_center_options {
    size_t struct_size; /* see qb_params_init */
    const char *method; /* auto, near:COLUMN, registration, overlap, sharpness, mass */
    const char *search; /* A:B, columns; NULL = the whole detector */
    const char *rows;   /* A:B[:S] rows to look at; NULL = five, spread */
    double tilt;        /* degrees by which the detector is known to be turned, as in qb_fbp_options */
    double sod, sdd;    /* cone beam: mm from the source to the axis and to the detector; 0 = as the scan states it */
} qb_center_options;
QB_API extern const qb_param qb_center_params[];

typedef struct qb_center_method {
    const char *name;
    double column;     /* NAN when the method cannot say */
    double confidence; /* 0..1 */
} qb_center_method;

typedef struct qb_center_result {
    size_t struct_size; /* sizeof(qb_center_result), or 0: that of the first version. New fields come at the end */
    double column, confidence;
    int count;
    qb_center_method method[8];
    char warning[256];      /* empty when the methods agree */
    double tilt;            /* degrees by which the detector was found to be turned, the known included; NAN when the
                          rows do not say. Of a cone beam as in qb_geometry_options.tilt */
    double tilt_confidence; /* 0..1, of a cone beam */
    double row; /* of a cone beam: where the ray at right angles to the axis meets the whole detector; NAN: not known */
    double row_confidence; /* 0..1 */
} qb_center_result;

/* QB_BAD_INPUT where no finder has a clue; *result then still holds what each said. */
QB_API qb_status qb_center_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                                const qb_env *env, qb_center_result *result);

/* The curve of qb_prep_options.hardening for an object of one material, from its own scan. */
typedef struct qb_hardening_result {
    size_t struct_size; /* sizeof(qb_hardening_result), or 0: that of the first version. New fields come at the end */
    double a, b;        /* p + a p^2 + b p^3 is in proportion to the length of a ray in the object */
    double most;        /* largest line integral that was measured */
    double loss;        /* relative amount by which hardening lowers that line integral, 0 to 1 */
    double rms;         /* rms distance of the line integrals from the curve, over the largest */
    double column;      /* of the axis, found on the way */
    char warning[256];  /* empty when the curve fits */
} qb_hardening_result;

/* The axis is looked for as qb_center_find does it, with its options; a hardening in `prep` is left out. QB_BAD_INPUT as there, and
 * where the object's rays are of too few lengths. */
QB_API qb_status qb_hardening_find(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                                   const qb_env *env, qb_hardening_result *result);

#ifdef __cplusplus
}
#endif
#endif
