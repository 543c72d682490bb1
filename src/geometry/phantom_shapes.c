/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "geometry/phantom.h"

/* Half the sides of the box in mm: in the plane, along z, and the smallest. */
typedef struct frame {
    double plane, depth, least, center[3], value;
} frame;

static frame measure(const qb_grid *grid, double attenuation) {
    double half[3], least = INFINITY;
    for (int k = 0; k < 3; k++) {
        half[k] = 0.5 * (double)grid->n[k] * grid->voxel[k];
        if (grid->n[k] > 1) least = fmin(least, half[k]);
    }
    if (!isfinite(least)) least = fmin(half[0], half[1]);
    return (frame){
        fmin(half[0], half[1]), half[2], least, {grid->offset[0], grid->offset[1], grid->offset[2]}, attenuation};
}

/* An ellipsoid with its centre and semi-axes in mm, relative to the box. */
static qb__ellipsoid place(const frame *box, const double at[3], const double semi[3], double phi, double value) {
    double center[3];
    for (int k = 0; k < 3; k++) center[k] = box->center[k] + at[k];
    return qb__ellipsoid_make(center, semi, phi, value * box->value);
}

static qb_status reserve(qb__phantom *phantom, size_t count) {
    return qb__alloc(count, sizeof *phantom->shape, &phantom->shape);
}

/* P. Toft, The Radon Transform (1996), table B.3: a, b, x, y, phi in degrees, value; then the z
 * semi-axis of the usual 3-D phantom and the height of the centre. */
static const double shepp_logan_table[10][8] = {
    {0.6900, 0.9200, 0, 0, 0, 1.0, 0.810, 0},        {0.6624, 0.8740, 0, -0.0184, 0, -0.8, 0.780, 0},
    {0.1100, 0.3100, 0.22, 0, -18, -0.2, 0.220, 0},  {0.1600, 0.4100, -0.22, 0, 18, -0.2, 0.280, 0},
    {0.2100, 0.2500, 0, 0.35, 0, 0.1, 0.410, -0.15}, {0.0460, 0.0460, 0, 0.1, 0, 0.1, 0.050, 0.02},
    {0.0460, 0.0460, 0, -0.1, 0, 0.1, 0.050, 0.02},  {0.0460, 0.0230, -0.08, -0.605, 0, 0.1, 0.050, 0},
    {0.0230, 0.0230, 0, -0.606, 0, 0.1, 0.020, 0},   {0.0230, 0.0460, 0.06, -0.605, 0, 0.1, 0.020, 0},
};

static qb_status shepp_logan(const frame *box, uint64_t seed, qb__phantom *phantom) {
    (void)seed;
    qb_status status = reserve(phantom, 10);
    for (; status == QB_OK && phantom->count < 10; phantom->count++) {
        const double *t = shepp_logan_table[phantom->count];
        /* widened so that at z = 0 it is as wide as in the table */
        double swell = box->plane / sqrt(1 - t[7] * t[7] / (t[6] * t[6]));
        double at[3] = {t[2] * box->plane, t[3] * box->plane, t[7] * box->plane};
        double semi[3] = {t[0] * swell, t[1] * swell, t[6] * box->plane};
        phantom->shape[phantom->count] = place(box, at, semi, t[4] * (M_PI / 180), t[5]);
    }
    return status;
}

static qb_status single(const frame *box, double radius, double depth, qb__phantom *phantom) {
    QB__OR_RETURN(reserve(phantom, 1));
    phantom->shape[0] = place(box, (double[3]){0}, (double[3]){radius, radius, depth}, 0, 1);
    phantom->count = 1;
    return QB_OK;
}

static qb_status disc(const frame *box, uint64_t seed, qb__phantom *phantom) {
    (void)seed;
    return single(box, 0.8 * box->plane, INFINITY, phantom);
}

static qb_status ball(const frame *box, uint64_t seed, qb__phantom *phantom) {
    (void)seed;
    return single(box, 0.8 * box->least, 0.8 * box->least, phantom);
}

/* x and y in half sides of the plane, z in half depths, radius in least half sides, value. */
static const double spheres_table[6][5] = {
    {-0.35, 0.10, -0.20, 0.30, 1.0}, {0.40, 0.35, 0.15, 0.20, 0.6},   {0.15, -0.50, 0.45, 0.15, 0.8},
    {-0.10, 0.62, 0.50, 0.10, 1.2},  {0.55, -0.15, -0.55, 0.12, 0.4}, {0.10, 0.05, 0.05, 0.06, 1.5},
};

static qb_status spheres(const frame *box, uint64_t seed, qb__phantom *phantom) {
    (void)seed;
    qb_status status = reserve(phantom, 6);
    for (; status == QB_OK && phantom->count < 6; phantom->count++) {
        const double *t = spheres_table[phantom->count];
        double at[3] = {t[0] * box->plane, t[1] * box->plane, t[2] * box->depth};
        double radius = t[3] * box->least;
        phantom->shape[phantom->count] = place(box, at, (double[3]){radius, radius, radius}, 0, t[4]);
    }
    return status;
}

/* x, y and radius in half sides of the plane. */
static const double inserts_table[6][3] = {
    {-0.45, 0.0, 0.10}, {0.45, 0.0, 0.10}, {0.0, 0.5, 0.07}, {0.0, -0.5, 0.07}, {0.28, 0.35, 0.04}, {-0.3, -0.38, 0.04},
};

static qb_status inserts(const frame *box, uint64_t seed, qb__phantom *phantom) {
    (void)seed;
    QB__OR_RETURN(reserve(phantom, 7));
    phantom->shape[phantom->count++] =
        place(box, (double[3]){0}, (double[3]){0.8 * box->plane, 0.8 * box->plane, INFINITY}, 0, 1);
    for (size_t i = 0; i < 6; i++) {
        const double *t = inserts_table[i], radius = t[2] * box->plane;
        phantom->shape[phantom->count++] = place(box, (double[3]){t[0] * box->plane, t[1] * box->plane, 0},
                                                 (double[3]){radius, radius, INFINITY}, 0, 2);
    }
    return QB_OK;
}

enum { FOAM_HOLES = 400, FOAM_THROWS = 20000 };

typedef struct hole {
    double at[3], radius;
} hole;

static bool touches(const hole *holes, size_t count, const hole *next, double clearance) {
    for (size_t i = 0; i < count; i++) {
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = holes[i].at[k] - next->at[k];
        double apart = holes[i].radius + next->radius + clearance;
        if (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < apart * apart) return true;
    }
    return false;
}

/* Holes are placed at random with decreasing radius; one that would touch another hole or the edge is placed again. A
 * thin box also gets holes whose centres lie off its middle plane. */
static size_t throw_holes(const frame *box, uint64_t seed, hole *holes) {
    size_t count = 0;
    double rim = 0.88 * box->plane, depth = fmax(box->depth, 0.15 * box->plane);
    for (uint64_t i = 0; i < FOAM_THROWS && count < FOAM_HOLES; i++) {
        qb__random random = qb__random_stream(seed, i);
        double shrink = 1 - (double)i / FOAM_THROWS;
        hole next = {.radius = box->plane * (0.015 + 0.13 * pow(shrink, 6) + 0.02 * qb__random_unit(&random))};
        for (int k = 0; k < 3; k++) next.at[k] = (2 * qb__random_unit(&random) - 1) * (k < 2 ? rim : depth);
        if (hypot(next.at[0], next.at[1]) + next.radius > rim) continue;
        if (!touches(holes, count, &next, 0.005 * box->plane)) holes[count++] = next;
    }
    return count;
}

static qb_status foam(const frame *box, uint64_t seed, qb__phantom *phantom) {
    static const double axis[3] = {0};
    hole *holes = NULL;
    qb_status status;
    QB__TRY(qb__alloc(FOAM_HOLES, sizeof *holes, &holes));
    size_t count = throw_holes(box, seed, holes);
    QB__TRY(reserve(phantom, count + 1));
    double rim = 0.9 * box->plane;
    phantom->shape[0] = place(box, axis, (double[3]){rim, rim, INFINITY}, 0, 1);
    phantom->count = count + 1;
    for (size_t i = 0; i < count; i++) {
        double r = holes[i].radius;
        phantom->shape[i + 1] = place(box, holes[i].at, (double[3]){r, r, r}, 0, -1);
    }
out:
    qb__free(holes);
    return status;
}

static qb_status baggage(const frame *box, uint64_t seed, qb__phantom *phantom) {
    return qb__phantom_baggage(box->center, box->plane, box->depth, box->value, seed, phantom);
}

static const struct {
    const char *name;
    qb_status (*build)(const frame *box, uint64_t seed, qb__phantom *phantom);
} phantoms[] = {{"shepp-logan", shepp_logan}, {"disc", disc},      {"ball", ball}, {"spheres", spheres}, {"foam", foam},
                {"baggage", baggage},         {"inserts", inserts}};

qb_status qb__phantom_create(const char *name, const qb_grid *grid, double attenuation, uint64_t seed,
                             qb__phantom *phantom) {
    *phantom = (qb__phantom){0};
    frame box = measure(grid, attenuation);
    for (size_t i = 0; i < sizeof phantoms / sizeof *phantoms; i++) {
        if (strcmp(phantoms[i].name, name) == 0) return phantoms[i].build(&box, seed, phantom);
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "there is no phantom %s: shepp-logan, disc, ball, spheres, foam, inserts and baggage are", name);
}
