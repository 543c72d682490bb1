/* SPDX-License-Identifier: MIT */
/* Part of bp_cone_circular.h: the positions at which lines of voxels read the views. */
/* Access of a line of voxels to one view. */
typedef struct entry {
    const float *left; /* the profile of the first half in the column to the left */
    float weight[2];   /* weights of the left and right column, times 1 / w^2 */
    float rest, slope; /* position of voxel i of the chunk in cells: cell + rest + i slope */
    int32_t cell;
    int16_t first, end; /* vectors of the chunk that see pixels */
} entry;

typedef struct scratch {
    _Alignas(64) float sums[TILE_Y][TILE_X][2][CHUNK];
    entry table[TILE_X][BLOCK];
    unsigned entries[TILE_X];
    size_t cells; /* cells of each of the four profiles */
    _Alignas(64) float profiles[];
} scratch;

static size_t profile_cells(const layout *l) {
    size_t all = l->profile + 2 * 16;
    return all > NARROW_CELLS ? all : NARROW_CELLS;
}

static size_t circular_scratch_bytes(const qb__bp_cone_problem *p) {
    layout l;
    if (!layout_of(p, (qb__bp_cone_window){0, p->rows}, &l)) return 64;
    return (sizeof(scratch) + 4 * profile_cells(&l) * sizeof(float) + 63) / 64 * 64;
}

/* The voxels of one chunk that are wanted, and their accesses. */
typedef struct work {
    const qb__bp_cone_problem *problem;
    const layout *layout;
    size_t x0, x1, y0, y1;
    int64_t chunk;               /* the first voxel of the chunk */
    int first, end;              /* vectors of the chunk that are wanted */
    bool wanted[2];              /* halves that are wanted */
    int64_t begin[2], finish[2]; /* range of wanted voxels of each half */
    scratch *scratch;
} work;

/* The coordinates of TILE_X lines of voxels: u, the inverse of w, and the position of the chunk's first voxel among all
 * pixels of a profile. It is relative to all pixels and not to those in the block, so that rounding does not depend on
 * the block. */
typedef struct places_of_row {
    double u[TILE_X], inverse[TILE_X], place[TILE_X], slope[TILE_X];
} places_of_row;

static void find_places(const work *k, const double *m, size_t y, places_of_row *s) {
    const layout *l = k->layout;
    const double ub = m[1] * (double)y + m[3], wb = m[9] * (double)y + m[11];
    const double vb = m[5] * (double)y + m[7], x0 = (double)k->x0;
    const double rise = fabs(m[6]), chunk = (double)k->chunk;
    const double along = chunk + l->circle.lead, out = -l->circle.shift;
    const double sign = l->circle.falling ? -1 : 1;
    const double origin = l->circle.falling ? (double)(k->problem->rows - 1) : 0;
    const double vx = m[4] * sign, v0 = vb * sign;
    const bool mirrored = l->circle.mirrored;
    for (int i = 0; i < TILE_X; i++) {
        double x = x0 + i, inverse = 1 / (m[8] * x + wb);
        s->inverse[i] = inverse;
        s->u[i] = (m[0] * x + ub) * inverse;
        s->slope[i] = rise * inverse;
        s->place[i] = mirrored ? s->slope[i] * along + out : (vx * x + v0 + rise * chunk) * inverse + origin;
    }
}

/* Find the vectors of the chunk whose positions are inside the profile. */
static void find_vectors(const work *k, double place, double slope, entry *e) {
    const double a = (double)(k->layout->j0 - 1), b = (double)k->layout->j1;
    const double step = WIDTH * slope;
    double first = floor((a - place - (WIDTH - 1) * slope) / step) + 1;
    double end = ceil((b - place) / step);
    first = first > k->first ? first : k->first;
    end = end < k->end ? end : k->end;
    if (!(first < end)) first = end = 0;
    e->first = (int16_t)first;
    e->end = (int16_t)end;
}

/* Address of pixel 0 of a profile, inside or outside the block. */
static int32_t first_cell(const work *k) { return LEAD - (int32_t)k->layout->j0; }

static void fill_table(const work *k, size_t y, size_t first, size_t end, const float *packed, size_t block) {
    scratch *s = k->scratch;
    const double columns = (double)k->problem->columns;
    const size_t width = k->x1 - k->x0;
    memset(s->entries, 0, sizeof s->entries);
    for (size_t v = first; v < end; v++, packed += block) {
        places_of_row row;
        find_places(k, k->problem->matrix[v], y, &row);
        for (size_t x = 0; x < width; x++) {
            const double u = row.u[x], left = floor(u), cell = floor(row.place[x]);
            entry *e = &s->table[x][s->entries[x]];
            if (!(u > -1 && u < columns)) continue;
            find_vectors(k, row.place[x], row.slope[x], e);
            if (e->first == e->end) continue;
            s->entries[x]++;
            const double weight = row.inverse[x] * row.inverse[x];
            e->left = packed + (size_t)((int64_t)left + 1) * k->layout->column;
            e->weight[0] = (float)((1 - (u - left)) * weight);
            e->weight[1] = (float)((u - left) * weight);
            e->cell = (int32_t)cell + first_cell(k);
            e->rest = (float)(row.place[x] - cell);
            e->slope = (float)row.slope[x];
        }
    }
}
