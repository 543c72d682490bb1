/* SPDX-License-Identifier: MIT */
/* Projections from and to the caller's arrays, in any memory. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/tensor/tensor_stack.h"
#include "ops/project.h"

/* An array as images of floats. */
typedef struct side {
    const char *what;
    const qb_tensor *given;
    size_t shape[3]; /* shape of one member */
    size_t members;  /* members of a batch */
    qb_tensor all;   /* the batch, with its images one behind the other */
    qb__missing missing;
    qb__tensor tensor;
    qb__source *source;
    float *copy; /* NULL = the array is used in place */
    qb__images images;
} side;

/* Turn an array of four dimensions into one of three. */
static qb_status take_batch(side *s) {
    const qb_tensor *t = s->given;
    s->members = 1;
    if (!t || t->ndim != 4 || t->shape[0] < 2 || t->shape[1] < 1) return QB_OK;
    const bool dense = !t->strides[0] && !t->strides[1] && !t->strides[2] && !t->strides[3];
    int64_t images, apart;
    if (__builtin_mul_overflow(t->shape[0], t->shape[1], &images) ||
        __builtin_mul_overflow(t->shape[1], t->strides[1], &apart))
        return qb__fail(QB_BAD_ARGUMENT, "%s: its shape and strides reach beyond what can be addressed", s->what);
    if (!dense && t->shape[1] > 1 && t->strides[0] != apart)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s: members of a batch must lie one behind the other, %lld elements apart, not %lld", s->what,
                        (long long)apart, (long long)t->strides[0]);
    s->members = (size_t)t->shape[0];
    s->all = *t;
    s->all.ndim = 3;
    s->all.shape[0] = images;
    s->all.strides[0] = t->shape[1] > 1 ? t->strides[1] : t->strides[0];
    for (int i = 1; i < 3; i++) s->all.shape[i] = t->shape[i + 1], s->all.strides[i] = t->strides[i + 1];
    s->given = &s->all;
    return QB_OK;
}

static qb_status check_side(side *s, bool written) {
    const size_t *has = s->tensor.shape;
    size_t *want = s->shape;
    qb_status status = take_batch(s);
    if (status == QB_OK) status = qb__tensor_look(s->given, s->what, s->missing, &s->tensor);
    if (status != QB_OK) return status;
    if (s->given->dtype != QB_F32)
        return qb__fail(QB_BAD_ARGUMENT, "%s is of %s: convert it to float32", s->what, qb_dtype_name(s->given->dtype));
    if (has[0] != s->members * want[0] || has[1] != want[1] || has[2] != want[2])
        return qb__fail(QB_BAD_ARGUMENT, "%s has %zu x %zu x %zu elements, not %zu x %zu x %zu", s->what,
                        has[0] / s->members, has[1], has[2], want[0], want[1], want[2]);
    want[0] *= s->members;
    return written ? qb__tensor_check_sink(&s->tensor, s->what) : QB_OK;
}

static qb_status open_side(side *s, const qb_projector *p) {
    qb_status status = qb__tensor_open(s->given, s->what, s->missing, &s->source);
    if (status != QB_OK) return status;
    qb__tensor_device *array = qb__tensor_device_of(s->source);
    if (array && p->on_device && qb__tensor_device_is(array, p->pick.device)) {
        s->images.array = array;
        return QB_OK;
    }
    float *host = s->given->data;
    if (array || !qb__tensor_is_dense(&s->tensor)) {
        status = qb__alloc(s->shape[0], s->shape[1] * s->shape[2] * sizeof *host, &s->copy);
        host = s->copy;
    }
    s->images = (qb__images){.from = host, .to = host};
    return status;
}

static void close_side(side *s) {
    qb__source_close(s->source);
    qb__free(s->copy);
}

static qb_status fetch(side *s) {
    const qb__region all = {0, s->shape[0], 1, 0, s->shape[1]};
    return s->copy ? s->source->read(s->source, &all, s->copy) : QB_OK;
}

/* What was written into an array stays there, also if its writer ends with a failure. */
static qb_status store(side *s) {
    const qb_stack stack = {.shape = {s->shape[0], s->shape[1], s->shape[2]}, .dtype = QB_F32};
    qb_writer *writer;
    if (!s->copy) return QB_OK;
    QB__OR_RETURN(qb__tensor_create(s->given, &stack, &writer));
    const qb_status status = qb_writer_write(writer, 0, s->shape[0], s->copy);
    qb_writer_abort(writer);
    return status;
}

/* The arrays of a projection: the input, and the result, which may be read as well. */
typedef struct sides {
    side from, to;
} sides;

static qb_status open_sides(sides *s, const qb_projector *p, bool read_both) {
    QB__OR_RETURN(check_side(&s->from, false));
    QB__OR_RETURN(check_side(&s->to, true));
    if (s->from.members != s->to.members)
        return qb__fail(QB_BAD_ARGUMENT, "%s is a batch of %zu, and %s of %zu", s->from.what, s->from.members,
                        s->to.what, s->to.members);
    if (qb__tensors_meet(&s->from.tensor, &s->to.tensor))
        return qb__fail(QB_BAD_ARGUMENT, "%s overlaps %s", s->to.what, s->from.what);
    QB__OR_RETURN(open_side(&s->from, p));
    QB__OR_RETURN(open_side(&s->to, p));
    QB__OR_RETURN(fetch(&s->from));
    if (read_both) QB__OR_RETURN(fetch(&s->to));
    return QB_OK;
}

static qb_status close_sides(sides *s, qb_status status) {
    if (status == QB_OK) status = store(&s->to);
    close_side(&s->from);
    close_side(&s->to);
    return status;
}

static side volume_of(const qb_projector *p, const qb_tensor *given) {
    return (side){.what = "the volume", .given = given, .shape = {p->grid.n[2], p->grid.n[1], p->grid.n[0]}};
}

static side projections_of(const qb_projector *p, const qb_tensor *given, size_t views) {
    const size_t rows = p->geometry.rows;
    return (side){.what = "the array of projections",
                  .given = given,
                  .shape = {views, rows, p->geometry.columns},
                  .missing = rows == 1 ? QB__MISSING_ROW : QB__MISSING_IMAGE};
}

qb_status qb_projector_forward_tensor(qb_projector *p, const qb_tensor *volume, size_t first, size_t end,
                                      const qb_env *env, const qb_tensor *projections) {
    QB__NEED(p);
    QB__OR_RETURN(qb__project_enter(p, first, end, env));
    sides s = {volume_of(p, volume), projections_of(p, projections, end - first)};
    qb_status status = open_sides(&s, p, false);
    if (status == QB_OK) status = qb__project_forward(p, s.from.members, &s.from.images, first, end, env, &s.to.images);
    return qb__project_leave(p, close_sides(&s, status));
}

qb_status qb_projector_adjoint_tensor(qb_projector *p, const qb_tensor *projections, size_t first, size_t end,
                                      bool accumulate, const qb_env *env, const qb_tensor *volume) {
    QB__NEED(p);
    QB__OR_RETURN(qb__project_enter(p, first, end, env));
    sides s = {projections_of(p, projections, end - first), volume_of(p, volume)};
    qb_status status = open_sides(&s, p, accumulate);
    if (status == QB_OK)
        status = qb__project_adjoint(p, s.from.members, &s.from.images, first, end, accumulate, env, &s.to.images);
    return qb__project_leave(p, close_sides(&s, status));
}
