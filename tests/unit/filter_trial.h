/* SPDX-License-Identifier: MIT */
/* A random test of filtering rows on a device: the configuration, the measured rows and the filter of the CPU. */
#ifndef QB_TESTS_FILTER_TRIAL_H
#define QB_TESTS_FILTER_TRIAL_H

#include "base/half.h"
#include "kernels/filter/filter_device.h"
#include "on_devices.h"
#include "ops/filter.h"
#include "prep/courses.h"

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
    size_t raw_pad, out_pad, offset; /* extra elements in the strides of input and output; `offset` in bytes */
    size_t every;                    /* every how many rows one is compared */
    bool share;                      /* each column has a weight */
    /* the weights differ from row to row of the detector; they differ from view to view */
    bool share_rows, view_share;
    size_t before, after; /* columns of zeros added to the left and to the right */
    size_t modes;         /* principal components of flats that change over the views */
    bool courses;         /* stripes that change over the views */
} trial;

/* The number of columns of a filtered row. */
static size_t width_of(const trial *t) { return t->before + t->columns + t->after; }

typedef struct scan {
    float *dark, *gain, *air, *weights, *share, *view_share, *mode, *drift;
    qb__course *courses; /* [rows][qb__courses_room()] */
    void *raw;           /* [view1 - view0][slices] rows, with raw_pad elements behind each */
    size_t raw_row, raw_bytes, out_row, out_view, out_bytes; /* strides in elements; raw_bytes and out_bytes in bytes */
} scan;

static size_t below(size_t n) { return (size_t)(qb__random_unit(&chance) * (double)n); }

static float *field(size_t count, double low, double high) {
    float *values = test_malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = (float)(low + (high - low) * qb__random_unit(&chance));
    return values;
}

/* Sets element i of `raw`: counts of 0..4000, transmissions of about 0..1.3 or line integrals of 0..6. A few are
 * infinite or NaN where the type can hold them. */
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

/* Some entries for each row; several may be for the same column, in views that overlap. */
static qb__course *random_courses(const trial *t) {
    const size_t room = qb__courses_room(t->columns);
    qb__course *courses = test_calloc(t->rows * room, sizeof *courses);
    for (size_t i = 0; i < t->rows * room; i++) {
        const size_t first = below(t->views), end = first + 1 + below(t->views - first);
        const bool over = i % room && courses[i - 1].column < 0;
        courses[i] = (qb__course){.column = over || below(8) == 0 ? -1 : (float)below(t->columns < 9 ? t->columns : 9),
                                  .first = (float)first,
                                  .end = (float)end,
                                  .start = (float)(qb__random_unit(&chance) - 0.5),
                                  .slope = (float)(0.2 * qb__random_unit(&chance) - 0.1)};
    }
    return courses;
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
        if (below(3) == 0) s->drift[i] = 0; /* in some views all become 0, and then the least allowed flat is used */
    s->courses = random_courses(t);
    for (size_t i = 0; i < pixels; i++) {
        if (below(30) == 0) s->gain[i] = 0;
    }
    if (below(3) == 0) memset(s->gain, 0, t->columns * sizeof *s->gain); /* a row of dead pixels only */
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
    test_free(s->courses);
    test_free(s->raw);
}

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
                             .courses = t->courses ? (const float *)s->courses : NULL,
                             .course_room = qb__courses_room(t->columns),
                             .floor = 1e-6f,
                             .share = t->share ? s->share : NULL,
                             .share_rows = t->share_rows,
                             .view_share = t->view_share ? s->view_share : NULL,
                             .columns = t->columns,
                             .before = t->before};
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
               .courses = below(2),
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

#endif
