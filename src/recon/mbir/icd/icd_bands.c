/* SPDX-License-Identifier: MIT */
/* Few slices on the CPU: SuperVoxels, and the widths of their bands. */
#include "recon/mbir/icd/icd_bands.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

enum { SIDE = QB__ICD_SIDE, FEW = 8, APART = 48, PADDING = 16 };

bool qb__icd_stack_slicewise(const qb__icd_settings *settings, size_t slices) {
    return slices <= FEW && (slices == 1 || !(settings->prior.interslice > 0));
}

/* ---- SuperVoxels ---- */

/* Voxels in alternating directions, so that each is a neighbour of the one before. */
static void list_supervoxel(qb__icd_slicewise *s, size_t x0, size_t y0) {
    const size_t nx = s->problem.nx, ny = s->problem.ny, first = s->pixel_count;
    for (size_t iy = y0; iy < qb__smaller(y0 + SIDE, ny); iy++) {
        for (size_t i = 0; i < SIDE; i++) {
            const size_t ix = x0 + ((iy - y0) % 2 ? SIDE - 1 - i : i);
            const size_t pixel = (iy + 1) * (nx + 2) + ix + 1;
            if (ix < nx && s->inside[pixel]) s->pixels[s->pixel_count++] = (uint32_t)pixel;
        }
    }
    if (s->pixel_count == first) return;
    s->supervoxel[s->count++] = (qb__icd_supervoxel){.first = first,
                                                     .count = s->pixel_count - first,
                                                     .x = (double)x0 + (SIDE - 1) / 2.0,
                                                     .y = (double)y0 + (SIDE - 1) / 2.0,
                                                     .colour = (int)(x0 / SIDE % 2 + y0 / SIDE % 2 * 2)};
}

static size_t supervoxels_of(size_t nx, size_t ny) { return qb__ceil_div(nx, SIDE) * qb__ceil_div(ny, SIDE); }

size_t qb__icd_slicewise_at_once(size_t nx, size_t ny) {
    return qb__smaller(QB__ICD_AT_ONCE, qb__larger(1, supervoxels_of(nx, ny) / APART));
}

static qb_status list_pixels(qb__icd_slicewise *s) {
    const size_t nx = s->problem.nx, ny = s->problem.ny, most = supervoxels_of(nx, ny);
    qb_status status;
    QB__TRY(qb__alloc((nx + 2) * (ny + 2), 1, &s->inside));
    QB__TRY(qb__alloc(nx * ny, sizeof *s->pixels, &s->pixels));
    QB__TRY(qb__alloc(most, sizeof *s->supervoxel, &s->supervoxel));
    QB__TRY(qb__alloc(most, sizeof *s->order, &s->order));
    QB__TRY(qb__alloc(most, sizeof *s->ranked, &s->ranked));
    qb__icd_inside(nx, ny, s->settings.radius, s->inside);
    for (size_t y0 = 0; y0 < ny; y0 += SIDE)
        for (size_t x0 = 0; x0 < nx; x0 += SIDE) list_supervoxel(s, x0, y0);
    s->problem.inside = s->inside;
    s->batch = qb__icd_slicewise_at_once(nx, ny);
out:
    return status;
}

/* ---- bands ---- */

static size_t taps_of(const qb__system_matrix *m) { return qb__round_up(m->footprints.taps, 4); }

/* All entries of a voxel anywhere in a SuperVoxel, whose centre is up to one column away from the band's. */
static size_t width_of(const qb__system_matrix *m) {
    const qb__footprints *f = &m->footprints;
    double reach = m->footprints.steepest * (SIDE - 1) / 2 + fmax(m->footprints.steepest / 2, (double)taps_of(m)) + 2;
    for (size_t v = 0; !f->wx && v < f->views; v++) {
        const double corner = (fabs(f->ax[v]) + fabs(f->ay[v])) * (SIDE - 1) / 2, half = (double)f->half[v];
        reach = fmax(reach, corner + fmax(half, (double)taps_of(m) - half) + 2);
    }
    return qb__round_up(2 * (size_t)ceil(reach), 4);
}

static size_t row_of(const qb__system_matrix *m) {
    return qb__round_up(m->footprints.columns + 2 * width_of(m), PADDING);
}

static qb_status shape_bands(qb__icd_slicewise *s) {
    const qb__footprints *f = &s->matrix->footprints;
    const size_t stride = f->stride;
    s->bands = (qb__icd_bands){.footprints = f, .width = width_of(s->matrix), .taps = taps_of(s->matrix)};
    s->row = row_of(s->matrix);
    if (f->wx) return QB_OK;
    qb_status status = qb__alloc(4 * stride, sizeof *s->shapes, &s->shapes);
    if (status != QB_OK) return status;
    float *ax = s->shapes, *ay = ax + stride, *rise = ay + stride, *curvature = rise + stride;
    for (size_t v = 0; v < stride; v++) {
        ax[v] = (float)f->ax[v];
        ay[v] = (float)f->ay[v];
        rise[v] = f->rise[v] * f->area;
        curvature[v] = f->curvature[v] * f->area;
    }
    s->bands.ax = ax, s->bands.ay = ay;
    s->bands.rise = rise, s->bands.curvature = curvature;
    return QB_OK;
}

/* ---- memory ---- */

static size_t image_floats(const qb__system_matrix *m) { return qb__round_up((m->nx + 2) * (m->ny + 2), PADDING); }

static size_t slice_floats(const qb__system_matrix *m, const qb__icd_settings *settings) {
    return 2 * m->footprints.views * row_of(m) + (settings->pull > 0 ? 3 : 2) * image_floats(m);
}

static size_t band_floats(const qb__system_matrix *m) { return m->footprints.stride * width_of(m); }

/* start and at of a slot and, for a fan, ax to wy. */
static size_t slot_rows(const qb__system_matrix *m) { return m->footprints.wx ? 6 : 2; }

size_t qb__icd_slicewise_bytes(const qb__system_matrix *m, const qb__icd_settings *settings, size_t slices,
                               int threads) {
    const qb__icd_bands bands = {.footprints = &m->footprints, .width = width_of(m), .taps = taps_of(m)};
    const size_t most = supervoxels_of(m->nx, m->ny), batch = qb__icd_slicewise_at_once(m->nx, m->ny),
                 band = band_floats(m) * sizeof(float);
    return slices * (slice_floats(m, settings) * sizeof(float) + most * sizeof(double) + sizeof(qb__icd_single)) +
           (m->nx + 2) * (m->ny + 2) * (1 + sizeof(uint32_t)) +
           most * (sizeof(qb__icd_supervoxel) + sizeof(size_t) + sizeof(qb__icd_ranked) + sizeof(double)) +
           m->footprints.stride * (4 * sizeof(float) + sizeof(double)) + /* shapes, cost */
           batch * (band + slot_rows(m) * m->footprints.stride * sizeof(float) + sizeof(qb__icd_slot)) +
           (size_t)threads * (band + qb__icd_band_scratch_bytes(&bands));
}

static qb_status make_slots(qb__icd_slicewise *s) {
    const size_t stride = s->matrix->footprints.stride, band = band_floats(s->matrix),
                 slot = band + slot_rows(s->matrix) * stride;
    qb_status status;
    QB__TRY(qb__alloc(s->batch, sizeof *s->slot, &s->slot));
    QB__TRY(qb__alloc(s->batch * slot, sizeof(float), &s->slots));
    for (size_t i = 0; i < s->batch; i++) {
        float *at = s->slots + i * slot;
        s->slot[i] = (qb__icd_slot){.error = at, .at = at + band, .start = (int32_t *)(void *)(at + band + stride)};
        if (s->matrix->footprints.wx) s->slot[i].fan = at + band + 2 * stride;
    }
out:
    return status;
}

static qb_status make_slices(qb__icd_slicewise *s) {
    const size_t data = s->matrix->footprints.views * s->row, image = image_floats(s->matrix);
    qb_status status;
    QB__TRY(qb__alloc(s->slices, sizeof *s->single, &s->single));
    QB__TRY(qb__alloc(s->slices * slice_floats(s->matrix, &s->settings), sizeof(float), &s->block));
    for (size_t i = 0; i < s->slices; i++) {
        float *at = s->block + i * slice_floats(s->matrix, &s->settings), *images = at + 2 * data;
        s->single[i] =
            (qb__icd_single){.error = at, .weight = at + data, .image = {.x = images, .curve = images + image}};
        if (s->settings.pull > 0) s->single[i].image.toward = images + 2 * image;
        s->single[i].image.toward_b = (float)s->settings.pull;
        QB__TRY(qb__alloc(s->count, sizeof(double), &s->single[i].amount));
    }
out:
    return status;
}

static qb_status make_threads(qb__icd_slicewise *s) {
    const size_t threads = (size_t)qb__pool_threads(s->pool);
    qb_status status;
    QB__TRY(qb__alloc(threads, sizeof *s->weight, &s->weight));
    QB__TRY(qb__alloc(threads, sizeof *s->scratch, &s->scratch));
    for (size_t i = 0; i < threads; i++) {
        QB__TRY(qb__alloc(band_floats(s->matrix), sizeof(float), &s->weight[i]));
        QB__TRY(qb__alloc(qb__icd_band_scratch_bytes(&s->bands), 1, &s->scratch[i]));
    }
out:
    return status;
}

qb_status qb__icd_slicewise_create(const qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                   qb__pool *pool, qb__icd_stack **stack) {
    qb__icd_slicewise *s;
    *stack = NULL;
    qb_status status = qb__alloc(1, sizeof *s, &s);
    if (status != QB_OK) return status;
    *s = (qb__icd_slicewise){.settings = *settings,
                             .matrix = matrix,
                             .variant = matrix->variant,
                             .pool = pool,
                             .slices = slices,
                             .problem = {.footprints = matrix->footprints,
                                         .nx = matrix->nx,
                                         .ny = matrix->ny,
                                         .prior = settings->prior,
                                         .positive = settings->positive}};
    QB__TRY(list_pixels(s));
    QB__TRY(shape_bands(s));
    QB__TRY(make_slots(s));
    QB__TRY(make_slices(s));
    QB__TRY(make_threads(s));
    QB__TRY(qb__alloc(s->count + matrix->footprints.views, sizeof *s->cost, &s->cost));
    const qb__icd_shape shape = {.groups = slices, .voxels = s->pixel_count, .most = qb__icd_sweeps(settings->equits)};
    return qb__icd_stack_of(&qb__icd_slicewise_on_cpu, s, settings, &shape, stack); /* the stack owns it now */
out:
    qb__icd_slicewise_destroy(s);
    return status;
}

void qb__icd_slicewise_destroy(void *self) {
    qb__icd_slicewise *s = self;
    const int threads = qb__pool_threads(s->pool);
    for (int i = 0; s->weight && i < threads; i++) qb__free(s->weight[i]);
    for (int i = 0; s->scratch && i < threads; i++) qb__free(s->scratch[i]);
    for (size_t i = 0; s->single && i < s->slices; i++) qb__free(s->single[i].amount);
    qb__free(s->weight);
    qb__free(s->scratch);
    qb__free(s->single);
    qb__free(s->block);
    qb__free(s->slot);
    qb__free(s->slots);
    qb__free(s->shapes);
    qb__free(s->inside);
    qb__free(s->pixels);
    qb__free(s->supervoxel);
    qb__free(s->order);
    qb__free(s->ranked);
    qb__free(s->cost);
    qb__free(s);
}
