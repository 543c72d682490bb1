/* SPDX-License-Identifier: MIT */
/* What descents by SuperVoxels need before and after their sweeps: data, images, the cost. */
#include "icd_buffers.clh"

#ifndef PULLED
#define PULLED 0 /* voxels are pulled toward an image */
#endif
#define SUMMED 128 /* items of a group that sums */

enum { TRANSMISSION = 1, TRANSMISSION_ROOT, EMISSION, GIVEN, MEASURED }; /* qb__icd_weighting */

#if QB_CUDA
#define EXP(a) expf(a)
#define TAN(a) tanf(a)
#else
#define EXP(a) exp(a)
#define TAN(a) tan(a)
#endif

#define LOST(y) ((AS_INT(y) & 0x7fffffff) > 0x7f800000) /* NaN, for any floating-point mode of the compiler */

FUNCTION float weigh(float y, int rule, float scale) {
    if (rule == TRANSMISSION) return EXP(-y);
    if (rule == TRANSMISSION_ROOT) return EXP(-0.5f * y);
    if (rule == EMISSION) return 1.0f / ((y < 0.0f ? -y : y) + 0.1f);
    return rule == GIVEN ? y * scale : 1.0f;
}

/* lines[view][slice][column] of views from view0 on -> error and roots of weights; GIVEN: weights over the largest ->
 * roots. Both are 0 for NaN, which was not measured. */
KERNEL void icd_load(GLOBAL const float *RESTRICT lines, int view0, int views, int slices, int columns, int rule,
                     float scale, GLOBAL float *RESTRICT error, GLOBAL half_bits *RESTRICT root) {
    int column = (int)global_id(0), view = (int)group_id(1), slice = (int)group_id(2);
    if (column >= columns) return;
    float y = lines[((size_t)view * (size_t)slices + (size_t)slice) * (size_t)columns + (size_t)column];
    size_t to = ((size_t)slice * (size_t)views + (size_t)(view0 + view)) * (size_t)(columns + 2 * WIDTH) +
                (size_t)(WIDTH + column);
    int is = !LOST(y);
    if (rule != GIVEN) error[to] = is ? y : 0.0f;
    STORE_HALF(is ? SQRT(weigh(y, rule, scale)) : 0.0f, to, root);
}

/* out = A' error, limited from below by `least`, or, squares, (A^2)' w: one item per voxel. */
KERNEL void icd_gather(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes, float area, int views,
                       int stride, int columns, GLOBAL const float *RESTRICT error,
                       GLOBAL const half_bits *RESTRICT root, GLOBAL const uchar *RESTRICT inside, int nx, int ny,
                       int squares, float least, GLOBAL float *RESTRICT out) {
    int ix = (int)global_id(0), iy = (int)group_id(1), slice = (int)group_id(2), rows = columns + 2 * WIDTH;
    qb_beam beam = {rays, shapes, stride, columns, area};
    size_t pixel = (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1);
    if (ix >= nx || !inside[pixel]) return;
    float sum = 0.0f;
    for (int v = 0; v < views; v++) {
        float tap[TAPS];
        size_t from = ((size_t)slice * (size_t)views + (size_t)v) * (size_t)rows +
                      (size_t)(WIDTH + footprint_on_detector(beam, v, ix, iy, tap));
        UNROLL
        for (int t = 0; t < TAPS; t++) {
            float w = squares ? LOAD_HALF(from + (size_t)t, root) : 0.0f;
            sum = squares ? FMA(tap[t] * w, tap[t] * w, sum) : FMA(tap[t], error[from + (size_t)t], sum);
        }
    }
    out[(size_t)slice * (size_t)(nx + 2) * (size_t)(ny + 2) + pixel] = largest(sum, least);
}

#if FAN
/* Voxels in a line across a ray whose footprints may touch its column: *from to *to. On the ray, far - tangent deep is
 * zero. */
typedef struct qb_ray {
    float a, b, c, wa, wb, w0, steep; /* across, along, at the first voxel; columns for that over deep */
} qb_ray;

FUNCTION void reached(const qb_ray *r, int j, int across, int *from, int *to) {
    float middle = -(r->c + r->b * (float)j) / r->a, deep = r->wa * middle + r->wb * (float)j + r->w0;
    float size = r->a < 0.0f ? -r->a : r->a, reach = 0.6f * deep / (size * r->steep) + 2.2f;
    middle = middle < -1e6f ? -1e6f : middle > 1e6f ? 1e6f : middle;
    *from = (int)FLOOR(middle - reach);
    *to = (int)FLOOR(middle + reach) + 1;
    *from = *from < 0 ? 0 : *from;
    *to = *to > across - 1 ? across - 1 : *to;
}

FUNCTION float part_of_ray(qb_beam beam, int view, int column, int tall, int nx, int ny, qb_ray r,
                           GLOBAL const float *image) {
    int across = tall ? nx : ny, along = tall ? ny : nx;
    float sum = 0.0f;
    for (int j = 0; j < along; j++) {
        int from, to;
        reached(&r, j, across, &from, &to);
        for (int i = from; i <= to; i++) {
            int x = tall ? i : j, y = tall ? j : i;
            float value = image[(size_t)y * (size_t)(nx + 2) + (size_t)x];
            if (value == 0.0f) continue;
            qb_fan fan = fan_at(beam, view, x, y);
            qb_shape is = shape_of(&fan, beam.area, 0.0f, 0.0f);
            float h = from_first(&fan, column);
            float entry = share_before(0.5f - h, is.wide, is.flat, is.rise, is.curvature) -
                          share_before(-0.5f - h, is.wide, is.flat, is.rise, is.curvature);
            sum = FMA(is.all * entry, value, sum);
        }
    }
    return sum;
}
#endif

/* error -= A x: one item per ray, which follows the axis that it is closer to, and adds the voxels whose footprints
 * touch its column. */
KERNEL void icd_subtract(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes, float area, int views,
                         int stride, int columns, GLOBAL const float *RESTRICT x, int nx, int ny,
                         GLOBAL float *RESTRICT error) {
    int column = (int)global_id(0), view = (int)group_id(1), slice = (int)group_id(2), rows = columns + 2 * WIDTH;
    if (column >= columns) return;
#if FAN
    qb_beam beam = {rays, shapes, stride, columns, area};
    const float unit = 1.0f / 1099511627776.0f;
#if FAN == 1
    float tangent = (float)column, steep = 1.0f;
#else
    float angle = ((float)column - (float)rays[6 * stride + view] * (1.0f / 4294967296.0f)) / shapes[0];
    float tangent = TAN(angle), steep = shapes[0] / (1.0f + tangent * tangent);
#endif
    float wx = (float)rays[3 * stride + view] * unit, wy = (float)rays[4 * stride + view] * unit,
          w0 = (float)rays[5 * stride + view] * unit;
    float a = (float)rays[view] * unit - tangent * wx, b = (float)rays[stride + view] * unit - tangent * wy;
    float c = (float)rays[2 * stride + view] * unit - tangent * w0;
    int tall = (a < 0.0f ? -a : a) >= (b < 0.0f ? -b : b);
    qb_ray ray = {tall ? a : b, tall ? b : a, c, tall ? wx : wy, tall ? wy : wx, w0, steep};
    float sum = part_of_ray(beam, view, column, tall, nx, ny, ray,
                            x + (size_t)slice * (size_t)(nx + 2) * (size_t)(ny + 2) + (size_t)(nx + 3));
    error[((size_t)slice * (size_t)views + (size_t)view) * (size_t)rows + (size_t)(WIDTH + column)] -= sum;
#else
    LONG ax = rays[view], ay = rays[stride + view], q = rays[2 * stride + view] - (LONG)column * ((LONG)1 << 32);
    int tall = (ax < 0 ? -ax : ax) >= (ay < 0 ? -ay : ay), across = tall ? nx : ny, along = tall ? ny : nx;
    LONG a = tall ? ax : ay, step = tall ? ay : ax;
    int stride_a = tall ? 1 : nx + 2, stride_b = tall ? nx + 2 : 1;
    float wide = shapes[view], flat = shapes[stride + view], rise = shapes[2 * stride + view],
          curvature = shapes[3 * stride + view];
    float per = 4294967296.0f / (float)a, reach = (wide + 0.5f) * (per < 0.0f ? -per : per) + 1.0f, sum = 0.0f;
    GLOBAL const float *image = x + (size_t)slice * (size_t)(nx + 2) * (size_t)(ny + 2) + (size_t)(nx + 3);
    for (int j = 0; j < along; j++, q += step) {
        float middle = -(float)q * (1.0f / 4294967296.0f) * per;
        if (!(middle > -reach && middle < (float)across + reach)) continue;
        int from = (int)FLOOR(middle - reach), to = (int)FLOOR(middle + reach) + 1;
        from = from < 0 ? 0 : from;
        to = to > across - 1 ? across - 1 : to;
        for (int i = from; i <= to; i++) {
            float h = (float)(q + a * i) * (1.0f / 4294967296.0f);
            if (h > wide + 0.5f || h < -wide - 0.5f) continue;
            float entry = share_before(0.5f - h, wide, flat, rise, curvature) -
                          share_before(-0.5f - h, wide, flat, rise, curvature);
            sum = FMA(entry, image[(size_t)i * (size_t)stride_a + (size_t)j * (size_t)stride_b], sum);
        }
    }
    error[((size_t)slice * (size_t)views + (size_t)view) * (size_t)rows + (size_t)(WIDTH + column)] -= area * sum;
#endif
}

/* Start of SuperVoxels' buffers for a fan, stored after its rays: computed once, so that all kernels use the same
 * value. */
KERNEL void icd_place(GLOBAL LONG *rays, GLOBAL const float *RESTRICT shapes, float area, int views, int stride,
                      int columns, GLOBAL const int *RESTRICT corner) {
#if FAN
    int view = (int)global_id(0), which = (int)group_id(1);
    qb_beam beam = {rays, shapes, stride, columns, area};
    if (view >= views) return;
    qb_fan fan = fan_at(beam, view, corner[which] & 0xffff, corner[which] >> 16);
    ((GLOBAL short *)(rays + 7 * stride))[(size_t)which * (size_t)stride + (size_t)view] =
        (short)first_under(beam, &fan);
#endif
}

/* x = value, inside. */
KERNEL void icd_fill(GLOBAL float *RESTRICT x, GLOBAL const uchar *RESTRICT inside, int pixels, float value) {
    int pixel = (int)global_id(0);
    if (pixel < pixels) x[(size_t)group_id(1) * (size_t)pixels + (size_t)pixel] = inside[pixel] ? value : 0.0f;
}

/* x of a slice = image[y][x], limited from below by `least`, inside. */
KERNEL void icd_put(GLOBAL const float *RESTRICT image, GLOBAL const uchar *RESTRICT inside, int nx, int ny, int slice,
                    float least, GLOBAL float *RESTRICT x) {
    int ix = (int)global_id(0), iy = (int)group_id(1);
    if (ix >= nx) return;
    size_t pixel = (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1),
           base = (size_t)slice * (size_t)(nx + 2) * (size_t)(ny + 2);
    x[base + pixel] = inside[pixel] ? largest(image[(size_t)iy * (size_t)nx + (size_t)ix], least) : 0.0f;
}

/* Without data only the pull decides, and no update visits the voxel: x = toward. */
KERNEL void icd_settle(GLOBAL const float *RESTRICT curve, GLOBAL const float *RESTRICT toward,
                       GLOBAL const uchar *RESTRICT inside, int pixels, float least, GLOBAL float *RESTRICT x) {
    int pixel = (int)global_id(0);
    size_t at = (size_t)group_id(1) * (size_t)pixels + (size_t)pixel;
    if (pixel < pixels && inside[pixel] && !(curve[at] > 0.0f)) x[at] = largest(toward[at], least);
}

/* image[y][x] of a slice. */
KERNEL void icd_image(GLOBAL const float *RESTRICT x, int nx, int ny, int slice, float scale,
                      GLOBAL float *RESTRICT image) {
    int ix = (int)global_id(0), iy = (int)group_id(1);
    if (ix >= nx) return;
    size_t pixel = ((size_t)slice * (size_t)(ny + 2) + (size_t)(iy + 1)) * (size_t)(nx + 2) + (size_t)(ix + 1);
    image[(size_t)iy * (size_t)nx + (size_t)ix] = scale * x[pixel];
}

/* ---- cost ---- */

FUNCTION void leave_sum(LOCAL_POINTER float *all, float value, GLOBAL float *to) {
    int item = (int)local_id(0);
    all[item] = value;
    for (int n = SUMMED / 2; n > 0; n /= 2) {
        BARRIER();
        if (item < n) all[item] += all[item + n];
    }
    if (item == 0) *to = all[0];
}

/* sums[slice][view] = sum w e^2. */
KERNEL GROUPS_OF(SUMMED, 1) void icd_misfit(GLOBAL const float *RESTRICT error, GLOBAL const half_bits *RESTRICT root,
                                            int views, int columns, GLOBAL float *RESTRICT sums) {
    LOCAL float all[SUMMED];
    size_t line = (size_t)group_id(1) * (size_t)views + (size_t)group_id(0);
    size_t from = line * (size_t)(columns + 2 * WIDTH) + WIDTH;
    float sum = 0.0f;
    for (int i = (int)local_id(0); i < columns; i += SUMMED) {
        float e = error[from + (size_t)i] * LOAD_HALF(from + (size_t)i, root);
        sum = FMA(e, e, sum);
    }
    leave_sum(all, sum, sums + line);
}

/* sums[sums_at + ...][slice][iy]: the prior's cost of pairs of a row's voxels with those to the right and below, and
 * with the image toward which they are pulled by `pull`. */
KERNEL GROUPS_OF(SUMMED, 1) void icd_rough(GLOBAL const float *RESTRICT x, GLOBAL const uchar *RESTRICT inside, int nx,
                                           int ny, qb_surrogate b, float nearest, float diagonal,
                                           GLOBAL const float *RESTRICT toward, float pull, GLOBAL float *RESTRICT sums,
                                           int sums_at) {
    LOCAL float all[SUMMED];
    int iy = (int)group_id(0), slice = (int)group_id(1), row = nx + 2;
    int step[4] = {1, row, row + 1, row - 1};
    GLOBAL const float *image = x + (size_t)slice * (size_t)row * (size_t)(ny + 2);
    float sum = 0.0f;
    for (int ix = (int)local_id(0); ix < nx; ix += SUMMED) {
        size_t pixel = (size_t)(iy + 1) * (size_t)row + (size_t)(ix + 1);
        for (int n = 0; n < 4 && inside[pixel]; n++) {
            size_t other = pixel + (size_t)step[n];
            if (inside[other]) sum += (n & 2 ? diagonal : nearest) * rho_of(b, image[pixel] - image[other]);
        }
#if PULLED
        if (inside[pixel])
            sum += pull * rho_of(b, image[pixel] - toward[(size_t)slice * (size_t)row * (size_t)(ny + 2) + pixel]);
#endif
    }
    leave_sum(all, sum, sums + (size_t)sums_at + (size_t)slice * (size_t)ny + (size_t)iy);
}
