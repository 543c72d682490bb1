/* SPDX-License-Identifier: MIT */
#include "io/plain/source.h"

#include "quickbeam/geometry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"

qb_status qb__source_create(size_t bytes, const char *format, const char *path, void *out) {
    qb__source *source;
    qb_status status = qb__alloc(1, bytes, &source);
    *(void **)out = NULL;
    if (status != QB_OK) return status;
    source->format = format;
    source->path = qb__strdup(path);
    if (!source->path) {
        qb__free(source);
        return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    }
    for (int i = 0; i < 3; i++) source->chunk[i] = 1;
    source->threads = qb__share_threads();
    *(void **)out = source;
    return QB_OK;
}

void qb__source_close(qb__source *source) {
    if (!source) return;
    if (source->release) source->release(source);
    QB__FREE(source->holes, source->path, source);
}

qb_status qb__source_give(qb_status status, qb__source *made, qb__source **source) {
    *source = status == QB_OK ? made : NULL;
    if (status != QB_OK) qb__source_close(made);
    return status;
}

qb_status qb__source_check_holes(const qb__source *source, const size_t *index, size_t first, size_t count,
                                 size_t step) {
    size_t holes = 0, at = 0;
    for (size_t i = count; source->holes && i-- > 0;) {
        const size_t image = index ? index[first + i * step] : first + i * step;
        if (source->holes[image]) holes++, at = image;
    }
    if (!holes) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s: %zu of %zu images have no source (or 0 bytes), the first is image %zu: add their files, or "
                    "leave them out by --views or --exclude",
                    source->path, holes, count, at);
}

void qb__source_tell(qb__source *source, const char *format, ...) {
    char text[sizeof source->files], before[sizeof source->files];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    snprintf(before, sizeof before, "%s", source->files);
    qb__print(source->files, sizeof source->files, "%s%s%s", text, *before ? "; " : "", before);
}

void qb__source_is_volume(qb__source *source) {
    if (!*source->quantity) snprintf(source->quantity, sizeof source->quantity, "volume");
}

bool qb__volume_stated(const char *quantity) {
    return strcmp(quantity, "attenuation") == 0 || strcmp(quantity, "Hounsfield") == 0 ||
           strcmp(quantity, "volume") == 0;
}

size_t qb__source_row_bytes(const qb__source *source) { return source->shape[2] * qb_dtype_size(source->dtype); }

void qb__source_limit(qb__source *source, const qb_env *env) {
    const size_t ample = (size_t)256 << 20, cpus = env && env->threads > 0 ? (size_t)env->threads : SIZE_MAX;
    /* With a small cap only one thread reads, so that the memory that a message then names as needed is enough. */
    const size_t cap = env && env->max_ram ? env->max_ram : SIZE_MAX;
    const size_t room = cap < (size_t)64 << 20 ? 0 : cap / 16;
    source->threads = qb__smaller(source->threads, cpus);
    if (source->cache_each)
        source->threads = qb__smaller(source->threads, qb__smaller(room, ample) / source->cache_each);
    if (!source->threads) source->threads = 1;
}

size_t qb__source_held(const qb__source *source) {
    enum { THREAD = 48 << 10 }; /* bytes of a helper thread's stack that are used */
    const size_t helpers = source->threads ? source->threads - 1 : 0;
    return source->cache + source->threads * source->cache_each + helpers * THREAD;
}

size_t qb__pieces(size_t threads, size_t bytes, size_t least) {
    enum { EACH = 4 };
    return threads < 2 ? 1 : qb__larger(qb__smaller(threads * EACH, bytes / least), 1);
}

void qb__frames_release(qb__frames *frames) {
    qb__source_close(frames->source);
    qb__free(frames->index);
    *frames = (qb__frames){0};
}

/* Number of entries of the list, from `at` on and `step` apart, that are evenly spaced in the file. */
static size_t even_run(const qb__frames *frames, size_t at, size_t step, size_t left, size_t *spacing) {
    const size_t *index = frames->index;
    *spacing = 1;
    if (left < 2 || index[at + step] <= index[at]) return 1;
    *spacing = index[at + step] - index[at];
    size_t n = 2;
    while (n < left && index[at + n * step] == index[at] + n * *spacing) n++;
    return n;
}

qb_status qb__frames_read(const qb__frames *frames, const qb__region *region, void *out) {
    qb__source *source = frames->source;
    if (!frames->index) return source->read(source, region, out);
    size_t image = (region->row1 - region->row0) * qb__source_row_bytes(source);
    char *to = out;
    for (size_t done = 0; done < region->count;) {
        size_t at = region->first + done * region->step, spacing;
        size_t n = even_run(frames, at, region->step, region->count - done, &spacing);
        qb__region part = {frames->index[at], n, spacing, region->row0, region->row1};
        QB__OR_RETURN(source->read(source, &part, to));
        to += n * image;
        done += n;
    }
    return QB_OK;
}

static bool widen(qb__notes *notes) {
    const size_t room = notes->room * 2 + 8;
    char **text = NULL;
    qb_problem *kind = NULL;
    if (qb__alloc(room, sizeof *text, &text) != QB_OK || qb__alloc(room, sizeof *kind, &kind) != QB_OK) {
        qb__free(text);
        return false;
    }
    if (notes->count) {
        memcpy(text, notes->text, notes->count * sizeof *text);
        memcpy(kind, notes->kind, notes->count * sizeof *kind);
    }
    QB__FREE(notes->text, notes->kind);
    *notes = (qb__notes){text, kind, notes->count, room, notes->lost};
    return true;
}

void qb__note_of(qb__notes *notes, qb_problem kind, const char *format, ...) {
    char line[1100];
    va_list args;
    va_start(args, format);
    qb__say(line, sizeof line, format, args);
    va_end(args);
    char *copy = notes->count < notes->room || widen(notes) ? qb__strdup(line) : NULL;
    if (!copy) {
        notes->lost = true;
        return;
    }
    notes->kind[notes->count] = kind;
    notes->text[notes->count++] = copy;
}

void qb__notes_release(qb__notes *notes) {
    for (size_t i = 0; i < notes->count; i++) qb__free(notes->text[i]);
    QB__FREE(notes->text, notes->kind);
    *notes = (qb__notes){0};
}

void qb__scan_parts_release(qb__scan_parts *parts) {
    qb__frames_release(&parts->data);
    qb__frames_release(&parts->flats);
    qb__frames_release(&parts->darks);
    QB__FREE(parts->mask.marks, parts->angles, parts->intensity, parts->flat_intensity, parts->flat_views,
             parts->shifts);
    for (size_t i = 0; i < sizeof parts->motion / sizeof *parts->motion; i++) qb__free(parts->motion[i].position);
    qb__free(parts->placed);
    qb__notes_release(&parts->notes);
    *parts = (qb__scan_parts){0};
}

qb_beam qb__beam_named(const char *name) {
    qb_beam beam = QB_BEAM_CONE;
    while (beam > QB_BEAM_UNKNOWN && strcmp(name, qb_beam_name(beam)) != 0) beam--;
    return beam;
}

qb_quantity qb__quantity_named(const char *name) {
    qb_quantity quantity = QB_LINE_INTEGRAL;
    while (quantity > QB_QUANTITY_AUTO && strcmp(name, qb_quantity_name(quantity)) != 0) quantity--;
    return quantity;
}

size_t qb__layer_turn(size_t piece, size_t layers, size_t chunks, size_t threads, size_t *chunk) {
    const size_t first = piece / (threads * chunks) * threads, count = qb__smaller(threads, layers - first);
    *chunk = (piece - first * chunks) / count;
    return first + (piece - first * chunks) % count;
}
