/* SPDX-License-Identifier: MIT */
/* qb_tool_guard: a separate process first opens the file, here with the HDF5 library. These tests check what the caller
 * says for each way in which that process may end. */
#include "io_files.h"

#include "io/guard/guard.h"

#ifdef QB_HAVE_HDF5
/* Opens a.h5 with a shell script in the place of the separate process. */
static qb_status after(const char *script) {
    static char path[512];
    put_file(in_folder("s.sh"), script, strlen(script));
    snprintf(path, sizeof path, "%s", in_folder("s.sh"));
    qb_tool_guard("/bin/sh", path);
    qb_array_info info = {.struct_size = sizeof info};
    qb_status status = qb_array_describe(in_folder("a.h5"), NULL, &info);
    qb_tool_guard(NULL, NULL);
    return status;
}

static void put_array(void) {
    unsigned char data[120] = {0};
    qb_stack stack = small_stack(QB_U8);
    assert_ok(put_stack(in_folder("a.h5"), &stack, data));
}

static void ends(void **state) {
    (void)state;
    static const struct {
        const char *script;
        qb_status status;
        const char *words;
    } cases[] = {
        {"kill -SEGV $$", QB_BAD_INPUT, "a.h5: malformed: the library that reads it crashes"},
        {"kill -ABRT $$", QB_BAD_INPUT, "crashes (Aborted)"},
        {"ulimit -S -t 1; while :; do :; done", QB_BAD_INPUT, "does not finish"},
        {"exit 9", QB_BAD_INPUT, "absurd amount of memory"},
        {"exit 1", QB_BAD_INPUT, "exit code 1"},
        {"kill -KILL $$", QB_NO_MEMORY, "was killed"},
        {"kill -INT $$", QB_CANCELLED, "interrupted"},
    };
    put_array();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_status(after(cases[i].script), cases[i].status);
        if (!strstr(qb_detail(), cases[i].words)) fail_msg("%s: %s", cases[i].script, qb_detail());
    }
}

static size_t count_bytes(const char *path) {
    size_t count;
    free(get_file(path, &count));
    return count;
}

/* The process receives the file and the dataset. A file that went well is not tried again until it changes. */
static void words_and_proofs(void **state) {
    (void)state;
    char script[700], told[512];
    snprintf(told, sizeof told, "%s", in_folder("told"));
    snprintf(script, sizeof script, "echo \"$@\" >> %s", told);
    put_array();
    assert_ok(after(script));
    assert_ok(after(script));
    assert_int_equal(count_bytes(told), strlen(in_folder("a.h5")) + 1);
    put_array();
    assert_ok(after(script));
    assert_int_equal(count_bytes(told), 2 * (strlen(in_folder("a.h5")) + 1));
    qb_tool_guard("/nowhere/at/all", "x");
    qb_array_info info = {.struct_size = sizeof info};
    put_array();
    assert_status(qb_array_describe(in_folder("a.h5"), NULL, &info), QB_IO);
    qb_tool_guard(NULL, NULL);
}

#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(ends), IN_FOLDER(words_and_proofs)};
    return cmocka_run_group_tests_name("io_guard", tests, NULL, NULL);
}
#else
int main(void) {
    puts("io_guard: this build has no HDF5");
    return 0;
}
#endif
