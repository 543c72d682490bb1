/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "geometry/matrix.h"
#include "quickbeam/geometry.h"

static const double degree = 3.14159265358979323846 / 180;
static const qb_detector detector = {.rows = 41, .columns = 61, .pixel_u = 0.5, .pixel_v = 0.25};
static char folder[] = "/tmp/qb-geometry-XXXXXX", path[64];

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static qb_status load(const char *text, const qb_detector *given, qb_geometry *geometry) {
    snprintf(path, sizeof path, "%s/given", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    qb_status status = qb_geometry_load(path, given, NULL, geometry);
    unlink(path);
    return status;
}

static void refused(const char *text, qb_status code, const char *says) {
    qb_geometry geometry;
    assert_int_equal(load(text, &detector, &geometry), code);
    assert_null(geometry.view);
    if (!strstr(qb_detail(), says)) fail_msg("'%s' does not say '%s'", qb_detail(), says);
}

/* Checks that two geometries put the same points on the same pixels. */
static void same_images(const qb_geometry *a, const qb_geometry *b, double bound) {
    assert_int_equal(a->beam, b->beam);
    assert_int_equal(a->views, b->views);
    for (size_t i = 0; i < a->views; i++) {
        for (int corner = 0; corner < 8; corner++) {
            double at[3] = {corner & 1 ? 9 : -8, corner & 2 ? 7 : -6, corner & 4 ? 5 : -4};
            double p[3], q[3];
            qb__matrix m, n;
            assert_int_equal(qb__matrix_of_view(a->beam, &a->view[i], &m), QB_OK);
            assert_int_equal(qb__matrix_of_view(b->beam, &b->view[i], &n), QB_OK);
            qb__matrix_apply(&m, at[0], at[1], at[2], p);
            qb__matrix_apply(&n, at[0], at[1], at[2], q);
            assert_true(fabs(p[0] / p[2] - q[0] / q[2]) < bound);
            assert_true(fabs(p[1] / p[2] - q[1] / q[2]) < bound);
        }
    }
}

#define XML "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n"
#define ROOT XML "<RTKThreeDCircularGeometry version=\"3\">\n"
#define DISTANCES                                                                                                      \
    "<SourceToIsocenterDistance>100</SourceToIsocenterDistance>\n"                                                     \
    "<SourceToDetectorDistance>200</SourceToDetectorDistance>\n"
#define TWO                                                                                                            \
    "<Projection><GantryAngle>0</GantryAngle></Projection>\n"                                                          \
    "<Projection><GantryAngle>30</GantryAngle></Projection>\n"
#define END "</RTKThreeDCircularGeometry>\n"

static qb_geometry circle(double u, double v) {
    double angles[2] = {0, 30 * degree};
    qb_geometry geometry;
    assert_int_equal(qb_geometry_cone(2, angles, 41, 61, 0.5, 0.25, 100, 200, u, v, &geometry), QB_OK);
    return geometry;
}

/* Loads a file with this text between the distances and the projections. It must give the geometry `expected`. */
static void means(const char *fields, qb_geometry expected) {
    char text[1024];
    qb_geometry geometry;
    snprintf(text, sizeof text, "%s%s%s%s", ROOT DISTANCES, fields, TWO, END);
    qb_status status = load(text, &detector, &geometry);
    if (status != QB_OK) fail_msg("%s", qb_detail());
    same_images(&geometry, &expected, 1e-9);
    qb_geometry_destroy(&geometry);
    qb_geometry_destroy(&expected);
}

static void rtk_circle_and_gantry_angle(void **state) {
    (void)state;
    means("", circle(0, 0));
}

static void rtk_projection_offsets(void **state) {
    (void)state;
    means("<ProjectionOffsetX>3</ProjectionOffsetX><ProjectionOffsetY>-2</ProjectionOffsetY>", circle(3, -2));
}

/* The source moves along the columns (cos t, sin t, 0) and along the rows z. The detector stays. */
static void rtk_source_offsets(void **state) {
    (void)state;
    qb_geometry expected = circle(0, 0);
    for (int i = 0; i < 2; i++) {
        expected.view[i].source[0] += 4 * cos(30 * degree * i);
        expected.view[i].source[1] += 4 * sin(30 * degree * i);
        expected.view[i].source[2] += -5;
    }
    means("<SourceOffsetX>4</SourceOffsetX><SourceOffsetY>-5</SourceOffsetY>", expected);
}

/* The detector turns about (-sin t, cos t, 0), the direction of the rays. A positive angle turns columns towards -z. */
static void rtk_in_plane_angle(void **state) {
    (void)state;
    qb_geometry_options options = {.sod = 100, .sdd = 200, .tilt = {1, {-20}}};
    double angles[2] = {0, 30 * degree};
    qb_geometry expected;
    assert_int_equal(qb_geometry_make(&options, 2, angles, &detector, NULL, &expected), QB_OK);
    means("<InPlaneAngle>20</InPlaneAngle>", expected);
}

/* At gantry angle 0 the source moves down, or up, on its circle about the x axis. The detector stays opposite. */
static void rtk_out_of_plane_angle(void **state) {
    (void)state;
    qb_geometry geometry;
    assert_int_equal(load(ROOT DISTANCES "<OutOfPlaneAngle>10</OutOfPlaneAngle>" TWO END, &detector, &geometry), QB_OK);
    double c = cos(10 * degree), s = sin(10 * degree);
    const qb_view *view = geometry.view;
    assert_true(fabs(view->source[1] + 100 * c) < 1e-9);
    assert_true(fabs(view->source[2] + 100 * s) < 1e-9);
    assert_true(fabs(view->detector[1] + 20 * view->v[1] - 100 * c) < 1e-9);
    assert_true(fabs(view->detector[2] + 20 * view->v[2] - 100 * s) < 1e-9);
    assert_true(fabs(view->u[0] - 0.5) < 1e-12);
    qb_geometry_destroy(&geometry);
}

static void rtk_parallel_radius_and_per_view_fields(void **state) {
    (void)state;
    qb_geometry geometry, expected;
    double angles[2] = {0, 30 * degree};
    assert_int_equal(load(ROOT "<SourceToIsocenterDistance>100</SourceToIsocenterDistance>"
                               "<SourceToDetectorDistance>0</SourceToDetectorDistance>" TWO END,
                          &(qb_detector){41, 61, 0.5, 0.5, 0, 0}, &geometry),
                     QB_OK);
    assert_int_equal(qb_geometry_parallel(2, angles, 41, 61, 0.5, 30, &expected), QB_OK);
    same_images(&geometry, &expected, 1e-9);
    qb_geometry_destroy(&geometry);
    qb_geometry_destroy(&expected);

    assert_int_equal(load(ROOT "<RadiusCylindricalDetector>200</RadiusCylindricalDetector>"
                               "<Projection><GantryAngle>0</GantryAngle>" DISTANCES "</Projection>"
                               "<Projection><GantryAngle>30</GantryAngle>"
                               "<SourceToIsocenterDistance>90</SourceToIsocenterDistance></Projection>" END,
                          &detector, &geometry),
                     QB_OK);
    assert_true(geometry.radius == 200);
    assert_true(fabs(geometry.view[0].source[1] + 100) < 1e-12);
    assert_true(fabs(hypot(geometry.view[1].source[0], geometry.view[1].source[1]) - 90) < 1e-12);
    qb_geometry_destroy(&geometry);
}

static void rtk_matrix_is_checked_or_taken(void **state) {
    (void)state;
#define MATRIX(x) "<Matrix>-200 0 0 0\n 0 -200 0 0\n 0 0 1 " x "</Matrix>"
#define ONE(m) "<Projection><GantryAngle>0</GantryAngle>" m "</Projection>"
    qb_geometry geometry, expected = circle(0, 0);
    expected.views = 1;
    assert_int_equal(load(ROOT DISTANCES ONE(MATRIX("-100")) END, &detector, &geometry), QB_OK);
    same_images(&geometry, &expected, 1e-9);
    qb_geometry_destroy(&geometry);
    assert_int_equal(load(ROOT "<Projection>" MATRIX("-100") "</Projection>" END, &detector, &geometry), QB_OK);
    same_images(&geometry, &expected, 1e-9);
    qb_geometry_destroy(&geometry);
    qb_geometry_destroy(&expected);
    refused(ROOT DISTANCES ONE(MATRIX("-101")) END, QB_BAD_INPUT, "pixels away");
}

static void bad_xml_is_refused(void **state) {
    (void)state;
    refused(ROOT DISTANCES TWO, QB_BAD_INPUT, "no element found");
    refused(ROOT DISTANCES END, QB_BAD_INPUT, "no Projection");
    refused(ROOT TWO END, QB_BAD_INPUT, "no SourceToIsocenterDistance");
    refused(ROOT DISTANCES "<Projection></Projection>" END, QB_BAD_INPUT, "no GantryAngle");
    refused(ROOT DISTANCES TWO "<Projection></Projection>" END, QB_BAD_INPUT, "view 2");
    refused(ROOT DISTANCES "<Projection><GantryAngle>x</GantryAngle></Projection>" END, QB_BAD_INPUT,
            "'x' is not a number");
    refused(ROOT DISTANCES "<SourceOffsetX>1 2</SourceOffsetX>" TWO END, QB_BAD_INPUT, "'2' after");
    refused(ROOT DISTANCES "<SourceOffsetX>inf</SourceOffsetX>" TWO END, QB_BAD_INPUT, "inf");
    refused(ROOT DISTANCES TWO "<SourceToDetectorDistance>0</SourceToDetectorDistance>"
                               "<Projection><GantryAngle>1</GantryAngle></Projection>" END,
            QB_BAD_INPUT, "view 2");
    refused(XML "<RTKThreeDCircularGeometry version=\"1\">" END, QB_UNSUPPORTED, "version is 1");
    refused(XML "<Foo version=\"3\"></Foo>", QB_UNSUPPORTED, "<Foo>");
    refused("<?xml version=\"1.0\"?><!DOCTYPE R [<!ENTITY a \"b\">]><R/>", QB_BAD_INPUT, "entity");
    qb_geometry geometry;
    qb_detector no_pitch = {.rows = 4, .columns = 4};
    assert_int_equal(load(ROOT DISTANCES TWO END, &no_pitch, &geometry), QB_BAD_ARGUMENT);
    assert_int_equal(load(ROOT DISTANCES TWO END, NULL, &geometry), QB_BAD_ARGUMENT);
}

/* A geometry in which everything is skewed, as far as vectors can say it, or as far as RTK can. */
static qb_geometry crooked(bool orthogonal) {
    qb_geometry_options options = {
        .sod = 100, .sdd = 200, .offset = (char *)"3,-2", .tilt = {3, {4, 5, -6}}, .jitter = {4, {0.5, 0.25, 3, 20}}};
    double angles[5] = {0.1, 0.4, 1.5, 4, 6};
    qb_geometry geometry;
    assert_int_equal(qb_geometry_make(&options, 5, angles, &detector, NULL, &geometry), QB_OK);
    geometry.view[2].source[2] += 1;
    if (!orthogonal) geometry.view[3].u[2] += 0.01;
    return geometry;
}

static qb_geometry through(const char *ending, const qb_geometry *geometry) {
    qb_geometry back;
    snprintf(path, sizeof path, "%s/file%s", folder, ending);
    if (qb_geometry_save(path, geometry) != QB_OK) fail_msg("%s", qb_detail());
    if (qb_geometry_load(path, &detector, NULL, &back) != QB_OK) fail_msg("%s", qb_detail());
    unlink(path);
    return back;
}

static void saved_files_come_back(void **state) {
    (void)state;
    qb_geometry skewed = crooked(false), straight = crooked(true);
    straight.radius = 180;
    qb_geometry json = through(".json", &skewed), bent = through(".json", &straight);
    assert_memory_equal(json.view, skewed.view, 5 * sizeof *json.view);
    assert_memory_equal(bent.view, straight.view, 5 * sizeof *bent.view);
    assert_true(bent.radius == 180 && bent.rows == 41 && bent.columns == 61);
    straight.radius = 0;
    qb_geometry csv = through(".csv", &straight), xml = through(".xml", &straight);
    same_images(&csv, &straight, 1e-9);
    same_images(&xml, &straight, 1e-9);
    snprintf(path, sizeof path, "%s/x.xml", folder);
    assert_int_equal(qb_geometry_save(path, &skewed), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "view 3: "));
    snprintf(path, sizeof path, "%s/x.foo", folder);
    assert_int_equal(qb_geometry_save(path, &skewed), QB_BAD_ARGUMENT);
    skewed.radius = 180;
    snprintf(path, sizeof path, "%s/bent.json", folder);
    assert_int_equal(qb_geometry_save(path, &skewed), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "view 3: rows and columns of the curved detector"));
    qb_geometry *all[] = {&skewed, &straight, &json, &bent, &csv, &xml};
    for (int i = 0; i < 6; i++) qb_geometry_destroy(all[i]);
}

#define JSON "{\"quickbeam_geometry\": 1, \"units\": \"mm\", \"beam\": \"cone\", "
#define SHAPE "\"rows\": 41, \"columns\": 61, "
#define SIZES "\"sod\": 100, \"sdd\": 200, \"pixel_size\": [0.5, 0.25], "

static void json_circles(void **state) {
    (void)state;
    qb_geometry geometry, expected = circle(3, -2);
    assert_int_equal(load(JSON SHAPE SIZES "\"offset\": [3, -2], \"angles_degrees\": [0, 30]}", NULL, &geometry),
                     QB_OK);
    same_images(&geometry, &expected, 1e-9);
    qb_geometry_destroy(&geometry);
    assert_int_equal(load(JSON SHAPE SIZES "\"offset\": [3, -2], "
                                           "\"angles_degrees\": {\"from\": 0, \"to\": 60, "
                                           "\"count\": 2}}",
                          NULL, &geometry),
                     QB_OK);
    same_images(&geometry, &expected, 1e-9);
    qb_geometry_destroy(&geometry);
    qb_geometry_destroy(&expected);
}

static void bad_json_is_refused(void **state) {
    (void)state;
    refused("{", QB_BAD_INPUT, "not JSON");
    refused("{\"quickbeam_geometry\": 1, \"units\": \"cm\"}", QB_BAD_INPUT, "'units' is 'cm'");
    refused("{\"quickbeam_geometry\": 2}", QB_UNSUPPORTED, "version is 2");
    refused(JSON "\"sdo\": 3}", QB_BAD_INPUT, "'sdo'");
    refused(JSON "\"rows\": -1}", QB_BAD_INPUT, "'rows' is -1");
    refused(JSON "\"rows\": 1e99}", QB_BAD_INPUT, "'rows' is 1e+99");
    refused(JSON SHAPE "\"sod\": 1}", QB_BAD_INPUT, "neither 'views' nor");
    refused(JSON SHAPE "\"views\": []}", QB_BAD_INPUT, "0 views");
    refused(JSON SHAPE "\"views\": [{\"source\": [1, 2]}]}", QB_BAD_INPUT, "view 0: 'source'");
    refused(JSON SHAPE SIZES "\"angles_degrees\": [1, \"x\"]}", QB_BAD_INPUT, "angle 1");
    refused(JSON SHAPE "\"sod\": 300, \"sdd\": 200, \"pixel_size\": [1, 1], "
                       "\"angles_degrees\": [1]}",
            QB_BAD_INPUT, "300");
    refused(JSON "\"rows\": 40, \"columns\": 61, " SIZES "\"angles_degrees\": [0]}", QB_BAD_INPUT,
            "40 rows of 61 columns, the projections have 41 of 61");
}

static void matrix_files(void **state) {
    (void)state;
    refused("1 2 3 4 5 6 7 8 9 10 11", QB_BAD_INPUT, "11 numbers");
    refused("1 2 3 4\n5 6 seven 8", QB_BAD_INPUT, "line 2: 'seven'");
    refused("1 0 0 0  0 1 0 0  1 1 0 0", QB_BAD_INPUT, "view 0: the matrix is singular");
    refused("", QB_BAD_INPUT, "0 numbers");
    qb_geometry geometry, expected = circle(0, 0);
    expected.views = 1;
    /* column = 30 + x 200 / 0.5 / (y + 100), row = 20 + z 200 / 0.25 / (y + 100). The matrix is multiplied by -3. */
    assert_int_equal(
        load("# a comment\n[-1200, -90, 0, -9000;\n 0, -60, -2400, -6000\n 0 -3 0 -300]", &detector, &geometry), QB_OK);
    same_images(&geometry, &expected, 1e-9);
    assert_true(fabs(geometry.view->source[1] + 100) < 1e-9);
    qb_geometry_destroy(&geometry);
    qb_geometry_destroy(&expected);
}

static void npy_matrices(void **state) {
    (void)state;
    const double matrix[12] = {-1200, -90, 0, -9000, 0, -60, -2400, -6000, 0, -3, 0, -300};
    char header[128] = "\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'fortran_order': False, "
                       "'shape': (1, 3, 4), }";
    for (size_t i = 10 + strlen(header + 10); i < 127; i++) header[i] = ' ';
    header[127] = '\n';
    snprintf(path, sizeof path, "%s/m.npy", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(header, 1, sizeof header, file);
    fwrite(matrix, sizeof *matrix, 12, file);
    fclose(file);
    qb_geometry geometry, expected = circle(0, 0);
    expected.views = 1;
    if (qb_geometry_load(path, &detector, NULL, &geometry) != QB_OK) fail_msg("%s", qb_detail());
    same_images(&geometry, &expected, 1e-9);
    assert_int_equal(truncate(path, 200), 0);
    qb_geometry_destroy(&geometry);
    assert_int_equal(qb_geometry_load(path, &detector, NULL, &geometry), QB_BAD_INPUT);
    unlink(path);
    qb_geometry_destroy(&expected);
}

static void offsets_are_parsed(void **state) {
    (void)state;
    double u, v;
    assert_int_equal(qb_detector_offset_parse("1.5,-2", 0.5, 0.25, &u, &v), QB_OK);
    assert_true(u == 1.5 && v == -2);
    assert_int_equal(qb_detector_offset_parse("-0.3px", 0.5, 0.25, &u, &v), QB_OK);
    assert_true(fabs(u + 0.15) < 1e-15 && v == 0);
    assert_int_equal(qb_detector_offset_parse("1,2mm", 0.5, 0.25, &u, &v), QB_OK);
    assert_int_equal(qb_detector_offset_parse("1,", 0.5, 0.25, &u, &v), QB_BAD_ARGUMENT);
    assert_int_equal(qb_detector_offset_parse("1,2cm", 0.5, 0.25, &u, &v), QB_BAD_ARGUMENT);
    assert_int_equal(qb_detector_offset_parse("1,2px", 0, 0, &u, &v), QB_BAD_ARGUMENT);
}

static void a_file_stands_alone(void **state) {
    (void)state;
    qb_geometry_options options = {.geometry = (char *)"none.json", .sod = 3};
    qb_geometry geometry;
    assert_int_equal(qb_geometry_make(&options, 2, NULL, &detector, NULL, &geometry), QB_BAD_ARGUMENT);
    options.sod = 0;
    assert_int_equal(qb_geometry_make(&options, 2, NULL, &detector, NULL, &geometry), QB_NOT_FOUND);
}

static void described(void **state) {
    (void)state;
    double angles[360];
    qb_geometry geometry;
    qb_geometry_info info = {.struct_size = sizeof info};
    for (int i = 0; i < 360; i++) angles[i] = i * degree;
    assert_int_equal(qb_geometry_cone(360, angles, 41, 61, 0.5, 0.25, 100, 200, 0.5, -2, &geometry), QB_OK);
    assert_int_equal(qb_geometry_describe(&geometry, &info), QB_OK);
    assert_true(info.circular && info.circular_error < 1e-9);
    assert_true(info.magnification == 2 && fabs(info.sod - 100) < 1e-9);
    assert_true(fabs(info.offset_u - 0.5) < 1e-9 && fabs(info.offset_v + 2) < 1e-9);
    assert_true(fabs(info.field_height - 41 * 0.25 / 2) < 1e-9);
    assert_true(info.weights == QB_REDUNDANCY_NONE && info.missing == 0);
    assert_true(fabs(info.field_radius - 100 * sin(atan2(14.5, 200))) < 1e-9);
    assert_true(fabs(info.coverage - 360) < 1e-9 && fabs(info.gap - 1) < 1e-6);
    geometry.view[7].source[2] += 0.5;
    geometry.views = 190;
    assert_int_equal(qb_geometry_describe(&geometry, &info), QB_OK);
    assert_true(!info.circular && info.circular_error > 0.5);
    assert_true(info.weights == QB_REDUNDANCY_PARKER && info.z_range == 0.5);
    assert_true(fabs(info.coverage - 190) < 1e-6 && fabs(info.gap - 171) < 1e-6);
    qb_geometry_destroy(&geometry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if QB_HAVE_EXPAT
        cmocka_unit_test(rtk_circle_and_gantry_angle),
        cmocka_unit_test(rtk_projection_offsets),
        cmocka_unit_test(rtk_source_offsets),
        cmocka_unit_test(rtk_in_plane_angle),
        cmocka_unit_test(rtk_out_of_plane_angle),
        cmocka_unit_test(rtk_parallel_radius_and_per_view_fields),
        cmocka_unit_test(rtk_matrix_is_checked_or_taken),
        cmocka_unit_test(bad_xml_is_refused),
        cmocka_unit_test(saved_files_come_back),
#endif
        cmocka_unit_test(json_circles),
        cmocka_unit_test(bad_json_is_refused),
        cmocka_unit_test(matrix_files),
        cmocka_unit_test(npy_matrices),
        cmocka_unit_test(offsets_are_parsed),
        cmocka_unit_test(a_file_stands_alone),
        cmocka_unit_test(described),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
