/* SPDX-License-Identifier: MIT */
/* Reads through the filter of phase_response.h. The requested rows are extended to whole blocks with margins and read for
 * a few views at a time. Numbers are converted to transmissions. Pixels without a value are first filled from their
 * neighbours, so that they do not spoil others; after the filter they have no value again. */
#include "prep/phase.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "base/warning.h"
#include "cpu/features.h"
#include "prep/neighbours.h"
#include "prep/phase_response.h"
#include "prep/prepare.h"
#include "prep/scatter.h"
#include "prep/warp.h"
#include "quickbeam/io.h"

enum { READ_BYTES = 32 << 20, CACHE_BYTES = 2 << 20 /* of a thread */, SCRATCH_BYTES = 512 << 20 };

struct qb__phase {
    qb__row_reader row_reader; /* must be the first member */
    qb_scan scan;              /* the job's scan */
    qb__warp *warp;            /* source of the filter's input; NULL: the stored numbers */
    qb__phase_filter *filter;  /* NULL: no filter; the job's scan is then that of `warp` */
    qb__phase_device *device;  /* NULL: the CPU filters */
    bool near;                 /* the device also corrects zingers */
    bool corrects;             /* rings: the images are corrected before they are resampled */
    qb__scan_rows rows;
    _Atomic(struct room *) kept;  /* scratch for the next read on the CPU; NULL: none, or it is in use */
    char text[400], scatter[160]; /* description of each filter; "": not used */
};

/* ---- create and destroy ---- */

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out);
static void free_room(struct room *r);

static void compare(const char *option, double given, double stated, const char *unit, const qb_env *env) {
    if (given > 0 && stated > 0 && fabs(given / stated - 1) > 0.01)
        qb__warn(env, "--%s %g %s is taken, but the scan states %g %s" QB__CODE("phase-beam"), option, given, unit,
                 stated, unit);
}

/* Collects the parameters of both filters in `how` and describes them in words. */
static qb_status describe(const qb_scan_info *info, const qb_geometry *geometry, const qb_prep_options *prep,
                          bool phase, qb__paganin *how, qb__phase *p) {
    qb__scatter s;
    *how = (qb__paganin){.magnification = 1};
    qb_status status = phase ? qb__paganin_of(info, geometry, prep, how) : QB_OK;
    if (status == QB_OK && phase) qb__paganin_text(how, p->text, sizeof p->text);
    if (status != QB_OK || !qb__scatter_is_smooth(prep)) return status;
    status = qb__scatter_smooth(info, prep, &s);
    how->scatter = s.share, how->spread[0] = s.spread[0], how->spread[1] = s.spread[1];
    qb__print(
        p->scatter, sizeof p->scatter,
        "the share %.4g of what the object removes, spread by a Gaussian of %.4g columns, %.4g rows, is taken off",
        s.share, s.spread[0], s.spread[1]);
    return status;
}

static double cpu_seconds(const qb__phase *p, double numbers, int threads);

/* where: receives "on the CPU", or the device. */
static qb_status open_device(qb__phase *p, const qb__paganin *how, const qb_prep_options *prep, const qb_env *env,
                             char *where, size_t size) {
    const qb_scan_info *info = &p->scan.info;
    const double numbers = (double)info->views * (double)info->rows * (double)info->columns;
    const int threads = env && env->threads > 0 ? env->threads : qb__cpu_count();
    p->near = !p->warp && qb__neighbours_on_device(info, prep, false) == 1;
    char why[160];
    const qb_status status = qb__phase_device_create(&p->scan, &p->rows, how, cpu_seconds(p, numbers, threads), p->near,
                                                     env, why, sizeof why, &p->device);
    if (p->device)
        qb__print(where, size, "on %s", qb__phase_device_spec(p->device));
    else
        qb__print(where, size, "on the CPU%s", why);
    return status;
}

qb_status qb__phase_create(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep, const qb_env *env,
                           qb__phase **phase) {
    qb__paganin how;
    qb__phase *p = NULL;
    char where[200];
    bool wanted, retrieved;
    *phase = NULL;
    qb_status status = qb__steps_check(&scan->info, prep);
    if (status == QB_OK) status = qb__paganin_wanted(prep, &retrieved);
    wanted = status == QB_OK && (retrieved || qb__scatter_is_smooth(prep));
    if (status != QB_OK || (!wanted && !qb__warp_wanted(scan))) return status;
    const qb_scan_info *info = &scan->info;
    QB__TRY(qb__alloc(1, sizeof *p, &p));
    if (wanted) status = describe(info, geometry, prep, retrieved, &how, p);
    if (status != QB_OK && *scan->parts.beam_unset) status = qb__fail_in(status, "%s", scan->parts.beam_unset);
    if (status != QB_OK) goto out;
    QB__TRY(qb__warp_create(scan, env, &p->warp));
    p->corrects = p->warp && info->quantity == QB_COUNTS && info->flats && qb__prepare_reads_all(info, prep);
    if (!wanted) goto out;
    p->row_reader.read = read_rows;
    qb__scan_read_through(scan, &p->row_reader, p->warp, &p->scan);
    QB__TRY(qb__scan_rows_create(&p->scan, p->warp ? QB_F32 : qb__scan_dtype(scan), &p->rows));
    QB__TRY(qb__phase_filter_create(&how, info->rows, info->columns, &p->filter));
    QB__TRY(open_device(p, &how, prep, env, where, sizeof where));
    p->scan.info.chunk_rows = p->device ? qb__phase_device_rows(p->device) /* rows that are filtered together */
                                        : qb__smaller(info->rows, qb__phase_filter_blocks(p->filter)->rows);
    if (p->warp) {
        const qb__phase_blocks *b = qb__phase_filter_blocks(p->filter); /* the CPU's blocks may stand in */
        qb__warp_margin(p->warp, qb__larger(p->scan.info.chunk_rows, b->rows) + b->margin);
    }
    if (*p->scatter) qb__info(env, "scatter, %s: %s", where, p->scatter);
    if (!retrieved) goto out;
    qb__info(env, "phase retrieval, %s: %s", where, p->text);
    compare("energy", prep->energy, info->energy, "keV", env);
    compare("distance", prep->distance, how.magnification > 1 ? 0 : info->distance, "mm", env);
out:
    if (status != QB_OK) {
        qb__phase_destroy(p);
        return status;
    }
    *phase = p;
    return QB_OK;
}

void qb__phase_destroy(qb__phase *p) {
    if (!p) return;
    free_room(atomic_load(&p->kept));
    qb__phase_device_destroy(p->device);
    qb__phase_filter_destroy(p->filter);
    qb__scan_rows_clear(&p->rows);
    qb__warp_destroy(p->warp);
    qb__free(p);
}

qb_scan *qb__phase_scan(qb__phase *p, qb_scan *scan) {
    if (!p) return scan;
    return p->filter ? &p->scan : qb__warp_scan(p->warp);
}

const char *qb__phase_text(const qb__phase *p) { return p && *p->text ? p->text : NULL; }

const char *qb__phase_scatter(const qb__phase *p) { return p && *p->scatter ? p->scatter : NULL; }

/* ---- sizes ---- */

static size_t raw_row(const qb__phase *p) { return p->scan.info.columns * qb_dtype_size(p->rows.dtype); }

/* Offsets in the scratch of a thread, in floats, each part a whole number of cache lines: a block of spectra, scratch
 * of the filter, a line, two rows of the detector, and flags of the rows with lost pixels. */
typedef struct places {
    size_t spectra, filter, line, row, other, lost, end;
} places;

static places places_of(const qb__phase *p) {
    const qb__phase_blocks *b = qb__phase_filter_blocks(p->filter);
    places s = {.filter = b->height * b->apart};
    s.line = s.filter + qb__round_up(qb__phase_filter_scratch(p->filter), 16);
    s.row = s.line + qb__round_up(b->stride, 16) + 16;
    s.other = s.row + qb__round_up(p->scan.info.columns, 16);
    s.lost = s.other + qb__round_up(p->scan.info.columns, 16);
    s.end = s.lost + qb__round_up(qb__ceil_div(b->height, sizeof(float)), 16);
    return s;
}

static size_t scratch_floats(const qb__phase *p) { return places_of(p).end; }

static size_t threads_of(const qb__phase *p) {
    const size_t most = SCRATCH_BYTES / (scratch_floats(p) * sizeof(float));
    return qb__smaller(qb__smaller(p->scan.parts.data.source->threads, QB__SHARE_MOST), qb__larger(1, most));
}

/* A core of 2023 needs 5 to 14 ns per number. */
static double cpu_seconds(const qb__phase *p, double numbers, int threads) {
    return 8e-9 * numbers / fmin(threads, (double)threads_of(p));
}

/* With a device, the transfers take as long as reading and copying: about 1 ns per number. */
double qb__phase_seconds(const qb__phase *p, double numbers, int threads) {
    if (!p) return 0;
    const double warp = p->warp ? qb__warp_seconds(p->warp, numbers, threads) : 0;
    if (!p->filter) return warp;
    return warp + (p->device ? 1e-9 * numbers : cpu_seconds(p, numbers, threads));
}

const char *qb__phase_by(const qb__phase *p) { return p && p->device ? qb__phase_device_name(p->device) : NULL; }

size_t qb__phase_device_held(const qb__phase *p) { return p && p->device ? qb__phase_device_bytes(p->device) : 0; }

/* Bytes read at a time: what stays in the threads' caches. Sinograms are read in long pieces. */
static size_t bytes_at_once(const qb__phase *p) {
    return p->scan.sinogram ? READ_BYTES : qb__smaller(READ_BYTES, threads_of(p) * CACHE_BYTES);
}

/* Number of views read at a time: whole pieces of storage if they are not too large. */
static size_t views_at_once(const qb__phase *p, size_t view_bytes, size_t views) {
    const size_t stored = qb__scan_views_together(&p->scan), most = qb__larger(1, READ_BYTES / view_bytes);
    const size_t fit = qb__smaller(most, qb__larger(qb__larger(1, bytes_at_once(p) / view_bytes), stored));
    return qb__smaller(views, fit > stored ? fit / stored * stored : fit);
}

size_t qb__phase_bytes(const qb__phase *p) {
    if (!p) return 0;
    const qb_scan_info *info = p->filter ? &p->scan.info : &qb__warp_scan(p->warp)->info;
    const size_t field = p->corrects ? info->rows * info->columns * sizeof(float) : 0;
    const size_t warp = field + (p->warp ? qb__warp_bytes(p->warp) : 0);
    if (!p->filter) return warp;
    if (p->device)
        return warp + qb__scan_rows_bytes(&p->rows) + qb__phase_filter_bytes(p->filter) +
               qb__phase_device_host_bytes(p->device);
    const size_t view = info->rows * raw_row(p), together = views_at_once(p, view, info->views) * view;
    const size_t read = qb__smaller(info->views * view, qb__larger(bytes_at_once(p), together));
    return warp + qb__scan_rows_bytes(&p->rows) + qb__phase_filter_bytes(p->filter) +
           threads_of(p) * scratch_floats(p) * sizeof(float) + read;
}

/* ---- a block of a view ---- */

/* Numbers that were read, [view][row0 <= row < row1], and the destination of rows first <= row < end. */
typedef struct piece {
    qb__phase *p;
    const char *raw;
    size_t view0, row0, row1, first, end, block0, blocks; /* blocks: number of blocks from block0 on */
    float *out;                                           /* [view][first <= row < end] */
    float **scratch;
} piece;

static const char *raw_of(const piece *w, size_t view, size_t row) {
    return w->raw + (view * (w->row1 - w->row0) + row - w->row0) * raw_row(w->p);
}

static void extend_row(float *line, const qb__phase_blocks *b, size_t columns) {
    float *end = line + b->left + columns;
    const float first = line[b->left], last = end[-1];
    for (size_t c = 0; c < b->left; c++) line[c] = first;
    for (size_t c = 0; c < b->stride - columns - b->left; c++) end[c] = last;
}

/* Transforms the rows of the detector that a block needs; given->low to given->high - 1 of the block. Beyond them the
 * filter repeats the first and the last. A row without valid pixels is replaced by the last valid one before it, or else
 * by the first valid one. lost[row]: the row has pixels without a value. */
static void load(const piece *w, size_t view, size_t block, float *own, const places *at, qb__fft_rows *given) {
    const qb__phase *p = w->p;
    const qb__phase_blocks *b = qb__phase_filter_blocks(p->filter);
    const size_t columns = p->scan.info.columns, rows = p->scan.info.rows, from = block * b->rows;
    float *spectra = own + at->spectra, *line = own + at->line;
    bool *lost = (bool *)(own + at->lost);
    size_t good = SIZE_MAX, first = SIZE_MAX; /* last and first valid row of the block */
    given->low = b->margin - qb__smaller(b->margin, from);
    given->high = qb__smaller(b->height, rows + b->margin - from);
    for (size_t r = given->low; r < given->high; r++) {
        const size_t of = from + r - b->margin;
        const qb__phase_row row = qb__scan_row(&p->rows, w->view0 + view, of, own + at->row);
        lost[r] = qb__phase_transmissions(&row, raw_of(w, view, of), line + b->left) > 0;
        if (!lost[r] || qb__phase_fill(line + b->left, columns)) {
            good = r;
            first = qb__smaller(first, good);
            extend_row(line, b, columns);
            qb__phase_filter_row(p->filter, line, spectra + good * b->apart);
        } else if (good < r)
            memcpy(spectra + r * b->apart, spectra + good * b->apart, b->apart * sizeof *spectra);
    }
    for (size_t r = given->low; r < qb__smaller(first, given->high); r++)
        if (first < given->high)
            memcpy(spectra + r * b->apart, spectra + first * b->apart, b->apart * sizeof *spectra);
        else
            memset(spectra + r * b->apart, 0, b->apart * sizeof *spectra);
}

static qb_status filter_block(void *context, size_t task, size_t worker) {
    const piece *w = context;
    const qb__phase *p = w->p;
    const qb__phase_blocks *b = qb__phase_filter_blocks(p->filter);
    const size_t view = task / w->blocks, block = w->block0 + task % w->blocks, columns = p->scan.info.columns;
    const size_t first = qb__larger(w->first, block * b->rows), end = qb__smaller(w->end, (block + 1) * b->rows);
    const places at = places_of(p);
    float *own = w->scratch[worker], *line = own + at.line;
    const bool *lost = (const bool *)(own + at.lost);
    qb__fft_rows which = {.first = first + b->margin - block * b->rows, .end = end + b->margin - block * b->rows};
    load(w, view, block, own, &at, &which);
    qb__phase_filter_run(p->filter, own + at.spectra, &which, own + at.filter);
    for (size_t r = first; r < end; r++) {
        const size_t of = r + b->margin - block * b->rows;
        const qb__phase_row row = qb__scan_row(&p->rows, w->view0 + view, r, own + at.row);
        qb__phase_filter_back(p->filter, own + at.spectra + of * b->apart, line);
        qb__phase_numbers(&row, lost[of] ? raw_of(w, view, r) : NULL, line + b->left, own + at.other,
                          w->out + (view * (w->end - w->first) + r - w->first) * columns);
    }
    return QB_OK;
}

/* ---- reading ---- */

/* Buffers for reading. They are kept between reads, because allocating fresh memory takes as long as filtering. */
typedef struct room {
    char *raw;
    size_t raw_bytes;
    float *scratch[QB__SHARE_MOST];
} room;

static void free_room(room *r) {
    for (size_t i = 0; r && i < QB__SHARE_MOST; i++) qb__free(r->scratch[i]);
    if (r) qb__free(r->raw);
    qb__free(r);
}

static qb_status take_room(qb__phase *p, size_t raw_bytes, size_t threads, room **out) {
    room *r = *out = atomic_exchange(&p->kept, NULL);
    if (!r) QB__OR_RETURN(qb__alloc(1, sizeof *r, out));
    r = *out;
    if (r->raw_bytes < raw_bytes) {
        qb__free(r->raw);
        r->raw_bytes = 0;
        QB__OR_RETURN(qb__alloc(raw_bytes, 1, &r->raw));
        r->raw_bytes = raw_bytes;
    }
    for (size_t i = 0; i < threads; i++)
        if (!r->scratch[i]) QB__OR_RETURN(qb__alloc(scratch_floats(p), sizeof(float), &r->scratch[i]));
    return QB_OK;
}

static void give_room(qb__phase *p, room *r) {
    if (r) free_room(atomic_exchange(&p->kept, r));
}

/* Reads stored numbers. With zingers to correct, the scan's reader of corrected rows is used, which also updates the digests. */
static qb_status read_views(const piece *w, size_t view0, size_t view1, char *raw) {
    qb_scan *scan = &w->p->scan;
    if (w->p->warp) return qb__warp_read(w->p->warp, scan->corrected, view0, view1, w->row0, w->row1, raw);
    if (scan->corrected) return scan->corrected->read(scan->corrected, view0, view1, w->row0, w->row1, raw);
    return qb__scan_read_hashed(scan, view0, view1, w->row0, w->row1, w->first, w->end, raw);
}

static qb_status read_for_device(void *self, size_t view0, size_t view1, size_t row0, size_t row1,
                                 const qb__phase_request *of, void *raw) {
    const piece w = {.p = self, .row0 = row0, .row1 = row1, .first = of->first, .end = of->end};
    return of->near ? qb__scan_read_hashed(&w.p->scan, view0, view1, row0, row1, of->first, of->end, raw)
                    : read_views(&w, view0, view1, raw);
}

static qb_status read_by_cpu(qb__phase *p, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    const qb__phase_blocks *b = qb__phase_filter_blocks(p->filter);
    const size_t columns = p->scan.info.columns, last = qb__ceil_div(row1, b->rows);
    piece w = {.p = p, .first = row0, .end = row1, .block0 = row0 / b->rows};
    w.blocks = last - w.block0;
    w.row0 = w.block0 * b->rows > b->margin ? w.block0 * b->rows - b->margin : 0;
    w.row1 = qb__smaller(p->scan.info.rows, last * b->rows + b->margin);
    const size_t view_bytes = (w.row1 - w.row0) * raw_row(p), each = views_at_once(p, view_bytes, view1 - view0);
    const size_t threads = qb__smaller(threads_of(p), each * w.blocks);
    room *r;
    qb_status status;
    QB__TRY(take_room(p, each * view_bytes, threads, &r));
    w.raw = r->raw, w.scratch = r->scratch;
    for (size_t view = view0; view < view1; view += each) {
        const size_t views = qb__smaller(each, view1 - view);
        w.view0 = view;
        w.out = (float *)out + (view - view0) * (row1 - row0) * columns;
        QB__TRY(read_views(&w, view, view + views, r->raw));
        QB__TRY(qb__share(threads, views * w.blocks, filter_block, &w));
    }
out:
    give_room(p, r);
    return status;
}

static qb__phase_request request_of(qb__phase *p, size_t view0, size_t view1, size_t row0, size_t row1, float *out) {
    /* Without a flat field the reader of corrected rows may have masked pixels. */
    qb__neighbours *near = p->near && !p->scan.blank ? (qb__neighbours *)p->scan.corrected : NULL;
    return (qb__phase_request){view0, view1, row0, row1, out, threads_of(p), near, read_for_device, p};
}

static qb_status read_rows(qb__row_reader *reader, size_t view0, size_t view1, size_t row0, size_t row1, void *out) {
    qb__phase *p = (qb__phase *)reader;
    const qb__phase_request request = request_of(p, view0, view1, row0, row1, out);
    bool done = false;
    const qb_status status = p->device ? qb__phase_device_read(p->device, &request, &done) : QB_OK;
    return status != QB_OK || done ? status : read_by_cpu(p, view0, view1, row0, row1, out);
}

/* ---- rows that stay on the device ---- */

void qb__phase_keep(qb__phase *p, size_t row0, size_t row1, const qb_env *env) {
    if (!p || !p->device || p->warp) return;
    qb__phase_device_keep(p->device, row0, row1, env);
    const bool keeps = qb__phase_device_keeps(p->device, NULL);
    p->scan.info.chunk_rows = keeps ? 1 : qb__phase_device_rows(p->device);
}

void qb__phase_arm(qb__phase *p, bool on) {
    if (p && p->device) qb__phase_device_arm(p->device, on);
}

size_t qb__phase_stay(const qb__phase *p) { return p && p->device ? qb__phase_device_stay(p->device) : 0; }

static qb__phase *phase_of(const qb_scan *scan) {
    return scan->filtered && scan->filtered->read == read_rows ? (qb__phase *)scan->filtered : NULL;
}

bool qb__phase_by_cpu(const qb_scan *scan) {
    const qb__phase *p = phase_of(scan);
    return p && !p->device && !p->warp;
}

bool qb__phase_keeps(const qb_scan *scan, const qb__device *there) {
    const qb__phase *p = phase_of(scan);
    return p && p->device && there && qb__phase_device_keeps(p->device, there);
}

bool qb__phase_fills(qb_scan *scan) {
    qb__phase *p = phase_of(scan);
    return p && p->device && qb__phase_device_fills(p->device);
}

void qb__phase_halt(qb_scan *scan) {
    qb__phase *p = phase_of(scan);
    if (p && p->device) qb__phase_device_halt(p->device);
}

qb_status qb__phase_kept_of(qb_scan *scan, size_t row, qb__phase_kept *kept) {
    qb__phase *p = phase_of(scan);
    *kept = (qb__phase_kept){.memory = NULL};
    if (!p || !p->device) return QB_OK;
    const qb__phase_request request = request_of(p, 0, 0, 0, 0, NULL);
    return qb__phase_device_kept(p->device, &request, row, kept);
}
