/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/json.h"
#include "base/pool.h"
#include "geometry/roll.h"
#include "quickbeam/recon.h"

/* Largest number of bytes that qb_center_find holds with default options. */
size_t qb__center_bytes(const qb_scan_info *info, const qb_env *env);

/* Forecast seconds of qb_center_find on this number of threads. `method` is as in qb_center_options. */
double qb__center_seconds(const qb_scan_info *info, const char *method, int threads);
/* Forecast cost of qb_center_find, in updates of a trial slice. */
double qb__center_work(const qb_scan_info *info, const char *method);
/* The part of that cost that trial slices take, for this number of rows. */
double qb__center_sharpness_work(size_t rows, size_t views, size_t columns, bool full_turn);

/* The input of every finder of the rotation axis: a few detector rows as line integrals. */
typedef struct qb__center_rows {
    const float *sinograms; /* [row][view][column], cleaned */
    size_t rows, views, columns;
    const double *angles; /* [views] radians, any order */
    double low, high;     /* columns between which the axis is looked for */
    qb__pool *pool;
    const qb_scan_info *info; /* warnings name the columns of this scan; NULL: the columns of `rows` */
    const qb_env *env;        /* checked for cancellation; may be NULL */
} qb__center_rows;

typedef struct qb__center_answer {
    double column;     /* NAN if the finder has no answer */
    double confidence; /* 0..1 */
} qb__center_answer;

/* Cleans each row in place. Columns that are far noisier than their neighbours (dead, hot) are interpolated. Narrow
 * features that stand still over all views (wrong gain of a column: a ring) are removed, because a finder would match
 * them with themselves. */
qb_status qb__center_clean(float *sinograms, size_t rows, size_t views, size_t columns, qb__pool *pool);

/* Registration: views half a turn apart are mirror images about the axis. `each`, if not NULL, receives the column of
 * each row (NAN: none found); it shows whether the axis is tilted. */
qb_status qb__center_registration(const qb__center_rows *rows, qb__center_answer *answer, double *each);
/* Half turns of an object wider than the detector have few edges, and trial slices of it may show a false dip. If so,
 * also compares the values of both ends of the half turn: lowers the confidence of answers that they contradict, and
 * replaces that of registration, `edges`, if they are more certain. */
qb_status qb__center_ends(const qb__center_rows *rows, qb__center_answer *edges, qb__center_answer *sharpness);
/* Tells whether most views do not end in air: the object is wider than the detector. */
bool qb__center_cut_off(const qb__center_rows *rows);
/* Overlap, for full turns: the values of a view and of the mirrored opposite view agree where they overlap, even in a
 * narrow strip. NAN for less than a turn. *other_agrees, if not NULL, becomes the agreement with the axis at the column
 * `other`, relative to the agreement at the answer; NAN if `other` or the answer is NAN. */
qb_status qb__center_overlap(const qb__center_rows *rows, double other, qb__center_answer *answer,
                             double *other_agrees);
/* Centre of mass: the centre of mass of the views follows a sinusoid about the axis. Only for objects that lie within
 * the field of view. */
qb_status qb__center_mass(const qb__center_rows *rows, qb__center_answer *answer);
/* Sharpness: the axis for which a reconstructed slice has the fewest grey levels, that is, the least entropy. */
qb_status qb__center_sharpness(const qb__center_rows *rows, qb__center_answer *answer);

/* The finders' names, in the order of qb_center_result.method. */
#define QB__CENTER_FINDERS(between) "registration" between "overlap" between "sharpness" between "mass"
/* Tells whether `text` is valid for qb_center_options.method. */
bool qb__center_names_method(const char *text);
/* Parses --search A:B, the range of columns of the data read in which the axis is searched; NULL: all columns.
 * QB_BAD_ARGUMENT if invalid. */
qb_status qb__center_search_parse(const char *text, const qb_scan_info *info, double *low, double *high);
/* near:COLUMN limits all finders to columns near COLUMN, counted in the middle row: 2 % of the width, at least 8
 * columns. */
bool qb__center_is_near(const char *text);
qb_status qb__center_near_parse(const char *text, const qb_scan_info *info, double tilt, double *low, double *high);
/* Warns if the axis was found at an end of the searched columns, unless the detector ends there. */
void qb__center_judge_edge(const qb_scan_info *info, double low, double high, qb_center_result *result);
/* Fails with QB_BAD_ARGUMENT: the column lies outside the detector. */
qb_status qb__center_fail_outside(const char *text, const qb_scan_info *info);

/* Options and messages count the columns of the whole, unbinned detector. These functions return columns of the data
 * read, after crop and bin (qb__column_read).
 *
 * The column for the words `middle` and `stated`; NAN for other words. QB_BAD_INPUT for `stated` if the scan states no
 * axis. */
qb_status qb__center_named(const char *text, const qb_scan_info *info, double *center);
/* The default of --center: "stated" if the scan's own axis is reliable and lies on the detector, else "auto". */
const char *qb__center_usual(const char *text, const qb_scan_info *info);
/* Logs that the stated axis is used, or why it is not. */
void qb__center_report(const char *text, const qb_scan_info *info, const qb_env *env);
/* The column that --center gives as a number or by name; NULL: the default. NAN if the text names a finder. */
qb_status qb__center_asked(const char *text, const qb_scan_info *info, double *center);
/* Find the axis; reports it through env and in the report's "center". */
qb_status qb__center_seek(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                          const qb_env *env, cJSON *report, double *center);

/* Combines the answers in result->method[0..count) into one column with a confidence and a warning. Columns count in
 * the whole detector. */
void qb__center_combine(const qb_scan_info *info, qb_center_result *result);

/* Finds the axis by the finders that need no trial slices. sod, sdd and pixel are in mm; sod 0: parallel rays.
 * QB_BAD_INPUT if the views cover too small an angle. */
qb_status qb__center_quick(const qb__center_rows *rows, double sod, double sdd, double pixel,
                           qb__center_answer *answer);

/* Rises smoothly from 0 at value `from` to 1 at value `to`. */
double qb__center_ramp(double value, double from, double to);
/* The mean of every `bin` columns; column k of the result is column bin k + (bin - 1) / 2 of the
 * row. out[columns / bin]. */
void qb__center_bin(const float *row, size_t columns, size_t bin, float *out);
/* Mean over 2 reach + 1 columns, with the end values repeated. `out` must not be `row`. */
void qb__center_box(const float *row, size_t columns, size_t reach, float *out);
/* Position of the extremum of the parabola through three neighbouring values: -1..1, relative to the middle value. */
double qb__center_vertex(double before, double at, double after);

/* ---- parts of qb_center_find ---- */

/* center_rows.c */
enum { QB__CENTER_ROWS = 64 };

/* The chosen detector rows, ascending. */
typedef struct qb__center_chosen {
    size_t row[QB__CENTER_ROWS], rows;
} qb__center_chosen;

/* Chooses the rows that --rows names; NULL: five rows, spread over the height. QB_BAD_ARGUMENT for an invalid or empty
 * range. */
qb_status qb__center_choose(const char *text, const qb_scan_info *info, qb__center_chosen *chosen);
/* Drops rows, evenly, until all data fit into half of the memory that the process may use. */
void qb__center_fit(qb__center_chosen *chosen, const qb_scan_info *info, const qb_env *env);
/* QB_BAD_ARGUMENT if even the remaining rows need more memory. */
qb_status qb__center_check_room(const qb__center_chosen *chosen, const qb_scan_info *info, const qb_env *env);
/* Loads the line integrals of the chosen rows, with roll and stripes corrected: sinograms[row][view][column]. Rows with
 * far less attenuation than others are dropped. */
qb_status qb__center_load(qb_scan *scan, const qb_prep_options *prep, const qb_env *env, qb__pool *pool,
                          const qb__roll *roll, qb__center_chosen *chosen, float *sinograms);

/* As qb_center_find(), but also calls `use` with the rows, as parallel rays, and their axis. */
qb_status qb__center_find_with(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                               const qb_env *env,
                               qb_status (*use)(const qb__center_rows *rows, double column, void *context),
                               void *context, qb_center_result *result);

/* center_fan.c */

/* Rows of a fan beam, sorted into parallel rays. */
typedef struct qb__center_fan qb__center_fan;

/* sod, sdd and pixel are in mm; full: the views cover a turn. `rows`, its pool and its angles must outlive the fan.
 * QB_BAD_INPUT if the views cover too small an angle. */
qb_status qb__center_fan_create(const qb__center_rows *rows, double sod, double sdd, double pixel, bool full,
                                qb__center_fan **fan);
void qb__center_fan_destroy(qb__center_fan *fan); /* NULL-safe */
/* Distances and column pitch of a fan beam, in mm. */
typedef struct qb__center_beam {
    double sod, sdd, pixel;
} qb__center_beam;
/* Result of comparing opposite rays over a full turn. All fields are 0 if there is none. Disagreement is the mean
 * square of differences over the mean square of the rays. other_sense: disagreement with the stated sense of rotation,
 * divided by that with the other sense. wide: width of the fan with the least disagreement, relative to the stated
 * width. better: by what factor the disagreement is smaller at that width. */
typedef struct qb__center_fan_shown {
    double other_sense, wide, better;
} qb__center_fan_shown;
/* Compares opposite rays, with the axis at `column`. */
qb_status qb__center_fan_check(const qb__center_rows *rows, const qb__center_beam *beam, double column,
                               qb__center_fan_shown *shown);
/* Sorts the rays for an assumed axis at `column`. A finder's answer on the parallel rows is the axis of the fan. Valid
 * until the next call. */
qb__center_rows qb__center_fan_rows(qb__center_fan *fan, double column);

/* center_cone.c */

/* Sets row and tilt of the result for a cone beam, with their confidence, if the views show them. On entry
 * result->column is a column of the data read, valid at the rows `at`; it is converted to the row that is level with
 * the source. */
qb_status qb__center_cone(qb_scan *scan, const qb_prep_options *prep, double sod, double sdd,
                          const qb__center_chosen *at, qb__pool *pool, qb_center_result *result);

/* center_tilt.c */

/* A scan whose rows have each given a column for the axis. */
typedef struct qb__center_leaning {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_prep_options *steps;
    const qb__center_rows *rows; /* their sinograms are overwritten */
    const qb__center_chosen *chosen;
} qb__center_leaning;

/* Computes result->tilt in degrees from the axis column of each chosen row (NAN: none), in addition to the known tilt.
 * NAN if the rows show no tilt. Warns of a tilt that was not corrected. result->column must be set. */
qb_status qb__center_tilt(const qb__center_leaning *leaning, const double *each, double known,
                          qb_center_result *result);
