/* SPDX-License-Identifier: MIT */
/* Cone-beam back-projection for exactly circular orbits, as bp_cone_circular.cl, but the part of a view that a tile of
 * voxels needs is first copied to local (shared) memory, where unaligned reads cost nothing.
 *
 * A group owns a tile of TILE_X x TILE_Y lines of 32 * STEPS voxels, with the lanes of a warp above each other, in
 * WARPS warps. AHEAD more warps work up to STAGES views ahead, in turns: they start the copies of the box of cells that
 * the tile's voxels read, and compute what the voxels of a line have in common. In the images and in a box, the even
 * rows of a column come first, then the odd ones: a voxel reads one of each, and lanes up to two rows apart use
 * different banks. On CUDA from compute capability 8.0 on, both sides wait for each other stage by stage, and from 9.0
 * on, with BULK, the hardware copies columns; elsewhere all warps meet at a barrier per view, and one view is prepared
 * ahead.
 *
 * Half floats are interpolated and summed over the TURNS of a base view two at a time, before they become floats: with
 * mirrored rows the two values of a word belong together in each turn.
 *
 * ROWS, BOX: largest numbers of rows and columns of a box (bp_cone_circular_sizes.c); half of ROWS is 4 more than a
 * multiple of 8, so that even and odd rows are written to different banks. RING: number of cells of a ring buffer for
 * boxes of the size that each view needs, instead of STAGES boxes of the largest size; 0: no ring. */
#ifndef STAGES
#define STAGES 3
#endif
#ifndef WARPS
#define WARPS 8 /* warps that own voxels */
#endif
#ifndef AHEAD
#define AHEAD 2 /* warps that work ahead */
#endif
#ifndef BULK
#define BULK 0
#endif
#ifndef ROWS
#define ROWS 56
#endif
#ifndef BOX
#define BOX 16
#endif
#ifndef RING
#define RING 0 /* needs STAGED */
#endif
#ifndef EACH_ARRIVES
#define EACH_ARRIVES                                                                                                   \
    0 /* every lane waits at barriers, instead of one lane per warp: for tools that check barriers per lane */
#endif
#include "bp_cone_circular.clh"

#define TILE_X (WARPS * COLUMNS == 16 ? 4 : 8)
#define TILE_Y (WARPS * COLUMNS / TILE_X)
#define TILE_Z (32 * STEPS)
#define LINES (TILE_X * TILE_Y)
#define ODD (ROWS / 2) /* start of the odd rows of a column */
#define ADD_WORDS (BY_WORDS && SIDES == 2)

/* ---- copies and synchronisation ---- */

#if QB_CUDA && __CUDA_ARCH__ >= 800
#define STAGED 1
#define EMPTY_COUNT (EACH_ARRIVES ? 32 * WARPS : WARPS)
#if BULK
#define TRY "try_wait"
#define FULL_COUNT (EACH_ARRIVES ? 32 : 1)
#else
#define TRY "test_wait"
#define FULL_COUNT 64
#endif

FUNCTION uint local_address(const void *p) { return (uint)__cvta_generic_to_shared(p); }

FUNCTION void barrier_init(const ulong *barrier, uint count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(local_address(barrier)), "r"(count) : "memory");
}

FUNCTION void barrier_arrive(const ulong *barrier) {
    asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.shared.b64 t, [%0];\n}" ::"r"(local_address(barrier)) : "memory");
}

FUNCTION void barrier_wait(const ulong *barrier, uint phase) {
    uint done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier." TRY ".parity.shared.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(local_address(barrier)), "r"(phase)
                     : "memory");
    } while (!done);
}

#if BULK
FUNCTION void barrier_expect(const ulong *barrier, uint bytes) {
    asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.expect_tx.shared.b64 t, [%0], %1;\n}" ::"r"(local_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

FUNCTION void copy_cells(CELL *to, const CELL *from, int count, const ulong *full) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     local_address(to)),
                 "l"(from), "r"(count * (int)sizeof(CELL)), "r"(local_address(full))
                 : "memory");
}
#else
FUNCTION void copy_cell(CELL *to, const CELL *from) {
    for (int i = 0; i < (int)sizeof(CELL); i += 16) {
        if (sizeof(CELL) >= 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(local_address(to) + i),
                         "l"((const char *)from + i)
                         : "memory");
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(local_address(to)), "l"(from),
                         "n"(sizeof(CELL) < 16 ? sizeof(CELL) : 4)
                         : "memory");
    }
}
FUNCTION void copies_arrive(const ulong *barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(local_address(barrier)) : "memory");
    barrier_arrive(barrier);
}
#endif
#else
#define STAGED 0
FUNCTION void copy_cell(LOCAL_POINTER CELL *to, GLOBAL const CELL *from) { *to = *from; }
#endif

/* ---- what a tile needs of a view ---- */

/* The box of cells that a tile's voxels read of a view: its first column and row in the images (an even row of the
 * detector), and its size. */
typedef struct qb_view_box {
    int column, row, columns, rows;
    int first; /* first row that is read */
} qb_view_box;

/* A coordinate after rounding, relative to the base without the half. */
FUNCTION int cell_below(float at) { return (int)FLOOR(at + 0.5f); }

FUNCTION void frame(LOCAL_POINTER const qb_tile_view *t, qb_box box, int x0, int y0, int r0,
                    LOCAL_POINTER qb_view_box *b) {
    const qb_visible visible = visible_of(t, box, x0, y0);
    const float far = 0.01f;                          /* larger than rounding errors */
    const int u0 = (int)t->x - 1, v0 = (int)t->y - 1; /* the base in the images */
    const int u_last = u0 + cell_below(fmin(visible.u_most, t->u_high) + far) + 1;
    const int v_first = v0 + cell_below(fmax(visible.v_least, t->v_low) - far);
    const int v_last = v0 + cell_below(fmin(visible.v_most, t->v_high) + far) + 1;
    b->column = u0 + cell_below(fmax(visible.u_least, t->u_low) - far), b->row = v_first - ((v_first + r0) & 1),
    b->first = v_first;
    b->columns = t->kind == QB_OUTSIDE ? 0 : u_last - b->column + 1 < BOX ? u_last - b->column + 1 : BOX;
    b->rows = v_last - b->row + 1 < ROWS ? v_last - b->row + 1 : ROWS;
}

/* Cells of a box from a column's even rows to its odd rows. */
#if RING
#define HALF_OF(b) (((b)->rows + 1) / 2)
#else
#define HALF_OF(b) ODD
#endif

/* Copy by the lanes of a warp. All cells lie in the image, which has a border of zeros. */
#if BULK
FUNCTION void copy_box(const CELL *image, const qb_view_box *b, int r0, int pitch, int lane, CELL *cells,
                       const ulong *full) {
    const int count = (b->rows + 1) / 2, parts = 2 * b->columns;
    const CELL *from = image + (size_t)b->column * (size_t)pitch + ((b->row + (r0 & 1)) >> 1);
    if (lane == 0)
        barrier_expect(full, (uint)(parts * count) * (uint)sizeof(CELL));
    else if (EACH_ARRIVES)
        barrier_arrive(full);
    __syncwarp();
    for (int p = lane; p < parts; p += 32)
        copy_cells(cells + p * HALF_OF(b), from + (size_t)(p / 2) * (size_t)pitch + p % 2 * (pitch / 2), count, full);
}
#else
FUNCTION void copy_box(GLOBAL const CELL *RESTRICT image, LOCAL_POINTER const qb_view_box *b, int r0, int pitch,
                       int lane, LOCAL_POINTER CELL *cells) {
    const int count = (b->rows + 1) / 2, odd = lane / 16;
    GLOBAL const CELL *from =
        image + (size_t)b->column * (size_t)pitch + ((b->row + (r0 & 1)) >> 1) + odd * (pitch / 2);
    for (int c = 0; c < b->columns; c++)
        for (int i = lane % 16; i < count; i += 16)
            copy_cell(cells + (2 * c + odd) * HALF_OF(b) + i, from + (size_t)c * (size_t)pitch + i);
}
#endif

/* What the voxels of a line have in common in a view, in two groups of four numbers: the position along a column in
 * pairs of rows, v + k step from an even row near the tile's middle, with the smallest and largest position in the box;
 * the bits of that even row's cell index minus ROUND_BITS, the weights of the two columns, the bits of HALF_OF. */
FUNCTION void note_line(LOCAL_POINTER const qb_tile_view *t, LOCAL_POINTER const qb_view_box *b, int start, float px,
                        float py, int r0, float scale, LOCAL_POINTER float4 *line) {
    const float r = RECIPROCAL(FMA(t->w[0], px, FMA(t->w[1], py, t->w[2])));
    const float at_v = MUL(FMA(t->v[0], px, FMA(t->v[1], py, t->v[3])), r);
    const float at_u = within(MUL(FMA(t->u[0], px, FMA(t->u[1], py, t->u[2])), r), t->u_low, t->u_high);
    const float weight = MUL(MUL(r, r), scale), tu = at_u + ROUND, fu = at_u - (tu - ROUND) + 0.5f;
    const int u0 = (int)t->x - 1, v0 = (int)t->y - 1, odd = (v0 + r0) & 1, base = v0 - odd;
    const int offset = (int)((uint)AS_INT(tu) - ROUND_BITS) + u0 - b->column;
    /* Lines of the tile outside the grid would read columns outside the box. */
    const int last = b->columns - 2, column = offset < 0 ? 0 : offset < last ? offset : last;
    const int cell = (int)((uint)(start + 2 * column * HALF_OF(b) + (base - b->row) / 2) - ROUND_BITS);
    float left = MUL(weight, 1.0f - fu), right = MUL(weight, fu);
#if ADD_WORDS
    left = AS_FLOAT((int)HALF2_TWICE(left)), right = AS_FLOAT((int)HALF2_TWICE(right));
#endif
    line[0] =
        FLOAT4(MUL(at_v + (0.5f + (float)odd), 0.5f), MUL(MUL(t->v[2], r), 0.5f), MUL((float)(b->first - base), 0.5f),
               MUL((float)(b->row + b->rows - 1 - base), 0.5f) - 0.00390625f);
    line[1] = FLOAT4(AS_FLOAT(cell), left, right, AS_FLOAT(HALF_OF(b)));
}

/* The lines of a tile, one per item. */
FUNCTION void note_lines(LOCAL_POINTER const qb_tile_view *t, LOCAL_POINTER const qb_view_box *b, int start, int r0,
                         float scale, int lane, LOCAL_POINTER float4 *lines) {
    for (int l = lane; l < LINES; l += 32)
        note_line(t, b, start, (float)(l % TILE_X), (float)(l / TILE_X), r0, scale, lines + 2 * l);
}

#if ADD_WORDS
#define SUM uint
#else
#define SUM float
#endif

/* Adds one view to a voxel. */
FUNCTION void add_voxel(LOCAL_POINTER const CELL *cells, float4 p, float4 w, float k, int turn, SUM *sum) {
    const float at = within(FMA(p.y, k, p.x), p.z, p.w);
    const float up = at + ROUND, d = at - (up - ROUND); /* d: distance from the nearest even row, in pairs of rows */
    const float odd = fabs(d) + fabs(d), even = 1.0f - odd;
#if RING
    const int apart = AS_INT(w.w); /* even and odd rows */
#else
    const int apart = ODD;
#endif
    LOCAL_POINTER const CELL *e = cells + (int)((uint)AS_INT(w.x) + (uint)AS_INT(up)),
                             *o = e + (apart + (AS_INT(d) >> 31));
#if ADD_WORDS
    uint a[WORDS], b[WORDS], c[WORDS], f[WORDS];
    words_of(e[0], a), words_of(o[0], b), words_of(e[2 * apart], c), words_of(o[2 * apart], f);
    const uint two_even = HALF2_TWICE(even), two_odd = HALF2_TWICE(odd);
    const uint left = (uint)AS_INT(w.y), right = (uint)AS_INT(w.z);
    const uint ga = HALF2_FMA(left, two_even, 0), gb = HALF2_FMA(left, two_odd, 0);
    const uint gc = HALF2_FMA(right, two_even, 0), gd = HALF2_FMA(right, two_odd, 0);
    UNROLL for (int i = 0; i < WORDS; i++) {
        const int to = VOXEL(2 * i, turn) / 2;
        sum[to] = HALF2_FMA(gd, f[i], HALF2_FMA(gc, c[i], HALF2_FMA(gb, b[i], HALF2_FMA(ga, a[i], sum[to]))));
    }
#else
    float a[VALUES], b[VALUES], c[VALUES], f[VALUES];
    UNPACK(a, e[0]), UNPACK(b, o[0]), UNPACK(c, e[2 * apart]), UNPACK(f, o[2 * apart]);
    const float ga = MUL(w.y, even), gb = MUL(w.y, odd), gc = MUL(w.z, even), gd = MUL(w.z, odd);
    UNROLL for (int i = 0; i < VALUES; i++) {
        const int to = VOXEL(i, turn);
        sum[to] = FMA(gd, f[i], FMA(gc, c[i], FMA(gb, b[i], FMA(ga, a[i], sum[to]))));
    }
#endif
}

#define PARTS (STAGED ? AHEAD : 2) /* STAGED: of the warps that work ahead, else of alternating views */
#if RING                           /* each follows all views, because it must know their boxes */
#define PART(view) (warp - WARPS)
#define PLACE_IN_PART(view) ((view) % VIEWS)
#define VIEW_STEP 1
#elif STAGED
#define PART(view) ((view) % AHEAD)
#define PLACE_IN_PART(view) ((view) / AHEAD % VIEWS)
#define VIEW_STEP AHEAD
#else
#define PART(view) ((view) / VIEWS % PARTS)
#define PLACE_IN_PART(view) ((view) % VIEWS)
#define VIEW_STEP 1
#endif
/* Data that one warp prepares for the others. */
typedef struct qb_ahead {
    qb_tile_view views[PARTS][VIEWS];
    qb_view_box boxes[PARTS][VIEWS];
    float4 lines[STAGES][2 * LINES];
    int columns[STAGES]; /* 0: the tile sees nothing of the view */
#if STAGED
    ulong full[STAGES], empty[STAGES];
#endif
} qb_ahead;

#if STAGED
#define WORKERS_BARRIER() asm volatile("bar.sync 1, %0;" ::"n"(32 * WARPS) : "memory")
#else
#define WORKERS_BARRIER() BARRIER()
#endif

#if RING
/* Position of the next box; and the cells of the view that was last put into stage `lane`. */
typedef struct qb_ring {
    int next, from, end;
} qb_ring;

/* A view's position in the ring, after the previous view or at the beginning; *last: the last view, among those that
 * may still be read, whose cells it overwrites; -1: none. */
FUNCTION int take(qb_ring *ring, int view, int cells, int lane, int *last) {
    const int start = ring->next + cells > RING ? 0 : ring->next, end = start + cells;
    const int there = view - 1 - (view - 1 - lane % STAGES + STAGES) % STAGES;
    const bool meets = lane < STAGES && there >= 0 && ring->from < end && start < ring->end;
    *last = __reduce_max_sync(~0u, meets ? there : -1);
    if (lane == view % STAGES) ring->from = start, ring->end = end;
    ring->next = end;
    return start;
}
#endif

/* Arguments as in bp_cone_circular; `unit`: with half floats, a factor of the weights that keeps the sum over a base
 * view's turns below its largest value. */
KERNEL GROUPS_OF(32 * (WARPS + AHEAD), GROUPS) void bp_cone_circular_local(
    GLOBAL const CELL *RESTRICT images, GLOBAL const float *RESTRICT matrix, GLOBAL const float *RESTRICT scale,
    int base0, int bases, int apart, int columns, int r0, int r1, int pitch, int height, GLOBAL float *RESTRICT out,
    ulong out_at, int nx, int ny, int z0, int z1, int gap0, int gap1, int first, int way, int twice, int back, int k0,
    int k1, int more, float unit LOCAL_DYNAMIC_ARGUMENT(CELL, boxes)) {
    LOCAL_DYNAMIC(CELL, boxes);
    LOCAL_ALIGNED qb_ahead ahead;
    const int item = (int)local_id(0), lane = item % 32, warp = item / 32, total = bases * TURNS;
    const int x0 = (int)group_id(0) * TILE_X, y0 = (int)group_id(1) * TILE_Y;
    const qb_slab slab = slab_of(nx, ny, z0, z1, gap0, gap1, first, way, twice, back);
    const qb_box box = box_of(nx, ny, x0, y0, TILE_X, TILE_Y, TILE_Z, k0, k1);
    const bool whole = box.x1 - x0 == TILE_X && box.y1 - y0 == TILE_Y && box.z1 - box.z0 == TILE_Z;

#define VIEW_OF(view) (&ahead.views[PART(view)][PLACE_IN_PART(view)])
#define BOX_OF(view) (&ahead.boxes[PART(view)][PLACE_IN_PART(view)])
#define IMAGE_OF(view) (images + (ulong)((view) / TURNS) * (ulong)pitch * (ulong)height)
/* The constants of VIEWS views, one per lane. */
#define LOOK(view)                                                                                                     \
    if ((view) + lane * VIEW_STEP < total) {                                                                           \
        const int at = (view) + lane * VIEW_STEP, of = base0 + at / TURNS + at % TURNS * apart;                        \
        look(matrix + 24 * (ulong)of, box, x0, y0, whole, columns, r0, r1, pitch, &ahead.views[PART(view)][lane]);     \
        frame(&ahead.views[PART(view)][lane], box, x0, y0, r0, &ahead.boxes[PART(view)][lane]);                        \
    }
#define NOTE(view, stage, start)                                                                                       \
    ahead.columns[stage] = BOX_OF(view)->columns;                                                                      \
    if (BOX_OF(view)->columns)                                                                                         \
    note_lines(VIEW_OF(view), BOX_OF(view), start, r0, ADD_WORDS ? unit : scale[base0 + (view) / TURNS], lane,         \
               ahead.lines[stage])

#if STAGED
    if (item == 0)
        for (int stage = 0; stage < STAGES; stage++)
            barrier_init(&ahead.full[stage], FULL_COUNT), barrier_init(&ahead.empty[stage], EMPTY_COUNT);
    BARRIER();
    if (warp >= WARPS) {
#if RING
        qb_ring ring = {0, -1, 0};
        for (int view = 0; view < total; view++) {
#else
        for (int view = warp - WARPS; view < total; view += AHEAD) {
#endif
            const int stage = view % STAGES;
            if (PLACE_IN_PART(view) == 0) {
                __syncwarp();
                LOOK(view)
                __syncwarp();
            }
            const qb_view_box *b = BOX_OF(view);
#if RING
            int last;
            const int start = take(&ring, view, 2 * b->columns * HALF_OF(b), lane, &last);
            if (view % AHEAD != warp - WARPS) continue;
            if (last >= 0 && last != view - STAGES) {
                if (view >= STAGES) barrier_wait(&ahead.empty[stage], (uint)(view / STAGES + 1) & 1);
                barrier_wait(&ahead.empty[last % STAGES], (uint)(last / STAGES) & 1);
            } else
#else
            const int start = stage * (BOX * ROWS);
#endif
                if (view >= STAGES)
                barrier_wait(&ahead.empty[stage], (uint)(view / STAGES + 1) & 1);
            NOTE(view, stage, start);
            __syncwarp();
#if BULK
            if (b->columns)
                copy_box(IMAGE_OF(view), b, r0, pitch, lane, boxes + start, &ahead.full[stage]);
            else if (EACH_ARRIVES || lane == 0)
                barrier_arrive(&ahead.full[stage]);
#else
            if (b->columns) copy_box(IMAGE_OF(view), b, r0, pitch, lane, boxes + start);
            copies_arrive(&ahead.full[stage]);
#endif
        }
        return;
    }
#endif

    /* Lanes are voxels above each other, but neighbours in memory lie along x (rotated by a quarter: along y). So sums
     * are exchanged, one value of all voxels at a time, with lanes that are neighbours in memory. */
    LOCAL float exchange[LINES][33];
    out += out_at;
    float sum[COLUMNS][STEPS][VALUES];
#define EACH_SUM(i, n) UNROLL for (int i = 0; i < STEPS; i++) UNROLL for (int n = 0; n < VALUES; n++)
/* An item loads and stores as many sums of each kind as it owns: of one line, from separate slices. */
#define FIND_SLICES                                                                                                    \
    int slice[COLUMNS][STEPS][SIDES];                                                                                  \
    UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int i = 0; i < STEPS; i++)                                    \
        UNROLL for (int s = 0; s < SIDES; s++) slice[c][i][s] = slice_of(slab, box.tile_z + HEIGHT(c) + 32 * i, s);
#define HEIGHT(c) (item / LINES + (c) * (32 / COLUMNS))
#define EACH_PLACE(c, i, n, line, at)                                                                                  \
    const int across = (n) / SIDES % 2, x = across ? own / TILE_Y : own % TILE_X;                                      \
    const int y = across ? own % TILE_Y : own / TILE_X, line = y * TILE_X + x;                                         \
    const LONG where = line_of(slab, x0 + x, y0 + y, (n) / SIDES);                                                     \
    UNROLL for (int c = 0; c < COLUMNS; c++) {                                                                         \
        const LONG at = place_at(slab, slice[c][i][(n) % SIDES], where);
    const int own = item % LINES;
    UNROLL for (int c = 0; c < COLUMNS; c++) EACH_SUM(i, n) sum[c][i][n] = 0.0f;
    if (more) {
        FIND_SLICES
        EACH_SUM(i, n) {
            WORKERS_BARRIER();
            if (warp < WARPS) {
                EACH_PLACE(c, i, n, line, at)
                exchange[line][HEIGHT(c)] = at >= 0 ? out[at] : 0.0f;
            }
        }
        WORKERS_BARRIER();
        UNROLL for (int c = 0; c < COLUMNS; c++) if (warp < WARPS) sum[c][i][n] = exchange[WARPS * c + warp][lane];
    }
}
#if ADD_WORDS
uint words[COLUMNS][STEPS][WORDS];
UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int i = 0; i < STEPS; i++) UNROLL for (int n = 0; n < WORDS; n++)
    words[c][i][n] = 0;
#define SUMS words
#else
#define SUMS sum
#endif

#if !STAGED
#define FETCH(view)                                                                                                    \
    if (warp == WARPS && (view) < total) {                                                                             \
        NOTE(view, (view) % STAGES, (view) % STAGES * (BOX * ROWS));                                                   \
        copy_box(IMAGE_OF(view), BOX_OF(view), r0, pitch, lane, boxes + (view) % STAGES * (BOX * ROWS));               \
    }
if (warp == WARPS) { LOOK(0) }
BARRIER();
for (int view = 0; view < STAGES - 1; view++) { FETCH(view) }
#endif
int stage = 0, phase = 0;
for (int base = 0; base < bases; base++) {
    UNROLL for (int turn = 0; turn < TURNS; turn++) {
#if STAGED
        barrier_wait(&ahead.full[stage], (uint)phase);
#else
        const int view = base * TURNS + turn;
        BARRIER();
        if (warp == WARPS && view % VIEWS == 0) { LOOK(view + VIEWS) }
        FETCH(view + STAGES - 1)
#endif
        if (ahead.columns[stage] && warp < WARPS) {
            UNROLL for (int c = 0; c < COLUMNS; c++) {
                LOCAL_POINTER const float4 *line = ahead.lines[stage] + 2 * (WARPS * c + warp);
                const float4 place = line[0], weights = line[1];
                UNROLL for (int i = 0; i < STEPS; i++)
                    add_voxel(boxes, place, weights, (float)lane + (float)(32 * i), turn, SUMS[c][i]);
            }
        }
#if STAGED
        __syncwarp();
        if (EACH_ARRIVES || lane == 0) barrier_arrive(&ahead.empty[stage]);
#endif
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
#if ADD_WORDS
    const float share = scale[base0 + base] / unit;
    UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int i = 0; i < STEPS; i++)
        UNROLL for (int n = 0; n < WORDS; n++) {
        float two[2];
        UNPACK_HALVES_2(two, words[c][i][n]);
        sum[c][i][2 * n] = FMA(share, two[0], sum[c][i][2 * n]);
        sum[c][i][2 * n + 1] = FMA(share, two[1], sum[c][i][2 * n + 1]);
        words[c][i][n] = 0;
    }
#endif
}
FIND_SLICES
EACH_SUM(i, n) {
    WORKERS_BARRIER();
    UNROLL for (int c = 0; c < COLUMNS; c++) if (warp < WARPS) exchange[WARPS * c + warp][lane] = sum[c][i][n];
    WORKERS_BARRIER();
    if (warp < WARPS) {
        EACH_PLACE(c, i, n, line, at)
        if (at >= 0) out[at] = exchange[line][HEIGHT(c)];
    }
}
}
}
