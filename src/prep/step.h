/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_STEP_H
#define QB_PREP_STEP_H

#include <stdbool.h>

#include "kernels/macros.h"
#include "quickbeam/recon.h"
#include "quickbeam/scan.h"

typedef struct qb__step qb__step;
typedef struct qb__prep qb__prep; /* prep.h */
typedef struct qb__prep_counts qb__prep_counts;

/* One step from a detector's numbers to line integrals: a file with its functions and a row in
 * steps.c, where the order of the rows is the order of the work. Where it works: */
typedef enum qb__scope {
    QB__SCOPE_VIEW, /* numbers of one view by those of rows and columns next to them, before all others: prep/neighbours.h */
    QB__SCOPE_SCAN,  /* a pass over the scan before streaming begins; makes fields for the others */
    QB__SCOPE_VALUE, /* every number by itself */
    QB__SCOPE_ROW    /* a detector row of one view, all its columns at once */
} qb__scope;

/* What passes make: [row][column] of rows row0 <= row < row0 + rows, [view]. NULL = none; owned by
 * the preparation. */
typedef struct qb__fields {
    size_t row0, rows, columns;
    size_t step;       /* only rows row0, row0 + step, ... will be asked for */
    size_t own0, own1; /* rows that this rank speaks for, alone; on its own: all */
    bool all;          /* every rank has all rows, and finds what a pass finds of its own ones: qb__fields_share() */
    float *dark;       /* [row][column] subtracted from the numbers of any quantity */
    float *gain;       /* [row][column] factor after `dark`: 1/(flat - dark), 0 where the flat is dead */
    float *air;        /* [view] divisor after `gain`: the open beam. Not for line integrals, as `gain` */
} qb__fields;

/* A pass at work. */
typedef struct qb__pass {
    qb_scan *scan;
    const qb_prep_options *options;
    const qb_env *env;
    const struct qb__prepare *prepare; /* has the fields made so far, for qb__prepare_rows() */
    qb__fields *fields;                /* the step may fill and change them */
    char *note;                        /* [note_size] what was done, for report and provenance */
    size_t note_size;
    bool keep_lost; /* qb__prepared's: what lost pixels come to */
} qb__pass;

/* The row that value and row steps have in hand. */
typedef struct qb__line {
    size_t view, row; /* indices of view and row in the fields */
    uint64_t lost;    /* columns that have no value so far: they are NaN */
    qb__prep_counts *counts;
} qb__line;

enum { QB__NEAR_COLUMNS = 2 }; /* more at both ends of a row */

/* What a step of scope QB__SCOPE_VIEW looks at: transmissions (n - dark) * gain of the numbers n of one view; of counts without flats
 * n - dark. Around the rows x columns pixels to correct stand as many rows as the step's margin says and QB__NEAR_COLUMNS columns, so
 * that cells[-stride] is the row above. Where the detector ends they are mirrored: row 1 stands above row 0. */
typedef struct qb__near {
    const float *cells;
    size_t stride, rows, columns;
    bool alone; /* the detector has one row, and all rows are the same */
    const float *before,
        *after; /* the same pixels of the views next to it, columns beside them too; NULL: not looked at */
    const float *gain, *dark; /* [row][columns] of these pixels; NULL: 1 and 0 */
    float noise[2];           /* the variance of a number n is noise[0] + noise[1] * n */
    const qb_prep_options *options;
} qb__near;

struct qb__step {
    const char *name; /* name in reports */
    qb__scope scope;
    /* Does this scan need it? NULL options: those of none, the defaults. */
    bool (*wanted)(const qb_scan_info *info, const qb_prep_options *options);
    /* Of a step that is wanted: its options that cannot be, before any work. NULL: the table of options checks all. */
    qb_status (*check)(const qb_scan_info *info, const qb_prep_options *options);
    /* How many fields [row][column] a scan step's pass adds, for planning; NULL: none. */
    unsigned (*fields)(const qb_scan_info *info, const qb_prep_options *options);
    bool reads_all; /* a scan step's pass reads every view of these */
    /* Seconds that a scan step's pass over so many rows is forecast to take on so many threads; NULL: next to none. */
    double (*seconds)(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads);
    /* A scan step's pass. qb__prepare_rows() gives it line integrals as far as fields make them,
     * without what value steps correct afterwards. Memory beside its fields stays below what streaming will take, or is cut
     * into blocks of rows. */
    qb_status (*measure)(const qb__pass *pass);
    /* A value or row step: `count` columns from `column` on. A row step has them all, and in == out;
     * of the value steps the first converts, the others find in == out too. Fused with the filter:
     * the values stay in the first cache between all of them. */
    void (*run)(const qb__prep *prep, qb__line *line, size_t column, size_t count, const float *in, float *out);
    /* A view step: into out[row][stride] what the pixels come to; how many it has changed. Where that is none, `out` is not looked at.
     * What it leaves alone must be the same bits: then the pixel keeps its number. A pixel that is no number keeps it, whatever is written (its lines in near_rows.cl must see to that): bridge.c fills it. It must not look further than `margin` rows and QB__NEAR_COLUMNS columns. */
    uint64_t (*near)(const qb__near *in, float *out);
    size_t margin;
    /* A view step that looks at the views before and after in place of the rows above and below: near() gets one row at a time. It must
     * be the only view step. NULL: it never does. */
    bool (*by_views)(const qb_prep_options *options);
    const char *changed; /* a view step's own name for pixels that it changed: "%llu %s were replaced", "zingers" */
    /* The macros that switch the step on in kernels/filter/prepare_rows.clh, a view step's in near_rows.cl, which compute the same bits.
     * NULL: it is always on, or follows from the fields. */
    void (*define)(const qb_prep_options *options, qb__macros *macros);
};

extern const qb__step *const qb__steps[]; /* ended by NULL; steps.c */

/* The name of a step that changes given line integrals; NULL: none does. */
const char *qb__steps_change(const qb_scan_info *info, const qb_prep_options *options);
/* All of them. QB_BAD_ARGUMENT. */
qb_status qb__steps_check(const qb_scan_info *info, const qb_prep_options *options);

#endif
