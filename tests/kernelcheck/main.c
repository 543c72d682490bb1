/* SPDX-License-Identifier: MIT */
/* Compares every kernel variant that this machine can run to its double-precision oracle on random legal problems; with
 * --bench, measures its speed on problems of the same kind. */
#include "cases.h"
#include "cpu/features.h"
#include "planner/variants.h"

#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static options opt;
static int trials;
enum { JOBS_MAX = 512 };
static const subject *jobs[JOBS_MAX];
static size_t job_count;

static struct {
    pthread_mutex_t lock;
    size_t next;
    size_t failures[JOBS_MAX];
    double share[JOBS_MAX]; /* largest error of each job, as a fraction of its bound */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Lists rows for devices that have no case, if no device shows them. */
static size_t unheard_of(void) {
    size_t orphans = 0;
    for (int n = 0; n < QB__OPERATIONS; n++) {
        const qb__variant *row = qb__variant_at((qb__operation)n, true, 0);
        if (!row || cases[n].devices) continue;
        fprintf(stderr, "%s: no case\n", row->id);
        orphans++;
    }
    return orphans;
}

/* True if the name contains any of the words, which commas separate. */
static bool has_one(const char *id, const char *words) {
    for (const char *end; *words; words = end + (*end == ',')) {
        end = words + strcspn(words, ",");
        const size_t length = (size_t)(end - words);
        for (const char *at = id; length && strlen(at) >= length; at++)
            if (memcmp(at, words, length) == 0) return true;
    }
    return false;
}

/* `make test` (QB_SLOW) checks one of every eight device variants, chosen by the seed: compiling all of them takes
 * minutes. */
static bool is_drawn(const subject *s, size_t index) {
    enum { SHARE = 8 };
    const char *slow = getenv("QB_SLOW");
    return !slow || !*slow || !s->device || (index + opt.seed) % SHARE == 0;
}

/* Collects what is to run; returns the number of variants without a case. */
static size_t collect(const char *filter, bool list) {
    size_t orphans = unheard_of(), count, index = 0;
    const subject *passed = NULL;
    const subject *all = subjects(&count);
    for (const subject *s = all; s < all + count; s++) {
        if (!s->test) {
            fprintf(stderr, "%s: no case\n", s->id);
            orphans++;
            continue;
        }
        if (filter && !has_one(s->id, filter)) continue;
        if (list) printf("%s%s\n", s->id, s->here ? "" : " (not here)");
        if (!s->here) {
            if (!list && !opt.json) printf("%-34s not run: the device lacks what it needs\n", s->id);
            continue;
        }
        if (!list && !is_drawn(s, index++)) {
            passed = s;
            continue;
        }
        if (job_count == sizeof jobs / sizeof *jobs) abort();
        jobs[job_count++] = s;
    }
    if (job_count == 0 && passed) jobs[job_count++] = passed;
    return orphans;
}

static uint64_t trial_seed(size_t trial) {
    rng r = {opt.seed + trial};
    return rng_bits(&r);
}

static int trials_of(const subject *s) { return s->costly ? (trials + 9) / 10 : trials; }

static void *check_some(void *unused) {
    for (;;) {
        pthread_mutex_lock(&progress.lock);
        size_t n = progress.next++;
        pthread_mutex_unlock(&progress.lock);
        if (n >= job_count * (size_t)trials) return unused;
        const size_t j = n % job_count, trial = n / job_count;
        if (trial >= (size_t)trials_of(jobs[j])) continue;
        outcome o = {.share_of_bound = 0};
        bool ok = jobs[j]->test->check(jobs[j]->row, jobs[j]->device, trial_seed(trial), &opt, &o);
        pthread_mutex_lock(&progress.lock);
        if (o.share_of_bound > progress.share[j]) progress.share[j] = o.share_of_bound;
        if (!ok) {
            progress.failures[j]++;
            printf("%s: FAILED, --seed %llu --trials 1: %s\n", jobs[j]->id, (unsigned long long)(opt.seed + trial),
                   o.why.s);
        }
        pthread_mutex_unlock(&progress.lock);
    }
}

static size_t check_all(void) {
    pthread_t threads[64];
    int n = opt.threads < 64 ? opt.threads : 64;
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, check_some, NULL)) abort();
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);

    size_t failed = 0;
    for (size_t j = 0; j < job_count; j++) {
        const char *id = jobs[j]->id;
        if (progress.failures[j])
            printf("%-34s %zu of %d trials FAILED\n", id, progress.failures[j], trials_of(jobs[j]));
        else
            printf("%-34s %d trials ok, errors up to %.0f%% of the bound\n", id, trials_of(jobs[j]),
                   100 * progress.share[j]);
        failed += progress.failures[j] != 0;
    }
    return failed;
}

/* JSON has no infinity: a number without anything to compare with is null. */
static const char *number(double value, const char *format, char out[32]) {
    snprintf(out, 32, isfinite(value) ? format : "null", value);
    return out;
}

static void print_measurement(const char *id, const measurement *m, bool first) {
    double each = m->giga_updates_per_second / opt.threads;
    char speed[32], ratio[32], most[32], share[32], pack[32], error[32];
    if (opt.json)
        printf("%s\n  {\"kernel\": \"%s\", \"problem\": \"%s\", \"parameters\": %s, \"threads\": %d, "
               "\"giga_updates_per_second\": %s, \"ratio_to_scalar\": %s, \"ceiling\": %s, "
               "\"share_of_ceiling\": %s, \"pack_gigabytes_per_second\": %s, \"rel_l2\": %s}",
               first ? "" : ",", id, m->problem.s, *m->parameters.s ? m->parameters.s : "{}", opt.threads,
               number(m->giga_updates_per_second, "%.3f", speed), number(each / m->scalar, "%.2f", ratio),
               number(m->ceiling, "%.2f", most), number(each / m->ceiling, "%.3f", share),
               number(m->pack_gigabytes_per_second, "%.2f", pack), number(m->rel_l2, "%.3g", error));
    else
        printf("%-34s %-46s %8.2f %8.1f %8.0f%% %8.1f %9.1e\n", id, m->problem.s, m->giga_updates_per_second,
               each / m->scalar, 100 * each / m->ceiling, m->pack_gigabytes_per_second, m->rel_l2);
    fflush(stdout);
}

static void bench_all(void) {
    bool first = true;
    if (opt.json)
        printf("{\"cpu\": \"%s\", \"threads\": %d, \"results\": [", qb__cpu_name(), opt.threads);
    else
        printf("%s, %d thread%s; giga-updates/s, times the scalar variant and share of the ceiling "
               "per thread\n%-34s %-46s %8s %8s %9s %8s %9s\n",
               qb__cpu_name(), opt.threads, opt.threads > 1 ? "s" : "", "kernel", "problem", "G/s", "x scalar",
               "ceiling", "pack GB/s", "rel L2");
    for (size_t j = 0; j < job_count; j++) {
        for (size_t problem = 0;; problem++) {
            measurement m = {.scalar = 0};
            if (!jobs[j]->test->bench(jobs[j]->row, jobs[j]->device, problem, &opt, &m)) break;
            print_measurement(jobs[j]->id, &m, first);
            first = false;
        }
    }
    if (opt.json) printf("\n]}\n");
}

static const char usage[] =
    "kernelcheck: every kernel variant against its oracle\n"
    "  --bench          speeds instead of correctness\n"
    "  --filter ID,..   only variants whose id contains one of these\n"
    "  --list           name the variants and stop\n"
    "  --quick          fewer and smaller trials\n"
    "  --brief          of what iterates a few turns, whose end is not asked for (under a sanitizer)\n"
    "  --trials N       random problems for each variant\n"
    "  --seed N         where the random numbers begin (else QB_SEED, else the clock; printed)\n"
    "  --size N         with --bench, one image of NxN pixels from N views\n"
    "  --threads N      trials at a time (all CPUs); with --bench, threads on one problem (1)\n"
    "  --json           with --bench, one JSON object\n";

int main(int argc, char **argv) {
    static const struct option flags[] = {
        {"bench", no_argument, NULL, 'b'},      {"filter", required_argument, NULL, 'f'},
        {"list", no_argument, NULL, 'l'},       {"quick", no_argument, NULL, 'q'},
        {"brief", no_argument, NULL, 'e'},      {"trials", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'}, {"threads", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},       {"size", required_argument, NULL, 'z'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0}};
    bool bench = false, list = false;
    const char *filter = NULL;
    const char *seed = getenv("QB_SEED");
    opt.seed = seed && *seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    for (int c; (c = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        switch (c) {
        case 'b': bench = true; break;
        case 'f': filter = optarg; break;
        case 'l': list = true; break;
        case 'q': opt.quick = true; break;
        case 'e': opt.brief = true; break;
        case 'n': trials = atoi(optarg); break;
        case 's': opt.seed = strtoull(optarg, NULL, 0); break;
        case 't': opt.threads = atoi(optarg); break;
        case 'z': opt.size = strtoull(optarg, NULL, 0); break;
        case 'j': opt.json = true; break;
        case 'h': fputs(usage, stdout); return 0;
        default: fputs(usage, stderr); return 2;
        }
    }
    if (trials <= 0) trials = opt.quick ? 30 : 150;
    if (opt.threads <= 0) opt.threads = bench ? 1 : qb__cpu_count();

    size_t orphans = collect(filter, list);
    if (list) return orphans != 0;
    if (job_count == 0) {
        fprintf(stderr, "kernelcheck: nothing to run\n");
        return 2;
    }
    if (bench) {
        bench_all();
        return orphans != 0;
    }
    printf("kernelcheck --seed %llu on %s\n", (unsigned long long)opt.seed, qb__cpu_name());
    size_t failed = check_all();
    return failed || orphans;
}
