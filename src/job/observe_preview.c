/* SPDX-License-Identifier: MIT */
/* --preview: a picture of the middle image. */
#include <string.h>

#include "base/memory.h"
#include "io/writer.h"
#include "job/observer.h"

typedef struct preview {
    const char *path;
    const size_t *shape;
    float *image;
} preview;

static bool wanted(const qb_output_options *options) {
    return options->preview != NULL;
}

static size_t bytes(const size_t shape[3]) {
    return shape[1] * shape[2] * sizeof(float);
}

static void release(void *own) {
    preview *p = own;
    if (p) qb__free(p->image);
    qb__free(p);
}

static qb_status prepare(const qb_output_options *options, const qb_stack *stack, void **own) {
    preview *p;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    *own = p;
    p->path = options->preview;
    p->shape = stack->shape;
    return qb__alloc(stack->shape[1] * stack->shape[2], sizeof *p->image, &p->image);
}

static void image(void *own, size_t number, const float *from) {
    const preview *p = own;
    if (number == p->shape[0] / 2) memcpy(p->image, from, bytes(p->shape));
}

static qb_status publish(void *own, qb__publication *set) {
    const preview *p = own;
    return qb__preview_write(set, p->path, p->image, p->shape[2], p->shape[1], 0, 0);
}

const qb__observer qb__observe_preview = {.wanted = wanted,
                                          .bytes = bytes,
                                          .open = prepare,
                                          .image = image,
                                          .publish = publish,
                                          .close = release};
