/* SPDX-License-Identifier: MIT */
/* Detects a wrong byte order. The high byte of a count changes little from pixel to pixel and from view to view, the
 * low byte is noise. In the wrong order counts look like noise, and become smooth when their bytes are swapped. Floats
 * in the wrong order have exponents of any size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { VIEWS = 12, ROWS = 4, LEAST_COLUMNS = 16 };

/* Roughness of lines, as stored or with swapped bytes. */
typedef struct roughness {
    double across,
        /* sums over lines: steps from column to column, and from view to view, relative to the deviation from the
         * median */
        along;
    size_t lines;
    size_t odd, all; /* floats other than 0: those with an implausible size, and all */
} roughness;

typedef struct bytes_look {
    const qb__frame_series *frames;
    size_t columns, size;
    char *raw;   /* [2][columns]: the same row of two consecutive views */
    float *line; /* [2][columns] */
    float *sorted;
} bytes_look;

/* Single bright pixels do not count: only values between the 2 % and 98 % levels. */
static double clip(float *line, float *scratch, size_t columns) {
    double deviation = 0;
    memcpy(scratch, line, columns * sizeof *line);
    const size_t middle = columns / 2, outer = columns / 50;
    const float median = qb__float_at(scratch, columns, middle), low = qb__float_at(scratch, middle + 1, outer),
                high = qb__float_at(scratch + middle, columns - middle, columns - 1 - outer - middle);
    for (size_t i = 0; i < columns; i++) {
        line[i] = fminf(fmaxf(line[i], low), high);
        deviation += fabs((double)line[i] - (double)median);
    }
    return deviation;
}

static void add_integers(const bytes_look *l, roughness *r) {
    float *first = l->line, *second = l->line + l->columns;
    double across = 0, along = 0;
    qb_convert_to_float(l->raw, l->frames->dtype, 2 * l->columns, l->line);
    for (size_t i = 0; i < 2 * l->columns; i++)
        if (!isfinite(l->line[i])) l->line[i] = 0;
    const double deviation = clip(first, l->sorted, l->columns);
    clip(second, l->sorted, l->columns);
    if (!(deviation > 0)) return;
    for (size_t i = 0; i < l->columns; i++) {
        across += i ? fabs((double)first[i] - (double)first[i - 1]) : 0;
        along += fabs((double)first[i] - (double)second[i]);
    }
    r->across += across / deviation;
    r->along += along / deviation;
    r->lines++;
}

static void add_floats(const bytes_look *l, roughness *r) {
    const double MOST = 1e15;
    for (size_t i = 0; i < 2 * l->columns; i++) {
        float single = 0;
        double value = 0;
        if (l->size == sizeof value)
            memcpy(&value, l->raw + i * l->size, sizeof value);
        else
            memcpy(&single, l->raw + i * l->size, sizeof single), value = (double)single;
        if (value == 0) continue;
        r->all++;
        r->odd += !(fabs(value) < MOST && fabs(value) > 1 / MOST);
    }
}

static bool is_wide_float(qb_dtype dtype) { return dtype == QB_F32 || dtype == QB_F64; }

static qb_status look(bytes_look *l, roughness *stored, roughness *exchanged) {
    const qb__frame_series *f = l->frames;
    const size_t frames = qb__smaller(VIEWS, f->count), rows = qb__smaller(ROWS, f->rows);
    void (*const add)(const bytes_look *, roughness *) = is_wide_float(f->dtype) ? add_floats : add_integers;
    for (size_t i = 0; i < frames; i++) {
        const size_t at = (2 * i + 1) * f->count / (2 * frames), next = at + 1 < f->count ? at + 1 : at ? at - 1 : 0;
        for (size_t g = 0; g < rows; g++) {
            const size_t row = (2 * g + 1) * f->rows / (2 * rows);
            qb_status status = f->read(f->self, at, at + 1, row, l->raw);
            if (status == QB_OK) status = f->read(f->self, next, next + 1, row, l->raw + l->columns * l->size);
            if (status != QB_OK) return status;
            add(l, stored);
            qb__swap_bytes(l->raw, 2 * l->columns, l->size);
            add(l, exchanged);
        }
    }
    return QB_OK;
}

/* True if lines are noise as stored, and smooth when swapped. */
static bool says_so(double stored, double exchanged) {
    const double NOISE = 0.6, SMOOTHER = 0.5, SMOOTH = 0.7;
    return stored > NOISE && exchanged < fmin(SMOOTH, SMOOTHER * stored);
}

/* Compares neighbouring columns or, if pixels differ from each other, consecutive views. The other direction must not
 * contradict. */
static bool are_exchanged(const roughness *stored, const roughness *exchanged) {
    if (stored->all) return exchanged->all > 0 && 4 * stored->odd > stored->all && 50 * exchanged->odd < exchanged->all;
    if (stored->lines == 0 || exchanged->lines == 0) return false;
    const double lines = (double)stored->lines, others = (double)exchanged->lines;
    const double across[2] = {stored->across / lines, exchanged->across / others},
                 along[2] = {stored->along / lines, exchanged->along / others};
    if (across[0] < 0.8 * across[1] || along[0] < 0.8 * along[1]) return false; /* `along` of a single frame is 0 */
    return says_so(across[0], across[1]) || says_so(along[0], along[1]);
}

/* True if the check is worth the time. Only faulty files need it, so it must not unpack too many bytes. */
static bool is_worth(const qb_scan *scan) {
    const size_t UNPACKED = 64 << 20;
    const qb_scan_info *info = &scan->info;
    const qb__source *source = scan->parts.data.source;
    const size_t row = qb__source_row_bytes(source), piece = source->chunk[0] * source->chunk[1] * row;
    if (source->computes || *scan->refused || info->views < 2 || info->columns < LEAST_COLUMNS) return false;
    if (qb__scan_on_device((qb_scan *)scan) || qb_dtype_size(info->dtype) < 2) return false;
    return source->chunk[0] * source->chunk[1] <= 1 || 2 * VIEWS * ROWS * piece <= UNPACKED;
}

qb_status qb__bytes_exchanged(const qb__frame_series *frames, bool *exchanged) {
    bytes_look l = {.frames = frames, .columns = frames->columns, .size = qb_dtype_size(frames->dtype)};
    roughness stored = {0}, other = {0};
    qb_status status = QB_OK;
    *exchanged = false;
    if (frames->columns < LEAST_COLUMNS || frames->count == 0) return QB_OK;
    QB__TRY(qb__alloc(2 * l.columns, l.size, &l.raw));
    QB__TRY(qb__alloc(2 * l.columns, sizeof *l.line, &l.line));
    QB__TRY(qb__alloc(l.columns, sizeof *l.sorted, &l.sorted));
    QB__TRY(look(&l, &stored, &other));
    *exchanged = are_exchanged(&stored, &other);
out:
    QB__FREE(l.raw, l.line, l.sorted);
    return status;
}

static qb_status read_rows(void *self, size_t first, size_t end, size_t row, void *out) {
    return qb_scan_read(self, first, end, row, row + 1, out);
}

qb_status qb__scan_look_at_bytes(qb_scan *scan, bool raw) {
    const qb_scan_info *info = &scan->info;
    const qb__frame_series views = {.self = scan,
                                    .read = read_rows,
                                    .dtype = info->dtype,
                                    .count = info->views,
                                    .rows = info->rows,
                                    .columns = info->columns};
    bool exchanged;
    if (!is_worth(scan)) return QB_OK;
    const qb_status status = qb__bytes_exchanged(&views, &exchanged);
    if (status == QB_OK && exchanged)
        qb__scan_refuse(scan,
                        "its %s values are noise as stored, and smooth with their bytes exchanged: the byte order is "
                        "wrong; %s",
                        qb_dtype_name(info->dtype),
                        raw ? "give big behind the type in --shape, as uint16big, or leave it out"
                            : "store them again (numpy: data.byteswap())");
    return status;
}
