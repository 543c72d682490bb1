/* SPDX-License-Identifier: MIT */
/* The axis of measured scans: the scans of tests/data, and what more.py makes of them. */
#include "measured.h"
#include "quickbeam/recon.h"

typedef struct job {
    const char *scan, *flats, *darks, *angles; /* files below the data folder */
    const char *angles_after;                  /* what follows the name of the angles' file, or the angles themselves */
    qb_image as;
    const char *air, *rows;
    double column;
} job;

static void set(const qb_param *table, void *options, const char *name, const char *value) {
    if (value) assert_ok(qb_param_set(qb_param_find(table, name), options, value));
}

static qb_scan *open_scan(const job *j) {
    qb_scan_options options;
    char angles[1100];
    assert_ok(qb_params_init(qb_scan_params, &options));
    if (j->flats) set(qb_scan_params, &options, "flats", measured(j->flats));
    if (j->darks) set(qb_scan_params, &options, "darks", measured(j->darks));
    if (j->angles_after) {
        snprintf(angles, sizeof angles, "%s%s", j->angles ? measured(j->angles) : "", j->angles_after);
        set(qb_scan_params, &options, "angles", angles);
    }
    options.as = j->as;
    qb_scan *scan;
    qb_status status = qb_scan_open(measured(j->scan), &options, NULL, &scan);
    qb_params_clear(qb_scan_params, &options);
    if (status == QB_UNSUPPORTED) {
        print_message("%s\n", qb_detail());
        skip();
    }
    assert_ok(status);
    return scan;
}

static void find(job j) {
    qb_scan *scan = open_scan(&j);
    qb_prep_options prep;
    qb_center_options options;
    assert_ok(qb_params_init(qb_prep_params, &prep));
    assert_ok(qb_params_init(qb_center_params, &options));
    set(qb_prep_params, &prep, "air", j.air);
    set(qb_center_params, &options, "rows", j.rows);
    qb_center_result found = {.struct_size = sizeof found};
    assert_ok(qb_center_find(scan, &prep, &options, NULL, &found));
    assert_close(found.column, j.column, 0.5);
    assert_true(found.confidence > 0.8);
    assert_string_equal(found.warning, "");
    assert_in_range(found.count, 3, 4);
    for (int i = 0; i < found.count; i++) {
        /* A finder that is sure must be right. */
        if (found.method[i].confidence > 0.5) assert_close(found.method[i].column, j.column, 1);
    }
    qb_params_clear(qb_prep_params, &prep);
    qb_params_clear(qb_center_params, &options);
    qb_scan_close(scan);
}

static void tooth(void **state) {
    (void)state;
    const char *rows[] = {NULL, "0:1", "1:2"};
    for (int i = 0; i < 3; i++) find((job){.scan = "tooth_dxchange/tooth.h5", .rows = rows[i], .column = 296});
}

static void capsule_tiff(void **state) {
    (void)state;
    needs("savu24737_tiff/tiffs");
    find((job){.scan = "savu24737_tiff/tiffs",
               .flats = "savu24737_tiff/flat_00001.tiff",
               .darks = "savu24737_tiff/dark_00001.tiff",
               .angles = "savu24737_tiff/angles.txt",
               .angles_after = ":10:101",
               .air = "0:30,35:99",
               .column = 86});
}

static void capsule_nxtomo(void **state) {
    (void)state;
    const char *air[] = {NULL, "0:30,35:99"};
    for (int i = 0; i < 2; i++)
        find((job){.scan = "savu24737_nxtomo/24737_nxtomo_repacked.nxs", .air = air[i], .column = 86});
}

static void neutron(void **state) {
    (void)state;
    find((job){.scan = "neutron_sino/sinogram_360_neutron_image.tif",
               .as = QB_IMAGE_SINOGRAM,
               .angles_after = "0:360.786026:459",
               .air = "0:30,0:1",
               .column = 245});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tooth),
        cmocka_unit_test(capsule_tiff),
        cmocka_unit_test(capsule_nxtomo),
        cmocka_unit_test(neutron),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
