/* SPDX-License-Identifier: MIT */
/* Detects parts of the detector that are dead or covered in all views, but not in the flats: a quadrant that failed, a
 * slit that closed. Their pixels have no beam in any view, or one value, the same for all of them. A part extends to an
 * end of its rows, or has beam next to it in nearly all views; an opaque object, behind which some pixels always lie,
 * does neither. */
#include <math.h>
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
    PART = 3,         /* every third of the checked views comes first */
    NARROW = 3,       /* smallest width of a part */
    WIDE = 17,        /* smallest width inside a row */
    BLOCK = 512 << 10 /* bytes read at once, at least a row */
};

enum { DARK = 1, SAME = 2 };

typedef enum kind { NOTHING, MAYBE, PART_OF_ROW } kind;

static const float NO_BEAM = 0.02f;

typedef struct dead_look {
    qb_scan *scan;
    unsigned char *marks; /* [row][column] enum qb_pixel: pixels found are added */
    size_t row0, rows;
    char *first, *raw;    /* [rows][columns] of the first view and of another view */
    unsigned char *state; /* [rows][columns]: DARK while it has no beam in any view, SAME while it has one value */
    unsigned char *found; /* [rows][columns]: 1 in a part */
    unsigned char *lit;   /* [rows][columns]: number of views with beam */
    float *sum;           /* [rows][columns]: sum of transmissions */
    size_t count;
    size_t room;    /* rows of a block at most */
    float quiet_at; /* transmission for which `quiet` was found; NAN: none */
    bool quiet;
} dead_look;

static bool has_flat(const dead_look *l, size_t pixel) {
    const qb_scan *scan = l->scan;
    const size_t at = l->row0 * scan->info.columns + pixel;
    return scan->info.quantity != QB_COUNTS || scan->flat[at] > (scan->dark ? scan->dark[at] : 0);
}

/* Transmission of a pixel; 0 where the flat is dead, which does not interrupt a part. */
static float transmission(const dead_look *l, const char *raw, size_t pixel) {
    const qb_scan *scan = l->scan;
    const size_t at = l->row0 * scan->info.columns + pixel;
    float value;
    qb_convert_to_float(raw + pixel * qb_dtype_size(scan->info.dtype), scan->info.dtype, 1, &value);
    if (scan->info.quantity == QB_LINE_INTEGRAL) return expf(-value);
    if (scan->info.quantity == QB_TRANSMISSION) return value;
    const float dark = scan->dark ? scan->dark[at] : 0;
    return has_flat(l, pixel) ? (value - dark) / (scan->flat[at] - dark) : 0;
}

static qb_status read_view(dead_look *l, size_t i, char *out) {
    const size_t view = i * (l->scan->info.views - 1) / (VIEWS - 1);
    return qb_scan_read(l->scan, view, view + 1, l->row0, l->row0 + l->rows, out);
}

/* The state after one more view; without `all`, pixels that cannot belong to a part any more are skipped. */
static void add_view(dead_look *l, bool all) {
    const float BEAM = 0.1f;
    /* line integrals may have any unit, so they may be large */
    const bool lines = l->scan->info.quantity == QB_LINE_INTEGRAL;
    const size_t size = qb_dtype_size(l->scan->info.dtype), pixels = l->rows * l->scan->info.columns;
    for (size_t i = 0; i < pixels; i++) {
        if (l->state[i] & SAME && memcmp(l->first + i * size, l->raw + i * size, size) != 0)
            l->state[i] &= (unsigned char)~SAME;
        if (!all && !(l->state[i] & DARK)) continue;
        const float t = transmission(l, l->raw, i);
        if (!(t < NO_BEAM) || lines) l->state[i] &= (unsigned char)~DARK; /* also for NaN */
        if (t > BEAM) l->lit[i]++;
        l->sum[i] += t;
    }
}

/* True if the pixel is far from 1, the value of air in a scan without noise. */
static bool is_off(const dead_look *l, size_t pixel) {
    const float t = transmission(l, l->first, pixel);
    return t < 0.5f || t > 1.5f;
}

/* True if the pixel has the value 1: air of transmissions that are stated to be line integrals. */
static bool is_air_of_transmissions(const dead_look *l, size_t pixel) {
    return l->scan->info.quantity == QB_LINE_INTEGRAL && fabsf(logf(transmission(l, l->first, pixel)) + 1) < 0.01f;
}

static bool is_part(const dead_look *l, size_t pixel, unsigned char which) {
    return l->state[pixel] & which && !l->marks[l->row0 * l->scan->info.columns + pixel];
}

/* End of the run of pixels from `start` on that belong to a part of that kind. */
static size_t run_end(const dead_look *l, size_t row, size_t start, unsigned char which) {
    const size_t columns = l->scan->info.columns, size = qb_dtype_size(l->scan->info.dtype), at = row * columns;
    size_t end = start;
    while (end < columns && is_part(l, at + end, which) &&
           (which == DARK || memcmp(l->first + (at + start) * size, l->first + (at + end) * size, size) == 0))
        end++;
    return end;
}

static bool is_lit(const dead_look *l, size_t pixel, size_t views) { return 4 * (size_t)l->lit[pixel] >= 3 * views; }

/* True if both ends of a row have the same constant value: without noise, air has one value, too. */
static bool is_at_both_ends(const dead_look *l, size_t row) {
    const size_t columns = l->scan->info.columns, size = qb_dtype_size(l->scan->info.dtype), at = row * columns;
    return l->state[at] & SAME && l->state[at + columns - 1] & SAME &&
           memcmp(l->first + at * size, l->first + (at + columns - 1) * size, size) == 0;
}

/* Minus the logarithm of the mean over so many views. */
static float mean_line(const dead_look *l, size_t pixel, size_t views) {
    return -logf(fmaxf(l->sum[pixel] / (float)views, 1e-3f));
}

/* True if there is one value from an end of the row on, and an object is cut off there instead of ending. */
static bool is_cut(const dead_look *l, size_t row, size_t start, size_t end, size_t views) {
    const size_t columns = l->scan->info.columns, at = row * columns;
    const bool left = start == 0, right = end == columns;
    float line[3], top = 0;
    if (left == right || (left ? end + 3 > columns : start < 3)) return false;
    if (views == 0) return true;
    for (size_t i = 0; i < 3; i++) line[i] = mean_line(l, at + (left ? end + i : start - 1 - i), views);
    for (size_t i = 0; i < columns; i++) top = fmaxf(top, mean_line(l, at + i, views));
    return line[0] > 0.2f * top && fabsf(line[1] - line[0]) < 0.25f * line[0] &&
           fabsf(line[2] - line[1]) < 0.25f * line[0];
}

/* True if pixels whose values change have exactly this transmission in the first view, too: then it is air without
 * noise. With noise hardly any of those close to it have. */
static bool is_quiet(dead_look *l, float value) {
    const float NEAR = 0.02f, EXACT = 1e-6f;
    const size_t pixels = l->rows * l->scan->info.columns;
    size_t near = 0, exact = 0;
    if (value == l->quiet_at) return l->quiet;
    for (size_t i = 0; i < pixels; i++) {
        if (l->state[i] & SAME) continue;
        const float apart = fabsf(transmission(l, l->first, i) - value);
        near += apart < NEAR, exact += apart < EXACT;
    }
    l->quiet_at = value;
    return l->quiet = 2 * exact > near;
}

/* Kind of the pixels [start, end) of a row after so many views; views 0: judged by a rough check. */
static kind kind_of(dead_look *l, size_t row, size_t start, size_t end, size_t views) {
    const double LEFT = 0.003; /* share of the beam that is left; dense objects transmit more */
    const size_t columns = l->scan->info.columns, at = row * columns;
    const bool same = l->state[at + start] & SAME, dark = l->state[at + start] & DARK;
    const bool left = start == 0, right = end == columns, frozen = same && (!dark || l->scan->dark_noise > 0);
    double sum = 0;
    size_t alive = 0;
    for (size_t i = at + start; i < at + end; i++) sum += (double)l->sum[i], alive += has_flat(l, i);
    if (alive < NARROW || (views && !same && fabs(sum) > LEFT * (double)views * (double)alive)) return NOTHING;
    if (!dark && left != right && is_at_both_ends(l, row)) return NOTHING;
    if (same && is_air_of_transmissions(l, at + start)) return NOTHING; /* the quantity is judged later */
    if (same && !is_off(l, at + start))
        return is_cut(l, row, start, end, views) && !is_quiet(l, transmission(l, l->first, at + start)) ? PART_OF_ROW
                                                                                                        : NOTHING;
    if (left && right) return PART_OF_ROW;
    if (dark && l->scan->info.quantity == QB_TRANSMISSION && l->state[at] & l->state[at + columns - 1] & DARK)
        return NOTHING; /* line integrals that are stated to be transmissions */
    if (views == 0) return left || right || (frozen && end - start >= WIDE) ? PART_OF_ROW : NOTHING;
    const bool lit = (left || is_lit(l, at + start - 1, views)) && (right || is_lit(l, at + end, views));
    if (left || right) return frozen || lit ? PART_OF_ROW : MAYBE;
    return frozen && lit && end - start >= WIDE ? PART_OF_ROW : NOTHING;
}

/* Next to a dense object a part has no lit neighbour: then it counts if it ends at the same column in the next row. */
static bool is_next_to_part(const dead_look *l, size_t row, size_t start, size_t end) {
    const size_t columns = l->scan->info.columns, edge = start == 0 ? end - 1 : start,
                 beyond = start == 0 ? end : start - 1;
    for (int down = 0; down < 2; down++) {
        const size_t next = down ? row + 1 : row - 1;
        if (next >= l->rows) continue;
        const unsigned char *found = l->found + next * columns;
        if (found[edge] && !found[beyond]) return true;
    }
    return false;
}

/* Find the parts in one row. again: find those that depend on the neighbouring rows. */
static void find_in_row(dead_look *l, size_t row, size_t views, bool again) {
    const size_t columns = l->scan->info.columns;
    size_t end;
    for (size_t start = 0; start < columns; start = qb__larger(end, start + 1)) {
        const size_t same = run_end(l, row, start, SAME), dark = run_end(l, row, start, DARK);
        end = qb__larger(same, dark);
        if (end == start) continue;
        const kind what = kind_of(l, row, start, end, views);
        if (again ? what != MAYBE || !is_next_to_part(l, row, start, end) : what != PART_OF_ROW) continue;
        for (size_t i = row * columns + start; i < row * columns + end; i++) l->found[i] = has_flat(l, i);
    }
}

/* Number of pixels in parts after so many views. */
static size_t find(dead_look *l, size_t views) {
    const size_t pixels = l->rows * l->scan->info.columns;
    size_t count = 0;
    memset(l->found, 0, pixels);
    for (size_t row = 0; row < l->rows; row++) find_in_row(l, row, views, false);
    for (size_t row = 0; views && row < l->rows; row++) find_in_row(l, row, views, true);
    for (size_t row = l->rows; views && row-- > 0;) find_in_row(l, row, views, true);
    for (size_t i = 0; i < pixels; i++) count += l->found[i];
    return count;
}

static qb_status look_at_block(dead_look *l) {
    const size_t pixels = l->rows * l->scan->info.columns;
    for (int pass = 0; pass < 2; pass++) {
        const size_t step = pass ? 1 : PART;
        memset(l->state, DARK | SAME, pixels);
        memset(l->lit, 0, pixels);
        memset(l->sum, 0, pixels * sizeof *l->sum);
        QB__OR_RETURN(read_view(l, 0, l->first));
        for (size_t v = 0; v < VIEWS; v += step) {
            QB__OR_RETURN(read_view(l, v, l->raw));
            add_view(l, pass > 0 || v == 0);
        }
        l->quiet_at = NAN;
        const size_t found = find(l, pass ? VIEWS : 0);
        if (!found) break;
        if (!pass) continue;
        l->count += found;
        for (size_t i = 0; i < pixels; i++)
            if (l->found[i]) l->marks[l->row0 * l->scan->info.columns + i] = QB_PIXEL_STUCK;
    }
    return QB_OK;
}

/* ---- all blocks ---- */

/* The buffers of a thread, in one piece of memory. */
static qb_status begin(dead_look *l) {
    const size_t pixels = qb__round_up(l->room * l->scan->info.columns, 64),
                 bytes = pixels * qb_dtype_size(l->scan->info.dtype);
    QB__OR_RETURN(qb__alloc(2 * bytes + pixels * (3 + sizeof *l->sum), 1, &l->first));
    l->raw = l->first + bytes;
    l->sum = (float *)(void *)(l->raw + bytes);
    l->state = (unsigned char *)(l->sum + pixels);
    l->lit = l->state + pixels;
    l->found = l->lit + pixels;
    return QB_OK;
}

static qb_status look(void *state, size_t row0, size_t rows) {
    dead_look *l = state;
    const qb_status status = l->first ? QB_OK : begin(l);
    l->row0 = row0;
    l->rows = rows;
    return status == QB_OK ? look_at_block(l) : status;
}

/* ---- results ---- */

static qb_status tell(const dead_look *l, const unsigned char *before) {
    qb_scan *scan = l->scan;
    const size_t rows = scan->info.rows, columns = scan->info.columns;
    qb__finding finding = {.code = QB__CODE("dead-part"),
                           .what = "pixels",
                           .count = l->count,
                           .of = rows * columns,
                           .done = "not measured"};
    char in_rows[80];
    bool *list;
    QB__OR_RETURN(qb__alloc(rows + columns, sizeof *list, &list));
    for (size_t i = 0; i < rows * columns; i++)
        if (l->marks[i] && !before[i]) list[i % columns] = list[columns + i / columns] = true;
    qb__frame_list_words(list, columns, finding.which, sizeof finding.which);
    qb__frame_list_words(list + columns, rows, in_rows, sizeof in_rows);
    qb__free(list);
    qb__scan_find(scan, &finding, QB_PROBLEM_PIXELS,
                  "columns %s of rows %s are dead or covered in all views, and not in the flats: they count as not "
                  "measured; sirt, cgls and mbir can do without them%s",
                  finding.which, in_rows, finding.code);
    return QB_OK;
}

qb_status qb__scan_look_at_dead_parts(qb_scan *scan, unsigned char **mask, const qb_env *env) {
    /* largest share of the pixels: with more, the object is opaque, or the views have another fault */
    const double MOST = 0.5;
    const qb_scan_info *info = &scan->info;
    const size_t bytes = info->columns * qb_dtype_size(info->dtype), all = info->rows * info->columns;
    const size_t room = qb__smaller(info->rows, qb__larger(1, qb__larger(info->chunk_rows, BLOCK / bytes)));
    dead_look by[QB__SHARE_MOST] = {0}; /* of each thread */
    unsigned char *before = NULL;
    qb_status status;
    if (!qb__scan_views_worth(scan) || !(scan->flat || qb__scan_can_blank(scan))) return QB_OK;
    if (info->quantity == QB_COUNTS && !scan->flat) return QB_OK;
    if (!*mask) QB__TRY(qb__alloc(all, 1, mask));
    QB__TRY(qb__alloc(all, 1, &before));
    memcpy(before, *mask, all);
    for (size_t i = 0; i < QB__SHARE_MOST; i++) by[i] = (dead_look){.scan = scan, .marks = *mask, .room = room};
    QB__TRY(qb__scan_look_by_blocks(scan, room, env, by, sizeof *by, look));
    for (size_t i = 1; i < QB__SHARE_MOST; i++) by[0].count += by[i].count;
    const size_t count = by[0].count;
    if (count && (double)count <= MOST * (double)all)
        status = tell(&by[0], before);
    else
        memcpy(*mask, before, all);
out:
    qb__free(before);
    for (size_t i = 0; i < QB__SHARE_MOST; i++) qb__free(by[i].first);
    return status;
}
