/* SPDX-License-Identifier: MIT */
/* Given images of a descent: proximal image, start and reference. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/publish/paths.h"
#include "io/tensor/tensor_stack.h"
#include "job/job.h"
#include "quickbeam/io.h"
#include "recon/mbir/mbir.h"

/* ---- files and arrays ---- */

/* An image in Hounsfield units needs --hu. */
static qb_status note_units(const qb__mbir *m, const qb_array_info *info, qb__mbir_image *image) {
    image->in_hu = strcmp(info->units, "HU") == 0;
    if (!image->in_hu || m->options->hu > 0) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s %s is in Hounsfield units: say with --hu what attenuation of water they are of", image->option,
                    image->path);
}

/* Compare the position of voxels that a file states with the volume. Many programs write a size of 1 that means
 * nothing. */
static void check_place(const qb__mbir *m, const qb_array_info *info, const qb__mbir_image *image, const qb_env *env) {
    const double *voxel = m->grid.voxel, *offset = m->grid.offset;
    const bool known = m->rays || m->info->pixel_size > 0;
    for (int j = 0; j < 3; j++)
        if (!known || !(info->voxel[j] > 0) || info->voxel[j] == 1) return;
    for (int j = 0; j < 3; j++) {
        const bool size = fabs(info->voxel[j] - voxel[j]) > 0.01 * voxel[j];
        if (!size && fabs(info->offset[j] - offset[j]) <= 0.5 * voxel[j]) continue;
        qb__warn(env, "%s %s states %s of %.4g mm along %c, the volume has %.4g" QB__CODE("image-grid"), image->option,
                 image->path, size ? "voxels" : "an offset", size ? info->voxel[j] : info->offset[j], "xyz"[j],
                 size ? voxel[j] : offset[j]);
        return;
    }
}

static qb_status shape_of(qb__mbir *m, qb__mbir_image *image, const qb_env *env, char name[QB__TENSOR_NAME],
                          size_t shape[3]) {
    qb_array_info found = {.struct_size = sizeof found};
    qb__tensor tensor;
    qb_status status = image->array ? qb__tensor_look(image->array, image->option, QB__MISSING_IMAGE, &tensor)
                                    : qb_array_describe(image->path, NULL, &found);
    if (status == QB_NOT_FOUND && image->path && qb__is_folder(image->path))
        return qb__fail(QB_BAD_ARGUMENT, "%s %s is a folder without image files", image->option, image->path);
    if (status == QB_NOT_FOUND)
        return qb__fail(QB_BAD_ARGUMENT, "%s %s: there is no such file%s", image->option, image->path, image->besides);
    if (status != QB_OK) return status;
    memcpy(shape, image->array ? tensor.shape : found.shape, sizeof found.shape);
    if (image->array) qb__tensor_name(&tensor, name);
    if (image->path) check_place(m, &found, image, env);
    return note_units(m, &found, image);
}

/* Check the image before the run, as weights are checked. */
static qb_status look(qb__mbir *m, qb__mbir_image *image, const qb_env *env) {
    const size_t *n = m->grid.n;
    char name[QB__TENSOR_NAME] = "";
    size_t shape[3] = {0};
    qb_status status = shape_of(m, image, env, name, shape);
    if (isnan(m->center) && !m->options->size.count)
        return status; /* the width of the volume depends on the axis, which is not known yet */
    if (status != QB_OK || (shape[0] == n[2] && shape[1] == n[1] && shape[2] == n[0])) return status;
    return qb__fail(QB_BAD_INPUT, "%s %s has %zu x %zu x %zu voxels along z, y and x, the volume %zu x %zu x %zu",
                    image->option, image->array ? name : image->path, shape[0], shape[1], shape[2], n[2], n[1], n[0]);
}

static void share(qb__mbir *m, qb__comm *comm) {
    const size_t slices = m->grid.n[2];
    size_t first, count;
    qb__cut_rank(slices, m->grain, qb__comm_count(comm), qb__comm_rank(comm), &first, &count);
    m->images.comm = comm;
    m->images.own = (qb__run){first, first + count};
    qb__cut_rank(slices, m->grain, qb__comm_count(comm), 0, &first, &m->images.tallest);
}

qb_status qb__mbir_images_decide(qb__mbir *m, qb__comm *comm, const qb_env *env) {
    const qb_mbir_options *o = m->options;
    const bool begins = o->start_array || (strcmp(o->start, "fbp") != 0 && !m->terms.is_number);
    qb__mbir_image *toward = &m->images.image[QB__MBIR_TOWARD], *start = &m->images.image[QB__MBIR_START];
    qb_status status = QB_OK;
    share(m, comm);
    if (o->prox || o->prox_array)
        *toward = (qb__mbir_image){.option = "--prox", .path = o->prox, .array = o->prox_array, .besides = ""};
    m->images.proximal = qb__mbir_image_given(toward);
    if (o->reference)
        m->images.image[QB__MBIR_REFERENCE] =
            (qb__mbir_image){.option = "--reference", .path = o->reference, .besides = ""};
    if (begins && !o->start_array && strcmp(o->start, "prox") == 0) {
        if (!m->images.proximal)
            return qb__fail(QB_BAD_ARGUMENT, "--start prox begins with the image of --prox: give one");
        m->images.begins_with = toward;
    } else if (begins) {
        *start = (qb__mbir_image){.option = "--start",
                                  .path = o->start,
                                  .array = o->start_array,
                                  .besides = ", and it is neither fbp, prox nor a number in 1/mm"};
        m->images.begins_with = start;
    }
    for (int i = 0; i < QB__MBIR_IMAGES && status == QB_OK; i++)
        if (qb__mbir_image_given(&m->images.image[i])) status = look(m, &m->images.image[i], env);
    return status;
}

size_t qb__mbir_images_bytes(const qb__mbir *m) {
    size_t count = 0;
    for (int i = 0; i < QB__MBIR_IMAGES; i++) count += qb__mbir_image_given(&m->images.image[i]);
    return count * m->grid.n[0] * m->grid.n[1] * m->images.tallest * sizeof(float);
}

/* ---- voxels ---- */

/* A rank without slices gets one of zeros, so that it knows that there is an image. */
static qb_status create(qb_dtype dtype, size_t slices, size_t ny, size_t nx, qb_array *array) {
    qb_status status = qb_array_create(dtype, slices ? slices : 1, ny, nx, array);
    if (status == QB_OK && !slices) memset(array->data, 0, ny * nx * qb_dtype_size(dtype));
    return status;
}

static qb_status copy(const qb__mbir_image *image, qb__run own, qb_array *array) {
    qb__source *source;
    qb_status status = qb__tensor_open(image->array, image->option, QB__MISSING_IMAGE, &source);
    if (status != QB_OK) return status;
    const size_t *n = source->shape;
    const qb__region some = {own.first, qb__run_count(own), 1, 0, n[1]};
    status = create(source->dtype, some.count, n[1], n[2], array);
    if (status == QB_OK && some.count) status = source->read(source, &some, array->data);
    qb__source_close(source);
    return status == QB_OK ? qb_array_to_float(array) : status;
}

static qb_status read_given(const qb__mbir_image *image, const size_t n[3], qb__run own, qb_array *array) {
    const size_t first[3] = {own.first, 0, 0}, count[3] = {qb__run_count(own), n[1], n[0]}, step[3] = {1, 1, 1};
    qb_volume *volume;
    qb_status status = qb_volume_open(image->path, NULL, &volume);
    if (status != QB_OK) return status;
    const size_t *shape = qb_volume_info(volume)->shape;
    if (shape[0] != n[2] || shape[1] != n[1] || shape[2] != n[0])
        status = qb__fail(QB_BAD_INPUT, "%s has changed since it was looked at", image->path);
    if (status == QB_OK) status = create(QB_F32, count[0], n[1], n[0], array);
    if (status == QB_OK && count[0]) status = qb_volume_read(volume, first, count, step, array->data);
    qb_volume_close(volume);
    return status;
}

static qb_status check_voxels(const qb__mbir *m, const qb__mbir_image *image) {
    const size_t nx = m->grid.n[0], slice = nx * m->grid.n[1];
    const float *x = image->data.data;
    for (size_t i = 0; i < qb_array_count(&image->data); i++)
        if (!isfinite(x[i]))
            return qb__fail(QB_BAD_INPUT, "%s: voxel %zu, %zu, %zu (z, y, x) is %g: give numbers", image->option,
                            m->images.own.first + i / slice, i % slice / nx, i % nx, (double)x[i]);
    return QB_OK;
}

/* Convert Hounsfield units to 1/mm. */
static void convert(double water, qb_array *array) {
    float *x = array->data;
    for (size_t i = 0; i < qb_array_count(array); i++) x[i] = (float)(water + water / 1000 * (double)x[i]);
}

/* The sum of the hashes of all slices, each seeded with its number, is the same however ranks share them. */
static qb_status add_content(const qb__mbir *m, const qb__mbir_image *image, qb_status mine, qb_job *job) {
    const size_t slice = m->grid.n[0] * m->grid.n[1];
    const float *x = image->data.data;
    const qb__run own = m->images.own;
    uint64_t sum = 0;
    for (size_t z = own.first; mine == QB_OK && z < own.end; z++)
        sum += qb__hash(x + (z - own.first) * slice, slice * sizeof *x, z);
    const qb_status status = qb__comm_sum(m->images.comm, mine, &sum, 1);
    if (status == QB_OK) qb__content_add_hash(job->content, image->option + 2, sum);
    return status;
}

qb_status qb__mbir_images_load(qb__mbir *m, const qb__running *run) {
    qb_status status = QB_OK;
    for (int i = 0; i < QB__MBIR_IMAGES && status == QB_OK; i++) {
        qb__mbir_image *image = &m->images.image[i];
        if (!qb__mbir_image_given(image)) continue;
        status = image->array ? copy(image, m->images.own, &image->data)
                              : read_given(image, m->grid.n, m->images.own, &image->data);
        if (status == QB_OK) status = check_voxels(m, image);
        status = add_content(m, image, status, run->job);
        if (status == QB_OK && image->in_hu) convert(m->options->hu, &image->data);
    }
    return status;
}

void qb__mbir_images_release(qb__mbir *m) {
    for (int i = 0; i < QB__MBIR_IMAGES; i++) qb_array_destroy(&m->images.image[i].data);
}
