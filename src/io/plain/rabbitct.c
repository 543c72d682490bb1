/* SPDX-License-Identifier: MIT */
#include "io/plain/rabbitct.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"
#include "io/writer.h"

enum { HEADER = 20, VERSION = 4, MATRIX = 12 * 8, MOST = 1 << 16 };

static const size_t sizes[] = {128, 256, 512, 1024};

static uint64_t view_bytes(const qb__rabbitct *set) { return MATRIX + 4 * (uint64_t)set->columns * set->rows; }

static uint64_t header_bytes(const qb__rabbitct *set) { return HEADER + (set->original ? VERSION : 0); }

static uint64_t reference_bytes(size_t size) { return 2 * (uint64_t)size * size * size; }

static void set_header(qb__rabbitct *set, const unsigned char *at) {
    uint32_t n[3];
    memcpy(n, at, sizeof n);
    memcpy(set->hu, at + sizeof n, sizeof set->hu);
    set->columns = n[0], set->rows = n[1], set->views = n[2];
}

/* Message with the number of the header that is wrong. */
static qb_status check_header(const qb__rabbitct *set) {
    const struct {
        const char *what;
        size_t value;
    } counts[] = {{"columns", set->columns}, {"rows", set->rows}, {"views", set->views}};
    for (size_t i = 0; i < 3; i++)
        if (counts[i].value == 0 || counts[i].value > MOST)
            return qb__fail(QB_BAD_INPUT, "%s: the header says %zu %s, which should be 1 to %d: no RabbitCT data set",
                            set->path, counts[i].value, counts[i].what, MOST);
    const double slope = (double)set->hu[0], intercept = (double)set->hu[1];
    if (isfinite(slope) && isfinite(intercept) && slope > 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: the header's HU scale is %g f + %g; the factor should be positive", set->path,
                    slope, intercept);
}

/* The newer layout ends with its last view; the original one may continue with references, the smaller ones first. */
static bool fits(qb__rabbitct *set, uint64_t file) {
    uint64_t end = header_bytes(set) + set->views * view_bytes(set);
    set->reference = 0;
    for (size_t i = 0; set->original && i < 4 && end + reference_bytes(sizes[i]) <= file; i++) {
        end += reference_bytes(sizes[i]);
        set->reference = sizes[i];
    }
    return end == file;
}

static qb_status misfit(const qb__rabbitct *set, uint64_t file) {
    const uint64_t views = header_bytes(set) + set->views * view_bytes(set);
    if (!set->original && file == HEADER + MATRIX * (uint64_t)set->views)
        return qb__fail(QB_BAD_INPUT, "%s holds %zu matrices and no images: give the file of the projections",
                        set->path, set->views);
    if (file < views)
        return qb__fail(QB_BAD_INPUT,
                        "%s is cut short in view %llu: %zu views of %zu x %zu pixels are %llu "
                        "bytes, there are %llu",
                        set->path, (unsigned long long)((file - header_bytes(set)) / view_bytes(set)), set->views,
                        set->columns, set->rows, (unsigned long long)views, (unsigned long long)file);
    return qb__fail(QB_BAD_INPUT, "%s: %llu bytes follow the last of %zu views%s", set->path,
                    (unsigned long long)(file - views), set->views,
                    set->original ? ", which are no whole references of 128^3, 256^3, ... voxels" : "");
}

static qb_status recognise(qb__rabbitct *set, uint64_t file) {
    unsigned char head[HEADER + VERSION] = {0};
    const size_t bytes = file < sizeof head ? (size_t)file : sizeof head;
    QB__OR_RETURN(qb__pread_all(set->fd, set->path, head, bytes, 0));
    if (bytes < sizeof head)
        return qb__fail(QB_BAD_INPUT, "%s: %zu bytes are no RabbitCT data set, whose header alone has %zu", set->path,
                        bytes, sizeof head);
    set->original = false;
    set_header(set, head);
    qb_status status = check_header(set);
    if (status == QB_OK && fits(set, file)) return QB_OK;
    uint32_t version;
    memcpy(&version, head, sizeof version);
    if (version == 2) { /* the original layout; images of two columns would be smaller */
        set->original = true;
        set_header(set, head + VERSION);
        status = check_header(set);
        if (status == QB_OK && fits(set, file)) return QB_OK;
    }
    return status != QB_OK ? status : misfit(set, file);
}

qb_status qb__rabbitct_open(const char *path, qb__rabbitct *set) {
    *set = (qb__rabbitct){.fd = -1};
    uint64_t file;
    QB__OR_RETURN(qb__file_size(path, &file));
    set->path = qb__strdup(path);
    if (!set->path) return qb__fail(QB_NO_MEMORY, "no memory for a file's name");
    set->fd = open(path, O_RDONLY | O_CLOEXEC);
    const qb_status status = set->fd < 0 ? qb__fail_errno(errno, "opening", path) : recognise(set, file);
    if (status != QB_OK) qb__rabbitct_close(set);
    return status;
}

void qb__rabbitct_close(qb__rabbitct *set) {
    if (!set) return;
    if (set->path && set->fd >= 0) close(set->fd);
    qb__free(set->path);
    *set = (qb__rabbitct){.fd = -1};
}

qb_status qb__rabbitct_view(const qb__rabbitct *set, size_t view, double matrix[12], float *image) {
    if (view >= set->views) return qb__fail(QB_BAD_ARGUMENT, "%s: view %zu of %zu", set->path, view, set->views);
    const uint64_t at = header_bytes(set) + view * view_bytes(set);
    qb_status status = qb__pread_all(set->fd, set->path, matrix, MATRIX, at);
    for (int i = 0; i < 12 && status == QB_OK; i++)
        if (!isfinite(matrix[i]))
            status =
                qb__fail(QB_BAD_INPUT, "%s: the matrix of view %zu has a number that is not finite", set->path, view);
    if (status == QB_OK && image)
        status = qb__pread_all(set->fd, set->path, image, set->columns * set->rows * sizeof *image, at + MATRIX);
    for (size_t i = 0; status == QB_OK && image && i < set->columns * set->rows; i++)
        if (!isfinite(image[i]))
            status = qb__fail(QB_BAD_INPUT, "%s: view %zu, row %zu, column %zu is not a finite number", set->path, view,
                              i / set->columns, i % set->columns);
    return status;
}

qb_status qb__rabbitct_volume(const char *path, size_t size, uint16_t *out) {
    uint64_t file;
    QB__OR_RETURN(qb__file_size(path, &file));
    if (file != reference_bytes(size))
        return qb__fail(QB_BAD_INPUT, "%s has %llu bytes; a reference of %zu^3 voxels has %llu", path,
                        (unsigned long long)file, size, (unsigned long long)reference_bytes(size));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return qb__fail_errno(errno, "opening", path);
    const qb_status status = qb__pread_all(fd, path, out, (size_t)file, 0);
    close(fd);
    return status;
}

/* Reference256.vol in the folder of the views, as in the newer benchmark's archive. */
static qb_status reference_nearby(const qb__rabbitct *set, size_t size, uint16_t *out) {
    char name[4096];
    char *folder = qb__folder_of(set->path);
    if (!folder) return qb__fail(QB_NO_MEMORY, "no memory for a file's name");
    const int n = snprintf(name, sizeof name, "%s/Reference%zu.vol", folder, size);
    qb__free(folder);
    if (set->original || n >= (int)sizeof name || access(name, F_OK) != 0)
        return qb__fail(QB_NOT_FOUND, "%s holds no reference for %zu^3 voxels", set->path, size);
    return qb__rabbitct_volume(name, size, out);
}

qb_status qb__rabbitct_reference(const qb__rabbitct *set, size_t size, uint16_t *out) {
    uint64_t at = header_bytes(set) + set->views * view_bytes(set);
    for (size_t i = 0; i < 4 && sizes[i] <= set->reference; i++) {
        if (sizes[i] == size) return qb__pread_all(set->fd, set->path, out, (size_t)reference_bytes(size), at);
        at += reference_bytes(sizes[i]);
    }
    return reference_nearby(set, size, out);
}

bool qb__rabbitct_is_size(size_t size) {
    for (size_t i = 0; i < 4; i++)
        if (sizes[i] == size) return true;
    return false;
}

void qb__rabbitct_to_indices(const double world[12], double voxel, double origin, double out[12]) {
    for (int row = 0; row < 3; row++) {
        const double *m = world + row;
        for (int i = 0; i < 3; i++) out[4 * row + i] = m[3 * i] * voxel;
        out[4 * row + 3] = m[9] + origin * (m[0] + m[3] + m[6]);
    }
}

void qb__rabbitct_matrix(const double world[12], size_t size, double out[12]) {
    const double voxel = 256 / (double)size;
    qb__rabbitct_to_indices(world, voxel, -voxel * ((double)size - 1) / 2, out);
}

double qb__rabbitct_hu(const float hu[2], double value) {
    if (!(value > 0)) return 0;
    return fmin(floor((double)hu[0] * value + (double)hu[1] + 0.5), 4095);
}
