/* SPDX-License-Identifier: MIT */
#include "io/scan/frame_look.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/select.h"
#include "base/status.h"
#include "quickbeam/io.h"

enum {
    SAMPLES = 128,
    ROOM = 256 << 10,
    LINES_AGAIN = 16,
    MOST = SAMPLES + 8 * LINES_AGAIN /* numbers of a frame */,
    TURN = 256 /* frames per task of a thread; starting a thread takes as long as some hundred frames */
};

/* From samples at the same pixels. Only numbers farther from `zero` than `part` of the largest are compared.
 * scratch[count]. */
static void step_of(const float *before, const float *after, size_t count, float zero, float part, float *scratch,
                    qb__frame_step *step) {
    enum { LEAST_PIXELS = 12 };
    float most = 0;
    size_t found = 0;
    *step = (qb__frame_step){NAN, NAN, NAN};
    for (size_t i = 0; i < count; i++) {
        const float value = before[i] - zero;
        most = value > most && value < INFINITY ? value : most;
    }
    for (size_t i = 0; i < count; i++) {
        const float a = before[i] - zero, b = after[i] - zero;
        scratch[found] = b / a; /* without a branch, which would often be mispredicted */
        found += (size_t)(a > part * most && b > 0.5f * part * most && a < INFINITY && b < INFINITY);
    }
    if (found < LEAST_PIXELS) return;
    const size_t middle = found / 2, low = found / 10, high = found - 1 - low;
    step->size = logf(qb__float_at(scratch, found, middle));
    step->spread = logf(qb__float_at(scratch + middle, found - middle, high - middle));
    step->spread -= logf(qb__float_at(scratch, middle + 1, low));
    /* standard error of the median of normal numbers */
    step->error = 1.2533f * step->spread / 2.563f / sqrtf((float)found);
}

static size_t frame_row(const qb__frame_series *series, size_t line) {
    return (2 * line + 1) * series->rows / (2 * series->lines);
}

/* Samples of a row, evenly over the columns. */
static size_t samples_of(const qb__frame_series *series) {
    return qb__smaller(series->columns, qb__larger(8, SAMPLES / series->lines));
}

/* ---- one frame ---- */

/* Offsets of the samples in bytes from the start of the row. */
static void places_of(const qb__frame_series *series, size_t place[SAMPLES]) {
    const size_t count = samples_of(series), size = qb_dtype_size(series->dtype);
    for (size_t i = 0; i < count; i++) place[i] = (2 * i + 1) * series->columns / (2 * count) * size;
}

static void pick(const qb__frame_series *series, const size_t place[SAMPLES], const char *row, float *samples) {
    const size_t count = samples_of(series);
    for (size_t i = 0; i < count; i++)
        if (series->dtype == QB_F32)
            memcpy(&samples[i], row + place[i], sizeof *samples);
        else
            qb_convert_to_float(row + place[i], series->dtype, 1, &samples[i]);
}

static void judge(float *samples, size_t count, float limit, qb__frame *frame) {
    const float ends[2] = {frame->low_end, frame->high_end};
    const qb__frame_step step = frame->step;
    const float covered[2] = {frame->covered[0], frame->covered[1]}, dim[2] = {frame->dim[0], frame->dim[1]};
    size_t good = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(samples[i]))
            lost++;
        else if (samples[i] < limit)
            samples[good++] = samples[i];
    }
    *frame = (qb__frame){.looked = true,
                         .low_end = ends[0],
                         .high_end = ends[1],
                         .step = step,
                         .covered = {covered[0], covered[1]},
                         .dim = {dim[0], dim[1]},
                         .least = NAN,
                         .most = NAN,
                         .low = NAN,
                         .median = NAN,
                         .bright = NAN,
                         .lost = (float)lost / (float)count,
                         .top = (float)(count - good - lost) / (float)count};
    if (!good) return;
    const size_t middle = (good - 1) / 2, low = (good - 1) / 20, bright = (good - 1) - low;
    frame->median = qb__float_at(samples, good, middle);
    frame->low = qb__float_at(samples, middle + 1, low);
    frame->bright = qb__float_at(samples + middle, good - middle, bright - middle);
    frame->least = frame->low, frame->most = frame->bright;
    for (size_t i = 0; i < low; i++) frame->least = fminf(frame->least, samples[i]);
    for (size_t i = bright + 1; i < good; i++) frame->most = fmaxf(frame->most, samples[i]);
}

/* ---- all frames ---- */

typedef struct judging {
    float *samples; /* [frame][line][number] */
    size_t each, count;
    float limit;
    qb__frame *frames;
    size_t stride;
} judging;

static qb_status judge_some(void *context, size_t piece, size_t worker) {
    (void)worker;
    const judging *j = context;
    for (size_t i = piece * TURN; i < qb__smaller(j->count, (piece + 1) * TURN); i++)
        judge(j->samples + i * j->each, j->each, j->limit, &j->frames[i * j->stride]);
    return QB_OK;
}

/* Read a row of the frames first, first + stride, ... (`count` frames); consecutive frames are read at once. */
static qb_status read_line(const qb__frame_series *series, size_t first, size_t count, size_t row, char *raw) {
    const size_t bytes = series->columns * qb_dtype_size(series->dtype);
    if (series->stride == 1) return series->read(series->self, first, first + count, row, raw);
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < count; i++)
        status = series->read(series->self, first + i * series->stride, first + i * series->stride + 1, row,
                              raw + i * bytes);
    return status;
}

/* Smallest and largest of all numbers of the row, because samples may miss a small object. */
static void widen(const qb__frame_series *series, const char *row, float limit, float *range) {
    enum { BLOCK = 512 };
    float values[BLOCK];
    const size_t size = qb_dtype_size(series->dtype);
    float low = range[0], high = range[1];
    for (size_t at = 0; at < series->columns; at += BLOCK) {
        const size_t count = qb__smaller(BLOCK, series->columns - at);
        qb_convert_to_float(row + at * size, series->dtype, count, values);
        for (size_t i = 0; i < count; i++) {
            const bool counts = values[i] > -INFINITY && values[i] < limit; /* false for NaN */
            low = counts && values[i] < low ? values[i] : low;
            high = counts && values[i] > high ? values[i] : high;
        }
    }
    range[0] = low, range[1] = high;
}

static void add_ends(const qb__frame_series *series, const char *row, qb__frame *frame) {
    float range[2] = {frame->low_end, frame->high_end};
    widen(series, row, INFINITY, range);
    frame->low_end = range[0], frame->high_end = range[1];
}

/* before[]: the samples of the last frame of the block before, then of this frame. */
static void add_steps(const qb__frame_series *series, size_t first, size_t count, const float *samples, float *before,
                      qb__frame *frames) {
    const size_t each = samples_of(series) * series->lines;
    float scratch[MOST];
    for (size_t i = 0; i < count; i++) {
        qb__frame *frame = &frames[first + i * series->stride];
        const float *own = samples + i * each;
        frame->step = (qb__frame_step){NAN, NAN, NAN};
        if (series->steps && first + i > 0)
            step_of(i ? own - each : before, own, each, series->zero, series->part, scratch, &frame->step);
    }
    if (count) memcpy(before, samples + (count - 1) * each, each * sizeof *before);
}

/* Numbers below a level at either end of a line, up to all of them. */
static void run_below(const float *line, size_t count, float level, size_t run[2]) {
    run[0] = run[1] = 0;
    while (run[0] < count && line[run[0]] < level) run[0]++;
    while (run[1] < count && line[count - 1 - run[1]] < level) run[1]++;
}

/* Shares of columns without beam and with little beam at either end. A line with little beam everywhere, as behind a
 * base plate or a dense object wider than the detector, does not count: there photon noise decides. */
static void add_covered(const qb__frame_series *series, const float *samples, qb__frame *frame) {
    const float DIM = 20; /* times the level without beam, which is 1 % of the beam */
    const float level[2] = {series->lit, series->zero + DIM * (series->lit - series->zero)};
    const size_t few = samples_of(series);
    size_t sum[2][2] = {{0}};
    for (size_t line = 0; line < series->lines; line++) {
        size_t run[2][2];
        for (int i = 0; i < 2; i++) run_below(samples + line * few, few, level[i], run[i]);
        if (run[1][0] == few) continue;
        for (int i = 0; i < 4; i++) sum[i / 2][i % 2] += run[i / 2][i % 2];
    }
    const float all = (float)(few * series->lines);
    for (int side = 0; side < 2; side++)
        frame->covered[side] = (float)sum[0][side] / all, frame->dim[side] = (float)sum[1][side] / all;
}

static qb_status look_at_block(const qb__frame_series *series, size_t first, size_t count, char *raw, float *samples,
                               float *before, qb__frame *frames) {
    const size_t few = samples_of(series), bytes = series->columns * qb_dtype_size(series->dtype);
    judging j = {samples, few * series->lines, count, qb__dtype_top(series->dtype), frames + first, series->stride};
    size_t place[SAMPLES];
    places_of(series, place);
    for (size_t line = 0; line < series->lines; line++) {
        QB__OR_RETURN(read_line(series, first, count, frame_row(series, line), raw));
        for (size_t i = 0; i < count; i++) {
            qb__frame *frame = &frames[first + i * series->stride];
            pick(series, place, raw + i * bytes, samples + (i * series->lines + line) * few);
            if (line == 0) frame->low_end = frame->high_end = 0;
            if (series->ends) add_ends(series, raw + i * bytes, frame);
        }
    }
    add_steps(series, first, count, samples, before, frames);
    for (size_t i = 0; i < count && series->lit > 0; i++)
        add_covered(series, samples + i * few * series->lines, &frames[first + i * series->stride]);
    return qb__share(qb__smaller(qb__share_threads(), 4), qb__ceil_div(count, TURN), judge_some, &j);
}

qb_status qb__frames_look(const qb__frame_series *series, const qb_env *env, qb__frame *frames) {
    const size_t bytes = series->columns * qb_dtype_size(series->dtype),
                 all = qb__ceil_div(series->count, series->stride);
    const size_t each = bytes + samples_of(series) * series->lines * sizeof(float);
    const size_t block = qb__smaller(all, qb__larger(1, ROOM / each));
    char *raw = NULL;
    float *samples = NULL, before[MOST];
    qb_status status;
    QB__TRY(qb__alloc(block, bytes, &raw));
    QB__TRY(qb__alloc(block * samples_of(series) * series->lines, sizeof *samples, &samples));
    for (size_t done = 0; done < all; done += block) {
        QB__TRY(qb__check_cancel(env));
        QB__TRY(
            look_at_block(series, done * series->stride, qb__smaller(block, all - done), raw, samples, before, frames));
    }
out:
    QB__FREE(raw, samples);
    return status;
}

qb_status qb__frame_look_again(const qb__frame_series *series, size_t at, qb__frame *frame) {
    qb__frame_series one = *series;
    float range[2] = {INFINITY, -INFINITY};
    float *samples = NULL;
    char *raw = NULL;
    size_t place[SAMPLES];
    qb_status status;
    one.lines = qb__smaller(series->rows, LINES_AGAIN);
    const size_t few = samples_of(&one);
    places_of(&one, place);
    QB__TRY(qb__alloc(one.columns, qb_dtype_size(one.dtype), &raw));
    QB__TRY(qb__alloc(few * one.lines, sizeof *samples, &samples));
    for (size_t line = 0; line < one.lines; line++) {
        QB__TRY(one.read(one.self, at, at + 1, frame_row(&one, line), raw));
        pick(&one, place, raw, samples + line * few);
        widen(&one, raw, qb__dtype_top(one.dtype), range);
    }
    judge(samples, few * one.lines, qb__dtype_top(one.dtype), frame);
    if (range[0] <= range[1]) frame->least = range[0], frame->most = range[1];
out:
    QB__FREE(raw, samples);
    return status;
}
