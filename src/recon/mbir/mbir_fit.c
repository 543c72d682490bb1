/* SPDX-License-Identifier: MIT */
/* Check that a given image belongs to the scan. A wrong image is reported together with the correction that makes it
 * fit. */
#include "recon/mbir/mbir.h"

#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/curve.h"
#include "geometry/fan.h"

enum { VIEWS = 12, COLUMNS = 48 }; /* rays of a sampled row */

/* How an image may have to be read to fit: axis j of the volume is axis from[j] of the image, mirrored if bit j of
 * `flip` is set, and moved by shift[j] voxels. */
typedef struct reading {
    int from[3], flip;
    long shift[3];
} reading;

/* Sums over rays of the scan's line integral y, the image's a, and the length l of the ray within the volume. */
typedef struct sums {
    double yy, ya, aa, yl, al, ll;
    double shift[2][3]; /* normal equations of a shift along x and y: two coefficients and the right side */
} sums;

/* Sums of a ray: of the image, of which each rank adds its own slices, and of ones. */
typedef struct ray {
    double a, l;
} ray;

typedef struct looking {
    const qb__mbir *m;
    const qb__mbir_sample *sample;
    const float *voxels; /* of this rank's slices */
    const reading *as;
    size_t slice; /* number of the slice, if rays stay within one slice */
    bool flat;    /* each detector row sees one slice */
    ray now;      /* the current ray */
    ray *rays;    /* [view][row][column] of the sample */
    ray *all;     /* the same of all ranks */
    size_t views, columns;
    qb_status status; /* of what ranks exchange */
} looking;

/* Add a voxel's share of the ray. */
static void tap(void *context, size_t voxel, double weight) {
    looking *l = context;
    const size_t *n = l->m->grid.n, nx = n[0], ny = n[1];
    const size_t at[3] = {voxel % nx, voxel / nx % ny, l->flat ? l->slice : voxel / (nx * ny)};
    size_t place[3];
    const qb__run own = l->m->images.own;
    l->now.l += weight;
    for (int j = 0; j < 3; j++) {
        const long k = (long)(l->as->flip >> j & 1 ? n[j] - 1 - at[j] : at[j]) + l->as->shift[j];
        if (k < 0 || k >= (long)n[j]) return;
        place[l->as->from[j]] = (size_t)k;
    }
    if (place[2] < own.first || place[2] >= own.end) return;
    l->now.a += weight * (double)l->voxels[((place[2] - own.first) * ny + place[1]) * nx + place[0]];
}

/* The line integrals of the image and of ones along a ray; in the grid's units. */
static ray integrate(looking *l, size_t view, size_t row, size_t column) {
    const qb_geometry *g = &l->m->geometry;
    qb_grid grid = l->m->grid;
    if (l->flat) {
        double at[3], along[3];
        row = g->rows / 2;
        qb__pixel_ray(g, view, (double)column, (double)row, at, along);
        grid.n[2] = 1;
        grid.offset[2] = at[2];
    }
    const qb__fan fan = qb__fan_of(g, &grid, view, column);
    l->now = (ray){0, 0};
    qb__joseph_reference(&fan, row, grid.n, tap, l);
    const double length = qb__fan_length(&fan, grid.voxel, (double)row);
    return (ray){l->now.a * length, l->now.l * length};
}

/* Distance in this view between the centres of mass of scan and image, in mm at the axis: one equation for the
 * shift. */
static void add_view(const looking *l, size_t view, const double mass[2], const double moment[2], sums *s) {
    const qb_view *v = &l->m->geometry.view[view];
    const double pitch = sqrt(v->u[0] * v->u[0] + v->u[1] * v->u[1] + v->u[2] * v->u[2]);
    if (!(mass[0] > 0) || !(mass[1] > 0) || !(pitch > 0)) return;
    const double by = (moment[1] / mass[1] - moment[0] / mass[0]) * l->m->pixel; /* image minus scan */
    const double u[2] = {v->u[0] / pitch, v->u[1] / pitch};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) s->shift[i][j] += u[i] * u[j];
        s->shift[i][2] += u[i] * by;
    }
}

static size_t view_of(const looking *l, size_t i) { return (2 * i + 1) * l->m->info->views / (2 * l->views); }

static size_t column_of(const looking *l, size_t i) { return (2 * i + 1) * l->m->info->columns / (2 * l->columns); }

/* All ranks then have the same sums, and so draw the same conclusions. */
static void integrate_all(looking *l) {
    qb__comm *comm = l->m->images.comm;
    const size_t rows = l->sample->rows, count = l->views * rows * l->columns;
    for (size_t i = 0; i < count; i++) {
        const size_t row = l->sample->row[i / l->columns % rows];
        l->slice = row - l->m->first_row;
        l->rays[i] = integrate(l, view_of(l, i / l->columns / rows), row, column_of(l, i % l->columns));
    }
    l->status = qb__comm_gather(comm, l->status, l->rays, count * sizeof(ray), l->all);
    for (size_t i = 0; l->status == QB_OK && qb__comm_count(comm) > 1 && i < count; i++) {
        l->rays[i].a = 0;
        for (size_t rank = 0; rank < (size_t)qb__comm_count(comm); rank++) l->rays[i].a += l->all[rank * count + i].a;
    }
}

static sums compare(looking *l, const reading *as) {
    const qb__mbir *m = l->m;
    sums s = {0};
    l->as = as;
    integrate_all(l);
    for (size_t i = 0; i < l->views; i++) {
        const size_t view = view_of(l, i);
        double mass[2] = {0}, moment[2] = {0};
        for (size_t r = 0; r < l->sample->rows; r++)
            for (size_t c = 0; c < l->columns; c++) {
                const size_t column = column_of(l, c);
                const double y = (double)l->sample->lines[(r * m->info->views + view) * m->info->columns + column];
                const ray along = l->rays[(i * l->sample->rows + r) * l->columns + c];
                if (!(fabs(y) <= l->sample->limit)) continue; /* NaN: not measured */
                s.yy += y * y, s.ya += y * along.a, s.aa += along.a * along.a;
                s.yl += y * along.l, s.al += along.a * along.l, s.ll += along.l * along.l;
                mass[0] += y, moment[0] += y * (double)column;
                mass[1] += along.a, moment[1] += along.a * (double)column;
            }
        add_view(l, view, mass, moment, &s);
    }
    return s;
}

/* Squared distances from the scan, relative to the scan's square. */
static double distance(const sums *s) { return (s->yy - 2 * s->ya + s->aa) / s->yy; }
static double scaled_distance(const sums *s) { return s->aa > 0 ? (s->yy - s->ya * s->ya / s->aa) / s->yy : 1; }

/* Distance of water * (1 + image / 1000) from the scan, with the best value of water. */
static double hu_distance(const sums *s, double *water) {
    const double yb = s->yl + s->ya / 1000, bb = s->ll + s->al / 500 + s->aa / 1e6;
    *water = bb > 0 ? yb / bb : 0;
    return bb > 0 ? (s->yy - yb * yb / bb) / s->yy : 1;
}

/* ---- corrections ---- */

typedef struct remedy {
    double distance; /* distance of the corrected image from the scan */
    char text[128];
} remedy;

static void take(remedy *best, double distance, const char *text) {
    best->distance = distance;
    snprintf(best->text, sizeof best->text, "%s", text);
}

/* Try another scale. A wrong unit is a large factor; a factor below three may mean that the volume holds only a part of
 * the object. */
static void try_scale(const sums *s, double least, remedy *best) {
    const double scale = s->aa > 0 ? s->ya / s->aa : 1;
    char text[128];
    double water;
    if (scale > 0 && (scale > 3 || scale < 1. / 3) && scaled_distance(s) < 0.25 * best->distance) {
        qb__print(text, sizeof text, "is %.3g times too %s: give it in 1/mm", scale > 1 ? scale : 1 / scale,
                  scale > 1 ? "small" : "large");
        take(best, scaled_distance(s), text);
    }
    if (least < -100 && hu_distance(s, &water) < 0.25 * best->distance && water > 0) {
        qb__print(text, sizeof text, "looks like Hounsfield units, of water at %.3g/mm: give it in 1/mm", water);
        take(best, hu_distance(s, &water), text);
    }
}

static bool keeps_shape(const size_t n[3], const reading *r) {
    return n[r->from[0]] == n[0] && n[r->from[1]] == n[1] && n[r->from[2]] == n[2];
}

static void try_turned(looking *l, remedy *best) {
    static const int orders[6][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    static const char *const flips[8] = {"", "x", "y", "x and y", "z", "x and z", "y and z", "x, y and z"};
    for (int i = 1; i < 48; i++) {
        const int *order = orders[i / 8], flip = i % 8;
        const reading as = {.from = {order[0], order[1], order[2]}, .flip = flip};
        if (!keeps_shape(l->m->grid.n, &as)) continue;
        const sums s = compare(l, &as);
        if (!(distance(&s) < 0.25 * best->distance)) continue;
        char text[128], axes[64] = "";
        if (i >= 8)
            snprintf(axes, sizeof axes, " after numpy.transpose(image, (%c, %c, %c))%s", "210"[order[2]],
                     "210"[order[1]], "210"[order[0]], flip ? " and" : "");
        snprintf(text, sizeof text, "fits the scan better%s%s%s", axes, flip ? " mirrored along " : "", flips[flip]);
        take(best, distance(&s), text);
    }
}

/* Find the shift from the centres of mass, in voxels; false if they do not determine it. */
static bool centred_at(const sums *s, const double *voxel, long shift[2]) {
    const double(*a)[3] = s->shift, determinant = a[0][0] * a[1][1] - a[0][1] * a[1][0];
    if (!(fabs(determinant) > 0)) return false;
    const double by[2] = {(a[0][2] * a[1][1] - a[0][1] * a[1][2]) / determinant,
                          (a[0][0] * a[1][2] - a[0][2] * a[1][0]) / determinant};
    for (int j = 0; j < 2; j++) {
        if (!(fabs(by[j]) < 1e6 * voxel[j])) return false;
        shift[j] = lround(by[j] / voxel[j]);
    }
    return true;
}

/* Try to move the image. The search goes on to the nearest minimum, because mass near the detector's border moves the
 * centres of mass. */
static void try_moved(looking *l, const sums *s, remedy *best) {
    enum { STEPS = 24 };
    reading as = {.from = {0, 1, 2}};
    bool better = centred_at(s, l->m->grid.voxel, as.shift);
    if (!better) return;
    sums at = compare(l, &as);
    for (int step = 0; better && step < STEPS; step++) {
        const reading from = as;
        better = false;
        for (int way = 0; way < 4; way++) {
            reading next = from;
            next.shift[way / 2] += way % 2 ? 1 : -1;
            const sums there = compare(l, &next);
            if (!(distance(&there) < distance(&at))) continue;
            at = there, as = next, better = true;
        }
    }
    if (!(distance(&at) < 0.25 * best->distance)) return;
    char text[128];
    qb__print(text, sizeof text, "lies %ld voxels too far along x and %ld along y: move it", as.shift[0], as.shift[1]);
    take(best, distance(&at), text);
}

/* ---- result ---- */

/* The least value of all ranks' slices. */
static double least_of(looking *l, const qb_array *array) {
    qb__comm *comm = l->m->images.comm;
    const float *x = array->data;
    double least = INFINITY, *all = (double *)(void *)l->all;
    for (size_t i = 0; i < qb_array_count(array); i++) least = fmin(least, (double)x[i]);
    l->status = qb__comm_gather(comm, l->status, &least, sizeof least, all);
    for (int rank = 0; l->status == QB_OK && comm && rank < qb__comm_count(comm); rank++)
        least = fmin(least, all[rank]);
    return least;
}

static qb_status check(looking *l, const qb__mbir_image *image, const qb_env *env) {
    static const reading plain = {.from = {0, 1, 2}};
    static const double near = 0.04, far = 4, refused = 100;
    const qb__mbir *m = l->m;
    const bool file = !image->array;
    const char *path = file ? image->path : "", *blank = file ? " " : "";
    l->voxels = image->data.data;
    const sums s = compare(l, &plain);
    const double least = least_of(l, &image->data);
    if (l->status != QB_OK) return l->status;
    if (!(s.yy > 0) || !(s.aa > 0) || !(distance(&s) > near)) return QB_OK;
    remedy best = {.distance = fmin(distance(&s), 1)}; /* an image of zeros has distance 1 */
    try_scale(&s, least, &best);
    if (!best.text[0]) try_turned(l, &best);
    if (!best.text[0]) try_moved(l, &s, &best);
    if (l->status != QB_OK) return l->status;
    if (!best.text[0] && distance(&s) > far)
        qb__print(best.text, sizeof best.text,
                  "is %.3g times as far from the scan as zeros are: is it of another object?", sqrt(distance(&s)));
    if (!best.text[0]) return QB_OK;
    if (image == m->images.begins_with && distance(&s) > refused)
        return qb__fail(QB_BAD_INPUT, "%s%s%s %s", image->option, blank, path, best.text);
    qb__warn(env, "%s%s%s %s" QB__CODE("image-misfit"), image->option, blank, path, best.text);
    return QB_OK;
}

qb_status qb__mbir_fit_check(const qb__mbir *m, const qb__mbir_sample *sample, const qb_env *env) {
    looking l = {.m = m,
                 .sample = sample,
                 .flat = m->variant != NULL,
                 .views = qb__smaller(VIEWS, m->info->views),
                 .columns = qb__smaller(COLUMNS, m->info->columns)};
    const size_t count = l.views * sample->rows * l.columns;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof *l.rays, &l.rays));
    QB__TRY(qb__alloc((size_t)qb__comm_count(m->images.comm) * count, sizeof *l.all, &l.all));
    for (int i = 0; i < QB__MBIR_IMAGES && status == QB_OK; i++)
        if (m->images.image[i].data.data) status = check(&l, &m->images.image[i], env);
out:
    qb__free(l.rays);
    qb__free(l.all);
    return status;
}
