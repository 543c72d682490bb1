/* SPDX-License-Identifier: MIT */
/* The measured scans of tests/data, and what more.py makes of them. */
#include "measured.h"
#include "quickbeam/io.h"
#include "quickbeam/scan.h"

static bool has_problem(const qb_scan *scan, const char *words) {
    for (size_t i = 0; i < qb_scan_describe(scan)->problems; i++)
        if (strstr(qb_scan_problem(scan, i), words)) return true;
    return false;
}

static qb_scan *open_scan(const char *name, const qb_scan_options *options) {
    qb_scan *scan;
    qb_status status = qb_scan_open(measured(name), options, NULL, &scan);
    if (status == QB_UNSUPPORTED) {
        print_message("%s\n", qb_detail());
        skip();
    }
    assert_ok(status);
    return scan;
}

static void expect_shape(const qb_scan *scan, size_t views, size_t rows, size_t columns, size_t flats, size_t darks) {
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_int_equal(info->views, views);
    assert_int_equal(info->rows, rows);
    assert_int_equal(info->columns, columns);
    assert_int_equal(info->flats, flats);
    assert_int_equal(info->darks, darks);
}

static double degrees(const qb_scan *scan, size_t view) {
    return qb_scan_describe(scan)->angles[view] * 180.0 / 3.14159265358979323846;
}

static void tooth(void **state) {
    (void)state;
    qb_scan *scan = open_scan("tooth_dxchange/tooth.h5", NULL);
    expect_shape(scan, 181, 2, 640, 10, 10);
    assert_close(degrees(scan, 180), 179.0055, 1e-3);
    assert_int_equal(qb_scan_describe(scan)->dtype, QB_F32);
    assert_ok(qb_scan_inspect(scan, NULL));
    float row[640], again[2][640], flat[2][640], dark[2][640];
    assert_ok(qb_scan_read(scan, 90, 91, 1, 2, row));
    assert_ok(qb_scan_read(scan, 90, 91, 0, 2, again));
    assert_memory_equal(row, again[1], sizeof row);
    assert_ok(qb_scan_fields(scan, 0, 2, &flat[0][0], &dark[0][0]));
    for (int i = 0; i < 640; i++) assert_true(flat[0][i] > dark[0][i]);
    qb_scan_close(scan);
}

/* The same measurement as NXtomo and as TIFF files gives the same values. */
static void savu_both_ways(void **state) {
    (void)state;
    needs("savu24737_tiff/angles.txt");
    char angles[1100], flats[1024], darks[1024];
    snprintf(angles, sizeof angles, "%s:10:101", measured("savu24737_tiff/angles.txt"));
    strcpy(flats, measured("savu24737_tiff/flat_00001.tiff"));
    strcpy(darks, measured("savu24737_tiff/dark_00001.tiff"));
    qb_scan_options options = {.angles = angles, .flats = flats, .darks = darks};
    /* Darks of several times would turn the stored numbers into floats. */
    const qb_scan_options mean = {.flat_fields = QB_FLATS_MEAN};
    qb_scan *a = open_scan("savu24737_nxtomo/24737_nxtomo_repacked.nxs", &mean);
    qb_scan *b = open_scan("savu24737_tiff/tiffs", &options);
    expect_shape(a, 91, 135, 160, 2, 2);
    expect_shape(b, 91, 135, 160, 1, 1);
    assert_int_equal(qb_scan_describe(a)->dtype, QB_U16);
    enum { VALUES = 91 * 135 * 160 };
    uint16_t *x = malloc(VALUES * 2), *y = malloc(VALUES * 2);
    assert_true(x && y);
    assert_ok(qb_scan_read(a, 0, 91, 0, 135, x));
    assert_ok(qb_scan_read(b, 0, 91, 0, 135, y));
    assert_memory_equal(x, y, VALUES * 2);
    assert_ok(qb_scan_read(a, 30, 41, 50, 61, x));
    for (size_t v = 0; v < 11; v++)
        assert_memory_equal(x + v * 11 * 160, y + ((v + 30) * 135 + 50) * 160, 11 * 160 * 2);
    for (size_t i = 0; i < 91; i++) assert_close(degrees(a, i), degrees(b, i), 1e-3);
    assert_ok(qb_scan_inspect(a, NULL));
    assert_true(has_problem(a, "flat pixel (0,0) is 0 (1 of 21600"));
    assert_true(has_problem(a, "repeats the first"));
    assert_true(has_problem(a, "drifts"));
    free(x);
    free(y);
    qb_scan_close(a);
    qb_scan_close(b);
}

static void savu_refusals(void **state) {
    (void)state;
    needs("savu24737_tiff/angles.txt");
    qb_scan *scan;
    char angles[1100];
    snprintf(angles, sizeof angles, "%s", measured("savu24737_tiff/angles.txt"));
    qb_scan_options options = {.angles = angles};
    if (qb_scan_open(measured("savu24737_tiff/tiffs"), NULL, NULL, &scan) == QB_UNSUPPORTED) skip();
    assert_true(has_problem(scan, "give --angles"));
    qb_scan_close(scan);
    assert_status(qb_scan_open(measured("savu24737_tiff/tiffs"), &options, NULL, &scan), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "111"));
    assert_non_null(strstr(qb_detail(), "91 views"));
    assert_status(qb_scan_open(measured("savu24737_tiff"), NULL, NULL, &scan), QB_BAD_INPUT);
}

/* Links that are broken do no harm and are reported. */
static void k11(void **state) {
    (void)state;
    needs("k11_nxs/k11-18014.nxs");
    const qb_scan_options mean = {.flat_fields = QB_FLATS_MEAN}; /* otherwise darks of several times give floats */
    qb_scan *scan = open_scan("k11_nxs/k11-18014.nxs", &mean);
    expect_shape(scan, 3001, 22, 26, 100, 100);
    assert_int_equal(qb_scan_describe(scan)->dtype, QB_U16);
    assert_true(has_problem(scan, "are broken"));
    assert_true(has_problem(scan, "gts_theta"));
    assert_close(degrees(scan, 0), 90.0, 0.01);
    assert_close(degrees(scan, 3000), 270.0, 0.01);
    assert_int_equal(qb_scan_describe(scan)->chunk_rows, 22);
    uint16_t rows[3][2][26], whole[22][26];
    assert_ok(qb_scan_read(scan, 10, 13, 4, 6, rows));
    assert_ok(qb_scan_read(scan, 12, 13, 0, 22, whole));
    assert_memory_equal(rows[2], whole[4], sizeof rows[2]);
    qb_scan_close(scan);
}

static void skull(void **state) {
    (void)state;
    needs("skull_cbct/angles.csv");
    char angles[1100];
    snprintf(angles, sizeof angles, "%s:2:0:641:2", measured("skull_cbct/angles.csv"));
    qb_scan_options options = {.angles = angles, .pixel_size = 1.552};
    qb_scan *scan = open_scan("skull_cbct", &options);
    expect_shape(scan, 321, 192, 256, 0, 0);
    assert_close(degrees(scan, 0), 181.79, 1e-9);
    assert_close(degrees(scan, 320), -179.64, 1e-9);
    uint16_t *part = malloc(2 * 256 * 2), *whole = malloc(192 * 256 * 2);
    assert_true(part && whole);
    assert_ok(qb_scan_read(scan, 7, 8, 100, 102, part));
    assert_ok(qb_scan_read(scan, 7, 8, 0, 192, whole));
    assert_memory_equal(part, whole + 100 * 256, 2 * 256 * 2);
    free(part);
    free(whole);
    qb_scan_close(scan);
}

static void neutron(void **state) {
    (void)state;
    qb_scan_options options = {.as = QB_IMAGE_SINOGRAM, .angles = "0:360"};
    qb_scan *scan = open_scan("neutron_sino/sinogram_360_neutron_image.tif", &options);
    expect_shape(scan, 459, 1, 503, 0, 0);
    uint16_t line[503];
    assert_ok(qb_scan_read(scan, 200, 201, 0, 1, line));
    assert_true(line[10] > 1000);
    qb_scan_close(scan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tooth), cmocka_unit_test(savu_both_ways), cmocka_unit_test(savu_refusals),
        cmocka_unit_test(k11),   cmocka_unit_test(skull),          cmocka_unit_test(neutron),
    };
    return cmocka_run_group_tests_name("io_data", tests, NULL, NULL);
}
