/* SPDX-License-Identifier: MIT */
/* Times the device variants of back-projection and checks their results: one JSON line for each.
 *   bench_bp_parallel DEVICE VIEWS COLUMNS SLICES [--filter TEXT] [--id ID]
 *                     [--set NAME=VALUE,...]... [--search] [--part I/N --lock FILE]
 * Without --set the default parameters are used; each --set makes another run of every variant that has all these
 * parameters. --search changes one parameter after the other (except those of --set) and keeps the faster value. With
 * --part several processes share the work: they compile at the same time and measure one at a time. */
#include "bench/trial/trial.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "quickbeam/status.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SETS_MAX = 64 };
typedef struct options {
    const char *spec, *filter, *id, *sets[SETS_MAX];
    int set_count, part, parts, lock;
    bool search;
} options;

typedef struct bench {
    const options *o;
    qb__device *device;
    qb__trial *trial;
    const qb__bp_parallel_problem *problem; /* of the trial */
    unsigned slices;
} bench;

static void print_values(const qb__bp_parallel_device_variant *v, const int *values) {
    for (int i = 0; i < QB__PARAMETERS_MAX && v->head.parameters[i].name; i++)
        printf("%s\"%s\": %d", i ? ", " : "", v->head.parameters[i].name, values[i]);
}

/* Giga-updates per second; 0 if it cannot run. */
static double measure(bench *b, const qb__bp_parallel_device_variant *v, const int *values) {
    const qb__bp_parallel_problem *p = b->problem;
    const char *why = v->head.unusable(qb__device_info_of(b->device), p, values);
    qb__trial_result r;
    double rate = 0;
    printf("{\"id\": \"%s\", \"device\": \"%s\", \"values\": {", v->head.id, b->o->spec);
    print_values(v, values);
    printf("}, ");
    if (why) {
        printf("\"unusable\": \"%s\"}\n", why);
        return 0;
    }
    /* Compile before the lock is taken. */
    qb__bp_parallel_plan *warm = NULL;
    qb_status status = v->plan(b->device, p, b->slices, values, &warm);
    if (b->o->lock >= 0) flock(b->o->lock, LOCK_EX);
    if (!status) status = qb__trial_run(b->trial, &v->head, values, b->slices, 3, &r);
    if (b->o->lock >= 0) flock(b->o->lock, LOCK_UN);
    v->destroy(warm);
    if (status) {
        printf("\"failed\": \"%s\"}\n", qb_status_text(status));
        fprintf(stderr, "%s: %s\n", v->head.id, qb_detail());
        return 0;
    }
    qb__kernel_cost c;
    v->head.cost(p, b->slices, values, &c);
    rate = (double)(p->nx * p->ny) * b->slices * (double)p->views / r.fastest * 1e-9;
    const double bytes = 4.0 * (double)(p->views * p->columns) * b->slices + (double)r.packed_bytes;
    printf("\"giga_updates_per_second\": %.1f, \"rel_l2\": %.3g, \"ok\": %s, "
           "\"pack_gigabytes_per_second\": %.0f, \"cost\": {\"texels\": %.4g, \"local_bytes\": "
           "%.4g, \"arithmetic\": %.4g, \"l2_bytes\": %.4g}}\n",
           rate, r.rel_l2, r.rel_l2 < qb__accuracy_bound(v->head.accuracy) ? "true" : "false",
           bytes / r.pack_seconds * 1e-9, c.texels, c.local_bytes, c.arithmetic, c.l2_bytes);
    fflush(stdout);
    return rate;
}

static void defaults(const qb__bp_parallel_device_variant *v, int *values) {
    for (int i = 0; i < QB__PARAMETERS_MAX; i++)
        values[i] = v->head.parameters[i].name ? v->head.parameters[i].values[0] : 0;
}

/* False if the variant has no such parameter or value. `fixed`: the parameters that were set. */
static bool apply(const qb__bp_parallel_device_variant *v, const char *set, int *values, bool *fixed) {
    char text[512], *rest = NULL;
    snprintf(text, sizeof text, "%s", set);
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(word, '=');
        bool found = false;
        if (!equals) return false;
        *equals = '\0';
        for (int i = 0; i < QB__PARAMETERS_MAX && v->head.parameters[i].name; i++)
            for (int k = 0; k < v->head.parameters[i].count; k++)
                if (!strcmp(v->head.parameters[i].name, word) && v->head.parameters[i].values[k] == atoi(equals + 1))
                    values[i] = v->head.parameters[i].values[k], found = fixed[i] = true;
        if (!found) return false;
    }
    return true;
}

static void search(bench *b, const qb__bp_parallel_device_variant *v, int *best, const bool *fixed) {
    double fastest = measure(b, v, best);
    for (int i = 0; i < QB__PARAMETERS_MAX && v->head.parameters[i].name; i++) {
        const int kept = best[i];
        int chosen = kept;
        for (int k = 0; k < v->head.parameters[i].count; k++) {
            if (fixed[i] || v->head.parameters[i].values[k] == kept) continue;
            best[i] = v->head.parameters[i].values[k];
            double rate = measure(b, v, best);
            if (rate > fastest) fastest = rate, chosen = best[i];
        }
        best[i] = chosen;
    }
}

/* The number of parameter sets that belong to the variant. */
static int bench_variant(bench *b, const qb__bp_parallel_device_variant *v) {
    int ran = 0;
    for (int s = 0; s < (b->o->set_count ? b->o->set_count : 1); s++) {
        int values[QB__PARAMETERS_MAX];
        bool fixed[QB__PARAMETERS_MAX] = {false};
        defaults(v, values);
        if (b->o->set_count && !apply(v, b->o->sets[s], values, fixed)) continue;
        if (b->o->search)
            search(b, v, values, fixed);
        else
            measure(b, v, values);
        ran++;
    }
    return ran;
}

static options parse(int argc, char **argv) {
    options o = {.spec = argv[1], .parts = 1, .lock = -1};
    for (int i = 5; i + 1 <= argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--search")) o.search = true;
        if (!strcmp(argv[i], "--filter")) o.filter = next;
        if (!strcmp(argv[i], "--id")) o.id = next;
        if (!strcmp(argv[i], "--set") && o.set_count < SETS_MAX) o.sets[o.set_count++] = next;
        if (!strcmp(argv[i], "--part")) sscanf(next, "%d/%d", &o.part, &o.parts);
        if (!strcmp(argv[i], "--lock")) o.lock = open(next, O_CREAT | O_RDWR, 0600);
    }
    return o;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "bench_bp_parallel DEVICE VIEWS COLUMNS SLICES [--filter TEXT] [--id ID] "
                        "[--set NAME=VALUE,...] [--search] [--part I/N --lock FILE]\n");
        return 2;
    }
    const options o = parse(argc, argv);
    bench b = {.o = &o};
    size_t count;
    const qb__bp_parallel_device_variant *const *all = qb__bp_parallel_device_variants(&count);
    const size_t views = (size_t)atoi(argv[2]), n = (size_t)atoi(argv[3]);
    b.slices = (unsigned)atoi(argv[4]);
    const qb__trial_sizes sizes = {views, n, 1, n, n, b.slices, false, NULL};
    qb_status status = qb__device_open(o.spec, &b.device);
    if (!status) status = qb__trial_create(QB__BP_PARALLEL, b.device, &sizes, &b.trial);
    if (status) {
        fprintf(stderr, "%s: %s\n", o.spec, qb_detail());
        return 1;
    }
    b.problem = qb__trial_question(b.trial).problem;
    const unsigned api = qb__device_info_of(b.device)->api;
    int ran = 0;
    for (size_t i = 0; i < count; i++)
        if ((int)(i % (size_t)o.parts) == o.part && (all[i]->head.apis & api) &&
            (!o.filter || strstr(all[i]->head.id, o.filter)) && (!o.id || !strcmp(all[i]->head.id, o.id)))
            ran += bench_variant(&b, all[i]);
    if (!ran) fprintf(stderr, "no variant of %s has that name and those parameters\n", o.spec);
    qb__trial_destroy(b.trial);
    qb__device_close(b.device);
    return ran ? 0 : 1;
}
