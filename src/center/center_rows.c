/* SPDX-License-Identifier: MIT */
/* Chooses the detector rows and loads them. */
#include "center/center.h"

#include <math.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"
#include "center/center_roll.h"
#include "cpu/features.h"
#include "job/job.h"
#include "prep/levels_said.h"
#include "prep/prepare.h"
#include "quickbeam/geometry.h"

enum { DEFAULT_ROWS = 5 };

qb_status qb__center_choose(const char *text, const qb_scan_info *info, qb__center_chosen *c) {
    if (!text) {
        c->rows = info->rows < DEFAULT_ROWS ? info->rows : DEFAULT_ROWS;
        for (size_t i = 0; i < c->rows; i++) c->row[i] = (2 * i + 1) * info->rows / (2 * c->rows);
        return QB_OK;
    }
    size_t first, end, step;
    qb_status status = qb_range_parse(text, "--rows", info->rows, &first, &end, &step);
    if (status != QB_OK) return status;
    size_t all = (end - first + step - 1) / step, take = all < QB__CENTER_ROWS ? all : QB__CENTER_ROWS;
    if (all == 0) return qb__fail(QB_BAD_ARGUMENT, "--rows %s is empty", text);
    for (size_t i = 0; i < take; i++) c->row[i] = first + i * all / take * step;
    c->rows = take;
    return QB_OK;
}

/* Memory held at most, as a multiple of the line integrals of one row: the rows, five more for registration, and the
 * packed trial slices, which are small only if rows are wide. */
static double rows_held(size_t rows, const qb_scan_info *info) {
    return (double)rows * (info->columns <= 1024 ? 2.5 : 1.5) + 5;
}

/* Bytes that the process holds in addition. */
static double held(const qb_scan_info *info, const qb_env *env) {
    return (double)qb__held_bytes(
        &(qb__held){.threads = env && env->threads > 0 ? env->threads : qb__cpu_count(), .scan = info});
}

static double room_for_rows(const qb_scan_info *info, const qb_env *env) {
    return 0.5 * ((double)qb__memory_cap(env) - held(info, env));
}

qb_status qb__center_check_room(const qb__center_chosen *c, const qb_scan_info *info, const qb_env *env) {
    const double need = rows_held(c->rows, info) * (double)info->views * (double)info->columns * sizeof(float);
    if (need <= room_for_rows(info, env)) return QB_OK;
    return qb__fail_ram(env, (double)qb__memory_cap(env), held(info, env) + 2 * need,
                        "to look for the axis in even one row needs");
}

void qb__center_fit(qb__center_chosen *c, const qb_scan_info *info, const qb_env *env) {
    double row = (double)info->views * (double)info->columns * sizeof(float);
    size_t keep = c->rows;
    while (keep > 1 && rows_held(keep, info) * row > room_for_rows(info, env)) keep--;
    for (size_t i = 0; i < keep; i++) c->row[i] = c->row[(2 * i + 1) * c->rows / (2 * keep)];
    c->rows = keep;
}

/* Range of the values without the lowest and highest hundredth, from a few thousand samples. */
static double contrast(const float *sinogram, size_t count) {
    enum { SAMPLES = 4096 };
    float sample[SAMPLES];
    size_t n = count < SAMPLES ? count : SAMPLES;
    for (size_t i = 0; i < n; i++) sample[i] = sinogram[i * (count / n)];
    const size_t low = n / 100, high = n - 1 - low;
    const float top = qb__float_at(sample, n, high);
    return (double)top - (double)qb__float_at(sample, high + 1, low);
}

/* Rows with far less contrast than others only add noise: drop them and keep the order. */
static void drop_empty_rows(float *sinograms, size_t size, qb__center_chosen *c) {
    double each[QB__CENTER_ROWS], most = 0;
    for (size_t r = 0; r < c->rows; r++) {
        each[r] = contrast(sinograms + r * size, size);
        most = fmax(most, each[r]);
    }
    size_t kept = 0;
    for (size_t r = 0; r < c->rows; r++) {
        if (each[r] < 0.1 * most) continue;
        if (kept < r) memcpy(sinograms + kept * size, sinograms + r * size, size * sizeof(float));
        c->row[kept++] = c->row[r];
    }
    if (kept) c->rows = kept;
}

/* Stripes are searched in all rows that are prepared, so each chosen row is prepared alone. */
static qb_status load_alone(qb_scan *scan, const qb_prep_options *prep, const qb_env *env, qb__pool *pool, size_t row,
                            float *sinogram) {
    qb__prepare *prepare;
    qb__prep_counts counts = {0};
    qb_env hushed = qb__env_whole(env);
    hushed.log = NULL, hushed.progress = NULL;
    qb_status status = qb__prepare_create(
        scan, prep, &(qb__prepared){.row0 = row, .row1 = row + 1, .own0 = row, .own1 = row + 1}, &hushed, &prepare);
    if (status != QB_OK) return status;
    status = qb__prepare_rows(prepare, scan, row, row + 1, pool, sinogram, &counts);
    qb__prepare_destroy(prepare);
    return status;
}

qb_status qb__center_load(qb_scan *scan, const qb_prep_options *prep, const qb_env *env, qb__pool *pool,
                          const qb__roll *roll, qb__center_chosen *c, float *sinograms) {
    const qb_scan_info *info = qb_scan_describe(scan);
    size_t size = info->views * info->columns, row0 = c->row[0], row1 = c->row[c->rows - 1] + 1;
    qb__prepare *prepare;
    qb__roll_reader *roll_reader = NULL;
    qb__prep_counts counts = {0};
    qb_prep_options steps = *prep;
    const bool alone = prep->rings && !roll->maps;
    if (alone) steps.rings = NULL;
    if (roll->maps) qb__roll_rows(roll, row0, row1, QB__RESAMPLE_MARGIN, &row0, &row1);
    qb_status status = qb__prepare_create(
        scan, &steps, &(qb__prepared){.row0 = row0, .row1 = row1, .own0 = row0, .own1 = row1}, env, &prepare);
    if (status != QB_OK) return status;
    QB__TRY(qb__levels_tell(scan, prepare, &steps, row0, row1, env));
    if (roll->maps) QB__TRY(qb__roll_reader_create(scan, prepare, roll, pool, &roll_reader));
    for (size_t r = 0; r < c->rows; r++) {
        QB__TRY(qb__check_cancel(env));
        qb__progress(env, "reading rows", r, c->rows);
        float *to = sinograms + r * size;
        QB__TRY(roll_reader ? qb__roll_reader_row(roll_reader, c->row[r], to)
                : alone     ? load_alone(scan, prep, env, pool, c->row[r], to)
                            : qb__prepare_rows(prepare, scan, c->row[r], c->row[r] + 1, pool, to, &counts));
    }
    qb__progress(env, "reading rows", c->rows, c->rows);
    QB__TRY(qb__center_clean(sinograms, c->rows, info->views, info->columns, pool));
    drop_empty_rows(sinograms, size, c);
out:
    qb__roll_reader_destroy(roll_reader);
    qb__prepare_destroy(prepare);
    return status;
}

size_t qb__center_bytes(const qb_scan_info *info, const qb_env *env) {
    qb__center_chosen c = {0};
    if (qb__center_choose(NULL, info, &c) != QB_OK) return 0;
    qb__center_fit(&c, info, env);
    double row = (double)info->views * (double)info->columns * sizeof(float);
    return (size_t)(rows_held(c.rows, info) * row);
}
