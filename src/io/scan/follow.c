/* SPDX-License-Identifier: MIT */
/* Waiting for a scan that is being written. Changes in the folder are reported by inotify, which does not work on every
 * file system, so it is also checked once a second. The scan is opened again each time: what counts is what a reader
 * would find. */
#include "io/scan/open_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/plain/source.h"
#include "io/publish/paths.h"

enum { DETAIL = 300, EVENTS = 4096, NAME = 4096 };
/* Seconds: largest and smallest time between checks, limited to a share of the time; time without a change after which
 * a file counts as written. */
static const double LOOK = 1, REST = 0.2, SHARE = 4, STILL = 0.5;

typedef struct follow {
    const char *path;
    const qb_scan_options *options;
    double patience;    /* seconds without a new view */
    size_t wanted;      /* views; 0: the marker file tells */
    const char *marker; /* a file, NULL: none */
    int watch;          /* inotify descriptor; -1: none */
    size_t have;        /* views that exist; 0: the scan cannot be read */
    size_t seen;        /* views when it could be read last */
    struct stat last;   /* the file that was written last, at the previous check */
    char last_name[160], detail[DETAIL];
} follow;

/* ---- what is wanted ---- */

static qb_status parse(follow *f) {
    const char *text = f->options->follow;
    char *end;
    f->patience = qb__strtod(text, &end);
    if (end == text || !(f->patience > 0 && f->patience <= 1e7) || (*end && *end != ':') || (*end == ':' && !end[1]))
        return qb__fail(QB_BAD_ARGUMENT, "--follow %.60s: give SECONDS, SECONDS:VIEWS or SECONDS:FILE", text);
    if (*end == ':') {
        char *rest;
        const double number = qb__strtod(end + 1, &rest);
        if (rest > end + 1 && !*rest && number >= 1 && number <= 1e9 && number == floor(number))
            f->wanted = (size_t)number;
        else
            f->marker = end + 1;
        return QB_OK;
    }
    if (f->options->angles) {
        const qb_status status = qb_angles_count(f->options->angles, &f->wanted);
        if (status != QB_OK || f->wanted) return status;
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "--follow %.60s: how many views will there be? give --angles FROM:TO:N, --follow %g:N, or "
                    "--follow %g:FILE, a file that is there when all are",
                    text, f->patience, f->patience);
}

/* ---- what is there ---- */

static void note_last(follow *f, const qb__source *source) {
    const char *to = strstr(source->files, " to "); /* a series: position of the name of its last file */
    char name[NAME];
    char *folder = qb__is_folder(f->path) ? qb__strdup(f->path) : qb__folder_of(f->path);
    f->last_name[0] = 0;
    if (to) snprintf(f->last_name, sizeof f->last_name, "%s", to + 4);
    if (to && folder && (size_t)snprintf(name, sizeof name, "%s/%s", folder, to + 4) < sizeof name)
        to = name;
    else
        to = f->path;
    if (stat(to, &f->last) != 0) f->last = (struct stat){0};
    qb__free(folder);
}

/* Views of a dataset that got its whole size before its images: HDF5 knows how many chunks are not there yet. */
static size_t unwritten_views(const qb__source *source) {
    const size_t *n = source->shape, *chunk = source->chunk;
    if (!source->unwritten || !chunk[0] || !chunk[1] || !chunk[2]) return 0;
    const size_t each = qb__ceil_div(n[1], chunk[1]) * qb__ceil_div(n[2], chunk[2]);
    return qb__ceil_div((size_t)source->unwritten, each) * chunk[0];
}

/* Open the scan as it is now. If it cannot be read yet, it has no views. */
static qb_status look(follow *f) {
    qb__scan_parts parts = {.center = NAN};
    const qb_status status = qb__scan_open_parts(f->path, f->options, &parts);
    const qb__source *source = parts.data.source;
    f->have = 0;
    f->detail[0] = 0;
    if (status == QB_OK) {
        f->have = f->options->as == QB_IMAGE_SINOGRAM ? source->shape[1] : parts.data.count;
        if (!f->have) f->have = source->shape[0];
        if (f->options->as != QB_IMAGE_SINOGRAM) f->have -= qb__smaller(f->have, unwritten_views(source));
        f->seen = f->have;
        note_last(f, source);
    } else if (status == QB_NO_MEMORY || status == QB_UNSUPPORTED || status == QB_BAD_ARGUMENT) {
        qb__scan_parts_release(&parts);
        return status;
    } else {
        snprintf(f->detail, sizeof f->detail, "%.290s", qb_detail());
    }
    qb__scan_parts_release(&parts);
    return QB_OK;
}

static bool is_complete(const follow *f) {
    return f->marker ? access(f->marker, F_OK) == 0 && f->have > 0 : f->have >= f->wanted;
}

/* ---- waiting ---- */

static void begin_watch(follow *f) {
    f->watch = -1;
#ifdef __linux__
    char *folder = qb__is_folder(f->path) ? qb__strdup(f->path) : qb__folder_of(f->path);
    f->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (f->watch >= 0 && folder) /* after a failure only the checks of every second remain */
        (void)inotify_add_watch(f->watch, *folder ? folder : ".", IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_MODIFY);
    qb__free(folder);
#endif
}

/* Wait `least` seconds, and then until something changes, at most `most` seconds in total. */
static qb_status wait_for(const follow *f, double least, double most, const qb_env *env) {
    char events[EVENTS];
    struct pollfd wake = {.fd = f->watch, .events = POLLIN};
    const double begin = qb__now();
    qb_status status = qb__check_cancel(env);
    for (double gone = 0; status == QB_OK && gone < most; gone = qb__now() - begin) {
        const bool listen = f->watch >= 0 && gone >= least;
        const double until = listen ? most : least > gone ? least : most;
        if (poll(&wake, listen, (int)(1000 * fmin(until - gone, 0.25)) + 1) > 0) break;
        status = qb__check_cancel(env);
    }
    while (f->watch >= 0 && read(f->watch, events, sizeof events) > 0) continue;
    return status;
}

/* True if the last file has not changed since the previous check. */
static qb_status is_still(follow *f, const qb_env *env, bool *still) {
    const struct stat before = f->last;
    qb_status status = wait_for(f, STILL, STILL, env);
    if (status == QB_OK) status = look(f);
    *still =
        f->last.st_size == before.st_size && f->last.st_mtime == before.st_mtime && f->last.st_ino == before.st_ino;
    return status;
}

static qb_status late(const follow *f) {
    char all[48] = "";
    if (f->wanted) snprintf(all, sizeof all, " of %zu", f->wanted);
    return qb__fail(QB_BAD_INPUT,
                    "%s: %zu%s views are there%s%s, and none has come for %g s%s%s%s%s: give --follow "
                    "more seconds, or the number of views that will be there",
                    f->path, f->seen, all, *f->last_name ? ", the last is " : "", f->last_name, f->patience,
                    f->marker ? "; there is no " : "", f->marker ? f->marker : "", *f->detail ? ": " : "", f->detail);
}

static void tell(const follow *f, const qb_env *env) {
    if (f->wanted) qb__progress(env, "waiting for views", qb__smaller(f->have, f->wanted), f->wanted);
    if (f->wanted)
        qb__info(env, "%zu of %zu views are there", f->have, f->wanted);
    else
        qb__info(env, "%zu views are there, %s is not", f->have, f->marker);
}

static qb_status run(follow *f, const qb_env *env) {
    size_t before = SIZE_MAX;
    double news = qb__now(), told = -INFINITY;
    bool still = false;
    qb_status status = QB_OK;
    while (status == QB_OK) {
        const double begin = qb__now();
        QB__TRY(look(f));
        const double took = qb__now() - begin;
        if (f->have != before) news = qb__now();
        if (f->have != before && (qb__now() - told > LOOK || is_complete(f))) tell(f, env), told = qb__now();
        before = f->have;
        if (is_complete(f)) QB__TRY(is_still(f, env, &still));
        if (still && is_complete(f)) break;
        if (qb__now() - news > f->patience) return late(f);
        QB__TRY(wait_for(f, fmax(REST, SHARE * took), fmax(LOOK, SHARE * took), env));
    }
out:
    return status;
}

qb_status qb__scan_follow(const char *path, const qb_scan_options *options, const qb_env *env) {
    follow f = {.path = path, .options = options};
    QB__OR_RETURN(parse(&f));
    begin_watch(&f);
    const qb_status status = run(&f, env);
    if (f.watch >= 0) close(f.watch);
    return status;
}
