/* SPDX-License-Identifier: MIT */
/* Rows are prepared and filtered on every device of the machine and compared with a filter in double precision and the
 * counts of the CPU. Outputs are filled with a pattern, and what lies between the rows must not change. */
#include "check.h"

#include "filter_oracle.h"
#include "io/scan/drift.h"
#include "prep/dense.h"
#include "prep/prepare.h"

enum { POISON = 0xa5 };
static const double CLASS_HIGH = 5e-5;

/* Filters the scan on the device into out[out_bytes], with the pattern around the rows. Also returns the counts. */
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

/* The same preparation on the CPU. The device must report its counts. */
static qb__prep cpu_prep_of(const trial *t, const scan *s, const qb__hardening_curve *curve, const qb__drift *drift) {
    return (qb__prep){.quantity = t->quantity,
                      .dtype = t->dtype,
                      .columns = t->columns,
                      .dark = t->dark ? s->dark : NULL,
                      .gain = t->gain ? s->gain : NULL,
                      .air = t->air ? s->air : NULL,
                      .floor = 1e-6f,
                      .curve = curve,
                      .drift = t->modes ? drift : NULL,
                      .courses = t->courses ? s->courses : NULL};
}

/* Compares the rows of `out` with the reference, counts the samples with the CPU's preparation, and fills the rows with
 * the pattern again. */
static void compare(const trial *t, const scan *s, const qb__filter_spectrum *spectrum, const qb__prep *cpu, char *out,
                    qb__prep_counts *counts) {
    const size_t width = width_of(t);
    double *line = test_malloc(width * sizeof *line), error = 0, norm = 0, largest = 0;
    float *ignored = test_malloc(t->columns * sizeof *ignored);
    double *response = response_of(t, 2 * spectrum->half);
    for (size_t v = t->view0; v < t->view1; v++) {
        for (unsigned i = 0; i < t->slices; i++) {
            size_t row = t->row0 + i * t->row_step;
            const char *raw =
                (const char *)s->raw + ((v - t->view0) * t->slices + i) * s->raw_row * qb_dtype_size(t->dtype);
            char *got = out + t->offset + ((v - t->view0) * s->out_view + i * s->out_row) * sizeof(float);
            qb__prep_row(cpu, v, row, raw, ignored, counts);
            bool compared = (v * t->slices + i) % t->every == 0;
            if (compared) {
                line_of(t, s, v, row, raw, line);
                filter_line(spectrum, response, line, (double)s->weights[v]);
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
    test_free(line);
    test_free(ignored);
    test_free(response);
    double count = (double)((t->view1 - t->view0) * t->slices * width);
    error = sqrt(norm > 0 ? error / norm : error); /* a row of dead pixels only is all zeros */
    printf("%.1e\n", error);
    /* At the end of an ellipse a square root turns a rounding error into the root of that error. */
    if (!(error < (t->pad == QB_PAD_ELLIPSE ? CLASS_HIGH : CLASS_HIGH / 10)) ||
        !(largest <= 20 * CLASS_HIGH * sqrt(norm / count)))
        fail_msg("relative error %g, largest %g", error, largest);
}

static void check_trial(const trial *t) {
    static const char *const curves[] = {NULL, "0.05,-0.002", "spectrum:" ALUMINIUM};
    static const char *const pads[] = {"edge", "zero", "mirror", "taper", "ellipse"};
    scan s;
    qb__filter_spectrum spectrum;
    qb__device_filter *on_device;
    qb__device_filter_counts got;
    qb__prep_counts counts = {0};
    qb__hardening_curve *curve;
    qb__filter *filter = cpu_filter(t, &spectrum);
    make_scan(t, &s);
    qb__device_prep prep = prep_of(t, &s);
    const qb_prep_options options = {.hardening = curves[t->hardening]};
    assert_ok(qb__curve_create(options.hardening, &curve));
    const qb__drift drift = {.modes = t->modes, .pixels = t->rows * t->columns, .mode = s.mode, .weight = s.drift};
    qb__prep cpu = cpu_prep_of(t, &s, curve, &drift);
    qb__prep_begin(&cpu, &options);
    qb__prep_define(&cpu, &prep.steps);
    assert_ok(qb__device_filter_create(device, &spectrum, &prep, t->method, &on_device));
    printf("  %5zu columns, %s, %s, %s (strides +%zu +%zu at %zu), %u x %zu rows, %s: ", t->columns, t->spec,
           pads[t->pad], qb_dtype_name(t->dtype), t->raw_pad, t->out_pad, t->offset, t->slices, t->view1 - t->view0,
           qb__device_filter_method(on_device));
    fflush(stdout);
    size_t room = s.out_bytes + t->offset + 64;
    char *out = test_malloc(room);
    filter_on_device(t, &s, on_device, out, &got);
    compare(t, &s, &spectrum, &cpu, out, &counts);
    for (size_t i = 0; i < room; i++)
        if (out[i] != (char)POISON) fail_msg("byte %zu of %zu was written", i, room);
    assert_int_equal(got.clamped, counts.clamped);
    assert_int_equal(got.not_finite, counts.not_finite);
    assert_int_equal(got.dead, counts.dead);
    assert_in_range(
        qb__device_filter_bytes(on_device), 1,
        qb__device_filter_forecast(qb__device_info_of(device), &spectrum, t->method, t->views, t->rows, t->modes) +
            (t->share ? (t->rows + t->views) * t->columns * sizeof(float) : 0) + 1000);
    qb__curve_destroy(curve);
    qb__device_filter_destroy(on_device);
    qb__filter_destroy(filter);
    test_free(out);
    drop_scan(&s);
}

static void any_rows(void **state) {
    (void)state;
    static const size_t widths[] = {33, 1, 160, 2, 3, 10, 480, 96};
    bool quick = qb__device_info_of(device)->is_cpu; /* compiling takes long there */
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
    t.spec = "none"; /* rows are prepared and weighted, but not filtered */
    check_trial(&t);
    t.raw_pad = t.out_pad = t.offset = 0; /* rows are read in vectors of four */
    for (t.dtype = QB_F32; t.dtype <= QB_F64; t.dtype++) check_trial(&t);
}

/* Rows of a full turn with the axis off the middle, and rows of a cone beam whose pixels and views have weights. They
 * are read in vectors of four or not, have zeros on either side, and are filtered in local memory, in passes, or not at
 * all. */
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

/* Rows that are too long for the local memory of a GPU. More rows than fit a batch, of many views and of one. */
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
    if (status != QB_OK) { /* the message says what is missing */
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
    assert_ok(RUN(&from, 1, 1, 2, 0, 1, &to)); /* an empty block of views */
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

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_rows),  cmocka_unit_test(usual_rows),
                                       cmocka_unit_test(long_rows), cmocka_unit_test(wide_rows),
                                       cmocka_unit_test(cufft),     cmocka_unit_test(wrong_calls)};
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

/* The argument names the only device to test. */
int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, group); }
