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

typedef struct looking {
    const qb__mbir *m;
    const qb__mbir_sample *sample;
    const float *voxels;
    const reading *as;
    size_t slice; /* number of the slice, if rays stay within one slice */
    bool flat;    /* each detector row sees one slice */
    double a, l;  /* sums of the current ray */
} looking;

/* Add a voxel's share of the ray. */
static void tap(void *context, size_t voxel, double weight) {
    looking *l = context;
    const size_t *n = l->m->grid.n, nx = n[0], ny = n[1];
    const size_t at[3] = {voxel % nx, voxel / nx % ny, l->flat ? l->slice : voxel / (nx * ny)};
    size_t place[3];
    l->l += weight;
    for (int j = 0; j < 3; j++) {
        const long k = (long)(l->as->flip >> j & 1 ? n[j] - 1 - at[j] : at[j]) + l->as->shift[j];
        if (k < 0 || k >= (long)n[j]) return;
        place[l->as->from[j]] = (size_t)k;
    }
    l->a += weight * (double)l->voxels[(place[2] * ny + place[1]) * nx + place[0]];
}

/* The line integrals of the image and of ones along a ray; in the grid's units. */
static void integrate(looking *l, size_t view, size_t row, size_t column) {
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
    l->a = l->l = 0;
    qb__joseph_reference(&fan, row, grid.n, tap, l);
    const double length = qb__fan_length(&fan, grid.voxel, (double)row);
    l->a *= length;
    l->l *= length;
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

static sums compare(looking *l, const reading *as) {
    const qb__mbir *m = l->m;
    const size_t views = m->info->views, columns = m->info->columns;
    const size_t some = qb__smaller(VIEWS, views), wide = qb__smaller(COLUMNS, columns);
    sums s = {0};
    l->as = as;
    for (size_t i = 0; i < some; i++) {
        const size_t view = (2 * i + 1) * views / (2 * some);
        double mass[2] = {0}, moment[2] = {0};
        for (size_t r = 0; r < l->sample->rows; r++)
            for (size_t c = 0; c < wide; c++) {
                const size_t column = (2 * c + 1) * columns / (2 * wide);
                const double y = (double)l->sample->lines[(r * views + view) * columns + column];
                if (!(fabs(y) <= l->sample->limit)) continue; /* NaN: not measured */
                l->slice = l->sample->row[r] - m->first_row;
                integrate(l, view, l->sample->row[r], column);
                s.yy += y * y, s.ya += y * l->a, s.aa += l->a * l->a;
                s.yl += y * l->l, s.al += l->a * l->l, s.ll += l->l * l->l;
                mass[0] += y, moment[0] += y * (double)column;
                mass[1] += l->a, moment[1] += l->a * (double)column;
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
static void try_scale(const sums *s, float least, remedy *best) {
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

static float least_of(const qb_array *array) {
    const float *x = array->data;
    float least = INFINITY;
    for (size_t i = 0; i < qb_array_count(array); i++) least = fminf(least, x[i]);
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
    if (!(s.yy > 0) || !(s.aa > 0) || !(distance(&s) > near)) return QB_OK;
    remedy best = {.distance = fmin(distance(&s), 1)}; /* an image of zeros has distance 1 */
    try_scale(&s, least_of(&image->data), &best);
    if (!best.text[0]) try_turned(l, &best);
    if (!best.text[0]) try_moved(l, &s, &best);
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
    looking l = {.m = m, .sample = sample, .flat = m->variant != NULL};
    qb_status status = QB_OK;
    for (int i = 0; i < QB__MBIR_IMAGES && status == QB_OK; i++)
        if (m->images.image[i].data.data) status = check(&l, &m->images.image[i], env);
    return status;
}
