/* SPDX-License-Identifier: MIT */
/* The adjoint of project_joseph for a slightly tilted detector: in a voxel plane the rays of a column lie in a row that
 * is nearly parallel to z and evenly spaced, but moves across lines along z. The rows between the same two lines are
 * processed together, and each voxel of the two lines finds the rows that reach it, as in project_joseph_vertical.h. */
#pragma once

/* Largest deviation of a row, in rows, from even spacing between the column's ends; twice that from even spacing
 * relative to another row. */
#define UNEVEN 0.2f

/* Largest number of lines that a column may cross in a plane. */
enum { LINES = 8 };

/* Rows between the same two lines: their starts in `at`, below and above. */
typedef struct group {
    size_t start, rows;
    float b;
} group;

/* A column of rays in a brick: row i crosses plane k at b[i] + k step_b[i] across the lines and z[i] + k step_z[i]
 * along them. */
typedef struct leaning {
    const qb__joseph_brick *brick;
    size_t rows, neighbour; /* floats from line to line */
    float *b, *step_b, *z, *step_z;
    float *at, *below, *above; /* values of the rows between two lines: z, weights of the two lines */
    const float *values;
} leaning;

INLINE float in_plane(const float *place, const float *step, size_t row, float k) { return place[row] + k * step[row]; }

static void place_rows(const qb__fan *f, int axis, size_t r0, leaning *l) {
    const qb__joseph_brick *brick = l->brick;
    const int other = 1 - axis;
    for (size_t i = 0; i < l->rows; i++) {
        const double row = (double)(r0 + i);
        const double inverse = 1 / (f->along[axis] + row * f->along_step[axis]);
        const double planes = (double)brick->at[axis] - f->origin[axis] - row * f->origin_step[axis];
        const double slope_b = (f->along[other] + row * f->along_step[other]) * inverse;
        const double slope_z = (f->along[2] + row * f->along_step[2]) * inverse;
        const double b = f->origin[other] + row * f->origin_step[other] + planes * slope_b;
        const double z = f->origin[2] + row * f->origin_step[2] + planes * slope_z;
        l->b[i] = nearby(b - (double)brick->at[other]), l->step_b[i] = (float)slope_b;
        l->z[i] = nearby(z - (double)brick->at[2]), l->step_z[i] = (float)slope_z;
    }
}

/* Positions are quotients of two functions linear in the row: they deviate most in the middle. */
static bool is_even(const leaning *l, float k) {
    const size_t last = l->rows - 1, middle = last / 2;
    const float z0 = in_plane(l->z, l->step_z, 0, k), z1 = in_plane(l->z, l->step_z, last, k);
    const float gap = (z1 - z0) / (float)last;
    const float there = z0 + gap * (float)middle;
    const float off = fabsf(in_plane(l->z, l->step_z, middle, k) - there);
    return fabsf(gap) > 0.51f && fabsf(gap) < 1.9f && off < 0.8f * UNEVEN * fabsf(gap);
}

static bool leans(const qb__fan *f, size_t r0, int axis, size_t planes, leaning *l) {
    if (WIDTH == 1 || l->rows < WIDTH || axis > 1) return false;
    if (rows_of_axis(f, r0, 1, axis) == 0) return false;
    const double last = (double)(r0 + l->rows - 1);
    const double d0 = f->along[axis] + (double)r0 * f->along_step[axis];
    const double d1 = f->along[axis] + last * f->along_step[axis];
    if (qb__fan_axis(f, last) != axis || !(d0 * d1 > 0)) return false;
    place_rows(f, axis, r0, l);
    const float z0 = l->z[l->rows - 1] - l->z[0];
    const float z1 = z0 + (float)(planes - 1) * (l->step_z[l->rows - 1] - l->step_z[0]);
    const float b0 = l->b[l->rows - 1] - l->b[0];
    const float b1 = b0 + (float)(planes - 1) * (l->step_b[l->rows - 1] - l->step_b[0]);
    return higher(fabsf(b0), fabsf(b1)) < LINES - 2 && z0 * z1 > 0 && is_even(l, 0) && is_even(l, (float)(planes - 1));
}

/* The first row after `row` that does not lie between lines b and b + 1. */
static size_t end_of_lines(const leaning *l, size_t row, float b, float k) {
    const float from = in_plane(l->b, l->step_b, row, k);
    const float to = in_plane(l->b, l->step_b, l->rows - 1, k);
    if (floorf(to) == b) return l->rows;
    const float rise = (to - from) / (float)(l->rows - 1 - row);
    const float guess = ((rise > 0 ? b + 1 : b) - from) / rise;
    size_t end = row + 1 + (size_t)lower(guess, (float)(l->rows - 1 - row));
    if (end > l->rows) end = l->rows;
    while (end > row + 1 && floorf(in_plane(l->b, l->step_b, end - 1, k)) != b) end--;
    while (end < l->rows && floorf(in_plane(l->b, l->step_b, end, k)) == b) end++;
    return end;
}

/* Write z and weights of rows row <= i < end to `n` and on, followed by zeros; returns the end. */
INLINE size_t share_rows(const leaning *l, size_t row, size_t end, float b, float k, size_t n) {
    const vector plane = vector_set1(k), line = vector_set1(b), zero = vector_set1(0);
    for (size_t i = row; i < end; i += WIDTH, n += WIDTH) {
        const lanes on = lanes_first(end - i < WIDTH ? end - i : WIDTH);
        const vector z = vector_fma(vector_load_some(l->step_z + i, on), plane, vector_load_some(l->z + i, on));
        const vector across = vector_fma(vector_load_some(l->step_b + i, on), plane, vector_load_some(l->b + i, on));
        const lanes inside = lanes_inside(on, z, (float)l->brick->n[2]);
        const vector value = vector_chosen(inside, vector_load_some(l->values + i, on));
        const vector above = vector_mul(vector_sub(across, line), value);
        vector_store(l->at + n, z);
        vector_store(l->above + n, above);
        vector_store(l->below + n, vector_sub(value, above));
    }
    for (const size_t last = n + 4 * WIDTH; n < last; n += WIDTH) {
        vector_store(l->at + n, zero);
        vector_store(l->above + n, zero);
        vector_store(l->below + n, zero);
    }
    return n;
}

/* Add those rows to the voxels of their two lines; `gap` is the distance of rows. */
INLINE void spread_rows(const leaning *l, const group *g, float gap, float *line) {
    const float first = l->at[g->start], last = first + gap * (float)(g->rows - 1);
    const float inverse = 1 / gap;
    const float far = 1 + 2 * UNEVEN * fabsf(gap), reach = fabsf(inverse) + 2 * UNEVEN;
    const int taps = (int)ceilf(2 * reach);
    const int from = (int)higher(floorf(lower(first, last) - far), -1);
    const int end = (int)lower(floorf(higher(first, last) + far) + 1, (float)l->brick->n[2]);
    const vector step = vector_mul(vector_place(), vector_set1(inverse)), one = vector_set1(1);
    for (int z = from; z < end; z += WIDTH) {
        const float row = ((float)z - first) * inverse - reach; /* the nearest row that does not touch it */
        const float base = floorf(lower(row, row + (WIDTH - 1) * inverse) - (float)SLACK);
        const integers index = integers_of(vector_add(step, vector_set1(row - base)));
        const vector place = vector_add(vector_place(), vector_set1((float)z));
        const ptrdiff_t start = (ptrdiff_t)g->start + (ptrdiff_t)base + 1;
        vector below = vector_set1(0), above = below;
        for (int j = 0; j < taps; j++) {
            const vector away = vector_sub(window(l->at + start + j, index), place);
            const vector hat = vector_max(vector_sub(one, vector_abs(away)), vector_set1(0));
            below = vector_fma(hat, window(l->below + start + j, index), below);
            above = vector_fma(hat, window(l->above + start + j, index), above);
        }
        vector_store(line + z, vector_add(vector_load(line + z), below));
        float *neighbour = line + l->neighbour + z;
        vector_store(neighbour, vector_add(vector_load(neighbour), above));
    }
}

/* Weights of all rows first, because windows would wait for recent stores. */
static void leaning_plane(const leaning *l, float k, float lines, float *line) {
    const size_t last = l->rows - 1;
    const float gap = (in_plane(l->z, l->step_z, last, k) - in_plane(l->z, l->step_z, 0, k)) / (float)last;
    group groups[LINES];
    size_t count = 0, n = 0;
    for (size_t row = 0, end; row < l->rows && count < LINES; row = end) {
        const float b = floorf(in_plane(l->b, l->step_b, row, k));
        end = end_of_lines(l, row, b, k);
        if (!(b >= -1 && b < lines)) continue;
        groups[count++] = (group){n, end - row, b};
        n = share_rows(l, row, end, b, k, n);
    }
    for (size_t i = 0; i < count; i++) spread_rows(l, &groups[i], gap, line + (size_t)(groups[i].b + 1) * l->neighbour);
}

/* False if the detector is tilted too much. */
static bool leaning_adjoint(const qb__joseph_brick *brick, const qb__fan *f, size_t r0, size_t r1, const float *values,
                            float *scratch) {
    const size_t padded = (r1 - r0 + 15) / 16 * 16, steps[2] = {brick->stride, (brick->n[0] + 2) * brick->stride};
    const int axis = qb__fan_axis(f, (double)r0);
    float *at = scratch + LINE + 2 * PAD;
    leaning l = {.brick = brick, .rows = r1 - r0, .values = values + r0};
    l.b = at, l.step_b = at + padded, l.z = at + 2 * padded, l.step_z = at + 3 * padded;
    const size_t each = padded + PAD + LINES * 5 * WIDTH; /* groups, with zeros after each */
    l.at = at + 4 * padded + PAD, l.below = l.at + each, l.above = l.below + each;
    if (!leans(f, r0, axis, brick->n[axis > 1 ? 0 : axis], &l)) return false;
    l.neighbour = steps[1 - axis];
    memset(l.at - PAD, 0, PAD * sizeof *l.at);
    memset(l.below - PAD, 0, PAD * sizeof *l.below);
    memset(l.above - PAD, 0, PAD * sizeof *l.above);
    for (size_t plane = 0; plane < brick->n[axis]; plane++)
        leaning_plane(&l, (float)plane, (float)brick->n[1 - axis], brick->data + (plane + 1) * steps[axis] + 1);
    return true;
}
