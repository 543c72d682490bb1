/* SPDX-License-Identifier: MIT */
/* --rings: a column of the detector that answers otherwise than its flats say is a stripe along the
 * views of its row's sinogram, and a ring in the slice. A pass over the scan, some rows at a time,
 * finds of every pixel what lasts through all views, by what the two published methods would change:
 *
 *   sort     columns are sorted, each by itself, so that the object becomes smooth across columns and
 *            a stripe stays where it is; what a median along the ranks does not keep is the stripe
 *            (Vo, Atwood, Drakopoulos, Opt. Express 26 (2018) 28396, its algorithm 3)
 *   wavelet  what the detail coefficients of a wavelet transform across columns hold at frequency 0
 *            along the views (Muench, Trtik, Marone, Stampanoni, Opt. Express 17 (2009) 8567, for a
 *            damping of width 0); the transform is that of Daubechies' second wavelet, the mean over
 *            all its shifts, so that no column is treated otherwise than its neighbour
 *
 * Both end with a median over the views instead of the mean: an edge that passes by moves it little.
 * So a pixel has one number, f, and its line integrals become p - f: the gain times exp(f). It costs
 * nothing afterwards and is there on every device; but stripes that come and go, stay. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/status.h"
#include "planner/rates.h"
#include "prep/air.h"
#include "prep/fields.h"
#include "prep/prepare.h"
#include "prep/step.h"

enum {
    RANKS = 256,  /* of a sorted column, each the mean of its neighbours */
    ABREAST = 16, /* columns that are gathered together */
    LEVELS = 5,   /* of the wavelet transform, at most */
    REACH = 3 << (LEVELS - 1),
    ROWS_LEAST = 4 /* per block, where memory allows */
};

typedef struct rings {
    qb_rings method;
    size_t views, columns, rows, ranks;
    size_t half; /* the median's window is 2 half + 1 columns */
    int levels;
    float *sinograms; /* [row][view][column], used up */
    float *stripes;   /* [row][column] */
    float **scratch;  /* [thread] */
} rings;

static size_t scratch_floats(size_t views, size_t columns) { return (ABREAST + 1) * views + 3 * (columns + 2 * REACH); }

/* ---- sorting ---- */

/* Columns c0.. of the first `ranks` rows become the sorted columns, `ranks` means of them. */
static void sort_columns(const rings *r, float *sinogram, size_t c0, size_t count, float *scratch) {
    float *spare = scratch + ABREAST * r->views;
    for (size_t v = 0; v < r->views; v++)
        for (size_t i = 0; i < count; i++) scratch[i * r->views + v] = sinogram[v * r->columns + c0 + i];
    for (size_t i = 0; i < count; i++) {
        float *column = scratch + i * r->views;
        qb__sort_floats_with(column, r->views, spare);
        for (size_t q = 0; q < r->ranks; q++) {
            size_t first = q * r->views / r->ranks, end = (q + 1) * r->views / r->ranks;
            double sum = 0;
            for (size_t k = first; k < end; k++) sum += (double)column[k];
            sinogram[q * r->columns + c0 + i] = (float)(sum / (double)(end - first));
        }
    }
}

static void put_in(float *window, size_t count, float value) {
    size_t i = count;
    for (; i > 0 && window[i - 1] > value; i--) window[i] = window[i - 1];
    window[i] = value;
}

static void take_out(float *window, size_t count, float value) {
    size_t i = 0;
    while (i + 1 < count && window[i] != value) i++;
    memmove(window + i, window + i + 1, (count - i - 1) * sizeof *window);
}

/* row less its median over half columns to either side, as far as there are some. */
static void less_median(const rings *r, float *row, float *scratch) {
    float *window = scratch, *old = scratch + 2 * r->half + 2;
    size_t n = r->columns, held = 0;
    memcpy(old, row, n * sizeof *row);
    for (size_t c = 0; c < n + r->half; c++) {
        if (c < n) put_in(window, held++, old[c]);
        if (c > 2 * r->half) take_out(window, held--, old[c - 2 * r->half - 1]);
        if (c < r->half) continue;
        float middle = window[held / 2];
        if (held % 2 == 0) middle = 0.5f * (middle + window[held / 2 - 1]);
        row[c - r->half] = old[c - r->half] - middle;
    }
}

/* ---- wavelets ---- */

/* One level's approximation: halves of the frequencies, by the autocorrelation of Daubechies' second
 * scaling function. in[-3 step .. n + 3 step - 1] is mirrored at the ends. */
static void approximate(float *in, size_t n, size_t step, float *out) {
    const size_t reach = 3 * step;
    for (size_t k = 0; k < reach; k++) {
        size_t mirror = k < n ? k : n - 1;
        *(in - k - 1) = in[mirror];
        in[n + k] = in[n - 1 - mirror];
    }
    const float *far_left = in - reach, *left = in - step;
    for (size_t c = 0; c < n; c++)
        out[c] = 0.5f * in[c] + 0.28125f * (left[c] + in[c + step]) - 0.03125f * (far_left[c] + in[c + reach]);
}

/* row less its approximation: the details of all levels. */
static void details(const rings *r, float *row, float *scratch) {
    float *in = scratch + REACH, *out = in + r->columns + 2 * REACH;
    memcpy(in, row, r->columns * sizeof *row);
    for (int level = 0; level < r->levels; level++) {
        approximate(in, r->columns, (size_t)1 << level, out);
        float *swapped = in;
        in = out, out = swapped;
    }
    for (size_t c = 0; c < r->columns; c++) row[c] -= in[c];
}

/* ---- a sinogram ---- */

/* The medians of columns c0.. over the first `count` rows. */
static void medians(const rings *r, const float *rows, size_t count, size_t c0, size_t abreast, float *scratch,
                    float *stripes) {
    for (size_t v = 0; v < count; v++)
        for (size_t i = 0; i < abreast; i++) scratch[i * count + v] = rows[v * r->columns + c0 + i];
    for (size_t i = 0; i < abreast; i++) stripes[c0 + i] = qb__air_median(scratch + i * count, count);
}

static void find_stripes(void *context, size_t row, int worker) {
    const rings *r = context;
    const bool sorting = r->method == QB_RINGS_SORT;
    const size_t n = r->columns, count = sorting ? r->ranks : r->views;
    float *sinogram = r->sinograms + row * r->views * n, *scratch = r->scratch[worker];
    for (size_t c = 0; sorting && c < n; c += ABREAST)
        sort_columns(r, sinogram, c, n - c < ABREAST ? n - c : ABREAST, scratch);
    for (size_t v = 0; v < count; v++) (sorting ? less_median : details)(r, sinogram + v * n, scratch);
    for (size_t c = 0; c < n; c += ABREAST)
        medians(r, sinogram, count, c, n - c < ABREAST ? n - c : ABREAST, scratch, r->stripes + row * n);
}

/* ---- the pass ---- */

static bool wanted(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info;
    return options->rings != QB_RINGS_KEEP;
}

static unsigned count(const qb_scan_info *info, const qb_prep_options *options) {
    return wanted(info, options) && !(info->quantity == QB_COUNTS && info->flats);
}

/* How strong the stripes are. */
typedef struct strength {
    double squares, largest, pixels;
} strength;

/* All of the scan is read for it, too, between blocks. */
static double seconds(const qb_scan_info *info, const qb_prep_options *options, size_t rows, int threads) {
    const bool sorting = options->rings == QB_RINGS_SORT;
    const double values = (double)info->views * (double)rows * (double)info->columns;
    return values / qb__rate(sorting ? QB__RATE_SORT : QB__RATE_WAVELET, sorting ? 25e6 : 40e6) / threads;
}

/* The pixel's field less its stripe: of line integrals what is taken off, else the gain. */
static void apply(const rings *r, size_t row, bool lines, float *field, strength *s) {
    for (size_t i = 0; i < r->columns; i++) {
        double f = (double)r->stripes[row * r->columns + i];
        field[i] = (float)(lines ? field[i] + f : field[i] * exp(f));
        s->squares += f * f;
        s->largest = fmax(s->largest, fabs(f));
    }
    s->pixels += (double)r->columns;
}

/* Of all ranks, each of which has its rows. */
static qb_status add_up(qb__comm *comm, strength *s) {
    const strength mine = *s;
    strength *all = NULL;
    const qb_status room = qb__alloc((size_t)qb__comm_count(comm), sizeof *all, &all);
    const qb_status status = qb__comm_gather(comm, room, &mine, sizeof mine, all);
    *s = (strength){0};
    for (int i = 0; status == QB_OK && i < qb__comm_count(comm); i++) {
        s->squares += all[i].squares;
        s->pixels += all[i].pixels;
        s->largest = fmax(s->largest, all[i].largest);
    }
    qb__free(all);
    return status;
}

/* The block of rows that begins there, those that nobody will ask for left out. */
static qb_status read_block(const qb__pass *pass, const rings *r, size_t row, qb__pool *pool) {
    const size_t step = pass->fields->step, run = step > 1 ? 1 : r->rows;
    qb_status status = QB_OK;
    for (size_t i = 0; status == QB_OK && i < r->rows; i += run)
        status = qb__prepare_rows(pass->prepare, pass->scan, row + i * step, row + i * step + run, pool,
                                  r->sinograms + i * r->views * r->columns, NULL);
    return status;
}

/* Rows in half of what the process may take, but no more than a few for each thread. */
static size_t rows_at_a_time(const qb__pass *pass, const rings *r, int threads) {
    const qb_env *env = pass->env;
    double row = (double)r->views * (double)r->columns * 2 * sizeof(float);
    double space = (double)qb__memory_cap(env) - (double)qb__resident_bytes();
    double rows = fmin(fmax(1, 0.5 * space / row), (double)ROWS_LEAST * threads);
    return qb__smaller((size_t)rows, pass->fields->rows);
}

static qb_status make_field(const qb__fields *fields, float value, float **field) {
    if (*field) return QB_OK;
    const size_t pixels = fields->rows * fields->columns;
    qb_status status = qb__alloc(pixels, sizeof(float), field);
    for (size_t i = 0; status == QB_OK && i < pixels; i++) (*field)[i] = value;
    return status;
}

static qb_status open_rings(const qb__pass *pass, rings *r, int threads) {
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    *r = (rings){.method = pass->options->rings, .views = info->views, .columns = info->columns};
    r->ranks = qb__smaller(r->views, RANKS);
    r->half = qb__larger(2, r->columns / 200); /* a hundredth of the columns, as TomoPy has it */
    r->levels = 2;                             /* up to 511 columns, and one more whenever there are twice as many */
    while (r->levels < LEVELS && r->columns >> (r->levels + 7)) r->levels++;
    size_t rows = rows_at_a_time(pass, r, threads);
    qb_status status;
    QB__TRY(qb__alloc(rows * r->views, r->columns * sizeof(float), &r->sinograms));
    QB__TRY(qb__alloc(rows * r->columns, sizeof(float), &r->stripes));
    QB__TRY(qb__alloc((size_t)threads, sizeof *r->scratch, &r->scratch));
    for (int i = 0; i < threads; i++)
        QB__TRY(qb__alloc(scratch_floats(r->views, r->columns), sizeof(float), &r->scratch[i]));
    r->rows = rows;
out:
    return status;
}

static void close_rings(rings *r, int threads) {
    for (int i = 0; r->scratch && i < threads; i++) qb__free(r->scratch[i]);
    qb__free(r->scratch);
    qb__free(r->stripes);
    qb__free(r->sinograms);
}

static qb_status measure(const qb__pass *pass) {
    static const char *const names[] = {[QB_RINGS_SORT] = "sort", [QB_RINGS_WAVELET] = "wavelet"};
    const qb_scan_info *info = qb_scan_describe(pass->scan);
    qb__fields *fields = pass->fields;
    const bool lines = info->quantity == QB_LINE_INTEGRAL;
    float **field = lines ? &fields->dark : &fields->gain;
    strength found = {0}, others = {0};
    rings r = {0};
    qb__pool *pool;
    qb_status status = qb__pool_create(pass->env ? pass->env->threads : 0, &pool);
    if (status != QB_OK) return status;
    const int threads = qb__pool_threads(pool);
    QB__TRY(make_field(fields, lines ? 0 : 1, field));
    QB__TRY(open_rings(pass, &r, threads));
    const size_t block = r.rows, step = fields->step;
    const size_t first = fields->all ? fields->own0 : fields->row0,
                 end = fields->all ? fields->own1 : fields->row0 + fields->rows;
    for (size_t row = first; row < end; row += block * step) {
        QB__TRY(qb__check_cancel(pass->env));
        qb__progress(pass->env, "finding rings", row - first, end - first);
        r.rows = qb__smaller(block, qb__ceil_div(end - row, step));
        QB__TRY(read_block(pass, &r, row, pool));
        qb__pool_for(pool, r.rows, find_stripes, &r);
        for (size_t i = 0; i < r.rows; i++) {
            const size_t at = row + i * step;
            const bool own = at >= fields->own0 && at < fields->own1; /* another rank speaks for the others */
            apply(&r, i, lines, *field + (at - fields->row0) * r.columns, own ? &found : &others);
        }
    }
    qb__progress(pass->env, "finding rings", end - first, end - first);
    QB__TRY(qb__fields_share(fields, qb__comm_of(pass->env), *field));
    QB__TRY(add_up(qb__comm_of(pass->env), &found));
    snprintf(pass->note, pass->note_size, "%s: stripes of %.2g rms, at most %.2g", names[pass->options->rings],
             sqrt(found.squares / found.pixels), found.largest);
    qb__info(pass->env, "rings, %s", pass->note);
out:
    close_rings(&r, threads);
    qb__pool_destroy(pool);
    return status;
}

const qb__step qb__step_rings = {.name = "rings",
                                 .scope = QB__SCOPE_SCAN,
                                 .wanted = wanted,
                                 .fields = count,
                                 .reads_all = true,
                                 .seconds = seconds,
                                 .measure = measure};
