/* SPDX-License-Identifier: MIT */
/* The adjoint of project_joseph_forward.cl for any flat detector: every voxel finds, in every view and for every axis
 * that rays of the view have, the rays that pass it by less than a voxel. For a voxel V at distance R from the source
 * (in a parallel beam R is the rays' direction), the ray to pixel (c, r) crosses the plane of the axis a through V at
 *     Q - V = ((c - u) (R_a U - U_a R) + (r - v) (R_a W - W_a R)) / D_a(c, r),
 * where U, W are the vectors from pixel to pixel, D is the ray's direction, and (u, v) is the pixel that sees V. All
 * are small numbers, for which single precision is enough if (u, v) is accurate. As in bp_cone_matrix.cl, (u, v) is
 * relative to a pixel near what the tile sees. The constants are computed with twice the digits by one item per view
 * and axis, which also finds the largest distance from (u, v) of a ray that passes a voxel of the tile by less than one
 * voxel.
 *
 * In the copy of rays for an axis, rays of other axes are zeros (project_joseph_scale.cl), and so are rows before and
 * after the detector's. */
#define VERTICAL 0
#include "project_joseph.clh"
#define TILE_X 8
#define TILE_Z 32
#define ITEMS 256
#define VIEWS 32  /* views of a launch, at most */
#define AT_ONCE 3 /* rows of a ray's column */

/* Constants of a tile, a view and an axis. Linear forms of the voxel, from the tile's first one: {along x, along z,
 * constant}: u - u0 and v - v0 as fractions of w; (R_a U - U_a R) along the other axes b and c, and the same of W. */
typedef struct qb_sight {
    float4 u, v, w, eb, ec, fb, fc; /* fourth numbers: u0, v0; D_a at (u0, v0), from pixel to pixel; reach_u, reach_v */
    ulong rays;                     /* pixel (u0, v0) in the copy of that axis */
    int seen;                       /* 0: no ray of that axis comes near the tile */
} qb_sight;

/* Voxels x0 <= x <= x1, z0 <= z <= z1 of a line of the volume. */
typedef struct qb_box {
    float x0, x1, y, z0, z1;
} qb_box;

FUNCTION float2 matrix_at(GLOBAL const float *record, int i) { return FLOAT2(record[36 + i], record[48 + i]); }

FUNCTION float2 at_voxel(GLOBAL const float *record, int k, float x, float y, float z) {
    float2 sum = matrix_at(record, 4 * k + 3);
    sum = plus_times(sum, x, matrix_at(record, 4 * k));
    sum = plus_times(sum, y, matrix_at(record, 4 * k + 1));
    return plus_times(sum, z, matrix_at(record, 4 * k + 2));
}

FUNCTION float from_base(GLOBAL const float *record, int k, int i, float base) {
    const float2 d = plus_times(matrix_at(record, 4 * k + i), -base, matrix_at(record, 8 + i));
    return d.x + d.y;
}

/* Row k of the matrix minus `base` times the third row; those are `at` and w at the first voxel. */
FUNCTION float4 row_of(GLOBAL const float *record, int k, float base, float2 at, float2 w) {
    const float2 d = plus_times(at, -base, w);
    return FLOAT4(from_base(record, k, 0, base), from_base(record, k, 2, base), d.x + d.y, base);
}

/* The other axes, in order. */
FUNCTION int axis_b(int axis) { return axis == 0 ? 1 : 0; }
FUNCTION int axis_c(int axis) { return axis == 2 ? 1 : 2; }

/* Component j of R. */
FUNCTION float distance_of(GLOBAL const float *record, int cone, int j, float x, float y, float z) {
    return cone ? (j == 0 ? x : j == 1 ? y : z) - record[9 + j] : record[j];
}

/* Component b of R_a S - S_a R. */
FUNCTION float turned(GLOBAL const float *S, int a, int b, float Ra, float Rb) { return Ra * S[b] - S[a] * Rb; }

FUNCTION float4 turned_form(GLOBAL const float *record, int cone, GLOBAL const float *S, int a, int b, float x, float y,
                            float z, float fourth) {
    return FLOAT4(cone ? (a == 0 ? S[b] : 0.0f) - (b == 0 ? S[a] : 0.0f) : 0.0f,
                  cone ? (a == 2 ? S[b] : 0.0f) - (b == 2 ? S[a] : 0.0f) : 0.0f,
                  turned(S, a, b, distance_of(record, cone, a, x, y, z), distance_of(record, cone, b, x, y, z)),
                  fourth);
}

/* Largest distance, from the pixel that sees a voxel, of rays that pass it by less than one voxel, over a box: D is R d
 * / (R n) there, n = U x W, d = D n, and the matrix to be inverted has the determinant R_a (R n); all is linear in V,
 * so the box's corners give the limits. False: no ray of that axis does. Limits below 0: some voxels are so near the
 * source that there is no limit. */
FUNCTION int reach_of(GLOBAL const float *record, int cone, int axis, qb_box box, float *reach_u, float *reach_v) {
    GLOBAL const float *U = record + (cone ? 3 : 12), *W = record + (cone ? 6 : 15);
    const int a = axis, b = axis_b(axis), c = axis_c(axis);
    const float nx = U[1] * W[2] - U[2] * W[1], ny = U[2] * W[0] - U[0] * W[2], nz = U[0] * W[1] - U[1] * W[0];
    const float d = fabs(record[0] * nx + record[1] * ny + record[2] * nz);
    const float da_u = cone ? fabs(U[a]) : 0.0f, da_v = cone ? fabs(W[a]) : 0.0f;
    float low[4], high[4], across_u = 0.0f, across_v = 0.0f; /* limits of R_a, R_b, R_c, R n */
    for (int i = 0; i < 4; i++) {
        const float x = i & 1 ? box.x1 : box.x0, z = i & 2 ? box.z1 : box.z0;
        const float Ra = distance_of(record, cone, a, x, box.y, z), Rb = distance_of(record, cone, b, x, box.y, z);
        const float Rc = distance_of(record, cone, c, x, box.y, z);
        const float Rn = distance_of(record, cone, 0, x, box.y, z) * nx +
                         distance_of(record, cone, 1, x, box.y, z) * ny +
                         distance_of(record, cone, 2, x, box.y, z) * nz;
        const float R[4] = {Ra, Rb, Rc, Rn};
        for (int j = 0; j < 4; j++) {
            low[j] = i ? fmin(low[j], R[j]) : R[j];
            high[j] = i ? fmax(high[j], R[j]) : R[j];
        }
        across_u = fmax(across_u, fabs(turned(W, a, b, Ra, Rb)) + fabs(turned(W, a, c, Ra, Rc)));
        across_v = fmax(across_v, fabs(turned(U, a, b, Ra, Rb)) + fabs(turned(U, a, c, Ra, Rc)));
    }
    float least[4], most[4];
    for (int j = 0; j < 4; j++) {
        least[j] = fmax(fmax(low[j], -high[j]), 0.0f);
        most[j] = fmax(high[j], -low[j]);
    }
    /* Rays of this axis that pass a voxel by less than one have at most this slope. */
    if (cone && (least[1] > most[0] + 1.01f || least[2] > most[0] + 1.01f)) return 0;
    const float scale = 1.001f * d / (least[3] * least[3]);
    const float u = scale * across_u, v = scale * across_v;
    const float varies = (da_u * u + da_v * v) * most[3] / (least[0] * d);
    *reach_u = *reach_v = -1.0f;
    if (!(varies < 0.9f) || !(u < 1e6f && v < 1e6f) || most[3] > 1.25f * least[3]) return cone;
    *reach_u = u / (1.0f - varies), *reach_v = v / (1.0f - varies);
    return 1;
}

/* The tile's first voxel is (x, y, z). */
FUNCTION void sight_of(GLOBAL const float *record, int cone, int axis, float x, float y, float z, float reach_u,
                       float reach_v, LOCAL_POINTER qb_sight *t) {
    const float2 u = at_voxel(record, 0, x, y, z), v = at_voxel(record, 1, x, y, z), w = at_voxel(record, 2, x, y, z);
    GLOBAL const float *U = record + (cone ? 3 : 12), *W = record + (cone ? 6 : 15);
    const float u0 = FLOOR(fmin(fmax(u.x / w.x, -1048576.0f), 1048576.0f));
    const float v0 = FLOOR(fmin(fmax(v.x / w.x, -1048576.0f), 1048576.0f));
    const float da_u = cone ? U[axis] : 0.0f, da_v = cone ? W[axis] : 0.0f;
    t->u = row_of(record, 0, u0, u, w);
    t->v = row_of(record, 1, v0, v, w);
    t->w = FLOAT4(matrix_at(record, 8).x, matrix_at(record, 10).x, w.x, FMA(u0, da_u, FMA(v0, da_v, record[axis])));
    t->eb = turned_form(record, cone, U, axis, axis_b(axis), x, y, z, da_u);
    t->ec = turned_form(record, cone, U, axis, axis_c(axis), x, y, z, da_v);
    t->fb = turned_form(record, cone, W, axis, axis_b(axis), x, y, z, reach_u);
    t->fc = turned_form(record, cone, W, axis, axis_c(axis), x, y, z, reach_v);
}

FUNCTION float in_tile(float4 form, float x, float z) { return FMA(form.x, x, FMA(form.y, z, form.z)); }

/* The next larger whole number, for values below 2^22, and at least `least`. */
FUNCTION float above(float a, float least) { return fmax(DOWN(a) - (ROUND - 1.0f), least); }

/* rays: `copies` of the block's rays, copy[axis] or -1. records: of the scan's view first_view on. Slab z0 <= z < z1,
 * lines from y0 on. Rays and slabs of a batch are rays_apart and slab_apart floats apart. */
KERNEL GROUPS_OF(ITEMS, 5) void project_joseph_gather(GLOBAL const float *RESTRICT rays,
                                                      GLOBAL const float *RESTRICT records, int first_view, int views,
                                                      GLOBAL const int *RESTRICT axes, int cone, int columns, int rows,
                                                      int stride, int copy_x, int copy_y, int copy_z, ulong copy_floats,
                                                      int nx, int y0, int z0, int z1, int line,
                                                      GLOBAL float *RESTRICT slab, int more, ulong rays_apart,
                                                      ulong slab_apart) {
    LOCAL qb_sight sights[3 * VIEWS];
    const int item = (int)local_id(0), lane = item % 32, dx = item / 32;
    const int x0 = (int)group_id(0) * TILE_X, y = y0 + (int)group_id(1), x = x0 + dx;
    const int layers = (z1 + TILE_Z - 1) / TILE_Z - z0 / TILE_Z;
    const int tile_z = (z0 / TILE_Z + (int)group_id(2) % layers) * TILE_Z, z = tile_z + lane;
    rays += (ulong)((int)group_id(2) / layers) * rays_apart;
    slab += (ulong)((int)group_id(2) / layers) * slab_apart;
    const bool real = x < nx && z >= z0 && z < z1;
    if (item < 3 * views) {
        const int n = item / 3, axis = item % 3, copy = axis == 0 ? copy_x : axis == 1 ? copy_y : copy_z;
        GLOBAL const float *record = records + (ulong)(first_view + n) * RECORD;
        /* The whole tile, including parts outside the slab, so that the division of the volume changes nothing. */
        const qb_box box = {(float)x0, (float)(x0 + TILE_X - 1), (float)y, (float)tile_z, (float)(tile_z + TILE_Z - 1)};
        LOCAL_POINTER qb_sight *t = &sights[item];
        float reach_u = 0.0f, reach_v = 0.0f;
        t->seen =
            copy >= 0 && (axes[first_view + n] >> axis & 1) && reach_of(record, cone, axis, box, &reach_u, &reach_v);
        if (t->seen) {
            sight_of(record, cone, axis, (float)x0, (float)y, (float)tile_z, reach_u, reach_v, t);
            /* If (u0, v0) is outside the detector, its address may be before the array, but it is not read. */
            t->rays = (ulong)copy * copy_floats + ((ulong)n * (ulong)columns + (ulong)(int)t->u.w) * (ulong)stride +
                      FRONT + (ulong)(int)t->v.w;
        }
    }
    BARRIER();
    if (!real) return;
    GLOBAL float *own = slab + ((ulong)(y + EDGE) * (ulong)(nx + 2 * EDGE) + (ulong)(x + EDGE)) * (ulong)line;
    float sum = more ? own[FRONT + (z - z0)] : 0.0f;
    for (int n = 0; n < 3 * views; n++) {
        LOCAL_POINTER const qb_sight *t = &sights[n];
        if (!t->seen) continue;
        const float ahead = (float)dx, up = (float)lane;
        const float4 u_form = t->u, v_form = t->v, w_form = t->w, eb_form = t->eb, ec_form = t->ec, fb_form = t->fb,
                     fc_form = t->fc;
        const float w = RECIPROCAL(in_tile(w_form, ahead, up));
        const float u = in_tile(u_form, ahead, up) * w, v = in_tile(v_form, ahead, up) * w;
        float reach_u = fb_form.w, reach_v = fc_form.w;
        if (reach_u < 0.0f) {
            const qb_box own_box = {(float)x, (float)x, (float)y, (float)z, (float)z};
            if (!reach_of(records + (ulong)(first_view + n / 3) * RECORD, cone, n % 3, own_box, &reach_u, &reach_v))
                continue;
            if (reach_u < 0.0f) reach_u = reach_v = 1e8f; /* all rays are checked */
        }
        const float first_c = above(u - reach_u, -u_form.w),
                    last_c = fmin(u + reach_u, (float)(columns - 1) - u_form.w);
        const float first_r = above(v - reach_v, -v_form.w), last_r = fmin(v + reach_v, (float)(rows - 1) - v_form.w);
        if (first_c > last_c || first_r > last_r) continue;
        const float eb = in_tile(eb_form, ahead, up), ec = in_tile(ec_form, ahead, up);
        const float fb = in_tile(fb_form, ahead, up), fc = in_tile(fc_form, ahead, up);
        const float da_u = eb_form.w, da_v = ec_form.w, da = FMA(u, da_u, FMA(v, da_v, w_form.w));
        GLOBAL const float *column = rays + (t->rays + (ulong)(int)first_c * (ulong)stride + (ulong)(int)first_r);
        for (float c = first_c; c <= last_c; c += 1.0f, column += stride) {
            const float du = c - u, da_c = FMA(du, da_u, da);
            GLOBAL const float *at = column;
            /* Several rows at a time; the last may be zeros beyond the detector. Values without weight do not change
             * the bits, not even NAN. */
            for (float r = first_r; r <= last_r; r += (float)AT_ONCE, at += AT_ONCE) {
                float value[AT_ONCE];
                for (int i = 0; i < AT_ONCE; i++) value[i] = at[i];
                for (int i = 0; i < AT_ONCE; i++) {
                    const float dv = r + (float)i - v, over_da = RECIPROCAL(FMA(dv, da_v, da_c));
                    const float b = FMA(dv, fb, du * eb) * over_da, h = FMA(dv, fc, du * ec) * over_da;
                    const float weight = UNIT(1.0f - fabs(b)) * UNIT(1.0f - fabs(h));
                    sum = FMA(weight, weight > 0.0f ? value[i] : 0.0f, sum);
                }
            }
        }
    }
    own[FRONT + (z - z0)] = sum;
}
