/* SPDX-License-Identifier: MIT */
#include "ops/project.h"

#include <string.h>

#include "base/memory.h"

enum {
    VIEWS = 16,   /* views of a forward task */
    COLUMNS = 64, /* columns of a forward task */
    PLANES = 32,  /* planes of a copy that are crossed at a time; side of a tile */
    PITCH = 48    /* pitch of a tile's lines: 32, plus the overhang of vector stores */
};

static float share_of(const qb__flat_rays *rays, size_t row, size_t slice) {
    return (float)qb__flat_share(rays, row, slice);
}

/* ---- forward ---- */

static size_t pitch_of(size_t places) { return (places + 2 * QB__FLAT_MARGIN + 15) / 16 * 16; }

/* A copy for rays of one main axis: planes along it, positions along the other axis. */
static size_t copy_floats(const qb_grid *grid, int axis) { return grid->n[axis] * pitch_of(grid->n[1 - axis]); }

size_t qb__flat_floats(const qb_grid *grid) { return grid->n[2] * (copy_floats(grid, 0) + copy_floats(grid, 1)); }

static qb__flat_image image_of(const qb__flat_work *w, size_t slice, int axis) {
    const qb_grid *grid = w->grid;
    const float *copy = w->copy + slice * (copy_floats(grid, 0) + copy_floats(grid, 1));
    return (qb__flat_image){copy + (axis ? copy_floats(grid, 0) : 0) + QB__FLAT_MARGIN, pitch_of(grid->n[1 - axis]),
                            grid->n[axis], grid->n[1 - axis]};
}

typedef struct forward {
    const qb__flat_work *work;
    const float *volume;
    size_t bands; /* bands of PLANES lines in a slice */
} forward;

static void copy_band(void *context, size_t task, int worker) {
    const forward *f = context;
    const size_t *n = f->work->grid->n, slice = task / f->bands, y0 = task % f->bands * PLANES;
    const size_t y1 = qb__smaller(y0 + PLANES, n[1]);
    const qb__flat_image lines = image_of(f->work, slice, 1), turned = image_of(f->work, slice, 0);
    const float *from = f->volume + slice * n[1] * n[0];
    (void)worker;
    for (size_t y = y0; y < y1; y++)
        memcpy((float *)lines.voxel + y * lines.pitch, from + y * n[0], n[0] * sizeof(float));
    for (size_t x = 0; x < n[0]; x++)
        for (size_t y = y0; y < y1; y++) ((float *)turned.voxel)[x * turned.pitch + y] = from[y * n[0] + x];
}

/* Columns c0 <= c < c1 of one view through planes k0 <= k < k0 + PLANES of either main axis. */
static void cross_planes(const qb__flat_work *w, size_t view, size_t c0, size_t c1, size_t k0) {
    const qb__flat_rays *rays = &w->rays[view];
    const size_t rows = w->geometry->rows, columns = w->geometry->columns;
    for (size_t c = c0, end; c < c1; c = end) {
        int axis;
        end = qb__flat_run(&rays->view, c, c1, &axis);
        if (k0 >= w->grid->n[axis]) continue;
        const size_t planes = qb__smaller(PLANES, w->grid->n[axis] - k0);
        for (size_t slice = 0; slice < w->grid->n[2]; slice++) {
            const qb__flat_image image = image_of(w, slice, axis);
            for (size_t row = 0; row < rows; row++) {
                const float share = share_of(rays, row, slice);
                float *sums = w->lines + ((view - w->view0) * rows + row) * columns + c;
                if (share > 0) w->variant->flat_forward(&image, &rays->view, axis, c, end - c, k0, planes, share, sums);
            }
        }
    }
}

static void forward_task(void *context, size_t task, int worker) {
    const qb__flat_work *w = ((const forward *)context)->work;
    const size_t columns = w->geometry->columns, blocks = qb__ceil_div(columns, COLUMNS);
    const size_t c0 = task % blocks * COLUMNS, c1 = qb__smaller(c0 + COLUMNS, columns);
    const size_t first = w->view0 + task / blocks * VIEWS, end = qb__smaller(first + VIEWS, w->view1);
    const size_t planes = qb__larger(w->grid->n[0], w->grid->n[1]);
    (void)worker;
    for (size_t k0 = 0; k0 < planes; k0 += PLANES)
        for (size_t view = first; view < end; view++) cross_planes(w, view, c0, c1, k0);
}

void qb__flat_add(const qb__flat_work *work, const float *volume, qb__pool *pool) {
    forward f = {work, volume, qb__ceil_div(work->grid->n[1], PLANES)};
    qb__pool_for(pool, f.bands * work->grid->n[2], copy_band, &f);
    const size_t blocks = qb__ceil_div(work->geometry->columns, COLUMNS);
    qb__pool_for(pool, blocks * qb__ceil_div(work->view1 - work->view0, VIEWS), forward_task, &f);
}

/* ---- adjoint ---- */

size_t qb__flat_scratch_bytes(const qb__flat_work *work) {
    return 2 * PLANES * PITCH * sizeof(float) + work->variant->flat_scratch_bytes(work->geometry->columns);
}

/* One slice of a box of voxels, in the layout for rays of the main axis `axis`. */
typedef struct tile {
    float *data[2]; /* one per axis; only that of `axis` holds the values */
    const size_t *at, *n;
    int axis;
} tile;

static void turn_to(tile *t, int axis) {
    if (t->axis == axis) return;
    const float *from = t->data[t->axis];
    float *to = t->data[axis];
    for (size_t i = 0; i < t->n[axis]; i++)
        for (size_t j = 0; j < t->n[1 - axis]; j++) to[i * PITCH + j] = from[j * PITCH + i];
    t->axis = axis;
}

static void add_view(const qb__flat_work *w, tile *t, size_t view, qb__flat_columns seen, size_t row, float share,
                     void *scratch) {
    const qb__flat_rays *rays = &w->rays[view];
    const float *values = w->lines + ((view - w->view0) * w->geometry->rows + row) * w->geometry->columns;
    for (size_t c = seen.c0, end; c < seen.c1; c = end) {
        int axis;
        end = qb__flat_run(&rays->view, c, seen.c1, &axis);
        turn_to(t, axis);
        const qb__flat_tile part = {t->data[axis], PITCH, t->at[axis], t->n[axis], t->at[1 - axis], t->n[1 - axis]};
        w->variant->flat_adjoint(&part, &rays->view, axis, c, end - c, values + c, share, scratch);
    }
}

/* Copy between the volume and the lines along x of a tile. */
static void copy_tile(const qb__flat_work *w, const tile *t, float *slice, bool back) {
    for (size_t y = 0; y < t->n[1]; y++) {
        float *line = slice + (t->at[1] + y) * w->grid->n[0] + t->at[0], *own = t->data[1] + y * PITCH;
        memcpy(back ? line : own, back ? own : line, t->n[0] * sizeof *line);
    }
}

void qb__flat_back(const qb__flat_work *w, const size_t at[3], const size_t n[3],
                   qb__flat_columns (*window)(const void *context, size_t view), const void *context, float *volume,
                   void *scratch) {
    float *data = scratch;
    for (size_t z = at[2]; z < at[2] + n[2]; z++) {
        tile t = {.data = {data, data + PLANES * PITCH}, .at = at, .n = n, .axis = 1};
        float *slice = volume + z * w->grid->n[0] * w->grid->n[1];
        copy_tile(w, &t, slice, false);
        for (size_t view = w->view0; view < w->view1; view++) {
            const qb__flat_columns seen = window(context, view);
            for (size_t row = 0; row < w->geometry->rows && seen.c0 < seen.c1; row++) {
                const float share = share_of(&w->rays[view], row, z);
                if (share > 0) add_view(w, &t, view, seen, row, share, data + 2 * PLANES * PITCH);
            }
        }
        turn_to(&t, 1);
        copy_tile(w, &t, slice, true);
    }
}
