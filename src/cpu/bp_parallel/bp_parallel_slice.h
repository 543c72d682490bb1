/* SPDX-License-Identifier: MIT */
/* Cells of bp_parallel_square.h between column centres, in the least arithmetic.
 *
 * A view's block holds two arrays for the cells k = [k, k + 1]: the mean m = (P[k] + P[k + 1]) / 2 and the difference
 * d = P[k + 1] - P[k]. With r = h - 1/2, cell k = round(r) and P(h) = m[k] + (r - k) d[k]: rounding to nearest gives the
 * cell and the remainder.
 *
 * The including file supplies
 *   rest_of()      (r, r + ROUND) -> r - round(r)
 *   cells_of()     the bits of r + ROUND
 *   rounded()      r as integers
 *   twenty_bits()  the upper bits of a fraction, as floats */

/* Adding it leaves the rounded number in the low bits, ties to even. */
#define ROUND 0x1.8p23f

INLINE vector rest_of(vector r, vector named);
INLINE whole cells_of(vector named);
INLINE whole rounded(vector r);
INLINE vector twenty_bits(whole fraction);

INLINE size_t array_count(void) { return 2; }

INLINE void steps_fill(steps *out, int64_t a) {
    const float step = (float)((double)a * 0x1p-32);
    for (int i = 0; i < WIDTH; i++) out->columns[i] = step * (float)(step < 0 ? i - (WIDTH - 1) : i);
}

/* Twenty bits: with more bits, r could round up to the next window. */
INLINE void rows_fill(rows *out, int64_t q, int64_t b, int32_t low, int32_t high) {
    const whole fraction = rows_split(out->cell, q, b, low, high);
    vector_store(out->rest, vector_fma(twenty_bits(fraction), vector_set1(0x1p-20f), vector_set1(-0.5f)));
}

INLINE vector row_narrow(vector sum, const rows *t, int row) {
    const float *middle = t->view->cells + t->cell[row], *difference = middle + t->view->apart;
    const vector r = vector_add(vector_load(t->view->steps.columns), vector_set1(t->rest[row]));
    const vector named = vector_add(r, vector_set1(ROUND));
    sum = vector_add(sum, window(cells_of(named), middle));
    return vector_fma(rest_of(r, named), window(cells_of(named), difference), sum);
}

INLINE vector row_wide(vector sum, const rows *t, int row, int32_t last) {
    const vector r = vector_add(vector_load(t->view->steps.columns), vector_set1(t->rest[row]));
    const whole cell = whole_add(rounded(r), whole_set1(t->cell[row]));
    sum = vector_add(sum, gather(cell, last, t->view->cells));
    return vector_fma(rest_of(r, vector_add(r, vector_set1(ROUND))),
                      gather(cell, last, t->view->cells + t->view->apart), sum);
}

static void slice_pack(const qb__bp_parallel_problem *problem, size_t view, unsigned lanes, unsigned slices,
                       const float *row, size_t row_stride, void *block) {
    (void)view, (void)lanes, (void)slices, (void)row_stride;
    const size_t columns = problem->columns, cells = cell_count(columns);
    float *middle = block, *difference = middle + cells;
    memset(middle, 0, 2 * cells * sizeof(float));
    middle += GUARD, difference += GUARD;
    middle[-1] = 0.5f * row[0];
    difference[-1] = row[0];
    for (size_t k = 0; k + 1 < columns; k++) {
        middle[k] = 0.5f * (row[k] + row[k + 1]);
        difference[k] = row[k + 1] - row[k];
    }
    middle[columns - 1] = 0.5f * row[columns - 1];
    difference[columns - 1] = -row[columns - 1];
}

/* Single-precision steps are accurate while a vector spans at most a few hundred columns. */
static const char *slice_unusable(const struct qb__device_info *device, const void *of, const int *values) {
    const qb__bp_parallel_problem *problem = of;
    (void)device, (void)values;
    if (problem->columns >= 1u << 28) return "rows of 2^28 columns and more are too long for it";
    for (size_t v = 0; v < problem->views; v++)
        if (fabs(problem->ax[v]) > 16.0) return "a pixel is wider than 16 columns";
    return qb__bp_line_unfit(problem);
}

#define SLICE_VARIANT(name, listed_speed) SQUARE_VARIANT(name, listed_speed, slice_pack, slice_unusable)
