/* SPDX-License-Identifier: MIT */
#include "device/rates.h"

#include <stdio.h>

#include "base/status.h"

/* Each rate is the best of a few timed runs of some milliseconds: a first run warms up and gives the number of
 * rounds. */

enum { RUNS = 5, GROUP = 256, IMAGE = 256, ROUNDS_MAX = 1 << 22 };
static const double seconds_wanted = 4e-3;

typedef struct bench {
    qb__device *device;
    const qb__device_info *info;
    qb__queue *queue;
    qb__event *begin, *end;
    qb__memory *a, *b; /* large; `a` is filled with zeros */
    void *host;
    size_t bytes, host_bytes;
    size_t groups; /* enough to fill the device several times */
} bench;

typedef qb_status (*step)(bench *m, const void *what, uint32_t rounds);

static qb_status time_once(bench *m, step run, const void *what, uint32_t rounds, double *seconds) {
    QB__OR_RETURN(qb__event_record(m->begin, m->queue));
    QB__OR_RETURN(run(m, what, rounds));
    QB__OR_RETURN(qb__event_record(m->end, m->queue));
    QB__OR_RETURN(qb__queue_finish(m->queue));
    return qb__event_seconds(m->begin, m->end, seconds);
}

/* Units of work per second, with `work` of them per round. */
static qb_status measure(bench *m, step run, const void *what, double work, double *rate) {
    uint32_t rounds = 1;
    double seconds = 0, best = 0;
    QB__OR_RETURN(time_once(m, run, what, 1, &seconds));
    for (;;) {
        QB__OR_RETURN(time_once(m, run, what, rounds, &seconds));
        if (seconds >= seconds_wanted || rounds >= ROUNDS_MAX) break;
        double factor = seconds > 1e-6 ? 1.2 * seconds_wanted / seconds : 1000;
        if (factor > 64) factor = 64;
        rounds = (uint32_t)((double)rounds * (factor > 2 ? factor : 2));
    }
    for (int i = 0; i < RUNS; i++) {
        QB__OR_RETURN(time_once(m, run, what, rounds, &seconds));
        if (seconds > 0 && work * rounds / seconds > best) best = work * rounds / seconds;
    }
    *rate = best;
    return QB_OK;
}

static qb_status run_copy(bench *m, const void *what, uint32_t rounds) {
    qb_status status = QB_OK;
    (void)what;
    for (uint32_t i = 0; i < rounds && status == QB_OK; i++) {
        status = qb__memory_copy(m->queue, m->b, 0, m->a, 0, m->bytes);
    }
    return status;
}

static qb_status run_upload(bench *m, const void *what, uint32_t rounds) {
    qb_status status = QB_OK;
    (void)what;
    for (uint32_t i = 0; i < rounds && status == QB_OK; i++) {
        status = qb__memory_upload(m->queue, m->b, 0, m->host, m->host_bytes);
    }
    return status;
}

static qb_status run_download(bench *m, const void *what, uint32_t rounds) {
    qb_status status = QB_OK;
    (void)what;
    for (uint32_t i = 0; i < rounds && status == QB_OK; i++) {
        status = qb__memory_download(m->queue, m->b, 0, m->host, m->host_bytes);
    }
    return status;
}

static qb_status launch(bench *m, const void *kernel, const qb__arg *args, size_t count) {
    const size_t groups[3] = {m->groups, 1, 1}, group[3] = {GROUP, 1, 1};
    return qb__kernel_launch((qb__kernel *)(uintptr_t)kernel, m->queue, groups, group, args, count);
}

static qb_status run_fma(bench *m, const void *kernel, uint32_t rounds) {
    float a = 0.999f, b = 0.001f;
    const qb__arg args[] = {QB__MEMORY(m->b), QB__VALUES(rounds, a, b)};
    return launch(m, kernel, args, 4);
}

static qb_status run_local(bench *m, const void *kernel, uint32_t rounds) {
    const qb__arg args[] = {QB__MEMORY(m->b), QB__VALUE(rounds)};
    return launch(m, kernel, args, 2);
}

/* The largest power of two of 16-byte pieces that fits into half of the shared cache. */
static uint32_t cached_pieces(const bench *m) {
    size_t room = m->info->l2_bytes / 2 < m->bytes ? m->info->l2_bytes / 2 : m->bytes;
    uint32_t pieces = 1024;
    while ((size_t)pieces * 32 <= room) pieces *= 2;
    return pieces;
}

static qb_status run_cache(bench *m, const void *kernel, uint32_t rounds) {
    uint32_t pieces = cached_pieces(m);
    const qb__arg args[] = {QB__MEMORIES(m->a, m->b), QB__VALUES(pieces, rounds)};
    return launch(m, kernel, args, 4);
}

struct textured {
    const qb__kernel *kernel;
    qb__texture *texture;
};

static qb_status run_texture(bench *m, const void *what, uint32_t rounds) {
    const struct textured *t = what;
    const qb__arg args[] = {QB__TEXTURE(t->texture), QB__MEMORY(m->b), QB__VALUE(rounds)};
    return launch(m, t->kernel, args, 3);
}

static qb_status run_tensor(bench *m, const void *kernel, uint32_t rounds) {
    uint32_t value = 0x30003000; /* two small half floats, so that nothing overflows */
    const qb__arg args[] = {QB__MEMORY(m->b), QB__VALUES(rounds, value)};
    return launch(m, kernel, args, 3);
}

static qb_status measure_texture(bench *m, qb__program *program, double items, double *rate) {
    const qb__texture_shape shape = {IMAGE, IMAGE, 0, 1, false, true};
    qb__kernel *kernel;
    struct textured t = {0};
    qb_status status;
    QB__TRY(qb__kernel_get(program, "rate_texture", &kernel));
    QB__TRY(qb__texture_create(m->device, &shape, &t.texture));
    QB__TRY(qb__texture_load(m->queue, t.texture, m->a, 0));
    t.kernel = kernel;
    status = measure(m, run_texture, &t, items * 8, rate);
out:
    qb__texture_destroy(t.texture);
    return status;
}

static qb_status measure_units(bench *m, qb__device_rates *rates) {
    const struct {
        const char *name;
        step run;
        double work; /* work of one round and one item */
        double *rate;
    } units[] = {{"rate_fma", run_fma, 16, &rates->arithmetic},
                 {"rate_local", run_local, 128, &rates->local_bytes},
                 {"rate_cache", run_cache, 128, &rates->cache_bytes}};
    double items = (double)m->groups * GROUP;
    qb__program *program = NULL, *tensor = NULL;
    qb__kernel *kernel;
    qb_status status;
    QB__TRY(qb__program_build(m->device, "device_rates.cl", NULL, &program));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        QB__TRY(qb__kernel_get(program, units[i].name, &kernel));
        QB__TRY(measure(m, units[i].run, kernel, items * units[i].work, units[i].rate));
    }
    if (m->info->images) QB__TRY(measure_texture(m, program, items, &rates->texels));
    if (m->info->api == QB__API_CUDA && m->info->arch >= 80) {
        QB__TRY(qb__program_build(m->device, "device_rates_tensor.cu", NULL, &tensor));
        QB__TRY(qb__kernel_get(tensor, "rate_tensor", &kernel));
        /* 8 products of 4096 operations per warp of 32 */
        QB__TRY(measure(m, run_tensor, kernel, items / 32 * 8 * 4096, &rates->tensor_flops));
    }
out:
    qb__program_release(tensor);
    qb__program_release(program);
    return status;
}

/* A quarter of the free memory, at most 256 MiB, halved until it can be allocated. */
static qb_status make_buffers(bench *m) {
    size_t room, bytes = 256u << 20;
    qb_status status = qb__device_free_bytes(m->device, &room);
    if (m->info->is_cpu) bytes = 32u << 20;
    while (status == QB_OK && bytes > room / 4 && bytes > 1u << 20) bytes /= 2;
    while (status == QB_OK) {
        status = qb__memory_create(m->device, bytes, &m->a);
        if (status == QB_OK) status = qb__memory_create(m->device, bytes, &m->b);
        if (status != QB_NO_MEMORY || bytes <= 1u << 20) break;
        qb__memory_destroy(m->a);
        m->a = NULL;
        bytes /= 2;
        status = QB_OK;
    }
    m->bytes = bytes;
    m->host_bytes = bytes < 64u << 20 ? bytes : 64u << 20;
    if (status == QB_OK) status = qb__host_create(m->device, m->host_bytes, &m->host);
    return status;
}

qb_status qb__device_measure(qb__device *device, qb__device_rates *rates) {
    bench m = {.device = device, .info = qb__device_info_of(device)};
    qb_status status;
    *rates = (qb__device_rates){0};
    m.groups = (size_t)m.info->multiprocessors * (m.info->is_cpu ? 1 : 32);
    QB__TRY(qb__queue_create(device, &m.queue));
    QB__TRY(qb__event_create(device, &m.begin));
    QB__TRY(qb__event_create(device, &m.end));
    QB__TRY(make_buffers(&m));
    QB__TRY(qb__memory_fill(m.queue, m.a, 0, 0, m.bytes));
    QB__TRY(measure(&m, run_copy, NULL, 2.0 * (double)m.bytes, &rates->copy_bytes));
    QB__TRY(measure(&m, run_upload, NULL, (double)m.host_bytes, &rates->upload_bytes));
    QB__TRY(measure(&m, run_download, NULL, (double)m.host_bytes, &rates->download_bytes));
    if (m.info->group_size >= GROUP && measure_units(&m, rates) != QB_OK) {
        snprintf(rates->problem, sizeof rates->problem, "%s", qb_detail());
    }
out:
    qb__host_destroy(device, m.host);
    QB__MEMORY_DESTROY(m.b, m.a);
    qb__event_destroy(m.end);
    qb__event_destroy(m.begin);
    qb__queue_destroy(m.queue);
    return status;
}
