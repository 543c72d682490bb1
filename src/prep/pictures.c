/* SPDX-License-Identifier: MIT */
/* A view and a sinogram after each step of preparation: the steps are switched on one after the other. */
#include "prep/pictures.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "prep/phase.h"
#include "prep/prepare.h"
#include "prep/step.h"
#include "prep/warp.h"

enum { LINES = 360, BAND = 1 << 25, BAND_ROWS = 9 };

typedef struct show {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb_geometry *geometry;
    const qb_env *env;
    qb_tool_picture picture;
    float *image, *sinogram;
    qb_tool_picture_fn see;
    void *user;
} show;

static size_t view_of(const show *s, size_t line) { return line * s->info->views / s->picture.lines; }

/* Takes rows first .. end - 1 of one view; prepare NULL: as they are stored. */
static qb_status take(const show *s, qb_scan *scan, const qb__prepare *prepare, size_t view, size_t first, size_t end,
                      float *out) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t count = (end - first) * info->columns;
    qb__prep_counts counts = {0};
    void *raw = NULL;
    qb_status status;
    QB__TRY(qb__check_cancel(s->env));
    QB__TRY(qb__alloc(count, qb_dtype_size(info->dtype), &raw));
    QB__TRY(qb_scan_read(scan, view, view + 1, first, end, raw));
    if (prepare)
        qb__prepare_view(prepare, view, first, end - first, raw, out, &counts);
    else
        qb_convert_to_float(raw, info->dtype, count, out);
out:
    qb__free(raw);
    return status;
}

/* Takes the rows of the view and the lines of the sinogram, then calls `see`. */
static qb_status take_all(show *s, qb_scan *scan, const qb__prepare *prepare) {
    qb_tool_picture *p = &s->picture;
    for (size_t i = 0; i < p->rows * p->columns; i++) s->image[i] = NAN;
    QB__OR_RETURN(take(s, scan, prepare, p->view, p->row0, p->row1, s->image + p->row0 * p->columns));
    for (size_t i = 0; i < p->lines; i++)
        QB__OR_RETURN(take(s, scan, prepare, view_of(s, i), p->row, p->row + 1, s->sinogram + i * p->columns));
    s->see(s->user, p);
    return QB_OK;
}

/* Choose all rows; or, for steps that need all views of a row, a band around the row of the sinogram. */
static void choose_rows(show *s, const qb_prep_options *options) {
    qb_tool_picture *p = &s->picture;
    const size_t most = BAND / (s->info->views * p->columns), band = most > BAND_ROWS ? most : BAND_ROWS;
    const bool all = band >= p->rows || !qb__prepare_reads_all(s->info, options);
    p->row0 = all ? 0 : p->row - qb__smaller(p->row, band / 2);
    p->row1 = all ? p->rows : qb__smaller(p->rows, p->row0 + band);
}

static qb_status show_step(show *s, const char *name, const qb_prep_options *options) {
    qb__phase *phase = NULL;
    qb__prepare *prepare = NULL;
    qb_status status;
    s->picture.step = name;
    s->picture.units = "";
    choose_rows(s, options);
    QB__TRY(qb__phase_create(s->scan, s->geometry, options, s->env, &phase));
    qb_scan *scan = qb__phase_scan(phase, s->scan);
    const qb__prepared rows = {.row0 = s->picture.row0, .row1 = s->picture.row1, .step = 1};
    QB__TRY(qb__prepare_create(scan, options, &rows, s->env, &prepare));
    status = take_all(s, scan, prepare);
out:
    qb__prepare_destroy(prepare);
    qb__phase_destroy(phase);
    return status;
}

static qb_status show_stored(show *s) {
    s->picture.step = "as stored";
    s->picture.units = s->info->quantity == QB_COUNTS ? "counts" : "";
    s->picture.row1 = s->info->rows;
    return take_all(s, s->scan, NULL);
}

/* Images without distortion and shifts are a step of their own, after the line integrals. */
static qb_status show_lines(show *s, const qb_prep_options *options) {
    qb_scan *scan = s->scan, still;
    qb_status status = QB_OK;
    qb__scan_unwarped(scan, NULL, &still);
    s->scan = &still;
    if (qb__steps_change(s->info, options)) status = show_step(s, "line integrals", options);
    s->scan = scan;
    if (status == QB_OK && qb__warp_wanted(scan)) status = show_step(s, qb__warp_text(scan), options);
    return status;
}

/* Steps that have options of their own, and phase retrieval, which works on the views that the view steps corrected. */
static qb_status show_all(show *s, const qb_prep_options *given) {
    const bool phase = given->paganin && strcmp(given->paganin, "none") != 0;
    qb_prep_options options = *given;
    options.paganin = NULL;
    for (const qb__step *const *step = qb__steps; *step; step++) qb__step_set(*step, &options, NULL);
    QB__OR_RETURN(show_stored(s));
    QB__OR_RETURN(show_lines(s, &options));
    for (const qb__step *const *step = qb__steps; *step; step++) {
        if (phase && !options.paganin && (*step)->scope != QB__SCOPE_VIEW) {
            options.paganin = given->paganin;
            QB__OR_RETURN(show_step(s, "phase retrieval", &options));
        }
        if (!(*step)->option[0].size || !(*step)->wanted(s->info, given)) continue;
        qb__step_set(*step, &options, given);
        QB__OR_RETURN(show_step(s, (*step)->name, &options));
    }
    return QB_OK;
}

qb_status qb_tool_prepare_pictures(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                                   const qb_env *env, qb_tool_picture_fn see, void *user) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb_env quiet = {.struct_size = sizeof quiet,
                          .threads = env ? env->threads : 0,
                          .max_ram = env ? env->max_ram : 0,
                          .device = "cpu",
                          .cancel = env ? env->cancel : NULL};
    show s = {.scan = scan, .info = info, .geometry = geometry, .env = &quiet, .see = see, .user = user};
    s.picture = (qb_tool_picture){.view = info->views / 2,
                                  .row = info->rows / 2,
                                  .rows = info->rows,
                                  .columns = info->columns,
                                  .lines = qb__smaller(info->views, LINES)};
    qb_status status;
    QB__TRY(qb__alloc(info->rows, info->columns * sizeof(float), &s.image));
    QB__TRY(qb__alloc(s.picture.lines, info->columns * sizeof(float), &s.sinogram));
    s.picture.image = s.image;
    s.picture.sinogram = s.sinogram;
    status = show_all(&s, prep);
out:
    QB__FREE(s.image, s.sinogram);
    return status;
}
