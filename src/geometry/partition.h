/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PARTITION_H
#define QB_GEOMETRY_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* How a job is cut so that what is in flight fits into memory: the volume into slabs of slices, the
 * scan into blocks of views, each ring of the pipeline into slots. Who is cut says what its cuts
 * hold and how long they take; the search is the same for all. */

typedef struct qb__room {
    size_t host, device; /* bytes, of each device */
} qb__room;

typedef struct qb__cut {
    size_t thickness;     /* what slabs are cut to */
    size_t slices, slabs; /* of the thickest slab; how many there are */
    size_t views, blocks; /* of a block but for the last; how many there are */
    unsigned slots;       /* buffers in each ring of the pipeline */
    size_t parts;         /* devices that share each slab's slices */
    size_t ranks[2];      /* R x C of a cluster: groups that share the views, ranks of each */
    qb__room need;        /* what need() said */
    double seconds;       /* what seconds() said; 0 where nobody was asked */
} qb__cut;

/* Slices that a kernel works on together: layers of `thickness` that begin at slice `above` and go
 * up, and ones that end before slice `below` (above or one more) and go down. Thickness 1: any. */
typedef struct qb__layers {
    size_t thickness, above, below;
} qb__layers;

typedef struct qb__cut_space qb__cut_space;
struct qb__cut_space {
    size_t slices, views; /* of the whole job */
    qb__layers layers;    /* slabs are whole numbers of these while they can be */
    size_t most;          /* slices of the thickest slab to try */
    size_t parts;         /* as the cut's; 0 = 1 */
    /* The next thickness to try after `thickness`, 0 = none; one of those below. */
    size_t (*thinner)(const qb__cut_space *space, size_t thickness);
    /* Views a block to try after `before` (0: the first), 0 = none; the cut's slabs and slots are set.
     * NULL: all views at once. */
    size_t (*views_after)(const void *engine, const qb__cut *cut, size_t before);
    const void *engine;
    bool views_stream;    /* blocks pass the pipeline one by one */
    qb__room cap;
    /* Slabs are cut anew, at edge[0] = 0 .. edge[slabs]; NULL = nobody wants to know. */
    void (*slabs)(void *context, const qb__cut *cut, const size_t *edge);
    qb__room (*need)(void *context, const qb__cut *cut);
    /* NULL: the first that fits is taken, else the fastest. */
    double (*seconds)(void *context, const qb__cut *cut);
    void *context;
};

/* QB_OK with the cut and whether it fits; when nothing does, *cut is what needs least.
 * QB_NO_MEMORY when there is none for looking. */
qb_status qb__cut_search(const qb__cut_space *space, qb__cut *cut, bool *fits);
/* The next smaller cut, for when a forecast was wrong: fewer slices, then one buffer, then fewer
 * views. False when nothing is left to take away. */
bool qb__cut_less(const qb__cut_space *space, qb__cut *cut);
/* Where the slabs begin, edge[0] = 0 .. edge[slabs] = slices, room for slices + 2; sets how many
 * there are and the thickest one's slices, and tells slabs(). */
void qb__cut_edges(const qb__cut_space *space, size_t *edge, qb__cut *cut);

/* Of `slices` in even slabs, or in two: those of the last one. */
size_t qb__cut_last(const qb__cut *cut, size_t slices);

/* ---- ways to become thinner ---- */

/* Slabs of equal thickness, as few as need be. */
size_t qb__thinner_even(const qb__cut_space *space, size_t thickness);
/* Whole layers, then parts of one. */
size_t qb__thinner_layers(const qb__cut_space *space, size_t thickness);
/* Half as many layers. */
size_t qb__thinner_half(const qb__cut_space *space, size_t thickness);
/* All slices, then single layers. */
size_t qb__thinner_single(const qb__cut_space *space, size_t thickness);

/* Cut nz slices into slabs of at most `thickness`, counted from the layers' beginning: with a
 * multiple of theirs no layer is cut in two. cut[0] = 0 .. cut[n] = nz, room for nz + 2; returns n.
 */
size_t qb__cut_slabs(const qb__layers *layers, size_t nz, size_t thickness, size_t *cut);
/* The next smaller thickness to try, 0 after 1: whole layers, then parts of one. */
size_t qb__thinner_slab(const qb__layers *layers, size_t nz, size_t thickness);

#endif
