/* SPDX-License-Identifier: MIT */
/* A tuning file may hold anything. A file that cannot be used is never overwritten. A row that no device can have
 * measured never decides. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "planner/tuning.h"
#include "planner/tuning_file.h"

static const qb__tuning_key key = {"NVIDIA H200", "bp_parallel_linear.tensor", 128, 1024};
static const qb__tuning_entry own = {.values = {0, 4, 2, 1}, .giga_updates = 7};
static char folder[] = "/tmp/quickbeam-tuning-XXXXXX", path[64];

static int begin(void **state) {
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    return setenv("QB_TUNING", path, 1);
}

static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void put(const char *text, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    nanosleep(&(struct timespec){.tv_nsec = 6000000},
              NULL); /* the library asks again after a while whether the file has changed */
}

static bool holds(const char *text, size_t count) {
    char *found = malloc(count + 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(found);
    assert_non_null(file);
    const bool same = fread(found, 1, count + 1, file) == count && !memcmp(found, text, count);
    fclose(file);
    free(found);
    return same;
}

static int warnings;
static char warned[1024];
static void log_warning(void *user, qb_log_level level, const char *text) {
    (void)user;
    assert_int_equal(level, QB_LOG_WARNING);
    warnings++;
    snprintf(warned, sizeof warned, "%s", text);
}

static const char *warning(void) {
    const qb_env env = {.log = log_warning};
    warnings = 0;
    warned[0] = 0;
    qb__tuning_warn(&env);
    return warned;
}

/* The file is used neither before a search nor after it. The planner warns once and takes the shipped row. */
static void check_unusable(const char *why) {
    qb__tuning_entry found;
    assert_int_equal(qb__tuning_check(), QB_BAD_INPUT);
    assert_int_equal(qb__tuning_store(&key, &own, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), path));
    assert_non_null(strstr(qb_detail(), why));
    assert_non_null(strstr(qb_detail(), "move it away"));
    assert_non_null(strstr(warning(), why));
    assert_int_equal(warnings, 1);
    assert_true(qb__tuning_find(&key, NULL, &found) && found.giga_updates > 7);
}

static void test_broken_text_stays(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t count;
    } broken[] = {{"[{\"device\": \"mine\"},", 20},
                  {"{\"rows\": []}", 12},
                  {"[] and more", 11},
                  {"[]\0[1]", 6},
                  {"\0", 1},
                  {"\n", 1}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        put(broken[i].text, broken[i].count);
        check_unusable("JSON array");
        assert_true(holds(broken[i].text, broken[i].count));
    }
}

static void test_large_file_stays(void **state) {
    (void)state;
    const size_t count = (4 << 20) + 1;
    char *text = malloc(count);
    assert_non_null(text);
    memset(text, ' ', count);
    text[0] = '[', text[count - 1] = ']';
    put(text, count);
    check_unusable("4 MiB");
    assert_true(holds(text, count));
    text[count - 2] = ']'; /* with one byte less it can be used */
    put(text, count - 1);
    assert_int_equal(qb__tuning_store(&key, &own, NULL), QB_OK);
    free(text);
}

static void test_no_file_at_all(void **state) {
    (void)state;
    struct stat about;
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(600); /* a pipe to which nobody writes */
    check_unusable("regular file");
    alarm(0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("tuning.json", path), 0); /* a link to itself */
    check_unusable("cannot be read");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("nowhere.json", path), 0);
    check_unusable("leads nowhere");
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
}

static void test_absent_or_empty(void **state) {
    (void)state;
    qb__tuning_entry found;
    assert_string_equal(warning(), "");
    assert_int_equal(qb__tuning_check(), QB_OK);
    put("", 0);
    assert_string_equal(warning(), "");
    assert_int_equal(qb__tuning_store(&key, &own, NULL), QB_OK);
    assert_true(qb__tuning_find(&key, NULL, &found) && found.giga_updates == 7);
    setenv("QB_TUNING", "", 1);
    assert_string_equal(warning(), "");
    assert_int_equal(qb__tuning_check(), QB_IO);
    assert_int_equal(qb__tuning_store(&key, &own, NULL), QB_IO);
}

/* The file lies elsewhere behind a link, as files that machines share do. */
static void test_link_stays(void **state) {
    (void)state;
    char there[96];
    struct stat about;
    qb__tuning_entry found;
    put("[]", 2);
    snprintf(there, sizeof there, "%s/kept", folder);
    assert_int_equal(mkdir(there, 0700), 0);
    snprintf(there, sizeof there, "%s/kept/file.json", folder);
    assert_int_equal(rename(path, there), 0);
    assert_int_equal(symlink("kept/file.json", path), 0);
    assert_int_equal(qb__tuning_store(&key, &own, NULL), QB_OK);
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat(there, &about), 0);
    assert_true(S_ISREG(about.st_mode) && about.st_size > 50);
    assert_true(qb__tuning_find(&key, NULL, &found) && found.giga_updates == 7);
}

static void put_row(const char *speed, int first) {
    char text[256];
    int n = snprintf(text, sizeof text,
                     "[{\"device\": \"%s\", \"kernel\": \"%s\", \"slices\": 128, \"columns\": 1024, "
                     "\"values\": [%d, 4, 2, 1], \"giga_updates_per_second\": %s}]",
                     key.device, key.variant, first, speed);
    put(text, (size_t)n);
}

static void test_speeds(void **state) {
    (void)state;
    static const struct {
        const char *speed;
        bool taken;
    } rows[] = {{"7", true},       {"1e-6", true},   {"1e9", true}, {"5e-324", false},
                {"0.9e-6", false}, {"1.1e9", false}, {"-3", false}, {"1e999", false},
                {"null", false},   {"\"7\"", false}, {"0", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        qb__tuning_entry found;
        put_row(rows[i].speed, 0);
        assert_true(qb__tuning_find(&key, NULL, &found));
        if ((found.giga_updates == strtod(rows[i].speed, NULL)) != rows[i].taken)
            fail_msg("%s: %g", rows[i].speed, found.giga_updates);
    }
}

static bool starts_with_zero(const void *context, const int *values) {
    (*(int *)(uintptr_t)context)++;
    return values[0] == 0;
}

/* A row that cannot serve does not hide the shipped row. */
static void test_what_does_not_serve_hides_nothing(void **state) {
    (void)state;
    int asked = 0;
    const qb__tuning_test zero = {starts_with_zero, &asked};
    qb__tuning_entry shipped, found;
    assert_true(qb__tuning_find(&key, NULL, &shipped));
    put_row("7", 3);
    assert_true(qb__tuning_find(&key, &zero, &found));
    assert_int_equal(asked, 1);
    assert_memory_equal(&found, &shipped, sizeof found);
    put_row("7", 0);
    assert_true(qb__tuning_find(&key, &zero, &found) && found.giga_updates == 7);
}

/* A relative HOME would leave a file in whatever folder the process works. */
static void test_relative_homes(void **state) {
    (void)state;
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char before[2][512];
    snprintf(before[0], sizeof before[0], "%s", config ? config : "");
    snprintf(before[1], sizeof before[1], "%s", home ? home : "");
    assert_int_equal(unsetenv("QB_TUNING") | unsetenv("XDG_CONFIG_HOME") | setenv("HOME", "here", 1), 0);
    assert_string_equal(qb__tuning_path(), "");
    assert_int_equal(setenv("XDG_CONFIG_HOME", "there", 1), 0);
    assert_string_equal(qb__tuning_path(), "");
    assert_int_equal(setenv("HOME", "/home/x", 1), 0);
    assert_string_equal(qb__tuning_path(), "/home/x/.config/quickbeam/tuning.json");
    assert_int_equal(setenv("XDG_CONFIG_HOME", "/y", 1), 0);
    assert_string_equal(qb__tuning_path(), "/y/quickbeam/tuning.json");
    assert_int_equal(setenv("QB_TUNING", "own.json", 1), 0);
    assert_string_equal(qb__tuning_path(), "own.json"); /* a path that the user names is taken as it is */
    setenv("XDG_CONFIG_HOME", before[0], 1);
    setenv("HOME", before[1], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(broken_text_stays), TEST(large_file_stays), TEST(no_file_at_all), TEST(absent_or_empty),
        TEST(link_stays),        TEST(speeds),           TEST(relative_homes), TEST(what_does_not_serve_hides_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
