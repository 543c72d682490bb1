/* SPDX-License-Identifier: MIT */
/* The adjoint of project_joseph_forward.cl for any flat detector: every voxel looks, in every view and for every axis
 * that rays of the view have, for the rays that pass it by less than a voxel. Seen from the voxel V, at
 * distance R from the source (in a parallel beam R is the rays' direction), the ray to pixel (c, r) crosses
 * the plane of the axis a in which V lies at
 *     Q - V = ((c - u) (R_a U - U_a R) + (r - v) (R_a W - W_a R)) / D_a(c, r),
 * U, W the vectors from pixel to pixel, D the ray's direction, (u, v) the pixel that sees V: all small
 * numbers, of which single precision keeps enough once (u, v) is right. That comes, as in bp_cone_matrix.cl,
 * from a pixel near what the tile sees; its constants are made with twice the digits by one item a view.
 *
 * Rays of other axes stand as zeros in the copy that is read: project_joseph_scale.cl. */
#define UPRIGHT 0
#include "project_joseph.clh"
#define TILE_X 8
#define TILE_Z 32
#define ITEMS 256
#define BATCH 32

/* Of a tile and a view, from the tile's first voxel: u - u0, v - v0 as fractions of linear forms. */
typedef struct qb_sight {
    float u[4], v[4], w[4];
    float u0, v0;
} qb_sight;

FUNCTION float2 matrix_at(GLOBAL const float *record, int i) { return FLOAT2(record[36 + i], record[48 + i]); }

FUNCTION float2 at_voxel(GLOBAL const float *record, int k, float x, float y, float z) {
    float2 sum = matrix_at(record, 4 * k + 3);
    sum = plus_times(sum, x, matrix_at(record, 4 * k));
    sum = plus_times(sum, y, matrix_at(record, 4 * k + 1));
    return plus_times(sum, z, matrix_at(record, 4 * k + 2));
}

FUNCTION void from_base(GLOBAL const float *record, int k, float base, float2 at, float2 w,
                        LOCAL_POINTER float *to) {
    for (int i = 0; i < 3; i++) {
        const float2 d = plus_times(matrix_at(record, 4 * k + i), -base, matrix_at(record, 8 + i));
        to[i] = d.x + d.y;
    }
    const float2 d = plus_times(at, -base, w);
    to[3] = d.x + d.y;
}

FUNCTION void sight_of(GLOBAL const float *record, float x, float y, float z, LOCAL_POINTER qb_sight *t) {
    const float2 u = at_voxel(record, 0, x, y, z), v = at_voxel(record, 1, x, y, z), w = at_voxel(record, 2, x, y, z);
    t->u0 = FLOOR(fmin(fmax(u.x / w.x, -1048576.0f), 1048576.0f));
    t->v0 = FLOOR(fmin(fmax(v.x / w.x, -1048576.0f), 1048576.0f));
    from_base(record, 0, t->u0, u, w, t->u);
    from_base(record, 1, t->v0, v, w, t->v);
    for (int i = 0; i < 3; i++) t->w[i] = matrix_at(record, 8 + i).x;
    t->w[3] = w.x;
}

FUNCTION float along_line(LOCAL_POINTER const float *form, float x, float z) {
    return FMA(form[0], x, FMA(form[2], z, form[3]));
}

/* rays: `copies` of the block's, copy[axis] or -1. records: of the scan's view first_view on. Slab z0 <= z < z1, lines from
 * y0 on. */
KERNEL GROUPS_OF(ITEMS, 2) void project_joseph_gather(
    GLOBAL const float *RESTRICT rays, GLOBAL const float *RESTRICT records, int first_view, int views,
    GLOBAL const int *RESTRICT axes, int cone, int columns, int rows, int stride, int copy_x, int copy_y,
    int copy_z, ulong copy_floats, int nx, int y0, int z0, int z1, int line, GLOBAL float *RESTRICT slab,
    int more) {
    LOCAL qb_sight batch[BATCH];
    const int item = (int)local_id(0), lane = item % 32, dx = item / 32;
    const int x0 = (int)group_id(0) * TILE_X, y = y0 + (int)group_id(1), x = x0 + dx;
    const int tile_z = (z0 / TILE_Z + (int)group_id(2)) * TILE_Z, z = tile_z + lane;
    const bool real = x < nx && z >= z0 && z < z1;
    GLOBAL float *own = slab + ((ulong)(y + EDGE) * (ulong)(nx + 2 * EDGE) + (ulong)(x + EDGE)) * (ulong)line;
    float sum = more && real ? own[FRONT + (z - z0)] : 0.0f;
    for (int from = 0; from < views; from += BATCH) {
        const int count = views - from < BATCH ? views - from : BATCH;
        BARRIER();
        if (item < count)
            sight_of(records + (ulong)(first_view + from + item) * RECORD, (float)x0, (float)y, (float)tile_z,
                     &batch[item]);
        BARRIER();
        for (int n = 0; n < count && real; n++) {
            LOCAL_POINTER const qb_sight *t = &batch[n];
            GLOBAL const float *g = records + (ulong)(first_view + from + n) * RECORD;
            const float w = RECIPROCAL(along_line(t->w, (float)dx, (float)lane));
            const float u = along_line(t->u, (float)dx, (float)lane) * w;
            const float v = along_line(t->v, (float)dx, (float)lane) * w;
            /* From pixel to pixel, and towards the voxel. */
            float U[3], W[3], R[3];
            for (int j = 0; j < 3; j++) {
                U[j] = g[(cone ? 3 : 12) + j], W[j] = g[(cone ? 6 : 15) + j];
                const float at = j == 0 ? (float)x : j == 1 ? (float)y : (float)z;
                R[j] = cone ? at - g[9 + j] : g[j];
            }
            const int axis_bits = axes[first_view + from + n];
            for (int axis = 0; axis < 3; axis++) {
                const int copy = axis == 0 ? copy_x : axis == 1 ? copy_y : copy_z;
                if (!(axis_bits >> axis & 1) || copy < 0) continue;
                const float Ra = axis == 0 ? R[0] : axis == 1 ? R[1] : R[2];
                const float Rb = axis == 0 ? R[1] : R[0], Rc = axis == 2 ? R[1] : R[2];
                const float Ua = axis == 0 ? U[0] : axis == 1 ? U[1] : U[2];
                const float Ub = axis == 0 ? U[1] : U[0], Uc = axis == 2 ? U[1] : U[2];
                const float Wa = axis == 0 ? W[0] : axis == 1 ? W[1] : W[2];
                const float Wb = axis == 0 ? W[1] : W[0], Wc = axis == 2 ? W[1] : W[2];
                const float eb = Ra * Ub - Ua * Rb, ec = Ra * Uc - Ua * Rc;
                const float fb = Ra * Wb - Wa * Rb, fc = Ra * Wc - Wa * Rc;
                const float det = eb * fc - ec * fb;
                /* D_a where the voxel is seen, and from pixel to pixel. */
                const float da_u = cone ? Ua : 0.0f, da_v = cone ? Wa : 0.0f;
                const float da0 = FMA(t->u0, da_u, FMA(t->v0, da_v, g[axis]));
                const float da = FMA(u, da_u, FMA(v, da_v, da0));
                const float scale = fabs(da / det);
                float reach_u = scale * (fabs(fc) + fabs(fb)), reach_v = scale * (fabs(ec) + fabs(eb));
                const float varies = (fabs(da_u) * reach_u + fabs(da_v) * reach_v) / fabs(da);
                /* Rays of this axis that pass the voxel by less than one lean no more than that. */
                if (cone && (fabs(Rb) > fabs(Ra) + 1.01f || fabs(Rc) > fabs(Ra) + 1.01f)) continue;
                /* Some voxels from the source rays are so far apart that no bound holds: all are looked at. */
                const int near = !(varies < 0.9f) || !(reach_u < 1e6f && reach_v < 1e6f);
                if (near && !cone) continue;
                reach_u /= 1.0f - varies, reach_v /= 1.0f - varies;
                const int first_c = near ? (int)-t->u0 : (int)fmax(ceil(u - reach_u), -t->u0);
                const int last_c = near ? (int)((float)(columns - 1) - t->u0) : (int)fmin(FLOOR(u + reach_u), (float)(columns - 1) - t->u0);
                const int first_r = near ? (int)-t->v0 : (int)fmax(ceil(v - reach_v), -t->v0);
                const int last_r = near ? (int)((float)(rows - 1) - t->v0) : (int)fmin(FLOOR(v + reach_v), (float)(rows - 1) - t->v0);
                for (int c = first_c; c <= last_c; c++) {
                    const float du = (float)c - u;
                    GLOBAL const float *column =
                        rays + (ulong)copy * copy_floats +
                        ((ulong)(from + n) * (ulong)columns + (ulong)(c + (int)t->u0)) * (ulong)stride + FRONT;
                    for (int r = first_r; r <= last_r; r++) {
                        const float dv = (float)r - v;
                        const float over_da = RECIPROCAL(FMA((float)c, da_u, FMA((float)r, da_v, da0)));
                        const float b = FMA(du, eb, dv * fb) * over_da, h = FMA(du, ec, dv * fc) * over_da;
                        const float weight = fmax(1.0f - fabs(b), 0.0f) * fmax(1.0f - fabs(h), 0.0f);
                        sum = FMA(weight, column[r + (int)t->v0], sum);
                    }
                }
            }
        }
    }
    if (real) own[FRONT + (z - z0)] = sum;
}
