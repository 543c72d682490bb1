/* SPDX-License-Identifier: MIT */
/* qb bench mpi: combined rates of the ranks of a launcher, for the exchanges and kernels of a reconstruction: the
 * micro-benchmarks of the iFDK paper (section 4.2.1), and the rates of its model (planner/cluster.h). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_io.h"
#include "bench/machine/bench_link.h"
#include "bench/bench_parts.h"
#include "geometry/partition.h"
#include "io/plain/source.h"
#include "io/writer.h"
#include "job/job.h"

enum { TURNS = 8, REPEAT_MAX = 64, NAME = 640 };

typedef struct bench {
    const qb_env *env;
    qb__comm *comm;
    int count, hosts, repeat;
    size_t view, part;       /* bytes of a view; of a sub-volume */
    size_t slices, slice;    /* slices of a sub-volume; bytes of a slice */
    char *mine, *all;        /* buffers for one part; for the views of all ranks, and parts for all */
    qb__comm_part *out, *in; /* [count] */
    double *each;            /* [count] */
    qb__bench_folder folder;
    qb__bench_link link;
    cJSON *result, *rates;
} bench;

/* ---- what is measured ---- */

static qb_status allgather(bench *b) {
    for (int i = 0; i < b->count; i++) {
        b->out[i] = (qb__comm_part){b->mine, b->view};
        b->in[i] = (qb__comm_part){b->all + (size_t)i * b->view, b->view};
    }
    qb_status status = QB_OK;
    for (int turn = 0; turn < TURNS && status == QB_OK; turn++)
        status = qb__comm_exchange(b->comm, QB_OK, b->out, b->in);
    return status;
}

/* Send runs of slices to the ranks that add them. */
static qb_status reduce(bench *b) {
    size_t first, own;
    qb__cut_rank(b->slices, 1, b->count, qb__comm_rank(b->comm), &first, &own);
    for (int i = 0; i < b->count; i++) {
        size_t count;
        b->in[i] = (qb__comm_part){b->all + (size_t)i * own * b->slice, own * b->slice};
        qb__cut_rank(b->slices, 1, b->count, i, &first, &count);
        b->out[i] = (qb__comm_part){b->mine + first * b->slice, count * b->slice};
    }
    const qb_status status = qb__comm_exchange(b->comm, QB_OK, b->out, b->in);
    float *restrict sum = (float *)b->all;
    for (int i = 1; i < b->count && status == QB_OK; i++) {
        const float *more = (const float *)b->in[i].data;
        for (size_t k = 0; k < own * b->slice / sizeof *sum; k++) sum[k] += more[k];
    }
    return status;
}

/* Send runs of slices on a device to the ranks that add them. */
static qb_status reduce_there(bench *b) {
    return qb__device_sum_run(b->link.sum, b->link.there, b->slices, b->slice / sizeof(float));
}

static qb_status upload(bench *b) { return qb__bench_link_up(&b->link, TURNS); }

static qb_status download(bench *b) { return qb__bench_link_down(&b->link, TURNS); }

/* Write a part until the data are on the disk. */
static qb_status write_part(bench *b) {
    char name[NAME];
    qb__bench_file(&b->folder, "part", name, sizeof name);
    const int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return qb__fail_errno(errno, "creating", name);
    qb_status status = qb__pwrite_all(fd, name, b->mine, b->part, 0);
    if (status == QB_OK && fsync(fd) != 0) status = qb__fail_errno(errno, "writing", name);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* so that it is read from the disk */
    close(fd);
    return status;
}

static qb_status read_part(bench *b) {
    char name[NAME];
    qb__bench_file(&b->folder, "part", name, sizeof name);
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", name);
    const qb_status status = qb__pread_all(fd, name, b->all, b->part, 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    return status;
}

/* ---- timing ---- */

/* Gather the numbers of all ranks into b->each. */
static qb_status tell_all(bench *b, qb_status status, double own) {
    return qb__comm_gather(b->comm, status, &own, sizeof own, b->each);
}

static double least(const bench *b) {
    double found = b->each[0];
    for (int i = 1; i < b->count; i++) found = fmin(found, b->each[i]);
    return found;
}

static double sum(const bench *b) {
    double all = 0;
    for (int i = 0; i < b->count; i++) all += b->each[i];
    return all;
}

/* All ranks begin together. The slowest rank counts, and of several rounds the median. The first round warms up. */
static qb_status timed(bench *b, const char *name, qb_status (*run)(bench *), double bytes, const char *rate,
                       double *found) {
    double seconds[REPEAT_MAX];
    for (int i = -1; i < b->repeat; i++) {
        qb_status status = qb__agree(b->comm, qb__check_cancel(b->env));
        if (status != QB_OK) return status;
        double own = qb__now();
        status = run(b);
        own = qb__now() - own;
        status = tell_all(b, status, -own);
        if (status != QB_OK) return status;
        if (i >= 0) seconds[i] = -least(b);
    }
    cJSON *row = cJSON_AddObjectToObject(b->result, name);
    const double median = qb__median(seconds, (size_t)b->repeat);
    *found = bytes / median;
    cJSON_AddNumberToObject(row, "bytes", bytes);
    cJSON_AddNumberToObject(row, "seconds_median", median);
    cJSON_AddNumberToObject(row, "gigabytes_per_second", *found * 1e-9);
    if (rate) cJSON_AddNumberToObject(b->rates, rate, *found);
    return QB_OK;
}

/* Run a benchmark of one process on all ranks at once; the JSON is that of this rank. */
static qb_status at_once(bench *b, const char *name, const qb_tool_bench_options *options, const char *number,
                         qb_status (*run)(const qb_tool_bench_options *, const qb_env *, cJSON *)) {
    QB__OR_RETURN(qb__agree(b->comm, QB_OK));
    cJSON *row = cJSON_AddObjectToObject(b->result, name);
    const qb_status status = run(options, b->env, row);
    return tell_all(b, status, 1e9 * qb__bench_number(row, number));
}

/* The links of a machine between host and devices, while all its ranks use them, in the slower direction. */
static qb_status measure_links(bench *b) {
    const double all = (double)b->part * b->count * TURNS, here = b->comm ? b->comm->here : 1;
    double up, down;
    QB__OR_RETURN(timed(b, "upload", upload, all, NULL, &up));
    QB__OR_RETURN(timed(b, "download", download, all, NULL, &down));
    QB__OR_RETURN(tell_all(b, QB_OK, fmin(up, down) / b->count * here / b->link.devices));
    cJSON_AddNumberToObject(b->rates, "link_bytes_per_second", least(b));
    QB__OR_RETURN(tell_all(b, QB_OK, b->link.devices));
    cJSON_AddNumberToObject(b->rates, "links_per_node", least(b));
    return QB_OK;
}

static qb_status measure_sums(bench *b) {
    char words[256];
    double found;
    qb_status status =
        timed(b, "reduce", b->link.sum ? reduce_there : reduce, (double)b->part, "reduce_bytes_per_second", &found);
    if (!b->link.sum) return status;
    status = qb__device_sum_barrier(b->link.sum, status);
    qb__device_sum_report(b->link.sum, words);
    cJSON_AddStringToObject(b->result, "sums_by", words);
    return status;
}

/* Memory of the device, or a share of the machine's memory if there is none. */
static qb_status measure_room(bench *b) {
    double room = 0.75 * (double)qb__available_bytes() / (b->comm ? b->comm->here : 1);
    const qb_status status = b->link.set.count ? qb__bench_link_room(&b->link, &room) : QB_OK;
    return tell_all(b, status, room);
}

static qb_status measure(bench *b, const qb_tool_bench_options *options) {
    double found;
    const double views = (double)b->view * b->count * TURNS, parts = (double)b->part * b->count;
    QB__OR_RETURN(timed(b, "allgather", allgather, views, "allgather_bytes_per_second", &found));
    QB__OR_RETURN(measure_sums(b));
    QB__OR_RETURN(timed(b, "write", write_part, parts, "write_bytes_per_second", &found));
    QB__OR_RETURN(timed(b, "read", read_part, parts, "read_bytes_per_second", &found));
    if (b->link.set.count) QB__OR_RETURN(measure_links(b));
    QB__OR_RETURN(at_once(b, "filter", options, "giga_samples_per_second", qb__bench_filter_anywhere));
    cJSON_AddNumberToObject(b->rates, "filter_values_per_second", sum(b) / b->hosts);
    QB__OR_RETURN(at_once(b, "backproject", options, "giga_updates_per_second", qb__bench_backproject_cone));
    cJSON_AddNumberToObject(b->rates, "backproject_updates_per_second", least(b));
    QB__OR_RETURN(measure_room(b));
    cJSON_AddNumberToObject(b->rates, "rank_memory_bytes", least(b));
    return QB_OK;
}

/* ---- create and destroy ---- */

/* Sum over the ranks of 1 / (number of ranks on the same machine), which is the number of machines. */
static qb_status count_hosts(bench *b) {
    const qb_status status = tell_all(b, QB_OK, 1.0 / (b->comm ? b->comm->here : 1));
    if (status == QB_OK) b->hosts = (int)lround(sum(b));
    return status;
}

static qb_status take_room(bench *b, const qb_tool_bench_options *options) {
    const qb__trial_sizes s = qb__bench_sizes(options, 0);
    const size_t count = (size_t)b->count, nz = s.nz;
    b->slices = nz;
    if (!qb__mul(s.nx, s.ny, sizeof(float), &b->slice) || !qb__mul(b->slice, nz, 1, &b->part) ||
        !qb__mul(s.columns, s.rows, sizeof(float), &b->view))
        return qb__fail(QB_NO_MEMORY, "too many voxels or pixels");
    const size_t parts = qb__larger(b->part, count * qb__ceil_div(nz, count) * b->slice);
    QB__OR_RETURN(qb__alloc(qb__larger(b->part, b->view), 1, &b->mine));
    QB__OR_RETURN(qb__alloc(qb__larger(parts, count * b->view), 1, &b->all));
    QB__OR_RETURN(qb__alloc(count, sizeof *b->out, &b->out));
    QB__OR_RETURN(qb__alloc(count, sizeof *b->in, &b->in));
    memset(b->mine, 0, qb__larger(b->part, b->view));
    return QB_OK;
}

static void describe(const bench *b, const qb_env *env) {
    cJSON_AddNumberToObject(b->result, "ranks", b->count);
    cJSON_AddNumberToObject(b->result, "hosts", b->hosts);
    cJSON_AddStringToObject(b->result, "folder", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (b->link.set.count)
        cJSON_AddStringToObject(b->result, "device", qb__device_info_of(b->link.set.device[0])->name);
    if (b->count == 1)
        qb__warn(env, "one process alone exchanges nothing: run mpirun -n N qb bench mpi" QB__CODE("one-process"));
}

qb_status qb__bench_mpi(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    qb_env own = qb__env_whole(env);
    qb__job_share(&own);
    bench b = {.env = &own,
               .comm = qb__comm_of(env),
               .result = result,
               .repeat = options->repeat > REPEAT_MAX ? REPEAT_MAX : options->repeat};
    bool folder = false;
    b.count = qb__comm_count(b.comm);
    qb_status status = qb__alloc((size_t)b.count, sizeof *b.each, &b.each);
    if (status == QB_OK) status = take_room(&b, options);
    if (status == QB_OK) status = qb__bench_folder_create(&b.folder);
    folder = status == QB_OK;
    if (status == QB_OK) status = qb__bench_link_open(env, b.part, &b.link);
    QB__TRY(qb__agree(b.comm, status));
    QB__TRY(qb__bench_link_join(&b.link, b.comm));
    QB__TRY(count_hosts(&b));
    describe(&b, env);
    b.rates = cJSON_CreateObject();
    status = measure(&b, options);
    cJSON_AddItemToObject(result, "rates", b.rates);
out:
    if (folder) qb__bench_folder_remove(&b.folder);
    qb__bench_link_close(&b.link);
    QB__FREE(b.mine, b.all, b.out, b.in, b.each);
    return status;
}
