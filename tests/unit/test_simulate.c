/* SPDX-License-Identifier: MIT */
#include "io_files.h"

#include "base/memory.h"
#include "quickbeam/simulate.h"
#include "simulate/detector.h"

static void poisson_has_its_mean_and_variance(void **state) {
    (void)state;
    static const double means[] = {0.3, 4, 9.9, 10, 40, 1000, 5e6};
    enum { DRAWS = 200000 };
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        double mean = means[m], sum = 0, square = 0, cube = 0;
        for (uint64_t i = 0; i < DRAWS; i++) {
            qb__random random = qb__random_stream(3 + m, i);
            double d = qb__poisson(&random, mean) - mean;
            sum += d, square += d * d, cube += d * d * d;
        }
        double error = sqrt(mean / DRAWS);
        assert_close(sum / DRAWS, 0, 4.5 * error);
        assert_close(square / DRAWS / mean, 1, 4.5 * sqrt((2 + 1 / mean) / DRAWS));
        double skew = cube / DRAWS / pow(mean, 1.5); /* the skewness of a Poisson distribution is 1 / sqrt(mean) */
        assert_close(skew, 1 / sqrt(mean), 4.5 * sqrt((15 + 60 / mean) / DRAWS));
    }
    qb__random random = qb__random_stream(0, 0);
    assert_true(qb__poisson(&random, 0) == 0);
}

static void a_detector_counts_photons(void **state) {
    (void)state;
    enum { ROWS = 40, COLUMNS = 500, FRAMES = 20 };
    static const double photons[] = {1000, 1e6};
    for (int p = 0; p < 2; p++) {
        qb__detector d;
        assert_ok(qb__detector_create(ROWS, COLUMNS, photons[p], 0, 1, &d));
        double line[COLUMNS], misfit = 0, n = 0, mean = 0;
        uint16_t counts[COLUMNS];
        for (int c = 0; c < COLUMNS; c++) line[c] = c % 2 ? 0.1 : 0.9;
        for (size_t i = 0; i < ROWS * FRAMES; i++) {
            assert_int_equal(qb__detector_expose(&d, QB__FRAME_VIEW, i / ROWS, i % ROWS, line, counts), 0);
            for (size_t c = 0; c < COLUMNS; c++, n++) {
                double expected = d.gain * photons[p] * d.profile[i % ROWS * COLUMNS + c] * line[c];
                double error = counts[c] - 100 - expected;
                /* The variances of Poisson noise, of read noise and of rounding (1/12 each), and the spread of the dark
                 * pattern. */
                double variance = d.gain * expected + 4 * d.gain + (d.gain < 1 ? 1 / 12.0 : 0) + 20 / 3.0;
                misfit += error * error / variance;
                mean += error;
            }
        }
        assert_close(mean / n, 0, 0.5);
        assert_close(misfit / n, 1, 0.02);
        assert_true(d.gain * photons[p] > 900 && d.gain * photons[p] < 60000);
        qb__detector_destroy(&d);
    }
}

static void faults_stay_out_of_flats(void **state) {
    (void)state;
    enum { COLUMNS = 1000 };
    qb__detector d;
    assert_ok(qb__detector_create(1, COLUMNS, 40000, 0.3, 1, &d));
    double line[COLUMNS], faulty = 0, clipped = 0;
    uint16_t flat[COLUMNS], view[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) line[c] = 1;
    clipped += (double)qb__detector_expose(&d, QB__FRAME_FLAT, 0, 0, NULL, flat);
    assert_true(clipped == 0);
    clipped += (double)qb__detector_expose(&d, QB__FRAME_VIEW, 0, 0, line, view);
    for (int c = 0; c < COLUMNS; c++) {
        double ratio = (view[c] - 100.0) / (flat[c] - 100.0);
        faulty += fabs(ratio - 1) > 0.05;
        if (view[c] < 65535) assert_close(ratio, d.fault[c], 0.05);
    }
    assert_true(faulty > 40 && faulty < 160);
    assert_true(clipped > 0);
    qb__detector_destroy(&d);
}

static void set(qb_simulate_options *options, const char *name, const char *value) {
    assert_ok(qb_param_set(qb_param_find(qb_simulate_params, name), options, value));
}

static qb_simulate_options make_options(void) {
    qb_simulate_options options;
    memset(&options, 0, sizeof options);
    assert_ok(qb_params_init(qb_simulate_params, &options));
    set(&options, "detector", "48,40");
    set(&options, "views", "30");
    return options;
}

static void simulate(const char *phantom, qb_simulate_options *options, const char *output, int threads) {
    qb_env env = {.threads = threads};
    set(options, "output", output);
    assert_ok(qb_simulate(phantom, options, &env));
}

static void same_seed_same_bits_for_any_threads(void **state) {
    (void)state;
    qb_array one, many;
    qb_simulate_options options = make_options();
    set(&options, "photons", "5000");
    set(&options, "rings", "0.1");
    set(&options, "seed", "11");
    simulate("foam", &options, in_folder("one.npy"), 1);
    simulate("foam", &options, in_folder("many.npy"), 7);
    assert_ok(qb_array_load(in_folder("one.npy"), NULL, &one, NULL));
    assert_ok(qb_array_load(in_folder("many.npy"), NULL, &many, NULL));
    assert_int_equal(one.dtype, QB_U16);
    assert_int_equal(qb_array_count(&one), 30 * 40 * 48);
    assert_memory_equal(one.data, many.data, qb_array_count(&one) * 2);
    qb_array_destroy(&many);
    set(&options, "seed", "12");
    simulate("foam", &options, in_folder("other.npy"), 7);
    assert_ok(qb_array_load(in_folder("other.npy"), NULL, &many, NULL));
    assert_true(memcmp(one.data, many.data, qb_array_count(&one) * 2) != 0);
    qb_array_destroy(&one);
    qb_array_destroy(&many);
    qb_params_clear(qb_simulate_params, &options);
}

/* The shadow of a disc lies about the axis, wherever the axis is, in both beams. */
static void the_axis_is_where_it_was_put(void **state) {
    (void)state;
    qb_simulate_options options = make_options();
    set(&options, "center-offset", "2.5");
    for (int cone = 0; cone < 2; cone++) {
        if (cone) {
            set(&options, "geometry", "cone");
            set(&options, "sod", "2000");
            set(&options, "sdd", "3000");
        }
        simulate("ball", &options, in_folder("ball.npy"), 2);
        qb_array scan;
        assert_ok(qb_array_load(in_folder("ball.npy"), NULL, &scan, NULL));
        assert_int_equal(scan.dtype, QB_F32);
        for (size_t view = 0; view < 30; view++) {
            const float *row = (const float *)scan.data + (view * 40 + 20) * 48;
            double sum = 0, moment = 0;
            for (int c = 0; c < 48; c++) sum -= log(row[c]), moment -= c * log(row[c]);
            assert_close(moment / sum, 23.5 + 2.5, 0.05);
        }
        qb_array_destroy(&scan);
    }
    qb_params_clear(qb_simulate_params, &options);
}

static void a_scan_says_what_it_is(void **state) {
    (void)state;
    qb_simulate_options options = make_options();
    set(&options, "truth", in_folder("truth.npy"));
    set(&options, "geometry-out", in_folder("geometry.json"));
    set(&options, "angles", "0:90:45");
    set(&options, "views", "0");
    simulate("spheres", &options, in_folder("scan.npy"), 0);
    qb_scan *scan;
    qb_scan_options how = {0};
    assert_ok(qb_scan_open(in_folder("scan.npy"), &how, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_int_equal(info->quantity, QB_TRANSMISSION);
    assert_int_equal(info->views, 45);
    assert_close(info->angles[1], 2 * 3.14159265358979 / 180, 1e-9);
    qb_scan_close(scan);
    qb_array truth;
    assert_ok(qb_array_load(in_folder("truth.npy"), NULL, &truth, NULL));
    assert_int_equal(truth.shape[0], 40);
    assert_int_equal(truth.shape[1], 48);
    qb_array_destroy(&truth);
    assert_int_equal(access(in_folder("geometry.json"), R_OK), 0);
    qb_params_clear(qb_simulate_params, &options);
}

static void refuse(const char *phantom, const char *name, const char *value, const char *why) {
    qb_simulate_options options = make_options();
    set(&options, "output", in_folder("refused.npy"));
    set(&options, name, value);
    assert_status(qb_simulate(phantom, &options, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), why));
    assert_int_not_equal(access(in_folder("refused.npy"), F_OK), 0);
    qb_params_clear(qb_simulate_params, &options);
}

static void what_contradicts_is_refused(void **state) {
    (void)state;
    refuse("sheep", "views", "3", "no phantom sheep");
    refuse("disc", "sod", "100", "--geometry cone");
    refuse("disc", "geometry", "cone", "--sod and --sdd");
    refuse("disc", "detector", "10.5", "number of pixels");
    refuse("disc", "detector", "10,10,10", "at most 2");
    refuse("disc", "truth", in_folder("refused.npy"), "two outputs");
    qb_simulate_options options = make_options();
    assert_status(qb_simulate("disc", &options, NULL), QB_BAD_ARGUMENT);
    set(&options, "output", in_folder("refused.npy"));
    set(&options, "geometry", "cone");
    set(&options, "sod", "90");
    set(&options, "sdd", "900");
    assert_status(qb_simulate("disc", &options, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "through the phantom"));
    qb_params_clear(qb_simulate_params, &options);
}

/* Whatever allocation fails, there is an error and no file that looks finished. */
static void running_out_of_memory_is_an_error(void **state) {
    (void)state;
    qb_simulate_options options = make_options();
    qb_env env = {.threads = 2};
    set(&options, "photons", "100");
    set(&options, "truth", in_folder("truth2.npy"));
    set(&options, "output", in_folder("scan2.npy"));
    qb_status status = QB_NO_MEMORY;
    size_t n = 0;
    while (status != QB_OK && n < 100) {
        qb__fail_allocation(++n);
        status = qb_simulate("spheres", &options, &env);
        qb__fail_allocation(0);
        if (status == QB_OK) break;
        assert_status(status, QB_NO_MEMORY);
        assert_int_not_equal(access(in_folder("scan2.npy"), F_OK), 0);
    }
    assert_true(n > 10 && n < 100);
    qb_params_clear(qb_simulate_params, &options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poisson_has_its_mean_and_variance), cmocka_unit_test(a_detector_counts_photons),
        cmocka_unit_test(faults_stay_out_of_flats),          cmocka_unit_test(same_seed_same_bits_for_any_threads),
        cmocka_unit_test(the_axis_is_where_it_was_put),      cmocka_unit_test(a_scan_says_what_it_is),
        cmocka_unit_test(what_contradicts_is_refused),       cmocka_unit_test(running_out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
