/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/macros.h"
#include "prep/courses.h"
#include "quickbeam/recon.h"
#include "quickbeam/scan.h"

typedef struct qb__step qb__step;
typedef struct qb__prep qb__prep; /* prep.h */
typedef struct qb__prep_counts qb__prep_counts;

/* One step from a detector's numbers to line integrals: a file with its functions and a row in steps.c. The order of
 * the rows is the order of the work. The scope says on what the step works: */
typedef enum qb__scope {
    QB__SCOPE_VIEW, /* numbers of one view, with neighbouring rows and columns; before all others (prep/neighbours.h) */
    QB__SCOPE_SCAN, /* a pass over the scan before streaming begins; makes fields for the others */
    QB__SCOPE_VALUE, /* single numbers */
    QB__SCOPE_ROW    /* a detector row of one view, with all its columns */
} qb__scope;

/* Results of passes: [row][column] for rows row0 <= row < row0 + rows, or [view]. NULL: none; owned by the
 * preparation. */
typedef struct qb__fields {
    size_t row0, rows, columns;
    size_t step;       /* only rows row0, row0 + step, ... will be requested */
    size_t own0, own1; /* rows that only this rank reports; without ranks: all rows */
    /* every rank has all rows; a pass computes its own rows and qb__fields_share() sends them to the others */
    bool all;
    float *dark;         /* [row][column] subtracted from the numbers of any quantity */
    float *gain;         /* [row][column] factor after `dark`: 1/(flat - dark), 0 where the flat is dead */
    float *air;          /* [view] divisor after `gain`: the open beam; as `gain` not for line integrals */
    qb__course *courses; /* [row][qb__courses_room(columns)] subtracted from line integrals in some views */
} qb__fields;

/* Data of a running pass. */
typedef struct qb__pass {
    qb_scan *scan;
    const qb_prep_options *options;
    const qb_env *env;
    const struct qb__prepare *prepare; /* has the fields made so far, for qb__prepare_rows() */
    qb__fields *fields;                /* the step may fill and change them */
    char *note;                        /* [note_size] what was done, for report and provenance */
    size_t note_size;
    bool keep_lost; /* see qb__prepared.keep_lost */
    double axis;    /* see qb__prepared.axis */
} qb__pass;

/* The current row of value and row steps. */
typedef struct qb__line {
    size_t view, row; /* indices of view and row in the fields */
    uint64_t lost;    /* number of columns without a value so far: they are NaN */
    qb__prep_counts *counts;
} qb__line;

enum { QB__NEAR_COLUMNS = 2 }; /* additional columns at both ends of a row */

/* Input of a step of scope QB__SCOPE_VIEW: transmissions (n - dark) * gain of the numbers n of one view, or n - dark
 * for counts without flats. The rows x columns pixels to correct are surrounded by the step's margin in rows and by
 * QB__NEAR_COLUMNS columns, so that cells[-stride] is the row above. Beyond the detector columns are
 * mirrored: left of column 0 is column 1. Rows go on as neighbours_band.c says. */
typedef struct qb__near {
    const float *cells;
    size_t stride, rows, columns;
    bool alone; /* the detector has one row, so there are no rows above and below */
    const float *before,
        *after; /* the same pixels in the views before and after, with columns at both sides; NULL: not used */
    const float *gain, *dark; /* [row][columns] of these pixels; NULL: 1 and 0 */
    float noise[2];           /* the variance of a number n is noise[0] + noise[1] * n */
    const qb_prep_options *options;
} qb__near;

/* A field of qb_prep_options. */
typedef struct qb__step_option {
    size_t at, size;
} qb__step_option;
#define QB__STEP_OPTION(field)                                                                                         \
    { offsetof(qb_prep_options, field), sizeof((qb_prep_options *)NULL)->field }

struct qb__step {
    const char *name; /* name in reports */
    qb__scope scope;
    /* True if this scan needs the step. NULL options: defaults. */
    bool (*wanted)(const qb_scan_info *info, const qb_prep_options *options);
    /* Checks the options of a wanted step before any work. NULL: the table of options checks all. */
    qb_status (*check)(const qb_scan_info *info, const qb_prep_options *options);
    /* Scan step: number of fields [row][column] that its pass adds, for planning; NULL: none. */
    unsigned (*fields)(const qb_scan_info *info, const qb_prep_options *options);
    bool reads_all; /* scan step: its pass reads every view of these rows */
    /* Scan step: forecast seconds of its pass over this number of rows on this number of threads; NULL: nearly none. */
    double (*seconds)(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads);
    /* Scan step: its pass. qb__prepare_rows() gives it line integrals with the fields made so far, without later value
     * steps. Apart from its fields it needs less memory than streaming will, or works on blocks of rows. */
    qb_status (*measure)(const qb__pass *pass);
    /* Value or row step: processes `count` columns from `column` on. A row step gets all columns, with in == out. The
     * first value step converts; the others get in == out, too. Steps are fused with the filter: the values stay in the
     * first-level cache between them. */
    void (*run)(const qb__prep *prep, qb__line *line, size_t column, size_t count, const float *in, float *out);
    /* View step: writes corrected transmissions to out[row][stride] and returns how many pixels changed. If none
     * changed, `out` is not used. Unchanged pixels must have the same bits; they keep their number. NaN pixels keep
     * their number whatever is written (the step's lines in near_rows.cl must do this, too) and are filled by bridge.c.
     * The step must not read beyond `margin` rows and QB__NEAR_COLUMNS columns. */
    uint64_t (*near)(const qb__near *in, float *out);
    size_t margin;
    /* View step that uses the views before and after instead of the rows above and below: near() gets one row at a
     * time, and it must be the only view step. NULL: never. */
    bool (*by_views)(const qb_prep_options *options);
    const char *changed; /* view step: text for the pixels that it changed, for "%llu %s were replaced": "zingers" */
    /* Adds the macros that switch the step on in kernels/filter/prepare_rows.clh (a view step: in near_rows.cl), which
     * give the same bits. NULL: always on, or it follows from the fields. */
    void (*define)(const qb_prep_options *options, qb__macros *macros);
    /* The options without which the step does nothing: with them it is switched off (rings_from.c) and shown alone
     * (pictures.c). Size 0: none; a step without options is part of the line integrals. A view step needs them. */
    qb__step_option option[2];
};

extern const qb__step *const qb__steps[]; /* ended by NULL; steps.c */

/* Sets the options of a step to those of `from`; NULL: to 0, which switches it off. */
void qb__step_set(const qb__step *step, qb_prep_options *options, const qb_prep_options *from);
/* The name of a step that changes given line integrals; NULL: none does. */
const char *qb__steps_change(const qb_scan_info *info, const qb_prep_options *options);
/* Checks the options of all steps. QB_BAD_ARGUMENT. */
qb_status qb__steps_check(const qb_scan_info *info, const qb_prep_options *options);
