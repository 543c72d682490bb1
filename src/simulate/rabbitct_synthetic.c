/* SPDX-License-Identifier: MIT */
#include "simulate/rabbitct_synthetic.h"

#include <math.h>
#include <stdint.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/bp_cone/bp_cone.h"
#include "geometry/phantom.h"
#include "io/plain/rabbitct.h"
#include "ops/filter.h"

#define PI 3.14159265358979323846
#define RANGE (200 * PI / 180)
#define OVERSCAN (10 * PI / 180)
#define SOURCE_TO_AXIS 785.0
#define SOURCE_TO_DETECTOR 1200.0
#define WIDTH (1248 * 0.32) /* width of the detector in mm */
#define SKULL 0.04          /* attenuation in 1/mm of the phantom's value 1 */

static const float hu[2] = {50000, 0}; /* 0.02/mm is 1000 HU */
static const size_t reference_sizes[] = {128, 256, 512, 1024};
enum { REFERENCES = 4 };

typedef struct view_geometry {
    double angle, source[3], corner[3], u[3], v[3]; /* corner: pixel (0, 0) */
    double sod, sdd;
    double world[12]; /* column by column */
} view_geometry;

typedef struct work {
    const qb__rabbitct_synthetic *what;
    qb__phantom head;
    qb__ellipsoid bead[4];
    double pitch;
    view_geometry view;
    float *image;
    qb__filter *filter;
    char *scratch; /* scratch of the filter, one for each worker */
    size_t scratch_bytes;
    double *volume[REFERENCES];
    size_t size; /* size of the reference that reference_task computes */
    double *target;
    double matrix[12];
} work;

static void turn(double a[3], double b[3], double angle) {
    const double c = cos(angle), s = sin(angle);
    for (int i = 0; i < 3; i++) {
        double old = a[i];
        a[i] = c * old + s * b[i];
        b[i] = c * b[i] - s * old;
    }
}

/* `along` is the unit vector from the source to the detector's plane; u and v are unit vectors in the plane. */
static void set_matrix(view_geometry *g, const double along[3], const double u[3], const double v[3], double u0,
                       double v0, double pitch) {
    const double f = g->sdd / pitch;
    double row[3][4] = {{0}};
    for (int i = 0; i < 3; i++) {
        row[0][i] = (f * u[i] + u0 * along[i]) / g->sod;
        row[1][i] = (f * v[i] + v0 * along[i]) / g->sod;
        row[2][i] = along[i] / g->sod;
    }
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) row[r][3] -= row[r][i] * g->source[i];
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 4; i++) g->world[3 * i + r] = row[r][i];
}

static view_geometry view_of(const work *k, size_t n) {
    const qb__rabbitct_synthetic *w = k->what;
    const double t = ((double)n + 0.5) * RANGE / (double)w->views, c = cos(t), s = sin(t);
    view_geometry g = {.angle = t};
    g.sod = SOURCE_TO_AXIS * (1 + 1e-3 * sin(3 * t + 1));
    g.sdd = SOURCE_TO_DETECTOR * (1 + 1e-3 * sin(5 * t + 2));
    double along[3] = {-s, c, 0}, u[3] = {c, s, 0}, v[3] = {0, 0, 1};
    for (int i = 0; i < 3; i++) g.source[i] = -g.sod * along[i];
    turn(v, along, 2e-3 * sin(2 * t));
    turn(u, v, 2e-3 * cos(3 * t));
    const double u0 = ((double)w->columns - 1) / 2 + 0.8 * sin(4 * t) / k->pitch;
    const double v0 = ((double)w->rows - 1) / 2 + 0.8 * cos(2 * t) / k->pitch;
    for (int i = 0; i < 3; i++) {
        g.u[i] = k->pitch * u[i], g.v[i] = k->pitch * v[i];
        g.corner[i] = g.source[i] + g.sdd * along[i] - u0 * g.u[i] - v0 * g.v[i];
    }
    set_matrix(&g, along, u, v, u0, v0, k->pitch);
    return g;
}

/* Parker's weight: the weights of a ray seen at angle t and fan angle g, and again at t + pi - 2 g and -g, add up to
 * 1. */
static double parker(double t, double fan) {
    const double g = fmin(fmax(fan, -0.999 * OVERSCAN), 0.999 * OVERSCAN);
    double part = 2;
    if (t < 2 * (OVERSCAN + g)) part = t / (OVERSCAN + g);
    if (t > PI + 2 * g) part = (PI + 2 * OVERSCAN - t) / (OVERSCAN - g);
    const double root = sin(PI / 4 * fmin(fmax(part, 0), 2));
    return root * root;
}

static void row_task(void *context, size_t row, int worker) {
    work *k = context;
    const view_geometry *g = &k->view;
    const size_t columns = k->what->columns;
    const qb__phantom beads = {4, k->bead};
    const double middle = (double)(columns - 1) / 2;
    float *out = k->image + row * columns;
    for (size_t c = 0; c < columns; c++) {
        double direction[3], length2 = 0;
        for (int i = 0; i < 3; i++) {
            direction[i] = g->corner[i] + (double)c * g->u[i] + (double)row * g->v[i] - g->source[i];
            length2 += direction[i] * direction[i];
        }
        double line = qb__phantom_line(&k->head, g->source, direction) + qb__phantom_line(&beads, g->source, direction);
        double fan = atan(((double)c - middle) * k->pitch / g->sdd);
        out[c] = (float)(line * g->sdd / sqrt(length2) * parker(g->angle, fan));
    }
    const double step = RANGE / (double)k->what->views;
    qb__filter_rows(k->filter, out, 1, columns, (float)step, k->scratch + (size_t)worker * k->scratch_bytes);
}

/* One plane of a reference; one view. */
static void reference_task(void *context, size_t z, int worker) {
    (void)worker;
    work *k = context;
    const size_t n = k->size;
    const qb__bp_cone_problem problem = {.views = 1,
                                         .columns = k->what->columns,
                                         .rows = k->what->rows,
                                         .nx = n,
                                         .ny = n,
                                         .nz = n,
                                         .matrix = (const double(*)[12]) & k->matrix};
    double *plane = k->target + z * n * n;
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++)
            plane[y * n + x] += qb__bp_cone_reference(&problem, 0, k->image, k->what->columns, x, y, z);
}

static void add_references(work *k, qb__pool *pool) {
    for (int i = 0; i < REFERENCES && k->volume[i]; i++) {
        k->size = reference_sizes[i];
        k->target = k->volume[i];
        qb__rabbitct_matrix(k->view.world, k->size, k->matrix);
        qb__pool_for(pool, k->size, reference_task, k);
    }
}

static qb_status put_reference(const work *k, int i, qb__rabbitct_writer *writer) {
    const size_t n = reference_sizes[i];
    qb_status status = QB_OK;
    for (size_t line = 0; line < n * n && status == QB_OK; line++) {
        uint16_t values[1024];
        for (size_t x = 0; x < n; x++) values[x] = (uint16_t)fmax(0, qb__rabbitct_hu(hu, k->volume[i][line * n + x]));
        status = qb__rabbitct_writer_reference(writer, n, values, n);
    }
    return status;
}

static qb_status put_all(work *k, qb__rabbitct_writer *writer, qb__pool *pool, const qb_env *env) {
    const qb__rabbitct_synthetic *w = k->what;
    qb_status status = QB_OK;
    for (size_t v = 0; v < w->views && status == QB_OK; v++) {
        k->view = view_of(k, v);
        qb__pool_for(pool, w->rows, row_task, k);
        add_references(k, pool);
        status = qb__rabbitct_writer_view(writer, k->view.world, k->image);
        qb__progress(env, "views", v + 1, w->views);
        if (status == QB_OK) status = qb__check_cancel(env);
    }
    for (int i = 0; i < REFERENCES && k->volume[i] && status == QB_OK; i++) status = put_reference(k, i, writer);
    return status;
}

static qb_status set_up(work *k, qb__pool *pool) {
    const qb__rabbitct_synthetic *w = k->what;
    const qb_grid grid = {{110, 110, 110}, {2, 2, 2}, {0, 0, 0}};
    k->pitch = WIDTH / (double)w->columns;
    for (int i = 0; i < 4; i++) {
        const double radius = 0.5 + 0.3 * i;
        const double at[3] = {15.0 * i - 25, 40 - 22.0 * i, 17.0 * i - 30};
        const double semi[3] = {radius, radius, radius};
        k->bead[i] = qb__ellipsoid_make(at, semi, 0, 0.02);
    }
    qb_status status = qb__phantom_create("shepp-logan", &grid, SKULL, 0, &k->head);
    if (status == QB_OK) status = qb__alloc(w->columns * w->rows, sizeof *k->image, &k->image);
    if (status == QB_OK)
        status = qb__filter_create("ramp", QB_PAD_ZERO, w->columns, k->pitch * SOURCE_TO_AXIS / SOURCE_TO_DETECTOR,
                                   &k->filter);
    if (status != QB_OK) return status;
    k->scratch_bytes = (qb__filter_scratch(k->filter) + 63) / 64 * 64;
    status = qb__alloc((size_t)qb__pool_threads(pool), k->scratch_bytes, &k->scratch);
    for (int i = 0; i < REFERENCES && reference_sizes[i] <= w->reference && status == QB_OK; i++) {
        const size_t n = reference_sizes[i];
        status = qb__alloc(n * n * n, sizeof(double), &k->volume[i]);
    }
    return status;
}

static qb_status check(const qb__rabbitct_synthetic *what) {
    if (what->columns == 0 || what->rows == 0 || what->views == 0 || what->columns > 65536 || what->rows > 65536 ||
        what->views > 65536)
        return qb__fail(QB_BAD_ARGUMENT, "%zu views of %zux%zu pixels: each from 1 to 65536", what->views,
                        what->columns, what->rows);
    if (what->reference != 0 && !qb__rabbitct_is_size(what->reference))
        return qb__fail(QB_BAD_ARGUMENT, "a reference of %zu^3 voxels: RabbitCT has 128, 256, 512 and 1024",
                        what->reference);
    return QB_OK;
}

qb_status qb__rabbitct_synthesize(const char *path, const qb__rabbitct_synthetic *what, qb__pool *pool,
                                  const qb_env *env) {
    work k = {.what = what};
    const qb__rabbitct set = {.columns = what->columns,
                              .rows = what->rows,
                              .views = what->views,
                              .hu = {hu[0], hu[1]},
                              .original = !what->folder};
    qb__rabbitct_writer *writer = NULL;
    qb_status status = check(what);
    if (status != QB_OK) return status;
    QB__TRY(set_up(&k, pool));
    QB__TRY(qb__rabbitct_writer_create(path, &set, env, &writer));
    QB__TRY(put_all(&k, writer, pool, env));
    status = qb__rabbitct_writer_commit(writer);
    writer = NULL;
out:
    qb__rabbitct_writer_abort(writer);
    qb__phantom_destroy(&k.head);
    qb__filter_destroy(k.filter);
    QB__FREE(k.image, k.scratch);
    for (int i = 0; i < REFERENCES; i++) qb__free(k.volume[i]);
    return status;
}
