/* SPDX-License-Identifier: MIT */
/* The redundancy weights of a ray and its opposite add up to 1; where views are missing, those of all views together
 * do. A fan-beam inversion with these weights, summed here from the formula, finds the values of a round object. */
#include "dice.h"

#include "geometry/cone_weights.h"
#include "geometry/matrix.h"

static const double pi = 3.14159265358979323846;

enum { COLUMNS = 301, MOST = 1000 };

/* Views over `degrees`, 400 mm and 700 mm, 0.8 mm pixels: a fan of 9.7 degrees to each side. */
static qb_geometry scan(size_t views, double degrees, double first, double offset) {
    double angles[MOST];
    qb_geometry geometry;
    for (size_t i = 0; i < views; i++) angles[i] = (first + degrees * (double)i / (double)views) * pi / 180;
    assert_int_equal(qb_geometry_cone(views, angles, 1, COLUMNS, 0.8, 0.8, 400, 700, offset, 0, &geometry), QB_OK);
    return geometry;
}

static void opposite_rays_make_one(const qb_geometry *geometry, qb_redundancy kind) {
    qb__cone_weights weights;
    assert_int_equal(qb__cone_weights_create(geometry, 0, &weights), QB_OK);
    assert_int_equal(weights.kind, kind);
    double fan = fmin(-weights.gamma_low, weights.gamma_high), pair[2], *beta = weights.beta;
    assert_true(weights.missing == 0);
    const size_t count = trials(20000);
    for (size_t trial = 0; trial < count; trial++) {
        double gamma = uniform(-fan, fan), sum = 0;
        pair[0] = uniform(0, 2 * pi);
        pair[1] = fmod(pair[0] + pi + 2 * gamma + 2 * pi, 2 * pi);
        weights.beta = pair;
        for (size_t i = 0; i < 2; i++) {
            double w = qb__cone_redundancy(&weights, i, i ? -gamma : gamma);
            assert_true(w >= 0 && w <= 1);
            sum += w;
        }
        if (!(fabs(sum - 1) < 1e-9)) fail_msg("beta %g gamma %g: %g", pair[0], gamma, sum);
    }
    weights.beta = beta;
    qb__cone_weights_destroy(&weights);
}

static void short_scans(void **state) {
    (void)state;
    /* 180 degrees and the fan are 199.5 degrees. */
    const double spans[] = {200, 215, 250, 300, 350};
    for (size_t i = 0; i < 5; i++) {
        qb_geometry geometry = scan(400, spans[i], uniform(-400, 400), 0);
        opposite_rays_make_one(&geometry, QB_REDUNDANCY_PARKER);
        qb_geometry_destroy(&geometry);
    }
}

static void offset_detectors(void **state) {
    (void)state;
    const double offsets[] = {-110, -40, 20, 80, 115};
    for (size_t i = 0; i < 5; i++) {
        qb_geometry geometry = scan(400, 360, 0, offsets[i]);
        opposite_rays_make_one(&geometry, QB_REDUNDANCY_WANG);
        qb_geometry_destroy(&geometry);
    }
}

/* Half a turn, a little less or a little more: angles are rounded. */
static void no_weight_jumps(void **state) {
    (void)state;
    enum { VIEWS = 180 };
    for (size_t trial = 0; trial < trials(200); trial++) {
        const double first = uniform(-400, 400), gamma = uniform(-0.16, 0.16);
        const size_t view = (size_t)uniform(0, VIEWS - 0.001);
        double w[3];
        for (int i = 0; i < 3; i++) {
            qb_geometry geometry = scan(VIEWS, 180 + (i - 1) * 1e-9, first, 0);
            qb__cone_weights weights;
            assert_int_equal(qb__cone_weights_create(&geometry, 0, &weights), QB_OK);
            assert_int_equal(weights.kind, QB_REDUNDANCY_GAPS);
            w[i] = qb__cone_redundancy(&weights, view, gamma);
            qb__cone_weights_destroy(&weights);
            qb_geometry_destroy(&geometry);
        }
        if (!(fabs(w[0] - w[1]) < 1e-6 && fabs(w[2] - w[1]) < 1e-6))
            fail_msg("view %zu, gamma %g: %g %g %g", view, gamma, w[0], w[1], w[2]);
    }
}

static void full_scan_is_constant(void **state) {
    (void)state;
    qb_geometry geometry = scan(360, 360, 17, 0);
    qb__cone_weights weights;
    assert_int_equal(qb__cone_weights_create(&geometry, 0, &weights), QB_OK);
    for (size_t i = 0; i < 360; i++) {
        assert_true(fabs(weights.view[i] - 2 * pi / 360) < 1e-12);
        assert_true(qb__cone_redundancy(&weights, i, uniform(-0.1, 0.1)) == 0.5);
    }
    assert_true(fabs(weights.pitch - 0.8 * 400 / 700) < 1e-12);
    qb__cone_weights_destroy(&weights);
    qb_geometry_destroy(&geometry);
}

static void missing_angle_is_told(void **state) {
    (void)state;
    double gamma = atan2(150 * 0.8, 700) * 180 / pi;
    qb_geometry geometry = scan(190, 190, 30, 0), half_fan = scan(300, 300, 30, 80);
    qb__cone_weights weights;
    assert_int_equal(qb__cone_weights_create(&geometry, 0, &weights), QB_OK);
    assert_int_equal(weights.kind, QB_REDUNDANCY_GAPS);
    assert_true(fabs(weights.missing * 180 / pi - (180 + 2 * gamma - 190)) < 1e-9);
    qb__cone_weights_destroy(&weights);
    assert_int_equal(qb__cone_weights_create(&geometry, 20, &weights), QB_OK); /* needs 185.8 */
    assert_true(weights.missing == 0);
    qb__cone_weights_destroy(&weights);
    assert_int_equal(qb__cone_weights_create(&half_fan, 0, &weights), QB_OK);
    assert_true(fabs(weights.missing * 180 / pi - 60) < 1e-9);
    qb__cone_weights_destroy(&weights);
    qb_geometry_destroy(&geometry);
    qb_geometry_destroy(&half_fan);
}

static void a_detector_off_the_axis_is_refused(void **state) {
    (void)state;
    qb_geometry geometry = scan(360, 360, 0, 130);
    qb__cone_weights weights;
    assert_int_equal(qb__cone_weights_create(&geometry, 0, &weights), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "view 0"));
    qb_geometry_destroy(&geometry);
}

/* ---- gaps ---- */

typedef struct range {
    double from, to, step; /* degrees */
} range;

static qb_geometry in_ranges(const range *ranges, size_t count, double offset) {
    double angles[MOST];
    size_t n = 0;
    qb_geometry geometry;
    for (size_t i = 0; i < count; i++)
        for (double t = ranges[i].from; t < ranges[i].to - 1e-9 && n < MOST; t += ranges[i].step)
            angles[n++] = t * pi / 180;
    assert_int_equal(qb_geometry_cone(n, angles, 1, COLUMNS, 0.8, 0.8, 400, 700, offset, 0, &geometry), QB_OK);
    return geometry;
}

/* Random runs of views, steps and gaps. */
static qb_geometry with_gaps(double offset) {
    double angles[MOST];
    size_t n = 0;
    qb_geometry geometry;
    const double first = uniform(-400, 400);
    for (double t = 0; t < 355 && n < MOST;) {
        const double step = uniform(0.4, 3), end = t + uniform(5, 90);
        for (; t < end && t < 355 && n < MOST; t += step * uniform(0.8, 1.2)) angles[n++] = (first + t) * pi / 180;
        t += uniform(0, 1) < 0.7 ? uniform(2, offset > 0 ? 25 : 60) : 0;
    }
    assert_int_equal(qb_geometry_cone(n, angles, 1, COLUMNS, 0.8, 0.8, 400, 700, offset, 0, &geometry), QB_OK);
    return geometry;
}

/* Whatever is missing, unless the angle is limited: for each pair of rays, the weights of all views add up to one full
 * turn, so a round object has its value. */
static void weights_sum_to_the_turn(void **state) {
    enum { RAYS = 20 };
    (void)state;
    size_t gapped = 0, open = 0;
    for (size_t trial = 0; trial < trials(200); trial++) {
        qb_geometry geometry = with_gaps(trial % 2 ? 80 : 0);
        qb__cone_weights weights;
        assert_int_equal(qb__cone_weights_create(&geometry, 0, &weights), QB_OK);
        const double fan = fmin(-weights.gamma_low, weights.gamma_high);
        double mean = 0;
        gapped += weights.kind == QB_REDUNDANCY_GAPS && !weights.open;
        open += weights.open;
        for (int k = 0; k < RAYS && !weights.open && weights.kind == QB_REDUNDANCY_GAPS; k++) {
            const double gamma = (k + uniform(0, 1)) / RAYS * fan;
            double sum = 0;
            for (size_t i = 0; i < geometry.views; i++) {
                const double a = qb__cone_redundancy(&weights, i, gamma), b = qb__cone_redundancy(&weights, i, -gamma);
                assert_true(a >= 0 && a <= 1 && b >= 0 && b <= 1);
                sum += weights.view[i] * (a + b) / (2 * pi);
            }
            mean += sum / RAYS;
            if (!(fabs(sum - 1) < 0.02))
                fail_msg("%zu views, %zu gaps, gamma %g: %g", geometry.views, weights.gaps, gamma, sum);
        }
        if (weights.kind == QB_REDUNDANCY_GAPS && !weights.open && !(fabs(mean - 1) < 0.003))
            fail_msg("%zu views, %zu gaps: %g", geometry.views, weights.gaps, mean);
        assert_true(weights.open ? weights.lacking > 0.02
                                 : weights.kind == QB_REDUNDANCY_PARKER || weights.lacking < 0.02);
        qb__cone_weights_destroy(&weights);
        qb_geometry_destroy(&geometry);
    }
    if (trials(200) == 200) assert_true(gapped > 200 / 3 && open > 0); /* a few trials may have none */
}

/* For rays through the axis, the opposite ray is half a turn away. Counts what neither of the two measured, in steps of
 * a thousandth of a degree. */
static void missing_rays_are_counted(void **state) {
    (void)state;
    const range gated[] = {{0, 18, 0.6},    {36, 54, 0.6},   {72, 90, 0.6},   {108, 126, 0.6}, {144, 162, 0.6},
                           {180, 198, 0.6}, {216, 234, 0.6}, {252, 270, 0.6}, {288, 306, 0.6}, {324, 342, 0.6}};
    qb_geometry geometry = in_ranges(gated, 10, 0);
    qb__cone_weights weights;
    double count = 0, all = 0;
    assert_int_equal(qb__cone_weights_create(&geometry, 0, &weights), QB_OK);
    assert_true(weights.gaps == 10 && fabs(weights.missing * 180 / pi - 18) < 1e-6);
    for (int k = -50; k <= 50; k++)
        for (double t = 0.0005; t < 360; t += 0.05, all++) {
            /* A view covers 0.3 degrees to both sides. */
            const double opposite = t + 180 + 2 * k / 50.0 * fmin(-weights.gamma_low, weights.gamma_high) * 180 / pi;
            count += fmod(t + 0.3, 36) >= 18 && fmod(opposite + 360.3, 36) >= 18;
        }
    if (!(fabs(count / all - weights.guessed) < 0.01)) fail_msg("%g, counted %g", weights.guessed, count / all);
    qb__cone_weights_destroy(&weights);
    qb_geometry_destroy(&geometry);
}

/* ---- inversion ---- */

/* 1 - r^2 / 30^2 around (12, -7), which has no edge that would ring: its integral along a ray. */
static double integral(const qb_view *view, double column) {
    double d[2], s[2] = {view->source[0] - 12, view->source[1] + 7};
    for (int j = 0; j < 2; j++) d[j] = view->detector[j] + column * view->u[j] - view->source[j];
    double away = (d[0] * s[1] - d[1] * s[0]) / hypot(d[0], d[1]);
    return away * away < 900 ? 4.0 / 3 / 900 * pow(900 - away * away, 1.5) : 0;
}

/* The band-limited ramp filter, at one column. */
static double filtered(const float *samples, int column, double pitch) {
    double sum = column >= 0 && column < COLUMNS ? 0.25 * samples[column] : 0;
    for (int k = 0; k < COLUMNS; k++) {
        int n = k - column;
        if (n % 2) sum -= samples[k] / (pi * pi * n * n);
    }
    return sum / pitch;
}

static double reconstruct(const qb_geometry *geometry, double x, double y) {
    qb__cone_weights weights;
    assert_int_equal(qb__cone_weights_create(geometry, 0, &weights), QB_OK);
    double value = 0;
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        float samples[COLUMNS];
        qb__cone_pixel_weights(geometry, &weights, i, 0, 1, samples);
        for (int c = 0; c < COLUMNS; c++) samples[c] *= (float)integral(view, c);
        qb__matrix matrix;
        double p[3];
        assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, view, &matrix), QB_OK);
        qb__matrix_apply(&matrix, x, y, 0, p);
        double column = p[0] / p[2];
        if (!(column >= -(double)weights.before && column < COLUMNS - 1 + (double)weights.after)) continue;
        int left = (int)floor(column);
        double part = column - left;
        value +=
            weights.view[i] / (p[2] * p[2]) *
            ((1 - part) * filtered(samples, left, weights.pitch) + part * filtered(samples, left + 1, weights.pitch));
    }
    qb__cone_weights_destroy(&weights);
    return value;
}

static void finds_within(const char *what, qb_geometry geometry, double error) {
    const double at[][2] = {{12, -7}, {2, 3}, {25, -20}, {-30, 20}, {40, 20}};
    for (size_t i = 0; i < 5; i++) {
        double r = hypot(at[i][0] - 12, at[i][1] + 7), truth = r < 30 ? 1 - r * r / 900 : 0;
        double value = reconstruct(&geometry, at[i][0], at[i][1]);
        if (!(fabs(value - truth) < error))
            fail_msg("%s at %g, %g: %g, not %g", what, at[i][0], at[i][1], value, truth);
    }
    qb_geometry_destroy(&geometry);
}

static void finds_the_object(const char *what, qb_geometry geometry) { finds_within(what, geometry, 1e-3); }

/* A detector rotated about z through its middle, as if the source were off the detector's normal. */
static void slant(qb_geometry *geometry, double angle) {
    double c = cos(angle), s = sin(angle), half = 0.5 * (COLUMNS - 1);
    for (size_t i = 0; i < geometry->views; i++) {
        qb_view *view = &geometry->view[i];
        double u[2] = {view->u[0], view->u[1]};
        view->u[0] = c * u[0] - s * u[1];
        view->u[1] = s * u[0] + c * u[1];
        for (int j = 0; j < 2; j++) view->detector[j] += half * (u[j] - view->u[j]);
    }
}

static void move_sources(qb_geometry *geometry, double by) {
    for (size_t i = 0; i < geometry->views; i++) {
        double part = 1 + by * sin(2 * pi * (double)i / (double)geometry->views);
        for (int j = 0; j < 2; j++) geometry->view[i].source[j] *= part;
    }
}

static qb_geometry uneven(void) {
    double angles[500];
    size_t n = 0;
    qb_geometry geometry;
    for (double t = 0; t < 2 * pi && n < 500; t += uniform(0.006, 0.022)) angles[n++] = t;
    assert_int_equal(qb_geometry_cone(n, angles, 1, COLUMNS, 0.8, 0.8, 400, 700, 0, 0, &geometry), QB_OK);
    return geometry;
}

static void inversions(void **state) {
    (void)state;
    finds_the_object("full scan", scan(500, 360, 0, 0));
    finds_the_object("overlapping ends", scan(502, 361.3, 5, 0));
    finds_the_object("repeated end", scan(501, 360.0 * 501 / 500, 5, 0));
    finds_the_object("one and a half turns", scan(700, 540, 5, 0));
    finds_the_object("uneven", uneven());
    finds_the_object("short scan", scan(400, 205, 33, 0));
    finds_the_object("over-scan", scan(400, 280, -120, 0));
    finds_the_object("half fan", scan(500, 360, 0, 90));
    finds_the_object("half fan to the left", scan(500, 360, 0, -90));
    finds_the_object("half fan, overlapping ends", scan(502, 361.3, 0, -90));
    qb_geometry slanted = scan(500, 360, 0, 0), moved = scan(500, 360, 0, 0);
    slant(&slanted, 0.15);
    finds_the_object("slanted detector", slanted);
    move_sources(&moved, 0.01);
    finds_the_object("distance that varies", moved);
}

/* Opposite rays replace all that is missing, except in the last two cases, whose gaps are filled by the views next to
 * them. */
static void inversions_with_gaps(void **state) {
    (void)state;
    const range dense[] = {{0, 180, 0.5}, {180, 360, 2}}, short_scan[] = {{0, 110, 0.5}, {110, 220, 1.5}};
    const range one[] = {{0, 60, 0.6}, {64.8, 360, 0.6}}, two[] = {{0, 60, 0.6}, {90, 200, 0.6}, {210, 360, 0.6}};
    const range cut[] = {{0, 30, 0.5}, {45, 270, 0.5}}, opposite[] = {{0, 60, 0.6}, {66, 240, 0.6}, {246, 360, 0.6}};
    finds_the_object("dense and sparse", in_ranges(dense, 2, 0));
    finds_the_object("dense and sparse short scan", in_ranges(short_scan, 2, 0));
    finds_the_object("one gap", in_ranges(one, 2, 0));
    finds_the_object("two gaps", in_ranges(two, 3, 0));
    finds_the_object("a short scan with a gap", in_ranges(cut, 2, 0));
    finds_within("opposite gaps", in_ranges(opposite, 3, 0), 0.005);
    finds_within("half fan with a gap", in_ranges(one, 2, 80), 0.01);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_scans),
        cmocka_unit_test(no_weight_jumps),
        cmocka_unit_test(offset_detectors),
        cmocka_unit_test(full_scan_is_constant),
        cmocka_unit_test(missing_angle_is_told),
        cmocka_unit_test(a_detector_off_the_axis_is_refused),
        cmocka_unit_test(weights_sum_to_the_turn),
        cmocka_unit_test(missing_rays_are_counted),
        cmocka_unit_test(inversions),
        cmocka_unit_test(inversions_with_gaps),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
