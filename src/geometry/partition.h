/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/runs.h"
#include "quickbeam/status.h"

/* Division of a job so that the data in work fits into memory: the volume into slabs of slices, the scan into blocks of
 * views, each ring of the pipeline into slots. The method tells the memory and time of a cut; the search is the same
 * for all. */

typedef struct qb__room {
    size_t host, device; /* bytes; per device */
    size_t scratch;      /* host bytes per computing thread */
} qb__room;

/* Slices that a kernel computes together: layers of `thickness` that begin at slice `above` and go up, and layers that
 * end before slice `below` (above or one more) and go down. Thickness 1: no layers. */
typedef struct qb__layers {
    size_t thickness, above, below;
} qb__layers;

/* Ranks that share slabs and views: the ranks of a row make the same slabs, each from its column's views. */
typedef struct qb__cut_grid {
    int rows, columns, row, column; /* size of the grid; place of this rank */
    size_t slices, grain;           /* number of slices of the whole volume; grain as in qb__cut_rank */
    size_t view_grain;              /* grain of the views that columns share */
    qb__layers layers;              /* layers of the whole volume */
} qb__cut_grid;

/* At most 11 fields, which every method needs. What only one engine needs follows from `schedule`. */
typedef struct qb__cut {
    size_t thickness;     /* slices per slab */
    size_t slices, slabs; /* slices of the thickest slab; number of slabs */
    qb__run all_slices;   /* slices of the whole volume: those of all slabs */
    size_t views, blocks; /* views per block (the last may have fewer); number of blocks */
    qb__run all_views;    /* views of the whole scan: those of all blocks */
    /* NULL: this rank has all views. Otherwise the number of slabs is that of the row of ranks with most slabs; the
     * last slabs may be empty */
    const qb__cut_grid *grid;
    unsigned slots;    /* buffers in each ring of the pipeline */
    unsigned schedule; /* number of the engine's order of slabs: space->schedule, or as returned by schedule_after */
    qb__room need;     /* memory that need() returned */
} qb__cut;

typedef struct qb__cut_space qb__cut_space;
struct qb__cut_space {
    size_t first;             /* first slice, in the whole volume; 0 unless ranks share it */
    size_t slices, views;     /* slices and views of the whole job, or of a rank's share */
    const qb__cut_grid *grid; /* see qb__cut.grid */
    size_t view0;             /* first of the `views`, in the whole scan */
    qb__layers layers;        /* slabs consist of whole layers if possible */
    size_t most;              /* largest slab thickness to try */
    /* the thickness of slabs is a multiple of this number of slices, even if layers are divided; 0 = 1 */
    size_t grain;
    size_t bundle; /* number of views that are counted as one; 0 = 1 */
    /* The next smaller thickness to try after `thickness`; 0 = none. */
    size_t (*thinner)(const qb__cut_space *space, size_t thickness);
    /* Views per block to try after `before` (0: the first); 0 = none; the cut's slabs and slots are set. NULL: only all
     * views at once. */
    size_t (*views_after)(const void *engine, const qb__cut *cut, size_t before);
    unsigned schedule; /* the first order of slabs to try, which needs the least memory */
    /* The next order to try after the cut's, whose slabs slabs() was given; 0 = none. NULL: none. */
    unsigned (*schedule_after)(const void *engine, const qb__cut *cut);
    const void *engine;
    bool views_stream; /* blocks of views pass through the pipeline one by one */
    qb__room cap;
    /* The slabs of a new cut, as from qb__cut_edges; a schedule may join some. NULL = not needed. */
    void (*slabs)(void *context, qb__cut *cut, size_t *edge);
    qb__room (*need)(void *context, const qb__cut *cut);
    /* Forecast seconds of a cut; the fastest cut that fits is taken. NULL: the first one that fits. */
    double (*seconds)(void *context, const qb__cut *cut);
    void *context;
};

/* QB_OK with the cut and whether it fits; if none fits, *cut is the one that needs least. QB_NO_MEMORY for the search
 * itself. */
qb_status qb__cut_search(const qb__cut_space *space, qb__cut *cut, bool *fits);
/* The next smaller cut, if a forecast was wrong: the first schedule, then fewer slices, then one buffer, then fewer
 * views. False if it cannot become smaller. */
bool qb__cut_less(const qb__cut_space *space, qb__cut *cut);
/* The limits of the slabs: edge[0] = space->first .. edge[slabs] = first + slices, with room for slices + 2. Sets the
 * number of slabs and the slices of the thickest one, and calls slabs(). */
void qb__cut_edges(const qb__cut_space *space, size_t *edge, qb__cut *cut);

/* Set the views per block. */
void qb__cut_views(const qb__cut_space *space, size_t views, qb__cut *cut);

/* Convert `count` views in the units of the space to views of the scan. */
static inline size_t qb__cut_bundled(const qb__cut_space *space, size_t count) {
    return space->bundle ? count * space->bundle : count;
}

/* Make a chunk for each slab: all of it, or this rank's part if columns of ranks share its sum. */
void qb__cut_chunks(const qb__cut *cut, const size_t *edge, qb__chunks *chunks);

/* Divide `slices` into even slabs, or into two: slices of the last slab. */
size_t qb__cut_last(const qb__cut *cut, size_t slices);

/* ---- ranks ---- */

/* Rank `rank` of `ranks` has slices *first .. *first + *count - 1 of `slices`: whole grains of `grain`, as many as the
 * other ranks or one fewer. If there are more ranks than grains, the last ranks have none. */
void qb__cut_rank(size_t slices, size_t grain, int ranks, int rank, size_t *first, size_t *count);
/* The run of a slab's `slices` whose sum this rank's column has; all slices without a grid. */
qb__run qb__cut_column(const qb__cut_grid *grid, size_t slices);
/* The limits edge[0] .. edge[slabs] of the slabs of a row of ranks, in the whole volume; the last ones are empty if the
 * row has fewer than `slabs`. Room for qb__cut_room(). Returns the number of its own slabs. */
size_t qb__cut_row(const qb__cut_grid *grid, int row, size_t thickness, size_t slabs, size_t *edge);
/* The largest number of slices of a row of ranks; the largest number of limits of any cut of a row. */
size_t qb__cut_tallest(const qb__cut_grid *grid);
static inline size_t qb__cut_room(const qb__cut_grid *grid) { return qb__cut_tallest(grid) + 3; }
/* The rank that has a slice. */
int qb__cut_owner(size_t slices, size_t grain, int ranks, size_t slice);

/* ---- orders of smaller thickness ---- */

/* Slabs of equal thickness, as few as possible. */
size_t qb__thinner_even(const qb__cut_space *space, size_t thickness);
/* Whole layers, then parts of a layer. */
size_t qb__thinner_layers(const qb__cut_space *space, size_t thickness);
/* Half as many layers each time. */
size_t qb__thinner_half(const qb__cut_space *space, size_t thickness);
/* All slices together, then single layers. */
size_t qb__thinner_single(const qb__cut_space *space, size_t thickness);
/* All slices together only, because their voxels depend on each other. */
size_t qb__thinner_never(const qb__cut_space *space, size_t thickness);

/* The layers of a part of the slices: `slices` of them from `first` on. */
qb__layers qb__layers_from(const qb__layers *layers, size_t first, size_t slices);

/* Divide nz slices into slabs of at most `thickness`, counted from the beginning of the layers; a multiple of the
 * layers' thickness divides no layer. cut[0] = 0 .. cut[n] = nz, room for nz + 2; returns n. */
size_t qb__cut_slabs(const qb__layers *layers, size_t nz, size_t thickness, size_t *cut);
/* The next smaller thickness to try, 0 after 1: whole layers, then parts of a layer. */
size_t qb__thinner_slab(const qb__layers *layers, size_t nz, size_t thickness);

/* Detector rows first <= row < end; first = end if a slab misses the detector. */
typedef struct qb__rows {
    size_t first, end;
} qb__rows;

/* The problem: matrices on voxel indices (qb__matrices_on_grid), row by row, with w > 0 in the whole grid of nx x ny
 * voxels per slice. */
typedef struct qb__rows_problem {
    size_t views;
    const double (*matrix)[12]; /* [views] */
    size_t nx, ny, rows;
} qb__rows_problem;

/* The rows that linear interpolation reads for the slices z0 <= iz < z1, over all views. The image of a box in front of
 * the source is the convex hull of its corners' images, so these limits are exact. */
qb__rows qb__rows_of_slab(const qb__rows_problem *problem, size_t z0, size_t z1);

/* The same in two steps, for several slabs that begin or end with the same slices: the limits of the image of a slice,
 * in rows, over all views; and the rows of a slab from its first and its last slice. */
typedef struct qb__reach {
    double low, high;
} qb__reach;
qb__reach qb__reach_of_slice(const qb__rows_problem *problem, size_t z);
qb__rows qb__rows_between(const qb__rows_problem *problem, qb__reach first, qb__reach last);
/* Share of this range that reads marked rows by linear interpolation; 0 if it misses the detector. */
double qb__reach_share(qb__reach reach, const bool *marked, size_t rows);
