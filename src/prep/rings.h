/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "prep/courses.h"
#include "quickbeam/status.h"

/* Measures in windows of views: second differences of columns, the height of a stripe one column wide that fits them,
 * and the height of a step before a column. Then, of all views, the mean size of second differences around a column. */
enum {
    QB__RINGS_KINK,
    QB__RINGS_KINK_ERROR,
    QB__RINGS_HEIGHT,
    QB__RINGS_HEIGHT_ERROR,
    QB__RINGS_STEP,
    QB__RINGS_STEP_ERROR,
    QB__RINGS_STRUCTURE,
    QB__RINGS_MEASURES
};

/* What --rings can remove. A method is a set of these. */
enum {
    QB__RINGS_DEAD = 1,      /* columns without a usable answer are interpolated */
    QB__RINGS_LARGE = 2,     /* stripes several columns wide */
    QB__RINGS_NARROW = 4,    /* stripes one column wide */
    QB__RINGS_SORT = 8,      /* dense weak stripes, by sorted columns */
    QB__RINGS_WAVELET = 16,  /* dense weak stripes, by wavelets */
    QB__RINGS_PROFILE = 32,  /* dense weak stripes, by the mean over the views */
    QB__RINGS_MOVES = 64,    /* not of a method: the object moves from view to view, and its edges with it */
    QB__RINGS_SOFT = 128,    /* not of a method: a filter has spread stripes to the columns around */
    QB__RINGS_COURSES = 256, /* stripes one column wide whose height changes over the views */
    QB__RINGS_TURNS = 512    /* not of a method: with a full turn the axis may be near an end of the rows */
};

enum {
    QB__RINGS_BLOCKS = 16 /* largest number of groups of views */,
    QB__RINGS_WINDOWS = 15 /* largest number of overlapping windows */,
    QB__RINGS_SUMS = 64 /* largest number of sums of neighbouring views for qb__rings_dense() */,
    QB__RINGS_FEW = 128 /* columns: in fewer, edges that stand still look more like stripes */
};

/* q[columns]: the smooth curve through p; scratch[columns]. */
typedef void (*qb__rings_smooth)(double small, const double *p, size_t columns, double *q, double *scratch);

typedef struct qb__rings_how {
    const char *name; /* name of the method */
    unsigned parts;
    double snr;              /* factor by which a column must stand out */
    size_t large, small;     /* windows in columns */
    qb__rings_smooth smooth; /* curve for QB__RINGS_PROFILE */
    double axis;             /* not of a method: column of the rotation axis; 0: not known */
} qb__rings_how;

/* Parses METHOD or METHOD:snr=S,large=N,small=N. N are columns of the unbinned detector; `bin` of them are one column
 * of the data read. QB_BAD_ARGUMENT with the reason. NULL: keep. */
qb_status qb__rings_parse(const char *text, size_t bin, qb__rings_how *how);

/* The sinogram of one detector row after averaging neighbouring views, and what was found in it. */
typedef struct qb__rings_row {
    size_t columns, views, blocks, windows;
    size_t all_views, together; /* views of the scan; number of them that are averaged */
    float *lines;               /* [views][columns] line integrals, without the courses found */
    float *change;              /* [columns] mean difference between a view of the scan and the next one */
    double *means;              /* [blocks][columns] means of consecutive views; room for QB__RING_ENDS more */
    double *window;             /* [windows][columns] weighted means of overlapping windows of views */
    double *structure;          /* [columns] sums of the sizes of second differences over the views */
    double *measured[QB__RINGS_MEASURES]; /* [columns] measures in the windows, and their standard errors */
    double *work;                         /* qb__rings_work() numbers */
    double *known;                        /* [columns][3] distances; rings_confirm.c */
    double *spare;                        /* [blocks][qb__rings_apart(columns)] */
    float *sums;                          /* [QB__RINGS_SUMS][columns] of the views v / qb__rings_summed(views) */
    float *ranks;                         /* qb__rings_ranks_floats() numbers */
    double *stripe;                       /* [columns] found so far: to be subtracted from line integrals */
    bool still;                           /* the object stands still: it turns about its own axis */
    bool concentric;                      /* so it does, or a part such as a tube around it */
    double axis;                          /* of a concentric object, in columns */
    double *opposite;                     /* [2][columns] least and largest second difference beyond the axis */
    size_t sure;                          /* number of stripes found in air that would be sure elsewhere, too */
    bool *lost;                           /* [columns] has no usable value */
    bool *doubt;                          /* [columns], scratch */
    qb__course *course;                   /* [qb__courses_room(columns)] found: stripes that change over the views */
    size_t courses;                       /* number of them */
    double squares, largest;              /* sum of their mean squares over the views, and the largest value */
    /* kinds of stripes found: QB__RINGS_DEAD, LARGE, NARROW, COURSES, and SORT for dense ones */
    unsigned kinds;
} qb__rings_row;
size_t qb__rings_work(size_t columns);
/* Numbers from one line to the next where a line has QB__RING_ENDS numbers before and after it. */
size_t qb__rings_apart(size_t columns);

/* Fills still, concentric, axis and opposite[]; after qb__rings_windows(). */
void qb__rings_concentric(const qb__rings_how *how, qb__rings_row *row);
/* Sets walls[columns] where found[columns], weak stripes, may be walls of a concentric object; scratch[columns]. */
void qb__rings_walls(const qb__rings_row *row, const double *found, double *scratch, bool *walls);
/* True if a stripe of that height in column c may be the wall of a concentric object. */
bool qb__rings_has_counterpart(const qb__rings_row *row, size_t c, double height);
/* Adds narrow stripes in the columns at both ends that the object never covers. */
void qb__rings_air(qb__rings_row *row);
/* Replaces stripes found close to each other by fewer columns that explain the second differences kinks[n] as well. */
void qb__rings_sparser(const double *kinks, const double *errors, size_t n, double *found);
/* Sets lost[] if a column does not change with the views, or changes much more than the columns on both sides. */
void qb__rings_dead(const qb__rings_how *how, qb__rings_row *row);
/* Fills means[] from lines[]; so does qb__rings_windows(). */
void qb__rings_block_means(qb__rings_row *row);
/* Finds the courses of stripes that change over the views and subtracts them from lines[]; means[] follows. False: there
 * are none. */
bool qb__rings_courses(const qb__rings_how *how, qb__rings_row *row);
/* Sets lost[] if a column is a stripe in some views only. */
void qb__rings_partial(const qb__rings_how *how, qb__rings_row *row);
/* Standard deviation, over the views, of column c minus the line between its good neighbours. */
double qb__rings_distance(const qb__rings_row *row, size_t c);
/* distance[c] of all columns with of[c] != 0. */
void qb__rings_distances(qb__rings_row *row, const double *of, double *distance);
/* A lost column is farther from its neighbours than others are by more than this factor. */
#define QB__RINGS_APART 1.5
/* True if column c, at the distance `own`, is farther from its good neighbours than these are from theirs by more than
 * the factor `times`. */
bool qb__rings_is_apart(const qb__rings_row *row, double times, size_t c, double own);
/* Clears lost[] where that is false. */
void qb__rings_confirm(double times, qb__rings_row *row);
/* Fills window[], measured[] and sums[]. */
void qb__rings_windows(qb__rings_row *row);
/* Interpolates the lost columns of lines[], and corrects what qb__rings_windows() has filled. */
void qb__rings_windows_bridge(qb__rings_row *row);
/* The column of n columns that is used for column `at`, mirrored at the ends. */
size_t qb__rings_mirrored(ptrdiff_t at, size_t n);
/* in[c - 1] - 2 in[c] + in[c + 1], mirrored at the ends. */
static inline double qb__rings_kink(const double *in, size_t columns, size_t c) {
    return in[c > 0 ? c - 1 : 1] - 2 * in[c] + in[c + 1 < columns ? c + 1 : columns - 2];
}
/* The same of all columns. */
void qb__rings_kinks(const double *in, size_t columns, double *out);
/* Writes the QB__RING_ENDS numbers before and after a line: its columns, mirrored. */
void qb__rings_mirror(double *line, size_t columns);
/* out[c] = median of in[c - 4 .. c + 4], mirrored at the ends; of all columns, or first <= c < end. */
void qb__rings_ground(const double *in, size_t columns, double *out);
void qb__rings_ground_of(const double *in, size_t columns, size_t first, size_t end, double *out);
/* Standard deviation by the median of the sizes; scratch[columns]. */
double qb__rings_spread(const double *values, size_t columns, double *scratch);
/* Adds a part of `all`, which is the same for all columns, to each standard error. */
void qb__rings_add_shared(double *errors, size_t columns, double all);
/* Adds stripes several columns wide, up to half the window `large`, to stripe[]. */
void qb__rings_wide(const qb__rings_how *how, qb__rings_row *row);
/* Adds stripes that are one column wide to stripe[]. */
void qb__rings_spikes(const qb__rings_how *how, qb__rings_row *row);
/* Interpolates the lost columns of lines[]. */
void qb__rings_bridge(qb__rings_row *row);
/* Adds dense weak stripes to stripe[], as far as they are alike in all views. */
void qb__rings_dense(const qb__rings_how *how, qb__rings_row *row);
/* found[column]: dense stripes by the mean over the views; scratch[2 columns]. */
void qb__rings_profile(const qb__rings_how *how, const qb__rings_row *row, double *scratch, double *found);
void qb__rings_titarenko(double small, const double *p, size_t columns, double *q, double *scratch);
void qb__rings_raven(double small, const double *p, size_t columns, double *q, double *scratch);
void qb__rings_double_flat(double small, const double *p, size_t columns, double *q, double *scratch);
void qb__rings_fit(double small, const double *p, size_t columns, double *q, double *scratch);
size_t qb__rings_ranks_floats(size_t columns);
/* Number of averaged views that are added up for qb__rings_dense(). */
size_t qb__rings_summed(size_t views);

/* Buffers for rows of a scan; one for each thread. */
qb_status qb__rings_row_create(size_t views, size_t columns, qb__rings_row *row);
void qb__rings_row_destroy(qb__rings_row *row);
/* Number of views that are averaged. */
size_t qb__rings_together(size_t views);
/* Finds the stripes and lost columns of a sinogram [views][columns]. */
void qb__rings_find(const qb__rings_how *how, const float *sinogram, size_t views, qb__rings_row *row);
/* As qb__rings_find, for averaged views, `apart` floats from one to the next, and the sums of their changes. */
void qb__rings_find_averaged(const qb__rings_how *how, const float *lines, size_t apart, const float *change,
                             qb__rings_row *row);
