/* SPDX-License-Identifier: MIT */
#include "geometry/phantom.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

/* Limits per layer: objects, attempts to place one object, folds, and all shapes. */
enum {
    THINGS = 40,
    THROWS = 6000,
    FOLDS = 260,
    SHAPES_OF_THING = 12,
    SHAPES = THINGS * SHAPES_OF_THING + FOLDS,
    OF_CASE = 4
};
static const double layer = 0.5,
                    /* layer: half the height of a layer; highest: largest part of the layer that its contents fill */
    highest = 0.98;

/* Lengths in units of `plane`, angles in radians, values in units of water. */
typedef struct packing {
    qb__phantom *phantom;
    const double *center;
    double plane, attenuation;
    qb__random random;
    double turn, half[2], cloth; /* rotation and half the sides of the case inside; value of the clothes that fill it */
    bool soft;                   /* the outline of the case is an ellipse and not a rectangle */
    double middle;               /* z of the middle of the layer */
} packing;

/* An object in the case: its position, the radius of its circle, its rotation, the middle and half of its height in
 * z. */
typedef struct thing {
    double at[2], radius, turn, z, height;
} thing;

static double between(packing *p, double low, double high) { return low + (high - low) * qb__random_unit(&p->random); }

/* Convert x, y to the object's own directions. */
static void add(packing *p, const thing *t, double x, double y, double a, double b, bool box, double value) {
    const double c = cos(t->turn), s = sin(t->turn), u = p->plane;
    const double at[3] = {p->center[0] + (t->at[0] + c * x - s * y) * u, p->center[1] + (t->at[1] + s * x + c * y) * u,
                          p->center[2] + t->z * u};
    const double semi[3] = {a * u, b * u, t->height * u};
    p->phantom->shape[p->phantom->count++] =
        (box ? qb__box_make : qb__ellipsoid_make)(at, semi, t->turn, value * p->attenuation);
}

/* ---- objects: within their circles, replacing clothes ---- */

/* A vessel: its wall, and its content. */
static void fill(packing *p, const thing *t, double a, double b, bool box) {
    const double wall = fmax(between(p, 0.006, 0.014), 0.04 * b), hard = between(p, 0.95, 1.3);
    add(p, t, 0, 0, a, b, box, hard - p->cloth);
    add(p, t, 0, 0, a - wall, b - wall, box, between(p, 0.78, 1.25) - hard);
}

static void bottle(packing *p, const thing *t) { fill(p, t, t->radius, t->radius * between(p, 0.7, 1), false); }

/* Half the sides of a rectangle in the object's circle; b is at most a. */
static void sides(packing *p, const thing *t, double slim, double wide, double *a, double *b) {
    const double ratio = between(p, slim, wide);
    *a = t->radius / hypot(1, ratio);
    *b = *a * ratio;
}

static void carton(packing *p, const thing *t) {
    double a, b;
    sides(p, t, 0.4, 1, &a, &b);
    fill(p, t, a, b, true);
}

static void book(packing *p, const thing *t) {
    double a, b;
    sides(p, t, 0.15, 0.5, &a, &b);
    add(p, t, 0, 0, a, b, true, between(p, 0.7, 1) - p->cloth);
}

static void sheet(packing *p, const thing *t) {
    add(p, t, 0, 0, 0.99 * t->radius, fmax(0.008, 0.05 * t->radius), true, between(p, 1, 1.5) - p->cloth);
}

static void food(packing *p, const thing *t) {
    add(p, t, 0, 0, t->radius, t->radius * between(p, 0.5, 1), false, between(p, 0.85, 1.1) - p->cloth);
}

/* A shoe: a sole, and an upper part with air in it. */
static void shoe(packing *p, const thing *t) {
    const double a = 0.9 * t->radius, b = 0.32 * t->radius, leather = between(p, 0.8, 1);
    add(p, t, 0, -0.3 * t->radius, a, 0.09 * t->radius, true, between(p, 1.15, 1.35) - p->cloth);
    add(p, t, 0, 0.2 * t->radius, a, b, false, leather - p->cloth);
    add(p, t, 0, 0.2 * t->radius, 0.9 * a, 0.8 * b, false, -leather);
}

/* An appliance: a housing with air in it, a board, and parts on the board. */
static void appliance(packing *p, const thing *t) {
    double a, b;
    sides(p, t, 0.3, 0.7, &a, &b);
    const double wall = fmax(0.007, 0.06 * b), hard = between(p, 1, 1.2), board = 0.1 * b;
    add(p, t, 0, 0, a, b, true, hard - p->cloth);
    add(p, t, 0, 0, a - wall, b - wall, true, -hard);
    add(p, t, 0, -0.5 * b, 0.85 * a, board, true, between(p, 1.5, 1.9));
    for (int i = 0; i < 6; i++) {
        const double part = 0.1 * a, x = (-0.7 + 0.28 * i) * a, high = between(p, 0.1, 0.45) * b;
        add(p, t, x, -0.5 * b + board + high, part, high, i % 2, between(p, 1.3, i == 2 ? 6 : 3));
    }
}

static void cable(packing *p, const thing *t) {
    for (int i = 0; i < 6; i++) {
        const double angle = i * (M_PI / 3) + between(p, 0, 0.5);
        add(p, t, 0.7 * t->radius * cos(angle), 0.7 * t->radius * sin(angle), 0.012, 0.012, false,
            between(p, 1, 1.3) - p->cloth);
        add(p, t, 0.7 * t->radius * cos(angle), 0.7 * t->radius * sin(angle), 0.006, 0.006, false, between(p, 3, 5));
    }
}

static void metal(packing *p, const thing *t) {
    const bool steel = qb__random_unit(&p->random) < 0.3, box = qb__random_unit(&p->random) < 0.5;
    double a, b;
    sides(p, t, 0.15, 0.6, &a, &b);
    const double slim = steel ? 0.4 : 1; /* a slim tool, not a block */
    add(p, t, 0, 0, slim * a, slim * b, box, (steel ? between(p, 6, 8) : between(p, 2.5, 2.8)) - p->cloth);
}

/* Frequency in percent, and the range of the circles' radii. */
static const struct {
    int share;
    double least, most;
    void (*pack)(packing *p, const thing *t);
} things[] = {{16, 0.07, 0.16, bottle},   {9, 0.07, 0.2, carton}, {14, 0.1, 0.25, book},
              {12, 0.08, 0.3, sheet},     {13, 0.02, 0.1, food},  {8, 0.14, 0.24, shoe},
              {10, 0.1, 0.22, appliance}, {8, 0.06, 0.12, cable}, {10, 0.02, 0.07, metal}};

static void pack(packing *p, const thing *t) {
    enum { KINDS = sizeof things / sizeof *things };
    int shares = 0, i = 0;
    for (int k = 0; k < KINDS; k++) shares += things[k].least <= t->radius ? things[k].share : 0;
    double draw = between(p, 0, shares);
    for (int k = 0; k < KINDS && draw > 0; k++)
        if (things[k].least <= t->radius) draw -= things[i = k].share;
    thing fitting = *t;
    fitting.radius = fmin(things[i].most, t->radius);
    things[i].pack(p, &fitting);
}

/* ---- placement ---- */

/* True if a circle lies in the case, whose centre is the box's. */
static bool within(const packing *p, const double at[2], double radius) {
    const double c = cos(p->turn), s = sin(p->turn);
    const double x = fabs(c * at[0] + s * at[1]) + radius, y = fabs(c * at[1] - s * at[0]) + radius;
    return p->soft ? hypot(x / p->half[0], y / p->half[1]) < 1 : x < p->half[0] && y < p->half[1];
}

static bool is_free(const thing *list, size_t count, const double at[2], double radius) {
    for (size_t i = 0; i < count; i++)
        if (hypot(at[0] - list[i].at[0], at[1] - list[i].at[1]) < radius + list[i].radius + 0.004) return false;
    return true;
}

/* Place an object at random; large objects come first. */
static thing throw_one(packing *p, double least, double most) {
    thing t = {.radius = between(p, least, most), .turn = p->turn + between(p, -M_PI, M_PI), .z = p->middle};
    t.height = layer * highest * between(p, 0.5, 1);
    for (int k = 0; k < 2; k++) t.at[k] = between(p, -0.9, 0.9);
    return t;
}

static size_t pack_layer(packing *p, thing *list) {
    const size_t wanted = (size_t)between(p, 12, THINGS);
    size_t count = 0;
    for (int i = 0; i < THROWS && count < wanted; i++) {
        const double most = 0.05 + 0.25 * pow(1 - (double)i / THROWS, 2);
        const thing t = throw_one(p, 0.4 * most, most);
        if (!within(p, t.at, t.radius) || !is_free(list, count, t.at, t.radius)) continue;
        list[count++] = t;
        pack(p, &t);
    }
    return count;
}

/* Denser threads and gaps in the clothes; they may overlap each other, but no object. */
static void fold(packing *p, const thing *list, size_t count) {
    size_t folds = (size_t)between(p, 60, FOLDS);
    for (int i = 0; i < THROWS && folds; i++) {
        thing t = throw_one(p, 0.02, 0.09);
        if (!within(p, t.at, t.radius) || !is_free(list, count, t.at, t.radius)) continue;
        add(p, &t, 0, 0, t.radius, t.radius * between(p, 0.06, 0.25), false, between(p, -0.4, 0.6) * p->cloth);
        folds--;
    }
}

/* ---- the case ---- */

/* Make the case; its wall and its rods are infinite along z. */
static void make_case(packing *p) {
    const thing whole = {.turn = p->turn = between(p, -0.4, 0.4), .height = INFINITY};
    p->soft = qb__random_unit(&p->random) < 0.4;
    p->cloth = between(p, 0.08, 0.3);
    p->half[0] = between(p, 0.6, 0.8);
    p->half[1] = between(p, 0.3, p->soft ? 0.6 : 0.45);
    const double wall = between(p, 0.008, 0.02), hard = p->soft ? between(p, 0.4, 0.8) : between(p, 0.9, 1.15);
    const double rod = between(p, 0.012, 0.018), sideways = 0.35 * p->half[0], y = p->half[1] + wall + rod;
    add(p, &whole, 0, 0, p->half[0] + wall, p->half[1] + wall, !p->soft, hard);
    add(p, &whole, 0, 0, p->half[0], p->half[1], !p->soft, p->cloth - hard);
    if (p->soft || qb__random_unit(&p->random) > 0.6) return;
    for (int side = -1; side <= 1; side += 2) add(p, &whole, side * sideways, y, rod, rod, false, 2.7);
}

qb_status qb__phantom_baggage(const double center[3], double plane, double depth, double attenuation, uint64_t seed,
                              qb__phantom *phantom) {
    /* Layers are numbered from -about to about. */
    const int about = (int)fmax(0, ceil(depth / (2 * layer * plane) - 0.5));
    packing p = {.phantom = phantom,
                 .center = center,
                 .plane = plane,
                 .attenuation = attenuation,
                 .random = qb__random_stream(seed, 0)};
    thing list[THINGS];
    QB__OR_RETURN(qb__alloc((size_t)(2 * about + 1) * SHAPES + OF_CASE, sizeof *phantom->shape, &phantom->shape));
    make_case(&p);
    for (int i = -about; i <= about; i++) {
        p.random = qb__random_stream(seed, (uint64_t)(1 + 2 * (i < 0 ? -i : i) + (i < 0)));
        p.middle = 2 * layer * i;
        const size_t count = pack_layer(&p, list);
        fold(&p, list, count);
    }
    return QB_OK;
}
