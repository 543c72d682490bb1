/* SPDX-License-Identifier: MIT */
/* Numbers in files and options keep their decimal point in a program whose locale has a comma. */
#include "check.h"

#include <locale.h>
#include <unistd.h>

#include "base/number.h"
#include "quickbeam/geometry.h"
#include "quickbeam/io.h"
#include "quickbeam/recon.h"

static char folder[] = "/tmp/qb-number-XXXXXX", path[96];

static const char *in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    setlocale(LC_ALL, "C");
    return rmdir(folder);
}

static void plain_numbers(void **state) {
    (void)state;
    char *end, text[32];
    double three[3] = {0};
    const char *rest;
    assert_true(qb__strtod("1.5,2", &end) == 1.5);
    assert_string_equal(end, ",2");
    assert_int_equal(qb__print(text, sizeof text, "%.2f|%s", 0.25, "x"), 6);
    assert_string_equal(text, "0.25|x");
    assert_int_equal(qb__read_numbers("1:-2.5:3e2:4", ':', 3, three, &rest), 3);
    assert_true(three[0] == 1 && three[1] == -2.5 && three[2] == 300);
    assert_string_equal(rest, ":4");
    assert_int_equal(qb__read_numbers(" 1 2\t.5x", 0, 3, three, &rest), 3);
    assert_true(three[2] == 0.5);
    assert_string_equal(rest, "x");
    assert_int_equal(qb__read_numbers("1:", ':', 3, three, &rest), 1);
    assert_string_equal(rest, ":");
    assert_int_equal(qb__read_numbers("", ':', 3, three, NULL), 0);
}

/* Skips the test where no such locale is installed. */
static void use_comma(void) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "de_DE",      "fr_FR.UTF-8",
                                        "fr_FR.utf8",  "nl_NL.UTF-8", "es_ES.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_ALL, names[i]) && *localeconv()->decimal_point == ',') return;
    }
    setlocale(LC_ALL, "C");
    print_message("no locale with a decimal comma is installed (locales: de_DE.UTF-8)\n");
    skip();
}

static void settings_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value; /* NAN: no number */
    } rows[] = {{"1.5", 1.5},    {"1,5", 1.5},   {"2e3", 2000},    {"-1.5e-2 mm", -0.015},
                {"3mm", 3},      {"90 deg", 90}, {"7.5kV", 7.5},   {"1e", NAN},
                {"1E+", NAN},    {"1e mm", NAN}, {"1d5", NAN},     {"0x10", NAN},
                {"-0X1p3", NAN}, {"5x", NAN},    {"1_000", NAN},   {"inf", NAN},
                {"nan", NAN},    {"3;4", NAN},   {"1,234.5", NAN}, {"1 2", NAN},
                {"2 cm", NAN},   {"", NAN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = 77;
        assert_int_equal(qb__setting_number(rows[i].text, &value), !isnan(rows[i].value));
        assert_true(isnan(rows[i].value) ? value == 77 : value == rows[i].value);
    }
    char *end;
    assert_true(qb__strtod(" 0x10", &end) == 0 && *end == ' ');
}

static void with_a_comma(void **state) {
    use_comma();
    plain_numbers(state);
    char text[32];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* the process itself keeps its comma */
}

static void options_with_a_comma(void **state) {
    (void)state;
    use_comma();
    qb_fdk_options options = {0};
    char text[64];
    assert_ok(qb_param_set(qb_param_find(qb_fdk_params, "voxel"), &options, "0.125"));
    assert_true(options.voxels.count == 1 && options.voxels.value[0] == 0.125);
    assert_ok(qb_param_set(qb_param_find(qb_fdk_params, "offset"), &options, "1.5,-2.25,3"));
    assert_true(options.offset.count == 3 && options.offset.value[1] == -2.25);
    assert_true(qb_param_get(qb_param_find(qb_fdk_params, "offset"), &options, text, sizeof text));
    assert_string_equal(text, "1.5,-2.25,3");
    double radians[2], u, v;
    assert_ok(qb_angles_parse("0.5:180.5:2", 2, radians));
    assert_true(fabs(radians[0] - 0.5 / 57.29577951308232) < 1e-12);
    assert_ok(qb_detector_offset_parse("1.5,2.5px", 2, 2, &u, &v));
    assert_true(u == 3 && v == 5);
    qb_params_clear(qb_fdk_params, &options);
}

static void files_with_a_comma(void **state) {
    (void)state;
    use_comma();
    const qb_detector detector = {.rows = 9, .columns = 11, .pixel_u = 0.35, .pixel_v = 0.35};
    const double angles[2] = {0.1, 0.7};
    qb_geometry written, read;
    assert_ok(qb_geometry_cone(2, angles, 9, 11, 0.35, 0.35, 100.5, 170.25, 0.4, 0.3, &written));
    const char *const names[] = {"g.json", "g.txt", "g.xml"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(qb_geometry_save(in_folder(names[i]), &written));
        qb_status status = qb_geometry_load(path, &detector, NULL, &read);
        unlink(path);
        if (status == QB_UNSUPPORTED && i == 2) continue; /* built without expat */
        assert_ok(status);
        for (int j = 0; j < 3; j++) assert_true(fabs(read.view[1].source[j] - written.view[1].source[j]) < 1e-9);
        qb_geometry_destroy(&read);
    }
    qb_geometry_destroy(&written);
}

static void volumes_with_a_comma(void **state) {
    (void)state;
    use_comma();
    const float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const char *const names[] = {"v.mha", "v.npy", "v.tif"};
    for (size_t i = 0; i < 3; i++) {
        qb_stack stack = {.dtype = QB_F32,
                          .shape = {2, 2, 2},
                          .voxel = {0.25, 0.5, 0.75},
                          .units = "1/mm",
                          .quantity = "attenuation",
                          .description = "test"};
        qb_writer *writer;
        qb_array array;
        double voxel[3];
        qb_status status = qb_writer_create(in_folder(names[i]), &stack, &writer);
        if (status == QB_UNSUPPORTED) continue;
        assert_ok(status);
        assert_ok(qb_writer_write(writer, 0, 2, values));
        assert_ok(qb_writer_commit(writer, "{\"share\": 0.5}"));
        assert_ok(qb_array_load(path, NULL, &array, voxel));
        assert_true(voxel[0] == 0.25 && voxel[1] == 0.5 && voxel[2] == 0.75);
        qb_array_destroy(&array);
        unlink(path);
        strcat(path, ".json");
        unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_numbers),      cmocka_unit_test(settings_numbers),
        cmocka_unit_test(with_a_comma),       cmocka_unit_test(options_with_a_comma),
        cmocka_unit_test(files_with_a_comma), cmocka_unit_test(volumes_with_a_comma),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
