/* SPDX-License-Identifier: MIT */
#include "job/observer.h"

#include <math.h>
#include <string.h>

enum { STEPS_MOST = 20000 };

/* The last stage that uses the output of stage i. */
static int user_of(const qb__progress_rate *stages, int i) {
    do i++;
    while (stages[i].in_place);
    return i;
}

static size_t one(size_t count) { return count ? count : 1; }

double qb__progress_rate_worth(size_t first, double later, double chunks) {
    return first && chunks > (double)first ? (double)first + later * (chunks - (double)first) : chunks;
}

static double seconds_of(const qb__progress_rate *s) {
    return s->first && s->finished >= s->first ? s->later * s->seconds : s->seconds;
}

static bool can_move(const qb__progress_rate *stages, int count, int i) {
    const qb__progress_rate *s = &stages[i];
    if (s->finished >= s->chunks) return false;
    if (s->part > 0) return true;
    if (i > 0 && s[-1].finished / one(s[-1].gather) <= s->finished / one(s->scatter)) return false;
    if (i + 1 == count || s->in_place) return true;
    const qb__progress_rate *user = &stages[user_of(stages, i)];
    return s->finished / one(s->gather) < user->finished / one(user->scatter) + s->slots;
}

/* Time until the next chunk of some stage is done; false if no stage proceeds. */
static bool step(qb__progress_rate *stages, int count, int threads, double *left) {
    double soonest = INFINITY, rate[QB__STAGES_MAX] = {0};
    bool pool_taken = false;
    int first = -1;
    for (int i = count - 1; i >= 0; i--) {
        if (!can_move(stages, count, i) || (!stages[i].blocking && pool_taken)) continue;
        pool_taken = pool_taken || !stages[i].blocking;
        rate[i] = (stages[i].blocking ? 1 : threads) / fmax(seconds_of(&stages[i]), 1e-12);
        const double ends = (1 - stages[i].part) / rate[i];
        if (ends < soonest) soonest = ends, first = i;
    }
    if (first < 0) return false;
    for (int i = 0; i < count; i++) stages[i].part += rate[i] * soonest;
    stages[first].part = 0;
    stages[first].finished++;
    *left += soonest;
    return true;
}

/* For very many chunks: the time of the slowest stage, with all computing stages taken together. */
static double at_once(const qb__progress_rate *stages, int count, int threads) {
    double most = 0, computing = 0;
    for (int i = 0; i < count; i++) {
        const qb__progress_rate *s = &stages[i];
        const double done = qb__progress_rate_worth(s->first, s->later, (double)s->finished + s->part);
        const double rest = (qb__progress_rate_worth(s->first, s->later, (double)s->chunks) - done) * s->seconds;
        if (s->blocking)
            most = fmax(most, rest);
        else
            computing += rest;
    }
    return fmax(most, computing / threads);
}

double qb__progress_rate_left(const qb__progress_rate *given, int count, int threads) {
    qb__progress_rate stages[QB__STAGES_MAX];
    size_t steps = 0;
    double left = 0;
    for (int i = 0; i < count; i++) steps += given[i].chunks - given[i].finished;
    if (threads < 1) threads = 1;
    if (steps > STEPS_MOST) return at_once(given, count, threads);
    memcpy(stages, given, (size_t)count * sizeof *stages);
    while (step(stages, count, threads, &left)) continue;
    return left;
}
