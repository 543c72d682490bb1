/* SPDX-License-Identifier: MIT */
#include "live_source.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { VIEWS_MOST = 1 << 20, PATIENCE = 10, PATH_SIZE = 4096 };

struct view_source {
    cli *c;
    const char *path;
    bool folder;
    view_stream *stream;  /* stream of ZeroMQ; NULL: views come from a folder or a file */
    int watch;            /* inotify descriptor; -1: the system has none, and files are looked for at intervals */
    qb_scan *scan;        /* scan of the first view or views; closed by view_source_begin() */
    size_t rows, columns; /* size of a frame as it comes; for a file, as it is read */
    bool changes;         /* frames are rotated, flipped, cropped or binned here */
    qb_quantity quantity;
    /* Members for a folder */
    bool based;
    size_t base;         /* number in the file name of view 0 */
    unsigned char *done; /* [VIEWS_MOST] 1: passed on; 2: given up */
    time_t *failed;      /* [VIEWS_MOST] time of the first failure to read; 0: none */
    size_t last;         /* highest number that was found */
    struct timespec first_changed;
    /* Members for a file */
    size_t views;
    struct timespec changed;
    off_t size;
};

/* ---- a folder ---- */

/* Takes the number of a view from the last digits of a TIFF's name. */
static bool number_of(const char *name, size_t *number) {
    const char *dot = strrchr(name, '.');
    if (name[0] == '.' || !dot || (strcasecmp(dot, ".tif") != 0 && strcasecmp(dot, ".tiff") != 0)) return false;
    const char *at = dot;
    while (at > name && isdigit((unsigned char)at[-1])) at--;
    if (at == dot || dot - at > 12) return false;
    *number = strtoul(at, NULL, 10);
    return true;
}

typedef struct entry {
    size_t number;
    char name[256];
} entry;

static int by_number(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Lists the TIFFs of the folder, sorted by number; the caller frees the list. */
static entry *list(const char *path, size_t *count) {
    DIR *folder = opendir(path);
    entry *all = NULL;
    size_t room = 0;
    *count = 0;
    for (struct dirent *e; folder && (e = readdir(folder));) {
        size_t number;
        if (!number_of(e->d_name, &number) || *count == VIEWS_MOST) continue;
        if (*count == room) {
            entry *more = realloc(all, (room = room ? 2 * room : 256) * sizeof *all);
            if (!more) break;
            all = more;
        }
        all[*count].number = number;
        snprintf(all[(*count)++].name, sizeof all->name, "%s", e->d_name);
    }
    if (folder) closedir(folder);
    if (*count) qsort(all, *count, sizeof *all, by_number);
    return all;
}

static bool is_later(struct timespec a, struct timespec b) {
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Has the file with this number been a view already? If the first file that is left is such a file, old files are being
 * removed, and no new scan has begun. */
static bool is_known(const view_source *s, size_t number) {
    return number >= s->base && number - s->base < VIEWS_MOST && s->done[number - s->base];
}

/* Has the detector begun a new scan? That is so where no file is left, where the first file was replaced, or where the
 * files left have new numbers. */
static bool began_anew(view_source *s, const entry *all, size_t count) {
    char path[PATH_SIZE];
    struct stat about;
    if (!s->based) return false;
    if (count == 0) return true;
    snprintf(path, sizeof path, "%s/%s", s->path, all[0].name);
    if (all[0].number != s->base || stat(path, &about) != 0)
        return all[0].number > s->base && !is_known(s, all[0].number);
    const bool anew = s->first_changed.tv_sec && is_later(about.st_mtim, s->first_changed);
    s->first_changed = about.st_mtim;
    return anew;
}

/* Is the file complete? A file is complete where a later one exists or where it is older than 0.2 s. Other files are
 * tried again at the next look. */
static bool is_whole(const char *path, bool followed) {
    struct stat about;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (stat(path, &about) != 0 || about.st_size == 0) return false;
    const double age =
        (double)(now.tv_sec - about.st_mtim.tv_sec) + 1e-9 * (double)(now.tv_nsec - about.st_mtim.tv_nsec);
    return followed || age > 0.2 || age < 0;
}

static void drop_image(void *owner) {
    qb_array_destroy(owner);
    free(owner);
}

static void take_file(view_source *s, const char *path, size_t number, const view_listener *to) {
    qb_array *image = calloc(1, sizeof *image);
    if (!image) return;
    const bool fits = qb_array_load(path, NULL, image, NULL) == QB_OK && image->shape[0] == 1 &&
                      image->shape[1] == s->rows && image->shape[2] == s->columns;
    view_pixels pixels = {image->data, image, drop_image};
    if (fits) {
        s->done[number] = 1;
        to->view(to->user, number, image->dtype, &pixels);
    } else if (!s->failed[number]) {
        s->failed[number] = time(NULL);
    } else if (time(NULL) - s->failed[number] > PATIENCE) {
        s->done[number] = 2;
        to->unreadable(to->user, number);
    }
    view_pixels_release(&pixels);
}

static void look_folder(view_source *s, const view_listener *to) {
    size_t count;
    entry *all = list(s->path, &count);
    if (began_anew(s, all, count)) {
        memset(s->done, 0, VIEWS_MOST);
        memset(s->failed, 0, VIEWS_MOST * sizeof *s->failed);
        s->based = false;
        s->first_changed = (struct timespec){0};
        to->restart(to->user);
    }
    for (size_t i = 0; i < count; i++) {
        char path[PATH_SIZE];
        snprintf(path, sizeof path, "%s/%s", s->path, all[i].name);
        if (!s->based) s->base = all[i].number, s->based = true;
        if (all[i].number < s->base || all[i].number - s->base >= VIEWS_MOST) continue;
        const size_t number = all[i].number - s->base;
        if (!s->done[number] && is_whole(path, i + 1 < count)) take_file(s, path, number, to);
    }
    free(all);
}

/* Opens the scan of the first image, with the flats and darks of the options. */
static qb_status open_folder(view_source *s) {
    char path[PATH_SIZE] = "";
    size_t count;
    entry *all = list(s->path, &count);
    if (count) snprintf(path, sizeof path, "%s/%s", s->path, all[0].name);
    free(all);
    if (!count || !is_whole(path, count > 1)) return QB_NOT_FOUND;
    qb_scan_options options_of = s->c->options.scan;
    options_of.angles = options_of.views = options_of.exclude = NULL;
    options_of.keep_all_views = true;
    s->done = calloc(VIEWS_MOST, 1);
    s->failed = calloc(VIEWS_MOST, sizeof *s->failed);
    if (!s->done || !s->failed) return QB_NO_MEMORY;
    qb_array_info image = {.struct_size = sizeof image};
    qb_status status = qb_array_describe(path, NULL, &image);
    if (status == QB_OK) status = qb_scan_open(path, &options_of, NULL, &s->scan);
    s->rows = image.shape[1], s->columns = image.shape[2];
    return status == QB_NOT_FOUND ? QB_BAD_INPUT : status; /* flats or darks are missing: waiting would not help */
}

/* ---- a file that grows ---- */

static bool has_changed(const view_source *s, const struct stat *about) {
    return is_later(about->st_mtim, s->changed) || about->st_size != s->size;
}

/* Opens all views that the file has now. */
static qb_status open_views(const view_source *s, qb_scan **scan) {
    qb_scan_options options_of = s->c->options.scan;
    options_of.angles = options_of.views = options_of.exclude = NULL;
    options_of.keep_all_views = true;
    return qb_scan_open(s->path, &options_of, NULL, scan);
}

static void look_file(view_source *s, const view_listener *to) {
    qb_scan *scan = NULL;
    struct stat about;
    if (stat(s->path, &about) != 0 || (s->views && !has_changed(s, &about))) return;
    if (open_views(s, &scan) != QB_OK) return; /* the file is being written: the next look tries again */
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t bytes = info->rows * info->columns * qb_dtype_size(info->dtype);
    if (info->views < s->views) {
        s->views = 0;
        to->restart(to->user);
    }
    const bool fits = info->rows == s->rows && info->columns == s->columns;
    for (bool read = fits; read && s->views < info->views; s->views += read) {
        char *view = malloc(bytes);
        view_pixels pixels = {view, view, free};
        read = view && qb_scan_read(scan, s->views, s->views + 1, 0, info->rows, view) == QB_OK;
        if (read) to->view(to->user, s->views, info->dtype, &pixels);
        view_pixels_release(&pixels);
    }
    if (s->views == info->views) s->changed = about.st_mtim, s->size = about.st_size;
    qb_scan_close(scan);
}

/* ---- folder, file and stream ---- */

qb_status view_source_open(cli *c, int *waits, view_source **source) {
    struct stat about;
    view_source *s = calloc(1, sizeof *s);
    *source = s;
    if (!s) return QB_NO_MEMORY;
    s->c = c;
    s->path = c->argument[0];
    s->watch = -1;
    if (view_is_stream(s->path)) {
        const qb_status status = view_stream_open(c, &s->stream);
        return status == QB_OK ? view_stream_scan(s->stream, waits, &s->scan) : status;
    }
    if (stat(s->path, &about) != 0) return QB_NOT_FOUND;
    s->folder = S_ISDIR(about.st_mode);
    s->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (s->watch >= 0) inotify_add_watch(s->watch, s->path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_MODIFY | IN_DELETE);
    return s->folder ? open_folder(s) : open_views(s, &s->scan);
}

qb_scan *view_source_scan(const view_source *s) { return s->scan; }

void view_source_begin(view_source *s, size_t views) {
    const qb_scan_info *info = qb_scan_describe(s->scan);
    if (s->stream) view_stream_frame(s->stream, &s->rows, &s->columns);
    if (!s->stream && !s->folder) s->rows = info->rows, s->columns = info->columns;
    s->changes = (s->stream || s->folder) && view_changes_images(&s->c->options.scan);
    s->quantity = info->quantity;
    qb_scan_close(s->scan);
    s->scan = NULL;
    if (s->stream) view_stream_begin(s->stream, views);
}

void view_source_look(view_source *s, const view_listener *to, int milliseconds) {
    view_changer changer = {&s->c->options.scan, s->quantity, s->rows, s->columns, to};
    const view_listener changed = view_changer_listener(&changer), *listener = s->changes ? &changed : to;
    char events[4096];
    struct pollfd wait = {.fd = s->watch, .events = POLLIN};
    if (s->stream) {
        view_stream_look(s->stream, listener, milliseconds);
        return;
    }
    if (s->folder)
        look_folder(s, listener);
    else
        look_file(s, listener);
    /* A network file system reports no changes, so the wait ends after the given time. */
    if (poll(&wait, s->watch >= 0, milliseconds) > 0)
        while (read(s->watch, events, sizeof events) > 0) continue;
}

void view_source_close(view_source *s) {
    if (!s) return;
    if (s->watch >= 0) close(s->watch);
    qb_scan_close(s->scan);
    view_stream_close(s->stream);
    free(s->done);
    free(s->failed);
    free(s);
}
