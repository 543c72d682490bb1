/* SPDX-License-Identifier: MIT */
/* Messages about numbers in a header or in a note beside the data: MetaImages of other programs, raw data, notes. */
#include "io_files.h"

#include "quickbeam/device.h"

static void fails_with(const char *path, qb_status expected, const char *words) {
    qb_array array = {0};
    assert_status(qb_array_load(path, NULL, &array, NULL), expected);
    if (!strstr(qb_detail(), words)) fail_msg("\"%s\" does not say \"%s\"", qb_detail(), words);
}

/* ---- MetaImage ---- */

static const char values[24] = "abcdefghijklmnopqrstuvwx";

/* Writes a header of 2 x 3 x 4 bytes. The text `more` stands in front of the line that says where the data are. */
static void put_mhd(const char *name, const char *more, const char *file) {
    char text[600];
    snprintf(text, sizeof text,
             "ObjectType = Image\nNDims = 3\nDimSize = 4 3 2\nElementType = MET_UCHAR\n%s\nElementDataFile = %s\n",
             more, file);
    put_file(in_folder(name), text, strlen(text));
}

static void where_a_metaimage_has_its_data(void **state) {
    (void)state;
    static const struct {
        const char *more;
        size_t skipped, bytes;
    } cases[] = {{"", 0, 24}, {"HeaderSize = 0", 0, 30}, {"HeaderSize = 7", 7, 31}, {"HeaderSize = -1", 16, 40}};
    char file[40] = "0123456789abcdef";
    qb_array array;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        put_file(in_folder("d.raw"), file, cases[k].bytes);
        put_mhd("h.mhd", cases[k].more, "d.raw");
        assert_ok(qb_array_load(in_folder("h.mhd"), NULL, &array, NULL));
        assert_memory_equal(array.data, file + cases[k].skipped, 24);
        qb_array_destroy(&array);
    }
    put_mhd("h.mhd", "", "d.raw"); /* nothing refers to this header */
    fails_with(in_folder("h.mhd"), QB_BAD_INPUT, "16 more than");
    put_file(in_folder("d.raw"), file, 23);
    put_mhd("h.mhd", "HeaderSize = -1", "d.raw");
    fails_with(in_folder("h.mhd"), QB_BAD_INPUT, "shorter than its DimSize");
    put_mhd("h.mhd", "", "d%03d.raw 1 2 1");
    fails_with(in_folder("h.mhd"), QB_UNSUPPORTED, "over several files");
    put_mhd("h.mhd", "", "LIST");
    fails_with(in_folder("h.mhd"), QB_UNSUPPORTED, "over several files");
}

static void what_no_metaimage_of_ours_says(void **state) {
    (void)state;
    static const struct {
        const char *more, *words;
        qb_status status;
    } cases[] = {{"ElementNumberOfChannels = 3", "more than one value", QB_UNSUPPORTED},
#ifdef QB_HAVE_ZLIB
                 {"CompressedData = True", "compressed data", QB_BAD_INPUT},
#else
                 {"CompressedData = True", "compressed", QB_UNSUPPORTED},
#endif
                 {"BinaryData = False", "text, not binary", QB_UNSUPPORTED},
                 {"NDims = 4\nDimSize = 1 1 1 1", "NDims 4", QB_BAD_INPUT}};
    put_file(in_folder("d.raw"), values, sizeof values);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        put_mhd("h.mhd", cases[k].more, "d.raw");
        fails_with(in_folder("h.mhd"), cases[k].status, cases[k].words);
    }
    static const char untyped[] = "NDims = 1\nDimSize = 4\nElementType = MET_LONG_LONG\nElementDataFile = d.raw\n";
    put_file(in_folder("h.mhd"), untyped, sizeof untyped - 1);
    fails_with(in_folder("h.mhd"), QB_UNSUPPORTED, "ElementType");
    static const char shapeless[] = "NDims = 2\nDimSize = 4\nElementType = MET_UCHAR\nElementDataFile = d.raw\n";
    put_file(in_folder("h.mhd"), shapeless, sizeof shapeless - 1);
    fails_with(in_folder("h.mhd"), QB_BAD_INPUT, "NDims 2 and DimSize");
    put_file(in_folder("h.mhd"), shapeless, 30);
    fails_with(in_folder("h.mhd"), QB_BAD_INPUT, "no ElementDataFile");
}

/* ---- what integers stand for, the beam, how it came to be: in every format ---- */

static void words_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"w.h5", "w.tif", "w.mha", "w.npy", "w.raw"};
    unsigned char data[120];
    qb_stack stack = small_stack(QB_U8);
    stack.scale_low = -0.5, stack.scale_high = 2;
    stack.quantity = qb_quantity_name(QB_TRANSMISSION);
    stack.beam = QB_BEAM_CONE;
    stack.voxel[2] = 0.5;
    fill_bytes(data, sizeof data, 6);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *path = in_folder(names[k]);
        qb_status status = put_stack(path, &stack, data);
        if (status == QB_UNSUPPORTED) continue; /* the format is not built in */
        assert_ok(status);
        qb_array_info info = {.struct_size = sizeof info};
        assert_ok(qb_array_describe(path, NULL, &info));
        assert_close(info.scale[0], -0.5, 1e-6);
        assert_close(info.scale[1], 2, 1e-6);
        assert_close(info.voxel[0], 0.5, 1e-9);
        assert_string_equal(info.quantity, stack.quantity);
        qb_array array;
        assert_ok(qb_array_load_values(path, NULL, &array, NULL));
        for (size_t i = 0; i < sizeof data; i++)
            assert_close(((const float *)array.data)[i], -0.5 + 2.5 * data[i] / 255, 1e-5);
        qb_array_destroy(&array);
        const qb_scan_options options = {.angles = "0:180"};
        qb_scan *scan;
        assert_ok(qb_scan_open(path, &options, NULL, &scan));
        if (qb_scan_describe(scan)->beam != QB_BEAM_CONE) fail_msg("%s has lost its beam", names[k]);
        assert_true(qb_scan_describe(scan)->quantity == QB_TRANSMISSION);
        qb_scan_close(scan);
        char *json = NULL;
        assert_ok(qb_provenance_load(path, &json));
        if (!json || !strstr(json, "\"test\"")) fail_msg("%s: provenance %s", names[k], json ? json : "(none)");
        qb_text_free(json);
    }
}

/* A note of another program, or with an impossible shape, or that is no JSON object, is ignored. One that is no JSON is an error. */
static void notes_of_others(void **state) {
    (void)state;
    static const struct {
        const char *text;
        qb_status status;
    } cases[] = {{"{\"shape\": [2, 3, 4]}", QB_OK},
                 {"[1, 2]", QB_OK},
                 {"{\"shape\": [2, 3", QB_BAD_INPUT},
                 {"", QB_BAD_INPUT},
                 {"{\"quickbeam\": 1, \"shape\": [-1, 3, 4], \"dtype\": \"uint8\"}", QB_OK}};
    char data[480];
    qb_stack stack = small_stack(QB_F32);
    fill_bytes(data, sizeof data, 6);
    assert_ok(put_stack(in_folder("n.npy"), &stack, data));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *json = NULL;
        qb_array array;
        put_file(in_folder("n.npy.json"), cases[k].text, strlen(cases[k].text));
        assert_status(qb_array_load(in_folder("n.npy"), NULL, &array, NULL), cases[k].status);
        if (cases[k].status == QB_OK) {
            qb_array_destroy(&array);
            assert_ok(qb_provenance_load(in_folder("n.npy"), &json));
            assert_null(json);
        }
        /* Raw data have no shape except in a note of ours. */
        put_file(in_folder("r.raw"), data, sizeof data);
        put_file(in_folder("r.raw.json"), cases[k].text, strlen(cases[k].text));
        fails_with(in_folder("r.raw"), QB_BAD_INPUT, "r.raw");
    }
}

/* ---- raw data ---- */

static void raw_sinograms(void **state) {
    (void)state;
    unsigned char data[120], got[120];
    fill_bytes(data, sizeof data, 5);
    put_file(in_folder("s.raw"), data, sizeof data);
    const qb_scan_options options = {.shape = "5,4,6:uint8", .angles = "0:180", .as = QB_IMAGE_SINOGRAM};
    qb_scan *scan;
    assert_ok(qb_scan_open(in_folder("s.raw"), &options, NULL, &scan));
    assert_true(qb_scan_describe(scan)->views == 5 && qb_scan_describe(scan)->rows == 4);
    assert_ok(qb_scan_read(scan, 0, 5, 0, 4, got));
    for (size_t v = 0; v < 5; v++)
        for (size_t r = 0; r < 4; r++) assert_memory_equal(got + (v * 4 + r) * 6, data + (r * 5 + v) * 6, 6);
    qb_scan_close(scan);
}

/* Fields have the rows, columns and type of the scan, and as many images as their bytes give. Or they have notes of
 * their own. */
static void raw_fields(void **state) {
    (void)state;
    unsigned char data[120], flats[3 * 30];
    fill_bytes(data, sizeof data, 5);
    for (size_t i = 0; i < sizeof flats; i++) flats[i] = (unsigned char)(40 * (1 + i / 30));
    put_file(in_folder("s.raw"), data, sizeof data);
    put_file(in_folder("f.raw"), flats, sizeof flats);
    put_file(in_folder("f_1.raw"), flats, 30);
    put_file(in_folder("f_2.raw"), flats + 30, 30);
    put_file(in_folder("short.raw"), flats, 29);
    qb_stack stack = small_stack(QB_U16);
    unsigned short wide[120];
    for (size_t i = 0; i < 120; i++) wide[i] = 300;
    assert_ok(put_stack(in_folder("own.raw"), &stack, wide));
    static const struct {
        const char *name;
        size_t images;
        float mean;
    } cases[] = {{"f.raw", 3, 80}, {"f_*.raw", 2, 60}, {"own.raw", 4, 300}};
    for (size_t k = 0; k < 3; k++) {
        const qb_scan_options options = {
            .shape = "4,5,6:uint8", .angles = "0:180", .flats = (char *)in_folder(cases[k].name)};
        qb_scan *scan;
        float flat[30], dark[30];
        assert_ok(qb_scan_open(in_folder("s.raw"), &options, NULL, &scan));
        assert_int_equal(qb_scan_describe(scan)->flats, cases[k].images);
        assert_ok(qb_scan_fields(scan, 0, 5, flat, dark));
        for (size_t i = 0; i < 30; i++) assert_close(flat[i], cases[k].mean, 1e-4);
        qb_scan_close(scan);
    }
    const qb_scan_options options = {
        .shape = "4,5,6:uint8", .angles = "0:180", .flats = (char *)in_folder("short.raw")};
    qb_scan *scan;
    assert_status(qb_scan_open(in_folder("s.raw"), &options, NULL, &scan), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "29 bytes: no image of 5 x 6 uint8"));
}

int main(void) {
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(where_a_metaimage_has_its_data),
        IN_FOLDER(what_no_metaimage_of_ours_says),
        IN_FOLDER(words_come_back),
        IN_FOLDER(notes_of_others),
        IN_FOLDER(raw_sinograms),
        IN_FOLDER(raw_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
