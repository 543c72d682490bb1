/* SPDX-License-Identifier: MIT */
/* The transpose of a linear back-projection: pixel (column, row) of a view is the sum over all voxels, each times the
 * weight with which the back-projection reads this pixel for the voxel. Each pixel gathers its voxels. So sums have a
 * fixed order, and no two work items add to the same pixel. Columns and depths do not depend on z. So in each line of
 * voxels, and also along z, the voxels of a pixel form one interval.
 *
 * A view has a record of 10 floats {a, b, c, d, e, f, g, h, i, j}. With voxels counted from the middle of the volume
 * and pixels from the middle of the detector,
 *     column = (a x + b y + c) / w, row = (d x + e y + f z + g) / w, w = h x + i y + j.
 * Groups: columns, ROWS rows, views. */
#define ITEMS 128
#define ROWS 4
#define RECORD 10

FUNCTION int first_of(float a) { return (int)ceil(fmax(a, 0.0f)); }
FUNCTION int last_of(float a, int count) { return a < 0.0f ? -1 : (int)FLOOR(fmin(a, (float)(count - 1))); }

KERNEL GROUPS_OF(ITEMS, 4) void spread_views(GLOBAL const float *RESTRICT volume, int nx, int ny, int nz,
                                             GLOBAL const float *RESTRICT records, int first_view, int columns,
                                             int rows, GLOBAL float *RESTRICT out) {
    const int column = (int)group_id(0) * ITEMS + (int)local_id(0), row0 = (int)group_id(1) * ROWS;
    const float SLACK = 0.01f; /* in voxels: margin for rounding errors */
    if (column >= columns) return;
    GLOBAL const float *r = records + (ulong)(first_view + (int)group_id(2)) * RECORD;
    const float c = (float)column - 0.5f * (float)(columns - 1), top = (float)row0 - 0.5f * (float)(rows - 1);
    /* inner: the axis along which the column changes faster */
    const bool by_x = fabs(r[0] - c * r[7]) >= fabs(r[1] - c * r[8]);
    const int inner = by_x ? nx : ny, outer = by_x ? ny : nx;
    const ulong step = by_x ? 1 : (ulong)nx, outer_step = by_x ? (ulong)nx : 1, slice = (ulong)nx * (ulong)ny;
    const float a_in = by_x ? r[0] : r[1], a_out = by_x ? r[1] : r[0], b_in = by_x ? r[3] : r[4];
    const float b_out = by_x ? r[4] : r[3], w_in = by_x ? r[7] : r[8], w_out = by_x ? r[8] : r[7];
    const float mid_in = 0.5f * (float)(inner - 1), mid_out = 0.5f * (float)(outer - 1), mid_z = 0.5f * (float)(nz - 1);
    float sum[ROWS];
    UNROLL for (int j = 0; j < ROWS; j++) sum[j] = 0.0f;
    for (int o = 0; o < outer; o++) {
        const float at = (float)o - mid_out;
        const float a = FMA(a_out, at, r[2]), b = FMA(b_out, at, r[6]), depth = FMA(w_out, at, r[9]);
        const float e0 = ((c - 1.0f) * depth - a) / (a_in - (c - 1.0f) * w_in) + mid_in;
        const float e1 = ((c + 1.0f) * depth - a) / (a_in - (c + 1.0f) * w_in) + mid_in;
        const int end = last_of(fmax(e0, e1) + SLACK, inner);
        for (int i = first_of(fmin(fmin(e0, e1) - SLACK, (float)inner)); i <= end; i++) {
            const float place = (float)i - mid_in, inverse = 1.0f / FMA(w_in, place, depth);
            const float near = 1.0f - fabs(FMA(a_in, place, a) * inverse - c);
            if (!(near > 0.0f)) continue;
            const float share = near * inverse * inverse, dv = r[5] * inverse, apart = 1.0f / dv, reach = fabs(apart);
            /* row of the voxel in the middle along z, counted from row0 */
            const float v = FMA(b_in, place, b) * inverse - top;
            GLOBAL const float *line = volume + ((ulong)o * outer_step + (ulong)i * step);
            UNROLL for (int j = 0; j < ROWS; j++) {
                const float z0 = ((float)j - v) * apart + mid_z;
                const int last = last_of(z0 + reach + SLACK, nz);
                for (int z = first_of(fmin(z0 - reach - SLACK, (float)nz)); z <= last; z++) {
                    const float weight = 1.0f - fabs(FMA((float)z - mid_z, dv, v) - (float)j);
                    if (weight > 0.0f) sum[j] = FMA(share * weight, line[(ulong)z * slice], sum[j]);
                }
            }
        }
    }
    UNROLL for (int j = 0; j < ROWS; j++) if (row0 + j < rows)
        out[((ulong)group_id(2) * (ulong)rows + (ulong)(row0 + j)) * (ulong)columns + (ulong)column] = sum[j];
}
