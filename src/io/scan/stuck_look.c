/* SPDX-License-Identifier: MIT */
/* Detects pixels with one value in all views while their neighbours change, and that differ from them: hot or dead
 * pixels whose value is not the type's maximum. A few views are read; if pixels are found, more views decide. Such
 * pixels are masked. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum {
    VIEWS = 24,
    PART = 3,           /* every third of the checked views comes first */
    WIDEST = 16,        /* largest width of a fault inside a row, in columns */
    WIDEST_END = 2,     /* the same at a row's end, where air may be constant, too */
    BLOCK = 512 << 10,  /* bytes read at once, at least a row */
    UNPACKED = 64 << 20 /* bytes that the check may unpack, or this part of the scan */
};

typedef struct stuck_look {
    qb_scan *scan;
    unsigned char *marks;   /* [row][column] enum qb_pixel: pixels found are added */
    size_t row0, rows;      /* detector rows of the block */
    char *first, *raw;      /* [rows][columns] of the first view and of another view */
    unsigned char *state;   /* [rows][columns]: 1 while it may be stuck */
    unsigned char *outside; /* [rows][columns]: views in which it differs from both neighbours */
    size_t count;
    size_t room; /* rows of a block at most */
} stuck_look;

static size_t view_at(const stuck_look *l, size_t i) { return i * (l->scan->info.views - 1) / (VIEWS - 1); }

static qb_status read_view(stuck_look *l, size_t i, char *out) {
    return qb_scan_read(l->scan, view_at(l, i), view_at(l, i) + 1, l->row0, l->row0 + l->rows, out);
}

static void keep_same(stuck_look *l) {
    const size_t size = qb_dtype_size(l->scan->info.dtype), pixels = l->rows * l->scan->info.columns;
    for (size_t i = 0; i < pixels; i++)
        if (l->state[i] && memcmp(l->first + i * size, l->raw + i * size, size) != 0) l->state[i] = 0;
}

/* The transmission, or the stored value of line integrals. */
static float value_of(const stuck_look *l, const char *raw, size_t pixel) {
    const qb_scan *scan = l->scan;
    const size_t at = l->row0 * scan->info.columns + pixel;
    const bool counts = scan->info.quantity == QB_COUNTS;
    float value;
    qb_convert_to_float(raw + pixel * qb_dtype_size(scan->info.dtype), scan->info.dtype, 1, &value);
    if (!counts) return value;
    const float dark = scan->dark ? scan->dark[at] : 0;
    return (value - dark) / (scan->flat ? scan->flat[at] - dark : 1);
}

/* True if the pixel is known to be dead, saturated or masked; or if it is exactly open beam, as in scans without
 * noise. */
static bool is_known(const stuck_look *l, size_t pixel) {
    const qb_scan *scan = l->scan;
    const size_t at = l->row0 * scan->info.columns + pixel;
    float value;
    if (l->marks[at]) return true;
    qb_convert_to_float(l->first + pixel * qb_dtype_size(scan->info.dtype), scan->info.dtype, 1, &value);
    if (!isfinite(value)) return true;
    if (scan->info.quantity != QB_COUNTS) return value == (scan->info.quantity == QB_TRANSMISSION ? 1 : 0);
    return value >= qb__dtype_top(scan->info.dtype) ||
           (scan->flat && !(scan->flat[at] - (scan->dark ? scan->dark[at] : 0) > 0));
}

/* Keep only possible faults: narrow runs between columns that change. */
static size_t choose_in_row(stuck_look *l, size_t row) {
    const size_t columns = l->scan->info.columns;
    unsigned char *state = l->state + row * columns;
    size_t left = 0;
    for (size_t i = 0, end; i < columns; i = end) {
        for (end = i + 1; end < columns && (state[end] != 0) == (state[i] != 0); end++) continue;
        if (!state[i]) continue;
        const bool at_end = i == 0 || end == columns;
        for (size_t c = i; c < end; c++) {
            if (end - i > (at_end ? WIDEST_END : WIDEST) || is_known(l, row * columns + c)) state[c] = 0;
            left += state[c];
        }
    }
    return left;
}

/* The nearest column to a side that changes; the number of columns if there is none. */
static size_t neighbour(const unsigned char *state, size_t columns, size_t column, bool right) {
    size_t i = column;
    while (i < columns && state[i]) i = right ? i + 1 : i - 1;
    return i < columns ? i : columns;
}

/* Line integrals in air differ only by rounding, which is no fault.
 * At a row's end the value must not be that of air nor, without noise, of the edge of a round object that is wider than
 * the detector: only counts are judged there. */
static bool stands_out(const stuck_look *l, size_t row, size_t column) {
    const float NEAR = 0.02f, ROUNDING = 1e-3f;
    const size_t columns = l->scan->info.columns, at = row * columns;
    const size_t left = neighbour(l->state + at, columns, column, false),
                 right = neighbour(l->state + at, columns, column, true);
    const float own = value_of(l, l->raw, at + column);
    const float a = value_of(l, l->raw, at + (left < columns ? left : right)),
                b = value_of(l, l->raw, at + (right < columns ? right : left));
    const float near = fmaxf(ROUNDING * l->scan->usual_integral, NEAR * fmaxf(fabsf(a), fabsf(b)));
    if (left == columns || right == columns) {
        if (l->scan->info.quantity != QB_COUNTS || !l->scan->flat) return false;
        if (fabsf(own - 1) < NEAR) return false;
    }
    return own < fminf(a, b) - near || own > fmaxf(a, b) + near;
}

/* Check all chosen views: a candidate whose value changes is dropped. */
static qb_status decide(stuck_look *l) {
    const size_t columns = l->scan->info.columns, pixels = l->rows * columns;
    memset(l->outside, 0, pixels);
    for (size_t v = 0; v < VIEWS; v++) {
        QB__OR_RETURN(read_view(l, v, l->raw));
        for (size_t i = 0; i < pixels; i++)
            if (l->state[i] && stands_out(l, i / columns, i % columns)) l->outside[i]++;
        keep_same(l);
    }
    for (size_t i = 0; i < pixels; i++) {
        if (!l->state[i] || 4 * l->outside[i] < 3 * VIEWS) continue;
        l->marks[l->row0 * columns + i] = QB_PIXEL_STUCK;
        l->count++;
    }
    return QB_OK;
}

static qb_status look_at_block(stuck_look *l) {
    const size_t columns = l->scan->info.columns;
    size_t left = 0;
    memset(l->state, 1, l->rows * columns);
    QB__OR_RETURN(read_view(l, 0, l->first));
    for (size_t v = PART; v < VIEWS; v += PART) {
        QB__OR_RETURN(read_view(l, v, l->raw));
        keep_same(l);
    }
    for (size_t row = 0; row < l->rows; row++) left += choose_in_row(l, row);
    if (left) return decide(l);
    return QB_OK;
}

/* ---- results ---- */

static qb_status tell(const stuck_look *l) {
    qb_scan *scan = l->scan;
    const size_t rows = scan->info.rows, columns = scan->info.columns;
    const bool left_out = scan->flat || qb__scan_can_blank(scan);
    qb__finding finding = {.code = QB__CODE("stuck-pixels"),
                           .what = "pixels",
                           .count = l->count,
                           .of = rows * columns,
                           .done = left_out ? "not measured" : "kept"};
    char in_rows[80];
    bool *list;
    QB__OR_RETURN(qb__alloc(rows + columns, sizeof *list, &list));
    for (size_t i = 0; i < rows * columns; i++) list[i % columns] |= l->marks[i] == QB_PIXEL_STUCK;
    for (size_t i = 0; i < rows * columns; i++) list[columns + i / columns] |= l->marks[i] == QB_PIXEL_STUCK;
    qb__frame_list_words(list, columns, finding.which, sizeof finding.which);
    qb__frame_list_words(list + columns, rows, in_rows, sizeof in_rows);
    qb__free(list);
    qb__scan_find(scan, &finding, QB_PROBLEM_PIXELS,
                  "%zu pixels hold one value in all views, in columns %s of rows %s: they %s%s", l->count,
                  finding.which, in_rows, left_out ? "count as not measured" : "leave rings; mend them before",
                  finding.code);
    return QB_OK;
}

bool qb__scan_views_worth(const qb_scan *scan) {
    const qb_scan_info *info = &scan->info;
    const qb__source *source = scan->parts.data.source;
    const double view = (double)info->rows * (double)qb__source_row_bytes(source), all = view * (double)info->views;
    const size_t chunk = source->chunk[scan->sinogram ? 1 : 0];
    if (source->computes || *scan->refused || info->views < VIEWS || info->columns < 8) return false;
    if (qb__scan_on_device((qb_scan *)scan)) return false;
    return chunk <= 1 || view * (double)chunk * (VIEWS / PART) <= fmax(UNPACKED, all / 20);
}

typedef struct blocks {
    size_t room, rows; /* rows of a block; all rows */
    const qb_env *env;
    char *states;
    size_t each;
    qb_status (*look)(void *state, size_t row0, size_t rows);
} blocks;

static qb_status look_at_one(void *context, size_t block, size_t worker) {
    const blocks *b = context;
    const size_t row0 = block * b->room;
    const qb_status status = qb__check_cancel(b->env);
    return status == QB_OK ? b->look(b->states + worker * b->each, row0, qb__smaller(b->room, b->rows - row0)) : status;
}

qb_status qb__scan_look_by_blocks(const qb_scan *scan, size_t room, const qb_env *env, void *states, size_t each,
                                  qb_status (*look)(void *state, size_t row0, size_t rows)) {
    blocks b = {room, scan->info.rows, env, states, each, look};
    const size_t threads = qb__smaller(scan->parts.data.source->threads, QB__SHARE_MOST);
    return qb__share(threads, qb__ceil_div(b.rows, room), look_at_one, &b);
}

/* The buffers of a thread, in one piece of memory. */
static qb_status begin(stuck_look *l) {
    const size_t pixels = qb__round_up(l->room * l->scan->info.columns, 64),
                 bytes = pixels * qb_dtype_size(l->scan->info.dtype);
    QB__OR_RETURN(qb__alloc(2 * (bytes + pixels), 1, &l->first));
    l->raw = l->first + bytes;
    l->state = (unsigned char *)(l->raw + bytes);
    l->outside = l->state + pixels;
    return QB_OK;
}

static qb_status look(void *state, size_t row0, size_t rows) {
    stuck_look *l = state;
    const qb_status status = l->first ? QB_OK : begin(l);
    l->row0 = row0;
    l->rows = rows;
    return status == QB_OK ? look_at_block(l) : status;
}

qb_status qb__scan_look_at_pixels(qb_scan *scan, unsigned char **mask, const qb_env *env) {
    const double MOST = 0.1; /* largest share of the pixels: with more, the cause is another one */
    const qb_scan_info *info = &scan->info;
    const size_t bytes = info->columns * qb_dtype_size(info->dtype), all = info->rows * info->columns;
    const size_t room = qb__smaller(info->rows, qb__larger(1, qb__larger(info->chunk_rows, BLOCK / bytes)));
    stuck_look by[QB__SHARE_MOST] = {0}; /* of each thread */
    qb_status status;
    if (!qb__scan_views_worth(scan)) return QB_OK;
    if (!*mask) QB__TRY(qb__alloc(all, 1, mask));
    for (size_t i = 0; i < QB__SHARE_MOST; i++) by[i] = (stuck_look){.scan = scan, .marks = *mask, .room = room};
    QB__TRY(qb__scan_look_by_blocks(scan, room, env, by, sizeof *by, look));
    for (size_t i = 1; i < QB__SHARE_MOST; i++) by[0].count += by[i].count;
    const size_t count = by[0].count;
    if (count && (double)count <= MOST * (double)all)
        status = tell(&by[0]);
    else
        for (size_t i = 0; i < all; i++)
            if ((*mask)[i] == QB_PIXEL_STUCK) (*mask)[i] = QB_PIXEL_MEASURED;
out:
    for (size_t i = 0; i < QB__SHARE_MOST; i++) qb__free(by[i].first);
    return status;
}
