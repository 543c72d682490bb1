/* SPDX-License-Identifier: MIT */
/* Cells of bp_parallel_square.h that are columns: one slice with the bits of bp_parallel_float.h, which spends a vector
 * on each pixel of it. Coordinates, weights and the order of sums are the same.
 *
 * The including file supplies
 *   cells_of()    the upper halves of the steps, plus the carry of the lower halves, whose sums are given
 *   weight_of()   weights of the next columns from the lower halves, as cells_fill() makes them */

INLINE whole cells_of(const steps *s, whole low);
INLINE vector weight_of(whole low);

INLINE size_t array_count(void) { return 1; }

INLINE void steps_fill(steps *out, int64_t a) {
    for (int i = 0; i < WIDTH; i++) {
        const int64_t step = a * (a < 0 ? i - (WIDTH - 1) : i);
        out->low[i] = (uint32_t)step;
        out->high[i] = (int32_t)(step >> 32);
    }
}

INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high) {
    whole_store(out->rest, rows_split(out->cell, q, b, low, high));
}

INLINE whole low_of(const rows *t, int row) {
    int32_t rest;
    memcpy(&rest, &t->rest[row], sizeof rest);
    return whole_add(whole_load(t->view->steps.low), whole_set1(rest));
}

INLINE vector add_both(vector sum, vector after, vector column, vector next) {
    sum = vector_fma(vector_sub(vector_set1(1.0f), after), column, sum);
    return vector_fma(after, next, sum);
}

INLINE vector row_narrow(vector sum, const rows *t, int row) {
    const whole low = low_of(t, row), cell = cells_of(&t->view->steps, low);
    const float *at = t->view->cells + t->cell[row];
    return add_both(sum, weight_of(low), window(cell, at), window(cell, at + 1));
}

INLINE vector row_wide(vector sum, const rows *t, int row, int32_t last) {
    const whole low = low_of(t, row), cell = whole_add(cells_of(&t->view->steps, low), whole_set1(t->cell[row]));
    const float *at = t->view->cells;
    return add_both(sum, weight_of(low), gather(cell, last, at), gather(whole_add(cell, whole_set1(1)), last, at));
}

static void one_pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                     const float *row, size_t row_stride, void *block) {
    (void)view, (void)lanes, (void)slices, (void)row_stride;
    const size_t columns = problem->columns, cells = cell_count(columns);
    float *to = block;
    memset(to, 0, GUARD * sizeof *to);
    memcpy(to + GUARD, row, columns * sizeof *to);
    memset(to + GUARD + columns, 0, (cells - GUARD - columns) * sizeof *to);
}

/* Not in the table of variants: a variant with many lanes names it for single slices. */
#define ONE_VARIANT(name, listed_speed) SQUARE_VARIANT(name, listed_speed, one_pack, NULL)
