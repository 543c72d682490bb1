/* SPDX-License-Identifier: MIT */
#include "io/hdf5/hdf5_own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/hdf5/hdf5.h"

enum { NAME = 32, OVERHEAD = 16384 }; /* bytes of a part besides its images */

static size_t images_in(const qb_stack *stack, size_t count, size_t part) {
    return (stack->shape[0] - part + count - 1) / count;
}

static void name_of(size_t part, char name[NAME]) { snprintf(name, NAME, "%02zu.h5", part); }

/* Parts of an older volume with more of them would stay without belonging to anything. */
static qb_status check_older(const char *folder, size_t count) {
    DIR *list = opendir(folder);
    qb_status status = QB_OK;
    for (struct dirent *entry; status == QB_OK && list && (entry = readdir(list));) {
        char *end, name[NAME] = "";
        unsigned long part = strtoul(entry->d_name, &end, 10);
        if (end > entry->d_name && part < count) name_of(part, name);
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, name) != 0)
            status = qb__fail(QB_BAD_ARGUMENT,
                              "%s holds %s, which is none of the %zu parts that are to be written there: "
                              "remove the folder, or give another name",
                              folder, entry->d_name, count);
    }
    if (list) closedir(list);
    return status;
}

/* Record which images the part has, in case it is found alone. */
static bool describe(hid_t set, const qb_writer *writer, const qb__h5_parts *parts, size_t part) {
    return qb__h5_put_text(set, "part_of", qb__last_part(writer->path)) &&
           qb__h5_put_text(set, "volume_id", parts->id) && qb__h5_put_text(set, "units", writer->stack.units) &&
           qb__h5_put_number(set, "first_image", (double)(writer->stack.first + part)) &&
           qb__h5_put_number(set, "image_step", (double)parts->count);
}

/* Create the file of one part, with space for its images. */
static bool make_part(const qb_writer *writer, const char *name, qb__h5_parts *parts, size_t part) {
    const qb_stack *stack = &writer->stack;
    const size_t shape[3] = {images_in(stack, parts->count, part), stack->shape[1], stack->shape[2]};
    hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), type = qb__h5_type(stack->dtype);
    hid_t set = file < 0 ? file : qb__h5_make_set(file, "/data", type, 3, shape, NULL, H5P_DEFAULT);
    haddr_t offset = set < 0 ? HADDR_UNDEF : H5Dget_offset(set);
    bool good = offset != HADDR_UNDEF && describe(set, writer, parts, part);
    parts->offset[part] = offset;
    if (set >= 0) H5Dclose(set);
    H5Tclose(type);
    if (file >= 0 && H5Fclose(file) < 0) good = false;
    return good;
}

static qb_status begin_part(const qb_writer *writer, const char *fresh, qb__h5_parts *parts, size_t part) {
    char name[NAME];
    name_of(part, name);
    char *path = qb__join(fresh, name);
    if (!path) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
    qb_status status = QB_OK;
    const uint64_t images = images_in(&writer->stack, parts->count, part) * (uint64_t)writer->image_bytes;
    parts->fd[part] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (parts->fd[part] < 0)
        status = qb__fail_errno(errno, "creating", path);
    else
        status = qb__h5_reserve(parts->fd[part], writer->path, images, OVERHEAD);
    if (status == QB_OK) {
        qb__h5_enter();
        errno = 0;
        if (!make_part(writer, path, parts, part) || qb__h5_has_fault()) {
            int fault = qb__h5_fault(0);
            status = fault ? qb__fail_writing(fault, writer->path)
                           : qb__h5_fail(QB_IO, writer->path, "a part of it cannot be created");
        }
        qb__h5_leave();
    }
    qb__free(path);
    return status;
}

static qb_status allocate(qb__h5_parts *parts, size_t count) {
    parts->count = count;
    QB__OR_RETURN(qb__alloc(count, sizeof *parts->offset, &parts->offset));
    QB__OR_RETURN(qb__alloc(count, sizeof *parts->fd, &parts->fd));
    for (size_t i = 0; i < count; i++) parts->fd[i] = -1;
    return QB_OK;
}

/* Check now what would fail at the end. */
static qb_status check_folder(const char *folder, size_t count) {
    struct stat about;
    const bool there = stat(folder, &about) == 0;
    if (there && !S_ISDIR(about.st_mode)) return qb__fail(QB_BAD_ARGUMENT, "%s exists and is not a folder", folder);
    if (there && access(folder, W_OK | X_OK) != 0) return qb__fail_errno(errno, "putting files into", folder);
    return check_older(folder, count);
}

static qb_status no_name(const qb_writer *writer) {
    return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", writer->path);
}

/* Prepare names and arrays before any file exists. *folder is the final folder, released with qb__free. */
static qb_status prepare(qb_writer *writer, qb__h5_parts *parts, char **folder) {
    qb_status status;
    const size_t count = qb__smaller(writer->stack.parts, writer->stack.shape[0]);
    char *staging = NULL;
    QB__TRY(qb__parts_folder(writer->path, folder));
    QB__TRY(check_folder(*folder, count));
    QB__TRY(allocate(parts, count));
    const char *slash = strrchr(*folder, '/');
    parts->folder = qb__strdup(slash ? slash + 1 : *folder);
    if (!parts->folder) status = no_name(writer);
    if (status != QB_OK || !qb__parts_near(writer->path)) goto out;
    staging = qb__folder_of(writer->part);
    parts->fresh = staging ? qb__join(staging, "parts") : NULL;
    parts->staged = true;
    if (!parts->fresh) status = no_name(writer);
out:
    qb__free(staging);
    return status;
}

static qb_status make_folder(qb_writer *writer, qb__h5_parts *parts, const char *folder) {
    const char *fresh;
    if (parts->staged) return mkdir(parts->fresh, 0777) == 0 ? QB_OK : qb__fail_errno(errno, "creating", parts->fresh);
    QB__OR_RETURN(qb__publication_folder(writer->set, folder, NULL, &fresh));
    return (parts->fresh = qb__strdup(fresh)) ? QB_OK : no_name(writer);
}

qb_status qb__h5_parts_begin(qb_writer *writer, qb__h5_parts *parts) {
    char *folder = NULL;
    qb_status status;
    qb__part_tag(parts->id, sizeof parts->id); /* unique to this volume */
    QB__TRY(prepare(writer, parts, &folder));
    QB__TRY(make_folder(writer, parts, folder));
    for (size_t i = 0; i < parts->count; i++) QB__TRY(begin_part(writer, parts->fresh, parts, i));
out:
    qb__free(folder);
    return status;
}

/* ---- resume ---- */

/* Position of its images, if the file is as it was created; HADDR_UNDEF: it is another one, or truncated, according to
 * HDF5. With the lock. */
static haddr_t find_images(const qb_writer *writer, const char *path, size_t images) {
    hsize_t n[3] = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = file < 0 ? H5I_INVALID_HID : H5Dopen2(file, "/data", H5P_DEFAULT);
    hid_t space = set < 0 ? H5I_INVALID_HID : H5Dget_space(set), type = set < 0 ? H5I_INVALID_HID : H5Dget_type(set);
    const bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 3 &&
                      H5Sget_simple_extent_dims(space, n, NULL) == 3 && n[0] == images &&
                      n[1] == writer->stack.shape[1] && n[2] == writer->stack.shape[2] &&
                      H5Tget_size(type) == qb_dtype_size(writer->stack.dtype);
    const haddr_t offset = good ? H5Dget_offset(set) : HADDR_UNDEF;
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (set >= 0) H5Dclose(set);
    if (file >= 0) H5Fclose(file);
    return offset;
}

static qb_status resume_part(const qb_writer *writer, qb__h5_parts *parts, size_t part) {
    char name[NAME];
    name_of(part, name);
    char *path = qb__join(parts->fresh, name);
    if (!path) return no_name(writer);
    qb__h5_enter();
    const haddr_t offset = find_images(writer, path, images_in(&writer->stack, parts->count, part));
    qb__h5_leave();
    parts->offset[part] = offset;
    parts->fd[part] = offset == HADDR_UNDEF ? -1 : open(path, O_RDWR | O_CLOEXEC);
    const bool good = parts->fd[part] >= 0;
    qb__free(path);
    if (good) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s is not a complete part of the kept volume: remove %.*s to start again", name,
                    (int)(strrchr(parts->fresh, '/') - parts->fresh), parts->fresh);
}

qb_status qb__h5_parts_resume(qb_writer *writer, qb__h5_parts *parts) {
    char *folder = NULL;
    qb_status status = prepare(writer, parts, &folder);
    if (status == QB_OK && !parts->staged)
        status = qb__fail(QB_BAD_INPUT, "%s is on another disk than its kept parts", folder);
    for (size_t i = 0; status == QB_OK && i < parts->count; i++) status = resume_part(writer, parts, i);
    qb__free(folder);
    return status;
}

/* ---- ranks ---- */

void qb__h5_parts_locate(const qb__h5_parts *parts, qb__writer_location *place) {
    place->files = parts->count;
    for (size_t i = 0; i < parts->count; i++) place->offset[i] = parts->offset[i];
}

qb_status qb__h5_parts_join(qb__h5_parts *parts, const qb__writer_location *place) {
    char name[NAME];
    qb_status status = allocate(parts, place->files);
    for (size_t i = 0; status == QB_OK && i < parts->count; i++) {
        parts->offset[i] = place->offset[i];
        name_of(i, name);
        char *path = qb__join(place->fresh, name);
        if (!path) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", place->fresh);
        parts->fd[i] = open(path, O_RDWR | O_CLOEXEC);
        if (parts->fd[i] < 0) status = qb__fail_errno(errno, "opening", path);
        qb__free(path);
    }
    return status;
}

/* A percent sign begins a pattern in the name of a source. */
static qb_status source_name(const qb__h5_parts *parts, size_t part, char **name) {
    char file[NAME];
    QB__OR_RETURN(qb__alloc(2 * strlen(parts->folder) + NAME + 2, 1, name));
    char *to = *name;
    for (const char *from = parts->folder; *from; from++) {
        *to++ = *from;
        if (*from == '%') *to++ = '%';
    }
    name_of(part, file);
    snprintf(to, NAME + 2, "/%s", file);
    return QB_OK;
}

static bool map_part(hid_t layout, hid_t whole, const qb__h5_parts *parts, const qb_stack *stack, size_t part) {
    const hsize_t images = images_in(stack, parts->count, part);
    const hsize_t start[3] = {part, 0, 0}, stride[3] = {parts->count, 1, 1};
    const hsize_t count[3] = {images, stack->shape[1], stack->shape[2]};
    char *name;
    if (source_name(parts, part, &name) != QB_OK) {
        qb__h5_fault(ENOMEM);
        return false;
    }
    hid_t source = H5Screate_simple(3, count, NULL);
    bool good = source >= 0 && H5Sselect_hyperslab(whole, H5S_SELECT_SET, start, stride, count, NULL) >= 0 &&
                H5Pset_virtual(layout, whole, name, "/data", source) >= 0;
    if (source >= 0) H5Sclose(source);
    qb__free(name);
    return good;
}

hid_t qb__h5_parts_layout(const qb__h5_parts *parts, const qb_stack *stack, hid_t type) {
    const hsize_t n[3] = {stack->shape[0], stack->shape[1], stack->shape[2]};
    const float none = NAN;
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE), whole = H5Screate_simple(3, n, NULL);
    bool good = layout >= 0 && whole >= 0;
    /* Value that other programs read if a part is missing. */
    if (good && qb_dtype_is_float(stack->dtype))
        good = H5Pset_fill_value(layout, stack->dtype == QB_F16 ? type : H5T_NATIVE_FLOAT,
                                 stack->dtype == QB_F16 ? (const void *)&(uint16_t){0x7e00} : (const void *)&none) >= 0;
    for (size_t i = 0; good && i < parts->count; i++) good = map_part(layout, whole, parts, stack, i);
    if (whole >= 0) H5Sclose(whole);
    if (good) return layout;
    if (layout >= 0) H5Pclose(layout);
    return H5I_INVALID_HID;
}

/* Images of one write(), one thread per part. */
typedef struct sweep {
    const qb_writer *writer;
    const qb__h5_parts *parts;
    size_t first, end;
    const char *data;
} sweep;

static qb_status write_part(void *context, size_t piece, size_t worker) {
    (void)worker;
    const sweep *s = context;
    const qb_writer *writer = s->writer;
    const size_t count = s->parts->count, bytes = writer->image_bytes, first = s->first + piece;
    const size_t part = first % count;
    qb_status status = QB_OK;
    for (size_t i = first; i < s->end && status == QB_OK; i += count) {
        uint64_t at = s->parts->offset[part] + i / count * (uint64_t)bytes;
        status = qb__pwrite_all(s->parts->fd[part], writer->path, s->data + (i - s->first) * bytes, bytes, at);
        if (status == QB_OK) qb__start_writeback(s->parts->fd[part], at, bytes);
    }
    return status;
}

qb_status qb__h5_parts_write(const qb_writer *writer, const qb__h5_parts *parts, size_t first, size_t end,
                             const void *data) {
    sweep s = {writer, parts, first, end, data};
    size_t files = qb__smaller(parts->count, end - first);
    size_t threads = qb__pieces(writer->threads, (end - first) * writer->image_bytes, QB__PIECE_LEAST);
    return qb__share(qb__smaller(writer->threads, threads), files, write_part, &s);
}

static qb_status flush_part(void *context, size_t piece, size_t worker) {
    (void)worker;
    const sweep *s = context;
    int *fd = &s->parts->fd[piece];
    qb_status status = fsync(*fd) == 0 ? QB_OK : qb__fail_errno(errno, "writing", s->writer->path);
    if (close(*fd) != 0 && status == QB_OK) status = qb__fail_errno(errno, "writing", s->writer->path);
    *fd = -1;
    return status;
}

qb_status qb__h5_parts_finish(qb_writer *writer, qb__h5_parts *parts) {
    sweep s = {.writer = writer, .parts = parts};
    return qb__share(writer->threads, parts->count, flush_part, &s);
}

static qb_status move_part(const qb__h5_parts *parts, const char *to, size_t part) {
    char name[NAME];
    name_of(part, name);
    char *old = qb__join(parts->fresh, name), *fresh = qb__join(to, name);
    qb_status status = old && fresh ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", parts->folder);
    if (status == QB_OK && rename(old, fresh) != 0) status = qb__fail_errno(errno, "giving its name to", fresh);
    QB__FREE(old, fresh);
    return status;
}

qb_status qb__h5_parts_move(qb_writer *writer, qb__h5_parts *parts) {
    char *folder = NULL;
    const char *to;
    qb_status status;
    if (!parts->staged) return QB_OK;
    QB__TRY(qb__parts_folder(writer->path, &folder));
    QB__TRY(qb__publication_folder(writer->set, folder, NULL, &to));
    for (size_t i = 0; i < parts->count; i++) QB__TRY(move_part(parts, to, i));
out:
    qb__free(folder);
    return status;
}

void qb__h5_parts_release(qb__h5_parts *parts) {
    for (size_t i = 0; parts->fd && i < parts->count; i++)
        if (parts->fd[i] >= 0) close(parts->fd[i]);
    QB__FREE(parts->fd, parts->offset, parts->folder, parts->fresh);
    *parts = (qb__h5_parts){0};
}
