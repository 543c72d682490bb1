/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_H
#define QB_CENTER_CENTER_H

#include <stdbool.h>

#include "base/json.h"
#include "base/pool.h"
#include "geometry/roll.h"
#include "quickbeam/recon.h"

/* Bytes that qb_center_find holds at most with default options. */
size_t qb__center_bytes(const qb_scan_info *info, const qb_env *env);

/* Seconds that it is forecast to take on so many threads; method as in qb_center_options. */
double qb__center_seconds(const qb_scan_info *info, const char *method, int threads);
/* Cost in updates of a trial slice. */
double qb__center_work(const qb_scan_info *info, const char *method);
/* The part of trial slices in it, of so many rows. */
double qb__center_sharpness_work(size_t rows, size_t views, size_t columns, bool full_turn);

/* What every finder of the rotation axis works on: a few detector rows as line integrals. */
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
    double column;     /* NAN when the finder cannot say */
    double confidence; /* 0..1 */
} qb__center_answer;

/* In place, row by row: columns that are far noisier than their neighbours (dead, hot) are bridged,
 * and what stays put over all views and is narrow (a faulty column's gain: a ring) is taken out,
 * lest it be registered with itself. */
qb_status qb__center_clean(float *sinograms, size_t rows, size_t views, size_t columns, qb__pool *pool);

/* Views half a turn apart are mirror images about the axis. `each`, when not NULL, receives every
 * row's own column (NAN where it cannot say): a tilted axis shows there. */
qb_status qb__center_registration(const qb__center_rows *rows, qb__center_answer *answer, double *each);
/* Of a full turn: where a view and the mirrored opposite one overlap, their values agree, however
 * narrow the strip. NAN for less than a turn. *other_agrees, when not NULL: how well they do with the
 * axis at the column `other`, of how well at the answer; NAN when `other` or the answer is. */
qb_status qb__center_overlap(const qb__center_rows *rows, double other, qb__center_answer *answer,
                             double *other_agrees);
/* The centre of mass of a view follows a sinusoid about the axis; good only for objects that the
 * detector sees whole. */
qb_status qb__center_mass(const qb__center_rows *rows, qb__center_answer *answer);
/* The axis for which a reconstructed slice has the fewest grey levels: least entropy. */
qb_status qb__center_sharpness(const qb__center_rows *rows, qb__center_answer *answer);

/* Whether qb_center_options.method may be `text`. */
/* The finders' names, in the order of qb_center_result.method. */
#define QB__CENTER_FINDERS(between) "registration" between "overlap" between "sharpness" between "mass"
bool qb__center_names_method(const char *text);
/* --search A:B, the columns of what is read between which the axis is looked for; NULL: all. QB_BAD_ARGUMENT. */
qb_status qb__center_search_parse(const char *text, const qb_scan_info *info, double *low, double *high);
/* near:COLUMN: all finders look within 2 % of the columns, and at least 8 columns, of that column of the middle row. */
bool qb__center_is_near(const char *text);
qb_status qb__center_near_parse(const char *text, const qb_scan_info *info, double tilt, double *low, double *high);
/* Warn where the axis lies at an end of the columns that were searched, unless the detector ends there. */
void qb__center_judge_edge(const qb_scan_info *info, double low, double high, qb_center_result *result);
/* QB_BAD_ARGUMENT: a column that is none of the detector's. */
qb_status qb__center_fail_outside(const char *text, const qb_scan_info *info);

/* Options and messages count the columns of the whole, unbinned detector. These functions return columns of what is read, after crop
 * and bin (qb__column_read). The column of `middle` and `stated`, by the scan; NAN for other words. QB_BAD_INPUT where it states none. */
qb_status qb__center_named(const char *text, const qb_scan_info *info, double *center);
/* The default of --center: "stated" if the scan's own axis is reliable and lies on the detector, else "auto". */
const char *qb__center_usual(const char *text, const qb_scan_info *info);
/* Note that the stated axis is used, or why not. */
void qb__center_report(const char *text, const qb_scan_info *info, const qb_env *env);
/* A column that is given or named, of NULL the usual one; NAN where a finder is named. */
qb_status qb__center_asked(const char *text, const qb_scan_info *info, double *center);
/* Find the axis; reports it through env and in the report's "center". */
qb_status qb__center_seek(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                          const qb_env *env, cJSON *report, double *center);

/* One answer from those in result->method[0..count): column, confidence, and a warning, in columns of the whole detector. */
void qb__center_combine(const qb_scan_info *info, qb_center_result *result);

/* The axis of rows by the finders that need no trial slices; sod, sdd, pixel in mm, sod 0: parallel rays. QB_BAD_INPUT for views
 * that cover too little. */
qb_status qb__center_quick(const qb__center_rows *rows, double sod, double sdd, double pixel,
                           qb__center_answer *answer);

/* Rises smoothly from 0 at `from` to 1 at `to`. */
double qb__center_ramp(double value, double from, double to);
/* The mean of every `bin` columns; column k of the result is column bin k + (bin - 1) / 2 of the
 * row. out[columns / bin]. */
void qb__center_bin(const float *row, size_t columns, size_t bin, float *out);
/* Where the parabola through three neighbouring values has its extremum: -1..1 from the middle one.
 */
double qb__center_vertex(double before, double at, double after);

/* ---- what qb_center_find is made of ---- */

/* center_rows.c */
enum { QB__CENTER_ROWS = 64 };

/* The detector rows that are looked at, ascending. */
typedef struct qb__center_chosen {
    size_t row[QB__CENTER_ROWS], rows;
} qb__center_chosen;

/* The rows that --rows names; NULL: five, spread over the height. QB_BAD_ARGUMENT for an invalid or empty range. */
qb_status qb__center_choose(const char *text, const qb_scan_info *info, qb__center_chosen *chosen);
/* Drop rows, evenly, until all data fit into half of the memory that the process may take. */
void qb__center_fit(qb__center_chosen *chosen, const qb_scan_info *info, const qb_env *env);
/* QB_BAD_ARGUMENT if even the rows that are left take more. */
qb_status qb__center_check_room(const qb__center_chosen *chosen, const qb_scan_info *info, const qb_env *env);
/* The line integrals of the chosen rows, without roll and stripes: sinograms[row][view][column]. Rows with far less
 * attenuation than others are dropped. */
qb_status qb__center_load(qb_scan *scan, const qb_prep_options *prep, const qb_env *env, qb__pool *pool,
                          const qb__roll *roll, qb__center_chosen *chosen, float *sinograms);

/* qb_center_find(), and what `use` makes of the rows, as parallel rays, with their axis. */
qb_status qb__center_find_with(qb_scan *scan, const qb_prep_options *prep, const qb_center_options *options,
                               const qb_env *env,
                               qb_status (*use)(const qb__center_rows *rows, double column, void *context),
                               void *context, qb_center_result *result);

/* center_fan.c */

/* Rows of a fan beam, sorted as a parallel beam's. */
typedef struct qb__center_fan qb__center_fan;

/* Source to axis and to detector, and the pixel, in mm; full: the views cover a turn. rows, with pool and angles, outlives the fan.
 * QB_BAD_INPUT for views that cover too little. */
qb_status qb__center_fan_create(const qb__center_rows *rows, double sod, double sdd, double pixel, bool full,
                                qb__center_fan **fan);
void qb__center_fan_destroy(qb__center_fan *fan); /* NULL-safe */
/* A fan beam: distances and the pitch of columns in mm. */
typedef struct qb__center_beam {
    double sod, sdd, pixel;
} qb__center_beam;
/* What rays from opposite sides show of a turn, all 0 where nothing: by what factor they agree better if it turns in the other sense,
 * and how many times as wide as stated the fan is by which they agree best, and by what factor better. */
typedef struct qb__center_fan_shown {
    double other_sense, wide, better;
} qb__center_fan_shown;
/* With the axis at `column`. Agreement: mean squares of differences over mean squares of the rays. */
qb_status qb__center_fan_check(const qb__center_rows *rows, const qb__center_beam *beam, double column,
                               qb__center_fan_shown *shown);
/* The parallel beam with the axis assumed at `column`; an axis that is found there is the fan's. Valid until the next call. */
qb__center_rows qb__center_fan_rows(qb__center_fan *fan, double column);

/* center_cone.c */

/* Sets result->row and tilt of a cone beam, with their confidence, where its views show them; result->column, of what is read, is that
 * of the rows `at`, and becomes that of the level ray. */
qb_status qb__center_cone(qb_scan *scan, const qb_prep_options *prep, double sod, double sdd,
                          const qb__center_chosen *at, qb_center_result *result);

/* center_tilt.c */

/* A scan whose rows have been asked for the axis. */
typedef struct qb__center_leaning {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_prep_options *steps;
    const qb__center_rows *rows; /* its sinograms are overwritten */
    const qb__center_chosen *chosen;
} qb__center_leaning;

/* Compute result->tilt in degrees from the column of each chosen row (NAN: none), beyond the known tilt; NAN if rows show none. Warns of a
 * tilt that was not corrected. result->column must be set. */
qb_status qb__center_tilt(const qb__center_leaning *leaning, const double *each, double known,
                          qb_center_result *result);

#endif
