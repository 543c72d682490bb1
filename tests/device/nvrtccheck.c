/* SPDX-License-Identifier: MIT */
/* nvrtccheck [SOURCE...]: compiles the embedded kernel sources (or those named) with NVRTC for each
 * chip (with QB_QUICK=1 the oldest and one of its own kind), with no macro at all. A source whose
 * first line (or the one after the SPDX line) says "arch: 80" is skipped for chips below. Exit code
 * 77 where there is no NVRTC, 2 for a name that no source has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda_api.h"
#include "device/sources.h"

static const struct {
    const char *name;
    int arch;
    bool specific;
} chips[] = {{"sm_75", 75, false}, {"sm_80", 80, false}, {"sm_86", 86, false},   {"sm_89", 89, false},
             {"sm_90", 90, false}, {"sm_90a", 90, true}, {"sm_100", 100, false}, {"sm_120", 120, false}};
enum { CHIPS = sizeof chips / sizeof chips[0] };

static bool ends(const char *name, const char *suffix) {
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && !strcmp(name + n - m, suffix);
}

/* A source states its architectures by "arch: 80" or "arch: 90a" in its first two lines. A source without such a line
 * is compiled for every chip. */
static void least(const char *text, int *arch, bool *specific) {
    const char *end = strchr(text, '\n'), *mark = strstr(text, "arch: ");
    if (end) end = strchr(end + 1, '\n');
    *arch = 0;
    *specific = false;
    if (!mark || !end || mark > end) return;
    char *after;
    *arch = (int)strtol(mark + 6, &after, 10);
    *specific = *after == 'a';
}

static bool is_kernel(const char *name) { return ends(name, ".cl") || ends(name, ".cu"); }

static bool wanted(const char *name, int argc, char **argv) {
    if (!is_kernel(name)) return false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], name)) return true;
    }
    return argc < 2;
}

static bool is_there(const char *name) {
    for (const qb__kernel_source *s = qb__kernel_sources; s->name; s++)
        if (is_kernel(s->name) && !strcmp(s->name, name)) return true;
    return false;
}

/* A name that matches no source is an error: otherwise it would pass as a source without failures. */
static bool all_there(int argc, char **argv) {
    bool all = true;
    for (int i = 1; i < argc; i++) {
        if (is_there(argv[i])) continue;
        fprintf(stderr, "there is no source %s\n", argv[i]);
        all = false;
    }
    if (all) return true;
    fprintf(stderr, "there are:\n");
    for (const qb__kernel_source *s = qb__kernel_sources; s->name; s++)
        if (is_kernel(s->name)) fprintf(stderr, "  %s\n", s->name);
    return false;
}

/* Prints one line and returns the number of chips for which the source failed. */
static int check(const qb__kernel_source *source, bool quick) {
    char *text;
    int failures = 0, arch;
    bool specific;
    char said[1024] = "";
    if (qb__kernel_source_text(source->name, &text) != QB_OK) {
        printf("%s: %s\n", source->name, qb_detail());
        return 1;
    }
    least(source->text, &arch, &specific);
    printf("%-44s", source->name);
    for (int c = 0; c < CHIPS; c++) {
        qb__binary binary = {0};
        bool left_out = quick && chips[c].arch != 75 && !chips[c].specific;
        if (left_out || chips[c].arch < arch || (specific && (!chips[c].specific || chips[c].arch != arch))) {
            printf("      - ");
            continue;
        }
        if (qb__nvrtc_compile(source->name, text, chips[c].arch,
                              chips[c].specific ? QB__CODE_SPECIFIC : QB__CODE_COMMON, NULL, 0, &binary) != QB_OK) {
            if (!failures++) snprintf(said, sizeof said, "%s: %s", chips[c].name, qb_detail());
            printf(" FAILED ");
        } else {
            printf(" %6zu ", binary.count);
        }
        fflush(stdout);
        qb__free(binary.bytes);
    }
    printf("\n%s%s", said, failures ? "\n" : ""); /* the complaint for the first chip is printed for all */
    qb__free(text);
    return failures;
}

int main(int argc, char **argv) {
    char why[400];
    const char *flag = getenv("QB_QUICK");
    bool quick = flag && !strcmp(flag, "1");
    int failures = 0, sources = 0;
    if (!all_there(argc, argv)) return 2;
    if (!qb__nvrtc_open(0, why, sizeof why)) {
        printf("not run: %s\n", why);
        return 77;
    }
    printf("NVRTC %d.%d; bytes of code\n%-44s", qb__nvrtc.major, qb__nvrtc.minor, "");
    for (int c = 0; c < CHIPS; c++) printf(" %6s ", chips[c].name);
    printf("\n");
    for (const qb__kernel_source *s = qb__kernel_sources; s->name; s++) {
        if (!wanted(s->name, argc, argv)) continue;
        sources++;
        failures += check(s, quick);
    }
    printf("%d sources, %d failures\n", sources, failures);
    return failures || !sources;
}
