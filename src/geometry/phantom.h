/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PHANTOM_H
#define QB_GEOMETRY_PHANTOM_H

#include <stdbool.h>
#include <stdint.h>

#include "quickbeam/geometry.h"

/* The points p with |A (p - center)| <= 1 add `value` to the attenuation. The rows of A are the
 * directions of the semi-axes, each divided by the semi-axis' length; a zero row stands for an
 * infinite one, which makes an elliptic cylinder. A box has the largest component for its norm. */
typedef struct qb__ellipsoid {
    double center[3]; /* mm */
    double a[3][3];   /* 1/mm */
    double value;     /* 1/mm */
    bool box;
} qb__ellipsoid;

typedef struct qb__phantom {
    size_t count;
    qb__ellipsoid *shape; /* [count], owned */
} qb__phantom;

/* Semi-axes in mm (INFINITY allowed), turned by `phi` radians about z, from x towards y. */
qb__ellipsoid qb__ellipsoid_make(const double center[3], const double semi[3], double phi, double value);
/* Half the sides instead. */
qb__ellipsoid qb__box_make(const double center[3], const double half[3], double phi, double value);
/* Where w + t d lies within `limit` of the origin in each component; false when nowhere, or
 * everywhere. */
bool qb__box_cut(const double w[3], const double d[3], double limit, double *from, double *to);

/* One of the named phantoms, sized to the grid's box and centred on it; `attenuation` in 1/mm is
 * what its value 1.0 stands for. R below is half the shorter of the box's sides in x and y; m is
 * half its shortest side, a side of a single voxel left out.
 *
 *   shepp-logan  Toft's ("modified") values in units of R. Its plane z = 0 is the classical 2-D
 *                phantom exactly; above and below, the ellipses close at the z semi-axes of the
 *                usual 3-D one. Not symmetric in z, nor in x.
 *   disc         a cylinder of radius 0.8 R, the same at every z, value 1
 *   ball         a ball of radius 0.8 m (0.4 of the shortest side), value 1
 *   spheres      six spheres off the axis, no two alike: a flip or a turn of any axis shows
 *   foam         a cylinder of radius 0.9 R, value 1, with hundreds of round holes that do not
 *                touch, placed by `seed`
 *   inserts      a cylinder of radius 0.8 R, value 1, with six thin ones in it, value 3, the same at every z
 *   baggage      a bag or a case with what people pack, by `seed`: see phantom_baggage.h
 *
 * QB_BAD_ARGUMENT with the list of names for another name; QB_NO_MEMORY. Release with
 * qb__phantom_destroy. */
qb_status qb__phantom_create(const char *name, const qb_grid *grid, double attenuation, uint64_t seed,
                             qb__phantom *phantom);
void qb__phantom_destroy(qb__phantom *phantom); /* NULL-safe */

/* The attenuation at a point (mm), in 1/mm. */
double qb__phantom_value(const qb__phantom *phantom, const double point[3]);
/* The phantom's integral along the whole line through `origin` along `direction` (any length > 0). */
double qb__phantom_line(const qb__phantom *phantom, const double origin[3], const double direction[3]);
/* The radius of the smallest sphere (cylinder about z, for what is infinite) about the origin that
 * holds everything. */
double qb__phantom_reach(const qb__phantom *phantom);

/* QB_BAD_INPUT with the view whose source would run through the phantom, or which looks away from it: rays are whole
 * lines, what they meet behind a source would count. */
qb_status qb__phantom_check_sources(const qb__phantom *phantom, const qb_geometry *geometry);

/* Line integrals of row `row` and the rows up to `end` of one view, to out[(r - row) * columns +
 * c]. Every shape must lie in front of a cone's source. scratch: qb__phantom_scratch bytes, one
 * thread's. A result depends on nothing but the view and the pixel. */
size_t qb__phantom_scratch(const qb__phantom *phantom, size_t columns);
void qb__phantom_project(const qb__phantom *phantom, const qb_geometry *geometry, size_t view, size_t row, size_t end,
                         double *out, void *scratch);

/* One slice of the voxelised phantom, out[y][x] (float): each voxel the mean over `samples`^3
 * points evenly spread in it; 1 = its centre. */
void qb__phantom_slice(const qb__phantom *phantom, const qb_grid *grid, size_t iz, int samples, float *out);

#endif
