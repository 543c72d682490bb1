/* SPDX-License-Identifier: MIT */
/* Programs that tune at the same time keep each other's rows. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planner/tuning.h"

enum { PROGRAMS = 4, ROWS = 12 };

static const char *name_of(int program, char text[16]) {
    snprintf(text, 16, "device %d", program);
    return text;
}

static qb__tuning_key key_of(const char *device, int row) {
    return (qb__tuning_key){device, "kernel", 128, (size_t)1 << row};
}

static void tune(int program, int start) {
    char name[16], byte;
    if (read(start, &byte, 1) < 0) _exit(2); /* all start together */
    for (int row = 0; row < ROWS; row++) {
        qb__tuning_key key = key_of(name_of(program, name), row);
        qb__tuning_entry entry = {.values = {row}, .giga_updates = 1 + program};
        if (qb__tuning_store(&key, &entry, NULL) != QB_OK) _exit(1);
    }
    _exit(0);
}

static void test_no_row_is_lost(void **state) {
    (void)state;
    char folder[] = "/tmp/quickbeam-tuning-XXXXXX", path[64], lock[64], name[16];
    int start[2];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(pipe(start), 0);
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    snprintf(lock, sizeof lock, "%s.lock", path);
    setenv("QB_TUNING", path, 1);
    for (int i = 0; i < PROGRAMS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(start[1]);
            tune(i, start[0]);
        }
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0, code; i < PROGRAMS; i++) {
        assert_true(wait(&code) > 0);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    }
    for (int i = 0; i < PROGRAMS * ROWS; i++) {
        qb__tuning_key key = key_of(name_of(i / ROWS, name), i % ROWS);
        qb__tuning_entry found;
        assert_true(qb__tuning_find(&key, NULL, &found));
        assert_int_equal(found.values[0], i % ROWS); /* each row has its own value, not that of the next */
    }
    unlink(path);
    unlink(lock);
    assert_int_equal(rmdir(folder), 0); /* no other file was left */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_row_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
