/* SPDX-License-Identifier: MIT */
#include "prep/rings_from.h"

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "prep/prepare.h"
#include "prep/step.h"
#include "prep/warp.h"

/* Without resampling: the rows of this rank. */
static void take_rows(const qb__fields *f, qb__rings_from *from) {
    from->group[0][0] = f->all ? f->own0 : f->row0;
    from->group[0][1] = f->all ? f->own1 : f->row0 + f->rows;
}

/* The stored rows from which the asked ones are computed. Each rank finds the stripes of all rows that it reads. */
static qb_status find_rows(const qb__fields *f, qb__warp *warp, qb__rings_from *from) {
    const size_t end = f->row0 + f->rows;
    qb_status status = QB_OK;
    size_t done = 0;
    for (size_t i = 0; i < from->groups && status == QB_OK; i++) {
        const size_t row = f->row0 + i * f->step;
        size_t row0 = row, row1 = f->step > 1 ? row + 1 : end;
        status = qb__warp_rows(warp, &row0, &row1);
        from->group[i][0] = qb__larger(done, row0);
        from->group[i][1] = done = qb__larger(done, row1);
    }
    return status;
}

qb_status qb__rings_from_open(const qb__pass *asked, qb__rings_from *from) {
    const qb__fields *f = asked->fields;
    qb__warp *warp = asked->scan->warp;
    qb_status status;
    from->pass = *asked;
    from->groups = f->rows == 0 ? 0 : warp && f->step > 1 ? qb__ceil_div(f->rows, f->step) : 1;
    if (from->groups == 0) return QB_OK;
    QB__TRY(qb__alloc(from->groups, sizeof *from->group, &from->group));
    if (!warp) {
        take_rows(f, from);
        goto out;
    }
    QB__TRY(find_rows(f, warp, from));
    qb__scan_unwarped(asked->scan, asked->scan->digests, &from->scan);
    const size_t row0 = from->group[0][0], row1 = from->group[from->groups - 1][1];
    const qb_env *env = asked->env, quiet = {.struct_size = sizeof quiet,
                                             .threads = env ? env->threads : 0,
                                             .max_ram = env ? env->max_ram : 0,
                                             .cancel = env ? env->cancel : NULL};
    from->options = *asked->options;
    for (const qb__step *const *step = qb__steps; *step; step++) /* reading corrects neighbours already */
        qb__step_set(*step, &from->options, NULL);
    QB__TRY(qb__prepare_create(&from->scan, &from->options, &(qb__prepared){.row0 = row0, .row1 = row1, .step = 1},
                               &quiet, &from->prepare));
    from->fields = (qb__fields){
        .row0 = row0, .rows = row1 - row0, .columns = f->columns, .step = 1, .own0 = f->own0, .own1 = f->own1};
    from->pass.scan = &from->scan;
    from->pass.options = asked->options;
    from->pass.prepare = from->prepare;
    from->pass.fields = &from->fields;
out:
    return status;
}

void qb__rings_from_give(qb__rings_from *from, const qb__pass *asked, float **field) {
    if (!from->prepare) return;
    qb__warp_correct(asked->scan->warp, from->fields.row0, from->fields.row0 + from->fields.rows, *field);
    *field = NULL;
}

void qb__rings_from_close(qb__rings_from *from) {
    qb__prepare_destroy(from->prepare);
    qb__free(from->group);
    qb__free(from->fields.dark);
    qb__free(from->fields.gain);
}
