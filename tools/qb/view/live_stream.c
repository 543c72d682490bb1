/* SPDX-License-Identifier: MIT */
#include "live_source.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "live_frame.h"
#include "zmq.h"

enum { RECENT = 1 << 16, LOOKS_AT_ONCE = 64 };

/* Sum and mean of the flats or of the darks. */
typedef struct sums {
    double *sum;
    float *mean;
    size_t count;
} sums;

struct view_stream {
    cli *c;
    view_zmq zmq;
    void *context, *socket;
    bool fixed;           /* A view has come; all others must have its size and type */
    size_t rows, columns; /* size of a frame */
    qb_dtype dtype;
    sums field[VIEW_OF_SCAN];
    bool fresh;        /* flats or darks have come since the last view */
    view_pixels first; /* pixels of the first view, until they are passed on */
    size_t at;         /* number of the first view */
    size_t views;      /* number of views of one scan */
    size_t turn;       /* number of the scan; view numbers go on from one scan to the next */
    size_t last;       /* highest number so far */
    size_t *recent;    /* [RECENT] 1 + number of the newest frame with this remainder */
};

bool view_is_stream(const char *source) {
    return strncmp(source, "tcp://", 6) == 0 || strncmp(source, "ipc://", 6) == 0;
}

/* ---- a message ---- */

/* Receives one part of a message, if one has come. */
static bool receive(view_stream *s, view_zmq_message *part) {
    s->zmq.msg_init(part);
    if (s->zmq.msg_recv(part, s->socket, VIEW_ZMQ_DONTWAIT) >= 0) return true;
    s->zmq.msg_close(part);
    return false;
}

static bool is_whole(const view_stream *s, const view_frame *f, size_t bytes) {
    return bytes / f->columns / qb_dtype_size(f->dtype) == f->rows &&
           bytes == f->rows * f->columns * qb_dtype_size(f->dtype) &&
           (!s->rows || (f->rows == s->rows && f->columns == s->columns)) &&
           (!s->fixed || f->kind != VIEW_OF_SCAN || f->dtype == s->dtype);
}

/* One part of a message that is kept. */
typedef struct kept {
    view_zmq_message part;
    int (*close)(view_zmq_message *part);
} kept;

static void drop(void *owner) {
    kept *k = owner;
    k->close(&k->part);
    free(k);
}

static kept *receive_kept(view_stream *s) {
    kept *k = malloc(sizeof *k);
    if (k && receive(s, &k->part)) return k->close = s->zmq.msg_close, k;
    free(k);
    return NULL;
}

/* Pixels of a message, without a copy unless their address is not aligned: ZeroMQ puts small messages anywhere. */
static view_pixels pixels_of(view_stream *s, kept *k, size_t size) {
    const void *values = s->zmq.msg_data(&k->part);
    if ((uintptr_t)values % sizeof(float) == 0) return (view_pixels){values, k, drop};
    void *copy = malloc(size);
    if (copy) memcpy(copy, values, size);
    drop(k);
    return (view_pixels){copy, copy, free};
}

/* f is NULL where the message is not understood. The function may take the pixels over. */
typedef void taken(void *user, view_frame *f);

/* Receives one message; false where none has come. */
static bool take_message(view_stream *s, taken *take, void *user) {
    view_zmq_message head;
    view_frame f = {0};
    kept *body;
    if (!receive(s, &head)) return false;
    bool good = view_frame_read(s->zmq.msg_data(&head), s->zmq.msg_size(&head), &f), more = s->zmq.msg_more(&head);
    s->zmq.msg_close(&head);
    good = good && more;
    for (int part = 0; more && (body = receive_kept(s)); part++) {
        const size_t size = s->zmq.msg_size(&body->part);
        more = s->zmq.msg_more(&body->part);
        good = good && part == 0 && !more && is_whole(s, &f, size);
        f.pixels = pixels_of(s, body, size);
        good = good && f.pixels.values;
        if (good) take(user, &f);
        view_pixels_release(&f.pixels);
    }
    if (!good) take(user, NULL);
    return true;
}

static bool wait_for_more(view_stream *s, int milliseconds) {
    view_zmq_poll item = {.socket = s->socket, .events = VIEW_ZMQ_POLLIN};
    return s->zmq.poll(&item, 1, milliseconds) > 0;
}

/* ---- flats and darks ---- */

static void add_field(view_stream *s, const view_frame *f) {
    sums *to = &s->field[f->kind];
    const size_t n = f->rows * f->columns;
    float *values = malloc(n * sizeof *values);
    s->rows = f->rows, s->columns = f->columns;
    if (!to->sum) to->sum = calloc(n, sizeof *to->sum);
    if (!to->mean) to->mean = calloc(n, sizeof *to->mean);
    if (!s->fresh && s->fixed) { /* first field of the next scan: the old sums are cleared */
        for (int k = 0; k < VIEW_OF_SCAN; k++) s->field[k].count = 0;
    }
    if (to->count == 0 && to->sum) memset(to->sum, 0, n * sizeof *to->sum);
    s->fresh = true;
    if (values && to->sum && to->mean) {
        qb_convert_to_float(f->pixels.values, f->dtype, n, values);
        for (size_t i = 0; i < n; i++) to->sum[i] += (double)values[i];
        to->count++;
    }
    free(values);
}

static const float *mean_of(view_stream *s, view_kind which) {
    const sums *of = &s->field[which];
    for (size_t i = 0; of->count && i < s->rows * s->columns; i++)
        of->mean[i] = (float)(of->sum[i] / (double)of->count);
    return of->count ? of->mean : NULL;
}

/* ---- the first view ---- */

static void take_first(void *user, view_frame *f) {
    view_stream *s = user;
    if (!f || s->first.values) return;
    if (f->kind != VIEW_OF_SCAN) {
        add_field(s, f);
        return;
    }
    s->first = view_pixels_take(&f->pixels);
    s->rows = f->rows, s->columns = f->columns, s->dtype = f->dtype, s->at = f->number;
    s->fixed = true;
    s->fresh = false;
}

static qb_status connect_to(view_stream *s) {
    const char *where = s->c->argument[0];
    const int none = 0, many = 4096;
    const int64_t most = (int64_t)1 << 32;
    if (!view_zmq_open(&s->zmq))
        return complain(QB_UNSUPPORTED, "%.80s: there is no libzmq.so.5: install libzmq5 (Debian), zeromq (conda)",
                        where);
    s->context = s->zmq.ctx_new();
    s->socket =
        s->context ? s->zmq.socket(s->context, s->c->options.live.subscribe ? VIEW_ZMQ_SUB : VIEW_ZMQ_PULL) : NULL;
    if (!s->socket) return complain(QB_INTERNAL, "%.80s: ZeroMQ makes no socket", where);
    s->zmq.setsockopt(s->socket, VIEW_ZMQ_LINGER, &none, sizeof none);
    s->zmq.setsockopt(s->socket, VIEW_ZMQ_RCVHWM, &many, sizeof many);
    s->zmq.setsockopt(s->socket, VIEW_ZMQ_MAXMSGSIZE, &most, sizeof most);
    if (s->c->options.live.subscribe) s->zmq.setsockopt(s->socket, VIEW_ZMQ_SUBSCRIBE, "", 0);
    if (s->zmq.connect(s->socket, where) != 0)
        return complain(QB_BAD_ARGUMENT, "%.80s is no address of ZeroMQ: give tcp://HOST:PORT", where);
    return QB_OK;
}

qb_status view_stream_open(cli *c, view_stream **stream) {
    view_stream *s = calloc(1, sizeof *s);
    *stream = s;
    if (!s) return QB_NO_MEMORY;
    s->c = c;
    s->recent = calloc(RECENT, sizeof *s->recent);
    return s->recent ? connect_to(s) : QB_NO_MEMORY;
}

/* Waits for the first view. *waits says meanwhile what is missing, and the terminal says it once. */
static qb_status wait_for_view(view_stream *s, int *waits, int missing) {
    static const char *const words[] = {
        [VIEW_WAITS_VIEWS] = "waiting for the first view",
        [VIEW_WAITS_FLATS] = "views come without flats: waiting for the flats of the next scan; or give --flats FILE"};
    const cli *c = s->c;
    if (__atomic_exchange_n(waits, missing, __ATOMIC_ACQ_REL) != missing) c->env.log(NULL, QB_LOG_INFO, words[missing]);
    while (!s->first.values && !*c->env.cancel)
        if (wait_for_more(s, 200))
            while (!s->first.values && take_message(s, take_first, s)) continue;
    return s->first.values ? QB_OK : QB_CANCELLED;
}

/* Drops the first view. Darks that came before it stay. */
static void drop_first(view_stream *s) {
    view_pixels_release(&s->first);
    s->fixed = false;
    if (!s->field[VIEW_DARK].count) s->rows = s->columns = 0; /* the next scan may have frames of another size */
}

/* Makes a scan of the first view, with the flats and darks that came before it. */
static qb_status scan_of_first(view_stream *s, qb_scan **scan) {
    const qb_tensor view = {.data = (void *)s->first.values,
                            .memory = QB_MEMORY_CPU,
                            .ndim = 3,
                            .dtype = s->dtype,
                            .shape = {1, (int64_t)s->rows, (int64_t)s->columns}};
    const float *flat = mean_of(s, VIEW_FLAT), *dark = mean_of(s, VIEW_DARK);
    const qb_tensor flats = qb_tensor_f32(flat, 1, s->rows, s->columns),
                    darks = qb_tensor_f32(dark, 1, s->rows, s->columns);
    const double zero = 0;
    qb_scan_options as = s->c->options.scan;
    as.angles = as.views = as.exclude = NULL;
    as.keep_all_views = true;
    return qb_scan_from_tensor(&view, &zero, flat ? &flats : NULL, dark ? &darks : NULL, &as, NULL, scan);
}

/* A subscriber may join in the middle of a scan: then the flats come with the next scan. */
qb_status view_stream_scan(view_stream *s, int *waits, qb_scan **scan) {
    for (int missing = VIEW_WAITS_VIEWS;; missing = VIEW_WAITS_FLATS) {
        qb_status status = wait_for_view(s, waits, missing);
        if (status == QB_OK) status = scan_of_first(s, scan);
        if (status != QB_OK || !s->c->options.live.subscribe) return status;
        const qb_scan_info *info = qb_scan_describe(*scan);
        if (info->quantity != QB_COUNTS || info->flats) return QB_OK;
        qb_scan_close(*scan);
        *scan = NULL;
        drop_first(s);
    }
}

/* ---- further views ---- */

typedef struct telling {
    view_stream *s;
    const view_listener *to;
} telling;

/* Has the detector begun a new scan? Then its numbers begin again, or they reach the range of the next scan. */
static bool began_anew(view_stream *s, size_t number) {
    const bool again = s->recent[number % RECENT] == number + 1, far = number + RECENT / 2 < s->last;
    const bool next = s->views && number / s->views != s->turn;
    if (!again && !far && !next) return false;
    memset(s->recent, 0, RECENT * sizeof *s->recent);
    s->turn = s->views ? number / s->views : 0;
    s->last = number;
    return true;
}

/* Is this a late frame of the scan before? A much smaller number is not late: it belongs to a detector that counts from
 * 0 again. */
static bool is_over(const view_stream *s, size_t number) {
    const size_t begin = s->views * s->turn;
    return number < begin && begin - number < s->views / 2;
}

static void tell(void *user, view_frame *f) {
    const telling *t = user;
    view_stream *s = t->s;
    if (!f) {
        t->to->unreadable(t->to->user, 0);
    } else if (f->kind != VIEW_OF_SCAN) {
        add_field(s, f);
    } else if (!is_over(s, f->number)) {
        if (began_anew(s, f->number)) t->to->restart(t->to->user);
        if (s->fresh) t->to->fields(t->to->user, mean_of(s, VIEW_FLAT), mean_of(s, VIEW_DARK));
        s->fresh = false;
        s->recent[f->number % RECENT] = f->number + 1;
        if (f->number > s->last) s->last = f->number;
        t->to->view(t->to->user, s->views ? f->number % s->views : f->number, f->dtype, &f->pixels);
    }
}

void view_stream_frame(const view_stream *s, size_t *rows, size_t *columns) { *rows = s->rows, *columns = s->columns; }

void view_stream_begin(view_stream *s, size_t views) {
    s->views = views;
    s->turn = views ? s->at / views : 0;
    s->last = s->at;
}

void view_stream_look(view_stream *s, const view_listener *to, int milliseconds) {
    telling t = {s, to};
    if (s->first.values) {
        view_frame first = {VIEW_OF_SCAN, s->at, s->rows, s->columns, s->dtype, view_pixels_take(&s->first)};
        tell(&t, &first);
        view_pixels_release(&first.pixels);
    }
    if (!wait_for_more(s, milliseconds)) return;
    for (int i = 0; i < LOOKS_AT_ONCE && take_message(s, tell, &t); i++) continue;
}

void view_stream_close(view_stream *s) {
    if (!s) return;
    view_pixels_release(&s->first);
    if (s->socket) s->zmq.close(s->socket);
    if (s->context) s->zmq.ctx_term(s->context);
    view_zmq_close(&s->zmq);
    for (int k = 0; k < VIEW_OF_SCAN; k++) {
        free(s->field[k].sum);
        free(s->field[k].mean);
    }
    free(s->recent);
    free(s);
}
