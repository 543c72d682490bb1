/* SPDX-License-Identifier: MIT */
/* Converts rows to the layout of the families texture, alu, hybrid and direct: packed[group][view][column][slice of the
 * group], float or half. Missing slices are zeros. Half floats are scaled by a power of two per slice; the inverse
 * scales, one float per slice, are at the end of the packed memory.
 *
 * An item packs COLUMNS neighbours of BATCH rows of each slice of a group: it writes whole pieces of 16 bytes, and
 * starts all loads before it uses the first. If rows are not aligned to pieces (`wide` is 0), for the last rows, and
 * for a group with missing slices, neighbouring items take neighbouring columns, row by row. */
#ifndef SLICES
#define SLICES 4 /* slices of a group */
#endif
#ifndef HALF
#define HALF 0
#endif
#define ELEMENTS (HALF ? 8 : 4) /* numbers in a piece of 16 bytes */
#ifndef COLUMNS
#define COLUMNS (SLICES < ELEMENTS ? ELEMENTS / SLICES : 1)
#endif
#ifndef BATCH
#define BATCH 2
#endif
#define LANES 32 /* neighbouring items along a row */
#define BLOCKS 4 /* groups per multiprocessor */
#define ITEMS 256
#define ROWS (ITEMS / LANES) /* rows that a group processes at once */
#define PIECES (COLUMNS * SLICES / ELEMENTS)

#if COLUMNS >= 4
#define LOADED 4
#elif COLUMNS >= 2
#define LOADED 2
#else
#define LOADED 1
#endif
#define LOADED_TYPE JOIN(FLOATS_, LOADED)
#define UNPACK_LOADED JOIN(UNPACK_FLOATS_, LOADED)

#if HALF
#define STORED JOIN(HALVES_, SLICES) /* type of a column in memory */
#define PACK_STORED JOIN(PACK_HALVES_, SLICES)
#define PIECE HALVES_8
#define PACK_PIECE PACK_HALVES_8
#else
#define STORED JOIN(FLOATS_, SLICES)
#define PACK_STORED JOIN(PACK_FLOATS_, SLICES)
#define PIECE FLOATS_4
#define PACK_PIECE PACK_FLOATS_4
#endif

/* Scales of the slices of one launch. */
#define SCALES 64
typedef struct scales {
    float of[SCALES];
} scales;

/* The work of an item: rows of a group's slices, COLUMNS columns from `first` on. */
typedef struct task {
    GLOBAL const float *rows; /* row of the first view */
    GLOBAL STORED *packed;    /* destination of the packed numbers */
    ulong view_stride, slice_stride;
    float factor[SLICES];
    int slices, columns; /* existing slices and columns */
    int first, lane;
} task;

FUNCTION void load(GLOBAL const float *row, float *value) {
    UNROLL for (int c = 0; c < COLUMNS; c += LOADED) UNPACK_LOADED(value + c, *(GLOBAL const LOADED_TYPE *)(row + c));
}

FUNCTION void store(const task *t, GLOBAL STORED *row, float value[SLICES][COLUMNS]) {
    UNROLL for (int p = 0; p < PIECES; p++) {
        float v[ELEMENTS];
        UNROLL for (int e = 0; e < ELEMENTS; e++) {
            const int s = (p * ELEMENTS + e) % SLICES, c = (p * ELEMENTS + e) / SLICES;
            v[e] = HALF ? value[s][c] * t->factor[s] : value[s][c];
        }
        ((GLOBAL PIECE *)row)[p] = PACK_PIECE(v);
    }
}

/* The rows v, v + ROWS, ...: without conditions, so that all loads start before the first store. */
FUNCTION void pack_rows(const task *t, int v) {
    const int column = t->first + t->lane * COLUMNS;
    float value[BATCH][SLICES][COLUMNS];
    if (column >= t->columns) return;
    UNROLL for (int i = 0; i < BATCH; i++) {
        GLOBAL const float *row = t->rows + (ulong)(v + i * ROWS) * t->view_stride + (ulong)column;
        UNROLL for (int s = 0; s < SLICES; s++) load(row + (ulong)s * t->slice_stride, value[i][s]);
    }
    UNROLL for (int i = 0; i < BATCH; i++)
        store(t, t->packed + ((ulong)(v + i * ROWS) * (ulong)t->columns + (ulong)column), value[i]);
}

/* Row v, as far as it exists. */
FUNCTION void pack_row(const task *t, int v) {
    float value[COLUMNS][SLICES];
    GLOBAL const float *row = t->rows + (ulong)v * t->view_stride;
    GLOBAL STORED *to = t->packed + (ulong)v * (ulong)t->columns;
    UNROLL for (int c = 0; c < COLUMNS; c++) UNROLL for (int s = 0; s < SLICES; s++) {
        const int column = t->first + c * LANES + t->lane;
        const int there = column < t->columns && s < t->slices;
        value[c][s] = there ? row[(ulong)s * t->slice_stride + (ulong)column] * t->factor[s] : 0.0f;
    }
    UNROLL for (int c = 0; c < COLUMNS; c++) {
        const int column = t->first + c * LANES + t->lane;
        if (column < t->columns) to[column] = PACK_STORED(value[c]);
    }
}

/* The row of view view0 + v and slice s begins at offset + v * view_stride + s * slice_stride floats. Groups: x over
 * columns, y over views, z over the groups of slices from `group0`. undo: the packed memory, with the inverse scales
 * from undo_at on. wide: columns are a multiple of COLUMNS, and rows begin at multiples of LOADED floats. */
KERNEL GROUPS_OF(ITEMS, BLOCKS) void bp_parallel_pack(GLOBAL const float *RESTRICT rows, ulong offset,
                                                      ulong view_stride, ulong slice_stride, int columns, int views,
                                                      int view0, int view1, int group0, int slices, const scales scale,
                                                      int wide, GLOBAL STORED *RESTRICT packed,
                                                      GLOBAL float *RESTRICT undo, ulong undo_at) {
    const int row = (int)(local_id(0) / LANES), there = view1 - view0;
    const int group = group0 + (int)group_id(2), step = (int)group_count(1) * ROWS * BATCH;
    task t;
    t.rows = rows + offset + (ulong)(group * SLICES) * slice_stride;
    t.packed = packed + ((ulong)group * (ulong)views + (ulong)view0) * (ulong)columns;
    t.view_stride = view_stride, t.slice_stride = slice_stride;
    t.slices = slices - group * SLICES, t.columns = columns;
    t.first = (int)group_id(0) * LANES * COLUMNS, t.lane = (int)(local_id(0) % LANES);
    UNROLL for (int s = 0; s < SLICES; s++) {
        t.factor[s] = HALF ? scale.of[(int)group_id(2) * SLICES + s] : 1.0f;
        if (HALF && group_id(0) == 0 && group_id(1) == 0 && local_id(0) == 0)
            undo[undo_at + (ulong)(group * SLICES + s)] = 1.0f / t.factor[s];
    }
    for (int v = (int)group_id(1) * ROWS * BATCH + row; v < there; v += step) {
        if (wide && t.slices >= SLICES && v + (BATCH - 1) * ROWS < there)
            pack_rows(&t, v);
        else
            for (int i = v; i < there && i < v + BATCH * ROWS; i += ROWS) pack_row(&t, i);
    }
}
