/* SPDX-License-Identifier: MIT */
/* Preparing and filtering rows on whatever devices are here, against a filter in double precision
 * and the CPU's counts. Outputs are poisoned; between the rows nothing may change. */
#include "check.h"

#include <complex.h>

#include "base/half.h"
#include "base/memory.h"
#include "device/cufft_open.h"
#include "io/scan/drift.h"
#include "kernels/filter/filter_device.h"
#include "kernels/filter/filter_plan.h"
#include "ops/extend.h"
#include "ops/fft.h"
#include "ops/filter.h"
#include "ops/ramp.h"
#include "ops/window.h"
#include "prep/curve.h"
#include "prep/prepare.h"
#include "prep/spectrum.h"
#include "on_devices.h"

enum { POISON = 0xa5 };
static const double CLASS_HIGH = 5e-5;

/* A configuration, and what goes in. */
typedef struct trial {
    size_t columns, views, rows, view0, view1, row0, row_step;
    unsigned slices;
    qb_pad pad;
    qb_dtype dtype;
    qb_quantity quantity;
    bool dark, gain, air;
    int hardening; /* 0: none, 1: a polynomial, 2: a table */
    const char *spec;
    qb__filter_method method;
    size_t raw_pad, out_pad, offset; /* extra elements of strides; bytes */
    size_t every;                    /* only some of the rows are compared */
    bool share;                      /* columns count for shares, zeros added beside them, ... */
    bool share_rows, view_share;     /* ... each detector row's otherwise, and each view's */
    size_t before, after;
    size_t modes; /* of flats that change over the views */
} trial;

/* Of a filtered row. */
static size_t width_of(const trial *t) { return t->before + t->columns + t->after; }

typedef struct scan {
    float *dark, *gain, *air, *weights, *share, *view_share, *mode, *drift;
    void *raw; /* [view1 - view0][slices] rows, raw_pad elements behind each */
    size_t raw_row, raw_bytes, out_row, out_view, out_bytes; /* strides in elements */
} scan;

static size_t below(size_t n) { return (size_t)(qb__random_unit(&chance) * (double)n); }

static float *field(size_t count, double low, double high) {
    float *values = test_malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = (float)(low + (high - low) * qb__random_unit(&chance));
    return values;
}

/* Counts of 0..4000, transmissions of about 0..1.3, line integrals of 0..6; a few infinite or NaN
 * where the type can hold them. */
static void put_raw(const trial *t, void *raw, size_t i) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0, -1};
    double unit = qb__random_unit(&chance);
    double value = t->quantity == QB_COUNTS         ? floor(4000 * unit)
                   : t->quantity == QB_TRANSMISSION ? 1.3 * unit
                                                    : 6 * unit;
    if (!qb_dtype_is_float(t->dtype)) value = floor(100 * unit);
    float number = (float)value;
    if (qb_dtype_is_float(t->dtype) && below(40) == 0) number = odd[below(5)];
    switch (t->dtype) {
    case QB_U8: ((uint8_t *)raw)[i] = (uint8_t)number; break;
    case QB_I8: ((int8_t *)raw)[i] = (int8_t)number; break;
    case QB_U16: ((uint16_t *)raw)[i] = (uint16_t)number; break;
    case QB_I16: ((int16_t *)raw)[i] = (int16_t)number; break;
    case QB_U32: ((uint32_t *)raw)[i] = (uint32_t)number; break;
    case QB_I32: ((int32_t *)raw)[i] = (int32_t)number; break;
    case QB_F16: qb__float_to_half(&number, 1, (uint16_t *)raw + i); break;
    case QB_F32: ((float *)raw)[i] = number; break;
    case QB_F64: ((double *)raw)[i] = (double)number; break;
    }
}

static void make_scan(const trial *t, scan *s) {
    size_t pixels = t->rows * t->columns;
    s->dark = field(pixels, 0, 50);
    s->gain = field(pixels, 1.0 / 4000, 1.0 / 3000);
    s->air = field(t->views, 0.9, 1.1);
    s->weights = field(t->views, 0.5, 2);
    s->share = field(t->share_rows ? pixels : t->columns, 0, 1);
    s->view_share = field(t->views * t->columns, 0, 1);
    s->mode = field(t->modes * pixels, 0.9, 1.1);
    s->drift = field(t->views * (t->modes + 1), 0, 1);
    for (size_t i = 0; i < t->views * (t->modes + 1); i++)
        if (below(3) == 0) s->drift[i] = 0; /* of all modes in some views: then what is least */
    for (size_t i = 0; i < pixels; i++) {
        if (below(30) == 0) s->gain[i] = 0;
    }
    if (below(3) == 0) memset(s->gain, 0, t->columns * sizeof *s->gain); /* a row all dead */
    s->raw_row = t->columns + t->raw_pad;
    s->raw_bytes = (t->view1 - t->view0) * t->slices * s->raw_row * qb_dtype_size(t->dtype);
    s->raw = test_calloc(s->raw_bytes, 1);
    for (size_t i = 0; i < (t->view1 - t->view0) * t->slices * s->raw_row; i++) put_raw(t, s->raw, i);
    s->out_row = width_of(t) + t->out_pad;
    s->out_view = s->out_row * t->slices + 2 * t->out_pad;
    s->out_bytes = ((t->view1 - t->view0) * s->out_view + t->out_pad) * sizeof(float);
}

static void drop_scan(scan *s) {
    test_free(s->dark);
    test_free(s->gain);
    test_free(s->air);
    test_free(s->weights);
    test_free(s->share);
    test_free(s->view_share);
    test_free(s->mode);
    test_free(s->drift);
    test_free(s->raw);
}

/* ---- the oracle ---- */

/* roots[k] = exp(-2 pi i k/(count step)) */
static void transform(double complex *values, size_t count, const double complex *roots, size_t step) {
    size_t p = 2;
    if (count == 1) return;
    while (count % p) p++;
    size_t m = count / p;
    double complex *parts = test_malloc(count * sizeof *parts);
    for (size_t i = 0; i < count; i++) parts[i % p * m + i / p] = values[i];
    for (size_t r = 0; r < p; r++) transform(parts + r * m, m, roots, step * p);
    for (size_t k = 0; k < count; k++) {
        values[k] = 0;
        for (size_t r = 0; r < p; r++) values[k] += parts[r * m + k % m] * roots[r * k % count * step];
    }
    test_free(parts);
}

static double *response_of(const trial *t, size_t length) {
    double *response = test_malloc((length / 2 + 1) * sizeof *response);
    qb__window window;
    assert_ok(qb__window_parse(t->spec, &window));
    assert_ok(qb__ramp(length, response));
    for (size_t k = 0; k <= length / 2; k++)
        response[k] = (window.ramp ? response[k] / 0.7 : 1) * qb__window_at(&window, 2 * (double)k / (double)length);
    qb__window_clear(&window);
    return response;
}

/* What the CPU puts beyond the row's ends; that has tests of its own. */
static float *continued(const qb__filter_spectrum *filter, const double *line) {
    size_t length = 2 * filter->half, end = filter->left + filter->columns;
    float *samples = test_malloc(length * sizeof *samples);
    for (size_t c = 0; c < filter->columns; c++) samples[filter->left + c] = (float)line[c];
    qb__extend(filter->pad, samples + filter->left, filter->columns, filter->left, length - end);
    return samples;
}

static void filter_line(const qb__filter_spectrum *filter, const double *response, double *line, double weight) {
    size_t length = 2 * filter->half;
    if (filter->identity) {
        for (size_t c = 0; c < filter->columns; c++) line[c] *= weight;
        return;
    }
    double complex *z = test_malloc(length * sizeof *z), *roots = test_malloc(length * sizeof *z);
    float *samples = continued(filter, line);
    for (size_t i = 0; i < length; i++) {
        roots[i] = cexp(-2 * M_PI * I * (double)i / (double)length);
        z[i] = samples[i];
    }
    for (size_t c = 0; c < filter->columns; c++) z[filter->left + c] = line[c];
    transform(z, length, roots, 1);
    for (size_t k = 0; k < length; k++) z[k] = conj(z[k] * response[k <= length / 2 ? k : length - k]) / (double)length;
    transform(z, length, roots, 1);
    for (size_t c = 0; c < filter->columns; c++) line[c] = creal(z[filter->left + c]) * weight;
    test_free(z);
    test_free(roots);
    test_free(samples);
}

#define ALUMINIUM "al,120,cu:0.5,at:60"

/* What one energy would have measured; beyond -ln 1e-6 the slope of there goes on. */
static double aluminium(double p) {
    static qb__spectrum s;
    const double END = 14, STEP = 1e-3, THIN = 1e-6;
    if (s.bins == 0) assert_ok(qb__spectrum_parse("--spectrum", ALUMINIUM, &s));
    if (p < 0) return p * qb__spectrum_length(&s, THIN) / THIN * s.reference;
    if (p < END) return qb__spectrum_length(&s, p) * s.reference;
    const double last = qb__spectrum_length(&s, END), before = qb__spectrum_length(&s, END - STEP);
    return s.reference * (last + (p - END) * (last - before) / STEP);
}

/* A row's line integrals in double, bridged, as wide as when filtered, from the very numbers that are clamped in single. */
static void line_of(const trial *t, const scan *s, size_t view, size_t row, const void *raw, double *line) {
    float *numbers = test_malloc(t->columns * sizeof *numbers);
    size_t columns = t->columns;
    qb_convert_to_float(raw, t->dtype, columns, numbers);
    for (size_t c = 0; c < columns; c++) {
        bool gains = t->quantity != QB_LINE_INTEGRAL && t->gain, dead = false;
        double value = (double)numbers[c];
        if (t->dark) value = (double)(numbers[c] - s->dark[row * columns + c]);
        if (gains) {
            value *= (double)s->gain[row * columns + c];
            dead = s->gain[row * columns + c] == 0;
            double change = t->modes ? (double)s->drift[view * (t->modes + 1)] : 1;
            for (size_t k = 0; k < t->modes; k++)
                change += (double)s->drift[view * (t->modes + 1) + k + 1] *
                          (double)s->mode[(k * t->rows + row) * columns + c];
            value /= fmax(change, 1e-3);
        }
        if (t->quantity != QB_LINE_INTEGRAL) {
            if (t->air) value /= (double)s->air[view];
            if (value > 1000) value = NAN; /* no beam is so much brighter than its flat, ... */
            line[c] = isfinite(value) ? -log(fmax(value, 1e-6)) : NAN;
        } else {
            if (fabs(value) > 1e12) value = NAN; /* ... and no object so opaque */
            line[c] = value;
        }
        if (t->hardening == 2) line[c] = aluminium(line[c]);
        if (t->hardening == 1) line[c] += 0.05 * pow(line[c], 2) - 0.002 * pow(line[c], 3);
        if (dead || !isfinite(value)) line[c] = NAN;
    }
    for (size_t c = 0; c < columns; c++) {
        if (!isnan(line[c])) continue;
        size_t end = c;
        while (end < columns && isnan(line[end])) end++;
        double left = c > 0 ? line[c - 1] : end < columns ? line[end] : 0;
        double right = end < columns ? line[end] : left, n = (double)(end - c + 1);
        for (size_t i = c; i < end; i++) line[i] = left + (right - left) * (double)(i - c + 1) / n;
        c = end;
    }
    test_free(numbers);
    if (!t->share) return;
    memmove(line + t->before, line, columns * sizeof *line);
    for (size_t c = 0; c < columns; c++) {
        line[t->before + c] *= (double)s->share[(t->share_rows ? row * columns : 0) + c];
        if (t->view_share) line[t->before + c] *= (double)s->view_share[view * columns + c];
    }
    for (size_t c = 0; c < t->before; c++) line[c] = 0;
    for (size_t c = 0; c < t->after; c++) line[t->before + columns + c] = 0;
}

/* ---- a trial ---- */

static qb__filter *cpu_filter(const trial *t, qb__filter_spectrum *spectrum) {
    qb__filter *filter;
    assert_ok(qb__filter_create(t->spec, t->pad, width_of(t), 0.7, &filter));
    qb__filter_describe(filter, spectrum);
    return filter;
}

static qb__device_prep prep_of(const trial *t, const scan *s) {
    return (qb__device_prep){.quantity = t->quantity,
                             .dtype = t->dtype,
                             .views = t->views,
                             .weights = s->weights,
                             .air = t->air ? s->air : NULL,
                             .rows = t->rows,
                             .dark = t->dark ? s->dark : NULL,
                             .gain = t->gain ? s->gain : NULL,
                             .modes = t->modes,
                             .mode_apart = t->rows * t->columns,
                             .mode = s->mode,
                             .drift = s->drift,
                             .floor = 1e-6f,
                             .share = t->share ? s->share : NULL,
                             .share_rows = t->share_rows,
                             .view_share = t->view_share ? s->view_share : NULL,
                             .columns = t->columns,
                             .before = t->before};
}

/* What the device makes of it, in out[out_bytes] with the poison around; and its counts. */
static void filter_on_device(const trial *t, const scan *s, qb__device_filter *filter, char *out,
                             qb__device_filter_counts *counts) {
    qb__memory *raw, *rows;
    size_t room = s->out_bytes + t->offset + 64;
    assert_ok(qb__memory_create(device, s->raw_bytes + t->offset + 64, &raw));
    assert_ok(qb__memory_create(device, room, &rows));
    assert_ok(qb__memory_upload(queue, raw, t->offset, s->raw, s->raw_bytes));
    assert_ok(qb__memory_fill(queue, rows, 0, POISON, room));
    const qb__device_rows from = {raw, t->offset, s->raw_row * t->slices, s->raw_row};
    const qb__device_rows to = {rows, t->offset, s->out_view, s->out_row};
    assert_ok(qb__device_filter_run(filter, queue, &from, t->view0, t->view1, t->slices, t->row0, t->row_step, &to));
    assert_ok(qb__memory_download(queue, rows, 0, out, room));
    assert_ok(qb__device_filter_found(filter, queue, counts));
    qb__memory_destroy(raw);
    qb__memory_destroy(rows);
}

static void check_trial(const trial *t) {
    scan s;
    qb__filter_spectrum spectrum;
    qb__device_filter *on_device;
    qb__device_filter_counts got_counts;
    qb__prep_counts counts = {0};
    qb__filter *filter = cpu_filter(t, &spectrum);
    make_scan(t, &s);
    qb__device_prep prep = prep_of(t, &s);
    static const char *const curves[] = {NULL, "0.05,-0.002", "spectrum:" ALUMINIUM};
    qb_prep_options options = {.hardening = curves[t->hardening]};
    qb__curve *curve;
    assert_ok(qb__curve_create(options.hardening, &curve));
    qb__prep cpu = {.quantity = t->quantity,
                    .dtype = t->dtype,
                    .columns = t->columns,
                    .dark = prep.dark,
                    .gain = prep.gain,
                    .air = prep.air,
                    .floor = 1e-6f,
                    .curve = curve};
    const qb__drift drift = {.modes = t->modes, .pixels = t->rows * t->columns, .mode = s.mode, .weight = s.drift};
    if (t->modes) cpu.drift = &drift;
    qb__prep_begin(&cpu, &options);
    qb__prep_define(&cpu, &prep.steps);
    assert_ok(qb__device_filter_create(device, &spectrum, &prep, t->method, &on_device));
    static const char *const pads[] = {"edge", "zero", "mirror", "taper", "ellipse"};
    printf("  %5zu columns, %s, %s, %s (strides +%zu +%zu at %zu), %u x %zu rows, %s: ", t->columns, t->spec,
           pads[t->pad], qb_dtype_name(t->dtype), t->raw_pad, t->out_pad, t->offset, t->slices, t->view1 - t->view0,
           qb__device_filter_method(on_device));
    fflush(stdout);
    size_t room = s.out_bytes + t->offset + 64;
    char *out = test_malloc(room);
    filter_on_device(t, &s, on_device, out, &got_counts);

    const size_t width = width_of(t);
    double *line = test_malloc(width * sizeof *line), error = 0, norm = 0, largest = 0;
    float *ignored = test_malloc(t->columns * sizeof *ignored);
    double *response = response_of(t, 2 * spectrum.half);
    for (size_t v = t->view0; v < t->view1; v++) {
        for (unsigned i = 0; i < t->slices; i++) {
            size_t row = t->row0 + i * t->row_step;
            const char *raw =
                (const char *)s.raw + ((v - t->view0) * t->slices + i) * s.raw_row * qb_dtype_size(t->dtype);
            char *got = out + t->offset + ((v - t->view0) * s.out_view + i * s.out_row) * sizeof(float);
            qb__prep_row(&cpu, v, row, raw, ignored, &counts);
            bool compared = (v * t->slices + i) % t->every == 0;
            if (compared) {
                line_of(t, &s, v, row, raw, line);
                filter_line(&spectrum, response, line, (double)s.weights[v]);
            }
            for (size_t c = 0; compared && c < width; c++) {
                double e = fabs((double)((float *)got)[c] - line[c]);
                error += e * e;
                norm += line[c] * line[c];
                if (!(e <= largest)) largest = e;
            }
            memset(got, POISON, width * sizeof(float));
        }
    }
    double count = (double)((t->view1 - t->view0) * t->slices * width);
    error = sqrt(norm > 0 ? error / norm : error); /* a row all dead is all zeros */
    printf("%.1e\n", error);
    /* Where an ellipse ends, its root turns a rounding into its own root. */
    if (!(error < (t->pad == QB_PAD_ELLIPSE ? CLASS_HIGH : CLASS_HIGH / 10)) ||
        !(largest <= 20 * CLASS_HIGH * sqrt(norm / count)))
        fail_msg("relative error %g, largest %g", error, largest);
    for (size_t i = 0; i < room; i++) {
        if (out[i] != (char)POISON) fail_msg("byte %zu of %zu was written", i, room);
    }
    qb__curve_destroy(curve);
    assert_int_equal(got_counts.clamped, counts.clamped);
    assert_int_equal(got_counts.not_finite, counts.not_finite);
    assert_int_equal(got_counts.dead, counts.dead);
    assert_in_range(
        qb__device_filter_bytes(on_device), 1,
        qb__device_filter_forecast(qb__device_info_of(device), &spectrum, t->method, t->views, t->rows, t->modes) +
            (t->share ? (t->rows + t->views) * t->columns * sizeof(float) : 0) + 1000);
    qb__device_filter_destroy(on_device);
    qb__filter_destroy(filter);
    test_free(out);
    test_free(line);
    test_free(ignored);
    test_free(response);
    drop_scan(&s);
}

static trial random_trial(size_t columns) {
    static const char *const specs[] = {"ramp", "hann", "parzen:0.6", "none:0.5", "shepp-logan"};
    trial t = {.columns = columns,
               .views = 3 + below(6),
               .slices = 1 + (unsigned)below(5),
               .row0 = below(3),
               .row_step = 1 + below(3),
               .pad = (qb_pad)below(5),
               .dtype = (qb_dtype)below(9),
               .quantity = (qb_quantity)(QB_COUNTS + below(3)),
               .dark = below(3) > 0,
               .gain = below(4) > 0,
               .air = below(2),
               .hardening = (int)below(3),
               .modes = below(2) ? 0 : below(4),
               .spec = specs[below(5)],
               .raw_pad = below(2) ? 0 : below(7),
               .out_pad = below(2) ? 0 : below(7),
               .offset = 8 * below(4),
               .every = 1};
    t.view0 = below(t.views);
    t.view1 = t.view0 + 1 + below(t.views - t.view0);
    t.rows = t.row0 + (t.slices - 1) * t.row_step + 1 + below(3);
    return t;
}

static void any_rows(void **state) {
    (void)state;
    static const size_t widths[] = {33, 1, 160, 2, 3, 10, 480, 96};
    bool quick = qb__device_info_of(device)->is_cpu; /* where compiling takes long */
    static const qb_pad pads[] = {QB_PAD_ELLIPSE, QB_PAD_TAPER};
    for (size_t i = 0; i < (quick ? 3 : sizeof widths / sizeof widths[0]); i++) {
        trial t = random_trial(widths[i]);
        check_trial(&t);
        t = random_trial(1 + below(700));
        t.method = i % 2 ? QB__FILTER_PASSES : QB__FILTER_AUTO;
        check_trial(&t);
    }
    trial t = random_trial(500);
    for (int i = 0; i < 4; i++) {
        t.pad = pads[i % 2];
        t.method = i / 2 ? QB__FILTER_PASSES : QB__FILTER_AUTO;
        check_trial(&t);
    }
    t.method = QB__FILTER_AUTO;
    t.spec = "none"; /* prepared and weighted only */
    check_trial(&t);
    t.raw_pad = t.out_pad = t.offset = 0; /* in fours */
    for (t.dtype = QB_F32; t.dtype <= QB_F64; t.dtype++) check_trial(&t);
}

/* Rows of a full turn about an axis to one side, and those of a cone beam, whose pixels and views have shares of
 * their own: in fours and not, on either side, in local memory, through passes, and not transformed. */
static void wide_rows(void **state) {
    (void)state;
    static const struct {
        size_t columns, before, after;
        const char *spec;
        qb__filter_method method;
        bool rows, views;
    } kinds[] = {{64, 40, 0, "ramp", QB__FILTER_AUTO, false, false},
                 {60, 0, 33, "hann", QB__FILTER_AUTO, true, true},
                 {101, 7, 90, "ramp", QB__FILTER_PASSES, true, false},
                 {64, 9, 0, "none", QB__FILTER_AUTO, false, true}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        trial t = random_trial(kinds[i].columns);
        t.share = true;
        t.share_rows = kinds[i].rows, t.view_share = kinds[i].views;
        t.before = kinds[i].before, t.after = kinds[i].after;
        t.spec = kinds[i].spec, t.method = kinds[i].method;
        if (i == 0) t.raw_pad = t.out_pad = t.offset = 0;
        check_trial(&t);
    }
}

static void usual_rows(void **state) {
    (void)state;
    static const size_t widths[] = {1501, 2560, 1024, 640, 1280, 2048, 4000, 4096, 6144, 7000, 8192, 12289, 16384};
    size_t count = qb__device_info_of(device)->is_cpu ? 1 : sizeof widths / sizeof widths[0];
    for (size_t i = 0; i < count; i++) {
        trial t = random_trial(widths[i]);
        check_trial(&t);
    }
}

/* Longer than GPUs' local memory; more rows than a batch, of many views and of one. */
static void long_rows(void **state) {
    (void)state;
    trial t = random_trial(21000);
    t.method = QB__FILTER_PASSES;
    check_trial(&t);
    if (getenv("QB_QUICK")) return;
    t = random_trial(2500);
    t.row0 = 1, t.row_step = 1, t.views = 4, t.view0 = 1, t.every = 181;
    t.method = QB__FILTER_PASSES;
    t.slices = 300, t.rows = 301, t.view1 = 4;
    check_trial(&t);
    t.slices = 800, t.rows = 801, t.view1 = 2;
    check_trial(&t);
}

static void cufft(void **state) {
    (void)state;
    trial t = random_trial(3000);
    scan s;
    qb__filter_spectrum spectrum;
    qb__device_filter *on_device;
    t.method = QB__FILTER_CUFFT;
    make_scan(&t, &s);
    qb__filter *filter = cpu_filter(&t, &spectrum);
    qb__device_prep prep = prep_of(&t, &s);
    qb_status status = qb__device_filter_create(device, &spectrum, &prep, t.method, &on_device);
    drop_scan(&s);
    qb__filter_destroy(filter);
    if (status != QB_OK) { /* says what is missing */
        assert_status(status, QB_NO_DEVICE);
        assert_non_null(strstr(qb_detail(), "cuFFT"));
        assert_null(on_device);
        print_message("%s\n", qb_detail());
        skip();
    }
    qb__device_filter_destroy(on_device);
    check_trial(&t);
    t = random_trial(21000);
    t.method = QB__FILTER_CUFFT;
    check_trial(&t);
}

static void wrong_calls(void **state) {
    (void)state;
    trial t = random_trial(64);
    scan s;
    qb__filter_spectrum spectrum;
    qb__device_filter *on_device;
    qb__memory *raw, *rows;
    t.row0 = 0, t.slices = 2, t.row_step = 1, t.rows = 2, t.views = 3, t.view0 = 0, t.view1 = 2;
    t.raw_pad = t.out_pad = 0;
    make_scan(&t, &s);
    qb__filter *filter = cpu_filter(&t, &spectrum);
    qb__device_prep prep = prep_of(&t, &s), none = prep;
    none.floor = 0;
    assert_status(qb__device_filter_create(device, &spectrum, &none, QB__FILTER_AUTO, &on_device), QB_BAD_ARGUMENT);
    assert_null(on_device);
    assert_ok(qb__device_filter_create(device, &spectrum, &prep, QB__FILTER_AUTO, &on_device));
    assert_ok(qb__memory_create(device, s.raw_bytes, &raw));
    assert_ok(qb__memory_create(device, s.out_bytes, &rows));
    assert_ok(qb__memory_fill(queue, raw, 0, 0, s.raw_bytes));
    const qb__device_rows from = {raw, 0, 128, 64}, to = {rows, 0, 128, 64};
    qb__device_rows apart = from, odd = to;
    apart.view_stride++;
    odd.offset = 2;
#define RUN(from, v0, v1, n, row0, step, to) qb__device_filter_run(on_device, queue, from, v0, v1, n, row0, step, to)
    assert_ok(RUN(&from, 0, 2, 2, 0, 1, &to));
    assert_ok(RUN(&from, 1, 1, 2, 0, 1, &to)); /* nothing */
    assert_status(RUN(&from, 2, 4, 2, 0, 1, &to), QB_BAD_ARGUMENT);
    assert_status(RUN(&from, 0, 2, 3, 0, 1, &to), QB_BAD_ARGUMENT);
    assert_status(RUN(&from, 0, 2, 2, 1, 1, &to), QB_BAD_ARGUMENT);
    assert_status(RUN(&apart, 0, 2, 2, 0, 1, &to), QB_BAD_ARGUMENT);
    assert_status(RUN(&from, 0, 2, 2, 0, 1, &odd), QB_BAD_ARGUMENT);
    assert_ok(qb__queue_finish(queue));
    qb__memory_destroy(raw);
    qb__memory_destroy(rows);
    qb__device_filter_destroy(on_device);
    qb__device_filter_destroy(NULL);
    qb__filter_destroy(filter);
    drop_scan(&s);
}

/* ---- without any device ---- */

static bool one_of(int value, const int *list) {
    while (*list && *list != value) list++;
    return *list != 0;
}

static void plans(void **state) {
    (void)state;
    static const int plain[] = {2, 4, 8, 16, 0}, last[] = {1, 2, 3, 4, 5, 8, 10, 15, 0};
    const qb__device_info big = {.local_bytes = 227 << 10, .group_size = 1024};
    const qb__device_info small = {.local_bytes = 32 << 10, .group_size = 256};
    qb__filter_plan plan;
    for (size_t columns = 1; columns <= 100000; columns += 1 + columns / 50) {
        size_t half = qb__fft_length(columns), product = 1;
        assert_true(qb__filter_radices(half, &plan));
        for (int i = 0; i < plan.passes; i++) {
            assert_true(one_of(plan.radix[i], plain));
            product *= (size_t)plan.radix[i];
        }
        assert_true(one_of(plan.last, last) && product * (size_t)plan.last == half);
        assert_int_equal(half / (size_t)plan.last % 2, 0); /* butterflies come in pairs */
        if (columns <= 16384) assert_null(qb__filter_plan_make(half, &big, &plan));
        const qb__device_info *devices[] = {&big, &small};
        for (int d = 0; d < 2; d++) {
            if (qb__filter_plan_make(half, devices[d], &plan)) continue;
            assert_true(plan.items * plan.group_rows <= devices[d]->group_size);
            assert_true(plan.local_bytes <= devices[d]->local_bytes && plan.passes <= 4);
        }
    }
    assert_null(qb__filter_plan_make(2048, &small, &plan));
    assert_non_null(qb__filter_plan_make(8192, &small, &plan));
    assert_false(qb__filter_radices(14, &plan) || qb__filter_radices(1, &plan));
}

static void without_cufft(void **state) {
    (void)state;
    qb__cufft_api api;
    char why[1024] = "", kept[1024];
    const char *set = getenv("QB_LIBCUFFT");
    snprintf(kept, sizeof kept, "%s", set ? set : "");
    setenv("QB_LIBCUFFT", "", 1);
    assert_false(qb__cufft_open(13000, &api, why, sizeof why));
    assert_non_null(strstr(why, "QB_LIBCUFFT"));
    setenv("QB_LIBCUFFT", "/no/such/libcufft.so", 1);
    assert_false(qb__cufft_open(13000, &api, why, sizeof why));
    assert_non_null(strstr(why, "/no/such/libcufft.so"));
    unsetenv("QB_LIBCUFFT");
    assert_false(qb__cufft_open(10000, &api, why, sizeof why)); /* older than any that we know */
    assert_non_null(strstr(why, "install"));
    if (set) setenv("QB_LIBCUFFT", kept, 1);
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_rows),  cmocka_unit_test(usual_rows),
                                       cmocka_unit_test(long_rows), cmocka_unit_test(wide_rows),
                                       cmocka_unit_test(cufft),     cmocka_unit_test(wrong_calls)};
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

/* The argument: the only device to test. */
int main(int argc, char **argv) {
    const struct CMUnitTest anywhere[] = {cmocka_unit_test(plans), cmocka_unit_test(without_cufft)};
    const int failed = cmocka_run_group_tests(anywhere, NULL, NULL);
    return failed ? failed : on_devices(argc > 1 ? argv[1] : NULL, group);
}
