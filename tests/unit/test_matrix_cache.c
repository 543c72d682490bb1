/* SPDX-License-Identifier: MIT */
/* --matrix-cache: kernels trust the numbers in its files. A file whose numbers would lead them outside their arrays is
 * refused even with the right hash. So is a file that others could have written. */
#include <math.h>

#include "base/hash.h"
#include "io_files.h"
#include "quickbeam/quickbeam.h"
#include "quickbeam/simulate.h"

enum { VIEWS = 16, COLUMNS = 24 }; /* the views fill a whole vector */

static char warned[512];

static void note(void *user, qb_log_level level, const char *text) {
    (void)user;
    if (level == QB_LOG_WARNING) snprintf(warned, sizeof warned, "%s", text);
}

static int make_scan(void **state) {
    static const char *const set[][2] = {{"detector", "24,1"}, {"views", "16"}, {"pixel-size", "1"}};
    qb_simulate_options options;
    if (make_folder(state) != 0) return -1;
    assert_ok(qb_params_init(qb_simulate_params, &options));
    for (int i = 0; i < 3; i++) assert_ok(qb_params_set(qb_simulate_params, &options, set[i][0], set[i][1]));
    assert_ok(qb_params_set(qb_simulate_params, &options, "output", in_folder("s.npy")));
    assert_ok(qb_simulate("disc", &options, NULL));
    qb_params_clear(qb_simulate_params, &options);
    return 0;
}

/* Reconstructs the image, with the matrix of that kind kept in the folder "kept". */
static void run(const char *kind, float image[COLUMNS * COLUMNS]) {
    char angles[] = "0:180";
    const qb_env env = {.threads = 1, .device = "cpu", .log = note};
    const qb_scan_options about = {.angles = angles, .pixel_size = 1, .quantity = QB_TRANSMISSION};
    qb_tensor out = {.data = image, .ndim = 3, .dtype = QB_F32, .shape = {1, COLUMNS, COLUMNS}};
    const qb_output_options output = {.array = &out};
    qb_mbir_options options;
    qb_scan *scan;
    qb_job *job;
    warned[0] = '\0';
    assert_ok(qb_params_init(qb_mbir_params, &options));
    assert_ok(qb_params_set(qb_mbir_params, &options, "center", "11.5"));
    assert_ok(qb_params_set(qb_mbir_params, &options, "equits", "20"));
    assert_ok(qb_params_set(qb_mbir_params, &options, "matrix", kind));
    assert_ok(qb_params_set(qb_mbir_params, &options, "matrix-cache", in_folder("kept")));
    assert_ok(qb_scan_open(in_folder("s.npy"), &about, &env, &scan));
    assert_ok(qb_mbir_plan(scan, NULL, NULL, &options, &output, NULL, &env, &job));
    assert_ok(qb_job_run(job, &env, NULL));
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_params_clear(qb_mbir_params, &options);
}

static const char *only_file(void) {
    DIR *list = opendir(in_folder("kept"));
    const char *name = NULL;
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        char path[300];
        snprintf(path, sizeof path, "kept/%s", entry->d_name);
        if (entry->d_name[0] != '.') name = in_folder(path);
    }
    closedir(list);
    assert_non_null(name);
    return name;
}

/* The head of a file as ops/matrix_cache.c writes it. */
typedef struct head {
    char magic[16];
    uint64_t key, kind, views, columns, taps, voxels, bytes, hash;
} head;

/* Computes the hash again. It covers three parts that follow each other behind the head. */
static void hash_again(char *file) {
    head h;
    memcpy(&h, file, sizeof h);
    const size_t parts[] = {h.voxels * VIEWS * sizeof(uint16_t), h.voxels * sizeof(float), 0};
    const char *at = file + sizeof h;
    uint64_t hash = 0;
    for (int i = 0; i < 3; i++) {
        const size_t bytes = i < 2 ? parts[i] : h.bytes - sizeof h - parts[0] - parts[1];
        hash = qb__hash(at, bytes, hash);
        at += bytes;
    }
    memcpy(file + offsetof(head, hash), &hash, sizeof hash);
}

typedef enum spoiling { FIRST, LAST, SCALE, ENTRY, NOTHING } spoiling;

static void spoil(char *file, spoiling how) {
    head h;
    memcpy(&h, file, sizeof h);
    assert_int_equal(h.views, VIEWS);
    const uint16_t beyond = how == FIRST ? UINT16_MAX : (uint16_t)(h.columns + h.taps + 1);
    const float nan = NAN;
    char *const first = file + sizeof h, *const scale = first + h.voxels * VIEWS * sizeof(uint16_t);
    if (how == FIRST) memcpy(first + 5 * sizeof beyond, &beyond, sizeof beyond);
    if (how == LAST) memcpy(scale - sizeof beyond, &beyond, sizeof beyond);
    if (how == SCALE) memcpy(scale, &nan, sizeof nan);
    if (how == ENTRY) memcpy(scale + h.voxels * sizeof nan, &nan, sizeof nan);
    hash_again(file);
}

static void bad_numbers(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        spoiling how;
    } cases[] = {{"bytes", FIRST}, {"bytes", LAST},   {"bytes", SCALE},   {"floats", FIRST},
                 {"floats", LAST}, {"floats", ENTRY}, {"floats", NOTHING}};
    static float want[COLUMNS * COLUMNS], got[COLUMNS * COLUMNS];
    if (!qb__hash_known()) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        size_t bytes, again;
        run(cases[i].kind, want);
        assert_string_equal(warned, "");
        strcpy(path, only_file());
        char *file = get_file(path, &bytes), *whole = malloc(bytes);
        memcpy(whole, file, bytes);
        spoil(file, cases[i].how);
        /* this test computes the hash as the library does */
        if (cases[i].how == NOTHING) assert_memory_equal(file, whole, bytes);
        put_file(path, file, bytes);
        run(cases[i].kind, got);
        assert_memory_equal(got, want, sizeof got);
        assert_int_equal(strstr(warned, "is damaged") != NULL, cases[i].how != NOTHING);
        free(file);
        file = get_file(path, &again);
        assert_int_equal(again, bytes);
        assert_memory_equal(file, whole, bytes); /* the matrix was computed and written again */
        free(file);
        free(whole);
        remove(path);
    }
}

static void what_others_could_write(void **state) {
    (void)state;
    static float want[COLUMNS * COLUMNS], got[COLUMNS * COLUMNS];
    char path[512], folder[512];
    struct stat about;
    if (!qb__hash_known()) skip();
    const mode_t mask = umask(0002); /* as on systems where each user has a group */
    strcpy(folder, in_folder("kept"));
    run("floats", want);
    strcpy(path, only_file());
    assert_int_equal(stat(folder, &about), 0);
    assert_int_equal(about.st_mode & 022, 0);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 022, 0);
    umask(mask);
    for (int i = 0; i < 3; i++) {
        if (i == 0) chmod(path, 0664);
        if (i == 1) chmod(folder, 0775), remove(path);
        if (i == 2 && (geteuid() != 0 || chmod(folder, 0755) != 0 || chown(folder, 1, (gid_t)-1) != 0)) break;
        run("floats", got);
        assert_memory_equal(got, want, sizeof got);
        const char *const says[] = {"others may have written it", "chmod go-w mends that", "another user"};
        if (!strstr(warned, says[i]) || !strstr(warned, "[matrix-cache]")) fail_msg("%d: %s", i, warned);
        if (i > 0) assert_int_equal(count_files(folder), 0); /* nothing is left there either */
    }
}

int main(void) {
#define ON_A_SCAN(name) cmocka_unit_test_setup_teardown(name, make_scan, drop_folder)
    const struct CMUnitTest tests[] = {ON_A_SCAN(bad_numbers), ON_A_SCAN(what_others_could_write)};
    return cmocka_run_group_tests_name("matrix cache", tests, NULL, NULL);
}
