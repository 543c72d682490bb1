/* SPDX-License-Identifier: MIT */
/* Plain rows -> the layout of the families texture, alu, hybrid and direct:
 * packed[group][view][column][slice of the group], float or half. Slices beyond the last are zeros.
 * Halves are scaled by a power of two per slice; the end of the packed memory keeps what undoes it,
 * one float a slice.
 *
 * An item packs COLUMNS neighbours of BATCH rows of each slice of a group: whole pieces of 16 bytes
 * to write, and all it reads is under way before the first is used. Where rows do not begin at
 * whole pieces (`wide` is 0), neighbouring items take neighbouring columns, one at a time. */
#ifndef SLICES
#define SLICES 4 /* of a group */
#endif
#ifndef HALF
#define HALF 0
#endif
#define ELEMENTS (HALF ? 8 : 4) /* of a piece of 16 bytes */
#ifndef COLUMNS
#define COLUMNS (SLICES < ELEMENTS ? ELEMENTS / SLICES : 1)
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef LANES
#define LANES 32 /* items side by side along a row */
#endif
#ifndef STREAM
#define STREAM 0 /* bits: 1 what is read, 2 what is written is not kept in caches */
#endif

#define ITEMS 256
#define ROWS (ITEMS / LANES) /* that a group has at once */
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
#define STORED JOIN(HALVES_, SLICES) /* of a column */
#define PACK_STORED JOIN(PACK_HALVES_, SLICES)
#define PIECE HALVES_8
#define PACK_PIECE PACK_HALVES_8
#else
#define STORED JOIN(FLOATS_, SLICES)
#define PACK_STORED JOIN(PACK_FLOATS_, SLICES)
#define PIECE FLOATS_4
#define PACK_PIECE PACK_FLOATS_4
#endif

#if STREAM & 1
#define READ(pointer) READ_ONCE(pointer)
#else
#define READ(pointer) (*(pointer))
#endif
#if STREAM & 2
#define WRITE(pointer, value) WRITE_ONCE(pointer, value)
#else
#define WRITE(pointer, value) (*(pointer) = (value))
#endif

/* Scales of the slices of one launch. */
#define SCALES 64
typedef struct scales {
    float of[SCALES];
} scales;

/* What an item does: rows of a group's slices, from `column` on. */
typedef struct task {
    GLOBAL const float *rows; /* of the first view */
    ulong view_stride, slice_at[SLICES];
    float factor[SLICES];
    int slices; /* that exist, 1 or more */
    int column, columns, views;
} task;

FUNCTION void load(const task *t, GLOBAL const float *row, float *value, int wide) {
    row += t->column;
    if (wide) {
        UNROLL for (int c = 0; c < COLUMNS; c += LOADED)
            UNPACK_LOADED(value + c, READ((GLOBAL const LOADED_TYPE *)(row + c)));
        return;
    }
    const int last = t->columns - 1 - t->column;
    UNROLL for (int c = 0; c < COLUMNS; c++) value[c] =
        READ(row + (c * LANES < last ? c * LANES : last));
}

/* Element e of those that are stored one after the other. */
FUNCTION float element(const task *t, float value[SLICES][COLUMNS], int e) {
    const int s = e % SLICES;
    if (s >= t->slices) return 0.0f;
    return HALF ? value[s][e / SLICES] * t->factor[s] : value[s][e / SLICES];
}

FUNCTION void store(const task *t, GLOBAL STORED *row, float value[SLICES][COLUMNS], int wide) {
    float v[PIECES * ELEMENTS];
    UNROLL for (int e = 0; e < PIECES * ELEMENTS; e++) v[e] = element(t, value, e);
    row += t->column;
    if (wide) {
        UNROLL for (int p = 0; p < PIECES; p++)
            WRITE((GLOBAL PIECE *)row + p, PACK_PIECE(v + p * ELEMENTS));
        return;
    }
    UNROLL for (int c = 0; c < COLUMNS; c++) if (t->column + c * LANES < t->columns)
        row[c * LANES] = PACK_STORED(v + c * SLICES);
}

/* The rows first, first + ROWS, ... of the task's views. Loads of rows that there are not become
 * loads of the last: without conditions all of them leave at once. */
FUNCTION void pack(const task *t, int first, GLOBAL STORED *packed, int wide) {
    float value[BATCH][SLICES][COLUMNS];
    UNROLL for (int i = 0; i < BATCH; i++) {
        const int v = first + i * ROWS, last = t->views - 1;
        GLOBAL const float *row = t->rows + (ulong)(v < last ? v : last) * t->view_stride;
        UNROLL for (int s = 0; s < SLICES; s++) load(t, row + t->slice_at[s], value[i][s], wide);
    }
    UNROLL for (int i = 0; i < BATCH; i++) {
        const int v = first + i * ROWS;
        if (v < t->views) store(t, packed + (ulong)v * (ulong)t->columns, value[i], wide);
    }
}

/* The row of view view0 + v and slice s begins at offset + v * view_stride + s * slice_stride
 * floats. Groups: x over columns, y over views, z over the groups of slices from `group0`. undo:
 * the packed memory again, the factors from undo_at on. wide: columns are a multiple of COLUMNS,
 * and rows begin at multiples of LOADED floats. */
KERNEL GROUPS_OF(ITEMS, 1) void bp_parallel_pack(GLOBAL const float *RESTRICT rows, ulong offset,
                                                 ulong view_stride, ulong slice_stride, int columns,
                                                 int views, int view0, int view1, int group0,
                                                 int slices, const scales scale, int wide,
                                                 GLOBAL STORED *RESTRICT packed,
                                                 GLOBAL float *RESTRICT undo, ulong undo_at) {
    const int lane = (int)(local_id(0) % LANES), row = (int)(local_id(0) / LANES);
    const int group = group0 + (int)group_id(2), step = (int)group_count(1) * ROWS * BATCH;
    task t;
    t.rows = rows + offset + (ulong)(group * SLICES) * slice_stride;
    t.view_stride = view_stride, t.slices = slices - group * SLICES;
    t.columns = columns, t.views = view1 - view0;
    t.column = (int)group_id(0) * LANES * COLUMNS + lane * (wide ? COLUMNS : 1);
    UNROLL for (int s = 0; s < SLICES; s++) {
        t.slice_at[s] = (ulong)(s < t.slices ? s : t.slices - 1) * slice_stride;
        t.factor[s] = HALF ? scale.of[(int)group_id(2) * SLICES + s] : 1.0f;
        if (HALF && t.column == 0 && group_id(1) == 0 && row == 0)
            undo[undo_at + (ulong)(group * SLICES + s)] = 1.0f / t.factor[s];
    }
    if (t.column >= columns) return;
    packed += ((ulong)group * (ulong)views + (ulong)view0) * (ulong)columns;
    for (int v = (int)group_id(1) * ROWS * BATCH + row; v < t.views; v += step) {
        if (wide)
            pack(&t, v, packed, 1);
        else
            pack(&t, v, packed, 0);
    }
}
