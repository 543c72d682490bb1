/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/clock.h"
#include "device/backend.h"
#include "device/cache.h"
#include "device/sources.h"

/* Programs: shared by key, and loaded from the cache if possible. */

static void add_text(qb__hash *hash, const char *text) {
    qb__hash_add(hash, text, strlen(text) + 1); /* includes the final zero: "ab","c" differs from "a","bc" */
}

static void make_key(const qb__device *device, const char *text, const char *const *macros, uint64_t key[2]) {
    const qb__device_info *info = &device->info;
    char chip[48];
    snprintf(chip, sizeof chip, "%d %d %d", (int)info->api, info->arch, info->arch_specific);
    qb__hash hash = QB__HASH_START;
    add_text(&hash, QB_VERSION);
    add_text(&hash, chip);
    add_text(&hash, info->name);
    add_text(&hash, info->driver);
    add_text(&hash, device->compiler);
    for (size_t i = 0; macros && macros[i]; i++) add_text(&hash, macros[i]);
    add_text(&hash, "");
    add_text(&hash, text);
    memcpy(key, hash.word, sizeof hash.word);
}

static qb_status check_macros(const char *const *macros) {
    for (size_t i = 0; macros && macros[i]; i++) {
        if (strpbrk(macros[i], " \t\n\"'\\") || macros[i][0] == '-') {
            return qb__fail(QB_BAD_ARGUMENT, "the macro %s cannot be given to every compiler", macros[i]);
        }
    }
    return QB_OK;
}

/* The existing program with that key, with one more reference. */
static qb__program *share(qb__device *device, const uint64_t key[2]) {
    for (qb__program *p = device->made.programs; p; p = p->next) {
        if (memcmp(p->key, key, sizeof p->key) != 0) continue;
        p->references++;
        return p;
    }
    return NULL;
}

/* Announce before compiling, count afterwards: compiling takes seconds and must not be silent. */
static qb_status build(qb__program *program, const char *text, const char *const *macros, qb__binary *binary) {
    qb__device *device = program->device;
    pthread_mutex_lock(&device->lock);
    if (device->made.listener) device->made.listener(device->made.listener_user, &device->info);
    pthread_mutex_unlock(&device->lock);
    const double from = qb__now();
    qb_status status = device->backend->build(program, text, macros, binary);
    pthread_mutex_lock(&device->lock);
    device->made.builds.programs += status == QB_OK;
    device->made.builds.seconds += qb__now() - from;
    pthread_mutex_unlock(&device->lock);
    return status;
}

qb__builds qb__device_builds(qb__device *device) {
    pthread_mutex_lock(&device->lock);
    qb__builds builds = device->made.builds;
    pthread_mutex_unlock(&device->lock);
    return builds;
}

void qb__device_listen(qb__device *device, qb__build_listener say, void *user) {
    pthread_mutex_lock(&device->lock);
    if (!device->made.listener) {
        device->made.listener = say;
        device->made.listener_user = user;
    }
    pthread_mutex_unlock(&device->lock);
}

void qb__device_unlisten(qb__device *device, const void *user) {
    pthread_mutex_lock(&device->lock);
    if (device->made.listener_user == user) {
        device->made.listener = NULL;
        device->made.listener_user = NULL;
    }
    pthread_mutex_unlock(&device->lock);
}

static void count_kept(qb__device *device) {
    pthread_mutex_lock(&device->lock);
    device->made.builds.kept++;
    pthread_mutex_unlock(&device->lock);
}

static qb_status load_or_build(qb__program *program, const char *text, const char *const *macros) {
    const qb__backend *backend = program->device->backend;
    qb__binary binary = {0};
    qb_status status = QB_INTERNAL;
    if (qb__cache_read(program->key, &binary)) {
        qb__binary again = {0};
        if (program->device->info.is_cpu) /* the driver has its own cache */
            status = backend->build(program, text, macros, &again);
        else
            status = backend->load(program, &binary);
        QB__FREE(again.bytes, binary.bytes);
        binary = (qb__binary){0};
        if (status == QB_OK || program->device->lost) return status;
        qb__cache_remove(program->key);
    }
    status = build(program, text, macros, &binary);
    if (status == QB_OK && qb__cache_write(program->key, &binary)) count_kept(program->device);
    qb__free(binary.bytes);
    return status;
}

/* A note is a cache entry of one byte. */
static void note_key(const qb__device *device, const char *what, uint64_t key[2]) {
    make_key(device, "all programs", (const char *const[]){what, NULL}, key);
}

bool qb__programs_noted(const qb__device *device, const char *what) {
    uint64_t key[2];
    qb__binary note = {0};
    note_key(device, what, key);
    const bool found = qb__cache_read(key, &note);
    qb__free(note.bytes);
    return found;
}

void qb__programs_note(const qb__device *device, const char *what) {
    uint64_t key[2];
    char byte = 1;
    if (qb__programs_noted(device, what)) return;
    note_key(device, what, key);
    qb__cache_write(key, &(qb__binary){.bytes = &byte, .count = 1});
}

static void destroy(qb__program *program) {
    const qb__backend *backend = program->device->backend;
    while (program->kernels) {
        qb__kernel *kernel = program->kernels;
        program->kernels = kernel->next;
        backend->kernel_release(kernel);
        pthread_mutex_destroy(&kernel->lock);
        qb__free(kernel);
    }
    if (program->native) backend->unload(program);
    pthread_mutex_destroy(&program->lock);
    qb__free(program);
}

static qb_status make(qb__device *device, const char *source, const char *text, const char *const *macros,
                      const uint64_t key[2], qb__program **program) {
    QB__OR_RETURN(qb__alloc(1, sizeof **program, program));
    qb__program *p = *program;
    p->device = device;
    p->references = 1;
    memcpy(p->key, key, sizeof p->key);
    snprintf(p->name, sizeof p->name, "%s", source);
    pthread_mutex_init(&p->lock, NULL);
    const qb_status status = load_or_build(p, text, macros);
    if (status != QB_OK) {
        destroy(p);
        *program = NULL;
    }
    return status;
}

/* For work on kernels: the given macros, followed by QB_KERNEL_MACROS=NAME=VALUE,... Release both. */
static qb_status add_macros(const char *const *macros, char **own, const char ***all) {
    const char *more = getenv("QB_KERNEL_MACROS");
    size_t n = 0, count = 2;
    while (macros && macros[n]) n++;
    for (const char *c = more; c && *c; c++) count += *c == ',';
    QB__OR_RETURN(qb__alloc(n + count, sizeof **all, all));
    for (size_t i = 0; i < n; i++) (*all)[i] = macros[i];
    if (!more || !*more) return QB_OK;
    *own = qb__strdup(more);
    if (!*own) return qb__fail(QB_NO_MEMORY, "QB_KERNEL_MACROS");
    for (char *save, *word = strtok_r(*own, ",", &save); word; word = strtok_r(NULL, ",", &save)) (*all)[n++] = word;
    return QB_OK;
}

/* Compiling takes seconds and happens outside the lock; a second thread uses the program of the first. */
qb_status qb__program_build(qb__device *device, const char *source, const char *const *given, qb__program **program) {
    const char **macros = NULL;
    char *text = NULL, *own = NULL;
    uint64_t key[2];
    qb__program *made = NULL;
    qb_status status;
    *program = NULL;
    QB__TRY(qb__device_check(device));
    QB__TRY(add_macros(given, &own, &macros));
    QB__TRY(check_macros(macros));
    QB__TRY(qb__kernel_source_text(source, &text));
    make_key(device, text, macros, key);
    pthread_mutex_lock(&device->lock);
    *program = share(device, key);
    pthread_mutex_unlock(&device->lock);
    if (*program) goto out;
    QB__TRY(make(device, source, text, macros, key, &made));
    pthread_mutex_lock(&device->lock);
    *program = share(device, key);
    if (!*program) {
        made->next = device->made.programs;
        device->made.programs = *program = made;
        made = NULL;
    }
    pthread_mutex_unlock(&device->lock);
    if (made) destroy(made);
out:
    QB__FREE(text, own, macros);
    return status;
}

void qb__program_release(qb__program *program) {
    if (!program) return;
    qb__device *device = program->device;
    pthread_mutex_lock(&device->lock);
    bool last = --program->references == 0;
    if (last) {
        qb__program **slot = &device->made.programs;
        while (*slot != program) slot = &(*slot)->next;
        *slot = program->next;
    }
    pthread_mutex_unlock(&device->lock);
    if (last) destroy(program);
}

static qb_status make_kernel(qb__program *program, const char *name, qb__kernel **kernel) {
    if (strlen(name) >= sizeof(*kernel)->name) {
        return qb__fail(QB_BAD_ARGUMENT, "%s: the kernel name %s is too long", program->name, name);
    }
    qb__kernel *made;
    QB__OR_RETURN(qb__alloc(1, sizeof *made, &made));
    made->program = program;
    strcpy(made->name, name);
    const qb_status status = program->device->backend->kernel_get(made);
    if (status != QB_OK) {
        qb__free(made);
        return status;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->next = program->kernels;
    program->kernels = *kernel = made;
    return QB_OK;
}

qb_status qb__kernel_get(qb__program *program, const char *name, qb__kernel **kernel) {
    *kernel = NULL;
    qb_status status = qb__device_check(program->device);
    if (status != QB_OK) return status;
    pthread_mutex_lock(&program->lock);
    for (qb__kernel *k = program->kernels; k && !*kernel; k = k->next) {
        if (!strcmp(k->name, name)) *kernel = k;
    }
    if (!*kernel) status = make_kernel(program, name, kernel);
    pthread_mutex_unlock(&program->lock);
    return status;
}

qb_status qb__kernel_launch(qb__kernel *kernel, qb__queue *queue, const size_t groups[3], const size_t group[3],
                            const qb__arg *args, size_t count) {
    qb__device *device = queue->device;
    QB__OR_RETURN(qb__device_check(device));
    size_t items = group[0] * group[1] * group[2];
    if (!items || items > device->info.group_size) {
        return qb__fail(QB_BAD_ARGUMENT, "%s: a group of %zu x %zu x %zu items; %s takes 1 to %zu", kernel->name,
                        group[0], group[1], group[2], device->info.spec, device->info.group_size);
    }
    if (!groups[0] || !groups[1] || !groups[2]) return QB_OK; /* empty launch */
    return device->backend->kernel_launch(kernel, queue, groups, group, args, count);
}
