/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"
#include "io/writer.h"

qb_status qb__grey_window(const float *values, size_t count, double *low, double *high) {
    float *picked;
    QB__OR_RETURN(qb__alloc(count, sizeof *picked, &picked));
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) picked[n++] = values[i];
    const size_t end = n ? (size_t)(0.995 * (double)(n - 1) + 0.5) : 0;
    *high = n ? qb__float_at(picked, n, end) : 0.0;
    *low = n ? qb__float_at(picked, end + 1, (size_t)(0.005 * (double)(n - 1))) : 0.0;
    qb__free(picked);
    return QB_OK;
}

#ifdef QB_HAVE_PNG
#include <png.h>

enum { SIDE_MOST = 2048 };

/* Means of blocks of factor x factor pixels; NaN does not count. */
static void reduce(const float *image, size_t nx, size_t ny, size_t factor, float *out) {
    size_t columns = nx / factor, rows = ny / factor;
    for (size_t y = 0; y < rows; y++) {
        for (size_t x = 0; x < columns; x++) {
            double sum = 0.0;
            size_t n = 0;
            for (size_t i = 0; i < factor * factor; i++) {
                float v = image[(y * factor + i / factor) * nx + x * factor + i % factor];
                if (!isfinite(v)) continue;
                sum += v;
                n++;
            }
            out[y * columns + x] = n ? (float)(sum / (double)n) : NAN;
        }
    }
}

static qb_status write_png(const char *fresh, const char *path, const unsigned char *grey, size_t nx, size_t ny) {
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = (png_uint_32)nx, .height = (png_uint_32)ny, .format = PNG_FORMAT_GRAY};
    FILE *file = fopen(fresh, "we");
    if (!file) return qb__fail_errno(errno, "creating", path);
    errno = 0;
    bool good =
        png_image_write_to_stdio(&png, file, 0, grey, 0, NULL) != 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int error = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        error = errno;
    }
    return good ? QB_OK : qb__fail_errno(error ? error : EIO, "writing", path);
}

/* A single picture is a set of one file. */
static qb_status publish_png(qb__publication *set, const char *path, const unsigned char *grey, size_t nx, size_t ny) {
    const char *fresh;
    qb__publication *own = NULL;
    QB__OR_RETURN(set ? QB_OK : qb__publication_create(NULL, &own));
    qb_status status = qb__publication_file(set ? set : own, path, &fresh);
    if (status == QB_OK) status = write_png(fresh, path, grey, nx, ny);
    if (status == QB_OK && own) return qb__publication_commit(own);
    qb__publication_abort(own);
    return status;
}

qb_status qb__preview_check(const char *path) {
    struct stat what;
    char *folder = qb__folder_of(path);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    qb_status status = QB_OK;
    const char *dot = strrchr(path, '.');
    if (stat(path, &what) == 0 && S_ISDIR(what.st_mode))
        status = qb__fail(QB_BAD_ARGUMENT, "%s is a folder, not the name of a picture", path);
    else if (!dot || strcasecmp(dot, ".png") != 0)
        status = qb__fail(QB_BAD_ARGUMENT, "%s: a preview is a PNG picture: give a name that ends in .png", path);
    else if (access(folder, W_OK | X_OK) != 0)
        status = qb__fail_errno(errno, "a picture cannot be put into", folder);
    qb__free(folder);
    return status;
}

qb_status qb__preview_write(qb__publication *set, const char *path, const float *image, size_t nx, size_t ny,
                            double low, double high) {
    size_t side = nx > ny ? nx : ny, factor = (side + SIDE_MOST - 1) / SIDE_MOST;
    size_t columns = factor ? nx / factor : 0, rows = factor ? ny / factor : 0;
    size_t bytes;
    if (!columns || !rows || !qb__mul(nx, ny, sizeof *image, &bytes))
        return qb__fail(QB_BAD_ARGUMENT, "%s: a picture of %zu x %zu pixels is not possible", path, nx, ny);
    float *small = NULL;
    unsigned char *grey = NULL;
    qb_status status;
    QB__TRY(qb__alloc(rows * columns, sizeof *small, &small));
    QB__TRY(qb__alloc(rows * columns, 1, &grey));
    reduce(image, nx, ny, factor, small);
    if (!(low < high)) QB__TRY(qb__grey_window(small, rows * columns, &low, &high));
    qb_convert_from_float(small, rows * columns, QB_U8, low, high, grey);
    status = publish_png(set, path, grey, columns, rows);
out:
    QB__FREE(small, grey);
    return status;
}
#else
qb_status qb__preview_check(const char *path) {
    return qb__fail(QB_UNSUPPORTED, "%s: this build cannot write PNG; install libpng-dev and build again", path);
}

qb_status qb__preview_write(qb__publication *set, const char *path, const float *image, size_t nx, size_t ny,
                            double low, double high) {
    (void)set, (void)image, (void)nx, (void)ny, (void)low, (void)high;
    return qb__preview_check(path);
}
#endif

qb_status qb_preview_write(const char *path, const float *image, size_t nx, size_t ny, double low, double high) {
    QB__NEED(path);
    QB__NEED(image);
    return qb__preview_write(NULL, path, image, nx, ny, low, high);
}
