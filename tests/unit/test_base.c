/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/half.h"
#include "base/inputs.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "quickbeam/array.h"
#include "quickbeam/geometry.h"
#include "quickbeam/io.h"
#include "quickbeam/param.h"
#include "quickbeam/version.h"

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(qb_status_exit_code(QB_OK), 0);
    assert_int_equal(qb_status_exit_code(QB_NO_SPACE), 1);
    assert_int_equal(qb_status_exit_code(QB_BAD_ARGUMENT), 2);
    assert_int_equal(qb_status_exit_code(QB_BAD_INPUT), 3);
    assert_int_equal(qb_status_exit_code(QB_CANCELLED), 130);
}

static void details(void **state) {
    (void)state;
    assert_status(qb__fail(QB_IO, "file %d", 7), QB_IO);
    assert_string_equal(qb_detail(), "file 7");
    qb__fail_in(QB_IO, "while %s", "reading");
    assert_string_equal(qb_detail(), "while reading: file 7");
    qb__fail(QB_BAD_INPUT, "run 1 views.h5: %d views are few, %d x %d pixels, %s", 1, 1, 1, "1 rows");
    assert_string_equal(qb_detail(), "run 1 views.h5: 1 view is few, 1 x 1 pixels, 1 rows");
    qb__fail(QB_BAD_INPUT, "%d chunks of the data were never written, %d links do not lead anywhere", 1, 1);
    assert_string_equal(qb_detail(), "1 chunk of the data was never written, 1 link does not lead anywhere");
    qb__fail(QB_BAD_INPUT, "%d processes of %d slices (%d rows) have %zu of them, %d views hold", 1, 11, 1, (size_t)1,
             21);
    assert_string_equal(qb_detail(), "1 process of 11 slices (1 row) has 1 of them, 21 views hold");
    qb__fail(QB_BAD_INPUT, "a file says \x1b[2J\r\n\x7f\xc2\x9b"
                           "1m"); /* a terminal gets the text without its control characters */
    assert_string_equal(qb_detail(), "a file says  [2J     1m");
}

/* The memory that a message names is more than was given. It is also enough for a process that holds 2 % or 400 KiB
 * more next time. */
static void named_memory_is_enough(void **state) {
    (void)state;
    const qb_env given = {.max_ram = 1};
    for (double need = 1e6; need < 1e12; need *= 1.37) {
        assert_status(qb__fail_ram(&given, need - 1, need, "%s needs", "this"), QB_BAD_ARGUMENT);
        double cap, named;
        assert_int_equal(sscanf(qb_detail(), "--max-ram of %lf MiB is too small: this needs %lf MiB", &cap, &named), 2);
        named *= 1048576;
        assert_true(named > cap * 1048576 && named > 1.025 * need && named > need + 4e5);
        assert_true(named < need + fmax(0.04 * need, 6e5) + 1.05e5);
    }
    qb__fail_ram(NULL, 1e6, 2e6,
                 "this needs"); /* without --max-ram the message names the limit, whichever it is on this machine */
    assert_null(strstr(qb_detail(), "--max-ram"));
    assert_non_null(strstr(qb_detail(), "3/4 of what "));
    assert_non_null(strstr(qb_detail(), " is too small: this needs"));
}

/* When no memory is left for the names of all inputs, no file is known to be no input. */
static void names_of_inputs_are_whole(void **state) {
    (void)state;
    struct stat about;
    assert_int_equal(stat("/", &about), 0);
    for (size_t n = 1; n <= 3; n++) {
        qb__inputs inputs = {0};
        qb__fail_allocation(n);
        qb__inputs_begin(&inputs);
        qb__input_seen("/", &about);
        qb__inputs_end(&inputs);
        qb__fail_allocation(0);
        assert_status(qb__inputs_protect(&inputs, "/nobody/reads/this"), n < 3 ? QB_NO_MEMORY : QB_OK);
        assert_status(qb__inputs_protect(&inputs, "/"), n < 3 ? QB_NO_MEMORY : QB_BAD_ARGUMENT);
        qb__inputs_release(&inputs);
    }
}

static void allocation(void **state) {
    (void)state;
    char *small, *large, *none;
    assert_ok(qb__alloc(10, 1, &small));
    assert_ok(qb__alloc(3 << 20, 2, &large));
    assert_int_equal((uintptr_t)small % 64, 0);
    assert_int_equal((uintptr_t)large % 64, 0);
    for (size_t i = 0; i < 6 << 20; i += 4096) assert_int_equal(large[i], 0);
    qb__free(small);
    qb__free(large);
    assert_status(qb__alloc(SIZE_MAX / 2, 3, &none), QB_NO_MEMORY);
    assert_null(none);
    /* with the bytes in front of and behind it the block exceeds the largest size */
    for (size_t less = 0; less < 256; less += 16) assert_status(qb__alloc(SIZE_MAX - less, 1, &none), QB_NO_MEMORY);
    qb__fail_allocation(2);
    assert_ok(qb__alloc(1, 1, &small));
    assert_status(qb__alloc(1, 1, &none), QB_NO_MEMORY);
    qb__free(small);
    size_t product;
    assert_false(qb__mul(SIZE_MAX, 2, 1, &product));
    assert_true(qb__mul(1 << 20, 1 << 20, 4, &product));
}

/* All 65,536 halves are converted to float and back unchanged. Floats are rounded to the nearest half. */
static void put(const char *folder, const char *name, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Pages of files that the kernel may drop count as free memory. Other pages do not. */
static void cgroup(void **state) {
    (void)state;
    char folder[] = "/tmp/qb-cgroup-XXXXXX", path[64];
    static const char *const files[] = {"memory.max", "memory.current", "memory.stat"};
    assert_non_null(mkdtemp(folder));
    assert_true(qb__cgroup_room(folder) == SIZE_MAX);
    put(folder, "memory.max", "1000000\n");
    put(folder, "memory.current", "900000\n");
    assert_int_equal(qb__cgroup_room(folder), 100000);
    put(folder, "memory.stat", "anon 100\nfile 700000\nactive_file 9\ninactive_file 600000\n");
    assert_int_equal(qb__cgroup_room(folder), 700000);
    /* the two files are read at slightly different times, so their numbers may not agree */
    put(folder, "memory.current", "500000\n");
    assert_int_equal(qb__cgroup_room(folder), 1000000);
    put(folder, "memory.stat", "anon 100\n");
    put(folder, "memory.current", "1000100\n");
    assert_int_equal(qb__cgroup_room(folder), 0);
    put(folder, "memory.max", "max\n");
    assert_true(qb__cgroup_room(folder) == SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* The smallest limit of all enclosing groups counts, in both versions of cgroups. */
static void cgroups(void **state) {
    (void)state;
    char top[] = "/tmp/qb-cgroups-XXXXXX", folder[128], list[128], command[160];
    assert_non_null(mkdtemp(top));
    snprintf(list, sizeof list, "%s/list", top);
    assert_true(qb__cgroups_room(list, top) == SIZE_MAX);
    put(top, "list", "12:cpu,cpuacct:/x\n3:memory:/a/b\n0::/slice/scope\n");
    assert_true(qb__cgroups_room(list, top) == SIZE_MAX);
    static const struct {
        const char *below, *limit, *limit_file, *used_file;
        size_t room;
    } groups[] = {{"slice", "9000\n", "memory.max", "memory.current", 8900},
                  {"slice/scope", "7000\n", "memory.max", "memory.current", 6900},
                  {"memory", "6000\n", "memory.limit_in_bytes", "memory.usage_in_bytes", 5900},
                  {"memory/a", "9223372036854771712\n", "memory.limit_in_bytes", "memory.usage_in_bytes", 5900},
                  {"memory/a/b", "5000\n", "memory.limit_in_bytes", "memory.usage_in_bytes", 4900},
                  {"", "3000\n", "memory.max", "memory.current", 2900}};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s", top, groups[i].below);
        mkdir(folder, 0777);
        put(folder, groups[i].limit_file, groups[i].limit);
        put(folder, groups[i].used_file, "100\n");
        assert_int_equal(qb__cgroups_room(list, top), groups[i].room);
    }
    snprintf(folder, sizeof folder, "%s/memory/a/b", top);
    put(folder, "memory.stat", "inactive_file 1\ntotal_inactive_file 60\n");
    snprintf(folder, sizeof folder, "%s/memory.max", top);
    unlink(folder);
    assert_int_equal(qb__cgroups_room(list, top), 4960);
    snprintf(command, sizeof command, "rm -r %s", top);
    assert_int_equal(system(command), 0);
}

/* The limit of ulimit -v counts: a child that may use 300 MiB of addresses sees less than that. */
static void address_limit(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit most = {(rlim_t)300 << 20, (rlim_t)300 << 20};
        bool good = setrlimit(RLIMIT_AS, &most) == 0 && qb__available_bytes() < (size_t)300 << 20;
        _exit(!good);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(how, 0);
#endif
}

static void halves(void **state) {
    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        uint16_t half = (uint16_t)i, back;
        float value;
        qb__half_to_float(&half, 1, &value);
        qb__float_to_half(&value, 1, &back);
        if (isnan(value)) {
            assert_true((back & 0x7fff) > 0x7c00);
        } else {
            assert_int_equal(back, half);
        }
    }
    float one_and = 1.0f + 0x1p-11f, above = 1.0f + 0x1.1p-11f, huge = 65520.0f;
    uint16_t half;
    qb__float_to_half(&one_and, 1, &half);
    assert_int_equal(half, 0x3c00); /* a tie is rounded to even */
    qb__float_to_half(&above, 1, &half);
    assert_int_equal(half, 0x3c01);
    qb__float_to_half(&huge, 1, &half);
    assert_int_equal(half, 0x7c00);
}

static void conversion(void **state) {
    (void)state;
    float values[] = {-1.0f, 0.0f, 0.5f, 1.0f, 2.0f, NAN};
    unsigned char bytes[6];
    unsigned short words[6];
    qb_convert_from_float(values, 6, QB_U8, 0, 1, bytes);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[2], 128);
    assert_int_equal(bytes[3], 255);
    assert_int_equal(bytes[4], 255);
    assert_int_equal(bytes[5], 0);
    qb_convert_from_float(values, 6, QB_U16, 0, 1, words);
    assert_int_equal(words[2], 32768);
    assert_int_equal(words[3], 65535);
    short in[] = {-5, 300};
    float out[2];
    qb_convert_to_float(in, QB_I16, 2, out);
    assert_true(out[0] == -5.0f && out[1] == 300.0f);
}

typedef struct sample {
    size_t struct_size;
    bool flag;
    int whole, choice;
    qb_beam beam;
    qb_dtype dtype;
    size_t bytes;
    double real;
    char *text;
    qb_numbers list;
} sample;

static const qb_param table[] = {
    {"flag", QB_PARAM_FLAG, offsetof(sample, flag), NULL, NULL, NULL, 0, 0, "", 'f'},
    {"whole", QB_PARAM_INT, offsetof(sample, whole), "N", "3", NULL, 0, 10, "", 0},
    {"choice", QB_PARAM_CHOICE, offsetof(sample, choice), NULL, "b", "a|b|cc", 0, 0, "", 0},
    {"beam", QB_PARAM_CHOICE, offsetof(sample, beam), NULL, NULL, "parallel|cone", QB_BEAM_PARALLEL, 0, "", 0},
    {"dtype", QB_PARAM_DTYPE, offsetof(sample, dtype), NULL, "float32", "float32|uint8", 0, 0, "", 0},
    {"bytes", QB_PARAM_BYTES, offsetof(sample, bytes), NULL, NULL, NULL, 0, 0, "", 0},
    {"real", QB_PARAM_DOUBLE, offsetof(sample, real), NULL, "0.1", NULL, 0, 1, "", 0},
    {"text", QB_PARAM_TEXT, offsetof(sample, text), NULL, "hello", NULL, 0, 0, "", 0},
    {"list", QB_PARAM_NUMBERS, offsetof(sample, list), NULL, NULL, NULL, 0, 0, "", 0},
    QB_PARAMS_END(sample),
};

static qb_status set(sample *s, const char *name, const char *value) {
    return qb_param_set(qb_param_find(table, name), s, value);
}

static void parameters(void **state) {
    (void)state;
    sample s, copy;
    memset(&s, 0x5a, sizeof s); /* fields that are not set become zero, whatever they held */
    char text[64];
    assert_ok(qb_params_init(table, &s));
    assert_int_equal(s.whole, 3);
    assert_int_equal(s.choice, 1);
    assert_true(s.real == 0.1);
    assert_int_equal(s.beam, QB_BEAM_UNKNOWN);
    assert_int_equal(s.dtype, QB_F32);
    assert_ok(set(&s, "beam", "cone"));
    assert_int_equal(s.beam, QB_BEAM_CONE);
    assert_ok(set(&s, "dtype", "uint8"));
    assert_int_equal(s.dtype, QB_U8);
    assert_true(!s.flag && s.bytes == 0 && s.list.count == 0);
    assert_ok(set(&s, "flag", NULL));
    assert_true(s.flag);
    assert_ok(set(&s, "bytes", "1.5GiB"));
    assert_int_equal(s.bytes, (size_t)3 << 29);
    assert_ok(set(&s, "list", "1,-2.5,3e2"));
    assert_int_equal(s.list.count, 3);
    assert_true(s.list.value[2] == 300);
    const char *bad[][2] = {{"whole", "11"},   {"whole", "2.5"},    {"choice", "c"},  {"bytes", "5X"}, {"real", "nan"},
                            {"real", "0.5mm"}, {"list", "1,,2"},    {"list", "1,"},   {"text", ""},    {"flag", "yes"},
                            {"bytes", "-1"},   {"beam", "unknown"}, {"dtype", "int8"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_status(set(&s, bad[i][0], bad[i][1]), QB_BAD_ARGUMENT);
    /* The text of every field sets an equal field. */
    assert_ok(qb_params_copy(table, &s, &copy));
    for (const qb_param *row = table; row->name; row++) {
        assert_true(qb_param_get(row, &s, text, sizeof text));
        assert_ok(qb_param_set(row, &copy, text));
        char again[64];
        assert_true(qb_param_get(row, &copy, again, sizeof again));
        assert_string_equal(text, again);
    }
    qb_params_clear(table, &s);
    qb_params_clear(table, &copy);
    assert_null(s.text);
}

/* A struct of options in its first version, and in its second, where `more` and `word` were added. */
typedef struct options_1 {
    size_t struct_size;
    int whole;
    char *text;
} options_1;

typedef struct options_2 {
    size_t struct_size;
    int whole;
    char *text;
    double more;
    char *word;
} options_2;

static const qb_param table_2[] = {
    {"whole", QB_PARAM_INT, offsetof(options_2, whole), NULL, "3", NULL, 0, 0, "", 0},
    {"text", QB_PARAM_TEXT, offsetof(options_2, text), NULL, "hello", NULL, 0, 0, "", 0},
    {"more", QB_PARAM_DOUBLE, offsetof(options_2, more), NULL, "0.5", NULL, 0, 0, "", 0},
    {"word", QB_PARAM_TEXT, offsetof(options_2, word), NULL, "new", NULL, 0, 0, "", 0},
    {.offset = sizeof(options_2), .min = (double)sizeof(options_1)},
};

/* A program was compiled with the first struct and runs with a library that has the second. Nothing behind the
 * program's struct may be touched. Fields that it lacks have their defaults. */
static void older_programs_work_with_newer_libraries(void **state) {
    (void)state;
    struct {
        options_1 own;
        unsigned char beyond[32];
    } program;
    const unsigned char untouched[32] = {[0 ... 31] = 0x5a};
    options_2 seen;
    char text[32];
    memset(&program, 0x5a, sizeof program);
    assert_ok(qb_params_init(table_2, &program.own));
    assert_int_equal(program.own.struct_size, sizeof program.own);
    assert_string_equal(program.own.text, "hello");
    assert_ok(qb_params_set(table_2, &program.own, "whole", "7"));
    assert_status(qb_params_set(table_2, &program.own, "more", "1"), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "older"));
    assert_false(qb_param_get(&table_2[2], &program.own, text, sizeof text));
    assert_ok(qb_params_copy(table_2, &program.own, &seen));
    assert_int_equal(seen.struct_size, sizeof seen);
    assert_int_equal(seen.whole, 7);
    assert_string_equal(seen.text, "hello");
    assert_true(seen.more == 0.5);
    assert_string_equal(seen.word, "new");
    qb_params_clear(table_2, &seen);
    assert_ok(qb__params_view(table_2, &program.own, &seen));
    assert_ptr_equal(seen.text, program.own.text);
    assert_string_equal(seen.word, "new");
    qb_params_clear(table_2, &program.own);
    assert_memory_equal(program.beyond, untouched, sizeof untouched);
    /* A struct zeroed by hand: its fields are kept and texts take their defaults. A NULL struct gives all defaults. */
    options_1 zeroed = {.whole = 2};
    assert_ok(qb__params_view(table_2, &zeroed, &seen));
    assert_true(seen.whole == 2 && strcmp(seen.text, "hello") == 0 && seen.more == 0.5);
    assert_ok(qb__params_view(table_2, NULL, &seen));
    assert_true(seen.whole == 3 && seen.more == 0.5);
    assert_int_equal(qb_params_size(table_2), sizeof seen);
}

/* The opposite case: the program's struct is newer. Fields that this library does not know must not be set. */
static void newer_programs_are_told(void **state) {
    (void)state;
    struct {
        options_2 known;
        int unknown;
    } program;
    options_2 seen;
    assert_ok(qb_params_init(table_2, &program));
    assert_ok(qb_params_copy(table_2, &program, &seen));
    qb_params_clear(table_2, &seen);
    program.unknown = 1;
    assert_status(qb_params_copy(table_2, &program, &seen), QB_UNSUPPORTED);
    assert_null(seen.text);
    qb_params_clear(table_2, &program);
    memset(&program, 0x5a, sizeof program); /* the struct was never filled */
    assert_status(qb__params_view(table_2, &program, &seen), QB_BAD_ARGUMENT);
    void *untyped = &program; /* the compiler cannot know the size behind this pointer */
    assert_status((qb_params_init)(table_2, untyped, 1), QB_BAD_ARGUMENT);
}

static void versions_agree(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", QB_VERSION_MAJOR, QB_VERSION_MINOR, QB_VERSION_PATCH);
    assert_string_equal(qb_version(), text);
    assert_true(QB_VERSION_AT_LEAST(QB_VERSION_MAJOR, QB_VERSION_MINOR, QB_VERSION_PATCH));
    assert_false(QB_VERSION_AT_LEAST(QB_VERSION_MAJOR, QB_VERSION_MINOR, QB_VERSION_PATCH + 1));
}

struct tally {
    _Atomic size_t sum, calls;
    int threads;
};

static void add(void *context, size_t task, int worker) {
    struct tally *tally = context;
    assert_true(worker >= 0 && worker < tally->threads);
    tally->sum += task;
    tally->calls++;
}

static void pool(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads += 2) {
        qb__pool *p;
        struct tally tally = {.threads = threads};
        assert_ok(qb__pool_create(threads, &p));
        assert_int_equal(qb__pool_threads(p), threads);
        for (int round = 0; round < 50; round++) qb__pool_for(p, 100, add, &tally);
        qb__pool_for(p, 0, add, &tally);
        assert_int_equal(tally.sum, 50 * 4950);
        assert_int_equal(tally.calls, 5000);
        qb__pool_destroy(p);
    }
}

/* Values with infinities, zeros of both signs and many equal ones, in arrays of any length. */
/* Selects every place, one after another, in the same array, and the middle. */
static void selection_agrees(float *values, const float *sorted, size_t n) {
    const size_t places[] = {n / 2, 0, n ? n - 1 : 0, n / 20, n - n / 20 - (n > 0)};
    if (!n) return;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        const size_t at = places[p];
        assert_true(qb__float_at(values, n, at) == sorted[at]);
        for (size_t i = 0; i < n; i++) assert_true(i < at ? values[i] <= sorted[at] : values[i] >= sorted[at]);
    }
    const double middle = qb__float_median(values, n), other = (double)sorted[(n - 1) / 2];
    /* the mean of both infinities is no number */
    assert_true(middle == 0.5 * (other + (double)sorted[n / 2]) || isnan(middle));
}

/* Reorders values, which hold the same numbers as sorted[]. */
static void middle_agrees(double *values, const float *sorted, size_t n) {
    const size_t places[] = {0, n / 3, n / 2, n ? n - 1 : 0};
    for (size_t p = 0; n && p < sizeof places / sizeof *places; p++) {
        const size_t at = places[p];
        assert_true(qb__sorted_at(values, n, at) == (double)sorted[at]);
        for (size_t i = 0; i < n; i++) assert_true(i < at ? values[i] <= values[at] : values[i] >= values[at]);
    }
    if (n == 0) return;
    const double middle = qb__middle(values, n), other = (double)sorted[(n - 1) / 2];
    assert_true(middle == 0.5 * (other + (double)sorted[n / 2]) || isnan(middle));
}

static void sorting(void **state) {
    (void)state;
    enum { M = 3000 };
    static float values[M], want[M], scratch[M], picked[M];
    static double wide[M];
    const float odd[] = {0, -0.0f, INFINITY, -INFINITY, 1e-42f, -1e-42f, FLT_MAX, -FLT_MAX};
    for (size_t n = 0; n <= M; n = n < 20 ? n + 1 : 3 * n) {
        for (int scale = 0; scale < 6; scale++) {
            qb__noise(values, n, n + 1);
            for (size_t i = 0; i < n; i++) {
                if (scale == 1) values[i] = rintf(values[i] * 5);
                if (scale == 2) values[i] = i % 9 ? expf(80 * values[i]) : odd[i / 9 % 8];
                if (scale == 3) values[i] = (float)(n - i);
                if (scale == 4) values[i] = 7;
                if (scale == 5) values[i] = (float)(i < n / 2 ? i : n - i);
                wide[i] = (double)values[i], picked[i] = values[i];
            }
            memcpy(want, values, sizeof want);
            qb__sort_floats(want, n);
            qb__sort_floats_with(values, n, scratch);
            middle_agrees(wide, want, n);
            qb__sort(wide, n); /* another function that must give the same order */
            selection_agrees(picked, want, n);
            for (size_t i = 0; i < n; i++) {
                assert_true(values[i] == want[i] && wide[i] == (double)want[i]);
                assert_true(i == 0 || want[i - 1] <= want[i]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(details),
        cmocka_unit_test(allocation),
        cmocka_unit_test(names_of_inputs_are_whole),
        cmocka_unit_test(named_memory_is_enough),
        cmocka_unit_test(halves),
        cmocka_unit_test(conversion),
        cmocka_unit_test(parameters),
        cmocka_unit_test(older_programs_work_with_newer_libraries),
        cmocka_unit_test(newer_programs_are_told),
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(pool),
        cmocka_unit_test(cgroup),
        cmocka_unit_test(sorting),
        cmocka_unit_test(cgroups),
        cmocka_unit_test(address_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
