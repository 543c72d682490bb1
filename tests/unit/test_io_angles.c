/* SPDX-License-Identifier: MIT */
#include "io_files.h"

static void ranges(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t first, end, step;
    } good[] = {
        {NULL, 0, 10, 1},       {"", 0, 10, 1},    {":", 0, 10, 1},     {"2:", 2, 10, 1}, {":7", 0, 7, 1},
        {"2:7:3", 2, 7, 3},     {"-3:", 7, 10, 1}, {":-1", 0, 9, 1},    {"4", 4, 5, 1},   {"-1", 9, 10, 1},
        {"0:10:10", 0, 10, 10}, {"::2", 0, 10, 2}, {"-1:10", 9, 10, 1}, {"-3", 7, 8, 1},
    };
    static const char *const bad[] = {"10:",
                                      "3:3",
                                      "5:2",
                                      "0:11",
                                      "a:b",
                                      "1:2:0",
                                      "1:2:-1",
                                      "1:2:3:4",
                                      "-11:",
                                      "1.5:3",
                                      "10",
                                      "-11",
                                      " 1:2",
                                      "9223372036854775807",
                                      "-9223372036854775808:",
                                      "1: 2"};
    size_t first, end, step;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(qb_range_parse(good[i].text, "--slices", 10, &first, &end, &step));
        if (first != good[i].first || end != good[i].end || step != good[i].step)
            fail_msg("%s gave %zu:%zu:%zu", good[i].text, first, end, step);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (qb_range_parse(bad[i], "--slices", 10, &first, &end, &step) != QB_BAD_ARGUMENT)
            fail_msg("%s was taken as %zu:%zu:%zu", bad[i], first, end, step);
}

static void expect(const char *text, const double *degrees, size_t n) {
    double radians[16];
    assert_ok(qb_angles_parse(text, n, radians));
    for (size_t i = 0; i < n; i++) assert_close(radians[i] * 180.0 / 3.14159265358979323846, degrees[i], 1e-9);
}

static void refuse(const char *text, qb_status status, const char *words) {
    double radians[4];
    assert_status(qb_angles_parse(text, 4, radians), status);
    if (!strstr(qb_detail(), words)) fail_msg("\"%s\" does not say \"%s\"", qb_detail(), words);
}

/* More than eight angles, all within a little over 2 pi, may be radians. The library then asks for the unit. */
static void radians_are_asked_for(void **state) {
    (void)state;
    static const double degrees[10] = {0, 20, 40, 60, 80, 100, 120, 140, 160, 180};
    char text[600], path[600];
    double radians[10];
    snprintf(path, sizeof path, "%s", in_folder("r.txt"));
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 10; i++) fprintf(file, "%.15f\n", degrees[i] / 180.0 * 3.14159265358979323846);
    fclose(file);
    assert_status(qb_angles_parse(path, 10, radians), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "degrees or radians?"));
    snprintf(text, sizeof text, "%s:rad", path);
    expect(text, degrees, 10);
    snprintf(text, sizeof text, "%s:2:6:rad", path);
    expect(text, degrees + 2, 4);
    expect("0:3.14159265358979323846:rad", (double[]){0, 90}, 2);
    expect("0:180:2:deg", (double[]){0, 90}, 2);
    snprintf(text, sizeof text, "%s:deg", path);
    assert_ok(qb_angles_parse(text, 10, radians));
    assert_close(radians[9], 3.14159265358979 * 3.14159265358979 / 180, 1e-9);
}

static void spans(void **state) {
    (void)state;
    expect("0:180", (double[]){0, 45, 90, 135}, 4);
    expect("0:180:4", (double[]){0, 45, 90, 135}, 4);
    expect("90:-90", (double[]){90, 45, 0, -45}, 4);
    expect("1e1:2e1", (double[]){10, 12.5, 15, 17.5}, 4);
    refuse("0:180:5", QB_BAD_INPUT, "5 angles for 4 views");
    refuse("0:180:x", QB_NOT_FOUND, "neither");
    refuse("nothing", QB_NOT_FOUND, "neither");
}

static const char *with(const char *path, const char *choice) {
    static char text[600];
    snprintf(text, sizeof text, "%s%s", path, choice);
    return text;
}

static void lists(void **state) {
    (void)state;
    const char *one = in_folder("one.txt"), *csv = in_folder("csv.csv"), *tab = in_folder("tab.csv");
    static const char lines[] = "# degrees\n\n1\n2.5\n 3 \r\n4e0\n5\n6\n7\n8\n";
    put_file(one, lines, sizeof lines - 1);
    expect(with(one, ""), (double[]){1, 2.5, 3, 4, 5, 6, 7, 8}, 8);
    expect(with(one, ":2:6"), (double[]){3, 4, 5, 6}, 4);
    expect(with(one, "::4"), (double[]){1, 2.5, 3, 4}, 4);
    expect(with(one, ":0:8:2"), (double[]){1, 3, 5, 7}, 4);
    expect(with(one, "::::2"), (double[]){1, 3, 5, 7}, 4);
    expect(with(one, ":1:4::"), (double[]){5, 6, 7, 8}, 4);
    refuse(with(one, ""), QB_BAD_INPUT, "8 angles");
    refuse(with(one, ":2"), QB_BAD_INPUT, "column 2");
    refuse(with(one, ":0"), QB_BAD_ARGUMENT, "COLUMN");
    refuse(with(one, ":1:2:3:4:5"), QB_BAD_ARGUMENT, "COLUMN");
    refuse(with(one, ":a"), QB_BAD_ARGUMENT, "COLUMN");
    refuse(with(one, ":2:100"), QB_BAD_ARGUMENT, "0:8");
    static const char comma[] = "file,angle\na,10\nb,20\nc,30\nd,40\n";
    put_file(csv, comma, sizeof comma - 1);
    expect(with(csv, ":2"), (double[]){10, 20, 30, 40}, 4);
    expect(with(csv, ""), (double[]){10, 20, 30, 40}, 4);
    static const char twice[] = "angle,angle\n1,10\n2,20\n3,30\n4,40\n";
    put_file(csv, twice, sizeof twice - 1);
    refuse(with(csv, ""), QB_BAD_ARGUMENT, "2 columns");
    expect(with(csv, ":2"), (double[]){10, 20, 30, 40}, 4);
    static const char tabs[] = ".\tImage path\t\n1.552\tPixel size\t\n\t\t\nP 1.tif\t181.79\t0\n"
                               "P 2.tif\t181.2\t0\nP 3.tif\t180.62\t0\nP 4.tif\t180\t0\n";
    put_file(tab, tabs, sizeof tabs - 1);
    expect(with(tab, ":2"), (double[]){181.79, 181.2, 180.62, 180}, 4);
    expect(with(tab, ":2:::2"), (double[]){181.79, 180.62}, 2);
    static const char broken[] = "1\n2\nthree\n4\n";
    put_file(one, broken, sizeof broken - 1);
    refuse(with(one, ""), QB_BAD_INPUT, "line 3");
    put_file(one, "words\n", 6);
    refuse(with(one, ""), QB_BAD_INPUT, "no numbers");
    put_file(one, "", 0);
    refuse(with(one, ""), QB_BAD_INPUT, "no numbers");
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges),
        cmocka_unit_test(spans),
        IN_FOLDER(radians_are_asked_for),
        IN_FOLDER(lists),
    };
    return cmocka_run_group_tests_name("io_angles", tests, NULL, NULL);
}
