/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PARTITION_H
#define QB_GEOMETRY_PARTITION_H

#include "geometry/chunks.h"
#include "quickbeam/status.h"

/* How a job is cut so that what is in flight fits into memory: the volume into slabs of slices, the
 * scan into blocks of views, each ring of the pipeline into slots. Who is cut says what its cuts
 * hold and how long they take; the search is the same for all. */

typedef struct qb__room {
    size_t host, device; /* bytes; of each device */
    size_t scratch;      /* host bytes of each computing thread */
} qb__room;

/* Slices that a kernel works on together: layers of `thickness` that begin at slice `above` and go
 * up, and ones that end before slice `below` (above or one more) and go down. Thickness 1: any. */
typedef struct qb__layers {
    size_t thickness, above, below;
} qb__layers;

/* Ranks that share slabs and views: those of a row make the same slabs, each of its column's views. */
typedef struct qb__cut_grid {
    int rows, columns, row, column; /* how many; of this rank */
    size_t slices, grain;           /* of the whole volume; as qb__cut_rank's */
    size_t view_grain;              /* of the views that columns share, likewise */
    qb__layers layers;              /* of the whole volume */
} qb__cut_grid;

/* At most 11 fields: what every method needs. What one engine alone needs follows from `schedule`. */
typedef struct qb__cut {
    size_t thickness;         /* slices that slabs are cut to */
    size_t slices, slabs;     /* slices of the thickest slab; number of slabs */
    qb__run all_slices;       /* of the whole volume: those of all slabs */
    size_t views, blocks;     /* views of a block (the last may have fewer); number of blocks */
    qb__run all_views;        /* of the whole scan: those of all blocks */
    const qb__cut_grid *grid; /* NULL: this rank has all views. Else there are as many slabs as in the row of ranks that
                               * has most, the last ones may be empty */
    unsigned slots;           /* buffers in each ring of the pipeline */
    unsigned schedule; /* number of the engine's way through the slabs: space->schedule, or what schedule_after said */
    qb__room need;     /* memory that need() returned */
} qb__cut;

typedef struct qb__cut_space qb__cut_space;
struct qb__cut_space {
    size_t first;             /* slice of the whole volume that this begins with; 0 unless ranks share it */
    size_t slices, views;     /* of the whole job, or of a rank's share */
    const qb__cut_grid *grid; /* as the cut's */
    size_t view0;             /* of the whole scan: where `views` begin */
    qb__layers layers;        /* slabs are whole numbers of these while they can be */
    size_t most;              /* slices of the thickest slab to try */
    size_t grain;             /* slabs are whole numbers of so many slices, also where layers are parted; 0 = 1 */
    size_t bundle;            /* views that belong together are counted as one: so many; 0 = 1 */
    /* The next thickness to try after `thickness`, 0 = none; one of those below. */
    size_t (*thinner)(const qb__cut_space *space, size_t thickness);
    /* Views a block to try after `before` (0: the first), 0 = none; the cut's slabs and slots are set.
     * NULL: all views at once. */
    size_t (*views_after)(const void *engine, const qb__cut *cut, size_t before);
    unsigned schedule; /* the first way through the slabs to try, and the one that holds least */
    /* Another one to try after the cut's, whose slabs slabs() was given; 0 = none. NULL: none. */
    unsigned (*schedule_after)(const void *engine, const qb__cut *cut);
    const void *engine;
    bool views_stream; /* blocks pass the pipeline one by one */
    qb__room cap;
    /* Slabs are cut anew, as qb__cut_edges has them; a schedule may join some. NULL = nobody wants to know. */
    void (*slabs)(void *context, qb__cut *cut, size_t *edge);
    qb__room (*need)(void *context, const qb__cut *cut);
    /* NULL: the first that fits is taken, else the fastest. */
    double (*seconds)(void *context, const qb__cut *cut);
    void *context;
};

/* QB_OK with the cut and whether it fits; when nothing does, *cut is what needs least.
 * QB_NO_MEMORY when there is none for looking. */
qb_status qb__cut_search(const qb__cut_space *space, qb__cut *cut, bool *fits);
/* The next smaller cut, for when a forecast was wrong: the first schedule, then fewer slices, then one buffer, then fewer
 * views. False when nothing is left to take away. */
bool qb__cut_less(const qb__cut_space *space, qb__cut *cut);
/* Where the slabs begin, edge[0] = space->first .. edge[slabs] = first + slices, room for slices + 2; sets
 * how many there are and the thickest one's slices, and tells slabs(). */
void qb__cut_edges(const qb__cut_space *space, size_t *edge, qb__cut *cut);

/* So many views a block. */
void qb__cut_views(const qb__cut_space *space, size_t views, qb__cut *cut);

/* `count` views as the space counts them, in views of the scan. */
static inline size_t qb__cut_bundled(const qb__cut_space *space, size_t count) {
    return space->bundle ? count * space->bundle : count;
}

/* A chunk for each slab: all of it or, where columns of ranks share its sum, this rank's part. */
void qb__cut_chunks(const qb__cut *cut, const size_t *edge, qb__chunks *chunks);

/* Of `slices` in even slabs, or in two: those of the last one. */
size_t qb__cut_last(const qb__cut *cut, size_t slices);

/* ---- ranks ---- */

/* Rank `rank` of `ranks` has slices *first .. *first + *count - 1 of `slices`: whole grains of `grain`, as many
 * as the others' or one fewer; the last ranks have none where there are more than grains. */
void qb__cut_rank(size_t slices, size_t grain, int ranks, int rank, size_t *first, size_t *count);
/* Of a slab's `slices` the run that this rank's column has the sum of; all without a grid. */
qb__run qb__cut_column(const qb__cut_grid *grid, size_t slices);
/* Where the slabs of a row of ranks begin, edge[0] .. edge[slabs], of the whole volume; the last ones are empty where
 * it has fewer than `slabs`. Room for qb__cut_room(). Returns how many are its own. */
size_t qb__cut_row(const qb__cut_grid *grid, int row, size_t thickness, size_t slabs, size_t *edge);
/* The most slices of a row of ranks; edges that any cut of a row's may have. */
size_t qb__cut_tallest(const qb__cut_grid *grid);
static inline size_t qb__cut_room(const qb__cut_grid *grid) { return qb__cut_tallest(grid) + 3; }
/* The rank that has a slice. */
int qb__cut_owner(size_t slices, size_t grain, int ranks, size_t slice);

/* ---- ways to become thinner ---- */

/* Slabs of equal thickness, as few as need be. */
size_t qb__thinner_even(const qb__cut_space *space, size_t thickness);
/* Whole layers, then parts of one. */
size_t qb__thinner_layers(const qb__cut_space *space, size_t thickness);
/* Half as many layers. */
size_t qb__thinner_half(const qb__cut_space *space, size_t thickness);
/* All slices, then single layers. */
size_t qb__thinner_single(const qb__cut_space *space, size_t thickness);
/* All slices at once: their voxels depend on each other. */
size_t qb__thinner_never(const qb__cut_space *space, size_t thickness);

/* The layers of a part of the slices: `slices` of them from `first` on. */
qb__layers qb__layers_from(const qb__layers *layers, size_t first, size_t slices);

/* Cut nz slices into slabs of at most `thickness`, counted from the layers' beginning: with a
 * multiple of theirs no layer is cut in two. cut[0] = 0 .. cut[n] = nz, room for nz + 2; returns n.
 */
size_t qb__cut_slabs(const qb__layers *layers, size_t nz, size_t thickness, size_t *cut);
/* The next smaller thickness to try, 0 after 1: whole layers, then parts of one. */
size_t qb__thinner_slab(const qb__layers *layers, size_t nz, size_t thickness);

#endif
