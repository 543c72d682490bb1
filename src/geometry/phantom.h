/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "quickbeam/geometry.h"

/* The points p with |A (p - center)| <= 1 add `value` to the attenuation. The rows of A are the directions of the
 * semi-axes, divided by their lengths; a zero row is an infinite semi-axis, which makes an elliptic cylinder. A box
 * uses the maximum norm. */
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

/* Semi-axes in mm (INFINITY allowed), rotated by `phi` radians about z, from x towards y. */
qb__ellipsoid qb__ellipsoid_make(const double center[3], const double semi[3], double phi, double value);
/* The same with half the sides of a box. */
qb__ellipsoid qb__box_make(const double center[3], const double half[3], double phi, double value);
/* The part of the line w + t d within `limit` of the origin in each component; false if there is none, or if it is
 * unlimited. */
bool qb__box_cut(const double w[3], const double d[3], double limit, double *from, double *to);

/* Create a named phantom, scaled to the grid's box and centred on it; `attenuation` in 1/mm is the attenuation of its
 * value 1.0. R is half the shorter side of the box in x and y; m is half its shortest side, not counting a side of a
 * single voxel.
 *
 *   shepp-logan  Toft's ("modified") values in units of R. Its plane z = 0 is exactly the classical
 *                2-D phantom; above and below, the ellipses close at the z semi-axes of the usual
 *                3-D one. Not symmetric in z or x.
 *   disc         a cylinder of radius 0.8 R along all z, value 1
 *   ball         a ball of radius 0.8 m (0.4 of the shortest side), value 1
 *   spheres      six different spheres off the axis, to detect mirrored or rotated axes
 *   foam         a cylinder of radius 0.9 R, value 1, with hundreds of round holes that do not
 *                touch, placed by `seed`
 *   inserts      a cylinder of radius 0.8 R, value 1, with six thin ones in it, value 3, along all z
 *   baggage      a bag or a case with typical contents, by `seed`: see qb__phantom_baggage()
 *
 * QB_BAD_ARGUMENT with the list of names for another name; QB_NO_MEMORY. Release with qb__phantom_destroy. */
qb_status qb__phantom_create(const char *name, const qb_grid *grid, double attenuation, uint64_t seed,
                             qb__phantom *phantom);
void qb__phantom_destroy(qb__phantom *phantom); /* NULL-safe */

/* The attenuation at a point (mm), in 1/mm. */
double qb__phantom_value(const qb__phantom *phantom, const double point[3]);
/* The integral of the phantom along the whole line through `origin` along `direction` (any length > 0). */
double qb__phantom_line(const qb__phantom *phantom, const double origin[3], const double direction[3]);
/* The radius of the smallest sphere about the origin (cylinder about z, for infinite shapes) that contains the
 * phantom. */
double qb__phantom_reach(const qb__phantom *phantom);

/* QB_BAD_INPUT with the view if a source would be inside the phantom, or look away from it: rays are whole lines, so
 * shapes behind a source would count. */
qb_status qb__phantom_check_sources(const qb__phantom *phantom, const qb_geometry *geometry);

/* Line integrals of rows row <= r < end of one view, to out[(r - row) * columns + c]. All shapes must be in front of a
 * cone's source. scratch: qb__phantom_scratch bytes per thread. A result depends only on the view and the pixel. */
size_t qb__phantom_scratch(const qb__phantom *phantom, size_t columns);
void qb__phantom_project(const qb__phantom *phantom, const qb_geometry *geometry, size_t view, size_t row, size_t end,
                         double *out, void *scratch);

/* One slice of the voxelised phantom, out[y][x] (float): each voxel is the mean over `samples`^3 evenly spaced points;
 * 1 = its centre. */
void qb__phantom_slice(const qb__phantom *phantom, const qb_grid *grid, size_t iz, int samples, float *out);

/* A simulated bag of a security scanner, for benchmarks of iterative methods; not based on measurements. A suitcase
 * with plastic walls or a soft bag, a third of them with the rods of a handle, full of clothes (0.08 to 0.3 of water,
 * with folds). In it, without overlap: bottles and cartons of liquids (0.78 to 1.25), books (0.7 to 1), sheets (1 to
 * 1.5), food (0.85 to 1.1), shoes (soles 1.15 to 1.35), plastic appliances with metal parts, copper cables, metal
 * (aluminium 2.5 to 2.8, steel 6 to 8). Independent layers follow each other along z; the middle of the box is the
 * middle of a layer. `plane` and `depth` are half the box's sides in the plane (the shorter) and along z, in mm;
 * `attenuation` is that of water. */
qb_status qb__phantom_baggage(const double center[3], double plane, double depth, double attenuation, uint64_t seed,
                              qb__phantom *phantom);
