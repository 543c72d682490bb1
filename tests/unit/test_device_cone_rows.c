/* SPDX-License-Identifier: MIT */
/* Rows of a cone beam are resampled and weighted on every device of the machine and compared with double precision.
 * Places come from geometry/virtual_detector.c, the kernel is an 8 x 8 Kaiser-windowed sinc, gaps and rims follow ops/,
 * weights follow their formulas. Detectors are random: bent, turned and shaken. Blocks of rows are random too. The
 * output is filled with a pattern, and nothing beside it may change. */
#include "check.h"

#include "base/memory.h"
#include "cpu/rows/resample_row.h"
#include "geometry/circle.h"
#include "geometry/vector.h"
#include "kernels/filter/cone_rows.h"
#include "on_devices.h"
#include "ops/filter.h"
#include "ops/resample.h"

enum { POISON = 0xa5, TAPS = 8, GUARD = 64 };

typedef struct trial {
    size_t views, columns, rows;
    double span, radius, tilt[3], offset[2], jitter[4];
    bool resampled, whole; /* whole: all rows of all views */
    qb_pad pad;
} trial;

static double uniform(double low, double high) { return low + (high - low) * qb__random_unit(&chance); }
static size_t below(size_t n) { return (size_t)(qb__random_unit(&chance) * (double)n); }

/* ---- the oracle ---- */

static double bessel(double x) {
    double sum = 1, term = 1;
    for (int k = 1; k < 60; k++) sum += term *= x * x / (4.0 * k * k);
    return sum;
}

static void taps_at(double part, double w[TAPS]) {
    double sum = 0;
    for (int k = 0; k < TAPS; k++) {
        const double x = part + 3 - k, inside = 1 - x * x / 16;
        w[k] =
            inside > 0 ? bessel(6 * sqrt(inside)) / bessel(6) * (fabs(x) < 1e-12 ? 1 : sin(M_PI * x) / (M_PI * x)) : 0;
        sum += w[k];
    }
    for (int k = 0; k < TAPS; k++) w[k] /= sum;
}

static size_t clamp(double i, size_t n) { return i < 0 ? 0 : i > (double)(n - 1) ? n - 1 : (size_t)i; }

static double read_at(const trial *t, const float *image, double column, double row) {
    double wx[TAPS], wy[TAPS], sum = 0;
    if (!(column >= -0.5 && column <= (double)t->columns - 0.5 && row >= -0.5 && row <= (double)t->rows - 0.5))
        return NAN;
    taps_at(column - floor(column), wx);
    taps_at(row - floor(row), wy);
    for (int k = 0; k < TAPS; k++)
        for (int j = 0; j < TAPS; j++)
            sum +=
                wy[k] * wx[j] *
                (double)
                    image[clamp(floor(row) - 3 + k, t->rows) * t->columns + clamp(floor(column) - 3 + j, t->columns)];
    return sum;
}

/* The share of a ray that is measured twice, so that both together count once. The formulas are those of Parker's and
 * Wang's papers, with the angle of the source from the begin of the scan. */
static double share_of(const qb__cone_weights *w, size_t view, double gamma) {
    const double delta = 0.5 * (w->span - M_PI), beta = w->beta[view], overlap = fmin(-w->gamma_low, w->gamma_high);
    if (w->kind == QB_REDUNDANCY_GAPS) return qb__cone_redundancy(w, view, gamma);
    if (w->kind == QB_REDUNDANCY_WANG) {
        const double x = fmax(-1, fmin(1, (w->gamma_high > -w->gamma_low ? gamma : -gamma) / overlap));
        return 0.5 * (1 + sin(M_PI / 2 * x));
    }
    if (w->kind == QB_REDUNDANCY_NONE || delta <= 0) return w->kind == QB_REDUNDANCY_NONE ? 0.5 : 1;
    if (beta < 0 || beta > w->span) return 0;
    if (beta < 2 * (delta - gamma)) return pow(sin(M_PI / 4 * beta / (delta - gamma)), 2);
    if (beta > M_PI - 2 * gamma) return pow(sin(M_PI / 4 * (w->span - beta) / (delta + gamma)), 2);
    return 1;
}

static double weight_of(const qb_geometry *g, const qb__cone_weights *w, size_t view, double column, double row) {
    const qb_view *v = &g->view[view];
    const double angle = qb__view_angle(QB_BEAM_CONE, v);
    double ray[3], first[3], normal[3], to_plane[3];
    for (int j = 0; j < 3; j++) {
        to_plane[j] = v->detector[j] - v->source[j];
        first[j] = to_plane[j] + row * v->v[j];
        ray[j] = first[j] + column * v->u[j];
    }
    const double toward = -sin(angle) * ray[0] + cos(angle) * ray[1],
                 lateral = cos(angle) * ray[0] + sin(angle) * ray[1];
    qb__cross(v->u, v->v, normal);
    const double plane = fabs(qb__dot(to_plane, normal)) / qb__norm(normal);
    const double line = fabs(first[0] * v->u[1] - first[1] * v->u[0]) / hypot(v->u[0], v->u[1]);
    return share_of(w, view, atan2(-lateral, toward)) * toward / qb__norm(ray) * (w->vertical ? 1 : plane / line);
}

/* ---- a trial ---- */

typedef struct scan {
    qb_geometry real;
    qb__virtual_detector virtual_detector;
    qb__cone_weights weights;
    qb__cone_rows_plan plan;
    qb__resampler *resampler;
    float *lines; /* [views][rows][columns] */
} scan;

static void make_scan(const trial *t, scan *s) {
    double *angles = test_malloc(t->views * sizeof *angles);
    char offset[80];
    for (size_t i = 0; i < t->views; i++) angles[i] = t->span * ((double)i + 0.5) / (double)t->views;
    snprintf(offset, sizeof offset, "%.9f,%.9f", t->offset[0], t->offset[1]);
    const qb_geometry_options options = {
        .struct_size = sizeof options,
        .sod = 120,
        .sdd = 180,
        .offset = offset,
        .radius = t->radius,
        .tilt = {3, {t->tilt[0], t->tilt[1], t->tilt[2]}},
        .jitter = {t->jitter[0] > 0 ? 4 : 0, {t->jitter[0], t->jitter[1], t->jitter[2], t->jitter[3]}}};
    const qb_detector detector = {.rows = t->rows, .columns = t->columns, .pixel_u = 1.1, .pixel_v = 0.9};
    *s = (scan){0};
    assert_ok(qb_geometry_make(&options, t->views, angles, &detector, NULL, &s->real));
    test_free(angles);
    if (t->resampled) {
        assert_ok(qb__virtual_detector_create(&s->real, &s->virtual_detector));
        assert_ok(qb__resampler_create(&s->resampler));
        assert_ok(qb__cone_weights_virtual(&s->virtual_detector.geometry, &s->real, 0, QB_WEIGHTS_AUTO, &s->weights));
    } else {
        assert_ok(qb__cone_weights_create(&s->real, 0, &s->weights));
    }
    s->plan = (qb__cone_rows_plan){.geometry = t->resampled ? &s->virtual_detector.geometry : &s->real,
                                   .weights = &s->weights,
                                   .virtual_detector = t->resampled ? &s->virtual_detector : NULL,
                                   .taps = t->resampled ? qb__resampler_taps(s->resampler) : NULL,
                                   .columns = t->columns,
                                   .rows = t->rows,
                                   .pad = t->pad};
    s->lines = test_malloc(t->views * t->rows * t->columns * sizeof *s->lines);
    for (size_t i = 0; i < t->views * t->rows * t->columns; i++) s->lines[i] = (float)uniform(0.5, 3);
}

static void drop_scan(scan *s) {
    qb_geometry_destroy(&s->real);
    qb__virtual_detector_destroy(&s->virtual_detector);
    qb__cone_weights_destroy(&s->weights);
    qb__resampler_destroy(s->resampler);
    test_free(s->lines);
}

/* A row before its weights. Gaps are bridged by a straight line and rims by qb__extend. Both have tests of their
 * own. */
static void row_of(const trial *t, const scan *s, size_t view, size_t row, float *out) {
    const size_t columns = s->plan.geometry->columns;
    const float *image = s->lines + view * t->rows * t->columns;
    size_t first = 0, end = columns;
    if (!t->resampled) {
        memcpy(out, image + row * columns, columns * sizeof *out);
        return;
    }
    double *c = test_malloc(2 * columns * sizeof *c), *r = c + columns;
    qb__virtual_detector_line(&s->virtual_detector, view, row, c, r);
    for (size_t i = 0; i < columns; i++) out[i] = (float)read_at(t, image, c[i], r[i]);
    test_free(c);
    while (first < columns && isnan(out[first])) first++;
    while (end > first && isnan(out[end - 1])) end--;
    for (size_t i = first + 1; i < end; i++) {
        size_t next = i;
        while (isnan(out[next])) next++;
        if (next > i) out[i] = out[i - 1] + (out[next] - out[i - 1]) / (float)(next - i + 1);
    }
    if (first == end)
        memset(out, 0, columns * sizeof *out);
    else
        qb__extend(t->pad, out + first, end - first, first, columns - end);
}

static qb__cone_rows_block random_block(const trial *t, const scan *s) {
    const size_t rows = s->plan.geometry->rows;
    qb__cone_rows_block b = {.view0 = below(t->views), .row0 = below(rows)};
    b.view1 = b.view0 + 1 + below(t->views - b.view0);
    b.row1 = b.row0 + 1 + below(rows - b.row0);
    if (t->whole) b.view0 = b.row0 = 0, b.view1 = t->views, b.row1 = rows;
    b.raw0 = b.row0, b.raw1 = b.row1;
    if (t->resampled)
        qb__virtual_detector_rows(&s->virtual_detector, b.row0, b.row1, QB__RESAMPLE_MARGIN, &b.raw0, &b.raw1);
    return b;
}

static float *on_device(const trial *t, const scan *s, const qb__cone_rows_block *b, size_t width) {
    const size_t views = b->view1 - b->view0, line = (b->raw1 - b->raw0) * t->columns * sizeof(float);
    const size_t bytes = views * (b->row1 - b->row0) * width * sizeof(float);
    qb__memory *lines, *rows;
    qb__cone_rows *made;
    char *out = test_malloc(bytes + GUARD);
    assert_ok(qb__cone_rows_create(device, &s->plan, &made));
    assert_ok(qb__memory_create(device, views * line + 1, &lines));
    assert_ok(qb__memory_create(device, bytes + GUARD, &rows));
    for (size_t v = 0; v < views && line; v++)
        assert_ok(qb__memory_upload(queue, lines, v * line,
                                    s->lines + ((b->view0 + v) * t->rows + b->raw0) * t->columns, line));
    assert_ok(qb__memory_fill(queue, rows, 0, POISON, bytes + GUARD));
    assert_ok(qb__cone_rows_run(made, queue, b, lines, rows));
    assert_ok(qb__memory_download(queue, rows, 0, out, bytes + GUARD));
    assert_ok(qb__queue_finish(queue));
    for (size_t i = bytes; i < bytes + GUARD; i++) assert_int_equal((unsigned char)out[i], POISON);
    qb__cone_rows_block beyond = *b;
    beyond.row1 = s->plan.geometry->rows + 1;
    assert_status(qb__cone_rows_run(made, queue, &beyond, lines, rows), QB_BAD_ARGUMENT);
    qb__cone_rows_destroy(made);
    qb__memory_destroy(lines);
    qb__memory_destroy(rows);
    return (float *)out;
}

static void check_trial(const trial *t) {
    scan s;
    double error = 0, norm = 0, largest = 0;
    make_scan(t, &s);
    const size_t columns = s.plan.geometry->columns, before = s.weights.before,
                 width = before + columns + s.weights.after;
    const qb__cone_rows_block b = random_block(t, &s);
    float *got = on_device(t, &s, &b, width), *at = got, *row = test_malloc(columns * sizeof *row);
    for (size_t v = b.view0; v < b.view1; v++) {
        for (size_t r = b.row0; r < b.row1; r++, at += width) {
            row_of(t, &s, v, r, row);
            for (size_t c = 0; c < width; c++) {
                const bool inside = c >= before && c < before + columns;
                const double want = inside ? (double)row[c - before] * weight_of(s.plan.geometry, &s.weights, v,
                                                                                 (double)(c - before), (double)r)
                                           : 0;
                const double off = fabs((double)at[c] - want);
                error += off * off;
                norm += want * want;
                if (!(off <= largest)) largest = off;
            }
        }
    }
    static const char *const pads[] = {"edge", "zero", "mirror", "taper", "ellipse"};
    static const char *const kinds[] = {"full", "Parker", "Wang"};
    printf("  %zu x %zu -> %zu x %zu%s%s, %s, %s, rows %zu:%zu from %zu:%zu: %.1e, largest %.1e\n", t->columns, t->rows,
           columns, s.plan.geometry->rows, t->resampled ? ", read anew" : "", t->radius > 0 ? ", bent" : "",
           kinds[s.weights.kind], pads[t->pad], b.row0, b.row1, b.raw0, b.raw1, sqrt(error / fmax(norm, 1e-30)),
           largest);
    /* Taps between two entries of the table are 5e-6 off. Where an ellipse ends, a square root turns a rounding error
     * into the root of that error. */
    if (!(sqrt(error) <= 1e-5 * sqrt(norm)) || !(largest < (t->pad == QB_PAD_ELLIPSE ? 2e-2 : 1e-4)))
        fail_msg("that is too much");
    test_free(got);
    test_free(row);
    drop_scan(&s);
}

/* The kinds of detectors take turns. Everything else is random. */
static trial random_trial(int kind) {
    trial t = {.views = 12 + below(9),
               .columns = 40 + below(70),
               .rows = 8 + below(50),
               .span = (kind % 3 == 1 ? 1.4 : 2) * M_PI,
               .offset = {kind % 3 == 2 ? uniform(4, 8) * (below(2) ? 1 : -1) : 0, uniform(-3, 3)},
               .resampled = kind % 4 != 3,
               .pad = (qb_pad)below(5)};
    for (int i = 0; i < 3; i++) t.tilt[i] = uniform(-4, 4);
    if (kind % 4 == 0) t.tilt[0] = uniform(-40, 40);
    if (kind % 4 == 1) t.radius = uniform(100, 300);
    if (kind % 2) t.jitter[0] = uniform(0, 1), t.jitter[1] = uniform(0, 1), t.jitter[2] = 3, t.jitter[3] = 20;
    if (kind % 4 == 3) t.tilt[0] = 0;
    return t;
}

static void any_detector(void **state) {
    (void)state;
    const bool quick = qb__device_info_of(device)->is_cpu; /* compiling takes long there */
    if (qb__cone_rows_unfit(qb__device_info_of(device))) skip();
    for (int kind = 0; kind < (quick ? 12 : 60); kind++) {
        const trial t = random_trial(kind);
        check_trial(&t);
    }
}

/* A bent detector is as high at its sides as in its middle. Rays of the upper rows of a flat detector miss it there,
 * which makes a gap. */
static void gaps_are_bridged(void **state) {
    (void)state;
    if (qb__cone_rows_unfit(qb__device_info_of(device))) skip();
    trial t = {.views = 4,
               .columns = 90,
               .rows = 60,
               .span = 2 * M_PI,
               .radius = 100,
               .resampled = true,
               .whole = true,
               .pad = QB_PAD_EDGE};
    scan s;
    make_scan(&t, &s);
    const size_t columns = s.plan.geometry->columns;
    double *c = test_malloc(2 * columns * sizeof *c), *r = c + columns;
    size_t gaps = 0;
    qb__virtual_detector_line(&s.virtual_detector, 0, 1, c, r);
    for (size_t i = 1; i < columns; i++) gaps += (r[i] < -0.5) != (r[i - 1] < -0.5);
    assert_true(gaps >= 2); /* without gaps this would test nothing */
    test_free(c);
    drop_scan(&s);
    check_trial(&t);
}

static int on_one(const char *spec) {
    (void)spec;
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_detector), cmocka_unit_test(gaps_are_bridged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, on_one); }
