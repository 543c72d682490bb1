/* SPDX-License-Identifier: MIT */
/* Iterative reconstruction with the C API: least squares by conjugate gradients, from line
 * integrals.
 *
 *     iterate LINES.h5 GEOMETRY ITERATIONS OUT.h5
 *
 * with projections and geometry as `qb project ... --geometry-out GEOMETRY` writes them. */
#include <stdio.h>
#include <stdlib.h>

#include <quickbeam/quickbeam.h>

static double square(const float *a, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)a[i] * (double)a[i];
    return sum;
}

/* a = a + factor b */
static void add(float *a, double factor, const float *b, size_t count) {
    for (size_t i = 0; i < count; i++) a[i] = (float)((double)a[i] + factor * (double)b[i]);
}

/* x becomes the volume that makes |A x - y| small; y becomes y - A x. */
static qb_status conjugate_gradients(qb_projector *a, size_t views, size_t pixels, float *y, size_t voxels, float *x,
                                     int iterations) {
    float *p = calloc(voxels, sizeof *p), *g = calloc(voxels, sizeof *g);
    float *q = calloc(pixels, sizeof *q);
    qb_status status = p && g && q ? QB_OK : QB_NO_MEMORY;
    if (status == QB_OK) status = qb_projector_adjoint(a, y, 0, views, false, NULL, p);
    double size = status == QB_OK ? square(p, voxels) : 0;
    for (int i = 0; status == QB_OK && i < iterations && size > 0; i++) {
        status = qb_projector_forward(a, p, 0, views, NULL, q);
        if (status != QB_OK) break;
        double step = size / square(q, pixels);
        add(x, step, p, voxels);
        add(y, -step, q, pixels);
        status = qb_projector_adjoint(a, y, 0, views, false, NULL, g);
        double now = square(g, voxels), share = now / size;
        for (size_t k = 0; k < voxels; k++) p[k] = (float)((double)g[k] + share * (double)p[k]);
        size = now;
        printf("iteration %d: misfit %.6g\n", i + 1, square(y, pixels));
    }
    free(p), free(g), free(q);
    return status;
}

static qb_status write(const char *path, const qb_grid *grid, const float *volume) {
    qb_stack stack = {.dtype = QB_F32,
                      .shape = {grid->n[2], grid->n[1], grid->n[0]},
                      .voxel = {grid->voxel[0], grid->voxel[1], grid->voxel[2]},
                      .units = "1/mm",
                      .quantity = "attenuation"};
    qb_writer *writer;
    qb_status status = qb_writer_create(path, &stack, &writer);
    if (status != QB_OK) return status;
    status = qb_writer_write(writer, 0, grid->n[2], volume);
    if (status == QB_OK) return qb_writer_commit(writer, NULL);
    qb_writer_abort(writer);
    return status;
}

int main(int argc, char **argv) {
    qb_array lines = {0};
    qb_geometry geometry = {0};
    qb_projector *projector = NULL;
    qb_grid grid;
    float *volume = NULL;
    if (argc != 5) return fprintf(stderr, "usage: iterate LINES GEOMETRY ITERATIONS OUT\n"), 2;
    qb_status status = qb_array_load(argv[1], NULL, &lines, NULL);
    if (status == QB_OK) status = qb_array_to_float(&lines);
    if (status == QB_OK) {
        qb_detector detector = {.rows = lines.shape[1], .columns = lines.shape[2]};
        status = qb_geometry_load(argv[2], &detector, NULL, &geometry);
    }
    if (status == QB_OK) {
        qb_grid_default(&geometry, &grid);
        status = qb_projector_create(&geometry, &grid, NULL, NULL, &projector);
    }
    if (status == QB_OK) {
        size_t voxels = grid.n[0] * grid.n[1] * grid.n[2];
        volume = calloc(voxels, sizeof *volume);
        status = volume ? conjugate_gradients(projector, lines.shape[0], qb_array_count(&lines), lines.data, voxels,
                                              volume, atoi(argv[3]))
                        : QB_NO_MEMORY;
    }
    if (status == QB_OK) status = write(argv[4], &grid, volume);
    if (status != QB_OK) fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
    free(volume);
    qb_projector_destroy(projector);
    qb_geometry_destroy(&geometry);
    qb_array_destroy(&lines);
    return qb_status_exit_code(status);
}
