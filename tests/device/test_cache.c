/* SPDX-License-Identifier: MIT */
/* The cache of compiled programs. The mock's compiler counts its calls. */
#include "child.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "device/device.h"

static char folder[64], file[512];

/* How many compilations the probe needs; -1 on failure. */
static int compiles(mock_cuda_state *mock) {
    qb__device *device;
    qb__program *program;
    int before = mock->compiles;
    if (qb__device_open("cuda", &device) != QB_OK) return -1;
    qb_status status = qb__program_build(device, "device_probe.cl", NULL, &program);
    if (status == QB_OK) qb__program_release(program);
    qb__device_close(device);
    return status == QB_OK ? mock->compiles - before : -1;
}

/* Returns how many files are there. `file` receives the path of the last one. */
static int files(void) {
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
        count++;
    }
    if (dir) closedir(dir);
    return count;
}

static bool only_file(void) { return files() == 1; }

static off_t size_of(const char *path) {
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

static const char *compiled_once(mock_cuda_state *mock) {
    struct stat st;
    EXPECT(compiles(mock) == 1);
    EXPECT(compiles(mock) == 0);
    EXPECT(only_file());
    EXPECT(stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700);
    EXPECT(stat(file, &st) == 0 && (st.st_mode & 0777) == 0600);
    return NULL;
}

/* The device layer counts compilations as the compiler does. Listeners are told before each compilation, until they
 * unlisten. */
static void count_call(void *user, const qb__device_info *info) { *(int *)user += strcmp(info->spec, "cuda:0") == 0; }

static const char *counted_and_told(mock_cuda_state *mock) {
    int told = 0, second = 0;
    qb__device *device;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    qb__device_listen(device, count_call, &told);
    qb__device_listen(device, count_call, &second); /* the first listener stays */
    EXPECT(qb__device_builds(device).programs == 0);
    EXPECT(compiles(mock) == 1 && told == 1);
    EXPECT(qb__device_builds(device).programs == 1 && qb__device_builds(device).seconds > 0);
    EXPECT(compiles(mock) == 0 && told == 1 && qb__device_builds(device).programs == 1);
    qb__device_unlisten(device, &second); /* this one never listened: nothing happens */
    EXPECT(only_file() && unlink(file) == 0);
    EXPECT(compiles(mock) == 1 && told == 2 && second == 0);
    qb__device_unlisten(device, &told);
    EXPECT(unlink(file) == 0 && compiles(mock) == 1 && told == 2);
    EXPECT(qb__device_builds(device).programs == 3);
    qb__device_close(device);
    return NULL;
}

static const char *found_by_the_next(mock_cuda_state *mock) {
    EXPECT(compiles(mock) == 0);
    return NULL;
}

static const char *another_driver(mock_cuda_state *mock) {
    mock->driver = 13010;
    EXPECT(compiles(mock) == 1);
    return NULL;
}

static const char *another_compiler(mock_cuda_state *mock) {
    mock->nvrtc_major = 12;
    EXPECT(compiles(mock) == 1);
    return NULL;
}

/* Each byte is changed in turn, and each shorter length is tried: the program is always compiled again, and the entry
 * is whole afterwards. */
static const char *corrupted(mock_cuda_state *mock) {
    EXPECT(compiles(mock) == 1 && only_file());
    off_t size = size_of(file);
    EXPECT(size > 50 && size < 500);
    for (off_t at = 0; at <= size; at++) {
        for (int cut = 0; cut < 2; cut++) {
            int fd = open(file, O_RDWR);
            char byte = 0;
            EXPECT(fd >= 0);
            if (at == size) { /* append bytes instead */
                EXPECT(pwrite(fd, "x", 1, at) == 1);
            } else if (cut) {
                EXPECT(ftruncate(fd, at) == 0);
            } else {
                EXPECT(pread(fd, &byte, 1, at) == 1);
                byte ^= 0x20;
                EXPECT(pwrite(fd, &byte, 1, at) == 1);
            }
            close(fd);
            EXPECT(compiles(mock) == 1);
            EXPECT(size_of(file) == size);
            EXPECT(compiles(mock) == 0);
        }
    }
    return NULL;
}

/* The entry is complete and has the right checksum, but the driver refuses it. It is built again. */
static const char *driver_refuses(mock_cuda_state *mock) {
    EXPECT(compiles(mock) == 1);
    mock->fail_after = mock->calls = 0;
    qb__device *device;
    qb__program *program;
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    mock->fail_after = 2; /* context_push succeeds, module_load fails */
    mock->fail_with = 200;
    int before = mock->compiles;
    EXPECT(qb__program_build(device, "device_probe.cl", NULL, &program) == QB_OK);
    EXPECT(mock->compiles == before + 1 && mock->fail_after == 0);
    qb__program_release(program);
    qb__device_close(device);
    return NULL;
}

static const char *writable_by_others(mock_cuda_state *mock) {
    EXPECT(!*qb__program_cache_problem()); /* the folder does not exist yet */
    EXPECT(compiles(mock) == 1 && only_file());
    EXPECT(!*qb__program_cache_problem());
    EXPECT(chmod(folder, 0777) == 0);
    EXPECT(strstr(qb__program_cache_problem(), folder) != NULL);
    EXPECT_SAYS(qb__program_cache_problem(), "chmod go-w");
    EXPECT(compiles(mock) == 1); /* nothing was read */
    EXPECT(unlink(file) == 0 && compiles(mock) == 1);
    EXPECT(!only_file()); /* nothing was written */
    return NULL;
}

/* Other things may lie where an entry should be. Nothing waits for the writer of a pipe, no link is followed, and both
 * are replaced. */
static const char *not_a_file(mock_cuda_state *mock) {
    char elsewhere[600];
    struct stat st;
    EXPECT(compiles(mock) == 1 && only_file());
    EXPECT(unlink(file) == 0 && mkfifo(file, 0600) == 0);
    alarm(600);
    EXPECT(compiles(mock) == 1 && compiles(mock) == 0);
    alarm(0);
    EXPECT(lstat(file, &st) == 0 && S_ISREG(st.st_mode));
    snprintf(elsewhere, sizeof elsewhere, "%s/../elsewhere", folder);
    EXPECT(rename(file, elsewhere) == 0 && symlink("../elsewhere", file) == 0);
    EXPECT(compiles(mock) == 1 && compiles(mock) == 0);
    EXPECT(lstat(file, &st) == 0 && S_ISREG(st.st_mode));
    EXPECT(unlink(elsewhere) == 0);
    return NULL;
}

static const char *cannot_be_written(mock_cuda_state *mock) {
    setenv("QB_CACHE_DIR", "/proc/nowhere/quickbeam", 1);
    EXPECT(compiles(mock) == 1);
    EXPECT(compiles(mock) == 1);
    unsetenv("QB_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    EXPECT(compiles(mock) == 1);
    EXPECT(!*qb__program_cache_folder());
    setenv("HOME", "/dev/null", 1);
    EXPECT(compiles(mock) == 1);
    EXPECT(!*qb__program_cache_problem());
    setenv("QB_CACHE_DIR", "/dev/null", 1);
    EXPECT_SAYS(qb__program_cache_problem(), "no folder");
    EXPECT(compiles(mock) == 1);
    setenv("QB_CACHE_DIR", "", 1);
    EXPECT(compiles(mock) == 1);
    return NULL;
}

static const char *where_it_lies(mock_cuda_state *mock) {
    (void)mock;
    EXPECT(!strcmp(qb__program_cache_folder(), folder));
    unsetenv("QB_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "/x", 1);
    EXPECT(!strcmp(qb__program_cache_folder(), "/x/quickbeam"));
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/h", 1);
    EXPECT(!strcmp(qb__program_cache_folder(), "/h/.cache/quickbeam"));
    return NULL;
}

static const char *macros_and_sharing(mock_cuda_state *mock) {
    qb__device *device;
    qb__program *a, *b, *c;
    const char *const one[] = {"A=1", NULL}, *const two[] = {"A=", "1", NULL};
    EXPECT(qb__device_open("cuda", &device) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", one, &a) == QB_OK);
    EXPECT(qb__program_build(device, "device_probe.cl", one, &b) == QB_OK);
    EXPECT(a == b && mock->compiles == 1 && mock->modules == 1);
    EXPECT(qb__program_build(device, "device_probe.cl", two, &c) == QB_OK);
    EXPECT(c != a && mock->compiles == 2 && mock->modules == 2);
    qb__program_release(a);
    EXPECT(mock->modules == 2);
    qb__program_release(b);
    EXPECT(mock->modules == 1);
    qb__program_release(c);
    qb__program_release(NULL);
    EXPECT(mock->modules == 0);
    qb__device_close(device);
    return NULL;
}

static void start_empty(void) {
    while (files() && unlink(file) == 0) {}
    rmdir(folder);
}

#define ALONE(name)                                                                                                    \
    static void test_##name(void **state) {                                                                            \
        (void)state;                                                                                                   \
        start_empty();                                                                                                 \
        in_child(name, folder);                                                                                        \
        chmod(folder, 0700);                                                                                           \
    }
ALONE(counted_and_told)
ALONE(corrupted)
ALONE(driver_refuses)
ALONE(writable_by_others)
ALONE(not_a_file)
ALONE(cannot_be_written)
ALONE(where_it_lies)
ALONE(macros_and_sharing)

static void test_in_turn(void **state) {
    (void)state;
    start_empty();
    in_child(compiled_once, folder);
    in_child(found_by_the_next, folder);
    in_child(another_driver, folder);
    in_child(another_compiler, folder);
    in_child(found_by_the_next, folder);
}

int main(void) {
    char base[] = "/tmp/qb-cache-XXXXXX";
    if (!mkdtemp(base)) return 1;
    snprintf(folder, sizeof folder, "%s/a/b", base);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counted_and_told), cmocka_unit_test(test_corrupted),
        cmocka_unit_test(test_driver_refuses),   cmocka_unit_test(test_writable_by_others),
        cmocka_unit_test(test_not_a_file),       cmocka_unit_test(test_cannot_be_written),
        cmocka_unit_test(test_where_it_lies),    cmocka_unit_test(test_macros_and_sharing),
        cmocka_unit_test(test_in_turn),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command) || failed;
}
