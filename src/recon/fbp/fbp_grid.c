/* SPDX-License-Identifier: MIT */
/* The grid of a parallel-beam reconstruction, with any pixels in x and y and with slices at detector rows; and later
 * changes of the plan: the axis, another kernel. */
#include <math.h>

#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fbp/fbp.h"

/* Find the detector row of slice 0, and the number of rows from one slice to the next. */
static qb_status find_rows(qb__fbp *fbp) {
    const qb_grid *grid = &fbp->grid;
    double n = (double)grid->n[2], rows = (double)fbp->info->rows, near = 0.01;
    double step = grid->voxel[2] / fbp->pixel_v, whole = round(step);
    if (!(whole >= 1) || fabs(step - whole) * n > near)
        return qb__fail(QB_BAD_INPUT,
                        "slices %.9g mm apart are %.6g detector rows of %.9g mm apart: slices of a "
                        "parallel beam lie where rows do, so this must be a whole number",
                        grid->voxel[2], step, fbp->pixel_v);
    double first = grid->offset[2] / fbp->pixel_v + fbp->zero - 0.5 * (n - 1) * whole;
    double last = first + (n - 1) * whole;
    if (fabs(first - round(first)) > near)
        return qb__fail(QB_BAD_INPUT,
                        "the first slice would lie at row %.6g: slices of a parallel beam lie where "
                        "rows do; shift --offset's Z by %.6g mm",
                        first, (round(first) - first) * fbp->pixel_v);
    if (!(first > -0.5 && last < rows - 0.5))
        return qb__fail(QB_BAD_INPUT,
                        "the volume's slices lie on rows %.0f to %.0f, the detector has 0 to %.0f: "
                        "choose NZ and Z of --size and --offset, or --slices, within",
                        first, last, rows - 1);
    fbp->first_row = (size_t)round(first);
    fbp->step = (size_t)whole;
    return QB_OK;
}

/* Place the slices in mm. The position is computed from the rows, so that the same rows give the same bits, however
 * they were given. */
static void place_slices(qb__fbp *fbp) {
    qb_grid *grid = &fbp->grid;
    double middle = (double)fbp->first_row + (double)((grid->n[2] - 1) * fbp->step) / 2.0;
    grid->voxel[2] = fbp->pixel_v * (double)fbp->step;
    grid->offset[2] = (middle - fbp->zero) * fbp->pixel_v;
}

static void describe_output(qb__fbp *fbp, qb__decision *d) {
    const qb_grid *grid = &fbp->grid;
    const bool known = fbp->info->pixel_size > 0;
    d->hu = fbp->options->hu;
    qb__fbp_window(fbp, fbp->first_row, grid->n[2], &d->row0, &d->row1);
    d->row_step = fbp->roll.maps ? 1 : fbp->step;
    d->slices_are_rows = !fbp->roll.maps;
    d->subject.grid = *grid;
    d->mask = &fbp->mask;
    d->subject.units = qb__volume_units(d->hu, known);
    d->stack = (qb_stack){.shape = {grid->n[2], grid->n[1], grid->n[0]},
                          .offset = {grid->offset[0], grid->offset[1], grid->offset[2]},
                          .units = d->subject.units,
                          .quantity = d->hu > 0 ? "Hounsfield" : "attenuation",
                          .first = fbp->first_row,
                          .description = "quickbeam filtered back-projection"};
    for (int i = 0; known && i < 3; i++) d->stack.voxel[i] = grid->voxel[i];
}

qb_status qb__fbp_decide_grid(qb__fbp *fbp, const qb_env *env, qb__decision *decision) {
    const qb_scan_info *info = fbp->info;
    const qb_fbp_options *options = fbp->options;
    qb_grid_options asked = {
        .size = options->size, .voxel = options->voxel, .offset = options->offset, .like = options->like};
    bool known = info->pixel_size > 0;
    size_t first;
    fbp->pixel = known ? info->pixel_size : 1.0;
    fbp->pixel_v = known ? info->pixel_v : 1.0;
    if (options->tilt != 0 && fabs(fbp->pixel_v - fbp->pixel) > 1e-6 * fbp->pixel)
        return qb__fail(
            QB_UNSUPPORTED,
            "--tilt with pixels of %g x %g mm: a tilt needs square pixels; use qb sirt or cgls with --geometry FILE",
            fbp->pixel, fbp->pixel_v);
    if (!known && (options->hu > 0 || options->like))
        return qb__fail(QB_BAD_ARGUMENT, "--%s needs the pixel size: give --pixel-size MM",
                        options->like ? "like" : "hu");
    qb__scan_warn_pixel(info, env);
    fbp->grid = (qb_grid){.n = {fbp->width, fbp->width, info->rows}, .voxel = {fbp->pixel, fbp->pixel, fbp->pixel_v}};
    fbp->grid.offset[2] = (((double)info->rows - 1) / 2.0 - fbp->zero) * fbp->pixel_v;
    QB__OR_RETURN(qb_grid_make(&asked, &fbp->grid));
    if (!options->like) fbp->grid.voxel[2] = fbp->pixel_v;
    qb_status status = qb_grid_slices(options->slices, &fbp->grid, &first);
    if (status == QB_OK) status = find_rows(fbp);
    if (status != QB_OK) return status;
    place_slices(fbp);
    QB__OR_RETURN(qb__grid_region_take(options->region, 2, &fbp->grid, &fbp->region));
    QB__OR_RETURN(qb__mask_of(options->outside, options->circle, fbp->output->dtype, &fbp->grid, &fbp->mask));
    describe_output(fbp, decision);
    return QB_OK;
}

/* ---- later changes ---- */

void qb__fbp_take_kernel(qb__fbp *fbp, const qb__variant *variant) {
    fbp->variant = (const qb__bp_parallel_variant *)variant;
}

void qb__fbp_take_axis(qb__fbp *fbp, double column) {
    fbp->center = column;
    fbp->found = true;
}
