/* SPDX-License-Identifier: MIT */
/* HDF5 files as other programs write them. */
#include "io_files.h"

#ifdef QB_HAVE_HDF5
#include <hdf5.h>

enum { N = 12, ROWS = 7, COLUMNS = 9, COUNT = N * ROWS * COLUMNS };
static float values[COUNT];

static void put_text(hid_t file, const char *object, const char *attribute, const char *text) {
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t at = attribute
                   ? H5Acreate_by_name(file, object, attribute, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                   : H5Dcreate2(file, object, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(at >= 0);
    if (attribute)
        H5Awrite(at, type, text);
    else
        H5Dwrite(at, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
    if (attribute)
        H5Aclose(at);
    else
        H5Dclose(at);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_set(hid_t file, const char *path, hid_t type, int rank, const hsize_t *shape, const hsize_t *chunk,
                    hid_t memory, const void *data) {
    hid_t space = rank ? H5Screate_simple(rank, shape, NULL) : H5Screate(H5S_SCALAR);
    hid_t links = H5Pcreate(H5P_LINK_CREATE), create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (chunk) {
        H5Pset_chunk(create, rank, chunk);
        H5Pset_shuffle(create);
        H5Pset_deflate(create, 4);
    }
    hid_t set = H5Dcreate2(file, path, type, space, links, create, H5P_DEFAULT);
    assert_true(set >= 0);
    if (data) assert_true(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    H5Pclose(create);
    H5Pclose(links);
    H5Sclose(space);
}

static const hsize_t cube[] = {N, ROWS, COLUMNS}, line[] = {N};

static hid_t make_file(const char *name, hsize_t userblock) {
    hid_t how = H5Pcreate(H5P_FILE_CREATE);
    if (userblock) H5Pset_userblock(how, userblock);
    hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, how, H5P_DEFAULT);
    assert_true(file >= 0);
    H5Pclose(how);
    for (int i = 0; i < COUNT; i++) values[i] = (float)i;
    return file;
}

/* Checks that any part of any storage layout holds what was written there. */
static void check_parts(const char *name, qb_dtype dtype) {
    static const char *const views[] = {NULL, "1:12:3", "-5:"};
    static const size_t first[] = {0, 1, 7}, step[] = {1, 3, 1};
    float got[COUNT];
    char raw[COUNT * 8];
    for (int i = 0; i < 3; i++) {
        qb_scan_options options = {.views = (char *)views[i]};
        qb_scan *scan;
        assert_ok(qb_scan_open(in_folder(name), &options, NULL, &scan));
        const qb_scan_info *info = qb_scan_describe(scan);
        assert_int_equal(info->dtype, dtype);
        assert_ok(qb_scan_read(scan, 1, info->views, 2, 5, raw));
        size_t n = (info->views - 1) * 3 * COLUMNS;
        qb_convert_to_float(raw, dtype, n, got);
        for (size_t k = 0; k < n; k++) {
            size_t view = first[i] + (1 + k / (3 * COLUMNS)) * step[i];
            size_t at = (view * ROWS + 2) * COLUMNS + k % (3 * COLUMNS);
            if (got[k] != values[at]) fail_msg("%s: %g for %g", name, got[k], values[at]);
        }
        qb_scan_close(scan);
    }
}

static void storages(void **state) {
    (void)state;
    const hsize_t chunk[] = {5, 3, 4};
    const struct {
        hid_t type;
        const hsize_t *chunk;
        hsize_t userblock;
        qb_dtype dtype;
    } kinds[] = {
        {H5T_STD_U16LE, NULL, 0, QB_U16},   {H5T_STD_U16LE, NULL, 512, QB_U16}, {H5T_STD_I32BE, NULL, 0, QB_I32},
        {H5T_IEEE_F32LE, chunk, 0, QB_F32}, {H5T_IEEE_F64BE, chunk, 0, QB_F64}, {H5T_STD_U16BE, chunk, 1024, QB_U16},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        hid_t file = make_file("s.h5", kinds[i].userblock);
        put_set(file, "/exchange/data", kinds[i].type, 3, cube, kinds[i].chunk, H5T_NATIVE_FLOAT, values);
        H5Fclose(file);
        check_parts("s.h5", kinds[i].dtype);
    }
    hid_t file = make_file("u.h5", 0);
    put_set(file, "/exchange/data", H5T_STD_U64LE, 3, cube, NULL, H5T_NATIVE_FLOAT, values);
    H5Fclose(file);
    qb_scan *scan;
    assert_status(qb_scan_open(in_folder("u.h5"), NULL, NULL, &scan), QB_UNSUPPORTED);
}

static bool has_problem(const qb_scan *scan, const char *words) {
    for (size_t i = 0; i < qb_scan_describe(scan)->problems; i++)
        if (strstr(qb_scan_problem(scan, i), words)) return true;
    return false;
}

static void exchange_with_quirks(void **state) {
    (void)state;
    double theta[N], pixel = 3.1;
    for (int i = 0; i < N; i++) theta[i] = 0.1 * i;
    const hsize_t white[] = {2, ROWS, COLUMNS - 1};
    hid_t file = make_file("q.h5", 0);
    put_set(file, "/exchange/data", H5T_IEEE_F32LE, 3, cube, NULL, H5T_NATIVE_FLOAT, values);
    put_set(file, "/exchange/data_white", H5T_IEEE_F32LE, 3, white, NULL, H5T_NATIVE_FLOAT, values);
    put_set(file, "/exchange/theta", H5T_IEEE_F64LE, 1, line, NULL, H5T_NATIVE_DOUBLE, theta);
    put_set(file, "/exchange_1/data", H5T_IEEE_F32LE, 3, cube, NULL, H5T_NATIVE_FLOAT, values);
    put_set(file, "/measurement/instrument/detector/pixel_size_x", H5T_IEEE_F64LE, 0, NULL, NULL, H5T_NATIVE_DOUBLE,
            &pixel);
    put_text(file, "/measurement/instrument/detector/pixel_size_x", "units", "micron");
    put_text(file, "/exchange/data", "quantity", "transmission");
    H5Lcreate_soft("/nowhere", file, "/exchange/lost", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "/exchange", file, "/exchange/circle", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    qb_scan *scan;
    assert_ok(qb_scan_open(in_folder("q.h5"), NULL, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_int_equal(info->quantity, QB_TRANSMISSION);
    assert_close(info->pixel_size, 0.0031, 1e-12);
    assert_int_equal(info->flats, 0);
    assert_true(has_problem(scan, "7 x 8, the data 7 x 9"));
    assert_true(has_problem(scan, "2 exchange groups"));
    qb_scan_options counts = {.quantity = QB_COUNTS};
    qb_scan *refused;
    assert_status(qb_scan_open(in_folder("q.h5"), &counts, NULL, &refused), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "7 x 8, the data 7 x 9: give --flats"));
    assert_true(has_problem(scan, "from 0 to 1.1 without a unit: degrees or radians?"));
    assert_true(has_problem(scan, "/exchange/lost"));
    assert_null(info->angles);
    qb_scan_close(scan);
    const qb_scan_options degrees = {.angle_unit = QB_ANGLE_DEGREES};
    assert_ok(qb_scan_open(in_folder("q.h5"), &degrees, NULL, &scan));
    assert_close(qb_scan_describe(scan)->angles[11], 1.1 * 3.14159265358979 / 180.0, 1e-9);
    qb_scan_close(scan);
    file = H5Fopen(in_folder("q.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    put_text(file, "/exchange/theta", "units", "radians");
    H5Fclose(file);
    assert_ok(qb_scan_open(in_folder("q.h5"), NULL, NULL, &scan));
    assert_close(qb_scan_describe(scan)->angles[11], 1.1, 1e-9);
    qb_scan_close(scan);
    qb_scan_options options = {.dataset = "/exchange_1/data"};
    assert_ok(qb_scan_open(in_folder("q.h5"), &options, NULL, &scan));
    assert_true(has_problem(scan, "give --angles"));
    qb_scan_close(scan);
    options.dataset = "/exchange_2";
    assert_status(qb_scan_open(in_folder("q.h5"), &options, NULL, &scan), QB_NOT_FOUND);
}

/* An entry with any name, alignment frames, and data behind an external link. */
static void nxtomo(void **state) {
    (void)state;
    static const int keys[] = {2, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 1};
    static const int control[] = {2, 1, 0, 0, 0, 3, 0, 0, 0, 0, -1, 1};
    static const size_t frames[] = {2, 3, 4, 6, 7, 8, 9};
    double angles[N], pixel = 1e-5, axis = 4.25;
    for (int i = 0; i < N; i++) angles[i] = 10.0 * i;
    hid_t file = make_file("frames.h5", 0);
    put_set(file, "/stack", H5T_STD_U16LE, 3, cube, NULL, H5T_NATIVE_FLOAT, values);
    H5Fclose(file);
    file = make_file("x.nxs", 0);
    put_set(file, "/odd/name/sample/rotation_angle", H5T_IEEE_F64LE, 1, line, NULL, H5T_NATIVE_DOUBLE, angles);
    put_set(file, "/odd/name/instrument/detector/image_key", H5T_STD_I64LE, 1, line, NULL, H5T_NATIVE_INT, keys);
    put_set(file, "/odd/name/instrument/detector/image_key_control", H5T_STD_I64LE, 1, line, NULL, H5T_NATIVE_INT,
            control);
    put_set(file, "/odd/name/instrument/detector/x_pixel_size", H5T_IEEE_F64LE, 0, NULL, NULL, H5T_NATIVE_DOUBLE,
            &pixel);
    put_set(file, "/odd/name/instrument/detector/x_rotation_axis_pixel_position", H5T_IEEE_F64LE, 0, NULL, NULL,
            H5T_NATIVE_DOUBLE, &axis);
    put_text(file, "/odd/name/instrument/detector/x_pixel_size", "units", "m");
    put_text(file, "/odd/name/definition", NULL, "NXtomo");
    H5Lcreate_external("frames.h5", "/stack", file, "/odd/name/instrument/detector/data", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    qb_scan *scan;
    assert_ok(qb_scan_open(in_folder("x.nxs"), NULL, NULL, &scan));
    const qb_scan_info *info = qb_scan_describe(scan);
    assert_string_equal(info->format, "NXtomo HDF5");
    assert_true(info->views == 7 && info->flats == 2 && info->darks == 1);
    assert_close(info->center, 4.25, 0);
    assert_close(info->pixel_size, 0.01, 1e-12);
    assert_true(has_problem(scan, "1 alignment"));
    uint16_t got[7][COLUMNS];
    assert_ok(qb_scan_read(scan, 0, 7, 3, 4, got));
    for (size_t v = 0; v < 7; v++) {
        assert_close(info->angles[v], (double)frames[v] * 3.14159265358979 / 18.0, 1e-9);
        for (size_t c = 0; c < COLUMNS; c++) assert_int_equal(got[v][c], (frames[v] * ROWS + 3) * COLUMNS + c);
    }
    float flat[COLUMNS], dark[COLUMNS];
    assert_ok(qb_scan_fields(scan, 0, 1, flat, dark));
    assert_close(flat[1], 0.5 * (values[ROWS * COLUMNS + 1] + values[11 * ROWS * COLUMNS + 1]), 0);
    assert_close(dark[1], values[1], 0);
    qb_scan_close(scan);
    assert_int_equal(remove(in_folder("frames.h5")), 0);
    assert_status(qb_scan_open(in_folder("x.nxs"), NULL, NULL, &scan), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "broken"));
}

static void unwritten_data(void **state) {
    (void)state;
    const hsize_t huge[] = {1 << 20, 1 << 20, 1 << 20}, chunk[] = {1, 7, 9};
    qb_array array;
    hid_t file = make_file("n.h5", 0);
    put_set(file, "/exchange/data", H5T_STD_U16LE, 3, cube, NULL, H5T_NATIVE_FLOAT, NULL);
    H5Fclose(file);
    assert_status(qb_array_load(in_folder("n.h5"), NULL, &array, NULL), QB_BAD_INPUT);
    file = make_file("n.h5", 0);
    put_set(file, "/exchange/data", H5T_STD_U16LE, 3, huge, chunk, H5T_NATIVE_FLOAT, NULL);
    H5Fclose(file);
    assert_status(qb_array_load(in_folder("n.h5"), NULL, &array, NULL), QB_BAD_INPUT);
    file = make_file("n.h5", 0);
    put_set(file, "/a", H5T_STD_U16LE, 3, cube, NULL, H5T_NATIVE_FLOAT, values);
    put_set(file, "/b", H5T_STD_U16LE, 3, cube, NULL, H5T_NATIVE_FLOAT, values);
    H5Fclose(file);
    assert_status(qb_array_load(in_folder("n.h5"), NULL, &array, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "/a /b"));
    assert_ok(qb_array_load(in_folder("n.h5"), "/b", &array, NULL));
    qb_array_destroy(&array);
}

/* The library must leave HDF5's printing of errors as its caller has set it. */
static void error_printing_is_given_back(void **state) {
    (void)state;
    H5E_auto2_t before, after;
    void *data;
    qb_scan *scan;
    H5Eget_auto2(H5E_DEFAULT, &before, &data);
    put_file(in_folder("bad.h5"), "\x89HDF\r\n\x1a\nrubbish", 15);
    assert_status(qb_scan_open(in_folder("bad.h5"), NULL, NULL, &scan), QB_BAD_INPUT);
    H5Eget_auto2(H5E_DEFAULT, &after, &data);
    assert_true(before == after);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(storages),       IN_FOLDER(exchange_with_quirks),         IN_FOLDER(nxtomo),
        IN_FOLDER(unwritten_data), IN_FOLDER(error_printing_is_given_back),
    };
    return cmocka_run_group_tests_name("io_hdf5", tests, NULL, NULL);
}
#else
int main(void) {
    puts("io_hdf5: this build has no HDF5");
    return 0;
}
#endif
